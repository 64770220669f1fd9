// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// unlisted is a store that can only get values, like a web server.
type unlisted struct{ store.Store }

// dying wraps a store so that every operation after the last permitted one fails.
func dying(s memtest.Store, last func(op stepping.Op) bool) store.Store {
	var dead atomic.Bool
	died := errors.New("the writer is dead")
	return stepping.Conditional(s, stepping.Hooks{
		Before: func(context.Context, stepping.Op) error {
			if dead.Load() {
				return died
			}
			return nil
		},
		After: func(op stepping.Op, err error) error {
			if err == nil && last(op) {
				dead.Store(true)
			}
			return err
		},
	})
}

// row returns n numbers.
func row(n int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(1 + i)
	}
	return v
}

// pair stores a group of two arrays with consolidated metadata, whose writer crashed
// right after it committed a transaction on both.
func pair(t *testing.T, format int) memtest.Store {
	t.Helper()
	ctx, m := t.Context(), memtest.New()
	g, err := zarr.At(m, "g").CreateGroup(ctx, nil, &zarr.CreateOptions{Format: format})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(4)}}
		a, err := g.At(name).CreateArray(ctx, spec, nil)
		if err == nil {
			err = zarr.Write(ctx, a, nil, row(4))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Consolidate(ctx); err != nil {
		t.Fatal(err)
	}
	decided := func(op stepping.Op) bool {
		return strings.Contains(op.Key.String(), "/together-") && strings.HasPrefix(op.Name, "Put")
	}
	d, err := zarr.At(dying(m, decided), "g").OpenGroup(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Append(ctx, zarr.Add("a", 0, row(4), nil), zarr.Add("b", 0, row(4), nil))
	if !errors.Is(err, zarr.ErrDecided) && !errors.Is(err, zarr.ErrOutcomeUnknown) {
		t.Fatalf("%v, want a change that is decided and not finished", err)
	}
	return m
}

// TestUnsettled copies and converts a group with an unfinished transaction. It is
// refused, even if the store cannot be listed, and works once the transaction is
// finished.
func TestUnsettled(t *testing.T) {
	for name, run := range map[string]func(ctx context.Context, src, dst *zarr.Location) error{
		"copy": func(ctx context.Context, src, dst *zarr.Location) error {
			_, err := transfer.Copy(ctx, src, dst, nil)
			return err
		},
		"to 2": func(ctx context.Context, src, dst *zarr.Location) error {
			_, err := convert.ConvertTo(ctx, src, dst, 2, nil)
			return err
		},
		"to 3": func(ctx context.Context, src, dst *zarr.Location) error {
			_, err := convert.ConvertTo(ctx, src, dst, 3, nil)
			return err
		},
	} {
		for _, format := range []int{2, 3} {
			for _, path := range []string{"g", "g/b"} {
				m := pair(t, format)
				for kind, s := range map[string]store.Store{"listed": m, "unlisted": unlisted{m}} {
					err := run(t.Context(), zarr.At(s, path), zarr.At(memtest.New(), "x"))
					if !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "finish") {
						t.Errorf("%s of %s, format %d, %s: %v", name, path, format, kind, err)
					}
				}
				if _, err := zarr.At(m, "g/a").OpenArray(t.Context(), &zarr.Options{Write: true}); err != nil {
					t.Fatal(err)
				}
				dst := memtest.New()
				if err := run(t.Context(), zarr.At(unlisted{m}, path), zarr.At(dst, "x")); err != nil {
					t.Fatalf("%s of %s, format %d: %v", name, path, format, err)
				}
				copied := map[string]string{"g": "x/b", "g/b": "x"}[path]
				wantRow(t, dst, copied, slices.Repeat(row(4), 2))
			}
		}
	}
}

// TestUnsettledInPlace converts such a group in place: it is refused, and nothing is
// lost.
func TestUnsettledInPlace(t *testing.T) {
	m := pair(t, 2)
	if _, err := convert.Convert(t.Context(), zarr.At(m, ""), 3, nil); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("%v, want %v", err, zarr.ErrConflict)
	}
	for _, name := range []string{"g/a", "g/b"} {
		if _, err := zarr.At(m, name).OpenArray(t.Context(), &zarr.Options{Write: true}); err != nil {
			t.Fatal(err)
		}
		wantRow(t, m, name, slices.Repeat(row(4), 2))
	}
}

