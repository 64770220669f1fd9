// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodelock"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// AppendOptions are the options of appends. A nil *AppendOptions is the zero value.
type AppendOptions struct {
	// Grow chooses the new edges of a listed axis, once the edges that it has are filled.
	// The zero value is [grid.AppendOne]: one edge for each append.
	Grow grid.Growth
	// RoundUp lengthens the last new edge of a sharded array to whole inner chunks. The
	// next append fills the part beyond the extent. Without it, an append fails if inner
	// chunks do not divide the new shard.
	RoundUp bool
	// Expect is the shape that the array must have before the append, or nil for any. If
	// it has another one, the error wraps [ErrConflict]. This makes it safe to repeat an
	// append with an unknown outcome.
	Expect []int64
	// Planes is the number of indices that the axis gains. 0 derives it from the length
	// of src. It is needed only if another axis has the extent 0, as in the shape (3, 0):
	// then planes have no elements, and their number does not follow from the length of
	// src.
	Planes int64
}

func (o *AppendOptions) orZero() AppendOptions {
	if o == nil {
		return AppendOptions{}
	}
	return *o
}

// Append adds the elements of src at the end of an axis. src is in C order and has the
// shape of the array along all other axes; axis -1 is the last one. A boundary chunk is
// filled first, which reads it. All other chunks are only written.
//
// Readers see the array without the new elements, or with all of them. Several processes
// may append to one array if the store has locks or conditional writes: each appends
// after the others. In other stores the error wraps [ErrUnsafeConcurrentWrite], unless
// [Options.SingleWriter] is set. An append that repeatedly loses to other writers fails
// with [ErrConflict]. If the policy does not fit the axis, the error wraps
// [ErrInvalidArgument].
func Append[T dtype.Element](ctx context.Context, a *Array, axis int, src []T, opt *AppendOptions) error {
	e, err := elementsOf(a, src)
	if err == nil {
		err = a.append(ctx, axis, snapshot.Gain{Buffer: e}, opt.orZero())
	}
	return a.fail("append", err)
}

// AppendBytes is [Append] for any data type of fixed size. src has the elements in host
// byte order.
func (a *Array) AppendBytes(ctx context.Context, axis int, src []byte, opt *AppendOptions) error {
	return a.fail("append", a.append(ctx, axis, snapshot.Gain{Buffer: element.Buffer{Type: a.Type(), Data: src}}, opt.orZero()))
}

func (a *Array) append(ctx context.Context, axis int, more snapshot.Gain, opt AppendOptions) error {
	axis, err := a.axis(axis)
	if err != nil {
		return err
	}
	return a.core.Change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) { return appended(s, axis, more, opt) })
}

// axis returns the number of an axis. Negative numbers count from the last axis, -1.
func (a *Array) axis(axis int) (int, error) {
	i := axis
	if i < 0 {
		i += a.Rank()
	}
	if i < 0 || i >= a.Rank() {
		return 0, fault.Argument("there is no axis %d: the array has rank %d, and axes are numbered from 0", axis, a.Rank())
	}
	return i, nil
}

// appended plans an append to s. It returns nil if there is nothing to append.
func appended(s *snapshot.Array, axis int, more snapshot.Gain, opt AppendOptions) (*snapshot.Reshape, error) {
	// A change that was made before is told from data that do not fit.
	if err := s.Expect(opt.Expect); err != nil {
		return nil, err
	}
	if err := s.CheckType(more.Buffer); err != nil {
		return nil, err
	}
	shape := s.Grid.Shape()
	count, err := more.Along(s, axis, opt.Planes)
	if err != nil || count == 0 {
		return nil, err
	}
	from := shape[axis]
	// Both terms are at least 0, so an overflow makes the sum negative.
	if shape[axis] += count; shape[axis] < 0 {
		return nil, &grid.AxisError{Axis: axis, Err: fmt.Errorf("%w: %d more than %d", ErrOverflow, count, from)}
	}
	policies := make([]grid.Growth, len(shape))
	// The chunks of segments stay as they are, after those elements that fill edges which
	// the axis has already.
	if cut := s.Grid.Axis(axis); more.Segments != nil && opt.Grow.IsAppendOne() && !cut.IsRegular() {
		if edges := more.Edges(axis, cut.Covered()-cut.Extent()); edges != nil {
			opt.Grow = grid.Preplanned(edges...)
		}
	}
	policies[axis] = s.Rounded(axis, opt.Grow, opt.RoundUp)
	g, err := s.Grid.Grown(shape, policies...)
	// A policy that needs listed edges cannot work in format 2. Say what to do instead.
	if err != nil && s.Doc.Format() == 2 && !opt.Grow.KeepsRegular() {
		err = fmt.Errorf("%w; format 2 has regular chunks only: convert the array to format 3 first (varve convert --to 3)", err)
	}
	if err == nil {
		// Check this while the requested count is known, so that the message can suggest
		// counts that fit.
		err = s.Fits(g, axis, count, opt.Grow)
	}
	if err != nil {
		return nil, err
	}
	if more.IsEmpty() { // another axis has the extent 0, so there are no chunks to write
		return &snapshot.Reshape{Grid: g}, nil
	}
	region := grid.BoxOf(shape)
	region[axis].Start = from
	return &snapshot.Reshape{Grid: g, Region: region, Gain: more}, nil
}

