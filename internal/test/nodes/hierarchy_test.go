// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// members lists the nodes below a node: kind and path, or "!" if one cannot be opened.
func members(t *testing.T, h *zarr.Location, path string, deep bool) []string {
	t.Helper()
	g, err := h.At(path).OpenGroup(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for m, err := range g.Members(context.Background(), deep) {
		if err != nil {
			t.Fatal(err)
		}
		if (m.Node == nil) != (m.Err != nil) {
			t.Fatalf("%s has the node %v and the error %v", m.Path, m.Node, m.Err)
		}
		mark := ""
		if m.Err != nil {
			mark = "!"
		}
		list = append(list, m.Kind+" "+m.Path+mark)
	}
	return list
}

func TestMembers(t *testing.T) {
	h := zarr.At(fixture.CopyStore(t, "group_tree.zarr"), "")
	fixture.Put(t, h.Store(), "broken/zarr.json", "{")
	fixture.Put(t, h.Store(), "plain/file", "x")
	want := []string{"group a", " broken!", "group météo", "array x"}
	if got := members(t, h, "", false); !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
	want = []string{"group a", "group a/b", "array a/b/z", "array a/y", " broken!", "group météo", "array météo/t", "array x"}
	if got := members(t, h, "", true); !slices.Equal(got, want) {
		t.Errorf("all members %q, want %q", got, want)
	}
	if got := members(t, h, "a", true); !slices.Equal(got, []string{"group b", "array b/z", "array y"}) {
		t.Errorf("members of a are %q", got)
	}
}

// TestConsolidated creates and deletes nodes below a group with consolidated metadata,
// and expects it to be updated.
func TestConsolidated(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(fixture.CopyStore(t, "group_consolidated.zarr"), "")
	before := members(t, h, "", true)
	if !slices.Equal(before, []string{"group deep", "array deep/two", "array one"}) {
		t.Fatalf("members %q", before)
	}
	spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int8}
	if _, err := h.At("deep/more/three").CreateArray(ctx, spec, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := h.At("one").CreateArray(ctx, spec, &zarr.CreateOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	want := []string{"group deep", "group deep/more", "array deep/more/three", "array deep/two", "array one"}
	if got := members(t, h, "", true); !slices.Equal(got, want) {
		t.Errorf("after creation %q, want %q", got, want)
	}
	if err := h.At("deep").Delete(ctx, &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	if got := members(t, h, "", true); !slices.Equal(got, []string{"array one"}) {
		t.Errorf("after deletion %q", got)
	}
	for e, err := range store.List(ctx, h.Store(), store.Path{}, store.Deep) {
		if err != nil || strings.HasPrefix(e.Name, "deep/") {
			t.Errorf("%s is left (%v)", e.Name, err)
		}
	}
}

// TestUnconsolidated lists nodes and compares their dimensions without the consolidated
// metadata, which is stale.
func TestUnconsolidated(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(fixture.CopyStore(t, "group_consolidated.zarr"), "")
	spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int8, DimensionNames: []string{"x"}}
	before, _, err := h.Store().Get(ctx, store.MustKey("zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range []string{"deep/p", "q"} {
		spec.Shape = []int64{int64(i)}
		if _, err := h.At(path).CreateArray(ctx, spec, nil); err != nil {
			t.Fatal(err)
		}
	}
	spec.Shape = []int64{5}
	if _, err := h.At("r").CreateArray(ctx, spec, nil); err != nil {
		t.Fatal(err)
	}
	fixture.Put(t, h.Store(), "zarr.json", string(before))
	g, err := h.At("").OpenGroup(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for m, err := range g.Unconsolidated().Members(ctx, true) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.Path)
	}
	if want := []string{"deep", "deep/p", "deep/two", "one", "q", "r"}; !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
	if err := g.CheckDimensions(ctx); err != nil {
		t.Errorf("CheckDimensions with consolidated metadata: %v", err)
	}
	if err := g.Unconsolidated().CheckDimensions(ctx); !errors.Is(err, zarr.ErrInvalidMetadata) {
		t.Errorf("CheckDimensions without consolidated metadata: %v", err)
	}
}

// TestMembersEnd stops a listing of consolidated metadata, which makes no requests.
func TestMembersEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	g, err := zarr.At(fixture.CopyStore(t, "group_consolidated.zarr"), "").OpenGroup(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var errs []error
	for _, err := range g.Members(ctx, true) {
		errs = append(errs, err)
		cancel()
	}
	if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], context.Canceled) {
		t.Errorf("errors %v, want that of one member and that of the end", errs)
	}
}

