"""Make golden cases: a program, inputs, and what ExecuTorch's own runtime gives.

Two ways lead to a program:

    export(module, examples, ...)   torch.export, to_edge, to_executorch, no delegate
    assemble(op, args, outs)        a program of one instruction, put together by hand:
                                    any registered operator with any arguments, also those
                                    that the exporter never emits, and hundreds a second

`Case` couples a program with test sets; `run` executes it on the runtime in a child
process (the runtime aborts on some faults) and fills in the outputs; `Writer` writes
`.bpte` files and the rows of an index in the format of golden/*.zip:

    with Writer(DIR) as w:
        c = from_module("gelu__tanh", nn.GELU("tanh"), [(torch.randn(3, 5),)])
        run([c])
        w.add(c, rtol=1e-4, atol=1e-5)
"""

import json
import os
import pickle
import re
import signal
import struct
import tempfile
import warnings
from dataclasses import dataclass, field
from typing import Any, Optional

warnings.filterwarnings("ignore")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from executorch.exir import schema as S
from executorch.exir._serialize._program import PTEFile, serialize_pte_binary
from executorch.exir.tensor import scalar_type_enum

torch.set_num_threads(1)

# --------------------------------------------------------------------------------------
# dtypes and tensors
# --------------------------------------------------------------------------------------
SHORT = {
    torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int8: "i8",
    torch.uint8: "u8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "bool",
    torch.complex32: "c32", torch.complex64: "c64", torch.complex128: "c128",
}
CODE = {d: int(scalar_type_enum(d)) for d in SHORT}         # ExecuTorch's numbers


def dim_order(t):
    """Dims from the outermost to the innermost in memory, as the exporter derives it from strides."""
    st = t.stride()
    return sorted(range(len(st)), key=lambda d: -st[d])


def dense(t):
    """t itself if its elements lie without gaps in some order of its dims, else a contiguous copy."""
    if t.is_contiguous():
        return t
    if t.numel() == 0 or 0 in t.stride():
        return t.contiguous()
    p = t.permute(dim_order(t))
    return t if p.is_contiguous() else t.contiguous()


def raw(t):
    """The bytes of a dense tensor in memory order."""
    t = t.detach()
    if t.numel() == 0:
        return b""
    t = t.permute(dim_order(t)).contiguous().reshape(-1)
    return bytes(t.view(torch.uint8).numpy())


def relayout(t, order):
    """A copy of t whose dims lie in memory in the given order, outermost first."""
    inverse = sorted(range(len(order)), key=lambda i: order[i])
    return t.permute(order).contiguous().permute(inverse)


# --------------------------------------------------------------------------------------
# operators
# --------------------------------------------------------------------------------------
_schemas: dict = {}


def load_operators():
    """Register every operator library of the wheel with PyTorch (and the runtime)."""
    import executorch.exir.passes.dim_order_ops_registry  # noqa: F401
    import executorch.exir.passes._device_copy_ops_registry  # noqa: F401
    import executorch.kernels.quantized  # noqa: F401
    import executorch.exir.passes.executorch_prim_ops_registry  # noqa: F401
    from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401


def schema(name):
    """The PyTorch schema of "aten::add.out"."""
    if not _schemas:
        for s in torch._C._jit_get_all_schemas():
            _schemas[s.name + ("." + s.overload_name if s.overload_name else "")] = s
    return _schemas[name]


def out_arguments(s):
    return [a for a in s.arguments if a.is_out or (a.kwarg_only and a.alias_info is not None and a.alias_info.is_write)]


def in_arguments(s):
    out = {a.name for a in out_arguments(s)}
    return [a for a in s.arguments if a.name not in out]


# Where the functional overload does not have the same arguments as the out one.
FUNCTIONAL = {
    "aten::max.dim_max": "aten::max.dim", "aten::min.dim_min": "aten::min.dim",
    "aten::max.unary_out": "aten::max", "aten::min.unary_out": "aten::min",
    "aten::_to_copy.out": "aten::_to_copy", "aten::topk.values": "aten::topk",
    "aten::convolution_backward.out": "aten::convolution_backward",
    "quantized_decomposed::choose_qparams.Tensor_out": "quantized_decomposed::choose_qparams.tensor",
    "quantized_decomposed::quantize_per_tensor.Tensor_out": "quantized_decomposed::quantize_per_tensor.tensor",
    "quantized_decomposed::dequantize_per_tensor.Tensor_out": "quantized_decomposed::dequantize_per_tensor.tensor",
}