// Addition is an append to one array of a group, as a part of [Group.Append].
type Addition struct {
	Path string // of the array, relative to the group
	Axis int
	Data []byte // elements in C order and the byte order of the host, as for [Array.AppendBytes]
	Type dtype.Type
	// From is a source of the elements, in place of Data, as in [Array.AppendFrom].
	From *Source
	// Segments are arrays whose elements are appended one after the other, in place of
	// Data, as in [Array.Stitch].
	Segments []*Array
	// Options are the options of the append. Nil is the zero AppendOptions.
	Options *AppendOptions
	// Alone permits the array to differ in length afterwards from the other arrays of its
	// group that have the dimension.
	Alone bool

	values func(*Array) (element.Buffer, error) // in place of Data; converts Go values to elements of the array
}

// Add returns the addition of src to the array at a path below the group.
func Add[T dtype.Element](path string, axis int, src []T, opt *AppendOptions) Addition {
	return Addition{Path: path, Axis: axis, Options: opt, values: func(a *Array) (element.Buffer, error) { return elementsOf(a, src) }}
}

// Append appends to several arrays in one transaction, such as all variables along a
// dimension and its coordinate. After a crash at any time, either all arrays have grown
// or none has, once the next writer has completed or undone the transaction. Each array
// grows as with [Append]. Readers that use the consolidated metadata of the group see all
// arrays grow at once; other readers may see one array grow before another.
//
// Arrays directly below one group that share a dimension name must agree along it
// afterwards, including arrays that do not grow ([Group.CheckDimensions]). Otherwise the
// error wraps [ErrInvalidArgument], unless Alone is set.
//
// If an Addition has Data but no Type, Data has the type of the array. Without additions
// Append does nothing.
func (g *Group) Append(ctx context.Context, additions ...Addition) error {
	if err := g.writable(); err != nil || len(additions) == 0 {
		return g.fail("append", err)
	}
	arrays, err := g.openEach(ctx, additions)
	if err != nil {
		return err
	}
	if err := checkDistinct(arrays); err != nil {
		return err
	}
	return g.fail("append", g.append(ctx, arrays, additions))
}

// openEach opens the arrays of additions, several at once in a store without locks, where
// each takes round trips.
func (g *Group) openEach(ctx context.Context, additions []Addition) ([]*Array, error) {
	arrays := make([]*Array, len(additions))
	group, ctx := parallel.New(ctx)
	group.SetLimit(mostOpened)
	if _, locks := store.As[store.Locker](g.hierarchy.store); locks {
		group.SetLimit(1)
	}
	for i, add := range additions {
		group.Go(func() (err error) {
			// Opening for writing completes a transaction that a crashed writer left.
			arrays[i], err = g.At(add.Path).OpenArray(ctx, nil)
			return err
		})
	}
	return arrays, group.Wait(nil)
}

// mostOpened is the number of arrays that one call opens at once.
const mostOpened = 16

