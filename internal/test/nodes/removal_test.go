// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestShrinkByOne removes one chunk from arrays of up to 10^15 chunks. All take the same
// few requests and no listing.
func TestShrinkByOne(t *testing.T) {
	for _, chunks := range []int64{10, 1e7, 1e15} {
		for name, cut := range map[string]grid.Cut{"listed": grid.Runs(grid.Run{Length: 2, Count: chunks}), "regular": grid.Every(2)} {
			for _, how := range []grid.Shrink{grid.KeepEdges, grid.TrimEdges} {
				s, a := fixture.NewHuge(t, []int64{2 * chunks}, cut)
				if err := a.Resize(t.Context(), []int64{2 * (chunks - 1)}, &zarr.ResizeOptions{Shrink: how}); err != nil {
					t.Fatal(err)
				}
				last := fmt.Sprintf("a/c/%d", chunks-1)
				if len(s.Gone) != 1 || !s.Gone[last] || len(s.Lists) > 0 || s.Asked > 5 {
					t.Errorf("%s, %d chunks: %d requests, listings of %q, %v deleted", name, chunks, s.Asked, s.Lists, s.Gone)
				}
			}
		}
	}
}

// TestSparseShrink shrinks an array of 10^18 cells with three stored chunks by most of
// its cells, and grows it again. The requests depend on the stored chunks only.
func TestSparseShrink(t *testing.T) {
	const cells = int64(1e18)
	for name, cut := range map[string]grid.Cut{"listed": grid.Runs(grid.Run{Length: 2, Count: cells}), "regular": grid.Every(2)} {
		ctx, s := t.Context(), fixture.NewTally()
		a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{Shape: []int64{2 * cells}, Type: dtype.Int32, Chunks: []grid.Cut{cut}, Codecs: fixture.Plain()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{0, cells, 2*cells - 2} {
			if err := zarr.Write(ctx, a, selection.Box{{at, at + 2}}, []int32{1, 2}); err != nil {
				t.Fatal(err)
			}
		}
		s.Taken()
		for _, tt := range []struct {
			extent int64
			most   int
			chunks string
		}{
			{2*cells - 1, 9, fmt.Sprintf("a/c/%d", cells-1)},
			{2 * cells, 9, fmt.Sprintf("a/c/%d", cells-1)},
			{3, 12, fmt.Sprintf("a/c/%d a/c/%d", cells/2, cells-1)},
			{2 * cells, 9, ""},
		} {
			if err := a.Resize(ctx, []int64{tt.extent}, nil); err != nil {
				t.Fatalf("%s, to %d: %v", name, tt.extent, err)
			}
			n := 0
			for _, c := range s.Count {
				n += c
			}
			ops, chunks, _ := s.Taken()
			if n > tt.most || tt.chunks != "" && !strings.Contains(chunks, strings.Fields(tt.chunks)[0]) {
				t.Errorf("%s, to %d: %s (%s)", name, tt.extent, ops, chunks)
			}
		}
		if b, err := zarr.Read[int32](ctx, a, selection.Box{{2*cells - 2, 2 * cells}}); err != nil || !slices.Equal(b.Data, []int32{0, 0}) {
			t.Errorf("%s: %v, %v", name, b.Data, err)
		}
		if b, err := zarr.Read[int32](ctx, a, selection.Box{{0, 4}}); err != nil || !slices.Equal(b.Data, []int32{1, 2, 0, 0}) {
			t.Errorf("%s: %v, %v", name, b.Data, err)
		}
	}
}

// TestSlabListing removes a slab of an array with many chunks in a directory. No other
// directory is opened.
func TestSlabListing(t *testing.T) {
	ctx, disk := t.Context(), vfs.NewDisk()
	var mu sync.Mutex
	var opened []string
	s := fixture.FileStore(vfs.Hook(disk, func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if op.Kind == "readdir" {
			opened = append(opened, op.Name)
		}
		return nil
	}))
	a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{
		Shape: []int64{6, 40, 40}, Type: dtype.Uint8, Chunks: grid.Chunks(1, 1, 1), Codecs: fixture.Plain(),
	}, &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}})
	if err != nil {
		t.Fatal(err)
	}
	for _, plane := range []int64{1, 4, 5} {
		if err := zarr.Fill(ctx, a, selection.Box{{plane, plane + 1}, {0, 40}, {0, 40}}, uint8(1)); err != nil {
			t.Fatal(err)
		}
	}
	opened = nil
	if err := a.Resize(ctx, []int64{4, 40, 40}, nil); err != nil {
		t.Fatal(err)
	}
	for _, dir := range opened {
		if dir != "a" && dir != "a/c" && !strings.HasPrefix(dir, "a/c/4") && !strings.HasPrefix(dir, "a/c/5") {
			t.Errorf("%s was listed", dir)
		}
	}
	if len(opened) == 0 || len(opened) > 2+2*(1+40) {
		t.Errorf("%d directories were listed, want 1 to %d", len(opened), 2+2*(1+40))
	}
	left := 0
	for e, err := range store.List(ctx, s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.Name, "a/c/4") || strings.HasPrefix(e.Name, "a/c/5") {
			t.Errorf("%s is left", e.Name)
		}
		left++
	}
	if left != 1600+2 {
		t.Errorf("%d values are left, want the plane that stays and two documents", left)
	}
}

