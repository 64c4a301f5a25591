package portable

import (
	"math"
	"testing"

	"github.com/etgo-ml/etgo/tensor"
)

func TestCompare(t *testing.T) {
	a, b := tensor.Of([]float32{1, 2, nan32}), tensor.Of([]float32{2, 2, 2})
	// As F32, in which different types with a float are compared, the two are equal.
	big := tensor.Of([]int64{1 << 53})
	bigPlus := tensor.Of([]float64{1<<53 + 2})
	runBinaryCases(t, []binaryCase{
		{"eq", Eq, "aten::eq.Tensor_out", []any{a, b}, tensor.Of([]bool{false, true, false})},
		{"ne", Ne, "aten::ne.Tensor_out", []any{a, b}, tensor.Of([]bool{true, false, true})},
		{"lt", Lt, "aten::lt.Tensor_out", []any{a, b}, tensor.Of([]bool{true, false, false})},
		{"le", Le, "aten::le.Tensor_out", []any{a, b}, tensor.Of([]bool{true, true, false})},
		{"gt", Gt, "aten::gt.Tensor_out", []any{a, b}, tensor.Of([]bool{false, false, false})},
		{"ge", Ge, "aten::ge.Tensor_out", []any{a, b}, tensor.Of([]bool{false, true, false})},
		{"one on the left", Lt, "aten::lt.Tensor_out", []any{tensor.Scalar(float32(1.5)), a}, tensor.Of([]bool{false, true, false})},
		{"to float", Lt, "aten::lt.Tensor_out", []any{a, b}, tensor.Of([]float32{1, 0, 0})},
		{"to int", Ge, "aten::ge.Scalar_out", []any{a, 2}, tensor.Of([]int64{0, 1, 0})},
		{"mixed as float32", Eq, "aten::eq.Tensor_out", []any{big, bigPlus}, tensor.Of([]bool{true})},
		{"float64", Eq, "aten::eq.Tensor_out", []any{tensor.Of([]float64{1 << 53}), bigPlus}, tensor.Of([]bool{false})},
		{"int with fraction", Gt, "aten::gt.Scalar_out", []any{tensor.Of([]int32{2, 3}), 2.5}, tensor.Of([]bool{false, true})},
		{"scalar wraps", Eq, "aten::eq.Scalar_out", []any{tensor.Of([]uint8{255}), -1}, tensor.Of([]bool{true})},
		{"bool and scalar", Eq, "aten::eq.Scalar_out", []any{tensor.Of([]bool{true, false}), 2}, tensor.Of([]bool{false, false})},
	})
}

func TestBitwise(t *testing.T) {
	a, b := tensor.Of([]int32{6, -1, 1}), tensor.Of([]int8{3, 5, 0})
	bools := tensor.Of([]bool{true, false})
	runBinaryCases(t, []binaryCase{
		{"and", BitwiseAnd, "aten::bitwise_and.Tensor_out", []any{a, b}, tensor.Of([]int32{2, 5, 0})},
		{"or", BitwiseOr, "aten::bitwise_or.Scalar_out", []any{b, 8}, tensor.Of([]int8{11, 13, 8})},
		{"xor bools", BitwiseXor, "aten::bitwise_xor.Scalar_out", []any{bools, true}, tensor.Of([]bool{false, true})},
		{"and bool with int", BitwiseAnd, "aten::bitwise_and.Scalar_out", []any{bools, 3}, tensor.Of([]int64{1, 0})},
		{"not", BitwiseNot, "aten::bitwise_not.out", []any{b}, tensor.Of([]int8{-4, -6, -1})},
		{"not bool", BitwiseNot, "aten::bitwise_not.out", []any{bools}, tensor.Of([]bool{false, true})},
		{"left shift", BitwiseLeftShift, "aten::bitwise_left_shift.Tensor_out", []any{a, b}, tensor.Of([]int32{48, -32, 1})},
		{"left shift by 33", BitwiseLeftShift, "aten::bitwise_left_shift.Tensor_Scalar_out", []any{a, 33}, tensor.Of([]int32{12, -2, 2})},
		{"left shift int8", BitwiseLeftShift, "aten::bitwise_left_shift.Tensor_Scalar_out", []any{b, 9}, tensor.Of([]int8{0, 0, 0})},
		{"left shift int64 by -1", BitwiseLeftShift, "aten::bitwise_left_shift.Tensor_Scalar_out", []any{tensor.Of([]int64{1}), -1}, tensor.Of([]int64{math.MinInt64})},
		{"right shift", BitwiseRightShift, "aten::bitwise_right_shift.Tensor_Scalar_out", []any{a, 1}, tensor.Of([]int32{3, -1, 0})},
		{"right shift uint8", BitwiseRightShift, "aten::bitwise_right_shift.Tensor_Scalar_out", []any{tensor.Of([]uint8{200}), 3}, tensor.Of([]uint8{25})},
		{"shift bools", BitwiseRightShift, "aten::bitwise_right_shift.Tensor_out", []any{bools, tensor.Of([]bool{false})}, bools},
	})
}

func TestLogical(t *testing.T) {
	// More than eight elements, of which the loops take eight at a time.
	a := tensor.Of([]float32{0, 1, 0.25, nan32, 0, -1, inf32, 0, 1, 0})
	b := tensor.Of([]int64{0, 0, 1 << 32, 1, 1, 0, 0, 0, 1, 1})
	runBinaryCases(t, []binaryCase{
		{"and", LogicalAnd, "aten::logical_and.out", []any{a, b}, tensor.Of([]bool{false, false, true, true, false, false, false, false, true, false})},
		{"or", LogicalOr, "aten::logical_or.out", []any{a, b}, tensor.Of([]bool{false, true, true, true, true, true, true, false, true, true})},
		{"xor", LogicalXor, "aten::logical_xor.out", []any{a, b}, tensor.Of([]bool{false, true, false, false, true, true, true, false, false, true})},
		{"not", LogicalNot, "aten::logical_not.out", []any{a}, tensor.Of([]bool{true, false, false, false, true, false, false, true, false, true})},
		{"not to float", LogicalNot, "aten::logical_not.out", []any{tensor.Of([]uint8{0, 2, 128})}, tensor.Of([]float32{1, 0, 0})},
		{"half zeros", LogicalNot, "aten::logical_not.out", []any{tensor.Of([]tensor.Float16{0x8000, 0, 1})}, tensor.Of([]bool{true, true, false})},
	})
}
