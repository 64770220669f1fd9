// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/store/observed"
)

var errRefused = errors.New("refused")

const kib = 1 << 10

// TestFarRounds reads 64 chunks whose encoded form has a twentieth of their size. All
// requests are in flight at one time, even if the budget has room for only four decoded
// chunks, and even if decoding takes time. Each chunk is requested once.
func TestFarRounds(t *testing.T) {
	for _, tt := range []struct {
		budget         int64
		flying, rounds int
	}{
		{0, 8, 8}, {0, 32, 2}, {0, 64, 1},
		{256 * kib, 8, 9}, {256 * kib, 16, 7}, // few at first: nobody knows how long chunks are
	} {
		t.Run(fmt.Sprintf("%d KiB, %d at a time", tt.budget/kib, tt.flying), func(t *testing.T) {
			a, f := distant(t, &tally{size: oneIn(20)}, "", slices.Repeat([]int64{64 * kib}, 64)...)
			a.Concurrency, a.Budget = tt.flying, tt.budget
			synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
			if f.most != tt.flying || f.rounds() > tt.rounds || f.asked != 64 {
				t.Errorf("%d requests in %d rounds, up to %d at a time; want 64 in %d, %d at a time", f.asked, f.rounds(), f.most, tt.rounds, tt.flying)
			}
			if tt.budget > 0 && f.held.most > tt.budget {
				t.Errorf("%d bytes were held", f.held.most)
			}
		})
	}
}

// TestFarDefault checks that a far store gets more concurrent requests than a near one.
func TestFarDefault(t *testing.T) {
	a, f := distant(t, &tally{size: oneIn(20)}, "", slices.Repeat([]int64{kib}, 64)...)
	synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
	if f.most < 32 {
		t.Errorf("%d requests at a time", f.most)
	}
}

// paced is a far store that limits its own requests.
type paced struct{ *far }

func (paced) Requests() int { return 100 }

// TestPaced checks that a store that limits its own requests gets as many as it may send,
// through a wrapper too, unless the caller has another number.
func TestPaced(t *testing.T) {
	for asked, want := range map[int]int{0: 100, 7: 7} {
		a, f := distant(t, &tally{size: oneIn(20)}, "", slices.Repeat([]int64{kib}, 300)...)
		a.Store, a.Concurrency = observed.New(paced{f}, nil), asked
		synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
		if f.most != want {
			t.Errorf("%d requests at a time, want %d", f.most, want)
		}
	}
}

// TestFarWhileDecoding checks that decoding does not reduce the requests in flight.
func TestFarWhileDecoding(t *testing.T) {
	a, f := distant(t, &tally{size: oneIn(20), takes: 300 * time.Millisecond}, "", slices.Repeat([]int64{64 * kib}, 24)...)
	a.Concurrency, a.Budget = 2, 256*kib
	synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
	late := 0 // requests that began when no second had passed since the one before the last
	for i := 2; i < len(f.began); i++ {
		if f.began[i].Sub(f.began[i-2]) > time.Second {
			late++
		}
	}
	if f.most != 2 || late > 2 {
		t.Errorf("%d requests at a time, %d of 24 were late", f.most, late)
	}
}

// TestFarMemory reads chunks of equal and different lengths, with encoded forms of
// several sizes, within budgets from one byte to all of them. The bytes in memory do
// not exceed the budget. If the budget has no room for a few chunks, one more may be in
// memory, encoded and decoded.
func TestFarMemory(t *testing.T) {
	racing.Skip(t)
	uneven := slices.Repeat([]int64{4 * kib, 100 * kib, 512, 1}, 10)
	for _, tt := range []struct {
		name    string
		lengths []int64
		size    func([]byte) int
		twice   bool // some chunks may be asked for twice
	}{
		{"short", slices.Repeat([]int64{64 * kib}, 40), oneIn(20), false},
		{"noise", slices.Repeat([]int64{64 * kib}, 40), oneIn(1), false},
		{"ever longer", slices.Repeat([]int64{64 * kib}, 100), growing, true},
		{"uneven", uneven, oneIn(3), true},
		{"uneven noise", uneven, oneIn(1), true},
	} {
		for _, budget := range []int64{1, 5, 4 * kib, 64 * kib, 100 * kib, 128 * kib, 400 * kib, 8192 * kib} {
			t.Run(fmt.Sprintf("%s, %d", tt.name, budget), func(t *testing.T) {
				a, f := distant(t, &tally{size: tt.size}, "", tt.lengths...)
				a.Concurrency, a.Budget = 8, budget
				synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
				most := budget
				if largest := slices.Max(tt.lengths); budget < 4*largest {
					most += 2 * largest
				}
				if f.held.most > most || f.held.now != 0 {
					t.Errorf("%d bytes were held, %d in the end, want at most %d", f.held.most, f.held.now, most)
				}
				if again := f.asked - len(tt.lengths); again < 0 || again > 0 && !tt.twice || again > len(tt.lengths)/2 {
					t.Errorf("%d requests for %d chunks", f.asked, len(tt.lengths))
				}
			})
		}
	}
}

