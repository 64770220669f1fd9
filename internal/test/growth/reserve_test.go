// SPDX-License-Identifier: Apache-2.0

package growth_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestReserve fills the parts of a reservation from two programs, in stores with and
// without locks. Nothing is visible before the reservation is published.
func TestReserve(t *testing.T) {
	locked := memtest.New()
	for name, s := range map[string]store.Store{"locks": locked, "conditions": stepping.Conditional(memtest.New(), stepping.Hooks{})} {
		for path, cut := range map[string]grid.Cut{"listed": grid.Edges(2, 1), "regular": grid.Every(3)} {
			ctx, path := t.Context(), name+"/"+path
			a, err := zarr.At(s, path).CreateArray(ctx, zarr.Spec{Shape: []int64{3}, Type: dtype.Int8, Chunks: []grid.Cut{cut}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := zarr.Write(ctx, a, nil, []int8{1, 2, 3}); err != nil {
				t.Fatal(err)
			}
			r, err := a.Reserve(ctx, 0, 3, 6, 2)
			if err != nil {
				t.Fatal(err)
			}
			b, err := zarr.At(s, path).OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			q, err := b.Reservation(ctx)
			if err != nil || q.Parts() != 3 {
				t.Fatalf("Reservation in the other program: %v, %v", q, err)
			}
			if err := zarr.Append(ctx, b, 0, []int8{9}, nil); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("an append during the reservation: %v", err)
			}
			if err := zarr.WritePart(ctx, r, 1, []int8{7, 8, 9, 10, 11, 12}); err != nil {
				t.Fatal(err)
			}
			if err := r.Publish(ctx); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("published without all parts: %v", err)
			}
			var wg sync.WaitGroup
			for part, data := range map[int][]int8{0: {4, 5, 6}, 2: {0, 0}} {
				wg.Go(func() {
					if err := zarr.WritePart(ctx, q, part, data); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got, err := zarr.Read[int8](ctx, b, nil); err != nil || !slices.Equal(got.Data, []int8{1, 2, 3}) {
				t.Errorf("before publishing: %v, %v", got.Data, err)
			}
			if err := q.Publish(ctx); err != nil {
				t.Fatal(err)
			}
			if err := a.Refresh(ctx); err != nil {
				t.Fatal(err)
			}
			want := []int8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0}
			if got, err := zarr.Read[int8](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
				t.Errorf("after publishing: %v, %v", got.Data, err)
			}
			if err := zarr.WritePart(ctx, r, 0, []int8{4, 5, 6}); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("writing a part after publishing: %v", err)
			}
			if err := zarr.Append(ctx, a, 0, []int8{15}, nil); err != nil {
				t.Errorf("an append afterwards: %v", err)
			}
		}
	}
}

// TestCancelReservation cancels a reservation: its edges are removed, and its elements
// never become visible.
func TestCancelReservation(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Edges(2, 1)}}
	a, err := zarr.At(s, "a").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Reserve(ctx, 0, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Grid().Cells()[0]; got != 4 {
		t.Errorf("%d cells, want 4", got)
	}
	if err := zarr.WritePart(ctx, r, 0, []int8{4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	if err := r.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reservation(ctx); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a reservation is left: %v", err)
	}
	if err := a.Resize(ctx, []int64{7}, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int8](ctx, a, nil); err != nil || !slices.Equal(got.Data, make([]int8, 7)) || a.Grid().Cells()[0] != 3 {
		t.Errorf("%v in %d cells, %v", got.Data, a.Grid().Cells()[0], err)
	}
	for _, tt := range []struct {
		axis    int
		lengths []int64
	}{{1, []int64{1}}, {0, []int64{0}}, {0, []int64{1, -1}}} {
		if _, err := a.Reserve(ctx, tt.axis, tt.lengths...); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("axis %d, %v: %v", tt.axis, tt.lengths, err)
		}
	}
}

// TestReserveLeftovers puts chunks of other writers under the keys of an unwritten part,
// before the reservation and after it. They never become visible.
func TestReserveLeftovers(t *testing.T) {
	for name, s := range map[string]store.Store{"locks": memtest.New(), "conditions": stepping.Conditional(memtest.New(), stepping.Hooks{})} {
		ctx := t.Context()
		spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Edges(2, 1)}, Codecs: fixture.Plain()}
		a, err := zarr.At(s, "a").CreateArray(ctx, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Put(t, s, "a/c/2", "xxx") // of a crashed append
		r, err := a.Reserve(ctx, 0, 3, 1)
		if err == nil {
			err = zarr.WritePart(ctx, r, 1, []int8{7})
		}
		if err != nil {
			t.Fatal(err)
		}
		fixture.Put(t, s, "a/c/2", "yyy") // of an append that was planned before the reservation
		if err := r.Publish(ctx); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: published without a part: %v", name, err)
		}
		if err := zarr.WritePart(ctx, r, 0, []int8{4, 5, 6}); err != nil {
			t.Fatal(err)
		}
		if err := r.Publish(ctx); err != nil {
			t.Fatal(err)
		}
		if got, err := zarr.Read[int8](ctx, a, nil); err != nil || !slices.Equal(got.Data, []int8{0, 0, 0, 4, 5, 6, 7}) {
			t.Errorf("%s: %v, %v", name, got.Data, err)
		}
	}
}

