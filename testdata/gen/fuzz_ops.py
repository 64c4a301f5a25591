#!/usr/bin/env python3
"""Random operator calls with what ExecuTorch's runtime makes of them.

    fuzz_ops.py OUT -n 5000 --seed 1                 make 5,000 cases in OUT
    fuzz_ops.py OUT -n 200 --op aten::add.out        of one operator (regular expression)
    fuzz_ops.py OUT --seed 1 --only 4711             that case of that seed again
    verify_dir.py OUT --etrun ETRUN                  run etgo on them and compare

Case i of a seed depends on nothing else.  OUT/cases.jsonl has the cases ExecuTorch
answers, OUT/index.jsonl those it refuses or dies of; `detail.call` of a row is the call
in words.  Most programs are one assembled instruction, some are small exported modules.
Cases whose result changes when they are run again (ExecuTorch read or left memory
unwritten) are dropped; `--keep-unstable` keeps them as refused.
"""

import argparse
import math
import random
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any, Optional

import torch
import torch.nn as nn
import torch.nn.functional as F

import casegen as cg
from casegen import In, Out

f32, f64, f16, bf16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
i8, u8, i16, i32, i64, b8 = torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool
c64, c128 = torch.complex64, torch.complex128
FLOATS, INTS, HALVES = [f32, f64, f16, bf16], [i8, u8, i16, i32, i64], [f16, bf16]
REAL = FLOATS + INTS
ALL = REAL + [b8]
DIMS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17]


class Skip(Exception):
    """This draw makes no sense; draw again."""


# --------------------------------------------------------------------------------------
# drawing
# --------------------------------------------------------------------------------------
class Gen:
    def __init__(self, key):
        self.r = random.Random(key)
        self.t = torch.Generator().manual_seed(self.r.getrandbits(60))

    def p(self, chance):
        return self.r.random() < chance

    def pick(self, xs):
        return self.r.choice(xs)

    def dtype(self, pool=ALL, heavy=f32):
        """Mostly one of pool, often float32, now and then anything."""
        if heavy in pool and self.p(.4):
            return heavy
        return self.pick(ALL) if self.p(.05) else self.pick(pool)

    def size(self):
        return 0 if self.p(.02) else self.pick(DIMS)

    def shape(self, lo=0, hi=4, limit=3000):
        if self.p(.03) and hi >= 2:                      # big enough for several threads
            return self.pick([[70, 1111], [3, 5, 4099], [65537], [33, 2048], [1, 40000]])[-hi:] if lo <= 1 else [70, 1111] + [1] * (lo - 2)
        rank = self.r.randint(lo, hi)
        s = [self.size() for _ in range(rank)]
        while math.prod(s) > limit:
            s[s.index(max(s))] = self.pick([1, 2, 3])
        return s

    def tensor(self, shape, dtype=f32, lo=None, hi=None, special=.1):
        """Random values; lo, hi: bounds (hi exclusive for ints)."""
        shape = list(shape)
        if dtype == b8:
            return torch.rand(shape, generator=self.t) < .5
        if dtype.is_complex:
            return torch.complex(torch.randn(shape, generator=self.t), torch.randn(shape, generator=self.t)).to(dtype)
        if not dtype.is_floating_point:
            info = torch.iinfo(dtype)
            if lo is None:
                lo, hi = (info.min, info.max) if self.p(.15) else (max(info.min, -10), 11)
            return torch.randint(int(max(lo, info.min)), int(max(min(hi, info.max), max(lo, info.min) + 1)), shape, generator=self.t, dtype=dtype)
        if lo is not None:
            return (torch.rand(shape, generator=self.t, dtype=f64) * (hi - lo) + lo).to(dtype)
        x = torch.randn(shape, generator=self.t, dtype=f64) * self.pick([1, 1, 1, .1, 3, 20])
        if self.p(.1):
            x = x.round()
        x = x.to(dtype)
        if self.p(special) and x.numel():
            vals = [math.nan, math.inf, -math.inf, 0., -0., 1., -1., .5, 1.5, 2.5, -2.5, 1e-40]
            if special >= .1:                            # not for sums, whose tolerance they would widen
                vals += [3e38, 1e5, -1e5]
            vals = torch.tensor(vals, dtype=f64).to(dtype)
            n = self.r.randint(1, max(1, x.numel() // 3))
            at = torch.randint(0, x.numel(), (n,), generator=self.t)
            x.view(-1)[at] = vals[torch.randint(0, len(vals), (n,), generator=self.t)]
        return x

    def broadcast(self, shape):
        """A shape that broadcasts with `shape`."""
        s = list(shape)
        k = self.r.random()
        if k < .45:
            return s
        if k < .6 and s:
            return s[self.r.randint(0, len(s)):]
        if k < .7:
            return []
        if k < .8:
            return [self.pick([1, 2, 3])] + s if len(s) < 4 else s
        return [1 if self.p(.5) else d for d in s]

    def dim(self, rank):
        return self.r.randint(-rank, rank - 1) if rank else self.pick([0, -1])

    def dims(self, rank, empty=True):
        """A list of distinct dims, some negative."""
        n = self.r.randint(0 if empty else 1, max(rank, 1))
        if rank == 0:
            return [self.dim(0)] if n else []
        ds = self.r.sample(range(rank), min(n, rank))
        return [d - rank if self.p(.4) else d for d in ds]

    def scalar(self, kind=None):
        kind = kind or self.pick("iiffb")
        if kind == "b":
            return self.p(.5)
        if kind == "i":
            return self.r.randint(-5, 5) if self.p(.85) else self.pick([0, 1, -1, 127, 128, -128, 255, 256, -300, 70000, 2**31 - 1, 2**40])
        return round(self.r.uniform(-5, 5), 3) if self.p(.85) else self.pick([0.0, 1.0, -1.0, 0.5, 2.5, 1e-3, 1e10, math.inf, -math.inf, 65504.0])

    def const(self, t, chance=.5):
        """t, perhaps as a constant of the program."""
        return In(t, constant=True) if t is not None and t.numel() and self.p(chance) else t

    def opt(self, x, chance=.6):
        return x if self.p(chance) else None


@dataclass
class Draw:
    """A call that a sampler made: its arguments, and what does not follow from them."""
    args: list
    outs: Optional[list] = None         # default: what PyTorch gives
    eager: Any = None                   # default: the functional overload
    layout: bool = True                 # the dim orders may be varied
    dynamic: bool = True                # sizes may be made dynamic
    shape_only: bool = False            # random or undefined contents
    scale: float = 1.0                  # of the absolute tolerance
    constant: bool = True


OPS: dict = {}                          # name -> (sampler, tolerance class, weight)


def op(names, cls="simple", weight=1.0):
    def deco(f):
        for n in names.split() if isinstance(names, str) else names:
            OPS[n] = (f, cls, weight)
        return f
    return deco


def at(names, cls="simple", weight=1.0):
    return op(["aten::" + n for n in names.split()], cls, weight)


# Tolerances: class -> dtype -> (rtol, atol), as those of the other golden cases.
TOL = {
    "exact": {},
    "simple": {f32: (1e-5, 1e-6), f64: (1e-9, 1e-10), f16: (2e-3, 1e-4), bf16: (1.6e-2, 1e-3), c64: (1e-5, 1e-6), c128: (1e-9, 1e-10)},
    "trans": {f32: (2e-5, 2e-6), f64: (1e-8, 1e-9), f16: (2e-3, 5e-4), bf16: (1.6e-2, 2e-3), c64: (2e-5, 2e-6), c128: (1e-8, 1e-9)},
    "acc": {f32: (1e-4, 2e-5), f64: (1e-8, 1e-9), f16: (1e-2, 5e-3), bf16: (4e-2, 2e-2), c64: (1e-4, 2e-5), c128: (1e-8, 1e-9)},
    # computed in single precision whatever the dtype
    "acc32": {f32: (1e-4, 2e-5), f64: (1e-4, 2e-5), f16: (1e-2, 5e-3), bf16: (4e-2, 2e-2)},
    "simple32": {f32: (1e-5, 1e-6), f64: (1e-5, 1e-6), f16: (2e-3, 1e-4), bf16: (1.6e-2, 1e-3)},
}


def tolerance(cls, case, draw):
    """The tolerance of a case by class and output dtypes, wider where sums may cancel."""
    outs = [x for o in case.expected or case.eager_out or [] if not isinstance(o, str) for x in o if isinstance(x, torch.Tensor)]
    rtol = atol = 0.0
    biggest = 1.0
    like = outs
    if case.error or "other_out_dtype" in case.tags:         # the computation may have been in a smaller type
        like = outs + [x for s in case.sets for x in s if isinstance(x, torch.Tensor)] + [torch.zeros(0)]
    for x in like:
        r, a = TOL[cls].get(x.dtype, (0.0, 0.0))
        rtol, atol = max(rtol, r), max(atol, a)
        if x.is_floating_point() and x.numel():
            v = x.double()
            v = v[torch.isfinite(v)]
            if v.numel():
                biggest = max(biggest, float(v.abs().max()))
    if cls.startswith("acc"):
        for s in case.sets:
            for x in s:
                if isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel():
                    v = x.double()
                    v = v[torch.isfinite(v)]
                    if v.numel():
                        biggest = max(biggest, min(float(v.abs().max()), 1e30))
        half = any(x.dtype in HALVES for x in outs)
        atol *= min(biggest, 1e30) * (draw.scale if half else min(draw.scale, 4))
    return rtol, round_up(atol)


def round_up(x):
    """The next 1, 2 or 5 times a power of ten, so that cases fall into few groups."""
    if x == 0:
        return 0.0
    e = 10.0 ** math.floor(math.log10(x))
    return next(k * e for k in (1, 2, 5, 10) if k * e >= x * .999999)


# --------------------------------------------------------------------------------------
# elementwise
# --------------------------------------------------------------------------------------
@at("abs.out ceil.out floor.out neg.out round.out sign.out trunc.out relu.out isinf.out isnan.out logical_not.out", "exact", .7)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(ALL), special=.3)])


@at("acos.out acosh.out asin.out asinh.out atan.out atanh.out cos.out cosh.out erf.out exp.out expm1.out log.out log10.out log1p.out "
    "log2.out reciprocal.out rsqrt.out sigmoid.out sin.out sinh.out sqrt.out tan.out tanh.out", "trans", .7)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(ALL), special=.3)])


@at("bitwise_not.out", "exact")
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(INTS + [b8], i32))])


@at("_conj_physical.out", "exact", .3)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype([c64, c128, f32, i32], c64))])


@at("alias_copy.out detach_copy.out lift_fresh_copy.out", "exact", .3)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(ALL + [c64]))])


@at("clone.out", "exact")
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(ALL)), g.opt(torch.contiguous_format)])


@at("elu.out", "trans")
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(FLOATS)), g.pick([1, 1.0, .5, -1.5]), g.pick([1, 2.0, .7]), g.pick([1, 1.5])])


@at("gelu.out", "trans", 1.5)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(FLOATS), special=.2), g.pick(["none", "tanh"])])


@at("hardtanh.out", "simple")
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(REAL), special=.2), g.pick([-1, -1.0, 0, -2.5, 1]), g.pick([1, 1.0, 6, 6.0, 0])])


@at("leaky_relu.out", "simple")
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(FLOATS), special=.2), g.pick([.01, 0.2, 0, 1, -1.5])])


@at("logit.out", "trans")
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(ALL), *((0, 1) if g.p(.7) else (None, None))), g.opt(g.pick([1e-6, .1, 0.]), .5)])


@at("glu.out", "trans")
def _(g, name):
    s = g.shape(1, 4)
    d = g.r.randrange(len(s))
    s[d] = g.pick([2, 4, 6, 10, 16]) if math.prod(s) < 5000 else s[d] * 2
    return Draw([g.tensor(s, g.dtype(FLOATS)), d - len(s) if g.p(.5) else d])


