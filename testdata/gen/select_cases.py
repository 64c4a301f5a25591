#!/usr/bin/env python3
"""Choose fuzzed cases to keep.

    select_cases.py DIR... --results RESULTS.jsonl -n 600 --out OUT [--found FOUND.txt]

RESULTS.jsonl is what `verify_dir.py --results` wrote: only cases that etgo answers as
ExecuTorch does are kept, so that the archive holds.  FOUND.txt names cases (DIR/NAME a line)
that once failed; they come first.  The rest is spread evenly: in turn for each operator a
case with a combination of dtypes and tags that it lacks, small files first.
"""

import argparse
import json
import os
import shutil
from collections import defaultdict

import verify_dir


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("dir", nargs="+")
    ap.add_argument("--results", required=True)
    ap.add_argument("--found")
    ap.add_argument("--out", required=True)
    ap.add_argument("-n", type=int, default=600)
    ap.add_argument("--limit", type=int, default=20_000, help="bytes of a file")
    a = ap.parse_args()
    with open(a.results) as f:
        results = {r["path"]: r["kind"] for r in map(json.loads, f)}
    found = set()
    if a.found:
        with open(a.found) as f:
            found = {line.strip() for line in f if line.strip()}
    rows = []
    for d in a.dir:
        for r in verify_dir.load(d, "cases.jsonl"):
            r["size"] = os.path.getsize(r["path"])
            r["where"] = f"{os.path.basename(os.path.normpath(d))}/{r['name']}"
            if results.get(r["path"]) == "ok" and r["size"] <= (5 * a.limit if r["where"] in found else a.limit):
                rows.append(r)
    chosen = [r for r in rows if r["where"] in found]
    by = defaultdict(dict)
    for r in sorted(rows, key=lambda r: r["size"]):
        op = r["op"][0] if r["group"] != "program" else "module " + r["detail"]["call"].split(":")[0]
        by[op].setdefault((tuple(r["dtypes"]), tuple(r["tags"]), "@" in r["detail"]["call"], "const" in r["detail"]["call"], "0]" in r["detail"]["call"]), r)
    queues = [list(v.values()) for _, v in sorted(by.items())]
    have = {r["where"] for r in chosen}
    while len(chosen) < a.n and any(queues):
        for q in queues:
            while q:
                # neither only the smallest nor the largest: alternate
                r = q.pop(0 if len(q) % 2 else len(q) // 2)
                if r["where"] not in have:
                    have.add(r["where"])
                    chosen.append(r)
                    break
    chosen = chosen[:max(a.n, len([r for r in chosen if r["where"] in found]))]
    os.makedirs(a.out, exist_ok=True)
    with open(os.path.join(a.out, "cases.jsonl"), "w") as f:
        for r in sorted(chosen, key=lambda r: (r["op"][:1], r["where"])):
            call = r["detail"]["call"]
            base = (r["op"][0].replace("::", "_").replace(".", "_") if r["group"] != "program" else "module_" + call.split()[1].strip(":"))
            name = "fuzz_" + base + "__" + r["where"].replace("/f", "_")
            shutil.copyfile(r["path"], os.path.join(a.out, name + ".bpte"))
            keep = {k: v for k, v in r.items() if k not in ("path", "size", "where", "detail")}
            f.write(json.dumps(dict(keep, file=name + ".bpte", name=name, note=call)) + "\n")
    print(f"{len(chosen)} cases, {sum(r['size'] for r in chosen)} bytes, {len([r for r in chosen if r['where'] in found])} of {len(found)} found")


if __name__ == "__main__":
    main()