// checkDistinct returns an error if two additions name the same array, perhaps through a
// link. The call would wait forever for a lock that it holds itself.
func checkDistinct(arrays []*Array) error {
	known := make([]store.Identity, len(arrays))
	first := map[store.Path]int{}
	for i, a := range arrays {
		id, err := store.DirectoriesOf(a.hierarchy.store).Identify(a.path)
		if err != nil {
			return a.fail("append", err)
		}
		known[i] = id
		at, twice := first[a.path]
		if !twice && !id.IsZero() {
			at = slices.IndexFunc(known[:i], id.Same)
			twice = at >= 0
		}
		if twice {
			return a.fail("append", fault.Argument("the array is named twice, the first time as %q", "/"+arrays[at].Path()))
		}
		first[a.path] = i
	}
	return nil
}

// of returns the elements of the addition.
func (d Addition) of(a *Array) (snapshot.Gain, error) {
	switch {
	case d.From != nil && d.values != nil, d.Segments != nil && (d.From != nil || d.values != nil || d.Data != nil):
		return snapshot.Gain{}, snapshot.ErrBothGiven
	case d.Segments != nil:
		return a.segmented(d.Segments), nil
	case d.values != nil:
		e, err := d.values(a)
		return snapshot.Gain{Buffer: e}, err
	case d.Type.IsZero():
		d.Type = a.Type()
	}
	return snapshot.Gain{Buffer: element.Buffer{Type: d.Type, Data: d.Data}, From: (*snapshot.Source)(d.From)}, nil
}

func (g *Group) append(ctx context.Context, arrays []*Array, additions []Addition) error {
	// Lock before the shapes are compared, so that no other call of this process changes
	// them until the transaction ends.
	leave, err := enterAll(ctx, arrays)
	if err != nil {
		return err
	}
	defer leave()
	// Compare shapes before anything else, as Array.Append does.
	for i, add := range additions {
		if err := arrays[i].core.State().Expect(add.Options.orZero().Expect); err != nil {
			return arrays[i].fail("append", err)
		}
	}
	for i, add := range additions {
		if add.Segments == nil {
			continue
		}
		if err := arrays[i].prepareSegments(ctx, add.Segments); err != nil {
			return arrays[i].fail("stitch", err)
		}
	}
	changes, err := checkDimensions(arrays, additions)
	if err == nil {
		var at int
		at, err = array.CheckShared(ctx, cores(arrays), changes)
		err = arrays[at].fail("append", err)
	}
	if err != nil {
		return err
	}
	parts := make([]publish.Participant, len(arrays))
	for i, a := range arrays {
		plan, err := a.addition(ctx, additions[i])
		if err != nil {
			return a.fail("append", err)
		}
		parts[i] = publish.Participant{Node: a.publisher(), Plan: plan}
	}
	defer func() {
		for _, a := range arrays {
			a.core.Flush(ctx)
		}
	}()
	return publish.Retry(ctx, func() error {
		err := publish.UpdateAll(ctx, parts, tree.Refresh(g.options.Limits.metadata()))
		if !errors.Is(err, publish.ErrPending) {
			return err
		}
		// A crashed writer left a transaction. Complete it for every array, then let
		// Retry try again, because ErrPending is a conflict.
		for _, a := range arrays {
			if err := a.core.FinishOthers(ctx); err != nil {
				return err
			}
		}
		return err
	})
}

// cores returns what the arrays are inside.
func cores(arrays []*Array) []*array.Array {
	list := make([]*array.Array, len(arrays))
	for i, a := range arrays {
		list[i] = a.core
	}
	return list
}

// checkDimensions returns how the arrays change. It returns an error if arrays that share
// a dimension agree along it now but would not agree after the additions.
func checkDimensions(arrays []*Array, additions []Addition) ([]dimension.Change, error) {
	type length struct {
		path      string
		old, more int64
	}
	seen := map[string]length{}
	changes := make([]dimension.Change, len(arrays))
	for i, a := range arrays {
		axis, more, err := additions[i].along(a)
		if err != nil {
			return nil, a.fail("append", err)
		}
		changes[i] = a.core.Reshaping(func(shape []int64) []int64 {
			shape[axis] += more
			return shape
		})
		changes[i].Alone = additions[i].Alone
		names, s := a.DimensionNames(), a.core.State()
		if names == nil || names[axis] == "" || additions[i].Alone {
			continue
		}
		// Arrays that disagree already are left to array.CheckShared.
		is, other := length{a.Path(), s.Grid.Axis(axis).Extent(), more}, seen[names[axis]]
		if other.path != "" && other.old == is.old && other.more != is.more {
			err := fault.Argument("%s along %q, %q gets %d: give both the same", quantity.Count(more, "elements"), names[axis], other.path, other.more)
			return nil, a.fail("append", &grid.AxisError{Axis: axis, Err: err})
		}
		seen[names[axis]] = is
	}
	return changes, nil
}

