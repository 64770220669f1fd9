// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// recordsDir is the directory, below that of an array, of the records of its finished
// chunks. It has a directory for each result, because a call that still runs when
// another one begins may record chunks of its own. The directory exists only as long as
// the result is unfinished.
const recordsDir = own.Dir + "/filter"

// recordsOf returns the directory of the records of this result.
func (w *work) recordsOf() string { return recordsDir + "/" + w.id }

// isResumable reports whether finished chunks can be told from others later: the source
// has a place and its listings have versions, and the destination can be listed and stays
// after a failure.
func (w *work) isResumable() bool {
	if archive.IsNew(w.to) {
		return false // it is discarded as a whole
	}
	// Two stores in memory may have the same versions.
	if _, lists := store.As[store.Lister](w.to); !lists || store.TraitsOf(w.src.Store()).Place == "" {
		return false
	}
	return !slices.ContainsFunc(w.arrays, func(a *array) bool { return a.stored == nil || a.stored.Vague })
}

// fingerprint identifies the result, except for the elements of the source. It tells
// sources apart by their places.
func (w *work) fingerprint(kept *rows) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "varve filter 1 %q %q %d\n", store.TraitsOf(w.src.Store()).Place, w.src.Path(), kept.n)
	for _, a := range w.arrays {
		was, err := a.source.Document().Marshal(metadata.Limits{})
		if err != nil {
			return "", err
		}
		will, err := a.doc.Marshal(metadata.Limits{})
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%q %d %q %q\n", a.path, a.axis, was, will)
		if a.elementsOf != nil {
			if err := binary.Write(h, binary.LittleEndian, a.kept.bits); err != nil {
				return "", err
			}
		}
	}
	if err := binary.Write(h, binary.LittleEndian, kept.bits); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// place returns the directory of the result of an array.
func (w *work) place(a *array) (store.Path, error) { return w.goal.Join(a.path) }

// sourcesOf yields the indices of the chunks of the source that a chunk of the result is
// made of. The next iteration overwrites the index.
func (r *array) sourcesOf(index []int64) func(yield func([]int64) bool) {
	return func(yield func([]int64) bool) {
		p, source := r.pieces[index[r.axis]], slices.Clone(index)
		axis := r.source.Grid.Axis(r.axis)
		first, _, _ := axis.Locate(p.rows.Start)
		last, _, _ := axis.Locate(p.rows.Stop - 1)
		for source[r.axis] = first; source[r.axis] <= last; source[r.axis]++ {
			if !yield(source) {
				return
			}
		}
	}
}

// fold identifies what a chunk of the result is made of: the stored chunks of the source
// and their versions, as they were listed. It is zero if none is stored.
func (r *array) fold(index []int64) staging.Fold {
	var data []byte
	for source := range r.sourcesOf(index) {
		if d := r.stored.Digest(source); d != 0 {
			data = binary.AppendVarint(data, source[r.axis])
			data = binary.LittleEndian.AppendUint64(data, uint64(d))
		}
	}
	if data == nil {
		return staging.Fold{}
	}
	sum := sha256.Sum256(data)
	return staging.Fold(sum[:16])
}

// ofListed returns the chunks of the result that were made of the listed versions of the
// source. A chunk may have been replaced meanwhile, and may get its old version again.
func (c *copying) ofListed(indices [][]int64, seen *staging.Sightings) [][]int64 {
	if !c.work.records {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(indices), func(index []int64) bool {
		for source := range c.sourcesOf(index) {
			// What was not read has no kept rows, or is not stored.
			if d, read := seen.Digest(c.source.Engine.Key(source)); read && d != c.stored.Digest(source) {
				return true
			}
		}
		return false
	})
}

// record records chunks that are durable. It leaves out those that are not stored,
// because they have only the fill value.
func (c *copying) record(ctx context.Context, indices [][]int64) error {
	records := make([]staging.Record, len(indices))
	group, within := parallel.New(ctx)
	group.SetLimit(engine.DefaultConcurrency(c.work.to, tasks))
	for i, index := range indices {
		fold := c.fold(index)
		if fold == (staging.Fold{}) {
			continue
		}
		group.Go(func() error {
			info, err := store.Stat(within, c.work.to, c.target.Engine.Key(index))
			if errors.Is(err, fs.ErrNotExist) || err == nil && staging.IsVague(info.Version) {
				return nil
			}
			if err == nil {
				records[i] = staging.Record{Index: index, Fold: fold, Stored: true, Version: staging.DigestOf(info.Version)}
			}
			return err
		})
	}
	if err := group.Wait(nil); err != nil {
		return err
	}
	records = slices.DeleteFunc(records, func(r staging.Record) bool { return !r.Stored })
	if len(records) == 0 {
		return nil
	}
	place, err := c.work.place(c.array)
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, c.work.to, store.Put(place.MustKey(c.work.recordsOf()+"/"+rand.Text()), staging.AppendRecords(nil, records)), c.work.Durability)
	return err
}

// keep finds the finished chunks that an interrupted call has left, and returns which
// values of the destination stay: these, and their records.
func (w *work) keep(ctx context.Context) (func(name string) bool, error) {
	known := map[string]*leftover{} // by the path of the array
	left := w.memory() / 16
	for _, a := range w.arrays {
		l, err := w.find(ctx, a, &left)
		if l == nil || err != nil {
			return nil, err
		}
		known[a.path] = l
	}
	return func(name string) bool {
		if l := known[""]; l != nil {
			return l.contains(name)
		}
		for dir := range parents(name) {
			if l := known[dir]; l != nil {
				return l.contains(name[len(dir)+1:])
			}
		}
		return false
	}, nil
}

