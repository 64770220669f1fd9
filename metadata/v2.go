// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"fmt"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// ParseV2 parses a node of format 2. name is the name of document: .zarray or
// .zgroup. attributes is the document .zattrs, nil if the node has none. The
// pointers of errors begin with the name of the document at fault.
//
// ParseV2 describes an array as format 3 would. Byte order, axis order, filters and
// compressor become codecs, and the attribute of xarray that names the dimensions becomes
// DimensionNames. The array keeps its format: Marshal returns a document of format 2.
// Unknown members are ignored and written again. Unknown codecs and data types keep their
// names.
//
// Fill values take the form of format 3 too. Null, which leaves the value of missing
// chunks open ([Array.HasNullFill]), becomes the zero of the type, or NaT for times, as
// in zarr-python 3.4.1.
//
// Known deviations of Python writers are repaired (see [Array.Notes]): a bare NaN or
// Infinity in attributes or as a fill value, and the fill value 0 of elements that are
// not numbers.
func ParseV2(name string, document, attributes []byte, l Limits) (Node, error) {
	return parseV2(name, nonfinite.Text(document), nonfinite.Text(attributes), l)
}

// parseV2 is ParseV2 for documents whose text is plain.
func parseV2(name string, document, attributes []byte, l Limits) (Node, error) {
	object, found, err := attributesV2(attributes, l)
	if err != nil {
		return nil, prefixPointer(err, strictjson.Token(nodename.V2Attributes))
	}
	root, err := strictjson.Parse(document, l.json())
	bare := false
	if err != nil {
		var quoted []byte
		// The strings that replace bare numbers are valid as fill values.
		// Elsewhere in the document they are refused.
		if quoted, bare = quoteFill(document); bare {
			root, err = strictjson.Parse(quoted, l.json())
		}
	}
	if err != nil {
		return nil, prefixPointer(err, strictjson.Token(name))
	}
	n, err := nodeV2(name, root, object, found, l)
	if a, ok := n.(*Array); ok && bare {
		a.repairs = append(a.repairs, bareFill)
	}
	return n, err
}

// ParseArrayV2 is [ParseV2] for an array.
func ParseArrayV2(document, attributes []byte, l Limits) (*Array, error) {
	n, err := ParseV2(nodename.V2Array, document, attributes, l)
	a, _ := n.(*Array)
	return a, err
}

// nodeV2 reads the parsed document of a node.
func nodeV2(name string, root strictjson.Value, attributes []byte, found []repair, l Limits) (n Node, err error) {
	if err = formatV2(root); err == nil && name == nodename.V2Group {
		return newGroupV2(root, attributes, found), nil
	}
	var a *Array
	if err == nil {
		a, err = newArrayV2(root, attributes, found, l)
	}
	if a != nil {
		n = a
	}
	if err != nil {
		err = prefixPointer(err, strictjson.Token(name))
	}
	return n, err
}

// formatV2 checks that a document is of format 2.
func formatV2(root strictjson.Value) error {
	if root.Kind() != strictjson.Object {
		return root.Errorf("document must be an object, got %s", root.Kind())
	}
	v, ok := root.Member(zarrFormat.String())
	if !ok {
		return root.Errorf("member %q is missing", zarrFormat)
	}
	n, err := v.Int64()
	if err == nil && n != 2 {
		err = v.Errorf("%w", unsupportedf("format version %d in a document of version 2", n))
	}
	return err
}

// attributesV2 parses the attributes of a node. It returns the object and the repairs.
func attributesV2(raw []byte, l Limits) (object []byte, found []repair, err error) {
	if raw == nil {
		return []byte("{}"), nil, nil
	}
	raw, bare := nonfinite.Quote(raw)
	if bare {
		found = append(found, bareNumbersV2)
	}
	v, err := strictjson.Parse(raw, l.json())
	switch {
	// Writers in Go and Java encode a missing map as null.
	case err == nil && v.Kind() == strictjson.Null:
		return []byte("{}"), append(found, nullAttributes), nil
	case err == nil && v.Kind() != strictjson.Object:
		err = v.Errorf("attributes must be an object, got %s", v.Kind())
	}
	return v.Raw(), found, err
}

