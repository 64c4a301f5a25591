package valuefile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/etgo-ml/etgo/internal/errs"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// newTensor returns a tensor whose bytes in memory order count up.
func newTensor(t testing.TB, dtype tensor.DType, order tensor.DimOrder, shape ...int) *tensor.Tensor {
	x, err := tensor.New(dtype, shape, tensor.WithDimOrder(order))
	require.NoError(t, err)
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(i)
	}
	return x
}

func requireEqual(t *testing.T, want, got runtime.EValue) {
	t.Helper()
	require.Equal(t, want.Kind(), got.Kind())
	require.Equal(t, want.String(), got.String())
	if w, g := want.Tensor(), got.Tensor(); w != nil {
		require.Equal(t, w.DimOrder(), g.DimOrder())
		require.Equal(t, w.Bytes(), g.Bytes())
	}
}

func TestRoundTrip(t *testing.T) {
	var values []Value
	add := func(v runtime.EValue) { values = append(values, Value{EValue: v}) }
	for d := tensor.DType(0); d.Valid(); d++ {
		add(runtime.TensorValue(newTensor(t, d, nil)))
		add(runtime.TensorValue(newTensor(t, d, nil, 0, 3)))
		add(runtime.TensorValue(newTensor(t, d, tensor.ChannelsLast(4), 2, 3, 4, 5)))
		add(runtime.TensorValue(newTensor(t, d, tensor.DimOrder{2, 0, 1}, 2, 3, 4)))
	}
	add(runtime.None())
	add(runtime.Bool(true))
	add(runtime.Bool(false))
	add(runtime.Int(math.MinInt64))
	for _, f := range []float64{1, 0.1, math.Copysign(0, -1), math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()} {
		add(runtime.Double(f))
	}
	add(runtime.String("a\n<\x00>é"))
	add(runtime.IntList(1, -2))
	add(runtime.IntList())
	add(runtime.BoolList(true, false))
	add(runtime.DoubleList(1, math.Inf(1)))
	x := newTensor(t, tensor.F32, nil, 2)
	add(runtime.TensorList(x, x))
	add(runtime.OptionalTensorList(nil, x))

	path := filepath.Join(t.TempDir(), "values.npz")
	require.NoError(t, WriteFile(path, values))
	got, err := ReadFile(path)
	require.NoError(t, err)
	require.Len(t, got, len(values))
	for i := range values {
		requireEqual(t, values[i].EValue, got[i])
	}
}

func TestWriteNames(t *testing.T) {
	var b bytes.Buffer
	sidecar, err := write(&b, []Value{
		{EValue: runtime.TensorValue(tensor.Scalar(int64(1))), Name: "cache.k", Method: "forward"},
		{EValue: runtime.Double(2)},
	})
	require.NoError(t, err)
	require.Equal(t, `{"values":[{"kind":"tensor","name":"cache.k","method":"forward","array":"arr_0","dtype":"int64","sizes":[],"dim_order":[]},`+
		`{"kind":"float","value":2.0}]}`+"\n", string(sidecar))
}

// The files in testdata were written by NumPy.

func TestReadNumPy(t *testing.T) {
	dtypes := []tensor.DType{
		tensor.Bool, tensor.U8, tensor.I8, tensor.U16, tensor.I16, tensor.U32, tensor.I32, tensor.U64, tensor.I64,
		tensor.F16, tensor.F32, tensor.F64, tensor.C64, tensor.C128,
	}
	want, err := ReadFile("testdata/dtypes.npz")
	require.NoError(t, err)
	require.Len(t, want, len(dtypes))
	for i := range want {
		require.Equal(t, tensor.Describe(dtypes[i], []int{2, 3}), want[i].String())
	}
	require.Equal(t, []float32{0, 1, 2, 3, 4, 5}, tensor.Raw[float32](want[10].Tensor()))
	require.Equal(t, tensor.ToFloat16(5), tensor.Raw[tensor.Float16](want[9].Tensor())[5])
	require.Equal(t, complex(2, -2), tensor.Raw[complex128](want[13].Tensor())[2])
	for _, name := range []string{"compressed", "big_endian", "fortran"} {
		got, err := ReadFile("testdata/" + name + ".npz")
		require.NoError(t, err, name)
		require.Len(t, got, len(want))
		for i := range want {
			requireEqual(t, want[i], got[i])
		}
	}
}

