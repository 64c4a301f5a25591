package schema

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScalarTypes(t *testing.T) {
	for s := range ScalarType(30) {
		require.True(t, s.Valid())
		require.NotZero(t, s.Size())
		require.NotContains(t, s.String(), "ScalarType")
	}
	for _, s := range []ScalarType{-1, -128, 30, 127} {
		require.False(t, s.Valid())
		require.Zero(t, s.Size())
		require.Contains(t, s.String(), "ScalarType")
	}
	require.Equal(t, "bfloat16", BFloat16.String())
}

func TestNBytes(t *testing.T) {
	const big = math.MaxInt32
	for _, tt := range []struct {
		typ   ScalarType
		sizes []int32
		want  int64
		err   string
	}{
		{Float, nil, 4, ""},
		{Float, []int32{2, 3}, 24, ""},
		{Double, []int32{0, 3}, 0, ""},
		{Double, make([]int32, 16), 0, ""},
		{Byte, []int32{big, big}, big * big, ""},
		{Float, []int32{big, big}, math.MaxInt64, ""},
		{Double, []int32{big, big}, 0, "float64[2147483647 2147483647]: its size overflows 64 bits"},
		{Byte, []int32{big, big, 3}, 0, "overflows"},
		{Byte, []int32{65536, 65536, 65536, 65536}, 0, "overflows"},
		{Byte, []int32{0, big, big, big}, 0, "overflows"},
		{Float, []int32{3, -1}, 0, "dimension 1 has the negative size -1"},
		{Float, make([]int32, 17), 0, "tensor has 17 dimensions, at most 16"},
		{30, nil, 0, "scalar type 30 is unknown"},
		{-1, nil, 0, "scalar type -1 is unknown"},
	} {
		n, err := NBytes(tt.typ, tt.sizes)
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, tt.want, n)
	}
}

func TestCheckDimOrder(t *testing.T) {
	require.NoError(t, CheckDimOrder(nil, 0))
	require.NoError(t, CheckDimOrder([]uint8{0, 2, 3, 1}, 4))
	for _, order := range [][]uint8{{}, {0}, {0, 0}, {0, 2}, {255, 0}, {0, 1, 2}} {
		require.Error(t, CheckDimOrder(order, 2))
	}
}

// flatbuffer returns the head of a flatbuffer with a file identifier.
func flatbuffer(id string) []byte {
	return append([]byte{0x3c, 0, 0, 0}, id+strings.Repeat("\x00\x01", 40)...)
}

func zip(entry string) []byte {
	b := make([]byte, 30)
	copy(b, "PK\x03\x04")
	binary.LittleEndian.PutUint16(b[26:], uint16(len(entry)))
	return append(b, entry+"content"...)
}

func TestSniff(t *testing.T) {
	sized := append([]byte{0, 1, 0, 0}, flatbuffer("ED00")...)
	safetensors := append(binary.LittleEndian.AppendUint64(nil, 20), `{"w":{"dtype":"F32"}`...)
	for _, tt := range []struct {
		head string
		kind FormatKind
		id   string
		text string
	}{
		{"", FormatEmpty, "", "an empty file"},
		{string(flatbuffer("ET12")), FormatProgram, "ET12", "an ExecuTorch program (ET12)"},
		{string(flatbuffer("ET11")), FormatProgram, "ET11", "an ExecuTorch program (ET11)"},
		{"\x80\x02" + string(flatbuffer("ET12")[2:]), FormatProgram, "ET12", "an ExecuTorch program (ET12)"}, // not a pickle
		{string(flatbuffer("BP08")), FormatBundle, "BP08", "a bundled program (.bpte, BP08)"},
		{string(flatbuffer("FT01")), FormatData, "FT01", "an ExecuTorch data file (.ptd, FT01)"},
		{string(flatbuffer("ED00")), FormatETDump, "ED00", "an ETDump profile (ED00)"},
		{string(sized), FormatETDump, "ED00", "an ETDump profile (ED00)"},
		{string(flatbuffer("TFL3")), FormatFlatbuffer, "TFL3", "a TensorFlow Lite model"},
		{string(flatbuffer("ORTM")), FormatFlatbuffer, "ORTM", "an ONNX Runtime model (.ort)"},
		{string(flatbuffer("XH00")), FormatFlatbuffer, "XH00", "the payload of an XNNPACK delegate (XH00)"},
		{string(flatbuffer("ABCD")), FormatUnknown, "", "of no known format"},
		{string(zip("readme.txt")), FormatZip, "", "a zip archive"},
		{"PK\x05\x06" + strings.Repeat("\x00", 18), FormatZip, "", "a zip archive"},
		{"PK\x03\x04", FormatZip, "", "a zip archive"},
		{string(zip("model/data.pkl")), FormatTorch, "", "a PyTorch archive"},
		{string(zip("archive/constants.pkl")), FormatTorch, "", "a PyTorch archive"},
		{string(zip("m/code/__torch__.py")), FormatTorch, "", "a PyTorch archive"},
		{string(zip("serialized_exported_program.json")), FormatTorch, "", "a PyTorch archive"},
		{"\x80\x02}q\x00", FormatPickle, "", "a Python pickle"},
		{string(safetensors), FormatSafetensors, "", "a safetensors file"},
		{"GGUF\x03\x00\x00\x00", FormatGGUF, "", "a GGUF file"},
		{"\x08\x07\x12\x07pytorch\x1a\x051.8", FormatONNX, "", "an ONNX model"},
		{"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", FormatLFSPointer, "", "a git-lfs pointer"},
		{"\n<!DOCTYPE html><html>", FormatHTML, "", "a web page"},
		{"<html lang=en>", FormatHTML, "", "a web page"},
		{"# a placeholder for the model\n", FormatText, "", "a text file"},
		{"héllo wörl" + "\xc3", FormatText, "", "a text file"},
		{"the ET12 of a text", FormatText, "", "a text file"},
		{"\x00\x01\x02", FormatUnknown, "", "of no known format"},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", FormatUnknown, "", "of no known format"},
		{strings.Repeat("\x00", 600), FormatUnknown, "", "of no known format"},
	} {
		f := Sniff([]byte(tt.head), int64(len(tt.head)))
		require.Equal(t, tt.kind, f.Kind, "%.20q", tt.head)
		require.Equal(t, tt.id, f.ID)
		require.Contains(t, f.String(), tt.text)
	}
}

