package kit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

type testDim struct{ size, dst, src int }

// boxes are copies of every kind: runs, repeats, reversals, transposes, with
// and without dimensions that merge.
var boxes = []struct {
	name           string
	dst, src       int // sizes of the tensors
	dstOff, srcOff int
	dims           []testDim
}{
	{"one element", 3, 4, 2, 1, nil},
	{"empty", 3, 4, 0, 0, []testDim{{3, 1, 1}, {0, 1, 1}}},
	{"flat", 1000, 1000, 0, 0, []testDim{{10, 100, 100}, {100, 1, 1}}},
	{"runs", 70, 200, 0, 3, []testDim{{7, 10, 20}, {10, 1, 1}}},
	{"short runs", 70, 200, 1, 3, []testDim{{3, 1, 1}, {20, 3, 5}}},
	{"repeat", 60, 5, 0, 0, []testDim{{12, 5, 0}, {5, 1, 1}}},
	{"fill", 60, 5, 0, 4, []testDim{{60, 1, 0}}},
	{"reversed", 60, 60, 0, 59, []testDim{{60, 1, -1}}},
	{"reversed rows", 60, 60, 0, 50, []testDim{{6, 10, -10}, {10, 1, 1}}},
	{"scattered", 200, 100, 1, 0, []testDim{{100, 2, 1}}},
	{"strided", 100, 300, 0, 1, []testDim{{100, 1, 3}}},
	{"transpose", 37 * 41, 37 * 41, 0, 0, []testDim{{37, 41, 1}, {41, 1, 37}}},
	{"small transpose", 3 * 400, 3 * 400, 0, 0, []testDim{{400, 3, 1}, {3, 1, 400}}},
	{"batched transpose", 5 * 12 * 9, 5 * 12 * 9, 0, 0, []testDim{{5, 108, 108}, {9, 12, 1}, {12, 1, 9}}},
	{"permute", 4 * 5 * 6 * 7, 4 * 5 * 6 * 7, 0, 0, []testDim{{7, 120, 1}, {4, 30, 210}, {6, 5, 7}, {5, 1, 42}}},
}

func fillRandom(t *tensor.Tensor, r *rand.Rand) {
	b := t.Bytes()
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

func newTensor(t testing.TB, d tensor.DType, n int) *tensor.Tensor {
	x, err := tensor.New(d, []int{n})
	require.NoError(t, err)
	return x
}

// visit calls f with the two offsets of every element of a box.
func visit(dims []testDim, d, s int, f func(d, s int)) {
	if len(dims) == 0 {
		f(d, s)
		return
	}
	for i := range dims[0].size {
		visit(dims[1:], d+i*dims[0].dst, s+i*dims[0].src, f)
	}
}

func TestCopyMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	for _, d := range []tensor.DType{tensor.I8, tensor.BF16, tensor.F32, tensor.U64, tensor.C32, tensor.C64, tensor.C128} {
		for _, b := range boxes {
			t.Run(fmt.Sprintf("%v/%s", d, b.name), func(t *testing.T) {
				dst, src := newTensor(t, d, b.dst), newTensor(t, d, b.src)
				fillRandom(dst, r)
				fillRandom(src, r)
				want := dst.Clone()
				es := d.Size()
				visit(b.dims, b.dstOff, b.srcOff, func(d, s int) {
					copy(want.Bytes()[d*es:(d+1)*es], src.Bytes()[s*es:])
				})
				var c Copy
				c.Begin(dst, src)
				c.Offset(b.dstOff, b.srcOff)
				for _, dim := range b.dims {
					c.Dim(dim.size, dim.dst, dim.src)
				}
				orig := dst.Clone()
				require.NoError(t, c.Do(ctx))
				require.Equal(t, want.Bytes(), dst.Bytes())

				// In pieces, as several threads do.
				copy(dst.Bytes(), orig.Bytes())
				for lo := 0; lo < c.numel; lo += 13 {
					c.Run(0, lo, min(lo+13, c.numel))
				}
				require.Equal(t, want.Bytes(), dst.Bytes())
			})
		}
	}
}