@at("fill.Scalar_out full_like.out", "exact")
def _(g, name):
    x = g.tensor(g.shape(), g.dtype(ALL))
    v = g.scalar()
    return Draw([x, v] + ([g.opt(torch.contiguous_format, .5)] if "full_like" in name else []))


@at("fill.Tensor_out", "exact", .5)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(ALL)), g.tensor([], g.dtype(ALL))])


def pair(g, pool, a=None, heavy=f32, **kw):
    """Two tensors that broadcast, of the same dtype or not."""
    s = g.shape()
    da = a or g.dtype(pool, heavy)
    db = da if g.p(.6) else g.dtype(pool, heavy)
    x, y = g.tensor(s, da, **kw), g.tensor(g.broadcast(s), db, **kw)
    return (x, y) if g.p(.5) else (y, x)


def alpha(g, *ts):
    if g.p(.6):
        return 1
    return g.scalar("f" if any(t.dtype.is_floating_point for t in ts) and g.p(.6) else "i")


@at("add.out sub.out", "simple", 2)
def _(g, name):
    x, y = pair(g, ALL if "add" in name else REAL)
    return Draw([x, g.const(y, .1), alpha(g, x, y)])


@at("mul.out", "simple", 2)
def _(g, name):
    x, y = pair(g, ALL)
    return Draw([x, g.const(y, .1)])


@at("div.out", "simple", 2)
def _(g, name):
    return Draw([*pair(g, ALL)])


@at("atan2.out", "trans")
def _(g, name):
    return Draw([*pair(g, ALL)])


@at("div.out_mode", "simple32", 1.5)
def _(g, name):
    x, y = pair(g, REAL)
    y = unzero(g, y)
    return Draw([x, y, g.pick([None, "trunc", "floor"])])


def unzero(g, y):
    if not y.dtype.is_floating_point and g.p(.9):
        y = torch.where(y == 0, torch.ones_like(y), y)
    return y


@at("fmod.Tensor_out remainder.Tensor_out floor_divide.out", "simple32", 1.2)
def _(g, name):
    x, y = pair(g, REAL)
    return Draw([x, unzero(g, y)])


@at("maximum.out minimum.out", "exact")
def _(g, name):
    return Draw([*pair(g, ALL, special=.3)])


@at("pow.Tensor_Tensor_out", "trans", 1.5)
def _(g, name):
    s = g.shape()
    da = g.dtype(REAL)
    db = da if g.p(.6) else g.dtype(REAL)
    return Draw([g.tensor(s, da), g.tensor(g.broadcast(s), db, *((0, 4) if not db.is_floating_point else (None, None)))])


@at("eq.Tensor_out ne.Tensor_out lt.Tensor_out le.Tensor_out gt.Tensor_out ge.Tensor_out", "exact", .7)
def _(g, name):
    return Draw([*pair(g, ALL, special=.3)])


@at("logical_and.out logical_or.out logical_xor.out", "exact", .7)
def _(g, name):
    return Draw([*pair(g, ALL)])


@at("bitwise_and.Tensor_out bitwise_or.Tensor_out bitwise_xor.Tensor_out", "exact", .7)
def _(g, name):
    return Draw([*pair(g, INTS + [b8], heavy=i32)])


@at("bitwise_left_shift.Tensor_out bitwise_right_shift.Tensor_out", "exact", .7)
def _(g, name):
    s, d = g.shape(), g.dtype(INTS, i32)
    return Draw([g.tensor(s, d), g.tensor(g.broadcast(s), d if g.p(.7) else g.dtype(INTS, i32), 0, 8 if g.p(.8) else 70)])


@at("add.Scalar_out sub.Scalar_out rsub.Scalar_out", "simple", .8)
def _(g, name):
    x = g.tensor(g.shape(), g.dtype(ALL))
    return Draw([x, g.scalar(), alpha(g, x)])


@at("mul.Scalar_out div.Scalar_out", "simple", .8)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(ALL)), g.scalar()])


@at("fmod.Scalar_out remainder.Scalar_out", "simple32", .8)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(REAL)), g.scalar(g.pick("if")) or 2])


@at("div.Scalar_mode_out", "simple32", .8)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(REAL)), g.scalar(g.pick("if")) or 3, g.pick([None, "trunc", "floor"])])


@at("pow.Tensor_Scalar_out", "trans")
def _(g, name):
    d = g.dtype(REAL)
    return Draw([g.tensor(g.shape(), d), g.pick([0, 1, 2, 3, 4] if not d.is_floating_point and g.p(.7) else [0, 1, 2, 3, .5, -1, 2.0, -.5, 1.7, -2])])


@at("pow.Scalar_out", "trans", .6)
def _(g, name):
    d = g.dtype(REAL)
    return Draw([g.pick([2, 2.0, 0, 1, -1, .5, 3, 10]), g.tensor(g.shape(), d, *((0, 5) if not d.is_floating_point else (None, None)))])


@at("eq.Scalar_out ne.Scalar_out lt.Scalar_out le.Scalar_out gt.Scalar_out ge.Scalar_out", "exact", .5)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(ALL), special=.3), g.scalar()])


@at("bitwise_and.Scalar_out bitwise_or.Scalar_out bitwise_xor.Scalar_out", "exact", .5)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(INTS + [b8], i32)), g.scalar(g.pick("iib"))])


@at("bitwise_left_shift.Tensor_Scalar_out bitwise_right_shift.Tensor_Scalar_out", "exact", .5)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(INTS, i32)), g.pick([0, 1, 2, 3, 7, 8, 33])])


@at("where.self_out", "exact", 1.5)
def _(g, name):
    s = g.shape()
    x, y = pair(g, ALL)
    return Draw([g.tensor(g.broadcast(s), b8 if g.p(.9) else u8, 0, 2), g.tensor(g.broadcast(s), x.dtype), g.tensor(s, y.dtype)])


@at("clamp.out", "exact", 1.5)
def _(g, name):
    x = g.tensor(g.shape(), g.dtype(REAL), special=.2)
    k = "iif" if x.dtype.is_floating_point else "iiif"
    lo, hi = g.opt(g.scalar(g.pick(k)), .7), g.opt(g.scalar(g.pick(k)), .7)
    if lo is not None and hi is not None and lo > hi and g.p(.7):
        lo, hi = hi, lo
    if lo is None and hi is None:
        lo = 0
    return Draw([x, lo, hi])


@at("clamp.Tensor_out", "exact")
def _(g, name):
    x, lo = pair(g, REAL)
    hi = g.tensor(g.broadcast(list(x.shape)), x.dtype)
    k = g.pick([0, 0, 1, 2])
    return Draw([x, None if k == 1 else lo, None if k == 2 else hi])


@at("masked_fill.Scalar_out", "exact")
def _(g, name):
    s = g.shape()
    return Draw([g.tensor(s, g.dtype(ALL)), g.tensor(g.broadcast(s), b8), g.scalar()])


@at("masked_scatter.out", "exact", .7)
def _(g, name):
    s = g.shape(1, 3)
    x, m = g.tensor(s, g.dtype(ALL)), g.tensor(g.broadcast(s), b8)
    n = int(torch.broadcast_to(m, torch.broadcast_shapes(m.shape, x.shape)).sum())
    return Draw([x, m, g.tensor([n + g.pick([0, 0, 3])], x.dtype)], dynamic=False)


@at("masked_select.out", "exact", .7)
def _(g, name):
    s = g.shape()
    x, m = g.tensor(s, g.dtype(ALL)), g.tensor(g.broadcast(s), b8)
    n = torch.broadcast_shapes(x.shape, m.shape)
    return Draw([x, m], outs=[Out(x.dtype, [math.prod(n)], dynamic=True)], dynamic=False)


# --------------------------------------------------------------------------------------
# reductions
# --------------------------------------------------------------------------------------
def reduce_shape(g):
    s = g.shape(0, 4, 6000)
    if s and g.p(.1):
        s[g.r.randrange(len(s))] = g.pick([33, 65, 100, 257])
    return s


@at("amax.out amin.out", "exact")
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(ALL), special=.15)
    return Draw([x, g.dims(x.dim()), g.p(.5)])


@at("any.all_out", "exact", .5)
def _(g, name):
    return Draw([g.tensor(reduce_shape(g), g.dtype(ALL))])


@at("any.dims_out", "exact", .5)
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(ALL), 0, 2)
    return Draw([x, g.opt(g.dims(x.dim()), .9), g.p(.5)])


@at("any.out", "exact", .5)
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(ALL), 0, 2)
    return Draw([x, g.dim(x.dim()), g.p(.5)])


@at("argmax.out argmin.out", "exact")
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(REAL), special=.1)
    return Draw([x, g.opt(g.dim(x.dim()), .85), g.p(.5)])


@at("max.dim_max min.dim_min", "exact")
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(ALL), special=.1)
    return Draw([x, g.dim(x.dim()), g.p(.5)])


@at("max.unary_out min.unary_out", "exact", .5)
def _(g, name):
    return Draw([g.tensor(reduce_shape(g), g.dtype(ALL), special=.1)])


def accumulate_dtype(g, x):
    return g.opt(g.pick(FLOATS if x.dtype.is_floating_point else REAL), .25)


@at("mean.out", "acc32", 1.5)
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(FLOATS), special=.09)
    return Draw([x, g.opt(g.dims(x.dim()), .9), g.p(.5), accumulate_dtype(g, x)], scale=2)


@at("mean.dtype_out", "acc32", .5)
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(FLOATS), special=.09)
    return Draw([x, accumulate_dtype(g, x)], scale=2)


@at("sum.IntList_out", "acc32", 1.5)
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(ALL), special=.09)
    return Draw([x, g.opt(g.dims(x.dim()), .9), g.p(.5), accumulate_dtype(g, x)], scale=math.sqrt(max(x.numel(), 1)))


@at("prod.int_out", "acc", .7)
def _(g, name):
    x = g.tensor(g.shape(0, 3, 200), g.dtype(ALL), special=.05)
    return Draw([x, g.dim(x.dim()), g.p(.5), accumulate_dtype(g, x)])


@at("prod.out", "acc", .5)
def _(g, name):
    x = g.tensor(g.shape(0, 3, 40), g.dtype(ALL), special=.05)
    return Draw([x, accumulate_dtype(g, x)])


@at("var.out", "acc32", .7)
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(FLOATS), special=.05)
    return Draw([x, g.opt(g.dims(x.dim()), .9), g.p(.5), g.p(.5)], scale=4)


@at("var.correction_out var_mean.correction_out", "acc32", .7)
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(FLOATS), special=.05)
    return Draw([x, g.opt(g.dims(x.dim()), .9), g.pick([None, 0, 1, 1.0, 2, .5]), g.p(.5)], scale=4)


@at("_softmax.out _log_softmax.out", "acc", 1.5)
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(FLOATS), special=.09)
    return Draw([x, g.dim(x.dim()), False])


@at("cumsum.out", "acc")
def _(g, name):
    x = g.tensor(reduce_shape(g), g.dtype(ALL), special=.05)
    return Draw([x, g.dim(x.dim()), accumulate_dtype(g, x)], scale=8)


@at("topk.values", "exact")
def _(g, name):
    """No two equal elements in a line and sorted results: ExecuTorch leaves the rest to the C++ library's sort."""
    s, d = g.shape(0, 3), g.dtype(REAL)
    dim = g.dim(len(s))
    n = s[dim] if s else 1
    if n > 100:
        raise Skip
    x = torch.rand(s, generator=g.t)
    x = (x.argsort(dim) if s else x) * g.pick([1, 1, 2])
    x = (x - (n if d != u8 else 0)).to(d)
    return Draw([x, g.r.randint(0, n), dim, g.p(.7), True])


