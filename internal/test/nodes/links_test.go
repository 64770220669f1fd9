// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// sixRows checks that the array b still has its values.
func sixRows(t *testing.T, h *zarr.Location) {
	t.Helper()
	b, err := h.At("b").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](t.Context(), b, nil)
	if err != nil || !fixture.OfRows(got.Data).Equal(fixture.OfRows(fixture.Numbers(1, 6))) {
		t.Errorf("b has %v, %v", got.Data, err)
	}
}

// TestDeletionFollowsNoLink removes, replaces and copies over an array that contains
// symbolic links to another one.
func TestDeletionFollowsNoLink(t *testing.T) {
	links := map[string]string{"a/link": "../b", "a/chunks": "../b/c", "a/one": "../b/c/1"}
	for name, remove := range map[string]func(h *zarr.Location, dir string) error{
		"Delete": func(_ *zarr.Location, dir string) error {
			return zarr.Delete(t.Context(), dir+"/a", &zarr.Options{Write: true})
		},
		"Hierarchy.Delete": func(h *zarr.Location, _ string) error {
			return h.At("a").Delete(t.Context(), &zarr.Options{Write: true})
		},
		"Overwrite": func(h *zarr.Location, _ string) error {
			_, err := h.At("a").CreateArray(t.Context(), fixture.Edges(4), &zarr.CreateOptions{Overwrite: true})
			return err
		},
		"CreateHierarchy": func(h *zarr.Location, _ string) error {
			_, err := h.Create(t.Context(), map[string]zarr.NodeSpec{"a": fixture.Edges(4)}, &zarr.CreateOptions{Overwrite: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := fixture.LinkedGroup(t, links)
			if err := remove(h, dir); err != nil {
				t.Fatal(err)
			}
			sixRows(t, h)
			for link := range links {
				if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(link))); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s still exists", link)
				}
			}
		})
	}
}

// TestDeleteThroughLink refuses to remove a node by the path of a link to it.
func TestDeleteThroughLink(t *testing.T) {
	h, _ := fixture.LinkedGroup(t, map[string]string{"latest": "b"})
	if err := h.At("latest").Delete(t.Context(), &zarr.Options{Write: true}); err == nil {
		t.Error("Delete: no error")
	}
	_, err := h.At("latest").CreateArray(t.Context(), fixture.Edges(4), &zarr.CreateOptions{Overwrite: true})
	if err == nil {
		t.Error("overwriting: no error")
	}
	sixRows(t, h)
}

