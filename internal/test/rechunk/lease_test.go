// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// leased is the array a of 20 elements in a store without locks.
func leased(t *testing.T) (stepping.ObjectStore, *zarr.Array) {
	t.Helper()
	s := stepping.Conditional(memtest.New(), stepping.Hooks{})
	spec := fixture.Edges(slices.Repeat([]int64{1}, 20)...)
	spec.Codecs = plainCodecs
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 20))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, another(t, s)
}

// another opens the array as another process does.
func another(t *testing.T, s stepping.ObjectStore) *zarr.Array {
	t.Helper()
	a, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// ofOther makes the claim at a place one of another process. without is a member that is
// removed, as a program of before has none.
func ofOther(t *testing.T, s stepping.ObjectStore, place, without string) {
	t.Helper()
	key := store.Path{}.MustKey(place + "/__varve/regrid.json")
	raw, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	var claim map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &claim)
	}
	if err == nil {
		claim["by"] = map[string]any{"pid": 1, "host": "another"}
		delete(claim, without)
		raw, err = json.Marshal(claim)
	}
	if err == nil {
		_, err = s.Write(t.Context(), store.Put(key, raw), store.Flush)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// twos makes chunks of two elements, and fives of five.
var twos, fives = rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(2)}}, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(5)}}

// TestLeaseEnds stops rechunks in a store without locks, as a killed process does.
// The same request resumes them once their lease has run out, and another one gives them
// up. Before that, both are refused, and the error says how long the lease lasts.
func TestLeaseEnds(t *testing.T) {
	do := func(r rechunk.Request, o rechunk.Options) func(*testing.T, *zarr.Array) error {
		return func(t *testing.T, a *zarr.Array) error {
			_, err := rechunk.Do(t.Context(), a, r, &o)
			return err
		}
	}
	tests := map[string]struct {
		change func(t *testing.T, a *zarr.Array) error
		chunks int64 // afterwards
	}{
		"the same request": {do(twos, rechunk.Options{}), 10},
		"another request":  {do(fives, rechunk.Options{}), 4},
		"abandon":          {func(t *testing.T, a *zarr.Array) error { return rechunk.Abandon(t.Context(), a, nil) }, 20},
		"one of many arrays": {func(t *testing.T, a *zarr.Array) error {
			_, err := rechunk.DoAll(t.Context(), []rechunk.Part{{Array: a, Request: fives}}, nil)
			return err
		}, 4},
		"with a grace of its": {do(fives, rechunk.Options{Grace: -1}), 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, a := leased(t)
				stopped(t, a, twos, rechunk.Options{})
				ofOther(t, s, "a", "")
				for _, wait := range []time.Duration{0, 30 * time.Second, 29 * time.Second} {
					time.Sleep(wait)
					err := test.change(t, another(t, s))
					if !errors.Is(err, rechunk.ErrClaimed) || !strings.Contains(err.Error(), "its lease ends in ") || !strings.Contains(err.Error(), "TakeOver") {
						t.Fatalf("before the lease ends: %v", err)
					}
				}
				time.Sleep(2 * time.Second)
				if err := test.change(t, another(t, s)); err != nil {
					t.Fatalf("after it: %v", err)
				}
				reads(t, s, fixture.Numbers(1, 20)...)
				b := another(t, s)
				if n := b.Grid().Chunks()[0]; n != test.chunks {
					t.Errorf("%d chunks", n)
				}
				vacuumNow(t, b)
				if is := keys(t, s); strings.Contains(is, "regrid") || strings.Count(is, " ") != int(test.chunks)+1 {
					t.Errorf("left %s", is)
				}
			})
		})
	}
}

