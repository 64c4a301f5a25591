#!/usr/bin/env python3
"""Golden cases for operators that golden/ops.zip lacks.

    missing.py --ops golden/ops.zip OUT          then: pack.py zip OUT golden/extra.zip
    missing.py --ops golden/ops.zip --list       only name them

The list is what the runtime registers minus what the cases of ops.zip use.  torchao's
affine operators, which exported weight-only and 8da4w models call when they are not
delegated, have no ExecuTorch kernel: their expected outputs come from torchao's Python
functions, which the note of the row says.
"""

import argparse
import json
import zipfile

import torch
import torch.nn as nn

import casegen as cg
from casegen import In, Out

TORCHAO = "ExecuTorch has no kernel; expected outputs from torchao's Python functions"


def covered(path):
    with zipfile.ZipFile(path) as z:
        return {o for line in z.read("cases.jsonl").decode().splitlines() for o in json.loads(line)["op"]}


class Maker:
    def __init__(self):
        self.cases, self.g = [], torch.Generator().manual_seed(20)

    def randn(self, *shape, dtype=torch.float32):
        return torch.randn(*shape, generator=self.g, dtype=torch.float64).to(dtype)

    def ints(self, lo, hi, *shape, dtype=torch.int8):
        return torch.randint(lo, hi, shape, generator=self.g, dtype=dtype)

    def add(self, case, rtol=0.0, atol=0.0, reference=False):
        """reference: PyTorch's outputs are the expected ones."""
        self.cases.append((case, rtol, atol, reference))


# --------------------------------------------------------------------------------------
def device_copies(m):
    """et_copy: copies between host and device.  The runtime refuses both where the device is
    the CPU; a build for one would copy, and that is the answer given with them."""
    for op in ("_h2d_copy", "_d2h_copy"):
        m.add(cg.from_call(f"et{op}__f32", f"et_copy::{op}.out", [m.randn(2, 3, 5)]))
        x = m.ints(-9, 9, 6, 4)
        m.add(cg.from_call(f"et{op}__dyn", f"et_copy::{op}.out", [In(x, dynamic=True)], [Out.like(x, True)], [[x[:1]], [x[:4]]], tags=["dynamic_shape"]))


