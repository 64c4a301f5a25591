package conv

import "github.com/etgo-ml/etgo/internal/ukernel"

// kernelsF32 returns the kernels to use, or nil. Tests change it.
var kernelsF32 = ukernel.ActiveF32

const (
	maxTaps = 64
	// Elements of a band's input with its padding, and of its output. They are on
	// the stack.
	bandIn, bandOut = 4096, 2048
	// minRow is how long a row must be to be worth a call of a kernel.
	minRow = 32
)

// bands computes planes of a depthwise convolution in float32 by kernels. It
// copies a band of rows of the input to where padding is in memory, so that all
// taps meet something in each place. Short rows are computed all in one go, with
// the places between the rows, which are then dropped.
type bands struct {
	kernels  *ukernel.F32
	top      int // the first row that a tap meets, and column
	left     int
	pitch    int // of a row with padding
	step     int
	rows     int // of the output, in a band
	together bool
	taps     int
	offsets  [maxTaps]int
}

// newBands returns how to compute c, without kernels if it cannot be.
func newBands(c *Convolution[float32]) (b bands) {
	ad, ah, aw := &c.Axes[0], &c.Axes[1], &c.Axes[2]
	kernels := kernelsF32()
	plane := ad.Taps == 1 && ad.Out == 1 && ad.In == 1 && ad.Offset == 0
	if kernels == nil || !plane || ah.Step != aw.Step || aw.Step < 1 || aw.Step > 2 || ah.Taps == 0 || aw.Taps == 0 ||
		ah.Taps > maxTaps/aw.Taps || c.Input.Spatial[2] != 1 || c.Output.Spatial[2] != 1 {
		return b
	}
	b = bands{step: aw.Step, together: aw.Out < minRow, taps: ah.Taps * aw.Taps}
	b.top = ah.Offset + min(0, (ah.Taps-1)*ah.TapStep)
	b.left = aw.Offset + min(0, (aw.Taps-1)*aw.TapStep)
	window := 1 + (ah.Taps-1)*max(ah.TapStep, -ah.TapStep)
	b.pitch = (aw.Out-1)*b.step + 1 + (aw.Taps-1)*max(aw.TapStep, -aw.TapStep)
	b.rows = (bandIn/b.pitch-window)/b.step + 1
	if bandIn/b.pitch < window {
		return b
	}
	if b.together {
		b.rows = min(b.rows, bandOut/b.pitch)
	}
	if b.rows < 1 {
		return b
	}
	for th := range ah.Taps {
		for tw := range aw.Taps {
			b.offsets[th*aw.Taps+tw] = (ah.Offset+th*ah.TapStep-b.top)*b.pitch + aw.Offset + tw*aw.TapStep - b.left
		}
	}
	b.kernels = kernels
	return b
}

// planes computes output channels lo to hi of all images.
func (b *bands) planes(c *Convolution[float32], lo, hi int) {
	var in [bandIn]float32
	var out [bandOut]float32
	var w [maxTaps]float32
	ah, aw := &c.Axes[1], &c.Axes[2]
	window := b.offsets[b.taps-1]/b.pitch + 1
	if ah.TapStep < 0 {
		window = b.offsets[0]/b.pitch + 1
	}
	for ; lo < hi; lo++ {
		channels := c.Groups * c.OutChannels
		src, dst, filter, bias := c.channel(lo/channels, lo%channels)
		for t := range b.taps {
			w[t] = c.Filter.Data[filter+t/aw.Taps*c.Filter.Spatial[1]+t%aw.Taps*c.Filter.Spatial[2]]
		}
		for row := 0; row < ah.Out; row += b.rows {
			rows := min(b.rows, ah.Out-row)
			b.pad(&in, c, src, row*b.step+b.top, (rows-1)*b.step+window)
			y := c.Output.Data[dst+row*c.Output.Spatial[1]:]
			b.band(y, c.Output.Spatial[1], in[:], out[:], rows, aw.Out, w[:b.taps], bias)
		}
	}
}

// pad copies some rows of the input, which begins at offset o, from the first one
// on.
func (b *bands) pad(in *[bandIn]float32, c *Convolution[float32], o, first, rows int) {
	lo := min(max(0, -b.left), b.pitch) // the columns that are not padding
	hi := max(lo, min(b.pitch, c.Axes[2].In-b.left))
	for r := range rows {
		d := in[r*b.pitch:][:b.pitch]
		h := first + r
		if uint(h) >= uint(c.Axes[1].In) {
			clear(d)
			continue
		}
		clear(d[:lo])
		clear(d[hi:])
		if lo < hi {
			copy(d[lo:hi], c.Input.Data[o+h*c.Input.Spatial[1]+lo+b.left:])
		}
	}
}

// band computes rows of n places each, ld apart in y.
func (b *bands) band(y []float32, ld int, in, out []float32, rows, n int, w []float32, bias float32) {
	offsets := b.offsets[:b.taps]
	if !b.together {
		for r := range rows {
			b.kernels.Taps(y[r*ld:][:n], in[r*b.step*b.pitch:], b.step, offsets, w, bias)
		}
		return
	}
	b.kernels.Taps(out[:(rows-1)*b.pitch+n], in, b.step, offsets, w, bias)
	for r := range rows {
		copy(y[r*ld:][:n], out[r*b.pitch:])
	}
}