// along returns the axis along which an array grows, and the number of new planes.
func (d Addition) along(a *Array) (axis int, planes int64, err error) {
	if axis, err = a.axis(d.Axis); err != nil {
		return 0, 0, err
	}
	e, err := d.of(a)
	if err != nil {
		return 0, 0, err
	}
	planes, err = e.Along(a.core.State(), axis, d.Options.orZero().Planes)
	return axis, planes, err
}

// addition returns the plan for one array.
func (a *Array) addition(ctx context.Context, add Addition) (func(publish.Document) (*publish.Change, error), error) {
	axis, err := a.axis(add.Axis)
	if err != nil {
		return nil, err
	}
	e, err := add.of(a)
	if err != nil {
		return nil, a.fail("append", err)
	}
	grow := func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return a.core.Grow(old, func(s *snapshot.Array) (*snapshot.Reshape, error) { return appended(s, axis, e, add.Options.orZero()) })
	}
	plan := a.core.Planned(ctx, grow)
	return func(d publish.Document) (*publish.Change, error) {
		c, err := plan(d)
		return c, a.fail("append", err)
	}, nil
}

// enterAll takes the exclusive lock of every array. It locks in the order of paths,
// because two calls with different orders would deadlock.
func enterAll(ctx context.Context, arrays []*Array) (leave func(), err error) {
	sorted := slices.SortedFunc(slices.Values(arrays), func(a, b *Array) int { return strings.Compare(a.Path(), b.Path()) })
	var held []*nodelock.Held
	leave = func() {
		for _, h := range held {
			h.Release()
		}
	}
	for _, a := range sorted {
		h, err := a.lock().Exclude(ctx)
		if err != nil {
			leave()
			return nil, err
		}
		held = append(held, h)
	}
	return leave, nil
}

// Source is a block of elements that is read box by box while it is stored, so that it
// need not fit into memory: a file, another array, or a function that computes elements.
type Source struct {
	// Shape is the shape of the block.
	Shape []int64
	// DimensionNames are the names of its axes, if they are known; "" is an axis without
	// one. An axis that has another name than that of the array is an error, so that no
	// plane (y, t) is stored as one (t, y). Package cf compares coordinates
	// ([varve.dev/zarr/cf.CheckAxes]).
	DimensionNames []string
	// Read fills dst with the elements of a box of the block, in C order and host byte
	// order. It is called for one box at a time, and once for each box. If another writer
	// publishes first, the append starts again and reads all boxes again. It must not
	// change the array that grows, but it may read it. An error ends the operation, and
	// nothing changes.
	Read func(ctx context.Context, box grid.Box, dst []byte) error
}

// SourceAt returns a source that reads elements from r, where they are in C order and
// host byte order from the beginning. An [io.SectionReader] reads from a part of a file.
func SourceAt(r io.ReaderAt, shape ...int64) *Source {
	f := &sourceFile{r, slices.Clone(shape)}
	return &Source{Shape: f.shape, Read: f.read}
}

// AppendFrom is [Append] with the elements of a source. The source must have the shape of
// the array along all other axes. It is read in boxes of whole chunks or shards. This
// takes memory for the chunks that fit into half of [Options.Budget], and at least one,
// in addition to the budget. [AppendOptions.Planes] is not needed.
//
// Data types of variable length are not supported; the error wraps [ErrInvalidArgument].
func (a *Array) AppendFrom(ctx context.Context, axis int, src *Source, opt *AppendOptions) error {
	if src == nil {
		return a.fail("append", fault.Argument("there is no source"))
	}
	return a.fail("append", a.append(ctx, axis, snapshot.Gain{Buffer: element.Buffer{Type: a.Type()}, From: (*snapshot.Source)(src)}, opt.orZero()))
}

