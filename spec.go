// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Spec describes a new array. Shape and Type are required; all other fields have
// defaults.
type Spec struct {
	// Shape is the length of every axis in elements. An empty shape is an array of one
	// element.
	Shape []int64
	// Type is the data type, such as dtype.Float32.
	Type dtype.Type
	// Chunks is how every axis is cut. With [grid.Every] on all axes the grid is
	// regular, otherwise it is rectilinear. Nil chooses regular chunks of about 1 MiB or
	// less, larger ones for large arrays, and one element along an axis of length 0
	// ([grid.Auto]). An array that will grow should have explicit chunks.
	Chunks []grid.Cut
	// Grid is an existing grid, in place of Chunks: that of another array, or the result
	// of [grid.Parse]. It must have the same shape. It keeps its name and its edges
	// beyond the extent.
	Grid *grid.Grid
	// ListAxes writes every axis of a rectilinear grid as a list of edges, for programs
	// that do not accept a bare integer there (Icechunk 2.2). When such an axis grows, it
	// gets new edges from a policy.
	ListAxes bool
	// FillValue is the value of elements that were never written, from [FillJSON] or from
	// another array. The zero FillValue is zero, "", or NaT.
	//
	// In format 2, xarray treats the fill value as missing data. So the zero FillValue is
	// stored as null there, for arrays with dimension names or of rank 0; missing chunks
	// still read as zero. FillJSON("null") asks for null in format 2, and for the default
	// in format 3.
	FillValue FillValue
	// InnerChunks, if not nil, makes every chunk a shard: one stored object with inner
	// chunks, which are read and written separately. It has one cut for each axis. Inner
	// chunks must divide shards, unless [Experimental.InnerChunks] is set.
	InnerChunks []grid.Cut
	// IndexAtStart puts the index of a shard before its inner chunks. By default it comes
	// after them, as in other programs.
	IndexAtStart bool
	// Codecs is the codec chain, of inner chunks if there are any. Nil is "bytes" with
	// little endian and "zstd" with level 0, as in zarr-python. A chain needs one codec
	// that makes bytes of elements, usually [codec.Bytes], before those that compress.
	//
	// A "zstd" that does not say whether it has a checksum has one in format 3, and none
	// in format 2, where TensorStore refuses the member. [codec.ZstdChecksum] says it.
	Codecs []metadata.Extension
	// KeyEncoding is the chunk key encoding. The zero value makes keys such as "c/0/1".
	KeyEncoding metadata.KeyEncoding
	// DimensionNames is nil, or has a name for every axis. "" is an axis without a name.
	DimensionNames []string
	// Attributes is anything that encodes to a JSON object, such as a map, a struct or a
	// json.RawMessage. Nil is {}.
	Attributes any
	// Format is the version of the Zarr format, 2 or 3. 0 is that of [CreateOptions]. In
	// format 2 the default keys are "0.1", and a spec that the format cannot express is
	// refused: rectilinear grids, shards, and many codecs and data types.
	Format int
}

// array returns the new array, of which nothing is stored yet.
func (s *Spec) array(base node) (*Array, error) {
	doc, err := s.document(&base.options)
	// Make the document in format 3 and convert it, so that both formats have the same
	// defaults and checks.
	if err == nil && s.Format == 2 {
		doc, err = s.documentV2(doc, base.options.Limits)
	}
	if err != nil {
		return nil, err
	}
	base.document = doc.Document()
	return newArray(base, doc, store.Version{})
}

// documentV2 returns the metadata of the array in format 2.
func (s *Spec) documentV2(doc *metadata.Array, l Limits) (*metadata.Array, error) {
	if s.KeyEncoding == metadata.DefaultSlash { // the default of format 3
		doc = doc.WithKeyEncoding(metadata.V2Dot)
	}
	old, err := doc.ToV2(l.metadata())
	// In format 2, xarray treats the fill value as missing data. Null avoids this for a
	// default that the caller did not choose.
	if err == nil && (s.FillValue == FillValue{} && old.DimensionNames != nil || s.FillValue.JSON() == "null") {
		old = old.WithNullFill()
	}
	return old, err
}