// TestShrinkFollowsNoLink shrinks an array whose chunk directory is a link to that of
// another one, and an array that was opened by the path of a link.
func TestShrinkFollowsNoLink(t *testing.T) {
	h, _ := fixture.LinkedGroup(t, map[string]string{"a/c": "../b/c", "latest": "b"})
	a, err := h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Resize(t.Context(), []int64{1}, nil); !errors.Is(err, zarr.ErrIncomplete) {
		t.Errorf("error is %v, want %v", err, zarr.ErrIncomplete)
	}
	sixRows(t, h)
	latest, err := h.At("latest").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = latest.Resize(t.Context(), []int64{1}, nil)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestShrinkFollowsNoLinkToNode shrinks an array whose chunk directory is a link to
// another array, which keeps its chunks beside its document. It also writes fill values,
// which deletes chunks. The other array keeps all of its chunks.
func TestShrinkFollowsNoLinkToNode(t *testing.T) {
	h, dir := fixture.LinkedGroup(t, nil)
	spec := fixture.Edges(1, 2, 3)
	spec.KeyEncoding = metadata.V2Slash
	b, err := h.At("b").CreateArray(t.Context(), spec, &zarr.CreateOptions{Overwrite: true})
	if err == nil {
		err = zarr.Write(t.Context(), b, nil, fixture.Numbers(1, 6))
	}
	at := filepath.Join(dir, "a", "c")
	if err := errors.Join(err, os.RemoveAll(at)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../b", at); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	a, err := h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Resize(t.Context(), []int64{1}, nil); !errors.Is(err, zarr.ErrIncomplete) || !strings.Contains(err.Error(), "a/c leads to ../b") {
		t.Errorf("error of the change is %v", err)
	}
	if err := zarr.Write(t.Context(), a, nil, make([]int32, 1)); err == nil || !strings.Contains(err.Error(), "a/c leads to ../b") {
		t.Errorf("error of the fill values is %v", err)
	}
	sixRows(t, h)
}

// TestCircularLinks lists and consolidates a group whose symbolic links lead back to it
// and to each other. Those that lead to a directory above are named, and not followed.
func TestCircularLinks(t *testing.T) {
	h, dir := fixture.LinkedGroup(t, nil)
	for _, name := range []string{"", "x", "y", "x/z"} {
		if _, err := h.At(name).CreateGroup(t.Context(), nil, nil); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"self": ".", "again": "../g.zarr", "x/up": "..", "x/z/top": "../..", "x/y": "../y", "y/x": "../x", "latest": "x",
	} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	g, err := h.At("").OpenGroup(t.Context(), &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	var paths, named []string
	for m, err := range g.Members(t.Context(), true) {
		switch {
		case errors.Is(err, store.ErrUnusable):
			named = append(named, err.Error())
		case err != nil || len(paths) > 100:
			t.Fatalf("%v after %q", err, paths)
		default:
			paths = append(paths, m.Path)
		}
	}
	for _, name := range []string{"self", "again", "up", "top"} {
		if !strings.Contains(strings.Join(named, "\n"), strconv.Quote(name)) {
			t.Errorf("%s is not named: %q", name, named)
		}
	}
	want := []string{"a", "b", "latest", "latest/z", "x", "x/y", "x/z", "y", "y/x", "y/x/z"}
	if !slices.Equal(paths, want) {
		t.Errorf("the members are %q, want %q", paths, want)
	}
	if err := g.Consolidate(t.Context()); !errors.Is(err, store.ErrUnusable) {
		t.Error(err)
	}
}

// TestWriteFollowsNoLink changes an array whose chunk directory or document is a link to
// that of another array. The write does not hold the lock of the other array, so it must
// not change it. Reads follow the link.
func TestWriteFollowsNoLink(t *testing.T) {
	write := func(a *zarr.Array) error { return zarr.Write(t.Context(), a, nil, fixture.Numbers(11, 6)) }
	for name, c := range map[string]struct {
		links  map[string]string
		change func(a *zarr.Array) error
		names  string // part of the error, or "" for no error
	}{
		"write":   {map[string]string{"a/c": "../b/c"}, write, "a/c leads to ../b/c"},
		"append":  {map[string]string{"a/c": "../b/c"}, func(a *zarr.Array) error { return zarr.Append(t.Context(), a, 0, fixture.Numbers(7, 2), nil) }, "a/c leads to ../b/c"},
		"nowhere": {map[string]string{"a/c": "../none"}, write, "a/c leads to ../none"},
		"chunk":   {map[string]string{"a/c/1": "../../b/c/1"}, write, ""},
		"document": {map[string]string{"a/zarr.json": "../b/zarr.json"}, func(a *zarr.Array) error {
			return a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(`{"units":"m"}`), nil })
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := fixture.LinkedGroup(t, c.links)
			before := filesBelow(t, filepath.Join(dir, "b"))
			a, err := h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			err = c.change(a)
			if (err == nil) != (c.names == "") || err != nil && !strings.Contains(err.Error(), c.names) {
				t.Errorf("error is %v, want one with %q", err, c.names)
			}
			if after := filesBelow(t, filepath.Join(dir, "b")); !maps.Equal(after, before) {
				t.Errorf("b was\n%q and is\n%q", before, after)
			}
			// What a link to nothing leads to is not missing, but not known.
			_, err = zarr.Read[int32](t.Context(), a, nil)
			if lost := name == "nowhere"; (err != nil) != lost || lost && !strings.Contains(err.Error(), `is below "a/c", a symbolic link to "../none", where nothing is`) {
				t.Error(err)
			}
		})
	}
}

// TestWriteThroughLinkToNode writes to an array by the path of a link to it, and creates
// a node below a link.
func TestWriteThroughLinkToNode(t *testing.T) {
	h, _ := fixture.LinkedGroup(t, map[string]string{"latest": "b", "sub": "real"})
	if _, err := h.At("real/x").CreateArray(t.Context(), fixture.Edges(4), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := h.At("sub/y").CreateArray(t.Context(), fixture.Edges(4), nil); err != nil {
		t.Error(err)
	}
	latest, err := h.At("latest").OpenArray(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = zarr.Append(t.Context(), latest, 0, fixture.Numbers(7, 2), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := h.At("b").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](t.Context(), b, nil)
	if err != nil || !fixture.OfRows(got.Data).Equal(fixture.OfRows(fixture.Numbers(1, 8))) {
		t.Errorf("b has %v, %v", got.Data, err)
	}
	if _, err := h.At("real/y").OpenArray(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// filesBelow returns the content of all files below a directory by name.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
