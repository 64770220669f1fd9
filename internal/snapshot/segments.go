// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// Segment is an array whose elements another array takes at its end, chunk by chunk.
type Segment struct {
	*Array
	Name string // for messages
	// Read reads a box of the segment, of elements of fixed size.
	Read func(ctx context.Context, box grid.Box, dst []byte) error
	// Fresh returns the newest state of the segment.
	Fresh func(ctx context.Context) (*Array, error)
	// Complete means that a missing chunk is an error.
	Complete bool
}

// fail returns an error of the segment.
func (s Segment) fail(err error) error {
	return &sourceError{fmt.Errorf("segment %s: %w", s.Name, err)}
}

// segmentsAlong checks that segments continue the array along an axis, and returns the
// number of their planes.
func (s *Array) segmentsAlong(axis int, segments []Segment) (planes int64, err error) {
	for _, seg := range segments {
		shape, is := s.Grid.Shape(), seg.Grid.Shape()
		if seg.Type != s.Type {
			return 0, fault.Argument("segment %s has elements of %s, not %s", seg.Name, seg.Type, s.Type)
		}
		if len(is) == len(shape) {
			shape[axis] = is[axis]
		}
		if !slices.Equal(shape, is) {
			return 0, fault.Argument("segment %s has the shape %v, which does not continue shape %v along axis %d", seg.Name, is, s.Grid.Shape(), axis)
		}
		if err := s.checkNames("segment "+seg.Name, seg.DimensionNames()); err != nil {
			return 0, err
		}
		if planes += is[axis]; planes < 0 {
			return 0, fmt.Errorf("%w: the lengths of the segments", grid.ErrOverflow)
		}
	}
	shape := s.Grid.Shape()
	shape[axis] = planes
	if _, ok := checked.Product(append(shape, int64(s.Engine.Size))...); !ok {
		return 0, fmt.Errorf("%w: the elements of the segments", grid.ErrOverflow)
	}
	return planes, nil
}

