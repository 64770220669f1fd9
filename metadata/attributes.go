// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"slices"

	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/strictjson"
)

// Attribute returns the JSON of the attribute with the given key, verbatim. It
// returns false if there is none. raw is the JSON object of [Array.Attributes] or
// [Group.Attributes]; if it is not an object, the error wraps [ErrInvalid].
func Attribute(raw []byte, key string) (value []byte, ok bool, err error) {
	v, err := object(raw)
	if err != nil {
		return nil, false, located(err)
	}
	m, ok := v.Member(key)
	return m.Raw(), ok, nil
}

// SetAttribute returns a copy of the JSON object raw with the given JSON value for key.
// An existing attribute keeps its place; a new one comes last. All else is copied
// verbatim. If
// raw is not an object or value is not one JSON value, the error wraps [ErrInvalid].
func SetAttribute(raw []byte, key string, value []byte) ([]byte, error) {
	v, err := object(raw)
	if err != nil {
		return nil, located(err)
	}
	n, err := strictjson.Parse(value, strictjson.Limits{Size: int64(len(value))})
	if err != nil {
		return nil, prefixPointer(err, strictjson.Token(key))
	}
	out := replaced(v, raw, key, n.Raw())
	// The value may be valid alone but nested too deep in its place.
	if _, err := object(out); err != nil {
		return nil, located(err)
	}
	return out, nil
}

func replaced(v strictjson.Value, raw []byte, key string, value []byte) []byte {
	if old, ok := v.Member(key); ok {
		// Replace only the bytes of the value, so that all else stays verbatim.
		return slices.Concat(raw[:old.Offset()], value, raw[old.Offset()+len(old.Raw()):])
	}
	comma := ","
	if v.Len() == 0 {
		comma = ""
	}
	name := strictjson.AppendQuote([]byte(comma), key)
	return slices.Concat(v.Raw()[:len(v.Raw())-1], name, []byte(":"), value, []byte("}"))
}

// UnsetAttribute returns a copy of the JSON object raw without the attribute key. All
// else is copied verbatim. If raw is not an object, the error wraps [ErrInvalid].
func UnsetAttribute(raw []byte, key string) ([]byte, error) {
	v, err := object(raw)
	if err != nil {
		// A name that is not a string: the attribute has another meaning.
		return nil, located(err)
	}
	from := v.Offset() + 1 // end of what stays: the brace, or the value before
	for name, m := range v.Members() {
		end := m.Offset() + len(m.Raw())
		switch {
		case name != key:
			from = end
			continue
		case from == v.Offset()+1:
			// The first member has no comma before it: remove the one after it.
			end = behindComma(raw, end)
		}
		return slices.Concat(raw[:from], raw[end:]), nil
	}
	return slices.Clone(raw), nil
}

// behindComma returns the offset after the comma that follows the value ending at i. It
// returns i if there is no comma.
func behindComma(raw []byte, i int) int {
	for j := i; raw[j] != '}'; j++ {
		if raw[j] == ',' {
			return j + 1
		}
	}
	return i
}

// object parses raw, which must be a JSON object.
func object(raw []byte) (strictjson.Value, error) {
	v, err := strictjson.Parse(raw, strictjson.Limits{Size: int64(len(raw))})
	if err == nil && v.Kind() != strictjson.Object {
		err = v.Errorf("must be an object, got %s", v.Kind())
	}
	return v, err
}

// dimensionsAttribute is the attribute in which xarray stores the names of dimensions
// (xarray, "Zarr encoding specification").
const dimensionsAttribute = "_ARRAY_DIMENSIONS"

// namesV2 returns the names of dimensions in attributes. It returns nil if there are
// none, or if they do not match the rank.
func namesV2(attributes []byte, rank int) []*string {
	v, err := object(attributes)
	if err != nil {
		return nil
	}
	list, _ := v.Member(dimensionsAttribute)
	if list.Kind() != strictjson.Array || list.Len() != rank {
		return nil
	}
	names := make([]*string, rank)
	for i, e := range list.Elements() {
		name, err := e.Str()
		if err != nil {
			return nil
		}
		names[i] = &name
	}
	return names
}

// quoteFill is [nonfinite.Quote] with strings in the form of fill values. Elsewhere
// such a string is refused.
func quoteFill(raw []byte) (out []byte, found bool) {
	out, found = nonfinite.Quote(raw)
	return nonfinite.Text(out), found
}
