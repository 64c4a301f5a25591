package llm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

const (
	sdpaName      = "llama::custom_sdpa.out"
	quantizedName = "llama::custom_quantized_sdpa.out"
	cacheName     = "llama::sdpa_with_kv_cache.out"
)

func TestRegister(t *testing.T) {
	require.NoError(t, Register(runtime.NewRegistry()))
}

// random returns numbers between -1 and 1, the same for the same shape.
func random(shape ...int) *tensor.Tensor {
	t := kerneltest.Zeros(tensor.F32, shape...)
	r := rand.New(rand.NewPCG(1, uint64(t.Numel())))
	for i := range tensor.Raw[float32](t) {
		tensor.Raw[float32](t)[i] = 2*r.Float32() - 1
	}
	return t
}

// converted returns t in another type.
func converted(t *tensor.Tensor, d tensor.DType) *tensor.Tensor {
	u := kerneltest.Zeros(d, t.Shape()...)
	for i, v := range tensor.Raw[float32](t.Contiguous()) {
		switch d {
		case tensor.F16:
			tensor.Raw[tensor.Float16](u)[i] = tensor.ToFloat16(v)
		case tensor.BF16:
			tensor.Raw[tensor.BFloat16](u)[i] = tensor.ToBFloat16(v)
		default:
			tensor.Raw[float32](u)[i] = v
		}
	}
	return u
}

// naive is attention with the formula as it stands, in float64. visible tells
// whether a row sees a key, mask is added where given.
func naive(q, k, v *tensor.Tensor, scale float64, visible func(row, key int) bool, mask []float32) *tensor.Tensor {
	out := kerneltest.Zeros(tensor.F32, q.Shape()...)
	heads, keyHeads, dim, keys := q.Size(2), k.Size(2), q.Size(3), k.Size(1)
	row := func(t *tensor.Tensor, b, s, h int) []float32 {
		return tensor.Raw[float32](t)[((b*t.Size(1)+s)*t.Size(2)+h)*dim:][:dim]
	}
	for b := range q.Size(0) {
		for s := range q.Size(1) {
			for h := range heads {
				weights := make([]float64, keys)
				sum := 0.0
				for key := range keys {
					if !visible(s, key) {
						continue
					}
					score := 0.0
					for i, x := range row(q, b, s, h) {
						score += float64(x) * float64(row(k, b, key, h*keyHeads/heads)[i])
					}
					score *= scale
					if mask != nil {
						score += float64(mask[s*keys+key])
					}
					weights[key] = math.Exp(score)
					sum += weights[key]
				}
				for i := range dim {
					acc := 0.0
					for key, w := range weights {
						if visible(s, key) {
							acc += w / sum * float64(row(v, b, key, h*keyHeads/heads)[i])
						}
					}
					row(out, b, s, h)[i] = float32(acc)
				}
			}
		}
	}
	return out
}

func TestSDPA(t *testing.T) {
	for _, c := range []struct{ batch, size, cache, heads, keyHeads, dim, start int }{
		{1, 1, 1, 1, 1, 1, 0},
		{2, 3, 8, 4, 2, 5, 2},
		{1, 70, 300, 2, 1, 8, 200}, // several blocks of rows and of keys
		{1, 1, 300, 3, 3, 16, 299},
		{1, 33, 256, 2, 2, 4, 223},
	} {
		q := random(c.batch, c.size, c.heads, c.dim)
		k, v := random(c.batch, c.cache, c.keyHeads, c.dim), random(c.batch, c.cache, c.keyHeads, c.dim)
		scale := 1 / math.Sqrt(float64(c.dim))
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			causal := naive(q, k, v, scale, func(row, key int) bool { return key <= c.start+row }, nil)
			full := naive(q, k, v, 0.3, func(_, key int) bool { return key < c.start+c.size }, nil)
			mask := random(c.size, c.cache)
			masked := naive(q, k, v, scale, func(_, _ int) bool { return true }, tensor.Raw[float32](mask))
			for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
				tol := map[tensor.DType]float64{tensor.F32: 1e-5, tensor.F16: 2e-3, tensor.BF16: 2e-2}[d]
				q, k, v := converted(q, d), converted(k, d), converted(v, d)
				out := kerneltest.Zeros(tensor.F32, q.Shape()...)
				kerneltest.Run(t, CustomSDPA, sdpaName, q, k, v, c.start, nil, 0.5, true, nil, out)
				kerneltest.Close(t, causal, out, tol, tol)
				kerneltest.Run(t, CustomSDPA, sdpaName, q, k, v, c.start, nil, 0.0, false, 0.3, out)
				kerneltest.Close(t, full, out, tol, tol)
				kerneltest.Run(t, CustomSDPA, sdpaName, q, k, v, -7, mask, 0.0, false, nil, out)
				kerneltest.Close(t, masked, out, tol, tol)
			}
		})
	}
}

