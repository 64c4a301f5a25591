// Package gemm multiplies matrices.
//
// A Product says what is multiplied and computes it in two loops whose bodies
// the caller runs, on as many threads as it likes. The elements of the operands
// come from an Operand, so that a convolution multiplies patches of an image
// that nobody has laid out as a matrix, and the result goes to a slice or to a
// Sink:
//
//	p := gemm.Product[float32]{M: m, N: n, K: k, Batches: 1, Repeats: 1,
//		A: &gemm.Matrix[float32]{Data: a, Lane: k, Step: 1},
//		B: &gemm.Matrix[float32]{Data: b, Lane: 1, Step: n},
//		C: gemm.Output[float32]{Data: c, Row: n, Col: 1}}
//	p.SetScratch(make([]float32, p.Plan(threads)))
//	n, grain := p.Packing()
//	pool.For(n, grain, p.Packer())
//	n, grain = p.Multiplying()
//	pool.For(n, grain, &p)
//
// Both operands are cut into lanes, the rows of A and the columns of B, and a
// lane is a vector over the steps of the sum. Lanes are copied side by side into
// panels, as the innermost loop reads them. A is packed as a whole, B block by
// block by the thread that multiplies the block. The innermost loop is tile, or
// for float32 a kernel of package ukernel, where the CPU tier has them.
//
// Each element of the result is a sum over the steps in an order that follows from
// the shapes alone, so that it does not depend on the number of threads nor on
// where it lies in the matrix.
package gemm

import "github.com/etgo-ml/etgo/internal/ukernel"

// Number is what can be multiplied. Integers of other sizes are computed as
// int64, of which they are the low bits.
type Number interface {
	float32 | float64 | int64 | complex64 | complex128
}

// Product is Batches times Repeats products of equal shape. Element (i, j) of
// one is the sum over s < K of A(i, s) * B(j, s), plus a bias. The products of a
// batch number have the same A.
//
// The exported fields are the caller's; Plan may exchange A and B and what
// belongs to them.
type Product[T Number] struct {
	M, N, K int // lanes of A, lanes of B, steps
	A, B    Operand[T]

	Batches, Repeats int

	// At most one of the biases is not nil: RowBias holds M for each batch,
	// ColBias, which is for one batch only, N.
	RowBias, ColBias []T

	C Output[T]

	// What Plan decides.
	swapped bool
	kernels *ukernel.F32 // nil for pure Go
	narrow  *Matrix[T]   // B, if the product is computed without packing it
	aw, bw  int          // lanes in a panel of A and of B
	depth   int          // steps in a panel: K, one for the bias, in Go one to make it even
	kc      int          // steps that a kernel does in one go
	nc, mc  int          // lanes of B in a block, and of A multiplied with it in one go
	blocks  int          // blocks of one product
	slab    int          // scratch of a thread

	packed []T // A
	slabs  []T
}

// Output is where products go: Data[repeat*Repeat+batch*Batch+i*Row+j*Col], or
// Sink where that is not nil.
type Output[T Number] struct {
	Data                    []T
	Repeat, Batch, Row, Col int
	Sink                    Sink[T]
}

// Sink takes a result piece by piece, from several goroutines at a time.
type Sink[T Number] interface {
	// Store takes a part of a product: element (r, c) of the part is
	// block[r*row+c*col] and belongs to place (i+r, j+c), for r < m and c < n.
	Store(block []T, row, col, repeat, batch, i, m, j, n int)
}

const (
	// width is the number of lanes in a panel for tile.
	width = 4
	// spare is how much longer packed panels are, as tile is given slices that
	// begin inside a panel and are as long as one.
	spare = 2
	// cacheLine is what parts of the scratch are a multiple of.
	cacheLine = 16
	// bufLen is the scratch that an Operand gets.
	bufLen = 1024
	// The elements of a block of B and of the part of A multiplied with it, which
	// should stay in the second-level cache together; and the lanes they have.
	blockB, blockA     = 32 << 10, 64 << 10
	minLanes, maxLanes = 16, 512
	// For kernels: the steps of panels, one of either operand, that the
	// first-level cache holds; the elements of a block of B, of which that many
	// steps of each lane are in use at a time; and the lanes of a block that is
	// not packed.
	maxSteps     = 256
	kernelBlockB = 128 << 10
	narrowLanes  = 1024
	// grainWork is how many multiplications are worth a thread: some 20
	// microseconds, and some 10 with kernels.
	grainWork       = 1 << 17
	kernelGrainWork = 1 << 20
)

