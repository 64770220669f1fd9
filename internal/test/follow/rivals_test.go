// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// machine is a store without locks, as one machine sees it: claims that it has not made
// are those of a process elsewhere.
type machine struct {
	stepping.ObjectStore
	claims map[string]bool
}

func newMachine(s stepping.ObjectStore, h stepping.Hooks) store.Store {
	return &machine{stepping.Conditional(s, h), map[string]bool{}}
}

func (m *machine) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPutIf && strings.HasSuffix(c.Key.String(), "/regrid.json") {
		m.claims[string(c.Value)] = true
	}
	return m.ObjectStore.Write(ctx, c, d)
}

func (m *machine) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := m.ObjectStore.Get(ctx, key, q, dst)
	if err == nil && strings.HasSuffix(key.String(), "/regrid.json") && !m.claims[string(out)] {
		out = bytes.Replace(out, []byte(`"pid":`), []byte(`"pid":1`), 1)
	}
	return out, info, err
}

// later are changes of an array of any shape.
var later = map[string]func(ctx context.Context, a *zarr.Array) error{
	"append": func(ctx context.Context, a *zarr.Array) error {
		return zarr.Append(ctx, a, 0, slices.Repeat([]float32{61}, int(a.Shape()[1])), nil)
	},
	"write": func(ctx context.Context, a *zarr.Array) error {
		return zarr.Write(ctx, a, selection.Box{{2, 3}, {1, 2}}, []float32{71})
	},
	"rechunking": changes["rechunking"],
}

// TestRivals stops one machine before every request for a document or a record of the
// array that follows, until another one has brought it up to date after one more change.
// Whatever the first one does then, the array has the elements of one of both states, and
// those of the last one after another call.
func TestRivals(t *testing.T) {
	racing.Skip(t) // one goroutine, many times
	for first, change := range changes {
		if change == nil {
			continue // whoever comes second finds the place taken
		}
		for second, more := range later {
			for k := int64(0); ; k++ {
				to := memtest.New()
				s := newStopping(t, change, newMachine(to, stepping.Hooks{}))
				var n atomic.Int64
				h := stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
					name := op.Key.String()
					if !strings.HasSuffix(name, "zarr.json") && !strings.Contains(name, "__varve") || n.Add(1) != k+1 {
						return nil
					}
					if err := more(t.Context(), s.source); err != nil {
						t.Fatal(err)
					}
					// Calls of one program take turns at a chunk, so this one may have to
					// give up.
					a, err := s.source.Location().OpenArray(t.Context(), &zarr.Options{Locking: store.Locking{Timeout: time.Millisecond}})
					if err == nil {
						err = follow(a, newMachine(to, stepping.Hooks{}))
					}
					if err != nil && !errors.Is(err, zarr.ErrConflict) && !errors.Is(err, store.ErrLocked) {
						t.Fatalf("%q and %q, request %d: %v", first, second, k, err)
					}
					return nil
				}}
				where := fmt.Sprintf("%q and %q, request %d", first, second, k)
				err := follow(s.source, newMachine(to, h))
				if n.Load() <= k {
					break
				}
				if err != nil && !errors.Is(err, zarr.ErrConflict) && !errors.Is(err, zarr.ErrIncomplete) {
					t.Fatalf("%s: %v", where, err)
				}
				checkEither(t, where, s, to)
			}
		}
	}
}

// checkEither checks that an array follows a source in one of its states, and then in the
// last one.
func checkEither(t *testing.T, where string, s *stopping, to memtest.Store) {
	t.Helper()
	want, err := all(t.Context(), s.source)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(newMachine(to, stepping.Hooks{}))
	if err != nil || !slices.Equal(got, s.old) && !slices.Equal(got, s.fresh) && !slices.Equal(got, want) {
		t.Fatalf("%s: %v (%v), want %v, %v or %v", where, got, err, s.old, s.fresh, want)
	}
	opt := &rechunk.Options{Into: zarr.At(newMachine(to, stepping.Hooks{}), "b"), TakeOver: true}
	if _, err := rechunk.Follow(t.Context(), s.source, rechunk.Rechunking{}, opt); errors.Is(err, rechunk.ErrNoKeys) {
		return // until the grace of a grid is over
	} else if err != nil {
		t.Fatalf("%s: again: %v", where, err)
	}
	if got, err := read(to); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%s: again: %v (%v), want %v", where, got, err, want)
	}
}