// TestFarShards reads shards, and parts of shards. Together they have exactly the
// permitted number of requests in flight, and at most the bytes of the budget. The read
// ends with any budget.
func TestFarShards(t *testing.T) {
	for _, tt := range []struct {
		budget          int64
		concurrency     int
		flying, ofAPart int // requests at a time, at least
	}{
		{0, 8, 8, 8}, {0, 32, 32, 32}, {256 * kib, 8, 8, 8}, {256 * kib, 1, 1, 1}, {64 * kib, 8, 1, 1}, {kib, 8, 1, 1}, {1, 8, 1, 1},
	} {
		t.Run(fmt.Sprintf("%d KiB, %d at a time", tt.budget/kib, tt.concurrency), func(t *testing.T) {
			a, f := distant(t, &tally{size: oneIn(20)}, "4096,[16384,3],12288", slices.Repeat([]int64{64 * kib}, 64)...)
			a.Concurrency, a.Budget = tt.concurrency, tt.budget
			synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
			if f.most > tt.concurrency || f.most < tt.flying || tt.budget > kib && f.burden > tt.budget {
				t.Errorf("%d requests at a time, %d bytes", f.most, f.burden)
			}
			f.most = 0
			synctest.Test(t, func(t *testing.T) {
				part := must(selectRow(32*kib, a.Grid.Shape()[0]-32*kib))
				if _, err := a.Read(t.Context(), part, spread(part.FullShape(), a.Size), engine.Reading{}); err != nil {
					t.Error(err)
				}
			})
			if f.most > tt.concurrency || f.most < tt.ofAPart {
				t.Errorf("%d requests at a time for a part", f.most)
			}
		})
	}
}

// TestFarLongShards reads shards with a budget for five of them. It makes all permitted
// requests concurrently, for ranges of shards.
func TestFarLongShards(t *testing.T) {
	a, f := distant(t, &tally{size: oneIn(1)}, "[65536,16]", slices.Repeat([]int64{1024 * kib}, 16)...)
	a.Concurrency, a.Budget = 8, 6*1024*kib
	synctest.Test(t, func(t *testing.T) { readFar(t.Context(), t, a) })
	if f.most != 8 || f.burden > a.Budget {
		t.Errorf("%d requests at a time, %d bytes", f.most, f.burden)
	}
}

// TestFarEnds refuses one chunk, or ends the context during the read, with budgets that
// make other workers wait. The read returns the error, and all goroutines end.
func TestFarEnds(t *testing.T) {
	for _, inner := range []string{"", "[16384,4]"} {
		for _, budget := range []int64{0, 1, 100 * kib} {
			a, f := distant(t, &tally{size: oneIn(4), takes: 100 * time.Millisecond}, inner, slices.Repeat([]int64{64 * kib}, 64)...)
			a.Concurrency, a.Budget = 4, budget
			read := func(ctx context.Context) error {
				_, err := a.Read(ctx, all(a), spread(a.Grid.Shape(), a.Size), engine.Reading{})
				return err
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
				defer cancel()
				if err := read(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("inner chunks %q, %d bytes: %v", inner, budget, err)
				}
			})
			f.fail = "a/c/20"
			synctest.Test(t, func(t *testing.T) {
				wantChunk(t, read(t.Context()), errRefused, "a/c/20", 20)
			})
		}
	}
}