def functional(name):
    """The operator that returns what the out variant `name` writes, or None."""
    if name in FUNCTIONAL:
        return positional(overload(FUNCTIONAL[name]))
    want = [(a.name, str(a.type)) for a in in_arguments(schema(name))]
    ns, base = name.split("::")
    base = base.split(".")[0]
    packet = getattr(getattr(torch.ops, ns), base, None)
    if packet is None:
        return None
    for o in packet.overloads():
        f = getattr(packet, o)
        s = f._schema
        if any(a.alias_info is not None and a.alias_info.is_write for a in s.arguments):
            continue
        have = [(a.name, str(a.type)) for a in s.arguments]
        if have == want or have[:len(want)] == want:
            return positional(f)
    return None


def positional(f):
    """f taking also its keyword-only arguments by position."""
    names = [a.name if a.kwarg_only else None for a in f._schema.arguments]

    def call(*args):
        return f(*[v for n, v in zip(names, args) if n is None], **{n: v for n, v in zip(names, args) if n is not None})
    return call


def overload(name):
    ns, rest = name.split("::")
    base, _, o = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, ns), base), o or "default")


# --------------------------------------------------------------------------------------
# programs put together by hand
# --------------------------------------------------------------------------------------
@dataclass
class Out:
    """An output tensor of an assembled call."""
    dtype: torch.dtype
    sizes: list
    order: Optional[list] = None
    dynamic: bool = False       # sizes are upper bounds

    @staticmethod
    def like(t, dynamic=False):
        t = dense(t)
        return Out(t.dtype, list(t.shape), dim_order(t), dynamic)


@dataclass
class In:
    """A tensor argument of an assembled call that needs saying more than its value."""
    tensor: torch.Tensor
    constant: bool = False      # part of the program instead of an input
    dynamic: bool = False
    bound: Optional[list] = None


class _Plan:
    def __init__(self, method):
        self.method, self.values, self.inputs, self.offset, self.constants = method, [], [], 0, []

    def value(self, v):
        self.values.append(S.EValue(val=v))
        return len(self.values) - 1

    def reserve(self, nbytes):
        at = self.offset
        self.offset += (nbytes + 15) // 16 * 16
        return S.AllocationDetails(memory_id=1, memory_offset_low=at & 0xFFFFFFFF, memory_offset_high=at >> 32)

    def tensor(self, dtype, sizes, order, dynamic=False, data=None):
        n = torch.empty(0, dtype=dtype).element_size()
        for s in sizes:
            n *= s
        if data is not None:
            self.constants.append(data)
        return self.value(S.Tensor(
            scalar_type=scalar_type_enum(dtype), storage_offset=0, sizes=list(sizes), dim_order=list(order), requires_grad=False,
            layout=0, data_buffer_idx=len(self.constants) if data is not None else 0,
            allocation_info=None if data is not None else self.reserve(n),
            shape_dynamism=S.TensorShapeDynamism.DYNAMIC_BOUND if dynamic else S.TensorShapeDynamism.STATIC))

    def input(self, a):
        a = a if isinstance(a, In) else In(a)
        t = a.tensor
        if a.constant:
            return self.tensor(t.dtype, t.shape, dim_order(t), data=raw(t))
        i = self.tensor(t.dtype, a.bound or t.shape, dim_order(t), a.dynamic)
        self.inputs.append(i)
        return i

    def argument(self, v, typ):
        """Emit a value of the schema type `typ`."""
        if v is None:
            return self.value(S.Null())
        if isinstance(v, (torch.Tensor, In)):
            return self.input(v)
        if isinstance(v, torch.dtype):
            return self.value(S.Int(CODE[v]))
        if isinstance(v, torch.memory_format):
            return self.value(S.Int({torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}[v]))
        if isinstance(v, bool):
            return self.value(S.Bool(v))
        if isinstance(v, int):
            return self.value(S.Double(float(v)) if typ == "float" else S.Int(v))
        if isinstance(v, float):
            return self.value(S.Double(v))
        if isinstance(v, str):
            return self.value(S.String(v))
        if "Tensor" in typ:
            if any(x is None for x in v) or "Optional" in typ:
                return self.value(S.OptionalTensorList([-1 if x is None else self.input(x) for x in v]))
            return self.value(S.TensorList([self.input(x) for x in v]))
        if "float" in typ:
            return self.value(S.DoubleList([float(x) for x in v]))
        if "bool" in typ:
            return self.value(S.BoolList(list(v)))
        return self.value(S.IntList([self.value(S.Int(x)) for x in v]))


