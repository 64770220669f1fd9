// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// update makes the tiles that have changed, level by level. Each level is made of the
// level below, which has its new elements by then.
func (w *work) update(ctx context.Context) error {
	// Levels are updated in order, because each is derived from the one below, which must
	// be complete by then.
	for k, level := range w.arrays {
		was := level.Shape()
		if err := w.resize(ctx, k); err != nil {
			return err
		}
		if err := w.target(ctx, k); err != nil {
			return err
		}
		if err := w.redo(ctx, k, was); err != nil {
			return err
		}
	}
	return nil
}

// resize gives level k the extent that it has to have. It grows by appends, axis by axis,
// so that readers see new elements only once they are written.
func (w *work) resize(ctx context.Context, k int) error {
	level, shape := w.arrays[k], w.grids[k].Shape()
	smaller, shrinks := level.Shape(), false
	for i, n := range shape {
		shrinks = shrinks || n < smaller[i]
		smaller[i] = min(n, smaller[i])
	}
	// Shrink first: planes that are appended would otherwise have the former length along
	// the other axes, beyond the source.
	if shrinks {
		if err := level.Resize(ctx, smaller, &zarr.ResizeOptions{Shrink: grid.TrimEdges}); err != nil {
			return err
		}
	}
	from := w.source(k)
	for i, n := range shape {
		if err := w.grow(ctx, level, from, i, n); err != nil {
			return err
		}
	}
	return nil
}

// grow appends to a level until an axis has the given extent.
func (w *work) grow(ctx context.Context, level *zarr.Array, from *source, axis int, extent int64) error {
	now := level.Shape()
	if now[axis] >= extent {
		return nil
	}
	shape := now
	shape[axis] = extent
	// An append needs elements. A resize publishes the extent alone.
	if slices.Contains(shape, 0) {
		return level.Resize(ctx, shape, nil) // there are no elements
	}
	region := grid.BoxOf(shape)
	region[axis].Start = level.Shape()[axis]
	src := &zarr.Source{Shape: region.Shape(), Read: func(ctx context.Context, box grid.Box, dst []byte) error {
		there := make(grid.Box, len(box))
		for i, in := range box {
			there[i] = grid.Interval{Start: in.Start + region[i].Start, Stop: in.Stop + region[i].Start}
		}
		return from.derive(ctx, w.Reducer, there, strided.Contiguous(dst, box.Shape(), w.size()))
	}}
	// Expect refuses the append if another process has made the level grow meanwhile.
	how := &zarr.AppendOptions{Grow: edgesOf(from.grid.Axis(axis)), Expect: level.Shape()}
	if level.Grid().Axis(axis).IsRegular() {
		how.Grow = grid.AppendOne()
	}
	return level.AppendFrom(ctx, axis, src, how)
}

// redo makes tiles of level k again. was is its shape before it grew: tiles beyond it are
// new, and appended already.
func (w *work) redo(ctx context.Context, k int, was []int64) error {
	workers, err := w.updaters(k)
	if err != nil {
		return err
	}
	group, ctx := parallel.New(ctx)
	group.SetLimit(workers)
	from, old := w.source(k), grid.BoxOf(was)
	for n := range w.dirty[k] {
		if ctx.Err() != nil {
			break
		}
		box := boxOf(w.grids[k], indexOf(w.grids[k], n))
		first := make([]int64, len(box))
		// Tiles beyond the former extent were made by the append. They only count as
		// progress.
		if box.First(first); !old.Contains(first) {
			w.count()
			continue
		}
		group.Go(func() error { return w.remake(ctx, k, from, box) })
	}
	return group.Wait(nil)
}

// remake makes one tile of level k.
func (w *work) remake(ctx context.Context, k int, from *source, box grid.Box) error {
	t := &tile{box: box}
	t.view = t.room(box, w.size())
	defer t.free()
	if err := from.derive(ctx, w.Reducer, box, t.view); err != nil {
		return err
	}
	return w.write(ctx, k, t)
}

// updaters returns how many goroutines make tiles of level k again.
func (w *work) updaters(k int) (int, error) {
	each := w.updated(k)
	if each <= 0 {
		return 0, errTooLarge
	}
	return w.workers(each, 0)
}

// updated returns the bytes that a goroutine holds to make tiles of level k again: one of
// them, and a piece of the level below. It is 0 if they overflow.
func (w *work) updated(k int) int64 {
	tile, ok := w.tileBytes(k)
	piece, fine := w.source(k).longestPiece(w.Reducer, longest(w.grids[k]), w.size())
	if !ok || !fine {
		return 0
	}
	return max(0, tile+piece)
}

// recordName is the name of the record, in the directory of the first level.
const recordName = own.Dir + "/pyramid.json"

