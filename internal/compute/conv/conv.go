// Package conv computes convolutions over up to three spatial dimensions. It
// works on slices in which every dimension has a stride, so that channels may be
// the first or the last in memory.
//
// A convolution in which each channel has filters of its own is computed by
// Depthwise. Every other one is a product of matrices, the filters by patches of
// the input; see Convolution.Product. A transposed convolution is the sum of
// ordinary ones, its Phases.
package conv

import "github.com/etgo-ml/etgo/internal/compute/gemm"

// Dims is the number of spatial dimensions. Those that a convolution does not
// have are the first ones, of size 1.
const Dims = 3

// Tensor is a strided view of an input, an output, or filters.
type Tensor[T gemm.Number] struct {
	Data []T
	// Offset is where the view begins. The others are how far apart neighbours
	// are: images, or filters; groups; channels of a group; places.
	Offset, Outer, Group, Channel int
	Spatial                       [Dims]int
}

// Convolution is, for each image n, group g and place o,
//
//	output(n, g, k, o) = bias(g, k) + sum over c, t of
//		input(n, g, c, place(o, t)) * filter(g, k, c, t)
//
// where k and c number the channels of a group and place is what the Axes say.
type Convolution[T gemm.Number] struct {
	Images, Groups          int
	InChannels, OutChannels int // in a group
	Axes                    [Dims]Axis
	Input, Filter, Output   Tensor[T]
	Bias                    []T // of the channels of all groups, or nil

	// channelsInner is the order of the sum: channels within taps, or the other
	// way about. It follows the input's memory.
	channelsInner bool

	product         gemm.Product[T]
	patches, filter gemm.Matrix[T] // the operands, where they are even
}

// Product returns the convolution as a product of the filters by the patches of
// the input that they meet. It is part of c.
func (c *Convolution[T]) Product() *gemm.Product[T] {
	c.channelsInner = c.Input.Channel == 1
	c.product = gemm.Product[T]{
		M: c.OutChannels, N: c.places(), K: c.InChannels * c.taps(),
		A: c.filterOperand(), B: c.patchOperand(),
		Batches: c.Groups, Repeats: c.Images,
		RowBias: c.Bias,
	}
	p, out := &c.product, &c.Output
	if col, ok := c.evenPlaces(out.Spatial); ok {
		p.C = gemm.Output[T]{Data: out.Data[out.Offset:], Repeat: out.Outer, Batch: out.Group, Row: out.Channel, Col: col}
	} else {
		p.C.Sink = (*scatter[T])(c)
	}
	if c.Groups == 1 && p.N == 1 && p.B == &c.patches {
		// Of one place each, the images are the columns of one matrix.
		p.N, p.Repeats = c.Images, 1
		c.patches.Lane, p.C.Col = c.Input.Outer, out.Outer
	}
	return p
}

func (c *Convolution[T]) places() int {
	return c.Axes[0].Out * c.Axes[1].Out * c.Axes[2].Out
}

func (c *Convolution[T]) taps() int {
	return c.Axes[0].Taps * c.Axes[1].Taps * c.Axes[2].Taps
}

// evenPlaces returns the distance of consecutive output places with the given
// strides, if it is the same for all.
func (c *Convolution[T]) evenPlaces(strides [Dims]int) (stride int, ok bool) {
	var e even
	for d, a := range c.Axes {
		e.add(a.Out, strides[d])
	}
	return e.stride, !e.uneven
}

// even finds the common stride of nested dimensions, from the outermost on.
type even struct {
	stride int
	any    bool
	uneven bool
}

func (e *even) add(size, stride int) {
	if size == 1 {
		return
	}
	e.uneven = e.uneven || e.any && e.stride != size*stride
	e.stride, e.any = stride, true
}

// nest is a dimension of a filter.
type nest struct{ size, stride int }

// filterSteps returns the dimensions of the sum in the filters, in its order.
func (c *Convolution[T]) filterSteps() (n [Dims + 1]nest) {
	taps := n[1:]
	n[0] = nest{c.InChannels, c.Filter.Channel}
	if c.channelsInner {
		taps = n[:Dims]
		n[Dims] = n[0]
	}
	for d, a := range c.Axes {
		taps[d] = nest{a.Taps, c.Filter.Spatial[d]}
	}
	return n
}

func (c *Convolution[T]) filterOperand() gemm.Operand[T] {
	var e even
	for _, n := range c.filterSteps() {
		e.add(n.size, n.stride)
	}
	if e.uneven {
		return (*filters[T])(c)
	}
	f := &c.Filter
	c.filter = gemm.Matrix[T]{
		Data: f.Data, Steps: c.InChannels * c.taps(),
		Offset: f.Offset, Batch: f.Group, Lane: f.Outer, Step: e.stride,
	}
	return &c.filter
}

// patchOperand returns the patches: where a filter meets one place of the input,
// and each place in its turn, the input is the operand.
func (c *Convolution[T]) patchOperand() gemm.Operand[T] {
	in := &c.Input
	lane, pointwise := c.evenPlaces(in.Spatial)
	for _, a := range c.Axes {
		pointwise = pointwise && a.Taps == 1 && a.Offset == 0 && a.Out <= a.In && (a.Step == 1 && a.Out == a.In || a.Out == 1)
	}
	if !pointwise {
		return (*patches[T])(c)
	}
	c.patches = gemm.Matrix[T]{
		Data: in.Data, Steps: c.InChannels,
		Offset: in.Offset, Repeat: in.Outer, Batch: in.Group, Lane: lane, Step: in.Channel,
	}
	return &c.patches
}

// filters are the filters as an operand: its lanes are output channels.
type filters[T gemm.Number] Convolution[T]

// Pack implements gemm.Operand.
func (f *filters[T]) Pack(to gemm.Panels[T], _ []T, _, group, lane, n int) {
	c := (*Convolution[T])(f)
	dims := c.filterSteps()
	for l := range n {
		dst := to.Lane(l)
		o := c.Filter.Offset + group*c.Filter.Group + (lane+l)*c.Filter.Outer
		s := 0
		for i := range dims[0].size {
			for j := range dims[1].size {
				for k := range dims[2].size {
					at := o + i*dims[0].stride + j*dims[1].stride + k*dims[2].stride
					for range dims[3].size {
						dst[s] = c.Filter.Data[at]
						at += dims[3].stride
						s += to.Width
					}
				}
			}
		}
	}
}

// scatter takes the product to an output whose places are not at even distances.
type scatter[T gemm.Number] Convolution[T]

// Store implements gemm.Sink.
func (s *scatter[T]) Store(block []T, row, col, image, group, i, m, j, n int) {
	c, out := (*Convolution[T])(s), &s.Output
	base := out.Offset + image*out.Outer + group*out.Group + i*out.Channel
	at := c.place(j)
	for k := range n {
		o := base
		for d, x := range at {
			o += x * out.Spatial[d]
		}
		for r := range m {
			out.Data[o+r*out.Channel] = block[r*row+k*col]
		}
		c.next(&at)
	}
}

// place returns the coordinates of output place number j, and next those of the
// place after.
func (c *Convolution[T]) place(j int) (at [Dims]int) {
	h, w := c.Axes[1].Out, c.Axes[2].Out
	return [Dims]int{j / w / h, j / w % h, j % w}
}

func (c *Convolution[T]) next(at *[Dims]int) {
	for d := Dims - 1; d > 0; d-- {
		if at[d]++; at[d] < c.Axes[d].Out {
			return
		}
		at[d] = 0
	}
	at[0]++
}
