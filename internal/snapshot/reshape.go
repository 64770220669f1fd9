// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Reshape is a change of extents or edges. An append also has the elements of the new
// region.
type Reshape struct {
	Grid      *grid.Grid     // after the change
	Region    grid.Box       // of the new elements
	Gain      Gain           // the new elements
	Slabs     []*engine.Slab // the new elements, in place of Region and Gain
	KeepStale bool           // keep what chunks hold beyond the extent
	Vacate    *Vacancy       // delete the chunks there
	// Check, if not nil, returns an error if the region cannot be published yet.
	Check func(ctx context.Context, old *Array, g *grid.Grid) error
}

// Stage returns the change from s to next for package publish. It decides which chunks
// are written before the document is published, and which are reclaimed after it.
func (s *Array) Stage(next *Array, g *Reshape, l metadata.Limits) (*publish.Change, error) {
	doc, err := next.Doc.Marshal(l)
	if err != nil {
		return nil, err
	}
	was, is := s.Grid.Shape(), next.Grid.Shape()
	change := &publish.Change{Document: doc}
	// If publishing fails, the new chunks are orphaned: no document describes them.
	change.Abandon = func(ctx context.Context, b store.Batch) error { return next.deleteNew(ctx, s, b) }
	trimmed := s.trimmed(next)
	switch {
	case g.Gain.Data != nil || g.Gain.From != nil || g.Gain.Segments != nil || g.Slabs != nil:
		if axis := slices.IndexFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }); axis >= 0 {
			// Two appends that plan on one document both write the marker chunk
			// first. Without locks, only one of them succeeds.
			change.Marker = next.Engine.Key(s.Marker(axis))
			change.Guarded = func(key store.Key) bool { return s.Guarded(next, axis, key) }
		}
		change.Stage = func(ctx context.Context, b store.Batch) error { return next.write(ctx, g, was, b) }
		if cells, err := next.Grid.Touched(g.Region); g.Gain.Data != nil && err == nil {
			change.Share = next.Engine.Share(cells)
		}
	case g.Check != nil:
		// The writers of a reservation have stored the chunks. They stay if publishing
		// fails, so that it can be tried again.
		change.Stage = func(ctx context.Context, _ store.Batch) error { return g.Check(ctx, s, g.Grid) }
		change.Abandon = nil
	// The change only makes room for a reservation, or removes one. No new chunk is
	// stored, so there is nothing to abandon.
	case g.Vacate != nil:
		change.Stage = func(ctx context.Context, b store.Batch) error { return s.vacate(ctx, g.Vacate, b) }
		change.Abandon = nil
	case slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] > p[0] }):
		change.Stage = func(ctx context.Context, b store.Batch) error { return s.expose(ctx, next, g.KeepStale, b) }
	}
	// A resize may grow one axis and shrink another, so it can have both steps.
	if slices.ContainsFunc(pairs(was, is), func(p [2]int64) bool { return p[1] < p[0] }) {
		change.Reclaim = func(ctx context.Context, b store.Batch) error { return s.cut(ctx, next, g.KeepStale, b) }
	}
	if len(trimmed) > 0 && s.Engine.Chain.Cuts() != nil && !s.Engine.Chain.DistinguishesShapes() {
		// Shards without a checksum may decode in either shape. PutAside checks other
		// chunks one by one.
		return nil, errUnguarded
	}
	if len(trimmed) > 0 {
		s.trim(next, trimmed, change)
	}
	return change, nil
}

// pairs returns the extents of every axis before and after a change.
func pairs(was, is []int64) [][2]int64 {
	p := make([][2]int64, len(was))
	for i := range was {
		p[i] = [2]int64{was[i], is[i]}
	}
	return p
}

