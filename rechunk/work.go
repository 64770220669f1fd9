// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
)

// checkRoom returns an error if a chunk of the new grid does not fit into the memory, or
// all of them not into the store.
func (s *session) checkRoom(ctx context.Context, old *snapshot.Array) error {
	w, err := s.workWith(old, old.Engine.Keys)
	if err != nil || w == nil {
		return err
	}
	plan, err := w.layout()
	if err != nil {
		return err
	}
	return s.checkSpace(ctx, old, w, plan)
}

// work is what is to be staged for one state of the array.
type work struct {
	*session
	*staging.Job
	old     *snapshot.Array
	next    *snapshot.Array // the array as it will be
	policy  string          // what becomes of the stored growth policy, or ""
	move    staging.Move
	keys    *metadata.KeyEncoding // that are wanted; nil for any
	wanted  []int64
	sources *staging.Table
	targets *staging.Table
	saver   *saver // of a share; nil to store records at once
}

// errTaken is the error of a claim whose keys are those of the present grid.
var errTaken error = final("the array has the chunk keys of this rechunk already, because another program has published or reverted one; give this one up (rechunk.Abandon) and begin again")

// work returns what is to be staged for a state of the array, or nil if the array has the
// wanted grid.
func (s *session) work(old *snapshot.Array) (*work, error) {
	// Never stage over the chunks of the present grid, whatever a claim says.
	if s.into == nil && sameKeys(s.claim.Keys, old.Engine.Keys, old.Grid.Rank()) {
		return nil, errTaken
	}
	return s.workWith(old, s.claim.Keys)
}

func (s *session) workWith(old *snapshot.Array, keys metadata.KeyEncoding) (*work, error) {
	t, err := s.target(old)
	if err == nil && t == nil && s.into != nil {
		t = &target{doc: old.Document()} // a copy
	}
	if err != nil || t == nil {
		return nil, err
	}
	doc := t.doc.WithKeyEncoding(keys)
	source, err := s.Bind(old.Doc, func(e *engine.Array) {
		e.Store, e.Budget, e.RequireChunks = staging.Witness{Store: e.Store}, s.Options.engine(), false
	})
	if err != nil {
		return nil, err
	}
	next, err := s.Bind(doc, s.there)
	if err != nil {
		return nil, fmt.Errorf("the new grid: %w", err)
	}
	policies, err := s.policies(old, next)
	if err != nil {
		return nil, err
	}
	policy, err := policies.fitPolicy()
	if err != nil {
		return nil, err
	}
	into, err := s.Bind(doc, func(e *engine.Array) { s.there(e); e.Budget = s.Options.engine() })
	if err != nil {
		return nil, err
	}
	// Refuse what readers would refuse before anything is staged.
	if err := checkLargest(into); err != nil {
		return nil, err
	}
	job, err := staging.NewJob(source, into, t.move)
	if err != nil {
		return nil, err
	}
	return &work{session: s, Job: job, old: old, next: next, policy: policy, move: t.move, keys: t.keys}, nil
}

// checkLargest returns an error if a chunk, or an inner chunk of a shard, exceeds
// Limits.Chunk.
func checkLargest(s *snapshot.Array) error {
	units := s.Grid
	if s.Engine.Chain.Divided() {
		var err error
		if units, err = s.Inner(); err != nil {
			return err
		}
	}
	shape := make([]int64, units.Rank())
	for i := range shape {
		a := units.Axis(i)
		shape[i] = a.Longest(grid.Interval{Stop: a.Chunks()})
	}
	_, err := s.Engine.ChunkBytes(shape)
	return err
}

// list lists what is stored now, with versions.
func (w *work) list(ctx context.Context) error { return w.listBy(ctx, staging.List) }

// listSource lists the source. Unless others share the tasks, what is staged and wanted
// follows it.
func (w *work) listSource(ctx context.Context) (err error) {
	if !w.shares {
		return w.list(ctx)
	}
	w.sources, err = staging.List(ctx, w.Source)
	return err
}

// listToStage lists what is stored now, without versions if there are no records to
// compare with.
func (w *work) listToStage(ctx context.Context) error {
	if len(w.records) == 0 {
		return w.listBy(ctx, staging.ListKeys)
	}
	return w.list(ctx)
}

func (w *work) listBy(ctx context.Context, list func(context.Context, *snapshot.Array) (*staging.Table, error)) (err error) {
	if w.sources, err = list(ctx, w.Source); err != nil {
		return err
	}
	if w.targets, err = list(ctx, w.Target); err != nil {
		return err
	}
	w.wanted, err = w.Wanted(w.sources)
	return err
}

// stale returns the target chunks that are to be staged.
func (w *work) stale() ([][]int64, error) {
	var list [][]int64
	for index, err := range w.Stale(w.wanted, w.sources, w.targets, w.Records(w.records)) {
		if err != nil {
			return nil, err
		}
		list = append(list, slices.Clone(index))
	}
	return list, nil
}

// document returns the bytes of the new document.
func (w *work) document() ([]byte, error) { return w.next.Doc.Marshal(w.Node.Limits) }

// there sets where the chunks of the target are.
func (s *session) there(e *engine.Array) { e.Store, e.Path = s.at.Store, s.at.Path }

// stays reports whether the stored chunks fit already, so that only the document changes.
func (w *work) stays() bool { return w.into == nil && w.keys == nil && w.SameCells() }