func TestSDPALayouts(t *testing.T) {
	q, k, v, mask := random(2, 3, 4, 5), random(2, 6, 2, 5), random(2, 6, 2, 5), random(3, 6)
	want := naive(q, k, v, 1/math.Sqrt(5), func(_, _ int) bool { return true }, tensor.Raw[float32](mask))
	for _, order := range []tensor.DimOrder{{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 2, 3, 1}, {3, 2, 1, 0}} {
		out, err := tensor.New(tensor.F32, q.Shape(), tensor.WithDimOrder(order))
		require.NoError(t, err)
		kerneltest.Run(t, CustomSDPA, sdpaName, q.WithOrder(order), k.WithOrder(order), v.WithOrder(order), 0,
			mask.WithOrder(tensor.DimOrder{1, 0}), 0.0, false, nil, out)
		kerneltest.Close(t, want, out, 1e-5, 1e-5)
	}
}

// TestSDPANaN has NaN where rows do not look, and rows that see nothing.
func TestSDPANaN(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	q, k, v := random(1, 2, 1, 4), random(1, 5, 1, 4), random(1, 5, 1, 4)
	want := naive(q, k, v, 0.5, func(row, key int) bool { return key <= 1+row }, nil)
	for _, c := range []*tensor.Tensor{k, v} {
		for i := range 8 { // positions 3 and 4
			tensor.Raw[float32](c)[12+i] = nan
		}
	}
	out := kerneltest.Zeros(tensor.F32, 1, 2, 1, 4)
	kerneltest.Run(t, CustomSDPA, sdpaName, q, k, v, 1, nil, 0.0, true, nil, out)
	kerneltest.Close(t, want, out, 1e-5, 1e-5)

	k, v = random(1, 2, 1, 4), random(1, 2, 1, 4)
	mask := tensor.Of([]float32{-inf, -inf, -inf, 0}, 2, 2)
	kerneltest.Run(t, CustomSDPA, sdpaName, q, k, v, 0, mask, 0.0, false, nil, out)
	got := tensor.Raw[float32](out)
	for _, g := range got[:4] {
		assert.True(t, math.IsNaN(float64(g)), "a row masked entirely: %v", g)
	}
	assert.Equal(t, tensor.Raw[float32](v)[4:], got[4:])
}

// quantized returns t as int8 rows with a scale and a zero point each, and what
// these stand for.
func quantized(t *tensor.Tensor) (q, scales, zeros, value *tensor.Tensor) {
	rows := slices.Clone(t.Shape())
	dim := rows[3]
	rows[3] = 1
	q, value = kerneltest.Zeros(tensor.I8, t.Shape()...), kerneltest.Zeros(tensor.F32, t.Shape()...)
	scales, zeros = kerneltest.Zeros(tensor.F32, rows...), kerneltest.Zeros(tensor.I8, rows...)
	for r := range scales.Numel() {
		scale, zero := 0.01+0.001*float32(r%3), int8(r%5-2)
		tensor.Raw[float32](scales)[r], tensor.Raw[int8](zeros)[r] = scale, zero
		for i := r * dim; i < (r+1)*dim; i++ {
			n := int8(tensor.Raw[float32](t)[i] * 90)
			tensor.Raw[int8](q)[i] = n
			tensor.Raw[float32](value)[i] = (float32(n) - float32(zero)) * scale
		}
	}
	return q, scales, zeros, value
}