// Plan decides how the product is computed on that many threads and returns how
// many elements of scratch it needs.
func (p *Product[T]) Plan(threads int) (scratch int) {
	p.swapped = false
	if p.N < p.M && p.Repeats == 1 && (p.Batches == 1 || p.RowBias == nil) {
		p.transpose()
	}
	p.chooseKernels()
	p.depth = p.K
	if p.hasBias() {
		p.depth++
	}
	if p.kernels == nil {
		p.depth += p.depth & 1
	}

	p.narrow = nil
	if b, ok := p.B.(*Matrix[T]); ok && p.M < width && (b.Lane == 1 || b.Step == 1) {
		p.narrow = b
	}
	p.chooseBlocks()
	products := p.Batches * p.Repeats
	for threads > 1 && p.nc > max(minLanes, p.bw) && products*ceilDiv(p.N, p.nc) < 4*threads {
		p.nc = roundUp(p.nc/2, p.bw)
	}
	p.nc = min(p.nc, roundUp(p.N, p.bw))
	p.mc = min(p.mc, roundUp(p.M, p.aw))
	p.blocks = ceilDiv(p.N, p.nc)

	p.slab = bufLen
	switch {
	case p.narrow != nil:
		p.slab += p.M * p.nc
	default:
		p.slab += p.nc*p.depth + spare
		if p.kernels != nil {
			p.slab += p.aw * p.bw
		}
		if p.C.Sink != nil {
			p.slab += p.nc * p.mc
		}
	}
	p.slab = roundUp(p.slab, cacheLine)
	return p.sizeA() + threads*p.slab
}

// chooseBlocks sets the sizes of blocks, as far as they follow from the caches.
func (p *Product[T]) chooseBlocks() {
	p.kc = p.depth
	switch {
	case p.kernels == nil:
		p.nc, p.mc = blockLanes(blockB, p.depth, p.bw), blockLanes(blockA, p.depth, p.aw)
	case p.narrow != nil:
		p.nc, p.mc = narrowLanes, p.aw
	default:
		// Equal parts, no longer than maxSteps.
		p.kc = max(1, ceilDiv(p.depth, max(1, ceilDiv(p.depth, maxSteps))))
		p.nc, p.mc = blockLanes(kernelBlockB, p.depth, p.bw), blockLanes(blockA, p.kc, p.aw)
	}
}

// transpose makes the operand of fewer lanes A: that one is packed as a whole,
// while the blocks of the other are shared out to the threads.
func (p *Product[T]) transpose() {
	p.swapped = true
	p.M, p.N = p.N, p.M
	p.A, p.B = p.B, p.A
	p.RowBias, p.ColBias = p.ColBias, p.RowBias
	p.C.Row, p.C.Col = p.C.Col, p.C.Row
}

func (p *Product[T]) hasBias() bool { return p.RowBias != nil || p.ColBias != nil }

// sizeA returns the elements of A when it is packed: panels, or lanes one after
// the other for a narrow product.
func (p *Product[T]) sizeA() int {
	if p.narrow != nil {
		return roundUp(p.Batches*p.M*p.K, cacheLine)
	}
	return roundUp(p.Batches*roundUp(p.M, p.aw)*p.depth+spare, cacheLine)
}

// SetScratch gives the product the scratch that Plan asked for.
func (p *Product[T]) SetScratch(s []T) {
	p.packed, p.slabs = s[:p.sizeA()], s[p.sizeA():]
}

// Packing returns the size of the loop that packs A and a grain for it.
func (p *Product[T]) Packing() (n, grain int) {
	return p.Batches * ceilDiv(p.M, p.aw), 1 + p.grainWork()/8/(p.depth*p.aw+1)
}

// Packer returns the body of the loop that packs A.
func (p *Product[T]) Packer() *Packer[T] { return (*Packer[T])(p) }

// Packer packs the A of a product.
type Packer[T Number] Product[T]

// Run packs panels lo to hi.
func (k *Packer[T]) Run(worker, lo, hi int) {
	p := (*Product[T])(k)
	buf := p.slabs[worker*p.slab:][:bufLen]
	perBatch := ceilDiv(p.M, p.aw)
	for ; lo < hi; lo++ {
		batch, lane := lo/perBatch, lo%perBatch*p.aw
		n := min(p.aw, p.M-lane)
		if p.narrow != nil {
			p.pack(p.A, Panels[T]{p.packed[(batch*p.M+lane)*p.K:], p.K, 1}, buf, 0, batch, lane, n)
			continue
		}
		panels := Panels[T]{p.packed[lo*p.depth*p.aw:][:p.depth*p.aw], p.depth, p.aw}
		p.pack(p.A, panels, buf, 0, batch, lane, n)
		var bias []T
		if p.RowBias != nil {
			bias = p.RowBias[batch*p.M+lane:][:n]
		}
		p.finish(panels, bias)
	}
}

// pack packs lanes of an operand, unless they have no steps.
func (p *Product[T]) pack(o Operand[T], to Panels[T], buf []T, repeat, batch, lane, n int) {
	if p.K > 0 {
		o.Pack(to, buf, repeat, batch, lane, n)
	}
}