// TestUntrimmed copies and converts an array with an unfinished trim, from stores that
// can and cannot be listed: all elements are there, or it is refused.
func TestUntrimmed(t *testing.T) {
	ctx, m := t.Context(), memtest.New()
	g, err := zarr.At(m, "g").CreateGroup(ctx, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := zarr.Spec{Shape: []int64{6, 5}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(4), grid.Every(3)}}
	a, err := g.At("a").CreateArray(ctx, spec, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, row(30))
	}
	if err == nil {
		err = g.Consolidate(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	published := func(op stepping.Op) bool {
		if op.Key.String() != "g/a/zarr.json" || op.Name != "PutIf" {
			return false
		}
		b, err := zarr.At(m, "g/a").OpenArray(ctx, nil)
		return err == nil && !b.Grid().Axis(0).IsRegular()
	}
	d, err := zarr.At(dying(m, published), "g/a").OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.MakeRectilinear(ctx, &zarr.RectilinearOptions{Trim: true}); !errors.Is(err, zarr.ErrIncomplete) {
		t.Fatalf("%v, want a trim that is published and not finished", err)
	}
	for kind, s := range map[string]store.Store{"listed": m, "unlisted": unlisted{m}} {
		for _, path := range []string{"g", "g/a"} {
			copied := map[string]string{"g": "x/a", "g/a": "x"}[path]
			dst := memtest.New()
			if _, err := transfer.Copy(ctx, zarr.At(s, path), zarr.At(dst, "x"), nil); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			wantRow(t, dst, copied, row(30))
			if _, err := zarr.At(dst, copied).OpenArray(ctx, &zarr.Options{Write: true}); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			for key := range trees.Values(t, dst, copied) {
				if strings.Contains(key, "aside") {
					t.Errorf("%s: %s of the copy stays aside", kind, key)
				}
			}
			wantRow(t, dst, copied, row(30))
			if _, err := convert.ConvertTo(ctx, zarr.At(s, path), zarr.At(memtest.New(), "x"), 3, nil); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("%s, %s to format 3: %v, want %v", kind, path, err, zarr.ErrConflict)
			}
			old := memtest.New() // its chunks are encoded again
			if _, err := convert.ConvertTo(ctx, zarr.At(s, path), zarr.At(old, "x"), 2, nil); err != nil {
				t.Fatalf("%s, %s to format 2: %v", kind, path, err)
			}
			wantRow(t, old, copied, row(30))
		}
	}
}

// TestOlderConsolidated copies a group from a store that cannot be listed. Its
// consolidated metadata is stale, because an array has grown since; all chunks are copied
// nevertheless.
func TestOlderConsolidated(t *testing.T) {
	ctx, m := t.Context(), memtest.New()
	g, err := zarr.At(m, "").CreateGroup(ctx, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}}
	a, err := g.At("a").CreateArray(ctx, spec, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, row(4))
	}
	if err == nil {
		err = g.Consolidate(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	older, _, err := m.Get(ctx, store.MustKey("zarr.json"), store.Request{}, nil)
	if err == nil {
		err = zarr.Append(ctx, a, 0, row(4), nil)
	}
	if err == nil {
		_, err = m.Write(ctx, store.Put(store.MustKey("zarr.json"), older), store.Flush)
	}
	if err != nil {
		t.Fatal(err)
	}
	dst := memtest.New()
	if _, err := transfer.Copy(ctx, zarr.At(unlisted{m}, ""), zarr.At(dst, "x"), nil); err != nil {
		t.Fatal(err)
	}
	wantRow(t, dst, "x/a", slices.Repeat(row(4), 2))
}

// wantRow checks the elements of the array at a path.
func wantRow(t *testing.T, s store.Store, path string, want []int32) {
	t.Helper()
	a, err := zarr.At(s, path).OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("%s holds %v (%v), want %v", path, got.Data, err, want)
	}
}

// TestCopyUnlistedHuge copies arrays with too many chunks to ask for, from stores that
// cannot be listed.
func TestCopyUnlistedHuge(t *testing.T) {
	ctx, m := t.Context(), memtest.New()
	for name, cut := range map[string]grid.Cut{"regular": grid.Every(1), "listed": grid.Runs(grid.Run{Length: 1, Count: 1 << 62})} {
		spec := zarr.Spec{Shape: []int64{1 << 62}, Type: dtype.Int8, Chunks: []grid.Cut{cut}}
		if _, err := zarr.At(m, name).CreateArray(ctx, spec, nil); err != nil {
			t.Fatal(err)
		}
		_, err := transfer.Copy(ctx, zarr.At(unlisted{m}, name), zarr.At(memtest.New(), "x"), nil)
		if !errors.Is(err, zarr.ErrLimit) {
			t.Errorf("%s: %v, want ErrLimit", name, err)
		}
		ended, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		_, err = convert.ConvertTo(ended, zarr.At(unlisted{m}, name), zarr.At(memtest.New(), "x"), 2, nil)
		cancel()
		if err == nil {
			t.Errorf("%s: converted", name)
		}
	}
}