// write stores the elements of an append. was is the shape before it.
func (s *Array) write(ctx context.Context, g *Reshape, was []int64, b store.Batch) error {
	// Under a fence, write the marker chunk first and alone. Store chunks of fill values
	// too, because a missing chunk would not stop a concurrent writer.
	fenced := publish.Fenced(b)
	how := engine.Writing{Batch: b, Valid: was, KeepFill: fenced, FirstAlone: fenced}
	if g.Slabs != nil {
		return s.Engine.WriteSlabs(ctx, g.Slabs, how)
	}
	if g.Gain.From != nil {
		return s.writeFrom(ctx, g.Gain.From, g.Region, how)
	}
	if g.Gain.Segments != nil {
		axis := slices.IndexFunc(pairs(was, s.Grid.Shape()), func(p [2]int64) bool { return p[1] > p[0] })
		return s.writeSegments(ctx, g.Gain.Segments, axis, g.Region, how)
	}
	r, err := selection.Resolve(selection.BoxOf(g.Region), s.Grid.Shape())
	if err != nil {
		return err
	}
	e := (*subset.Elements)(r)
	view, err := (&Selected{e, s.Type, s.Engine.Heap}).CheckedView(g.Gain.Buffer)
	if err != nil {
		return err
	}
	return s.Engine.Write(ctx, e, view, how)
}

// deleteNew deletes the stored chunks that s has and other does not have.
func (s *Array) deleteNew(ctx context.Context, other *Array, b store.Batch) error {
	for cells := range grid.BoxOf(s.Grid.Chunks()).Subtract(grid.BoxOf(other.Grid.Chunks())) {
		if err := s.Engine.Delete(ctx, cells, b); err != nil {
			return err
		}
	}
	return nil
}

// expose makes the elements that next adds read as the fill value. It deletes orphaned
// chunks under the keys of new chunks, which a crashed writer may have left. Unless
// keepStale, it also clears the elements of boundary chunks beyond the old extent.
func (s *Array) expose(ctx context.Context, next *Array, keepStale bool, b store.Batch) error {
	if publish.Fenced(b) {
		// A fence does not stop a concurrent writer from storing a deleted chunk again.
		return s.claim(ctx, next, keepStale, b)
	}
	if err := next.deleteNew(ctx, s, b); err != nil || keepStale {
		return err
	}
	for _, cells := range s.cutBy(next, func(was, is int64) bool { return is > was }) {
		if err := s.Engine.Clear(ctx, cells, s.Grid.Shape(), b); err != nil {
			return err
		}
	}
	return nil
}

// cutBy returns, for every axis whose extent cuts the last chunk of s, the boxes of these
// chunks. interests selects axes by their extents in s and in other.
func (s *Array) cutBy(other *Array, interests func(here, there int64) bool) []grid.Box {
	var boxes []grid.Box
	for i := range s.Grid.Rank() {
		a := s.Grid.Axis(i)
		last, ok := a.Cell(a.Chunks() - 1)
		if !ok || !last.IsBoundary() || !interests(a.Extent(), other.Grid.Axis(i).Extent()) {
			continue
		}
		// The box has all chunks along the other axes.
		cells := grid.BoxOf(s.Grid.Chunks())
		cells[i].Start = last.Index
		boxes = append(boxes, cells)
	}
	return boxes
}