func TestCopyTables(t *testing.T) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	src := tensor.Of([]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 12)
	var c Copy

	dst := tensor.Of(make([]int32, 8), 8)
	c.Begin(dst, src)
	c.Table(2, nil, 4, []int64{8, 0}, 0)
	c.Dim(4, 1, 1)
	require.NoError(t, c.Do(ctx))
	require.Equal(t, []int32{8, 9, 10, 11, 0, 1, 2, 3}, tensor.Raw[int32](dst))

	// Two outer rows, an inner table; the last of equal destinations wins.
	dst = tensor.Of(make([]int32, 8), 8)
	c.Begin(dst, src)
	c.Dim(2, 4, 6)
	c.Table(3, []int64{3, 1, 3}, 0, nil, 1)
	require.NoError(t, c.Do(ctx))
	require.Equal(t, []int32{0, 1, 0, 2, 0, 7, 0, 8}, tensor.Raw[int32](dst))

	dst = tensor.Of(make([]int32, 8), 8)
	c.Begin(dst, src)
	c.Dim(2, 4, 6)
	c.Table(3, []int64{3, 1, 3}, 0, nil, 1)
	c.Accumulate()
	require.NoError(t, c.Do(ctx))
	require.Equal(t, []int32{0, 1, 0, 2, 0, 7, 0, 14}, tensor.Raw[int32](dst))

	for _, bad := range [][]int64{{0, 9}, {-1, 0}, {-1 << 63, 0}, {0, 1<<63 - 1}} {
		c.Begin(dst, src)
		c.Table(2, nil, 4, bad, 0)
		c.Dim(4, 1, 1)
		require.Error(t, c.Do(ctx))
	}
}

func TestCopyAccumulates(t *testing.T) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	add := func(dst, src *tensor.Tensor) *tensor.Tensor {
		var c Copy
		c.Begin(dst, src)
		c.Dim(src.Numel(), 0, 1)
		c.Accumulate()
		require.NoError(t, c.Do(ctx))
		return dst
	}
	require.Equal(t, tensor.Of([]int8{-126}).Bytes(), add(tensor.Of([]int8{127}), tensor.Of([]int8{1, 2})).Bytes())
	require.Equal(t, tensor.Of([]bool{true}).Bytes(), add(tensor.Of([]bool{false}), tensor.Of([]bool{true, false, true})).Bytes())
	// 2048 + 1 + 1 is 2048 when each sum is rounded to half.
	one := tensor.ToFloat16(1)
	require.Equal(t, tensor.Of([]tensor.Float16{tensor.ToFloat16(2048)}).Bytes(),
		add(tensor.Of([]tensor.Float16{tensor.ToFloat16(2048)}), tensor.Of([]tensor.Float16{one, one})).Bytes())
	require.Equal(t, tensor.Of([]complex64{5 + 7i}).Bytes(), add(tensor.Of([]complex64{1 + 1i}), tensor.Of([]complex64{1 + 2i, 3 + 4i})).Bytes())
}

func TestCopyConverts(t *testing.T) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	conv := func(d tensor.DType, src *tensor.Tensor) *tensor.Tensor {
		dst := newTensor(t, d, src.Numel())
		var c Copy
		require.NoError(t, CopyTensor(ctx, &c, dst, src))
		return dst
	}
	f := tensor.Of([]float32{-1.5, 0, 300, 2.5})
	require.Equal(t, []uint8{255, 0, 44, 2}, tensor.Raw[uint8](conv(tensor.U8, f)))
	require.Equal(t, []int64{-1, 0, 300, 2}, tensor.Raw[int64](conv(tensor.I64, f)))
	require.Equal(t, []uint8{1, 0, 1, 1}, tensor.Raw[uint8](conv(tensor.Bool, f)))
	require.Equal(t, []complex64{-1.5, 0, 300, 2.5}, tensor.Raw[complex64](conv(tensor.C64, f)))
	require.Equal(t, []float64{3}, tensor.Raw[float64](conv(tensor.F64, tensor.Of([]complex64{3 + 4i}))))
	require.Equal(t, []complex128{3 + 4i}, tensor.Raw[complex128](conv(tensor.C128, tensor.Of([]complex64{3 + 4i}))))
	require.Equal(t, []float32{1 << 63}, tensor.Raw[float32](conv(tensor.F32, tensor.Of([]uint64{1 << 63}))))
	long := make([]int64, 1000)
	for i := range long {
		long[i] = int64(i) - 500
	}
	require.EqualValues(t, -7, tensor.Raw[int8](conv(tensor.I8, tensor.Of(long)))[493])

	var c Copy
	require.Error(t, CopyTensor(ctx, &c, newTensor(t, tensor.F32, 1), newTensor(t, tensor.Bits8, 1)))
}