// TestLeaseOfOldProgram stops a rechunk of a program that renews nothing: that its
// claim stays as it is means nothing, so only its caller can tell that it has ended.
func TestLeaseOfOldProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, a := leased(t)
		stopped(t, a, twos, rechunk.Options{})
		ofOther(t, s, "a", "lease")
		time.Sleep(24 * time.Hour)
		for _, r := range []rechunk.Request{twos, fives} {
			if _, err := rechunk.Do(t.Context(), another(t, s), r, nil); !errors.Is(err, rechunk.ErrClaimed) {
				t.Errorf("%v", err)
			}
		}
		if _, err := rechunk.Do(t.Context(), another(t, s), fives, &rechunk.Options{TakeOver: true}); err != nil {
			t.Error(err)
		}
		reads(t, s, fixture.Numbers(1, 20)...)
	})
}

// TestLeaseThere is TestLeaseEnds for a new array.
func TestLeaseThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, next := range []rechunk.Request{twos, fives} {
			s, a := leased(t)
			stopped(t, a, twos, rechunk.Options{Into: zarr.At(&handle{s}, "b")})
			ofOther(t, s, "b", "")
			into := &rechunk.Options{Into: zarr.At(&handle{s}, "b")}
			if _, err := rechunk.Do(t.Context(), another(t, s), next, into); !errors.Is(err, rechunk.ErrClaimed) {
				t.Errorf("%v", err)
			}
			time.Sleep(time.Minute)
			if _, err := rechunk.Do(t.Context(), another(t, s), next, into); err != nil {
				t.Fatal(err)
			}
			if got := values(t, s, "b"); !slices.Equal(got, fixture.Numbers(1, 20)) {
				t.Errorf("%v", got)
			}
		}
	})
}

// TestLeaseIsRenewed stages slowly. Nobody takes the claim meanwhile.
func TestLeaseIsRenewed(t *testing.T) {
	for _, into := range []string{"", "b"} {
		synctest.Test(t, func(t *testing.T) {
			inner, _ := leased(t)
			var slow atomic.Int64
			s := stepping.Conditional(inner, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
				if op.Name == "Put" && !strings.Contains(op.Key.String(), "__varve") && slow.Add(1) < 6 {
					time.Sleep(10 * time.Minute)
				}
				return nil
			}})
			there := func(s stepping.ObjectStore) *rechunk.Options {
				o := &rechunk.Options{Memory: 1 << 8}
				if into != "" {
					o.Into = zarr.At(&handle{s}, into)
				}
				return o
			}
			done := make(chan error)
			go func() {
				_, err := rechunk.Do(t.Context(), another(t, s), twos, there(s))
				done <- err
			}()
			synctest.Wait()
			ofOther(t, inner, cmp.Or(into, "a"), "")
			for range 8 {
				time.Sleep(90 * time.Second)
				for _, r := range []rechunk.Request{twos, fives} {
					if _, err := rechunk.Do(t.Context(), another(t, inner), r, there(inner)); !errors.Is(err, rechunk.ErrClaimed) {
						t.Fatalf("%v", err)
					}
				}
			}
			if err := <-done; err != nil {
				t.Errorf("the slow one: %v", err)
			}
			if is := keys(t, inner); strings.Contains(is, "regrid") {
				t.Errorf("left %s", is)
			}
		})
	}
}

// TestStoppedForLong stops all of a process, at each of its requests in turn, until its
// lease has run out and another one has resumed its rechunk, or has given it up, and
// possibly was stopped as well. Then it continues, and fails.
func TestStoppedForLong(t *testing.T) {
	for i := range 4 {
		next, name := nextOne{request: twos, stops: i > 1}, "resumed"
		if i%2 > 0 {
			next.request, name = fives, "given up"
		}
		t.Run(fmt.Sprint(name, next.stops), func(t *testing.T) {
			fails := 0
			for at := int64(1); ; at++ {
				ended := false
				synctest.Test(t, func(t *testing.T) { ended = stoppedAt(t, at, next, &fails) })
				if ended {
					break
				}
			}
			if fails < 10 {
				t.Errorf("it has failed %d times", fails)
			}
		})
	}
}

// nextOne is what another process does while one is stopped.
type nextOne struct {
	request rechunk.Rechunking
	stops   bool // before it publishes
}

