package portable

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

func TestPromote(t *testing.T) {
	for _, tt := range []struct{ a, b, want tensor.DType }{
		{tensor.U8, tensor.U8, tensor.U8},
		{tensor.U8, tensor.I8, tensor.I16},
		{tensor.U8, tensor.I64, tensor.I64},
		{tensor.U8, tensor.Bool, tensor.U8},
		{tensor.I8, tensor.I32, tensor.I32},
		{tensor.I64, tensor.F16, tensor.F16},
		{tensor.Bool, tensor.BF16, tensor.BF16},
		{tensor.F16, tensor.BF16, tensor.F32},
		{tensor.F16, tensor.F32, tensor.F32},
		{tensor.F32, tensor.F64, tensor.F64},
		{tensor.C32, tensor.I64, tensor.C32},
		{tensor.C32, tensor.BF16, tensor.C64},
		{tensor.C64, tensor.F64, tensor.C128},
		{tensor.C32, tensor.C64, tensor.C64},
		{tensor.U16, tensor.U16, tensor.U16},
		{tensor.U16, tensor.I32, noType},
		{tensor.QInt8, tensor.F32, noType},
		{tensor.Bits8, tensor.C64, noType},
	} {
		require.Equal(t, tt.want, promote(tt.a, tt.b), "%v and %v", tt.a, tt.b)
		require.Equal(t, tt.want, promote(tt.b, tt.a), "%v and %v", tt.b, tt.a)
	}
}

func TestPromoteScalar(t *testing.T) {
	i, f, b := runtime.Int(1), runtime.Double(1), runtime.Bool(true)
	for _, tt := range []struct {
		d                tensor.DType
		int, float, bool tensor.DType
	}{
		{tensor.U8, tensor.U8, tensor.F32, tensor.U8},
		{tensor.Bool, tensor.I64, tensor.F32, tensor.Bool},
		{tensor.F16, tensor.F16, tensor.F16, tensor.F16},
		{tensor.C64, tensor.C64, tensor.C64, tensor.C64},
		{tensor.QInt8, noType, noType, noType},
	} {
		require.Equal(t, []tensor.DType{tt.int, tt.float, tt.bool}, []tensor.DType{promoteScalar(tt.d, &i), promoteScalar(tt.d, &f), promoteScalar(tt.d, &b)}, "%v", tt.d)
	}
}

func TestScalarsThatFit(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		s     runtime.EValue
		d     tensor.DType
		exact bool // fits without any conversion
		fits  bool // does not overflow
	}{
		{runtime.Int(255), tensor.U8, true, true},
		{runtime.Int(-1), tensor.U8, false, true},
		{runtime.Int(-256), tensor.U8, false, false},
		{runtime.Int(128), tensor.I8, false, false},
		{runtime.Int(-128), tensor.I8, true, true},
		{runtime.Double(1.5), tensor.I8, false, true},
		{runtime.Double(-1), tensor.U8, false, false},
		{runtime.Double(nan), tensor.I32, false, false},
		{runtime.Double(inf), tensor.I64, false, false},
		{runtime.Bool(true), tensor.I32, false, true},
		{runtime.Bool(true), tensor.Bool, true, true},
		{runtime.Int(2), tensor.Bool, true, true},
		{runtime.Double(0.5), tensor.Bool, false, true},
		{runtime.Double(inf), tensor.F16, true, true},
		{runtime.Double(nan), tensor.F16, true, true},
		{runtime.Double(70000), tensor.F16, false, false},
		{runtime.Int(70000), tensor.F16, false, false},
		{runtime.Double(70000), tensor.BF16, true, true},
		{runtime.Double(1e39), tensor.F32, false, false},
		{runtime.Double(1e39), tensor.F64, true, true},
	} {
		_, err := exactScalar[float64](&tt.s, tt.d)
		require.Equal(t, tt.exact, err == nil, "%v exactly as %v", tt.s, tt.d)
		require.Equal(t, tt.fits, checkScalar(&tt.s, tt.d) == nil, "%v as %v", tt.s, tt.d)
	}
}

func TestCanCast(t *testing.T) {
	for _, tt := range []struct {
		from, to tensor.DType
		want     bool
	}{
		{tensor.F32, tensor.I32, false},
		{tensor.F64, tensor.F16, true},
		{tensor.I64, tensor.U8, true},
		{tensor.I64, tensor.Bool, false},
		{tensor.Bool, tensor.Bool, true},
		{tensor.Bool, tensor.I8, true},
		{tensor.C64, tensor.F32, false},
		{tensor.F32, tensor.C64, true},
	} {
		require.Equal(t, tt.want, canCast(tt.from, tt.to), "%v to %v", tt.from, tt.to)
	}
}
