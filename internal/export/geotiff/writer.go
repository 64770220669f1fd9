// SPDX-License-Identifier: Apache-2.0

package geotiff

import (
	"context"
	"encoding/binary"
	"io"
	"runtime"
	"slices"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
)

var nativeEndian = binary.NativeEndian

// The bytes around a tile in a file whose tiles are in order.
const (
	leaderBytes  = 4
	trailerBytes = 4
)

// writer writes a file.
type writer struct {
	*plan
	to      export.File
	end     int64 // of what was written
	levels  []*level
	halves  *halves   // of the images; nil if there are no overviews
	buffers sync.Pool // of *[]byte, for tiles
}

func newWriter(p *plan, to export.File) *writer {
	w := &writer{plan: p, to: to}
	for _, n := range p.sizes {
		w.levels = append(w.levels, p.newLevel(n[0], n[1]))
	}
	return w
}

// write writes a file.
//
//  1. Write the head, in which the places of tiles are zero.
//  2. Write the tiles of overviews, the smallest first, and then those of the array. If
//     overviews are made, the tiles of the array go to a temporary file, with the samples
//     of the first overview, so that elements are read once. They are copied last.
//  3. Replace the head by one with the places of tiles.
func (w *writer) write(ctx context.Context) error {
	if _, err := w.append(w.head(w.levels)); err != nil {
		return err
	}
	if err := w.writeLevels(ctx); err != nil {
		return err
	}
	_, err := w.to.WriteAt(w.head(w.levels), 0)
	return err
}

func (w *writer) writeLevels(ctx context.Context) (err error) {
	if len(w.levels) == 1 || w.stored != nil {
		for i := len(w.levels) - 1; i > 0; i-- {
			if err := w.writeImage(ctx, w.stored[i-1], w.levels[i], w.append); err != nil {
				return err
			}
		}
		return w.writeImage(ctx, w.source, w.levels[0], w.append)
	}
	if w.halves, err = newHalves(w.plan, w.levels); err != nil {
		return err
	}
	defer func() { err = w.halves.close(err) }()
	if err := w.writeImage(ctx, w.source, w.levels[0], w.halves.append); err != nil {
		return err
	}
	if err := w.writeOverviews(ctx); err != nil {
		return err
	}
	shift := uint64(w.end - w.halves.tiles)
	for i := range w.levels[0].offsets {
		w.levels[0].offsets[i] += shift
	}
	return w.copyTiles(ctx)
}

