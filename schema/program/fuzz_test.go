package program

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/schema"
)

// check decodes a file, which may be anything, and requires of a program that
// comes out of it what Decode promises.
func check(t *testing.T, file []byte) {
	p, err := Decode(file)
	if err != nil {
		require.Nil(t, p)
		require.ErrorIs(t, err, errs.InvalidProgram)
		require.NotEmpty(t, err.Error())
		return
	}
	for i := range p.NamedData {
		_ = p.Segments[p.NamedData[i].Segment]
	}
	for i := range p.Plans {
		checkPlan(t, &p.Plans[i])
	}
	total := 0
	for _, s := range p.Segments {
		total += len(s)
	}
	if total > 1<<20 {
		return // segments that overlap are written one by one
	}
	again, err := Encode(p)
	require.NoError(t, err)
	q, err := Decode(again)
	require.NoError(t, err)
	third, err := Encode(q)
	require.NoError(t, err)
	require.Equal(t, again, third)
}

// checkPlan uses all that a runtime may use without looking.
func checkPlan(t *testing.T, p *Plan) {
	for _, list := range [][]int32{p.Inputs, p.Outputs} {
		for _, v := range list {
			_ = p.Values[v]
		}
	}
	for i := range p.Values {
		v := &p.Values[i]
		switch v.Kind {
		case KindNone:
			t.Errorf("value %d holds nothing", i)
		case KindTensor:
			checkTensor(t, p, v.Tensor)
		case KindTensorList:
			for _, item := range v.Items {
				require.Equal(t, KindTensor, p.Values[item].Kind)
			}
		case KindOptionalTensorList:
			for _, item := range v.Items {
				require.True(t, item == -1 || p.Values[item].Kind == KindNull || p.Values[item].Kind == KindTensor)
			}
		case KindIntList:
			for _, item := range v.Items {
				require.False(t, p.Values[item].Kind.isList())
			}
		}
		require.LessOrEqual(t, v.Kind, KindOptionalTensorList)
	}
	require.NotEmpty(t, p.Chains)
	for _, c := range p.Chains {
		for _, in := range c.Instructions {
			switch in.Kind {
			case KernelCall:
				_ = p.Operators[in.Index]
			case DelegateCall:
				_ = p.Delegates[in.Index]
			case MoveCall:
				_, _ = p.Values[in.Index], p.Values[in.To]
			case JumpFalseCall:
				_ = p.Values[in.Index]
				require.True(t, in.To >= 0 && int(in.To) <= len(c.Instructions))
			case FreeCall:
				require.Equal(t, KindTensor, p.Values[in.Index].Kind)
			default:
				t.Errorf("instruction of kind %d", in.Kind)
			}
			for _, v := range in.Args {
				_ = p.Values[v]
			}
		}
	}
	for _, d := range p.BufferDevices {
		_ = p.BufferSizes[d.Buffer]
	}
}

func checkTensor(t *testing.T, p *Plan, x *Tensor) {
	require.True(t, x.Type.Valid())
	require.LessOrEqual(t, len(x.Sizes), schema.MaxDims)
	require.NoError(t, schema.CheckDimOrder(x.DimOrder, len(x.Sizes)))
	require.True(t, x.NBytes >= 0)
	if x.Data != nil {
		require.Len(t, x.Data, int(x.NBytes))
	}
	require.Equal(t, x.DataBuffer != 0 && x.Location == LocationSegment, x.Data != nil)
	if a := x.Allocation; a != nil {
		require.NotZero(t, a.MemoryID)
		require.LessOrEqual(t, a.Offset, uint64(p.BufferSizes[a.MemoryID]))
		require.LessOrEqual(t, uint64(x.NBytes), uint64(p.BufferSizes[a.MemoryID])-a.Offset)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(encode(f, everything()))
	for _, length := range []uint32{24, 40} {
		p := everything()
		p.Header.Length = length
		f.Add(encode(f, p))
	}
	p := simple(tensorValue(Tensor{Type: schema.Int, Sizes: []int32{2}, DimOrder: []uint8{0}, DataBuffer: 1}), Value{Kind: KindBool})
	p.ConstantBuffers = [][]byte{nil, sequence(16)}
	p.Plans[0].Chains[0].Instructions = []Instruction{{Kind: JumpFalseCall, Index: 1, To: 2}, {Kind: KernelCall, Args: []int32{0, 0}}}
	f.Add(encode(f, p))
	// Small programs are quicker to get somewhere with.
	whole := everything().Plans[0]
	for i := range whole.Values {
		if v := whole.Values[i]; !v.Kind.isList() && (v.Tensor == nil || v.Tensor.Allocation == nil) {
			f.Add(encode(f, simple(v)))
		}
	}
	f.Add(aliased(f, simple(Value{Kind: KindIntList, Items: []int32{1}}, Value{Kind: KindInt}), 5))
	f.Fuzz(check)
}
