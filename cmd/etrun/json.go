package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/etgo-ml/etgo/runtime"
)

// errorJSON is an error with its number.
type errorJSON struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

func newErrorJSON(err error) *errorJSON {
	if err == nil {
		return nil
	}
	return &errorJSON{Code: fmt.Sprintf("0x%02x", uint32(runtime.Code(err))), Text: oneLine(err.Error())}
}

// writeJSON prints v for programs and people.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
