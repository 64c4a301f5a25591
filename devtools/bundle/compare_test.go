package bundle

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

func compare[T tensor.Element](got, want T, tol Tolerance) Diff {
	return Compare(runtime.TensorValue(tensor.Scalar(got)), runtime.TensorValue(tensor.Scalar(want)), tol)
}

func TestCompareElements(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	loose := Tolerance{RTol: 0.1, ATol: 0.01}
	exact := Tolerance{Exact: true}
	zero := Tolerance{}
	for _, tc := range []struct {
		got, want float64
		tol       Tolerance
		ok        bool
	}{
		{1.1, 1, loose, true},
		{1.2, 1, loose, false},
		{-1, 1, loose, false},
		{0.01, 0, loose, true},
		{0.011, 0, loose, false},
		{nan, nan, loose, true},
		{nan, 1, loose, false},
		{1, nan, loose, false},
		{inf, inf, loose, true},
		{inf, -inf, loose, false},
		{inf, math.MaxFloat64, loose, false},
		{1, inf, loose, false},
		{0, math.Copysign(0, -1), zero, true},
		{0, math.Copysign(0, -1), exact, false},
		{math.Nextafter(1, 2), 1, exact, false},
		{math.Nextafter(1, 2), 1, zero, false},
		{math.Float64frombits(0xfff8000000000001), nan, exact, true},
		{1, 1, exact, true},
	} {
		d := compare(tc.got, tc.want, tc.tol)
		require.Equal(t, tc.ok, d.OK(), "%v %v: %v", tc.got, tc.want, &d)
		scalar := Compare(runtime.Double(tc.got), runtime.Double(tc.want), tc.tol)
		require.Equal(t, tc.ok, scalar.OK())
	}
}

func TestCompareTypes(t *testing.T) {
	loose := Tolerance{RTol: 1, ATol: 1}
	ok := func(d Diff) { t.Helper(); require.True(t, d.OK(), &d) }
	fail := func(d Diff) { t.Helper(); require.False(t, d.OK(), &d) }
	// Integers and bools are exact whatever the tolerance.
	fail(compare(int8(1), int8(2), loose))
	fail(compare(int64(1<<53), int64(1<<53+1), loose))
	fail(compare(uint64(1), uint64(2), loose))
	fail(compare(true, false, loose))
	ok(compare(tensor.ToFloat16(1), tensor.ToFloat16(1.5), loose))
	ok(compare(tensor.ToBFloat16(1), tensor.ToBFloat16(1.5), loose))
	fail(compare(tensor.ToBFloat16(1), tensor.ToBFloat16(1.5), Tolerance{RTol: 1e-5}))
	ok(compare(1+1e-9i, 1, Tolerance{RTol: 1e-5}))
	fail(compare(1+1e-3i, 1, Tolerance{RTol: 1e-5}))
	ok(compare(complex(1, math.NaN()), complex(1, math.NaN()), Tolerance{}))
	fail(compare(complex(1, math.NaN()), complex(2, math.NaN()), Tolerance{}))
	fail(compare(cmplx.NaN(), complex(1, math.NaN()), Tolerance{}))

	// Any byte but 0 is true.
	a, err := tensor.FromBytes(tensor.Bool, []byte{255, 0}, []int{2})
	require.NoError(t, err)
	ok(Compare(runtime.TensorValue(a), runtime.TensorValue(tensor.Of([]bool{true, false})), Tolerance{Exact: true}))
}

func TestCompareKinds(t *testing.T) {
	x := runtime.TensorValue(tensor.Of([]float32{1, 2}, 2))
	values := []runtime.EValue{
		runtime.None(), runtime.Int(1), runtime.Bool(true), runtime.Double(1), runtime.String("a"), x,
		runtime.TensorValue(tensor.Of([]float32{1, 2}, 1, 2)), runtime.TensorValue(tensor.Of([]float64{1, 2}, 2)),
		runtime.IntList(1, 2),
	}
	for i := range values {
		for k := range values {
			d := Compare(values[i], values[k], DefaultTolerance)
			require.Equal(t, i == k, d.OK(), "%v %v", values[i], values[k])
			require.Equal(t, i == k, d.Problem == "")
		}
	}
	for _, pair := range [][2]runtime.EValue{
		{runtime.Int(1), runtime.Int(2)}, {runtime.Bool(true), runtime.Bool(false)}, {runtime.Double(1), runtime.Double(2)},
		{runtime.String("a"), runtime.String("b")}, {runtime.IntList(1), runtime.IntList(2)},
	} {
		d := Compare(pair[0], pair[1], DefaultTolerance)
		require.False(t, d.OK())
	}
}

func TestCompareReport(t *testing.T) {
	want := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	got := tensor.Of([]float32{1, 2, 3, 4, 5.5, 3}, 2, 3).WithOrder(tensor.DimOrder{1, 0})
	d := Compare(runtime.TensorValue(got), runtime.TensorValue(want), DefaultTolerance)
	require.Equal(t, Diff{
		Got: "float32[2,3] dim order [1 0]", Want: "float32[2,3]",
		Elements: 6, Differing: 2, Mismatches: 2, MaxAbs: 3, MaxRel: 0.5,
		First: []int{1, 1}, FirstGot: "5.5", FirstWant: "5",
	}, d)
	require.Equal(t, "float32[2,3] max abs 3 rel 0.5, 2 of 6 differ, 2 too far, first at [1 1]: got 5.5, want 5", d.String())
	d = compare(math.Inf(1), 1, DefaultTolerance)
	require.Equal(t, math.Inf(1), d.MaxAbs)
	d = Compare(runtime.TensorValue(tensor.Of([]float32{}, 0, 3)), runtime.TensorValue(tensor.Of([]float32{}, 0, 3)), DefaultTolerance)
	require.True(t, d.OK())
	invalid := runtime.TensorValue(tensor.Of([]float32{1}, 2))
	d = Compare(invalid, invalid, DefaultTolerance)
	require.NotEmpty(t, d.Problem)
}
