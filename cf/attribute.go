// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"strconv"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/strictjson"
)

// Attributes that describe missing values and packed numbers (CF conventions, sections
// 2.5.1 and 8.1; NetCDF user guide).
const (
	FillValue    = missing.FillValue
	MissingValue = missing.Value
	Unsigned     = missing.Unsigned
	ScaleFactor  = "scale_factor"
	AddOffset    = "add_offset"
)

// attributeIn returns the JSON of one attribute in a parsed document. It does not
// validate the attributes again, because there may be millions of them.
func attributeIn(object []byte, name string) (raw []byte, ok bool) {
	if len(object) == 0 {
		return nil, false
	}
	v, ok := strictjson.Parsed(object).Member(name)
	return v.Raw(), ok
}

// attribute returns a user attribute, or the zero Value if it is not set.
func attribute(a *zarr.Array, name string) (v strictjson.Value, err error) {
	raw, ok := attributeIn(a.Metadata().Attributes, name)
	if !ok {
		return v, nil
	}
	return strictjson.Parse(raw, strictjson.Limits{})
}

// textAttribute returns a user attribute that is a string, and otherwise "".
func textAttribute(a *zarr.Array, name string) string {
	v, err := attribute(a, name)
	if err != nil {
		return ""
	}
	text, _ := v.Str() // "" for any other kind of value
	return text
}

// numberAttribute returns a user attribute that is a number, or a list of one number.
func numberAttribute(a *zarr.Array, name string) (value float64, ok bool, err error) {
	v, err := attribute(a, name)
	if err != nil || v.IsZero() {
		return 0, false, err
	}
	// Some writers store every attribute as a list, like NumPy arrays of one element.
	if v.Kind() == strictjson.Array && v.Len() == 1 {
		for _, v = range v.Elements() {
			break
		}
	}
	if v.Kind() != strictjson.Number {
		return 0, false, invalid("attribute %s is not a number", name)
	}
	value, err = strconv.ParseFloat(string(v.Raw()), 64)
	if err != nil {
		err = invalid("attribute %s: %v", name, err)
	}
	return value, true, err
}