// cut deletes the chunks that next no longer has and, unless keepStale, clears the
// elements of its boundary chunks beyond the extent. It runs after next was published. A
// crash here leaves stale values that readers never see. [Array.expose] removes them when
// the array grows again.
func (s *Array) cut(ctx context.Context, next *Array, keepStale bool, b store.Batch) error {
	err := s.deleteNew(ctx, next, b)
	if err == nil && !keepStale {
		for _, cells := range next.cutBy(s, func(is, was int64) bool { return is < was }) {
			if err = next.Engine.Clear(ctx, cells, next.Grid.Shape(), b); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("the shape is %v, and some values beyond it are still stored; they are not visible, "+
			"and are removed when the array grows over them: %w", next.Grid.Shape(), err)
	}
	return nil
}

// Vacancy is a region beyond the extent of an array, and the grid that the array will
// have when it includes the region.
type Vacancy struct {
	Grid   *grid.Grid
	Region grid.Box
}

// vacate deletes the chunks of a vacancy. Under a fence it deletes nothing, because a
// fence does not exclude writers that store such chunks now. Later writers overwrite
// them.
func (s *Array) vacate(ctx context.Context, r *Vacancy, b store.Batch) error {
	cells, err := s.roomOf(r)
	if err != nil || publish.Fenced(b) {
		return err
	}
	return s.Engine.Delete(ctx, cells, b)
}

// roomOf returns the chunks of a vacancy that the array does not have yet.
func (s *Array) roomOf(r *Vacancy) (grid.Box, error) {
	cells, err := r.Grid.Touched(r.Region)
	for i := range cells {
		// Along the other axes the region starts at 0 and covers the whole array, so only
		// the growing axis has chunks to keep.
		if r.Region[i].Start > 0 {
			cells[i].Start = max(cells[i].Start, s.Grid.Axis(i).Chunks())
		}
	}
	return cells, err
}

// Unexpected is the conflict of a change whose caller expected another shape. It is
// final: a retry meets it again.
type Unexpected struct{ Have, Want []int64 }

// Error returns both shapes.
func (u *Unexpected) Error() string {
	return fmt.Sprintf("%v, or by this very change before: the shape is %v, %v was expected", store.ErrConflict, u.Have, u.Want)
}

// Is reports whether target is [store.ErrConflict].
func (u *Unexpected) Is(target error) bool { return target == store.ErrConflict }

// Final marks the error as a [publish.Final].
func (u *Unexpected) Final() {}

// Expect returns [Unexpected] if the array has another shape. Nil expects nothing.
func (s *Array) Expect(shape []int64) error {
	if is := s.Grid.Shape(); shape != nil && !slices.Equal(shape, is) {
		return &Unexpected{is, shape}
	}
	return nil
}

// Gain has the elements of an append: in memory, from a source, or in other arrays.
type Gain struct {
	element.Buffer
	From     *Source
	Segments []Segment
}

// Along returns the number of planes that the array gains along an axis. wanted is
// AppendOptions.Planes, 0 if it was not set.
func (g Gain) Along(s *Array, axis int, wanted int64) (int64, error) {
	if g.Segments != nil {
		return s.segmentsAlong(axis, g.Segments)
	}
	if g.From == nil {
		return s.planes(axis, len(g.Data), wanted)
	}
	shape := s.Grid.Shape()
	switch {
	case s.Type.Variable():
		return 0, fault.Argument("a source cannot provide elements of %s, which have variable length: use Append", s.Type)
	case g.Data != nil:
		return 0, ErrBothGiven
	case g.From.Read == nil:
		return 0, fault.Argument("the source has no Read")
	// Only the growing axis may differ. A source of another rank is refused below.
	case len(g.From.Shape) == len(shape):
		shape[axis] = g.From.Shape[axis]
	}
	_, fits := checked.Product(append(slices.Clone(shape), int64(s.Engine.Size))...)
	switch {
	case !slices.Equal(shape, g.From.Shape) || shape[axis] < 0:
		return 0, fault.Argument("a source of shape %v does not continue shape %v along axis %d", g.From.Shape, s.Grid.Shape(), axis)
	case !fits:
		return 0, fmt.Errorf("%w: a source of shape %v", grid.ErrOverflow, shape)
	case wanted != 0 && wanted != shape[axis]:
		return 0, fault.Argument("the source has %s along axis %d, but "+remedy.Planes+" is %d", quantity.Count(shape[axis], "planes"), axis, wanted)
	}
	return shape[axis], s.checkNames("the source", g.From.DimensionNames)
}

// checkNames returns an error if axes of what is appended have other names than those of
// the array. A name that either lacks is not compared.
func (s *Array) checkNames(what string, names []string) error {
	for i, here := range s.DimensionNames() {
		if i < len(names) && names[i] != "" && here != "" && names[i] != here {
			return &grid.AxisError{Axis: i, Err: fault.Argument("%s calls it %q, and the array calls it %q: give its axes the order and the names of the array", what, names[i], here)}
		}
	}
	return nil
}

// IsEmpty reports whether the new planes have no elements.
func (g Gain) IsEmpty() bool {
	if g.Segments != nil {
		return !slices.ContainsFunc(g.Segments, func(seg Segment) bool { return !slices.Contains(seg.Grid.Shape(), 0) })
	}
	if g.From == nil {
		return len(g.Data) == 0
	}
	return slices.Contains(g.From.Shape, 0)
}

// ErrBothGiven reports an append with elements in memory and a source.
var ErrBothGiven = fault.Argument("there are both elements and a source of elements: omit one of them")

// planes returns the number of planes along an axis that the given bytes fill. Unless
// wanted is 0, it must be that number.
func (s *Array) planes(axis, bytes int, wanted int64) (int64, error) {
	shape := s.Grid.Shape()
	shape[axis] = 1
	// A plane has no bytes if another axis has the extent 0.
	plane, ok := checked.Product(append(shape, int64(s.Engine.Size))...)
	switch {
	case wanted < 0:
		return 0, fault.Argument(remedy.Planes+" is %d, but must not be negative", wanted)
	case plane == 0 && bytes == 0 && ok && wanted == 0:
		return 0, fault.Argument("planes of shape %v along axis %d have no elements, so their number is not known: set "+remedy.Planes, shape, axis)
	case plane == 0 && bytes == 0 && ok:
		return wanted, nil
	case !ok || plane == 0 || int64(bytes)%plane != 0:
		return 0, fault.Argument("%s not fill planes of shape %v and type %s along axis %d (%s each)", quantity.Count(bytes, "bytes do"), shape, s.Type, axis, quantity.Count(plane, "bytes"))
	}
	count := int64(bytes) / plane
	if wanted != 0 && wanted != count {
		return 0, fault.Argument("%s %s along axis %d, but "+remedy.Planes+" is %d: omit it, or correct it", quantity.Count(bytes, "bytes fill"), quantity.Count(count, "planes"), axis, wanted)
	}
	return count, nil
}

// writeFrom reads the elements of a region from a source and stores them, box by box.
func (s *Array) writeFrom(ctx context.Context, src *Source, region grid.Box, how engine.Writing) error {
	// Boxes end at borders of chunks, so every chunk is written once.
	limit, err := s.Engine.BoxBytes(region)
	if err != nil {
		return err
	}
	boxes, err := s.Engine.Boxes(region, limit)
	if err != nil {
		return err
	}
	var buffer *budget.Buffer
	defer func() { buffer.Put() }()
	for box := range boxes {
		n, _ := box.Len() // cannot overflow: Along has checked all elements together
		// Boxes may differ in size: keep the largest buffer so far.
		if n *= int64(s.Engine.Size); buffer == nil || int64(cap(buffer.B)) < n {
			buffer.Put()
			buffer = budget.Get(n)
		}
		if err := s.writeBox(ctx, src, region, box, buffer.Bytes(n), how); err != nil {
			return err
		}
		// The marker chunk is in the first box and is stored now.
		how.FirstAlone = false
	}
	return ctx.Err()
}

// writeBox reads the elements of one box of a region into room, and stores them.
func (s *Array) writeBox(ctx context.Context, src *Source, region, box grid.Box, room []byte, how engine.Writing) error {
	r, err := selection.Resolve(selection.BoxOf(box), s.Grid.Shape())
	if err != nil {
		return err
	}
	within := slices.Clone(box)
	for i := range within {
		within[i].Start -= region[i].Start
		within[i].Stop -= region[i].Start
	}
	// Read gets the box and may change it, so keep what messages show.
	shown := make([]string, len(within))
	for i, in := range within {
		shown[i] = fmt.Sprintf("%d:%d", in.Start, in.Stop)
	}
	err = src.Read(ctx, within, room)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return &sourceError{fmt.Errorf("read elements %v of the source: %w", shown, err)}
	}
	e := (*subset.Elements)(r)
	view, err := (&Selected{e, s.Type, nil}).CheckedView(element.Buffer{Type: s.Type, Data: room})
	if err != nil {
		return fmt.Errorf("elements %v of the source: %w", shown, err)
	}
	return s.Engine.Write(ctx, e, view, how)
}