# --------------------------------------------------------------------------------------
# norms
# --------------------------------------------------------------------------------------
@at("native_layer_norm.out", "acc32", 1.5)
def _(g, name):
    s = g.shape(1, 4)
    n = g.r.randint(1, len(s))
    d = g.dtype(FLOATS)
    w, b = g.tensor(s[-n:], d, special=0), g.tensor(s[-n:], d, special=0)
    return Draw([g.tensor(s, d, special=.05), s[-n:], g.const(g.opt(w, .7)), g.const(g.opt(b, .7)), g.pick([1e-5, 1e-6, .1])], scale=4)


@at("native_group_norm.out", "acc32", 1.2)
def _(g, name):
    grp = g.pick([1, 2, 3, 4])
    n, c = g.pick([1, 2, 3]), grp * g.pick([1, 2, 3, 5])
    rest = g.shape(0, 2, 60)
    d = g.dtype(FLOATS)
    w, b = g.tensor([c], d, special=0), g.tensor([c], d, special=0)
    return Draw([g.tensor([n, c] + rest, d, special=.05), g.const(g.opt(w, .7)), g.const(g.opt(b, .7)), n, c, math.prod(rest), grp, 1e-5],
                dynamic=False, scale=4)


def batch_norm(g):
    s = [g.pick([1, 2, 3]), g.pick([1, 2, 3, 5, 8, 17])] + g.shape(0, 3, 100)
    d = g.dtype(FLOATS)
    c = [s[1]]
    return (g.tensor(s, d, special=.05), g.const(g.opt(g.tensor(c, d, special=0), .7)), g.const(g.opt(g.tensor(c, d, special=0), .7)),
            g.tensor(c, d, special=0), g.tensor(c, d, .1, 3))


@at("_native_batch_norm_legit_no_training.out", "acc32", 1.2)
def _(g, name):
    x, w, b, m, v = batch_norm(g)
    k = g.p(.5)
    return Draw([x, w, b, In(m, constant=k), In(v, constant=k), .1, g.pick([1e-5, 1e-3])], scale=4)


@at("_native_batch_norm_legit.out", "acc32", .5)
def _(g, name):
    x, w, b, m, v = batch_norm(g)
    train = g.p(.3)

    def eager(x, w, b, m, v, *rest):
        r = torch.ops.aten._native_batch_norm_legit.default(x, w, b, m, v, *rest)
        return list(r) + [m, v]
    return Draw([x, w, b, m, v, train, .1, 1e-5], eager=eager, dynamic=False, scale=4)


@at("_native_batch_norm_legit.no_stats_out", "acc32", .5)
def _(g, name):
    x, w, b, _, _ = batch_norm(g)
    return Draw([x, w, b, True, .1, 1e-5], scale=4)


# --------------------------------------------------------------------------------------
# moving data
# --------------------------------------------------------------------------------------
@at("cat.out", "exact", 1.5)
def _(g, name):
    s = g.shape(1, 4)
    d = g.r.randrange(len(s))
    dt = g.dtype(ALL)
    xs = []
    for _ in range(g.r.randint(1, 4)):
        t = list(s)
        t[d] = g.size()
        xs.append(g.tensor([0] if g.p(.05) else t, dt if g.p(.93) else g.dtype(ALL)))
    return Draw([xs, d - len(s) if g.p(.4) else d])


@at("stack.out", "exact")
def _(g, name):
    s, dt = g.shape(0, 3), g.dtype(ALL)
    return Draw([[g.tensor(s, dt if g.p(.95) else g.dtype(ALL)) for _ in range(g.r.randint(1, 4))], g.dim(len(s) + 1)])


@at("constant_pad_nd.out", "exact", 1.2)
def _(g, name):
    x = g.tensor(g.shape(0, 4, 1000), g.dtype(ALL))
    n = g.r.randint(0, x.dim())
    pad = [g.pick([0, 1, 2, 3]) if g.p(.93) else -1 for _ in range(2 * n)]
    return Draw([x, pad, g.scalar()])


def padding(rank, reflect):
    def sampler(g, name):
        s = [g.pick([1, 2, 3]) for _ in range(g.pick([1, 2]))] + [g.pick([2, 3, 4, 7]) for _ in range(rank)]
        if g.p(.03):
            s[0] = 0
        pad = []
        for n in reversed(s[-rank:]):
            for _ in range(2):
                pad.append(g.r.randint(0, n - 1 if reflect else n + 2) if g.p(.97) else -1)
        return Draw([g.tensor(s, g.dtype(ALL)), pad])
    return sampler


for _n in (1, 2, 3):
    at(f"reflection_pad{_n}d.out", "exact", .6)(padding(_n, True))
    at(f"replication_pad{_n}d.out", "exact", .6)(padding(_n, False))


@at("copy.out copy_", "exact", .7)
def _(g, name):
    x = g.tensor(g.shape(), g.dtype(ALL))
    y = g.tensor(g.broadcast(list(x.shape)), x.dtype if g.p(.6) else g.dtype(ALL))
    inplace = name.endswith("_")
    if x.dtype != y.dtype and not y.dtype.is_floating_point is x.dtype.is_floating_point:
        y = torch.nan_to_num(y.float(), 0, 5, -5).clamp(-100, 100).to(y.dtype) if y.dtype.is_floating_point else y
    return Draw([x, y, False], outs=[] if inplace else None, eager=torch.ops.aten.copy_.default if inplace else None, dynamic=not inplace)


@at("expand_copy.out", "exact")
def _(g, name):
    s = g.shape(0, 4, 500)
    x = [1 if g.p(.4) else d for d in s]
    x = x[g.r.randint(0, len(x)):] if g.p(.3) else x
    off = len(s) - len(x)
    size = [-1 if i >= off and x[i - off] == d and g.p(.3) else d for i, d in enumerate(s)]
    return Draw([g.tensor(x, g.dtype(ALL)), size, False], dynamic=False)


@at("repeat.out", "exact")
def _(g, name):
    x = g.tensor(g.shape(0, 3, 300), g.dtype(ALL))
    return Draw([x, [g.pick([1, 1, 2, 3, 0 if g.p(.1) else 2]) for _ in range(x.dim() + g.pick([0, 0, 1]))]])


@at("flip.out", "exact")
def _(g, name):
    x = g.tensor(g.shape(), g.dtype(ALL))
    return Draw([x, g.dims(x.dim())])


@at("roll.out", "exact")
def _(g, name):
    x = g.tensor(g.shape(1), g.dtype(ALL))
    ds = g.dims(x.dim(), empty=g.p(.2))
    return Draw([x, [g.r.randint(-20, 20) for _ in (ds or [0])], ds])


def index_shape(g, s, d):
    """A shape for the index of gather and scatter along d."""
    return [g.r.randint(0 if g.p(.05) else 1, max(n, 1)) if i != d else g.pick([1, 2, 3, 5]) for i, n in enumerate(s)]


@at("gather.out", "exact")
def _(g, name):
    s = g.shape(0, 3)
    d = g.dim(len(s))
    n = s[d] if s else 1
    if n == 0 or 0 in s:
        raise Skip
    return Draw([g.tensor(s, g.dtype(ALL)), d, g.tensor(index_shape(g, s, d % max(len(s), 1)), i64, 0, n), False], dynamic=False)


