#!/usr/bin/env python3
"""Export a zoo of models to ExecuTorch .pte / .bpte golden files.

    export_zoo.py --list
    export_zoo.py --model mv2 --recipe xnnpack --out DIR
    export_zoo.py --model mv2,resnet18 --recipe portable,xnnpack_q8 --out DIR
    export_zoo.py --model mv2 --recipe xnnpack --static --out DIR      # -> mv2_static_xnnpack.pte

For every (model, recipe) pair three files are written:

    <model>_<recipe>.pte    the plain ExecuTorch program
    <model>_<recipe>.bpte   BundledProgram: the same program, plus >= 2 sets of
                            inputs with the outputs that the real ExecuTorch
                            runtime (pybindings) produced for them.  Where the
                            model has a dynamic dimension the sets differ in shape.
                            Models with state (llama_kv): run the sets IN ORDER on ONE
                            instance.  All others: the outputs are those of a fresh
                            instance per set.
    <model>_<recipe>.json   sidecar: shapes, dynamic dims, timing of the export,
                            error of the runtime outputs against eager PyTorch
                            (of the quantized graph and of the float model),
                            output spread.

index.json gets a row for each .bpte, with its tolerance.

Weights are random under a fixed seed (no downloads).  Batch-norm statistics are
first measured on random inputs (so that activations neither explode nor vanish in
deep nets) and then jittered, so that they are far from the 0/1 defaults.
Only PyPI packages are needed: torch torchvision executorch torchao timm
transformers; torchaudio (emformer, conformer) and silero-vad (its weights file) are
optional.

Recipes
    portable            no delegate, fp32
    xnnpack             XNNPACK delegate, fp32
    xnnpack_q8          PT2E static int8, per-channel symmetric weights
    xnnpack_q8_tensor   PT2E static int8, per-tensor weights
    xnnpack_q8_dynamic  PT2E dynamic int8 activations for linears, per-channel weights
    xnnpack_8da4w       torchao: int8 dynamic per-token activations, int4 weights, groups of 32
    xnnpack_8da4w_pc    the same with one scale per output channel
    xnnpack_fp16        model and inputs in half precision
    portable_q8         the xnnpack_q8 graph without the delegate: quantized_decomposed ops
                        (needs the runtime's quantized kernels)
"""

import argparse
import gc
import json
import math
import os
import sys
import time
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

warnings.filterwarnings("ignore")
if os.environ.get("ZOO_EXTRA"):  # extra site directory (torchaudio, silero_vad)
    sys.path.append(os.environ["ZOO_EXTRA"])

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils._pytree import tree_flatten, tree_map

import casegen

SEED = 1234
RECIPES = [
    "portable", "xnnpack", "xnnpack_q8", "xnnpack_q8_tensor", "xnnpack_q8_dynamic",
    "xnnpack_8da4w", "xnnpack_8da4w_pc", "xnnpack_fp16", "portable_q8",
]
BASE = ["portable", "xnnpack", "xnnpack_q8"]
LIN = BASE + ["xnnpack_q8_dynamic", "xnnpack_8da4w"]


# ----------------------------------------------------------------------------------
# description of a model
# ----------------------------------------------------------------------------------
@dataclass
class Method:
    module: nn.Module
    cases: list                      # input tuples; cases[0] is the one to time
    dynamic: Any = None              # torch.export dynamic_shapes, or None
    trace: int = 0                   # which case to trace with (dynamic dims must be > 1)
    calib: Optional[list] = None     # inputs for calibration (default: random like cases)


@dataclass
class Spec:
    methods: dict                    # name -> Method
    init_buffers: list = field(default_factory=list)  # mutable buffers with initial state
    note: str = ""


@dataclass
class Entry:
    build: Callable[[], Spec]
    recipes: list
    tier: int                        # 0 tiny .. 3 large
    doc: str


ZOO: dict[str, Entry] = {}


def zoo(name, recipes=BASE, tier=1, doc=""):
    def deco(fn):
        ZOO[name] = Entry(fn, list(recipes), tier, doc or (fn.__doc__ or "").strip())
        return fn
    return deco


_gen = torch.Generator()


def rnd(*shape):
    return torch.randn(*shape, generator=_gen)


def uni(*shape, lo=-1.0, hi=1.0):
    return torch.rand(*shape, generator=_gen) * (hi - lo) + lo


def ints(*shape, hi):
    return torch.randint(0, hi, shape, generator=_gen)


def one(module, cases, dynamic=None, trace=0, **kw):
    return Spec({"forward": Method(module.eval(), cases, dynamic, trace)}, **kw)


def D(name, lo, hi):
    return torch.export.Dim(name, min=lo, max=hi)


# ----------------------------------------------------------------------------------
# making random networks behave
# ----------------------------------------------------------------------------------
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def jitter(model, amount=0.15):
    """Random affine parameters for the normalisations, small random biases."""
    g = torch.Generator().manual_seed(SEED + 1)
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, NORMS + (nn.LayerNorm, nn.GroupNorm)) and getattr(m, "weight", None) is not None:
                m.weight.mul_(1 + amount * torch.randn(m.weight.shape, generator=g))
                if m.bias is not None:
                    m.bias.add_(0.1 * torch.randn(m.bias.shape, generator=g))
            elif isinstance(m, (nn.Conv1d, nn.Conv2d, nn.Linear, nn.ConvTranspose2d)) and m.bias is not None:
                m.bias.add_(0.02 * torch.randn(m.bias.shape, generator=g))
    return model


def settle_bn(model, *batches, amount=0.1):
    """Give batch norms the statistics of random inputs, then perturb them."""
    bns = [m for m in model.modules() if isinstance(m, NORMS)]
    if not bns:
        return model
    model.eval()
    saved = [m.momentum for m in bns]
    for m in bns:
        m.reset_running_stats()
        m.momentum = None            # cumulative average
        m.train()
    with torch.no_grad():
        for b in batches:
            model(*b)
    g = torch.Generator().manual_seed(SEED + 2)
    for m, mom in zip(bns, saved):
        m.momentum = mom
        m.eval()
        sd = m.running_var.sqrt()
        m.running_mean += amount * sd * torch.randn(sd.shape, generator=g)
        m.running_var *= (1 + amount * torch.randn(sd.shape, generator=g)).clamp(0.5, 1.5)
        m.running_var.clamp_(min=1e-3)
    return model.eval()


def cnn(model, hw=224, chan=3, hi=2, bn_hw=None, note=""):
    """Image classifier: batch 1 and a dynamic batch of 2."""
    s = bn_hw or hw
    jitter(model)
    settle_bn(model, (rnd(4, chan, s, s),), (rnd(4, chan, s, s),))
    return one(model, [(rnd(1, chan, hw, hw),), (rnd(2, chan, hw, hw),)],
               ({0: D("batch", 1, hi)},), trace=1, note=note)


class Pick(nn.Module):
    """Return one entry (or several) of a model's output."""

    def __init__(self, m, *keys):
        super().__init__()
        self.m, self.keys = m, keys

    def forward(self, x):
        o = self.m(x)
        r = tuple(o[k] if not isinstance(k, str) or isinstance(o, dict) else getattr(o, k) for k in self.keys)
        return r[0] if len(r) == 1 else r


# ----------------------------------------------------------------------------------
# toys
# ----------------------------------------------------------------------------------
ALLQ = LIN + ["xnnpack_8da4w_pc", "xnnpack_fp16", "portable_q8", "xnnpack_q8_tensor"]


@zoo("linear", ALLQ, 0)
def _():
    """one Linear; 64->48 so that int4 groups of 32 fit, dynamic rows"""
    return one(nn.Linear(64, 48), [(rnd(3, 64),), (rnd(5, 64),)], ({0: D("rows", 1, 8)},))


@zoo("linear3", BASE, 0)
def _():
    """Linear(3,3) as in ExecuTorch's toy_model"""
    return one(nn.Linear(3, 3), [(rnd(3, 3),), (rnd(3, 3),)])


