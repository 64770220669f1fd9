// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// copying is a store that copies values by itself, of the memory store m. It calls copied
// before each copy, if that is set.
type copying struct {
	store.Store
	m memtest.Store
}

func (c copying) Can(op store.Op) bool { return op == store.OpPut || op == store.OpCopy }

func (c copying) Write(ctx context.Context, change store.Change, d store.Durability) (store.Written, error) {
	if change.Op == store.OpPut {
		return c.m.Write(ctx, change, d)
	}
	value, _, err := c.m.Get(ctx, change.Source, store.Request{}, nil)
	if err != nil {
		return store.Written{}, err
	}
	made, err := c.m.Write(ctx, store.Put(change.Key, value), d)
	made.Size = int64(len(value))
	return made, err
}

func (c copying) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	return bareBatch(c.m), nil
}

// hasty is a store whose Stat and copies are followed by a change.
type hasty struct {
	copying
	n      *int
	at     int
	change func(ctx context.Context) error
}

func (h hasty) step(ctx context.Context) error {
	if *h.n++; *h.n != h.at {
		return nil
	}
	return h.change(ctx)
}

func (h hasty) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := h.m.Stat(ctx, key)
	return info, errors.Join(err, h.step(ctx))
}

func (h hasty) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	made, err := h.copying.Write(ctx, c, d)
	return made, errors.Join(err, h.step(ctx))
}

// TestCloneByCopy replaces or deletes the source between the requests of a clone by a
// copy. The clone notices it.
func TestCloneByCopy(t *testing.T) {
	source, key := store.MustKey("k"), store.MustKey("m")
	for what, change := range map[string]func(ctx context.Context, m memtest.Store) error{
		"replaced": func(ctx context.Context, m memtest.Store) error {
			_, err := m.Write(ctx, store.Put(source, []byte("new")), store.Flush)
			return err
		},
		"deleted": func(ctx context.Context, m memtest.Store) error {
			_, err := m.Write(ctx, store.Delete(source), store.Sync)
			return err
		},
	} {
		for at := range 4 {
			m := memtest.New()
			v, err := m.Write(t.Context(), store.Put(source, []byte("old")), store.Flush)
			if err != nil {
				t.Fatal(err)
			}
			s := hasty{copying{onlyGet{m}, m}, new(int), at, func(ctx context.Context) error { return change(ctx, m) }}
			made, err := store.Write(t.Context(), s, store.Clone(key, source, v.Version), store.Flush)
			if late := at == 1 || at == 2; errors.Is(err, store.ErrConflict) != late || !late && (err != nil || made.Moved != 3 || made.Source != v.Version) {
				t.Errorf("%s after request %d: %+v and error %v", what, at, made, err)
			}
		}
	}
}

// TestCloneByGet clones by reading and writing.
func TestCloneByGet(t *testing.T) {
	ctx, m := t.Context(), memtest.New()
	source, key := store.MustKey("k"), store.MustKey("m")
	v, err := m.Write(ctx, store.Put(source, []byte("value")), store.Flush)
	if err != nil {
		t.Fatal(err)
	}
	f := newFar(m)
	for _, limit := range []int64{0, 5} {
		change := store.Clone(key, source, v.Version)
		change.Limit = limit
		made, err := store.Write(ctx, f, change, store.Sync)
		now, _ := m.Stat(ctx, key)
		if want := (store.Written{Version: now.Version, Source: v.Version, Size: 5, Moved: 5}); made != want || err != nil {
			t.Errorf("%+v and error %v, want %+v", made, err, want)
		}
	}
	if fmt.Sprint(f.ops) != "[Get Put Get Put]" {
		t.Errorf("requests are %v", f.ops)
	}
	for _, c := range []struct {
		source store.Key
		from   store.Version
		limit  int64
		want   error
	}{
		{source, v.Version, 4, store.ErrTooLarge}, {source, store.MakeVersion("none"), 0, store.ErrConflict},
		{store.MustKey("none"), v.Version, 0, store.ErrConflict}, {store.MustKey("none"), store.Version{}, 0, fs.ErrNotExist},
	} {
		change := store.Clone(key, c.source, c.from)
		change.Limit = c.limit
		if _, err := store.Write(ctx, f, change, store.Sync); !errors.Is(err, c.want) {
			t.Errorf("%s: error is %v, want %v", c.source, err, c.want)
		}
	}
	if _, err := store.Write(ctx, onlyGet{m}, store.Clone(key, source, v.Version), store.Sync); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("error is %v, want %v", err, store.ErrUnsupported)
	}
}