def assemble(op, args, outs, method="forward"):
    """A program whose one method is one call of `op`.

    args: values in the order of the schema, without the outputs; tensors (or In) become
    inputs of the program.  outs: an Out for each output tensor, or for operators that
    return numbers the empty list.  An operator that writes one of its inputs (a schema
    without outputs) returns that input.  One without an out variant has its results behind
    the arguments, as the exporter writes it then.
    """
    s = schema(op)
    p = _Plan(method)
    ins = in_arguments(s)
    assert len(args) == len(ins), f"{op}: {len(args)} arguments, schema has {len(ins)}"
    idx, mutated = [], []
    for a, v in zip(ins, args):
        i = p.argument(v, str(a.type))
        if a.alias_info is not None and a.alias_info.is_write:
            mutated.append(i)
        idx.append(i)
    oargs = out_arguments(s)
    results = [p.tensor(o.dtype, o.sizes, o.order if o.order is not None else range(len(o.sizes)), o.dynamic) for o in outs]
    if oargs and "List[" in str(oargs[0].type):          # Tensor(a!)[] out
        lst = p.value(S.TensorList(list(results)))
        call = idx + [lst, lst]
    elif oargs:
        assert len(outs) == len(oargs), f"{op}: {len(outs)} outputs, schema has {len(oargs)}"
        last = results[0] if len(results) == 1 else p.value(S.TensorList(list(results)))
        call = idx + results + [last]
    elif mutated:
        results = mutated[:1]
        call = idx + results
    elif outs:                                           # functional
        call = idx + results
    else:                                                # Scalar, SymInt, bool
        results = [p.value(S.Int(0))]
        call = idx + results
    ns_name, _, ov = op.partition(".")
    plan = S.ExecutionPlan(
        name=method, container_meta_type=S.ContainerMetadata("", ""), values=p.values, inputs=p.inputs,
        outputs=results + ([m for m in mutated if m not in results] if oargs else []),
        chains=[S.Chain(inputs=[], outputs=[], instructions=[S.Instruction(S.KernelCall(op_index=0, args=call))], stacktrace=None)],
        operators=[S.Operator(name=ns_name, overload=ov)], delegates=[], non_const_buffer_sizes=[0, p.offset])
    program = S.Program(
        version=0, execution_plan=[plan], constant_buffer=[S.Buffer(b"")] + [S.Buffer(c) for c in p.constants],
        backend_delegate_data=[], segments=[], constant_segment=S.SubsegmentOffsets(segment_index=0, offsets=[]))
    return bytes(serialize_pte_binary(PTEFile(program=program)))


# --------------------------------------------------------------------------------------
# exported programs
# --------------------------------------------------------------------------------------
class Call(torch.nn.Module):
    """A module that calls an operator: tensors of `args` are its inputs, the rest is baked in."""

    def __init__(self, f, args):
        super().__init__()
        self.f = f
        self.slots = [None if isinstance(a, torch.Tensor) else ("list", len(a)) if _is_tensor_list(a) else ("value", a) for a in args]

    def forward(self, *tensors):
        it = iter(tensors)
        args = []
        for s in self.slots:
            if s is None:
                args.append(next(it))
            elif s[0] == "list":
                args.append([next(it) for _ in range(s[1])])
            else:
                args.append(s[1])
        r = self.f(*args)
        return tuple(r) if isinstance(r, (list, tuple)) else r