// hashed is a store whose versions are hashes of values, as some object stores have them.
type hashed struct{ stepping.ObjectStore }

// Get takes one request, so that the bytes are those of the version.
func (s hashed) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	data, info, err := s.ObjectStore.Get(ctx, key, store.Request{}, nil)
	if err != nil {
		return dst, info, err
	}
	off, n, err := q.Resolve(int64(len(data)))
	if err != nil {
		return dst, info, err
	}
	sum := sha256.Sum256(data)
	info.Version = store.MakeVersion(hex.EncodeToString(sum[:]))
	return append(dst, data[off:off+n]...), info, nil
}

func (s hashed) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	_, info, err := s.Get(ctx, key, store.Request{}, nil)
	return info, err
}

func (s hashed) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return listed(ctx, s, s.ObjectStore, dir, how&^store.WithVersions)
}

// TestReturn writes chunks between the listing and the read of the array that is
// followed, and takes that back before the next listing: one that was stored, and one
// that was not.
func TestReturn(t *testing.T) {
	racing.Skip(t)                           // one goroutine, many times
	for _, other := range []float32{99, 0} { // or the first one is deleted, for fill values
		testReturn(t, other)
	}
}

func testReturn(t *testing.T, other float32) {
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// A read may take several requests.
	for k, width := int64(1), int64(1); width < 4; k++ {
		inner, to := memtest.New(), memtest.New()
		a, err := zarr.At(inner, "a").CreateArray(ctx, zarr.Spec{
			Type: dtype.Float32, Shape: []int64{4}, Codecs: fixture.Plain(), Chunks: grid.Chunks(1),
		}, nil)
		must(err)
		must(zarr.Write(ctx, a, nil, []float32{1, 2, 3, 0}))
		var n atomic.Int64
		var armed atomic.Bool
		write := func(x, y float32) { must(zarr.Write(ctx, a, selection.Box{{4, 6}}, []float32{x, y})) }
		step := func(context.Context, stepping.Op) error {
			if !armed.Load() {
				return nil
			}
			switch n.Add(1) {
			case k:
				write(other, 99)
			case k + width:
				write(5, 0)
			}
			return nil
		}
		seen, err := zarr.At(hashed{stepping.Conditional(inner, stepping.Hooks{Before: step})}, "a").OpenArray(ctx, nil)
		must(err)
		must(follow1(ctx, seen, to))
		must(zarr.Append(ctx, a, 0, []float32{5, 0, 7}, nil))
		armed.Store(true)
		must(follow1(ctx, seen, to))
		if n.Load() < k {
			k, width = 0, width+1
			continue
		}
		armed.Store(false)
		write(5, 0)
		must(follow1(ctx, seen, to))
		if got, err := read(to); err != nil || !slices.Equal(got, []float32{1, 2, 3, 0, 5, 0, 7}) {
			t.Fatalf("%v, request %d, for %d: %v (%v)", other, k, width, got, err)
		}
	}
}

