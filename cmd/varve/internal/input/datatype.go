// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// dataType is the value of --dtype.
type dataType struct {
	dtype.Type
	Big bool // NumPy's name is for big-endian elements
}

// ParseType parses a data type: a name or an object as in metadata, NumPy's name, or
// NumPy's list of fields in JSON, [["x", "<i4"], ["y", "<f8"]].
func ParseType(text string) (dataType, error) {
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "":
		return dataType{}, errors.New("the name of a type is missing; give one such as float32")
	case strings.HasPrefix(trimmed, "{"):
		e, err := metadata.ParseExtension([]byte(trimmed), metadata.Limits{})
		if err != nil {
			return dataType{}, failure.AsUnsupported(err)
		}
		t, err := dtype.Parse(e.Name, e.Configuration)
		return dataType{Type: t}, unknownWithin(failure.AsUnsupported(err))
	case strings.HasPrefix(trimmed, "["):
		v, err := strictjson.Parse([]byte(trimmed), strictjson.Limits{})
		if err != nil {
			return dataType{}, err
		}
		return parseFields(v)
	}
	t, err := dtype.Parse(text, nil)
	if err == nil {
		return dataType{Type: t}, nil
	}
	// NumPy's names have a byte order, but i4 and U12 are common without one.
	for _, order := range []string{"", "|", "<"} {
		if t, big, err := dtype.FromNumPy(order + text); err == nil {
			return dataType{t, big}, nil
		}
	}
	if t, ok := commonName(text); ok {
		return dataType{Type: t}, nil
	}
	return dataType{}, unknownType(text, failure.AsUnsupported(err))
}

// parseFields parses a list of names and types.
func parseFields(v strictjson.Value) (dataType, error) {
	var fields []dtype.Field
	var orders [2]int
	for _, e := range v.Elements() {
		parts := []strictjson.Value{}
		for _, p := range e.Elements() {
			parts = append(parts, p)
		}
		if len(parts) != 2 {
			return dataType{}, e.Errorf("a field is a list of its name and its type")
		}
		name, err := parts[0].Str()
		if err != nil {
			return dataType{}, err
		}
		text := string(parts[1].Raw())
		if s, err := parts[1].Str(); err == nil {
			text = s
		}
		t, err := ParseType(text)
		if err != nil {
			return dataType{}, fmt.Errorf("field %q: %w", name, err)
		}
		// Types of single bytes have no order.
		if t.Ordered() && t.Big {
			orders[1]++
		} else if t.Ordered() {
			orders[0]++
		}
		fields = append(fields, dtype.Field{Name: name, Type: t.Type})
	}
	if orders[0] > 0 && orders[1] > 0 {
		return dataType{}, errors.New("the fields have different byte orders, but a chunk has one byte order")
	}
	t, err := dtype.StructOf(fields...)
	return dataType{t, orders[1] > 0}, failure.AsUnsupported(err)
}
