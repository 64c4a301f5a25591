package ukernel

// These are the loops that the kernels compute, for the tests. An fma is rounded
// once; here it is computed in float64, where products are exact.

func fma(a, b, c float32) float32 { return float32(float64(a)*float64(b) + float64(c)) }

func gemmF32Generic(rows, mr, nr, k int, a, b []float32, ldb int, c []float32, ldc int, accumulate bool) {
	for i := range rows {
		for j := range nr {
			var sum float32
			for p := range k {
				sum = fma(a[p*mr+i], b[p*ldb+j], sum)
			}
			if accumulate {
				sum += c[i*ldc+j]
			}
			c[i*ldc+j] = sum
		}
	}
}

func axpyF32Generic(y, x, b []float32, ldb int) {
	for j := range y {
		for p, v := range x {
			y[j] = fma(v, b[p*ldb+j], y[j])
		}
	}
}

func dotF32Generic(y, x, b []float32, ldb int) {
	for i := range y {
		var sum float32
		for p, v := range x {
			sum = fma(v, b[i*ldb+p], sum)
		}
		y[i] = sum
	}
}

func tapsF32Generic(y, x []float32, step int, offsets []int, w []float32, bias float32) {
	for i := range y {
		sum := bias
		for t, o := range offsets {
			sum = fma(w[t], x[o+i*step], sum)
		}
		y[i] = sum
	}
}

func transposeF32Generic(dst []float32, step int, src []float32, ld, lanes, k int) {
	for p := range k {
		for i := range lanes {
			dst[p*step+i] = src[i*ld+p]
		}
	}
}