// copyTiles copies the tiles of the array from the temporary file.
func (w *writer) copyTiles(ctx context.Context) error {
	const piece = 8 << 20
	b := make([]byte, piece)
	for at := w.halves.tiles; at < w.halves.end; {
		n := min(piece, w.halves.end-at)
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.ReadFull(io.NewSectionReader(w.halves.file, at, n), b[:n]); err != nil {
			return err
		}
		if _, err := w.append(b[:n]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// append appends bytes to the file, and returns where they are.
func (w *writer) append(b []byte) (at int64, err error) {
	at = w.end
	n, err := w.to.Write(b)
	w.end += int64(n)
	return at, err
}

// appender appends bytes and returns where they are.
type appender func(b []byte) (at int64, err error)

// writeImage writes the tiles of the array, or of an overview that is stored.
func (w *writer) writeImage(ctx context.Context, s *export.Source, l *level, to appender) error {
	return s.Tiles(ctx, w.boxTile(), func(box grid.Box, values export.Values) error {
		return w.writeBox(ctx, l, box, values, to)
	})
}

// writeBox writes the tiles of a box.
func (w *writer) writeBox(ctx context.Context, l *level, box grid.Box, values export.Values, to appender) error {
	lengths := make([]int64, len(box))
	for i, in := range box {
		lengths[i] = in.Len()
	}
	all := strided.Contiguous(w.widened(values.Data), lengths, w.sample.Size())
	axes := w.axesOf(box)
	v := strided.View{Data: all.Data, Size: all.Size, Shape: make([]int64, 3), Strides: []int64{0, all.Strides[w.y], all.Strides[w.x]}}
	if w.band >= 0 {
		v.Strides[0] = all.Strides[w.band]
	}
	var first, counts [3]int64
	for i, length := range w.tileShape() {
		v.Shape[i] = axes[i].Len()
		first[i], counts[i] = axes[i].Start/length, checked.CeilDiv(axes[i].Len(), length)
	}
	n := counts[0] * counts[1] * counts[2]
	return w.inOrder(ctx, n, func(i int64) (tile, error) {
		k := [3]int64{i / (counts[1] * counts[2]), i / counts[2] % counts[1], i % counts[2]}
		t, part := w.newTile(l, [3]int64{first[0] + k[0], first[1] + k[1], first[2] + k[2]}), make(grid.Box, 3)
		for j, length := range w.tileShape() {
			part[j] = grid.Interval{Start: k[j] * length, Stop: k[j]*length + t.valid[j].Len()}
		}
		strided.Copy(t.block(w.plan).Sub(t.valid), v.Sub(part))
		if w.halves != nil {
			if err := w.halves.reduce(0, t); err != nil {
				return t, err
			}
		}
		return t, w.encode(&t)
	}, func(t tile) error {
		if l == w.levels[0] {
			elements, _ := t.valid.Len()
			w.source.Tell(elements * export.Width(w.source.Type))
		}
		return w.put(l, t, to)
	})
}

// tile is a tile of a level: bands, rows and columns.
type tile struct {
	index  [3]int64 // plane, row and column
	number int64    // in the level
	valid  grid.Box // what the image has of it
	raw    []byte   // all samples, in host byte order
	stored []byte   // with what is around them in the file
}

// newTile returns a tile that has the missing value beyond the image.
func (w *writer) newTile(l *level, index [3]int64) tile {
	t := tile{index: index, number: (index[0]*l.rows+index[1])*l.columns + index[2]}
	shape := w.tileShape()
	t.valid = grid.Box{
		{Stop: shape[0]}, {Stop: min(w.plan.tile, l.height-index[1]*w.plan.tile)}, {Stop: min(w.plan.tile, l.width-index[2]*w.plan.tile)},
	}
	n := checked.Capped(shape...)
	t.raw = w.buffer(int(n) * w.sample.Size())
	if valid, _ := t.valid.Len(); valid < n {
		clear(t.raw)
		if w.noData != nil {
			strided.FillBytes(t.raw, w.noData)
		}
	}
	return t
}

// block returns the samples.
func (t *tile) block(p *plan) strided.View {
	return strided.Contiguous(t.raw, p.tileShape(), p.sample.Size())
}

// encode encodes the samples of a tile.
func (w *writer) encode(t *tile) (err error) {
	b := w.buffer(0)[:0]
	if w.ordered {
		b = append(b, make([]byte, leaderBytes)...)
	}
	from := len(b)
	b, err = w.chain.Encode(b, t.block(w.plan))
	w.release(t.raw)
	if err == nil && w.ordered {
		binary.LittleEndian.PutUint32(b, uint32(len(b)-from))
		b = append(b, b[len(b)-trailerBytes:]...)
	}
	t.stored = b
	return err
}

// put appends a tile, and notes its place.
func (w *writer) put(l *level, t tile, to appender) error {
	at, err := to(t.stored)
	n := len(t.stored)
	if w.ordered {
		at, n = at+leaderBytes, n-leaderBytes-trailerBytes
	}
	l.offsets[t.number], l.counts[t.number] = uint64(at), uint32(n)
	w.release(t.stored)
	return err
}

// buffer returns a buffer of a capacity, which release takes back.
func (w *writer) buffer(n int) []byte {
	if b, ok := w.buffers.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]byte, n)
}

func (w *writer) release(b []byte) { w.buffers.Put(&b) }

// inOrder makes n tiles in several goroutines, and uses one after the other. So equal
// arrays make equal files.
func (w *writer) inOrder(ctx context.Context, n int64, produce func(i int64) (tile, error), use func(tile) error) error {
	g, ctx := parallel.New(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0) + 1) // one waits for its turn
	turn := make(chan struct{})
	close(turn)
	var err error
	for i := range n {
		if err = ctx.Err(); err != nil {
			break
		}
		before, after := turn, make(chan struct{})
		turn = after
		g.Go(func() error {
			defer close(after)
			t, err := produce(i)
			if err != nil {
				return err
			}
			select {
			case <-before:
			case <-ctx.Done():
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			return use(t)
		})
	}
	return g.Wait(err)
}

// boxTile returns the shape of a tile along the axes of the source.
func (p *plan) boxTile() []int64 {
	shape := slices.Repeat([]int64{1}, len(p.source.Shape))
	shape[p.y], shape[p.x] = p.tile, p.tile
	if p.band >= 0 {
		shape[p.band] = max(p.bands/p.planes(), p.together)
	}
	return shape
}
