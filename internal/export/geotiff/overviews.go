// SPDX-License-Identifier: Apache-2.0

package geotiff

import (
	"context"
	"errors"
	"io"
	"os"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/internal/strided"
)

// halves is a temporary file with the samples of overviews, which are made before they
// are written: tiles of half the length, one for each tile of the level below. Behind
// them are the stored tiles of the array.
type halves struct {
	*plan
	file    *os.File
	levels  []*level
	starts  []int64 // of the samples of a level; that of the array has none
	tiles   int64   // where the tiles of the array begin
	end     int64
	reducer *reduction.Reducer
}

// newHalves makes the temporary file.
func newHalves(p *plan, levels []*level) (*halves, error) {
	h := &halves{plan: p, levels: levels, starts: make([]int64, len(levels))}
	var err error
	if h.reducer, err = reduction.New(p.sample, p.method, []int64{1, 2, 2}, p.absent); err != nil {
		return nil, err
	}
	for i := 1; i < len(levels); i++ {
		h.starts[i] = h.tiles
		h.tiles += int64(len(levels[i-1].offsets)) * h.bytes()
	}
	h.end = h.tiles
	h.file, err = os.CreateTemp(p.Folder, ".varve-overviews-*")
	return h, err
}

// close removes the file.
func (h *halves) close(err error) error {
	return errors.Join(err, h.file.Close(), os.Remove(h.file.Name()))
}

// shape returns the shape of half a tile.
func (h *halves) shape() []int64 { return []int64{h.bands / h.planes(), h.tile / 2, h.tile / 2} }

// bytes returns the bytes of half a tile.
func (h *halves) bytes() int64 { return checked.Capped(append(h.shape(), int64(h.sample.Size()))...) }

// append appends a tile of the array.
func (h *halves) append(b []byte) (at int64, err error) {
	at = h.end
	n, err := h.file.WriteAt(b, at)
	h.end += int64(n)
	return at, err
}

// reduce makes what the next level has of a tile of a level.
func (h *halves) reduce(i int, t tile) error {
	half := strided.Contiguous(make([]byte, h.bytes()), h.shape(), h.sample.Size())
	h.reducer.Reduce(half.Sub(h.reducer.Above(t.valid)), t.block(h.plan).Sub(t.valid))
	_, err := h.file.WriteAt(half.Data, h.starts[i+1]+t.number*h.bytes())
	return err
}

// load reads the samples of a tile of an overview: what was made of up to four tiles of
// the level below.
func (h *halves) load(i int, t tile) error {
	below := h.levels[i-1]
	half := strided.Contiguous(make([]byte, h.bytes()), h.shape(), h.sample.Size())
	for k := range int64(4) {
		row, column := 2*t.index[1]+k/2, 2*t.index[2]+k%2
		if row >= below.rows || column >= below.columns {
			continue
		}
		number := (t.index[0]*below.rows+row)*below.columns + column
		if _, err := io.ReadFull(io.NewSectionReader(h.file, h.starts[i]+number*h.bytes(), h.bytes()), half.Data); err != nil {
			return err
		}
		part, inTile, fits := make(grid.Box, 3), make(grid.Box, 3), true
		from := [3]int64{0, k / 2 * h.tile / 2, k % 2 * h.tile / 2}
		for axis, n := range h.shape() {
			part[axis] = grid.Interval{Stop: min(n, t.valid[axis].Stop-from[axis])}
			inTile[axis] = grid.Interval{Start: from[axis], Stop: from[axis] + part[axis].Stop}
			fits = fits && part[axis].Stop > 0
		}
		if fits {
			strided.Copy(t.block(h.plan).Sub(inTile), half.Sub(part))
		}
	}
	return nil
}

// writeOverviews makes the other overviews, each of the one below, and writes all of
// them.
func (w *writer) writeOverviews(ctx context.Context) error {
	for i := 1; i < len(w.levels)-1; i++ {
		err := w.eachTile(ctx, i, func(t *tile) error {
			defer w.release(t.raw)
			return w.halves.reduce(i, *t)
		}, func(tile) error { return nil })
		if err != nil {
			return err
		}
	}
	for i := len(w.levels) - 1; i > 0; i-- {
		if err := w.eachTile(ctx, i, w.encode, func(t tile) error { return w.put(w.levels[i], t, w.append) }); err != nil {
			return err
		}
	}
	return nil
}

// eachTile loads the tiles of an overview, and calls change with them in several
// goroutines, and use in order.
func (w *writer) eachTile(ctx context.Context, i int, change func(*tile) error, use func(tile) error) error {
	l := w.levels[i]
	return w.inOrder(ctx, int64(len(l.offsets)), func(n int64) (tile, error) {
		t := w.newTile(l, [3]int64{n / (l.rows * l.columns), n / l.columns % l.rows, n % l.columns})
		if err := w.halves.load(i, t); err != nil {
			return t, err
		}
		return t, change(&t)
	}, use)
}
