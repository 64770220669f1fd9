// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Segment is an array whose elements another array takes at its end, chunk by chunk.
type Segment struct {
	*Array
	// Read reads a box of the segment, of elements of fixed size.
	Read func(ctx context.Context, box grid.Box, dst []byte) error
}

// segmentsAlong checks that segments continue the array along an axis, and returns the
// number of their planes.
func (s *Array) segmentsAlong(axis int, segments []Segment) (planes int64, err error) {
	for i, seg := range segments {
		shape, is := s.Grid.Shape(), seg.Grid.Shape()
		if seg.Type != s.Type {
			return 0, fault.Argument("segment %d has elements of %s, not %s", i, seg.Type, s.Type)
		}
		if len(is) != len(shape) {
			return 0, fault.Argument("segment %d has the shape %v, which does not continue shape %v along axis %d", i, is, shape, axis)
		}
		if shape[axis] = is[axis]; !slices.Equal(shape, is) {
			return 0, fault.Argument("segment %d has the shape %v, which does not continue shape %v along axis %d", i, is, s.Grid.Shape(), axis)
		}
		if planes += is[axis]; planes < 0 {
			return 0, fmt.Errorf("%w: the lengths of the segments", grid.ErrOverflow)
		}
	}
	return planes, nil
}

// Edges returns the lengths of the chunks of the segments along an axis.
func (g Gain) Edges(axis int) (runs []grid.Run) {
	for _, seg := range g.Segments {
		for run := range seg.Grid.Axis(axis).Logical() {
			runs = append(runs, run)
		}
	}
	return runs
}

// sameChunks reports whether stored chunks of a segment can be chunks of s: both have the
// same codecs and fill value, and the same chunks along all other axes.
func (s *Array) sameChunks(seg Segment, axis int) bool {
	for i := range s.Grid.Rank() {
		a, b := s.Grid.Axis(i), seg.Grid.Axis(i)
		same := slices.Equal(slices.Collect(a.Logical()), slices.Collect(b.Logical())) &&
			slices.Equal(slices.Collect(a.Encoded()), slices.Collect(b.Encoded()))
		if i != axis && !same {
			return false
		}
	}
	return bytes.Equal(s.Fill, seg.Fill) && slices.EqualFunc(s.Doc.Codecs, seg.Doc.Codecs, metadata.Extension.Equal)
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
	start := region[axis].Start
	for _, seg := range segments {
		t.same, t.starts = append(t.same, s.sameChunks(seg, axis)), append(t.starts, start)
		start += seg.Grid.Axis(axis).Extent()
	}
	cells, err := s.Grid.Touched(region)
	if err != nil {
		return err
	}
	for k := cells[axis].Start; k < cells[axis].Stop; k++ {
		cell, _ := s.Grid.Axis(axis).Cell(k)
		segment, at := t.source(cell)
		if segment < 0 {
			// Neighbouring layers that have to be decoded are written together.
			end := k + 1
			for ; end < cells[axis].Stop; end++ {
				next, _ := s.Grid.Axis(axis).Cell(end)
				if found, _ := t.source(next); found >= 0 {
					break
				}
				cell.Logical = next.Start + next.Logical - cell.Start
			}
			k = end - 1
			err = t.decode(ctx, grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical})
		} else {
			layer := slices.Clone(cells)
			layer[axis] = grid.Interval{Start: k, Stop: k + 1}
			err = t.copyLayer(ctx, layer, segment, at)
		}
		if err != nil {
			return err
		}
		t.how.FirstAlone = false
	}
	return ctx.Err()
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
	if t.Type.Variable() {
		return fault.Argument("elements %d to %d along axis %d would have to be decoded, because chunks or codecs differ, "+
			"but elements of %s have variable length: create the segments with the chunks and codecs of the array", in.Start, in.Stop, t.axis, t.Type)
	}
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

// copyLayer copies the chunks of a segment with one index along the axis.
func (t *stitcher) copyLayer(ctx context.Context, cells grid.Box, segment int, at int64) error {
	group, within := parallel.New(ctx)
	group.SetLimit(copiedAtOnce)
	for index := range cells.Indices() {
		index = slices.Clone(index)
		if t.how.FirstAlone {
			// The first chunk decides between concurrent appends; see
			// [engine.Array.Write].
			t.how.FirstAlone = false
			if err := t.copyChunk(ctx, index, segment, at); err != nil {
				return errors.Join(err, group.Wait(nil))
			}
			continue
		}
		if within.Err() != nil {
			break
		}
		group.Go(func() error { return t.copyChunk(within, index, segment, at) })
	}
	return group.Wait(nil)
}

// copyChunk copies one chunk of a segment.
func (t *stitcher) copyChunk(ctx context.Context, index []int64, segment int, at int64) error {
	from := slices.Clone(index)
	from[t.axis] = at
	seg := t.segments[segment].Engine
	key, source := t.Engine.Key(index), seg.Key(from)
	err := t.copyValue(ctx, key, seg.Store, source)
	if errors.Is(err, fs.ErrNotExist) {
		return t.fillChunk(ctx, index, key)
	}
	if err != nil {
		return &engine.ChunkError{Key: key.String(), Index: index, Err: err}
	}
	return nil
}

// copyValue copies a value, within the store if it can.
func (t *stitcher) copyValue(ctx context.Context, key store.Key, from store.Store, source store.Key) error {
	_, err := store.BatchCopy(ctx, t.how.Batch, key, from, source)
	if !errors.Is(err, store.ErrUnsupported) {
		return err
	}
	value, _, err := from.Get(ctx, source, store.Request{Limit: smallChunk}, nil)
	if errors.Is(err, store.ErrTooLarge) {
		t.large.Lock()
		defer t.large.Unlock()
		value, _, err = from.Get(ctx, source, store.Request{}, nil)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return &sourceError{fmt.Errorf("read %s of the segment: %w", source, err)}
	}
	return t.how.Batch.Put(ctx, key, value)
}

// fillChunk makes a chunk that the segment does not store read as the fill value. A value
// that a crashed writer has left there must not become visible.
func (t *stitcher) fillChunk(ctx context.Context, index []int64, key store.Key) error {
	if publish.Fenced(t.how.Batch) {
		return t.Engine.Claim(ctx, CellOf(index), t.how) // every chunk is put
	}
	return t.how.Batch.Delete(ctx, key)
}