// newGroupV2 reads a group. It ignores consolidated_metadata: zarr-python 3 writes an
// empty one of format 3 into the groups within .zmetadata, but not into their own
// documents.
func newGroupV2(root strictjson.Value, attributes []byte, found []repair) *Group {
	g := &Group{Attributes: attributes, repairs: found, v2: new(groupV2)}
	// Other members belong to other programs, so write them again.
	for name, m := range root.Members() {
		if name != zarrFormat.String() && name != consolidatedMetadata.String() {
			g.v2.kept = append(g.v2.kept, member{name, m.Raw()})
		}
	}
	return g
}

// Format returns the version of the storage format: 2 or 3.
func (g *Group) Format() int { return format(g.v2 != nil) }

// Format returns the version of the storage format: 2 or 3.
func (a *Array) Format() int { return format(a.v2 != nil) }

func format(isV2 bool) int {
	if isV2 {
		return 2
	}
	return 3
}

// Document returns the name of the document that Marshal returns: zarr.json or .zgroup.
func (g *Group) Document() string {
	if g.v2 != nil {
		return nodename.V2Group
	}
	return nodename.V3Node
}

// Document returns the name of the document that Marshal returns: zarr.json or .zarray.
func (a *Array) Document() string {
	if a.v2 != nil {
		return nodename.V2Array
	}
	return nodename.V3Node
}

// MarshalAttributes returns the document .zattrs of an array of format 2. It
// returns nil in format 3, where the attributes are part of the array's document.
func (a *Array) MarshalAttributes(l Limits) ([]byte, error) {
	if a.v2 == nil {
		return nil, nil
	}
	return MarshalAttributesV2(a.Attributes, l)
}

// MarshalAttributes returns the document .zattrs of a group of format 2. It
// returns nil in format 3, where the attributes are part of the group's document.
func (g *Group) MarshalAttributes(l Limits) ([]byte, error) {
	if g.v2 == nil {
		return nil, nil
	}
	return MarshalAttributesV2(g.Attributes, l)
}

// ParseAttributesV2 parses the document .zattrs of a node of format 2. It returns
// the object verbatim, except for the repairs of [ParseV2].
func ParseAttributesV2(data []byte, l Limits) (object []byte, err error) {
	object, _, err = attributesV2(nonfinite.Text(data), l)
	if err != nil {
		err = prefixPointer(err, strictjson.Token(nodename.V2Attributes))
	}
	return object, err
}

// MarshalAttributesV2 returns the document .zattrs for an object of attributes.
// Bare numbers that [ParseV2] repaired are written as they were.
func MarshalAttributesV2(raw []byte, l Limits) ([]byte, error) {
	w := &writer{at: strictjson.Token(nodename.V2Attributes), limits: l}
	w.object(raw)
	// The attributes are the whole document, so they must be one object.
	if _, err := object(w.buf); err != nil {
		w.fail(err)
	}
	if w.err != nil {
		return nil, w.err
	}
	doc, err := w.finish()
	return nonfinite.Bare(doc), err
}

// marshalV2 returns the document of a group of format 2.
func (g *Group) marshalV2(l Limits) ([]byte, error) {
	w := &writer{buf: []byte(`{"zarr_format":2`), limits: l}
	w.entries(g.v2.kept)
	return w.documentV2(nodename.V2Group)
}

// documentV2 ends a document and parses it as a check.
func (w *writer) documentV2(name string) ([]byte, error) {
	if w.err != nil {
		return nil, prefixPointer(w.err, strictjson.Token(name))
	}
	w.buf = append(w.buf, '}')
	// Write only what this package can read again.
	if _, err := ParseV2(name, w.buf, nil, w.limits); err != nil {
		return nil, err
	}
	return w.finish()
}

