package gemm

// multiplyNarrow computes columns j to j+n of a product of few rows. To pack B
// would cost more than to multiply it, so it is read where it lies.
func (p *Product[T]) multiplyNarrow(slab []T, repeat, batch, j, n int) {
	buf, block := slab[:bufLen], slab[bufLen:]
	b := p.narrow
	off := b.Offset + repeat*b.Repeat + batch*b.Batch + j*b.Lane
	byKernels := p.narrowTiles(block, off, batch, n)
	for i := range p.M {
		x := p.packed[(batch*p.M+i)*p.K:][:p.K]
		y := block[i*p.nc:][:n]
		switch {
		case byKernels:
		case p.K == 0:
			clear(y)
		case b.Source != nil && b.Lane == 1:
			b.convertedSum(y, x, off, buf)
		case b.Source != nil:
			b.convertedDot(y, x, off, buf)
		case b.Lane == 1:
			b.sum(y, x, off)
		default:
			b.dot(y, x, off)
		}
		if p.RowBias != nil {
			for k := range y {
				y[k] += p.RowBias[batch*p.M+i]
			}
		}
		if p.ColBias != nil {
			addTo(y, p.ColBias[j:])
		}
		if p.C.Sink == nil {
			p.scatter(y, repeat*p.C.Repeat+batch*p.C.Batch+i*p.C.Row+j*p.C.Col)
		}
	}
	p.deliver(block, p.nc, repeat, batch, 0, p.M, j, n)
}

func (p *Product[T]) scatter(y []T, o int) {
	if p.C.Col == 1 {
		copy(p.C.Data[o:], y)
		return
	}
	for _, v := range y {
		p.C.Data[o] = v
		o += p.C.Col
	}
}

func addTo[T Number](y, x []T) {
	x = x[:len(y)]
	for i := range y {
		y[i] += x[i]
	}
}

// dot multiplies x with lanes of neighbouring steps, from offset off on.
func (m *Matrix[T]) dot(y, x []T, off int) {
	for len(y) >= 4 {
		b := m.Data[off:]
		y[0], y[1], y[2], y[3] = dot4(x, b, b[m.Lane:], b[2*m.Lane:], b[3*m.Lane:])
		y = y[4:]
		off += 4 * m.Lane
	}
	for k := range y {
		y[k] = dot1(0, x, m.Data[off:])
		off += m.Lane
	}
}

func dot4[T Number](x, a, b, c, d []T) (r0, r1, r2, r3 T) {
	a, b, c, d = a[:len(x)], b[:len(x)], c[:len(x)], d[:len(x)]
	for i, v := range x {
		r0 += v * a[i]
		r1 += v * b[i]
		r2 += v * c[i]
		r3 += v * d[i]
	}
	return r0, r1, r2, r3
}

// dot1 adds the products of x and a to r.
func dot1[T Number](r T, x, a []T) T {
	a = a[:len(x)]
	for i, v := range x {
		r += v * a[i]
	}
	return r
}

// sum multiplies x with lanes that lie side by side, from offset off on: it adds
// up the steps, four at a time.
func (m *Matrix[T]) sum(y, x []T, off int) {
	clear(y)
	for len(x) >= 4 {
		b := m.Data[off:]
		add4(y, x[0], x[1], x[2], x[3], b, b[m.Step:], b[2*m.Step:], b[3*m.Step:])
		x = x[4:]
		off += 4 * m.Step
	}
	for _, v := range x {
		add1(y, v, m.Data[off:])
		off += m.Step
	}
}

func add4[T Number](y []T, x0, x1, x2, x3 T, a, b, c, d []T) {
	a, b, c, d = a[:len(y)], b[:len(y)], c[:len(y)], d[:len(y)]
	for i := range y {
		v := y[i]
		v += x0 * a[i]
		v += x1 * b[i]
		v += x2 * c[i]
		v += x3 * d[i]
		y[i] = v
	}
}

func add1[T Number](y []T, x T, a []T) {
	a = a[:len(y)]
	for i := range y {
		y[i] += x * a[i]
	}
}

// convertedDot is dot for elements to be converted.
func (m *Matrix[T]) convertedDot(y, x []T, off int, buf []T) {
	for k := range y {
		var r T
		for s := 0; s < len(x); s += len(buf) {
			run := buf[:min(len(buf), len(x)-s)]
			m.Source.Load(run, off+s*m.Step, m.Step)
			r = dot1(r, x[s:][:len(run)], run)
		}
		y[k] = r
		off += m.Lane
	}
}

// convertedSum is sum for elements to be converted. A block has no more lanes than
// buf.
func (m *Matrix[T]) convertedSum(y, x []T, off int, buf []T) {
	clear(y)
	buf = buf[:len(y)]
	for _, v := range x {
		m.Source.Load(buf, off, 1)
		add1(y, v, buf)
		off += m.Step
	}
}
