// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
)

// newArrayV2 reads the document of an array. If only unsupported parts are at fault, it
// returns the array together with an error that wraps ErrUnsupported.
func newArrayV2(root strictjson.Value, attributes []byte, found []repair, l Limits) (*Array, error) {
	r := &readerV2{root: root, members: map[string]strictjson.Value{}, limits: l}
	r.array = &Array{Attributes: attributes, repairs: found, v2: new(arrayV2)}
	for name, m := range root.Members() {
		switch name {
		case v2Shape, v2Chunks, v2DType, v2Fill, v2Order, v2Filters, v2Separator, v2Compressor:
			r.members[name] = m
		case v2Format:
		default:
			// Readers ignore unknown members. Keep them, because another program may use
			// them.
			r.array.v2.kept = append(r.array.v2.kept, member{name, m.Raw()})
		}
	}
	// The order matters: codecs depend on shape and data type, fill value on data type.
	for _, read := range []func() error{r.grid, r.dtype, r.codecs, r.fill, r.keys} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	// Format 2 has no names of its own. xarray keeps them in an attribute.
	r.array.DimensionNames = namesV2(attributes, len(r.array.Shape))
	return r.array, r.refused
}

// lengths reads a list of lengths in elements.
func (r *readerV2) lengths(name string) ([]int64, error) {
	v, err := r.required(name)
	if err != nil {
		return nil, err
	}
	if v.Kind() != strictjson.Array {
		return nil, v.Errorf("%s must be an array, got %s", name, v.Kind())
	}
	for _, e := range v.Elements() {
		// Chunks of several lengths are a likely mistake: name it.
		if e.Kind() == strictjson.Array {
			return nil, e.Errorf("%w", unsupported("an axis with chunks of several lengths is not possible in format 2; format 3 has them"))
		}
	}
	return extents(v, r.limits.rank())
}

// grid reads shape and chunks.
func (r *readerV2) grid() (err error) {
	if r.array.Shape, err = r.lengths(v2Shape); err != nil {
		return err
	}
	chunks, err := r.lengths(v2Chunks)
	if err != nil {
		return err
	}
	v := r.members[v2Chunks]
	if len(chunks) != len(r.array.Shape) {
		return v.Errorf("chunks of %d dimensions, the array has %d", len(chunks), len(r.array.Shape))
	}
	for i, e := range v.Elements() {
		switch {
		case chunks[i] > 0:
		case r.array.Shape[i] > 0:
			// The product of the shape would be 0, so no chunk could hold an element.
			return e.Errorf("a chunk must not be 0 elements long, the axis has %d", r.array.Shape[i])
		default:
			// Nothing is stored along an empty axis, so any length is right. Package grid
			// and zarr-python take the smallest one.
			chunks[i] = 1
			r.repair(zeroChunk)
		}
	}
	w := new(writer)
	w.shape(chunks)
	r.array.ChunkGrid = Extension{Name: regularGrid, Configuration: fmt.Appendf(nil, `{%q:%s}`, chunkShape, w.buf)}
	return nil
}

// Name of the only chunk grid of format 2, and the member of its configuration, in format
// 3.
const (
	regularGrid = "regular"
	chunkShape  = "chunk_shape"
)

// keys reads the separator of chunk keys.
func (r *readerV2) keys() error {
	encoding := V2Dot
	v, ok := r.members[v2Separator]
	if ok && v.Kind() == strictjson.Null {
		// The specification has no null here. The default is ".".
		r.repair(nullSeparator)
		ok = false
	}
	if ok {
		s, err := v.Str()
		switch {
		case err != nil:
			return err
		case s == "/":
			encoding = V2Slash
		case s != ".":
			return v.Errorf(`separator must be "/" or ".", got %q`, strictjson.Abbreviate(s))
		}
		r.array.v2.separator = v.Raw()
	}
	r.array.ChunkKeyEncoding = encoding.Extension()
	return nil
}

// Notes returns one sentence for each way in which the array as read differs from its
// stored documents.
func (a *Array) Notes() []string {
	return texts(a.repairs)
}

// HasNullFill reports whether the array is of format 2 and has the fill value null.
// Missing chunks then read as zero, and xarray masks no element as missing.
func (a *Array) HasNullFill() bool { return a.v2 != nil && string(a.v2.fill) == "null" }

// MasksFill reports whether xarray masks the fill value of the array as missing: in
// format 2, unless it is null, where it opens the array, which takes names of dimensions.
func (a *Array) MasksFill() bool {
	if a.v2 == nil || a.HasNullFill() {
		return false
	}
	// Older arrays of NCZarr have their names there.
	named := func(m member) bool { return m.name == "_NCZARR_ARRAY" }
	return a.Unnamed() == "" || slices.ContainsFunc(a.v2.kept, named)
}

// WithNullFill returns a copy of an array of format 2 with the fill value null. FillValue
// of the copy is the default of the data type, which missing chunks read as. It returns
// an array of format 3 unchanged, because every such array has a fill value.
func (a *Array) WithNullFill() *Array {
	if a.v2 == nil {
		return a
	}
	b, v2 := *a, *a.v2
	v2.fill = []byte("null")
	b.v2, b.FillValue = &v2, defaultFill(a)
	return &b
}

// defaultFill returns the fill value that replaces null.
func defaultFill(a *Array) []byte {
	if t, err := dtype.Parse(a.DataType.Name, a.DataType.Configuration); err == nil {
		if fill, err := t.FormatFill(t.Default()); err == nil {
			return fill
		}
	}
	return []byte("null") // as ParseV2 does for an unknown type
}

// marshalV2 returns the document of an array of format 2.
func (a *Array) marshalV2(l Limits) ([]byte, error) {
	chunks, err := a.chunksV2()
	if err != nil {
		return nil, err
	}
	w := &writer{buf: []byte{'{'}, limits: l}
	w.first(v2Shape).shape(a.Shape)
	w.named(v2Chunks).raw(chunks)
	w.named(v2DType).raw(a.v2.dtype)
	w.named(v2Fill).raw(a.v2.fill)
	w.named(v2Order).raw(a.v2.order)
	w.named(v2Filters).orNull(a.v2.filters)
	if a.v2.separator != nil {
		w.named(v2Separator).raw(a.v2.separator)
	}
	w.named(v2Compressor).orNull(a.v2.compressor)
	w.named(v2Format).raw([]byte{'2'})
	w.kept(a.v2.kept)
	return w.documentV2(V2Array)
}

// chunksV2 returns the chunk shape of the grid as JSON. The grid must be regular.
func (a *Array) chunksV2() ([]byte, error) {
	if a.ChunkGrid.Name != regularGrid {
		return nil, &Error{strictjson.Token(V2Array) + "/" + v2Chunks, unsupportedf(
			"chunk grid %q: format 2 has regular chunks only", strictjson.Abbreviate(a.ChunkGrid.Name))}
	}
	v, err := object(a.ChunkGrid.Configuration)
	if err != nil {
		return nil, under(err, "/chunk_grid/configuration")
	}
	chunks, ok := v.Member(chunkShape)
	if !ok {
		return nil, under(v.Errorf("member %q is missing", chunkShape), "/chunk_grid/configuration")
	}
	return chunks.Raw(), nil
}