func TestCopyStaysInside(t *testing.T) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	dst, src := newTensor(t, tensor.F32, 10), newTensor(t, tensor.F32, 10)
	const huge = 1<<63 - 1
	for _, d := range []testDim{
		{11, 1, 1}, {3, 5, 1}, {3, 1, 5}, {3, -1, 1}, {3, 1, -1},
		{3, huge, 1}, {3, 1, huge}, {3, 1, -huge - 1}, {huge, 1, 0}, {huge, huge, huge},
	} {
		var c Copy
		c.Begin(dst, src)
		c.Dim(d.size, d.dst, d.src)
		require.Error(t, c.Do(ctx), "%+v", d)
	}
	var c Copy
	c.Begin(dst, src)
	c.Offset(10, 0)
	require.Error(t, c.Do(ctx))
	require.Error(t, CopyTensor(ctx, &c, dst, newTensor(t, tensor.F32, 2)))
}

func TestCopyAllocatesNothing(t *testing.T) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	dst, src, ints := newTensor(t, tensor.F32, 3000), newTensor(t, tensor.F32, 3000), newTensor(t, tensor.I64, 3000)
	run := func() {
		c := runtime.State[Copy](ctx)
		c.Begin(dst, src)
		c.Dim(50, 60, 1)
		c.Dim(60, 1, 50)
		require.NoError(t, c.Do(ctx))
		require.NoError(t, CopyTensor(ctx, c, dst, ints))
		c.Begin(dst, src)
		c.Dim(3000, 0, 1)
		c.Accumulate()
		require.NoError(t, c.Do(ctx))
	}
	require.Zero(t, testing.AllocsPerRun(10, run))
}

func BenchmarkCopy(b *testing.B) {
	ctx := runtime.NewKernelRuntimeContext(context.Background())
	for _, bm := range []struct {
		name string
		n    int
		dims []testDim
	}{
		{"flat", 1 << 20, []testDim{{1 << 20, 1, 1}}},
		{"runs of 64", 1 << 20, []testDim{{128, 64 * 128, 64}, {128, 64, 64 * 128}, {64, 1, 1}}},
		{"runs of 3", 3 << 18, []testDim{{512, 3 * 512, 3}, {512, 3, 3 * 512}, {3, 1, 1}}},
		{"transpose 1024", 1 << 20, []testDim{{1024, 1024, 1}, {1024, 1, 1024}}},
		{"transpose 1000", 1000000, []testDim{{1000, 1000, 1}, {1000, 1, 1000}}},
		{"nchw to nhwc", 3 * 224 * 224, []testDim{{224 * 224, 3, 1}, {3, 1, 224 * 224}}},
		{"nhwc to nchw", 3 * 224 * 224, []testDim{{3, 224 * 224, 1}, {224 * 224, 1, 3}}},
		{"nchw64 to nhwc", 64 * 56 * 56, []testDim{{56 * 56, 64, 1}, {64, 1, 56 * 56}}},
		{"step 2", 1 << 20, []testDim{{1 << 19, 1, 2}}},
		{"tiny", 16, []testDim{{4, 4, 4}, {4, 1, 1}}},
		{"tiny transpose", 16, []testDim{{4, 4, 1}, {4, 1, 4}}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			dst, src := newTensor(b, tensor.F32, bm.n), newTensor(b, tensor.F32, bm.n)
			b.SetBytes(int64(dst.NBytes()))
			c := new(Copy)
			for b.Loop() {
				c.Begin(dst, src)
				for _, d := range bm.dims {
					c.Dim(d.size, d.dst, d.src)
				}
				if err := c.Do(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