def _is_tensor_list(a):
    return isinstance(a, (list, tuple)) and len(a) > 0 and all(isinstance(x, torch.Tensor) for x in a)


def export(module, example, dynamic_shapes=None, dim_order_ops=True, passes=()):
    """torch.export -> to_edge -> to_executorch, without a delegate."""
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
    with torch.no_grad():
        ep = torch.export.export(module.eval(), tuple(example), dynamic_shapes=dynamic_shapes, strict=False)
    edge = to_edge(ep, compile_config=EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=not dim_order_ops))
    return edge.to_executorch(ExecutorchBackendConfig(passes=list(passes))).buffer


def operators_of(program):
    """The operators named in a program, in the order of its tables."""
    from executorch.exir._serialize._program import deserialize_pte_binary
    seen = []
    for plan in deserialize_pte_binary(program).program.execution_plan:
        for o in plan.operators:
            name = o.name + ("." + o.overload if o.overload else "")
            if name not in seen:
                seen.append(name)
    return seen


# --------------------------------------------------------------------------------------
# bundles
# --------------------------------------------------------------------------------------
def bundle(program, suites):
    """A BundledProgram file.  suites: {method: [(inputs, expected outputs)]}; None is allowed."""
    import executorch.devtools.bundled_program.schema as B
    from executorch.devtools.bundled_program.serialize import _bundled_program_schema_to_flatbuffer
    from executorch.devtools.bundled_program.version import BUNDLED_PROGRAM_SCHEMA_VERSION

    def value(v):
        if isinstance(v, torch.Tensor):
            v = dense(v)
            return B.Value(B.Tensor(scalar_type=scalar_type_enum(v.dtype), sizes=list(v.shape), data=raw(v), dim_order=dim_order(v)))
        if isinstance(v, bool):
            return B.Value(B.Bool(v))
        if isinstance(v, int):
            return B.Value(B.Int(v))
        if isinstance(v, float):
            return B.Value(B.Double(v))
        if v is None:
            return B.Value(None)
        raise TypeError(f"a bundle cannot hold {type(v)}")

    return _bundled_program_schema_to_flatbuffer(B.BundledProgram(
        version=BUNDLED_PROGRAM_SCHEMA_VERSION, program=program,
        method_test_suites=[B.BundledMethodTestSuite(method_name=m, test_cases=[
            B.BundledMethodTestCase(inputs=[value(x) for x in i], expected_outputs=[value(x) for x in o]) for i, o in sets])
            for m, sets in sorted(suites.items())]))


def program_of(bundled):
    """The program in a .bpte file, as bytes."""
    from executorch.devtools.bundled_program.serialize.generated.bundled_program_flatbuffer.BundledProgram import BundledProgram
    return bytes(BundledProgram.GetRootAs(bundled, 0).ProgramAsNumpy())


# --------------------------------------------------------------------------------------
# cases, and the runtime in a child process
# --------------------------------------------------------------------------------------
@dataclass
class Case:
    name: str
    program: bytes
    sets: list                          # inputs of the test sets, run in order on one method
    eager: Any = None                   # called as eager(set number, inputs) -> outputs
    method: str = "forward"
    ops: list = field(default_factory=list)
    group: str = "aten"
    tags: list = field(default_factory=list)
    note: str = ""
    stateless: bool = True              # the first set may be run again to look for garbage
    detail: Any = None                  # for the makers of cases: goes into the index
    # filled in by run
    expected: Optional[list] = None
    eager_out: Optional[list] = None
    error: Optional[dict] = None        # {"executorch_error", "code", "where"}
    unstable: bool = False


CODES = {
    0x1: "Internal", 0x2: "InvalidState", 0x3: "EndOfMethod", 0x4: "AlreadyLoaded", 0x10: "NotSupported", 0x11: "NotImplemented",
    0x12: "InvalidArgument", 0x13: "InvalidType", 0x14: "OperatorMissing", 0x15: "RegistrationExceedingMaxKernels",
    0x16: "RegistrationAlreadyRegistered", 0x20: "NotFound", 0x21: "MemoryAllocationFailed", 0x22: "AccessFailed",
    0x23: "InvalidProgram", 0x24: "InvalidExternalData", 0x25: "OutOfResources", 0x30: "DelegateInvalidCompatibility",
    0x31: "DelegateMemoryAllocationFailed", 0x32: "DelegateInvalidHandle",
}