// sourceError is an error of a source. It matches neither a conflict nor an unknown
// outcome, because those would refer to the array that grows. Otherwise the append would
// be retried, or reported as possibly done.
type sourceError struct{ err error }

// SourceError returns an error of a source that matches neither a conflict nor an unknown
// outcome of the array that takes the elements.
func SourceError(err error) error { return &sourceError{err} }

func (s *sourceError) Error() string { return s.err.Error() }

func (s *sourceError) Is(target error) bool {
	return target != store.ErrConflict && target != publish.ErrIncomplete && target != publish.ErrOutcomeUnknown && errors.Is(s.err, target)
}

// As finds errors of the source, which may be another array.
func (s *sourceError) As(target any) bool { return errors.As(s.err, target) }

// Source is the Source of the root package.
type Source struct {
	Shape          []int64
	DimensionNames []string
	Read           func(ctx context.Context, box grid.Box, dst []byte) error
}

// innerStep returns the length of the inner chunks along an axis. It returns 1 if there
// are none, or if they need not divide shards.
func (s *Array) innerStep(axis int) int64 {
	inner := s.Engine.Chain.Cuts() // also of shards that are compressed as a whole
	if inner == nil {
		return 1
	}
	a, err := grid.NewAxis(0, inner[axis])
	// Such inner chunks need not divide the shard.
	if err != nil || a.IsTrimmed() || !a.IsRegular() {
		return 1
	}
	return a.Step()
}

