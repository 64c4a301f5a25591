package conv_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/etgo-ml/etgo/internal/compute/conv"
	"github.com/etgo-ml/etgo/internal/cpu"
	"github.com/etgo-ml/etgo/internal/ukernel"
)

type shape struct {
	images, groups, in, out int // channels in a group
	size, taps              [3]int
	stride, padding, dil    [3]int
}

func (s *shape) axes() (a [3]conv.Axis) {
	for d := range a {
		out := (s.size[d]+2*s.padding[d]-s.dil[d]*(s.taps[d]-1)-1)/s.stride[d] + 1
		a[d] = conv.NewAxis(s.size[d], out, s.taps[d], s.stride[d], s.padding[d], s.dil[d])
	}
	return a
}

// view makes a tensor of random small integers with the dimensions [outer, groups,
// channels, spatial...], channels first or last.
func view(outer, groups, channels int, spatial [3]int, last bool) (v conv.Tensor[float32]) {
	v.Offset = 3
	places := spatial[0] * spatial[1] * spatial[2]
	if last {
		v.Channel = 1
		v.Spatial[2] = groups * channels
	} else {
		v.Channel = places
		v.Spatial[2] = 1
	}
	v.Spatial[1] = spatial[2] * v.Spatial[2]
	v.Spatial[0] = spatial[1] * v.Spatial[1]
	v.Group = channels * v.Channel
	v.Outer = groups * channels * places
	v.Data = make([]float32, v.Offset+outer*v.Outer)
	for i := range v.Data {
		v.Data[i] = float32(rand.IntN(9) - 4)
	}
	return v
}

func at(v *conv.Tensor[float32], outer, group, channel int, x [3]int) int {
	return v.Offset + outer*v.Outer + group*v.Group + channel*v.Channel + x[0]*v.Spatial[0] + x[1]*v.Spatial[1] + x[2]*v.Spatial[2]
}

func each(n [3]int, f func(x [3]int)) {
	for i := range n[0] {
		for j := range n[1] {
			for k := range n[2] {
				f([3]int{i, j, k})
			}
		}
	}
}

// reference computes c by its definition into a copy of the output.
func reference(c *conv.Convolution[float32]) []float32 {
	y := append([]float32(nil), c.Output.Data...)
	places := [3]int{c.Axes[0].Out, c.Axes[1].Out, c.Axes[2].Out}
	taps := [3]int{c.Axes[0].Taps, c.Axes[1].Taps, c.Axes[2].Taps}
	for n := range c.Images {
		for g := range c.Groups {
			for k := range c.OutChannels {
				each(places, func(o [3]int) {
					var sum float32
					if c.Bias != nil {
						sum = c.Bias[g*c.OutChannels+k]
					}
					each(taps, func(t [3]int) {
						var x [3]int
						for d, a := range c.Axes {
							if x[d] = o[d]*a.Step + a.Offset + t[d]*a.TapStep; x[d] < 0 || x[d] >= a.In {
								return
							}
						}
						for ch := range c.InChannels {
							sum += c.Input.Data[at(&c.Input, n, g, ch, x)] * c.Filter.Data[at(&c.Filter, k, g, ch, t)]
						}
					})
					y[at(&c.Output, n, g, k, o)] = sum
				})
			}
		}
	}
	return y
}

func runProduct(c *conv.Convolution[float32]) {
	p := c.Product()
	p.SetScratch(make([]float32, p.Plan(1)))
	n, _ := p.Packing()
	p.Packer().Run(0, 0, n)
	n, _ = p.Multiplying()
	p.Run(0, 0, n)
}

func runDepthwise(c *conv.Convolution[float32]) {
	var d conv.Depthwise[float32]
	d.SetScratch(make([]float32, d.Plan(c)))
	n, _ := d.Loop()
	d.Run(0, 0, n)
}

var one = [3]int{1, 1, 1}

