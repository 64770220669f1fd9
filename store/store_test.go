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

// onlyGet hides every power of a store but reading.
type onlyGet struct{ store.Store }

// readWrite hides every power but reading and writing.
type readWrite struct {
	store.Store
	store.Writer
}

func TestUnsupported(t *testing.T) {
	ctx, s, key := t.Context(), onlyGet{memstore.New()}, store.MustKey("k")
	_, put := store.Put(ctx, s, key, nil, store.Sync)
	_, putIf := store.PutIf(ctx, s, key, nil, store.IfAbsent(), store.Sync)
	_, splice := store.Splice(ctx, s, key, store.Version{}, nil, store.Sync)
	_, patch := store.PatchValue(ctx, s, key, store.Version{}, nil, store.Sync)
	_, lock := store.Lock(ctx, s, store.Path{})
	_, batch := store.NewBatch(ctx, s, store.Sync)
	errs := map[string]error{
		"Put": put, "PutIf": putIf, "Splice": splice, "PatchValue": patch, "Lock": lock, "NewBatch": batch, "Delete": store.Delete(ctx, s, key), "List": nil,
		"DeleteIf": store.DeleteIf(ctx, s, key, store.Version{}),
	}
	for _, err := range store.List(ctx, s, store.Path{}, true) {
		errs["List"] = err
	}
	for power, err := range errs {
		if !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: error is %v, want %v", power, err, store.ErrUnsupported)
		}
	}
}