// record says what the levels were made of.
type record struct {
	Made   made    `json:"made"`
	Asked  int     `json:"asked"` // see [Options.Levels]
	Levels int     `json:"levels"`
	Shape  []int64 `json:"shape"` // of the array
	Tiles  []byte  `json:"tiles"` // see appendFolds
	// Attributes are those of the array.
	Attributes json.RawMessage `json:"attributes,omitempty"`

	version store.Version // the record is absent if this is zero
	exists  bool
}

// made is the part of a request on which every element of every level depends.
type made struct {
	Method  Method  `json:"method"`
	Factors []int64 `json:"factors"`
	Type    string  `json:"data_type"`
	Fill    []byte  `json:"fill"`
	Absent  []byte  `json:"absent,omitempty"` // missing values, one after the other
	Stored  Method  `json:"stored,omitempty"` // the method for the stored numbers, if it is another one
}

func (m made) equal(o made) bool {
	return m.Method == o.Method && m.Stored == o.Stored && slices.Equal(m.Factors, o.Factors) && m.Type == o.Type &&
		slices.Equal(m.Fill, o.Fill) && slices.Equal(m.Absent, o.Absent)
}

// mostRecord bounds the bytes of a record.
const mostRecord = 256 << 20

// readRecord reads the record. One that is damaged or absent is empty: it is only a
// memory of finished work.
func readRecord(ctx context.Context, s store.Store, key store.Key) (*record, error) {
	data, info, err := s.Get(ctx, key, store.Request{Limit: mostRecord}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(record)
	// A damaged record costs a rebuild, and never leaves a wrong tile. Its version is
	// kept, so that the new record replaces it.
	if json.Unmarshal(data, r) != nil || attributes.Check(r.Attributes) != nil {
		r = new(record)
	}
	r.version, r.exists = info.Version, true
	return r, nil
}

// put stores the record in place of an earlier one. If another process has stored one
// meanwhile, the error wraps [zarr.ErrConflict].
func (r *record) put(ctx context.Context, s store.Store, key store.Key, before *record, d store.Durability) error {
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false) // attributes stay as they are
	if err := e.Encode(r); err != nil {
		return err
	}
	line := bytes.TrimSuffix(data.Bytes(), []byte("\n")) // a record that is cut is none
	cond := store.IfVersion(before.version)
	if !before.exists {
		cond = store.IfAbsent()
	}
	// Without conditional writes or versions, the last of two processes wins. The package
	// comment asks for one process at a time.
	if able := store.Can(s, store.OpPutIf); !able || before.exists && before.version.IsZero() {
		_, err := store.Write(ctx, s, store.Put(key, line), d)
		return err
	}
	_, err := store.Write(ctx, s, store.PutIf(key, line, cond), d)
	if errors.Is(err, store.ErrConflict) {
		err = fmt.Errorf("another process has made the pyramid meanwhile; make it again: %w", err)
	}
	return err
}

// appendFolds encodes the folds of tiles: the index of each, and eight bytes.
func appendFolds(dst []byte, g *grid.Grid, folds map[int64]fold) []byte {
	numbers := make([]int64, 0, len(folds))
	for n := range folds {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		for _, k := range indexOf(g, n) {
			dst = binary.AppendUvarint(dst, uint64(k))
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(folds[n]))
	}
	return dst
}

// errFolds is the error of folds that are damaged.
var errFolds = fmt.Errorf("%w: the record of the tiles is damaged", zarr.ErrCorrupt)

// parseFolds parses what appendFolds has encoded. The array may have shrunk since. For
// each tile that a grid no longer has, gone has the tile at the new end that lies in the
// same tiles of the levels above: these are made of fewer elements now.
func parseFolds(data []byte, g *grid.Grid) (folds map[int64]fold, gone tiles, err error) {
	chunks, index := grid.BoxOf(g.Chunks()), make([]int64, g.Rank())
	folds, gone = map[int64]fold{}, tiles{}
	for len(data) > 0 {
		for i := range index {
			k, n := binary.Uvarint(data)
			if n <= 0 || int64(k) < 0 {
				return nil, nil, errFolds
			}
			index[i], data = int64(k), data[n:]
		}
		if len(data) < 8 {
			return nil, nil, errFolds
		}
		if chunks.Contains(index) {
			folds[strided.Number(g, index)] = fold(binary.LittleEndian.Uint64(data))
		} else if n, ok := chunks.Len(); ok && n > 0 {
			for i := range index {
				index[i] = min(index[i], chunks[i].Stop-1)
			}
			gone[strided.Number(g, index)] = 1
		}
		data = data[8:]
	}
	return folds, gone, nil
}

// differing returns the tiles whose folds differ, or that only one of them has.
func differing(a, b map[int64]fold) tiles {
	differ := tiles{}
	for n, f := range a {
		if g, ok := b[n]; !ok || f != g {
			differ[n] = 1
		}
	}
	for n := range b {
		if _, ok := a[n]; !ok {
			differ[n] = 1
		}
	}
	return differ
}
