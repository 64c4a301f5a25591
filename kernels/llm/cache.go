package llm

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// UpdateCache is llama::update_cache: it copies value [B, S, H, D] into cache [B,
// max S, H, D], of the same type, from position start_pos on. The output is a
// dummy that nobody reads.
var UpdateCache = runtime.Kernels{
	{
		Schema: "llama::update_cache.out(Tensor value, Tensor(a!) cache, SymInt start_pos, *, Tensor(b!) out) -> Tensor(b!)",
		Run:    updateCacheOut,
		Impure: true,
	},
}

// UpdateCacheWithIndices is llama::update_cache_with_indices: it copies each
// position of value [B, S, H, D] to the position of cache [B, max S, H, D] that
// indices [B, S], int32 or int64, tell. Of several with one position the last
// stays. start_pos has no meaning and the output is a dummy.
var UpdateCacheWithIndices = runtime.Kernels{
	{
		Schema: "llama::update_cache_with_indices.out(Tensor value, Tensor(a!) cache, SymInt start_pos, Tensor indices, *, Tensor(b!) out) -> Tensor(b!)",
		Run:    updateCacheWithIndicesOut,
		Impure: true,
	},
}

func updateCacheOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	value, cache, start := args.Tensor(0), args.Tensor(1), args.Int(2)
	if err := checkCacheUpdate("value", value, cache, start); err != nil {
		return err
	}
	return updateCache(ctx, runtime.State[kit.Copy](ctx), value, cache, start)
}

// checkCacheUpdate returns an error unless value fits into cache at position
// start.
func checkCacheUpdate(name string, value, cache *tensor.Tensor, start int) error {
	if err := checkCacheShapes(name, value, cache); err != nil {
		return err
	}
	if n, size := value.Size(1), cache.Size(1); start < 0 || start >= size || n > size-start {
		return errs.InvalidArgument.Errorf("%d positions of %s at %d do not fit into a cache of %d", n, name, start, size)
	}
	return nil
}

func checkCacheShapes(name string, value, cache *tensor.Tensor) error {
	switch {
	case value.Rank() != 4 || cache.Rank() != 4:
		return errs.InvalidArgument.Errorf("%s is %v and its cache %v, want four dimensions each", name, value, cache)
	case value.DType() != cache.DType():
		return errs.InvalidArgument.Errorf("%s is %v, its cache %v", name, value.DType(), cache.DType())
	case value.Size(0) != cache.Size(0) || value.Size(2) != cache.Size(2) || value.Size(3) != cache.Size(3):
		return errs.InvalidArgument.Errorf("%s is %v and its cache %v: they differ in more than the sequence", name, value, cache)
	}
	return nil
}

// updateCache copies value, which has been checked, with c as the loop body.
func updateCache(ctx *runtime.KernelRuntimeContext, c *kit.Copy, value, cache *tensor.Tensor, start int) error {
	c.Begin(cache, value)
	c.Offset(start*cache.Strides()[1], 0)
	for d, size := range value.Shape() {
		c.Dim(size, cache.Strides()[d], value.Strides()[d])
	}
	return c.Do(ctx)
}

func updateCacheWithIndicesOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	value, cache, indices := args.Tensor(0), args.Tensor(1), args.Tensor(3)
	if err := checkCacheShapes("value", value, cache); err != nil {
		return err
	}
	if indices.Rank() != 2 || indices.Size(0) != value.Size(0) || indices.Size(1) != value.Size(1) {
		return errs.InvalidArgument.Errorf("indices are %v, want the first two sizes of %v", indices, value)
	}
	if indices.DType() != tensor.I64 && indices.DType() != tensor.I32 {
		return errs.InvalidArgument.Errorf("indices are %v, want int32 or int64", indices.DType())
	}
	if value.Numel() == 0 {
		return nil
	}
	offsets, err := cacheOffsets(ctx, indices, cache)
	if err != nil {
		return err
	}
	c := runtime.State[kit.Copy](ctx)
	batch, n := value.Size(0), value.Size(1)
	vs, cs := value.Strides(), cache.Strides()
	for b := range batch {
		c.Begin(cache, value)
		c.Offset(b*cs[0], b*vs[0])
		c.Table(n, offsets[b*n:][:n], cs[1], nil, vs[1])
		c.Dim(value.Size(2), cs[2], vs[2])
		c.Dim(value.Size(3), cs[3], vs[3])
		if err := c.Do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// cacheOffsets returns where the positions are in the cache's memory.
func cacheOffsets(ctx *runtime.KernelRuntimeContext, indices, cache *tensor.Tensor) ([]int64, error) {
	offsets, err := runtime.Temp[int64](ctx, indices.Numel())
	if err != nil {
		return nil, err
	}
	var r kit.RowMajor
	r.Begin(indices)
	kit.LoadRowMajor(offsets, &r, 0)
	size, stride := int64(cache.Size(1)), int64(cache.Strides()[1])
	for i, pos := range offsets {
		if pos < 0 || pos >= size {
			return nil, errs.InvalidArgument.Errorf("index %d is out of range [0, %d)", pos, size)
		}
		offsets[i] = pos * stride
	}
	return offsets, nil
}