// Rounded returns the policy or, if up is set, one that rounds the last shard along the
// axis up to whole inner chunks.
func (s *Array) Rounded(axis int, g grid.Growth, up bool) grid.Growth {
	if n := s.innerStep(axis); up && n > 1 {
		return g.RoundedUp(n)
	}
	return g
}

// Fits returns an error if a new shard does not consist of whole inner chunks. The
// message suggests numbers of elements, in place of count, that fit under the same
// policy.
func (s *Array) Fits(g *grid.Grid, axis int, count int64, policy grid.Growth) error {
	err := s.Engine.Chain.CheckGrid(g)
	if err == nil {
		return nil
	}
	n := s.innerStep(axis)
	below, above := s.Grid.Axis(axis).FittingLengths(count, n)
	var lengths, moves []string
	for _, length := range []int64{below, above} {
		// The policy decides how the elements are cut into shards, so try each length.
		if length > 0 && length != count && s.growsBy(axis, length, policy) {
			lengths = append(lengths, strconv.FormatInt(length, 10))
		}
	}
	if len(lengths) > 0 {
		moves = append(moves, "append "+strings.Join(lengths, " or "))
	}
	if s.growsBy(axis, count, policy.RoundedUp(n)) {
		moves = append(moves, "have the last shard rounded up ("+remedy.AppendRoundUp+")")
	}
	if len(moves) == 0 {
		return fmt.Errorf("%w: %w", fault.ErrInvalidArgument, err)
	}
	err = fault.Argument("%s not end with a whole inner chunk of %d: %s", quantity.Count(count, "more elements do"), n, strings.Join(moves, ", or "))
	return &grid.AxisError{Axis: axis, Err: err}
}

