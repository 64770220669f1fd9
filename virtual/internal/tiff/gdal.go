// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"math"
	"strconv"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/gdal"
	"varve.dev/zarr/virtual/scan"
)

// setMeaning says in the words of CF, which readers of Zarr know, what the tags of GDAL
// say about samples: which value stands for no data, and the scale and offset. It returns
// an error if CF has no words for it.
func setMeaning(a *scan.Array) error {
	switch a.Type.Kind() {
	case dtype.KindInt, dtype.KindUint, dtype.KindFloat:
	default:
		return nil
	}
	if a.Fill != nil {
		a.Attributes.Set("_FillValue", number(a.Type, a.Fill))
	}
	scale, offset, err := scalesOf(a)
	if err != nil {
		return err
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
	case dtype.KindInt:
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	case dtype.KindUint:
		n, _ := strconv.ParseUint(text, 10, 64)
		return n
	}
	x, _ := strconv.ParseFloat(text, 64)
	if t.Size() < 8 {
		return float32(x)
	}
	return x
}

// scalesOf returns the scale and the offset of samples. It is an error if they differ
// between bands, or cannot be parsed.
func scalesOf(a *scan.Array) (scale, offset float64, err error) {
	items, err := gdal.Parse(firstText(a.Attributes.Get(gdal.Metadata)))
	if err != nil {
		return 0, 0, scan.Unsupportedf("an attribute: %s, which may have a scale and an offset, cannot be parsed: %v", gdal.Metadata, err)
	}
	values := map[string]map[int]float64{"scale": {}, "offset": {}}
	for _, i := range items {
		is, _ := i.Meaning()
		if values[is.Role] == nil {
			continue
		}
		x, err := strconv.ParseFloat(is.Text, 64)
		sample, unknown := strconv.Atoi(is.Sample)
		if err != nil || unknown != nil || math.IsNaN(x-x) {
			return 0, 0, scan.Unsupportedf("an attribute: the %s %.40q for the sample %.40q in %s, which are no numbers", is.Role, is.Text, is.Sample, gdal.Metadata)
		}
		values[is.Role][sample] = x
	}
	bands := int(samplesOf(a))
	scale, same := shared(values["scale"], bands, 1)
	offset, also := shared(values["offset"], bands, 0)
	if !same || !also {
		return 0, 0, scan.Unsupportedf("an attribute: the scale or the offset of %s differs between bands", gdal.Metadata)
	}
	return scale, offset, nil
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
