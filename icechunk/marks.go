// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// A garbage collection keeps objects of its own below overwritten/, where programs look
// for the copies of the object repo only: a record of each collection, and the marks of
// one whose time was over.
//
// Marks say that objects are live. All that they tell of never changes, so they hold
// whatever happens to the repository before the next collection. They are closed: all
// manifests of a marked snapshot are marked, and all chunks of a marked manifest. The
// next collection does not read these again. If the repository does not lead to them any
// more, they stay until the collection after that.
//
//	 0  16  the name of the format
//	16  32  SHA-256 of all that follows
//	48   8  the number of snapshots, little endian
//	56   8  the number of manifests
//	64      IDs of snapshots, manifests and chunks, 12 bytes each
//
// An ID is random, so compression would not make the object smaller.
const (
	marksName   = backupFolder + "/gc.marks"
	marksMagic  = "varve gc marks 1"
	marksSum    = len(marksMagic)
	marksCounts = marksSum + sha256.Size
	marksHead   = marksCounts + 16
)

// mostMarks is how many IDs marks may have. More are not stored.
var mostMarks = 12_000_000 // fewer in tests

// storeMarks stores what the collection has marked.
func (g *garbage) storeMarks(ctx context.Context) error {
	n := len(g.snapshots) + len(g.manifests)
	for range g.chunks.All() {
		n++
	}
	if g.opt.DryRun || n == 0 || n > mostMarks {
		return nil
	}
	data := append(make([]byte, 0, marksHead+n*len(ID{})), marksMagic...)
	data = data[:marksHead]
	binary.LittleEndian.PutUint64(data[marksCounts:], uint64(len(g.snapshots)))
	binary.LittleEndian.PutUint64(data[marksCounts+8:], uint64(len(g.manifests)))
	for _, marked := range []map[ID]bool{g.snapshots, g.manifests} {
		for id := range marked {
			data = append(data, id[:]...)
		}
	}
	for id := range g.chunks.All() {
		data = append(data, id[:]...)
	}
	sum := sha256.Sum256(data[marksCounts:])
	copy(data[marksSum:], sum[:])
	return g.put(ctx, marksName, data)
}

// loadMarks takes what an interrupted collection has marked. Marks that are damaged, or
// of another format, are none.
func (g *garbage) loadMarks(ctx context.Context, repo *format.Repository) error {
	key, most := g.root.MustKey(marksName), marksHead+mostMarks*len(ID{})
	data, _, err := g.store.Get(ctx, key, store.Request{Limit: int64(most)}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrTooLarge) {
		return fmt.Errorf("%s: %w", key, err)
	}
	g.resumed = true
	snapshots, manifests, chunks, ok := parseMarks(data)
	if !ok {
		return nil
	}
	// A snapshot may have become garbage since.
	kept := map[ID]bool{}
	for i, is := range g.kept(repo) {
		kept[repo.Snapshots[i].ID] = is
	}
	for id := range snapshots.all() {
		if kept[id] {
			g.snapshots[id] = true
		}
	}
	for id := range manifests.all() {
		g.manifests[id] = true
	}
	for id := range chunks.all() {
		g.chunks.Add(id, struct{}{})
	}
	return nil
}

// marked is a list of IDs, without a gap.
type marked []byte

// all yields the IDs.
func (m marked) all() iter.Seq[ID] {
	return func(yield func(ID) bool) {
		for id := range slices.Chunk(m, len(ID{})) {
			if !yield(ID(id)) {
				return
			}
		}
	}
}

// parseMarks returns the three lists of marks, if they are whole.
func parseMarks(data []byte) (snapshots, manifests, chunks marked, ok bool) {
	if len(data) < marksHead || string(data[:marksSum]) != marksMagic {
		return nil, nil, nil, false
	}
	if sum := sha256.Sum256(data[marksCounts:]); string(data[marksSum:marksCounts]) != string(sum[:]) {
		return nil, nil, nil, false // a write was torn, or the medium has lost bits
	}
	rest, size := marked(data[marksHead:]), uint64(len(ID{}))
	count := func(at int) uint64 { return binary.LittleEndian.Uint64(data[marksCounts+at:]) }
	n := uint64(len(rest)) / size
	if uint64(len(rest)) != n*size || count(0) > n || count(8) > n-count(0) {
		return nil, nil, nil, false
	}
	snapshots, rest = rest[:count(0)*size], rest[count(0)*size:]
	return snapshots, rest[:count(8)*size], rest[count(8)*size:], true
}

// dropMarks deletes the marks of an interrupted collection, since this one is complete.
func (g *garbage) dropMarks(ctx context.Context) error {
	if !g.resumed || g.opt.DryRun {
		return nil
	}
	_, err := store.Write(ctx, g.store, store.Delete(g.root.MustKey(marksName)), store.Flush)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another collection was complete, too
	}
	return err
}

// record says what a garbage collection deletes.
type record struct {
	// OlderThan is how much older than the record an object is that may be deleted.
	OlderThan string `json:"older_than"`
}

// recordPrefix begins the name of a record; the time of its entry follows.
const recordPrefix = "gc."

// recordKey returns the key of the record that belongs to an entry of the log.
func (r *Repository) recordKey(entry time.Time) store.Key {
	return r.root.MustKey(fmt.Sprintf("%s/%s%d", backupFolder, recordPrefix, entry.UnixMicro()))
}

// putRecord stores the record for an entry of the log.
func (r *Repository) putRecord(ctx context.Context, entry time.Time, olderThan time.Duration) error {
	text, err := json.Marshal(record{olderThan.String()})
	if err == nil {
		_, err = store.Write(ctx, r.store, store.Put(r.recordKey(entry), text), store.Sync)
	}
	return err
}

// cutoff returns the time before which the garbage collection of an entry deletes, by the
// clock of the store. ok is false if it is not known.
func (r *Repository) cutoff(ctx context.Context, entry time.Time) (before time.Time, ok bool, err error) {
	text, info, err := r.store.Get(ctx, r.recordKey(entry), store.Request{Limit: 1 << 12}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return before, false, nil
	}
	if err != nil {
		return before, false, err
	}
	var is record
	if json.Unmarshal(text, &is) != nil || info.Modified.IsZero() {
		return before, false, nil
	}
	age, err := time.ParseDuration(is.OlderThan)
	if err != nil || age < 0 {
		return before, false, nil
	}
	return info.Modified.Add(-age), true, nil
}

// sweepRecords deletes records that are older than the cutoff. A session that began
// before such a record may not commit anyway.
func (g *garbage) sweepRecords(ctx context.Context) error {
	var old []store.Entry
	for e, err := range store.List(ctx, g.store, g.folder(backupFolder), store.Flat|store.WithVersions) {
		if err != nil {
			return err
		}
		if number, ok := strings.CutPrefix(e.Name, recordPrefix); ok && !e.Dir && number != "" && strings.Trim(number, "0123456789") == "" && g.isOld(found{Entry: e}) {
			old = append(old, e)
		}
	}
	return g.deleteFormer(ctx, old, &g.report.Records)
}