class _Fn(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *a):
        return self.f(*a)


@zoo("add", BASE + ["xnnpack_fp16", "portable_q8"], 0)
def _():
    """x + y, 1-D"""
    return one(_Fn(lambda x, y: x + y), [(rnd(1), rnd(1)), (rnd(1), rnd(1))])


@zoo("add_bcast", BASE + ["portable_q8"], 0)
def _():
    """chain of adds with broadcasting and a dynamic dim"""
    n = D("n", 2, 16)
    class M(nn.Module):
        def forward(self, x, y):
            return (x + y) + (y + y) + 1.5
    return one(M(), [(rnd(4, 6), rnd(6)), (rnd(9, 6), rnd(6))], ({0: n}, {}))


@zoo("mul", BASE, 0)
def _():
    """x * y"""
    return one(_Fn(lambda x, y: x * y), [(rnd(3, 2), rnd(3, 2)), (rnd(3, 2), rnd(3, 2))])


@zoo("add_mul", BASE, 0)
def _():
    """mm(a, x) + b"""
    return one(_Fn(lambda a, x, b: torch.add(torch.mm(a, x), b)),
               [(rnd(2, 2), rnd(2, 2), rnd(2, 2)), (rnd(2, 2), rnd(2, 2), rnd(2, 2))])


@zoo("softmax", BASE, 0)
def _():
    """softmax over the last dim, dynamic rows"""
    return one(nn.Softmax(-1), [(rnd(2, 7),), (rnd(5, 7),)], ({0: D("n", 1, 8)},), trace=1)


@zoo("conv1d", BASE, 0)
def _():
    """Conv1d(3,16,3)"""
    return one(nn.Conv1d(3, 16, 3, padding=1), [(rnd(1, 3, 10),), (rnd(1, 3, 17),)], ({2: D("t", 4, 32)},))


@zoo("sdpa", ["portable", "xnnpack"], 0)
def _():
    """scaled_dot_product_attention with an additive mask, fp32"""
    f = _Fn(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m))
    mk = lambda b: tuple(rnd(b, 4, 24, 16) for _ in range(3)) + (uni(24, 24, lo=-4, hi=0),)
    return one(f, [mk(2), mk(2)])


