// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// The array of a crowd begins with rows of its own for each program that writes to
// regions. The last of them are in the chunk at the border, which appends change, too.
const (
	ownRows   = 10
	chunkRows = 4
	shardRows = 8
	innerRows = 2
)

// ownRow returns the row of a program that writes: the first programs have those at the
// border.
func ownRow(number int) int64 { return ownRows - 1 - int64(number) }

func rowSpec(cut grid.Cut) zarr.Spec {
	return zarr.Spec{Type: dtype.Int32, Shape: []int64{ownRows}, Chunks: []grid.Cut{cut}}
}

func regularRows() zarr.Spec { return rowSpec(grid.Every(chunkRows)) }

func listedRows() zarr.Spec { return rowSpec(grid.Edges(chunkRows, chunkRows, ownRows-2*chunkRows)) }

func regularShards() zarr.Spec { return inShards(rowSpec(grid.Every(shardRows))) }

func listedShards() zarr.Spec { return inShards(rowSpec(grid.Edges(chunkRows, ownRows-chunkRows))) }

func inShards(s zarr.Spec) zarr.Spec {
	s.InnerChunks = []grid.Cut{grid.Every(innerRows)}
	return s
}

// rowsOf returns a function that makes an array.
func rowsOf(spec func() zarr.Spec) func(ctx context.Context, location string) error {
	return func(ctx context.Context, location string) error {
		a, err := zarr.CreateArray(ctx, location, spec(), nil)
		if err != nil {
			return err
		}
		return a.Close()
	}
}

// rower is a program that works on an array.
type rower struct {
	role
	*zarr.Array
}

func (r role) openArray(ctx context.Context) (actor, error) {
	a, err := zarr.OpenArray(ctx, r.location, &zarr.Options{Write: !r.isReader()})
	if err != nil {
		return nil, err
	}
	return &rower{r, a}, nil
}

func (r *rower) step(ctx context.Context, k int) error {
	switch r.kind {
	case appends:
		return insist(func() error { return r.append(ctx, k) })
	case streams:
		return stream(ctx, r.Array, batch(firstStream+r.number, k))
	case writes:
		row := ownRow(r.number)
		return insist(func() error {
			return zarr.Write(ctx, r.Array, selection.Box{{row, row + 1}}, []int32{int32(k + 1)})
		})
	case rechunks:
		return beaten(recut(ctx, r.Array, recutting(r.Array, k)))
	case packs:
		return beaten(recut(ctx, r.Array, repacking(r.Array, k)))
	}
	_, err := inspect(ctx, r.Array)
	return err
}

// insist repeats what failed because other programs changed the array all the time.
func insist(do func() error) error {
	for {
		if err := do(); !errors.Is(err, zarr.ErrConflict) {
			return err
		}
	}
}

// rounded is for shards with listed edges, the last of which is lengthened to whole inner
// chunks.
var rounded = &zarr.AppendOptions{RoundUp: true}

// append appends a batch, every other time from a source.
func (r *rower) append(ctx context.Context, k int) error {
	if rows := batch(r.number, k); k%2 == 0 {
		return zarr.Append(ctx, r.Array, 0, rows, rounded)
	} else {
		return r.AppendFrom(ctx, 0, sourceOf(rows), rounded)
	}
}

// sourceOf returns a source of rows.
func sourceOf(rows []int32) *zarr.Source {
	return &zarr.Source{Shape: []int64{int64(len(rows))}, Read: func(_ context.Context, box grid.Box, dst []byte) error {
		for i, v := range rows[box[0].Start:box[0].Stop] {
			binary.NativeEndian.PutUint32(dst[4*i:], uint32(v))
		}
		return nil
	}}
}

// stream appends rows as a stream does. If another program changes the array, it goes on
// behind the rows that are published.
func stream(ctx context.Context, a *zarr.Array, rows []int32) error {
	for {
		s, err := a.Stream(ctx, 0, &zarr.StreamOptions{RoundUp: true})
		if err != nil {
			return err
		}
		begin := s.Next()
		if err = zarr.WritePlanes(ctx, s, rows); err == nil {
			err = s.Close(ctx)
		}
		if !errors.Is(err, zarr.ErrConflict) {
			return err
		}
		rows = rows[s.Published()-begin:]
	}
}

// inspect reads the array and checks its rows.
func inspect(ctx context.Context, a *zarr.Array) (*found, error) {
	b, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		return nil, err
	}
	rows, err := count(ownRows, b.Data[ownRows:])
	return &found{b.Data[:ownRows], rows}, err
}

// finalRows rechunks an array once more, and reads it.
func finalRows(ctx context.Context, location string) (*found, error) {
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	request := repacking(a, 2)
	err = recut(ctx, a, request)
	if errors.Is(err, rechunk.ErrClaimed) { // by a program that was killed
		if err = rechunk.Abandon(ctx, a, &rechunk.Options{TakeOver: true}); err == nil {
			err = recut(ctx, a, request)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the next rechunk: %w", err)
	}
	return inspect(ctx, a)
}
