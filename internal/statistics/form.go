// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// The fields of an entry, in this order. Minimum and maximum have the data type of the
// array.
const (
	fieldVersion = "version"
	fieldMinimum = "minimum"
	fieldMaximum = "maximum"
	fieldMissing = "missing"
	fieldFill    = "fill"
)

// number is the number of bytes of a field that is no element.
const number = 8

// blockCells is how many entries one stored chunk of the statistics has, if the array has
// as many cells. So few requests read all of them, and an update writes little.
const blockCells = 4 << 10

// mostBlock bounds the bytes of a block that another program has laid out, and mostMade
// those of the blocks in a round of [Make].
const (
	mostBlock = 4 << 20
	mostMade  = 1 << 30
)

// mostHeld bounds the bytes of the blocks that other calls hold at once. It is a variable
// for tests.
var mostHeld int64 = 128 << 20

// subject is an array whose chunks are described: one state of it, and the meaning of its
// elements.
type subject struct {
	*snapshot.Array
	core     *array.Array
	comparer *cf.Comparer
	cells    *grid.Grid // of what has an entry: chunks, or inner chunks
	meaning  [sha256.Size]byte
	dir      store.Path // of the statistics
}

func newSubject(core *array.Array, s *snapshot.Array, c *cf.Comparer) (*subject, error) {
	if err := c.CanSummarize(); err != nil {
		return nil, err
	}
	if c.Type() != s.Type { // another process has just replaced the array
		return nil, fmt.Errorf("%w: its elements were of type %s and are of type %s", store.ErrConflict, c.Type(), s.Type)
	}
	of := &subject{Array: s, core: core, comparer: c, cells: s.Finest(), dir: dirOf(core)}
	// Whatever changes the numbers of stored bytes is part of the meaning, in one
	// spelling.
	fill, err := s.Type.FormatFill(s.Fill)
	if err != nil {
		return nil, err
	}
	text := append([]byte(s.Type.String()), '\n')
	text = append(c.AppendMeaning(text), '\n')
	text = append(append(text, fill...), '\n')
	for _, e := range s.Doc.Codecs {
		spelled, err := respelled(e.Plain().Append(nil))
		if err != nil {
			return nil, err
		}
		text = append(append(text, spelled...), '\n')
	}
	of.meaning = sha256.Sum256(text)
	return of, nil
}

// respelled returns JSON without white space, and with the members of objects in order.
func respelled(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // as they are written
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// dirOf returns the directory of the statistics of an array.
func dirOf(core *array.Array) store.Path { return core.Node.Path.MustKey(own.Statistics + "/-").Dir() }

// documentName is the name of the document of the statistics.
const documentName = "zarr.json"

// mark returns what the field version of an entry is if the entry describes a cell in its
// present state: a hash of the version of the stored chunk, of its key, of the elements
// of the cell, and of the meaning. So an entry that was made before the chunk was
// written, before the grid or the extent changed, or before an attribute made other
// elements missing has another mark. It is never 0.
func (s *subject) mark(chunk []int64, version staging.Digest, cell *grid.Chunk) uint64 {
	var room [256]byte
	text := append(room[:0], "varve statistics 1\n"...)
	text = fmt.Appendf(text, "%016x\n", uint64(version))
	text = append(s.Engine.Keys.AppendKey(text, chunk), '\n')
	for i, start := range cell.Start {
		text = fmt.Appendf(text, "%d:%d ", start, start+cell.Logical[i])
	}
	text = append(append(text, '\n'), s.meaning[:]...)
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:]) | 1
}

// isDivided reports whether entries are of inner chunks.
func (s *subject) isDivided() bool { return s.cells != s.Grid }

// cellsOf returns the cells of a chunk, as a box of their indices.
func (s *subject) cellsOf(chunk []int64) (grid.Box, error) {
	if !s.isDivided() {
		return engine.BoxAt(chunk), nil
	}
	c, ok := s.Grid.Chunk(chunk)
	if !ok {
		return nil, fmt.Errorf("%w: no chunk %v", grid.ErrOutOfRange, chunk)
	}
	return s.cells.Touched(c.Box())
}

// form is the array of the entries, as its document describes it.
type form struct {
	*snapshot.Array
	bytes int64 // of a decoded block
}