// document returns the metadata of the array.
func (s *Spec) document(o *Options) (*metadata.Array, error) {
	if s.Type.IsZero() {
		return nil, fault.Argument("the data type is missing")
	}
	if len(s.Shape) > o.Limits.writeRank() {
		return nil, fmt.Errorf("%w: %s, other readers take up to 32"+remedy.LimitsRank, ErrLimit, quantity.Count(len(s.Shape), "axes"))
	}
	g, err := s.grid()
	if err != nil {
		return nil, err
	}
	fill, err := s.fill()
	if err != nil {
		return nil, err
	}
	// A rectilinear grid may still have axes that are written as a bare integer.
	if s.ListAxes && g.Name() == "rectilinear" {
		if g, err = g.Unlocked(); err != nil {
			return nil, err
		}
	}
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	attributes, err := attributesJSON(s.Attributes)
	if err != nil {
		return nil, err
	}
	codecs, err := s.codecs()
	if err != nil {
		return nil, err
	}
	codecs, err = specifiedCodecs(o.environment(), codecs, s.Type, fill, len(s.Shape))
	if err != nil {
		return nil, err
	}
	return &metadata.Array{
		Shape: s.Shape, DataType: metadata.Extension{Name: s.Type.Name(), Configuration: s.Type.Configuration()},
		ChunkGrid:        snapshot.GridExtension(g, 0),
		ChunkKeyEncoding: s.KeyEncoding.Extension(), FillValue: fill, Codecs: codecs,
		DimensionNames: names, Attributes: attributes,
	}, nil
}

func (s *Spec) grid() (*grid.Grid, error) {
	switch {
	case s.Grid != nil && s.Chunks != nil:
		return nil, fault.Argument("both Chunks and Grid are given, only one can be meant")
	case s.Grid != nil && !slices.Equal(s.Grid.Shape(), s.Shape):
		return nil, fault.Argument("the grid is of shape %v, the array of shape %v", s.Grid.Shape(), s.Shape)
	case s.Grid != nil:
		return s.Grid, nil
	case s.Chunks != nil:
		return grid.New(s.Shape, s.Chunks...)
	}
	return grid.New(s.Shape, grid.Chunks(grid.Auto(s.Shape, int64(coding.Width(s.spec())))...)...)
}

func (s *Spec) spec() codec.Spec { return codec.Spec{Type: s.Type} }

func (s *Spec) fill() ([]byte, error) {
	elem, err := s.FillValue.Element(s.Type)
	if err != nil {
		return nil, err
	}
	return s.Type.FormatFill(elem)
}

// codecs returns the chain of the chunks of the grid.
func (s *Spec) codecs() ([]metadata.Extension, error) {
	chain := coding.WithChecksums(s.chain(), s.Format != 2)
	if s.InnerChunks == nil {
		return chain, nil
	}
	if len(s.InnerChunks) != len(s.Shape) {
		return nil, fault.Argument("inner chunks of %s, the array has %d", quantity.Count(len(s.InnerChunks), "axes"), len(s.Shape))
	}
	shards, err := codec.Shards(codec.Sharding{Inner: s.InnerChunks, Codecs: chain, AtStart: s.IndexAtStart})
	return []metadata.Extension{shards}, err
}

func (s *Spec) chain() []metadata.Extension {
	if s.Codecs != nil {
		return s.Codecs
	}
	compressor := codec.Zstd(0)
	if s.Type.Variable() {
		return []metadata.Extension{codec.VariableLength(s.Type), compressor}
	}
	order := ""
	// The bytes codec has an endian member only for types with a byte order.
	if s.Type.Ordered() {
		order = "little"
	}
	return []metadata.Extension{codec.Bytes(order), compressor}
}

func (s *Spec) names() ([]*string, error) {
	if s.DimensionNames == nil {
		return nil, nil
	}
	if len(s.DimensionNames) != len(s.Shape) {
		return nil, fault.Argument("%s for %s", quantity.Count(len(s.DimensionNames), "dimension names"), quantity.Count(len(s.Shape), "axes"))
	}
	names := make([]*string, len(s.Shape))
	for i := range names {
		if s.DimensionNames[i] != "" {
			names[i] = &s.DimensionNames[i]
		}
	}
	return names, nil
}

