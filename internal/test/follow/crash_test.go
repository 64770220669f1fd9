// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// changes are the ways in which the array that is followed changes. The last one is none:
// the array that follows is made.
var changes = map[string]func(ctx context.Context, a *zarr.Array) error{
	"append": func(ctx context.Context, a *zarr.Array) error {
		return zarr.Append(ctx, a, 0, []float32{21, 22, 23, 24, 25, 26, 27, 28, 29}, nil)
	},
	"write": func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.Box{{1, 3}, {0, 2}}, []float32{31, 32, 33, 34})
	},
	"write and append": func(ctx context.Context, a *zarr.Array) error {
		if err := zarr.Write(ctx, a, selection.Box{{0, 1}, {0, 3}}, []float32{41, 42, 43}); err != nil {
			return err
		}
		return zarr.Append(ctx, a, 1, []float32{51, 52, 53, 54, 55}, nil)
	},
	"shrink": func(ctx context.Context, a *zarr.Array) error { return a.Resize(ctx, []int64{3, 2}, nil) },
	"rechunking": func(ctx context.Context, a *zarr.Array) error {
		_, err := rechunk.Do(ctx, a, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(3), grid.Every(3)}}, nil)
		return err
	},
	"attributes": func(ctx context.Context, a *zarr.Array) error {
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"units": "degC"}`), nil })
	},
	"": nil,
}

// sourceIn makes the array that is followed.
func sourceIn(t testing.TB, s store.Store) *zarr.Array {
	t.Helper()
	a, err := zarr.At(s, "a").CreateArray(context.Background(), zarr.Spec{
		Type: dtype.Float32, Shape: []int64{5, 3}, Codecs: fixture.Plain(), Chunks: grid.Chunks(2, 2),
		Attributes: []byte(`{"units": "K"}`),
	}, nil)
	if err == nil {
		err = zarr.Write(context.Background(), a, nil, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var layout = rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Edges(4, 4), grid.Every(2)}, Codecs: fixture.Packed()}

// follow keeps b in step with a, with one request at a time.
func follow(a *zarr.Array, to store.Store) error {
	_, err := rechunk.Follow(context.Background(), a, layout, &rechunk.Options{Into: zarr.At(to, "b")})
	return err
}

// stopping is an array that follows, and a change of the one that it follows that it has
// not seen.
type stopping struct {
	source     *zarr.Array
	old, fresh []float32 // was is nil if the array is not made yet
	doc        []byte
}

// newStopping prepares the store of the array that follows.
func newStopping(t *testing.T, change func(context.Context, *zarr.Array) error, to store.Store) *stopping {
	t.Helper()
	s := &stopping{source: sourceIn(t, memtest.New())}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if change != nil {
		must(follow(s.source, to))
		s.old, err = all(t.Context(), s.source)
		must(err)
		s.doc, _, err = to.Get(t.Context(), store.MustKey("b/zarr.json"), store.Request{}, nil)
		must(err)
		must(change(t.Context(), s.source))
	}
	s.fresh, err = all(t.Context(), s.source)
	must(err)
	return s
}

// check checks what a stopped call has left, and that another one continues.
func (s *stopping) check(t *testing.T, where string, to store.Store) {
	t.Helper()
	s.checkReaders(t, where, to)
	if err := follow(s.source, to); err != nil {
		t.Fatalf("%s: again: %v", where, err)
	}
	got, err := read(to)
	if err != nil || !slices.Equal(got, s.fresh) {
		t.Fatalf("%s: again: %v (%v), want %v", where, got, err, s.fresh)
	}
	b, err := zarr.At(to, "b").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatalf("%s: again: %v", where, err)
	}
	is, _, err := metadata.Attribute(b.Attributes(), "units")
	if want, _, _ := metadata.Attribute(s.source.Attributes(), "units"); err != nil || !bytes.Equal(is, want) {
		t.Fatalf("%s: again: units %s (%v), want %s", where, is, err, want)
	}
	s.checkReaders(t, where+", again", to)
	for e, err := range store.List(t.Context(), to, store.MustKey("b/__varve/-").Dir(), store.Deep) {
		if err != nil || !strings.HasPrefix(e.Name, "follow/") && !strings.HasPrefix(e.Name, "grids/") {
			t.Fatalf("%s: again: %s is left (%v)", where, e.Name, err)
		}
	}
}

// checkReaders checks that a new reader sees one of both states, and an old one the old
// state.
func (s *stopping) checkReaders(t *testing.T, where string, to store.Store) {
	t.Helper()
	got, err := read(to)
	if s.old == nil && errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil || !slices.Equal(got, s.old) && !slices.Equal(got, s.fresh) {
		t.Fatalf("%s: %v (%v), want %v or %v", where, got, err, s.old, s.fresh)
	}
	if s.old == nil {
		return
	}
	r := reader{zarr.At(frozen{to, s.doc}, "b"), s.old}
	if got, err := r.read(t.Context()); err != nil || !slices.Equal(got, s.old) {
		t.Fatalf("%s: a reader with the old document sees %v (%v), want %v", where, got, err, s.old)
	}
}

func read(s store.Store) ([]float32, error) {
	b, err := zarr.At(s, "b").OpenArray(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	return all(context.Background(), b)
}

// TestStopped stops a call before each of its operations on files, as a kill does.
func TestStopped(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	stride, next := fixture.Stride(3), int64(0)
	for name, change := range changes {
		next++
		for n := next % stride; ; n += stride {
			disk := vfs.NewDisk()
			s := newStopping(t, change, fixture.FileStore(disk))
			stop, stopped := vfs.StopAt(n)
			err := follow(s.source, fixture.FileStore(vfs.Hook(disk, stop)))
			if !stopped() {
				t.Logf("%q: %d operations", name, n)
				if err != nil || n < 20 {
					t.Fatalf("%q: %d operations: %v", name, n, err)
				}
				break
			}
			s.check(t, fmt.Sprintf("%q, operation %d", name, n), fixture.FileStore(disk))
		}
	}
}

// TestPowerCut stops the machine, and checks the images of the disk that this may leave.
func TestPowerCut(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	step := int64(fixture.Soaked(t, 7, 1))
	for name, change := range changes {
		for n := int64(0); ; n += step {
			disk := vfs.NewDisk()
			s := newStopping(t, change, fixture.FileStore(disk))
			stop, stopped := vfs.StopAt(n)
			err := follow(s.source, fixture.FileStore(vfs.Hook(disk, stop)))
			if !stopped() {
				if err != nil {
					t.Fatalf("%q: %v", name, err)
				}
				break
			}
			for label, left := range disk.Images(uint64(n), 1) {
				s.check(t, fmt.Sprintf("%q, operation %d, %s", name, n, label), fixture.FileStore(left))
			}
		}
	}
}

// TestInterrupted stops a call before every request to an object store, or after it,
// which loses the answer.
func TestInterrupted(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	for name, change := range changes {
		for _, lost := range []bool{false, true} {
			for k := int64(0); ; k++ {
				left := memtest.New()
				s := newStopping(t, change, fixture.Conditional(left))
				h, stopped := fixture.StopAt(k, lost)
				err := follow(s.source, stepping.Conditional(left, h))
				if !stopped() {
					if err != nil || k < 8 {
						t.Fatalf("%q: %d requests: %v", name, k, err)
					}
					break
				}
				s.check(t, fmt.Sprintf("%q, lost is %v, request %d", name, lost, k), fixture.Conditional(left))
			}
		}
	}
}

// TestUndone stops a call that stores elements where there was no chunk. Before the next
// call they are fill values again, and others have changed.
func TestUndone(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := int64(0); ; n++ {
		disk := vfs.NewDisk()
		a := sourceIn(t, memtest.New())
		must(zarr.Write(t.Context(), a, selection.Box{{0, 4}, {0, 2}}, make([]float32, 8)))
		must(follow(a, fixture.FileStore(disk)))
		must(zarr.Write(t.Context(), a, selection.Box{{0, 4}, {0, 2}}, []float32{1, 2, 3, 4, 5, 6, 7, 8}))
		stop, stopped := vfs.StopAt(n)
		err := follow(a, fixture.FileStore(vfs.Hook(disk, stop)))
		if !stopped() {
			must(err)
			return
		}
		must(zarr.Write(t.Context(), a, selection.Box{{0, 4}, {0, 2}}, make([]float32, 8)))
		must(zarr.Write(t.Context(), a, selection.Box{{0, 1}, {2, 3}}, []float32{99}))
		want, err := all(t.Context(), a)
		must(err)
		must(follow(a, fixture.FileStore(disk)))
		if got, err := read(fixture.FileStore(disk)); err != nil || !slices.Equal(got, want) {
			t.Fatalf("operation %d: %v (%v), want %v", n, got, err, want)
		}
	}
}
