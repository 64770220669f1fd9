// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/transfer"
)

// linkedTree makes a store with arrays of four elements, and links in it.
func linkedTree(t *testing.T, links map[string]string) (h *zarr.Location, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "r.zarr")
	s, err := filestore.Open(dir, &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close(s) })
	h = zarr.At(s, "")
	for _, name := range []string{"a", "sub/a", "h/b", "g2/c"} {
		spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}}
		a, err := h.At(name).CreateArray(t.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, []int32{1, 2, 3, 4})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range links {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.RemoveAll(at), os.Symlink(to, at)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	return h, dir
}

// keys returns all keys of a store with their values.
func keys(t *testing.T, s store.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		key, err := store.ParseKey(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		value, _, err := s.Get(t.Context(), key, store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name] = string(value)
	}
	return all
}

// TestCopyOntoItselfByALink copies, moves and converts nodes to places that are, through
// a link in the store, the node itself, in it, or above it. All of that is refused before
// anything changes.
func TestCopyOntoItselfByALink(t *testing.T) {
	racing.Skip(t) // all of it is refused before anything is shared
	for name, c := range map[string]struct {
		links    map[string]string
		src, dst string
	}{
		"into itself":                  {map[string]string{"ls": "sub"}, "sub", "ls/new"},
		"the link into what it is":     {map[string]string{"ls": "sub"}, "ls", "sub/new"},
		"deep in itself":               {map[string]string{"ls": "sub/a"}, "sub", "ls/new"},
		"an array onto itself":         {map[string]string{"l": "a"}, "l", "a"},
		"an array onto its link":       {map[string]string{"l": "a"}, "a", "l"},
		"in a linked group":            {map[string]string{"ls": "sub"}, "ls/a", "sub/a"},
		"a group onto itself":          {map[string]string{"ls": "sub"}, "ls", "sub"},
		"onto the group above":         {map[string]string{"ls": "sub"}, "ls/a", "sub"},
		"a member is the destination":  {map[string]string{"g2/l": "../h"}, "g2", "h"},
		"a member lies in it":          {map[string]string{"g2/l": "../h/b"}, "g2", "h"},
		"the destination is in member": {map[string]string{"g2/l": "../h"}, "g2", "h/new"},
		"its chunks lie in it":         {map[string]string{"a/c": "../h/b/c"}, "a", "h/b"},
		"a chunk lies in it":           {map[string]string{"a/c/1": "../../h/b/c/1"}, "a", "h"},
	} {
		for op, do := range map[string]func(src, dst *zarr.Location, o *transfer.Options) error{
			"copy": func(src, dst *zarr.Location, o *transfer.Options) error {
				_, err := transfer.Copy(t.Context(), src, dst, o)
				return err
			},
			"move": func(src, dst *zarr.Location, o *transfer.Options) error {
				_, err := transfer.Move(t.Context(), src, dst, o)
				return err
			},
			"convert": func(src, dst *zarr.Location, o *transfer.Options) error {
				_, err := convert.ConvertTo(t.Context(), src, dst, 2, &convert.Options{Overwrite: o.Overwrite, DryRun: o.DryRun})
				return err
			},
		} {
			t.Run(name+", "+op, func(t *testing.T) {
				h, _ := linkedTree(t, c.links)
				was := keys(t, h.Store())
				err := do(h.At(c.src), h.At(c.dst), &transfer.Options{Overwrite: true})
				if !errors.Is(err, zarr.ErrInvalidArgument) {
					t.Errorf("the error is %v", err)
				}
				now := keys(t, h.Store())
				if len(now) != len(was) {
					t.Fatalf("of %d keys %d are there", len(was), len(now))
				}
				for key, value := range was {
					if now[key] != value {
						t.Errorf("%s has changed", key)
					}
				}
			})
		}
	}
}

// TestCopyBesideALink copies nodes with links to other places, which are permitted.
func TestCopyBesideALink(t *testing.T) {
	h, _ := linkedTree(t, map[string]string{"ls": "sub", "g2/l": "../a", "g2/again": "c"})
	for _, c := range [][2]string{{"ls", "new"}, {"g2", "h/g2"}, {"sub/a", "h/a"}, {"g2", "sub/a"}} {
		_, err := transfer.Copy(t.Context(), h.At(c[0]), h.At(c[1]), &transfer.Options{Overwrite: true})
		if err != nil {
			t.Errorf("%s to %s: %v", c[0], c[1], err)
		}
	}
}
