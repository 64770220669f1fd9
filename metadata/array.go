// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"bytes"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// Array is the metadata of an array (zarr-specs v3.1 core, "Array metadata").
type Array struct {
	// Shape is the length of every dimension in elements.
	Shape []int64
	// DataType, ChunkGrid and ChunkKeyEncoding are the extension points that every array
	// has.
	DataType, ChunkGrid, ChunkKeyEncoding Extension
	// FillValue is the fill value as JSON, verbatim unless it was repaired.
	FillValue []byte
	// Codecs are the codecs in the order of encoding. There is at least one.
	Codecs []Extension
	// StorageTransformers is nil if the document has no such member. No storage
	// transformer is supported.
	StorageTransformers []Extension
	// DimensionNames is nil if the document has none. Otherwise it has one entry per
	// dimension, which is nil for a dimension without a name.
	DimensionNames []*string
	// Attributes is a JSON object with its original spelling. A bare NaN, Infinity or
	// -Infinity, as zarr-python writes, is represented by a string with an
	// unnecessary escape, such as "\u004eaN". Marshal writes the bare number again.
	// Ordinary text never has that spelling.
	Attributes []byte

	kept    []member
	repairs []repair
	v2      *arrayV2 // nil in format 3
}

// Clone returns a copy that can be changed without a change of a. Only the JSON texts of
// configurations are shared.
func (a *Array) Clone() *Array {
	c := *a
	c.Shape, c.FillValue, c.Attributes = slices.Clone(a.Shape), bytes.Clone(a.FillValue), bytes.Clone(a.Attributes)
	c.Codecs, c.StorageTransformers = slices.Clone(a.Codecs), slices.Clone(a.StorageTransformers)
	c.DimensionNames = slices.Clone(a.DimensionNames)
	return &c
}

// array reads the document of an array. If only unsupported parts are at fault, it
// returns the array together with an error that wraps ErrUnsupported.
func (d *document) array(l Limits) (Node, error) {
	d.disown(consolidatedMetadata, numFields)
	a := &Array{kept: d.kept}
	if err := d.fill(a, l); err != nil {
		return nil, err
	}
	a.repairs = d.repairs
	if len(a.StorageTransformers) > 0 {
		v := d.fields[storageTransformers]
		// The array is returned, too, so that it can be described.
		return a, v.Errorf("%w", unsupportedf("storage transformer %q is not known", a.StorageTransformers[0].Name))
	}
	return a, d.refused
}

// fill reads all members of an array.
func (d *document) fill(a *Array, l Limits) (err error) {
	if err = d.shape(a, l.rank()); err != nil {
		return err
	}
	if a.DataType, err = d.extension(dataType, newExtension); err != nil {
		return err
	}
	if a.ChunkGrid, err = d.extension(chunkGrid, newGrid); err != nil {
		return err
	}
	if a.ChunkKeyEncoding, err = d.extension(chunkKeyEncoding, newExtension); err != nil {
		return err
	}
	v, err := d.required(fillValue)
	if err != nil {
		return err
	}
	a.FillValue = d.repairedFill(a.DataType, v)
	if err = d.chains(a); err != nil {
		return err
	}
	if err = d.dimensionNames(a); err != nil {
		return err
	}
	a.Attributes, err = d.attributes()
	return err
}

func (d *document) extension(f field, parse func(strictjson.Value) (Extension, error)) (Extension, error) {
	v, err := d.required(f)
	if err != nil {
		return Extension{}, err
	}
	return parse(v)
}

// ParseChunkGrid is [ParseExtension] for the value of chunk_grid, which may also have the
// form of the ZEP 3 draft.
func ParseChunkGrid(raw []byte, l Limits) (Extension, error) {
	return parseExtension(raw, l, newGrid)
}

func newGrid(v strictjson.Value) (Extension, error) {
	if e, ok := draftGrid(v); ok {
		return e, nil
	}
	return newExtension(v)
}

// draftGrid reads a chunk grid in the form of the ZEP 3 draft. That has the name as
// "type" and all else beside it: {"type": "rectangular", "separator": "/", "chunk_shape":
// [[5, 5, 10], 10]}. It is written in the same form until the grid changes.
func draftGrid(v strictjson.Value) (Extension, bool) {
	if v.Kind() != strictjson.Object {
		return Extension{}, false
	}
	// Every specified form has a name.
	if _, named := v.Member("name"); named {
		return Extension{}, false
	}
	configuration, name := []byte{'{'}, ""
	for member, m := range v.Members() {
		switch {
		case member == "type":
			name, _ = m.Str()
			continue
		case len(configuration) > 1:
			configuration = append(configuration, ',')
		}
		configuration = append(append(strictjson.AppendQuote(configuration, member), ':'), m.Raw()...)
	}
	e := Extension{Name: name, Configuration: append(configuration, '}')}
	e.read = &spelling{e, v.Raw()}
	return e, name == "rectangular"
}

func (d *document) shape(a *Array, rank int) error {
	v, err := d.required(shape)
	if err != nil {
		return err
	}
	if v.Kind() != strictjson.Array {
		return v.Errorf("shape must be an array, got %s", v.Kind())
	}
	a.Shape, err = extents(v, rank)
	return err
}

