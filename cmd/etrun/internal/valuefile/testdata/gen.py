"""Writes the value files of the tests: run it here with NumPy installed."""

import io
import json

import numpy as np

DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
          "float16", "float32", "float64", "complex64", "complex128"]


def sample(dtype):
    a = np.arange(6).reshape(2, 3)
    if dtype.startswith("complex"):
        a = a - 1j * a
    return (a % 2 if dtype == "bool" else a).astype(dtype)


arrays = [sample(d) for d in DTYPES]
np.savez("dtypes.npz", *arrays)
np.savez_compressed("compressed.npz", *arrays)
np.savez("big_endian.npz", *[a.astype(a.dtype.newbyteorder(">")) for a in arrays])
np.savez("fortran.npz", *[np.asfortranarray(a) for a in arrays])
np.savez("many.npz", *[np.int8(i) for i in range(12)])
np.savez("names.npz", y=np.int8([1]), x=np.int8([2]))
np.savez("empty.npz")
np.savez("objects.npz", np.array([{}], dtype=object))
np.savez("records.npz", np.zeros(2, dtype=[("a", "<i4"), ("b", "<f4")]))
np.savez("shapes.npz", np.float32(1.5), np.zeros((0, 3), np.int64), np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4))
np.save("one.npy", sample("float32"))
np.lib.format.write_array(open("version2.npy", "wb"), sample("float32"), version=(2, 0))

np.savez("sidecar.npz", np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4), np.uint16([0x3f80, 0xc000]), np.ones(1, np.int64))
json.dump({"values": [
    {"kind": "tensor", "array": "arr_0", "dtype": "float32", "sizes": [1, 2, 3, 4], "dim_order": [0, 2, 3, 1]},
    {"kind": "none"},
    {"kind": "bool", "value": True},
    {"kind": "int", "value": 9007199254740993},
    {"kind": "float", "value": 1.5},
    {"kind": "float", "value": "-inf"},
    {"kind": "string", "value": "x"},
    {"kind": "tensor", "array": "arr_1", "dtype": "bfloat16", "sizes": [2]},
    {"kind": "tensor", "array": "arr_2", "dtype": "int64", "sizes": []},
]}, open("sidecar.json", "w"))