// stoppedAt stops a process at a request. It returns true if there are fewer.
func stoppedAt(t *testing.T, at int64, next nextOne, fails *int) bool {
	inner, _ := leased(t)
	var requests atomic.Int64
	var takes atomic.Int64        // the request that takes the claim
	requests.Store(math.MinInt32) // those of opening do not count
	goOn, stops := make(chan struct{}), make(chan struct{})
	s := stepping.Conditional(inner, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		// A chunk that is on its way arrives. In this process its lock would be held.
		if op.Name == "Put" && !strings.Contains(op.Key.String(), "__varve") {
			return nil
		}
		n := requests.Add(1)
		if op.Name == "PutIf" && strings.HasSuffix(op.Key.String(), "/regrid.json") && takes.Load() == 0 {
			takes.Store(n)
		}
		if n == at {
			close(stops)
		}
		if n >= at {
			<-goOn
		}
		return nil
	}})
	a := another(t, inner)
	b, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	requests.Store(0)
	done := make(chan error, 1)
	go func() {
		_, err := rechunk.Do(t.Context(), b, twos, &rechunk.Options{Memory: 1 << 8})
		done <- err
	}()
	select {
	case <-stops:
		synctest.Wait()
	case err := <-done:
		if err != nil {
			t.Errorf("without a stop: %v", err)
		}
		return true
	}
	claimed, err := store.Exists(t.Context(), inner, store.Path{}.MustKey("a/__varve/regrid.json"))
	if err != nil {
		t.Fatal(err)
	}
	if claimed {
		ofOther(t, inner, "a", "")
	}
	time.Sleep(2 * time.Minute)
	begun := chunksOf(t, inner)
	want := fixture.Numbers(1, 20)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if next.stops { // as soon as it has the claim
		a = another(t, stepping.Conditional(inner, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if op.Name == "List" && strings.Contains(op.Key.String(), "__varve/regrid/") {
				cancel()
			}
			return nil
		}}))
	}
	switch _, err = rechunk.Do(ctx, a, next.request, nil); {
	case err == nil:
		want[7] = 100
		err = zarr.Write(t.Context(), another(t, inner), selection.BoxOf(grid.Box{{Start: 7, Stop: 8}}), want[7:8])
	case next.stops && errors.Is(err, context.Canceled):
		ofOther(t, inner, "a", "")
		err = nil
	}
	if err != nil {
		t.Errorf("request %d: the next one: %v", at, err)
	}
	then := chunksOf(t, inner)
	close(goOn)
	err = <-done
	if claimed && errors.Is(err, store.ErrConflict) {
		*fails++
	}
	reads(t, inner, want...)
	// What was claimed by it is that of another one now. Only if it was about to compare
	// the keys that it has claimed with the array, it begins anew.
	beginsAnew := then != 20 && at <= takes.Load()+2
	if n := chunksOf(t, inner); claimed && begun == 20 && (n != then || err == nil) && !beginsAnew {
		t.Errorf("request %d: %d chunks, and then %d (%v)", at, then, n, err)
	}
	return false
}

// chunksOf returns the number of chunks of the array.
func chunksOf(t *testing.T, s stepping.ObjectStore) int64 {
	t.Helper()
	return another(t, s).Grid().Chunks()[0]
}

// TestDailyWithoutLocks is a daily job with another goal each day, in a store without
// locks. Some of its runs are killed, and the next day it continues by itself.
func TestDailyWithoutLocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := leased(t)
		for day := range int64(12) {
			r := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(2 + day%5)}}
			if day%3 == 1 {
				stopped(t, another(t, s), r, rechunk.Options{Grace: -1})
				ofOther(t, s, "a", "")
			} else if _, err := rechunk.Do(t.Context(), another(t, s), r, &rechunk.Options{Grace: -1}); err != nil {
				t.Fatalf("day %d: %v", day, err)
			}
			reads(t, s, fixture.Numbers(1, 20)...)
			time.Sleep(24 * time.Hour)
		}
		if is := keys(t, s); strings.Contains(is, "regrid.json") {
			t.Errorf("left %s", is)
		}
	})
}
