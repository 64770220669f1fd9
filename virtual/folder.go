// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// ownFolders have the values of a manifest, each with a name of newID.
var ownFolders = []string{"blocks", dataFolder, scanFolder, clockFolder}

// dataFolder has values that are sources of a manifest: chunks that have no other.
const dataFolder = "data"

// scanFolder has the values, in the folder of a manifest.
const scanFolder = "scan"

// clockFolder has values that a vacuum stores to ask for the time.
const clockFolder = "clock"

// newID returns a name that no other value has.
func newID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// isID reports whether a name is of the form of newID: other values are not ours.
func isID(name string) bool {
	id, err := hex.DecodeString(name)
	return err == nil && len(id) == 8
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

// superseded are the values of the folder that a change has replaced.
type superseded struct {
	Keys []string `json:"keys"`
	// Before is the key of a value that was stored after the change, by the next one: its
	// time is that of the change or later. Without it, the document is that of the
	// change, and has its time.
	Before string `json:"before,omitempty"`
}

// mostBlock bounds a stored block in bytes.
const mostBlock = 16 << 20

// consecutive returns an error unless blocks follow each other from 0 on.
func consecutive(blocks []piece, most int64) error {
	next := int64(0)
	for _, p := range blocks {
		if p.First != next || p.Count <= 0 || p.Count > most || p.Offset < 0 || p.Length <= 0 || p.Length > mostBlock {
			return scan.Corruptf("a block of %d from %d on, after %d", p.Count, p.First, next)
		}
		next += p.Count
	}
	return nil
}

// firstNumber returns the number after those of blocks.
func firstNumber(blocks []piece) int64 {
	if len(blocks) == 0 {
		return 0
	}
	last := blocks[len(blocks)-1]
	return last.First + last.Count
}

// find returns the block that has a number.
func find(blocks []piece, n int64) (piece, bool) {
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].First > n }) - 1
	if i < 0 || n-blocks[i].First >= blocks[i].Count {
		return piece{}, false
	}
	return blocks[i], true
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

// own returns the key of a source that is a value of the folder.
func (f *folder) own(location string) (key string, ok bool) {
	if strings.Contains(location, "://") || strings.HasPrefix(location, "/") {
		return "", false
	}
	name := f.path.Name()
	return strings.CutPrefix(path.Clean(name+"/"+location), name+"/")
}

// damaged returns an error about a value of references, with what to do about it.
func damaged(key store.Key, err error) error {
	if errors.Is(err, scan.ErrCorrupt) {
		err = fmt.Errorf("%w; copy it again from where it came from, or make the references anew (varve virtualize)", err)
	}
	return fmt.Errorf("%s: %w", key, err)
}