// TestReservedArray checks that changes of a reserved array are refused with an error
// that names the holder, and that a second Cancel is a conflict.
func TestReservedArray(t *testing.T) {
	ctx, h := t.Context(), zarr.At(memtest.New(), "")
	a, err := h.At("g/a").CreateArray(ctx, fixture.Edges(2), nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.At("g").OpenGroup(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Reserve(ctx, 0, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"reserve":      func() error { _, err := a.Reserve(ctx, 0, 2); return err },
		"resize":       func() error { return a.Resize(ctx, []int64{1}, nil) },
		"group append": func() error { return g.Append(ctx, zarr.Add("a", 0, []int32{1}, nil)) },
	} {
		if err := try(); !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "held by reservation") || !strings.Contains(err.Error(), "g/a") ||
			!strings.Contains(err.Error(), " of process ") || strings.Contains(err.Error(), "{") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r.Region(-1) != nil || r.Region(2) != nil || len(r.Region(1)) != 1 {
		t.Error("Region of a part that does not exist: got a region")
	}
	if err := r.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if err := r.Cancel(ctx); !errors.Is(err, zarr.ErrConflict) || strings.Contains(err.Error(), "tries") {
		t.Errorf("cancelled twice: %v", err)
	}
	if _, err := a.Reserve(ctx, 0); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("a reservation without parts: %v", err)
	}
}

// TestCancelKeepsOtherAxes checks that cancelling removes only the reserved room, even
// if another program ignored the reservation and grew another axis.
func TestCancelKeepsOtherAxes(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	spec := zarr.Spec{Shape: []int64{4, 2}, Type: dtype.Int8, Chunks: []grid.Cut{grid.Edges(4), grid.Edges(2, 3, 4)}}
	a, err := zarr.At(s, "a").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Reserve(ctx, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Cancel(ctx); err != nil || !slices.Equal(a.Grid().Cells(), []int64{1, 3}) {
		t.Errorf("cells %v, %v", a.Grid().Cells(), err)
	}
	if r, err = a.Reserve(ctx, 0, 3); err != nil {
		t.Fatal(err)
	}
	doc, _, err := s.Get(ctx, store.MustKey("a/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Put(t, s, "a/zarr.json", strings.Replace(string(doc), `"shape": [4, 2]`, `"shape": [6, 2]`, 1))
	if err := r.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(ctx, a, 0, []int8{1, 2}, nil); err != nil || a.Shape()[0] != 7 {
		t.Errorf("an append afterwards: %v, shape %v", err, a.Shape())
	}
}

// TestReadBeyond reads elements that another program has appended since the array was
// opened.
func TestReadBeyond(t *testing.T) {
	ctx, h := t.Context(), zarr.At(memtest.New(), "")
	a, err := h.At("a").CreateArray(ctx, fixture.Edges(4), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := h.At("a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(ctx, a, 0, make([]int32, 1), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.Read[int32](ctx, b, selection.Box{{4, 5}}); err != nil {
		t.Error(err)
	}
	if _, err := zarr.Read[int32](ctx, b, selection.Box{{4, 6}}); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("elements beyond the extent: error is %v", err)
	}
}

// TestGroupAppendDimensions checks that arrays that share a dimension are not grown to
// different lengths.
func TestGroupAppendDimensions(t *testing.T) {
	ctx := t.Context()
	g, err := zarr.At(memtest.New(), "g").CreateGroup(ctx, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "y"} {
		spec := fixture.Edges(4)
		spec.DimensionNames = []string{"time"}
		if _, err := g.At(name).CreateArray(ctx, spec, nil); err != nil {
			t.Fatal(err)
		}
	}
	err = g.Append(ctx, zarr.Add("x", 0, []int32{1}, nil), zarr.Add("y", 0, []int32{1, 2}, nil))
	if !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "time") {
		t.Errorf("different lengths: %v", err)
	}
	if err := g.Append(ctx, zarr.Add("x", 0, []int32{1}, nil), zarr.Add("y", 0, []int32{1}, nil)); err != nil {
		t.Error(err)
	}
}

// TestRemoveReserved removes and replaces an array with a reservation, alone and with
// its group. This is refused with an error that names the holder, until the reservation
// is cancelled.
func TestRemoveReserved(t *testing.T) {
	for name, s := range map[string]store.Store{"locks": memtest.New(), "conditions": stepping.Conditional(memtest.New(), stepping.Hooks{})} {
		t.Run(name, func(t *testing.T) {
			ctx, h, write := t.Context(), zarr.At(s, ""), &zarr.Options{Write: true}
			if _, err := h.At("g").CreateGroup(ctx, nil, nil); err != nil {
				t.Fatal(err)
			}
			a, err := h.At("g/sub/a").CreateArray(ctx, fixture.Every(4, 4), nil)
			if err == nil {
				err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 4))
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.Reserve(ctx, 0, 4)
			if err != nil {
				t.Fatal(err)
			}
			spec := fixture.Every(2, 2)
			changes := map[string]func() error{
				"delete": func() error { return h.At("g/sub/a").Delete(ctx, write) },
				"group":  func() error { return h.At("g").Delete(ctx, write) },
				"overwrite": func() error {
					_, err := h.At("g/sub/a").CreateArray(ctx, spec, &zarr.CreateOptions{Overwrite: true})
					return err
				},
				"together": func() error {
					_, err := h.Create(ctx, map[string]zarr.NodeSpec{"g/sub/a": spec}, &zarr.CreateOptions{Overwrite: true})
					return err
				},
			}
			for name, change := range changes {
				if err := change(); !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), r.ID()) || !strings.Contains(err.Error(), "process ") {
					t.Errorf("%s: error is %v", name, err)
				}
			}
			if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, fixture.Numbers(1, 4)) {
				t.Errorf("%v, %v", got.Data, err)
			}
			if err := errors.Join(zarr.WritePart(ctx, r, 0, fixture.Numbers(5, 4)), r.Publish(ctx)); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"overwrite", "together", "delete", "group"} {
				if err := changes[name](); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}