@at("scatter.src_out scatter_add.out scatter.value_out", "simple", .8)
def _(g, name):
    s = g.shape(0, 3)
    d = g.dim(len(s))
    n = s[d] if s else 1
    if n == 0 or 0 in s:
        raise Skip
    idx = index_shape(g, s, d % max(len(s), 1))
    if s:
        dd = d % len(s)
        idx[dd] = min(idx[dd], n)
    x = g.tensor(s, g.dtype(ALL))
    i = g.tensor(idx, i64, 0, n)
    if "src" in name and s and idx and 0 not in idx:         # no index twice: the order of writes is not defined
        i = torch.stack([torch.randperm(n, generator=g.t)[:idx[dd]] for _ in range(max(1, math.prod(idx) // idx[dd]))]).reshape(
            [k for j, k in enumerate(idx) if j != dd] + [idx[dd]]).movedim(-1, dd).contiguous()
    return Draw([x, d, i, g.scalar() if "value" in name else g.tensor([k + g.pick([0, 0, 1]) for k in idx], x.dtype)], dynamic=False)


@at("index_select.out", "exact")
def _(g, name):
    x = g.tensor(g.shape(0, 4), g.dtype(ALL))
    d = g.dim(x.dim())
    n = x.shape[d] if x.dim() else 1
    if n == 0:
        raise Skip
    k = g.r.randint(0, 6) if x.dim() else 1
    return Draw([x, d, g.tensor([k] if g.p(.9) else [], g.pick([i32, i64]), 0, n)], dynamic=False)


def indices(g, s):
    """A list of index tensors for a tensor of shape s, None where a dim is taken whole."""
    if g.p(.15):
        k = g.r.randint(1, len(s))
        return [g.tensor(s[:k], b8)]
    common = g.shape(0, 2, 12)
    out = []
    for n in s[:g.r.randint(1, len(s))]:
        if g.p(.25):
            out.append(None)
        elif n == 0:
            raise Skip
        else:
            sh = [1 if g.p(.2) else d for d in common] if g.p(.5) else common
            out.append(g.tensor(sh, g.pick([i64, i64, i32]), -n if g.p(.4) else 0, n))
    if all(i is None for i in out):
        raise Skip
    return out


@at("index.Tensor_out", "exact", 1.5)
def _(g, name):
    x = g.tensor(g.shape(1, 4), g.dtype(ALL))
    ix = indices(g, list(x.shape))
    mask = ix[0] is not None and ix[0].dtype == b8
    outs = None
    if mask:
        outs = [Out(x.dtype, [ix[0].numel()] + list(x.shape[ix[0].dim():]), dynamic=True)]
    return Draw([x, ix], outs=outs, dynamic=False)


@at("index_put.out index_put_", "simple", 1.0)
def _(g, name):
    x = g.tensor(g.shape(1, 3, 300), g.dtype(ALL))
    ix = indices(g, list(x.shape))
    acc = g.p(.4)
    y = x[tuple(slice(None) if i is None else i.long() if i.dtype != b8 else i for i in ix)]
    v = g.tensor(g.pick([list(y.shape), list(y.shape), [1] * y.dim(), list(y.shape[1:])]), x.dtype)
    if not acc and not name.endswith("_") and v.numel() > 1:       # unique targets: the order of writes is not defined
        flat = torch.arange(x.numel()).reshape(x.shape)[tuple(slice(None) if i is None else i.long() if i.dtype != b8 else i for i in ix)]
        if flat.unique().numel() != flat.numel():
            v = v.reshape(-1)[:1].reshape([1] * y.dim())
    inplace = name.endswith("_")
    return Draw([x, ix, v, acc], outs=[] if inplace else None, eager=torch.ops.aten.index_put_.default if inplace else None, dynamic=False)


@at("narrow_copy.out", "exact", .6)
def _(g, name):
    x = g.tensor(g.shape(1), g.dtype(ALL))
    d = g.r.randrange(x.dim())
    n = x.shape[d]
    a = g.r.randint(0, n)
    return Draw([x, d, a, g.r.randint(0, n - a)], dynamic=False)


@at("slice_copy.Tensor_out", "exact", 1.5)
def _(g, name):
    x = g.tensor(g.shape(1), g.dtype(ALL))
    d = g.dim(x.dim())
    n = x.shape[d]
    lim = lambda: g.pick([None, 0, 1, -1, 2, n, n - 1, -n, n + 3, 2**63 - 1, g.r.randint(-n - 2, n + 2)])
    return Draw([x, d, lim(), lim(), g.pick([1, 1, 1, 2, 3, 7])])


@at("slice_scatter.out", "exact")
def _(g, name):
    x = g.tensor(g.shape(1), g.dtype(ALL))
    d = g.dim(x.dim())
    n = x.shape[d]
    a, e, st = g.pick([None, 0, 1, -2, g.r.randint(-n, n)]), g.pick([None, n, -1, n + 4, g.r.randint(-n, n)]), g.pick([1, 1, 2, 3])
    s = list(torch.ops.aten.slice.Tensor(x, d, a, e, st).shape)
    return Draw([x, g.tensor(s, x.dtype if g.p(.9) else g.dtype(ALL)), d, a, e, st], dynamic=False)


@at("select_copy.int_out", "exact")
def _(g, name):
    x = g.tensor(g.shape(1), g.dtype(ALL))
    d = g.dim(x.dim())
    if x.shape[d] == 0:
        raise Skip
    return Draw([x, d, g.r.randint(-x.shape[d], x.shape[d] - 1)], dynamic=False)


@at("select_scatter.out", "exact", .7)
def _(g, name):
    x = g.tensor(g.shape(1), g.dtype(ALL))
    d = g.dim(x.dim())
    n = x.shape[d]
    if n == 0:
        raise Skip
    s = list(x.shape)
    del s[d]
    return Draw([x, g.tensor(s, x.dtype if g.p(.9) else g.dtype(ALL)), d, g.r.randint(-n, n - 1)], dynamic=False)


@at("split_copy.Tensor_out", "exact")
def _(g, name):
    x = g.tensor(g.shape(1), g.dtype(ALL))
    d = g.dim(x.dim())
    return Draw([x, g.r.randint(1, max(1, x.shape[d])), d], dynamic=False)


@at("split_with_sizes_copy.out", "exact")
def _(g, name):
    x = g.tensor(g.shape(1), g.dtype(ALL))
    d = g.dim(x.dim())
    left, sizes = x.shape[d], []
    while left and len(sizes) < 5:
        sizes.append(g.r.randint(0, left))
        left -= sizes[-1]
    return Draw([x, sizes + [left], d], dynamic=False)


@at("unbind_copy.int_out", "exact", .7)
def _(g, name):
    x = g.tensor(g.shape(1), g.dtype(ALL))
    d = g.dim(x.dim())
    if not 0 < x.shape[d] < 20:
        raise Skip
    return Draw([x, d], dynamic=False)


@at("permute_copy.out", "exact", 1.5)
def _(g, name):
    x = g.tensor(g.shape(0, 5), g.dtype(ALL))
    p = g.r.sample(range(x.dim()), x.dim())
    return Draw([x, [d - x.dim() if g.p(.3) else d for d in p]])


@at("transpose_copy.int_out", "exact")
def _(g, name):
    x = g.tensor(g.shape(), g.dtype(ALL))
    return Draw([x, g.dim(x.dim()), g.dim(x.dim())])


@at("t_copy.out", "exact", .7)
def _(g, name):
    return Draw([g.tensor(g.shape(0, 2), g.dtype(ALL))])


@at("squeeze_copy.dim_out", "exact", .7)
def _(g, name):
    x = g.tensor([1 if g.p(.4) else d for d in g.shape()], g.dtype(ALL))
    return Draw([x, g.dim(x.dim())])


@at("squeeze_copy.dims_out", "exact", .7)
def _(g, name):
    x = g.tensor([1 if g.p(.4) else d for d in g.shape()], g.dtype(ALL))
    return Draw([x, g.dims(x.dim())])


@at("unsqueeze_copy.out", "exact", .7)
def _(g, name):
    x = g.tensor(g.shape(), g.dtype(ALL))
    return Draw([x, g.dim(x.dim() + 1)])


@at("view_copy.out", "exact", 1.2)
def _(g, name):
    x = g.tensor(g.shape(), g.dtype(ALL))
    n = x.numel()
    parts = []
    left = n
    while left > 1 and len(parts) < 3:
        f = g.pick([k for k in range(1, min(left, 40) + 1) if left % k == 0])
        parts.append(f)
        left //= max(f, 1)
    size = parts + ([left] if left != 1 or g.p(.2) else [])
    if size and n and g.p(.3):
        size[g.r.randrange(len(size))] = -1
    return Draw([x, size], dynamic=False)


@at("tril.out", "exact", .8)
def _(g, name):
    return Draw([g.tensor(g.shape(2), g.dtype(ALL)), g.r.randint(-4, 4)])


@at("diagonal_copy.out", "exact", .7)
def _(g, name):
    x = g.tensor(g.shape(2), g.dtype(ALL))
    a, b = g.r.sample(range(x.dim()), 2)
    return Draw([x, g.r.randint(-3, 3), a - x.dim() if g.p(.3) else a, b - x.dim() if g.p(.3) else b])


@at("unfold_copy.out", "exact", .7)
def _(g, name):
    x = g.tensor(g.shape(1, 3), g.dtype(ALL))
    d = g.dim(x.dim())
    return Draw([x, d, g.r.randint(0, x.shape[d]), g.pick([1, 2, 3])])


@at("as_strided_copy.out", "exact", .7)
def _(g, name):
    x = g.tensor(g.shape(1, 3), g.dtype(ALL))
    n = x.numel()
    size = [g.pick([1, 2, 3]) for _ in range(g.r.randint(0, 3))]
    st = [g.pick([0, 1, 2, 4]) for _ in size]
    off = g.pick([None, 0, 1, 2])
    if sum((a - 1) * b for a, b in zip(size, st)) + (off or 0) >= n:
        raise Skip
    return Draw([x, size, st, off], layout=False, dynamic=False)


@at("pixel_shuffle.out", "exact", .7)
def _(g, name):
    r = g.pick([1, 2, 3])
    s = g.shape(0, 2, 6) + [g.pick([1, 2, 3]) * r * r, g.pick([1, 2, 3, 5]), g.pick([1, 2, 4])]
    return Draw([g.tensor(s, g.dtype(ALL)), r])


@at("pixel_unshuffle.out", "exact", .7)
def _(g, name):
    r = g.pick([1, 2, 3])
    s = g.shape(0, 2, 6) + [g.pick([1, 2, 3]), g.pick([1, 2, 3]) * r, g.pick([1, 2]) * r]
    return Draw([g.tensor(s, g.dtype(ALL)), r])


@at("embedding.out", "exact")
def _(g, name):
    n = g.pick([1, 3, 10, 40])
    w = g.tensor([n, g.pick([1, 3, 8, 33])], g.dtype(ALL))
    return Draw([g.const(w), g.tensor(g.shape(0, 3, 60), g.pick([i64, i64, i32]), 0, n), -1, False, False])


@at("nonzero.out", "exact", .7)
def _(g, name):
    x = g.tensor(g.shape(0, 3), g.dtype(ALL), 0, 2)
    return Draw([x], outs=[Out(i64, [x.numel(), x.dim()], dynamic=True)], dynamic=False)


@at("repeat_interleave.Tensor_out", "exact", .4)
def _(g, name):
    x = g.tensor([g.r.randint(0, 8)], g.pick([i32, i64]), 0, 4)
    n = int(x.sum())
    return Draw([x, g.opt(n, .5)], dynamic=False)


@at("view_as_real_copy.out", "exact", .3)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.pick([c64, c128]))], layout=False)


@at("_to_copy.out", "exact")
def _(g, name):
    x = castable(g)
    d = g.dtype(ALL)
    return Draw([x, False, g.opt(torch.preserve_format, .5)], outs=[Out(d, list(x.shape))], eager=lambda x, *a: x.to(d), layout=False, dynamic=False)


def castable(g):
    """Values that every dtype can hold, so that a cast is defined."""
    x = g.tensor(g.shape(), g.dtype(ALL))
    if x.dtype.is_floating_point and g.p(.9):
        x = torch.nan_to_num(x, 0, 5, -5).clamp(0 if g.p(.5) else -100, 100)
    return x


@op("dim_order_ops::_to_dim_order_copy.out dim_order_ops::_clone_dim_order.out", "exact", 1)
def _(g, name):
    x = castable(g)
    d = g.dtype(ALL) if "_to_" in name else x.dtype
    order = list(range(x.dim()))
    if x.dim() == 4 and g.p(.5):
        order = [0, 2, 3, 1]
    return Draw([x, False, order if g.p(.8) else None], outs=[Out(d, list(x.shape), order)], eager=lambda x, *a: cg.relayout(x.to(d), order),
                dynamic=False)


@op("et_copy::_h2d_copy.out et_copy::_d2h_copy.out", "exact", .2)
def _(g, name):
    return Draw([g.tensor(g.shape(), g.dtype(ALL))])


# --------------------------------------------------------------------------------------
# making tensors
# --------------------------------------------------------------------------------------
@at("arange.out arange.start_out", "simple", .5)
def _(g, name):
    d = g.dtype(REAL)
    a, e, st = g.scalar(g.pick("if")), g.scalar(g.pick("if")), g.pick([1, 2, .5, -1, -.3])
    if name.endswith("arange.out"):
        a, st = 0, 1
        e = abs(e)
    if not all(map(math.isfinite, (a, e))) or not 0 <= (e - a) / st < 3000:
        raise Skip
    f = (lambda e: torch.arange(e, dtype=d)) if name.endswith("arange.out") else lambda a, e, st: torch.arange(a, e, st, dtype=d)
    return Draw([e] if name.endswith("arange.out") else [a, e, st], eager=f)


@at("full.out ones.out zeros.out", "exact", .4)
def _(g, name):
    d = g.dtype(ALL)
    s = g.shape()
    if "full" in name:
        return Draw([s, g.scalar()], eager=lambda s, v: torch.full(s, v, dtype=d))
    return Draw([s], eager=lambda s: (torch.ones if "ones" in name else torch.zeros)(s, dtype=d))


@at("scalar_tensor.out", "exact", .4)
def _(g, name):
    d = g.dtype(ALL)
    return Draw([g.scalar()], eager=lambda v: torch.scalar_tensor(v, dtype=d))


@at("rand.out randn.out", "exact", .15)
def _(g, name):
    d = g.dtype(FLOATS)
    return Draw([g.shape()], eager=lambda s: torch.rand(s, dtype=d), shape_only=True)


@at("empty.out", "exact", .15)
def _(g, name):
    d = g.dtype(ALL)
    return Draw([g.shape(), None], eager=lambda s, m: torch.zeros(s, dtype=d), shape_only=True)


@op("dim_order_ops::_empty_dim_order.out", "exact", .15)
def _(g, name):
    d, s = g.dtype(ALL), g.shape()
    return Draw([s, list(range(len(s))) if g.p(.5) else None], eager=lambda s, o: torch.zeros(s, dtype=d), shape_only=True)


@at("native_dropout.out", "exact", .2)
def _(g, name):
    train = g.pick([False, False, True, None])
    return Draw([g.tensor(g.shape(), g.dtype(FLOATS)), g.pick([.0, .3, 1.0]), train], shape_only=train is not False)