// document returns the document of statistics.
func (s *subject) document() ([]byte, error) {
	cells := s.cells.Chunks()
	block := make([]int64, len(cells))
	for i, room := len(cells)-1, int64(blockCells); i >= 0; i-- {
		block[i] = max(1, min(cells[i], room))
		room /= block[i]
		// All cells fit into one block. Leave room for growth, along any axis: entries of
		// cells that are not there take next to nothing.
		for k := 0; i == 0 && room >= 2; k, room = (k+1)%len(block), room/2 {
			block[k] *= 2
		}
	}
	shape := slices.Clone(cells)
	for i, n := range shape {
		shape[i] = roundedUp(n, block[i])
	}
	typ := s.Doc.DataType.Plain()
	type object = map[string]any
	extension := func(name string, configuration object) object {
		return object{"name": name, "configuration": configuration}
	}
	of := json.RawMessage(typ.Append(nil))
	if len(typ.Configuration) == 0 {
		of, _ = json.Marshal(typ.Name)
	}
	field := func(name string, typ any) object { return object{"name": name, "data_type": typ} }
	fields := []object{
		field(fieldVersion, "uint64"), field(fieldMinimum, of), field(fieldMaximum, of), field(fieldMissing, "uint64"), field(fieldFill, "uint64"),
	}
	none, err := s.Type.FormatFill(make([]byte, s.Type.Size()))
	if err != nil {
		return nil, err
	}
	zero := object{
		fieldVersion: 0, fieldMinimum: json.RawMessage(none), fieldMaximum: json.RawMessage(none), fieldMissing: 0, fieldFill: 0,
	}
	return json.Marshal(object{
		"zarr_format": 3, "node_type": "array", "shape": shape, "fill_value": zero,
		"data_type":          extension("struct", object{"fields": fields}),
		"chunk_grid":         extension("regular", object{"chunk_shape": block}),
		"chunk_key_encoding": extension("default", object{"separator": "/"}),
		"codecs": []object{
			extension("bytes", object{"endian": "little"}), extension("zstd", object{"level": 1, "checksum": true}),
		},
		"attributes": object{},
	})
}

// layoutOf returns the data type of entries.
func layoutOf(t dtype.Type) (dtype.Type, error) {
	return dtype.StructOf(
		dtype.Field{Name: fieldVersion, Type: dtype.Uint64}, dtype.Field{Name: fieldMinimum, Type: t}, dtype.Field{Name: fieldMaximum, Type: t},
		dtype.Field{Name: fieldMissing, Type: dtype.Uint64}, dtype.Field{Name: fieldFill, Type: dtype.Uint64},
	)
}

// key returns the key of the document of the statistics.
func (s *subject) key() store.Key { return s.dir.MustKey(documentName) }

// bind describes the array of the entries by a document.
func (s *subject) bind(data []byte) (*form, error) {
	doc, err := metadata.ParseArray(data, s.core.Node.Limits)
	if err != nil {
		return nil, err
	}
	b := s.core.Binding()
	// Another array than that of the binding: nothing of its state holds here.
	b.Present, b.Record, b.Engine.Path, b.Engine.KeepFill, b.Engine.RequireChunks = nil, nil, s.dir, false, false
	bound, err := b.Bind(doc, nil, store.Version{})
	if err != nil {
		return nil, err
	}
	f := &form{Array: bound}
	f.bytes, err = f.blockBytes()
	return f, err
}

// errNone means that nothing is kept, or nothing that this package can use.
var errNone = errors.New("no statistics are kept")

// find returns the array of the entries, or errNone.
func (s *subject) find(ctx context.Context) (*form, error) {
	data, _, err := s.core.Node.Store.Get(ctx, s.key(), store.Request{Limit: s.core.Node.Limit}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNone
	}
	if err != nil {
		return nil, fault.InFile(s.key(), err)
	}
	// A document of another form is none of this one: its entries are unknown.
	f, err := s.bind(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errNone, s.key(), err)
	}
	if want, err := layoutOf(s.Type); err != nil || f.Type != want || f.Grid.Rank() != s.cells.Rank() || !f.Grid.IsRegular() || f.Engine.Chain.Divided() {
		return nil, fmt.Errorf("%w: %s is of another form", errNone, s.key())
	}
	if f.bytes > mostBlock {
		return nil, fmt.Errorf("%w: the blocks of %s are too long", errNone, s.key())
	}
	return f, nil
}