// extents reads a list of lengths in elements, at most rank of them.
func extents(v strictjson.Value, rank int) ([]int64, error) {
	// Check the number before allocating memory.
	n := v.Len()
	if n > rank {
		return nil, v.Errorf("%s, at most %d are allowed", quantity.Count(n, "dimensions"), rank)
	}
	lengths := make([]int64, n)
	for i, e := range v.Elements() {
		var err error
		if lengths[i], err = e.Int64(); err != nil {
			return nil, err
		}
		if lengths[i] < 0 {
			return nil, e.Errorf("extent must not be negative, got %d", lengths[i])
		}
	}
	return lengths, nil
}

// chains reads the codecs and the storage transformers.
func (d *document) chains(a *Array) error {
	v, err := d.required(codecs)
	if err != nil {
		return err
	}
	if a.Codecs, err = newExtensions(v); err != nil {
		return err
	}
	if len(a.Codecs) == 0 {
		return v.Errorf("there must be at least one codec, the one that makes bytes")
	}
	isByField := func(e Extension) bool { return e.Name == own.BytesByField }
	// Arrays of format 2 can have this codec in memory, but no document of format 3 may
	// name it.
	if i := slices.IndexFunc(a.Codecs, isByField); i >= 0 && d.refused == nil {
		d.refused = v.Element(i).Errorf("%w", unsupported("fields in byte orders of their own, which only format 2 has, are not supported in format 3"))
	}
	if v = d.optional(storageTransformers, nullTransformers); !v.IsZero() {
		a.StorageTransformers, err = newExtensions(v)
	}
	return err
}

func (d *document) dimensionNames(a *Array) error {
	v := d.optional(dimensionNames, nullNames)
	if v.IsZero() {
		return nil
	}
	if v.Kind() != strictjson.Array {
		return v.Errorf("dimension names must be an array, got %s", v.Kind())
	}
	if n := v.Len(); n != len(a.Shape) {
		return v.Errorf("%s for %s", quantity.Count(n, "dimension names"), quantity.Count(len(a.Shape), "dimensions"))
	}
	// One allocation for all names. Null stays nil.
	a.DimensionNames = make([]*string, len(a.Shape))
	names := make([]string, len(a.Shape))
	for i, e := range v.Elements() {
		if e.Kind() == strictjson.Null {
			continue
		}
		var err error
		if names[i], err = e.Str(); err != nil {
			return err
		}
		a.DimensionNames[i] = &names[i]
	}
	return nil
}

// Resized returns a copy of a with another shape, in elements, and the chunk grid for
// that shape.
func (a *Array) Resized(shape []int64, grid Extension) *Array {
	b := *a
	b.Shape, b.ChunkGrid, b.repairs = slices.Clone(shape), grid, rewritten(a.repairs)
	return &b
}

// WithKeyEncoding returns a copy of a whose chunk keys use another encoding.
func (a *Array) WithKeyEncoding(e KeyEncoding) *Array {
	b := *a
	b.ChunkKeyEncoding, b.repairs = e.Extension(), rewritten(a.repairs)
	if a.v2 != nil {
		v2 := *a.v2
		v2.separator = []byte{'"', e.Separator(), '"'}
		b.v2 = &v2
	}
	return &b
}

// WithAttributes returns a copy of a with other attributes. If raw is not a JSON object,
// the error wraps [ErrInvalid].
func (a *Array) WithAttributes(raw []byte) (*Array, error) {
	v, err := object(raw)
	if err != nil {
		return nil, prefixPointer(err, "/attributes")
	}
	b := *a
	// In format 2, xarray keeps the names of dimensions in an attribute.
	if b.Attributes = v.Raw(); b.v2 != nil { // attributes have a document of their own
		b.DimensionNames = namesV2(b.Attributes, len(b.Shape))
		return &b, nil
	}
	b.repairs = rewritten(a.repairs)
	return &b, nil
}

// arrayV2 holds the parts of a document of format 2 that do not follow from shape and
// chunk grid, verbatim.
type arrayV2 struct {
	dtype, fill, order, filters, compressor []byte

	separator []byte // nil if the document has none
	kept      []member
}

func (a *Array) node() {}

// repairedFill returns the fill value of an array of format 3. It replaces null, and
// numbers for bools, by the specified form.
func (d *document) repairedFill(t Extension, v strictjson.Value) []byte {
	typ, err := dtype.Parse(t.Name, t.Configuration)
	if err != nil {
		return v.Raw() // an unknown type: the fill value cannot be interpreted
	}
	if v.Kind() == strictjson.Null {
		// GDAL writes null for every raster without a nodata value.
		if fill, err := typ.FormatFill(typ.Default()); err == nil {
			d.repairs = append(d.repairs, nullFill)
			return fill
		}
	}
	if fill, ok := boolOf(typ, v); ok {
		d.repairs = append(d.repairs, numberForBool)
		return fill
	}
	return v.Raw()
}

// boolOf returns the bool that the number v stands for. It returns false if t is not bool
// or v is not 0 or 1.
func boolOf(t dtype.Type, v strictjson.Value) (fill []byte, ok bool) {
	if t.Kind() != dtype.KindBool || v.Kind() != strictjson.Number {
		return nil, false
	}
	// Any spelling of 0 and 1 counts, such as 1.0.
	switch n, err := v.Int64(); {
	case err == nil && n == 0:
		return []byte("false"), true
	case err == nil && n == 1:
		return []byte("true"), true
	}
	return nil, false
}
