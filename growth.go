package zarr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// growth is a change of the extents or of the edges, with elements for the new region where it is appended to.
type growth struct {
	grid      *grid.Grid
	region    grid.Box
	data      []byte
	keepStale bool
	vacate    *room        // whose chunks are deleted
	complete  *Reservation // whose parts have to be written
}

const (
	// changeTries is how often a change is planned anew because another writer published first.
	changeTries = 32
	// longestPause is the longest time between two tries.
	longestPause = 50 * time.Millisecond
)

// change publishes a change that plan makes of the newest state. Where another writer publishes first, it plans again.
func (a *Array) change(ctx context.Context, plan func(*state) (*growth, error)) error {
	_, leave, err := a.enter(ctx, allTurns)
	if err != nil {
		return err
	}
	defer leave()
	return a.update(ctx, func(old *state) (*publish.Change, *state, error) { return a.grow(old, plan) })
}

// grow returns the change that plan makes of a state, and the state that it leads to.
func (a *Array) grow(old *state, plan func(*state) (*growth, error)) (*publish.Change, *state, error) {
	g, err := plan(old)
	if err != nil || g == nil {
		return nil, nil, err
	}
	next, err := a.with(old, g.grid)
	if err != nil {
		return nil, nil, err
	}
	c, err := a.stage(old, next, g)
	return c, next, err
}

// retry does something until no other writer comes first, with pauses.
func retry(ctx context.Context, do func() error) (err error) {
	pause := time.Millisecond
	for range changeTries {
		var final *unexpected
		if err = do(); !errors.Is(err, ErrConflict) || errors.As(err, &final) || errors.Is(err, publish.ErrHeld) {
			return err
		}
		select {
		case <-time.After(rand.N(pause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, longestPause)
	}
	return fmt.Errorf("%w; gave up after %d tries", err, changeTries)
}

// update publishes a change that plan makes of the newest state, and the state that it leads to. Where another writer publishes
// first it plans again, and where one died it finishes what that one had begun.
func (a *Array) update(ctx context.Context, plan func(old *state) (*publish.Change, *state, error)) error {
	if err := a.writable(); err != nil {
		return err
	}
	return a.updateAs(ctx, a.publisher(), plan)
}

// updateAs is update by one who may hold the array.
func (a *Array) updateAs(ctx context.Context, n publish.Node, plan func(old *state) (*publish.Change, *state, error)) error {
	published := a.state.Load()
	err := retry(ctx, func() error {
		err := publish.Update(ctx, n, a.planned(plan))
		switch {
		case errors.Is(err, publish.ErrPending):
			err = errors.Join(a.finishOthers(ctx), err)
		case errors.Is(err, publish.ErrHeld):
			if ended, endErr := a.endPublished(ctx, ""); ended || endErr != nil {
				err = errors.Join(endErr, publish.ErrPending) // so that this is tried again
			}
		}
		return err
	})
	if now := a.state.Load(); now != published && (err == nil || errors.Is(err, ErrIncomplete)) {
		err = errors.Join(err, a.hierarchy.refreshAbove(context.WithoutCancel(ctx), a.node, store.Key{}, a.path))
	}
	return err
}

// planned returns the plan on a document that is made on the state which it describes. Once the change is published, the array
// has the state that it leads to.
func (a *Array) planned(plan func(old *state) (*publish.Change, *state, error)) func(publish.Document) (*publish.Change, error) {
	return func(d publish.Document) (*publish.Change, error) {
		now := time.Now()
		old, err := a.known(d)
		if err != nil {
			return nil, err
		}
		change, next, err := plan(old)
		if err != nil {
			return nil, err
		}
		if change == nil {
			a.state.Store(old)
			return nil, nil
		}
		change.Published = func(v store.Version) {
			next.version = v
			next.confirm(now)
			a.state.Store(next)
		}
		return change, nil
	}
}

// known returns the state that a document describes: the present one where it is of that version.
func (a *Array) known(d publish.Document) (*state, error) {
	if s := a.state.Load(); s != nil && s.version == d.Version && !d.Version.IsZero() {
		return s, nil
	}
	return a.parse(d.Bytes, d.Version)
}

// with returns the state with another grid.
func (a *Array) with(s *state, g *grid.Grid) (*state, error) {
	doc := s.document()
	ext := doc.ChunkGrid
	if !sameEdges(g, s.grid) {
		ext = gridExtension(g, len(ext.Configuration))
	}
	return a.bindGrid(doc.Resized(g.Shape(), ext), g, store.Version{})
}

// document returns the document of the state as it is written: with a chunk grid and codecs that are specified, whatever was read.
func (s *state) document() *metadata.Array {
	codecs, renamed := presentCodecs(s.doc.Codecs)
	ext := s.doc.ChunkGrid
	switch {
	case len(s.grid.Notes()) > 0:
		ext = gridExtension(s.grid, 0)
	case !renamed:
		return s.doc
	}
	doc := s.doc.Resized(s.grid.Shape(), ext)
	doc.Codecs = codecs
	return doc
}

// gridExtension returns how the grid stands in a document, where that has been about so many bytes.
func gridExtension(g *grid.Grid, bytes int) metadata.Extension {
	return metadata.Extension{Name: g.Name(), Configuration: g.AppendConfiguration(make([]byte, 0, bytes+64))}
}

// stage returns the change from one state to the next.
func (a *Array) stage(old, next *state, g *growth) (*publish.Change, error) {
	doc, err := next.doc.Marshal(a.options.Limits.metadata())
	if err != nil {
		return nil, err
	}
	was, is := old.grid.Shape(), next.grid.Shape()
	change := &publish.Change{Document: doc}
	change.Abandon = func(ctx context.Context, b store.Batch) error { return next.deleteNew(ctx, old, b) }
	trimmed := old.trimmed(next)
	switch {
	case g.data != nil:
		if axis := slices.IndexFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }); axis >= 0 {
			change.Witness = next.engine.Key(old.witness(axis))
			change.Guarded = func(key store.Key) bool { return old.guarded(next, axis, key) }
		}
		change.Stage = func(ctx context.Context, b store.Batch) error { return next.write(ctx, g, was, b) }
	case g.complete != nil:
		change.Stage = func(ctx context.Context, _ store.Batch) error { return g.complete.check(ctx, old, g.grid) }
		change.Abandon = nil
	case g.vacate != nil:
		change.Stage = func(ctx context.Context, b store.Batch) error { return old.vacate(ctx, g.vacate, b) }
		change.Abandon = nil
	case slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }):
		change.Stage = func(ctx context.Context, b store.Batch) error { return old.expose(ctx, next, g.keepStale, b) }
	}
	if slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] < p[0] }) {
		change.Reclaim = func(ctx context.Context, b store.Batch) error { return old.cut(ctx, next, g.keepStale, b) }
	}
	if len(trimmed) > 0 {
		old.trim(next, trimmed, change)
	}
	return change, nil
}

