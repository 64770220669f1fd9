// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// A re-gridding in place keeps the chunk keys of the array. It takes the steps of a trim
// (see internal/engine/reshape.go), after those of any re-gridding:
//
//  1. Claim the array.
//  2. Stage: store the chunks that change in a directory of their own. If a chunk that is
//     to be replaced is not stored, store its fill values: a reader must not take a
//     missing chunk for one of the new grid.
//  3. Lock, warn, compare and stage again, as for a flip. Then set the staged chunks
//     aside, under keys that contain their shapes.
//  4. Publish the new grid by one conditional write of the document.
//  5. Move the chunks from aside to their keys. The next writer that opens the array does
//     so if this process crashes.
//
// A key has the old chunk until step 5, and the new one from then on. The two have
// different numbers of elements, so whoever expects the other one gets an error. Varve's
// readers then look for a chunk that is set aside, and at the document.
//
// What step 2 has staged stays as long as the grace of the superseded grid. A writer of a
// region that looked at the document before step 4, and stores its chunk after step 5,
// overwrites the chunk of the new grid. It notices when it looks again, and restores the
// staged chunk. Chunks that the new grid no longer has stay, too.

// Guarantees of a [Plan].
const (
	atomic      = "atomic"
	loudFailure = "loud-failure"
	offline     = "offline"
)

// inPlaceStrategy is the strategy of a re-gridding that keeps the chunk keys.
const inPlaceStrategy = "in-place"

// replacesInPlace reports whether the caller asks for a re-gridding in place.
func (o Options) replacesInPlace() bool { return o.InPlace || o.Offline }

// replacement is the work of a re-gridding in place.
type replacement struct {
	*work
	old       *snapshot.Array
	guarantee string
	// all are the numbers of the chunks that are replaced. Those of work.wanted take
	// elements from stored chunks, and the others have only fill values.
	all  []int64
	held int64 // bytes of the largest chunk that is moved to its key
}

// planID stands for a claim while nothing is staged yet.
const planID = "0000000000000000"

// replacement returns what is to be staged for a state of the array, or nil if the array
// has the wanted grid. id is that of the claim.
func (s *session) replacement(old *snapshot.Array, id string) (*replacement, error) {
	w, err := s.workWith(old, old.Engine.Keys)
	if err != nil || w == nil {
		return nil, err
	}
	into, err := s.Bind(w.next.Doc, func(e *engine.Array) {
		// A chunk of fill values has to be stored: its size tells readers that it is
		// not the chunk that the key had before.
		e.Path, e.Budget, e.KeepFill = s.at.MergedDir(id), s.Options.engine(), true
	})
	if err != nil {
		return nil, err
	}
	if w.Job, err = staging.NewJob(w.Source, into, w.move); err != nil {
		return nil, err
	}
	r := &replacement{work: w, old: old}
	return r, r.permit()
}

// permit returns an error unless the array may be re-gridded in place.
func (r *replacement) permit() error {
	if r.move.Segments != nil || r.keys != nil && *r.keys != r.old.Engine.Keys || !r.SameChunks() {
		return fmt.Errorf("%w: chunks are replaced in place only if their keys, codecs and elements stay: leave out Options.InPlace and Options.Offline", zarr.ErrUnsupported)
	}
	now, is := r.old.Grid, r.next.Grid
	axis, first, tail := tailMerge(now, is)
	switch {
	case tail:
		r.guarantee = loudFailure
	case !r.Offline:
		return fmt.Errorf("%w: only the last chunks of one axis can be merged in place, into one chunk, and this request gives other chunks new elements: "+
			"leave out Options.InPlace, and all chunks get other keys", zarr.ErrUnsupported)
	case len(keysFor(r.old.Engine.Keys, now.Rank(), r.old.Doc.Format())) > 0:
		return fmt.Errorf("%w: this array can have other chunk keys, so it need not be taken offline: leave out Options.Offline", zarr.ErrInvalidArgument)
	default:
		r.guarantee = offline
	}
	if c := r.old.Engine.Chain; c.Cuts() != nil && !c.DistinguishesShapes() {
		return fmt.Errorf("%w: the index of these shards has no checksum, so a program that opened the array before could take a merged shard for an old one, and read other elements: "+
			"leave out Options.InPlace, and all shards get other keys", zarr.ErrUnsupported)
	}
	// Moving a chunk to its key holds it in memory, also if it is a shard.
	shape := make([]int64, is.Rank())
	for i := range shape {
		a := is.Axis(i)
		shape[i] = a.Longest(grid.Interval{Stop: a.Chunks()})
		if tail && i == axis {
			shape[i] = a.Longest(grid.Interval{Start: first, Stop: first + 1})
		}
	}
	held, err := r.next.Engine.ChunkBytes(shape)
	if err != nil {
		return fmt.Errorf("%w; a chunk that is replaced in place is held in memory: leave out Options.InPlace", err)
	}
	r.held = held
	return nil
}

