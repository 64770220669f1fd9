// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// A block is the stored form of consecutive references: one Zstandard frame of three
// columns of varints, one after the other.
//
//	source   the difference to the previous one, zigzag
//	offset   the difference to where the previous chunk of this source ends, zigzag;
//	         nothing for a chunk that is not stored
//	length   the difference to the previous length, zigzag; the same
//
// Chunks that follow each other in a file, as most do, are three zeros.
const (
	// mostReferences bounds the references of a block. It is also what one lookup decodes
	// at most.
	mostReferences = 1 << 16
	// mostColumns bounds a decoded block in bytes.
	mostColumns = mostReferences * 3 * binary.MaxVarintLen64
)

var (
	blockEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	blockDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostColumns))
)

// appendBlock appends the stored form of references.
func appendBlock(dst []byte, r references) []byte {
	columns := make([]byte, 0, 4*r.len())
	last := int64(0)
	for _, s := range r.source {
		columns = binary.AppendVarint(columns, int64(s)-last)
		last = int64(s)
	}
	ends := tails{}
	for i, s := range r.source {
		if s != 0 {
			columns = binary.AppendVarint(columns, int64(r.offset[i]-ends.of(s)))
			ends.set(s, r.offset[i]+r.length[i])
		}
	}
	length := uint64(0)
	for i, s := range r.source {
		// Lengths are differences: uncompressed chunks are all as long, and a column of
		// zeros takes almost nothing.
		if s != 0 {
			columns = binary.AppendVarint(columns, int64(r.length[i]-length))
			length = r.length[i]
		}
	}
	return blockEncoder.EncodeAll(columns, dst)
}

// tails has where the last chunk of the last source ended. Another source begins at 0.
type tails struct {
	source uint32
	end    uint64
}

func (t *tails) of(source uint32) uint64 {
	if t.source != source {
		return 0
	}
	return t.end
}

func (t *tails) set(source uint32, end uint64) { t.source, t.end = source, end }

// parseBlock decodes n references.
func parseBlock(data []byte, n int) (references, error) {
	if n < 0 || n > mostReferences {
		return references{}, scan.Corruptf("a block of %s", quantity.Count(n, "references"))
	}
	columns, err := blockDecoder.DecodeAll(data, nil)
	if err != nil {
		return references{}, scan.Corruptf("a block of references: %v", err)
	}
	// Each takes at least a byte, so memory is bounded by what is stored.
	if n > len(columns) {
		return references{}, scan.Corruptf("a block of %s has %s", quantity.Count(n, "references"), quantity.Count(len(columns), "bytes"))
	}
	r := makeReferences(n)
	c := column{columns}
	last := int64(0)
	for i := range r.source {
		last += c.next()
		r.source[i] = uint32(last)
	}
	// The end of a chunk is known only with its length, so read lengths into place first.
	offsets := column{c.rest}
	for _, s := range r.source {
		if s != 0 {
			c.next()
		}
	}
	length := uint64(0)
	ends := tails{}
	for i, s := range r.source {
		if s != 0 {
			length += uint64(c.next())
			r.length[i] = length
			r.offset[i] = ends.of(s) + uint64(offsets.next())
			ends.set(s, r.offset[i]+length)
		}
	}
	// A column that ended early has left nil. Bytes that remain show another version.
	if c.rest == nil || len(c.rest) > 0 || last < 0 {
		return references{}, scan.Corruptf("a block of references has other columns than its %s", quantity.Count(n, "references need"))
	}
	return r, r.check()
}

// check returns an error if a chunk has an impossible place.
func (r *references) check() error {
	const most = 1<<63 - 1
	for i := range r.source {
		if r.offset[i] > most || r.length[i] > most-r.offset[i] {
			return scan.Corruptf("a reference to %s at %d", quantity.Count(r.length[i], "bytes"), r.offset[i])
		}
	}
	return nil
}

