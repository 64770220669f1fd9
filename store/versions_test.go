// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// unversioned is a store whose listings know nothing. It counts the running and all
// requests of Stat.
type unversioned struct {
	s              memtest.Store
	running, total atomic.Int64
	most           atomic.Int64
	stat           func(key store.Key) error
}

func (u *unversioned) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return u.s.Get(ctx, key, q, dst)
}

func (u *unversioned) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range u.s.List(ctx, dir, how) {
			if !yield(store.Entry{Name: e.Name, Dir: e.Dir, Size: -1}, err) {
				return
			}
		}
	}
}

func (u *unversioned) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	u.total.Add(1)
	now := u.running.Add(1)
	defer u.running.Add(-1)
	for most := u.most.Load(); now > most && !u.most.CompareAndSwap(most, now); most = u.most.Load() {
	}
	if u.stat != nil {
		if err := u.stat(key); err != nil {
			return store.Info{}, err
		}
	}
	return u.s.Stat(ctx, key)
}

// TestListVersionsByStat lists a store whose listings know no versions.
func TestListVersionsByStat(t *testing.T) {
	ctx, m := t.Context(), memtest.New()
	for i := range 100 {
		if _, err := m.Write(ctx, store.Put(store.MustKey(fmt.Sprintf("a/%d/k", i)), make([]byte, i)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	u := &unversioned{s: m}
	top := store.MustKey("a/k").Dir()
	all := func(how store.Listing) (list []store.Entry, err error) {
		for e, err := range store.List(ctx, u, top, how|store.WithVersions) {
			if err != nil {
				return list, err
			}
			list = append(list, e)
		}
		return list, nil
	}
	got, err := all(store.Deep)
	want := slices.Collect(entriesOf(m.List(ctx, top, store.Deep|store.WithVersions)))
	if err != nil || !sameEntries(got, want) || u.total.Load() != 100 || u.most.Load() > 32 {
		t.Errorf("%d entries, error %v, %d requests, %d at one time", len(got), err, u.total.Load(), u.most.Load())
	}
	u.total.Store(0)
	if got, err := all(store.Flat); len(got) != 100 || err != nil || u.total.Load() != 0 {
		t.Errorf("%d directories, error %v, %d requests", len(got), err, u.total.Load())
	}
	u.stat = func(key store.Key) error {
		if key.String() == "a/50/k" {
			return fs.ErrNotExist
		}
		return nil
	}
	if got, err := all(store.Deep); len(got) != 99 || err != nil {
		t.Errorf("one is deleted meanwhile: %d entries, error %v", len(got), err)
	}
	fault := errors.New("fault")
	u.stat = func(key store.Key) error {
		if key.String() == "a/50/k" {
			return fault
		}
		return nil
	}
	if _, err := all(store.Deep); !errors.Is(err, fault) {
		t.Errorf("error is %v, want %v", err, fault)
	}
	n := 0
	for range store.List(ctx, u, store.Path{}, store.Deep|store.WithVersions) {
		if n++; n == 3 {
			break
		}
	}
}

// entriesOf yields the entries of a listing without errors.
func entriesOf(list iter.Seq2[store.Entry, error]) iter.Seq[store.Entry] {
	return func(yield func(store.Entry) bool) {
		for e := range list {
			if !yield(e) {
				return
			}
		}
	}
}

// sameEntries reports whether two listings have the same entries, in any order.
func sameEntries(a, b []store.Entry) bool {
	byName := func(x, y store.Entry) int {
		if x.Name < y.Name {
			return -1
		}
		return 1
	}
	slices.SortFunc(a, byName)
	slices.SortFunc(b, byName)
	return slices.EqualFunc(a, b, func(x, y store.Entry) bool {
		return x.Name == y.Name && x.Dir == y.Dir && x.Size == y.Size && x.Version == y.Version && x.Modified.Equal(y.Modified)
	})
}