// sourceFile is the source of [SourceAt].
type sourceFile struct {
	r     io.ReaderAt
	shape []int64
}

// longestRun bounds one read in bytes, so that cancelling the context takes effect soon.
const longestRun = 8 << 20

// read reads a box in the longest contiguous runs.
func (f *sourceFile) read(ctx context.Context, box grid.Box, dst []byte) error {
	n, _ := box.Len()
	size := int64(len(dst)) / max(1, n)
	outer := slices.Clone(box) // one index for each run
	run := size                // bytes
	steps := make([]int64, len(box))
	for i, step, whole := len(box)-1, size, true; i >= 0; i-- {
		steps[i] = step
		// As long as the inner axes are read completely, the run continues into the next
		// outer axis.
		if whole {
			run *= box[i].Len()
			outer[i].Stop = outer[i].Start + 1
			whole = box[i].Len() == f.shape[i]
		}
		step *= f.shape[i]
	}
	for index := range outer.IndicesInto(make([]int64, len(outer))) {
		at := int64(0)
		for i, k := range index {
			at += k * steps[i]
		}
		for left := run; left > 0; {
			if err := ctx.Err(); err != nil {
				return err
			}
			part := dst[:min(left, longestRun)]
			// ReadAt may return io.EOF together with all bytes, which is not an error
			// here.
			if n, err := f.r.ReadAt(part, at); n < len(part) {
				return short(at+int64(n), err)
			}
			left -= int64(len(part))
			at += int64(len(part))
			dst = dst[len(part):]
		}
	}
	return nil
}

// short returns the error of a read that returned too few bytes.
func short(at int64, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("at byte %d: %w", at, err)
}

// Stitch appends the elements of segments one after the other, in one change: readers see
// the array without them, or with all of them. Segments are arrays that writers have
// filled on their own, each in any store. So writers need not know how long the batches
// of others are, and do not wait for each other ([Array.Reserve] is for lengths that are
// known).
//
// Along a listed axis the chunks of the segments become chunks of the array, unless
// [AppendOptions.Grow] asks for others or the axis has edges that are not filled. A chunk
// is copied as it is stored, by the store if it can, if the array has the same codecs and
// fill value, and the same chunks along all other axes. All other chunks are decoded and
// encoded again. Axes must have the same names as in the array, where both have some.
// Attributes and coordinates are not looked at: units and packing must be the same.
//
// The segments stay where they are. If one changes meanwhile, nothing is published, and
// the error says which. If one does not continue the array, is named twice, or has text
// that would have to be decoded, the error wraps [ErrInvalidArgument].
// [Addition.Segments] stitches several arrays of a group together.
func (a *Array) Stitch(ctx context.Context, axis int, segments []*Array, opt *AppendOptions) error {
	err := a.prepareSegments(ctx, segments)
	if err == nil {
		err = a.append(ctx, axis, a.segmented(segments), opt.orZero())
	}
	return a.fail("stitch", err)
}

// prepareSegments looks for the newest documents of segments. It returns an error if
// there are none, or if one is the array itself or is named twice.
func (a *Array) prepareSegments(ctx context.Context, segments []*Array) error {
	if len(segments) == 0 {
		return fault.Argument("there are no segments")
	}
	places, ids := map[string]bool{}, []store.Identity{}
	for _, segment := range append([]*Array{a}, segments...) {
		s := segment.hierarchy.store
		place := fmt.Sprintf("%p %s", s, segment.path)
		if at := store.TraitsOf(s).Place; at != "" {
			place = at + " " + segment.path.String()
		}
		id, err := store.DirectoriesOf(s).Identify(segment.path)
		if err != nil {
			return err
		}
		if places[place] || !id.IsZero() && slices.ContainsFunc(ids, id.Same) {
			return fault.Argument("the segment %s is named twice, or is the array itself", segment.Location())
		}
		if places[place] = true; !id.IsZero() {
			ids = append(ids, id)
		}
	}
	group, ctx := parallel.New(ctx)
	group.SetLimit(mostOpened)
	for _, segment := range segments {
		group.Go(func() error { return segment.Refresh(ctx) })
	}
	return group.Wait(nil)
}

