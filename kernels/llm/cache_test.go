package llm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/kerneltest"
	"github.com/etgo-ml/etgo/tensor"
)

func TestUpdateCache(t *testing.T) {
	const name = "llama::update_cache.out"
	dummy := kerneltest.Zeros(tensor.F32, 1)
	for _, order := range []tensor.DimOrder{{0, 1, 2, 3}, {0, 2, 1, 3}} {
		value, cache := random(2, 2, 2, 3).WithOrder(order), kerneltest.Zeros(tensor.F32, 2, 4, 2, 3)
		kerneltest.Run(t, UpdateCache, name, value, cache, 1, dummy)
		want := kerneltest.Zeros(tensor.F32, 2, 4, 2, 3)
		for b := range 2 {
			copy(tensor.Raw[float32](want)[b*24+6:], tensor.Raw[float32](value.Contiguous())[b*12:][:12])
		}
		kerneltest.Equal(t, want, cache)
	}
	value, cache := random(2, 2, 2, 3), kerneltest.Zeros(tensor.F32, 2, 4, 2, 3)
	for _, err := range []error{
		kerneltest.Call(UpdateCache, name, value, cache, 3, dummy),
		kerneltest.Call(UpdateCache, name, value, cache, -1, dummy),
		kerneltest.Call(UpdateCache, name, value, cache, math.MaxInt, dummy),
		kerneltest.Call(UpdateCache, name, random(1, 2, 2, 3), cache, 0, dummy),
		kerneltest.Call(UpdateCache, name, random(2, 2, 6), cache, 0, dummy),
		kerneltest.Call(UpdateCache, name, converted(value, tensor.F16), cache, 0, dummy),
	} {
		assert.ErrorIs(t, err, errs.InvalidArgument)
	}
	assert.Equal(t, make([]byte, cache.NBytes()), cache.Bytes())
}

func TestUpdateCacheWithIndices(t *testing.T) {
	const name = "llama::update_cache_with_indices.out"
	dummy := kerneltest.Zeros(tensor.F32, 1)
	value, cache := tensor.Of([]int8{1, 2, 3, 4, 5, 6}, 2, 3, 1, 1), kerneltest.Zeros(tensor.I8, 2, 4, 1, 1)
	indices := tensor.Of([]int64{3, 0, 3, 1, 1, 2}, 2, 3)
	kerneltest.Run(t, UpdateCacheWithIndices, name, value, cache, -5, indices, dummy)
	want := tensor.Of([]int8{2, 0, 0, 3, 0, 5, 6, 0}, 2, 4, 1, 1)
	kerneltest.Equal(t, want, cache)
	kerneltest.Run(t, UpdateCacheWithIndices, name, value, cache, -5, indices.WithOrder(tensor.DimOrder{1, 0}), dummy)
	kerneltest.Equal(t, want, cache)
	for _, indices := range []*tensor.Tensor{
		tensor.Of([]int64{0, 1, 2, 0, 1, 4}, 2, 3),
		tensor.Of([]int64{-1, 1, 2, 0, 1, 3}, 2, 3),
		tensor.Of([]int64{0, 1, 2, 0, 1, 3}, 3, 2),
		tensor.Of([]int64{0, 1, 2, 0, 1, 3}),
		kerneltest.Zeros(tensor.F32, 2, 3),
	} {
		assert.ErrorIs(t, kerneltest.Call(UpdateCacheWithIndices, name, value, cache, 0, indices, dummy), errs.InvalidArgument)
	}
	kerneltest.Equal(t, want, cache)
}

func TestTileCrop(t *testing.T) {
	const name = "preprocess::tile_crop.out"
	x := kerneltest.Zeros(tensor.U8, 2, 2, 4)
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(i)
	}
	want := tensor.Of([]uint8{0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15}, 2, 2, 2, 2)
	for _, order := range []tensor.DimOrder{{0, 1, 2}, {1, 2, 0}} {
		out := kerneltest.Zeros(tensor.U8, 2, 2, 2, 2)
		kerneltest.Run(t, TileCrop, name, x.WithOrder(order), 2, out)
		kerneltest.Equal(t, want, out)
	}
	for _, tile := range []int{0, -2, 3, 4, math.MaxInt} {
		assert.ErrorIs(t, kerneltest.Call(TileCrop, name, x, tile, kerneltest.Zeros(tensor.U8, 2, 2, 2, 2)), errs.InvalidArgument)
	}
	assert.ErrorIs(t, kerneltest.Call(TileCrop, name, kerneltest.Zeros(tensor.U8, 2, 0, 0), math.MaxInt, kerneltest.Zeros(tensor.U8, 0, 2, 2, 2)), errs.InvalidArgument)
}

func TestFallback(t *testing.T) {
	x := random(2, 3, 4, 5)
	out, err := tensor.New(tensor.F32, x.Shape(), tensor.WithDimOrder(tensor.ChannelsLast(4)))
	assert.NoError(t, err)
	kerneltest.Run(t, Fallback, "llama::fallback.out", x, out)
	kerneltest.Equal(t, x, out)
	assert.ErrorIs(t, kerneltest.Call(Fallback, "llama::fallback.out", x, kerneltest.Zeros(tensor.F64, 2, 3, 4, 5)), errs.InvalidArgument)
}