class Activations(nn.Module):
    """Each pointwise function that XNNPACK has, after one conv."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1)
        self.prelu = nn.PReLU(8)

    def forward(self, x):
        y = self.conv(x)
        p = y.abs() + 0.25
        outs = [
            F.relu(y), F.relu6(y * 3), F.hardtanh(y, -0.5, 0.75), F.leaky_relu(y, 0.2), F.elu(y, 0.7), F.gelu(y),
            F.hardswish(y * 4), F.hardsigmoid(y), F.silu(y), torch.sigmoid(y), torch.tanh(y), torch.exp(-p), torch.log(p),
            torch.sqrt(p), torch.rsqrt(p), y * y, torch.square(y), torch.abs(y), torch.neg(y), torch.floor(y * 3),
            torch.ceil(y * 3), torch.sin(y), torch.cos(y), torch.clamp(y, min=-0.3), torch.minimum(y, p), torch.maximum(y, -p),
            y / p, y - p, self.prelu(y), F.gelu(y, approximate="tanh"), F.softplus(y), F.mish(y),
        ]
        return tuple(outs)


@zoo("activations", BASE + ["portable_q8", "xnnpack_fp16"], 0)
def _():
    """all pointwise functions, one output each"""
    m = Activations()
    return one(m, [(rnd(1, 4, 6, 7),), (rnd(1, 4, 6, 7),)])


class Shapes(nn.Module):
    """Pad, slice, concat, permute, pooling, resize and reshape variants."""

    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(4, 8, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), bias=True)
        self.c2 = nn.Conv2d(8, 8, 3, padding=1, groups=2, bias=False)
        self.dw = nn.Conv2d(8, 16, 3, padding=1, groups=8)
        self.up = nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        a = F.pad(x, (1, 2, 0, 1), value=0.5)
        a = F.relu(self.c1(a))
        b = self.c2(a)
        c = self.dw(a)
        parts = torch.chunk(c, 4, 1)
        d = torch.cat([a, b, *parts], 1)                 # 6 inputs
        e = F.max_pool2d(d, 3, 2, padding=1)
        e2 = F.max_pool2d(d, 2, 2, ceil_mode=True)
        f = F.avg_pool2d(d, 2, 2)
        g = F.interpolate(f, scale_factor=2, mode="bilinear", align_corners=False)
        h = F.interpolate(f, size=(5, 7), mode="bilinear", align_corners=True)
        i = F.interpolate(f, scale_factor=2, mode="nearest")
        j = F.adaptive_avg_pool2d(d, 1).flatten(1)
        k = F.adaptive_avg_pool2d(d, (2, 3))
        n = d.mean((2, 3), keepdim=True) * d
        p = d.permute(0, 2, 3, 1)[:, 1:4, ::2, 2:5]
        q = F.pixel_shuffle(c, 2)
        r = self.up(a)
        s = torch.softmax(d, 1)
        return e, e2, f, g, h, i, j, k, n, p.contiguous(), q, r, s


@zoo("shapes", BASE + ["portable_q8"], 0)
def _():
    """padding / slicing / pooling / resizing / transposed conv, one output each"""
    return one(Shapes(), [(rnd(1, 4, 12, 11),), (rnd(1, 4, 12, 11),)])


# ----------------------------------------------------------------------------------
# MLPerf Tiny
# ----------------------------------------------------------------------------------
def conv_bn(i, o, k, s=1, p=None, g=1, act=nn.ReLU):
    p = (k // 2 if isinstance(k, int) else tuple(x // 2 for x in k)) if p is None else p
    layers = [nn.Conv2d(i, o, k, s, p, groups=g, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([act()] if act else []))


def ds_block(i, o, s=1):
    return nn.Sequential(conv_bn(i, i, 3, s, g=i), conv_bn(i, o, 1))


@zoo("kws_dscnn", BASE + ["portable_q8", "xnnpack_fp16", "xnnpack_q8_tensor"], 0)
def _():
    """MLPerf Tiny keyword spotting DS-CNN, 1x49x10"""
    m = nn.Sequential(conv_bn(1, 64, (10, 4), 2, (5, 1)), nn.Dropout(0.2), *[ds_block(64, 64) for _ in range(4)],
                      nn.Dropout(0.4), nn.AvgPool2d((24, 5)), nn.Flatten(), nn.Linear(64, 12))
    jitter(m)
    settle_bn(m, (uni(8, 1, 49, 10),))
    return one(m, [(uni(1, 1, 49, 10),), (uni(3, 1, 49, 10),)], ({0: D("batch", 1, 4)},), trace=1)


class Res8Stage(nn.Module):
    def __init__(self, i, o, s):
        super().__init__()
        self.a, self.b = conv_bn(i, o, 3, s), conv_bn(o, o, 3, act=None)
        self.skip = nn.Conv2d(i, o, 1, s, bias=False) if s != 1 or i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.b(self.a(x)) + self.skip(x))


@zoo("resnet8", BASE + ["portable_q8", "xnnpack_fp16", "xnnpack_q8_tensor"], 0)
def _():
    """MLPerf Tiny image classification ResNet-8, 3x32x32"""
    m = nn.Sequential(conv_bn(3, 16, 3), Res8Stage(16, 16, 1), Res8Stage(16, 32, 2), Res8Stage(32, 64, 2),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return cnn(m, 32, hi=4)


@zoo("vww_mv1", BASE + ["portable_q8"], 0)
def _():
    """MLPerf Tiny visual wake words MobileNetV1 x0.25, 3x96x96"""
    c, blocks = 8, []
    for s, grow in [(1, 1), (2, 1), (1, 0), (2, 1), (1, 0), (2, 1)] + [(1, 0)] * 5 + [(2, 1), (1, 0)]:
        blocks.append(ds_block(c, c * (2 if grow else 1), s))
        c *= 2 if grow else 1
    m = nn.Sequential(conv_bn(3, 8, 3, 2), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 2))
    return cnn(m, 96, hi=4)


@zoo("autoencoder", LIN + ["portable_q8", "xnnpack_8da4w_pc", "xnnpack_fp16"], 0)
def _():
    """MLPerf Tiny anomaly detection autoencoder, 640-d"""
    dims, L = [640, 128, 128, 128, 128, 8, 128, 128, 128, 128], []
    for i, o in zip(dims, dims[1:]):
        L += [nn.Linear(i, o), nn.BatchNorm1d(o), nn.ReLU()]
    m = nn.Sequential(*L, nn.Linear(128, 640))
    jitter(m)
    settle_bn(m, (uni(32, 640),))
    return one(m, [(uni(1, 640),), (uni(4, 640),)], ({0: D("batch", 1, 8)},), trace=1)


# ----------------------------------------------------------------------------------
# recurrent
# ----------------------------------------------------------------------------------
@zoo("lstm", LIN, 0)
def _():
    """nn.LSTM(10, 20, 2 layers) over 5 steps, with states in and out (CI's 'lstm' shapes)"""
    mk = lambda: (rnd(5, 3, 10), (rnd(2, 3, 20), rnd(2, 3, 20)))
    return one(nn.LSTM(10, 20, 2), [mk(), mk()])


@zoo("lstm_q", LIN, 0)
def _():
    """torch.nn.quantizable LSTM(10, 20, 2): what CI's 'lstm' exports"""
    from torch.nn.quantizable.modules import rnn
    mk = lambda: (rnd(5, 3, 10), (rnd(2, 3, 20), rnd(2, 3, 20)))
    return one(rnn.LSTM(10, 20, 2), [mk(), mk()])


@zoo("gru", LIN, 0)
def _():
    """bidirectional nn.GRU(32, 64) over 8 steps and a linear head"""
    class G(nn.Module):
        def __init__(self):
            super().__init__()
            self.g, self.o = nn.GRU(32, 64, batch_first=True, bidirectional=True), nn.Linear(128, 16)

        def forward(self, x):
            y, h = self.g(x)
            return self.o(y), h
    return one(G(), [(rnd(1, 8, 32),), (rnd(1, 8, 32),)])


# ----------------------------------------------------------------------------------
# torchvision / timm classifiers
# ----------------------------------------------------------------------------------
def tv(name, **kw):
    import torchvision.models as M
    return getattr(M, name)(weights=None, **kw)


@zoo("mv2", BASE + ["portable_q8", "xnnpack_fp16", "xnnpack_q8_tensor"], 1)
def _():
    """torchvision mobilenet_v2, 224"""
    return cnn(tv("mobilenet_v2"))


@zoo("mv2_dynhw", ["portable", "xnnpack"], 1)
def _():
    """mobilenet_v2 with dynamic height and width"""
    m = tv("mobilenet_v2")
    jitter(m)
    settle_bn(m, (rnd(4, 3, 128, 128),))
    return one(m, [(rnd(1, 3, 128, 128),), (rnd(1, 3, 96, 160),)], ({2: D("h", 64, 256), 3: D("w", 64, 256)},))


@zoo("mv3", BASE, 1)
def _():
    """torchvision mobilenet_v3_small, 224 (CI's mv3)"""
    return cnn(tv("mobilenet_v3_small"))


@zoo("resnet18", BASE + ["xnnpack_fp16", "xnnpack_q8_tensor"], 1)
def _():
    """torchvision resnet18, 224"""
    return cnn(tv("resnet18"))


@zoo("resnet50", BASE, 2)
def _():
    """torchvision resnet50, 224"""
    return cnn(tv("resnet50"))


@zoo("squeezenet", BASE, 1)
def _():
    """torchvision squeezenet1_1, 224"""
    return cnn(tv("squeezenet1_1"))


@zoo("efficientnet_b0", BASE, 1)
def _():
    """torchvision efficientnet_b0, 224"""
    return cnn(tv("efficientnet_b0"))


@zoo("shufflenet", BASE, 1)
def _():
    """torchvision shufflenet_v2_x1_0, 224"""
    return cnn(tv("shufflenet_v2_x1_0"))


@zoo("densenet121", BASE, 2)
def _():
    """torchvision densenet121, 224"""
    return cnn(tv("densenet121"))


@zoo("googlenet", BASE, 2)
def _():
    """torchvision googlenet, 224"""
    return cnn(tv("googlenet", aux_logits=False, init_weights=False))


@zoo("ic3", BASE, 2)
def _():
    """torchvision inception_v3, 224 as in CI (no auxiliary head at inference)"""
    return cnn(tv("inception_v3", init_weights=False))


@zoo("ic4", BASE, 3)
def _():
    """timm inception_v4, 299"""
    import timm
    return cnn(timm.create_model("inception_v4", pretrained=False), 299)


@zoo("dl3", BASE, 3)
def _():
    """torchvision deeplabv3_resnet50; CI uses 224, here 128 to keep the portable run short"""
    from torchvision.models.segmentation import deeplabv3_resnet50
    m = Pick(deeplabv3_resnet50(weights=None, weights_backbone=None), "out")
    return cnn(m, 128)


@zoo("convnext_tiny", ["portable", "xnnpack", "xnnpack_q8_dynamic", "xnnpack_8da4w"], 2)
def _():
    """torchvision convnext_tiny, 224"""
    m = jitter(tv("convnext_tiny"))
    with torch.no_grad():
        for n, p in m.named_parameters():
            if n.endswith("layer_scale"):
                p.fill_(0.5)
    return one(m, [(rnd(1, 3, 224, 224),), (rnd(1, 3, 224, 224),)])


@zoo("swin_t", ["portable", "xnnpack", "xnnpack_q8_dynamic"], 2)
def _():
    """torchvision swin_t, 224"""
    m = jitter(tv("swin_t"))
    return one(m, [(rnd(1, 3, 224, 224),), (rnd(1, 3, 224, 224),)])


def _vit(m):
    jitter(m)
    g = torch.Generator().manual_seed(SEED + 3)
    with torch.no_grad():                            # torchvision zeroes the head
        for p in m.heads.parameters():
            p.copy_(0.05 * torch.randn(p.shape, generator=g))
    return one(m, [(rnd(1, 3, 224, 224),), (rnd(2, 3, 224, 224),)], ({0: D("batch", 1, 2)},), trace=1)


@zoo("vit_cut", LIN + ["xnnpack_8da4w_pc", "xnnpack_fp16"], 1)
def _():
    """torchvision VisionTransformer like vit_b_16 but 2 layers, 192 wide"""
    from torchvision.models import VisionTransformer
    return _vit(VisionTransformer(224, 16, 2, 3, 192, 768))


@zoo("vit", LIN, 3)
def _():
    """torchvision vit_b_16, 224"""
    return _vit(tv("vit_b_16"))


@zoo("deit_tiny", LIN + ["xnnpack_fp16"], 1)
def _():
    """timm deit_tiny_patch16_224"""
    import timm
    m = jitter(timm.create_model("deit_tiny_patch16_224", pretrained=False))
    return one(m, [(rnd(1, 3, 224, 224),), (rnd(2, 3, 224, 224),)], ({0: D("batch", 1, 2)},), trace=1)


@zoo("mobilevit", ["portable", "xnnpack", "xnnpack_q8"], 2)
def _():
    """timm mobilevit_xxs, 256 (static)"""
    import timm
    m = jitter(timm.create_model("mobilevit_xxs", pretrained=False))
    settle_bn(m, (rnd(4, 3, 256, 256),))
    return one(m, [(rnd(1, 3, 256, 256),), (rnd(1, 3, 256, 256),)])


# ----------------------------------------------------------------------------------
# dense prediction, detection, super resolution
# ----------------------------------------------------------------------------------
class EDSR(nn.Module):
    """EDSR baseline: 16 residual blocks of 64 features, x2, mean shift in and out."""

    def __init__(self, n=16, f=64, scale=2):
        super().__init__()
        c = lambda i, o: nn.Conv2d(i, o, 3, padding=1)
        self.sub, self.add = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1)
        for m, sign in ((self.sub, -1), (self.add, 1)):
            m.weight.data = torch.eye(3).view(3, 3, 1, 1)
            m.bias.data = sign * torch.tensor([0.4488, 0.4371, 0.4040])
        self.head = c(3, f)
        self.blocks = nn.ModuleList(nn.Sequential(c(f, f), nn.ReLU(True), c(f, f)) for _ in range(n))
        self.tail_body = c(f, f)
        self.up = nn.Sequential(c(f, f * scale * scale), nn.PixelShuffle(scale), c(f, 3))

    def forward(self, x):
        x = self.head(self.sub(x))
        r = x
        for b in self.blocks:
            r = b(r) + r
        return self.add(self.up(self.tail_body(r) + x))


