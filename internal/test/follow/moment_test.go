// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// slowly is a store whose listings are no snapshots: each entry is as it is when the
// listing comes to it.
type slowly struct{ stepping.ObjectStore }

func (s slowly) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	if how&store.WithVersions == 0 {
		return s.ObjectStore.List(ctx, dir, how)
	}
	return listed(ctx, s, s.ObjectStore, dir, how&^store.WithVersions)
}

// listed lists the names of a store, and looks at each value for its version when the
// listing comes to it.
func listed(ctx context.Context, s store.Stater, names store.Lister, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range names.List(ctx, dir, how) {
			if err == nil && !e.Dir {
				info, statErr := s.Stat(ctx, dir.MustKey(e.Name))
				if errors.Is(statErr, fs.ErrNotExist) {
					continue
				}
				e.Version, err = info.Version, statErr
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// TestMoment lets a program write to the array that is followed between any two requests
// of the call. It counts in one chunk after the other, so at any moment neighbours differ
// by at most one, in one direction, and the follower must have the elements of a moment.
func TestMoment(t *testing.T) {
	const chunks = 4
	ctx := t.Context()
	for seed := range uint64(fixture.Soaked(t, 150, 3000)) {
		inner, to := memtest.New(), memtest.New()
		a, err := zarr.At(inner, "a").CreateArray(ctx, zarr.Spec{
			Type: dtype.Float32, Shape: []int64{chunks}, Codecs: fixture.Plain(), Chunks: grid.Chunks(1),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		r, at, writes := rand.New(rand.NewPCG(seed, 1)), 0, 0
		step := func(context.Context, stepping.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if writes == 0 || r.IntN(3) > 0 {
				return nil
			}
			writes--
			i := int64(at % chunks)
			err := zarr.Write(ctx, a, selection.Box{{i, i + 1}}, []float32{float32(at/chunks + 1)})
			at++
			return err
		}
		slow := slowly{stepping.Conditional(inner, stepping.Hooks{Before: step})}
		seen, err := zarr.At(slow, "a").OpenArray(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 4 {
			writes = r.IntN(6)
			_, err := rechunk.Follow(ctx, seen, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3)}}, &rechunk.Options{Into: zarr.At(to, "b")})
			if err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			checkMoment(t, seed, to)
			b, err := zarr.At(to, "b").OpenArray(ctx, &zarr.Options{Write: true})
			if err == nil {
				_, err = rechunk.Vacuum(ctx, b, &rechunk.VacuumOptions{Grace: -1})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		writes = 0
		if err := follow1(ctx, seen, to); err != nil {
			t.Fatal(err)
		}
		if got := checkMoment(t, seed, to); got[0] != float32((at+chunks-1)/chunks) {
			t.Fatalf("seed %d: %v after %d writes", seed, got, at)
		}
	}
}

func follow1(ctx context.Context, a *zarr.Array, to store.Store) error {
	_, err := rechunk.Follow(ctx, a, rechunk.Rechunking{}, &rechunk.Options{Into: zarr.At(to, "b")})
	return err
}

// checkMoment checks that an array has the elements of a moment.
func checkMoment(t *testing.T, seed uint64, to store.Store) []float32 {
	t.Helper()
	got, err := read(to)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got[1:] {
		if got[i] < got[i+1] || got[i]-got[len(got)-1] > 1 {
			t.Fatalf("seed %d: %v is of no moment", seed, got)
		}
	}
	return got
}

// TestFillStays changes an array of fill values, of which no chunk is stored. A reader of
// it must not find the chunks of a later grid.
func TestFillStays(t *testing.T) {
	ctx, to := t.Context(), memtest.New()
	a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, zarr.Spec{
		Type: dtype.Float32, Shape: []int64{1, 1}, Codecs: fixture.Plain(), Chunks: grid.Chunks(1, 1),
	}, nil)
	if err == nil {
		err = follow1(ctx, a, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := to.Get(ctx, store.MustKey("b/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	old := reader{zarr.At(frozen{to, doc}, "b"), []float32{0}}
	for n := range 5 {
		err := zarr.Write(ctx, a, nil, []float32{float32(n + 1)})
		if err == nil {
			err = follow1(ctx, a, to)
		}
		if n > 2 && errors.Is(err, rechunk.ErrNoKeys) {
			break // as it must be until its grace is over
		}
		if err != nil || n > 2 {
			t.Fatalf("change %d: %v, want none or %v", n, err, rechunk.ErrNoKeys)
		}
		if got, err := old.read(ctx); err != nil || got[0] != 0 {
			t.Fatalf("change %d: the old reader sees %v (%v)", n, got, err)
		}
	}
}
