// SPDX-License-Identifier: Apache-2.0

package statistics_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// TestInStep makes entries first, and then compares them with the elements after each of
// many changes, whose writers keep them in step.
func TestInStep(t *testing.T) {
	ctx := t.Context()
	known, stored, partly := map[string]int{}, map[string]int{}, map[string]int{}
	defer statistics.Waiting(func() {})() // no program changes files in place here
	for seed := range fixture.Soaked(t, 50, 3000) {
		var s store.Store = memstore.New()
		if seed%4 == 0 {
			var err error
			if s, err = filestore.Open(t.TempDir(), nil); err != nil {
				t.Fatal(err)
			}
		}
		h := &history{rand.New(rand.NewPCG(uint64(seed), 7)), zarr.At(s, "a")}
		if err := h.create(ctx); err != nil {
			t.Fatal(err)
		}
		var steps []string
		for range 14 {
			if _, err := remake(ctx, h.at, nil); err != nil {
				t.Fatal(err)
			}
			what, err := h.step(ctx)
			if errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrUnsupported) {
				continue // such as shards that inner chunks do not divide
			}
			steps = append(steps, what)
			if err != nil {
				t.Fatalf("seed %d: %v: %v", seed, steps, err)
			}
			k, n, err := compare(ctx, h.at)
			if err != nil {
				t.Fatalf("seed %d: %v: %v", seed, steps, err)
			}
			known[what], stored[what] = known[what]+k, stored[what]+n
			if k < n {
				partly[what]++
				if what == "write" || what == "append" {
					t.Errorf("seed %d: %v: %d of %d are known", seed, steps, k, n)
				}
			}
		}
	}
	for what := range known {
		t.Logf("%s: %d of %d known, partly %d times", what, known[what], stored[what], partly[what])
	}
}

// TestCheckedOnce checks arrays that have statistics. Every chunk is decoded once, except
// long ones without a codec, whose bytes are checked in ranges.
func TestCheckedOnce(t *testing.T) {
	ctx := t.Context()
	long := fixture.Every(4<<20, 2<<20)
	long.Codecs = fixture.Plain()
	shards := fixture.Every(48, 24)
	shards.InnerChunks = grid.Chunks(2)
	for name, c := range map[string]struct {
		spec    zarr.Spec
		decoded int64
	}{
		"chunks":  {fixture.Every(40, 4), 10},
		"shards":  {shards, 24},
		"missing": {shards, 24},
		"long":    {long, 0},
	} {
		at := zarr.At(memstore.New(), "a")
		a, err := at.CreateArray(ctx, c.spec, nil)
		if err == nil {
			err = zarr.Write(ctx, a, nil, fixture.Numbers(1, int32(c.spec.Shape[0])))
		}
		if err == nil && name == "missing" { // inner chunks that are not stored
			err = zarr.Fill(ctx, a, selection.Box{{10, 20}}, int32(0))
			c.decoded -= 5
		}
		if err == nil {
			_, err = statistics.Make(ctx, a, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		count := new(observe.Counter)
		watched, err := at.OpenArray(ctx, &zarr.Options{Observer: count})
		if err != nil {
			t.Fatal(err)
		}
		report, err := check.Run(ctx, watched, nil)
		if err != nil || len(report.Findings) > 0 {
			t.Fatal(report, err)
		}
		stats := count.Stats()
		// Blocks of the entries are decoded, too.
		if n := stats.Of(observe.Decode).Times; n < c.decoded || n > c.decoded+2 {
			t.Errorf("%s: %d chunks are decoded", name, n)
		}
	}
}

// changes are what writers do to the arrays of TestInStepCrash.
var changes = map[string]func(ctx context.Context, a *zarr.Array) error{
	"append": func(ctx context.Context, a *zarr.Array) error {
		return zarr.Append(ctx, a, 0, fixture.Numbers(100, 7), nil)
	},
	"write": func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.Box{{3, 17}}, fixture.Numbers(200, 14))
	},
	"shrink": func(ctx context.Context, a *zarr.Array) error { return a.Resize(ctx, []int64{13}, nil) },
	"rechunk": func(ctx context.Context, a *zarr.Array) error {
		_, err := rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(12)}}, nil)
		return err
	},
	"drop": func(ctx context.Context, a *zarr.Array) error {
		_, err := rechunk.Do(ctx, a, rechunk.Removal{Range: grid.Interval{Stop: 8}, Unlock: true}, nil)
		return err
	},
}