// parents yields the directories above a name, the innermost first.
func parents(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := strings.LastIndexByte(name, '/'); i >= 0; i = strings.LastIndexByte(name[:i], '/') {
			if !yield(name[:i]) {
				return
			}
		}
	}
}

// leftover is what stays of the result of an array.
type leftover struct {
	*array
	keys    metadata.KeyEncoding
	records map[string]bool // their names
}

// contains reports whether a value stays, given its name below the array.
func (l *leftover) contains(name string) bool {
	if l.records[name] {
		return true
	}
	index, isChunk := l.keys.ParseKey(name, len(l.doc.Shape), nil)
	return isChunk && l.isStaged(index)
}

// isStaged reports whether a chunk of the result is finished.
func (r *array) isStaged(index []int64) bool {
	return len(r.staged) > 0 && r.staged[r.resultNumber(index)]
}

// resultNumber returns the number in C order of a chunk of the result, -1 if there is
// none with this index.
func (r *array) resultNumber(index []int64) int64 {
	for i, k := range index {
		if i != r.axis && k >= r.source.Grid.Axis(i).Cells() || i == r.axis && k >= int64(len(r.pieces)) {
			return -1
		}
	}
	return r.number(index, index[r.axis])
}

// find sets which chunks of an array are finished: their record has the present versions
// of the source, and they have the version in the record. It returns nil if the records
// take more than left bytes, and takes them from it otherwise.
func (w *work) find(ctx context.Context, a *array, left *int64) (*leftover, error) {
	keys, err := metadata.ParseKeyEncoding(a.doc.ChunkKeyEncoding)
	if err != nil {
		return nil, err
	}
	l := &leftover{array: a, keys: keys, records: map[string]bool{}}
	dir, err := w.place(a)
	if err != nil {
		return nil, err
	}
	recorded := map[int64][]staging.Digest{} // versions, by the numbers of chunks
	for e, err := range store.List(ctx, w.to, dir.MustKey(w.recordsOf()+"/-").Dir(), store.Flat) {
		if err != nil {
			return nil, err
		}
		name := w.recordsOf() + "/" + e.Name
		data, _, err := w.to.Get(ctx, dir.MustKey(name), store.Request{Limit: max(1, *left)}, nil)
		if errors.Is(err, store.ErrTooLarge) || err == nil && int64(len(data)) > *left {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		*left -= int64(len(data))
		// Records that are damaged are deleted, with the chunks that only they name.
		if list, err := staging.ParseRecords(data, len(a.doc.Shape)); err == nil {
			l.records[name] = true
			a.recall(recorded, list)
		}
	}
	a.staged = map[int64]bool{}
	if len(recorded) == 0 {
		return l, nil
	}
	index := make([]int64, 0, len(a.doc.Shape))
	for e, err := range store.List(ctx, w.to, dir, store.Deep|store.WithVersions) {
		if err != nil {
			return nil, err
		}
		var isChunk bool
		if index, isChunk = keys.ParseKey(e.Name, len(a.doc.Shape), index); !isChunk {
			continue
		}
		if n := a.resultNumber(index); slices.Contains(recorded[n], staging.DigestOf(e.Version)) {
			a.staged[n] = true
		}
	}
	return l, nil
}

// recall adds the versions in records to those of chunks of the result, if those chunks
// were made of the present chunks of the source.
func (r *array) recall(recorded map[int64][]staging.Digest, list []staging.Record) {
	for _, rec := range list {
		n := r.resultNumber(rec.Index)
		if n >= 0 && rec.Stored && rec.Version != 0 && rec.Fold == r.fold(rec.Index) && rec.Fold != (staging.Fold{}) {
			recorded[n] = append(recorded[n], rec.Version)
		}
	}
}

// part is a box of the result that is encoded at once, and its chunks.
type part struct {
	box     grid.Box
	indices [][]int64
}

// missing returns the parts of a box of the result that are not finished: all of it, or
// single chunks. It counts the others.
func (c *copying) missing(box grid.Box) []part {
	whole := part{box: slices.Clone(box)}
	cells, err := c.target.Grid.Touched(box)
	if err != nil {
		return []part{whole} // impossible: the box is within the array
	}
	staged := int64(0)
	for index := range cells.IndicesInto(make([]int64, len(cells))) {
		if c.isStaged(index) {
			staged++
			continue
		}
		whole.indices = append(whole.indices, slices.Clone(index))
	}
	if staged == 0 {
		return []part{whole}
	}
	c.work.found(staged)
	var parts []part
	for _, index := range whole.indices {
		chunk, _ := c.target.Grid.Chunk(index)
		parts = append(parts, part{chunk.Box(), [][]int64{index}})
	}
	return parts
}

// clean deletes all records.
func (w *work) clean(ctx context.Context) error {
	for _, a := range w.arrays {
		dir, err := w.place(a)
		if err != nil {
			return err
		}
		var names []string // a listing need not be complete while values are deleted
		for e, err := range store.List(ctx, w.to, dir.MustKey(recordsDir+"/-").Dir(), store.Deep) {
			if err != nil {
				return err
			}
			names = append(names, e.Name)
		}
		for _, name := range names {
			if _, err := store.Write(ctx, w.to, store.Delete(dir.MustKey(recordsDir+"/"+name)), store.Sync); err != nil {
				return err
			}
		}
	}
	return nil
}
