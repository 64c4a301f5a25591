package conv

// Axis is one spatial dimension of a convolution: output o and tap t meet at
// input o*Step + Offset + t*TapStep, if that is one of the In inputs.
type Axis struct {
	In, Out, Taps         int
	Step, Offset, TapStep int
}

// NewAxis returns the axis of a convolution with padding at both ends.
func NewAxis(in, out, taps, stride, padding, dilation int) Axis {
	return Axis{In: in, Out: out, Taps: taps, Step: stride, Offset: -padding, TapStep: dilation}
}

// MetTaps returns the range of taps that meet an input at output o.
func (a *Axis) MetTaps(o int) (lo, hi int) {
	return clip(o*a.Step+a.Offset, a.TapStep, a.In, a.Taps)
}

// MetOutputs returns the range of outputs at which tap t meets an input.
func (a *Axis) MetOutputs(t int) (lo, hi int) {
	return clip(t*a.TapStep+a.Offset, a.Step, a.In, a.Out)
}

// clip returns the range of the i below n for which first+i*step is at least 0
// and below limit.
func clip(first, step, limit, n int) (lo, hi int) {
	if step < 0 {
		lo, hi = clip(first+(n-1)*step, -step, limit, n)
		return n - hi, n - lo
	}
	lo = min(ceilDiv(-first, step), n)
	return lo, max(lo, min(ceilDiv(limit-first, step), n))
}

// ceilDiv returns a/b rounded up, and 0 for a negative a.
func ceilDiv(a, b int) int { return max(a+b-1, 0) / b }

// Phase is an ordinary convolution that is part of a transposed one along one
// axis: it computes the outputs First, First+stride, ... from the taps FirstTap,
// FirstTap+TapStride, ...
type Phase struct {
	Axis
	First, FirstTap, TapStride int
}

// NewPhase returns phase number p < stride of a transposed convolution, in which
// input i and tap t add to output i*stride + t*dilation - padding.
func NewPhase(p, in, out, taps, stride, padding, dilation int) Phase {
	// The taps of a phase are those for which what is left is a multiple of the
	// stride: o = p + q*stride gets them from input q + (p+padding-t*dilation)/stride.
	g := gcd(stride, dilation)
	ph := Phase{First: p, TapStride: stride / g}
	ph.Axis = Axis{In: in, Out: (out - p + stride - 1) / stride, Step: 1, TapStep: -dilation / g}
	for t := range min(taps, ph.TapStride) {
		if (p+padding-t*dilation)%stride == 0 {
			ph.FirstTap = t
			ph.Taps = (taps - t + ph.TapStride - 1) / ph.TapStride
			ph.Offset = (p + padding - t*dilation) / stride
			break
		}
	}
	return ph
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
