// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"archive/zip"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// stopped begins a rechunk, and stops it once it has staged something.
func stopped(t *testing.T, a *zarr.Array, r rechunk.Request, opt rechunk.Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opt.Memory, opt.Progress = 1<<8, func(rechunk.Progress) { cancel() }
	if _, err := rechunk.Do(ctx, a, r, &opt); !errors.Is(err, context.Canceled) {
		t.Fatalf("%T: %v", r, err)
	}
}

// TestGivenUp stops rechunks of several kinds, one after the other, without that one
// of them is finished. The last one publishes, and nothing of the others is left.
func TestGivenUp(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 20)
	for _, r := range []rechunk.Request{
		rechunk.Compaction{UpTo: 2}, rechunk.Compaction{UpTo: 3}, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(7)}},
		rechunk.Removal{Range: grid.Interval{Start: 1, Stop: 2}}, rechunk.Removal{Range: grid.Interval{Start: 1, Stop: 3}, Expect: 20},
	} {
		stopped(t, a, r, rechunk.Options{})
		reads(t, s, fixture.Numbers(1, 20)...)
	}
	// An extent is compared although another request has begun.
	r := rechunk.Removal{Range: grid.Interval{Start: 0, Stop: 1}, Expect: 19}
	if _, err := rechunk.Do(t.Context(), a, r, nil); !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "20 planes, not 19") {
		t.Errorf("another extent: %v", err)
	}
	// Publishing the stages of another request gives up nothing.
	tasks := fixture.Must(rechunk.Tasks(a, rechunk.Compaction{UpTo: 4}, nil))
	if _, err := tasks.Publish(t.Context()); !errors.Is(err, rechunk.ErrClaimed) {
		t.Errorf("publish: %v", err)
	}
	compact(t, a, 5)
	reads(t, s, fixture.Numbers(1, 20)...)
	if _, err := rechunk.Vacuum(t.Context(), a, noGrace); err != nil {
		t.Fatal(err)
	}
	if is := keys(t, s); is != "a/0 a/1 a/2 a/3 a/zarr.json zarr.json" {
		t.Errorf("left %s", is)
	}
}

// TestMergedInPlace opens what earlier versions of Varve have left: a merge in place that
// was stopped is given up, and a vacuum deletes what one that was published has kept.
func TestMergedInPlace(t *testing.T) {
	for _, name := range []string{"unfinished", "published"} {
		t.Run(name, func(t *testing.T) {
			archive, err := zip.OpenReader("testdata/merged.zip")
			if err != nil {
				t.Fatal(err)
			}
			defer archive.Close()
			files, err := fs.Sub(archive, name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, files); err != nil {
				t.Fatal(err)
			}
			s, err := filestore.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close(s)
			reads(t, s, fixture.Numbers(1, 20)...)
			a, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			compact(t, a, 4)
			reads(t, s, fixture.Numbers(1, 20)...)
			if _, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1}); err != nil {
				t.Fatal(err)
			}
			reads(t, s, fixture.Numbers(1, 20)...)
			if is := keys(t, s); strings.Contains(is, "merged") || strings.Contains(is, "regrid") || strings.Contains(is, "a/c/") {
				t.Errorf("left %s", is)
			}
		})
	}
}

// TestGivenUpThere stops the making of a new array. One with other chunks, also of an
// array with another rank, takes its place.
func TestGivenUpThere(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 20)
	spec := fixture.Edges(1, 1, 1)
	spec.Shape, spec.Chunks = []int64{3, 2}, []grid.Cut{grid.Edges(1, 1, 1), grid.Every(1)}
	b, err := zarr.At(s, "b").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), b, nil, fixture.Numbers(1, 6))
	}
	if err != nil {
		t.Fatal(err)
	}
	stopped(t, a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(2)}}, rechunk.Options{Into: zarr.At(s, "new")})
	stopped(t, a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(1)}}, rechunk.Options{Into: zarr.At(s, "new")})
	if _, err := rechunk.Do(t.Context(), b, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3), grid.Every(2)}}, &rechunk.Options{Into: zarr.At(s, "new")}); err != nil {
		t.Fatal(err)
	}
	if is := keys(t, s); !strings.Contains(is, " new/c/0/0 new/zarr.json") {
		t.Errorf("left %s", is)
	}
	// What is there is not unfinished any more.
	if _, err := rechunk.Do(t.Context(), a, rechunk.Rechunking{}, &rechunk.Options{Into: zarr.At(s, "new")}); err == nil || !strings.Contains(err.Error(), "the destination has something already") {
		t.Errorf("over an array: %v", err)
	}
}

