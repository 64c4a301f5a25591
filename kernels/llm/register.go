// Package llm holds ExecuTorch's custom operators for language models: attention
// over a key/value cache, updates of caches, the gated delta rule of linear
// attention, the Hadamard transform, and the cutting of images into tiles.
package llm

import "github.com/etgo-ml/etgo/runtime"

// Register adds all operators of the package to reg. An application that wants
// some only registers their variables itself; the others are not linked then.
func Register(reg *runtime.Registry) error {
	return reg.Register(
		CustomSDPA, CustomQuantizedSDPA, SDPAWithKVCache,
		UpdateCache, UpdateCacheWithIndices,
		GatedDeltaRule,
		FastHadamardTransform,
		TileCrop,
		Fallback,
	)
}
