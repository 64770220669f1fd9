// SPDX-License-Identifier: Apache-2.0

package missing

import (
	"encoding/base64"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
)

// Refused returns the reason why xarray refuses a group with an array of format 3 whose
// attribute [FillValue] is raw, or "" if it opens the group. wanted is an attribute for
// the same element that xarray accepts, or nil if there is none. unsigned is the
// attribute [Unsigned], or nil.
func Refused(t dtype.Type, unsigned, raw []byte) (reason string, wanted []byte) {
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil {
		return "", nil
	}
	switch k := t.Kind(); {
	case !Coded(t):
		return fmt.Sprintf("arrays of type %s can have no %s", t, FillValue), nil
	case k == dtype.KindFloat && !isBase64(v), k == dtype.KindComplex && !areBase64(v):
		reason = FillValue + " of floats is base64"
	case (k == dtype.KindInt || k == dtype.KindUint) && v.Kind() != strictjson.Number && v.Kind() != strictjson.Bool:
		reason = FillValue + " of integers is a number"
	case k == dtype.KindUint && Spelled(t, unsigned) != t && !isElement(Spelled(t, unsigned), raw):
		reason = FillValue + " has a sign, since _Unsigned is false"
	default:
		return "", nil
	}
	if list := List(t, raw); len(list) == 1 {
		raw = list[0]
	}
	if elem, err := ParseSpelled(t, unsigned, raw); err == nil {
		wanted, _ = Format(Spelled(t, unsigned), elem)
	}
	return reason, wanted
}

// isBase64 reports whether a value is a float as [Format] encodes it.
func isBase64(v strictjson.Value) bool {
	text, err := v.Str()
	if err != nil {
		return false
	}
	b, err := base64.StdEncoding.DecodeString(text)
	return err == nil && len(b) == 8
}

// areBase64 reports whether a value is a complex number as [Format] encodes it.
func areBase64(v strictjson.Value) bool {
	if v.Kind() != strictjson.Array || v.Len() != 2 {
		return false
	}
	for _, part := range v.Elements() {
		if !isBase64(part) {
			return false
		}
	}
	return true
}

// isElement reports whether raw is an element of a type.
func isElement(t dtype.Type, raw []byte) bool {
	_, err := Parse(t, raw)
	return err == nil
}
