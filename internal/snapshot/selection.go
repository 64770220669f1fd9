// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sort"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Selected is a selection that is bound to an array. Type is the data type of the
// selected elements, which differs from that of the array if fields are selected.
type Selected struct {
	*subset.Elements
	Type dtype.Type
	Heap *strided.Heap // an empty heap if elements have variable length, else nil
}

// Accepts returns an error if the values of a caller cannot be elements of a data type.
// Nil accepts every type.
type Accepts func(dtype.Type) error

// Exactly returns an Accepts for one data type.
func Exactly(want dtype.Type) Accepts {
	return func(t dtype.Type) error {
		if t != want {
			return fault.Argument("the elements are %s, not %s", t, want)
		}
		return nil
	}
}

// Resolve binds a selection to the array. It returns the error of takes if the caller
// does not accept the data type of the selected elements.
func (s *Array) Resolve(sel selection.Selection, takes Accepts) (*Selected, error) {
	r, err := s.target().Resolve(sel)
	// If the selection and the type of the values are both wrong, report the type.
	if err != nil && (takes == nil || takes(s.Type) == nil) {
		return nil, err
	}
	typ, e := s.Type, (*subset.Elements)(r)
	if err == nil && r.Fields() != nil {
		var windows []strided.Window
		if typ, windows, err = through(s.Type, r.Fields()); err != nil {
			return nil, err
		}
		e = e.Through(windows)
	}
	if takes != nil {
		if typeErr := takes(typ); typeErr != nil {
			return nil, typeErr
		}
	}
	return &Selected{e, typ, s.Engine.Heap}, err
}

// target returns the description of the array for package selection.
func (s *Array) target() *selection.Target {
	if t := s.selecting.Load(); t != nil {
		return t
	}
	// Concurrent calls may each make one. They are equal, so it does not matter which one
	// stays.
	t := &selection.Target{Shape: s.Grid.Shape(), Names: s.DimensionNames(), Grid: func() (*grid.Grid, error) { return s.Grid, nil }}
	if s.Engine.Chain.Divided() {
		t.Inner = s.Inner
	}
	s.selecting.Store(t)
	return t
}

// through returns the data type that results from selecting fields, one list after the
// other, and the bytes of an element that they select.
func through(t dtype.Type, fields [][]string) (dtype.Type, []strided.Window, error) {
	windows := []strided.Window{{Size: int64(t.Size())}}
	for _, names := range fields {
		next, taken, err := take(t, names)
		if err != nil {
			return t, nil, err
		}
		var all []strided.Window
		for _, w := range taken {
			// Windows of an inner list refer to the packed bytes of the outer one.
			// Translate them to the bytes of the whole element.
			all = appendThrough(all, windows, w)
		}
		t, windows = next, all
	}
	return t, windows, nil
}

// take returns the data type that results from selecting fields of a struct, and their
// bytes.
func take(t dtype.Type, names []string) (dtype.Type, []strided.Window, error) {
	fields := make([]dtype.Field, len(names))
	windows := make([]strided.Window, len(names))
	at := int64(0)
	for i, name := range names {
		f, ok := t.Field(name)
		if !ok {
			return t, nil, fault.Argument("%s has no field %q", t, name)
		}
		n := int64(f.Type.Size())
		fields[i], windows[i] = f, strided.Window{From: int64(f.Offset), To: at, Size: n}
		at += n
	}
	if len(fields) == 1 {
		// A single field is selected as its value, not as a struct with one field.
		return fields[0].Type, windows, nil
	}
	packed, err := dtype.StructOf(fields...)
	if err != nil {
		return t, nil, fault.Argument("fields %q: %v", names, err)
	}
	return packed, windows, nil
}

// appendThrough appends the windows of the original element that w selects. w is a window
// of the bytes that windows select.
func appendThrough(dst, windows []strided.Window, w strided.Window) []strided.Window {
	for _, of := range windows {
		from, to := max(w.From, of.To), min(w.From+w.Size, of.To+of.Size)
		if from < to {
			dst = append(dst, strided.Window{From: of.From + from - of.To, To: w.To + from - w.From, Size: to - from})
		}
	}
	return dst
}

// Size returns the size of an element in memory, in bytes.
func (r *Selected) Size() int64 { return int64(coding.Width(codec.Spec{Type: r.Type})) }

// Room allocates memory for the selected elements, all zero or empty. Elements of
// variable length may have at most that many bytes in total.
func (r *Selected) Room(most int64) element.Buffer {
	return element.Buffer{Type: r.Type, Data: make([]byte, r.Len()*r.Size()), Heap: r.Heap.New().Limited(most)}
}

