// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/codecs/imagecodecs"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
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
		return scan.Corruptf("chunks of shape %d", a.Chunk)
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
		return orUnsupported(err, "an image of %s (ImageDepth)", quantity.Count(n, "planes"))
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
		return 0, scan.Corruptf("%s of %s for %s", quantity.Count(len(list), "values"), t, quantity.Count(samples, "samples"))
	}
	for _, x := range list {
		if x != list[0] {
			return 0, scan.Unsupportedf("%s %d, which differs between samples", t, list)
		}
	}
	return list[0], nil
}

// fieldType is the type of the values of an entry (section 2, "Types").
type fieldType uint16

// The types that values of named tags have.
const (
	typeByte      fieldType = 1
	typeText      fieldType = 2
	typeShort     fieldType = 3
	typeLong      fieldType = 4
	typeRational  fieldType = 5
	typeInt8      fieldType = 6
	typeRaw       fieldType = 7
	typeInt16     fieldType = 8
	typeInt32     fieldType = 9
	typeSRational fieldType = 10
	typeFloat     fieldType = 11
	typeDouble    fieldType = 12
	typeIFD       fieldType = 13
	typeLong8     fieldType = 16
	typeInt64     fieldType = 17
	typeIFD8      fieldType = 18
)

// size returns the bytes of a value, 0 for an unknown type.
func (t fieldType) size() int64 {
	switch t {
	case typeByte, typeText, typeInt8, typeRaw:
		return 1
	case typeShort, typeInt16:
		return 2
	case typeLong, typeInt32, typeFloat, typeIFD:
		return 4
	case typeRational, typeSRational, typeDouble, typeLong8, typeInt64, typeIFD8:
		return 8
	}
	return 0
}

// isUnsigned reports whether values are unsigned integers.
func (t fieldType) isUnsigned() bool {
	switch t {
	case typeByte, typeShort, typeLong, typeIFD, typeLong8, typeIFD8:
		return true
	}
	return false
}

// raw returns the bytes of the values of a tag, nil if the IFD lacks it.
func (r *reader) raw(d *ifd, t tag) ([]byte, error) {
	e, ok := d.entries[t]
	if !ok {
		return nil, nil
	}
	n, fits := checked.Mul(e.count, e.typ.size())
	if !fits {
		return nil, scan.Corruptf("tiff: the IFD at %d: %s has %s", d.at, t, quantity.Count(e.count, "values"))
	}
	// Values that fit lie in the entry, left-justified in either byte order.
	if n <= int64(len(e.inline)) {
		return e.inline[:n], nil
	}
	off, err := offset(r.unsigned(e.inline))
	if err != nil {
		return nil, err
	}
	return r.bytes(off, n)
}

// numbers returns the unsigned integers of a tag, nil if the IFD lacks it.
func (r *reader) numbers(d *ifd, t tag) ([]uint64, error) {
	e, ok := d.entries[t]
	if !ok {
		return nil, nil
	}
	if !e.typ.isUnsigned() {
		return nil, scan.Corruptf("tiff: the IFD at %d: %s has values of type %d", d.at, t, e.typ)
	}
	b, err := r.raw(d, t)
	if err != nil {
		return nil, err
	}
	// The values were read, so the file bounds their number.
	list, size := make([]uint64, e.count), e.typ.size()
	for i := range list {
		list[i] = r.unsigned(b[int64(i)*size:][:size])
	}
	return list, nil
}

// number returns the first unsigned integer of a tag, or a default.
func (r *reader) number(d *ifd, t tag, otherwise int64) (int64, error) {
	e, ok := d.entries[t]
	if !ok {
		return otherwise, nil
	}
	if e.count == 0 || !e.typ.isUnsigned() {
		return 0, scan.Corruptf("tiff: the IFD at %d: %s has %s of type %d", d.at, t, quantity.Count(e.count, "values"), e.typ)
	}
	b, err := r.raw(d, t)
	if err != nil {
		return 0, err
	}
	return offset(r.unsigned(b[:e.typ.size()]))
}

// attribute returns the values of a tag as the value of an attribute, nil if it has none
// or they are of an unknown type. One value is a scalar unless the tag is always a list.
func (r *reader) attribute(d *ifd, t tag) (any, error) {
	b, err := r.raw(d, t)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	switch typ := d.entries[t].typ; {
	case typ == typeText:
		return text(b), nil
	case typ == typeByte || typ == typeRaw:
		return scalar(t, b), nil
	case typ == typeShort:
		return scalar(t, list(b, 2, r.order.Uint16)), nil
	case typ == typeLong || typ == typeIFD:
		return scalar(t, list(b, 4, r.order.Uint32)), nil
	case typ.isUnsigned():
		return scalar(t, list(b, 8, r.order.Uint64)), nil
	case typ == typeFloat:
		return scalar(t, list(b, 4, func(b []byte) float32 { return math.Float32frombits(r.order.Uint32(b)) })), nil
	case typ == typeDouble:
		return scalar(t, list(b, 8, func(b []byte) float64 { return math.Float64frombits(r.order.Uint64(b)) })), nil
	case typ == typeRational:
		// A denominator of 0 gives an infinity or NaN, which attributes may have.
		return scalar(t, list(b, 8, func(b []byte) float64 {
			return float64(r.order.Uint32(b)) / float64(r.order.Uint32(b[4:]))
		})), nil
	}
	return nil, nil
}