// TestOpenFallback checks that an object of a store without the power Opener detects that
// its value was replaced.
func TestOpenFallback(t *testing.T) {
	ctx, m, key := t.Context(), memstore.New(), store.MustKey("k")
	s := readWrite{onlyGet{m}, m}
	if _, err := store.Open(ctx, s, key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing: error is %v, want %v", err, fs.ErrNotExist)
	}
	write := func(value string) {
		if _, err := store.Put(ctx, s, key, []byte(value), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	o, err := store.Open(ctx, s, key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if got, err := o.Read(ctx, store.Request{}, nil); string(got) != "old" || err != nil {
		t.Errorf("Read: %q and error %v", got, err)
	}
	write("new")
	if got, err := o.Read(ctx, store.Request{}, nil); !errors.Is(err, store.ErrConflict) || got != nil {
		t.Errorf("Read after a write: %q and error %v, want %v", got, err, store.ErrConflict)
	}
	if err := m.Delete(ctx, key); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Read(ctx, store.Request{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read after a deletion: error is %v, want %v", err, fs.ErrNotExist)
	}
}

func TestBatchFallback(t *testing.T) {
	ctx, m := t.Context(), memstore.New()
	b, err := store.NewBatch(ctx, readWrite{onlyGet{m}, m}, store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	if err := errors.Join(b.Put(ctx, store.MustKey("k"), []byte("v")), b.Commit(ctx)); err != nil {
		t.Error(err)
	}
	if err := b.Delete(ctx, store.MustKey("k")); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("Delete: error is %v, want %v", err, store.ErrUnsupported)
	}
	if ok, err := store.Exists(ctx, m, store.MustKey("k")); !ok || err != nil {
		t.Errorf("Exists: %t and error %v", ok, err)
	}
}

func TestExists(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := memstore.New()
	if ok, err := store.Exists(ctx, s, store.MustKey("k")); ok || err != nil {
		t.Errorf("%t and error %v, want false", ok, err)
	}
	cancel()
	if ok, err := store.Exists(ctx, s, store.MustKey("k")); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("%t and error %v, want %v", ok, err, context.Canceled)
	}
}

func TestConditionHolds(t *testing.T) {
	v, w := store.MakeVersion("v"), store.MakeVersion("w")
	for _, c := range []struct {
		cond   store.Condition
		now    store.Version
		exists bool
		want   bool
	}{
		{store.IfAbsent(), store.Version{}, false, true},
		{store.IfAbsent(), v, true, false},
		{store.IfAbsent(), store.Version{}, true, false},
		{store.IfVersion(v), v, true, true},
		{store.IfVersion(v), w, true, false},
		{store.IfVersion(v), store.Version{}, false, false},
		{store.IfVersion(store.Version{}), store.Version{}, false, false},
	} {
		if got := c.cond.Holds(c.now, c.exists); got != c.want {
			t.Errorf("%+v of %v (exists %t) is %t, want %t", c.cond, c.now, c.exists, got, c.want)
		}
	}
	if !store.IfAbsent().Absent() || store.IfVersion(v).Version() != v || v.String() != "v" {
		t.Error("a condition forgets what it is")
	}
}

func ExamplePutIf() {
	ctx, s, key := context.Background(), memstore.New(), store.MustKey("count")
	if _, err := store.PutIf(ctx, s, key, []byte("0"), store.IfAbsent(), store.Sync); err != nil {
		fmt.Println(err)
	}
	_, info, err := s.Get(ctx, key, store.Request{}, nil)
	if err != nil {
		fmt.Println(err)
	}
	_, err = store.PutIf(ctx, s, key, []byte("1"), store.IfVersion(info.Version), store.Sync)
	fmt.Println(err)
	_, err = store.PutIf(ctx, s, key, []byte("1"), store.IfVersion(info.Version), store.Sync)
	fmt.Println(errors.Is(err, store.ErrConflict))
	// Output:
	// <nil>
	// true
}

// plainBatch is a store in memory whose batches have no conditional writes.
type plainBatch struct{ *memstore.Store }

func (s plainBatch) Batch(context.Context, store.Durability) (store.Batch, error) {
	return bare{s.Store}, nil
}

type bare struct{ s *memstore.Store }

func (b bare) Put(ctx context.Context, key store.Key, value []byte) error {
	_, err := b.s.Put(ctx, key, value, store.Flush)
	return err
}
func (b bare) Delete(ctx context.Context, key store.Key) error { return b.s.Delete(ctx, key) }
func (b bare) Commit(context.Context) error                    { return nil }
func (b bare) Discard()                                        {}

// TestConditionalBatch checks conditional writes in batches of every kind, and that they
// are refused if the store has none.
func TestConditionalBatch(t *testing.T) {
	ctx, m, key := t.Context(), memstore.New(), store.MustKey("k")
	for name, c := range map[string]struct {
		s    store.Store
		able bool
	}{
		"own": {m, true}, "beside": {plainBatch{m}, true}, "single": {struct {
			readWrite
			store.ConditionalWriter
			store.ConditionalDeleter
		}{readWrite{onlyGet{m}, m}, m, m}, true}, "none": {readWrite{onlyGet{m}, m}, false},
	} {
		b, err := store.NewBatch(ctx, c.s, store.Sync)
		if err != nil {
			t.Fatal(name, err)
		}
		conflict, done := store.ErrConflict, error(nil)
		if !c.able {
			conflict, done = store.ErrUnsupported, store.ErrUnsupported
		}
		first := store.BatchPutIf(ctx, b, key, nil, store.IfAbsent())
		info, _ := store.Stat(ctx, m, key)
		for i, c := range []struct{ err, want error }{
			{first, done},
			{store.BatchPutIf(ctx, b, key, nil, store.IfAbsent()), conflict},
			{store.BatchDeleteIf(ctx, b, key, store.MakeVersion("other")), conflict},
			{store.BatchDeleteIf(ctx, b, key, info.Version), done},
			{store.BatchDeleteIf(ctx, b, key, info.Version), conflict},
			{b.Commit(ctx), nil},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: call %d: error is %v, want %v", name, i, c.err, c.want)
			}
		}
	}
	for _, err := range []error{
		store.BatchPutIf(ctx, bare{m}, key, nil, store.IfAbsent()), store.BatchDeleteIf(ctx, bare{m}, key, store.Version{}),
	} {
		if !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("a bare batch says %v, want %v", err, store.ErrUnsupported)
		}
	}
}

func TestCutPath(t *testing.T) {
	for _, c := range []struct{ path, root, rest string }{
		{"a/b.zarr/c/d.zarr", "a/b.zarr", "c/d.zarr"}, {"a.zarr", "a.zarr", ""}, {"a/.zarr/b.zarr/c", "a/.zarr/b.zarr", "c"},
	} {
		if root, rest, found := store.CutPath(c.path, ".zarr"); root != c.root || rest != c.rest || !found {
			t.Errorf("%s: %q and %q, %t", c.path, root, rest, found)
		}
	}
	for _, path := range []string{"", ".zarr", "a/b", "a.zarr.b/c"} {
		if root, rest, found := store.CutPath(path, ".zarr"); root != path || rest != "" || found {
			t.Errorf("%s: %q and %q, %t", path, root, rest, found)
		}
	}
}
