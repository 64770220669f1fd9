// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

const batchRows = 5

// batchOf returns the elements of append number seq of a writer.
func batchOf(writer, seq int) []int32 {
	rows := make([]int32, batchRows)
	for i := range rows {
		rows[i] = int32(writer*100_000 + seq*10 + i)
	}
	return rows
}

// batches checks that rows consist of whole appends, those of each writer in order and
// once. It returns the number of appends of each writer.
func batches(rows []int32) (map[int]int, error) {
	next := map[int]int{}
	for i := 0; i < len(rows); i += batchRows {
		writer := int(rows[i]) / 100_000
		if got, want := rows[i:min(i+batchRows, len(rows))], batchOf(writer, next[writer]); !slices.Equal(got, want) {
			return nil, fmt.Errorf("row %d of %d: %v, want %v", i, len(rows), got, want)
		}
		next[writer]++
	}
	return next, nil
}

// specs are arrays to append to: with listed edges, and with chunks whose length is no
// multiple of an append.
func specs() map[string]zarr.Spec {
	typ := dtype.Int32
	return map[string]zarr.Spec{
		"edges":   {Shape: []int64{batchRows}, Type: typ, Chunks: []grid.Cut{grid.Edges(batchRows)}},
		"regular": {Shape: []int64{batchRows}, Type: typ, Chunks: grid.Chunks(4)},
	}
}

// rowsIn reads the array.
func rowsIn(ctx context.Context, h *zarr.Location) ([]int32, error) {
	a, err := h.At("g/a").OpenArray(ctx, nil)
	if err != nil {
		return nil, err
	}
	b, err := zarr.Read[int32](ctx, a, nil)
	return b.Data, err
}

// start creates the array with one append of writer 0.
func start(t *testing.T, h *zarr.Location, spec zarr.Spec) {
	t.Helper()
	a, err := h.At("g/a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, batchOf(0, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAppendsWithFaults appends from several writers while the service loses answers and
// requests, and throttles. Nothing acknowledged may be lost, and nothing doubled.
func TestAppendsWithFaults(t *testing.T) {
	const writers, times = 6, 8
	for kind, spec := range specs() {
		f, s := faulty(t, func(o *s3.Options) { o.Read.Attempts, o.Conditions = 8, s3.ProbeConditions })
		h := zarr.At(s, "")
		start(t, h, spec)
		var faults, unknown atomic.Int64
		f.set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
			switch n := rand.IntN(100); {
			case n < 6:
				faults.Add(1)
				return lose(w, r, next)
			case n < 9:
				faults.Add(1)
				panic(http.ErrAbortHandler)
			case n < 12:
				faults.Add(1)
				return answer(http.StatusServiceUnavailable, "SlowDown")(w, r, next)
			case n < 14:
				faults.Add(1)
				return answer(http.StatusInternalServerError, "InternalError")(w, r, next)
			}
			return false
		})
		var acknowledged [writers + 1]int
		var wg sync.WaitGroup
		for w := 1; w <= writers; w++ {
			wg.Go(func() {
				ctx := context.Background()
				a, err := h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true})
				for seq := 0; seq < times && err == nil; seq++ {
					if err = zarr.Append(ctx, a, 0, batchOf(w, seq), nil); err == nil {
						acknowledged[w]++
					}
				}
				if errors.Is(err, zarr.ErrOutcomeUnknown) {
					unknown.Add(1)
				} else if err != nil {
					t.Errorf("%s: writer %d: %v", kind, w, err)
				}
			})
		}
		wg.Wait()
		f.set(nil)
		rows, err := rowsIn(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		found, err := batches(rows)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		for w := 1; w <= writers; w++ {
			if n := found[w]; n != acknowledged[w] && n != acknowledged[w]+1 {
				t.Errorf("%s: writer %d has %d appends, and %d were acknowledged", kind, w, n, acknowledged[w])
			}
		}
		t.Logf("%s: %d faults, %d appends, %d writers ended without knowing the outcome", kind, faults.Load(), len(rows)/batchRows, unknown.Load())
		if faults.Load() < 20 {
			t.Errorf("%s: only %d faults", kind, faults.Load())
		}
	}
}

// errCrash ends a writer.
var errCrash = errors.New("the writer has crashed")

// TestCrash interrupts changes of an array at every operation: the writer crashes before
// or after it. Readers see the old array or the new one, and the next writer continues.
func TestCrash(t *testing.T) {
	service := s3test.Fake(t, nil)
	bucket := service.Bucket(t)
	points := 0
	for kind, spec := range specs() {
		for name, c := range changes() {
			for _, after := range []bool{false, true} {
				for n := int64(0); ; n++ {
					s := service.Open(t, bucket, fmt.Sprintf("%s-%s-%t-%d", kind, name, after, n))
					if !crash(t, s, spec, c, n, after, kind+" "+name) {
						break
					}
					points++
				}
			}
		}
	}
	t.Logf("%d points", points)
	if points < 100 {
		t.Errorf("only %d points were tried", points)
	}
}

// change is a change of an array, and its elements afterwards.
type change struct {
	do   func(ctx context.Context, a *zarr.Array) error
	rows []int32
}

func changes() map[string]change {
	old := batchOf(0, 0)
	return map[string]change{
		"append": {func(ctx context.Context, a *zarr.Array) error {
			return zarr.Append(ctx, a, 0, batchOf(1, 0), nil)
		}, slices.Concat(old, batchOf(1, 0))},
		"shrink": {func(ctx context.Context, a *zarr.Array) error { return a.Resize(ctx, []int64{2}, nil) }, old[:2]},
		"rechunk": {func(ctx context.Context, a *zarr.Array) error {
			_, err := rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3)}}, nil)
			return err
		}, old},
	}
}

// crash runs a change on an array that crashes at operation n. It returns false if the
// change ended before.
func crash(t *testing.T, s *s3.Store, spec zarr.Spec, c change, n int64, after bool, label string) (happened bool) {
	t.Helper()
	ctx := context.Background()
	quiet := zarr.At(s, "")
	start(t, quiet, spec)
	var at atomic.Int64
	broken := zarr.At(stepping.Conditional(s, stepping.Hooks{
		Before: func(context.Context, stepping.Op) error {
			if k := at.Add(1) - 1; k > n || k == n && !after {
				return errCrash
			}
			return nil
		},
		After: func(_ stepping.Op, err error) error {
			if at.Load()-1 >= n {
				return errCrash
			}
			return err
		},
	}), "")
	a, err := broken.At("g/a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
	if err == nil {
		err = c.do(ctx, a)
	}
	happened = at.Load() > n
	if err != nil && !happened {
		t.Fatalf("%s, operation %d: %v", label, n, err)
	}
	rows, readErr := rowsIn(ctx, quiet)
	if readErr != nil {
		t.Fatalf("%s, operation %d: %v", label, n, readErr)
	}
	old := batchOf(0, 0)
	if !slices.Equal(rows, c.rows) && (err == nil || !slices.Equal(rows, old)) {
		t.Fatalf("%s, operation %d (%v): the array is %v", label, n, err, rows)
	}
	next, err := quiet.At("g/a").OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Append(ctx, next, 0, batchOf(2, 0), nil)
	}
	if err != nil {
		t.Fatalf("%s, operation %d: the next append: %v", label, n, err)
	}
	if again, err := rowsIn(ctx, quiet); err != nil || !slices.Equal(again, slices.Concat(rows, batchOf(2, 0))) {
		t.Fatalf("%s, operation %d: after the next append %v (%v)", label, n, again, err)
	}
	return happened
}