// list returns the values of which bytes consist.
func list[T any](b []byte, size int, value func([]byte) T) []T {
	out := make([]T, len(b)/size)
	for i := range out {
		out[i] = value(b[i*size:])
	}
	return out
}

// scalar returns the only value of a list, or the list.
func scalar[T any](t tag, values []T) any {
	if len(values) == 1 && !t.isList() {
		return values[0]
	}
	return values
}

// text returns the text of an entry, or a list if it has several (section 2, "ASCII").
func text(b []byte) any {
	s := strings.TrimRight(string(b), "\x00")
	if parts := strings.Split(s, "\x00"); len(parts) > 1 {
		return parts
	}
	return s
}

// firstText returns an attribute that is a text, or the first one of several; "" if it is
// none.
func firstText(v any) string {
	if list, ok := v.([]string); ok {
		return list[0]
	}
	s, _ := v.(string)
	return s
}

// schemes name the compressions that no codec decodes (section "Compression" and the
// registry of libtiff).
var schemes = map[int64]string{
	2: "CCITT RLE", 3: "CCITT Group 3", 4: "CCITT Group 4", 6: "old JPEG", 7: "JPEG", 9: "JBIG", 10: "JBIG",
	32766: "NeXT RLE", 32771: "CCITT RLE", 32809: "ThunderScan RLE", 32908: "Pixar film",
	32909: "Pixar log", 32947: "DCS", 33003: "JPEG 2000", 33005: "JPEG 2000", 34661: "JBIG", 34676: "SGI Log",
	34677: "SGI Log", 34712: "JPEG 2000", 34887: "LERC", 34892: "lossy JPEG", 50001: "WebP", 50002: "JPEG XL", 52546: "JPEG XL",
}

// codecs returns the codecs of an image whose array has a type and the shape of chunks.
func (r *reader) codecs(d *ifd, a *scan.Array) ([]metadata.Extension, error) {
	n, err := r.number(d, compression, 1)
	if err != nil {
		return nil, err
	}
	const effort = 6 // of writing, which readers ignore
	switch n {
	case 1:
		return []metadata.Extension{r.serial(a.Type)}, nil
	case 32773:
		// PackBits (section 9) knows no predictor.
		return []metadata.Extension{r.serial(a.Type), imagecodecs.PackBits()}, nil
	case 5:
		// Section 13. Codes begin at the most significant bit, unlike those of GIF.
		return r.predicted(d, a, imagecodecs.LZW())
	case 8, 32946: // Adobe's Deflate, and the number before it was registered
		return r.predicted(d, a, numcodecs.Zlib(effort))
	case 34925:
		return r.predicted(d, a, numcodecs.LZMA(effort))
	case 50000:
		return r.predicted(d, a, codec.ZstdChecksum(0, false))
	}
	name, known := schemes[n]
	if !known {
		name = "of an unknown kind"
	}
	return nil, scan.Unsupportedf("compression %d, %s, for which there is no codec; %s", n, name, imagecodecs.Remedy)
}

// serial returns the codec that makes bytes of samples. They have the byte order of the
// file.
func (r *reader) serial(t dtype.Type) metadata.Extension {
	switch {
	case !t.Ordered():
		return codec.Bytes("")
	case r.order == binary.BigEndian:
		return codec.Bytes("big")
	}
	return codec.Bytes("little")
}

// predicted returns a compressor and the codecs before it. The predictor belongs to the
// compression: only these have one (section 14).
func (r *reader) predicted(d *ifd, a *scan.Array, compressor metadata.Extension) ([]metadata.Extension, error) {
	n, err := r.number(d, predictor, 1)
	if err != nil {
		return nil, err
	}
	// Differences are those of one sample along a row.
	axis := -1
	if a.Names[len(a.Names)-1] == "band" {
		axis = -2
	}
	switch {
	case n <= 1:
		return []metadata.Extension{r.serial(a.Type), compressor}, nil
	case n == 2 && isReal(a.Type):
		return []metadata.Extension{imagecodecs.Delta(axis), r.serial(a.Type), compressor}, nil
	case n == 2:
		return nil, scan.Unsupportedf("predictor 2, horizontal differencing, of %s samples; %s", a.Type, imagecodecs.Remedy)
	case n == 3 && a.Type.Kind() == dtype.KindFloat:
		// The predictor (Adobe's Technical Note 3) sorts bytes by significance, whatever
		// the byte order of the file.
		return []metadata.Extension{imagecodecs.FloatPredictor(a.Type, axis, whole(a)), codec.Bytes("little"), compressor}, nil
	case n == 3:
		return nil, scan.Unsupportedf("predictor 3, of floating point, with %s samples", a.Type)
	}
	return nil, scan.Unsupportedf("predictor %d, for which there is no codec; %s", n, imagecodecs.Remedy)
}

// whole returns the shape that all chunks have, nil if the last ones may be short.
func whole(a *scan.Array) []int64 {
	if a.Short {
		return nil
	}
	return a.Chunk
}

// isReal reports whether samples are integers or floats. libtiff subtracts the bits of
// floats, too.
func isReal(t dtype.Type) bool {
	return t.Kind() == dtype.KindInt || t.Kind() == dtype.KindUint || t.Kind() == dtype.KindFloat
}
