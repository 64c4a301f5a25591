package llm

import (
	"math"
	"math/bits"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// FastHadamardTransform is llama::fast_hadamard_transform: each line along the
// last dimension times a Hadamard matrix. A line of n = 2^k numbers is multiplied
// by Sylvester's matrix and divided by sqrt(n). One of 28 * 2^k is taken as a
// matrix of 28 rows, of which each is transformed so; then each column is
// multiplied by the Hadamard matrix of order 28, without a division. It takes
// float32, float16 and bfloat16, computed in float32, and float64.
var FastHadamardTransform = runtime.Kernels{
	{Schema: "llama::fast_hadamard_transform.out(Tensor mat, *, Tensor(a!) out) -> Tensor(a!)", Run: fastHadamardTransformOut},
}

func fastHadamardTransformOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if in.DType() != out.DType() {
		return errs.InvalidArgument.Errorf("fast_hadamard_transform: input is %v, output %v", in.DType(), out.DType())
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	switch in.DType() {
	case tensor.F32, tensor.F16, tensor.BF16:
		return hadamard[float32](ctx, in, out)
	case tensor.F64:
		return hadamard[float64](ctx, in, out)
	}
	return kit.Unsupported("fast_hadamard_transform", in)
}

// hadamardTask transforms lines in scratch memory.
type hadamardTask[C kit.Float] struct {
	in, out         *tensor.Tensor
	lines           kit.Nest // operands: in, out
	inStep, outStep int      // between a line's elements
	size            int      // of a line
	rows            int      // of which each is transformed: 1 or 28
	bufs            []C      // two lines for each worker
}

// hadamardGrain is how many elements are worth a goroutine.
const hadamardGrain = 1 << 12

func hadamard[C kit.Float](ctx *runtime.KernelRuntimeContext, in, out *tensor.Tensor) error {
	if in.Numel() == 0 {
		return nil
	}
	t := runtime.State[hadamardTask[C]](ctx)
	t.in, t.out = in, out
	t.size, t.inStep, t.outStep = 1, 1, 1
	t.lines.Begin(2)
	for d, size := range in.Shape() {
		if d == in.Rank()-1 {
			t.size, t.inStep, t.outStep = size, in.Strides()[d], out.Strides()[d]
			continue
		}
		t.lines.Dim(size, [kit.MaxOperands]int{in.Strides()[d], out.Strides()[d]})
	}
	t.rows = 1
	if t.size%order28 == 0 {
		t.rows = order28
	}
	if n := t.size / t.rows; n&(n-1) != 0 {
		return errs.InvalidArgument.Errorf("fast_hadamard_transform: lines of %d, want 2^k or 28 * 2^k", t.size)
	}
	bufs, err := runtime.Temp[C](ctx, ctx.Threads()*2*t.size)
	if err != nil {
		return err
	}
	t.bufs = bufs
	ctx.Parallel(t.lines.Numel(), 1+hadamardGrain/t.size, t)
	return nil
}

// Run transforms the lines lo to hi.
func (t *hadamardTask[C]) Run(worker, lo, hi int) {
	buf := t.bufs[worker*2*t.size:][:2*t.size]
	line, result := buf[:t.size], buf[t.size:]
	var c kit.Cursor
	t.lines.Seek(&c, lo)
	for ; lo < hi; lo++ {
		kit.LoadStrided(line, t.in, c.Off[0], t.inStep)
		n := t.size / t.rows
		for r := range t.rows {
			sylvester(line[r*n:][:n])
		}
		if t.rows == order28 {
			hadamard28(result, line)
			kit.StoreStrided(t.out, c.Off[1], t.outStep, result)
		} else {
			kit.StoreStrided(t.out, c.Off[1], t.outStep, line)
		}
		t.lines.Advance(&c, 1)
	}
}

// sylvester multiplies x, of 2^k elements, by Sylvester's matrix and divides by
// the square root of their number.
func sylvester[C kit.Float](x []C) {
	for step := 1; step < len(x); step *= 2 {
		for i := 0; i < len(x); i += 2 * step {
			a, b := x[i:][:step], x[i+step:][:step]
			for j, v := range a {
				w := b[j]
				a[j], b[j] = v+w, v-w
			}
		}
	}
	// The root of an even power is exact.
	k := bits.Len(uint(len(x))) - 1
	root := C(uint64(1) << (k / 2))
	if k%2 == 1 {
		root *= C(math.Sqrt2)
	}
	inv := 1 / root
	for i := range x {
		x[i] *= inv
	}
}

// order28 is the order of the Hadamard matrix after Williamson that is made of
// circulant blocks, of which circulants28 holds the first rows:
//
//	 A  B  C  D
//	-B  A -D  C
//	-C  D  A -B
//	-D -C  B  A
const order28 = 28

const order7 = order28 / 4

var circulants28 = [4][order7]int8{
	{1, -1, -1, -1, -1, -1, -1},
	{1, 1, -1, -1, -1, -1, 1},
	{1, -1, 1, -1, -1, 1, -1},
	{1, -1, -1, 1, 1, -1, -1},
}

// blocks28 tells the blocks by number, A being 1; a minus sign negates.
var blocks28 = [4][4]int8{
	{1, 2, 3, 4},
	{-2, 1, -4, 3},
	{-3, 4, 1, -2},
	{-4, -3, 2, 1},
}

// sign28 returns element (i, j) of the matrix: 1 or -1.
func sign28(i, j int) int8 {
	b := blocks28[i/order7][j/order7]
	sign := int8(1)
	if b < 0 {
		b, sign = -b, -1
	}
	return sign * circulants28[b-1][(j+order7-i%order7)%order7]
}

// hadamard28 multiplies the columns of src, a matrix of 28 rows, by the Hadamard
// matrix of order 28.
func hadamard28[C kit.Float](dst, src []C) {
	n := len(src) / order28
	for i := range order28 {
		d := dst[i*n:][:n]
		clear(d)
		for j := range order28 {
			s := src[j*n:][:n]
			if sign28(i, j) > 0 {
				for k, v := range s {
					d[k] += v
				}
			} else {
				for k, v := range s {
					d[k] -= v
				}
			}
		}
	}
}