# --------------------------------------------------------------------------------------
# neural networks
# --------------------------------------------------------------------------------------
@at("convolution.out", "acc", 5)
def _(g, name):
    nd = g.pick([1, 2, 2, 2, 2])
    transposed = g.p(.25)
    groups = g.pick([1, 1, 1, 2, 3, 4])
    icg, ocg = g.pick([1, 1, 2, 3, 4, 8, 17]), g.pick([1, 1, 2, 3, 4, 8, 16, 17])
    if g.p(.15):
        groups, icg = g.pick([4, 8, 16, 17, 32]), 1
        ocg = g.pick([1, 1, 2])
    ic, oc = groups * icg, groups * ocg
    big = g.p(.04)
    if big:
        groups = g.pick([1, 1, 2, 48])
        icg, ocg = (1, 1) if groups == 48 else (g.pick([24, 33, 64]), g.pick([31, 48, 72]))
        ic, oc = groups * icg, groups * ocg
    k = [g.pick([1, 1, 2, 3, 3, 4, 5]) for _ in range(nd)]
    if g.p(.4):
        k = [k[0]] * nd
    stride, pad, dil = ([g.pick(c)] * nd if g.p(.6) else [g.pick(c) for _ in range(nd)] for c in ([1, 1, 2, 3], [0, 0, 1, 2], [1, 1, 1, 2, 3]))
    sizes = [23, 28, 32, 40] if big else [1, 2, 3, 5, 7, 8, 12, 17]
    hw = [max(g.pick(sizes), 1 if transposed else (kk - 1) * dd + 1 - 2 * pp) for kk, dd, pp in zip(k, dil, pad)]
    opad = [0] * nd
    if transposed:
        opad = [g.r.randint(0, max(s, d) - 1) if g.p(.4) else 0 for s, d in zip(stride, dil)]
        if any((h - 1) * s - 2 * p + d * (kk - 1) + o + 1 < 1 for h, s, p, d, kk, o in zip(hw, stride, pad, dil, k, opad)):
            raise Skip
    d = g.dtype(FLOATS)
    n = 0 if g.p(.01) else g.pick([1, 1, 2, 3])
    x = g.tensor([n, ic] + hw, d, special=.02)
    w = g.tensor(([ic, ocg] if transposed else [oc, icg]) + k, d, special=0)
    b = g.opt(g.tensor([oc], d, special=0), .6)
    if not transposed and g.p(.03):
        stride, pad, dil = stride[:1], pad[:1], dil[:1]
    c = g.p(.7)
    return Draw([x, In(w, constant=c), b if b is None else In(b, constant=c), stride, pad, dil, transposed, opad, groups],
                scale=3 * math.sqrt(icg * math.prod(k)))


