// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/codecs/sharding"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Document is the metadata of an array that cannot be opened, with the parts that this
// program understands.
type Document struct {
	*metadata.Array
	location string
	dtype    dtype.Type // zero if unknown
	Grid     *grid.Grid // nil if unknown
	Inner    *grid.Grid // grid of inner chunks; nil if there are none or they are unknown
	keys     metadata.KeyEncoding
	Counted  bool     // the keys of chunks are known, so chunks can be counted
	decoded  bool     // the codecs are known
	unknown  []string // names of unknown parts
}

// ReadDocument reads the document of the array at a location, even if it requires unknown
// extensions. It returns nil if the document cannot be described.
func ReadDocument(ctx context.Context, location string, how zarr.Experimental) *Document {
	at, err := zarr.Locate(ctx, location, store.ReadOnly)
	if err != nil {
		return nil
	}
	defer node.Close(at)
	node, reason := at.Metadata(ctx, nil)
	doc, ok := node.(*metadata.Array)
	if !ok || doc == nil {
		return nil
	}
	d := &Document{Array: doc, location: location}
	d.understand(how)
	// Each part is valid alone, but the array cannot be opened: the parts contradict each
	// other.
	if d.unknown == nil {
		d.unknown = []string{"it cannot be opened as a whole"}
		if at := (*metadata.Error)(nil); errors.As(reason, &at) && at.Pointer != "" {
			d.unknown = []string{"the value at " + phrase.Shorten(at.Pointer, 40) + " is not known"}
		}
	}
	return d
}

// understand parses the parts of the document and records the unknown ones.
func (d *Document) understand(how zarr.Experimental) {
	var err error
	if d.dtype, err = dtype.Parse(d.DataType.Name, d.DataType.Configuration); !d.addUnknown("data type", d.DataType.Name, err) {
		_, err = d.dtype.ParseFill(d.FillValue)
		d.addUnknown("fill value", glimpse(d.FillValue), err)
	}
	parse := grid.ParseOptions{EncodedShapes: how.EncodedShapes}
	if d.Grid, err = grid.Parse(d.Shape, d.ChunkGrid.Name, d.ChunkGrid.Configuration, &parse); d.addUnknown("chunk grid", d.ChunkGrid.Name, err) {
		d.Grid = nil
	}
	d.keys, err = metadata.ParseKeyEncoding(d.ChunkKeyEncoding)
	d.Counted = !d.addUnknown("chunk key encoding", d.ChunkKeyEncoding.Name, err) && d.Grid != nil
	d.decoded = true
	for _, c := range d.Codecs {
		_, err := codec.Default.New(c)
		d.decoded = !d.addUnknown("codec", c.Name, err) && d.decoded
	}
	// The chain of a shard needs the data type.
	if d.decoded && !d.dtype.IsZero() && slices.ContainsFunc(d.Codecs, isSharding) {
		d.understandShards(how)
	}
	for _, t := range d.StorageTransformers {
		d.addUnknown("storage transformer", t.Name, metadata.ErrUnsupported)
		d.decoded, d.Counted = false, false // it changes the keys and the form of chunks
	}
}

// understandShards adds the inner chunks of shards.
func (d *Document) understandShards(how zarr.Experimental) {
	chain, err := d.chain(how.InnerChunks)
	// Only the permission for the experiment is missing.
	if _, allowed := d.chain(true); err != nil && allowed == nil {
		d.unknown = append(d.unknown, "the form of the inner chunks is experimental: --experimental inner-chunks reads them")
		d.decoded = false
		return
	}
	name := sharding.Name
	// The innermost codec is the one at fault.
	for e := (*coding.Error)(nil); errors.As(err, &e); err = e.Err {
		name = e.Codec
	}
	if d.decoded = !d.addUnknown("codec", name, err); d.decoded && d.Grid != nil && chain.Divided() {
		d.Inner, _ = d.Grid.Divided(chain.Inner()...)
	}
}

// chain returns the codecs of the document if they fit its grid.
func (d *Document) chain(unaligned bool) (*coding.Chain, error) {
	env := codec.Environment{Unaligned: unaligned}
	// Nothing is decoded with this chain, so any fill value will do.
	c, err := coding.NewChain(&env, d.Codecs, codec.Spec{Type: d.dtype, Fill: make([]byte, export.Width(d.dtype)), Rank: len(d.Shape)})
	if err == nil && d.Grid != nil {
		err = c.CheckGrid(d.Grid)
	}
	return c, err
}

// addUnknown records that a part of the document cannot be used. It reports whether err
// is not nil.
func (d *Document) addUnknown(what, name string, err error) bool {
	if err != nil {
		how := "is not valid"
		if zarr.KindOf(failure.On("open", d.location, err)) == "unsupported" {
			how = "is not known"
		}
		d.unknown = append(d.unknown, fmt.Sprintf("%s %s %s", what, phrase.Shorten(name, 60), how))
	}
	return err != nil
}