// View returns a view of a buffer that has the selected elements in C order. The view has
// the axes of the plan: it undoes flips and dropped axes.
func (r *Selected) View(e element.Buffer) (strided.View, error) {
	size := r.Size()
	if r.Type.Variable() && e.Heap == nil {
		return strided.View{}, element.ErrVariable(r.Type)
	}
	// Divide instead of multiplying r.Len() by size, which could overflow.
	if have := int64(len(e.Data)); have%size != 0 || have/size != r.Len() {
		return strided.View{}, fault.Argument("%s (%s) for a selection of shape %v, which has %d", quantity.Count(have/size, "values"), quantity.Count(have, "bytes"), r.Shape(), r.Len())
	}
	v := strided.Contiguous(e.Data, r.Shape(), int(size))
	v.Heap = e.Heap
	return r.Place(v), nil
}

// CheckedView is [Selected.View] for elements that will be stored. It returns an error if
// an element is not a valid value of the data type.
func (r *Selected) CheckedView(e element.Buffer) (strided.View, error) {
	if err := element.CheckValues(e); err != nil {
		return strided.View{}, err
	}
	return r.View(e)
}

// One returns a view that has the same element at every selected place.
func (r *Selected) One(e element.Buffer) (strided.View, error) {
	if err := element.CheckValues(e); err != nil {
		return strided.View{}, err
	}
	if int64(len(e.Data)) != r.Size() {
		return strided.View{}, fault.Argument("%s, but an element of type %s has %d", quantity.Count(len(e.Data), "bytes"), r.Type, r.Size())
	}
	return r.Strided(e, make([]int64, len(r.Shape())))
}

// Strided returns a view of a buffer in which the selected elements have the given
// strides, in elements.
func (r *Selected) Strided(e element.Buffer, strides []int64) (strided.View, error) {
	shape, size := r.Shape(), r.Size()
	if len(strides) != len(shape) {
		return strided.View{}, fault.Argument("%s for a selection of shape %v", quantity.Count(len(strides), "strides"), shape)
	}
	v := strided.View{Data: e.Data, Shape: shape, Strides: make([]int64, len(shape)), Size: int(size), Heap: e.Heap}
	last := int64(0)
	for i, n := range shape {
		step, ok := checked.Mul(strides[i], size)
		far, fits := checked.Mul(max(0, n-1), strides[i])
		if !ok || !fits || far > math.MaxInt64-last || strides[i] < 0 {
			return strided.View{}, fault.Argument("stride %d of axis %d is negative or too large", strides[i], i)
		}
		v.Strides[i], last = step, last+far
	}
	if have := int64(len(e.Data)) / size; r.Len() > 0 && last >= have {
		return strided.View{}, fault.Argument("%s, strides %d of shape %v reach to number %d", quantity.Count(have, "values"), strides, shape, last)
	}
	return r.Place(v), nil
}

// Apart reports whether no two elements of a block with these strides share memory.
func Apart(shape, strides []int64) bool {
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i
	}
	// Ordered by stride, an axis must step over everything that the axes before it reach.
	slices.SortFunc(axes, func(a, b int) int { return int(min(1, max(-1, strides[a]-strides[b]))) })
	reach := int64(0)
	for _, i := range axes {
		// The stride of an axis of length 1 is never used.
		if shape[i] > 1 && strides[i] <= reach {
			return false
		}
		reach += (shape[i] - 1) * strides[i]
	}
	return true
}

// CheckType returns an error if the elements have another data type than the array.
func (s *Array) CheckType(e element.Buffer) error {
	if e.Type != s.Type {
		return fault.Argument("the elements are %s, not %s", s.Type, e.Type)
	}
	return nil
}

// AtBorder reports whether a selection touches boundary chunks, which reach beyond the
// extent. A concurrent writer may have appended elements there, and these must not be
// treated as stale.
func (s *Array) AtBorder(r *subset.Elements) bool {
	for i, touched := range r.Touched(s.Grid) {
		a := s.Grid.Axis(i)
		if last, ok := a.Cell(a.Chunks() - 1); ok && last.IsBoundary() && touched.Stop == a.Chunks() {
			return true
		}
	}
	// Without versions a stale grid is not noticed, so treat every chunk as a boundary
	// chunk.
	return s.Version.IsZero()
}

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
	_, err = t.how.Batch.Write(ctx, store.Copy(key, seg.Engine.Store, source))
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
	_, err = t.how.Batch.Write(ctx, store.Put(key, value))
	return true, err
}

// fillChunk makes a chunk that the segment does not store read as the fill value. A value
// that a crashed writer has left there must not become visible.
func (t *stitcher) fillChunk(ctx context.Context, index []int64, key store.Key) error {
	if publish.Fenced(t.how.Batch) || t.Engine.KeepFill {
		how := t.how
		how.KeepFill = true
		return t.Engine.Claim(ctx, engine.BoxAt(index), how) // every chunk is put
	}
	_, err := t.how.Batch.Write(ctx, store.Delete(key))
	return err
}

