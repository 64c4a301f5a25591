package valuefmt

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

// Float is a number that JSON can hold whatever its value: infinities and NaN
// are the strings "inf", "-inf" and "nan".
type Float float64

func (f Float) MarshalJSON() ([]byte, error) {
	v := float64(f)
	switch {
	case math.IsNaN(v):
		return []byte(`"nan"`), nil
	case math.IsInf(v, 1):
		return []byte(`"inf"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-inf"`), nil
	}
	b := strconv.AppendFloat(nil, v, 'g', -1, 64)
	if !bytes.ContainsAny(b, ".e") {
		b = append(b, ".0"...) // so that a reader sees that it is no int
	}
	return b, nil
}

func (f *Float) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"nan"`:
		*f = Float(math.NaN())
	case `"inf"`:
		*f = Float(math.Inf(1))
	case `"-inf"`:
		*f = Float(math.Inf(-1))
	case "null":
		return errors.New("null is no number")
	default:
		return json.Unmarshal(b, (*float64)(f))
	}
	return nil
}
