package llm

import (
	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/kernels/internal/kit"
	"github.com/etgo-ml/etgo/runtime"
)

// TileCrop is preprocess::tile_crop: it cuts an image [C, H, W] into tiles of
// tile_size x tile_size, which divides H and W, and gives them row by row: [tiles,
// C, tile_size, tile_size]. It takes all types.
var TileCrop = runtime.Kernels{
	{Schema: "preprocess::tile_crop.out(Tensor input, int tile_size, *, Tensor(a!) out) -> Tensor(a!)", Run: tileCropOut},
}

// Fallback is llama::fallback: a copy. It takes all types.
var Fallback = runtime.Kernels{
	{Schema: "llama::fallback.out(Tensor input, *, Tensor(a!) output) -> Tensor(a!)", Run: fallbackOut},
}

func tileCropOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, tile, out := args.Tensor(0), args.Int(1), args.Tensor(2)
	if in.DType() != out.DType() {
		return errs.InvalidArgument.Errorf("tile_crop: input is %v, output %v", in.DType(), out.DType())
	}
	if in.Rank() != 3 {
		return errs.InvalidArgument.Errorf("tile_crop: input is %v, want three dimensions", in)
	}
	height, width := in.Size(1), in.Size(2)
	if tile <= 0 || height%tile != 0 || width%tile != 0 {
		return errs.InvalidArgument.Errorf("tile_crop: no tiles of %d in %v", tile, in)
	}
	down, across := height/tile, width/tile
	if err := kit.Resize(out, []int{down * across, in.Size(0), tile, tile}); err != nil {
		return err
	}
	is, os := in.Strides(), out.Strides()
	c := runtime.State[kit.Copy](ctx)
	c.Begin(out, in)
	c.Dim(down, across*os[0], tile*is[1])
	c.Dim(across, os[0], tile*is[2])
	c.Dim(in.Size(0), os[1], is[0])
	c.Dim(tile, os[2], is[1])
	c.Dim(tile, os[3], is[2])
	return c.Do(ctx)
}

func fallbackOut(ctx *runtime.KernelRuntimeContext, args runtime.Args) error {
	in, out := args.Tensor(0), args.Tensor(1)
	if in.DType() != out.DType() {
		return errs.InvalidArgument.Errorf("fallback: input is %v, output %v", in.DType(), out.DType())
	}
	if err := kit.Resize(out, in.Shape()); err != nil {
		return err
	}
	return kit.CopyTensor(ctx, runtime.State[kit.Copy](ctx), out, in)
}
