package gemm

// rows is how many lanes of A tile multiplies: with four of B, eight sums and
// their operands are what the 16 vector registers of amd64 hold.
const rows = 2

// tile computes
//
//	c[i*width+j] = sum over s of a[s*width+i] * b[s*width+j]
//
// for i < rows and j < width, the sums in the order of s. The length of a and b
// is the same multiple of 2*width.
func tile[T Number](a, b []T) (c [rows * width]T) {
	var c00, c01, c02, c03, c10, c11, c12, c13 T
	for len(a) >= 8 && len(b) >= 8 {
		a0, a1 := a[0], a[1]
		b0, b1, b2, b3 := b[0], b[1], b[2], b[3]
		c00 += a0 * b0
		c01 += a0 * b1
		c02 += a0 * b2
		c03 += a0 * b3
		c10 += a1 * b0
		c11 += a1 * b1
		c12 += a1 * b2
		c13 += a1 * b3
		a0, a1 = a[4], a[5]
		b0, b1, b2, b3 = b[4], b[5], b[6], b[7]
		c00 += a0 * b0
		c01 += a0 * b1
		c02 += a0 * b2
		c03 += a0 * b3
		c10 += a1 * b0
		c11 += a1 * b1
		c12 += a1 * b2
		c13 += a1 * b3
		a, b = a[8:], b[8:]
	}
	return [...]T{c00, c01, c02, c03, c10, c11, c12, c13}
}
