// SPDX-License-Identifier: Apache-2.0

package observed_test

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/fsstore"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/observed"
	"varve.dev/zarr/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notes keeps events.
type notes struct {
	mu     sync.Mutex
	events []observe.Event
}

func (n *notes) Observe(_ context.Context, e observe.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.events = append(n.events, e)
}

// take returns the events since it was called last, as "operation key bytes outcome".
func (n *notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []string
	for _, e := range n.events {
		list = append(list, strings.Join(strings.Fields(fmt.Sprint(e.Op, " ", e.Key, " ", e.Bytes, " ", e.Outcome())), " "))
	}
	n.events = nil
	return list
}

// drivers are stores with different powers.
var drivers = map[string]func(t *testing.T) store.Store{
	"memory": func(*testing.T) store.Store { return memtest.New() },
	"file": func(t *testing.T) store.Store {
		s, err := filestore.Open(t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close(s) })
		return s
	},
	"object store": func(*testing.T) store.Store { return stepping.Conditional(memtest.New(), stepping.Hooks{}) },
	"read only": func(*testing.T) store.Store {
		fsys := fstest.MapFS{}
		for name, value := range storetest.Fixture() {
			fsys[name] = &fstest.MapFile{Data: value}
		}
		return fsstore.New(fsys)
	},
}

// TestStore is the suite of drivers on wrapped ones, once and twice.
func TestStore(t *testing.T) {
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store { return observed.New(open(t), new(notes)) })
		})
	}
	storetest.Run(t, func(*testing.T) store.Store {
		return observed.New(observed.New(memtest.New(), new(notes)), new(notes))
	})
}

// hasPower reports whether a store has a power.
func hasPower[P any](s store.Store) bool {
	_, ok := store.As[P](s)
	return ok
}

// powers returns which powers a store has, in the order of the package.
func powers(s store.Store) string {
	var can []bool
	for op := range store.OpClone + 1 {
		can = append(can, store.Can(s, op))
	}
	return fmt.Sprint(can, hasPower[store.Writer](s), hasPower[store.Batcher](s), hasPower[store.Lister](s), hasPower[store.Stater](s), hasPower[store.Opener](s),
		hasPower[store.Locker](s), hasPower[store.Describer](s), hasPower[store.Drafter](s), hasPower[io.Closer](s))
}

func TestPowers(t *testing.T) {
	seen := map[string]bool{}
	for name, open := range drivers {
		s := open(t)
		o := observed.New(s, new(notes))
		if got, want := powers(o), powers(s); got != want {
			t.Errorf("%s: the powers are %s, unobserved %s", name, got, want)
		}
		if reflect.TypeOf(store.Driver(o)) != reflect.TypeOf(s) || store.TraitsOf(o).Place != store.TraitsOf(s).Place {
			t.Errorf("%s: the driver below is not found", name)
		}
		seen[powers(s)] = true
	}
	if len(seen) != len(drivers) {
		t.Errorf("the drivers have %d sets of powers, want %d", len(seen), len(drivers))
	}
}

