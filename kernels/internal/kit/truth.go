package kit

import "github.com/etgo-ml/etgo/tensor"

// LoadTruth stores for len(dst) elements of src, of a real type or bool, which are
// stride apart in memory from element off on, whether they differ from zero: 1 or
// 0. NaN does.
func LoadTruth(dst []uint8, src *tensor.Tensor, off, stride int) {
	float := src.DType().IsFloat()
	switch src.DType().Size() {
	case 1:
		loadTruth(dst, tensor.Cast[uint8](src.Bytes()), off, stride, false)
	case 2:
		loadTruth(dst, tensor.Cast[uint16](src.Bytes()), off, stride, float)
	case 4:
		loadTruth(dst, tensor.Cast[uint32](src.Bytes()), off, stride, float)
	case 8:
		loadTruth(dst, tensor.Cast[uint64](src.Bytes()), off, stride, float)
	}
}

// loadTruth looks at the bits of integers, or of floats, of which the sign does
// not count.
func loadTruth[S uint8 | uint16 | uint32 | uint64](dst []uint8, src []S, off, stride int, float bool) {
	mask := ^S(0)
	if float {
		mask >>= 1
	}
	if stride == 1 {
		for i, v := range src[off:][:len(dst)] {
			dst[i] = truth(v&mask != 0)
		}
		return
	}
	for i := range dst {
		dst[i] = truth(src[off]&mask != 0)
		off += stride
	}
}

func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
