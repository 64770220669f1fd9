// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"errors"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// array returns the array of an image.
func (r *reader) array(d *ifd, path string) (*scan.Array, error) {
	a := &scan.Array{Path: path}
	err := r.describe(a, d)
	if errors.Is(err, scan.ErrUnsupported) {
		a.Refused, a.Chunks = fmt.Errorf("tiff: the image at %d: %w", d.at, err), nil
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("tiff: the image at %d: %w", d.at, err)
	}
	return a, nil
}

// describe sets the fields of an array, the reasons to refuse it last.
func (r *reader) describe(a *scan.Array, d *ifd) error {
	l, err := r.layout(d)
	if err != nil {
		return err
	}
	a.Shape, a.Chunk, a.Names, a.Short = l.axes()
	if a.Attributes, err = r.attributes(d); err != nil {
		return err
	}
	if a.Type, err = r.elementType(d, l.samples); err != nil {
		return err
	}
	bytes, ok := checked.Product(append([]int64{int64(a.Type.Size())}, a.Chunk...)...)
	if !ok {
		return scan.Corruptf("chunks of %d samples", a.Chunk)
	}
	if a.Codecs, err = r.codecs(d, a); err != nil {
		return err
	}
	if err := r.refuseOthers(d); err != nil {
		return err
	}
	a.Fill = noData(a)
	a.Chunks, err = r.chunks(d, l, a, bytes)
	return err
}

// attributes returns the described tags of an image.
func (r *reader) attributes(d *ifd) (list scan.Attributes, err error) {
	for _, t := range described {
		v, err := r.attribute(d, t.tag)
		if err != nil {
			return nil, err
		}
		if v != nil {
			list = append(list, scan.Attribute{Name: t.name, Value: v})
		}
	}
	return list, nil
}

// noData returns the element that stands for no data, nil if there is none or the type
// does not have it. GDAL reads it where a file lacks a tile.
func noData(a *scan.Array) []byte {
	text, ok := a.Attributes.Get("GDAL_NODATA").(string)
	if !ok {
		return nil
	}
	if a.Type.Kind() == dtype.KindComplex {
		text += "+0j" // GDAL has the real part only
	}
	fill, err := a.Type.ParseText(text)
	if err != nil {
		return nil
	}
	return fill
}

// refuseOthers refuses what no other function looks at.
func (r *reader) refuseOthers(d *ifd) error {
	if n, err := r.number(d, imageDepth, 1); err != nil || n != 1 {
		return orUnsupported(err, "an image of %d planes (ImageDepth)", n)
	}
	if n, err := r.number(d, fillOrder, 1); err != nil || n != 1 {
		return orUnsupported(err, "FillOrder %d, which reverses bits", n)
	}
	const yCbCr = 6
	if n, err := r.number(d, photometric, 0); err != nil || n != yCbCr {
		return err
	}
	// Two samples share colours unless the file says otherwise (section 21).
	factors, err := r.numbers(d, subSampling)
	if err != nil || len(factors) != 2 || factors[0] != 1 || factors[1] != 1 {
		return orUnsupported(err, "YCbCr samples of which several share a colour")
	}
	return nil
}

func orUnsupported(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return scan.Unsupportedf(format, args...)
}

// The values of SampleFormat (section 19; 5 and 6 are of libtiff).
const (
	unsignedSamples = 1
	signedSamples   = 2
	floatSamples    = 3
	untypedSamples  = 4
	complexSamples  = 6
)

var formatNames = map[uint64]string{
	unsignedSamples: "uint", untypedSamples: "uint", signedSamples: "int", floatSamples: "float", complexSamples: "complex",
}

// elementType returns the data type of samples, all of which must have the same.
func (r *reader) elementType(d *ifd, samples int64) (dtype.Type, error) {
	bits, err := r.uniform(d, bitsPerSample, samples, 1)
	if err != nil {
		return dtype.Type{}, err
	}
	format, err := r.uniform(d, sampleFormat, samples, unsignedSamples)
	if err != nil {
		return dtype.Type{}, err
	}
	name, known := formatNames[format]
	if !known {
		return dtype.Type{}, scan.Unsupportedf("SampleFormat %d", format)
	}
	// There are types of fewer bits than a byte, but their elements are not packed.
	t, err := dtype.Parse(fmt.Sprint(name, bits), nil)
	if err != nil || uint64(t.Size())*8 != bits {
		return dtype.Type{}, scan.Unsupportedf("BitsPerSample %d of %s samples", bits, name)
	}
	return t, nil
}

// uniform returns the value of a tag that has one for each sample. If the IFD lacks it,
// it is the default.
func (r *reader) uniform(d *ifd, t tag, samples int64, otherwise uint64) (uint64, error) {
	list, err := r.numbers(d, t)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		return otherwise, nil
	}
	// Many files have one value for all samples.
	if int64(len(list)) != samples && len(list) != 1 {
		return 0, scan.Corruptf("%d values of %s for %d samples", len(list), t, samples)
	}
	for _, x := range list {
		if x != list[0] {
			return 0, scan.Unsupportedf("%s %d, which differs between samples", t, list)
		}
	}
	return list[0], nil
}
