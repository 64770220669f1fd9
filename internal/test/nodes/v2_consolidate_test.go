// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// TestConsolidatedFollowsV2 changes nodes below groups of format 2 with consolidated
// metadata. After every change, the groups describe the nodes correctly.
func TestConsolidatedFollowsV2(t *testing.T) {
	for name, s := range map[string]store.Store{"memory": memtest.New(), "fenced": stepping.Conditional(memtest.New(), stepping.Hooks{})} {
		t.Run(name, func(t *testing.T) {
			ctx, h := t.Context(), zarr.At(s, "")
			a, err := h.At("deep/two").CreateArray(ctx, fixture.Annotated(fixture.Every(6, 4)), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{"deep", ""} {
				g, err := h.At(path).OpenGroup(ctx, &zarr.Options{Write: true})
				if err == nil {
					err = errors.Join(g.Consolidate(ctx), g.Consolidate(ctx))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			deep, err := h.At("deep").OpenGroup(ctx, &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			set := func([]byte) ([]byte, error) { return []byte(`{"units": "K", "x": 1.0}`), nil }
			for step, do := range []func() error{
				func() error { return zarr.Append(ctx, a, 0, fixture.Numbers(7, 3), nil) },
				func() error { return a.Resize(ctx, []int64{2}, nil) },
				func() error { return a.UpdateAttributes(ctx, set) },
				func() error { return deep.Append(ctx, zarr.Add("two", 0, fixture.Numbers(1, 4), nil)) },
				func() error { return a.Refresh(ctx) },
				func() error { return deep.UpdateAttributes(ctx, set) },
			} {
				if err := do(); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				b := listed(t, s, "deep/two")
				if got, want := described(b), described(a); got != want && step != 3 || b.Format() != 2 {
					t.Fatalf("step %d: the group shows %s, the array is %s", step, got, want)
				}
			}
			for _, key := range []string{".zmetadata", "deep/.zmetadata"} {
				if got := strings.Count(valueAt(t, s, key), `"units": "K"`); got != 2 {
					t.Errorf("%s has the attributes %d times", key, got)
				}
			}
			if _, err := deep.At("more/three").CreateArray(ctx, zarr.Spec{Shape: []int64{3}, Type: dtype.Int8}, nil); err != nil {
				t.Fatal(err)
			}
			want := []string{"group deep", "group deep/more", "array deep/more/three", "array deep/two"}
			if got := members(t, h, "", true); !slices.Equal(got, want) {
				t.Errorf("after creation %q, want %q", got, want)
			}
			if err := h.At("deep/more").Delete(ctx, &zarr.Options{Write: true}); err != nil {
				t.Fatal(err)
			}
			if got := members(t, h, "deep", true); !slices.Equal(got, []string{"array two"}) {
				t.Errorf("after deletion %q", got)
			}
			if strings.Contains(valueAt(t, s, ".zmetadata"), "three") {
				t.Error("the root still lists a deleted node")
			}
		})
	}
}

// TestConsolidatedNeighboursV2 lists groups whose consolidated metadata has a damaged
// and an unsupported array. The others are read.
func TestConsolidatedNeighboursV2(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	h := zarr.At(s, "")
	a, err := h.At("good").CreateArray(ctx, fixture.AsV2(fixture.Every(6, 4)), nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 6))
	}
	if err != nil {
		t.Fatal(err)
	}
	good := valueAt(t, s, "good/.zarray")
	fixture.Put(t, s, ".zmetadata", `{"zarr_consolidated_format":1,"metadata":{".zgroup":{"zarr_format":2},"bad/.zarray":[1],"good/.zarray":`+good+
		`,"strange/.zarray":`+strings.Replace(good, `"<i4"`, `"<i3"`, 1)+`}}`)
	g, err := h.At("").OpenGroup(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	saw := map[string]error{}
	for m, err := range g.Members(ctx, true) {
		saw[m.Path] = errors.Join(err, m.Err)
		if m.Path != "good" {
			continue
		}
		b, err := zarr.Read[int32](ctx, m.Node.(*zarr.Array), nil)
		if err != nil || !slices.Equal(b.Data, fixture.Numbers(1, 6)) {
			t.Error(b, err)
		}
	}
	if len(saw) != 3 || saw["good"] != nil || !errors.Is(saw["bad"], zarr.ErrInvalidMetadata) || !errors.Is(saw["strange"], zarr.ErrUnsupported) {
		t.Errorf("saw %v", saw)
	}
}

// TestStaleV2 reads an array through consolidated metadata that is older than its
// document.
func TestStaleV2(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	h := zarr.At(s, "")
	a, err := h.At("a").CreateArray(ctx, fixture.AsV2(fixture.Every(6, 4)), nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 6))
	}
	var g *zarr.Group
	if err == nil {
		g, err = h.At("").OpenGroup(ctx, &zarr.Options{Write: true})
	}
	if err == nil {
		err = g.Consolidate(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	old := valueAt(t, s, ".zmetadata")
	if err := zarr.Append(ctx, a, 0, fixture.Numbers(7, 3), nil); err != nil {
		t.Fatal(err)
	}
	fixture.Put(t, s, ".zmetadata", old) // as if another program had appended
	b := listed(t, s, "a")
	if err := b.Refresh(ctx); err != nil || !slices.Equal(b.Shape(), []int64{9}) {
		t.Errorf("shape %v, %v", b.Shape(), err)
	}
}

// TestCreateHierarchy creates many nodes in one call, in both formats, below groups with
// consolidated metadata.
func TestCreateHierarchy(t *testing.T) {
	for _, format := range []int{2, 3} {
		ctx, s := t.Context(), memtest.New()
		h := zarr.At(s, "")
		g, err := h.At("top").CreateGroup(ctx, nil, &zarr.CreateOptions{Format: format})
		if err == nil {
			err = g.Consolidate(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		nodes := map[string]zarr.NodeSpec{
			"x/y/a": fixture.Every(6, 4), "x": zarr.GroupSpec{Attributes: map[string]any{"k": 1.5}}, "b": fixture.Every(3, 2), "x/c": zarr.GroupSpec{},
		}
		created, err := g.At("").Create(ctx, nodes, nil)
		if err != nil || len(created) != 4 {
			t.Fatal(created, err)
		}
		for path, n := range created {
			if n.Path() != "top/"+path || n.Format() != format {
				t.Errorf("%s is at %s, of format %d", path, n.Path(), n.Format())
			}
		}
		if err := zarr.Write(ctx, created["x/y/a"].(*zarr.Array), nil, fixture.Numbers(1, 6)); err != nil {
			t.Error(err)
		}
		want := []string{"array b", "group x", "group x/c", "group x/y", "array x/y/a"}
		if got := members(t, h, "top", true); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if x, err := h.At("top/x").OpenGroup(ctx, nil); err != nil || fixture.Compact(x.Attributes()) != `{"k":1.5}` {
			t.Error(x, err)
		}
		before := storedKeys(t, s)
		for name, nodes := range map[string]map[string]zarr.NodeSpec{
			"there already": {"new": zarr.GroupSpec{}, "b": zarr.GroupSpec{}}, "below an array": {"new": zarr.GroupSpec{}, "b/c": zarr.GroupSpec{}},
			"below an array to be": {"new": fixture.Every(3, 2), "new/c": zarr.GroupSpec{}}, "another format": {"new": zarr.Spec{Shape: []int64{1}, Type: dtype.Int8, Format: 5 - format}},
			"not valid": {"new": zarr.GroupSpec{}, "d": zarr.Spec{}}, "nothing": {"new": nil}, "no path": {"../x": zarr.GroupSpec{}},
		} {
			if _, err := g.At("").Create(ctx, nodes, nil); err == nil {
				t.Errorf("%s: created", name)
			}
		}
		if after := storedKeys(t, s); !slices.Equal(before, after) {
			t.Errorf("%q became %q", before, after)
		}
		if _, err := g.At("").Create(ctx, map[string]zarr.NodeSpec{"x": zarr.GroupSpec{}, "x/z": fixture.Every(3, 2)}, &zarr.CreateOptions{Overwrite: true}); err != nil {
			t.Error(err)
		}
		if got, want := members(t, h, "top", true), []string{"array b", "group x", "array x/z"}; !slices.Equal(got, want) {
			t.Errorf("overwritten: %q, want %q", got, want)
		}
	}
}

// TestSpecOf creates copies of existing arrays from their Spec.
func TestSpecOf(t *testing.T) {
	ctx, h := t.Context(), zarr.At(fixture.CopyStore(t, "rect_shards.zarr"), "")
	a, err := h.At("").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]zarr.Spec{"array": a.Spec(), "metadata": fixture.Must(zarr.SpecOf(a.Metadata()))} {
		b, err := zarr.At(memtest.New(), "b").CreateArray(ctx, s, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		if x, y := canonicalDocument(t, a), canonicalDocument(t, b); x != y {
			t.Errorf("%s:\n%s\nbecame\n%s", name, x, y)
		}
	}
	if _, err := zarr.SpecOf(&metadata.Array{DataType: metadata.Extension{Name: "quaternion"}}); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
	s := a.Spec()
	s.Format = 2
	if _, err := zarr.At(memtest.New(), "b").CreateArray(ctx, s, nil); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
}

// canonicalDocument returns the document of an array in format 3, without members that
// only need the same meaning.
func canonicalDocument(t *testing.T, a *zarr.Array) string {
	t.Helper()
	raw, err := a.Metadata().Marshal(metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return fixture.Compact([]byte(strings.Replace(string(raw), "  \"storage_transformers\": [],\n", "", 1)))
}
