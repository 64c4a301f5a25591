package valuefile

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/etgo-ml/etgo/devtools/valuefmt"
	"github.com/etgo-ml/etgo/runtime"
	"github.com/etgo-ml/etgo/tensor"
)

// sidecar is the content of the .json file.
type sidecar struct {
	Values []entry `json:"values"`
}

// entry describes a value.
type entry struct {
	Kind     string          `json:"kind"`
	Name     string          `json:"name,omitempty"`
	Method   string          `json:"method,omitempty"`
	Array    string          `json:"array,omitempty"`
	DType    string          `json:"dtype,omitempty"`
	Sizes    []int           `json:"sizes,omitzero"`
	DimOrder []int           `json:"dim_order,omitzero"`
	Value    json.RawMessage `json:"value,omitzero"`
	Items    []entry         `json:"items,omitzero"`
}

func readValues(a *arrays, text []byte) ([]runtime.EValue, error) {
	var s struct {
		Values *[]entry `json:"values"`
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("sidecar: %w", err)
	}
	if s.Values == nil {
		return nil, fmt.Errorf(`sidecar: no "values"`)
	}
	values := make([]runtime.EValue, len(*s.Values))
	for i := range *s.Values {
		var err error
		if values[i], err = (*s.Values)[i].read(a); err != nil {
			return nil, fmt.Errorf("sidecar: value %d: %w", i, err)
		}
	}
	return values, nil
}

func (e *entry) read(a *arrays) (runtime.EValue, error) {
	switch e.Kind {
	case "none":
		return runtime.None(), nil
	case "bool":
		v, err := parse[bool](e.Value)
		return runtime.Bool(v), err
	case "int":
		v, err := parse[int64](e.Value)
		return runtime.Int(v), err
	case "float":
		v, err := parse[valuefmt.Float](e.Value)
		return runtime.Double(float64(v)), err
	case "string":
		v, err := parse[string](e.Value)
		return runtime.String(v), err
	case "int_list":
		v, err := parse[[]int64](e.Value)
		return runtime.IntList(v...), err
	case "bool_list":
		v, err := parse[[]bool](e.Value)
		return runtime.BoolList(v...), err
	case "float_list":
		v, err := parse[[]valuefmt.Float](e.Value)
		list := make([]float64, len(v))
		for i, f := range v {
			list[i] = float64(f)
		}
		return runtime.DoubleList(list...), err
	case "tensor":
		t, err := e.tensor(a)
		return runtime.TensorValue(t), err
	case "tensor_list", "optional_tensor_list":
		return e.tensors(a)
	}
	return runtime.None(), fmt.Errorf("unknown kind %q", e.Kind)
}

// parse decodes the value of an entry, which must be there.
func parse[T any](text json.RawMessage) (v T, err error) {
	if len(text) == 0 || string(text) == "null" {
		return v, fmt.Errorf(`no "value"`)
	}
	return v, json.Unmarshal(text, &v)
}

func (e *entry) tensors(a *arrays) (runtime.EValue, error) {
	list := make([]*tensor.Tensor, len(e.Items))
	for i := range e.Items {
		item := &e.Items[i]
		if item.Kind == "none" && e.Kind == "optional_tensor_list" {
			continue
		}
		if item.Kind != "tensor" {
			return runtime.None(), fmt.Errorf("item %d: kind %q in a %s", i, item.Kind, e.Kind)
		}
		var err error
		if list[i], err = item.tensor(a); err != nil {
			return runtime.None(), fmt.Errorf("item %d: %w", i, err)
		}
	}
	if e.Kind == "optional_tensor_list" {
		return runtime.OptionalTensorList(list...), nil
	}
	return runtime.TensorList(list...), nil
}

// tensor reads the array of an entry and gives it the entry's type, shape and
// layout.
func (e *entry) tensor(a *arrays) (*tensor.Tensor, error) {
	t, err := a.read(e.Array)
	if err != nil {
		return nil, err
	}
	dtype, shape := t.DType(), t.Shape()
	if e.DType != "" {
		if dtype, err = tensor.ParseDType(e.DType); err != nil {
			return nil, err
		}
		if bitsOf(dtype) != t.DType() {
			return nil, fmt.Errorf("array %q holds %v, which is not how %v is stored", e.Array, t.DType(), dtype)
		}
	}
	if e.Sizes != nil {
		// The sizes count, as writers tend to turn a scalar into an array of one element.
		shape = e.Sizes
		if n, err := tensor.Numel(shape); err != nil || n != t.Numel() {
			return nil, fmt.Errorf("array %q is %v, the sidecar says sizes %v", e.Array, t, shape)
		}
	}
	if t, err = tensor.FromBytes(dtype, t.Bytes(), shape); err != nil {
		return nil, err
	}
	if e.DimOrder == nil {
		return t, nil
	}
	order := make(tensor.DimOrder, len(e.DimOrder))
	for i, d := range e.DimOrder {
		if d < 0 || d >= len(shape) {
			return nil, fmt.Errorf("dim order %v is not one of a tensor of rank %d", e.DimOrder, len(shape))
		}
		order[i] = uint8(d)
	}
	t = t.WithOrder(order)
	return t, t.Err()
}

// write writes the arrays of values to w and returns the sidecar.
func write(w io.Writer, values []Value) ([]byte, error) {
	z := zip.NewWriter(w)
	n := 0
	add := func(t *tensor.Tensor) (string, error) {
		name := fmt.Sprintf("arr_%d", n)
		n++
		f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err != nil {
			return "", err
		}
		return name, writeArray(f, t)
	}
	s := sidecar{Values: make([]entry, len(values))}
	for i := range values {
		e, err := newEntry(&values[i].EValue, add)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
		e.Name, e.Method = values[i].Name, values[i].Method
		s.Values[i] = e
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return b.Bytes(), err
}

// newEntry describes v; add stores a tensor and returns the name of its array.
func newEntry(v *runtime.EValue, add func(*tensor.Tensor) (string, error)) (e entry, err error) {
	e.Kind = valuefmt.Kind(v.Kind())
	switch v.Kind() {
	case runtime.KindInt:
		e.Value, err = json.Marshal(v.Int())
	case runtime.KindBool:
		e.Value, err = json.Marshal(v.Bool())
	case runtime.KindDouble:
		e.Value, err = json.Marshal(valuefmt.Float(v.Double()))
	case runtime.KindString:
		e.Value, err = json.Marshal(v.Str())
	case runtime.KindIntList:
		e.Value, err = json.Marshal(notNil(v.Ints()))
	case runtime.KindBoolList:
		e.Value, err = json.Marshal(notNil(v.Bools()))
	case runtime.KindDoubleList:
		list := make([]valuefmt.Float, len(v.Doubles()))
		for i, f := range v.Doubles() {
			list[i] = valuefmt.Float(f)
		}
		e.Value, err = json.Marshal(list)
	case runtime.KindTensor:
		t := v.Tensor()
		e.DType, e.Sizes, e.DimOrder = t.DType().String(), notNil(t.Shape()), make([]int, t.Rank())
		for i, d := range t.DimOrder() {
			e.DimOrder[i] = int(d)
		}
		e.Array, err = add(t)
	case runtime.KindTensorList, runtime.KindOptionalTensorList:
		e.Items = make([]entry, len(v.Tensors()))
		for i, t := range v.Tensors() {
			item := runtime.TensorValue(t)
			if e.Items[i], err = newEntry(&item, add); err != nil {
				return e, err
			}
		}
	}
	return e, err
}

// notNil returns an empty list for nil, which JSON would call null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
