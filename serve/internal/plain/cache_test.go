// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestShelfOnce makes bytes once for calls that come at the same time.
func TestShelfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, made, enough := &Shelf{limit: 1 << 20}, 0, make(chan struct{})
		var g sync.WaitGroup
		for range 5 {
			g.Go(func() {
				data, err := s.Get(t.Context(), Place{Where: "a", Version: "1"}, func(context.Context) ([]byte, error) {
					made++
					<-enough
					return []byte{7}, nil
				})
				if err != nil || !slices.Equal(data, []byte{7}) {
					t.Error(data, err)
				}
			})
		}
		synctest.Wait()
		close(enough)
		g.Wait()
		if made != 1 {
			t.Errorf("the bytes were made %d times", made)
		}
	})
}

// TestShelfCancel ends the work when nobody waits for it, and not before.
func TestShelfCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Shelf{limit: 1 << 20}
		ended := 0
		get := func(ctx context.Context) error {
			_, err := s.Get(ctx, Place{Where: "a", Version: "1"}, func(ctx context.Context) ([]byte, error) {
				<-ctx.Done()
				ended++
				return nil, ctx.Err()
			})
			return err
		}
		first, stopFirst := context.WithCancel(t.Context())
		second, stopSecond := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { errs <- get(first) }()
		go func() { errs <- get(second) }()
		synctest.Wait()
		stopFirst()
		err := <-errs
		synctest.Wait()
		if !errors.Is(err, context.Canceled) || ended != 0 {
			t.Errorf("%v, ended %d times", err, ended)
		}
		stopSecond()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		if ended != 1 || len(s.entries) != 0 {
			t.Errorf("ended %d times, %d entries left", ended, len(s.entries))
		}
	})
}

// TestShelfLimit keeps what was used last.
func TestShelfLimit(t *testing.T) {
	s, made := &Shelf{limit: 16 << 10}, 0
	get := func(where, version string) {
		t.Helper()
		if _, err := s.Get(t.Context(), Place{Where: where, Version: version}, func(context.Context) ([]byte, error) {
			made++
			return make([]byte, 1<<10), nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, where := range []string{"a", "b", "c", "a", "d", "e", "f", "a", "g", "h", "i", "j", "k", "a"} {
		get(where, "1")
	}
	if made != 11 || s.size > s.limit {
		t.Errorf("made %d times, %d bytes", made, s.size)
	}
	get("b", "1") // the oldest
	get("a", "2")
	if made != 13 {
		t.Errorf("made %d times", made)
	}
	get("c", "")
	get("c", "")
	if made != 15 {
		t.Errorf("made %d times where the version is not known", made)
	}
	failed := errors.New("failed")
	for range 2 {
		_, err := s.Get(t.Context(), Place{Where: "x", Version: "1"}, func(context.Context) ([]byte, error) {
			made++
			return nil, failed
		})
		if err != failed {
			t.Error(err)
		}
	}
	if made != 17 {
		t.Errorf("made %d times after errors", made)
	}
}

// TestVersionOf keeps nothing of a file that was written just now: its next version may
// have the same time.
func TestVersionOf(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		version string
		age     time.Duration
		want    string
	}{
		{"", time.Hour, ""}, {"1", 0, "1"}, {"1", time.Hour, "1"}, {"W/1", time.Hour, "W/1"}, {"W/1", time.Second, ""},
	} {
		if is := VersionOf(store.Info{Version: store.MakeVersion(c.version), Modified: now.Add(-c.age)}, now); is != c.want {
			t.Errorf("%+v: %q", c, is)
		}
	}
}

// TestEncoder expects another version of chunks for another version of what encodes them,
// also in a program that only imports this module.
func TestEncoder(t *testing.T) {
	module := func(path, version string) *debug.Module { return &debug.Module{Path: path, Version: version} }
	seen := map[string]bool{}
	for _, deps := range [][]*debug.Module{
		{module("varve.dev/zarr", "v1.0.0"), module("github.com/klauspost/compress", "v1.0.0")},
		{module("varve.dev/zarr", "v1.0.1"), module("github.com/klauspost/compress", "v1.0.0")},
		{module("varve.dev/zarr", "v1.0.0"), module("github.com/klauspost/compress", "v1.0.1")},
		{{Path: "varve.dev/zarr", Version: "v1.0.0", Replace: module("example.org/fork", "v1.0.0")}, module("github.com/klauspost/compress", "v1.0.0")},
	} {
		seen[encoderOf(&debug.BuildInfo{Main: *module("example.org/host", "v1.0.0"), Deps: deps})] = true
	}
	if len(seen) != 4 {
		t.Errorf("the versions are %v", seen)
	}
}

// waiting is a store whose values are read when someone lets them.
type waiting struct {
	store.Store
	asked, let chan struct{}
}

// Get implements [store.Store].
func (s waiting) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	<-s.let
	return s.Store.Get(ctx, key, q, dst)
}

// TestClosedWithin closes a view while an array is opened, and asks it again: it takes no
// place from the arrays of other views.
func TestClosedWithin(t *testing.T) {
	s := waiting{memstore.New(), make(chan struct{}, 1), make(chan struct{})}
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32}
	if _, err := zarr.At(s.Store, "").CreateArray(t.Context(), spec, nil); err != nil {
		t.Fatal(err)
	}
	cache := NewCache(Least)
	cache.Limits.Arrays = 1
	settings := Settings{Chunks: []int64{2}}
	v := New(zarr.At(s, ""), settings, cache)
	done := make(chan error, 1)
	go func() {
		_, err := v.array(t.Context(), "")
		done <- err
	}()
	<-s.asked
	v.Close()
	close(s.let)
	if err := <-done; !errors.Is(err, ErrGone) {
		t.Errorf("an array of a closed view: %v", err)
	}
	if _, err := v.array(t.Context(), ""); !errors.Is(err, ErrGone) {
		t.Errorf("an array of a closed view: %v", err)
	}
	for range 3 {
		next := New(zarr.At(s, ""), settings, cache)
		if _, err := next.array(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		next.Close()
	}
}
