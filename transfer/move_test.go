// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/transfer"
)

// target is a store that calls done after the copy is complete and before its source is
// removed.
type target struct {
	memtest.Store
	done func()
}

func (s *target) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	made, err := s.Store.Write(ctx, c, d)
	if err == nil && c.Op == store.OpPutIf && c.Key.String() == "zarr.json" {
		s.done()
	}
	return made, err
}

// TestMoveOfChangedSource changes the source after it was copied: it stays, with the
// change.
func TestMoveOfChangedSource(t *testing.T) {
	array := func(h *zarr.Location) *zarr.Array {
		a, err := h.At("x/a").OpenArray(t.Context(), &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for name, change := range map[string]func(h *zarr.Location) error{
		"a chunk": func(h *zarr.Location) error { return zarr.Write(t.Context(), array(h), nil, make([]int32, 70)) },
		"the shape": func(h *zarr.Location) error {
			return array(h).Resize(t.Context(), []int64{9, 7}, nil)
		},
		"attributes": func(h *zarr.Location) error {
			_, err := h.At("x/deep").CreateGroup(t.Context(), map[string]int{"n": 1}, &zarr.CreateOptions{Overwrite: true})
			return err
		},
		"a new chunk": func(h *zarr.Location) error {
			_, err := store.Write(t.Context(), h.Store(), store.Put(key(t, "x/empty/c/0"), []byte("new")), store.Flush)
			return err
		},
		"a chunk is gone": func(h *zarr.Location) error {
			_, err := store.Write(t.Context(), h.Store(), store.Delete(key(t, "x/a/c/0/0")), store.Sync)
			return err
		},
		"a new member": func(h *zarr.Location) error {
			_, err := h.At("x/new").CreateGroup(t.Context(), nil, nil)
			return err
		},
	} {
		for kind, open := range stores(t) {
			t.Run(name+", "+kind, func(t *testing.T) {
				from := open()
				trees.Tree(t, from, "x")
				h := zarr.At(from, "")
				var was map[string]string
				to := &target{Store: memtest.New(), done: func() {
					if err := change(h); err != nil {
						t.Error(err)
					}
					was = keys(t, from)
				}}
				_, err := transfer.Move(t.Context(), zarr.At(from, "x"), zarr.At(to, ""), nil)
				if !errors.Is(err, zarr.ErrIncomplete) || !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), "the source stays") {
					t.Errorf("error is %v", err)
				}
				if now := keys(t, from); !maps.Equal(now, was) {
					t.Errorf("of %d values %d are there", len(was), len(now))
				}
			})
		}
	}
	for kind, open := range stores(t) {
		from, to := open(), &target{Store: memtest.New(), done: func() {}}
		trees.Tree(t, from, "x")
		if _, err := transfer.Move(t.Context(), zarr.At(from, "x"), zarr.At(to, ""), nil); err != nil {
			t.Errorf("%s, nothing changes: %v", kind, err)
		}
		if left := keys(t, from); len(left) != 1 || left["zarr.json"] == "" { // the group above stays
			t.Errorf("%s: %d values are left", kind, len(left))
		}
	}
}

// stores returns stores that have versions.
func stores(t *testing.T) map[string]func() store.Store {
	return map[string]func() store.Store{
		"memory": func() store.Store { return memtest.New() },
		"files": func() store.Store {
			s, err := filestore.Open(filepath.Join(t.TempDir(), "s"), &filestore.Options{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close(s) })
			return s
		},
	}
}