@zoo("edsr", BASE, 1)
def _():
    """EDSR r16f64 x2; CI uses 224x224, here 48x48 and a dynamic 40x64"""
    return one(EDSR(), [(uni(1, 3, 48, 48, lo=0),), (uni(1, 3, 40, 64, lo=0),)],
               ({2: D("h", 16, 64), 3: D("w", 16, 64)},))


class UNet(nn.Module):
    """Small U-Net; up: 'deconv', 'bilinear' or 'nearest'."""

    def __init__(self, up="deconv", w=(16, 32, 64), out=4):
        super().__init__()
        dbl = lambda i, o: nn.Sequential(conv_bn(i, o, 3), conv_bn(o, o, 3, act=nn.LeakyReLU))
        self.d = nn.ModuleList([dbl(3, w[0]), dbl(w[0], w[1]), dbl(w[1], w[2])])
        self.u = nn.ModuleList()
        for i, o in ((w[2], w[1]), (w[1], w[0])):
            if up == "deconv":
                self.u.append(nn.ConvTranspose2d(i, o, 2, 2))
            else:
                kw = {"align_corners": False} if up == "bilinear" else {}
                self.u.append(nn.Sequential(nn.Upsample(scale_factor=2, mode=up, **kw), nn.Conv2d(i, o, 1)))
        self.m = nn.ModuleList([dbl(w[2], w[1]), dbl(w[1], w[0])])
        self.o = nn.Conv2d(w[0], out, 1)

    def forward(self, x):
        a = self.d[0](x)
        b = self.d[1](F.max_pool2d(a, 2))
        c = self.d[2](F.max_pool2d(b, 2))
        y = self.m[0](torch.cat([self.u[0](c), b], 1))
        y = self.m[1](torch.cat([self.u[1](y), a], 1))
        return torch.sigmoid(self.o(y))


def _unet(up, dyn=True):
    m = jitter(UNet(up))
    settle_bn(m, (rnd(4, 3, 64, 64),))
    h, w = D("h4", 4, 32), D("w4", 4, 32)
    return one(m, [(rnd(1, 3, 64, 64),), (rnd(1, 3, 48, 96),)], ({2: 4 * h, 3: 4 * w},) if dyn else None)


@zoo("unet_deconv", BASE, 1)
def _():
    """U-Net with ConvTranspose2d, dynamic H and W (multiples of 4)"""
    return _unet("deconv")


@zoo("unet_bilinear", BASE, 1)
def _():
    """U-Net with bilinear upsampling, dynamic H and W (multiples of 4)"""
    return _unet("bilinear")


@zoo("unet_nearest", BASE, 1)
def _():
    """U-Net with nearest upsampling, dynamic H and W (multiples of 4)"""
    return _unet("nearest")


