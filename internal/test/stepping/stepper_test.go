// SPDX-License-Identifier: Apache-2.0

package stepping_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/storetest"
)

func TestConditional(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return stepping.Conditional(memtest.New(), stepping.Hooks{}) })
	s := stepping.Conditional(memtest.New(), stepping.Hooks{})
	for name, has := range map[string]bool{"Batcher": implements[store.Batcher](s), "Opener": implements[store.Opener](s), "Locker": implements[store.Locker](s)} {
		if has {
			t.Errorf("the object store is a %s", name)
		}
	}
}

func implements[T any](s store.Store) bool {
	_, ok := s.(T)
	return ok
}

// TestHooks fails every operation before and after it has happened.
func TestHooks(t *testing.T) {
	ctx, key, fault := t.Context(), store.MustKey("a/k"), errors.New("fault")
	for name, c := range map[string]struct {
		act  func(s store.Store, old store.Version) error
		want string // the value afterwards
	}{
		"Get":   {func(s store.Store, _ store.Version) error { _, err := value(s, "a/k"); return err }, "old"},
		"Stat":  {func(s store.Store, _ store.Version) error { _, err := store.Stat(ctx, s, key); return err }, "old"},
		"Put":   {func(s store.Store, _ store.Version) error { return write(s, "a/k", "new") }, "new"},
		"PutIf": {func(s store.Store, old store.Version) error { return writeIf(s, "a/k", "new", store.IfVersion(old)) }, "new"},
		"Delete": {func(s store.Store, _ store.Version) error {
			_, err := store.Write(ctx, s, store.Delete(key), store.Sync)
			return err
		}, ""},
		"DeleteIf": {func(s store.Store, old store.Version) error {
			_, err := store.Write(ctx, s, store.DeleteIf(key, old), store.Sync)
			return err
		}, ""},
		"List": {func(s store.Store, _ store.Version) (err error) {
			for _, err = range store.List(ctx, s, key.Dir(), store.Deep) {
			}
			return err
		}, "old"},
	} {
		for _, after := range []bool{false, true} {
			m := memtest.New()
			old, err := store.Write(ctx, m, store.Put(key, []byte("old")), store.Flush)
			if err != nil {
				t.Fatal(err)
			}
			var seen []stepping.Op
			h := stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
				seen = append(seen, op)
				return fault
			}}
			want := "old"
			if after {
				want = c.want
				h = stepping.Hooks{After: func(op stepping.Op, err error) error {
					seen = append(seen, op)
					return errors.Join(err, fault)
				}}
			}
			if err := c.act(stepping.Conditional(m, h), old.Version); !errors.Is(err, fault) {
				t.Errorf("%s: error is %v, want %v", name, err, fault)
			}
			if got, _ := value(m, "a/k"); got != want {
				t.Errorf("%s, fault after it %t: the key has %q, want %q", name, after, got, want)
			}
			if len(seen) != 1 || seen[0].Name != name || name != "List" && seen[0].Key != key {
				t.Errorf("%s: the hook saw %v", name, seen)
			}
		}
	}
}

func value(s store.Store, name string) (string, error) {
	b, _, err := s.Get(context.Background(), store.MustKey(name), store.Request{}, nil)
	return string(b), err
}

func write(s store.Store, name, value string) error {
	_, err := store.Write(context.Background(), s, store.Put(store.MustKey(name), []byte(value)), store.Flush)
	return err
}

func writeIf(s store.Store, name, value string, cond store.Condition) error {
	_, err := store.Write(context.Background(), s, store.PutIf(store.MustKey(name), []byte(value), cond), store.Flush)
	return err
}

// add returns a client that adds one to the number at "n". If careful is set, it writes
// on the condition that the number has not changed.
func add(careful bool) func(s store.Store) error {
	return func(s store.Store) error {
		for {
			b, info, err := s.Get(context.Background(), store.MustKey("n"), store.Request{}, nil)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(b))
			if err != nil {
				return err
			}
			next := strconv.Itoa(n + 1)
			if !careful {
				return write(s, "n", next)
			}
			if err := writeIf(s, "n", next, store.IfVersion(info.Version)); !errors.Is(err, store.ErrConflict) {
				return err
			}
		}
	}
}