// attributesJSON returns the JSON object that v encodes to.
func attributesJSON(v any) ([]byte, error) {
	if v == nil {
		return []byte("{}"), nil
	}
	// Encoding a []byte would give a base64 string.
	if raw, ok := v.([]byte); ok {
		v = json.RawMessage(raw)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	// Keep "<", ">" and "&" in attributes as they are.
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fault.Argument("attributes: %v (a NaN or an infinity cannot be a JSON number)", err)
	}
	raw := bytes.TrimSpace(b.Bytes())
	if string(raw) == "null" { // a nil map or pointer
		return []byte("{}"), nil
	}
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fault.Argument("attributes must encode to a JSON object, got %.20s", raw)
	}
	return raw, nil
}

// Spec returns a description of the array for creating one like it: with the same shape,
// data type, grid, shards, codecs, fill value, chunk keys, dimension names, attributes
// and format. Change fields of the result to create a different array. Unknown members of
// the document are not kept.
func (a *Array) Spec() Spec {
	s := a.core.State()
	return spec(s.Document(), s.Type, s.Grid, s.Engine.Keys)
}

// SpecOf is [Array.Spec] for the metadata of an array. If the data type, grid or key
// encoding is unknown, the error wraps [ErrUnsupported]. If it is invalid, the error
// wraps [ErrInvalidMetadata].
func SpecOf(doc *metadata.Array) (Spec, error) {
	t, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
	if err != nil {
		return Spec{}, fail("describe", "", fault.InDocument(fault.At("/data_type", err)))
	}
	// Describing an experimental grid is always permitted. Creating the array needs the
	// option.
	g, err := grid.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration, &grid.ParseOptions{EncodedShapes: true})
	if err != nil {
		return Spec{}, fail("describe", "", fault.InDocument(fault.At("/chunk_grid", err)))
	}
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return Spec{}, fail("describe", "", fault.InDocument(fault.At("/chunk_key_encoding", err)))
	}
	if len(doc.StorageTransformers) > 0 {
		return Spec{}, fail("describe", "", fmt.Errorf("%w: storage transformer %q", metadata.ErrUnsupported, doc.StorageTransformers[0].Name))
	}
	return spec(doc, t, g, keys), nil
}

func spec(doc *metadata.Array, t dtype.Type, g *grid.Grid, keys metadata.KeyEncoding) Spec {
	format, fill := doc.Format(), FillJSON(string(doc.FillValue))
	if doc.HasNullFill() {
		fill = FillJSON("null")
	}
	doc = doc.ToV3() // which moves dimension names out of the attributes
	env := &codec.Environment{Unaligned: true}
	codecs, _ := specifiedCodecs(env, doc.Codecs, t, doc.FillValue, g.Rank())
	codecs = coding.WithChecksums(codecs, false) // what a document means that does not say it
	return Spec{
		Shape: g.Shape(), Type: t, Grid: g, FillValue: fill, Codecs: codecs, KeyEncoding: keys,
		DimensionNames: snapshot.NamesOf(doc), Attributes: json.RawMessage(doc.Attributes), Format: format,
	}
}

// FillValue is the value of elements that were never written, in the spelling of
// metadata. The fill value of one array can be used for another ([Spec]). The zero
// FillValue is zero, "" or NaT, depending on the data type.
type FillValue struct {
	json string
	from source
}

// source is the Go type that a fill value comes from, if its spelling does not tell: a
// JSON string is text for text types, and base64 for byte strings.
type source byte

const (
	fromJSON  source = iota
	fromText         // a string
	fromBytes        // a []byte
)

// FillJSON returns the fill value with the given spelling in metadata, such as 0, "NaN",
// [0, 1], or null. Creating an array fails if its data type has no such fill value.
func FillJSON(text string) FillValue { return FillValue{json: strings.TrimSpace(text)} }

