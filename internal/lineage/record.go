// SPDX-License-Identifier: Apache-2.0

// Package lineage records which grids an array had before it was rechunked.
//
// Chunk keys are positions in a grid. A rechunk stores the new grid under other keys
// and publishes it by one write of the document, so the chunks of the old grid stay where
// they are. The record of a rechunk says which grid superseded which. It is stored
// before the document is published: no grid is ever superseded without a record. So a
// record may describe a publication that never happened. [Chain] finds those that did, by
// following them back from the present document.
//
// Three kinds of readers need this. A writer of a region finds out whether the chunks
// that it has just stored belong to a superseded grid. A vacuum deletes a superseded grid
// only if the present document descends from its successor. A revert publishes a
// superseded grid again.
package lineage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Record is one rechunk of an array.
type Record struct {
	// ID names the rechunk. It is part of a key.
	ID string `json:"id"`
	// Number orders the records of an array.
	Number int64 `json:"number"`
	// Operation is the command that made it, such as "compact".
	Operation string `json:"operation"`
	// Moved is set if elements have other indices than before, because a range was
	// dropped or inserted.
	Moved bool `json:"moved,omitempty"`
	// Gone is set once the superseded grid is deleted. The record then only leads from
	// the grids after it to those before it; see [Array.Forget].
	Gone bool `json:"gone,omitempty"`
	// InPlace is set if the chunks have the keys of before. Earlier versions of this
	// project made such merges.
	InPlace bool `json:"in_place,omitempty"`
	// From and To are the documents before and after, without attributes.
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
	// GrowthBefore and GrowthAfter are the stored growth policies of these documents.
	GrowthBefore json.RawMessage `json:"growth_before,omitempty"`
	GrowthAfter  json.RawMessage `json:"growth_after,omitempty"`
	// Batch is an ID that the records of one operation on several arrays share, or "".
	Batch string `json:"batch,omitempty"`
	// By is the process that published it.
	By store.Holder `json:"by,omitzero"`

	from, to *metadata.Array
	info     store.Info
}

// Array is the place of an array, and the limits of its documents.
type Array struct {
	Store  store.Store
	Path   store.Path
	Limits metadata.Limits
}

const (
	recordsDir   = own.Dir + "/grids"
	recordSuffix = ".json"
	// graceSuffix is the suffix of the object whose time is the beginning of the grace.
	graceSuffix = ".since"
	// chunksSuffix is the suffix of the object with the versions of the published chunks.
	chunksSuffix = ".chunks"
	// mostChunks bounds that object in bytes.
	mostChunks = 1 << 30
	// mostRecords bounds the records that are read. A vacuum removes them one by one.
	mostRecords = 1000
	// mostLargest bounds the records that are read, as a multiple of the largest one. An
	// array has one for every superseded grid that is stored, and one between two of
	// them.
	mostLargest = 4
)

// recordLimit bounds a record in bytes. It has two documents.
func (a Array) recordLimit() int64 { return 2*a.Limits.Document + 1<<16 }

// NewRecord returns the record of a rechunk between two documents.
func NewRecord(id, operation string, from, to *metadata.Array, l metadata.Limits) (*Record, error) {
	r := &Record{ID: id, Operation: operation, from: from, to: to}
	for _, d := range []struct {
		doc *metadata.Array
		raw *json.RawMessage
	}{{from, &r.From}, {to, &r.To}} {
		bare, err := d.doc.WithAttributes([]byte("{}"))
		if err != nil {
			return nil, err
		}
		if *d.raw, err = bare.Marshal(l); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Superseded returns the document of the superseded grid, without attributes.
func (r *Record) Superseded() *metadata.Array { return r.from }

// Successor returns the document of the grid that superseded it, without attributes.
func (r *Record) Successor() *metadata.Array { return r.to }

// Key returns the key of the record.
func (a Array) Key(r *Record) store.Key {
	return a.Path.MustKey(fmt.Sprintf("%s/%06d-%s%s", recordsDir, r.Number, r.ID, recordSuffix))
}

// Put stores a record. It takes the next number.
func (a Array) Put(ctx context.Context, r *Record, d store.Durability) error {
	all, err := a.Records(ctx)
	if err != nil {
		return err
	}
	// The claim or the lock of the caller excludes that another one takes the same
	// number.
	for _, old := range all {
		r.Number = max(r.Number, old.Number+1)
	}
	return a.put(ctx, r, d)
}

func (a Array) put(ctx context.Context, r *Record, d store.Durability) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, a.Store, store.Put(a.Key(r), data), d)
	return err
}

