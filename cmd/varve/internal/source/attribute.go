// SPDX-License-Identifier: Apache-2.0

package source

import (
	"varve.dev/zarr"
	"varve.dev/zarr/internal/strictjson"
)

// AttributeValue returns a user attribute, or the zero Value if there is none.
func AttributeValue(a *zarr.Array, name string) (v strictjson.Value, err error) {
	raw, ok := attributeOf(a.Attributes(), name)
	if !ok {
		return v, nil
	}
	return strictjson.Parse(raw, strictjson.Limits{})
}

// attributeOf returns the JSON of an attribute of a parsed document. Unlike
// [metadata.Attribute] it does not check the other attributes, of which there may be
// millions.
func attributeOf(object []byte, name string) (raw []byte, ok bool) {
	if len(object) == 0 {
		return nil, false
	}
	v, ok := strictjson.Parsed(object).Member(name)
	return v.Raw(), ok
}

// Attribute returns a user attribute that is a text, or "".
func Attribute(a *zarr.Array, name string) string {
	v, err := AttributeValue(a, name)
	if err != nil {
		return ""
	}
	text, _ := v.Str() // "" for any other kind of value
	return text
}