// FillOf returns v as a fill value, such as FillOf(math.NaN()), FillOf(int16(-1)) or
// FillOf("none"). Creating an array fails if its data type has no such fill value. A
// number may have another type than the array. For null-terminated bytes and for bytes of
// variable length, a string is its bytes, not base64. A moment or a duration is refused,
// except for the zero [time.Time], which is NaT: its spelling depends on the unit of the
// array. [FillOfStruct] takes structs.
func FillOf[T dtype.Element](v T) FillValue {
	switch v := any(v).(type) {
	case time.Time:
		if !v.IsZero() {
			return FillValue{json: v.String()} // not JSON, so every data type refuses it
		}
	case time.Duration:
		return FillValue{json: v.String()}
	case float64:
		if math.Float64bits(v) == math.Float64bits(math.NaN()) { // Go's has a payload
			return FillValue{json: `"NaN"`}
		}
	}
	t := dtype.Of[T]()
	e, err := element.From(t, strided.NewHeap(nil), []T{v})
	if err != nil {
		return FillValue{json: fmt.Sprint(v)} // text that is not UTF-8
	}
	elem := e.Data
	if t.Variable() {
		elem = e.Heap.Bytes(elem)
	}
	f := fillValueOf(t, elem, false)
	switch t.Kind() {
	case dtype.KindString:
		f.from = fromText
	case dtype.KindBytes:
		f.from = fromBytes
	}
	return f
}

// FillOfStruct returns v as the fill value of an array of structs of type t. Fields are
// matched as in [ReadStructs]. The error wraps [ErrInvalidArgument] and names the field
// that does not fit.
func FillOfStruct[T any](t dtype.Type, v T) (FillValue, error) {
	elem := make([]byte, t.Size())
	l, err := element.LayoutOf[T](t)
	if err == nil {
		if _, err = l.Store(elem, element.MemoryOf([]T{v})); err == nil {
			err = t.Check(elem)
		}
		if err != nil {
			err = fault.Argument("%v", err)
		}
	}
	if err != nil {
		return FillValue{}, fmt.Errorf("zarr: fill value: %w", err)
	}
	return fillValueOf(t, elem, false), nil
}

// JSON returns the fill value in the spelling of metadata, or "" for the zero FillValue.
func (f FillValue) JSON() string { return f.json }

// MarshalJSON implements [json.Marshaler].
func (f FillValue) MarshalJSON() ([]byte, error) { return []byte(f.json), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (f *FillValue) UnmarshalJSON(raw []byte) error {
	*f = FillValue{json: string(raw)}
	return nil
}

// Element returns the fill value as an element of a data type: [dtype.Type.Size] bytes in
// host byte order, or all bytes of an element of variable length. The zero FillValue and
// null are the default of the type. The error wraps [dtype.ErrInvalid] if the type has no
// such value.
func (f FillValue) Element(t dtype.Type) ([]byte, error) {
	if f.json == "" || f.json == "null" {
		return t.Default(), nil
	}
	elem, other, err := f.ofBytes(t)
	if !other {
		elem, err = t.ParseFill([]byte(f.json))
	}
	return elem, err
}

// ofBytes returns the element for a string or a []byte, if metadata spells it otherwise
// for this data type: text of byte strings, and bytes of raw types such as r24.
func (f FillValue) ofBytes(t dtype.Type) (elem []byte, other bool, err error) {
	bytes := t.Kind() == dtype.KindBytes || t.Kind() == dtype.KindTerminated
	switch {
	case f.from == fromText && bytes:
		elem, err = dtype.String.ParseFill([]byte(f.json))
	case f.from == fromText && (t.Kind() == dtype.KindRaw || t.Kind() == dtype.KindStruct):
		return nil, true, fmt.Errorf("%w: fill value %.60s of %s is text", dtype.ErrInvalid, f.json, t)
	case f.from == fromBytes && t.Kind() == dtype.KindRaw:
		elem, err = dtype.Bytes.ParseFill([]byte(f.json))
	default:
		return nil, false, nil
	}
	n, size := len(elem), t.Size()
	if t.Kind() == dtype.KindBytes || err != nil {
		return elem, true, err
	}
	if n > size || t.Kind() == dtype.KindRaw && n < size {
		return nil, true, fmt.Errorf("%w: fill value %.60s of %s has %s", dtype.ErrInvalid, f.json, t, quantity.Count(n, "bytes"))
	}
	return append(elem, make([]byte, size-n)...), true, nil
}

// fillValueOf returns the fill value of an array with an element and a document.
func fillValueOf(t dtype.Type, elem []byte, null bool) FillValue {
	if null {
		return FillValue{json: "null"}
	}
	text, err := t.FormatFill(elem)
	if err != nil {
		return FillValue{} // an array that is open has a valid one
	}
	return FillValue{json: string(text)}
}