// Records returns the records of the array, oldest first. If there are too many to be
// held, the error wraps [codec.ErrLimit].
func (a Array) Records(ctx context.Context) (records []*Record, err error) {
	for range mostTries {
		// A vacuum may delete a record after it was listed, and store what it said in
		// another one, which was read before.
		if records, err = a.listed(ctx); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return records, err
}

// mostTries bounds how often records are listed. Each time, one more was deleted.
const mostTries = 100

// listed reads the records that a listing has.
func (a Array) listed(ctx context.Context) ([]*Record, error) {
	var names []string
	below := a.Path.MustKey(recordsDir + "/-").Dir()
	for e, err := range store.List(ctx, a.Store, below, store.Flat) {
		if err != nil {
			return nil, err
		}
		if !e.Dir && strings.HasSuffix(e.Name, recordSuffix) {
			names = append(names, e.Name)
		}
		if len(names) > mostRecords {
			return nil, tooManyError(below, fmt.Sprintf("more than %s", quantity.Count(mostRecords, "records")))
		}
	}
	slices.Sort(names)
	records := make([]*Record, len(names))
	left := mostLargest * a.recordLimit()
	for i, name := range names {
		r, err := a.read(ctx, below.MustKey(name), min(left, a.recordLimit()))
		if errors.Is(err, store.ErrTooLarge) {
			return nil, tooManyError(below, fmt.Sprintf("too large records, the last of them %s", name))
		}
		if err != nil {
			return nil, err
		}
		left -= r.info.Size
		records[i] = r
	}
	return records, nil
}

func tooManyError(below store.Path, what string) error {
	return fmt.Errorf("%w: %s has %s: delete superseded grids in time ("+remedy.Vacuum+"), or "+remedy.NewArray, codec.ErrLimit, below, what)
}

// read reads one record.
func (a Array) read(ctx context.Context, key store.Key, limit int64) (*Record, error) {
	data, info, err := a.Store.Get(ctx, key, store.Request{Limit: limit}, nil)
	if err != nil {
		return nil, err
	}
	r := &Record{info: info}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, damagedError(key, err)
	}
	if !IsID(r.ID) {
		return nil, damagedError(key, fmt.Errorf("its ID is %.40q", r.ID))
	}
	if r.from, err = a.Parse(r.From); err == nil {
		r.to, err = a.Parse(r.To)
	}
	// Keys are made of the ID and the number, and the values there are deleted.
	if err == nil && a.Key(r) != key {
		err = fmt.Errorf("it is the record %q with the number %d", r.ID, r.Number)
	}
	if err != nil {
		return nil, damagedError(key, err)
	}
	return r, nil
}

// Parse parses a document of either format, as a record has it.
func (a Array) Parse(raw []byte) (*metadata.Array, error) {
	var is struct {
		Format int `json:"zarr_format"`
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return nil, err
	}
	if is.Format == 2 {
		return metadata.ParseArrayV2(raw, nil, a.Limits)
	}
	return metadata.ParseArray(raw, a.Limits)
}

func damagedError(key store.Key, err error) error {
	return fmt.Errorf("%w: %s is damaged, so the array cannot be rechunked; "+remedy.NewArray+": %v", metadata.ErrInvalid, key, err)
}

// ChunksKey returns the key of what PutChunks stores.
func (a Array) ChunksKey(r *Record) store.Key { return a.keyWithSuffix(r, chunksSuffix) }

// RemoveChunks deletes what PutChunks has stored. After that, the rechunk cannot be
// reverted.
func (a Array) RemoveChunks(ctx context.Context, r *Record) error {
	_, err := store.Write(ctx, a.Store, store.Delete(a.keyWithSuffix(r, chunksSuffix)), store.Sync)
	return err
}

// Remove deletes a record and what belongs to it, the record last.
func (a Array) Remove(ctx context.Context, r *Record) error {
	// The record goes last. After a crash it still names what is left.
	for _, key := range []store.Key{a.keyWithSuffix(r, graceSuffix), a.keyWithSuffix(r, chunksSuffix), a.Key(r)} {
		if _, err := store.Write(ctx, a.Store, store.Delete(key), store.Sync); err != nil {
			return err
		}
	}
	return nil
}