def affine(m):
    """torchao::{choose_qparams,quantize,dequantize}_affine, functional as exporters write them."""
    f32, i8, u8 = torch.float32, torch.int8, torch.uint8

    def call(name, op, args, tags, rtol=0.0, atol=0.0):
        m.add(cg.from_call(name, "torchao::" + op, args, group="quantized", note=TORCHAO, tags=tags), rtol, atol, reference=True)

    blocks = [("tensor", [6, 32], [6, 32]), ("token", [6, 32], [1, 32]), ("group", [6, 64], [1, 16]), ("channel", [4, 8], [1, 8]),
              ("column", [4, 8], [4, 1]), ("rank3", [2, 3, 16], [1, 1, 16]), ("rank1", [12], [4]), ("square", [4, 8], [2, 4])]
    ranges = [(i8, -128, 127), (i8, -8, 7), (u8, 0, 255), (torch.int32, -2**15, 2**15)]
    for name, shape, block in blocks:
        x = m.randn(*shape) * 3
        for mapping in ("ASYMMETRIC", "SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR"):
            if mapping == "SYMMETRIC_NO_CLIPPING_ERR" and name != "token":
                continue
            args = [x, mapping, block, i8, -128, 127, None, None, i8 if name != "rank1" else None, name == "group"]
            call(f"ao_choose__{name}_{mapping.lower()}", "choose_qparams_affine", args, ["block"], 1e-5, 1e-7)
        for d, lo, hi in ranges if name in ("token", "group") else ranges[:1]:
            scale, zero = torch.ops.torchao.choose_qparams_affine(x, "ASYMMETRIC", block, d, lo, hi, None, None, torch.int32)
            tag = f"{name}_{cg.SHORT[d]}_{hi}"
            q = torch.ops.torchao.quantize_affine(x, block, scale, zero, d, lo, hi)
            call(f"ao_quantize__{tag}", "quantize_affine", [x, block, scale, zero, d, lo, hi], ["block"])
            call(f"ao_dequantize__{tag}", "dequantize_affine", [q, block, scale, zero, d, lo, hi, f32], ["block"], 1e-5, 1e-7)
        const = lambda t: In(t, constant=True)
        call(f"ao_dequantize__{name}_const", "dequantize_affine", [const(q), block, const(scale), const(zero), d, lo, hi, f32], ["block", "constant"], 1e-5, 1e-7)
    x = m.randn(4, 32)
    s = torch.rand(4, 2, generator=m.g) + .05
    call("ao_quantize__no_range", "quantize_affine", [x, [1, 16], s, torch.zeros(4, 2, dtype=torch.int64), i8, None, None], ["optional_none"])
    q = m.ints(-128, 128, 4, 32)
    call("ao_dequantize__no_zero_point", "dequantize_affine", [q, [1, 16], s, None, i8, -128, 127, f32], ["optional_none"], 1e-5, 1e-7)
    call("ao_dequantize__defaults", "dequantize_affine", [q, [1, 16], s, None, i8, None, None, f32], ["optional_none"], 1e-5, 1e-7)
    for d in (torch.float16, torch.bfloat16):
        k, tol = cg.SHORT[d], (["dtype"], 2e-2 if d == torch.bfloat16 else 2e-3, 1e-4)
        call(f"ao_choose__{k}", "choose_qparams_affine", [x.to(d), "ASYMMETRIC", [1, 32], i8, -128, 127, None, None, i8, False], *tol)
        call(f"ao_choose__{k}_f32_scale", "choose_qparams_affine", [x.to(d), "SYMMETRIC", [1, 32], i8, -127, 127, 1e-5, f32, torch.int64, True], *tol)
        call(f"ao_dequantize__{k}", "dequantize_affine", [q, [1, 16], s.to(d), None, i8, -128, 127, d], *tol)
        call(f"ao_dequantize__{k}_from_f32", "dequantize_affine", [q, [1, 16], s, None, i8, -128, 127, d], *tol)
        scales = (2.0 ** torch.arange(-3, 5).reshape(4, 2)).to(d)
        call(f"ao_quantize__{k}", "quantize_affine", [x.to(d), [1, 16], scales, torch.full((4, 2), 3, dtype=i8), i8, -128, 127], ["dtype"])
    asymmetric = ["ASYMMETRIC", [1, 8], i8, -128, 127, None, None, i8, False]
    call("ao_choose__zeros", "choose_qparams_affine", [torch.zeros(2, 8), *asymmetric], ["zero_variance"], 1e-5, 0.0)
    call("ao_choose__positive", "choose_qparams_affine", [m.randn(3, 8).abs() + 1, *asymmetric], [], 1e-5, 1e-7)
    no_range = ["SYMMETRIC", [1, 8], i8, None, None, None, None, None, False]
    call("ao_choose__no_range", "choose_qparams_affine", [m.randn(3, 8), *no_range], ["optional_none"], 1e-5, 1e-7)
    x = torch.tensor([[1e6, -1e6, 0.5, 1.5, 2.5, -0.5, -1.5, 127.5]])
    call("ao_quantize__saturate", "quantize_affine", [x, [1, 8], torch.ones(1, 1), torch.zeros(1, 1, dtype=torch.int32), i8, -128, 127], ["saturate"])