// pairs returns the extents of every axis before and after.
func pairs(was, is []int64) [][2]int64 {
	p := make([][2]int64, len(was))
	for i := range was {
		p[i] = [2]int64{was[i], is[i]}
	}
	return p
}

// firstTouched returns the index along an axis of the first chunk that growing along it touches.
func (s *state) firstTouched(axis int) int64 {
	a := s.grid.Axis(axis)
	last, ok := a.Cell(a.Chunks() - 1)
	if ok && last.Start+last.Edge > a.Extent() {
		return last.Index
	}
	return a.Chunks()
}

// witness returns the index of the chunk that everybody puts first who makes the array grow along an axis.
func (s *state) witness(axis int) []int64 {
	index := make([]int64, s.grid.Rank())
	index[axis] = s.firstTouched(axis)
	return index
}

// guarded reports whether only who makes the array grow along the axis can put a chunk of the next state: who makes it grow along
// another one has another witness.
func (s *state) guarded(next *state, axis int, key store.Key) bool {
	name, ok := strings.CutPrefix("/"+key.String(), strings.TrimSuffix("/"+next.engine.Path.String(), "/")+"/")
	index, parsed := next.engine.Keys.ParseKey(name, s.grid.Rank(), nil)
	for i := range index {
		parsed = parsed && (i == axis || index[i] < s.firstTouched(i))
	}
	return ok && parsed
}

// write stores the elements of a region that was the shape before does not have.
func (s *state) write(ctx context.Context, g *growth, was []int64, b store.Batch) error {
	r, err := selection.Resolve(selection.Region(g.region), s.grid.Shape())
	if err != nil {
		return err
	}
	view, err := s.source(r, g.data)
	if err != nil {
		return err
	}
	fenced := publish.Fenced(b)
	return s.engine.Write(ctx, r, view, engine.Writing{Batch: b, Valid: was, KeepFill: fenced, FirstAlone: fenced})
}

// deleteNew deletes what is stored under the keys of the chunks that s has and the other state has not.
func (s *state) deleteNew(ctx context.Context, other *state, b store.Batch) error {
	for cells := range grid.BoxOf(s.grid.Chunks()).Subtract(grid.BoxOf(other.grid.Chunks())) {
		if err := s.engine.Delete(ctx, cells, b); err != nil {
			return err
		}
	}
	return nil
}

// mostClaimed is how many chunks of fill values may be stored while an array grows without elements, where the store
// has no locks to keep those away who write the same chunks.
const mostClaimed = 1 << 16

// tooManyClaimed is the [ErrUnsafeConcurrentWrite] of a change that has to store more chunks of fill values than is reasonable.
type tooManyClaimed struct{}

