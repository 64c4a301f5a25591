package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/tensor"
)

func Example() {
	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	values, err := tensor.Data[float32](x)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(x, values[4])
	// Output: float32[2,3] 5
}

func TestDTypes(t *testing.T) {
	for d := tensor.DType(0); d.Valid(); d++ {
		assert.Positive(t, d.Size(), "%v", d)
		back, err := tensor.ParseDType(d.String())
		require.NoError(t, err)
		assert.Equal(t, d, back)
	}
	for _, bad := range []tensor.DType{-1, 30, 127} {
		assert.False(t, bad.Valid())
		assert.Zero(t, bad.Size())
	}
	_, err := tensor.ParseDType("float33")
	assert.Error(t, err)
}

func TestFloat16(t *testing.T) {
	for h := range 1 << 16 {
		f := tensor.Float16(h).Float32()
		if f != f {
			assert.Equal(t, tensor.Float16(h&0x8000|0x7e00), tensor.ToFloat16(f))
			continue
		}
		assert.Equal(t, tensor.Float16(h), tensor.ToFloat16(f), "%#x is %v", h, f)
	}
	for _, c := range []struct {
		in   float32
		want tensor.Float16
	}{
		{0, 0}, {float32(math.Copysign(0, -1)), 0x8000}, {1, 0x3c00}, {65504, 0x7bff}, {65519.996, 0x7bff}, {65520, 0x7c00},
		{float32(math.Inf(-1)), 0xfc00}, {5.9604645e-08, 1}, {2.9802322e-08, 0}, {2.9802326e-08, 1}, {1e-10, 0},
		{1.00048828125, 0x3c00}, {math.Nextafter32(1.00048828125, 2), 0x3c01}, {1.00146484375, 0x3c02},
	} {
		assert.Equal(t, c.want, tensor.ToFloat16(c.in), "%v", c.in)
	}
}

func TestBFloat16(t *testing.T) {
	for b := range 1 << 16 {
		f := tensor.BFloat16(b).Float32()
		if f != f {
			assert.Equal(t, tensor.BFloat16(0x7fc0), tensor.ToBFloat16(f))
			continue
		}
		assert.Equal(t, tensor.BFloat16(b), tensor.ToBFloat16(f))
	}
	// Halfway between two neighbours the even one wins.
	assert.Equal(t, tensor.BFloat16(0x3f80), tensor.ToBFloat16(math.Float32frombits(0x3f808000)))
	assert.Equal(t, tensor.BFloat16(0x3f82), tensor.ToBFloat16(math.Float32frombits(0x3f818000)))
	assert.Equal(t, tensor.BFloat16(0x7f80), tensor.ToBFloat16(math.MaxFloat32))
}

func TestOfReportsMismatch(t *testing.T) {
	x := tensor.Of([]float32{1, 2, 3}, 2, 2)
	require.Error(t, x.Err())
	assert.ErrorIs(t, x.Err(), error(errs.InvalidArgument))
	_, err := tensor.Data[float32](x)
	assert.Equal(t, x.Err(), err)
	assert.Error(t, tensor.Of([]float32{}, -1).Err())
	assert.Error(t, tensor.Of([]uint8{1}, math.MaxInt, math.MaxInt).Err())
}

func TestDataType(t *testing.T) {
	_, err := tensor.Data[int32](tensor.Of([]float32{1}))
	assert.ErrorIs(t, err, error(errs.InvalidType))
	_, err = tensor.Data[int32](nil)
	assert.Error(t, err)
}

func TestOfSharesMemory(t *testing.T) {
	data := []int64{1, 2, 3, 4}
	x := tensor.Of(data, 2, 2)
	back, err := tensor.Data[int64](x)
	require.NoError(t, err)
	data[3] = 9
	assert.Equal(t, int64(9), back[3])
}

func TestDimOrders(t *testing.T) {
	n, c, h, w := 2, 3, 4, 5
	data := make([]float32, n*c*h*w)
	for i := range data {
		data[i] = float32(i)
	}
	x := tensor.Of(data, n, c, h, w)
	for _, order := range []tensor.DimOrder{{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 2, 1, 0}, {1, 0, 3, 2}} {
		y := x.WithOrder(order)
		require.NoError(t, y.Err())
		assert.Equal(t, order, y.DimOrder())
		raw, s := tensor.Raw[float32](y), y.Strides()
		assert.Equal(t, x.Strides()[0]*1+2*20+3*5+4, 1*60+2*20+3*5+4)
		assert.Equal(t, data[1*60+2*20+3*5+4], raw[1*s[0]+2*s[1]+3*s[2]+4*s[3]])
		back, err := tensor.Data[float32](y)
		require.NoError(t, err)
		assert.Equal(t, data, back)
	}
	assert.Error(t, x.WithOrder(tensor.DimOrder{0, 1, 2}).Err())
	assert.Error(t, x.WithOrder(tensor.DimOrder{0, 1, 2, 2}).Err())
	assert.Error(t, x.WithOrder(tensor.DimOrder{0, 1, 2, 4}).Err())
}