// TestRemovalRetry fails a removal, and the replacement of a group, at every operation.
// The node is unchanged, or repeating the call completes it. The exception is a failure
// to write the note of the removal: the remaining files are then not recognized.
func TestRemovalRetry(t *testing.T) {
	racing.Skip(t)
	ctx := t.Context()
	hierarchy := func(fsys vfs.FS) *zarr.Location { return zarr.At(fixture.FileStore(fsys), "") }
	opt := &zarr.Options{Write: true}
	for name, do := range map[string]func(h *zarr.Location) error{
		"remove": func(h *zarr.Location) error { return h.At("g").Delete(ctx, opt) },
		"replace": func(h *zarr.Location) error {
			_, err := h.At("g").CreateGroup(ctx, nil, &zarr.CreateOptions{Overwrite: true})
			return err
		},
	} {
		noted, lost := 0, 0
		for k := int64(0); ; k++ {
			disk := vfs.NewDisk()
			h := hierarchy(disk)
			for _, path := range []string{"g/a", "g/h/b"} {
				a, err := h.At(path).CreateArray(ctx, zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: grid.Chunks(2)}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := zarr.Write(ctx, a, nil, []int32{1, 2, 3, 4}); err != nil {
					t.Fatal(err)
				}
			}
			hook, stopped := vfs.StopAt(k)
			_ = do(hierarchy(vfs.Hook(disk, hook)))
			for label, image := range disk.Images(0, 0) {
				if label != "everything" { // a killed process loses no completed operation
					continue
				}
				h := hierarchy(image)
				if marked, err := store.Exists(ctx, h.Store(), store.MustKey("g/__varve/unfinished.json")); marked && err == nil {
					noted++
				}
				err := do(h)
				switch {
				case err != nil && strings.Contains(err.Error(), "no Zarr node"):
					for range store.List(ctx, h.Store(), store.MustKey("g/zarr.json").Dir(), store.Deep) {
						lost++ // nothing is left, so the removal was complete
						break
					}
					continue
				case err != nil:
					t.Fatalf("%s stopped before operation %d, repeated: %v", name, k, err)
				}
				for e, err := range store.List(ctx, h.Store(), store.Path{}, store.Deep) {
					if left := e.Name; err != nil || strings.Contains(left, "c/") || name == "remove" && strings.HasPrefix(left, "g/") {
						t.Fatalf("%s stopped before operation %d, repeated, leaves %s, %v", name, k, left, err)
					}
				}
			}
			if !stopped() {
				break
			}
		}
		if noted < 50 || lost > 30 {
			t.Errorf("%s: at %d operations the note permitted a repetition, at %d there was none", name, noted, lost)
		}
	}
}

// TestRefusedRemoval shrinks an array whose old chunks cannot be deleted. The error
// names the new shape and the remaining chunks, and repeating the call changes nothing.
// While a chunk cannot be deleted the array does not grow over it, so no old value
// reappears.
func TestRefusedRemoval(t *testing.T) {
	for name, kept := range map[string]string{"chunk": "a/c/2", "chunks": "a/c/1"} {
		t.Run(name, func(t *testing.T) {
			ctx, refused := t.Context(), true
			root, err := vfs.OpenRoot(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s := fixture.FileStore(vfs.Hook(root, func(op vfs.Op) error {
				if refused && op.Kind == "remove" && op.Name >= kept && strings.HasPrefix(op.Name, "a/c/") && !strings.Contains(op.Name, "__") {
					return fs.ErrPermission
				}
				return nil
			}))
			defer s.Close()
			a, err := zarr.At(s, "a").CreateArray(ctx, fixture.Every(6, 2), nil)
			if err == nil {
				err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 6))
			}
			if err != nil {
				t.Fatal(err)
			}
			err = a.Resize(ctx, []int64{2}, nil)
			if !errors.Is(err, zarr.ErrIncomplete) || !errors.Is(err, fs.ErrPermission) ||
				!strings.Contains(err.Error(), "the shape is [2]") || !strings.Contains(err.Error(), "a/c/") {
				t.Errorf("error is %v", err)
			}
			if err := a.Resize(ctx, []int64{2}, nil); err != nil {
				t.Errorf("repeated: %v", err)
			}
			if err := a.Resize(ctx, []int64{6}, nil); !errors.Is(err, fs.ErrPermission) || a.Shape()[0] != 2 {
				t.Errorf("growth: %v, shape %v", err, a.Shape())
			}
			refused = false
			if err := a.Resize(ctx, []int64{6}, nil); err != nil {
				t.Error(err)
			}
			if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, []int32{1, 2, 0, 0, 0, 0}) {
				t.Errorf("%v, %v", got.Data, err)
			}
		})
	}
}