// TestCreateBelow creates nodes from a group, which passes on its options.
func TestCreateBelow(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	g, err := h.At("g").CreateGroup(ctx, nil, &zarr.CreateOptions{Options: zarr.Options{StoreFill: true}})
	if err != nil {
		t.Fatal(err)
	}
	sub, err := g.At("sub").CreateGroup(ctx, map[string]int{"a": 1}, nil)
	if err != nil || sub.Path() != "g/sub" {
		t.Fatal(sub, err)
	}
	a, err := sub.At("x/y").CreateArray(ctx, zarr.Spec{Shape: []int64{1}, Type: dtype.Int8}, nil)
	if err != nil || a.Path() != "g/sub/x/y" {
		t.Fatal(a, err)
	}
	if err := zarr.Write(ctx, a, nil, []int8{0}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ChunkInfo(ctx, []int64{0}); err != nil {
		t.Errorf("the option to store fill values was not passed on: %v", err)
	}
	if g, err = h.At("g").OpenGroup(ctx, nil); err != nil {
		t.Fatal(err)
	}
	_, err = g.At("other").CreateGroup(ctx, nil, nil)
	fixture.Expect(t, err, zarr.ErrReadOnly, "permission")
}

func TestDelete(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(fixture.CopyStore(t, "group_tree.zarr"), "")
	if err := h.At("a").Delete(ctx, &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.At("a/b/z").Open(ctx, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a node below a deleted group: %v", err)
	}
	if err := h.At("a").Delete(ctx, &zarr.Options{Write: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("deleted again: %v", err)
	}
}

// TestCreateOverRemains refuses to create an array over old chunks, which would become
// its elements.
func TestCreateOverRemains(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	fixture.Put(t, h.Store(), "a/c/0", "old chunk")
	spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int8}
	_, err := h.At("a").CreateArray(ctx, spec, nil)
	fixture.Expect(t, err, fs.ErrExist, "exists", "a", "c is there")
	a, err := h.At("a").CreateArray(ctx, spec, &zarr.CreateOptions{Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[int8](ctx, a, nil); err != nil || !slices.Equal(b.Data, []int8{0, 0, 0}) {
		t.Errorf("read %v (%v)", b.Data, err)
	}
}

func TestAttributes(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memstore.New(), "")
	a, err := h.At("g/a").CreateArray(ctx, zarr.Spec{Shape: []int64{1}, Type: dtype.Int8,
		Attributes: []byte(`{"b": 1.0e2, "a": [true, null]}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := func(object []byte) ([]byte, error) { return fmt.Appendf(nil, `{"was": %s}`, object), nil }
	if err := a.UpdateAttributes(ctx, set); err != nil {
		t.Fatal(err)
	}
	again, err := h.At("g/a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range [][]byte{a.Attributes(), again.Attributes()} {
		if text := string(got); !strings.Contains(text, "1.0e2") || strings.Index(text, `"b"`) > strings.Index(text, `"a"`) {
			t.Errorf("attributes %s have another spelling or order", text)
		}
	}
	g, err := h.At("g").OpenGroup(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	err = g.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte("[1]"), nil })
	fixture.Expect(t, err, zarr.ErrInvalidMetadata, "invalid-metadata")
}