// Edges returns the lengths of the chunks of the segments along an axis, after the first
// elements, which fill a chunk that the array has.
func (g Gain) Edges(axis int, first int64) (runs []grid.Run) {
	for _, seg := range g.Segments {
		for run := range seg.Grid.Axis(axis).Logical() {
			skipped := min(run.Count, first/run.Length)
			first -= skipped * run.Length
			if run.Count -= skipped; run.Count == 0 {
				continue
			}
			if first > 0 {
				runs = append(runs, grid.Run{Length: run.Length - first, Count: 1})
				first = 0
				run.Count--
			}
			if run.Count > 0 {
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// sameChunks reports whether stored chunks of a segment can be chunks of s: both have the
// same codecs and fill value, and the same chunks along all other axes.
func (s *Array) sameChunks(seg Segment, axis int) bool {
	for i := range s.Grid.Rank() {
		a, b := s.Grid.Axis(i), seg.Grid.Axis(i)
		if i == axis {
			continue
		}
		if !slices.Equal(slices.Collect(a.Logical()), slices.Collect(b.Logical())) || !slices.Equal(slices.Collect(a.Encoded()), slices.Collect(b.Encoded())) {
			return false
		}
	}
	return likeness.SameElements(s.Doc, seg.Doc)
}

// stitcher stores the chunks of segments as chunks of an array.
type stitcher struct {
	*Array
	segments []Segment
	same     []bool  // the stored chunks of the segment can be chunks of the array
	starts   []int64 // of the segments along the axis of the array
	axis     int
	region   grid.Box // of the new elements
	how      engine.Writing
	large    sync.Mutex // held while a long value is in memory
}

// writeSegments stores the elements of segments in a region of new elements. Chunks that
// become chunks of the array as they are stored are copied. Others are decoded.
func (s *Array) writeSegments(ctx context.Context, segments []Segment, axis int, region grid.Box, how engine.Writing) error {
	t := &stitcher{Array: s, segments: segments, axis: axis, region: region, how: how}
	if err := t.prepare(ctx); err != nil {
		return err
	}
	cells, err := s.Grid.Touched(region)
	if err == nil {
		err = t.copyable(cells[axis])
	}
	if err == nil {
		err = t.write(ctx, cells)
	}
	if err == nil {
		err = t.unchanged(ctx)
	}
	return err
}

// prepare finds the places of the segments, and which ones have chunks that can be
// copied.
func (t *stitcher) prepare(ctx context.Context) error {
	start := t.region[t.axis].Start
	for _, seg := range t.segments {
		t.starts = append(t.starts, start)
		start += seg.Grid.Axis(t.axis).Extent()
	}
	t.same = make([]bool, len(t.segments))
	return t.each(ctx, func(ctx context.Context, i int) error {
		// The key of a chunk that is set aside holds another one.
		aside, err := t.segments[i].SetAside(ctx)
		t.same[i] = !aside && t.sameChunks(t.segments[i], t.axis)
		return err
	})
}

// each calls do for every segment, several at once.
func (t *stitcher) each(ctx context.Context, do func(ctx context.Context, i int) error) error {
	group, ctx := t.newGroup(ctx)
	for i, seg := range t.segments {
		group.Go(func() error {
			if err := do(ctx, i); err != nil {
				return seg.fail(err)
			}
			return nil
		})
	}
	return group.Wait(nil)
}

// copyable returns an error if chunks have to be decoded and cannot be, before anything
// is stored.
func (t *stitcher) copyable(cells grid.Interval) error {
	if !t.Type.Variable() {
		return nil
	}
	for k := cells.Start; k < cells.Stop; k++ {
		cell, _ := t.Grid.Axis(t.axis).Cell(k)
		if segment, _ := t.source(cell); segment < 0 {
			return fault.Argument("chunk %d along axis %d would have to be decoded, because chunks, codecs or fill values differ, "+
				"but elements of %s have variable length: create the segments with the chunks and codecs of the array", k, t.axis, t.Type)
		}
	}
	return nil
}

// unchanged returns an error if a segment has changed since the stitch began: elements
// that its writer has appended would be missing, and keys may hold other chunks.
func (t *stitcher) unchanged(ctx context.Context) error {
	return t.each(ctx, func(ctx context.Context, i int) error {
		now, err := t.segments[i].Fresh(ctx)
		if err == nil && now != t.segments[i].Array {
			err = errors.New("it changed while it was stitched; stitch again when its writer is done")
		}
		return err
	})
}

// write stores the chunks, layer by layer along the axis.
func (t *stitcher) write(ctx context.Context, cells grid.Box) error {
	group, within := t.newGroup(ctx)
	for k := cells[t.axis].Start; k < cells[t.axis].Stop && within.Err() == nil; k++ {
		cell, _ := t.Grid.Axis(t.axis).Cell(k)
		if segment, at := t.source(cell); segment >= 0 {
			layer := slices.Clone(cells)
			layer[t.axis] = grid.Interval{Start: k, Stop: k + 1}
			if err := t.copyLayer(within, group, layer, segment, at); err != nil {
				return group.Wait(err)
			}
			continue
		}
		// Neighbouring layers that have to be decoded are written together.
		for ; k+1 < cells[t.axis].Stop; k++ {
			next, _ := t.Grid.Axis(t.axis).Cell(k + 1)
			if segment, _ := t.source(next); segment >= 0 {
				break
			}
			cell.Logical = next.Start + next.Logical - cell.Start
		}
		err := group.Wait(nil)
		if err == nil {
			err = t.decode(ctx, grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical})
		}
		if err != nil {
			return err
		}
		t.how.FirstAlone = false
		group, within = t.newGroup(ctx)
	}
	return group.Wait(nil)
}

func (t *stitcher) newGroup(ctx context.Context) (*parallel.Group, context.Context) {
	group, within := parallel.New(ctx)
	group.SetLimit(copiedAtOnce)
	return group, within
}

// source returns the segment that has a chunk with the elements of a cell along the axis,
// stored in the encoded shape of the cell, and the index of that chunk. The segment is -1
// if there is none.
func (t *stitcher) source(cell grid.Cell) (segment int, at int64) {
	// The last segment that begins there or before; those before it may be empty.
	next := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > cell.Start })
	i := next - 1
	if i < 0 || !t.same[i] {
		return -1, 0
	}
	axis := t.segments[i].Grid.Axis(t.axis)
	k, within, ok := axis.Locate(cell.Start - t.starts[i])
	is, _ := axis.Cell(k)
	if !ok || within != 0 || is.Logical != cell.Logical || is.Encoded != cell.Encoded {
		return -1, 0
	}
	return i, k
}

// decode writes the elements in an interval of the axis by reading the segments.
func (t *stitcher) decode(ctx context.Context, in grid.Interval) error {
	region := slices.Clone(t.region)
	region[t.axis] = grid.Interval{Start: max(in.Start, region[t.axis].Start), Stop: in.Stop}
	offset := region[t.axis].Start - t.region[t.axis].Start
	src := &Source{Shape: region.Shape(), Read: func(ctx context.Context, box grid.Box, dst []byte) error {
		box[t.axis].Start += offset
		box[t.axis].Stop += offset
		return t.read(ctx, box, dst)
	}}
	return t.writeFrom(ctx, src, region, t.how)
}

// read reads a box of the new region, whose parts are in one or more segments.
func (t *stitcher) read(ctx context.Context, box grid.Box, dst []byte) error {
	whole := box.Shape()
	start := int64(0)
	for _, seg := range t.segments {
		n := seg.Grid.Axis(t.axis).Extent()
		part := slices.Clone(box)
		part[t.axis] = grid.Interval{Start: max(box[t.axis].Start, start), Stop: min(box[t.axis].Stop, start+n)}
		if part[t.axis].Start < part[t.axis].Stop {
			at := part[t.axis].Start - box[t.axis].Start
			part[t.axis].Start -= start
			part[t.axis].Stop -= start
			if err := t.readPart(ctx, seg, part, dst, whole, at); err != nil {
				return err
			}
		}
		start += n
	}
	return nil
}

// readPart reads a box of one segment to its place, from at on along the axis, in a block
// of a shape.
func (t *stitcher) readPart(ctx context.Context, seg Segment, box grid.Box, dst []byte, whole []int64, at int64) error {
	n, _ := box.Len() // cannot overflow: it is a part of dst
	if box[t.axis].Len() == whole[t.axis] {
		return seg.Read(ctx, box, dst)
	}
	part := make([]byte, n*int64(t.Engine.Size))
	if err := seg.Read(ctx, box, part); err != nil {
		return err
	}
	inner := int64(t.Engine.Size)
	for _, length := range whole[t.axis+1:] {
		inner *= length
	}
	run := inner * box[t.axis].Len()
	for outer := int64(0); len(part) > 0; outer++ {
		to := (outer*whole[t.axis] + at) * inner
		copy(dst[to:to+run], part[:run])
		part = part[run:]
	}
	return nil
}

const (
	// copiedAtOnce bounds the chunks that are copied at the same time.
	copiedAtOnce = 32
	// smallChunk bounds the bytes of a chunk that passes through memory beside others.
	smallChunk = 16 << 20
)

// copyLayer begins to copy the chunks of a segment with one index along the axis.
func (t *stitcher) copyLayer(ctx context.Context, group *parallel.Group, cells grid.Box, segment int, at int64) error {
	for index := range cells.Indices() {
		index = slices.Clone(index)
		if t.how.FirstAlone {
			// The first chunk decides between concurrent appends; see
			// [engine.Array.Write].
			t.how.FirstAlone = false
			if err := t.copyChunk(ctx, index, segment, at); err != nil {
				return err
			}
			continue
		}
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return t.copyChunk(ctx, index, segment, at) })
	}
	return nil
}