// finish fills the steps of a panel that come after the operand's: a bias is one
// more step of the sum, with the bias in one operand and 1 in the other.
func (p *Product[T]) finish(panel Panels[T], bias []T) {
	rest := panel.Data[p.K*panel.Width:]
	clear(rest)
	switch {
	case bias != nil:
		copy(rest, bias)
	case p.hasBias():
		for i := range panel.Width {
			rest[i] = 1
		}
	}
}

// Multiplying returns the size of the loop that multiplies, when A is packed,
// and a grain for it. The product itself is the loop's body.
func (p *Product[T]) Multiplying() (n, grain int) {
	return p.Repeats * p.Batches * p.blocks, 1 + p.grainWork()/(p.M*p.nc*p.depth+1)
}

// grainWork returns how many multiplications are worth a thread. Those of a
// narrow product cost what it takes to read B.
func (p *Product[T]) grainWork() int {
	if p.kernels != nil && p.narrow == nil {
		return kernelGrainWork
	}
	return grainWork
}

// Run computes blocks lo to hi.
func (p *Product[T]) Run(worker, lo, hi int) {
	slab := p.slabs[worker*p.slab:][:p.slab]
	for ; lo < hi; lo++ {
		product, j := lo/p.blocks, lo%p.blocks*p.nc
		repeat, batch := product/p.Batches, product%p.Batches
		n := min(p.nc, p.N-j)
		switch {
		case p.narrow != nil:
			p.multiplyNarrow(slab, repeat, batch, j, n)
		case p.kernels != nil:
			p.multiplyTiles(slab, repeat, batch, j, n)
		default:
			p.multiply(slab, repeat, batch, j, n)
		}
	}
}

// multiply computes columns j to j+n of a product.
func (p *Product[T]) multiply(slab []T, repeat, batch, j, n int) {
	buf, slab := slab[:bufLen], slab[bufLen:]
	size := p.nc*p.depth + spare
	b, block := slab[:size], slab[size:]
	p.packB(b, buf, repeat, batch, j, n)

	a := p.packed[batch*roundUp(p.M, width)*p.depth:]
	panel := p.depth * width
	out := output[T]{p.C.Data, p.C.Row, p.C.Col}
	base := repeat*p.C.Repeat + batch*p.C.Batch
	if p.C.Sink != nil {
		out, base = output[T]{block, p.nc, 1}, 0
	}
	for i0 := 0; i0 < p.M; i0 += p.mc {
		m := min(p.mc, p.M-i0)
		origin := base
		if p.C.Sink == nil {
			origin += i0*out.row + j*out.col
		}
		for jj := 0; jj < n; jj += width {
			for ii := 0; ii < m; ii += rows {
				i := i0 + ii
				from := a[i/width*panel+i%width:]
				c := tile(from[:panel], b[jj*p.depth:][:panel])
				out.store(origin+ii*out.row+jj*out.col, min(rows, m-ii), min(width, n-jj), &c)
			}
		}
		p.deliver(block, p.nc, repeat, batch, i0, m, j, n)
	}
}

func (p *Product[T]) packB(b, buf []T, repeat, batch, j, n int) {
	p.pack(p.B, Panels[T]{b, p.depth, p.bw}, buf, repeat, batch, j, n)
	if p.depth == p.K {
		return
	}
	for jj := 0; jj < n; jj += p.bw {
		var bias []T
		if p.ColBias != nil {
			bias = p.ColBias[j+jj:][:min(p.bw, n-jj)]
		}
		p.finish(Panels[T]{b[jj*p.depth:][:p.depth*p.bw], p.depth, p.bw}, bias)
	}
}

// deliver gives a part of the result, in rows ld apart, to the Sink, if there is
// one.
func (p *Product[T]) deliver(block []T, ld, repeat, batch, i, m, j, n int) {
	switch {
	case p.C.Sink == nil:
	case p.swapped:
		p.C.Sink.Store(block, 1, ld, repeat, batch, j, n, i, m)
	default:
		p.C.Sink.Store(block, ld, 1, repeat, batch, i, m, j, n)
	}
}

// output is a matrix with elements row and col apart.
type output[T Number] struct {
	data     []T
	row, col int
}

// store stores the first m rows and n columns of a tile at offset o.
func (out *output[T]) store(o, m, n int, c *[rows * width]T) {
	d, col := out.data[o:], out.col
	if n == width {
		d[0], d[col], d[2*col], d[3*col] = c[0], c[1], c[2], c[3]
		if m == rows {
			d = d[out.row:]
			d[0], d[col], d[2*col], d[3*col] = c[4], c[5], c[6], c[7]
		}
		return
	}
	for r := range m {
		for k := range n {
			d[r*out.row+k*col] = c[r*width+k]
		}
	}
}

// blockLanes returns how many lanes of some steps a block of about size elements
// has.
func blockLanes(size, depth, width int) int {
	return roundUp(min(max(size/max(depth, 1), minLanes), maxLanes), width)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

func roundUp(a, b int) int { return ceilDiv(a, b) * b }
