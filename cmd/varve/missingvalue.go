package main

import (
	"slices"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// missingText returns the elements that attributes say stand for no value, as people read them: _FillValue of floats is base64 in
// format 3. It is "" where there are none, and what cannot be read is left to the attributes themselves.
func (f *arrayFacts) missingText() string {
	t, err := dtype.Parse(f.doc.DataType.Name, f.doc.DataType.Configuration)
	if err != nil {
		return ""
	}
	unsigned, _, _ := metadata.Attribute(f.Attributes, missing.Unsigned)
	var texts []string
	for _, name := range []string{missing.FillValue, missing.Value} {
		raw, ok, err := metadata.Attribute(f.Attributes, name)
		if err != nil || !ok {
			continue
		}
		for _, one := range missingValues(raw) {
			elem, err := missing.ParseSpelled(t, unsigned, one)
			if err != nil {
				continue
			}
			if text := valueText(t, elem); !slices.Contains(texts, text) {
				texts = append(texts, shorten(text, 60))
			}
		}
	}
	return strings.Join(texts, ", ")
}

// missingValues returns the elements of a JSON list, and any other value by itself. A list of two texts is a complex number.
func missingValues(raw []byte) [][]byte {
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil || v.Kind() != strictjson.Array {
		return [][]byte{raw}
	}
	var list [][]byte
	for _, e := range v.Elements() {
		if e.Kind() == strictjson.String && v.Len() == 2 {
			return [][]byte{raw}
		}
		list = append(list, e.Raw())
	}
	return list
}

// valueText returns an element as metadata spells it, without quotes; times as dates.
func valueText(t dtype.Type, elem []byte) string {
	if t.Kind() == dtype.Datetime || t.Kind() == dtype.Timedelta {
		return string(t.AppendText(nil, elem))
	}
	text, err := t.FormatFill(elem)
	if err != nil {
		return string(t.AppendText(nil, elem))
	}
	return strings.Trim(compact(text), `"`)
}
