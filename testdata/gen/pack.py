#!/usr/bin/env python3
"""Put made files into testdata.

    pack.py zip SRC OUT.zip              one folder of golden cases -> one archive
    pack.py models ZOO OUT               the models that `go test` runs, with index.json
    pack.py real SRC OUT                 published files whose licence allows it

`zip` is deterministic: names sorted, one fixed time stamp, deflate level 9, so the
same cases give the same bytes.  Every file lies at the top of the archive, the index
(cases.jsonl or index.jsonl) first.
"""

import argparse
import json
import os
import shutil
import sys
import zipfile

STAMP = (2026, 1, 1, 0, 0, 0)
INDEXES = ("cases.jsonl", "index.jsonl")

# Chosen for breadth: convolutions, quantised convolutions, attention, recurrence,
# shapes, a KV cache, transposed convolution, and small ones to look at by hand.
MODELS = [
    "add_portable", "mul_portable", "add_mul_portable", "softmax_portable", "linear_portable", "linear_portable_q8",
    "linear3_portable", "conv1d_portable", "sdpa_portable", "lstm_portable", "shapes_portable", "activations_portable",
    "kws_dscnn_portable", "kws_dscnn_portable_q8", "vww_mv1_portable", "vww_mv1_portable_q8", "unet_deconv_portable",
    "llama_kv_portable", "silero_vad_portable", "mv2_portable",
]

# How the source's index begins a licence -> name of the text in real/LICENSES.
LICENCES = [
    ("LICENSE: Apache License Version 2.0", "Apache-2.0.txt"),
    ("LICENSE: BSD License For \"ExecuTorch\"", "executorch-BSD-3-Clause.txt"),
    ("LICENSE: MIT License Copyright (c) 2024 EdgeAI", "EdgeAIApp-MIT.txt"),
    ("LICENSE: Copyright (c) 2020-2026 by Bernd Porr", "dnf-BSD-3-Clause.txt"),
]
REAL_LIMIT = 100_000


def make_zip(src, out):
    names = sorted(n for n in os.listdir(src) if os.path.isfile(os.path.join(src, n)))
    names.sort(key=lambda n: n not in INDEXES)
    os.makedirs(os.path.dirname(out) or ".", exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for n in names:
            info = zipfile.ZipInfo(n, STAMP)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            with open(os.path.join(src, n), "rb") as f:
                z.writestr(info, f.read(), compresslevel=9)
    print(f"{out}: {len(names)} files, {os.path.getsize(out)} bytes")


def copy(src, dst):
    shutil.copyfile(src, dst)
    os.chmod(dst, 0o644)


def write_index(path, rows):
    with open(path, "w") as f:
        json.dump(rows, f, indent=1)
        f.write("\n")


def models(zoo, out):
    with open(os.path.join(zoo, "index.json")) as f:
        index = {r["file"]: r for r in json.load(f)}
    os.makedirs(out, exist_ok=True)
    rows = []
    for m in MODELS:
        row = index[m + ".bpte"]
        copy(os.path.join(zoo, row["file"]), os.path.join(out, row["file"]))
        rows.append(row)
    rows.sort(key=lambda r: r["file"])
    write_index(os.path.join(out, "index.json"), rows)
    print(f"{out}: {len(rows)} models")


def real(src, out):
    with open(os.path.join(src, "index.json")) as f:
        index = json.load(f)
    os.makedirs(out, exist_ok=True)
    rows = []
    for r in index:
        text = next((t for start, t in LICENCES if r["license"].startswith(start)), None)
        path = os.path.join(src, r["file"])
        if text is None or os.path.getsize(path) > REAL_LIMIT:
            continue
        row = dict(r, license="LICENSES/" + text)
        if r["expect"] == "needs-ptd":
            row["ptd"] = r["file"][:-len(".pte")] + ".ptd"
        copy(path, os.path.join(out, r["file"]))
        rows.append(row)
    have = {r["file"] for r in rows}
    missing = [r["ptd"] for r in rows if r.get("ptd") and r["ptd"] not in have]
    if missing:
        sys.exit(f"data files without a licence: {missing}")
    for r in rows:
        if not os.path.exists(os.path.join(out, r["license"])):
            sys.exit(f"{r['license']} is not in {out}")
    write_index(os.path.join(out, "index.json"), rows)
    print(f"{out}: {len(rows)} of {len(index)} files")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = ap.add_subparsers(dest="cmd", required=True)
    for name in ("zip", "models", "real"):
        p = sub.add_parser(name)
        p.add_argument("src")
        p.add_argument("out")
    a = ap.parse_args()
    {"zip": make_zip, "models": models, "real": real}[a.cmd](a.src, a.out)


if __name__ == "__main__":
    main()