// counted returns a stepper with clients that each add one, and the store that they
// share.
func counted(t *testing.T, clients int, careful bool) (*stepping.Stepper, store.Store) {
	t.Helper()
	m := memtest.New()
	if err := write(m, "n", "0"); err != nil {
		t.Fatal(err)
	}
	st := stepping.NewStepper(m)
	for range clients {
		st.Start(add(careful))
	}
	return st, m
}

// TestStepper counts with two and three clients in every order. Careful clients always
// count right, others do not.
func TestStepper(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, c := range []struct {
		clients, interrupts int
		careful             bool
		runs                int
		results             map[string]int
	}{
		{2, -1, false, 6, map[string]int{"2": 2, "1": 4}}, // two of four places for one client
		{3, -1, false, 90, nil},                           // 6! / 2!³
		{2, 0, false, 2, map[string]int{"2": 2}},
		{2, 1, false, 4, map[string]int{"2": 2, "1": 2}},
		{2, -1, true, 0, map[string]int{"2": 0}},
		{3, -1, true, 0, map[string]int{"3": 0}},
	} {
		results := map[string]int{}
		runs := stepping.Explore(func(choose func(int) int) bool {
			st, m := counted(t, c.clients, c.careful)
			defer st.Close()
			st.Finish(choose, c.interrupts)
			for i := range c.clients {
				if err := st.Err(i); err != nil {
					t.Errorf("client %d: %v\n%v", i, err, st.Trace())
				}
			}
			n, err := value(m, "n")
			if err != nil {
				t.Error(err)
			}
			results[n]++
			return true
		})
		t.Logf("%+v: %d runs, %v", c, runs, results)
		if c.runs != 0 && runs != c.runs {
			t.Errorf("%+v: %d runs", c, runs)
		}
		for n, times := range c.results {
			if results[n] == 0 || times != 0 && results[n] != times || len(results) != len(c.results) {
				t.Errorf("%+v: results are %v", c, results)
			}
		}
	}
}

// TestFates checks refused and lost operations and crashes.
func TestFates(t *testing.T) {
	defer goleak.VerifyNone(t)
	for name, c := range map[string]struct {
		act   func(st *stepping.Stepper)
		value string
		err   error
	}{
		"step":             {func(st *stepping.Stepper) { st.Step(0); st.Step(0) }, "1", nil},
		"refused":          {func(st *stepping.Stepper) { st.Step(0); st.Refuse(0) }, "0", stepping.ErrRefused},
		"refused at once":  {func(st *stepping.Stepper) { st.Refuse(0) }, "0", stepping.ErrRefused},
		"lost":             {func(st *stepping.Stepper) { st.Step(0); st.Lose(0) }, "1", stepping.ErrLost},
		"crash":            {func(st *stepping.Stepper) { st.Step(0); st.Crash(0) }, "0", stepping.ErrCrashed},
		"crash at once":    {func(st *stepping.Stepper) { st.Crash(0) }, "0", stepping.ErrCrashed},
		"crash in the end": {func(st *stepping.Stepper) { st.Step(0); st.Step(0); st.Crash(0) }, "1", nil},
		"close":            {func(st *stepping.Stepper) { st.Step(0); st.Close() }, "0", stepping.ErrCrashed},
	} {
		st, m := counted(t, 1, true)
		c.act(st)
		if err := st.Err(0); !errors.Is(err, c.err) {
			t.Errorf("%s: error is %v, want %v", name, err, c.err)
		}
		if got, err := value(m, "n"); got != c.value {
			t.Errorf("%s: the value is %q and error %v, want %q", name, got, err, c.value)
		}
		if op, done := st.Step(0); !done || op != (stepping.Op{}) || len(st.Ready()) != 0 {
			t.Errorf("%s: the client continues %v", name, op)
		}
		st.Close()
	}
}

