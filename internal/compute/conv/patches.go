package conv

import "github.com/etgo-ml/etgo/internal/compute/gemm"

// patches are the patches of the input as an operand: its lanes are places of the
// output.
type patches[T gemm.Number] Convolution[T]

// Pack implements gemm.Operand.
func (p *patches[T]) Pack(to gemm.Panels[T], _ []T, image, group, lane, n int) {
	c := (*Convolution[T])(p)
	base := c.Input.Offset + image*c.Input.Outer + group*c.Input.Group
	place := c.place(lane)
	for l := 0; l < n; {
		// The places of a row of the output that are in one panel.
		row := min(to.Width-l%to.Width, n-l, c.Axes[2].Out-place[2])
		c.packRow(to.Lane(l), to.Width, base, place, row)
		l += row
		if place[2] += row; place[2] == c.Axes[2].Out {
			place[2]--
			c.next(&place)
		}
	}
}

// packRow packs n lanes of a panel, which are consecutive places in a row.
func (c *Convolution[T]) packRow(dst []T, width, base int, place [Dims]int, n int) {
	// The distances of taps and of channels in a panel.
	tapStep, channelStep := width, c.taps()*width
	if c.channelsInner {
		tapStep, channelStep = c.InChannels*width, width
	}
	a := &c.Axes[2]
	for td := range c.Axes[0].Taps {
		for th := range c.Axes[1].Taps {
			o, inside := c.line(base, place, td, th)
			for tw := range a.Taps {
				x := place[2]*a.Step + a.Offset + tw*a.TapStep
				lo, hi := 0, 0 // the lanes that meet an input
				if inside {
					lo, hi = clip(x, a.Step, a.In, n)
				}
				src := line[T]{c.Input.Data, o + x*c.Input.Spatial[2], a.Step * c.Input.Spatial[2]}
				c.packTap(dst, width, channelStep, src, lo, hi, n)
				dst = dst[min(tapStep, len(dst)):]
			}
		}
	}
}

// line returns the offset of the line of the input that the taps td and th meet at
// a place, unless it is outside.
func (c *Convolution[T]) line(base int, place [Dims]int, td, th int) (o int, inside bool) {
	ad, ah := &c.Axes[0], &c.Axes[1]
	d, h := place[0]*ad.Step+ad.Offset+td*ad.TapStep, place[1]*ah.Step+ah.Offset+th*ah.TapStep
	o = base + d*c.Input.Spatial[0] + h*c.Input.Spatial[1]
	return o, uint(d) < uint(ad.In) && uint(h) < uint(ah.In)
}

// packTap packs one tap of all channels, which are step apart in dst: elements lo
// to hi of src and zeros for the other ones of the n lanes. The channels are the
// outer loop unless they are side by side in the input.
func (c *Convolution[T]) packTap(dst []T, width, step int, src line[T], lo, hi, n int) {
	if lo >= hi {
		lo, hi = n, n
	}
	for k := 0; k < c.InChannels && (lo > 0 || hi < n); k++ {
		d := dst[k*step:][:n]
		clear(d[:lo])
		clear(d[hi:])
	}
	if lo >= hi {
		return
	}
	first := src.off + lo*src.stride
	if c.Input.Channel == 1 {
		gemm.Interleave(dst[lo:], width, src.data[first:], src.stride, hi-lo, c.InChannels)
		return
	}
	for k := range c.InChannels {
		d, s := dst[k*step+lo:][:hi-lo], src.data[first+k*c.Input.Channel:]
		if src.stride == 1 {
			copy(d, s)
			continue
		}
		for i := range d {
			d[i] = s[i*src.stride]
		}
	}
}
