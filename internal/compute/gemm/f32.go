package gemm

import "github.com/etgo-ml/etgo/internal/ukernel"

// kernelsF32 returns the kernels to use, or nil. Tests change it.
var kernelsF32 = ukernel.ActiveF32

// chooseKernels sets the kernels, if there are some for T, and the widths of the
// panels. A tile of the kernels has rows, that are vectors, of the lanes of one
// operand; the elements of the other are broadcast. The vectors are of the operand
// whose lanes are neighbours in the result.
func (p *Product[T]) chooseKernels() {
	p.kernels, p.aw, p.bw = nil, width, width
	if _, ok := any(p).(*Product[float32]); !ok {
		return
	}
	if p.kernels = kernelsF32(); p.kernels == nil {
		return
	}
	p.aw, p.bw = p.kernels.MR, p.kernels.NR
	if p.vectorsOfA() {
		p.aw, p.bw = p.bw, p.aw
	}
}

func (p *Product[T]) vectorsOfA() bool {
	return p.C.Sink == nil && p.C.Row == 1 && p.C.Col != 1
}

// multiplyTiles is multiply by kernels.
func (p *Product[T]) multiplyTiles(slab []T, repeat, batch, j, n int) {
	multiplyF32(any(p).(*Product[float32]), any(slab).([]float32), repeat, batch, j, n)
}

func multiplyF32(p *Product[float32], slab []float32, repeat, batch, j, n int) {
	buf, slab := slab[:bufLen], slab[bufLen:]
	b, slab := slab[:p.nc*p.depth], slab[p.nc*p.depth:]
	edge, block := slab[:p.aw*p.bw], slab[p.aw*p.bw:]
	p.packB(b, buf, repeat, batch, j, n)

	a := p.packed[batch*roundUp(p.M, p.aw)*p.depth:]
	out, base := output[float32]{p.C.Data, p.C.Row, p.C.Col}, repeat*p.C.Repeat+batch*p.C.Batch+j*p.C.Col
	if p.C.Sink != nil {
		out, base = output[float32]{block, p.nc, 1}, 0
	}
	for i := 0; i < p.M; i += p.mc {
		m, origin := min(p.mc, p.M-i), base
		if p.C.Sink == nil {
			origin += i * out.row
		}
		for k := 0; k == 0 || k < p.depth; k += p.kc {
			left := operandF32{a[i*p.depth+k*p.aw:], m, p.depth}
			right := operandF32{b[k*p.bw:], n, p.depth}
			steps := min(p.kc, p.depth-k)
			if p.vectorsOfA() {
				transposed := output[float32]{out.data, out.col, out.row}
				addTiles(p.kernels, &transposed, origin, right, left, steps, k > 0, edge)
			} else {
				addTiles(p.kernels, &out, origin, left, right, steps, k > 0, edge)
			}
		}
		p.deliver(block, p.nc, repeat, batch, i, m, j, n)
	}
}

// operandF32 are lanes in panels, with a pitch of so many steps.
type operandF32 struct {
	panels       []float32
	lanes, pitch int
}

// addTiles multiplies some steps of rows and columns and puts the product at
// offset o of out, or adds it to what is there. Tiles that are not whole, or not
// of vectors in memory, take the way over edge.
func addTiles(kernels *ukernel.F32, out *output[float32], o int, rows, cols operandF32, steps int, add bool, edge []float32) {
	mr, nr := kernels.MR, kernels.NR
	for j := 0; j < cols.lanes; j += nr {
		n := min(nr, cols.lanes-j)
		b := cols.panels[j*cols.pitch:]
		for i := 0; i < rows.lanes; i += mr {
			m := min(mr, rows.lanes-i)
			a := rows.panels[i*rows.pitch:]
			at := o + i*out.row + j*out.col
			tall := kernels.TileRows(m)
			if tall == m && n == nr && out.col == 1 {
				kernels.Tile(tall, steps, a, b, nr, out.data[at:], out.row, add)
				continue
			}
			kernels.Tile(tall, steps, a, b, nr, edge, nr, false)
			for r := range m {
				storeRow(out.data[at+r*out.row:], out.col, edge[r*nr:][:n], add)
			}
		}
	}
}

// storeRow stores a row of a tile, or adds it, as the kernels do.
func storeRow(dst []float32, stride int, row []float32, add bool) {
	switch {
	case stride == 1 && !add:
		copy(dst[:len(row)], row)
	case stride == 1:
		addTo(dst[:len(row)], row)
	case !add:
		for i, v := range row {
			dst[i*stride] = v
		}
	default:
		for i, v := range row {
			dst[i*stride] += v
		}
	}
}

// narrowTiles multiplies A and n lanes of the B of a narrow product, from offset
// off on, by kernels if it can. Results are in rows of block.
func (p *Product[T]) narrowTiles(block []T, off, batch, n int) bool {
	q, ok := any(p).(*Product[float32])
	if !ok || p.kernels == nil || p.narrow.Source != nil || p.K == 0 {
		return false
	}
	y, b := any(block).([]float32), q.narrow
	x := q.packed[batch*p.M*p.K:][:p.M*p.K]
	if b.Lane == 1 {
		addRowsF32(q, y, x, b.Data[off:], n)
	} else {
		dotsF32(q, y, x, b.Data[off:], n)
	}
	return true
}

// addRowsF32 reads each row of B once, for all of x.
func addRowsF32(p *Product[float32], y, x, b []float32, n int) {
	const rows = 16 // which stay in the first-level cache
	for i := range p.M {
		clear(y[i*p.nc:][:n])
	}
	for s := 0; s < p.K; s += rows {
		k := min(rows, p.K-s)
		for i := range p.M {
			p.kernels.AddRows(y[i*p.nc:][:n], x[i*p.K+s:][:k], b[s*p.narrow.Step:], p.narrow.Step)
		}
	}
}

// dotsF32 reads a few lanes of B, which are side by side in memory, at a time.
func dotsF32(p *Product[float32], y, x, b []float32, n int) {
	const lanes = 4
	for j := 0; j < n; j += lanes {
		for i := range p.M {
			p.kernels.Dots(y[i*p.nc+j:][:min(lanes, n-j)], x[i*p.K:][:p.K], b[j*p.narrow.Lane:], p.narrow.Lane)
		}
	}
}