func TestConvolution(t *testing.T) {
	shapes := map[string]shape{
		"3x3":           {1, 1, 3, 5, [3]int{1, 9, 10}, [3]int{1, 3, 3}, one, [3]int{0, 1, 1}, one},
		"pointwise":     {2, 1, 6, 9, [3]int{1, 5, 7}, one, one, [3]int{}, one},
		"pointwise / 2": {2, 1, 6, 9, [3]int{1, 5, 7}, one, [3]int{1, 2, 2}, [3]int{}, one},
		"one place":     {3, 1, 6, 9, one, one, one, [3]int{}, one},
		"one of many":   {3, 1, 6, 9, [3]int{1, 3, 3}, one, [3]int{1, 5, 5}, [3]int{}, one},
		"whole image":   {3, 1, 4, 9, [3]int{1, 3, 4}, [3]int{1, 3, 4}, one, [3]int{}, one},
		"1d":            {2, 1, 4, 6, [3]int{1, 1, 30}, [3]int{1, 1, 5}, [3]int{1, 1, 2}, [3]int{0, 0, 3}, [3]int{1, 1, 2}},
		"3d":            {2, 1, 4, 6, [3]int{4, 5, 6}, [3]int{2, 3, 3}, [3]int{1, 2, 1}, [3]int{1, 1, 1}, [3]int{1, 1, 2}},
		"groups":        {2, 3, 2, 4, [3]int{1, 6, 6}, [3]int{1, 3, 3}, one, [3]int{0, 1, 1}, one},
		"depthwise":     {2, 7, 1, 1, [3]int{1, 6, 9}, [3]int{1, 3, 3}, one, [3]int{0, 1, 1}, one},
		"depthwise / 2": {2, 7, 1, 1, [3]int{1, 6, 9}, [3]int{1, 3, 3}, [3]int{1, 2, 2}, [3]int{0, 1, 1}, one},
		"depthwise x 2": {2, 7, 1, 2, [3]int{1, 6, 9}, [3]int{1, 3, 3}, one, [3]int{0, 1, 1}, [3]int{1, 2, 2}},
		"depthwise 7x7": {1, 5, 1, 1, [3]int{1, 9, 20}, [3]int{1, 7, 7}, one, [3]int{0, 3, 3}, one},
		"tall planes":   {1, 3, 1, 1, [3]int{1, 70, 75}, [3]int{1, 5, 3}, one, [3]int{0, 2, 1}, one},
		"in bands / 2":  {1, 3, 1, 2, [3]int{1, 141, 67}, [3]int{1, 3, 3}, [3]int{1, 2, 2}, [3]int{0, 1, 1}, one},
		"short rows":    {1, 3, 1, 1, [3]int{1, 300, 20}, [3]int{1, 3, 5}, one, [3]int{0, 1, 2}, one},
		"long rows":     {1, 2, 1, 1, [3]int{1, 3, 5000}, [3]int{1, 3, 3}, one, [3]int{0, 1, 1}, one},
		"mostly padded": {1, 5, 1, 1, [3]int{1, 2, 2}, [3]int{1, 5, 5}, one, [3]int{0, 6, 6}, one},
		"no taps":       {1, 2, 2, 3, [3]int{1, 2, 2}, [3]int{1, 0, 1}, one, [3]int{}, one},
	}
	for name, s := range shapes {
		for _, layout := range []string{"first", "last", "mixed", "swapped"} {
			t.Run(name+" "+layout, func(t *testing.T) {
				a := s.axes()
				c := conv.Convolution[float32]{Images: s.images, Groups: s.groups, InChannels: s.in, OutChannels: s.out, Axes: a}
				c.Input = view(s.images, s.groups, s.in, s.size, layout == "last" || layout == "mixed")
				c.Output = view(s.images, s.groups, s.out, [3]int{a[0].Out, a[1].Out, a[2].Out}, layout == "last")
				c.Filter = view(s.groups*s.out, 1, s.in, s.taps, layout == "last")
				c.Filter.Group = s.out * c.Filter.Outer
				if layout == "swapped" {
					c.Output.Spatial[1], c.Output.Spatial[2] = 1, a[1].Out
				}
				if layout != "mixed" {
					c.Bias = []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}[:s.groups*s.out]
				}
				check(t, &c)
			})
		}
	}
}

