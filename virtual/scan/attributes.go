// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Attributes are the attributes of a node, in the order of the file.
type Attributes []Attribute

// Attribute is a name with a value: a string, a bool, a number, or a slice of one of
// these. Numbers have the types int8 to int64, uint8 to uint64, float32 and float64. A
// []any has values of any of these kinds, such as the rows of a matrix.
type Attribute struct {
	Name  string
	Value any
}

// Get returns the value of an attribute, or nil.
func (a Attributes) Get(name string) any {
	for _, x := range a {
		if x.Name == name {
			return x.Value
		}
	}
	return nil
}

// Set sets an attribute: it replaces the value of one with this name, or adds it.
func (a *Attributes) Set(name string, value any) {
	for i := range *a {
		if (*a)[i].Name == name {
			(*a)[i].Value = value
			return
		}
	}
	*a = append(*a, Attribute{name, value})
}

// JSON returns the attributes as a JSON object. Numbers keep their value: a float32 gets
// the shortest digits that mean it. NaN and infinities become the bare words that
// zarr-python writes.
func (a Attributes) JSON() ([]byte, error) {
	b := []byte{'{'}
	for i, x := range a {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		b = appendText(b, x.Name)
		if b, err = appendValue(append(b, ':'), x.Value); err != nil {
			return nil, fmt.Errorf("attribute %q: %w", x.Name, err)
		}
	}
	return append(b, '}'), nil
}

func appendText(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	text, _ := json.Marshal(s) // a string is never refused
	return append(b, text...)
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return appendText(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int8:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int16:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int32:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case uint8:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case uint16:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case uint32:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case float32:
		return appendFloat(b, float64(v), 32), nil
	case float64:
		return appendFloat(b, v, 64), nil
	case []string:
		return appendList(b, v)
	case []bool:
		return appendList(b, v)
	case []int8:
		return appendList(b, v)
	case []int16:
		return appendList(b, v)
	case []int32:
		return appendList(b, v)
	case []int64:
		return appendList(b, v)
	case []uint8:
		return appendList(b, v)
	case []uint16:
		return appendList(b, v)
	case []uint32:
		return appendList(b, v)
	case []uint64:
		return appendList(b, v)
	case []float32:
		return appendList(b, v)
	case []float64:
		return appendList(b, v)
	case []any:
		return appendList(b, v)
	}
	return nil, fmt.Errorf("%w: a value of the Go type %T", ErrUnsupported, v)
}

func appendList[T any](b []byte, list []T) (_ []byte, err error) {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendFloat appends a number with a point or an exponent, so that readers see a float.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	}
	begin := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, bits)
	if !strings.ContainsAny(string(b[begin:]), ".e") {
		b = append(b, ".0"...)
	}
	return b
}