// blockBytes returns the bytes of a decoded block.
func (f *form) blockBytes() (int64, error) {
	shape := make([]int64, f.Grid.Rank())
	for i := range shape {
		shape[i] = f.Grid.Axis(i).Step()
	}
	return f.Engine.ChunkBytes(shape)
}

// fits reports whether every cell has a place in the array of the entries.
func (f *form) fits(cells []int64) bool {
	for i, n := range f.Grid.Shape() {
		if n < cells[i] {
			return false
		}
	}
	return true
}

// resized returns the array of the entries with a place for every cell, and its document.
// The blocks stay: an entry that is not of the cell in its place has another mark.
func (s *subject) resized(f *form) (*form, []byte, error) {
	shape := f.Grid.Shape()
	for i, n := range s.cells.Chunks() {
		shape[i] = max(shape[i], roundedUp(n, f.Grid.Axis(i).Step()))
	}
	fresh, err := f.Doc.Resized(shape, f.Doc.ChunkGrid).Marshal(s.core.Node.Limits)
	if err == nil {
		f, err = s.bind(fresh)
	}
	return f, fresh, err
}

// roundedUp returns the least multiple of step that is not less than n, or n if that
// overflows. So the array of the entries grows by whole blocks, and seldom.
func roundedUp(n, step int64) int64 {
	if up, ok := checked.Add(n, (step-n%step)%step); ok {
		return up
	}
	return n
}

// place returns the block that has the entry of a cell, and the first byte of the entry
// there. It returns false if the array has no such entry.
func (f *form) place(cell []int64, block []int64) (at int64, ok bool) {
	for i, k := range cell {
		n, within, found := f.Grid.Axis(i).Locate(k)
		if !found {
			return 0, false
		}
		c, _ := f.Grid.Axis(i).Cell(n)
		block[i], at = n, at*c.Encoded+within
	}
	return at * int64(f.Type.Size()), true
}

// read returns a block, or nil for one that is not stored, or that cannot be decoded: it
// has no entries, and takes no memory.
func (f *form) read(ctx context.Context, block []int64) ([]byte, error) {
	data, err := f.Engine.LoadChunk(ctx, block)
	// Entries are only a memory of what was computed. Without them chunks are read.
	if errors.Is(err, codec.ErrCorrupt) || errors.Is(err, codec.ErrLimit) {
		return nil, nil
	}
	return data, err
}

// held returns the bytes of all blocks, and of so many more.
func (e *Entries) held(more int) int64 { return int64(len(e.blocks)+more) * e.form.bytes }

// relieve forgets all blocks before they are too many.
func (e *Entries) relieve() {
	if e.held(0) > mostHeld/4 {
		clear(e.blocks)
	}
}

// changed returns the blocks that have changed.
func (e *Entries) changed() (list []*block) {
	for _, b := range e.blocks {
		if b.changed {
			list = append(list, b)
		}
	}
	return list
}

// keep stores the blocks that have changed, each at once, and the document of the entries
// last, unless it is nil. A crash before leaves blocks that nobody looks up, or whose
// entries have the marks of what they describe.
func (e *Entries) keep(ctx context.Context, document []byte, d store.Durability) error {
	n := e.core.Node
	if !e.form.Engine.Chain.HasChecksum() {
		d = n.Durability // nobody would see that a power cut has damaged a block
	}
	blocks := e.changed()
	if len(blocks) > 0 {
		err := publish.Batch(store.WithLocking(ctx, n.Locking), n.Store, d, func(ctx context.Context, b store.Batch) error {
			for _, k := range blocks {
				if err := e.form.Engine.WriteChunk(ctx, k.index, k.data, nil, b); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if document == nil {
		return nil
	}
	_, err := store.Write(ctx, n.Store, store.Put(e.key(), document), n.Durability)
	return err
}

// block is a chunk of the array of the entries.
type block struct {
	index   []int64
	data    []byte // nil if there are no entries
	read    bool
	changed bool
}