// TestGivenUpTogether stops a removal from two arrays. A compaction of one of them and
// then another removal give it up.
func TestGivenUpTogether(t *testing.T) {
	s := memtest.New()
	a := days(t, s, 20)
	b, err := zarr.At(s, "b").CreateArray(t.Context(), fixture.Edges(slices.Repeat([]int64{1}, 20)...), nil)
	if err == nil {
		err = zarr.Write(t.Context(), b, nil, fixture.Numbers(1, 20))
	}
	if err != nil {
		t.Fatal(err)
	}
	without := func(n int64) []rechunk.Part {
		r := rechunk.Removal{Range: grid.Interval{Stop: n}}
		return []rechunk.Part{{Array: a, Request: r}, {Array: b, Request: r}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := rechunk.DoAll(ctx, without(1), &rechunk.Options{Memory: 1 << 8, Progress: func(rechunk.Progress) { cancel() }}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	compact(t, a, 2)
	if _, err := rechunk.DoAll(t.Context(), without(2), nil); err != nil {
		t.Fatal(err)
	}
	reads(t, s, fixture.Numbers(3, 18)...)
	if got, err := zarr.Read[int32](t.Context(), b, nil); err != nil || !slices.Equal(got.Data, fixture.Numbers(3, 18)) {
		t.Errorf("%v (%v)", got, err)
	}
	if is := keys(t, s); strings.Contains(is, "regrid") {
		t.Errorf("left %s", is)
	}
}

// TestStoppedHolder stops a rechunk in a store without locks before it stores its
// first chunks. Meanwhile another one gives it up, because its caller says that the first
// one has ended. The first one continues and fails: it stores no more chunks, and does
// not publish. It also fails if the array needs none of its changes any more.
func TestStoppedHolder(t *testing.T) {
	tests := map[string]struct {
		days   int32
		memory int64
		fails  error // of the request that was stopped
		stops  bool  // the other one stops before it publishes
	}{
		"before its last chunk": {days: 20},
		"with blocks to come":   {days: 20, memory: 1 << 8},
		"in its only chunk":     {days: 2},
		"in a failing request":  {days: 2, fails: errors.New("the connection was closed")},
		"and the other one too": {days: 20, stops: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
			days(t, inner, test.days)
			var puts atomic.Int64
			given := make(chan struct{}) // closed when the other one has given it up
			s := stepping.Conditional(inner, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
				if op.Name != "Put" || strings.Contains(op.Key.String(), "__varve") {
					return nil
				}
				if puts.Add(1) > 1 {
					<-given
					return nil
				}
				defer close(given)
				return errors.Join(giveUp(t, inner, test.stops), test.fails)
			}})
			a, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 2}, &rechunk.Options{Memory: test.memory})
			if !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "given this rechunk up") || puts.Load() == 0 {
				t.Errorf("the one that was stopped: %v", err)
			}
			if n := puts.Load(); test.memory > 0 && n > 2 { // two tasks run at once
				t.Errorf("it has stored %d chunks after that", n)
			}
			reads(t, inner, fixture.Numbers(1, test.days)...)
			want := int64(test.days+4) / 5
			if test.stops {
				want = int64(test.days)
			}
			again, err := zarr.At(inner, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
			if err != nil || again.Grid().Chunks()[0] != want {
				t.Errorf("%v (%v)", again, err)
			}
		})
	}
}

// giveUp begins another rechunk of the array, which gives up the one that is claimed.
// If it stops, it has not published.
func giveUp(t *testing.T, s stepping.ObjectStore, stops bool) error {
	a, err := zarr.At(&handle{s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		return err
	}
	if _, err = rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 4}, nil); !errors.Is(err, rechunk.ErrClaimed) {
		t.Errorf("without a word: %v", err)
	}
	opt := rechunk.Options{TakeOver: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if stops {
		opt.Memory, opt.Progress = 1<<8, func(rechunk.Progress) { cancel() }
	}
	_, err = rechunk.Do(ctx, a, rechunk.Compaction{UpTo: 5}, &opt)
	if stops && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