def _portable_lib():
    from executorch.extension.pybindings import portable_lib
    return portable_lib


def _error(where, text, log):
    m = re.search(r"0x([0-9a-fA-F]+)", text)
    code = int(m.group(1), 16) if m else None
    return {"executorch_error": CODES.get(code, text[:80]), "code": code, "where": where, "log": _reason(log) or text[:200]}


def _reason(log):
    """The first line of the runtime's log that says what is wrong."""
    lines = re.findall(r"^\[([\w.]+):\d+\] (.*)", log, re.M)
    return next((f"{f}: {t}"[:240] for f, t in lines if f != "method.cpp" and "Check" in t or "failed" in t), lines[0][1][:240] if lines else "")


def _clone(x):
    return x.clone() if isinstance(x, torch.Tensor) else x


def _flatten(r):
    if r is None:
        return []
    if isinstance(r, (list, tuple)):
        return [y for x in r for y in _flatten(x)]
    return [r]


def _same(a, b):
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if isinstance(x, torch.Tensor):
            if x.shape != y.shape or raw(dense(x)) != raw(dense(y)):
                return False
        elif repr(x) != repr(y):
            return False
    return True


def _execute(c, log):
    """In the child: returns (expected, eager, error, unstable)."""
    pl = _portable_lib()
    eager = None
    if c.eager is not None:
        eager = []
        for i, ins in enumerate(c.sets):
            try:
                with torch.no_grad():
                    eager.append([dense(_clone(x)) if isinstance(x, torch.Tensor) else x for x in _flatten(c.eager(i, [_clone(x) for x in ins]))])
            except Exception as e:                       # noqa: BLE001  whatever PyTorch says
                eager.append(f"{type(e).__name__}: {str(e).splitlines()[0][:160] if str(e) else ''}")
    yield ("eager", eager)
    where = "load"
    try:
        m = pl._load_for_executorch_from_buffer(c.program)
        where = "execute"

        def call(ins):
            return [_clone(x) for x in m.run_method(c.method, tuple(ins))]
        got = [call(ins) for ins in c.sets]
        unstable = False
        if c.stateless:
            # Whatever an operator leaves unwritten shows the output for other values.
            if len(c.sets) == 1:
                call([_scramble(x) for x in c.sets[0]])
            unstable = not _same(got[0], call(c.sets[0]))
        yield ("done", [[dense(x) if isinstance(x, torch.Tensor) else x for x in o] for o in got], None, unstable)
    except Exception as e:                               # noqa: BLE001
        yield ("done", None, _error(where, str(e), log()), False)


def _scramble(x):
    """Other values of the same type and layout that are as harmless as the given ones."""
    if not isinstance(x, torch.Tensor) or x.numel() < 2:
        return x
    y = torch.empty_like(x)
    y.copy_(x.reshape(-1).flip(0).reshape(x.shape))
    return y


def _read(log):
    os.lseek(log.fileno(), 0, os.SEEK_SET)
    return os.read(log.fileno(), 1 << 16).decode("utf-8", "replace")