// Stored calls use with the index and the size in bytes of every stored chunk. The index
// is reused.
func (d *Document) Stored(ctx context.Context, use func(index []int64, size int64)) error {
	s, err := node.OpenStore(ctx, d.location)
	if err != nil {
		return err
	}
	defer s.Close()
	chunks, index := grid.BoxOf(d.Grid.Chunks()), []int64(nil)
	for e, err := range store.List(ctx, s, store.Path{}, store.Deep) {
		if err != nil {
			return err
		}
		var ok bool
		// Documents and values of other programs lie between the chunks.
		if index, ok = d.keys.ParseKey(e.Name, len(chunks), index); !ok || !chunks.Contains(index) {
			continue
		}
		// The store lists names without sizes.
		if e.Size < 0 {
			info, err := store.Stat(ctx, s, store.Path{}.MustKey(e.Name))
			if err != nil {
				return err
			}
			e.Size = info.Size
		}
		use(index, e.Size)
	}
	return nil
}

func isSharding(e metadata.Extension) bool { return e.Name == sharding.Name }

// form tells how far the stored document of an array deviates from the specification. A
// program that accepts one form accepts those before it.
type form int

const (
	specified   form = iota // as specified
	bareNumbers             // NaN and Infinity without quotes, as in Python's json module
	lenient                 // other deviations that zarr-python reads
	odd                     // deviations that zarr-python refuses
	reals                   // refused, too: integers written as 2.0 in codecs and grids, which Varve keeps
	draft                   // grids of other drafts, which programs read differently
)

// lenientNotes are parts of the notes about forms that zarr-python 3.4 reads. Each was
// tried.
var lenientNotes = []string{
	"attributes are null", "dimension_names are null", "storage_transformers are null", "the fill value of the bool elements is a number",
	"the checksum of zstd is a word",
}

// formOf returns the form of the stored document of an array.
func formOf(ctx context.Context, a *zarr.Array) form {
	f := specified
	if len(a.Grid().Notes()) > 0 {
		f = draft
	}
	others := archive.Notes(a.Location().Store()) // about the archive, not about the document
	for _, note := range a.Notes() {
		if !slices.Contains(others, note) && !strings.HasPrefix(note, "the name ") {
			f = max(f, formOfNote(note, a.Type().Variable()))
		}
	}
	// Read the stored text: the parsed document does not tell 2.0 from 2.
	if f < reals && hasRealLengths(ctx, a) {
		f = reals
	}
	return f
}

// formOfNote returns the form to which a note belongs.
func formOfNote(note string, variable bool) form {
	switch {
	case strings.Contains(note, " bare NaN or Infinity"):
		return bareNumbers
	case variable && strings.HasPrefix(note, "the fill value 0 of elements that are not numbers"):
		return lenient
	case slices.ContainsFunc(lenientNotes, func(part string) bool { return strings.Contains(note, part) }):
		return lenient
	case strings.HasPrefix(note, "the chunk length 0 "): // of format 2; that of format 3 is a note of the grid
		return draft
	}
	return odd
}

// hasRealLengths reports whether the document has a length or a setting of a codec that
// is written with a point or an exponent, such as 2.0. zarr-python refuses such
// documents.
func hasRealLengths(ctx context.Context, a *zarr.Array) bool {
	p, err := store.ParsePath(a.Path())
	if err != nil {
		return false
	}
	raw, _, err := a.Location().Store().Get(ctx, p.MustKey(a.Metadata().Document()), store.Request{Limit: consolidated.LargestCopy}, nil)
	if err != nil {
		return false // only documents up to LargestCopy are checked
	}
	doc, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil || doc.Kind() != strictjson.Object {
		return false
	}
	for name, v := range doc.Members() {
		switch name {
		case "shape", "chunks", "chunk_grid":
			if hasReal(v) {
				return true
			}
		case "codecs":
			for _, c := range v.Elements() {
				if e, err := metadata.ParseExtension(c.Raw(), metadata.Limits{}); err == nil && contains(plainCodecs, e.Name, 3) && hasReal(c) {
					return true
				}
			}
		}
	}
	return false
}

// hasReal reports whether a value has a number with a point or an exponent.
func hasReal(v strictjson.Value) bool {
	switch v.Kind() {
	case strictjson.Number:
		return strings.ContainsAny(string(v.Raw()), ".eE")
	case strictjson.Array:
		for _, e := range v.Elements() {
			if hasReal(e) {
				return true
			}
		}
	case strictjson.Object:
		for _, m := range v.Members() {
			if hasReal(m) {
				return true
			}
		}
	}
	return false
}