func TestQuantizedSDPA(t *testing.T) {
	q, qs, qz, qv := quantized(random(2, 3, 4, 6))
	k, ks, kz, kv := quantized(random(2, 9, 2, 6))
	v, vs, vz, vv := quantized(random(2, 9, 2, 6))
	want := naive(qv, kv, vv, 1/math.Sqrt(6), func(row, key int) bool { return key <= 4+row }, nil)
	out := kerneltest.Zeros(tensor.F32, 2, 3, 4, 6)
	kerneltest.Run(t, CustomQuantizedSDPA, quantizedName, q, k, v, 4, nil, 0.0, true, nil, qz, qs, kz, ks, vz, vs, false, out)
	kerneltest.Close(t, want, out, 1e-5, 1e-5)

	// The same with heads before the sequence.
	swap := func(x *tensor.Tensor) *tensor.Tensor {
		y, err := tensor.FromBytes(x.DType(), x.WithOrder(tensor.DimOrder{0, 2, 1, 3}).Bytes(), []int{x.Size(0), x.Size(2), x.Size(1), x.Size(3)})
		require.NoError(t, err)
		return y
	}
	out = kerneltest.Zeros(tensor.F32, 2, 4, 3, 6)
	kerneltest.Run(t, CustomQuantizedSDPA, quantizedName, swap(q), swap(k), swap(v), 4, nil, 0.0, true, nil,
		swap(qz), swap(qs), swap(kz), swap(ks), swap(vz), swap(vs), true, out)
	kerneltest.Close(t, swap(want), out, 1e-5, 1e-5)

	call := func(args ...any) error {
		return kerneltest.Call(CustomQuantizedSDPA, quantizedName, append(append([]any{q, k, v, 4, nil, 0.0, true, nil}, args...), false, kerneltest.Zeros(tensor.F32, 2, 3, 4, 6))...)
	}
	for _, err := range []error{
		call(qz, qs, kz, ks, vz, nil),
		call(nil, nil, nil, nil, nil, nil),
		call(qz, qs, kz, vz, vz, vs),
		call(qz, qs, qz, qs, vz, vs),
		call(qz, qs, kz, kerneltest.Zeros(tensor.F32, 2, 9, 2, 0), vz, vs),
		kerneltest.Call(CustomSDPA, sdpaName, q, k, v, 4, nil, 0.0, true, nil, kerneltest.Zeros(tensor.F32, 2, 3, 4, 6)),
	} {
		assert.ErrorIs(t, err, errs.InvalidArgument)
	}
}

func TestSDPARefuses(t *testing.T) {
	q, k, out := random(1, 2, 4, 3), random(1, 5, 2, 3), kerneltest.Zeros(tensor.F32, 1, 2, 4, 3)
	mask := kerneltest.Zeros(tensor.F32, 2, 5)
	call := func(q, k, v *tensor.Tensor, start int, mask any, causal bool, out *tensor.Tensor) error {
		return kerneltest.Call(CustomSDPA, sdpaName, q, k, v, start, mask, 0.0, causal, nil, out)
	}
	for _, err := range []error{
		call(q, k, k, 4, nil, true, out),
		call(q, k, k, -1, nil, true, out),
		call(q, k, k, math.MaxInt, nil, true, out),
		call(q, k, k, math.MinInt, nil, false, out),
		call(q, k, k, 0, mask, true, out),
		call(q, k, k, 0, kerneltest.Zeros(tensor.F32, 2, 4), false, out),
		call(q, k, k, 0, kerneltest.Zeros(tensor.F32, 1, 5), false, out),
		call(q, k, k, 0, kerneltest.Zeros(tensor.F64, 2, 5), false, out),
		call(q, k, random(1, 5, 1, 3), 0, nil, false, out),
		call(q, random(1, 5, 3, 3), random(1, 5, 3, 3), 0, nil, false, out),
		call(q, random(1, 5, 0, 3), random(1, 5, 0, 3), 0, nil, false, out),
		call(q, random(2, 5, 2, 3), random(2, 5, 2, 3), 0, nil, false, out),
		call(q, random(1, 5, 2, 4), random(1, 5, 2, 4), 0, nil, false, out),
		call(q, converted(k, tensor.F16), k, 0, nil, false, out),
		call(q, k, k, 0, nil, false, kerneltest.Zeros(tensor.I8, 1, 2, 4, 3)),
		call(q, k, k, 0, nil, false, kerneltest.Zeros(tensor.F32, 1, 2, 4, 4)),
		call(random(2, 4, 3), k, k, 0, nil, false, out),
	} {
		assert.ErrorIs(t, err, errs.InvalidArgument)
	}
	// Nothing to compute.
	empty := kerneltest.Zeros(tensor.F32, 1, 0, 4, 3)
	require.NoError(t, call(empty, k, k, 5, nil, true, empty.Clone()))
	// No keys to see.
	require.NoError(t, call(q, random(1, 0, 2, 3), random(1, 0, 2, 3), 0, kerneltest.Zeros(tensor.F32, 2, 0), false, out))
	assert.True(t, math.IsNaN(float64(tensor.Raw[float32](out)[0])))
}

