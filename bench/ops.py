#!/usr/bin/env python3
"""Time etgo's kernels beside those of the executorch wheel, one operator at a time.

    python bench/ops.py --etrun ./etrun [--only SUBSTRING] [--rounds 5] [--seconds 0.3] [--json FILE]

Each operator becomes a program without a delegate on tensors of middling size.
Both runtimes get one core (the process pins itself and its children to one) and
run the same file in turns; the table shows the medians in microseconds and how
many times faster etgo is. Needs the packages of testdata/gen/README.md.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})

import torch
import torch.nn.functional as F
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.extension.pybindings.portable_lib import _load_for_executorch

torch.set_num_threads(1)
torch.manual_seed(0)


class Op(torch.nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *args):
        return self.fn(*args)


def f32(*shape):
    return torch.randn(*shape)


def pos(*shape):
    return torch.rand(*shape) + 0.1


def ints(*shape, high=100, dtype=torch.int64):
    return torch.randint(1, high, shape, dtype=dtype)


M = (256, 1024)  # elementwise
C = (1, 32, 56, 56)  # images


def cl(x):
    return x.to(memory_format=torch.channels_last)


def ops():
    """Yields (family, name, function, inputs)."""
    for name in "exp log sqrt rsqrt sin cos tanh sigmoid erf abs neg floor ceil round relu reciprocal log1p expm1 tan atan asin sinh sign trunc".split():
        x = pos(*M) * (0.8 if name == "asin" else 1)
        yield "unary", name, getattr(torch, name), (x,)
    yield "unary", "gelu", F.gelu, (f32(*M),)
    yield "unary", "gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), (f32(*M),)
    yield "unary", "hardtanh", F.hardtanh, (f32(*M),)
    yield "unary", "leaky_relu", F.leaky_relu, (f32(*M),)
    yield "unary", "elu", F.elu, (f32(*M),)
    yield "unary", "clamp", lambda x: torch.clamp(x, -0.5, 0.5), (f32(*M),)
    yield "unary", "exp_f16", torch.exp, (f32(*M).half(),)
    yield "unary", "neg_i32", torch.neg, (ints(*M, dtype=torch.int32),)
    yield "unary", "logical_not", torch.logical_not, (f32(*M) > 0,)
    yield "unary", "isnan", torch.isnan, (f32(*M),)
    for name in "add mul sub div maximum minimum atan2 pow fmod remainder".split():
        yield "binary", name, getattr(torch, name), (pos(*M), pos(*M))
    yield "binary", "add_row", torch.add, (f32(*M), f32(M[1]))
    yield "binary", "add_column", torch.add, (f32(*M), f32(M[0], 1))
    yield "binary", "add_scalar", lambda x: x + 1.5, (f32(*M),)
    yield "binary", "add_channel", torch.add, (f32(*C), f32(1, 32, 1, 1))
    yield "binary", "add_i64", torch.add, (ints(*M), ints(*M))
    yield "binary", "add_f16", torch.add, (f32(*M).half(), f32(*M).half())
    yield "binary", "add_bf16", torch.add, (f32(*M).bfloat16(), f32(*M).bfloat16())
    yield "binary", "add_mixed", torch.add, (f32(*M), ints(*M, dtype=torch.int32))
    yield "binary", "mul_channels_last", torch.mul, (cl(f32(*C)), cl(f32(*C)))
    yield "binary", "eq", torch.eq, (f32(*M), f32(*M))
    yield "binary", "lt_scalar", lambda x: x < 0.5, (f32(*M),)
    yield "binary", "logical_and", torch.logical_and, (f32(*M) > 0, f32(*M) > 0)
    yield "binary", "bitwise_and_i32", torch.bitwise_and, (ints(*M, dtype=torch.int32), ints(*M, dtype=torch.int32))
    yield "binary", "floor_divide_i64", lambda a, b: torch.div(a, b, rounding_mode="floor"), (ints(*M), ints(*M))
    yield "ternary", "where", torch.where, (f32(*M) > 0, f32(*M), f32(*M))
    yield "ternary", "masked_fill", lambda x, m: x.masked_fill(m, 0.5), (f32(*M), f32(*M) > 0)
    yield "copy", "permute", lambda x: x.permute(0, 2, 3, 1).clone(), (f32(*C),)
    yield "copy", "transpose", lambda x: x.transpose(0, 1).clone(), (f32(512, 512),)
    yield "copy", "cat0", lambda a, b: torch.cat([a, b]), (f32(*M), f32(*M))
    yield "copy", "cat1", lambda a, b: torch.cat([a, b], 1), (f32(*M), f32(*M))
    yield "copy", "stack", lambda a, b: torch.stack([a, b], 2), (f32(*M), f32(*M))
    yield "copy", "slice_rows", lambda x: x[16:240].clone(), (f32(*M),)
    yield "copy", "slice_step", lambda x: x[:, ::2].clone(), (f32(*M),)
    yield "copy", "select", lambda x: x[:, 5].clone(), (f32(64, 64, 256),)
    yield "copy", "expand", lambda x: x.expand(64, 16, 256).clone(), (f32(1, 16, 256),)
    yield "copy", "repeat", lambda x: x.repeat(4, 2), (f32(64, 512),)
    yield "copy", "flip", lambda x: x.flip(1), (f32(*M),)
    yield "copy", "roll", lambda x: x.roll(3, 1), (f32(*M),)
    yield "copy", "pad", lambda x: F.pad(x, (1, 1, 1, 1)), (f32(*C),)
    yield "copy", "reflection_pad2d", lambda x: F.pad(x, (2, 2, 2, 2), mode="reflect"), (f32(*C),)
    yield "copy", "to_f16", lambda x: x.half(), (f32(*M),)
    yield "copy", "to_i64", lambda x: x.long(), (f32(*M),)
    yield "copy", "view", lambda x: x.view(1024, 256).clone(), (f32(*M),)
    yield "copy", "split", lambda x: torch.split(x, 256, 1), (f32(*M),)
    yield "copy", "pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), (f32(*C),)
    yield "copy", "tril", torch.tril, (f32(512, 512),)
    yield "index", "embedding", F.embedding, (ints(512, high=1000), f32(1000, 256))
    yield "index", "index_select", lambda x, i: torch.index_select(x, 0, i), (f32(1000, 256), ints(512, high=1000))
    yield "index", "index", lambda x, i: x[i], (f32(1000, 256), ints(512, high=1000))
    yield "index", "gather", lambda x, i: torch.gather(x, 1, i), (f32(*M), ints(256, 512, high=1000))
    yield "index", "scatter_add", lambda x, i, s: torch.scatter_add(x, 1, i, s), (f32(*M), ints(256, 512, high=1000), f32(256, 512))
    yield "index", "topk", lambda x: torch.topk(x, 10), (f32(*M),)
    yield "index", "nonzero", torch.nonzero, (ints(64, 64, high=3) - 1,)
    yield "reduce", "sum_inner", lambda x: x.sum(1), (f32(*M),)
    yield "reduce", "sum_outer", lambda x: x.sum(0), (f32(*M),)
    yield "reduce", "sum_all", lambda x: x.sum(), (f32(*M),)
    yield "reduce", "mean_hw", lambda x: x.mean((2, 3)), (f32(*C),)
    yield "reduce", "mean_hw_channels_last", lambda x: x.mean((2, 3)), (cl(f32(*C)),)
    yield "reduce", "amax", lambda x: x.amax(1), (f32(*M),)
    yield "reduce", "argmax", lambda x: x.argmax(1), (f32(*M),)
    yield "reduce", "max_dim", lambda x: x.max(1)[0], (f32(*M),)
    yield "reduce", "any", lambda x: x.any(1), (f32(*M) > 5,)
    yield "reduce", "prod", lambda x: x.prod(1), (f32(*M),)
    yield "reduce", "var", lambda x: x.var(1), (f32(*M),)
    yield "reduce", "cumsum", lambda x: x.cumsum(1), (f32(*M),)
    yield "norm", "softmax", lambda x: x.softmax(1), (f32(*M),)
    yield "norm", "softmax_outer", lambda x: x.softmax(0), (f32(*M),)
    yield "norm", "log_softmax", lambda x: x.log_softmax(1), (f32(*M),)
    yield "norm", "layer_norm", lambda x, w, b: F.layer_norm(x, (M[1],), w, b), (f32(*M), f32(M[1]), f32(M[1]))
    yield "norm", "group_norm", lambda x, w, b: F.group_norm(x, 8, w, b), (f32(*C), f32(32), f32(32))
    yield "norm", "batch_norm", lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b), (f32(*C), f32(32), f32(32), f32(32), pos(32))
    yield "matmul", "mm", torch.mm, (f32(128, 128), f32(128, 128))
    yield "matmul", "bmm", torch.bmm, (f32(8, 64, 64), f32(8, 64, 64))
    yield "matmul", "addmm", torch.addmm, (f32(128), f32(128, 128), f32(128, 128))
    yield "matmul", "linear_gemv", F.linear, (f32(1, 512), f32(512, 512))
    yield "matmul", "mm_f16", torch.mm, (f32(64, 64).half(), f32(64, 64).half())
    yield "conv", "conv3x3", lambda x, w, b: F.conv2d(x, w, b, padding=1), (f32(1, 16, 28, 28), f32(16, 16, 3, 3), f32(16))
    yield "conv", "conv1x1", F.conv2d, (f32(1, 32, 28, 28), f32(32, 32, 1, 1), f32(32))
    yield "conv", "depthwise", lambda x, w, b: F.conv2d(x, w, b, padding=1, groups=32), (f32(1, 32, 28, 28), f32(32, 1, 3, 3), f32(32))
    yield "conv", "conv1d", F.conv1d, (f32(1, 32, 256), f32(32, 32, 5), f32(32))
    yield "conv", "transposed", lambda x, w: F.conv_transpose2d(x, w, stride=2), (f32(1, 16, 14, 14), f32(16, 16, 2, 2))
    yield "pool", "max_pool2d", lambda x: F.max_pool2d(x, 2), (f32(*C),)
    yield "pool", "avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), (f32(*C),)
    yield "pool", "adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, (7, 7)), (f32(*C),)
    yield "resample", "nearest", lambda x: F.interpolate(x, scale_factor=2), (f32(1, 16, 28, 28),)
    yield "resample", "bilinear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (f32(1, 16, 28, 28),)
    yield "resample", "grid_sampler", lambda x, g: F.grid_sample(x, g, align_corners=False), (f32(1, 16, 28, 28), torch.rand(1, 28, 28, 2) * 2 - 1)


def export(fn, inputs, path):
    ep = torch.export.export(Op(fn), inputs, strict=False)
    edge = to_edge(ep, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    with open(path, "wb") as f:
        f.write(edge.to_executorch().buffer)


def time_executorch(path, inputs, seconds):
    """Returns the median seconds of a call, many calls in a row."""
    m = _load_for_executorch(path)
    m.forward(inputs)
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        t = time.perf_counter()
        m.forward(inputs)
        times.append(time.perf_counter() - t)
    return statistics.median(times)


def time_etgo(etrun, path, npz, seconds):
    out = subprocess.run(
        [etrun, "bench", path, "--threads", "1", "--inputs", npz, "--seconds", str(seconds), "--json"],
        check=True, capture_output=True, text=True).stdout
    return json.loads(out)["latency"]["p50"] / 1e9


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--etrun", required=True)
    ap.add_argument("--only", default="")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--seconds", type=float, default=0.2)
    ap.add_argument("--json", help="write all figures there")
    a = ap.parse_args()
    import numpy as np

    rows = []
    with tempfile.TemporaryDirectory() as tmp:
        for family, name, fn, inputs in ops():
            if a.only not in f"{family}/{name}":
                continue
            path = os.path.join(tmp, f"{family}_{name}.pte")
            npz = path[:-4] + ".npz"
            try:
                export(fn, inputs, path)
            except Exception as e:  # an operator that this version does not export
                print(f"{family}/{name}: not exported: {e}", file=sys.stderr)
                continue
            arrays, values = [], []
            for i, t in enumerate(inputs):
                order = [0, 2, 3, 1] if t.dim() == 4 and not t.is_contiguous() else list(range(t.dim()))
                arrays.append(t.contiguous().view(torch.uint16).numpy() if t.dtype == torch.bfloat16 else t.contiguous().numpy())
                values.append({"kind": "tensor", "array": f"arr_{i}", "dtype": str(t.dtype)[6:], "sizes": list(t.shape), "dim_order": order})
            np.savez(npz, *arrays)
            with open(npz[:-4] + ".json", "w") as f:
                json.dump({"values": values}, f)
            theirs, ours = [], []
            for _ in range(a.rounds):
                theirs.append(time_executorch(path, inputs, a.seconds))
                ours.append(time_etgo(a.etrun, path, npz, a.seconds))
            t, o = statistics.median(theirs) * 1e6, statistics.median(ours) * 1e6
            rows.append({"family": family, "name": name, "executorch_us": t, "etgo_us": o, "ratio": t / o})
            print(f"{family:10s} {name:24s} executorch {t:10.1f} us   etgo {o:10.1f} us   {t / o:7.2f}x", flush=True)
    families = {}
    for r in rows:
        families.setdefault(r["family"], []).append(math.log(r["ratio"]))
    for family, logs in families.items():
        print(f"{family:10s} geometric mean {math.exp(sum(logs) / len(logs)):7.2f}x, slowest {math.exp(min(logs)):7.2f}x")
    if a.json:
        with open(a.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
