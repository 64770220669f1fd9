// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// sharing is two arrays that many goroutines use concurrently. The board has fixed
// chunks, each written whole with one number, and rows after them that are appended and
// cut off. The log only grows, by batches that name their writer.
type sharing struct {
	h          *zarr.Location
	board, log *zarr.Array // shared by all goroutines
	operations atomic.Int64
	streamed   atomic.Int64
	conflicts  atomic.Int64
	mu         sync.Mutex
	batches    map[int]int // batches of each writer
}

// boardChunks and boardRows are the size of the fixed part of the board.
const (
	boardChunks = 8
	boardRows   = 8 * boardChunks
)

func newSharing(t *testing.T, s store.Store, board, log zarr.Spec) *sharing {
	t.Helper()
	w := &sharing{h: zarr.At(s, ""), batches: map[int]int{0: 1}}
	opt := &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}}
	board.Attributes = map[string]int{"n": 0, "twice": 0}
	w.board = fixture.Must(w.h.At("board").CreateArray(t.Context(), board, opt))
	w.log = fixture.Must(w.h.At("log").CreateArray(t.Context(), log, opt))
	if err := zarr.Write(t.Context(), w.log, nil, batchOf(0, 0)); err != nil {
		t.Fatal(err)
	}
	return w
}

// pick returns the shared array, or opens it again.
func (w *sharing) pick(ctx context.Context, r *rand.Rand, shared *zarr.Array, path string) (*zarr.Array, error) {
	if r.IntN(3) > 0 {
		return shared, nil
	}
	return w.h.At(path).OpenArray(ctx, &zarr.Options{Write: true, Durability: store.Flush})
}

// step makes one random operation. No other goroutine has the number me.
func (w *sharing) step(ctx context.Context, r *rand.Rand, me int) error {
	k := r.IntN(100)
	shared, path := w.board, "board"
	if k >= 72 {
		shared, path = w.log, "log"
	}
	a, err := w.pick(ctx, r, shared, path)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	c := r.Int64N(boardChunks)
	box := selection.Box{{8 * c, 8*c + 8}}
	switch {
	case k < 20:
		return zarr.Write(ctx, a, box, repeated(int32(1+r.IntN(1e6)), 8))
	case k < 45:
		b, err := zarr.Read[int32](ctx, a, box)
		if err == nil {
			err = uniform(b.Data, box)
		}
		return err
	case k < 50:
		return w.readAll(ctx, a)
	case k < 56:
		return zarr.Append(ctx, a, 0, repeated(-1, 1+r.Int64N(6)), nil)
	case k < 61:
		return a.Resize(ctx, []int64{boardRows + r.Int64N(30)}, nil)
	case k < 66:
		return annotateTwice(ctx, a, r.IntN(1e6))
	case k < 70:
		return attributesAgree(a)
	case k < 72, k >= 97:
		return soundShards(ctx, a)
	case k < 82:
		return w.appendBatch(ctx, a, me, false)
	case k < 86:
		return w.appendBatch(ctx, a, me, true)
	}
	rows, err := w.rows(ctx)
	if err == nil {
		_, err = checkBatches(rows)
	}
	return err
}

// readAll checks the board: every fixed chunk has one number, and the rows after them
// have appended elements or the fill value.
func (w *sharing) readAll(ctx context.Context, a *zarr.Array) error {
	b, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		return err
	}
	for c := range int64(boardChunks) {
		box := selection.Box{{8 * c, 8*c + 8}}
		if err := uniform(b.Data[8*c:8*c+8], box); err != nil {
			return err
		}
	}
	for i, v := range b.Data[boardRows:] {
		if v != 0 && v != -1 {
			return fmt.Errorf("row %d after the fixed ones is %d", i, v)
		}
	}
	return nil
}

// annotateTwice changes two attributes that must stay consistent.
func annotateTwice(ctx context.Context, a *zarr.Array, n int) error {
	return a.UpdateAttributes(ctx, func(raw []byte) ([]byte, error) {
		raw, err := metadata.SetAttribute(raw, "n", []byte(strconv.Itoa(n)))
		if err != nil {
			return nil, err
		}
		return metadata.SetAttribute(raw, "twice", []byte(strconv.Itoa(2*n)))
	})
}

// attributesAgree checks that the two attributes are consistent.
func attributesAgree(a *zarr.Array) error {
	raw := a.Attributes()
	n, _, err := metadata.Attribute(raw, "n")
	twice, _, twiceErr := metadata.Attribute(raw, "twice")
	if err = errors.Join(err, twiceErr); err != nil {
		return err
	}
	x, err := strconv.Atoi(string(n))
	if err != nil || strconv.Itoa(2*x) != string(twice) {
		return fmt.Errorf("the attributes are %s (%v)", raw, err)
	}
	return nil
}