// copyChunk copies one chunk of a segment.
func (t *stitcher) copyChunk(ctx context.Context, index []int64, segment int, at int64) error {
	from := slices.Clone(index)
	from[t.axis] = at
	seg := t.segments[segment]
	key := t.Engine.Key(index)
	stored, err := t.copyValue(ctx, key, seg, from)
	switch {
	case stored || err != nil:
	case seg.Complete:
		err = seg.fail(fmt.Errorf("%s: %w", seg.Engine.Key(from), engine.ErrMissing))
	default:
		err = t.fillChunk(ctx, index, key)
	}
	if err != nil {
		return &engine.ChunkError{Key: key.String(), Index: index, Err: err}
	}
	return nil
}

// copyValue copies a chunk, within the store if it can. It reports whether the segment
// stores the chunk. An error of the copy alone does not tell that: it may be about the
// place of the copy.
func (t *stitcher) copyValue(ctx context.Context, key store.Key, seg Segment, from []int64) (stored bool, err error) {
	source := seg.Engine.Key(from)
	_, err = store.BatchCopy(ctx, t.how.Batch, key, seg.Engine.Store, source)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, store.ErrUnsupported):
		return t.throughMemory(ctx, key, seg, from)
	case errors.Is(err, fs.ErrNotExist):
		there, lookErr := store.Exists(ctx, seg.Engine.Store, source)
		if lookErr == nil && !there {
			return false, nil
		}
	}
	return false, seg.fail(err)
}

// throughMemory is copyValue for a store that cannot copy from that of the segment.
func (t *stitcher) throughMemory(ctx context.Context, key store.Key, seg Segment, from []int64) (stored bool, err error) {
	chunk, _ := seg.Grid.Chunk(from)
	if n, err := seg.Engine.ChunkBytes(chunk.Encoded); err != nil || n > smallChunk {
		t.large.Lock()
		defer t.large.Unlock()
	}
	value, err := seg.Engine.ReadEncoded(ctx, from)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, seg.fail(err)
	}
	return true, t.how.Batch.Put(ctx, key, value)
}

// fillChunk makes a chunk that the segment does not store read as the fill value. A value
// that a crashed writer has left there must not become visible.
func (t *stitcher) fillChunk(ctx context.Context, index []int64, key store.Key) error {
	if publish.Fenced(t.how.Batch) || t.Engine.KeepFill {
		how := t.how
		how.KeepFill = true
		return t.Engine.Claim(ctx, CellOf(index), how) // every chunk is put
	}
	return t.how.Batch.Delete(ctx, key)
}