// segmented returns the elements of segments as those of an append.
func (a *Array) segmented(segments []*Array) snapshot.Gain {
	gain := snapshot.Gain{Buffer: element.Buffer{Type: a.Type()}, Segments: []snapshot.Segment{}}
	for _, segment := range segments {
		s := segment.core.State()
		gain.Segments = append(gain.Segments, snapshot.Segment{
			Array: s, Name: segment.Location().String(), Complete: segment.options.RequireChunks,
			Read: func(ctx context.Context, box grid.Box, dst []byte) error {
				return segment.ReadBytes(ctx, selection.BoxOf(box), dst)
			},
			Fresh: func(ctx context.Context) (*snapshot.Array, error) { return segment.core.LookUnmoved(ctx, s) },
		})
	}
	return gain
}

// ResizeOptions are the options of [Array.Resize]. A nil *ResizeOptions is the zero
// value.
type ResizeOptions struct {
	// Grow chooses the new edges of listed axes that grow: one policy for all axes, or
	// one for each ([grid.Grid.Grown]). The zero value is [grid.AppendOne].
	Grow []grid.Growth
	// RoundUp lengthens the last new edge of every axis to whole inner chunks, as
	// [AppendOptions.RoundUp] does.
	RoundUp bool
	// Shrink decides what happens to listed edges beyond the extent, even of axes whose
	// extent does not change. The zero value is [grid.KeepEdges]. [grid.TrimExact]
	// rewrites boundary chunks; in a store without locks no other process may write to
	// them meanwhile.
	Shrink grid.Shrink
	// KeepStale keeps what boundary chunks hold beyond the extent, as zarr-python does.
	// The old values reappear if the array grows again with KeepStale. Chunks that lie
	// completely beyond the extent are deleted in any case.
	KeepStale bool
	// Expect is the shape that the array must have before the change, or nil for any. If
	// it has another one, the error wraps [ErrConflict].
	Expect []int64
}

// Resize changes the extents of the array. Elements inside both shapes stay. New elements
// have the fill value, even where the array had other values before it shrank. Chunks
// that are no longer part of the array are deleted after the new document is published.
// The cost depends on what is added and removed, not on the size of the array.
//
// Errors are those of [Append]. In a store without locks, Resize stores the new chunks,
// although they have only fill values; if these are more than 65,536, the error wraps
// [ErrUnsafeConcurrentWrite].
func (a *Array) Resize(ctx context.Context, shape []int64, opt *ResizeOptions) error {
	var o ResizeOptions
	if opt != nil {
		o = *opt
	}
	// The shape counts from the elements that the array had.
	numbering := a.core.State().Numbering
	return a.fail("resize", a.core.Change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) {
		if s.Numbering != numbering {
			return nil, array.ErrMoved
		}
		return resized(s, shape, o)
	}))
}

// resized plans a change of the extents of s. It returns nil if nothing changes.
func resized(s *snapshot.Array, shape []int64, opt ResizeOptions) (*snapshot.Reshape, error) {
	if err := s.Expect(opt.Expect); err != nil {
		return nil, err
	}
	was := s.Grid.Shape()
	if len(shape) != len(was) {
		return nil, fault.Argument("the new shape %v has %s, the array has %d", shape, quantity.Count(len(shape), "axes"), len(was))
	}
	// Any other policy may change edges beyond the extent even if the shape stays.
	if slices.Equal(shape, was) && opt.Shrink == grid.KeepEdges {
		return nil, nil
	}
	g, err := rechunked(s, shape, opt)
	if err != nil {
		return nil, err
	}
	if err := s.Engine.Chain.CheckGrid(g); err != nil {
		return nil, refused(s, err, shape, opt)
	}
	if slices.Equal(shape, was) && snapshot.SameEdges(g, s.Grid) {
		return nil, nil
	}
	return &snapshot.Reshape{Grid: g, KeepStale: opt.KeepStale}, nil
}

// rechunked returns the grid of s for another shape.
func rechunked(s *snapshot.Array, shape []int64, opt ResizeOptions) (*grid.Grid, error) {
	// Shrunk leaves axes that grow as they are, for Grown.
	smaller, err := s.Grid.Shrunk(shape, opt.Shrink)
	if err != nil {
		return nil, err
	}
	return smaller.Grown(shape, policies(s, opt)...)
}

