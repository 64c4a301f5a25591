// Package quantized holds ExecuTorch's operators on quantised tensors: those of
// quantized_decomposed, which quantise, dequantise and choose parameters, look up
// and multiply with quantised weights, and the affine ones of torchao.
//
// A quantised number q stands for (q - zero point) * scale. Scales and zero
// points belong to the whole tensor, to a channel, to a token (a row along the
// last dimension) or to a block.
package quantized

import "github.com/etgo-ml/etgo/runtime"

// Register adds all operators of the package to reg. An application that wants
// some only registers their variables itself; the others are not linked then.
func Register(reg *runtime.Registry) error {
	return reg.Register(
		QuantizePerTensor, QuantizePerChannel, QuantizePerToken,
		DequantizePerTensor, DequantizePerChannel, DequantizePerToken,
		ChooseQParams, ChooseQParamsPerToken,
		EmbeddingByte, Embedding4Bit, Embedding2Bit,
		MixedMM, MixedLinear,
		Add,
		QuantizeAffine, DequantizeAffine, ChooseQParamsAffine,
	)
}
