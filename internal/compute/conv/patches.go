package conv

import "github.com/etgo-ml/etgo/internal/compute/gemm"

// patches are the patches of the input as an operand: its lanes are places of the
// output.
type patches[T gemm.Number] Convolution[T]

// panelLanes is how many lanes Pack gathers at a time: those of a panel.
const panelLanes = 4

// gather is where the lanes of a panel meet one tap: offsets in the input, or -1
// outside of it.
type gather struct {
	lanes  int
	at     [panelLanes][Dims]int // of tap 0
	off    [panelLanes]int
	inside int // lanes that are not outside
}

// Pack implements gemm.Operand.
func (p *patches[T]) Pack(to gemm.Panels[T], _ []T, image, group, lane, n int) {
	c := (*Convolution[T])(p)
	base := c.Input.Offset + image*c.Input.Outer + group*c.Input.Group
	// The distances of taps and of channels in a panel.
	tapStep, channelStep := to.Width, c.taps()*to.Width
	if c.channelsInner {
		tapStep, channelStep = c.InChannels*to.Width, to.Width
	}
	place := c.place(lane)
	for l := 0; l < n; l += to.Width {
		g := gather{lanes: min(to.Width, n-l)}
		for i := range g.lanes {
			for d, a := range c.Axes {
				g.at[i][d] = place[d]*a.Step + a.Offset
			}
			c.next(&place)
		}
		dst := to.Lane(l)
		for td := range c.Axes[0].Taps {
			for th := range c.Axes[1].Taps {
				for tw := range c.Axes[2].Taps {
					c.meet(&g, base, [Dims]int{td, th, tw})
					c.packTap(dst, to.Width, channelStep, &g)
					dst = dst[min(tapStep, len(dst)):]
				}
			}
		}
	}
}

// meet finds out where the lanes meet a tap.
func (c *Convolution[T]) meet(g *gather, base int, tap [Dims]int) {
	g.inside = 0
	for i := range g.lanes {
		o := base
		for d := range tap {
			a := &c.Axes[d]
			x := g.at[i][d] + tap[d]*a.TapStep
			if uint(x) >= uint(a.In) {
				o = -1
				break
			}
			o += x * c.Input.Spatial[d]
		}
		g.off[i] = o
		if o >= 0 {
			g.inside++
		}
	}
}

// packTap packs one tap of all channels, which are step apart in dst.
func (c *Convolution[T]) packTap(dst []T, width, step int, g *gather) {
	data, channel := c.Input.Data, c.Input.Channel
	if g.inside == panelLanes {
		o0, o1, o2, o3 := g.off[0], g.off[1], g.off[2], g.off[3]
		if channel == 1 {
			gemm.Interleave(dst, data[o0:][:c.InChannels], data[o1:], data[o2:], data[o3:])
			return
		}
		neighbours := o1 == o0+1 && o2 == o0+2 && o3 == o0+3
		for range c.InChannels {
			d := dst[:panelLanes]
			if neighbours {
				s := data[o0:][:panelLanes]
				d[0], d[1], d[2], d[3] = s[0], s[1], s[2], s[3]
			} else {
				d[0], d[1], d[2], d[3] = data[o0], data[o1], data[o2], data[o3]
			}
			o0, o1, o2, o3 = o0+channel, o1+channel, o2+channel, o3+channel
			dst = dst[min(step, len(dst)):]
		}
		return
	}
	for i := range g.lanes {
		o := g.off[i]
		for k := range c.InChannels {
			var v T
			if o >= 0 {
				v = data[o+k*channel]
			}
			dst[k*step+i] = v
		}
	}
}
