#!/usr/bin/env python3
"""Run etgo on a folder of cases and compare with the tolerance of each.

    verify_dir.py DIR... --etrun ETRUN [--report REPORT.md] [--op REGEX]

Cases (cases.jsonl) must give ExecuTorch's outputs.  Where PyTorch's differ and a file
NAME.eager.bpte holds them, a failure that agrees with PyTorch is counted apart.  Refused
calls (index.jsonl) must give an error or PyTorch's answer, never a panic.

Most files are settled in one bulk run that asks for equal bits; the rest is run again
with its tolerance.  When etrun itself dies or hangs, the file to blame is found and the others are run without it.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict

CHUNK = 250


def verify(etrun, files, rtol, atol, timeout):
    """{file: entry of the JSON report}; an etrun that dies or hangs gives {"died": text}."""
    out = {}
    data = [f for f in files if os.path.exists(f[:-len(".bpte")] + ".ptd")]
    for f in data:
        out.update(chunk([etrun, "verify", "--data", f[:-len(".bpte")] + ".ptd"], [f], rtol, atol, timeout))
    files = [f for f in files if f not in set(data)]
    for i in range(0, len(files), CHUNK):
        out.update(chunk([etrun, "verify"], files[i:i + CHUNK], rtol, atol, timeout))
    return out


def chunk(command, files, rtol, atol, timeout):
    out = {}
    while files:
        cmd = [*command, f"--rtol={rtol!r}", f"--atol={atol!r}"]
        text, _ = run([*cmd, "--json", *files], timeout, len(files))
        try:
            return {**out, **{f["file"]: f for f in json.loads(text)["files"]}}
        except (ValueError, KeyError):
            pass
        # It died or hangs.  Without --json a line is written for each file, so the first without one is to blame.
        text, why = run([*cmd, *files], timeout, len(files))
        seen = set(re.findall(r"^(?:ok  |FAIL) (\S+\.bpte)", text, re.M))
        bad = next((f for f in files if f not in seen), files[-1])
        out[bad] = {"died": why or "dies now and then"}
        n = files.index(bad)
        out.update(chunk(command, files[:n], rtol, atol, timeout))
        files = files[n + 1:]
    return out


def run(cmd, timeout, files):
    """(what it wrote, what it died of)"""
    with subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        try:
            out, err = p.communicate(timeout=timeout + files * timeout / 100)
            hangs = ""
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            hangs = "hangs"
    head = re.search(r"^(panic: .*|fatal error: .*|unexpected fault.*|SIG\w+.*)$", err, re.M)
    where = re.findall(r"^\t\S*?/((?:kernels|internal|runtime|tensor|backend|module)/\S+\.(?:go|s):\d+)", err, re.M)
    return out, hangs or (head.group(1) + (" at " + where[0] if where else "") if head else err[-200:] if p.returncode not in (0, 1) else "")


def outcome(entry, shape_only=False):
    """("ok" | "missing" | "error" | "differs" | "panic", text)"""
    if "died" in entry:
        return "panic", entry["died"]
    errors = [entry.get("error")] + [t.get("error") for t in entry["testsets"]]
    for e in errors:
        if e:
            kind = "panic" if "panic: " in e["text"] else "missing" if "missing operator" in e["text"] else "error"
            return kind, f"{e['code']} {e['text']}"
    for t in entry["testsets"]:
        for k, o in enumerate(t["outputs"]):
            if o["ok"] or (shape_only and not o.get("problem")):
                continue
            if o.get("problem"):
                return "differs", f"set {t['testset']} output {k}: {o['problem']}"
            return "differs", (f"set {t['testset']} output {k} {o['want']}: {o['mismatches']} of {o['elements']} too far, "
                               f"max abs {o['max_abs']} rel {o['max_rel']}, first at {o.get('first', [])}: got {o.get('first_got')}, want {o.get('first_want')}")
    return "ok", ""


def load(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [dict(json.loads(line), path=os.path.join(folder, json.loads(line)["file"])) for line in f]


def settle(etrun, rows, key, timeout):
    """Fill in row["result"] of all rows, whose files are row[key]."""
    bits = verify(etrun, [r[key] for r in rows], 0.0, 0.0, timeout)
    left = defaultdict(list)
    for r in rows:
        r["result"] = outcome(bits[r[key]], r.get("shape_only"))
        if r["result"][0] == "differs" and (r["rtol"] or r["atol"]):
            left[(r["rtol"], r["atol"])].append(r)
    for (rtol, atol), group in left.items():
        got = verify(etrun, [r[key] for r in group], rtol, atol, timeout)
        for r in group:
            r["result"] = outcome(got[r[key]], r.get("shape_only"))


def sections(fails):
    by = defaultdict(list)
    for r in fails:
        by[r["op"][0] if r["group"] != "program" and r["op"] else "modules"].append(r)
    for op, rows in sorted(by.items(), key=lambda kv: (-len(kv[1]), kv[0])):
        kinds = defaultdict(list)
        for r in rows:
            if r["kind"] == "differs":
                kinds[r["kind"], r["dtypes"][0]].append(r)
            else:
                kinds[r["kind"], re.sub(r"[-+]?\d[\d.e+-]*|\[[^\]]*\]", "#", r["text"])[:70]].append(r)
        yield op, rows, sorted(kinds.values(), key=len, reverse=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("dir", nargs="+")
    ap.add_argument("--etrun", default="etrun")
    ap.add_argument("--report", help="write the failures here, grouped by operator")
    ap.add_argument("--results", help="write the outcome of each case here, JSON lines")
    ap.add_argument("--op", default="", help="regular expression: only these operators")
    ap.add_argument("--timeout", type=float, default=10, help="seconds that a file may take")
    ap.add_argument("--examples", type=int, default=4, help="kinds of failure shown per operator")
    a = ap.parse_args()
    began = time.time()
    keep = lambda rows: [r for r in rows if not a.op or any(re.search(a.op, o) for o in r["op"])]
    cases = keep([r for d in a.dir for r in load(d, "cases.jsonl")])
    refused = keep([r for d in a.dir for r in load(d, "index.jsonl")])
    settle(a.etrun, cases, "path", a.timeout)
    settle(a.etrun, refused, "path", a.timeout)

    count, fails = Counter(), []
    torchs = []
    for r in cases:
        kind, text = r["result"]
        if kind == "ok":
            count["ok"] += 1
            continue
        r["kind"], r["text"] = kind, text
        e = r["path"][:-len(".bpte")] + ".eager.bpte"
        if kind == "differs" and os.path.exists(e):
            r["eager"] = e
            torchs.append(r)
        fails.append(r)
    if torchs:
        saved = [r["result"] for r in torchs]
        settle(a.etrun, torchs, "eager", a.timeout)
        for r, s in zip(torchs, saved):
            if r["result"][0] == "ok":
                r["kind"] = "as PyTorch"
            r["result"] = s
    for r in fails:
        count[r["kind"]] += 1
    for r in refused:
        kind, text = r["result"]
        if kind == "panic" or kind == "differs" and r.get("eager"):
            r["kind"], r["text"] = "refused: " + kind, text
            fails.append(r)
        count["refused: " + ("answer not PyTorch's" if kind == "differs" and r.get("eager") else kind)] += 1

    lines = [f"{len(cases)} cases, {len(refused)} refused calls, {time.time() - began:.0f} s: {dict(count)}", ""]
    lacks = Counter(m for r in fails if r["kind"] == "missing" for m in set(re.findall(r"\w+::[\w.]+(?= \(instruction)", r["text"])))
    if lacks:
        lines += ["operators missing: " + ", ".join(f"{k} ({v})" for k, v in lacks.most_common()), ""]
    aside = ("as PyTorch", "missing", "refused: differs")
    serious = [r for r in fails if r["kind"] not in aside]
    for op, rows, kinds in sections(serious):
        lines.append(f"### {op}: {len(rows)}")
        for k in kinds[:a.examples]:
            r = min(k, key=lambda r: os.path.getsize(r["path"]))
            d = r.get("detail", {}).get("call", "")
            also = " (PyTorch differs from ExecuTorch too)" if r.get("eager_differs") else ""
            lines.append(f"- {len(k)}x {r['kind']}{also} {','.join(r['tags'])}: `{d[:300]}`")
            lines.append(f"  {r['path']} rtol {r['rtol']} atol {r['atol']}: {r['text'][:400]}")
    for kind, title in (("as PyTorch", "etgo gives PyTorch's result where ExecuTorch's differs"),
                        ("refused: differs", "ExecuTorch refuses, etgo's answer is not PyTorch's (right where it follows ExecuTorch's arithmetic)")):
        by = defaultdict(list)
        for r in fails:
            if r["kind"] == kind:
                by[r["op"][0] if r["op"] else "modules"].append(r)
        if by:
            lines += ["", "### " + title]
        for op, rows in sorted(by.items(), key=lambda kv: -len(kv[1])):
            r = min(rows, key=lambda r: os.path.getsize(r["path"]))
            lines.append(f"- {op} {len(rows)}x: `{r.get('detail', {}).get('call', '')[:200]}` {r['path']}: {r['text'][:200]}")
    if a.results:
        with open(a.results, "w") as f:
            for r in cases + refused:
                f.write(json.dumps({"path": r["path"], "kind": r.get("kind", r["result"][0]), "text": r.get("text", "")}) + "\n")
    text = "\n".join(lines) + "\n"
    if a.report:
        with open(a.report, "w") as f:
            f.write(text)
        print(lines[0])
    else:
        print(text)
    return 1 if serious or lacks else 0


if __name__ == "__main__":
    sys.exit(main())
