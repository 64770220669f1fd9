// SPDX-License-Identifier: Apache-2.0

package source

import (
	"varve.dev/zarr"
	"varve.dev/zarr/strictjson"
)

// AttributeValue returns a user attribute, or the zero Value if it is not set.
func AttributeValue(a *zarr.Array, name string) (v strictjson.Value, err error) {
	raw, ok := attributeOf(a.Attributes(), name)
	if !ok {
		return v, nil
	}
	return strictjson.Parse(raw, strictjson.Limits{})
}

// attributeOf returns the JSON of one attribute in a parsed document. Unlike
// [metadata.Attribute] it does not validate all attributes again: there may be
// millions.
func attributeOf(object []byte, name string) (raw []byte, ok bool) {
	if len(object) == 0 {
		return nil, false
	}
	v, ok := strictjson.Parsed(object).Member(name)
	return v.Raw(), ok
}

// Attribute returns a user attribute that is a string, and otherwise "".
func Attribute(a *zarr.Array, name string) string {
	v, err := AttributeValue(a, name)
	if err != nil {
		return ""
	}
	text, _ := v.Str() // "" for any other kind of value
	return text
}