func (tooManyClaimed) Error() string {
	return fmt.Sprintf("growing without elements over more than %d chunks in a store without locks: "+
		"grow in smaller steps, append the elements, or say that this is the only writer (SingleWriter)", mostClaimed)
}

func (tooManyClaimed) Is(target error) bool { return target == ErrUnsafeConcurrentWrite }

// expose makes sure that the elements which the next state adds are the fill value: what an older writer left in
// cut chunks is cleared, unless that is to be kept, and what a writer that died left under the keys of new chunks is deleted.
func (s *state) expose(ctx context.Context, next *state, keepStale bool, b store.Batch) error {
	if publish.Fenced(b) {
		return s.claim(ctx, next, keepStale, b)
	}
	if err := next.deleteNew(ctx, s, b); err != nil || keepStale {
		return err
	}
	for _, cells := range s.cutBy(next, func(was, is int64) bool { return is > was }) {
		if err := s.engine.Clear(ctx, cells, s.grid.Shape(), b); err != nil {
			return err
		}
	}
	return nil
}

// cutBy returns the chunks of s at the end of every axis that its extent cuts, where that is of interest for
// the extents in s and in another state.
func (s *state) cutBy(other *state, interests func(here, there int64) bool) []grid.Box {
	var boxes []grid.Box
	for i := range s.grid.Rank() {
		a := s.grid.Axis(i)
		last, ok := a.Cell(a.Chunks() - 1)
		if !ok || !last.IsBoundary() || !interests(a.Extent(), other.grid.Axis(i).Extent()) {
			continue
		}
		cells := grid.BoxOf(s.grid.Chunks())
		cells[i].Start = last.Index
		boxes = append(boxes, cells)
	}
	return boxes
}

// claim is expose where only a fence keeps others away: every chunk that the new region touches is written, so that nobody who
// planned on the old document can write it later. The witnesses of all axes that grow come first. With keepStale, chunks
// that the array has already stay as they are.
func (s *state) claim(ctx context.Context, next *state, keepStale bool, b store.Batch) error {
	kept := grid.BoxOf(next.grid.Chunks())
	var boxes []grid.Box
	for i := range kept {
		if next.grid.Axis(i).Extent() <= s.grid.Axis(i).Extent() {
			continue
		}
		kept[i].Stop = s.firstTouched(i)
		if chunks := s.grid.Axis(i).Chunks(); keepStale && kept[i].Stop < chunks {
			kept[i].Stop = chunks
			continue
		}
		witness, first := s.witness(i), make(grid.Box, len(kept))
		for k, at := range witness {
			first[k] = grid.Interval{Start: at, Stop: at + 1}
		}
		known := slices.ContainsFunc(boxes, func(b grid.Box) bool { return slices.Equal(b, first) })
		if !known && grid.BoxOf(next.grid.Chunks()).Contains(witness) {
			boxes = append(boxes, first)
		}
	}
	firsts := slices.Clone(boxes)
	for cells := range grid.BoxOf(next.grid.Chunks()).Subtract(kept) {
		boxes = append(boxes, without(cells, firsts)...)
	}
	left := int64(mostClaimed)
	for _, cells := range boxes {
		n, ok := cells.Len()
		if left -= n; !ok || left < 0 {
			return tooManyClaimed{}
		}
	}
	how := engine.Writing{Batch: b, Valid: s.grid.Shape(), KeepFill: true}
	for _, cells := range boxes {
		// Readers still know the chunks that there are, so these keep their shape, even if another axis is trimmed.
		there, old := slices.Clone(cells), grid.BoxOf(s.grid.Chunks())
		for i := range there {
			there[i] = there[i].Intersect(old[i])
		}
		if err := s.engine.Claim(ctx, there, how); err != nil {
			return err
		}
		for added := range cells.Subtract(there) {
			if err := next.engine.Claim(ctx, added, how); err != nil {
				return err
			}
		}
	}
	return nil
}

// without returns what is left of a box without others.
func without(cells grid.Box, others []grid.Box) []grid.Box {
	if len(others) == 0 {
		return []grid.Box{cells}
	}
	var left []grid.Box
	for rest := range cells.Subtract(others[0]) {
		left = append(left, without(rest, others[1:])...)
	}
	return left
}

// cut deletes the chunks that the next state does not have any more, and clears what it cut off from others.
func (s *state) cut(ctx context.Context, next *state, keepStale bool, b store.Batch) error {
	if err := s.deleteNew(ctx, next, b); err != nil || keepStale {
		return err
	}
	for _, cells := range next.cutBy(s, func(is, was int64) bool { return is < was }) {
		if err := next.engine.Clear(ctx, cells, next.grid.Shape(), b); err != nil {
			return err
		}
	}
	return nil
}