func TestEvents(t *testing.T) {
	ctx, n := t.Context(), new(notes)
	s := observed.New(memtest.New(), n)
	key := store.MustKey("a/b")
	var made store.Written
	step := func(what string, do func() error, want ...string) {
		t.Helper()
		err := do()
		if got := n.take(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q (%v)", what, got, want, err)
		}
	}
	step("get", func() error { _, _, err := s.Get(ctx, key, store.Request{}, nil); return err }, "get a/b 0 absent")
	step("put", func() (err error) {
		made, err = store.Write(ctx, s, store.Put(key, []byte("0123456789")), store.Sync)
		return err
	}, "put a/b 10 ok")
	step("get a range", func() error {
		_, _, err := s.Get(ctx, key, store.Request{Range: store.Span(2, 3)}, []byte("xy"))
		return err
	}, "get a/b 3 ok")
	step("put if", func() error {
		_, err := store.Write(ctx, s, store.PutIf(key, []byte("no"), store.IfAbsent()), store.Sync)
		return err
	}, "put_if a/b 0 conflict")
	step("stat", func() error { _, err := store.Stat(ctx, s, key); return err }, "stat a/b 0 ok")
	step("open", func() error {
		o, err := store.Open(ctx, s, key)
		if err == nil {
			_, err = o.Read(ctx, store.Request{Range: store.Suffix(4)}, nil)
			o.Close()
		}
		return err
	}, "open a/b 0 ok", "read a/b 4 ok")
	step("pin", func() error {
		p := store.Pin(s, key, store.Info{})
		defer p.Close()
		_, _, err := p.Read(ctx, store.Request{}, nil)
		return err
	}, "open a/b 0 ok", "read a/b 10 ok")
	step("splice", func() (err error) {
		made, err = store.Write(ctx, s, store.Splice(key, made.Version, []store.Part{{Data: []byte("new")}, {N: 5}}), store.Sync)
		return err
	}, "splice a/b 3 ok")
	step("patch", func() (err error) {
		made, err = store.Write(ctx, s, store.PatchValue(key, made.Version, []store.Patch{{Data: []byte("NE")}}), store.Sync)
		return err
	}, "patch a/b 2 ok")
	step("copy", func() error {
		_, err := store.Write(ctx, s, store.Copy(store.MustKey("c"), s, key), store.Sync)
		return err
	}, "get a/b 8 ok", "put c 8 ok") // a memory store cannot copy
	step("clone", func() error {
		_, err := store.Write(ctx, s, store.Clone(store.MustKey("c"), key, made.Version), store.Sync)
		return err
	}, "clone c 0 ok") // a memory store shares the bytes
	step("assemble", func() error {
		parts := []store.Part{{Data: []byte("new")}, {Key: key, Version: made.Version, N: 5}}
		_, err := store.Write(ctx, s, store.Assemble(store.MustKey("c"), parts), store.Sync)
		return err
	}, "assemble c 3 ok")
	step("list versions", func() error {
		for range store.List(ctx, s, store.Path{}, store.WithVersions) {
			break
		}
		return nil
	}, "list 0 ok")
	step("list", func() error {
		for range store.List(ctx, s, store.Path{}, store.Flat) {
			break
		}
		return nil
	}, "list 0 ok")
	step("lock", func() error {
		unlock, err := store.Lock(ctx, s, store.Path{})
		if err != nil {
			return err
		}
		return unlock()
	}, "lock 0 ok")
	step("batch", func() error {
		b, err := store.NewBatch(ctx, s, store.Sync)
		if err != nil {
			return err
		}
		if _, err := b.Write(ctx, store.Put(key, []byte("12"))); err != nil {
			return err
		}
		if _, err := b.Write(ctx, store.PutIf(key, []byte("123"), store.IfVersion(made.Version))); err == nil {
			t.Error("the condition held")
		}
		if _, err := b.Write(ctx, store.Clone(store.MustKey("c"), key, store.Version{})); err != nil {
			return err
		}
		if _, err := b.Write(ctx, store.Assemble(store.MustKey("c"), []store.Part{{Data: []byte("1")}})); err != nil {
			return err
		}
		if _, err := b.Write(ctx, store.Delete(key)); err != nil {
			return err
		}
		return b.Commit(ctx)
	}, "put a/b 2 ok", "put_if a/b 0 conflict", "clone c 0 ok", "assemble c 1 ok", "delete a/b 0 ok", "commit 0 ok")
	step("delete if", func() error {
		_, err := store.Write(ctx, s, store.DeleteIf(key, made.Version), store.Sync)
		return err
	}, "delete_if a/b 0 conflict")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	step("cancelled", func() error { _, _, err := s.Get(cancelled, key, store.Request{}, nil); return err }, "get a/b 0 canceled")
}

// TestCopyBetweenWrapped checks that the file store copies a file even if the stores are
// wrapped.
func TestCopyBetweenWrapped(t *testing.T) {
	ctx, n := t.Context(), new(notes)
	from, to := drivers["file"](t), drivers["file"](t)
	key := store.MustKey("a")
	if _, err := store.Write(ctx, from, store.Put(key, []byte("value")), store.Flush); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Write(ctx, observed.New(to, n), store.Copy(key, observed.New(from, n), key), store.Flush); err != nil {
		t.Fatal(err)
	}
	if got, want := n.take(), []string{"copy a 5 ok"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestEventsTakeNoMemory checks that observing allocates no memory, except once for a
// value that is opened.
func TestEventsTakeNoMemory(t *testing.T) {
	racing.Skip(t)
	ctx, key := t.Context(), store.MustKey("a")
	m := memtest.New()
	if _, err := store.Write(ctx, m, store.Put(key, make([]byte, 100)), store.Flush); err != nil {
		t.Fatal(err)
	}
	s := observed.New(m, new(observe.Counter))
	buf := make([]byte, 0, 100)
	if n := testing.AllocsPerRun(100, func() { buf, _, _ = s.Get(ctx, key, store.Request{}, buf[:0]) }); n > 0 {
		t.Errorf("Get makes %v allocations", n)
	}
	o, err := store.Open(ctx, s, key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if n := testing.AllocsPerRun(100, func() { buf, _ = o.Read(ctx, store.Request{}, buf[:0]) }); n > 0 {
		t.Errorf("Read makes %v allocations", n)
	}
}

func BenchmarkGet(b *testing.B) {
	ctx, key := b.Context(), store.MustKey("a")
	m := memtest.New()
	if _, err := store.Write(ctx, m, store.Put(key, make([]byte, 100)), store.Flush); err != nil {
		b.Fatal(err)
	}
	for name, s := range map[string]store.Store{"alone": m, "observed": observed.New(m, new(observe.Counter))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 100)
			for b.Loop() {
				buf, _, _ = s.Get(ctx, key, store.Request{}, buf[:0])
			}
		})
	}
}

func Example() {
	ctx := context.Background()
	var c observe.Counter
	s := observed.New(memstore.New(), &c)
	for range 3 {
		if _, err := store.Write(ctx, s, store.Put(store.MustKey("zarr.json"), []byte("{}")), store.Sync); err != nil {
			panic(err)
		}
	}
	put := c.Stats().Of(observe.Put)
	fmt.Println(put.Times, "values,", put.Bytes, "bytes")
	// Output: 3 values, 6 bytes
}