// Notes returns one sentence for each way in which the group as read differs from its
// stored documents.
func (g *Group) Notes() []string {
	notes := notesOf(g.repairs)
	if g.Damaged != nil {
		notes = append(notes, fmt.Sprintf("%s is damaged and was not read (%v): varve consolidate rebuilds it", nodename.V2Consolidated, g.Damaged))
	}
	return notes
}

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
		return v.Errorf("chunks of %s, the array has %d", quantity.Count(len(chunks), "dimensions"), len(r.array.Shape))
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
	return notesOf(a.repairs)
}

// HasNullFill reports whether the array is of format 2 and has the fill value null.
// Missing chunks then read as zero, and xarray masks no element as missing.
func (a *Array) HasNullFill() bool { return a.v2 != nil && string(a.v2.fill) == "null" }

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
	w.named(v2Shape).shape(a.Shape)
	w.named(v2Chunks).raw(chunks)
	w.named(v2DType).raw(a.v2.dtype)
	w.named(v2Fill).raw(a.v2.fill)
	w.named(v2Order).raw(a.v2.order)
	w.named(v2Filters).rawOrNull(a.v2.filters)
	if a.v2.separator != nil {
		w.named(v2Separator).raw(a.v2.separator)
	}
	w.named(v2Compressor).rawOrNull(a.v2.compressor)
	w.named(v2Format).raw([]byte{'2'})
	w.entries(a.v2.kept)
	return w.documentV2(nodename.V2Array)
}

// chunksV2 returns the chunk shape of the grid as JSON. The grid must be regular.
func (a *Array) chunksV2() ([]byte, error) {
	if a.ChunkGrid.Name != regularGrid {
		return nil, &Error{strictjson.Token(nodename.V2Array) + "/" + v2Chunks, unsupportedf(
			"chunk grid %q: format 2 has regular chunks only", strictjson.Abbreviate(a.ChunkGrid.Name))}
	}
	v, err := object(a.ChunkGrid.Configuration)
	if err != nil {
		return nil, prefixPointer(err, "/chunk_grid/configuration")
	}
	chunks, ok := v.Member(chunkShape)
	if !ok {
		return nil, prefixPointer(v.Errorf("member %q is missing", chunkShape), "/chunk_grid/configuration")
	}
	return chunks.Raw(), nil
}

// readerV2 reads the document of an array of format 2.
type readerV2 struct {
	root     strictjson.Value
	members  map[string]strictjson.Value
	limits   Limits
	array    *Array
	elements elementV2
	refused  error // why the array can only be described
}

// required returns a required member.
func (r *readerV2) required(name string) (strictjson.Value, error) {
	v, ok := r.members[name]
	if !ok {
		return v, r.root.Errorf("member %q is missing", name)
	}
	return v, nil
}

// repair records a repair, once for each kind.
func (r *readerV2) repair(what repair) {
	if !slices.Contains(r.array.repairs, what) {
		r.array.repairs = append(r.array.repairs, what)
	}
}

// Members of the document of an array (zarr-specs v2, "Arrays"), in the order of writing.
const (
	v2Shape      = "shape"
	v2Chunks     = "chunks"
	v2DType      = "dtype"
	v2Fill       = "fill_value"
	v2Order      = "order"
	v2Filters    = "filters"
	v2Separator  = "dimension_separator"
	v2Compressor = "compressor"
	v2Format     = "zarr_format"
)

// elementV2 is the data type of an array of format 2 (zarr-specs v2, "Data type
// encoding").
type elementV2 struct {
	typ dtype.Type // zero if it is unknown, and for objects
	ext Extension  // the type in format 3
	big bool       // numbers are stored in big-endian order
	// orders has the byte order of every field that has one, true for big-endian. It is
	// nil if all agree.
	orders []bool
	// object is set for elements of variable length, whose type follows from a filter.
	object bool
	// text is set if fill values are base64, as those of bytes and structs are.
	text bool
}