// keyWithSuffix returns the key of an object that belongs to a record.
func (a Array) keyWithSuffix(r *Record, with string) store.Key {
	return a.Path.MustKey(strings.TrimSuffix(strings.TrimPrefix(a.Key(r).String(), a.prefix()), recordSuffix) + with)
}

// PutChunks stores the versions of the chunks that a rechunk publishes.
func (a Array) PutChunks(ctx context.Context, r *Record, data []byte, d store.Durability) error {
	_, err := store.Write(ctx, a.Store, store.Put(a.keyWithSuffix(r, chunksSuffix), data), d)
	return err
}

// Chunks returns what PutChunks has stored. If there is nothing, the error wraps
// [fs.ErrNotExist].
func (a Array) Chunks(ctx context.Context, r *Record) ([]byte, error) {
	data, _, err := a.Store.Get(ctx, a.keyWithSuffix(r, chunksSuffix), store.Request{Limit: mostChunks}, nil)
	return data, err
}

func (a Array) prefix() string {
	if a.Path.IsRoot() {
		return ""
	}
	return a.Path.String() + "/"
}

// Chain returns the records that lead to the document now, latest first: the rechunk
// that made its grid, the one that made the grid before, and so on.
func Chain(records []*Record, now *metadata.Array) []*Record {
	var chain []*Record
	for i := len(records) - 1; i >= 0; i-- {
		if r := records[i]; r.leadsTo(now, records[:i]) {
			chain = append(chain, r)
			now = r.from
		}
	}
	return chain
}

// leadsTo reports whether a document is that of the successor at a later time. Shrinking
// and growing again may have given it any edges. But if it has the edges of an earlier
// grid with the same keys, another program has put that one back.
func (r *Record) leadsTo(now *metadata.Array, earlier []*Record) bool {
	if Continues(r.to, now) && (!r.InPlace || r.hasMerged(now)) {
		return true
	}
	if r.InPlace && Continues(r.from, now) {
		return false // it was not published
	}
	return Alike(r.to, now) && !slices.ContainsFunc(earlier, func(e *Record) bool { return Continues(e.from, now) || Continues(e.to, now) })
}

// Alike reports whether chunks of two documents have the same keys, codecs and type, so
// that they differ in edges only. Records spell documents in one way, and the program
// that has written the present one may have another.
func Alike(was, is *metadata.Array) bool {
	if was.Format() != is.Format() || !likeness.SameElements(was, is) {
		return false
	}
	// Writers may spell out the default separator, or not.
	wasKeys, err := metadata.ParseKeyEncoding(was.ChunkKeyEncoding)
	if err != nil {
		return false
	}
	isKeys, err := metadata.ParseKeyEncoding(is.ChunkKeyEncoding)
	return err == nil && wasKeys == isKeys
}

// Continues reports whether two documents can be those of one grid at two times, with
// edges that differ at most at the ends of axes.
func Continues(was, is *metadata.Array) bool {
	if !Alike(was, is) {
		return false
	}
	before, err := GridOf(was)
	if err != nil {
		return false
	}
	after, err := GridOf(is)
	if err != nil || before.IsRegular() != after.IsRegular() {
		return false
	}
	for i := range before.Rank() {
		if !sameUpToEnd(before.Axis(i), after.Axis(i)) {
			return false
		}
	}
	return true
}

// GridOf returns the grid that a document describes.
func GridOf(doc *metadata.Array) (*grid.Grid, error) {
	return grid.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration, &grid.ParseOptions{EncodedShapes: true})
}

// sameUpToEnd reports whether two axes have the same edges up to the last chunk of the
// shorter one. That chunk may have been cut or lengthened.
func sameUpToEnd(a, b grid.Axis) bool {
	if a.IsRegular() || b.IsRegular() {
		return a.Step() == b.Step()
	}
	x, y := a.Edges(), b.Edges()
	return samePrefix(slices.Collect(x), slices.Collect(y), min(a.Cells(), b.Cells())-1)
}

// samePrefix reports whether two lists of runs begin with the same n edges.
func samePrefix(a, b []grid.Run, n int64) bool {
	var i, j int
	var p, q int64 // edges that are left of a[i] and b[j]
	for n > 0 {
		if p == 0 {
			p = a[i].Count
		}
		if q == 0 {
			q = b[j].Count
		}
		if a[i].Length != b[j].Length {
			return false
		}
		step := min(p, q, n)
		p, q, n = p-step, q-step, n-step
		if p == 0 {
			i++
		}
		if q == 0 {
			j++
		}
	}
	return true
}