func TestReadNumPyOrder(t *testing.T) {
	many, err := ReadFile("testdata/many.npz")
	require.NoError(t, err)
	require.Len(t, many, 12)
	for i := range many {
		require.Equal(t, []int8{int8(i)}, tensor.Raw[int8](many[i].Tensor()))
	}
	names, err := ReadFile("testdata/names.npz")
	require.NoError(t, err)
	require.Equal(t, []int8{1}, tensor.Raw[int8](names[0].Tensor()))
	empty, err := ReadFile("testdata/empty.npz")
	require.NoError(t, err)
	require.Empty(t, empty)
}

func TestReadNumPyShapes(t *testing.T) {
	values, err := ReadFile("testdata/shapes.npz")
	require.NoError(t, err)
	require.Equal(t, "[float32[] int64[0,3] float32[1,2,3,4]]", fmt.Sprint(values))
	for _, name := range []string{"one.npy", "version2.npy"} {
		values, err := ReadFile("testdata/" + name)
		require.NoError(t, err)
		require.Equal(t, "[float32[2,3]]", fmt.Sprint(values))
	}
}

func TestReadNumPySidecar(t *testing.T) {
	values, err := ReadFile("testdata/sidecar.npz")
	require.NoError(t, err)
	require.Equal(t, `[float32[1,2,3,4] dim order [0 2 3 1] None true 9007199254740993 1.5 -Inf "x" bfloat16[2] int64[]]`, fmt.Sprint(values))
	// The array is in logical order, the tensor in its own.
	x := values[0].Tensor()
	require.Equal(t, []float32{0, 12, 1, 13}, tensor.Raw[float32](x)[:4])
	require.Equal(t, float32(13), tensor.Raw[float32](x.Contiguous())[13])
	require.Equal(t, float32(-2), tensor.Raw[tensor.BFloat16](values[7].Tensor())[1].Float32())
}

// npyBytes returns an array file with a header of the given text.
func npyBytes(dict string, data ...byte) []byte {
	b := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(b[8:], uint16(len(dict)+1))
	return append(append(append(b, dict...), '\n'), data...)
}

func dict(descr, shape string) string {
	return fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s, }", descr, shape)
}

type entryFile struct {
	name string
	data []byte
}

func npzBytes(t testing.TB, entries ...entryFile) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		w, err := z.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Store})
		require.NoError(t, err)
		_, err = w.Write(e.data)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

func readBytes(file []byte, sidecar string) ([]runtime.EValue, error) {
	var s []byte
	if sidecar != "" {
		s = []byte(sidecar)
	}
	return read(bytes.NewReader(file), int64(len(file)), s)
}

