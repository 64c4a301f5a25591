package conv

import "github.com/etgo-ml/etgo/internal/compute/gemm"

// Depthwise computes convolutions with one input channel in each group. It is a
// loop body; see Loop.
type Depthwise[T gemm.Number] struct {
	c *Convolution[T]
	// channelsLast is the way of computing: rows of places, with the channels side
	// by side, or planes of channels.
	channelsLast bool
	filters      []T // for channelsLast, [taps][channels]
	// For planes, the ranges of outputs in a row at which the taps meet an input,
	// one by one and all of them.
	met    []outputs
	allMet outputs
	// bands is how to compute planes by kernels, if it has some.
	bands bands
}

// outputs is a range of outputs along an axis.
type outputs struct{ lo, hi int }

// IsDepthwise reports whether Depthwise can compute c.
func (c *Convolution[T]) IsDepthwise() bool { return c.InChannels == 1 && c.Groups > 1 }

// Plan makes d compute c and returns how many elements of scratch it needs.
func (d *Depthwise[T]) Plan(c *Convolution[T]) (scratch int) {
	d.c, d.bands = c, bands{}
	d.channelsLast = c.OutChannels == 1 && c.Input.Group == 1 && c.Output.Group == 1
	if d.channelsLast {
		return c.Groups * c.taps()
	}
	if f, ok := any(c).(*Convolution[float32]); ok {
		if d.bands = newBands(f); d.bands.kernels != nil {
			return 0
		}
	}
	a := &c.Axes[2]
	d.met, d.allMet = d.met[:0], outputs{0, a.Out}
	for t := range a.Taps {
		lo, hi := a.MetOutputs(t)
		d.met = append(d.met, outputs{lo, hi})
		d.allMet = outputs{max(d.allMet.lo, lo), min(d.allMet.hi, hi)}
	}
	return 0
}

// SetScratch gives d the scratch that Plan asked for.
func (d *Depthwise[T]) SetScratch(s []T) {
	d.filters = s
	if !d.channelsLast {
		return
	}
	c, f := d.c, &d.c.Filter
	for td := range c.Axes[0].Taps {
		for th := range c.Axes[1].Taps {
			for tw := range c.Axes[2].Taps {
				o := f.Offset + td*f.Spatial[0] + th*f.Spatial[1] + tw*f.Spatial[2]
				for g := range s[:c.Groups] {
					s[g] = f.Data[o+g*f.Group]
				}
				s = s[c.Groups:]
			}
		}
	}
}

// grainWork is how many multiplications are worth a thread, in Go and by kernels.
const grainWork, kernelGrainWork = 1 << 15, 1 << 18

// Loop returns the size of the loop whose body d is, and a grain for it.
func (d *Depthwise[T]) Loop() (n, grain int) {
	c := d.c
	n = c.Images * c.Axes[0].Out * c.Axes[1].Out
	work := c.Axes[2].Out * c.Groups * c.taps()
	if !d.channelsLast {
		n, work = c.Images*c.Groups*c.OutChannels, c.places()*c.taps()
	}
	grain = grainWork
	if d.bands.kernels != nil {
		grain = kernelGrainWork
	}
	return n, 1 + grain/(work+1)
}

// Run computes rows or planes lo to hi.
func (d *Depthwise[T]) Run(_, lo, hi int) {
	if d.bands.kernels != nil {
		d.bands.planes(any(d.c).(*Convolution[float32]), lo, hi)
		return
	}
	for ; lo < hi; lo++ {
		if d.channelsLast {
			d.row(lo)
		} else {
			d.plane(lo)
		}
	}
}

// plane computes one output channel of an image.
func (d *Depthwise[T]) plane(n int) {
	c := d.c
	channels := c.Groups * c.OutChannels
	in, out, filter, bias := c.channel(n/channels, n%channels)
	ad, ah, aw := &c.Axes[0], &c.Axes[1], &c.Axes[2]
	for od := range ad.Out {
		d0, d1 := ad.MetTaps(od)
		for oh := range ah.Out {
			h0, h1 := ah.MetTaps(oh)
			dst := line[T]{c.Output.Data, out + od*c.Output.Spatial[0] + oh*c.Output.Spatial[1], c.Output.Spatial[2]}
			dst.fill(aw.Out, bias)
			for td := d0; td < d1; td++ {
				for th := h0; th < h1; th++ {
					id, ih := od*ad.Step+ad.Offset+td*ad.TapStep, oh*ah.Step+ah.Offset+th*ah.TapStep
					src := line[T]{c.Input.Data, in + id*c.Input.Spatial[0] + ih*c.Input.Spatial[1], c.Input.Spatial[2]}
					w := line[T]{c.Filter.Data, filter + td*c.Filter.Spatial[0] + th*c.Filter.Spatial[1], c.Filter.Spatial[2]}
					d.addTaps(dst, src, w)
				}
			}
		}
	}
}

