// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// listed returns an array as the consolidated metadata of the root group describes it.
func listed(t *testing.T, s store.Store, path string) *zarr.Array {
	t.Helper()
	g, err := zarr.At(s, "").OpenGroup(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range g.Members(t.Context(), true) {
		if err != nil || m.Err != nil {
			t.Fatal(err, m.Err)
		}
		if a, ok := m.Node.(*zarr.Array); ok && m.Path == path {
			return a
		}
	}
	t.Fatalf("%s is not listed", path)
	return nil
}

// TestConsolidatedFollows changes arrays below groups with consolidated metadata written
// by Varve and by zarr-python. After every change, the groups describe the arrays
// correctly.
func TestConsolidatedFollows(t *testing.T) {
	own := memstore.New()
	if _, err := zarr.At(own, "deep/two").CreateArray(t.Context(), fixture.Every(6, 4), nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"deep", ""} {
		g, err := zarr.At(own, path).OpenGroup(t.Context(), &zarr.Options{Write: true})
		if err == nil {
			err = g.Consolidate(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]store.Store{
		"own": own, "zarr-python": fixture.CopyStore(t, "group_consolidated.zarr"), "zarr-python, fenced": fixture.Conditional(fixture.CopyStore(t, "group_consolidated.zarr")),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			a, err := zarr.At(s, "deep/two").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			rows := func(n int64) []byte {
				shape := a.Shape()
				shape[0] = n
				return make([]byte, fixture.Count(shape)*int64(a.Type().Size()))
			}
			shape := func(n int64) []int64 { return append([]int64{n}, a.Shape()[1:]...) }
			for step, do := range []func() error{
				func() error { return a.AppendBytes(ctx, 0, rows(3), nil) },
				func() error { return a.MakeRectilinear(ctx, nil) },
				func() error { return a.AppendBytes(ctx, 0, rows(5), &zarr.AppendOptions{Grow: grid.Fixed(2)}) },
				func() error { return a.Resize(ctx, shape(2), &zarr.ResizeOptions{Shrink: grid.TrimExact}) },
				func() error { return a.Resize(ctx, shape(9), nil) },
				func() error {
					return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"units": "K"}`), nil })
				},
				func() error {
					r, err := a.Reserve(ctx, 0, 2)
					if err == nil {
						err = r.WritePartBytes(ctx, 0, rows(2))
					}
					if err == nil {
						err = r.Publish(ctx)
					}
					return err
				},
				func() error {
					g, err := zarr.At(s, "deep").OpenGroup(ctx, &zarr.Options{Write: true})
					if err == nil {
						err = g.Append(ctx, zarr.Addition{Path: "two", Data: rows(1)})
					}
					if err == nil {
						err = a.Refresh(ctx)
					}
					return err
				},
			} {
				if err := do(); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				b := listed(t, s, "deep/two")
				if got, want := described(b), described(a); got != want {
					t.Fatalf("step %d: the group shows %s, the array is %s", step, got, want)
				}
			}
		})
	}
}

// described returns the parts of a document that the changes affect.
func described(a *zarr.Array) string {
	return strings.Join(strings.Fields(fmt.Sprint(a.Shape(), a.Grid().Name(), string(a.Grid().AppendConfiguration(nil)), string(a.Attributes()))), "")
}

// TestConsolidatedStays checks that groups without consolidated metadata, or without the
// array in it, do not change.
func TestConsolidatedStays(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	h := zarr.At(s, "")
	g, err := h.At("g").CreateGroup(ctx, nil, nil)
	if err == nil {
		err = g.Consolidate(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(3)}}
	if _, err := h.At("g/a").CreateArray(ctx, spec, nil); err != nil {
		t.Fatal(err)
	}
	document := func(path string) string {
		data, _, err := s.Get(context.Background(), store.MustKey(path), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	fixture.Put(t, s, "g/b/zarr.json", strings.Replace(document("g/a/zarr.json"), "3", "3", 1)) // by a program that does not update the consolidated metadata
	root, group := document("zarr.json"), document("g/zarr.json")
	b, err := h.At("g/b").OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Append(ctx, b, 0, fixture.Numbers(1, 2), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if document("zarr.json") != root || document("g/zarr.json") != group {
		t.Error("a group that does not list the array was changed")
	}
	if names := members(t, h, "g", true); !slices.Equal(names, []string{"array a"}) {
		t.Errorf("the group lists %q", names)
	}
	if g, err = h.At("g").OpenGroup(ctx, &zarr.Options{Write: true}); err == nil {
		err = g.Consolidate(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if names := members(t, h, "g", true); !slices.Equal(names, []string{"array a", "array b"}) {
		t.Errorf("after Consolidate it lists %q", names)
	}
}