// tailMerge reports whether the grid is results from was by making one chunk of the last
// chunks along one axis. The merged chunk has the index first, and is the only one along
// the axis that changes. It is longer than the one before it at the index, so the two
// differ in their numbers of elements.
func tailMerge(was, is *grid.Grid) (axis int, first int64, ok bool) {
	axis = -1
	for i := range was.Rank() {
		if was.Axis(i).Equal(is.Axis(i)) {
			continue
		}
		if axis >= 0 {
			return axis, 0, false
		}
		axis = i
	}
	if axis < 0 {
		return axis, 0, false
	}
	a, b := was.Axis(axis), is.Axis(axis)
	first = b.Chunks() - 1
	if first < 0 || b.Cells() != b.Chunks() || a.Extent() != b.Extent() || a.Chunks() < first+2 {
		return axis, first, false
	}
	before := grid.BoxOf(was.Chunks())
	before[axis].Stop = first
	return axis, first, was.SameCells(is, before)
}

// errAlike returns an error if the stored bytes do not tell a chunk of one shape from one
// of the other shape.
func (r *replacement) errAlike(index, was, is []int64) error {
	chain := r.old.Engine.Chain
	before, _ := checked.Product(was...)
	after, _ := checked.Product(is...)
	if before != after && chain.Distinguishes(was, is) && chain.Distinguishes(is, was) {
		return nil
	}
	return &engine.ChunkError{Index: index, Key: r.next.Engine.Key(index).String(), Err: fmt.Errorf(
		"%w: the stored bytes do not tell its shape %v from the new one %v, so readers could take the one for the other: leave out Options.InPlace", zarr.ErrUnsupported, was, is)}
}

// fingerprint identifies the request and, if it is done in place, that.
func (s *session) fingerprint() (string, error) {
	print, err := fingerprint(s.request)
	if s.replacesInPlace() {
		print += "-in-place"
	}
	if s.into != nil { // chunks of another source must not count
		sum := sha256.Sum256([]byte(store.PlaceOf(s.Node.Store) + " " + s.Node.Path.String()))
		print += "-from-" + hex.EncodeToString(sum[:8])
	}
	return print, err
}

// divide sets r.all and r.wanted, given the wanted numbers of all target chunks.
func (r *replacement) divide(taken []int64, sources *staging.Table) {
	r.all = r.Replaced(taken, sources)
	r.wanted = slices.DeleteFunc(slices.Clone(r.all), func(n int64) bool {
		_, takes := slices.BinarySearch(taken, n)
		return !takes
	})
}

// planInPlace fills in a plan of a re-gridding in place.
func (s *session) planInPlace(ctx context.Context, old *snapshot.Array, p *Plan) error {
	r, err := s.replacement(old, planID)
	if err != nil {
		return err
	}
	sources, err := staging.List(ctx, r.Source)
	if err != nil {
		return err
	}
	return s.predictInPlace(r, sources, p)
}

// predictInPlace fills in a plan that replaces chunks in place.
func (s *session) predictInPlace(r *replacement, sources *staging.Table, p *Plan) error {
	wanted, err := r.Wanted(sources)
	if err != nil {
		return err
	}
	p.Strategy, p.Guarantee, p.Memory = inPlaceStrategy, r.guarantee, max(s.memory(), r.held)
	p.Sources, p.BytesStored = int64(sources.Len()), sources.Bytes
	r.divide(wanted, sources)
	q := &staging.Predictor{Job: r.Job, Sources: sources}
	for _, n := range r.wanted {
		if err := q.Task(boxAt(r.Index(n))); err != nil {
			return err
		}
	}
	p.add(q, PlanStage{"stage", int64(len(r.wanted))})
	for _, n := range r.all {
		index := r.Index(n)
		p.Requests.Copy++ // to where it is set aside, or to its key
		if was, is, reused := r.Reused(index); reused {
			if err := r.errAlike(index, was, is); err != nil {
				return err
			}
			// From where it is set aside to its key, if that has the old chunk.
			p.Requests.Get += 2
			p.Requests.Put++
		}
	}
	chunks := grid.BoxOf(r.next.Grid.Chunks())
	for index := range sources.All() {
		switch {
		case !chunks.Contains(index):
			p.Dropped++
			p.BytesDropped += sources.Size(index)
		case r.IsKept(index):
			p.Kept++
		}
	}
	p.Space = s.space(r.Source, p)
	return nil
}

// alternative returns the plan of doing in place what would be done by other keys, or nil
// if that is not possible.
func (s *session) alternative(old *snapshot.Array, sources *staging.Table, p *Plan) *Plan {
	alone := &session{Array: s.Array, Options: s.Options, request: s.request, at: s.at}
	alone.InPlace = true
	r, err := alone.replacement(old, planID)
	if err != nil || r == nil {
		return nil
	}
	other := &Plan{Request: p.Request, Operation: p.Operation, Grid: p.Grid, Changes: true}
	if other.Fingerprint, err = alone.fingerprint(); err != nil || alone.predictInPlace(r, sources, other) != nil {
		return nil
	}
	return other
}

// orInPlace adds to an error that the request can be done in place, if it can.
func (s *session) orInPlace(old *snapshot.Array, err error) error {
	alone := &session{Array: s.Array, Options: s.Options, request: s.request, at: s.at}
	alone.InPlace = true
	if r, placeErr := alone.replacement(old, planID); r == nil || placeErr != nil {
		return err
	}
	return fmt.Errorf("%w; or store only the merged chunks, under the present keys (Options.InPlace)", err)
}

// isPublished reports whether a re-gridding in place was published.
func (s *session) isPublished(records []*lineage.Record, c *lineage.Claim, now *snapshot.Array) bool {
	for _, r := range lineage.Chain(records, now.Doc) {
		if r.ID == c.ID {
			return true
		}
	}
	return false
}
