package quantized

import (
	"slices"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// EmbeddingByte is quantized_decomposed::embedding_byte: the rows of weight that
// indices name, dequantised: (weight - zero point) * scale in float32.
//
// weight is uint8 or int8 [rows, dim]; scales and zero points are [rows] or, for
// groups along a row, [rows, groups], of any number types; indices are int32 or
// int64 of any shape; the output, of a floating-point type, has dim as its last
// dimension behind theirs.
var EmbeddingByte = runtime.Kernels{
	{
		Schema: "quantized_decomposed::embedding_byte.out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    embeddingByteOut,
	},
	{
		Schema: "quantized_decomposed::embedding_byte.dtype_out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Run:    embeddingByteDTypeOut,
	},
}

// Embedding4Bit is quantized_decomposed::embedding_4bit: as EmbeddingByte with two
// weights in a uint8, the first in the high bits, offset by 8.
var Embedding4Bit = runtime.Kernels{
	{
		Schema: "quantized_decomposed::embedding_4bit.out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    embedding4BitOut,
	},
	{
		Schema: "quantized_decomposed::embedding_4bit.dtype_out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Run:    embedding4BitDTypeOut,
	},
}

// Embedding2Bit is quantized_decomposed::embedding_2bit: as EmbeddingByte with four
// weights in a uint8, the first in the low bits, offset by 2.
var Embedding2Bit = runtime.Kernels{
	{
		Schema: "quantized_decomposed::embedding_2bit.out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, Tensor(a!) out) -> Tensor(a!)",
		Run:    embedding2BitOut,
	},
	{
		Schema: "quantized_decomposed::embedding_2bit.dtype_out(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
		Run:    embedding2BitDTypeOut,
	},
}

func embeddingByteOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return embedding(ctx, args, 8, args.Tensor(6))
}

func embeddingByteDTypeOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return embeddingDType(ctx, args, 8)
}

func embedding4BitOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return embedding(ctx, args, 4, args.Tensor(6))
}

func embedding4BitDTypeOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return embeddingDType(ctx, args, 4)
}

func embedding2BitOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return embedding(ctx, args, 2, args.Tensor(6))
}

func embedding2BitDTypeOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	return embeddingDType(ctx, args, 2)
}

func embeddingDType(ctx *runtime.KernelRuntimeContext, args runtime.Args, bits int) error {
	out := args.Tensor(7)
	if dtype, ok := args.DType(6); ok && out.DType() != dtype {
		return errs.InvalidArgument.Errorf("embedding: output is %v, want %v", out.DType(), dtype)
	}
	return embedding(ctx, args, bits, out)
}

// embeddingTask looks up rows. A span of a row is unpacked, dequantised group by
// group and stored.
type embeddingTask struct {
	weight, scales, zeros, out kit.RowMajor
	hasZeros                   bool
	dim, groups                int
	perByte                    int // weights in a byte
	unpack                     func(dst []float32, packed []uint8)
	rows                       []int64
	packed                     []uint8   // a span for each worker
	bufs                       []float32 // a span and a row's scales and zero points for each worker
}

// packedSpan is how many bytes of weights are unpacked at a time.
const packedSpan = spanLen / 4

func embedding(ctx *runtime.KernelRuntimeContext, args runtime.Args, bits int, out *tensor.Tensor) error {
	weight, scales, zeros, indices := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(5)
	if err := checkEmbedding(args, bits, out); err != nil {
		return err
	}
	t := runtime.State[embeddingTask](ctx)
	t.perByte = 8 / bits
	t.dim, t.groups = weight.Shape()[1]*t.perByte, 1
	if scales.Rank() == 2 {
		t.groups = scales.Shape()[1]
	}
	if t.groups == 0 && t.dim > 0 || t.groups > 0 && t.dim%t.groups != 0 {
		return errs.InvalidArgument.Errorf("embedding: %d groups do not divide a row of %d", t.groups, t.dim)
	}
	shape := kit.ShapeOf(indices.Shape())
	shape.Append(t.dim)
	if err := kit.Resize(out, shape.Dims()); err != nil {
		return err
	}
	if out.Numel() == 0 {
		return nil
	}
	switch {
	case bits == 4:
		t.unpack = unpack4
	case bits == 2:
		t.unpack = unpack2
	case weight.DType() == tensor.I8:
		t.unpack = unpackSigned
	default:
		t.unpack = unpackUnsigned
	}
	if err := t.loadRows(ctx, indices, weight.Shape()[0]); err != nil {
		return err
	}
	t.weight.Begin(weight)
	t.scales.Begin(scales)
	t.hasZeros = zeros != nil
	if t.hasZeros {
		t.zeros.Begin(zeros)
	}
	t.out.Begin(out)
	var err error
	if t.packed, err = runtime.Temp[uint8](ctx, ctx.Threads()*packedSpan); err != nil {
		return err
	}
	if t.bufs, err = runtime.Temp[float32](ctx, ctx.Threads()*(spanLen+2*t.groups)); err != nil {
		return err
	}
	ctx.Parallel(len(t.rows), 1+grain/t.dim, t)
	return nil
}