func TestReadHostileArrays(t *testing.T) {
	f4 := dict("'<f4'", "(1,)")
	for name, tc := range map[string]struct {
		npy  []byte
		want string
	}{
		"no array":          {[]byte("hello, world"), "not a NumPy array"},
		"cut off":           {npyBytes(f4)[:20], "header cut off"},
		"no dictionary":     {npyBytes("hello"), "invalid dictionary"},
		"no line end":       {append([]byte("\x93NUMPY\x01\x00\x05\x00"), "hello"...), "malformed header"},
		"no header":         {[]byte("\x93NUMPY\x01\x00\x00\x00"), "malformed header"},
		"keys only":         {npyBytes("'descr': 'fortran_order': 'shape': "), "malformed header"},
		"brace first":       {npyBytes("}'descr': '<f4', 'fortran_order': False, 'shape': (1,)"), "malformed header"},
		"version 9":         {append([]byte("\x93NUMPY\x09\x00\x01\x00\x00\x00"), "\n"...), "invalid major version"},
		"huge header":       {append([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"), "\n"...), "a header of more than"},
		"objects":           {npyBytes(dict("'|O'", "(1,)")), "Python objects"},
		"records":           {npyBytes(dict("[('a', '<i4')]", "(1,)")), "records"},
		"text":              {npyBytes(dict("'<U3'", "(1,)")), "NumPy type"},
		"time":              {npyBytes(dict("'<M8[ns]'", "(1,)")), "NumPy type"},
		"no type":           {npyBytes(dict("''", "(1,)")), "NumPy type"},
		"negative size":     {npyBytes(dict("'<f4'", "(-1,)")), "negative"},
		"overflow":          {npyBytes(dict("'<f4'", "(4294967296, 4294967296)")), "too many elements"},
		"overflow of bytes": {npyBytes(dict("'<f8'", "(2305843009213693952,)")), "too many bytes"},
		"rank 17":           {npyBytes(dict("'<f4'", "("+strings.Repeat("1, ", 17)+")")), "rank 17"},
		"too short":         {npyBytes(f4, 1, 2, 3), "bytes where float32[1] takes"},
		"too long":          {npyBytes(f4, 1, 2, 3, 4, 5), "bytes where float32[1] takes"},
		"a terabyte":        {npyBytes(dict("'<f4'", "(1099511627776,)")), "bytes where"},
		"no shape":          {npyBytes(dict("'<f4'", "x")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readBytes(npzBytes(t, entryFile{"arr_0.npy", tc.npy}), "")
			require.ErrorContains(t, err, tc.want)
			_, err = readBytes(tc.npy, "")
			require.Error(t, err)
		})
	}
}

func TestReadHostileArchives(t *testing.T) {
	x := npyBytes(dict("'|u1'", "(4,)"), 1, 2, 3, 4)
	valid := npzBytes(t, entryFile{"arr_0.npy", x})

	_, err := readBytes(npzBytes(t, entryFile{"arr_0.npy", x}, entryFile{"arr_0.npy", x}), "")
	require.ErrorContains(t, err, "two arrays")
	_, err = readBytes(npzBytes(t, entryFile{"readme.txt", x}), "")
	require.ErrorContains(t, err, "no NumPy array")
	_, err = readBytes(nil, "")
	require.ErrorContains(t, err, "an empty file")
	_, err = readBytes([]byte("\x80\x04pickle"), "")
	require.ErrorContains(t, err, "a Python pickle")
	for n := range valid {
		_, err = readBytes(valid[:n], "")
		require.Error(t, err, "cut to %d bytes", n)
	}

	// The central directory says more than there is.
	claim := func(compressed, size uint32) []byte {
		b := bytes.Clone(valid)
		dir := b[bytes.Index(b, []byte("PK\x01\x02")):]
		binary.LittleEndian.PutUint32(dir[20:], compressed)
		binary.LittleEndian.PutUint32(dir[24:], size)
		return b
	}
	n := uint32(len(x))
	_, err = readBytes(claim(n, n), "")
	require.NoError(t, err)
	_, err = readBytes(claim(1<<30, 1<<30), "")
	require.ErrorContains(t, err, "more bytes than the file has")
	_, err = readBytes(claim(n, n+1), "")
	require.ErrorContains(t, err, "sizes in the archive differ")

	// A compressed array that claims to be beyond the bound.
	bomb := claim(n, maxInflated+1)
	binary.LittleEndian.PutUint16(bomb[bytes.Index(bomb, []byte("PK\x01\x02"))+10:], zip.Deflate)
	_, err = readBytes(bomb, "")
	require.ErrorContains(t, err, "compressed arrays of more than")
}

func TestReadHostileSidecars(t *testing.T) {
	file := npzBytes(t, entryFile{"arr_0.npy", npyBytes(dict("'<u2'", "(2,)"), 1, 2, 3, 4)})
	for sidecar, want := range map[string]string{
		`{`:                                "unexpected end of JSON",
		`[]`:                               "cannot unmarshal",
		`{}`:                               `no "values"`,
		`{"values": [{}]}`:                 `unknown kind ""`,
		`{"values": [3]}`:                  "cannot unmarshal",
		`{"values": []} x`:                 "invalid character",
		`{"values": [{"kind": "tensor"}]}`: `no array ""`,
		`{"values": [{"kind": "tensor", "array": "arr_1"}]}`:                                               `no array "arr_1"`,
		`{"values": [{"kind": "tensor", "array": "arr_0"}, {"kind": "tensor", "array": "arr_0"}]}`:         "used twice",
		`{"values": [{"kind": "tensor", "array": "arr_0", "dtype": "float32"}]}`:                           "not how float32 is stored",
		`{"values": [{"kind": "tensor", "array": "arr_0", "dtype": "qint8"}]}`:                             "not how qint8 is stored",
		`{"values": [{"kind": "tensor", "array": "arr_0", "dtype": "x"}]}`:                                 "unknown dtype",
		`{"values": [{"kind": "tensor", "array": "arr_0", "sizes": [3]}]}`:                                 "the sidecar says sizes [3]",
		`{"values": [{"kind": "tensor", "array": "arr_0", "sizes": [-1, -2]}]}`:                            "the sidecar says sizes",
		`{"values": [{"kind": "tensor", "array": "arr_0", "sizes": [2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}]}`: "rank 17",
		`{"values": [{"kind": "tensor", "array": "arr_0", "dim_order": [1]}]}`:                             "dim order",
		`{"values": [{"kind": "tensor", "array": "arr_0", "dim_order": [256]}]}`:                           "dim order",
		`{"values": [{"kind": "tensor", "array": "arr_0", "sizes": [2, 1], "dim_order": [0, 0]}]}`:         "dim order",
		`{"values": [{"kind": "tensor", "array": "arr_0", "dim_order": [0, 1]}]}`:                          "dim order",
		`{"values": [{"kind": "int"}]}`:                                                                    `no "value"`,
		`{"values": [{"kind": "int", "value": null}]}`:                                                     `no "value"`,
		`{"values": [{"kind": "int", "value": 1.5}]}`:                                                      "cannot unmarshal",
		`{"values": [{"kind": "int", "value": 9223372036854775808}]}`:                                      "cannot unmarshal",
		`{"values": [{"kind": "bool", "value": 1}]}`:                                                       "cannot unmarshal",
		`{"values": [{"kind": "float", "value": "one"}]}`:                                                  "cannot unmarshal",
		`{"values": [{"kind": "float_list", "value": [null]}]}`:                                            "null is no number",
		`{"values": [{"kind": "tensor_list", "items": [{"kind": "none"}]}]}`:                               `kind "none"`,
		`{"values": [{"kind": "tensor_list", "items": [{"kind": "tensor_list"}]}]}`:                        `kind "tensor_list"`,
	} {
		_, err := readBytes(file, sidecar)
		require.ErrorContains(t, err, want, sidecar)
	}
	_, err := readBytes(file, `{"values": [{"kind": "none", "remark": "more keys are allowed"}]}`)
	require.NoError(t, err)
}

func TestReadFileErrors(t *testing.T) {
	_, err := ReadFile("testdata/missing.npz")
	require.ErrorIs(t, err, errs.AccessFailed)
	for name, want := range map[string]string{"objects.npz": "never read", "records.npz": "records", "gen.py": "a text file"} {
		_, err = ReadFile("testdata/" + name)
		require.ErrorIs(t, err, errs.InvalidArgument)
		require.ErrorContains(t, err, want)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.npz")
	require.NoError(t, os.WriteFile(path, npzBytes(t), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.json"), make([]byte, maxSidecar+1), 0o666))
	_, err = ReadFile(path)
	require.ErrorContains(t, err, "a sidecar of")
	require.ErrorIs(t, WriteFile(filepath.Join(dir, "missing", "a.npz"), nil), errs.AccessFailed)
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"one.npy", "version2.npy", "shapes.npz", "compressed.npz", "fortran.npz", "objects.npz"} {
		b, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		f.Add(b, "")
	}
	b, err := os.ReadFile("testdata/sidecar.npz")
	require.NoError(f, err)
	sidecar, err := os.ReadFile("testdata/sidecar.json")
	require.NoError(f, err)
	f.Add(b, string(sidecar))
	f.Fuzz(func(t *testing.T, file []byte, sidecar string) {
		values, err := readBytes(file, sidecar)
		if err != nil {
			return
		}
		// What was read can be written, and is the same when read again.
		list := make([]Value, len(values))
		for i, v := range values {
			list[i].EValue = v
		}
		var out bytes.Buffer
		text, err := write(&out, list)
		require.NoError(t, err)
		again, err := readBytes(out.Bytes(), string(text))
		require.NoError(t, err)
		require.Len(t, again, len(values))
		for i := range values {
			requireEqual(t, values[i], again[i])
		}
	})
}