// TestRequests counts what calls read of the array that is followed: one listing and no
// chunk if nothing has changed, and each chunk that is new or has changed once or twice.
func TestRequests(t *testing.T) {
	ctx := t.Context()
	inner, to := memtest.New(), memtest.New()
	a := sourceIn(t, inner)
	var chunks, lists atomic.Int64
	h := stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		switch {
		case strings.Contains(op.Name, "List"):
			lists.Add(1)
		case strings.HasPrefix(op.Key.String(), "a/c/"):
			chunks.Add(1)
		}
		return nil
	}}
	seen, err := zarr.At(stepping.Conditional(inner, h), "a").OpenArray(ctx, nil)
	if err == nil {
		err = follow1(ctx, seen, to)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		change        func(context.Context, *zarr.Array) error
		chunks, lists int64
	}{
		{"none", func(context.Context, *zarr.Array) error { return nil }, 0, 1},
		{"append", changes["append"], 6, 2},         // four new ones, and two that were filled up, twice
		{"write", changes["write"], 4, 2},           // two chunks, twice
		{"rechunking", changes["rechunking"], 6, 3}, // and one for moves of elements
		{"none again", func(context.Context, *zarr.Array) error { return nil }, 0, 1},
	} {
		if err := c.change(ctx, a); err != nil {
			t.Fatal(err)
		}
		chunks.Store(0)
		lists.Store(0)
		if err := follow1(ctx, seen, to); err != nil {
			t.Fatal(err)
		}
		if n, m := chunks.Load(), lists.Load(); n > c.chunks || m > c.lists {
			t.Errorf("%s: %d requests for chunks and %d listings, want at most %d and %d", c.name, n, m, c.chunks, c.lists)
		}
	}
}

// TestFormat2 follows an array of format 2 in a store with locks, and refuses it in one
// without.
func TestFormat2(t *testing.T) {
	ctx, to := t.Context(), fixture.FileStore(vfs.NewDisk())
	spec := fixture.AsV2(zarr.Spec{Type: dtype.Float32, // "<f4": a letter that JSON may escape
		Shape: []int64{4, 3}, Chunks: grid.Chunks(2, 3)})
	a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, spec, &zarr.CreateOptions{Format: 2})
	if err != nil {
		t.Fatal(err)
	}
	place := &rechunk.Options{Into: zarr.At(newMachine(memtest.New(), stepping.Hooks{}), "b")}
	if _, err := rechunk.Follow(ctx, a, rechunk.Rechunking{}, place); !errors.Is(err, zarr.ErrUnsupported) {
		t.Errorf("without locks: %v", err)
	}
	for n, change := range []func() error{
		func() error { return zarr.Write(ctx, a, nil, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) },
		func() error { return zarr.Append(ctx, a, 0, []float32{13, 14, 15}, nil) },
		func() error { return zarr.Write(ctx, a, selection.Box{{0, 1}, {0, 1}}, []float32{16}) },
		func() error { return zarr.Append(ctx, a, 0, []float32{17, 18, 19}, nil) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := follow1(ctx, a, to); err != nil {
			t.Fatal(err)
		}
		want, err := all(ctx, a)
		got, readErr := read(to)
		if err := errors.Join(err, readErr); err != nil || !slices.Equal(got, want) {
			t.Fatalf("change %d: %v (%v), want %v", n, got, err, want)
		}
		// A call that finds nothing to do stores nothing.
		before := origins(t, to)
		if err := follow1(ctx, a, to); err != nil {
			t.Fatal(err)
		}
		if after := origins(t, to); len(after) != 1 || !slices.Equal(after, before) {
			t.Fatalf("change %d: the origins %v, and %v after an idle call", n, before, after)
		}
	}
}

// origins returns the stored origins, with their versions.
func origins(t *testing.T, s store.Store) (list []string) {
	t.Helper()
	for e, err := range store.List(t.Context(), s, store.MustKey("b/__varve/follow/-").Dir(), store.WithVersions) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(e.Name, e.Version))
	}
	return list
}

// TestProgress checks that the progress of each call ends with all chunks.
func TestProgress(t *testing.T) {
	ctx, to := t.Context(), memtest.New()
	a := sourceIn(t, memtest.New())
	for _, name := range []string{"", "append", "write"} {
		if change := changes[name]; change != nil {
			if err := change(ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		var last rechunk.Progress
		opt := &rechunk.Options{Into: zarr.At(to, "b"), Progress: func(p rechunk.Progress) { last = p }}
		if _, err := rechunk.Follow(ctx, a, layout, opt); err != nil {
			t.Fatal(err)
		}
		if last.Stage == 0 || last.Stage != last.Stages || last.Total == 0 || last.Done != last.Total {
			t.Errorf("%q: %+v", name, last)
		}
	}
}