// soundShards checks that the stored shards have no fault.
func soundShards(ctx context.Context, a *zarr.Array) error {
	for fault, err := range a.CheckShards(ctx, nil) {
		if err == nil {
			err = fault
		}
		if !errors.Is(err, zarr.ErrConflict) { // concurrent writers replaced the shard too often
			return err
		}
	}
	return nil
}

// appendBatch appends the next batch of a writer, through a stream if asked to. A stream
// that conflicts with a concurrent append has published nothing.
func (w *sharing) appendBatch(ctx context.Context, a *zarr.Array, me int, stream bool) error {
	w.mu.Lock()
	seq := w.batches[me]
	w.mu.Unlock()
	if seq >= 9999 {
		return nil // all numbers are used
	}
	if !stream {
		if err := zarr.Append(ctx, a, 0, batchOf(me, seq), nil); err != nil {
			return err
		}
	} else if err := streamBatch(ctx, a, batchOf(me, seq)); errors.Is(err, zarr.ErrConflict) {
		w.conflicts.Add(1)
		return nil
	} else if err != nil {
		return err
	}
	if stream {
		w.streamed.Add(1)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.batches[me]++
	return nil
}

func streamBatch(ctx context.Context, a *zarr.Array, rows []int32) error {
	s, err := a.Stream(ctx, 0, &zarr.StreamOptions{Every: 1000}) // publish once, at the end
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := zarr.WritePlanes(ctx, s, []int32{row}); err != nil {
			return err
		}
	}
	return s.Close(ctx)
}

func (w *sharing) rows(ctx context.Context) ([]int32, error) {
	a, err := w.h.At("log").OpenArray(ctx, nil)
	if err != nil {
		return nil, err
	}
	b, err := zarr.Read[int32](ctx, a, nil)
	return b.Data, err
}

// run lets goroutines make count operations, and checks that every batch of the log is
// there once.
func (w *sharing) run(t *testing.T, count int64, seed uint64) {
	t.Helper()
	const people = 24
	group, ctx := errgroup.WithContext(t.Context())
	for me := range people {
		r := rand.New(rand.NewPCG(seed, uint64(me)))
		group.Go(func() error {
			for w.operations.Add(1) <= count {
				if err := w.step(ctx, r, me+1); err != nil {
					return fmt.Errorf("seed %d, goroutine %d: %w", seed, me, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	rows := fixture.Must(w.rows(t.Context()))
	found, err := checkBatches(rows)
	if err != nil {
		t.Fatal(err)
	}
	for writer, n := range w.batches {
		if found[writer] != n {
			t.Errorf("the log has %d batches of writer %d, want %d", found[writer], writer, n)
		}
	}
	if err := w.readAll(t.Context(), w.board); err != nil {
		t.Error(err)
	}
	t.Logf("%d operations; %d rows in the log, %d batches by streams, %d conflicts of streams", count, len(rows), w.streamed.Load(), w.conflicts.Load())
}

// TestSoakSharing lets 24 goroutines read, write, append, resize, stream, check and
// annotate the same arrays concurrently, with shared Array values and with their own. It
// is meant for the race detector, and passes without it.
func TestSoakSharing(t *testing.T) {
	const kinds, perRound = 9, 1500 // of arrays and stores; operations on one array
	operations := fixture.Soaked(t, 1800, 72_000) / kinds
	chunks := slices.Repeat([]int64{8}, boardChunks)
	for name, specs := range map[string][2]zarr.Spec{
		"edges": {fixture.Edges(chunks...), growing["edges"]}, "regular": {fixture.Every(boardRows, 8), growing["regular"]}, "shards": {sharded8(), fixture.ShardsOf8(batchRows)},
	} {
		for where, open := range map[string]func() store.Store{
			"memory": func() store.Store { return memstore.New() }, "file": func() store.Store { return fixture.OpenStore(t, t.TempDir()) },
			"objects": func() store.Store { return fixture.Conditional(memstore.New()) },
		} {
			t.Run(name+" in "+where, func(t *testing.T) {
				for left := operations; left > 0; left -= perRound {
					newSharing(t, open(), specs[0], specs[1]).run(t, int64(min(left, perRound)), uint64(left))
				}
			})
		}
	}
}

// sharded8 is the spec of the board with shards of two fixed chunks. Each fixed chunk is
// an inner chunk.
func sharded8() zarr.Spec {
	s := fixture.Every(boardRows, 16)
	s.InnerChunks = grid.Chunks(8)
	return s
}