// TestInStepCrash stops the machine before each operation of a change on the file system.
// Whatever a power cut leaves, an entry that counts as known is true.
func TestInStepCrash(t *testing.T) {
	fixture.Sequential(t)
	ctx, points, images, stride := t.Context(), 0, 0, fixture.Stride(5)
	for _, inner := range []int64{0, 2} {
		prepared := func() (*vfs.Disk, *zarr.Location) {
			disk := vfs.NewDisk()
			spec := fixture.Every(20, 4)
			if inner > 0 {
				spec.InnerChunks = grid.Chunks(inner)
			}
			_, at := made(t, fixture.FileStore(disk), spec, fixture.Numbers(1, 20))
			return disk, at
		}
		for name, change := range changes {
			known := 0
			for n := int64(points) % stride; ; n += stride {
				disk, at := prepared()
				stop, stopped := vfs.StopAt(n)
				a, err := zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), "a").OpenArray(ctx, &zarr.Options{Write: true})
				if err == nil {
					err = change(ctx, a)
				}
				if !stopped() {
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					k, stored, err := compare(ctx, at)
					if known = k; err != nil || k < stored-1 {
						t.Errorf("%s: %d of %d known: %v", name, k, stored, err)
					}
					break
				}
				points++
				for label, image := range disk.Images(uint64(n), fixture.RandomImages()) {
					images++
					if _, _, err := compare(ctx, zarr.At(fixture.FileStore(image), "a")); err != nil {
						t.Fatalf("%s, operation %d, %s: %v", name, n, label, err)
					}
				}
			}
			t.Logf("%s, inner %d: %d known", name, inner, known)
		}
	}
	t.Logf("%d points, %d images", points, images)
	if points < 500/int(stride) {
		t.Error("few points were tried")
	}
}

// TestInStepCrowd lets several writers change an array at once, each with a handle of its
// own, so that they store the same blocks of entries.
func TestInStepCrowd(t *testing.T) {
	ctx := t.Context()
	for round := range uint64(6) {
		var s store.Store = memstore.New()
		if round%2 == 0 {
			var err error
			if s, err = filestore.Open(t.TempDir(), nil); err != nil {
				t.Fatal(err)
			}
		}
		spec := fixture.Every(96, 8)
		if round%3 == 0 {
			spec.InnerChunks = grid.Chunks(2)
		}
		_, at := made(t, s, spec, fixture.Numbers(1, 96))
		group, within := parallel.New(ctx)
		for writer := range uint64(4) {
			group.Go(func() error {
				r := rand.New(rand.NewPCG(round, writer))
				a, err := at.OpenArray(within, &zarr.Options{Write: true})
				for range 12 {
					if err != nil {
						break
					}
					if from := r.Int64N(90); r.IntN(3) > 0 {
						err = zarr.Write(within, a, selection.Box{{from, from + 6}}, fixture.Numbers(r.Int32N(99), 6))
					} else {
						err = zarr.Append(within, a, 0, fixture.Numbers(r.Int32N(99), 3), nil)
					}
				}
				return err
			})
		}
		if err := group.Wait(nil); err != nil {
			t.Fatal(err)
		}
		known, stored, err := compare(ctx, at)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d of %d known", known, stored)
	}
}

// TestNotNoted changes arrays of which writers cannot know what readers will find, or
// that have no statistics any more.
func TestNotNoted(t *testing.T) {
	ctx := t.Context()
	// Readers find rounded numbers.
	at := zarr.At(memstore.New(), "a")
	spec := zarr.Spec{Shape: []int64{8}, Chunks: grid.Chunks(4), Type: dtype.Float32, Codecs: append([]metadata.Extension{codec.BitRound(3)}, fixture.Plain()...)}
	a, err := at.CreateArray(ctx, spec, nil)
	if err == nil {
		_, err = statistics.Make(ctx, a, nil)
	}
	if err == nil {
		err = zarr.Write(ctx, a, nil, []float32{1.01, 2.01, 3.01, 4.01, 5.01, 6.01, 7.01, 8.01})
	}
	if known, _, err2 := compare(ctx, at); err != nil || err2 != nil || known != 0 {
		t.Errorf("rounded: %d known: %v, %v", known, err, err2)
	}
	b, at := made(t, memstore.New(), fixture.Every(40, 4), fixture.Numbers(1, 40))
	kept := func() (n int) {
		for e, err := range store.List(ctx, at.Store(), store.Path{}, store.Deep) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(e.Name, "statistics") {
				n++
			}
		}
		return n
	}
	if kept() != 2 {
		t.Error(kept())
	}
	// What another program has dropped stays away.
	other, err := at.OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		_, err = statistics.Drop(ctx, other)
	}
	if err == nil {
		err = zarr.Write(ctx, b, nil, fixture.Numbers(2, 40))
	}
	if err != nil {
		t.Fatal(err)
	}
	if kept() != 0 {
		t.Error(kept())
	}
}

// unlocked is a store without locks, but with conditional writes.
type unlocked struct {
	store.Store
	store.Writer
	store.Lister
	store.Stater
}

// TestCleared lets a shard shrink and grow again in a store without locks, where its
// inner chunks are cleared when the array is about to have them again.
func TestCleared(t *testing.T) {
	ctx := t.Context()
	spec := fixture.Every(8, 8)
	spec.InnerChunks = grid.Chunks(2)
	m := memtest.New()
	a, at := made(t, unlocked{m, m, m, m}, spec, fixture.Numbers(1, 8))
	for _, n := range []int64{4, 8} {
		if err := a.Resize(ctx, []int64{n}, &zarr.ResizeOptions{KeepStale: n == 4}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := compare(ctx, at); err != nil {
			t.Errorf("%d elements: %v", n, err)
		}
	}
}

// TestSilent cancels a call that waits for a store: nothing is kept.
func TestSilent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if statistics.Awaited(ctx) {
		t.Error("kept")
	}
}