// Forget updates the records of superseded grids after some were deleted. chain is that
// of the present document, and deleted reports whether the superseded grid of a record
// is not stored any more.
//
// A record whose grid is deleted stays as a link while an older grid is stored: without
// it, nothing would show that the present document descends from the successor of the
// older grid. Neighbouring links become one. So there are never more links than stored
// grids.
func (a Array) Forget(ctx context.Context, chain []*Record, deleted func(*Record) bool, d store.Durability) error {
	// From the oldest to the latest: a crash leaves a chain that reaches every grid that
	// is stored.
	for len(chain) > 0 && deleted(chain[len(chain)-1]) {
		if err := a.removeLast(ctx, chain[len(chain)-1], d); err != nil {
			return err
		}
		chain = chain[:len(chain)-1]
	}
	for i := len(chain) - 1; i >= 0; i-- {
		r := chain[i]
		if !deleted(r) {
			continue
		}
		// Only the record of a rechunk in place tells its grids apart.
		if i > 0 && deleted(chain[i-1]) && !r.InPlace && !chain[i-1].InPlace {
			joined, err := a.joinLinks(ctx, r, chain[i-1], d)
			if err != nil {
				return err
			}
			chain[i-1] = joined
			continue
		}
		if r.Gone {
			continue
		}
		r.Gone = true
		if err := a.put(ctx, r, d); err != nil {
			return err
		}
	}
	return nil
}

// joinLinks replaces two neighbouring links by one. It has the key of the later one, so
// the chain leads past the earlier one as soon as it is stored.
func (a Array) joinLinks(ctx context.Context, earlier, later *Record, d store.Durability) (*Record, error) {
	r := *later
	r.Gone, r.Moved = true, earlier.Moved || later.Moved
	r.From, r.from = earlier.From, earlier.from
	// The link does not tell that the grid between them was one of this array.
	if r.Moved {
		if err := a.noteMoved(ctx, later, d); err != nil {
			return nil, err
		}
	}
	if err := a.put(ctx, &r, d); err != nil {
		return nil, err
	}
	return &r, a.Remove(ctx, earlier)
}

// removeLast removes a record that is not needed any more.
func (a Array) removeLast(ctx context.Context, r *Record, d store.Durability) error {
	if r.Moved {
		if err := a.noteMoved(ctx, r, d); err != nil {
			return err
		}
	}
	return a.Remove(ctx, r)
}

// Earlier versions of this project could merge the last chunks of an array in place: the
// merged chunk got the key of the first one. What they have left is still understood:
// staged chunks are deleted, and the records lead to the grids before.

// mergedDir is the directory, below that of the array, of the chunks that rechunks in
// place have staged.
const mergedDir = own.Dir + "/merged"

// mergedDirOf returns the directory of the chunks that a rechunk in place has staged.
// Below it, they have the keys that chunks have below the array.
func (a Array) mergedDirOf(id string) store.Path {
	return a.Path.MustKey(mergedDir + "/" + id + "/-").Dir()
}

// MergedRoot returns the directory that has those of all rechunks in place.
func (a Array) MergedRoot() store.Path { return a.Path.MustKey(mergedDir + "/-").Dir() }

// RemoveMerged deletes the chunks that a rechunk in place has staged.
func (a Array) RemoveMerged(ctx context.Context, id string) error {
	dir := a.mergedDirOf(id)
	for e, err := range store.List(ctx, a.Store, dir, store.Deep) {
		if err == nil {
			_, err = store.Write(ctx, a.Store, store.Delete(dir.MustKey(e.Name)), store.Sync)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hasMerged reports whether the last chunk of the new grid along every axis is also one
// of the document now. The record of a rechunk in place may be one that was never
// published, and only the last chunk tells: the grid of before has a shorter one there,
// and more chunks behind it. If there is no chunk behind it, the array was cut there.
func (r *Record) hasMerged(now *metadata.Array) bool {
	to, err := GridOf(r.to)
	if err != nil {
		return false
	}
	is, err := GridOf(now)
	if err != nil {
		return false
	}
	for i := range to.Rank() {
		last := to.Axis(i).Cells() - 1
		if last < 0 || is.Axis(i).Cells() <= last+1 {
			continue
		}
		a, _ := to.Axis(i).Cell(last)
		if b, ok := is.Axis(i).Cell(last); !ok || a.Edge != b.Edge {
			return false
		}
	}
	return true
}