class C2f(nn.Module):
    def __init__(self, i, o, n, act):
        super().__init__()
        self.a, self.h = conv_bn(i, o, 1, act=act), o // 2
        self.b = nn.ModuleList(nn.Sequential(conv_bn(o // 2, o // 2, 3, act=act), conv_bn(o // 2, o // 2, 3, act=act)) for _ in range(n))
        self.c = conv_bn(o + n * (o // 2), o, 1, act=act)

    def forward(self, x):
        ys = list(torch.split(self.a(x), self.h, 1))
        for b in self.b:
            ys.append(ys[-1] + b(ys[-1]))
        return self.c(torch.cat(ys, 1))


class YoloLike(nn.Module):
    """One-stage detector in the manner of recent YOLOs: SiLU, split/concat blocks, SPPF,
    nearest upsampling, distribution focal head decoded to boxes and scores."""

    def __init__(self, nc=8, w=16, reg=8):
        super().__init__()
        A = nn.SiLU
        self.nc, self.reg = nc, reg
        self.s1 = nn.Sequential(conv_bn(3, w, 3, 2, act=A), conv_bn(w, 2 * w, 3, 2, act=A), C2f(2 * w, 2 * w, 1, A))
        self.s2 = nn.Sequential(conv_bn(2 * w, 4 * w, 3, 2, act=A), C2f(4 * w, 4 * w, 2, A))
        self.s3 = nn.Sequential(conv_bn(4 * w, 8 * w, 3, 2, act=A), C2f(8 * w, 8 * w, 2, A))
        self.p1, self.p2 = conv_bn(8 * w, 4 * w, 1, act=A), conv_bn(16 * w, 8 * w, 1, act=A)
        self.n1 = C2f(12 * w, 4 * w, 1, A)
        self.down = conv_bn(4 * w, 4 * w, 3, 2, act=A)
        self.n2 = C2f(12 * w, 8 * w, 1, A)
        self.h = nn.ModuleList(nn.Sequential(conv_bn(c, 32, 3, act=A), nn.Conv2d(32, 4 * reg + nc, 1)) for c in (4 * w, 8 * w))
        self.register_buffer("bins", torch.arange(reg, dtype=torch.float32))

    def forward(self, x):
        a = self.s2(self.s1(x))
        b = self.p1(self.s3(a))
        q = [b]
        for _ in range(3):
            q.append(F.max_pool2d(q[-1], 5, 1, 2))
        b = self.p2(torch.cat(q, 1))
        m = self.n1(torch.cat([F.interpolate(b, scale_factor=2, mode="nearest"), a], 1))
        n = self.n2(torch.cat([self.down(m), b], 1))
        out = []
        for head, f, stride in zip(self.h, (m, n), (8, 16)):
            y = head(f)
            bs, _, hh, ww = y.shape
            y = y.flatten(2)
            box, cls = y.split([4 * self.reg, self.nc], 1)
            d = (box.view(bs, 4, self.reg, hh * ww).softmax(2) * self.bins.view(1, 1, -1, 1)).sum(2)
            gy, gx = torch.meshgrid(torch.arange(hh) + 0.5, torch.arange(ww) + 0.5, indexing="ij")
            c = torch.stack([gx.flatten(), gy.flatten()]).unsqueeze(0)
            lt, rb = d.chunk(2, 1)
            out.append(torch.cat([(c - lt) * stride, (c + rb) * stride, cls.sigmoid()], 1))
        return torch.cat(out, 2)


@zoo("yolo_like", BASE, 1)
def _():
    """YOLO-like CNN with box decoding, 3x128x128"""
    m = jitter(YoloLike())
    settle_bn(m, (rnd(4, 3, 128, 128),))
    return one(m, [(rnd(1, 3, 128, 128),), (rnd(1, 3, 128, 128),)])


# ----------------------------------------------------------------------------------
# audio
# ----------------------------------------------------------------------------------
def wav2letter(classes=40, w=250, wide=2000):
    """The wav2letter acoustic model on raw waveforms (12 Conv1d + ReLU, log-softmax)."""
    c = lambda i, o, k, s=1, p=0: [nn.Conv1d(i, o, k, s, p), nn.ReLU()]
    L = c(1, w, 250, 160, 45) + c(w, w, 48, 2, 23)
    for _ in range(7):
        L += c(w, w, 7, 1, 3)
    L += c(w, wide, 32, 1, 16) + c(wide, wide, 1) + c(wide, classes, 1)
    return nn.Sequential(*L, nn.LogSoftmax(1))


@zoo("w2l", BASE + ["xnnpack_q8_dynamic"], 2)
def _():
    """wav2letter on 4096 classes (CI: batch 10 of 700 samples; here batch 1 and 2)"""
    m = wav2letter(4096)
    return one(m, [(rnd(1, 1, 700),), (rnd(2, 1, 700),)], ({0: D("batch", 1, 2)},), trace=1)


@zoo("w2l_small", BASE, 1)
def _():
    """wav2letter, narrow (64/256), 29 classes, dynamic length"""
    m = wav2letter(29, 64, 256)
    return one(m, [(rnd(1, 1, 16000),), (rnd(1, 1, 9600),)], ({2: 320 * D("t", 10, 60)},))


class SileroVAD(nn.Module):
    """Silero VAD, 16 kHz: learned STFT, 4 convs, LSTM cell (weights from the silero-vad package)."""

    def __init__(self):
        super().__init__()
        self.stft = nn.Conv1d(1, 258, 256, 128, bias=False)
        self.enc = nn.ModuleList([nn.Conv1d(129, 128, 3, 1, 1), nn.Conv1d(128, 64, 3, 2, 1),
                                  nn.Conv1d(64, 64, 3, 2, 1), nn.Conv1d(64, 128, 3, 1, 1)])
        self.cell = nn.LSTMCell(128, 128)
        self.out = nn.Conv1d(128, 1, 1)

    def load(self):
        import importlib.util
        import pathlib
        d = pathlib.Path(importlib.util.find_spec("silero_vad").origin).parent / "data" / "silero_vad.jit"
        sd = torch.jit.load(str(d), map_location="cpu")._model.state_dict()
        ren = {"stft.weight": "stft.forward_basis_buffer", "out.weight": "decoder.decoder.2.weight", "out.bias": "decoder.decoder.2.bias"}
        for i in range(4):
            for p in ("weight", "bias"):
                ren[f"enc.{i}.{p}"] = f"encoder.{i}.reparam_conv.{p}"
        for p in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            ren[f"cell.{p}"] = f"decoder.rnn.{p}"
        self.load_state_dict({k: sd[v] for k, v in ren.items()})
        return self

    def forward(self, x, state):
        x = self.stft(F.pad(x, (0, 64), mode="reflect").unsqueeze(1))
        x = (x[:, :129] ** 2 + x[:, 129:] ** 2).sqrt()
        for c in self.enc:
            x = F.relu(c(x))
        h, c = self.cell(x.squeeze(-1), (state[0], state[1]))
        y = torch.sigmoid(self.out(F.relu(h).unsqueeze(-1)))
        return y.squeeze(1).mean(1, keepdim=True), torch.stack([h, c])


@zoo("silero_vad", LIN, 1)
def _():
    """Silero VAD 16 kHz with the real weights of PyPI's silero-vad"""
    m = SileroVAD().load()
    t = torch.arange(576) / 16000.0
    tone = (0.3 * torch.sin(2 * math.pi * 220 * t) + 0.2 * torch.sin(2 * math.pi * 660 * t)).unsqueeze(0)
    return one(m, [(tone + 0.01 * rnd(1, 576), torch.zeros(2, 1, 128)), (0.3 * rnd(1, 576), 0.3 * rnd(2, 1, 128))])


def _emformer():
    from torchaudio.models import emformer_rnnt_model
    # emformer_rnnt_base, but 3 of 20 layers and 256 instead of 4097 symbols, to keep it small
    return emformer_rnnt_model(
        input_dim=80, encoding_dim=256, num_symbols=256, segment_length=16, right_context_length=4,
        time_reduction_input_dim=128, time_reduction_stride=4, transformer_num_heads=8, transformer_ffn_dim=512,
        transformer_num_layers=3, transformer_dropout=0.1, transformer_activation="gelu",
        transformer_left_context_length=30, transformer_max_memory_size=0,
        transformer_weight_init_scale_strategy="depthwise", transformer_tanh_on_mem=True,
        symbol_embedding_dim=128, num_lstm_layers=2, lstm_layer_norm=True, lstm_layer_norm_epsilon=1e-3, lstm_dropout=0.3)


class _Call(nn.Module):
    def __init__(self, m, name):
        super().__init__()
        self.m, self.name = m, name

    def forward(self, *a):
        return getattr(self.m, self.name)(*a)


@zoo("emformer_transcribe", LIN, 2)
def _():
    """torchaudio Emformer RNN-T transcriber (3 layers)"""
    m = jitter(_emformer().eval())
    mk = lambda: (rnd(1, 128, 80), torch.tensor([128]))
    return one(_Call(m, "transcribe"), [mk(), mk()])


class _Predict(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, y, n):
        o, l, st = self.m.predict(y, n, None)
        return o, l, st[0][0], st[0][1]


@zoo("emformer_predict", LIN, 2)
def _():
    """torchaudio Emformer RNN-T predictor (LSTM with layer norm), 16 tokens"""
    m = jitter(_emformer().eval())
    mk = lambda: (ints(1, 16, hi=256), torch.tensor([16]))
    return one(_Predict(m), [mk(), mk()])


@zoo("emformer_join", LIN, 1)
def _():
    """torchaudio Emformer RNN-T joiner"""
    m = jitter(_emformer().eval())
    mk = lambda: (uni(1, 32, 256), torch.tensor([32]), uni(1, 16, 256), torch.tensor([16]))
    return one(_Call(m, "join"), [mk(), mk()])


@zoo("conformer", LIN, 1)
def _():
    """torchaudio Conformer, 2 layers, 80 wide"""
    from torchaudio.models import Conformer
    m = Conformer(input_dim=80, num_heads=4, ffn_dim=128, num_layers=2, depthwise_conv_kernel_size=31)

    class W(nn.Module):
        """Without lengths: building the padding mask from them (max().item()) is not exportable."""

        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, x):
            x = x.transpose(0, 1)
            for layer in self.m.conformer_layers:
                x = layer(x, None)
            return x.transpose(0, 1)
    w = jitter(W())
    settle_bn(w, (rnd(4, 60, 80),))
    return one(w, [(rnd(1, 60, 80),), (rnd(1, 60, 80),)])


class WhisperEnc(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.e = m.model.encoder

    def forward(self, mel):
        return self.e(mel, return_dict=False)[0]


class WhisperDec(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.d, self.o = m.model.decoder, m.proj_out

    def forward(self, ids, enc):
        return self.o(self.d(input_ids=ids, encoder_hidden_states=enc, use_cache=False, return_dict=False)[0])


def _whisper(layers=2, d=128, ctx=1500 // 4):
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    c = WhisperConfig(vocab_size=1024, d_model=d, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=4,
                      decoder_attention_heads=4, encoder_ffn_dim=4 * d, decoder_ffn_dim=4 * d, num_mel_bins=80,
                      max_source_positions=ctx, max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                      decoder_start_token_id=1, init_std=0.08, attn_implementation="sdpa")
    return jitter(WhisperForConditionalGeneration(c).eval())


@zoo("whisper_tiny", LIN, 2)
def _():
    """transformers Whisper, 2+2 layers, 128 wide, 7.5 s of mel; one program with two methods"""
    m = _whisper()
    S = D("tokens", 2, 32)
    return Spec({
        "encoder": Method(WhisperEnc(m).eval(), [(rnd(1, 80, 750),), (rnd(1, 80, 750),)]),
        "decoder": Method(WhisperDec(m).eval(), [(ints(1, 4, hi=1024), rnd(1, 375, 128)), (ints(1, 9, hi=1024), rnd(1, 375, 128))],
                          ({1: S}, {})),
    })


@zoo("mimi_small", ["portable", "xnnpack", "xnnpack_q8_dynamic"], 2)
def _():
    """transformers MimiModel (neural audio codec), small config; methods encode and decode"""
    from transformers import MimiConfig, MimiModel
    c = MimiConfig(hidden_size=64, num_filters=8, num_hidden_layers=2, intermediate_size=128, num_attention_heads=4,
                   num_key_value_heads=4, head_dim=16, codebook_size=64, codebook_dim=32, vector_quantization_hidden_dimension=32,
                   num_quantizers=4, num_semantic_quantizers=1, sliding_window=50, upsample_groups=64, attn_implementation="eager",
                   use_cache=False)
    m = jitter(MimiModel(c).eval())
    g = torch.Generator().manual_seed(SEED + 5)
    with torch.no_grad():
        for n, b in m.named_buffers():
            if n.endswith("embed_sum"):
                b.copy_(torch.randn(b.shape, generator=g))
        for n, p in m.named_parameters():
            if "layer_scale" in n:
                p.fill_(0.3)

    # MimiConv1d computes its padding with tensors and .item(), which torch.export cannot guard
    # on (GuardOnDataDependentSymNode); the same arithmetic on Python ints exports.
    from transformers.models.mimi.modeling_mimi import MimiConv1d

    def extra(self, x):
        n = x.shape[-1]
        frames = math.ceil((n - self.kernel_size + self.padding_total) / self.stride + 1) - 1
        return frames * self.stride + self.kernel_size - self.padding_total - n
    for q in m.modules():
        if isinstance(q, MimiConv1d):
            for k in ("stride", "kernel_size", "padding_total"):
                v = int(getattr(q, k))
                delattr(q, k)
                setattr(q, k, v)
            q.padding_right = q.padding_total // 2
            q.padding_left = q.padding_total - q.padding_right
            q._get_extra_padding_for_conv1d = extra.__get__(q)

    class Enc(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, x):
            return self.m.encode(x, return_dict=False)[0]

    class Dec(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, codes):
            return self.m.decode(codes, return_dict=False)[0]
    n = 1920 * 4
    return Spec({
        "encode": Method(Enc().eval(), [(0.5 * rnd(1, 1, n),), (0.5 * rnd(1, 1, n),)]),
        "decode": Method(Dec().eval(), [(ints(1, 4, 6, hi=64),), (ints(1, 4, 6, hi=64),)]),
    })


class TCN(nn.Module):
    """Causal dilated Conv1d stack with GLU gates and group norm (Conv-TasNet flavour)."""

    def __init__(self, c=32, n=4):
        super().__init__()
        self.i = nn.Conv1d(1, c, 16, 8, bias=False)
        self.l = nn.ModuleList(nn.ModuleList([nn.Conv1d(c, 2 * c, 1), nn.GroupNorm(1, c), nn.Conv1d(c, c, 3, dilation=2 ** k, groups=c),
                                              nn.PReLU(), nn.Conv1d(c, c, 1)]) for k in range(n))
        self.o = nn.ConvTranspose1d(c, 1, 16, 8, bias=False)

    def forward(self, x):
        x = self.i(x)
        y = x
        for k, (a, g, d, p, b) in enumerate(self.l):
            h = g(F.glu(a(y), 1))
            h = d(F.pad(h, (2 * 2 ** k, 0)))
            y = y + b(p(h))
        return self.o(x * torch.sigmoid(y))


@zoo("tcn", BASE, 1)
def _():
    """dilated Conv1d separator with ConvTranspose1d, dynamic length"""
    m = jitter(TCN())
    return one(m, [(rnd(1, 1, 1600),), (rnd(1, 1, 2400),)], ({2: 8 * D("t", 40, 400)},))


# ----------------------------------------------------------------------------------
# text
# ----------------------------------------------------------------------------------
def _mobilebert(layers):
    from transformers import MobileBertConfig, MobileBertModel
    c = MobileBertConfig(vocab_size=2048, num_hidden_layers=layers, max_position_embeddings=128, attn_implementation="eager", initializer_range=0.05)
    m = jitter(MobileBertModel(c).eval())
    g = torch.Generator().manual_seed(SEED + 4)
    with torch.no_grad():
        for k, p in m.named_parameters():             # NoNorm layers, which jitter() does not know
            if "LayerNorm" in k:
                p.add_(0.1 * torch.randn(p.shape, generator=g))

    class W(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, ids):
            o = self.m(ids, return_dict=False)
            return o[0], o[1]
    return W()


@zoo("mobilebert_cut", LIN + ["xnnpack_8da4w_pc"], 1)
def _():
    """transformers MobileBERT, 2 of 24 layers, 2048 words, dynamic sequence"""
    return one(_mobilebert(2), [(ints(1, 8, hi=2048),), (ints(1, 13, hi=2048),)], ({1: D("seq", 2, 64)},))


@zoo("mobilebert", LIN, 3)
def _():
    """transformers MobileBERT, all 24 layers, 2048 words, 8 tokens"""
    return one(_mobilebert(24), [(ints(1, 8, hi=2048),), (ints(1, 8, hi=2048),)])


@zoo("bert_tiny", LIN, 1)
def _():
    """transformers BERT, 2 layers of 128, with an attention mask input"""
    from transformers import BertConfig, BertModel
    m = jitter(BertModel(BertConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512,
                                    max_position_embeddings=64, attn_implementation="sdpa", initializer_range=0.08)).eval())

    class W(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, ids, mask):
            o = self.m(ids, attention_mask=mask, return_dict=False)
            return o[0], o[1]
    mk = lambda k: (ints(1, 12, hi=1000), torch.tensor([[1] * k + [0] * (12 - k)]))
    return one(W(), [mk(12), mk(7)])


class RMSNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(1 + 0.1 * torch.randn(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.w


class LlamaLayer(nn.Module):
    def __init__(self, d, h, kv, ff, maxlen):
        super().__init__()
        self.h, self.kv, self.hd = h, kv, d // h
        self.n1, self.n2 = RMSNorm(d), RMSNorm(d)
        lin = lambda i, o: nn.Linear(i, o, bias=False)
        self.q, self.k, self.v, self.o = lin(d, d), lin(d, kv * self.hd), lin(d, kv * self.hd), lin(d, d)
        self.g, self.u, self.dn = lin(d, ff), lin(d, ff), lin(ff, d)
        self.register_buffer("k_cache", torch.zeros(1, kv, maxlen, self.hd))
        self.register_buffer("v_cache", torch.zeros(1, kv, maxlen, self.hd))

    def rope(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x, pos, cos, sin, mask):
        b, s, d = x.shape
        y = self.n1(x)
        sp = lambda t, n: t.view(b, s, n, self.hd).transpose(1, 2)
        q = self.rope(sp(self.q(y), self.h), cos, sin)
        k = self.rope(sp(self.k(y), self.kv), cos, sin)
        v = sp(self.v(y), self.kv)
        self.k_cache[:, :, pos] = k
        self.v_cache[:, :, pos] = v
        rep = self.h // self.kv
        kk = self.k_cache.repeat_interleave(rep, 1)
        vv = self.v_cache.repeat_interleave(rep, 1)
        a = F.scaled_dot_product_attention(q, kk, vv, attn_mask=mask)
        x = x + self.o(a.transpose(1, 2).reshape(b, s, d))
        y = self.n2(x)
        return x + self.dn(F.silu(self.g(y)) * self.u(y))


class LlamaKV(nn.Module):
    """Llama-style decoder with a KV cache held in mutable buffers."""

    def __init__(self, vocab=512, d=128, layers=2, h=4, kv=2, ff=256, maxlen=64):
        super().__init__()
        self.emb, self.norm, self.out = nn.Embedding(vocab, d), RMSNorm(d), nn.Linear(d, vocab, bias=False)
        self.layers = nn.ModuleList(LlamaLayer(d, h, kv, ff, maxlen) for _ in range(layers))
        hd = d // h
        f = 1.0 / (10000 ** (torch.arange(0, hd, 2).float() / hd))
        ang = torch.outer(torch.arange(maxlen).float(), f)
        self.register_buffer("cos", torch.cat([ang.cos(), ang.cos()], -1))
        self.register_buffer("sin", torch.cat([ang.sin(), ang.sin()], -1))
        self.register_buffer("mask", torch.triu(torch.full((maxlen, maxlen), float("-inf")), 1))

    def forward(self, ids, pos):
        x = self.emb(ids)
        cos, sin, mask = self.cos[pos], self.sin[pos], self.mask[pos]
        for l in self.layers:
            x = l(x, pos, cos, sin, mask)
        return self.out(self.norm(x))


@zoo("llama_kv", LIN + ["xnnpack_8da4w_pc"], 1)
def _():
    """Llama-like decoder, 2 layers of 128, KV cache in mutable buffers; sets: prefill 5, decode 1, decode 1, prefill 9 again"""
    S = D("S", 1, 32)
    ar = lambda a, b: torch.arange(a, b)
    cases = [(ints(1, 5, hi=512), ar(0, 5)), (ints(1, 1, hi=512), ar(5, 6)), (ints(1, 1, hi=512), ar(6, 7)), (ints(1, 9, hi=512), ar(0, 9))]
    return one(LlamaKV(), cases, ({1: S}, {0: S}), trace=3, init_buffers=["k_cache", "v_cache"])


@zoo("llama_hf", LIN, 1)
def _():
    """transformers LlamaForCausalLM (tiny config), no cache, dynamic sequence"""
    from transformers import LlamaConfig, LlamaForCausalLM
    m = jitter(LlamaForCausalLM(LlamaConfig(vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2,
               num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, attn_implementation="sdpa", initializer_range=0.08)).eval())

    class W(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, ids):
            return self.m(ids, use_cache=False, return_dict=False)[0]
    return one(W(), [(ints(1, 6, hi=512),), (ints(1, 11, hi=512),)], ({1: D("seq", 2, 32)},))


@zoo("qwen3_hf", LIN, 1)
def _():
    """transformers Qwen3ForCausalLM (tiny config), no cache, dynamic sequence"""
    from transformers import Qwen3Config, Qwen3ForCausalLM
    m = jitter(Qwen3ForCausalLM(Qwen3Config(vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2,
               num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=64, attn_implementation="sdpa", initializer_range=0.08)).eval())

    class W(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, ids):
            return self.m(ids, use_cache=False, return_dict=False)[0]
    return one(W(), [(ints(1, 6, hi=512),), (ints(1, 11, hi=512),)], ({1: D("seq", 2, 32)},))


# ----------------------------------------------------------------------------------
# recipes
# ----------------------------------------------------------------------------------
def like(case):
    """A random input set with the shapes and the rough statistics of `case`."""
    def f(t):
        if not torch.is_tensor(t) or not t.is_floating_point():
            return t
        return t[..., torch.randperm(t.shape[-1], generator=_gen)] if t.dim() else t
    return tree_map(f, case)


def do_export(m: Method, module, static):
    dyn = None if static else m.dynamic
    case = m.cases[0] if dyn is None else m.cases[m.trace]
    return torch.export.export(module, case, dynamic_shapes=dyn, strict=False)


def pt2e(m: Method, static, is_dynamic, per_channel):
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    gm = do_export(m, m.module, static).module()
    q = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=is_dynamic))
    gm = prepare_pt2e(gm, q)
    with torch.no_grad():
        for c in m.cases:
            if static and not same_shapes(c, m.cases[0]):
                continue
            for v in (c, like(c)):
                gm(*v)
    gm = convert_pt2e(gm)
    return do_export(m, gm, static)


def same_shapes(a, b):
    return [tuple(t.shape) for t in tree_flatten(a)[0]] == [tuple(t.shape) for t in tree_flatten(b)[0]]


def quantize_8da4w(module, group):
    from torchao.quantization.granularity import PerAxis, PerGroup
    from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig, quantize_
    ok = lambda mod, name: isinstance(mod, nn.Linear) and (group == 0 or mod.weight.shape[1] % group == 0)
    quantize_(module, Int8DynamicActivationIntxWeightConfig(
        weight_dtype=torch.int4, weight_granularity=PerGroup(group) if group else PerAxis(0)), filter_fn=ok)
    n = sum(type(mod.weight).__name__ != "Parameter" for mod in module.modules() if isinstance(mod, nn.Linear))
    if not n:
        raise RuntimeError("no Linear whose width is a multiple of the group size")
    return module


def lower(spec: Spec, recipe: str, static: bool):
    """-> (ExecutorchProgramManager, {method: reference callable})"""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackDynamicallyQuantizedPartitioner, XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
    if recipe == "portable_q8":   # registers the out variants of quantized_decomposed ops
        from executorch.extension.pybindings import portable_lib  # noqa: F401
        from executorch.kernels import quantized  # noqa: F401
    eps = {}
    for name, m in spec.methods.items():
        if recipe in ("xnnpack_q8", "portable_q8"):
            ep = pt2e(m, static, False, True)
        elif recipe == "xnnpack_q8_tensor":
            ep = pt2e(m, static, False, False)
        elif recipe == "xnnpack_q8_dynamic":
            ep = pt2e(m, static, True, True)
        else:
            ep = do_export(m, m.module, static)
        eps[name] = ep
    refs = {k: e.module() for k, e in eps.items()}
    parts = []
    if recipe.startswith("xnnpack"):
        parts = [XnnpackPartitioner()]
        if recipe == "xnnpack_q8_dynamic" or "8da4w" in recipe:
            parts = [XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()]
    # dim order is skipped for XNNPACK, as ExecuTorch's own XNNPACK examples do; kept for portable
    cfg = EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=bool(parts))
    if parts:
        edge = to_edge_transform_and_lower(eps, partitioner={k: list(parts) for k in eps}, compile_config=cfg)
    else:
        edge = to_edge(eps, compile_config=cfg)
    passes = [InitializedMutableBufferPass(spec.init_buffers)] if spec.init_buffers else []
    return edge.to_executorch(ExecutorchBackendConfig(passes=passes, extract_delegate_segments=True)), refs


def flat(case):
    return [t for t in tree_flatten(case)[0]]


def stats(ref, got):
    r, g = ref.detach().double().flatten(), got.detach().double().flatten()
    if r.shape != g.shape:
        return {"shape_mismatch": [list(ref.shape), list(got.shape)]}
    fin = torch.isfinite(r) & torch.isfinite(g)
    d = (r - g)[fin]
    p = (r[fin] ** 2).sum()
    return {"max_abs": float(d.abs().max()) if d.numel() else 0.0,
            "sqnr_db": float(10 * torch.log10(p / (d ** 2).sum())) if p > 0 and (d ** 2).sum() > 0 else None,
            "nonfinite": int((~torch.isfinite(g)).sum())}


def run_one(model: str, recipe: str, out: str, static: bool, quiet=False):
    entry = ZOO[model]
    tag = f"{model}{'_static' if static else ''}_{recipe}"
    torch.manual_seed(SEED)
    _gen.manual_seed(SEED)
    t0 = time.time()
    spec = entry.build()
    for m in spec.methods.values():
        m.module.requires_grad_(False)   # or in-place updates of buffers fail to lower
    info: dict[str, Any] = {"model": model, "recipe": recipe, "static": static, "doc": entry.doc, "note": spec.note,
                            "torch": torch.__version__, "params": sum(p.numel() for p in {id(p): p for m in spec.methods.values() for p in m.module.parameters()}.values())}
    if recipe == "xnnpack_fp16":
        for m in spec.methods.values():
            m.module.half()
            m.cases = tree_map(lambda t: t.half() if torch.is_tensor(t) and t.is_floating_point() else t, m.cases)
    if static:
        for m in spec.methods.values():
            base = m.cases[0]
            m.cases = [c if same_shapes(c, base) else like(base) for c in m.cases]
    # float reference, before anything touches the module
    import copy
    float_refs = {}
    for k, m in spec.methods.items():
        mod = copy.deepcopy(m.module)
        with torch.no_grad():
            float_refs[k] = [flat(mod(*copy.deepcopy(c))) for c in m.cases]
    if "8da4w" in recipe:
        done = set()
        for m in spec.methods.values():
            if id(m.module) not in done:
                quantize_8da4w(m.module, 0 if recipe.endswith("_pc") else 32)
    t1 = time.time()
    prog, refs = lower(spec, recipe, static)
    t2 = time.time()
    os.makedirs(out, exist_ok=True)
    buf = prog.buffer
    pte = os.path.join(out, tag + ".pte")
    with open(pte, "wb") as f:
        f.write(buf)

    from executorch.extension.pybindings import portable_lib as pl
    from executorch.kernels import quantized  # noqa: F401  registers quantized kernels
    rt = pl._load_for_executorch(pte)
    suites, minfo = {}, {}
    for k, m in spec.methods.items():
        cases, rows = [], []
        for i, c in enumerate(m.cases):
            with torch.no_grad():
                ref = flat(refs[k](*copy.deepcopy(c)))
            if i and not spec.init_buffers:
                # A fresh instance per set: ExecuTorch 1.5.1 itself can go wrong when a dynamic
                # input GROWS between two calls on one XNNPACK instance (seen: mv2 q8 and fp16,
                # batch 1 then 2), and that must not get into the golden outputs.
                rt = pl._load_for_executorch(pte)
            ts = time.time()
            got = [g.clone() if torch.is_tensor(g) else g for g in rt.run_method(k, tuple(t.contiguous() if torch.is_tensor(t) and t.dim() != 4 else t for t in flat(c)))]
            ts = time.time() - ts
            ref = [r for r in ref if torch.is_tensor(r)]
            got_t = [g for g in got if torch.is_tensor(g)]
            rows.append({
                "inputs": [[str(t.dtype).replace("torch.", ""), list(t.shape)] if torch.is_tensor(t) else repr(t) for t in flat(c)],
                "outputs": [[str(t.dtype).replace("torch.", ""), list(t.shape)] for t in got_t],
                "run_s": round(ts, 4),
                "vs_eager_graph": [stats(a, b) for a, b in zip(ref, got_t)],
                "vs_float": [stats(a, b) for a, b in zip([r for r in float_refs[k][i] if torch.is_tensor(r)], got_t)],
                "std": [float(g.double().std()) if g.numel() > 1 else 0.0 for g in got_t],
                "absmax": [float(g.double().abs().max()) for g in got_t],
            })
            cases.append((flat(c), got_t))
        suites[k] = cases
        minfo[k] = {"dynamic": None if static or m.dynamic is None else str(m.dynamic), "cases": rows}
    data = casegen.bundle(buf, suites)
    with open(os.path.join(out, tag + ".bpte"), "wb") as f:
        f.write(data)
    # read it back through the runtime's own bundled-program reader
    verdict = {}
    if entry.tier < 2 or recipe != "portable":
        for k, m in spec.methods.items():
            try:
                # on a fresh instance for each set (see above), so sets that continue from a
                # former one (llama_kv 1 and 2) are not verified here
                for i in (0, len(m.cases) - 1):
                    bm = pl._load_bundled_program_from_buffer(data)
                    bm.verify_result_with_bundled_expected_output(k, i, 1e-5, 1e-6)
                verdict[k] = "ok"
            except Exception as e:
                verdict[k] = f"{type(e).__name__}: {str(e)[:160]}"
    info.update(build_s=round(t1 - t0, 1), lower_s=round(t2 - t1, 1), total_s=round(time.time() - t0, 1), pte_bytes=len(buf), bpte_bytes=len(data),
                methods=minfo, bundled_verify=verdict)
    with open(os.path.join(out, tag + ".json"), "w") as f:
        json.dump(info, f, indent=1)
    add_to_index(out, dict(file=tag + ".bpte", model=model, recipe=recipe, **tolerance(recipe, minfo), expect="runs", doc=entry.doc,
                           dynamic=any(m["dynamic"] for m in minfo.values())))
    return info


def tolerance(recipe, methods):
    """Wider for coarser arithmetic, in proportion to the spread of the output that spreads least."""
    if "dynamic" in recipe or "8da4w" in recipe:
        rtol, share, floor = 0.03, 0.06, 1e-3
    elif "q8" in recipe:
        rtol, share, floor = 0.02, 0.1, 1e-3
    elif "fp16" in recipe:
        rtol, share, floor = 0.02, 0.02, 2e-3
    else:
        rtol, share, floor = 2e-3, 2e-4, 2e-4
    spread = min((s for m in methods.values() for c in m["cases"] for s in c["std"]), default=0.0)
    return {"rtol": rtol, "atol": max(floor, share * spread)}


def add_to_index(out, row):
    """Put or replace a row of index.json, which stays sorted by file."""
    path = os.path.join(out, "index.json")
    rows = []
    if os.path.exists(path):
        with open(path) as f:
            rows = [r for r in json.load(f) if r["file"] != row["file"]]
    with open(path, "w") as f:
        json.dump(sorted(rows + [row], key=lambda r: r["file"]), f, indent=1)
        f.write("\n")


def summary(info):
    s = []
    for k, m in info["methods"].items():
        for i, c in enumerate(m["cases"]):
            e = max((x.get("max_abs", 9e9) for x in c["vs_eager_graph"]), default=0)
            q = min((x.get("sqnr_db") if x.get("sqnr_db") is not None else 999 for x in c["vs_float"]), default=0)
            nf = sum(x.get("nonfinite", 1) for x in c["vs_eager_graph"])
            s.append(f"{k[:3]}{i}: err {e:.1e} sqnr {q:.0f} std {max(c['std'], default=0):.2g}{' NONFINITE %d' % nf if nf else ''} {c['run_s']}s")
    return "; ".join(s) + f" | verify {info['bundled_verify']}"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--model", help="name, comma separated names, or 'all'")
    ap.add_argument("--recipe", help="recipe(s), comma separated, or 'default' for those that suit the model", default="default")
    ap.add_argument("--out", default="out")
    ap.add_argument("--tier", type=int, default=9, help="with --model all: only models up to this size class")
    ap.add_argument("--static", action="store_true", help="ignore the dynamic dimensions (adds _static to the names)")
    ap.add_argument("--skip-existing", action="store_true")
    ap.add_argument("--list", action="store_true")
    a = ap.parse_args()
    if a.list:
        for n, e in ZOO.items():
            print(f"{n:20s} tier {e.tier}  {','.join(e.recipes)}\n{'':20s} {e.doc}")
        return 0
    if not a.model:
        ap.error("--model or --list")
    names = [n for n, e in ZOO.items() if e.tier <= a.tier] if a.model == "all" else a.model.split(",")
    bad = 0
    for n in names:
        if n not in ZOO:
            ap.error(f"unknown model {n}")
        for r in ZOO[n].recipes if a.recipe == "default" else a.recipe.split(","):
            if r not in RECIPES:
                ap.error(f"unknown recipe {r}")
            tag = f"{n}{'_static' if a.static else ''}_{r}"
            if a.skip_existing and os.path.exists(os.path.join(a.out, tag + ".json")):
                continue
            mark = os.path.join(a.out, tag + ".running")
            if a.skip_existing and os.path.exists(mark):
                print(f"FAIL {tag} the process died in an earlier run", flush=True)
                continue
            os.makedirs(a.out, exist_ok=True)
            open(mark, "w").close()
            try:
                gc.collect()
                i = run_one(n, r, a.out, a.static)
                print(f"OK   {tag} {i['pte_bytes']}B {i['total_s']}s {summary(i)}", flush=True)
            except Exception as e:
                bad += 1
                print(f"FAIL {tag} {type(e).__name__}: {str(e).strip().splitlines()[0][:300] if str(e).strip() else ''}", flush=True)
                with open(os.path.join(a.out, tag + ".error.txt"), "w") as f:
                    f.write(traceback.format_exc())
            os.remove(mark)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