func TestSniffTruncated(t *testing.T) {
	program := flatbuffer("ET12")
	copy(program[8:], "eh00")
	le := binary.LittleEndian
	le.PutUint32(program[12:], 32)
	le.PutUint64(program[16:], 1000) // program
	le.PutUint64(program[24:], 1024) // base
	le.PutUint64(program[32:], 500)  // data
	require.Zero(t, Sniff(program, 1524).Need)
	require.Equal(t, int64(1524), Sniff(program, 1523).Need)
	require.Equal(t, "an ExecuTorch program (ET12) that is truncated: it needs 1524 bytes and has 99", Sniff(program, 99).String())
	le.PutUint32(program[12:], 24) // the size of the data is something else
	require.Equal(t, int64(1000), Sniff(program, 99).Need)
	le.PutUint64(program[16:], math.MaxUint64)
	require.Zero(t, Sniff(program, 99).Need, "nonsense")

	data := flatbuffer("FT01")
	copy(data[8:], "FH01")
	le.PutUint32(data[12:], 40)
	le.PutUint64(data[16:], 48)  // offset of the flatbuffer
	le.PutUint64(data[24:], 200) // its size
	le.PutUint64(data[32:], 256)
	le.PutUint64(data[40:], 12)
	require.Zero(t, Sniff(data, 268).Need)
	require.Equal(t, int64(268), Sniff(data, 100).Need)
}

func TestExpect(t *testing.T) {
	expect := func(id string, head string) string {
		err := Expect(id, []byte(head), int64(len(head)))
		if err == nil {
			return ""
		}
		return err.Error()
	}
	require.Empty(t, expect(ProgramID, string(flatbuffer("ET12"))))
	require.Equal(t, "an ExecuTorch program of another version: ET12 expected, file says ET11", expect(ProgramID, string(flatbuffer("ET11"))))
	require.Equal(t, "a bundled program of another version: BP08 expected, file says BP07", expect(BundleID, string(flatbuffer("BP07"))))
	require.Equal(t, "not an ExecuTorch program (ET12): a bundled program (.bpte, BP08); open it as a bundle", expect(ProgramID, string(flatbuffer("BP08"))))
	require.Equal(t, "not a bundled program (BP08): an ExecuTorch program (ET12); open it as a program", expect(BundleID, string(flatbuffer("ET12"))))
	require.Equal(t, "not an ExecuTorch data file (FT01): an ExecuTorch program (ET12); open it as a program", expect(DataID, string(flatbuffer("ET12"))))
	require.Equal(t, "not an ExecuTorch program (ET12): an ExecuTorch data file (.ptd, FT01); give it as a data file beside its program", expect(ProgramID, string(flatbuffer("FT01"))))
	require.Equal(t, "not an ExecuTorch program (ET12): a zip archive (a PyTorch checkpoint or TorchScript?)", expect(ProgramID, string(zip("a/b"))))
	require.Equal(t, "not an ExecuTorch program (ET12): a git-lfs pointer; run git lfs pull", expect(ProgramID, "version https://git-lfs.github.com/spec/v1\n"))
	require.Equal(t, "not an ExecuTorch program (ET12): an empty file", expect(ProgramID, ""))
	require.Equal(t, "not an ExecuTorch program (ET12): a GGUF file; export the model with ExecuTorch to get a .pte", expect(ProgramID, "GGUF\x03\x00\x00\x00"))
}

func FuzzSniff(f *testing.F) {
	for _, id := range []string{"ET12", "FT01", "ED00"} {
		f.Add(flatbuffer(id), int64(100))
	}
	f.Add(zip("a/data.pkl"), int64(5))
	f.Add([]byte("\x08\x07\x12\xffpytorch"), int64(10))
	f.Fuzz(func(t *testing.T, head []byte, size int64) {
		require.NotEmpty(t, Sniff(head, size).String())
		_ = Expect(ProgramID, head, size)
	})
}