// channel returns where an output channel of an image, and its input and filter
// begin, and its bias.
func (c *Convolution[T]) channel(image, channel int) (in, out, filter int, bias T) {
	group, k := channel/c.OutChannels, channel%c.OutChannels
	in = c.Input.Offset + image*c.Input.Outer + group*c.Input.Group
	out = c.Output.Offset + image*c.Output.Outer + group*c.Output.Group + k*c.Output.Channel
	filter = c.Filter.Offset + group*c.Filter.Group + k*c.Filter.Outer
	if c.Bias != nil {
		bias = c.Bias[channel]
	}
	return in, out, filter, bias
}

// line is a run of elements that are stride apart.
type line[T gemm.Number] struct {
	data        []T
	off, stride int
}

func (l line[T]) fill(n int, v T) {
	if l.stride == 1 {
		d := l.data[l.off:][:n]
		for i := range d {
			d[i] = v
		}
		return
	}
	for i := range n {
		l.data[l.off+i*l.stride] = v
	}
}

// addTaps adds to each output in the row dst the inputs in src that the taps meet
// there, times the weights of the taps. Where all taps meet an input, three are
// added in one go.
func (d *Depthwise[T]) addTaps(dst, src, weights line[T]) {
	a, all := &d.c.Axes[2], d.allMet
	triples := 0 // taps to be added in threes
	if all.lo < all.hi && a.TapStep > 0 && dst.stride == 1 {
		triples = a.Taps / 3 * 3
	}
	step, tap := a.Step*src.stride, a.TapStep*src.stride
	src.off += a.Offset * src.stride // perhaps to where no input is and no tap goes
	for t, met := range d.met {
		w := weights.data[weights.off+t*weights.stride:]
		x := line[T]{src.data, src.off + t*tap, step}
		if t >= triples {
			addTap(dst, x, met.lo, met.hi, w[0])
			continue
		}
		if t%3 == 0 {
			y, s := dst.data[dst.off+all.lo:][:all.hi-all.lo], src.data[x.off+all.lo*step:]
			addThree(y, s, s[tap:], s[2*tap:], step, w[0], w[weights.stride], w[2*weights.stride])
		}
		addTap(dst, x, met.lo, all.lo, w[0])
		addTap(dst, x, all.hi, met.hi, w[0])
	}
}

// addTap adds w * x[i] to y[i] for lo <= i < hi.
func addTap[T gemm.Number](y, x line[T], lo, hi int, w T) {
	if lo >= hi {
		return
	}
	if y.stride == 1 && x.stride == 1 {
		a, b := y.data[y.off+lo:][:hi-lo], x.data[x.off+lo:][:hi-lo]
		for i, v := range b {
			a[i] += w * v
		}
		return
	}
	for i := lo; i < hi; i++ {
		y.data[y.off+i*y.stride] += w * x.data[x.off+i*x.stride]
	}
}

// addThree adds w0*a[i*step] + w1*b[i*step] + w2*c[i*step] to y[i].
func addThree[T gemm.Number](y, a, b, c []T, step int, w0, w1, w2 T) {
	if step == 1 {
		a, b, c = a[:len(y)], b[:len(y)], c[:len(y)]
		for i, v := range y {
			v += w0 * a[i]
			v += w1 * b[i]
			v += w2 * c[i]
			y[i] = v
		}
		return
	}
	n := (len(y)-1)*step + 1
	a, b, c = a[:n], b[:n], c[:n]
	for i, v := range y {
		j := i * step
		v += w0 * a[j]
		v += w1 * b[j]
		v += w2 * c[j]
		y[i] = v
	}
}

// row computes a row of places of an image, all channels of one after the other.
func (d *Depthwise[T]) row(n int) {
	c := d.c
	ad, ah, aw := &c.Axes[0], &c.Axes[1], &c.Axes[2]
	oh := n % ah.Out
	n /= ah.Out
	od, image := n%ad.Out, n/ad.Out
	d0, d1 := ad.MetTaps(od)
	h0, h1 := ah.MetTaps(oh)
	in := c.Input.Offset + image*c.Input.Outer
	out := c.Output.Offset + image*c.Output.Outer + od*c.Output.Spatial[0] + oh*c.Output.Spatial[1]
	for ow := range aw.Out {
		w0, w1 := aw.MetTaps(ow)
		y := c.Output.Data[out+ow*c.Output.Spatial[2]:][:c.Groups]
		if c.Bias != nil {
			copy(y, c.Bias)
		} else {
			clear(y)
		}
		for td := d0; td < d1; td++ {
			id := od*ad.Step + ad.Offset + td*ad.TapStep
			for th := h0; th < h1; th++ {
				ih := oh*ah.Step + ah.Offset + th*ah.TapStep
				x := in + id*c.Input.Spatial[0] + ih*c.Input.Spatial[1] + (ow*aw.Step+aw.Offset)*c.Input.Spatial[2]
				f := (td*ah.Taps + th) * aw.Taps
				for tw := w0; tw < w1; tw++ {
					addProducts(y, c.Input.Data[x+tw*aw.TapStep*c.Input.Spatial[2]:], d.filters[(f+tw)*c.Groups:])
				}
			}
		}
	}
}

// addProducts adds a[i] * b[i] to y[i].
func addProducts[T gemm.Number](y, a, b []T) {
	a, b = a[:len(y)], b[:len(y)]
	for i, v := range a {
		y[i] += v * b[i]
	}
}