// IsChunk returns an error that wraps [grid.ErrOutOfRange] unless index names a chunk.
func (s *Array) IsChunk(index []int64) error {
	if _, ok := s.Grid.Chunk(index); !ok {
		return fmt.Errorf("%w: no chunk %v; there are %v", grid.ErrOutOfRange, index, s.Grid.Chunks())
	}
	return nil
}

// ChunkBytes returns the size of a decoded chunk in bytes.
func (s *Array) ChunkBytes(index []int64) (int64, error) {
	if err := s.IsChunk(index); err != nil {
		return 0, err
	}
	c, _ := s.Grid.Chunk(index)
	return s.Engine.ChunkBytes(c.Encoded)
}

// Inner returns the grid of inner chunks.
func (s *Array) Inner() (*grid.Grid, error) { return s.Grid.Divided(s.Engine.Chain.Inner()...) }

// Finest returns the grid of the smallest parts that are decoded alone: inner chunks, or
// chunks.
func (s *Array) Finest() *grid.Grid {
	if s.Engine.Chain.Divided() {
		if g, err := s.Inner(); err == nil { // else use the shards
			return g
		}
	}
	return s.Grid
}

// InnerPlace is the position of an inner chunk.
type InnerPlace struct {
	Shard  []int64      // index of its chunk
	Within []int64      // its index there
	Part   strided.Part // its elements in the chunk
}

// LocateInner returns the position of the inner chunk at an index. It returns
// [store.ErrConflict] if the chunks are no longer shards.
func (s *Array) LocateInner(index []int64) (InnerPlace, error) {
	// The caller has seen an array of shards. Another process has replaced it since.
	if !s.Engine.Chain.Divided() {
		return InnerPlace{}, fmt.Errorf("%w: the chunks of the array are no longer shards", store.ErrConflict)
	}
	g, err := s.Inner()
	if err != nil {
		return InnerPlace{}, err
	}
	c, ok := g.Chunk(index)
	if !ok {
		return InnerPlace{}, fmt.Errorf("%w: no inner chunk %v; there are %v", grid.ErrOutOfRange, index, g.Chunks())
	}
	shard, start, err := s.Grid.Locate(c.Start)
	if err != nil {
		return InnerPlace{}, err
	}
	at := InnerPlace{Shard: shard, Part: strided.Part{Start: start, Step: make([]int64, len(index)), Count: c.Encoded}}
	for i, k := range index {
		first, _, _ := g.Axis(i).Locate(c.Start[i] - start[i])
		at.Within = append(at.Within, k-first)
		at.Part.Step[i] = 1
	}
	return at, nil
}

// CheckShards returns an error that wraps [engine.ErrLimit] if a shard has more inner
// chunks than most. Readers with this limit could not read such a shard.
func (s *Array) CheckShards(most int64) error {
	inner := s.Engine.Chain.Inner()
	n := int64(1)
	for i, cut := range inner {
		a := s.Grid.Axis(i)
		shard, err := grid.NewAxis(max(a.Step(), a.Longest(grid.Interval{Stop: a.Cells()})), cut)
		if err != nil {
			return err
		}
		var ok bool
		// Multiply step by step, because the product of all axes may overflow.
		if n, ok = checked.Mul(n, shard.Chunks()); !ok || n > most {
			return fmt.Errorf("%w: a shard would have more than %s"+remedy.LimitsInnerChunks+"; make inner chunks larger or shards smaller", engine.ErrLimit, quantity.Count(most, "inner chunks"))
		}
	}
	return nil
}

// PieceGrid returns the grid that Pieces walks over: that of inner chunks if shards are
// large, or else that of chunks.
func (s *Array) PieceGrid() (*grid.Grid, error) {
	// A float cannot overflow here, and the result need not be exact.
	n := float64(s.Engine.Size)
	for i, chunks := range s.Grid.Chunks() {
		n *= float64(s.Grid.Axis(i).Longest(grid.Interval{Stop: chunks}))
	}
	if n <= largePiece || !s.Engine.Chain.Divided() {
		return s.Grid, nil
	}
	return s.Inner()
}

// largePiece is the size of a shard, in bytes, above which its inner chunks are pieces.
const largePiece = 64 << 20

// CheckPart returns an error that names the first chunk of a part of a reservation that
// is not stored. If the part is not marked as written, that is its first chunk.
func (s *Array) CheckPart(ctx context.Context, part int, cells grid.Box, written bool) (err error) {
	for index := range cells.IndicesInto(make([]int64, len(cells))) {
		key := s.Engine.Key(index)
		found := written
		if written {
			found, err = store.Exists(ctx, s.Engine.Store, key)
		}
		if err == nil && !found {
			err = fmt.Errorf("part %d is not written yet: %w", part, fs.ErrNotExist)
		}
		if err != nil {
			return &engine.ChunkError{Key: key.String(), Index: slices.Clone(index), Err: err}
		}
	}
	return nil
}
