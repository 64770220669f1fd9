// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// copying is a store that copies values by itself, of the memory store m. It calls copied
// before each copy, if that is set.
type copying struct {
	store.Store
	m *memstore.Store
}

func (c copying) Put(ctx context.Context, key store.Key, value []byte, d store.Durability) (store.Version, error) {
	return c.m.Put(ctx, key, value, d)
}

func (c copying) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	return bare{c.m}, nil
}

func (c copying) CopyFrom(
	ctx context.Context, key store.Key, _ store.Store, source store.Key, d store.Durability,
) (int64, store.Version, error) {
	value, _, err := c.m.Get(ctx, source, store.Request{}, nil)
	if err != nil {
		return 0, store.Version{}, err
	}
	v, err := c.m.Put(ctx, key, value, d)
	return int64(len(value)), v, err
}

// hasty is a store whose Stat and CopyFrom are followed by a change.
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

func (h hasty) CopyFrom(
	ctx context.Context, key store.Key, from store.Store, source store.Key, d store.Durability,
) (int64, store.Version, error) {
	n, v, err := h.copying.CopyFrom(ctx, key, from, source, d)
	return n, v, errors.Join(err, h.step(ctx))
}

// TestCloneByCopy replaces or deletes the source between the requests of a clone by a
// copy. The clone notices it.
func TestCloneByCopy(t *testing.T) {
	source, key := store.MustKey("k"), store.MustKey("m")
	for what, change := range map[string]func(ctx context.Context, m *memstore.Store) error{
		"replaced": func(ctx context.Context, m *memstore.Store) error {
			_, err := m.Put(ctx, source, []byte("new"), store.Flush)
			return err
		},
		"deleted": func(ctx context.Context, m *memstore.Store) error { return m.Delete(ctx, source) },
	} {
		for at := range 4 {
			m := memstore.New()
			v, err := m.Put(t.Context(), source, []byte("old"), store.Flush)
			if err != nil {
				t.Fatal(err)
			}
			s := hasty{copying{onlyGet{m}, m}, new(int), at, func(ctx context.Context) error { return change(ctx, m) }}
			made, err := store.Clone(t.Context(), s, key, source, v, 0, store.Flush)
			if late := at == 1 || at == 2; errors.Is(err, store.ErrConflict) != late || !late && (err != nil || made.Moved != 3 || made.Source != v) {
				t.Errorf("%s after request %d: %+v and error %v", what, at, made, err)
			}
		}
	}
}

// TestCloneByGet clones by reading and writing.
func TestCloneByGet(t *testing.T) {
	ctx, m := t.Context(), memstore.New()
	source, key := store.MustKey("k"), store.MustKey("m")
	v, err := m.Put(ctx, source, []byte("value"), store.Flush)
	if err != nil {
		t.Fatal(err)
	}
	f := newFar(m)
	for _, limit := range []int64{0, 5} {
		made, err := store.Clone(ctx, f, key, source, v, limit, store.Sync)
		now, _ := m.Stat(ctx, key)
		if want := (store.Cloned{Version: now.Version, Source: v, Size: 5, Moved: 5}); made != want || err != nil {
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
		{source, v, 4, store.ErrTooLarge}, {source, store.MakeVersion("none"), 0, store.ErrConflict},
		{store.MustKey("none"), v, 0, store.ErrConflict}, {store.MustKey("none"), store.Version{}, 0, fs.ErrNotExist},
	} {
		if _, err := store.Clone(ctx, f, key, c.source, c.from, c.limit, store.Sync); !errors.Is(err, c.want) {
			t.Errorf("%s: error is %v, want %v", c.source, err, c.want)
		}
	}
	if _, err := store.Clone(ctx, onlyGet{m}, key, source, v, 0, store.Sync); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("error is %v, want %v", err, store.ErrUnsupported)
	}
}