def _child(cases, first, fd, log):
    """Run cases one by one and send each result as soon as it is there."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.dup2(log.fileno(), 2)
    os.dup2(log.fileno(), 1)

    def send(i, msg):
        b = pickle.dumps((i, msg))
        b = struct.pack("<Q", len(b)) + b
        while b:
            b = b[os.write(fd, b):]
    for i in range(first, len(cases)):
        os.ftruncate(log.fileno(), 0)
        os.lseek(log.fileno(), 0, os.SEEK_SET)
        signal.alarm(20)
        for msg in _execute(cases[i], lambda: _read(log)):
            send(i, msg)
    os._exit(0)


def run(cases):
    """Fill in what the runtime (and PyTorch) makes of each case.

    The runtime aborts the process on some faults: a child works through the cases, and
    when it dies the next child goes on behind the case that killed it.
    """
    first, log = 0, tempfile.TemporaryFile()
    while first < len(cases):
        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(r)
            try:
                _child(cases, first, w, log)
            finally:
                os._exit(70)
        os.close(w)
        buf, done = bytearray(), first
        while True:
            b = os.read(r, 1 << 20)
            if not b:
                break
            buf += b
            while len(buf) >= 8:
                n = struct.unpack("<Q", buf[:8])[0]
                if len(buf) < 8 + n:
                    break
                i, msg = pickle.loads(bytes(buf[8:8 + n]))
                del buf[:8 + n]
                if msg[0] == "eager":
                    cases[i].eager_out = msg[1]
                else:
                    cases[i].expected, cases[i].error, cases[i].unstable = msg[1:]
                    done = i + 1
        os.close(r)
        _, status = os.waitpid(pid, 0)
        if done < len(cases):
            name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
            cases[done].error = {"executorch_error": "crash: " + name, "code": None, "where": "crash", "log": _reason(_read(log))}
            done += 1
        first = done
    return cases


# --------------------------------------------------------------------------------------
# comparing and writing
# --------------------------------------------------------------------------------------
def distance(got, want, rtol, atol):
    """None if all is within the tolerance, else (largest difference, ways in which they differ)."""
    how, worst = set(), 0.0
    if len(got) != len(want):
        return None, ["count"]
    for a, b in zip(got, want):
        if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
            if type(a) is not type(b) or (a != b and not (a != a and b != b)):
                how.add("value")
            continue
        if a.dtype != b.dtype:
            how.add("dtype")
            continue
        if a.shape != b.shape:
            how.add("shape")
            continue
        if a.numel() == 0:
            continue
        if not (a.is_floating_point() or a.is_complex()):
            if not torch.equal(a, b):
                how.add("value")
                worst = max(worst, float((a.double() - b.double()).abs().max()))
            continue
        x, y = (a.to(torch.complex128), b.to(torch.complex128)) if a.is_complex() else (a.double(), b.double())
        if a.is_complex():
            x, y = torch.view_as_real(x), torch.view_as_real(y)
        nan = torch.isnan(x) != torch.isnan(y)
        both = ~torch.isnan(x) & ~torch.isnan(y)
        inf = both & ((torch.isinf(x) | torch.isinf(y)) & (x != y))
        fin = both & torch.isfinite(x) & torch.isfinite(y)
        d = torch.where(fin, (x - y).abs(), torch.zeros_like(x))
        if nan.any():
            how.add("nan")
        if inf.any():
            how.add("inf")
        if (d > atol + rtol * torch.where(fin, y.abs(), torch.zeros_like(y))).any():
            how.add("value")
            worst = max(worst, float(d.max()))
    return worst, sorted(how)


def dtypes_of(case):
    seen = []
    for x in _flatten(list(case.sets)) + _flatten(case.expected or []):
        k = SHORT.get(x.dtype, str(x.dtype)) if isinstance(x, torch.Tensor) else "NoneType" if x is None else type(x).__name__
        if k not in seen:
            seen.append(k)
    return seen


class Writer:
    """A folder of cases: cases.jsonl for those with a result, index.jsonl for the refused."""

    def __init__(self, folder, keep_eager=False):
        self.folder, self.keep_eager = folder, keep_eager    # keep_eager: NAME.eager.bpte with PyTorch's results where they differ
        os.makedirs(folder, exist_ok=True)
        self.rows, self.refused = [], []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for name, rows in (("cases.jsonl", self.rows), ("index.jsonl", self.refused)):
            if rows or name == "cases.jsonl":
                with open(os.path.join(self.folder, name), "w") as f:
                    for r in rows:
                        f.write(json.dumps(r) + "\n")

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as f:
            f.write(data)

    def row(self, case, **more):
        return dict({"file": case.name + ".bpte", "name": case.name, "group": case.group, "op": case.ops,
                     "dtypes": dtypes_of(case), "tags": case.tags}, **more)

    def add(self, case, rtol=0.0, atol=0.0, keep_unstable=False):
        """Write a case that `run` has filled in.  Returns its row, or None if it was left out."""
        if case.unstable and not keep_unstable:
            return None
        if case.error:
            return self.refuse(case, rtol, atol)
        self.write(case.name + ".bpte", bundle(case.program, {case.method: list(zip(case.sets, case.expected))}))
        row = self.row(case, rtol=rtol, atol=atol, eager_differs=False, note=case.note)
        ok = case.eager_out and not any(isinstance(e, str) for e in case.eager_out)
        if ok:
            worst, how = 0.0, set()
            for got, want in zip(case.expected, case.eager_out):
                d, h = distance(got, want[:len(got)], rtol, atol)
                worst, how = max(worst, d or 0.0), how | set(h)
            if how:
                row.update(eager_differs=True, max_abs_diff=worst, differs_how=sorted(how))
                if self.keep_eager:
                    self.write(case.name + ".eager.bpte", bundle(case.program, {case.method: list(zip(case.sets, case.eager_out))}))
        elif case.eager_out:
            row["eager_error"] = next(e for e in case.eager_out if isinstance(e, str))
        if case.detail is not None:
            row["detail"] = case.detail
        self.rows.append(row)
        return row

    def refuse(self, case, rtol=0.0, atol=0.0):
        """A case that ExecuTorch refuses; PyTorch's outputs are the expected ones where it has any."""
        ok = case.eager_out and not any(isinstance(e, str) for e in case.eager_out)
        outs = case.eager_out if ok else [[] for _ in case.sets]
        try:
            data = bundle(case.program, {case.method: list(zip(case.sets, outs))})
        except TypeError:
            ok, data = False, bundle(case.program, {case.method: [(i, []) for i in case.sets]})
        self.write(case.name + ".bpte", data)
        row = self.row(case, rtol=rtol, atol=atol, **case.error, eager=bool(ok))
        if case.eager_out and not ok:
            row["eager_error"] = next((e for e in case.eager_out if isinstance(e, str)), "")
        if case.detail is not None:
            row["detail"] = case.detail
        self.refused.append(row)
        return row


