// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// live is the kind of the processes of a life. Each is a hand that does what the test
// tells it, one line at a time:
//
//	append ID N           append N rows, of which ID is the first
//	look SEED PART PARTS  choose a box of the columns that are this part of all
//	                      columns, and read it; the answer has its cells and rows
//	store WRITE           write to that box
//	recut SEED TAKEOVER   give the array another grid
//	vacuum                delete grids that were superseded long ago
//	drop START STOP       take rows out
//	insert AT ID N        put rows in
//
// The answer is "ok" and what the hand has found, or "error" and why.
const live = "live"

// lifeGrace is longer than any process of a life is stopped. After a shorter grace, a
// process that goes on may write to a key that belongs to another grid by then.
const lifeGrace = 3 * time.Second

// hand is the state of a process of a life.
type hand struct {
	location string
	array    *zarr.Array
	box      selection.Box // that was looked at last
	rows     []int64       // of the box
	cells    [2]int        // of the box, in each row
}

// serve does what the lines say until they end.
func (h *hand) serve(ctx context.Context, in io.Reader) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer, err := h.obey(ctx, lines.Text())
		if err != nil {
			answer = "error " + strings.ReplaceAll(err.Error(), "\n", "; ")
			if h.array != nil {
				_ = h.array.Close() // it is opened again
				h.array = nil
			}
		}
		fmt.Println(answer)
	}
	return nil
}

func (h *hand) obey(ctx context.Context, line string) (answer string, err error) {
	if h.array == nil {
		if h.array, err = zarr.OpenArray(ctx, h.location, &zarr.Options{Write: true}); err != nil {
			return "", err
		}
	}
	var what string
	var a, b, c int64
	_, _ = fmt.Sscan(line, &what, &a, &b, &c) // lines have different lengths
	switch what {
	case "append":
		err = zarr.Append(ctx, h.array, 0, h.elements(a, b), &zarr.AppendOptions{RoundUp: true})
	case "look":
		return h.look(ctx, rand.New(rand.NewPCG(uint64(a), 0)), b, c)
	case "store":
		err = h.store(ctx, a)
	case "recut":
		err = h.recut(ctx, rand.New(rand.NewPCG(uint64(a), 0)), b == 1)
	case "vacuum":
		_, err = rechunk.Vacuum(ctx, h.array, &rechunk.VacuumOptions{Grace: lifeGrace})
	case "drop":
		err = h.move(ctx, rechunk.Removal{Range: grid.Interval{Start: a, Stop: b}, Unlock: true})
	case "insert":
		data := h.elements(b, c)
		err = h.move(ctx, rechunk.Insertion{At: a, From: source(h.shapeOf(c), data), Identity: fmt.Sprint(b), Unlock: true})
	default:
		err = errors.New("wrong: no such order: " + line)
	}
	return "ok", err
}

// shapeOf returns the shape of n rows.
func (h *hand) shapeOf(n int64) []int64 {
	shape := h.array.Shape()
	shape[0] = n
	return shape
}

// elements returns the first elements of n rows.
func (h *hand) elements(first, n int64) []int64 {
	var data []int64
	for i := range n {
		for c := range widthOf(h.array.Shape()) {
			data = append(data, element(first+i, c, 0))
		}
	}
	return data
}

// widthOf returns the number of cells of a row.
func widthOf(shape []int64) int {
	n := int64(1)
	for _, k := range shape[1:] {
		n *= k
	}
	return int(n)
}

// source returns a source of elements.
func source(shape []int64, data []int64) *zarr.Source {
	return &zarr.Source{Shape: shape, Read: func(_ context.Context, box grid.Box, dst []byte) error {
		width := int64(widthOf(shape))
		for i, n := range boxOffsets(shape, box, width) {
			binary.NativeEndian.PutUint64(dst[8*i:], uint64(data[n]))
		}
		return nil
	}}
}

// boxOffsets returns the places of the elements of a box in an array of rows.
func boxOffsets(shape []int64, box grid.Box, width int64) []int64 {
	offsets := []int64{}
	for row := box[0].Start; row < box[0].Stop; row++ {
		offsets = append(offsets, row*width)
	}
	for axis, below := 1, width; axis < len(shape); axis++ {
		below /= shape[axis]
		var next []int64
		for _, at := range offsets {
			for k := box[axis].Start; k < box[axis].Stop; k++ {
				next = append(next, at+k*below)
			}
		}
		offsets = next
	}
	return offsets
}

