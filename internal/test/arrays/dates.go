// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"context"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Dates lets the dates of answers be hours off, which tell drivers how old values are. No
// grace ends too early for that, and no reader takes a chunk of a newer grid for one of
// its own. at returns the location of an array at the URL of a server. Nothing is there
// before.
func Dates(t *testing.T, server string, at func(url, name string) string) {
	t.Run("grace", func(t *testing.T) { grace(t, server, at) })
	t.Run("first", func(t *testing.T) { first(t, server, at) })
	t.Run("slow", func(t *testing.T) { slow(t, at(server, "slow")) })
	t.Run("stale", func(t *testing.T) { stale(t, server, at) })
}

// grace vacuums an array right after a rechunk, again and again, while about every
// other answer has a wrong date. Each vacuum keeps the superseded grid, whose grace of an
// hour has begun just now.
func grace(t *testing.T, server string, at func(url, name string) string) {
	const vacuums = 24
	p := newProxy(t, server, math.MaxInt, 0)
	p.clock.period, p.clock.next = 0, math.MaxInt
	if err := filled(t.Context(), at(server, "grace"), twoBatches()); err != nil {
		t.Fatal(err)
	}
	p.harm(true)
	a, err := zarr.OpenArray(t.Context(), at(p.url, "grace"), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := recut(t.Context(), a, recutting(a, 0)); err != nil {
		t.Fatal(err)
	}
	for k := range vacuums {
		if kept, err := superseded(t.Context(), a, time.Hour); err != nil || kept != 1 {
			t.Fatalf("vacuum %d keeps %d grids, want 1 (%v)", k, kept, err)
		}
	}
	p.harm(false)
	if n := p.clock.skewed.Load(); n < 2*vacuums {
		t.Errorf("%d answers had a wrong date, at least %d in %d vacuums were expected", n, 2*vacuums, vacuums)
	}
	if kept, err := superseded(t.Context(), a, -1); err != nil || kept != 0 {
		t.Errorf("the vacuum without grace keeps %d grids (%v)", kept, err)
	}
}

// first vacuums an array by stores that know nothing of the clock yet. The first answers
// that each of them gets are hours ahead, one more for each vacuum. All keep the
// superseded grid.
func first(t *testing.T, server string, at func(url, name string) string) {
	const most = 32 // a vacuum takes fewer answers until it knows the age of the grid
	p := newProxy(t, server, math.MaxInt, 0)
	p.clock.next, p.clock.until = math.MaxInt, time.Now().Add(24*time.Hour)
	if err := filled(t.Context(), at(server, "first"), twoBatches()); err != nil {
		t.Fatal(err)
	}
	a, err := zarr.OpenArray(t.Context(), at(server, "first"), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := recut(t.Context(), a, recutting(a, 0)); err != nil {
		t.Fatal(err)
	}
	p.harm(true)
	for n := range most {
		p.clock.early = n
		if kept, err := vacuumed(t.Context(), at(p.url, "first")); err != nil || kept != 1 {
			t.Fatalf("the vacuum with %d answers hours ahead keeps %d grids, want 1 (%v)", n, kept, err)
		}
	}
	if p.clock.skewed.Load() == 0 {
		t.Error("no answer had a wrong date")
	}
}

// slow lists two values of about the same time, and takes seconds to handle the first
// one. That is no difference of the clocks.
func slow(t *testing.T, location string) {
	const pause, most = 3 * time.Second, 2 * time.Second
	s, dir, err := store.OpenLocation(t.Context(), location, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := s.(io.Closer); ok {
		defer c.Close()
	}
	for _, name := range []string{"one", "two"} {
		if _, err := store.Put(t.Context(), s, dir.MustKey(name), []byte("x"), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	var times []time.Time
	for e, err := range store.List(t.Context(), s, dir, true) {
		if err != nil {
			t.Fatal(err)
		}
		if times = append(times, e.Modified); len(times) == 1 {
			time.Sleep(pause)
		}
	}
	if len(times) != 2 || times[1].Sub(times[0]).Abs() > most {
		t.Errorf("the times are %v, want two that differ by %v at most", times, most)
	}
}

// vacuumed opens an array, and vacuums it with a grace of an hour. It returns how many
// superseded grids stay.
func vacuumed(ctx context.Context, location string) (kept int, err error) {
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return 0, err
	}
	defer a.Close()
	return superseded(ctx, a, time.Hour)
}

// superseded vacuums an array, and returns how many superseded grids it keeps.
func superseded(ctx context.Context, a *zarr.Array, grace time.Duration) (kept int, err error) {
	r, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{Grace: grace})
	if err != nil {
		return 0, err
	}
	for _, i := range r.Items {
		if i.Kind == "superseded" && i.Kept != "" {
			kept++
		}
	}
	return kept, nil
}

// stale rechunks an array twice behind the back of a reader, so that a key has a chunk of
// the same length with other rows. Then dates are hours ahead, by which the chunk is
// older than the reader's grid. The reader finds the right rows all the same.
func stale(t *testing.T, server string, at func(url, name string) string) {
	p := newProxy(t, server, math.MaxInt, 0)
	p.clock.next = math.MaxInt
	p.clock.by, p.clock.until = 5*time.Hour, time.Now().Add(24*time.Hour)
	rows := twoBatches()
	if err := filled(t.Context(), at(server, "stale"), rows); err != nil {
		t.Fatal(err)
	}
	reader, err := zarr.OpenArray(t.Context(), at(p.url, "stale"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := recutTwice(t.Context(), at(server, "stale")); err != nil {
		t.Fatal(err)
	}
	p.harm(true)
	want := rows[chunkRows : 2*chunkRows]
	b, err := zarr.Read[int32](t.Context(), reader, selection.Box{{chunkRows, 2 * chunkRows}})
	if err != nil || !slices.Equal(b.Data, want) {
		t.Errorf("the reader finds %v, want %v (%v)", b.Data, want, err)
	}
	if p.clock.skewed.Load() == 0 {
		t.Error("no answer had a wrong date")
	}
}

// twoBatches returns as many rows as there are rows of programs.
func twoBatches() []int32 { return slices.Concat(batch(0, 0), batch(0, 1)) }

// filled makes an array of [Regular] and writes all rows of it.
func filled(ctx context.Context, location string, rows []int32) error {
	if err := Regular.create(ctx, location); err != nil {
		return err
	}
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return err
	}
	defer a.Close()
	return zarr.Write(ctx, a, nil, rows)
}

// recutTwice rechunks an array to chunks that have other rows under the same keys.
func recutTwice(ctx context.Context, location string) error {
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		return err
	}
	defer a.Close()
	keys := a.Spec().KeyEncoding
	for _, r := range []rechunk.Rechunking{
		{Chunks: rechunk.Cuts{grid.Every(chunkRows + 1)}},
		{Chunks: rechunk.Cuts{grid.Edges(ownRows-chunkRows, chunkRows)}, Keys: &keys},
	} {
		if _, err := rechunk.Do(ctx, a, r, nil); err != nil {
			return err
		}
		if _, err := superseded(ctx, a, -1); err != nil {
			return err
		}
	}
	return nil
}