@at("convolution_backward.out", "acc", .5)
def _(g, name):
    groups = g.pick([1, 1, 2])
    ic, oc = groups * g.pick([1, 2, 3]), groups * g.pick([1, 2, 4])
    k, stride, pad, dil = [g.pick([1, 2, 3])] * 2, [g.pick([1, 2])] * 2, [g.pick([0, 1])] * 2, [g.pick([1, 1, 2])] * 2
    hw = [g.pick([5, 6, 8]), g.pick([5, 7])]
    d = g.dtype(FLOATS)
    x, w = g.tensor([g.pick([1, 2]), ic] + hw, d, special=0), g.tensor([oc, ic // groups] + k, d, special=0)
    y = F.conv2d(x.float(), w.float(), None, stride, pad, dil, groups)
    return Draw([g.tensor(y.shape, d, special=0), x, w, [oc], stride, pad, dil, False, [0, 0], groups, [True, True, True]], dynamic=False, scale=10)


def images(g, hw, pool):
    """One or more images, sometimes without the batch."""
    return g.tensor([g.pick([1, 2]), g.pick([1, 3, 8])][g.pick([0, 0, 0, 1]):] + hw, g.dtype(pool), special=.05)


def window(g, hw):
    k = [min(g.pick([1, 2, 2, 3, 3, 4]), h) for h in hw]
    stride = g.pick([[], [], [1, 1], [2, 2], [2, 1], [3, 2], [2]])
    pad = [g.r.randint(0, kk // 2) if g.p(.4) else 0 for kk in k]
    if g.p(.05) and k[0] == k[1]:
        k, pad = k[:1], pad[:1]
    return k, stride, pad


@at("avg_pool2d.out", "acc", 1.2)
def _(g, name):
    hw = [g.pick([2, 3, 5, 7, 8, 11]), g.pick([2, 3, 5, 8, 13])]
    k, stride, pad = window(g, hw)
    return Draw([images(g, hw, FLOATS + [i64]), k, stride, pad, g.p(.4), g.p(.5), g.opt(g.pick([1, 2, 5, -3]), .2)], scale=2)


@at("max_pool2d_with_indices.out", "exact", 1.2)
def _(g, name):
    hw = [g.pick([3, 5, 7, 8, 11]), g.pick([3, 5, 8, 13])]
    k, stride, pad = window(g, hw)
    return Draw([images(g, hw, REAL), k, stride, pad, g.pick([[1, 1], [1, 1], [2, 1], [1]]), g.p(.4)])


@at("max_pool2d_with_indices_backward.grad_input", "acc", .4)
def _(g, name):
    hw = [g.pick([3, 5, 7, 8]), g.pick([3, 5, 8])]
    k, stride, pad = [2, 2], g.pick([[2, 2], [1, 1]]), [0, 0]
    x = g.tensor([g.pick([1, 2]), 3] + hw, g.dtype(FLOATS), special=0)
    y, ix = torch.ops.aten.max_pool2d_with_indices(x.float(), k, stride, pad)
    return Draw([g.tensor(y.shape, x.dtype, special=0), x, k, stride, pad, [1, 1], False, ix], dynamic=False)


@at("_adaptive_avg_pool2d.out", "acc32", 1)
def _(g, name):
    s = [g.pick([1, 2]), g.pick([1, 3, 8])][g.pick([0, 0, 0, 1]):] + [g.pick([1, 2, 3, 7, 12]), g.pick([1, 3, 5, 8])]
    return Draw([g.tensor(s, g.dtype(FLOATS), special=.05), [g.pick([1, 1, 2, 3, 7]), g.pick([1, 1, 2, 5])]], scale=2)


@at("linear.out", "acc", 1.5)
def _(g, name):
    k, n = g.pick([1, 2, 3, 7, 8, 16, 33, 64]), g.pick([1, 2, 3, 8, 16, 17, 40])
    if g.p(.06):
        k, n = g.pick([100, 256, 515]), g.pick([96, 129, 300])
    d = g.dtype(FLOATS)
    c = g.p(.6)
    b = g.opt(g.tensor([n], d, special=0), .6)
    return Draw([g.tensor(g.shape(0, 3, 60) + [k], d, special=.03), In(g.tensor([n, k], d, special=0), constant=c), b if b is None else In(b, constant=c)],
                scale=3 * math.sqrt(k))


@at("mm.out", "acc", 1.5)
def _(g, name):
    m, k, n = (g.pick([0, 1] if g.p(.03) else [1, 2, 3, 5, 8, 16, 17, 33, 64]) for _ in range(3))
    if g.p(.06):
        m, k, n = g.pick([1, 6, 65, 130]), g.pick([100, 256, 515]), g.pick([96, 129, 300])
    d = g.dtype(REAL + FLOATS + FLOATS)
    return Draw([g.tensor([m, k], d, special=.03), g.const(g.tensor([k, n], d, special=0))], scale=3 * math.sqrt(k + 1))


@at("bmm.out", "acc", 1.2)
def _(g, name):
    b, m, k, n = (g.pick([0, 1] if g.p(.03) else [1, 2, 3, 5, 8, 17]) for _ in range(4))
    d = g.dtype(REAL + FLOATS + FLOATS)
    return Draw([g.tensor([b, m, k], d, special=.03), g.tensor([b, k, n], d, special=0)], scale=3 * math.sqrt(k + 1))


@at("addmm.out", "acc", 1.5)
def _(g, name):
    m, k, n = (g.pick([0, 1] if g.p(.03) else [1, 2, 3, 5, 8, 16, 17, 33]) for _ in range(3))
    if g.p(.06):
        m, k, n = g.pick([1, 6, 65, 130]), g.pick([100, 256, 515]), g.pick([96, 129, 300])
    d = g.dtype(FLOATS + FLOATS + REAL)
    sc = lambda: g.pick([1, 1, 1, 0, 2, -1] + ([.5, 1.5] if d.is_floating_point else []))
    return Draw([g.const(g.tensor(g.pick([[n], [m, n], [1, n], [m, 1], []]), d, special=0)), g.tensor([m, k], d, special=.03),
                 g.const(g.tensor([k, n], d, special=0)), sc(), sc()], scale=6 * math.sqrt(k + 1))


@at("upsample_bilinear2d.vec_out", "acc32", 1)
def _(g, name):
    x = g.tensor([g.pick([1, 2]), g.pick([1, 3, 8]), g.pick([1, 2, 3, 5, 8]), g.pick([1, 2, 4, 7])], g.dtype(FLOATS), special=.03)
    size, factors = ([g.pick([1, 2, 5, 9, 10]), g.pick([1, 3, 6, 8])], None) if g.p(.5) else (None, [g.pick([1., 2., 1.5, .5]), g.pick([2., 3., 1.7])])
    if factors and (int(x.shape[2] * factors[0]) < 1 or int(x.shape[3] * factors[1]) < 1):
        raise Skip
    return Draw([x, size, g.p(.5), factors], dynamic=False, scale=2)


@at("upsample_nearest2d.vec_out", "exact", 1)
def _(g, name):
    x = g.tensor([g.pick([1, 2]), g.pick([1, 3, 8]), g.pick([1, 2, 3, 5, 8]), g.pick([1, 2, 4, 7])], g.dtype(FLOATS + [u8]))
    size, factors = ([g.pick([1, 2, 5, 9, 10]), g.pick([1, 3, 6, 8])], None) if g.p(.5) else (None, [g.pick([1., 2., 1.5, .5]), g.pick([2., 3., 1.7])])
    if factors and (int(x.shape[2] * factors[0]) < 1 or int(x.shape[3] * factors[1]) < 1):
        raise Skip
    return Draw([x, size, factors], dynamic=False)


@at("_upsample_bilinear2d_aa.out", "acc32", .6)
def _(g, name):
    x = g.tensor([g.pick([1, 2]), g.pick([1, 3]), g.pick([2, 3, 5, 8]), g.pick([2, 4, 7])], g.dtype([f32, f64, f16, bf16]), special=.03)
    return Draw([x, [g.pick([1, 2, 3, 5, 9]), g.pick([1, 3, 4, 8])], g.p(.5), None, None], dynamic=False, scale=2)


@at("grid_sampler_2d.out", "acc", 1)
def _(g, name):
    n, d = g.pick([1, 2]), g.dtype(FLOATS)
    x = g.tensor([n, g.pick([1, 3]), g.pick([1, 2, 5, 8]), g.pick([2, 4, 7])], d, special=0)
    grid = g.tensor([n, g.pick([1, 3, 4]), g.pick([1, 2, 5]), 2], d, -1.3, 1.3)
    return Draw([x, grid, g.pick([0, 0, 1, 2]), g.pick([0, 1, 2]), g.p(.5)], scale=8)


@at("_cdist_forward.out", "acc", .6)
def _(g, name):
    b, m = g.shape(0, 1, 4), g.pick([1, 3, 8])
    d = g.dtype([f32, f64])
    return Draw([g.tensor(b + [g.pick([1, 2, 5]), m], d, special=.02), g.tensor(b + [g.pick([1, 3, 4]), m], d, special=0),
                 g.pick([0., 1., 2., 3., .5, math.inf]), g.pick([None, 0, 1, 2])], dynamic=False, scale=4)


@at("_pdist_forward.out", "acc", .5)
def _(g, name):
    x = g.tensor([g.pick([1, 2, 3, 6]), g.pick([1, 3, 8])], g.dtype([f32, f64]), special=.02)
    return Draw([x, g.pick([0., 1., 2., 3., .5, math.inf])], dynamic=False, scale=4)


@at("_fft_r2c.out", "acc", .4)
def _(g, name):
    x = g.tensor(g.shape(1, 3, 200), g.pick([f32, f64]), special=0)
    if 0 in x.shape:
        raise Skip
    ds = [d % x.dim() for d in g.dims(x.dim(), empty=False)]
    return Draw([x, ds, g.pick([0, 1, 2]), g.p(.7)], dynamic=False, scale=8)


@at("_fft_c2r.out", "acc", .4)
def _(g, name):
    s = [g.pick([1, 2, 3, 5, 8]) for _ in range(g.r.randint(1, 3))]
    ds = [d % len(s) for d in g.dims(len(s), empty=False)]
    last = 2 * (s[ds[-1]] - 1) + g.pick([0, 1])
    if last < 1:
        raise Skip
    return Draw([g.tensor(s, g.pick([c64, c128])), ds, g.pick([0, 1, 2]), last], dynamic=False, scale=8)


# --------------------------------------------------------------------------------------
# numbers
# --------------------------------------------------------------------------------------
@at("_local_scalar_dense", "exact", .3)
def _(g, name):
    x = g.tensor([1] * g.r.randint(0, 2), g.dtype(ALL), special=0)
    return Draw([x], outs=[], eager=lambda x: x.item(), dynamic=False)


@at("sym_size.int", "exact", .2)
def _(g, name):
    x = g.tensor(g.shape(1, 4), f32)
    d = g.dim(x.dim())
    return Draw([x, d], outs=[], eager=lambda x, d: x.shape[d])


@at("sym_numel", "exact", .2)
def _(g, name):
    return Draw([g.tensor(g.shape(), f32)], outs=[], eager=lambda x: x.numel())


def prim_pair(g):
    k = g.pick("iif")
    return g.scalar(k), g.scalar(k if g.p(.8) else g.pick("if"))


@op(["executorch_prim::" + n + ".Scalar" for n in "add sub mul eq ge gt le lt sym_max sym_min".split()], "exact", .15)
def _(g, name):
    return Draw([*prim_pair(g)], outs=[])


@op(["executorch_prim::" + n + ".Scalar" for n in "floordiv truediv mod".split()], "exact", .15)
def _(g, name):
    a, b = prim_pair(g)
    return Draw([a, b if b or g.p(.05) else 3], outs=[])


@op(["executorch_prim::" + n + ".Scalar" for n in "ceil neg round sym_float sym_int trunc".split()], "exact", .15)
def _(g, name):
    return Draw([g.scalar(g.pick("iff"))], outs=[])


@op("executorch_prim::sym_not.Scalar", "exact", .1)
def _(g, name):
    return Draw([g.scalar("b")], outs=[])


@op("executorch_prim::sym_ite.Scalar", "exact", .1)
def _(g, name):
    k = g.pick("ifb")
    return Draw([g.scalar("b"), g.scalar(k), g.scalar(k)], outs=[])


# --------------------------------------------------------------------------------------
# quantised
# --------------------------------------------------------------------------------------
RANGE = {i8: (-128, 127), u8: (0, 255), i16: (-32768, 32767), i32: (-2**31, 2**31 - 1)}


def qrange(g, d):
    lo, hi = RANGE[d]
    return (lo, hi) if g.p(.7) else g.pick([(lo + 1, hi), (lo // 2, hi // 2), (-7 if lo < 0 else 0, 7)])


def qp(g, lo, hi):
    return g.pick([.01, .1, .037, 1.0, .5, 2.3]), g.r.randint(max(lo, -100), min(hi, 100)) if g.p(.7) else 0


@op("quantized_decomposed::quantize_per_tensor.out", "exact", 1.5)
def _(g, name):
    d = g.pick([i8, i8, u8, i16, i32])
    lo, hi = qrange(g, d)
    return Draw([g.tensor(g.shape(), f32 if g.p(.8) else g.pick([f64, f16])), *qp(g, lo, hi), lo, hi, d])


@op("quantized_decomposed::quantize_per_tensor.Tensor_out", "exact", .6)
def _(g, name):
    d = g.pick([i8, u8])
    lo, hi = qrange(g, d)
    s, z = qp(g, lo, hi)
    return Draw([g.tensor(g.shape(), f32), torch.tensor([s], dtype=f64), torch.tensor([z]), lo, hi, d], dynamic=False)


@op("quantized_decomposed::dequantize_per_tensor.out", "simple", 1.5)
def _(g, name):
    d = g.pick([i8, i8, u8, i16, i32])
    lo, hi = qrange(g, d)
    od = f32 if g.p(.8) else g.pick([f16, f64])
    s, z = qp(g, lo, hi)
    return Draw([g.tensor(g.shape(), d, max(lo, -2**20), min(hi, 2**20)), s, z, lo, hi, d, od if od != f32 or g.p(.5) else None])


@op("quantized_decomposed::dequantize_per_tensor.Tensor_out", "simple", .6)
def _(g, name):
    d = g.pick([i8, u8])
    lo, hi = qrange(g, d)
    s, z = qp(g, lo, hi)
    return Draw([g.tensor(g.shape(), d, lo, hi), torch.tensor([s], dtype=f64), torch.tensor([z]), lo, hi, d, None], dynamic=False)


def channels(g, s, axis, lo, hi):
    n = s[axis]
    return g.tensor([n], f64, .01, 1.5), g.tensor([n], i64, max(lo, -50), min(hi, 50) + 1)


@op("quantized_decomposed::quantize_per_channel.out", "exact", 1)
def _(g, name):
    d, s = g.pick([i8, u8, i16, i32]), g.shape(1, 4)
    lo, hi = qrange(g, d)
    axis = g.dim(len(s)) if g.p(.5) else g.r.randrange(len(s))
    sc, zp = channels(g, s, axis, lo, hi)
    return Draw([g.tensor(s, f32), sc, zp, axis, lo, hi, d], dynamic=False)


@op("quantized_decomposed::dequantize_per_channel.out", "simple", 1)
def _(g, name):
    d, s = g.pick([i8, u8, i16]), g.shape(1, 4)
    lo, hi = qrange(g, d)
    axis = g.r.randrange(len(s))
    sc, zp = channels(g, s, axis, lo, hi)
    sc = sc.float() if g.p(.5) else sc
    k = g.p(.4)
    return Draw([In(g.tensor(s, d, lo, hi), constant=k and 0 not in s), In(sc, constant=k and 0 not in s), g.opt(zp, .8), axis, lo, hi, d, None], dynamic=False)


@op("quantized_decomposed::quantize_per_token.out", "exact", .7)
def _(g, name):
    d, s = g.pick([i8, u8]), g.shape(2, 3)
    lo, hi = RANGE[d]
    return Draw([g.tensor(s, f32), g.tensor(s[:-1] + [1], f64, .01, 1), g.tensor(s[:-1] + [1], i64, max(lo, -20), 20), lo, hi, d])


@op("quantized_decomposed::dequantize_per_token.out", "simple", .7)
def _(g, name):
    d, s = g.pick([i8, u8]), g.shape(2, 3)
    lo, hi = RANGE[d]
    return Draw([g.tensor(s, d), g.tensor(s[:-1] + [1], f64, .01, 1), g.tensor(s[:-1] + [1], i64, max(lo, -20), 20), lo, hi, d, f32])


@op("quantized_decomposed::choose_qparams.Tensor_out", "simple", .5)
def _(g, name):
    d = g.pick([i8, u8])
    lo, hi = qrange(g, d)
    return Draw([g.tensor(g.shape(), f32), lo, hi, g.pick([1e-6, 1.1920928955078125e-07, .01]), d], outs=[Out(f64, [1]), Out(i64, [1])])


@op("quantized_decomposed::choose_qparams_per_token_asymmetric.out", "simple", .5)
def _(g, name):
    s = g.shape(1, 3)
    return Draw([g.tensor(s, f32), i8], outs=[Out(f64, s[:-1] + [1]), Out(i64, s[:-1] + [1])], dynamic=False)


def embedding_q(g, per, d):
    rows = g.pick([1, 3, 10])
    grp = g.pick([1, 1, 2, 3])
    cols = grp * per * g.pick([2, 4, 8])
    sd = g.pick([f32, f32, f16])
    ss = [rows] if grp == 1 and g.p(.5) else [rows, grp]
    return g.tensor([rows, cols // per], d), g.tensor(ss, sd, .01, 1), g.tensor(g.shape(1, 2, 30), g.pick([i64, i64, i32]), 0, rows), cols, ss, sd


@op("quantized_decomposed::embedding_byte.out quantized_decomposed::embedding_byte.dtype_out", "simple", .7)
def _(g, name):
    d = g.pick([i8, u8])
    w, s, ix, cols, ss, sd = embedding_q(g, 1, d)
    z = g.opt(g.tensor(ss, sd, -5, 5).round(), .5)
    od = s.dtype if "dtype" not in name else g.pick([f32, f16, None])
    od = [od] if "dtype" in name else []
    return Draw([g.const(w), s, z, *RANGE[d], ix] + od, outs=[Out((od and od[0]) or s.dtype, list(ix.shape) + [cols])], dynamic=False)


@op("quantized_decomposed::embedding_4bit.out quantized_decomposed::embedding_4bit.dtype_out "
    "quantized_decomposed::embedding_2bit.out quantized_decomposed::embedding_2bit.dtype_out", "simple", .5)
def _(g, name):
    per = 2 if "4bit" in name else 4
    w, s, ix, cols, ss, sd = embedding_q(g, per, u8)
    z = g.opt(g.tensor(ss, sd, -3, 3).round(), .4)
    od = g.pick([f32, f16, None])
    lo, hi = (-8, 7) if per == 2 else (-2, 1)
    od = [od] if "dtype" in name else []
    return Draw([g.const(w), s, z, lo, hi, ix] + od, outs=[Out((od and od[0]) or s.dtype, list(ix.shape) + [cols])], dynamic=False)


@op("quantized_decomposed::mixed_linear.out quantized_decomposed::mixed_mm.out", "acc", .6)
def _(g, name):
    m, k, n = g.pick([1, 2, 5]), g.pick([2, 4, 8, 12]), g.pick([1, 3, 8])
    d = g.pick([f32, f32, f16])
    if "linear" in name:
        return Draw([g.tensor([m, k], d, special=0), g.const(g.tensor([n, k], i8)), g.tensor(g.pick([[n], [n, 1], [n, 2]]), d, .01, 1), None, None],
                    outs=[Out(d, [m, n])], dynamic=False, scale=50)
    return Draw([g.tensor([m, k], d, special=0), g.const(g.tensor([k, n], i8)), g.tensor(g.pick([[k], [k, 1]]), d, .01, 1), None],
                outs=[Out(d, [m, n])], dynamic=False, scale=50)


@op("quantized_decomposed::add.out", "exact", .5)
def _(g, name):
    d = g.pick([u8, u8, u8, i8])
    lo, hi = RANGE[d]
    s = g.shape()
    q = lambda: [*qp(g, lo, hi), lo, hi]
    return Draw([g.tensor(s, d, lo, hi), *q(), g.tensor(s, d, lo, hi), *q(), *q()])


# --------------------------------------------------------------------------------------
# language models
# --------------------------------------------------------------------------------------
def attention(g, quantised=False):
    b, s, h, d = g.pick([1, 1, 2]), g.pick([1, 1, 2, 5, 9]), g.pick([1, 2, 4]), g.pick([2, 4, 8, 16, 32])
    hkv = g.pick([x for x in (1, 2, 4) if h % x == 0])
    cap = g.pick([8, 16, 40])
    start = g.r.randint(0, max(cap - s, 0)) if g.p(.9) else cap - s
    if start < 0 or start + s > cap:
        raise Skip
    dt = f32 if g.p(.7) else g.pick([f16, bf16, f64])
    q = g.tensor([b, s, h, d], dt, special=0)
    k, v = g.tensor([b, cap, hkv, d], dt, special=0), g.tensor([b, cap, hkv, d], dt, special=0)
    causal = g.p(.6)
    mask = None
    if not causal and g.p(.5):
        mask = g.tensor([s, cap], dt, -3, 0)
        if g.p(.5):
            mask[torch.rand(mask.shape, generator=g.t) < .3] = -math.inf
            mask[:, 0] = 0
    return q, k, v, start, mask, causal, g.opt(.3, .3)


@op("llama::custom_sdpa.out", "acc", 1.5)
def _(g, name):
    q, k, v, start, mask, causal, scale = attention(g)
    return Draw([q, k, v, start, mask, 0.0, causal, scale], dynamic=False, layout=False, outs=[Out(q.dtype, list(q.shape))], scale=2)


@op("llama::custom_quantized_sdpa.out", "acc", .7)
def _(g, name):
    q, k, v, start, mask, causal, scale = attention(g)
    if mask is not None:
        mask = mask.float()

    def quant(t):
        rows = list(t.shape[:3]) + [1]
        return torch.randint(-128, 128, t.shape, generator=g.t, dtype=i8), g.tensor(rows, i8, -10, 10), g.tensor(rows, f32, .005, .05)
    (q, qz, qs), (k, kz, ks), (v, vz, vs) = quant(q), quant(k), quant(v)
    return Draw([q, k, v, start, mask, 0.0, causal, scale, qz, qs, kz, ks, vz, vs, False], dynamic=False, layout=False, outs=[Out(f32, list(q.shape))], scale=4)


@op("llama::update_cache.out", "exact", .7)
def _(g, name):
    b, s, h, d, cap = g.pick([1, 2]), g.pick([1, 2, 4]), g.pick([1, 3]), g.pick([1, 4, 9]), g.pick([4, 8])
    dt = g.dtype(ALL)
    start = g.r.randint(0, cap - s)
    cache = g.tensor([b, cap, h, d], dt)

    def eager(v, c, p):
        c = c.clone()
        c[:, p:p + s] = v
        return [torch.zeros(1, dtype=dt), c]
    return Draw([g.tensor([b, s, h, d], dt), cache, start], outs=[Out(dt, [1])], eager=eager, layout=False, dynamic=False)


@op("llama::update_cache_with_indices.out", "exact", .5)
def _(g, name):
    b, s, h, d, cap = g.pick([1, 2]), g.pick([1, 2, 4]), g.pick([1, 3]), g.pick([1, 4, 9]), g.pick([4, 8])
    dt = g.dtype(ALL)
    ix = torch.stack([torch.randperm(cap, generator=g.t)[:s] for _ in range(b)])
    cache = g.tensor([b, cap, h, d], dt)

    def eager(v, c, p, ix):
        c = c.clone()
        for i in range(b):
            c[i, ix[i]] = v[i]
        return [torch.zeros(1, dtype=dt), c]
    return Draw([g.tensor([b, s, h, d], dt), cache, 0, ix], outs=[Out(dt, [1])], eager=eager, layout=False, dynamic=False)


@op("llama::sdpa_with_kv_cache.out", "acc", .5)
def _(g, name):
    q, k, v, start, mask, causal, scale = attention(g)
    b, s, h, d = q.shape
    hkv = k.shape[2]
    if q.dtype != f32:
        raise Skip
    return Draw([q, g.tensor([b, s, hkv, d], q.dtype, special=0), g.tensor([b, s, hkv, d], q.dtype, special=0), k, v, start, s, mask, 0.0, causal, scale],
                dynamic=False, layout=False, outs=[Out(q.dtype, list(q.shape))], eager=lambda *a: [], scale=2)


@op("llama::fast_hadamard_transform.out", "acc", .3)
def _(g, name):
    x = g.tensor(g.shape(0, 2, 10) + [g.pick([1, 2, 4, 8, 32, 128, 28, 56])], g.pick([f32, f32, f16]), special=0)
    return Draw([x], dynamic=False, layout=False, outs=[Out(x.dtype, list(x.shape))], scale=4)


@op("llama::gated_delta_rule.out llama::channelwise_gated_delta_rule.out", "acc", .3)
def _(g, name):
    b, h, s, dk, dv = g.pick([1, 2]), g.pick([1, 2]), g.pick([1, 3, 6]), g.pick([1, 4, 7]), g.pick([1, 4, 5])
    x = lambda *s: g.tensor(s, f32, special=0, lo=-1, hi=1)
    decay = g.tensor([b, h, s, dk] if "channel" in name else [b, h, s], f32, -1, 0)
    return Draw([x(b, h, s, dk), x(b, h, s, dk), x(b, h, s, dv), decay, g.tensor([b, h, s], f32, 0, 1), x(b, h, dk, dv)], dynamic=False, layout=False,
                outs=[Out(f32, [b, h, s, dv]), Out(f32, [b, h, dk, dv])], scale=4)


@op("preprocess::tile_crop.out", "exact", .2)
def _(g, name):
    t = g.pick([1, 2, 3])
    return Draw([g.tensor([g.pick([1, 3]), t * g.pick([1, 2, 3]), t * g.pick([1, 2])], g.dtype(FLOATS)), t], dynamic=False, layout=False)


# --------------------------------------------------------------------------------------
# small exported modules
# --------------------------------------------------------------------------------------
class Fn(nn.Module):
    def __init__(self, f, *mods):
        super().__init__()
        self.f, self.m = f, nn.ModuleList(mods)

    def forward(self, *a):
        return self.f(*a, *self.m)


def weights(g, m):
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g.t) * (.3 if p.dim() > 1 else .1) + (1 if p.dim() == 1 and False else 0))
        for n, b in m.named_buffers():
            if n.endswith("running_var"):
                b.copy_(torch.rand(b.shape, generator=g.t) + .3)
            elif n.endswith("running_mean"):
                b.copy_(torch.randn(b.shape, generator=g.t) * .3)
    return m.eval()


ACTS = [nn.ReLU, nn.GELU, nn.SiLU, nn.Hardswish, nn.Hardsigmoid, nn.Sigmoid, nn.Tanh, nn.ReLU6,
        nn.LeakyReLU, nn.ELU, nn.Mish, nn.Softplus, nn.PReLU, nn.Identity]


def qdq(g, x, d=i8):
    lo, hi = RANGE[d]
    s, z = g.pick([.02, .05, .1]), g.pick([0, 3, -7 if d == i8 else 100])
    q = torch.ops.quantized_decomposed
    return q.dequantize_per_tensor.default(q.quantize_per_tensor.default(x, s, z, lo, hi, d), s, z, lo, hi, d)


class QLayer(nn.Module):
    """A linear or convolution on quantised activations with per-channel int8 weights, as PT2E makes it."""

    def __init__(self, g, layer, relu, out):
        super().__init__()
        self.layer, self.relu, self.out = layer, relu, out
        w = layer.weight.detach()
        n = w.shape[0]
        s = w.reshape(n, -1).abs().amax(1).double() / 127 + 1e-6
        self.register_buffer("scale", s)
        self.register_buffer("zero", torch.zeros(n, dtype=i64))
        self.register_buffer("qw", torch.clamp((w / s.reshape([n] + [1] * (w.dim() - 1))).round(), -127, 127).to(i8))
        self.bias = layer.bias
        self.q = [(g.pick([.02, .05, .1]), g.pick([0, 3, -7])) for _ in range(2)]

    def act(self, x, k):
        s, z = self.q[k]
        q = torch.ops.quantized_decomposed
        return q.dequantize_per_tensor.default(q.quantize_per_tensor.default(x, s, z, -128, 127, i8), s, z, -128, 127, i8)

    def forward(self, x):
        x = self.act(x, 0)
        w = torch.ops.quantized_decomposed.dequantize_per_channel.default(self.qw, self.scale, self.zero, 0, -127, 127, i8)
        layer = self.layer
        y = F.linear(x, w, self.bias) if isinstance(layer, nn.Linear) else F.conv2d(x, w, self.bias, layer.stride, layer.padding, layer.dilation, layer.groups)
        y = torch.relu(y) if self.relu else y
        return self.act(y, 1) if self.out else y


def module(g):
    """-> (words, module, inputs, dynamic dim 0 allowed, tolerance scale)"""
    k = g.pick(["linear", "mlp", "conv", "conv", "dw", "convt", "norm", "attention", "embed", "chain", "chain",
                "qlinear", "qconv", "softmax", "pool", "lstm", "matmul", "pw"])
    act = g.pick(ACTS)
    x = lambda *s: torch.randn(*s, generator=g.t)
    if k == "linear":
        i, o = g.pick([1, 3, 8, 33, 64]), g.pick([1, 5, 16, 40])
        return k + " " + act.__name__, nn.Sequential(nn.Linear(i, o, bias=g.p(.7)), act()), [x(*g.pick([[4], [2, 3], [1], [7]]), i)], True
    if k == "mlp":
        return k, nn.Sequential(nn.Linear(16, 32), act(), nn.LayerNorm(32), nn.Linear(32, 8), nn.Softmax(-1)), [x(5, 16)], True
    if k == "conv":
        grp = g.pick([1, 1, 2])
        i, o, kk = grp * g.pick([1, 3, 4, 8]), grp * g.pick([1, 4, 8, 16]), g.pick([1, 3, 5])
        c = nn.Conv2d(i, o, kk, g.pick([1, 2]), g.pick([0, kk // 2]), g.pick([1, 1, 2]), grp, bias=g.p(.6))
        m = nn.Sequential(c, *([nn.BatchNorm2d(o)] if g.p(.6) else []), act())
        return k + " " + act.__name__, m, [x(2, i, 12, 11)], True
    if k == "dw":
        c = g.pick([4, 8, 16])
        m = nn.Sequential(nn.Conv2d(c, c, 3, g.pick([1, 2]), 1, groups=c, bias=False), nn.BatchNorm2d(c), nn.ReLU6(), nn.Conv2d(c, 6, 1))
        return k, m, [x(2, c, 9, 10)], True
    if k == "convt":
        return k, nn.Sequential(nn.ConvTranspose2d(4, 6, g.pick([2, 3]), 2, g.pick([0, 1])), act()), [x(1, 4, 5, 6)], False
    if k == "norm":
        n = g.pick([nn.LayerNorm(12), nn.GroupNorm(2, 6), nn.BatchNorm1d(6), nn.RMSNorm(12), nn.InstanceNorm1d(6)])
        return k + " " + type(n).__name__, nn.Sequential(n, act()), [x(3, 6, 12)], False
    if k == "attention":
        m = Fn(lambda q, kk, v: F.scaled_dot_product_attention(q, kk, v, is_causal=True))
        return k, m, [x(2, 2, 6, 8), x(2, 2, 6, 8), x(2, 2, 6, 8)], False
    if k == "embed":
        return k, nn.Sequential(nn.Embedding(20, 12), nn.Linear(12, 9), act()), [torch.randint(0, 20, (3, 5), generator=g.t)], True
    if k == "qlinear":
        return k, QLayer(g, weights(g, nn.Linear(g.pick([8, 17, 32]), g.pick([4, 16]))), g.p(.5), g.p(.7)), [x(4, 0)], True
    if k == "qconv":
        grp = g.pick([1, 1, 4])
        layer = nn.Conv2d(4, 8, g.pick([1, 3]), g.pick([1, 2]), g.pick([0, 1]), groups=grp)
        return k, QLayer(g, weights(g, layer), g.p(.5), g.p(.7)), [x(2, 4, 8, 9)], True
    if k == "softmax":
        return k, Fn(lambda a, b: torch.softmax(a @ b.transpose(-1, -2) * .3, -1)), [x(2, 5, 8), x(2, 7, 8)], False
    if k == "pool":
        m = g.pick([nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d((2, 3)), nn.AdaptiveAvgPool2d(1),
                    nn.Upsample(scale_factor=2), nn.Upsample(scale_factor=2, mode="bilinear")])
        return k + " " + type(m).__name__, nn.Sequential(m, act()), [x(2, 4, 8, 10)], True
    if k == "lstm":
        return k, Fn(lambda a, m: m(a)[0], g.pick([nn.LSTM(6, 8, batch_first=True), nn.GRU(6, 8, batch_first=True)])), [x(2, 4, 6)], False
    if k == "matmul":
        return k, Fn(lambda a, b, c: torch.relu(a @ b + c)), [x(3, 5, 7), x(7, 4), x(4)], False
    if k == "pw":
        return k, Fn(lambda a, b: ((a * b + 1.5 - b / 3).abs().sqrt() * a.sigmoid()).clamp(-2, 2)), [x(4, 6, 5), x(6, 1)], True
    steps = [g.pick([
        lambda t: t.transpose(-1, -2), lambda t: t.reshape(t.shape[0], -1), lambda t: t.unsqueeze(1), lambda t: t[..., 1:], lambda t: t[..., ::2],
        lambda t: torch.cat([t, -t], -1), lambda t: torch.stack([t, t * 2], -1), lambda t: F.pad(t, (1, 2)),
        lambda t: t.flip(-1), lambda t: t.mean(-1, keepdim=True),
        lambda t: t + t.amax(), lambda t: torch.roll(t, 1, -1), lambda t: t.repeat(*([1] * (t.dim() - 1)), 2),
        lambda t: t.chunk(2, -1)[0] if t.shape[-1] > 1 else t,
        lambda t: t.contiguous(), lambda t: t.expand(2, *t.shape) if t.dim() < 4 else t, lambda t: t.cumsum(-1),
        lambda t: torch.where(t > 0, t, -t), lambda t: t * 1.5 - 1,
    ]) for _ in range(g.r.randint(2, 6))]

    def run(t):
        for s in steps:
            t = s(t)
        return t
    return k, Fn(run), [x(*[g.pick([2, 3, 4, 6]) for _ in range(g.r.randint(2, 3))])], True


def exported(g, name):
    words, m, ins, batch = module(g)
    if ins[0].numel() == 0:
        ins = [torch.randn(*ins[0].shape[:-1], m.layer.in_features, generator=g.t)]
    if not isinstance(m, QLayer):
        weights(g, m)
    if g.p(.2):
        m = m.to(g.pick([f16, bf16])) if not any(isinstance(x, (QLayer,)) for x in m.modules()) else m
        d = next((p.dtype for p in m.parameters()), None) or g.pick([f32, f16])
        if not isinstance(m, QLayer):
            ins = [t.to(d) if t.is_floating_point() else t for t in ins]
    if g.p(.25):
        ins = [t.to(memory_format=torch.channels_last) if t.dim() == 4 else t for t in ins]
    sets, dyn = [ins], None
    if batch and ins[0].shape[0] > 1 and g.p(.4):
        dyn = tuple({0: torch.export.Dim("n", min=1, max=int(ins[0].shape[0]))} if i == 0 else {} for i in range(len(ins)))
        dyn = (dyn,) if isinstance(m, Fn) else dyn            # forward(*a)
        sets.append([t[:1].clone(memory_format=torch.preserve_format) if i == 0 else t for i, t in enumerate(ins)])
        sets.append(ins)
    return cg.from_module(name, m, sets, dyn, group="program", tags=["export"] + (["dynamic_shape"] if dyn else []),
                          detail={"call": f"module {words}: " + ", ".join(map(show, ins))})


# --------------------------------------------------------------------------------------
# from a draw to a case
# --------------------------------------------------------------------------------------
def show(a):
    if isinstance(a, In):
        return ("const " if a.constant else "") + show(a.tensor) + ("(dyn)" if a.dynamic else "")
    if isinstance(a, torch.Tensor):
        s = f"{cg.SHORT[a.dtype]}{list(a.shape)}".replace(" ", "")
        o = cg.dim_order(a)
        if o != sorted(o):
            s += "@" + "".join(map(str, o))
        if a.numel() <= 4 and not a.is_complex():
            s += f"={[float(f'{v:.6g}') if isinstance(v, float) else v for v in a.reshape(-1).tolist()]}"
        return s
    if isinstance(a, (list, tuple)):
        return "[" + ", ".join(map(show, a)) + "]"
    if isinstance(a, torch.dtype):
        return cg.SHORT[a]
    return repr(a)


def map_tensors(args, f):
    def m(a):
        if isinstance(a, In):
            return In(f(a.tensor), a.constant, a.dynamic, a.bound)
        if isinstance(a, torch.Tensor):
            return f(a)
        if isinstance(a, list):
            return [m(x) for x in a]
        return a
    return [m(a) for a in args]


def tensors(args):
    for a in args:
        for x in a if isinstance(a, list) else [a]:
            if isinstance(x, (torch.Tensor, In)):
                yield x


def vary_layout(g, args):
    """Other dim orders: channels last for all of rank 4, or anything for some."""
    if g.p(.25):
        return map_tensors(args, lambda t: cg.relayout(t, [0, 2, 3, 1]) if t.dim() == 4 else t)
    if g.p(.06):
        return map_tensors(args, lambda t: cg.relayout(t, g.r.sample(range(t.dim()), t.dim())) if t.dim() > 1 and g.p(.6) else t)
    return args


def make_dynamic(g, f, args, outs):
    """(arguments with dynamic tensors, dynamic outs, further argument lists), or None."""
    ts = [t for t in tensors(args) if not (isinstance(t, In) and t.constant)]
    sizes = sorted({n for t in ts for n in (t.tensor if isinstance(t, In) else t).shape if n > 1})
    if not sizes:
        return None
    n = g.pick(sizes)
    m = 0 if g.p(.05) else g.r.randint(1, n - 1)

    def shrink(t):
        o = cg.dim_order(t)
        s = t[tuple(slice(0, m) if k == n else slice(None) for k in t.shape)]
        return cg.relayout(s, o) if s.numel() else torch.empty(s.shape, dtype=t.dtype)

    def smaller(a):
        if isinstance(a, list):
            return [smaller(x) for x in a]
        if isinstance(a, In):
            return a if a.constant else shrink(a.tensor)
        return shrink(a) if isinstance(a, torch.Tensor) else a
    small = [smaller(a) for a in args]
    if outs:
        r = cg._flatten(f(*[cg._plain(a) for a in small]))
        if len(r) != len(outs) or any(x.dim() != len(o.sizes) or any(p > q for p, q in zip(x.shape, o.sizes)) for x, o in zip(r, outs)):
            return None
        outs = [Out(o.dtype, o.sizes, o.order, True) for o in outs]

    def dynamic(a):
        if isinstance(a, list):
            return [dynamic(x) for x in a]
        if isinstance(a, In):
            return a if a.constant else In(a.tensor, dynamic=True)
        return In(a, dynamic=True) if isinstance(a, torch.Tensor) else a
    return [dynamic(a) for a in args], outs, [small, args]


def called(g, name, op_name):
    sampler, cls, _ = OPS[op_name]
    draw = sampler(g, op_name)
    args = vary_layout(g, draw.args) if draw.layout else draw.args
    f = draw.eager or cg.functional(op_name)
    outs, tags, more = draw.outs, [], None
    oargs = cg.out_arguments(cg.schema(op_name))
    if outs is None:
        try:
            with torch.no_grad():
                outs = [Out.like(x) for x in cg._flatten(f(*[a.clone() if isinstance(a, torch.Tensor) else a for a in map(cg._plain, args)]))]
            if oargs and "List[" not in str(oargs[0].type):
                outs = outs[:len(oargs)]
        except Exception:                                # noqa: BLE001  PyTorch refuses the call
            if not g.p(.15):                             # a few are worth a look
                raise Skip
            first = next((t.tensor if isinstance(t, In) else t for t in tensors(args)), torch.zeros(1))
            outs, tags = [Out.like(first)] * len(oargs), ["pytorch_refuses"]
    if outs and cls != "exact" and g.p(.03) and not draw.shape_only:
        d = g.pick(ALL)
        outs = [Out(d if g.p(.9) else o.dtype, o.sizes, o.order, o.dynamic) for o in outs]
        tags.append("other_out_dtype")
    if draw.layout and outs and g.p(.02):
        outs = [Out(o.dtype, o.sizes, g.r.sample(range(len(o.sizes)), len(o.sizes)), o.dynamic) for o in outs]
        tags.append("other_out_order")
    if draw.dynamic and f is not None and g.p(.15):
        try:
            with torch.no_grad():
                d = make_dynamic(g, f, args, outs)
        except Exception:                                # noqa: BLE001
            d = None
        if d:
            args, outs, more = d
            tags.append("dynamic_shape")
    call = f"{op_name}({', '.join(map(show, args))})" + "".join(f" -> {cg.SHORT[o.dtype]}" for o in outs if "other_out_dtype" in tags)
    c = cg.from_call(name, op_name, args, outs, more, eager=_cast_to(f, outs) if f is not None else None, tags=tags, detail={"call": call})
    if draw.shape_only:
        c.detail["shape_only"] = True
        c.stateless = False
    return c, draw, cls


def _cast_to(f, outs):
    """PyTorch's result in the output dtypes of the program."""
    dts = [o.dtype for o in outs]

    def call(*args):
        r = cg._flatten(f(*args))
        return [x.to(d) if isinstance(x, torch.Tensor) and x.dtype != d else x for x, d in zip(r, dts)] + r[len(dts):]
    return call


def make(seed, i, names, cum, export_share):
    """Case i of a seed, or None."""
    for attempt in range(20):
        g = Gen(f"{seed}/{i}/{attempt}")
        if g.p(export_share):
            try:
                return exported(g, f"f{i:06d}"), Draw([], scale=4), "acc"
            except Exception as e:                       # noqa: BLE001  the exporter refuses
                make.refused[f"export: {type(e).__name__}: {str(e).splitlines()[0][:90] if str(e) else ''}"] += 1
                continue
        name = g.r.choices(names, cum_weights=cum)[0]
        try:
            return called(g, f"f{i:06d}", name)
        except Skip:
            continue
        except Exception as e:                           # noqa: BLE001
            make.refused[f"{name}: {type(e).__name__}: {str(e).splitlines()[0][:90] if str(e) else ''}"] += 1
    return None


make.refused = Counter()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("out")
    ap.add_argument("-n", type=int, default=5000)
    ap.add_argument("--seed", default="1")
    ap.add_argument("--start", type=int, default=0)
    ap.add_argument("--only", type=int)
    ap.add_argument("--op", default="", help="regular expression for the operators to call")
    ap.add_argument("--export-share", type=float, default=.04, help="share of exported modules")
    ap.add_argument("--keep-unstable", action="store_true")
    ap.add_argument("--list", action="store_true", help="list operators the runtime has and this table lacks")
    a = ap.parse_args()
    cg.load_operators()
    if a.list:
        have = set(cg._portable_lib()._get_operator_names())
        print("\n".join(sorted(have - set(OPS))))
        return
    names = [n for n in OPS if re.search(a.op, n)]
    cum, t = [], 0.0
    for n in names:
        t += OPS[n][2]
        cum.append(t)
    share = 0.0 if a.op and not re.search(a.op, "export") else a.export_share
    if not names:
        names, cum, share = ["aten::add.out"], [1.0], 1.0
    todo = [a.only] if a.only is not None else range(a.start, a.start + a.n)
    began, count = time.time(), Counter()
    with cg.Writer(a.out, keep_eager=True) as w:
        batch = []

        def flush():
            cg.run([c for c, _, _ in batch])
            for c, draw, cls in batch:
                rtol, atol = tolerance(cls, c, draw)
                if c.unstable and not a.keep_unstable:
                    count["unstable"] += 1
                    continue
                row = w.add(c, rtol, atol, keep_unstable=True)
                if c.detail.get("shape_only"):
                    row["shape_only"] = True
                count["refused" if c.error else "cases"] += 1
                count["crashes"] += bool(c.error and c.error["where"] == "crash")
            batch.clear()
        for i in todo:
            m = make(a.seed, i, names, cum, share)
            if m is None:
                count["gave up"] += 1
                continue
            batch.append(m)
            if len(batch) == 64:
                flush()
                print(f"\r{i + 1}: {dict(count)} {time.time() - began:.0f} s", end="", flush=True)
        flush()
    print(f"\n{dict(count)} in {time.time() - began:.0f} s")
    for k, v in make.refused.most_common(15):
        print(f"  {v:5d} {k}")


if __name__ == "__main__":
    main()