func TestSDPAWithKVCache(t *testing.T) {
	q, k, v := random(1, 2, 2, 4), random(1, 2, 1, 4), random(1, 2, 1, 4)
	keys, values, out := random(1, 8, 1, 4), random(1, 8, 1, 4), kerneltest.Zeros(tensor.F32, 1, 2, 2, 4)
	kerneltest.Run(t, SDPAWithKVCache, cacheName, q, k, v, keys, values, 3, 2, nil, 0.0, true, nil, out)
	assert.Equal(t, k.Bytes(), keys.Bytes()[3*16:5*16])
	assert.Equal(t, v.Bytes(), values.Bytes()[3*16:5*16])
	kerneltest.Close(t, naive(q, keys, values, 0.5, func(row, key int) bool { return key <= 3+row }, nil), out, 1e-5, 1e-5)

	before := keys.Clone()
	for _, start := range []int{7, -1, math.MaxInt} {
		assert.ErrorIs(t, kerneltest.Call(SDPAWithKVCache, cacheName, q, k, v, keys, values, start, 2, nil, 0.0, true, nil, out), errs.InvalidArgument)
	}
	assert.ErrorIs(t, kerneltest.Call(SDPAWithKVCache, cacheName, q, k, v, keys, values, 3, 6, nil, 0.0, true, nil, out), errs.InvalidArgument)
	assert.ErrorIs(t, kerneltest.Call(SDPAWithKVCache, cacheName, q, k, v, keys, values, 3, 2, kerneltest.Zeros(tensor.F32, 2, 7), 0.0, false, nil, out), errs.InvalidArgument)
	kerneltest.Equal(t, before, keys) // a call that fails leaves the caches alone
}

func TestAllocs(t *testing.T) {
	q, k, out := random(1, 5, 4, 16), random(1, 40, 2, 16), kerneltest.Zeros(tensor.F32, 1, 5, 4, 16)
	for _, c := range []struct {
		kernels runtime.Kernels
		name    string
		args    []any
	}{
		{CustomSDPA, sdpaName, []any{q, k, k, 20, nil, 0.0, true, nil, out}},
		{CustomSDPA, sdpaName, []any{converted(q, tensor.F16), converted(k, tensor.F16), converted(k, tensor.F16), 20, nil, 0.0, true, nil, out}},
		{SDPAWithKVCache, cacheName, []any{q, random(1, 5, 2, 16), random(1, 5, 2, 16), k, k, 20, 5, nil, 0.0, true, nil, out}},
		{UpdateCache, "llama::update_cache.out", []any{random(1, 5, 2, 16), k, 3, out}},
		{UpdateCacheWithIndices, "llama::update_cache_with_indices.out", []any{random(1, 5, 2, 16), k, 0, kerneltest.Zeros(tensor.I64, 1, 5), out}},
		{FastHadamardTransform, "llama::fast_hadamard_transform.out", []any{random(3, 56), kerneltest.Zeros(tensor.F32, 3, 56)}},
		{TileCrop, "preprocess::tile_crop.out", []any{random(3, 4, 6), 2, kerneltest.Zeros(tensor.F32, 6, 3, 2, 2)}},
		{GatedDeltaRule, "llama::gated_delta_rule.out", []any{random(1, 2, 3, 4), random(1, 2, 3, 4), random(1, 2, 3, 5), random(1, 2, 3), random(1, 2, 3), random(1, 2, 4, 5),
			kerneltest.Zeros(tensor.F32, 1, 2, 3, 5), kerneltest.Zeros(tensor.F32, 1, 2, 4, 5)}},
	} {
		n, err := kerneltest.Allocs(c.kernels, c.name, c.args...)
		require.NoError(t, err, c.name)
		assert.Zero(t, n, c.name)
	}
}