func check(t *testing.T, c *conv.Convolution[float32]) {
	t.Helper()
	for _, tier := range cpu.Tiers() {
		restore := conv.UseKernels(ukernel.ForF32(tier))
		checkTier(t, c)
		restore()
	}
}

func checkTier(t *testing.T, c *conv.Convolution[float32]) {
	t.Helper()
	want := reference(c)
	clear(c.Output.Data[c.Output.Offset:])
	runProduct(c)
	assert.Equal(t, want[c.Output.Offset:], c.Output.Data[c.Output.Offset:], "as a product")
	if c.IsDepthwise() {
		clear(c.Output.Data[c.Output.Offset:])
		runDepthwise(c)
		assert.Equal(t, want[c.Output.Offset:], c.Output.Data[c.Output.Offset:], "depthwise")
	}
}

// TestPhase adds up the contributions that outputs get by the definition of a
// transposed convolution and by its phases.
func TestPhase(t *testing.T) {
	for _, s := range [][6]int{{4, 3, 1, 0, 1, 0}, {4, 3, 2, 1, 1, 0}, {4, 3, 2, 1, 1, 1}, {4, 2, 5, 0, 1, 0}, {4, 3, 3, 2, 2, 1}, {5, 4, 4, 1, 6, 3}, {5, 4, 2, 0, 4, 0}, {1, 1, 1, 0, 1, 0}} {
		in, taps, stride, padding, dilation := s[0], s[1], s[2], s[3], s[4]
		out := (in-1)*stride - 2*padding + dilation*(taps-1) + s[5] + 1
		want, got := map[string]int{}, map[string]int{}
		for i := range in {
			for k := range taps {
				if o := i*stride + k*dilation - padding; o >= 0 && o < out {
					want[fmt.Sprintf("output %d input %d tap %d", o, i, k)]++
				}
			}
		}
		outputs := 0
		for p := range min(stride, out) {
			ph := conv.NewPhase(p, in, out, taps, stride, padding, dilation)
			outputs += ph.Out
			for o := range ph.Out {
				for k := range ph.Taps {
					if i := o*ph.Step + ph.Offset + k*ph.TapStep; i >= 0 && i < in {
						got[fmt.Sprintf("output %d input %d tap %d", ph.First+o*stride, i, ph.FirstTap+k*ph.TapStride)]++
					}
				}
			}
		}
		assert.Equal(t, want, got, "%v", s)
		assert.Equal(t, out, outputs, "%v", s)
	}
}

// TestBackwardTaps is a phase's axis in a convolution, whose taps go backwards.
func TestBackwardTaps(t *testing.T) {
	for _, groups := range []int{1, 4} {
		s := shape{1, groups, 3, 2, [3]int{1, 4, 9}, [3]int{1, 2, 4}, one, [3]int{}, one}
		if groups > 1 {
			s.in, s.out = 1, 1
		}
		for _, last := range []bool{false, true} {
			c := conv.Convolution[float32]{Images: 1, Groups: s.groups, InChannels: s.in, OutChannels: s.out, Axes: s.axes()}
			c.Axes[1] = conv.Axis{In: 4, Out: 5, Taps: 2, Step: 1, Offset: 1, TapStep: -2}
			c.Axes[2] = conv.Axis{In: 9, Out: 11, Taps: 4, Step: 1, Offset: 2, TapStep: -1}
			c.Input = view(1, s.groups, s.in, s.size, last)
			c.Output = view(1, s.groups, s.out, [3]int{1, 5, 11}, last)
			c.Filter = view(s.groups*s.out, 1, s.in, s.taps, last)
			c.Filter.Group = s.out * c.Filter.Outer
			check(t, &c)
		}
	}
}