func TestHadamard(t *testing.T) {
	const name = "llama::fast_hadamard_transform.out"
	// The matrices are symmetric or skew and orthogonal up to a factor: columns of
	// the identity show them.
	for _, n := range []int{1, 2, 8, 28, 56} {
		identity := kerneltest.Zeros(tensor.F64, n, n)
		for i := range n {
			tensor.Raw[float64](identity)[i*n+i] = 1
		}
		out := kerneltest.Zeros(tensor.F64, n, n)
		kerneltest.Run(t, FastHadamardTransform, name, identity, out)
		factor := 1.0
		if n%order28 == 0 {
			factor = order28
		}
		m := tensor.Raw[float64](out)
		for i := range n {
			for j := range n {
				sum, want := 0.0, 0.0
				for k := range n {
					sum += m[i*n+k] * m[j*n+k]
				}
				if i == j {
					want = factor
				}
				assert.InDelta(t, want, sum, 1e-9, "n %d, rows %d and %d", n, i, j)
			}
		}
	}
	x := random(2, 3, 8)
	want, out := kerneltest.Zeros(tensor.F32, 2, 3, 8), kerneltest.Zeros(tensor.F32, 2, 3, 8)
	kerneltest.Run(t, FastHadamardTransform, name, x, want)
	kerneltest.Run(t, FastHadamardTransform, name, x.WithOrder(tensor.DimOrder{2, 0, 1}), out)
	kerneltest.Equal(t, want, out)
	scalar := kerneltest.Zeros(tensor.F32)
	kerneltest.Run(t, FastHadamardTransform, name, tensor.Scalar[float32](3), scalar)
	kerneltest.Equal(t, tensor.Scalar[float32](3), scalar)

	for _, c := range [][2]*tensor.Tensor{
		{random(2, 12), random(2, 12)},
		{random(2, 84), random(2, 84)},
		{random(2, 8), kerneltest.Zeros(tensor.F64, 2, 8)},
		{kerneltest.Zeros(tensor.I32, 2, 8), kerneltest.Zeros(tensor.I32, 2, 8)},
	} {
		assert.ErrorIs(t, kerneltest.Call(FastHadamardTransform, name, c[0], c[1]), errs.InvalidArgument)
	}
}

func TestGatedDeltaRule(t *testing.T) {
	const name = "llama::gated_delta_rule.out"
	// Two query heads share a key head; the state is 2 x 1.
	query := tensor.Of([]float32{1, 0, 0, 1, 1, 1, 2, 0}, 1, 2, 2, 2)
	key, value := tensor.Of([]float32{1, 0, 0, 1}, 1, 1, 2, 2), tensor.Of([]float32{3, 5}, 1, 1, 2, 1)
	decay, beta := tensor.Of([]float32{0.5, 0.25}, 1, 1, 2), tensor.Of([]float32{1, 0.5}, 1, 1, 2)
	initial := tensor.Of([]float32{4, 8}, 1, 1, 2, 1)
	// Token 0: the state decays to 2, 4 and takes 3 for 2; token 1: 0.75, 1 and
	// half of the way from 1 to 5.
	wantOut, wantState := tensor.Of([]float32{3, 3, 7, 1.5}, 1, 2, 2, 1), tensor.Of([]float32{0.75, 3}, 1, 1, 2, 1)
	channelwise := tensor.Of([]float32{0.5, 0.5, 0.25, 0.25}, 1, 1, 2, 2)
	for _, d := range []*tensor.Tensor{decay, channelwise} {
		for _, order := range []tensor.DimOrder{{0, 1, 2, 3}, {3, 2, 1, 0}} {
			out, state := kerneltest.Zeros(tensor.F32, 1, 2, 2, 1).WithOrder(order), kerneltest.Zeros(tensor.F32, 1, 1, 2, 1).WithOrder(order)
			kerneltest.Run(t, GatedDeltaRule, name, query.WithOrder(order), key.WithOrder(order), value, d, beta, initial, out, state)
			kerneltest.Equal(t, wantOut, out)
			kerneltest.Equal(t, wantState, state)
		}
	}
	half := kerneltest.Zeros(tensor.BF16, 1, 2, 2, 1)
	kerneltest.Run(t, GatedDeltaRule, name, converted(query, tensor.BF16), key, value, decay, beta, initial, half, kerneltest.Zeros(tensor.F32, 1, 1, 2, 1))
	kerneltest.Equal(t, converted(wantOut, tensor.BF16), half)

	// Without tokens the state stays.
	state := kerneltest.Zeros(tensor.F32, 1, 1, 2, 1)
	kerneltest.Run(t, GatedDeltaRule, name, random(1, 2, 0, 2), random(1, 1, 0, 2), random(1, 1, 0, 1), random(1, 1, 0), random(1, 1, 0), initial, random(1, 2, 0, 1), state)
	kerneltest.Equal(t, initial, state)

	out := kerneltest.Zeros(tensor.F32, 1, 2, 2, 1)
	call := func(args ...any) error { return kerneltest.Call(GatedDeltaRule, name, append(args, out, state)...) }
	for _, err := range []error{
		call(random(1, 2, 2, 3), key, value, decay, beta, initial),
		call(query, random(1, 3, 2, 2), value, decay, beta, initial),
		call(query, key, random(1, 1, 3, 1), decay, beta, initial),
		call(query, key, value, random(1, 1, 2, 3), beta, initial),
		call(query, key, value, random(1, 1), beta, initial),
		call(query, key, value, decay, random(1, 1, 3), initial),
		call(query, key, value, decay, beta, random(1, 1, 1, 2)),
		call(kerneltest.Zeros(tensor.F64, 1, 2, 2, 2), key, value, decay, beta, initial),
	} {
		assert.ErrorIs(t, err, errs.InvalidArgument)
	}
}