func TestSizeOneDimsAreLayoutNeutral(t *testing.T) {
	assert.True(t, tensor.SameLayout([]int{1, 1, 4, 5}, tensor.Contiguous(4), tensor.ChannelsLast(4)))
	assert.True(t, tensor.SameLayout([]int{2, 3, 1, 1}, tensor.Contiguous(4), tensor.ChannelsLast(4)))
	assert.True(t, tensor.SameLayout([]int{1, 1, 4, 5}, tensor.DimOrder{0, 2, 1, 3}, tensor.ChannelsLast(4)))
	assert.False(t, tensor.SameLayout([]int{1, 3, 4, 5}, tensor.Contiguous(4), tensor.ChannelsLast(4)))
	assert.False(t, tensor.SameLayout([]int{1, 3, 1, 5}, tensor.Contiguous(4), tensor.ChannelsLast(4)))
}

func TestResize(t *testing.T) {
	static, err := tensor.New(tensor.F32, []int{2, 3})
	require.NoError(t, err)
	assert.NoError(t, static.Resize([]int{2, 3}))
	assert.ErrorIs(t, static.Resize([]int{3, 2}), error(errs.NotSupported))

	bound, err := tensor.New(tensor.F32, []int{2, 3}, tensor.WithDynamism(tensor.DynamicBound))
	require.NoError(t, err)
	assert.NoError(t, bound.Resize([]int{1, 6}))
	assert.Equal(t, []int{6, 1}, bound.Strides())
	assert.NoError(t, bound.Resize([]int{0, 100}))
	assert.Zero(t, bound.Numel())
	assert.ErrorIs(t, bound.Resize([]int{7, 1}), error(errs.NotSupported))
	assert.ErrorIs(t, bound.Resize([]int{6}), error(errs.NotSupported))
	assert.Error(t, bound.Resize([]int{-1, 1}))
	assert.Error(t, bound.Resize([]int{math.MaxInt, math.MaxInt}))
	assert.Equal(t, []int{0, 100}, bound.Shape(), "a failed resize changes nothing")

	free, err := tensor.NewUnbound(tensor.F32, []int{0}, tensor.WithDynamism(tensor.DynamicUnbound))
	require.NoError(t, err)
	grown := 0
	free.SetGrow(func(n int) ([]byte, error) { grown++; return make([]byte, n), nil })
	require.NoError(t, free.Resize([]int{10}))
	require.NoError(t, free.Resize([]int{5}))
	assert.Equal(t, 1, grown)
	free.SetGrow(func(n int) ([]byte, error) { return nil, errors.New("full") })
	assert.EqualError(t, free.Resize([]int{11}), "full")
	assert.Equal(t, []int{5}, free.Shape())
}

func TestFromBytesAligns(t *testing.T) {
	buf := make([]byte, 17)
	for i := range buf {
		buf[i] = byte(i)
	}
	x, err := tensor.FromBytes(tensor.F64, buf[1:17], []int{2})
	require.NoError(t, err)
	assert.Equal(t, buf[1:], x.Bytes())
	_, err = tensor.FromBytes(tensor.F64, buf, []int{2})
	assert.Error(t, err)
	_, err = tensor.FromBytes(tensor.DType(99), buf, []int{2})
	assert.Error(t, err)
}

func TestCopyRules(t *testing.T) {
	x := tensor.Of([]float32{1, 2}, 2)
	ro, err := tensor.FromBytes(tensor.F32, make([]byte, 8), []int{2}, tensor.WithReadOnly())
	require.NoError(t, err)
	assert.Error(t, tensor.Copy(ro, x))
	assert.Error(t, tensor.Copy(tensor.Of([]float64{1, 2}), x))
	assert.Error(t, tensor.Copy(tensor.Of([]float32{1}), x))
	empty, err := tensor.NewUnbound(tensor.F32, []int{2})
	require.NoError(t, err)
	assert.ErrorIs(t, tensor.Copy(x, empty), error(errs.InvalidState))
}

func TestTooManyDims(t *testing.T) {
	_, err := tensor.New(tensor.F32, make([]int, 17))
	assert.Error(t, err)
	x, err := tensor.New(tensor.F32, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2})
	require.NoError(t, err)
	assert.Equal(t, 2, x.Numel())
}

func TestScalar(t *testing.T) {
	x := tensor.Scalar(int32(7))
	assert.Equal(t, 0, x.Rank())
	assert.Equal(t, 1, x.Numel())
	v, err := tensor.Data[int32](x)
	require.NoError(t, err)
	assert.Equal(t, []int32{7}, v)
	assert.Equal(t, "int32[]", x.String())
}
