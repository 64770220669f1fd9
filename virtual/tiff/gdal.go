// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/xml"
	"slices"
	"strconv"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/virtual/scan"
)

// setMeaning says in the words of CF, which readers of Zarr know, what the tags of GDAL
// say about samples: which value stands for no data, and the scale and offset. It returns
// an error if CF has no words for it.
func setMeaning(a *scan.Array) error {
	switch a.Type.Kind() {
	case dtype.Int, dtype.Uint, dtype.Float:
	default:
		return nil
	}
	if a.Fill != nil {
		a.Attributes.Set("_FillValue", number(a.Type, a.Fill))
	}
	scale, offset, ok := scalesOf(a)
	if !ok {
		return scan.Unsupportedf("an attribute: the scale or the offset of GDAL_METADATA differs between bands")
	}
	if scale != 1 || offset != 0 {
		a.Attributes.Set("scale_factor", scale)
		a.Attributes.Set("add_offset", offset)
	}
	return nil
}

// number returns an element as the value of an attribute.
func number(t dtype.Type, element []byte) any {
	text := string(t.AppendText(nil, element))
	switch t.Kind() {
	case dtype.Int:
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	case dtype.Uint:
		n, _ := strconv.ParseUint(text, 10, 64)
		return n
	}
	x, _ := strconv.ParseFloat(text, 64)
	if t.Size() < 8 {
		return float32(x)
	}
	return x
}

// scalesOf returns the scale and the offset of samples. ok is false if they differ
// between bands.
func scalesOf(a *scan.Array) (scale, offset float64, ok bool) {
	var m struct {
		Items []struct {
			Role   string `xml:"role,attr"`
			Sample int    `xml:"sample,attr"`
			Value  string `xml:",chardata"`
		} `xml:"Item"`
	}
	text, _ := a.Attributes.Get("GDAL_METADATA").(string)
	if text == "" || xml.Unmarshal([]byte(text), &m) != nil {
		return 1, 0, true
	}
	values := map[string]map[int]float64{"scale": {}, "offset": {}}
	for _, i := range m.Items {
		if x, err := strconv.ParseFloat(i.Value, 64); err == nil && values[i.Role] != nil {
			values[i.Role][i.Sample] = x
		}
	}
	bands := 1
	if i := slices.Index(a.Names, "band"); i >= 0 {
		bands = int(a.Shape[i])
	}
	scale, same := shared(values["scale"], bands, 1)
	offset, also := shared(values["offset"], bands, 0)
	return scale, offset, same && also
}

// shared returns the value that all bands have. One that is not listed has a default.
func shared(values map[int]float64, bands int, otherwise float64) (float64, bool) {
	first, listed := values[0]
	if !listed {
		first = otherwise
	}
	for _, x := range values {
		if x != first {
			return 0, false
		}
	}
	return first, first == otherwise || len(values) >= bands
}
