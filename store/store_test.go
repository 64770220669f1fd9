// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// onlyGet hides every power of a store but reading.
type onlyGet struct{ store.Store }

// readWrite hides every power but reading and writing.
type readWrite struct {
	store.Store
	ops
}

// ops makes the listed changes in a store in memory, and no others.
type ops struct {
	m    memtest.Store
	list []store.Op
}

func (o ops) Can(op store.Op) bool { return slices.Contains(o.list, op) }

func (o ops) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !o.Can(c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	return o.m.Write(ctx, c, d)
}

// puts returns a store that reads and puts values, and makes the other listed changes.
func puts(m memtest.Store, list ...store.Op) readWrite {
	return readWrite{onlyGet{m}, ops{m, append(list, store.OpPut)}}
}

func TestUnsupported(t *testing.T) {
	ctx, s, key := t.Context(), onlyGet{memtest.New()}, store.MustKey("k")
	_, put := store.Write(ctx, s, store.Put(key, nil), store.Sync)
	_, putIf := store.Write(ctx, s, store.PutIf(key, nil, store.IfAbsent()), store.Sync)
	_, splice := store.Write(ctx, s, store.Splice(key, store.Version{}, nil), store.Sync)
	_, patch := store.Write(ctx, s, store.PatchValue(key, store.Version{}, nil), store.Sync)
	_, lock := store.Lock(ctx, s, store.Path{})
	_, batch := store.NewBatch(ctx, s, store.Sync)
	errs := map[string]error{
		"Put": put, "PutIf": putIf, "Splice": splice, "PatchValue": patch, "Lock": lock, "NewBatch": batch, "Delete": errOf(store.Write(ctx, s, store.Delete(key), store.Sync)), "List": nil,
		"DeleteIf": errOf(store.Write(ctx, s, store.DeleteIf(key, store.Version{}), store.Sync)),
	}
	for _, err := range store.List(ctx, s, store.Path{}, store.Deep) {
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
	ctx, m, key := t.Context(), memtest.New(), store.MustKey("k")
	s := puts(m)
	if _, err := store.Open(ctx, s, key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of nothing: error is %v, want %v", err, fs.ErrNotExist)
	}
	write := func(value string) {
		if _, err := store.Write(ctx, s, store.Put(key, []byte(value)), store.Flush); err != nil {
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
	if _, err := m.Write(ctx, store.Delete(key), store.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Read(ctx, store.Request{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read after a deletion: error is %v, want %v", err, fs.ErrNotExist)
	}
}

func TestBatchFallback(t *testing.T) {
	ctx, m := t.Context(), memtest.New()
	b, err := store.NewBatch(ctx, puts(m), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	if err := errors.Join(errOf(b.Write(ctx, store.Put(store.MustKey("k"), []byte("v")))), b.Commit(ctx)); err != nil {
		t.Error(err)
	}
	if _, err := b.Write(ctx, store.Delete(store.MustKey("k"))); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("Delete: error is %v, want %v", err, store.ErrUnsupported)
	}
	if ok, err := store.Exists(ctx, m, store.MustKey("k")); !ok || err != nil {
		t.Errorf("Exists: %t and error %v", ok, err)
	}
}

func TestExists(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := memtest.New()
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
		cond    store.Condition
		current store.Version
		exists  bool
		want    bool
	}{
		{store.IfAbsent(), store.Version{}, false, true},
		{store.IfAbsent(), v, true, false},
		{store.IfAbsent(), store.Version{}, true, false},
		{store.IfVersion(v), v, true, true},
		{store.IfVersion(v), w, true, false},
		{store.IfVersion(v), store.Version{}, false, false},
		{store.IfVersion(store.Version{}), store.Version{}, false, false},
	} {
		if got := c.cond.Holds(c.current, c.exists); got != c.want {
			t.Errorf("%+v of %v (exists %t) is %t, want %t", c.cond, c.current, c.exists, got, c.want)
		}
	}
	if !store.IfAbsent().Absent() || store.IfVersion(v).Version() != v || v.String() != "v" {
		t.Error("a condition forgets what it is")
	}
}

func ExamplePutIf() {
	ctx, s, key := context.Background(), memstore.New(), store.MustKey("count")
	if _, err := store.Write(ctx, s, store.PutIf(key, []byte("0"), store.IfAbsent()), store.Sync); err != nil {
		fmt.Println(err)
	}
	_, info, err := s.Get(ctx, key, store.Request{}, nil)
	if err != nil {
		fmt.Println(err)
	}
	_, err = store.Write(ctx, s, store.PutIf(key, []byte("1"), store.IfVersion(info.Version)), store.Sync)
	fmt.Println(err)
	_, err = store.Write(ctx, s, store.PutIf(key, []byte("1"), store.IfVersion(info.Version)), store.Sync)
	fmt.Println(errors.Is(err, store.ErrConflict))
	// Output:
	// <nil>
	// true
}

// plainBatch is a store in memory whose batches have no conditional writes.
type plainBatch struct{ memtest.Store }

func (s plainBatch) Batch(context.Context, store.Durability) (store.Batch, error) {
	return bareBatch(s.Store), nil
}

// bare is a batch that puts and deletes values, and makes the other listed changes.
type bare struct{ ops }

func bareBatch(m memtest.Store, list ...store.Op) bare {
	return bare{ops{m, append(list, store.OpPut, store.OpDelete)}}
}

func (b bare) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return b.ops.Write(ctx, c, store.Flush)
}

func (b bare) Commit(context.Context) error { return nil }
func (b bare) Discard()                     {}

// TestConditionalBatch checks conditional writes in batches of every kind, and that they
// are refused if the store has none.
func TestConditionalBatch(t *testing.T) {
	ctx, m, key := t.Context(), memtest.New(), store.MustKey("k")
	for name, c := range map[string]struct {
		s    store.Store
		able bool
	}{
		"own": {m, true}, "beside": {plainBatch{m}, true}, "single": {puts(m, store.OpPutIf, store.OpDeleteIf), true}, "none": {puts(m), false},
	} {
		b, err := store.NewBatch(ctx, c.s, store.Sync)
		if err != nil {
			t.Fatal(name, err)
		}
		conflict, done := store.ErrConflict, error(nil)
		if !c.able {
			conflict, done = store.ErrUnsupported, store.ErrUnsupported
		}
		_, first := b.Write(ctx, store.PutIf(key, nil, store.IfAbsent()))
		info, _ := store.Stat(ctx, m, key)
		for i, c := range []struct{ err, want error }{
			{first, done},
			{errOf(b.Write(ctx, store.PutIf(key, nil, store.IfAbsent()))), conflict},
			{errOf(b.Write(ctx, store.DeleteIf(key, store.MakeVersion("other")))), conflict},
			{errOf(b.Write(ctx, store.DeleteIf(key, info.Version))), done},
			{errOf(b.Write(ctx, store.DeleteIf(key, info.Version))), conflict},
			{b.Commit(ctx), nil},
		} {
			if !errors.Is(c.err, c.want) {
				t.Errorf("%s: call %d: error is %v, want %v", name, i, c.err, c.want)
			}
		}
	}
}

// errOf returns the error of a change.
func errOf(_ store.Written, err error) error { return err }