// column reads varints. After a bad one its rest is nil.
type column struct{ rest []byte }

func (c *column) next() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		c.rest = nil
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// A block of sources is one Zstandard frame. Each source has
//
//	uvarint   how many bytes its location shares with the previous one
//	uvarint   how many other bytes follow, and these
//	uvarint   its size in bytes
//	varint    when it was modified: nanoseconds since 1970, or 0
//	uvarint   the length of its version, and this
const (
	mostSources    = 1 << 14  // of a block
	mostLocation   = 1 << 12  // bytes of a location or a version
	mostSourceText = 16 << 20 // bytes of all locations
)

var sourceDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostSourceText))

func appendSources(dst []byte, list []Source) []byte {
	var text []byte
	last := ""
	for _, s := range list {
		shared := 0
		for shared < min(len(last), len(s.Location)) && last[shared] == s.Location[shared] {
			shared++
		}
		text = binary.AppendUvarint(text, uint64(shared))
		text = appendString(text, s.Location[shared:])
		text = binary.AppendUvarint(text, uint64(s.Size))
		text = binary.AppendVarint(text, s.Modified)
		text = appendString(text, s.Version)
		last = s.Location
	}
	return blockEncoder.EncodeAll(text, dst)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func parseSources(data []byte, n int) ([]Source, error) {
	if n < 0 || n > mostSources {
		return nil, scan.Corruptf("a block of %s", quantity.Count(n, "sources"))
	}
	text, err := sourceDecoder.DecodeAll(data, nil)
	if err != nil {
		return nil, scan.Corruptf("a block of sources: %v", err)
	}
	p := sourceText{rest: text}
	var list []Source
	last, room := "", mostSourceText
	for range n {
		shared := p.number()
		own := p.text()
		// Check before the slice below.
		if shared > uint64(len(last)) || p.bad {
			return nil, scan.Corruptf("a block of sources ends early")
		}
		s := Source{Location: last[:shared] + own, Size: int64(p.number() & (1<<63 - 1)), Modified: p.signed(), Version: p.text()}
		// Shared beginnings take memory that the block does not show.
		if room -= len(s.Location); p.bad || room < 0 || len(s.Location) > mostLocation {
			return nil, scan.Corruptf("a source %.60q", s.Location)
		}
		list, last = append(list, s), s.Location
	}
	if len(p.rest) > 0 {
		return nil, fmt.Errorf("%w: %s after the sources", scan.ErrCorrupt, quantity.Count(len(p.rest), "bytes"))
	}
	return list, nil
}

// sourceText reads a block of sources.
type sourceText struct {
	rest []byte
	bad  bool
}

func (p *sourceText) number() uint64 {
	v, n := binary.Uvarint(p.rest)
	return v * p.took(n)
}

func (p *sourceText) signed() int64 {
	v, n := binary.Varint(p.rest)
	return v * int64(p.took(n))
}

// took passes n bytes, and returns 1, or 0 if they are bad.
func (p *sourceText) took(n int) uint64 {
	if n <= 0 {
		p.rest, p.bad = nil, true
		return 0
	}
	p.rest = p.rest[n:]
	return 1
}

func (p *sourceText) text() string {
	n := p.number()
	// The length is hostile: it must not be turned into an allocation.
	if n > mostLocation || n > uint64(len(p.rest)) {
		p.rest, p.bad = nil, true
		return ""
	}
	s := string(p.rest[:n])
	p.rest = p.rest[n:]
	return s
}

// isPadded reports whether the last chunk of an axis has more elements than the array.
func isPadded(axis grid.Axis) bool {
	last, ok := axis.Cell(axis.Chunks() - 1)
	return ok && last.Encoded != last.Logical
}

// padding is what becomes of the padding of the last chunks when another part follows.
type padding int

const (
	noPadding     padding = iota
	paddingCut            // references become shorter
	paddingStays          // by the experiment encoded_chunk_shapes
	paddingCopied         // the chunks are copied without it
)

// padding returns what becomes of the padding of the last chunks of an array when another
// part follows. If it would be in the way, the error is an [ErrMismatch].
func (j *Joined) padding(ctx context.Context, old *joined) (padding, error) {
	axis := old.axes[len(old.axes)-1]
	switch {
	case !isPadded(axis):
		return noPadding, nil
	// Without codecs that need a whole chunk, a shorter range of bytes is the shorter
	// chunk.
	case old.trims():
		return paddingCut, nil
	case j.join.CopyPadded:
		last, _ := axis.Cell(axis.Chunks() - 1)
		if err := old.cuttable(ctx, last.Logical); err != nil {
			return noPadding, mismatch(old.last, old.Path, "axis %s ends within a chunk, which cannot be stored with %s in place of %d: %v",
				axisText(old.Array, old.along), quantity.Count(last.Logical, "elements"), last.Encoded, err)
		}
		return paddingCopied, nil
	case j.join.Padded:
		return paddingStays, nil
	}
	last, _ := axis.Cell(axis.Chunks() - 1)
	return noPadding, mismatch(old.last, old.Path, "axis %s ends within a chunk: the last one has %s of the array and is stored with %d. Only the last file may have such padding: "+remedy.CopyPadded+", or permit the experiment encoded_chunk_shapes ("+remedy.Padded+")",
		axisText(old.Array, old.along), quantity.Count(last.Logical, "elements"), last.Encoded)
}

// cut does what becomes of the padding of the last chunks.
func (n *joined) cut(p padding) {
	axis := n.axes[len(n.axes)-1]
	last, _ := axis.Cell(axis.Chunks() - 1)
	switch p {
	case paddingCut:
		n.trim(last)
	case paddingCopied:
		plane := n.plane()
		n.faces = append(n.faces, face{n.stored() + int64(n.refs.len()) - plane, last.Encoded, last.Logical})
	default:
		return
	}
	// The next part begins where the elements of this one end.
	n.axes[len(n.axes)-1] = trimmed(axis)
}

// cutsAll reports whether the padding of chunks that files have followed already is to be
// removed: an experiment has permitted it until now.
func (n *joined) cutsAll(how Join) bool { return how.CopyPadded && n.axes[0].IsEncoded() }

// cutAll does so. The references are in memory.
func (n *joined) cutAll(ctx context.Context) error {
	axis := n.axes[0]
	edges := make([]grid.Run, 0, axis.Chunks())
	for k := range axis.Chunks() {
		c, _ := axis.Cell(k)
		switch {
		case k == axis.Chunks()-1: // it may have padding until a file follows
			c.Logical = c.Encoded
		case c.Encoded != c.Logical:
			if err := n.cuttable(ctx, c.Logical); err != nil {
				return err
			}
			n.faces = append(n.faces, face{k * n.plane(), c.Encoded, c.Logical})
		}
		edges = append(edges, grid.Run{Length: c.Logical, Count: 1})
	}
	var err error
	n.axes[0], err = grid.NewAxis(axis.Extent(), grid.Runs(edges...))
	return err
}

// plane returns the number of chunks with one index along the axis of an array.
func (a *Array) plane() int64 {
	n := int64(1)
	for i, c := range a.Grid.Chunks() {
		if i != a.Axis {
			n *= c
		}
	}
	return n
}

// trims reports whether the padding of the last chunks can be cut off: chunks are not
// compressed, and the axis is the first one. Then the elements of the array come first in
// each chunk.
func (n *joined) trims() bool { return n.along == 0 && plain(n.Document) }

// trim cuts off the padding of the last chunks: it makes the references shorter.
func (n *joined) trim(last grid.Cell) {
	for i := n.refs.len() - int(n.plane()); i < n.refs.len(); i++ {
		if r := n.refs.at(i); r.source != 0 {
			r.length = r.length / uint64(last.Encoded) * uint64(last.Logical)
			n.refs.set(i, r)
		}
		at := n.stored() + int64(i)
		if data, ok := n.inline[at]; ok {
			n.inline[at] = data[:int64(len(data))/last.Encoded*last.Logical]
		}
	}
}

// trimmed returns an axis whose last edge ends with it.
func trimmed(axis grid.Axis) grid.Axis {
	cut, err := grid.NewAxis(axis.Extent(), grid.Runs(axis.Sizes()...))
	if err != nil {
		return axis // impossible: these are the lengths of its chunks
	}
	return cut
}

// plain reports whether chunks are stored as the bytes of their elements.
func plain(doc *metadata.Array) bool { return len(doc.Codecs) == 1 && doc.Codecs[0].Name == "bytes" }

// piece is a block of a stored manifest: consecutive references of an array, or
// consecutive sources. It is decoded when it is first needed.
type piece struct {
	// First is the number of the first reference or source, and Count how many there are.
	First int64 `json:"first"`
	Count int64 `json:"count"`
	// Key, Offset and Length say where it is stored, in the folder of the manifest.
	Key    string `json:"key"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
}

// folder is the place of a stored manifest. It keeps the decoded blocks that were used
// last.
type folder struct {
	store store.Store
	path  store.Path
	info  store.Info // of the document

	superseded []superseded
	blocks     map[string]bool    // the keys of the blocks, as the document names them
	values     map[string][]piece // the references of arrays with values, by their path

	mu   sync.Mutex
	kept map[use]*decoded
	turn int64 // counts uses

	// The blocks that were used last: the next chunk is most often in the same ones.
	lastReferences atomic.Pointer[referencesOfPiece]
	lastSources    atomic.Pointer[sourcesOfPiece]
}

type referencesOfPiece struct {
	piece
	refs references
}

type sourcesOfPiece struct {
	piece
	sources []Source
}

// note notes the keys of blocks that the document names.
func (f *folder) note(blocks []piece) {
	for _, p := range blocks {
		f.blocks[p.Key] = true
	}
}

// use is a block as what it is used for. A damaged manifest may use one for both.
type use struct {
	piece
	sources bool
}

// decoded is a block in memory. Its gate is held while it is read.
type decoded struct {
	gate    gate
	used    int64 // under the lock of the folder
	refs    references
	sources []Source
	done    bool
}

// mostDecoded bounds the blocks in memory: 340 MB of references.
const mostDecoded = 256

// block returns a block, and drops the one that was not used for longest.
func (f *folder) block(p use) *decoded {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.kept[p]
	if d == nil {
		if len(f.kept) >= mostDecoded {
			f.drop()
		}
		d = &decoded{gate: newGate()}
		f.kept[p] = d
	}
	f.turn++
	d.used = f.turn
	return d
}

func (f *folder) drop() {
	var oldest use
	least := f.turn + 1
	for p, d := range f.kept {
		if d.used < least {
			oldest, least = p, d.used
		}
	}
	delete(f.kept, oldest)
}

// read returns the bytes of a block.
func (f *folder) read(ctx context.Context, p piece) ([]byte, error) {
	key, err := f.path.Key(p.Key)
	if err != nil {
		return nil, err
	}
	data, _, err := f.store.Get(ctx, key, store.Request{Range: store.Span(p.Offset, p.Length)}, nil)
	if errors.Is(err, fs.ErrNotExist) { // no chunk may seem to be missing
		err = scan.Corruptf("the manifest refers to it, and it is not there")
	}
	if err == nil && int64(len(data)) != p.Length {
		err = scan.Corruptf("it has %s at %d, want %d", quantity.Count(len(data), "bytes"), p.Offset, p.Length)
	}
	if err != nil {
		return nil, damaged(key, err)
	}
	return data, nil
}

// references returns the decoded references of a block.
func (f *folder) references(ctx context.Context, p piece) (references, error) {
	if last := f.lastReferences.Load(); last != nil && last.piece == p {
		return last.refs, nil
	}
	d := f.block(use{p, false})
	if err := d.gate.lock(ctx); err != nil {
		return references{}, err
	}
	defer d.gate.unlock()
	if d.done {
		f.lastReferences.Store(&referencesOfPiece{p, d.refs})
		return d.refs, nil
	}
	data, err := f.read(ctx, p)
	if err != nil {
		return references{}, err
	}
	if d.refs, err = parseBlock(data, int(p.Count)); err != nil {
		return references{}, f.damaged(p, err)
	}
	d.done = true
	return d.refs, nil
}

// sources returns the decoded sources of a block.
func (f *folder) sources(ctx context.Context, p piece) ([]Source, error) {
	if last := f.lastSources.Load(); last != nil && last.piece == p {
		return last.sources, nil
	}
	d := f.block(use{p, true})
	if err := d.gate.lock(ctx); err != nil {
		return nil, err
	}
	defer d.gate.unlock()
	if d.done {
		f.lastSources.Store(&sourcesOfPiece{p, d.sources})
		return d.sources, nil
	}
	data, err := f.read(ctx, p)
	if err != nil {
		return nil, err
	}
	if d.sources, err = parseSources(data, int(p.Count)); err != nil {
		return nil, f.damaged(p, err)
	}
	d.done = true
	return d.sources, nil
}

// damaged returns an error about a block, with what to do about it.
func (f *folder) damaged(p piece, err error) error {
	key, keyErr := f.path.Key(p.Key)
	return cmp.Or(keyErr, damaged(key, err))
}

// find returns the block that has a number.
func find(blocks []piece, n int64) (piece, bool) {
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].First > n }) - 1
	if i < 0 || n-blocks[i].First >= blocks[i].Count {
		return piece{}, false
	}
	return blocks[i], true
}

// reference returns where a chunk is, or its bytes if it has no source.
func (m *Manifest) reference(ctx context.Context, a *Array, n int64) (reference, []byte, error) {
	if data, ok := a.inline[n]; ok {
		return reference{}, data, nil
	}
	p, ok := find(a.blocks, n)
	if !ok {
		if n -= a.stored(); n < 0 || n >= int64(a.refs.len()) {
			return reference{}, nil, nil
		}
		return a.refs.at(int(n)), nil, nil
	}
	r, err := m.folder.references(ctx, p)
	if err != nil {
		return reference{}, nil, err
	}
	return r.at(int(n - p.First)), nil, nil
}

// source returns the source with a number, counted from 1.
func (m *Manifest) source(ctx context.Context, number uint32) (Source, error) {
	n := int64(number) - 1
	p, ok := find(m.sourceBlocks, n)
	if !ok {
		if n -= firstNumber(m.sourceBlocks); n < 0 || n >= int64(len(m.Sources)) {
			return Source{}, scan.Corruptf("a reference to source %d of %d", number, m.count())
		}
		return m.Sources[n], nil
	}
	list, err := m.folder.sources(ctx, p)
	if err != nil {
		return Source{}, err
	}
	return list[n-p.First], nil
}

// count returns the number of sources.
func (m *Manifest) count() int64 { return firstNumber(m.sourceBlocks) + int64(len(m.Sources)) }

// stored returns the number of references in blocks.
func (a *Array) stored() int64 { return firstNumber(a.blocks) }

// load reads the references of an array from a number on into memory, and those that are
// in one block with them.
func (m *Manifest) load(ctx context.Context, a *Array, from int64) error {
	stay := 0
	for stay < len(a.blocks) && a.blocks[stay].First+a.blocks[stay].Count <= from {
		stay++
	}
	all := references{}
	for _, p := range a.blocks[stay:] {
		r, err := m.folder.references(ctx, p)
		if err != nil {
			return err
		}
		all.concat(r)
	}
	all.concat(a.refs)
	a.refs, a.blocks = all, a.blocks[:stay:stay]
	return nil
}