// refused adds advice to the error of a grid whose new shards do not consist of whole
// inner chunks.
func refused(s *snapshot.Array, err error, shape []int64, opt ResizeOptions) error {
	would := func(opt ResizeOptions) bool {
		g, err := rechunked(s, shape, opt)
		return err == nil && s.Engine.Chain.CheckGrid(g) == nil
	}
	// Suggest an option only if it would work for this shape.
	rounded, whole := opt, opt
	rounded.RoundUp, whole.Shrink = true, grid.TrimEdges
	switch {
	case would(rounded):
		return fmt.Errorf("%w: %w; or have the last shard rounded up ("+remedy.ResizeRoundUp+")", ErrInvalidArgument, err)
	case would(whole):
		return fmt.Errorf("%w: %w; or leave the last shard as long as it is ("+remedy.TrimEdges+")", ErrInvalidArgument, err)
	}
	return fmt.Errorf("%w: %w", ErrInvalidArgument, err)
}

// policies returns the growth policy of each axis, rounded up if opt asks for it.
func policies(s *snapshot.Array, opt ResizeOptions) []grid.Growth {
	// With a wrong number of policies, pass them on as they are. Grown reports the error.
	if !opt.RoundUp || len(opt.Grow) > 1 && len(opt.Grow) != s.Grid.Rank() {
		return opt.Grow
	}
	policies := make([]grid.Growth, s.Grid.Rank())
	for i := range policies {
		switch len(opt.Grow) {
		case 0:
		case 1:
			policies[i] = opt.Grow[0]
		default:
			policies[i] = opt.Grow[i]
		}
		policies[i] = s.Rounded(i, policies[i], true)
	}
	return policies
}

// RectilinearOptions are the options of [Array.MakeRectilinear]. A nil
// *RectilinearOptions is the zero value.
type RectilinearOptions struct {
	// Axes are the numbers of the axes, -1 for the last one. Nil means all.
	Axes []int
	// Trim cuts the last edge of every axis at the extent and rewrites the boundary
	// chunks, so that appends never write to them again. Without it, the last edge
	// reaches beyond the extent until appends have filled it.
	//
	// In a store without locks no other process may write to these chunks meanwhile: its
	// elements could be lost. If a chunk decodes in both shapes, such as packbits without
	// padding_encoding with equal sizes, the error wraps [ErrUnsupported] and nothing
	// changes.
	Trim bool
}

// MakeRectilinear turns regular axes into listed ones, so that the array can grow by any
// length without rewriting its last chunk. Only the document changes, unless opt.Trim is
// set. Axes that are listed already stay as they are, apart from what Trim does. The
// command calls it unlock.
func (a *Array) MakeRectilinear(ctx context.Context, opt *RectilinearOptions) error {
	var o RectilinearOptions
	if opt != nil {
		o = *opt
	}
	axes := make([]int, len(o.Axes))
	for i, axis := range o.Axes {
		var err error
		if axes[i], err = a.axis(axis); err != nil {
			return a.fail("unlock", err)
		}
	}
	return a.fail("unlock", a.core.Change(ctx, func(s *snapshot.Array) (*snapshot.Reshape, error) {
		if s.Grid.Rank() == 0 {
			return nil, nil // no axes
		}
		g, err := s.Grid.Unlocked(axes...)
		if err == nil && o.Trim {
			// The shape stays, so this only cuts the last edges at the extent.
			if g, err = g.Shrunk(g.Shape(), grid.TrimExact); err == nil {
				err = trims(s, g)
			}
		}
		if err != nil || snapshot.SameEdges(g, s.Grid) {
			return nil, err
		}
		return &snapshot.Reshape{Grid: g}, nil
	}))
}

// trims returns an error if a boundary shard would not consist of whole inner chunks.
func trims(s *snapshot.Array, g *grid.Grid) error {
	if err := s.Engine.Chain.CheckGrid(g); err != nil {
		return fmt.Errorf("%w: %w; without "+remedy.Trim+" the last shards stay as long as they are", ErrInvalidArgument, err)
	}
	return nil
}
