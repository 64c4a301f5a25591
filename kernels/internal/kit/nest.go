package kit

import "github.com/etgo-ml/etgo/tensor"

// MaxOperands is how many operands a Nest can walk together.
const MaxOperands = 4

// Nest is a loop nest over strided operands of one logical shape. Dimensions
// that can be walked as one are merged, so that the innermost run is as long as
// possible. The zero value is a nest of one element; Reset gives it a shape.
type Nest struct {
	rank    int
	numel   int
	sizes   [tensor.MaxRank]int
	strides [MaxOperands][tensor.MaxRank]int
	ops     int
}

// Begin starts a nest of n operands; Dim adds its dimensions from the outermost
// to the innermost.
func (n *Nest) Begin(operands int) {
	n.rank, n.numel, n.ops = 0, 1, operands
}

// Dim adds a dimension inside those added before. strides holds how far apart
// neighbours are in each operand, in elements; 0 repeats an element.
func (n *Nest) Dim(size int, strides [MaxOperands]int) {
	n.numel *= size
	if size == 1 {
		return
	}
	if n.rank > 0 {
		merge := true
		for k := range n.ops {
			if n.strides[k][n.rank-1] != strides[k]*size {
				merge = false
				break
			}
		}
		if merge {
			n.sizes[n.rank-1] *= size
			for k := range n.ops {
				n.strides[k][n.rank-1] = strides[k]
			}
			return
		}
	}
	n.sizes[n.rank] = size
	for k := range n.ops {
		n.strides[k][n.rank] = strides[k]
	}
	n.rank++
}

// Elementwise makes a nest that visits out in memory order (operand 0) and the
// inputs (operands 1, 2, ...) broadcast to out's shape.
func (n *Nest) Elementwise(out *tensor.Tensor, ins ...*tensor.Tensor) {
	n.Begin(1 + len(ins))
	shape, outStrides := out.Shape(), out.Strides()
	for _, d := range out.DimOrder() {
		var s [MaxOperands]int
		s[0] = outStrides[d]
		for k, in := range ins {
			s[1+k] = broadcastStride(in, int(d), len(shape))
		}
		n.Dim(shape[d], s)
	}
}

// broadcastStride returns the stride of in along dimension d of a shape of the
// given rank that in is broadcast to.
func broadcastStride(in *tensor.Tensor, d, rank int) int {
	d -= rank - in.Rank()
	if d < 0 || in.Shape()[d] == 1 {
		return 0
	}
	return in.Strides()[d]
}

// Numel returns the number of elements visited.
func (n *Nest) Numel() int { return n.numel }

// Inner returns the length of the innermost run.
func (n *Nest) Inner() int {
	if n.rank == 0 {
		return n.numel
	}
	return n.sizes[n.rank-1]
}

// Stride returns operand k's stride in the innermost run.
func (n *Nest) Stride(k int) int {
	if n.rank == 0 {
		return 1
	}
	return n.strides[k][n.rank-1]
}

// Cursor is a place in a Nest.
type Cursor struct {
	// Off holds the element offset of the place in each operand.
	Off [MaxOperands]int
	idx [tensor.MaxRank]int
}

// Seek moves c to the element number pos in visiting order.
func (n *Nest) Seek(c *Cursor, pos int) {
	*c = Cursor{}
	for d := n.rank - 1; d >= 0; d-- {
		i := pos % n.sizes[d]
		pos /= n.sizes[d]
		c.idx[d] = i
		for k := range n.ops {
			c.Off[k] += i * n.strides[k][d]
		}
	}
}

// Run returns how many elements, at most limit, follow c in its innermost run;
// they are Stride apart in each operand. Advance moves on by as many.
func (n *Nest) Run(c *Cursor, limit int) int {
	if n.rank == 0 {
		return min(limit, 1)
	}
	return min(limit, n.sizes[n.rank-1]-c.idx[n.rank-1])
}

// Advance moves c by count elements, which must not exceed what Run returned.
func (n *Nest) Advance(c *Cursor, count int) {
	if n.rank == 0 {
		return
	}
	d := n.rank - 1
	c.idx[d] += count
	for k := range n.ops {
		c.Off[k] += count * n.strides[k][d]
	}
	for d > 0 && c.idx[d] == n.sizes[d] {
		for k := range n.ops {
			c.Off[k] += n.strides[k][d-1] - n.sizes[d]*n.strides[k][d]
		}
		c.idx[d] = 0
		d--
		c.idx[d]++
	}
}