def from_module(name, module, sets, dynamic_shapes=None, trace=0, **kw):
    """A case from an nn.Module: exported with sets[trace], with PyTorch's results beside."""
    program = export(module, sets[trace], dynamic_shapes)
    kw.setdefault("ops", operators_of(program))
    return Case(name, program, [list(s) for s in sets], eager=lambda i, ins: module(*ins), **kw)


def from_call(name, op, args, outs=None, sets=None, eager=None, **kw):
    """A case from one call of an operator.

    args as for `assemble`.  outs: the outputs; default what the functional overload gives.
    sets: further argument lists with tensors of other sizes (their inputs must then be In(..., dynamic=True)).
    eager: what gives PyTorch's result where the functional overload does not have the same arguments.
    """
    f = eager or functional(op)
    plain = [_plain(a) for a in args]
    if outs is None:
        with torch.no_grad():
            outs = [Out.like(x) for x in _flatten(f(*plain))]
    program = assemble(op, args, outs)
    lists = [args] + list(sets or [])

    def reference(i, ins):
        it = iter(ins)
        return f(*[_refill(a, it) for a in lists[i]])
    kw.setdefault("ops", [op])
    kw.setdefault("group", {"quantized_decomposed": "quantized", "llama": "llm", "executorch_prim": "prim"}.get(op.split("::")[0], "aten"))
    return Case(name, program, [_inputs(a) for a in lists], eager=reference if f is not None else None, **kw)


def _plain(a):
    if isinstance(a, In):
        return a.tensor
    if isinstance(a, (list, tuple)):
        return [_plain(x) for x in a]
    return a


def _inputs(args):
    out = []
    for a in args:
        for x in a if isinstance(a, (list, tuple)) else [a]:
            if isinstance(x, In) and not x.constant:
                out.append(x.tensor)
            elif isinstance(x, torch.Tensor):
                out.append(x)
    return out


def _refill(a, it):
    if isinstance(a, (list, tuple)):
        return [_refill(x, it) for x in a]
    if isinstance(a, In):
        return a.tensor if a.constant else next(it)
    return next(it) if isinstance(a, torch.Tensor) else a
