#!/usr/bin/env python3
"""An image-shaped input for a vision model, and ExecuTorch's output for it.

    image_input.py models/mv2_portable.bpte models/mv2

writes mv2_input.npy (float32 1x3x224x224) and mv2_expected.npz with its sidecar
mv2_expected.json.  The picture is drawn by formula: a soft sky, two hills and a sun,
normalised with ImageNet's mean and deviation.
"""

import json
import sys

import numpy as np
import torch

import casegen as cg

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def picture(n=224):
    """Red, green and blue in 0..1, shape [3, n, n]."""
    y, x = np.mgrid[0:n, 0:n].astype(np.float64) / n
    sky = np.stack([0.35 + 0.4 * y, 0.55 + 0.25 * y, 0.9 - 0.1 * y])
    sun = np.exp(-((x - 0.72) ** 2 + (y - 0.25) ** 2) / 0.008)
    img = sky * (1 - sun) + np.array([1.0, 0.93, 0.6])[:, None, None] * sun
    for top, colour in ((0.62 + 0.1 * np.sin(5 * x + 1), (0.25, 0.45, 0.3)), (0.78 + 0.06 * np.sin(9 * x), (0.15, 0.35, 0.12))):
        hill = 1 / (1 + np.exp(-(y - top) * 80))
        shade = 0.85 + 0.15 * np.sin(40 * x + 25 * y)
        img = img * (1 - hill) + np.array(colour)[:, None, None] * shade * hill
    return img


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    model, prefix = sys.argv[1:]
    x = ((picture() - np.array(MEAN)[:, None, None]) / np.array(STD)[:, None, None]).astype(np.float32)[None]
    np.save(prefix + "_input.npy", x)
    with open(model, "rb") as f:
        program = cg.program_of(f.read())
    y = cg._portable_lib()._load_for_executorch_from_buffer(program).run_method("forward", (torch.from_numpy(x),))[0].contiguous().numpy()
    np.savez(prefix + "_expected.npz", y)
    with open(prefix + "_expected.json", "w") as f:
        json.dump({"values": [{"kind": "tensor", "array": "arr_0", "dtype": str(y.dtype), "sizes": list(y.shape), "dim_order": list(range(y.ndim))}]}, f)
        f.write("\n")
    top = y[0].argsort()[::-1][:5]
    print("top 5:", [(int(i), round(float(y[0, i]), 4)) for i in top])


if __name__ == "__main__":
    main()
