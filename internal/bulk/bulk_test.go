package bulk

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCopy(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 511, 512, 513, 5000} {
		src, dst := make([]uint64, n), make([]uint64, n)
		for i := range src {
			src[i] = uint64(i) + 1
		}
		Copy(dst, src, 8)
		assert.Equal(t, src, dst)
	}
	b := []byte{1, 2, 3}
	Copy(b, b, 1)
	assert.Equal(t, []byte{1, 2, 3}, b)
}