func checkEmbedding(args runtime.Args, bits int, out *tensor.Tensor) error {
	weight, scales, zeros, indices := args.Tensor(0), args.Tensor(1), args.Tensor(2), args.Tensor(5)
	switch {
	case weight.Rank() != 2:
		return errs.InvalidArgument.Errorf("embedding: weight is %v, want two dimensions", weight)
	case weight.DType() != tensor.U8 && (weight.DType() != tensor.I8 || bits != 8):
		return errs.InvalidArgument.Errorf("embedding: weight is %v", weight.DType())
	case scales.Rank() != 1 && scales.Rank() != 2 || scales.Shape()[0] != weight.Shape()[0]:
		return errs.InvalidArgument.Errorf("embedding: scales are %v, want one or a group of them for each row of %v", scales, weight)
	case !scales.DType().IsFloat():
		return errs.InvalidArgument.Errorf("embedding: scales are %v, want a floating-point type", scales.DType())
	case zeros != nil && !slices.Equal(zeros.Shape(), scales.Shape()):
		return errs.InvalidArgument.Errorf("embedding: zero points are %v, scales %v", zeros, scales)
	case zeros != nil && !zeros.DType().IsFloat() && !zeros.DType().IsInt():
		return errs.InvalidArgument.Errorf("embedding: zero points are %v", zeros.DType())
	case indices.DType() != tensor.I64 && indices.DType() != tensor.I32:
		return errs.InvalidArgument.Errorf("embedding: indices are %v, want int32 or int64", indices.DType())
	case indices.Rank() == tensor.MaxRank:
		return errs.InvalidArgument.Errorf("embedding: indices have %d dimensions, want less", indices.Rank())
	case !out.DType().IsFloat():
		return kit.Unsupported("embedding", out)
	}
	if lo, hi := args.Int(3), args.Int(4); lo > hi {
		return errs.InvalidArgument.Errorf("embedding: weight_quant_min %d is above weight_quant_max %d", lo, hi)
	}
	return nil
}

// loadRows copies the indices, so that what was checked stays as it is even where
// the output overlaps them.
func (t *embeddingTask) loadRows(ctx *runtime.KernelRuntimeContext, indices *tensor.Tensor, count int) (err error) {
	if t.rows, err = runtime.Temp[int64](ctx, indices.Numel()); err != nil {
		return err
	}
	var r kit.RowMajor
	r.Begin(indices)
	kit.LoadRowMajor(t.rows, &r, 0)
	for _, row := range t.rows {
		if row < 0 || row >= int64(count) {
			return errs.InvalidArgument.Errorf("embedding: index %d is out of range [0, %d)", row, count)
		}
	}
	return nil
}

// Run looks up the indices lo to hi.
func (t *embeddingTask) Run(worker, lo, hi int) {
	packed := t.packed[worker*packedSpan:][:packedSpan]
	size := spanLen + 2*t.groups
	buf := t.bufs[worker*size:][:size]
	scales, zeros := buf[spanLen:][:t.groups], buf[spanLen+t.groups:]
	clear(zeros)
	for ; lo < hi; lo++ {
		row := int(t.rows[lo])
		kit.LoadRowMajor(scales, &t.scales, row*t.groups)
		if t.hasZeros {
			kit.LoadRowMajor(zeros, &t.zeros, row*t.groups)
		}
		for pos := 0; pos < t.dim; {
			n := min(packedSpan*t.perByte, t.dim-pos)
			p, x := packed[:n/t.perByte], buf[:n]
			kit.LoadRowMajor(p, &t.weight, (row*t.dim+pos)/t.perByte)
			t.unpack(x, p)
			t.scale(x, scales, zeros, pos)
			kit.StoreRowMajor(&t.out, lo*t.dim+pos, x)
			pos += n
		}
	}
}

// scale dequantises x, which is a row's part from element pos on.
func (t *embeddingTask) scale(x, scales, zeros []float32, pos int) {
	size := t.dim / t.groups
	for len(x) > 0 {
		g := pos / size
		part := x[:min(len(x), (g+1)*size-pos)]
		scale, zero := scales[g], zeros[g]
		for i, v := range part {
			part[i] = (v - zero) * scale
		}
		x = x[len(part):]
		pos += len(part)
	}
}

func unpackUnsigned(dst []float32, packed []uint8) {
	for i, b := range packed[:len(dst)] {
		dst[i] = float32(b)
	}
}

func unpackSigned(dst []float32, packed []uint8) {
	for i, b := range packed[:len(dst)] {
		dst[i] = float32(int8(b))
	}
}

func unpack4(dst []float32, packed []uint8) {
	for i, b := range packed {
		d := dst[2*i:][:2]
		d[0] = float32(int32(b>>4) - 8)
		d[1] = float32(int32(b&15) - 8)
	}
}

func unpack2(dst []float32, packed []uint8) {
	for i, b := range packed {
		d := dst[4*i:][:4]
		d[0] = float32(int32(b&3) - 2)
		d[1] = float32(int32(b>>2&3) - 2)
		d[2] = float32(int32(b>>4&3) - 2)
		d[3] = float32(int32(b>>6) - 2)
	}
}
