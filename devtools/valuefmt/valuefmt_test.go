package valuefmt

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

func TestKind(t *testing.T) {
	for k, want := range map[runtime.Kind]string{
		runtime.KindNone: "none", runtime.KindInt: "int", runtime.KindBool: "bool", runtime.KindDouble: "float",
		runtime.KindString: "string", runtime.KindTensor: "tensor", runtime.KindIntList: "int_list",
		runtime.KindDoubleList: "float_list", runtime.KindBoolList: "bool_list", runtime.KindTensorList: "tensor_list",
		runtime.KindOptionalTensorList: "optional_tensor_list",
	} {
		require.Equal(t, want, Kind(k))
	}
}

func TestFormat(t *testing.T) {
	check := func(x *tensor.Tensor, text string, value complex128) {
		t.Helper()
		require.Equal(t, text, Format(x.DType(), x.Bytes()))
		require.Equal(t, value, Value(x.DType(), x.Bytes()))
	}
	check(tensor.Scalar(uint8(255)), "255", 255)
	check(tensor.Scalar(int8(-1)), "-1", -1)
	check(tensor.Scalar(int16(-300)), "-300", -300)
	check(tensor.Scalar(int32(math.MinInt32)), "-2147483648", math.MinInt32)
	check(tensor.Scalar(int64(math.MinInt64)), "-9223372036854775808", math.MinInt64)
	check(tensor.Scalar(int64(1<<53+1)), "9007199254740993", 1<<53)
	check(tensor.Scalar(uint16(65535)), "65535", 65535)
	check(tensor.Scalar(uint32(math.MaxUint32)), "4294967295", math.MaxUint32)
	check(tensor.Scalar(uint64(math.MaxUint64)), "18446744073709551615", 1<<64)
	check(tensor.Scalar(float32(0.1)), "0.1", complex(float64(float32(0.1)), 0))
	check(tensor.Scalar(0.1), "0.1", 0.1)
	check(tensor.Scalar(tensor.ToFloat16(0.1)), "0.099976", complex(float64(tensor.ToFloat16(0.1).Float32()), 0))
	check(tensor.Scalar(tensor.ToBFloat16(0.1)), "0.1001", complex(float64(tensor.ToBFloat16(0.1).Float32()), 0))
	check(tensor.Scalar(math.Inf(-1)), "-Inf", complex(math.Inf(-1), 0))
	check(tensor.Scalar(true), "true", 1)
	check(tensor.Scalar(complex64(1-2i)), "(1-2i)", 1-2i)
	check(tensor.Scalar(complex128(0.5i)), "(0+0.5i)", 0.5i)
	check(tensor.Scalar(tensor.Complex32{Real: tensor.ToFloat16(1), Imag: tensor.ToFloat16(-2)}), "(1-2i)", 1-2i)
	require.Equal(t, "-2", Format(tensor.QInt8, []byte{254}))
	require.Equal(t, "254", Format(tensor.QUInt8, []byte{254}))
}

func TestSummarize(t *testing.T) {
	text := func(x *tensor.Tensor) string {
		require.NoError(t, x.Err())
		var b strings.Builder
		Summarize(&b, "  ", x)
		return b.String()
	}
	require.Empty(t, text(tensor.Of([]float32{}, 0, 3)))
	require.Equal(t, "  1 2\n", text(tensor.Of([]int32{1, 2})))
	scores := []float32{0, 3, 1, 3, -2, 9, 0, 0, 0, 0}
	require.Equal(t, "  0 3 1 3 -2 9 0 0 ...\n  min -2 max 9 mean 1.4\n  top 5: 9, 1: 3, 3: 3, 2: 1, 0: 0\n", text(tensor.Of(scores, 1, 10)))
	require.Equal(t, "  0 3 1 3 -2 9 0 0 ...\n  min -2 max 9 mean 1.4\n", text(tensor.Of(scores, 2, 5)))
	scores[0], scores[1] = float32(math.NaN()), float32(math.Inf(1))
	require.Equal(t, "  NaN +Inf 1 3 -2 9 0 0 ...\n  min -2 max 9 mean 1.375, 2 not finite\n", text(tensor.Of(scores, 2, 5)))
	// Elements come in logical order.
	x := tensor.Of([]float32{1, 2, 3, 4}, 2, 2).WithOrder(tensor.DimOrder{1, 0})
	require.Equal(t, "  1 2 3 4\n", text(x))
}

func TestFloat(t *testing.T) {
	for text, v := range map[string]float64{
		"1.0": 1, "-0.0": math.Copysign(0, -1), "0.1": 0.1, "1e+300": 1e300, `"inf"`: math.Inf(1), `"-inf"`: math.Inf(-1), `"nan"`: math.NaN(),
	} {
		b, err := json.Marshal(Float(v))
		require.NoError(t, err)
		require.Equal(t, text, string(b))
		var f Float
		require.NoError(t, json.Unmarshal(b, &f))
		if !math.IsNaN(v) {
			require.Equal(t, math.Float64bits(v), math.Float64bits(float64(f)))
		}
	}
	var f Float
	for _, text := range []string{`null`, `"Infinity"`, `true`, `1e999`, `{}`} {
		require.Error(t, json.Unmarshal([]byte(text), &f), text)
	}
}
