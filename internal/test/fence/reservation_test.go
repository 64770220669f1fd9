// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// crossing is a store that calls before ahead of every Lock.
type crossing struct {
	memtest.Store
	before func(dir store.Path)
}

func (c *crossing) Lock(ctx context.Context, dir store.Path) (func() error, error) {
	if c.before != nil {
		c.before(dir)
	}
	return c.Store.Lock(ctx, dir)
}

// TestReservedWhileRemoved reserves room in a member of a group while the group is
// removed: after the removal began, and before it locks that member. The removal fails,
// and the member stays.
func TestReservedWhileRemoved(t *testing.T) {
	for name, remove := range map[string]func(context.Context, *zarr.Location) error{
		"delete": func(ctx context.Context, h *zarr.Location) error {
			return h.At("g").Delete(ctx, &zarr.Options{Write: true})
		},
		"overwrite": func(ctx context.Context, h *zarr.Location) error {
			_, err := h.At("g").CreateGroup(ctx, nil, &zarr.CreateOptions{Overwrite: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), &crossing{Store: memtest.New()}
			h := zarr.At(s, "")
			a, err := h.At("g/sub/a").CreateArray(ctx, fixture.Every(4, 4), nil)
			if err != nil {
				t.Fatal(err)
			}
			var r *zarr.Reservation
			s.before = func(dir store.Path) {
				if dir.String() == "g/sub/a" && r == nil {
					s.before = nil
					if r, err = a.Reserve(ctx, 0, 4); err != nil {
						t.Error(err)
					}
				}
			}
			err = remove(ctx, h)
			if r == nil || !errors.Is(err, zarr.ErrConflict) || !strings.Contains(err.Error(), r.ID()) || !strings.Contains(err.Error(), `"/g/sub/a"`) {
				t.Fatalf("error is %v", err)
			}
			if err := errors.Join(zarr.WritePart(ctx, r, 0, fixture.Numbers(1, 4)), r.Publish(ctx)); err != nil {
				t.Error(err)
			}
			if err := remove(ctx, h); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestRemovePublished removes an array, alone or with its group, whose reservation was
// published but not ended, as after a crash between the two.
func TestRemovePublished(t *testing.T) {
	for _, path := range []string{"g/a", "g"} {
		ctx, ends := t.Context(), true
		s := stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if !ends && op.Name != "Get" && strings.HasSuffix(op.Key.String(), "pending.json") {
				return fs.ErrPermission
			}
			return nil
		}})
		h := zarr.At(s, "")
		a, err := h.At("g/a").CreateArray(ctx, fixture.Every(4, 4), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.Reserve(ctx, 0, 4)
		if err == nil {
			err = zarr.WritePart(ctx, r, 0, fixture.Numbers(1, 4))
		}
		if err != nil {
			t.Fatal(err)
		}
		ends = false
		if err := r.Publish(ctx); !errors.Is(err, fs.ErrPermission) {
			t.Fatalf("the reservation has ended: %v", err)
		}
		ends = true
		if err := h.At(path).Delete(ctx, &zarr.Options{Write: true}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestDeleteIf checks that a node is deleted only if the check agrees, and that the
// check runs while the node is locked.
func TestDeleteIf(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	h, opt := zarr.At(s, ""), &zarr.Options{Write: true}
	if _, err := h.At("g/a").CreateArray(ctx, fixture.Every(4, 4), nil); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	for _, answer := range []error{no, nil} {
		checked := publish.WithCheck(ctx, func(ctx context.Context) error {
			if _, err := store.Lock(store.WithLocking(ctx, store.Locking{Timeout: -1}), s, store.MustKey("g/a/k").Dir()); !errors.Is(err, store.ErrLocked) {
				t.Errorf("the member is not locked: %v", err)
			}
			return answer
		})
		if err := h.At("g").Delete(checked, opt); !errors.Is(err, answer) {
			t.Errorf("error is %v, want %v", err, answer)
		}
		if _, err := h.At("g/a").OpenArray(ctx, nil); (err == nil) != (answer != nil) {
			t.Errorf("after %v: %v", answer, err)
		}
	}
}

// TestDeleteThroughItself refuses to delete a group by a path through the group itself,
// which lists itself under that path. The removal would delete its own path, and wait
// for its own lock to change the list.
func TestDeleteThroughItself(t *testing.T) {
	h, dir := fixture.LinkedGroup(t, nil)
	g, err := h.At("g").CreateGroup(t.Context(), nil, nil)
	if err == nil {
		err = g.Consolidate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"g/up": "..", "l": "g"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	consolidateBy(t, filepath.Join(dir, "g", "zarr.json"), "up/g")
	opt := &zarr.Options{Write: true, Locking: store.Locking{Timeout: 20 * time.Millisecond}}
	for _, path := range []string{"g/up/g", "l/up/g"} {
		if err := h.At(path).Delete(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "leads through a link in g; name that") {
			t.Errorf("%s: error is %v", path, err)
		}
	}
	if _, err := h.At("g").OpenGroup(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := h.At("g/up/b").Delete(t.Context(), opt); err != nil {
		t.Errorf("another node by a link: %v", err)
	}
}

// consolidateBy adds a group to the consolidated metadata in a document.
func consolidateBy(t *testing.T, document, path string) {
	t.Helper()
	raw, err := os.ReadFile(document)
	var doc map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	doc["consolidated_metadata"].(map[string]any)["metadata"].(map[string]any)[path] = map[string]any{"zarr_format": 3, "node_type": "group"}
	if raw, err = json.Marshal(doc); err == nil {
		err = os.WriteFile(document, raw, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
