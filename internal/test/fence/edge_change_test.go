// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestWriteAfterRecut checks a write by an array that was opened before another program
// changed the edges of its chunks.
func TestWriteAfterRecut(t *testing.T) {
	for name, s := range map[string]store.Store{"locks": memtest.New(), "conditions": stepping.Conditional(memtest.New(), stepping.Hooks{})} {
		for form, spec := range map[string]zarr.Spec{"raw": fixture.Raw(fixture.Edges(4, 4, 2)), "compressed": fixture.Edges(4, 4, 2)} {
			ctx, h := t.Context(), zarr.At(s, "")
			if _, err := h.At(form).CreateArray(ctx, spec, nil); err != nil {
				t.Fatal(err)
			}
			var programs [2]*zarr.Array
			for i := range programs {
				a, err := h.At(form).OpenArray(ctx, &zarr.Options{Write: true})
				if err != nil {
					t.Fatal(err)
				}
				programs[i] = a
			}
			a, b := programs[0], programs[1]
			err := zarr.Write(ctx, a, nil, fixture.Numbers(1, 10))
			if err == nil {
				err = b.Resize(ctx, []int64{6}, &zarr.ResizeOptions{Shrink: grid.TrimExact})
			}
			if err == nil {
				err = zarr.Append(ctx, b, 0, fixture.Numbers(7, 6), nil)
			}
			if err == nil {
				err = zarr.Write(ctx, a, selection.Box{{4, 8}}, fixture.Numbers(-8, 4)) // a chunk of the old grid
			}
			if err != nil {
				t.Fatalf("%s, %s: %v", name, form, err)
			}
			want := []int32{1, 2, 3, 4, -8, -7, -6, -5, 9, 10, 11, 12}
			if got, err := zarr.Read[int32](ctx, b, nil); err != nil || !slices.Equal(got.Data, want) {
				t.Errorf("%s, %s: %v, %v", name, form, got.Data, err)
			}
		}
	}
}

// TestWriteChunkAfterRecut checks that writing a chunk, or an inner chunk of it, is a
// conflict if another program has changed the edges since the array was opened. The
// chunk is now shorter, or as long but with another start.
func TestWriteChunkAfterRecut(t *testing.T) {
	values := []byte{1, 0, 0, 0, 2, 0, 0, 0}
	for name, write := range map[string]func(context.Context, *zarr.Array) error{
		"shorter":         func(ctx context.Context, a *zarr.Array) error { return a.WriteChunk(ctx, []int64{1}, make([]byte, 32)) },
		"elsewhere":       func(ctx context.Context, a *zarr.Array) error { return a.WriteChunk(ctx, []int64{2}, make([]byte, 32)) },
		"encoded":         func(ctx context.Context, a *zarr.Array) error { return a.WriteEncodedChunk(ctx, []int64{2}, nil) },
		"inner":           func(ctx context.Context, a *zarr.Array) error { return a.Inner().WriteChunk(ctx, []int64{4}, values) },
		"inner elsewhere": func(ctx context.Context, a *zarr.Array) error { return a.Inner().WriteChunk(ctx, []int64{8}, values) },
	} {
		for kind, s := range map[string]store.Store{"locks": memtest.New(), "conditions": stepping.Conditional(memtest.New(), stepping.Hooks{})} {
			ctx, h := t.Context(), zarr.At(s, "")
			spec := fixture.Edges(8, 8, 8)
			spec.InnerChunks = grid.Chunks(2)
			b, err := h.At("a").CreateArray(ctx, spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			a := fixture.Must(h.At("a").OpenArray(ctx, &zarr.Options{Write: true}))
			if err = b.Resize(ctx, []int64{12}, &zarr.ResizeOptions{Shrink: grid.TrimExact}); err == nil {
				err = zarr.Append(ctx, b, 0, make([]int32, 8), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := write(ctx, a); !errors.Is(err, zarr.ErrConflict) {
				t.Errorf("%s, %s: %v, want a conflict", name, kind, err)
			}
			if got, err := zarr.Read[int32](ctx, b, nil); err != nil || !slices.Equal(got.Data, make([]int32, 20)) {
				t.Errorf("%s, %s: %v, %v", name, kind, got.Data, err)
			}
		}
	}
}

// TestConcurrentRecut changes the edge of the last chunk while another program appends
// or writes to it: after that program has checked the document, and before it reads the
// chunk.
func TestConcurrentRecut(t *testing.T) {
	for name, act := range map[string]func(context.Context, *zarr.Array) error{
		"append": func(ctx context.Context, a *zarr.Array) error {
			return zarr.Append(ctx, a, 0, fixture.Numbers(7, 3), nil)
		},
		"write": func(ctx context.Context, a *zarr.Array) error {
			return zarr.Write(ctx, a, selection.Box{{5, 6}}, fixture.Numbers(-6, 1))
		},
	} {
		ctx := t.Context()
		s := stepping.Conditional(memtest.New(), stepping.Hooks{})
		other, err := zarr.At(&fixture.Program{ObjectStore: s}, "a").CreateArray(ctx, fixture.Raw(fixture.Every(6, 4)), nil)
		if err == nil {
			err = zarr.Write(ctx, other, nil, fixture.Numbers(1, 6))
		}
		if err != nil {
			t.Fatal(err)
		}
		armed := false
		hooked := stepping.Conditional(s, stepping.Hooks{After: func(op stepping.Op, err error) error {
			if known := op.Name == "Get" || op.Name == "Stat"; known && op.Key.String() == "a/zarr.json" && armed {
				armed = false
				return errors.Join(err, other.MakeRectilinear(ctx, &zarr.RectilinearOptions{Trim: true}))
			}
			return err
		}})
		a, err := zarr.At(&fixture.Program{ObjectStore: hooked}, "a").OpenArray(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		armed = true
		if err := act(ctx, a); err != nil || armed {
			t.Errorf("%s: error is %v; the edge was not changed: %t", name, err, armed)
		}
		want := map[string][]int32{"append": fixture.Numbers(1, 9), "write": {1, 2, 3, 4, 5, -6}}[name]
		if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("%s: %v, %v", name, got.Data, err)
		}
	}
}