// key parses a key.
func key(t *testing.T, text string) store.Key {
	t.Helper()
	k, err := store.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestMoveOfLocked moves a group with a locked array: nothing is copied.
func TestMoveOfLocked(t *testing.T) {
	from, to := memtest.New(), memtest.New()
	trees.Tree(t, from, "x")
	unlock, err := from.Lock(t.Context(), store.MustKey("x/deep/b").Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	o := &transfer.Options{Options: zarr.Options{Locking: store.Locking{Timeout: -1}}}
	if _, err := transfer.Move(t.Context(), zarr.At(from, "x"), zarr.At(to, "x"), o); !errors.Is(err, zarr.ErrLocked) || len(keys(t, to)) != 0 {
		t.Errorf("%v, %d values were copied", err, len(keys(t, to)))
	}
}

// TestMoveByLinks moves nodes that have other names, and nodes with links to what the
// copy would not contain.
func TestMoveByLinks(t *testing.T) {
	for name, c := range map[string]struct {
		links     map[string]string
		src, want string
	}{
		"through a link":         {map[string]string{"ls": "sub"}, "ls/a", `name "/sub/a"`},
		"a member out of it":     {map[string]string{"g2/out": "../../other"}, "g2", `"out" (it is a symbolic link that leads out of the store`},
		"a directory above":      {map[string]string{"g2/l": ".."}, "g2", `"l" (it is a symbolic link to a directory that contains it`},
		"a chunk that is lost":   {map[string]string{"a/c/1": "../nothing"}, "a", `"c/1" (it is a symbolic link to nothing`},
		"a member in the store":  {map[string]string{"g2/l": "../sub/a"}, "g2", ""},
		"a member that it knows": {map[string]string{"g2/l": "c"}, "g2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h, dir := linkedTree(t, c.links)
			if err := os.Mkdir(filepath.Join(dir, "..", "other"), 0o777); err != nil {
				t.Fatal(err)
			}
			src, dst := h.At(c.src), h.At("new")
			for _, dry := range []bool{true, false} {
				_, err := transfer.Move(t.Context(), src, dst, &transfer.Options{DryRun: dry})
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("error is %v", err)
				}
			}
			_, err := os.Lstat(filepath.Join(dir, "new"))
			if copied := !errors.Is(err, fs.ErrNotExist); copied != (c.want == "") {
				t.Errorf("a copy is there: %t", copied)
			}
			if _, err := h.At("sub/a").OpenArray(t.Context(), nil); err != nil {
				t.Error(err)
			}
			if _, err := transfer.Copy(t.Context(), src, h.At("h/copy"), nil); errors.Is(err, store.ErrUnusable) != strings.Contains(c.want, "is a symbolic link") {
				t.Errorf("the error of a copy is %v", err)
			}
		})
	}
}

// TestLostLinksElsewhere copies a node with a dangling link to a store without links.
// Both a copy and a move refuse it.
func TestLostLinksElsewhere(t *testing.T) {
	h, _ := linkedTree(t, map[string]string{"a/c/1": "../nothing"})
	src := h.At("a")
	for _, dry := range []bool{true, false} {
		o := &transfer.Options{DryRun: dry}
		for _, do := range []func(context.Context, *zarr.Location, *zarr.Location, *transfer.Options) (transfer.Report, error){transfer.Copy, transfer.Move} {
			if _, err := do(t.Context(), src, zarr.At(memtest.New(), "new"), o); !errors.Is(err, store.ErrUnusable) || !strings.Contains(err.Error(), `"c/1" (it is a symbolic link`) {
				t.Errorf("error is %v", err)
			}
		}
	}
}

// TestOverwriteThroughLink refuses to replace a node behind a symbolic link, and names
// its target. A new node may be created there.
func TestOverwriteThroughLink(t *testing.T) {
	h, _ := linkedTree(t, map[string]string{"l": "sub", "la": "sub/a", "out": "../elsewhere"})
	src := h.At("a")
	for name, do := range map[string]func(dst string, o *transfer.Options) error{
		"copy": func(dst string, o *transfer.Options) error {
			_, err := transfer.Copy(t.Context(), src, h.At(dst), o)
			return err
		},
		"move": func(dst string, o *transfer.Options) error {
			_, err := transfer.Move(t.Context(), src, h.At(dst), o)
			return err
		},
		"convert": func(dst string, o *transfer.Options) error {
			_, err := convert.ConvertTo(t.Context(), src, h.At(dst), 3, &convert.Options{Overwrite: o.Overwrite, DryRun: o.DryRun})
			return err
		},
	} {
		for dst, want := range map[string]string{"l/a": `name "/sub/a"`, "la": `name "/sub/a"`, "l/new": `name "/sub/new"`, "out/a": "out"} {
			for _, dry := range []bool{true, false} {
				err := do(dst, &transfer.Options{Overwrite: true, DryRun: dry})
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s to %s: error is %v, want %s", name, dst, err, want)
				}
			}
		}
	}
	if err := h.At("sub/a").Delete(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Errorf("sub/a: %v", err)
	}
	if _, err := transfer.Copy(t.Context(), src, h.At("l/a"), nil); err != nil {
		t.Error(err)
	}
}