// TestTrace checks the waiting operations and the trace.
func TestTrace(t *testing.T) {
	st, _ := counted(t, 2, true)
	defer st.Close()
	if op, waits := st.Next(1); !waits || op.String() != "Get n" {
		t.Errorf("client 1 waits for %v", op)
	}
	st.Step(1)
	if op, done := st.Lose(1); !done || op.String() != "PutIf n" {
		t.Errorf("client 1 did %v, ended %t", op, done)
	}
	st.Refuse(0)
	st.Crash(0)
	if _, waits := st.Next(0); waits || len(st.Ready()) != 0 {
		t.Error("client 0 continues")
	}
	if got, want := st.Trace().String(), "1: Get n\n1: PutIf n lost\n0: Get n refused\n"; got != want {
		t.Errorf("trace is\n%swant\n%s", got, want)
	}
	last := st.Start(add(true))
	st.Crash(last)
	if got := st.Trace(); got[len(got)-1] != (stepping.Turn{Client: 2, Fate: "crash"}) {
		t.Errorf("trace is\n%v", got)
	}
}

// TestBusyClient steps a client that has several concurrent operations, cancels some of
// them, and ends before its goroutines.
func TestBusyClient(t *testing.T) {
	defer goleak.VerifyNone(t)
	m := memtest.New()
	st := stepping.NewStepper(m)
	ctx, cancel := context.WithCancel(t.Context())
	i := st.Start(func(s store.Store) error {
		errs := make(chan error, 3)
		for k := range 3 {
			go func() {
				_, err := store.Write(ctx, s, store.Put(store.MustKey(strconv.Itoa(k)), nil), store.Flush)
				errs <- err
			}()
		}
		return errors.Join(<-errs, <-errs, <-errs)
	})
	if _, done := st.Step(i); done {
		t.Error("the client has ended after one operation of three")
	}
	cancel()
	for len(st.Ready()) > 0 {
		st.Step(i)
	}
	if err := st.Err(i); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want %v", err, context.Canceled)
	}
	left := st.Start(func(s store.Store) error {
		go func() { _, _ = value(s, "left") }()
		return nil
	})
	for len(st.Ready()) > 0 {
		st.Step(left)
	}
	st.Close()
}

// TestClientExits ends a client as a failed test does.
func TestClientExits(t *testing.T) {
	st := stepping.NewStepper(memtest.New())
	defer st.Close()
	i := st.Start(func(store.Store) error {
		runtime.Goexit()
		return nil
	})
	if st.Err(i) == nil || len(st.Ready()) != 0 {
		t.Errorf("error is %v, ready are %v", st.Err(i), st.Ready())
	}
}

func TestExplore(t *testing.T) {
	var got [][2]int
	runs := stepping.Explore(func(choose func(int) int) bool {
		a := choose(3)
		b := choose(a) // none of zero, one of one, two of two
		got = append(got, [2]int{a, b})
		return true
	})
	if want := [][2]int{{0, 0}, {1, 0}, {2, 0}, {2, 1}}; runs != len(want) || !slices.Equal(got, want) {
		t.Errorf("%d runs, %v", runs, got)
	}
	if runs = stepping.Explore(func(choose func(int) int) bool { return choose(9) < 4 }); runs != 5 {
		t.Errorf("%d runs, want 5", runs)
	}
	defer func() {
		if recover() == nil {
			t.Error("a run that is not the same again does not panic")
		}
	}()
	n := 1
	stepping.Explore(func(choose func(int) int) bool { n++; choose(n); return true })
}

// ExampleStepper lets two clients create one value, the second one between the read and
// the write of the first.
func ExampleStepper() {
	create := func(s store.Store) error {
		if _, err := value(s, "k"); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return writeIf(s, "k", "v", store.IfAbsent())
	}
	st := stepping.NewStepper(memtest.New())
	defer st.Close()
	first, second := st.Start(create), st.Start(create)
	st.Step(first)
	st.Step(second)
	st.Step(second)
	st.Step(first)
	fmt.Println(errors.Is(st.Err(first), store.ErrConflict), st.Err(second))
	fmt.Print(st.Trace())
	// Output:
	// true <nil>
	// 0: Get k
	// 1: Get k
	// 1: PutIf k
	// 0: PutIf k
}
