// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"sort"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

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
		err = scan.Corruptf("it has %d bytes at %d, want %d", len(data), p.Offset, p.Length)
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
		if n -= next(m.sourceBlocks); n < 0 || n >= int64(len(m.Sources)) {
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
func (m *Manifest) count() int64 { return next(m.sourceBlocks) + int64(len(m.Sources)) }

// stored returns the number of references in blocks.
func (a *Array) stored() int64 { return next(a.blocks) }

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