def affine_models(m):
    """Whole layers quantised by torchao and not delegated."""
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
    from executorch.exir.passes import ToOutVarPass
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, IntxWeightOnlyConfig, quantize_

    def case(name, module, config, sets, dynamic=None, rtol=2e-3, atol=2e-3, embedding=False):
        torch.manual_seed(7)
        for p in module.parameters():
            with torch.no_grad():
                p.copy_(torch.randn(p.shape, generator=m.g) * .2)
        quantize_(module.eval(), config, *([lambda mod, n: isinstance(mod, nn.Embedding)] if embedding else []))
        with torch.no_grad():
            ep = torch.export.export(module, tuple(sets[0]), dynamic_shapes=dynamic, strict=False)
        edge = to_edge(ep, compile_config=EdgeCompileConfig(_check_ir_validity=False))
        program = edge.to_executorch(ExecutorchBackendConfig(to_out_var_pass=ToOutVarPass(ignore_to_out_var_failure=True))).buffer
        m.add(cg.Case(name, program, [list(s) for s in sets], eager=lambda i, ins: module(*ins), ops=cg.operators_of(program), group="quantized", note=TORCHAO,
                      tags=["group" if "group" in name else "per_channel"]), rtol, atol, reference=True)
    n = lambda hi: ({0: torch.export.Dim("n", min=1, max=hi)},)
    da = lambda g: Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=g)
    case("ao_linear_8da4w_group", nn.Sequential(nn.Linear(64, 32)), da(PerGroup(32)), [(m.randn(6, 64),), (m.randn(1, 64),), (m.randn(3, 64),)], n(6))
    case("ao_linear_8da4w_channel", nn.Sequential(nn.Linear(40, 24, bias=False), nn.ReLU(), nn.Linear(24, 8)), da(PerAxis(0)), [(m.randn(4, 40),)])
    wo = lambda d, g: IntxWeightOnlyConfig(weight_dtype=d, granularity=g)
    case("ao_linear_int8_weight_only", nn.Sequential(nn.Linear(24, 17)), wo(torch.int8, PerAxis(0)), [(m.randn(5, 24),), (m.randn(2, 24),)], n(5))
    case("ao_linear_int4_weight_only_group", nn.Sequential(nn.Linear(64, 17)), wo(torch.int4, PerGroup(16)), [(m.randn(2, 3, 64),)])
    ids = m.ints(0, 20, 2, 5, dtype=torch.int64)
    case("ao_embedding_int8_group", nn.Sequential(nn.Embedding(20, 32)), wo(torch.int8, PerGroup(16)), [(ids,)], embedding=True)


MAKERS = {
    "et_copy::_h2d_copy.out": device_copies, "et_copy::_d2h_copy.out": device_copies,
    "torchao::quantize_affine": affine, "torchao::dequantize_affine": affine, "torchao::choose_qparams_affine": affine,
    "torchao modules": affine_models,
}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out", nargs="?")
    ap.add_argument("--ops", required=True, help="the archive of golden operator cases")
    ap.add_argument("--list", action="store_true")
    a = ap.parse_args()
    cg.load_operators()
    have = covered(a.ops)
    missing = sorted(o for o in set(cg._portable_lib()._get_operator_names()) | {k for k in MAKERS if "::" in k} if o not in have)
    print("missing:", ", ".join(missing))
    unknown = [o for o in missing if o not in MAKERS]
    if unknown:
        print("no cases written for:", ", ".join(unknown))
    if a.list or not a.out:
        return
    m = Maker()
    for make in dict.fromkeys([MAKERS[o] for o in missing if o in MAKERS] + [affine_models]):
        make(m)
    cg.run([c for c, _, _, ref in m.cases if not ref])
    for c, _, _, ref in m.cases:
        if ref:
            with torch.no_grad():
                c.expected = [[cg.dense(x) for x in cg._flatten(c.eager(i, s))] for i, s in enumerate(c.sets)]
            c.eager_out = c.expected
    with cg.Writer(a.out) as w:
        for c, rtol, atol, _ in m.cases:
            row = w.add(c, rtol, atol)
            if (c.error and not c.ops[0].startswith("et_copy::")) or c.unstable or row is None or row.get("eager_differs") or row.get("eager_error"):
                print("look at", c.name, c.error, "unstable" if c.unstable else "", row)
    print(f"{len(w.rows)} cases, {len(w.refused)} refused")


if __name__ == "__main__":
    main()
