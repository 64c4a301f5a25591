package gemm

// Operand is one side of a product.
type Operand[T Number] interface {
	// Pack writes lanes lane to lane+n of an operand, which have at least one step,
	// as lanes 0 to n of to. buf is scratch.
	Pack(to Panels[T], buf []T, repeat, batch, lane, n int)
}

// Panels are packed lanes, Width of them side by side: step s of lane l is
// Data[l/Width*Depth*Width+s*Width+l%Width]. The last panel may lack lanes; what
// is in their place does not matter.
type Panels[T Number] struct {
	Data         []T
	Depth, Width int
}

// Lane returns the panels from lane l on: its step s is element s*Width.
func (p Panels[T]) Lane(l int) []T {
	return p.Data[l/p.Width*p.Depth*p.Width+l%p.Width:]
}

// Matrix is an operand with its elements at even distances: step s of lane l is
// element Offset+repeat*Repeat+batch*Batch+l*Lane+s*Step of Data, or of what
// Source loads where that is not nil.
type Matrix[T Number] struct {
	Data                              []T
	Source                            Source[T]
	Steps                             int
	Offset, Repeat, Batch, Lane, Step int
}

// Source reads elements that are not stored as a T.
type Source[T Number] interface {
	// Load converts the elements off, off+stride, ... to fill dst.
	Load(dst []T, off, stride int)
}

// Pack implements Operand.
func (m *Matrix[T]) Pack(to Panels[T], buf []T, repeat, batch, lane, n int) {
	off := m.Offset + repeat*m.Repeat + batch*m.Batch + lane*m.Lane
	switch {
	case m.Source != nil && m.Lane == 1:
		m.convertSteps(to, buf, off, n)
	case m.Source != nil:
		m.convertLanes(to, buf, off, n)
	default:
		m.move(to, off, n)
	}
}

func (m *Matrix[T]) move(to Panels[T], off, n int) {
	for l := 0; l < n; l += to.Width {
		src := m.Data[off+l*m.Lane:]
		dst := to.Lane(l)[:m.Steps*to.Width]
		lanes := min(to.Width, n-l)
		switch {
		case m.Lane == 1:
			packSteps(dst, to.Width, src, m.Step, lanes, m.Steps)
		case m.Step == 1:
			Interleave(dst, to.Width, src, m.Lane, lanes, m.Steps)
		default:
			for k := range lanes {
				packLane(dst[k:], to.Width, src[k*m.Lane:], m.Step, m.Steps)
			}
		}
	}
}

// packSteps packs lanes that lie side by side; their steps are step apart.
func packSteps[T Number](dst []T, w int, src []T, step, lanes, steps int) {
	if w == width && lanes == width {
		for len(dst) >= width {
			s, d := src[:width], dst[:width]
			d[0], d[1], d[2], d[3] = s[0], s[1], s[2], s[3]
			dst = dst[width:]
			src = src[min(step, len(src)):]
		}
		return
	}
	for s := range steps {
		copy(dst[s*w:][:lanes], src[s*step:])
	}
}

// Interleave packs lanes of k steps that lie side by side. The lanes begin ld
// apart. dst has panels of w lanes.
func Interleave[T Number](dst []T, w int, src []T, ld, lanes, k int) {
	switch f := any(dst).(type) {
	case []float32:
		if kernels := kernelsF32(); kernels != nil {
			kernels.Interleave(f, w, any(src).([]float32), ld, lanes, k)
			return
		}
	}
	if w == width && lanes == width {
		interleaveFour(dst, src[:k], src[ld:], src[2*ld:], src[3*ld:])
		return
	}
	for l := range lanes {
		packLane(dst[l:], w, src[l*ld:], 1, k)
	}
}

func interleaveFour[T Number](dst, a, b, c, d []T) {
	b, c, d = b[:len(a)], c[:len(a)], d[:len(a)]
	for i, v := range a {
		if len(dst) < width {
			return // never, but tells the compiler what to expect
		}
		t := dst[:width]
		t[0], t[1], t[2], t[3] = v, b[i], c[i], d[i]
		dst = dst[width:]
	}
}

// packLane packs a lane whose steps are step apart.
func packLane[T Number](dst []T, width int, src []T, step, steps int) {
	for s := range steps {
		dst[s*width] = src[s*step]
	}
}

// convertLanes packs lane by lane.
func (m *Matrix[T]) convertLanes(to Panels[T], buf []T, off, n int) {
	for l := range n {
		dst := to.Lane(l)
		for s := 0; s < m.Steps; s += len(buf) {
			run := buf[:min(len(buf), m.Steps-s)]
			m.Source.Load(run, off+l*m.Lane+s*m.Step, m.Step)
			packLane(dst[s*to.Width:], to.Width, run, 1, len(run))
		}
	}
}

// convertSteps packs step by step, for lanes that lie side by side.
func (m *Matrix[T]) convertSteps(to Panels[T], buf []T, off, n int) {
	for s := range m.Steps {
		for l := 0; l < n; l += len(buf) {
			run := buf[:min(len(buf), n-l)]
			m.Source.Load(run, off+s*m.Step+l, 1)
			for i := 0; i < len(run); i += to.Width {
				copy(to.Lane(l + i)[s*to.Width:][:to.Width], run[i:])
			}
		}
	}
}
