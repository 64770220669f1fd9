package main

import (
	"fmt"
	"io"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
)

const (
	maxNested = 1 << 30 // bytes of JSON
	maxDepth  = 66      // lists: 64 axes and an element that is a list
)

// openJSON reads nested lists of values that are spelled as fill values.
func (v *values) openJSON() error {
	if v.typ.IsZero() {
		return badArgument("%s: JSON does not tell the data type", v.name)
	}
	text, err := io.ReadAll(io.LimitReader(v.r, maxNested+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", v.name, err)
	}
	if len(text) > maxNested {
		return fmt.Errorf("%w: %s has more than %s of JSON", zarr.ErrLimit, v.name, byteCount(maxNested))
	}
	doc, err := strictjson.Parse(text, strictjson.Limits{Size: maxNested, Depth: maxDepth})
	if err != nil {
		return badArgument("%s: %w", v.name, err)
	}
	v.shape = nestedShape(doc, v.typ)
	data, err := appendNested(nil, doc, v.typ, v.shape)
	if err != nil {
		return badArgument("%s: %w", v.name, err)
	}
	v.provide(data)
	return nil
}

// nestedShape returns the shape of nested lists, judged by their first elements.
func nestedShape(doc strictjson.Value, t dtype.Type) []int64 {
	shape := []int64{}
	for doc.Kind() == strictjson.Array {
		n := int64(doc.Len())
		shape = append(shape, n)
		if n == 0 {
			return shape
		}
		for _, first := range doc.Elements() {
			doc = first
			break
		}
	}
	if isList := t.Kind() == dtype.Complex || t.Kind() == dtype.Raw; isList && len(shape) > 0 {
		return shape[:len(shape)-1]
	}
	return shape
}

// appendNested appends the elements of nested lists of the given shape in host byte order.
func appendNested(dst []byte, doc strictjson.Value, t dtype.Type, shape []int64) ([]byte, error) {
	if len(shape) == 0 {
		elem, err := t.ParseFill(doc.Raw())
		if err != nil {
			return nil, doc.Errorf("%w", err)
		}
		return append(dst, elem...), nil
	}
	if doc.Kind() != strictjson.Array || int64(doc.Len()) != shape[0] {
		return nil, doc.Errorf("a list of %d is needed here", shape[0])
	}
	for _, e := range doc.Elements() {
		var err error
		if dst, err = appendNested(dst, e, t, shape[1:]); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
