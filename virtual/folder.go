// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
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

// ownValues returns the values of a manifest in its folder, by key.
func ownValues(ctx context.Context, s store.Store, path store.Path, how store.Listing) (map[string]store.Entry, error) {
	found := map[string]store.Entry{}
	for _, dir := range ownFolders {
		at, err := path.Join(dir)
		if err != nil {
			return nil, err
		}
		for e, err := range store.List(ctx, s, at, how) {
			if errors.Is(err, fs.ErrNotExist) {
				break
			}
			if err != nil {
				return nil, err
			}
			// Names of another form are of other programs.
			if e.Dir || !isID(e.Name) {
				continue
			}
			e.Name = dir + "/" + e.Name
			found[e.Name] = e
		}
	}
	return found, nil
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

	kept cache[use, any] // the decoded blocks that were used last
	// The blocks that were used last: the next chunk is most often in the same ones.
	lastReferences atomic.Pointer[block[references]]
	lastSources    atomic.Pointer[block[[]Source]]
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

// block is a piece and what was decoded of it.
type block[T any] struct {
	piece
	content T
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

// mostDecoded bounds the blocks in memory: 340 MB of references.
const mostDecoded = 256

// read returns the key and the bytes of a block.
func (f *folder) read(ctx context.Context, p piece) (store.Key, []byte, error) {
	key, err := f.path.Key(p.Key)
	if err != nil {
		return key, nil, err
	}
	data, _, err := f.store.Get(ctx, key, store.Request{Range: store.Span(p.Offset, p.Length)}, nil)
	if errors.Is(err, fs.ErrNotExist) { // no chunk may seem to be missing
		err = scan.Corruptf("the manifest refers to it, and it is not there")
	}
	if err == nil && int64(len(data)) != p.Length {
		err = scan.Corruptf("it has %s at %d, want %d", quantity.Count(len(data), "bytes"), p.Offset, p.Length)
	}
	if err != nil {
		err = damaged(key, err)
	}
	return key, data, err
}

// references returns the decoded references of a block.
func (f *folder) references(ctx context.Context, p piece) (references, error) {
	return decoded(ctx, f, use{p, false}, &f.lastReferences, parseBlock)
}

// sources returns the decoded sources of a block.
func (f *folder) sources(ctx context.Context, p piece) ([]Source, error) {
	return decoded(ctx, f, use{p, true}, &f.lastSources, parseSources)
}

// decoded returns what parse makes of a block.
func decoded[T any](ctx context.Context, f *folder, p use, last *atomic.Pointer[block[T]], parse func([]byte, int) (T, error)) (none T, err error) {
	// Without a lock: chunks that are read in order ask for the same block.
	if last := last.Load(); last != nil && last.piece == p.piece {
		return last.content, nil
	}
	content, err := f.kept.get(ctx, p, func() (any, int64, error) {
		key, data, err := f.read(ctx, p.piece)
		if err != nil {
			return nil, 0, err
		}
		content, err := parse(data, int(p.Count))
		if err != nil {
			return nil, 0, damaged(key, err)
		}
		return content, 0, nil
	})
	if err != nil {
		return none, err
	}
	last.Store(&block[T]{p.piece, content.(T)})
	return content.(T), nil
}

// own returns the key of a source that is a value of the folder.
func (f *folder) own(location string) (key string, ok bool) {
	if strings.Contains(location, "://") || strings.HasPrefix(location, "/") {
		return "", false
	}
	// A location may lead out of the folder and back, as ../name.vz/data/... does.
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
