// SPDX-License-Identifier: Apache-2.0

// Package attributes lets the attributes of one node follow those of another.
package attributes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// Follow returns the attributes now of an array with the changes that those of another
// array have had, from before to is. Attributes of Varve itself stay: they are about one
// array.
func Follow(now, before, is []byte) ([]byte, error) {
	was, err := parse(before)
	if err != nil {
		return nil, err
	}
	are, err := parse(is)
	if err != nil {
		return nil, err
	}
	for _, m := range are {
		if old, ok := find(was, m.name); ok && bytes.Equal(old, m.value) {
			continue
		}
		present, found, err := metadata.Attribute(now, m.name)
		if err == nil && (!found || !bytes.Equal(Compact(present), m.value)) {
			now, err = metadata.SetAttribute(now, m.name, m.value)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, m := range was {
		if _, stays := find(are, m.name); !stays {
			if now, err = metadata.UnsetAttribute(now, m.name); err != nil {
				return nil, err
			}
		}
	}
	return now, nil
}

// attribute is an attribute with its value, as JSON without white space.
type attribute struct {
	name  string
	value []byte
}

// parse returns the attributes of an object, without those of Varve.
func parse(object []byte) (list []attribute, err error) {
	if len(object) == 0 {
		return nil, nil
	}
	v, err := strictjson.Parse(object, strictjson.Limits{Size: int64(len(object))})
	if err != nil {
		return nil, err
	}
	for name, m := range v.Members() {
		if !strings.HasPrefix(name, own.Attributes) {
			list = append(list, attribute{name, Compact(m.Raw())})
		}
	}
	return list, nil
}

func find(list []attribute, name string) ([]byte, bool) {
	i := slices.IndexFunc(list, func(a attribute) bool { return a.name == name })
	if i < 0 {
		return nil, false
	}
	return list[i].value, true
}

// Compact returns JSON without white space.
func Compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// Check returns an error unless object is an object of attributes, or empty.
func Check(object []byte) error {
	_, err := parse(object)
	return err
}

// NoNames is the result of [Unnamed] for an array without any names of dimensions.
const NoNames = "no dimension names"

// ofDimensions is the attribute in which xarray stores the names of dimensions (xarray,
// "Zarr encoding specification").
const ofDimensions = "_ARRAY_DIMENSIONS"

// Unnamed returns why a program that needs a name for each dimension, such as xarray,
// does not find one, or "" if it does. In format 2 the names are in the attribute
// _ARRAY_DIMENSIONS. In format 3 they are in the document, and an array without axes
// needs none.
func Unnamed(a *metadata.Array) string {
	if a.Format() == 3 {
		if len(a.DimensionNames) == 0 && len(a.Shape) > 0 {
			return NoNames
		}
		return ""
	}
	raw, ok, err := metadata.Attribute(a.Attributes, ofDimensions)
	if err != nil || !ok {
		return NoNames
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	switch {
	case err != nil || v.Kind() != strictjson.Array:
		return "attribute " + ofDimensions + " is not a list of names"
	case v.Len() != len(a.Shape):
		return fmt.Sprintf("attribute %s has %s for %s", ofDimensions, quantity.Of(int64(v.Len()), "name"), quantity.Of(int64(len(a.Shape)), "axis"))
	}
	return ""
}

// MasksFill reports whether xarray masks the fill value of an array as missing: in format
// 2, unless it is null, where it opens the array, which takes names of dimensions.
func MasksFill(a *metadata.Array) bool {
	if a.Format() != 2 || a.HasNullFill() {
		return false
	}
	// Older arrays of NCZarr have their names in a member of the document.
	return Unnamed(a) == "" || slices.Contains(a.UnknownMembers(), "_NCZARR_ARRAY")
}