// growsBy reports whether an axis can grow by a length under a policy so that every shard
// consists of whole inner chunks.
func (s *Array) growsBy(axis int, length int64, policy grid.Growth) bool {
	shape := s.Grid.Shape()
	shape[axis] += length
	policies := make([]grid.Growth, len(shape))
	policies[axis] = policy
	g, err := s.Grid.Grown(shape, policies...)
	return err == nil && s.Engine.Chain.CheckGrid(g) == nil
}

// errUnguarded is the error of trimming shards whose index has no checksum. A reader
// could not distinguish a shard in its old shape from one in its new shape.
var errUnguarded = fmt.Errorf("%w: the index of these shards has no checksum, so readers could decode an old shard in its new, shorter shape; keep the edges ("+remedy.KeepEdges+")", fault.ErrUnsupported)

// trimmed returns the chunks that both s and next have, but next with a shorter edge:
// those at the end of an axis whose last edge is cut at the extent. The boxes do not
// overlap.
func (s *Array) trimmed(next *Array) []grid.Box {
	var boxes []grid.Box
	if slices.Contains(s.Grid.Shape(), 0) {
		return nil // there are no chunks
	}
	rest := grid.BoxOf(next.Grid.Chunks())
	for i := range rest {
		a := next.Grid.Axis(i)
		is, ok := a.Cell(a.Chunks() - 1)
		was, had := s.Grid.Axis(i).Cell(is.Index)
		if !ok || !had || was.Encoded == is.Encoded {
			continue
		}
		cells := append(grid.Box(nil), rest...)
		cells[i].Start = is.Index
		boxes = append(boxes, cells)
		// A chunk at the end of two axes belongs to the box of the first one.
		rest[i].Stop = is.Index
	}
	return boxes
}

// trim adds to a change the steps for the chunks of the boxes, whose shape changes but
// not their keys. They are set aside in the new shape before the document is published,
// and moved to their keys after that. A reader whose chunk does not decode looks for
// one that is set aside.
func (s *Array) trim(next *Array, boxes []grid.Box, change *publish.Change) {
	valid := s.Grid.Shape()
	for i, n := range next.Grid.Shape() {
		valid[i] = min(valid[i], n)
	}
	stage, reclaim := change.Stage, change.Reclaim
	change.Stage = func(ctx context.Context, b store.Batch) error {
		// First the change itself: it may store chunks that are then set aside.
		if stage != nil {
			if err := stage(ctx, b); err != nil {
				return err
			}
		}
		for _, cells := range boxes {
			for i, old := range grid.BoxOf(s.Grid.Chunks()) {
				cells[i] = cells[i].Intersect(old) // new chunks have the new shape already
			}
			if err := s.Engine.PutAside(ctx, next.Engine, cells, valid, b); err != nil {
				return err
			}
		}
		return nil
	}
	change.Reclaim = func(ctx context.Context, b store.Batch) error {
		if err := next.FetchAside(ctx, b); err != nil || reclaim == nil {
			return err
		}
		return reclaim(ctx, b)
	}
	change.Tidy = next.TidyAside
}

// FetchAside moves the chunks that are set aside to their keys, several at a time. Until
// then other programs cannot decode them, so one failure does not stop the rest.
func (s *Array) FetchAside(ctx context.Context, b store.Batch) error {
	return stillAside(s.Engine.FetchAside(ctx, b))
}

// stillAside adds to an error a note about the chunks that could not be moved.
func stillAside(left int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (chunks that were cut or replaced, %d or more, are still set aside: Varve reads them, other programs cannot decode them "+
		"until the array is opened for writing again, or with "+remedy.Finish+", which moves them)", err, left)
}

// TidyAside deletes the chunks that are set aside.
func (s *Array) TidyAside(ctx context.Context, b store.Batch) error {
	for c, err := range s.Engine.Aside(ctx) {
		if err == nil {
			_, err = b.Write(ctx, store.Delete(c.Key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
