// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestWriteToReplaced delays a write until another program has changed its array, and
// then stores the chunks. The write fails if the array was removed or replaced. It
// succeeds if the array has only grown or shrunk, or has other attributes.
func TestWriteToReplaced(t *testing.T) {
	spec := zarr.Spec{Shape: []int64{12}, Type: dtype.Int64, Chunks: []grid.Cut{grid.Edges(2, 2, 2, 2, 4, 4)}}
	created := func(change func(*zarr.Spec)) func(context.Context, *zarr.Location) error {
		return func(ctx context.Context, h *zarr.Location) error {
			other := spec
			change(&other)
			_, err := h.At("a").CreateArray(ctx, other, &zarr.CreateOptions{Overwrite: true})
			return err
		}
	}
	resized := func(to int64) func(context.Context, *zarr.Location) error {
		return func(ctx context.Context, h *zarr.Location) error {
			a, err := h.At("a").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				return err
			}
			return a.Resize(ctx, []int64{to}, nil)
		}
	}
	for name, c := range map[string]struct {
		change func(context.Context, *zarr.Location) error
		says   string
	}{
		"removed": {func(ctx context.Context, h *zarr.Location) error {
			return h.At("a").Delete(ctx, &zarr.Options{Write: true})
		}, "not there any more"},
		"group": {func(ctx context.Context, h *zarr.Location) error {
			return h.At("").Delete(ctx, &zarr.Options{Write: true})
		}, "not there any more"},
		"another type": {created(func(s *zarr.Spec) { s.Type = dtype.Int32 }), "was int64 and is int32"},
		"other edges":  {created(func(s *zarr.Spec) { s.Chunks = []grid.Cut{grid.Edges(3, 3, 6)} }), "have other edges"},
		"other axes":   {created(func(s *zarr.Spec) { s.Shape, s.Chunks = []int64{4, 3}, nil }), "1 axis and has 2"},
		"another fill": {created(func(s *zarr.Spec) { s.FillValue = zarr.FillJSON("7") }), "fill value"},
		"other keys":   {created(func(s *zarr.Spec) { s.KeyEncoding = metadata.V2Dot }), "other keys"},
		"larger":       {resized(16), ""},
		"smaller":      {resized(5), ""},
		"the same":     {func(context.Context, *zarr.Location) error { return nil }, ""},
		"more metadata": {func(ctx context.Context, h *zarr.Location) error {
			a, err := h.At("a").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				return err
			}
			return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"k":1}`), nil })
		}, ""},
	} {
		for how, write := range map[string]func(context.Context, *zarr.Array) error{
			"values": func(ctx context.Context, a *zarr.Array) error { return zarr.Fill(ctx, a, nil, int64(1)) },
			"no border": func(ctx context.Context, a *zarr.Array) error {
				return zarr.Fill(ctx, a, selection.Box{{2, 8}}, int64(1))
			},
			"a chunk": func(ctx context.Context, a *zarr.Array) error {
				return a.WriteChunk(ctx, []int64{1}, append(make([]byte, 15), 1))
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				ctx, below := t.Context(), memtest.New()
				h := zarr.At(below, "")
				if _, err := h.At("").CreateGroup(ctx, nil, nil); err != nil {
					t.Fatal(err)
				}
				if _, err := h.At("a").CreateArray(ctx, spec, nil); err != nil {
					t.Fatal(err)
				}
				var done atomic.Bool
				late := stepping.Conditional(below, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
					if !strings.Contains(op.Key.String(), "/c/") || !done.CompareAndSwap(false, true) {
						return nil
					}
					return c.change(ctx, h)
				}})
				a, err := zarr.At(late, "a").OpenArray(ctx, &zarr.Options{Write: true})
				if err != nil {
					t.Fatal(err)
				}
				err = write(ctx, a)
				if c.says == "" && err != nil || c.says != "" && (err == nil || zarr.KindOf(err) != "conflict" || !strings.Contains(err.Error(), c.says)) {
					t.Errorf("%v (%s)", err, zarr.KindOf(err))
				}
				if !done.Load() {
					t.Error("no chunk was stored")
				}
			})
		}
	}
}

// TestWriteToOtherType writes bytes to an array that was replaced, since the last write,
// by one of another type of the same width.
func TestWriteToOtherType(t *testing.T) {
	for name, extent := range map[string]int64{"border": 5, "no border": 4} {
		t.Run(name, func(t *testing.T) {
			ctx, h := t.Context(), zarr.At(memtest.New(), "")
			spec := fixture.Every(extent, 2)
			a, err := h.At("").CreateArray(ctx, spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, 4*extent)
			data[0] = 1
			if err := a.WriteBytes(ctx, nil, data); err != nil {
				t.Fatal(err)
			}
			spec.Type = dtype.Float32
			b, err := h.At("").CreateArray(ctx, spec, &zarr.CreateOptions{Overwrite: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.WriteBytes(ctx, nil, data); zarr.KindOf(err) != "conflict" {
				t.Error(err)
			}
			for index := range b.StoredChunks(ctx) {
				t.Errorf("chunk %v is stored", index)
			}
		})
	}
}

// TestOverwriteRemains creates arrays over chunks without a document, alone and together
// with others. The old chunks do not become elements of the new array.
func TestOverwriteRemains(t *testing.T) {
	spec := fixture.Edges(2, 2)
	opt := &zarr.CreateOptions{Overwrite: true}
	for name, create := range map[string]func(l *zarr.Location) error{
		"alone": func(l *zarr.Location) error {
			_, err := l.At("a").CreateArray(t.Context(), spec, opt)
			return err
		},
		"together": func(l *zarr.Location) error {
			_, err := l.Create(t.Context(), map[string]zarr.NodeSpec{"a": spec, "b": spec}, opt)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := memtest.New()
			a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 4))
			}
			if err == nil {
				_, err = store.Write(t.Context(), s, store.Delete(store.MustKey("a/zarr.json")), store.Sync)
			}
			if err == nil {
				err = create(zarr.At(s, ""))
			}
			if err != nil {
				t.Fatal(err)
			}
			if a, err = zarr.At(s, "a").OpenArray(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, make([]int32, 4)) {
				t.Errorf("read %v (%v)", got.Data, err)
			}
		})
	}
}