// look reads a box of some rows. All axes but the first two are whole.
func (h *hand) look(ctx context.Context, r *rand.Rand, part, parts int64) (string, error) {
	if r.IntN(2) == 0 {
		if err := h.array.Refresh(ctx); err != nil {
			return "", err
		}
	}
	shape := h.array.Shape()
	h.box = selection.Box{}
	for _, n := range shape {
		h.box = append(h.box, [2]int64{0, n})
	}
	h.box[0][0] = r.Int64N(shape[0])
	h.box[0][1] = min(shape[0], h.box[0][0]+1+r.Int64N(6))
	depth := 1
	if len(shape) > 1 {
		start, stop := part*shape[1]/parts, (part+1)*shape[1]/parts
		h.box[1][0] = start + r.Int64N(stop-start)
		h.box[1][1] = h.box[1][0] + 1 + r.Int64N(stop-h.box[1][0])
		depth = widthOf(shape) / int(shape[1])
		h.cells = [2]int{int(h.box[1][0]) * depth, int(h.box[1][1]) * depth}
	} else {
		h.cells = [2]int{0, 1}
	}
	b, err := zarr.Read[int64](ctx, h.array, h.box)
	if err != nil {
		return "", err
	}
	if h.rows, err = rowsIn(b.Data, h.cells); err != nil {
		return "", err
	}
	return strings.Trim(fmt.Sprint("ok ", h.cells[0], " ", h.cells[1], " ", h.rows), "[]"), nil
}

// rowsIn returns the rows of the elements of some cells, and checks that they are whole.
func rowsIn(data []int64, cells [2]int) (rows []int64, err error) {
	for i, v := range data {
		row, cell, _ := parse(v)
		n := i % (cells[1] - cells[0])
		if n == 0 {
			rows = append(rows, row)
		}
		if row == 0 || row != rows[len(rows)-1] || cell != cells[0]+n {
			return nil, fmt.Errorf("wrong: cell %d of row %d is found where cell %d of row %d is expected", cell, row, cells[0]+n, rows[len(rows)-1])
		}
	}
	return rows, nil
}

// store writes to the box that was looked at, in whichever place its rows are now.
func (h *hand) store(ctx context.Context, write int64) error {
	var data []int64
	for _, row := range h.rows {
		for c := h.cells[0]; c < h.cells[1]; c++ {
			data = append(data, element(row, c, write))
		}
	}
	return zarr.Write(ctx, h.array, h.box, data)
}

// recut rechunks the array. takeOver says that a process which was killed may have left
// a claim.
func (h *hand) recut(ctx context.Context, r *rand.Rand, takeOver bool) error {
	if err := h.array.Refresh(ctx); err != nil {
		return err
	}
	return beaten(h.do(ctx, lifeRequest(r, h.array), takeOver))
}

// do rechunks the array, after it has removed a claim that another request has left.
func (h *hand) do(ctx context.Context, request rechunk.Request, takeOver bool) error {
	opt := &rechunk.Options{TakeOver: takeOver}
	_, err := rechunk.Do(ctx, h.array, request, opt)
	if errors.Is(err, rechunk.ErrClaimed) {
		if err = rechunk.Abandon(ctx, h.array, opt); err == nil {
			_, err = rechunk.Do(ctx, h.array, request, opt)
		}
	}
	if errors.Is(err, rechunk.ErrNoKeys) {
		_, err = rechunk.Vacuum(ctx, h.array, &rechunk.VacuumOptions{Grace: lifeGrace})
	}
	return err
}

// move takes rows out or puts rows in. No other process moves rows.
func (h *hand) move(ctx context.Context, request rechunk.Request) error {
	if err := h.array.Refresh(ctx); err != nil {
		return err
	}
	opt := &rechunk.Options{TakeOver: true}
	_, err := rechunk.Do(ctx, h.array, request, opt)
	if errors.Is(err, rechunk.ErrClaimed) {
		if err = rechunk.Abandon(ctx, h.array, opt); err == nil {
			_, err = rechunk.Do(ctx, h.array, request, opt)
		}
	}
	return err
}

// lifeRequest returns a request for another grid, or for other shards.
func lifeRequest(r *rand.Rand, a *zarr.Array) rechunk.Request {
	var inner, outer rechunk.Cuts
	for axis, n := range a.Shape() {
		c := 1 + r.Int64N(4)
		if axis > 0 {
			c = 1 + r.Int64N(n)
		}
		inner, outer = append(inner, grid.Every(c)), append(outer, grid.Every(c*(1+r.Int64N(3))))
	}
	switch k := r.IntN(8); {
	case k < 2 && a.Spec().Format != 2:
		return rechunk.Rechunking{Chunks: outer, Inner: inner, IndexAtStart: k == 1}
	case k < 4 && !a.Grid().Axis(0).IsRegular():
		return rechunk.Compaction{UpTo: 2 + r.Int64N(12)}
	case k < 5 && a.Spec().InnerChunks == nil:
		return rechunk.Regularization{}
	}
	return rechunk.Rechunking{Chunks: inner, Unpack: true}
}
