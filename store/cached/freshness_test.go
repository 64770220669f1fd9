// SPDX-License-Identifier: Apache-2.0

package cached_test

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/cached"
	"varve.dev/zarr/store/memstore"
)

// TestTrust checks which options spare the question for the version, and that a write
// through the wrapper ends that.
func TestTrust(t *testing.T) {
	for _, opt := range []*cached.Options{{Immutable: true}, {MaxAge: time.Hour}} {
		each(t, func(t *testing.T, c *cached.Cache) {
			f := newFar()
			s := cached.New(f, c, opt)
			value := pattern(200<<10, 1)
			f.write(t, "c/0", value)
			reads(t, f, s, "c/0", store.Whole(), value, 1, 0)
			reads(t, f, s, "c/0", store.Span(70_000, 10), value, 0, 0)
			// Another process changes the value. It stays as it was, by the option.
			later := pattern(200<<10, 2)
			f.write(t, "c/0", later)
			reads(t, f, s, "c/0", store.Whole(), value, 0, 0)
			if _, err := store.Write(t.Context(), s, store.Put(store.MustKey("c/0"), later), store.Flush); err != nil {
				t.Fatal(err)
			}
			reads(t, f, s, "c/0", store.Whole(), later, 1, 1)
			reads(t, f, s, "c/0", store.Whole(), later, 0, 1)
			if _, err := store.Write(t.Context(), s, store.Delete(store.MustKey("c/0")), store.Sync); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{}, nil); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a deleted value: %v", err)
			}
			// A batch ends the trust as well.
			f.write(t, "c/1", value)
			reads(t, f, s, "c/1", store.Whole(), value, 1, 0)
			b, err := store.NewBatch(t.Context(), s, store.Flush)
			if err == nil {
				err = errors.Join(errOf(b.Write(t.Context(), store.Put(store.MustKey("c/1"), later))), b.Commit(t.Context()))
			}
			if err != nil {
				t.Fatal(err)
			}
			reads(t, f, s, "c/1", store.Whole(), later, 1, 1)
		})
	}
}

// TestMaxAge checks that an entry that is too old is asked for, and is then young again.
func TestMaxAge(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		f := newFar()
		value := pattern(100, 1)
		f.write(t, "c/0", value)
		reads(t, f, cached.New(f, c, nil), "c/0", store.Whole(), value, 1, 0)
		time.Sleep(2 * time.Millisecond)
		reads(t, f, cached.New(f, c, &cached.Options{MaxAge: time.Millisecond}), "c/0", store.Whole(), value, 0, 1)
		s := cached.New(f, c, &cached.Options{MaxAge: time.Hour})
		reads(t, f, s, "c/0", store.Whole(), value, 0, 0)
	})
}

// unversioned is a store without versions.
type unversioned struct{ *far }

func (u unversioned) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := u.far.Get(ctx, key, q, dst)
	return out, store.Info{Size: info.Size}, err
}

func (u unversioned) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := u.far.Stat(ctx, key)
	return store.Info{Size: info.Size}, err
}

// weak is a store with versions of whole seconds, as those of a simple web server. All
// values have the same time.
type weak struct {
	*far
	age time.Duration // 0 is unknown
}

func (w weak) info(info store.Info) store.Info {
	info.Version, info.Modified = store.MakeVersion("W/ Thu, 01 Jan 2026 00:00:00 GMT"), time.Time{}
	if w.age > 0 {
		info.Modified = time.Now().Add(-w.age)
	}
	return info
}

func (w weak) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := w.far.Get(ctx, key, q, dst)
	return out, w.info(info), err
}

func (w weak) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := w.far.Stat(ctx, key)
	return w.info(info), err
}

// TestWeakVersions replaces values without changing their versions. A value that was just
// written is not kept, and an older one is.
func TestWeakVersions(t *testing.T) {
	for _, age := range []time.Duration{0, time.Millisecond, time.Second} {
		each(t, func(t *testing.T, c *cached.Cache) {
			f := newFar()
			s := cached.New(weak{f, age}, c, nil)
			for seed := range 3 {
				value := pattern(200<<10, seed)
				f.write(t, "c/0", value)
				for _, r := range []store.Range{store.Whole(), store.Span(70_000, 10), store.Suffix(10)} {
					off, n, _ := r.Resolve(int64(len(value)))
					got, _, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{Range: r}, nil)
					if err != nil || string(got) != string(value[off:off+n]) {
						t.Errorf("age %v, value %d, %v: %d bytes that differ, error %v", age, seed, r, len(got), err)
					}
				}
			}
		})
	}
	each(t, func(t *testing.T, c *cached.Cache) {
		f := newFar()
		s := cached.New(weak{f, time.Hour}, c, nil)
		value := pattern(200<<10, 1)
		f.write(t, "c/0", value)
		reads(t, f, s, "c/0", store.Whole(), value, 1, 0)
		reads(t, f, s, "c/0", store.Whole(), value, 0, 1)
	})
}

// placeless is a store without a place.
type placeless struct{ stepping.ObjectStore }

// TestNotCached checks what must not be cached.
func TestNotCached(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		f := newFar()
		s := cached.New(unversioned{f}, c, &cached.Options{Immutable: true})
		for seed := range 3 {
			value := pattern(100<<10, seed)
			f.write(t, "c/0", value)
			reads(t, f, s, "c/0", store.Whole(), value, 1, 0)
			reads(t, f, s, "c/0", store.Suffix(10), value, 1, 0)
			reads(t, f, s, "c/0", store.Span(5, 10), value, 1, 1)
		}
		if held, err := c.Held(); err != nil || held > 20<<10 {
			t.Errorf("%d bytes are held, error %v", held, err)
		}
	})
	// Two stores without a place must not be confused.
	each(t, func(t *testing.T, c *cached.Cache) {
		for seed := range 2 {
			f := newFar()
			s := cached.New(placeless{f}, c, &cached.Options{Immutable: true})
			value := pattern(100, seed)
			f.write(t, "c/0", value)
			reads(t, f, s, "c/0", store.Whole(), value, 1, 0)
		}
	})
}

// TestPlaces checks that stores of different places are kept apart.
func TestPlaces(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		for seed, place := range []string{"a", "b", "a/c", "ab"} {
			f := newFar()
			s := cached.New(f, c, &cached.Options{Place: place, Immutable: true})
			value := pattern(100, seed)
			f.write(t, "c/0", value)
			reads(t, f, s, "c/0", store.Whole(), value, 1, 0)
		}
	})
}

// TestReplacedMeanwhile replaces a value between the question for its version and the
// request for its bytes.
func TestReplacedMeanwhile(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		f := newFar()
		s := cached.New(f, c, nil)
		value := pattern(300<<10, 1)
		f.write(t, "c/0", value)
		reads(t, f, s, "c/0", store.Span(0, 10), value, 1, 1)
		for _, n := range []int{300 << 10, 100 << 10} { // also by a shorter one
			later := pattern(n, n+1)
			f.wait = func(op stepping.Op) {
				if op.Name == "Get" {
					f.wait = nil
					m := f.ObjectStore
					if _, err := m.Write(context.Background(), store.Put(op.Key, later), store.Flush); err != nil {
						t.Error(err)
					}
				}
			}
			got, info, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{Range: store.From(70_000)}, nil)
			if err != nil || string(got) != string(later[70_000:]) || info.Size != int64(n) {
				t.Errorf("%d bytes of size %d, error %v", len(got), info.Size, err)
			}
		}
	})
}

// TestPinned checks that a pinned version is never mixed with another one.
func TestPinned(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		f := newFar()
		s := cached.New(f, c, nil)
		value := pattern(300<<10, 1)
		f.write(t, "c/0", value)
		info, err := f.Stat(t.Context(), store.MustKey("c/0"))
		if err != nil {
			t.Fatal(err)
		}
		p := store.Pin(s, store.MustKey("c/0"), info)
		defer p.Close()
		read := func(off, n int64, want error) {
			t.Helper()
			got, _, err := p.Read(t.Context(), store.Request{Range: store.Span(off, n)}, nil)
			if !errors.Is(err, want) || err == nil && string(got) != string(value[off:off+n]) {
				t.Errorf("bytes from %d on: %d bytes, error %v, want %v", off, len(got), err, want)
			}
		}
		read(0, 10, nil)
		f.write(t, "c/0", pattern(300<<10, 2))
		read(5, 10, nil) // of the pinned version
		read(100_000, 10, store.ErrConflict)
		// A version that was pinned before, but not read now, is not taken from the
		// cache.
		again := store.Pin(s, store.MustKey("c/0"), info)
		defer again.Close()
		if _, _, err := again.Read(t.Context(), store.Request{Range: store.Span(0, 10)}, nil); !errors.Is(err, store.ErrConflict) {
			t.Errorf("an old version: error %v", err)
		}
		if _, err := f.Write(t.Context(), store.Delete(store.MustKey("c/0")), store.Sync); err != nil {
			t.Fatal(err)
		}
		read(200_000, 10, store.ErrConflict)
	})
}

// awaits waits until n readers wait for the request of another one.
func awaits(t *testing.T, s store.Store, n int) bool {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); cached.Waiting(s) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d readers wait, want %d", cached.Waiting(s), n)
			return false
		}
	}
	return true
}

// TestStampede starts many readers of one value.
func TestStampede(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		for _, r := range []store.Range{store.Whole(), store.Span(70_000, 200_000), store.Suffix(1000)} {
			f := newFar()
			s := cached.New(f, c, &cached.Options{Place: r.String(), Immutable: true})
			value := pattern(300<<10, 1)
			f.write(t, "c/0", value)
			// The first block is in the cache, so the version is known.
			if off, _, _ := r.Resolve(1 << 20); off == 70_000 {
				reads(t, f, s, "c/0", store.Span(66_000, 10), value, 1, 1)
			}
			release := make(chan struct{})
			f.wait = func(stepping.Op) { <-release }
			var wg, gone sync.WaitGroup
			for i := range 16 {
				wg.Go(func() {
					got, _, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{Range: r}, nil)
					off, n, _ := r.Resolve(int64(len(value)))
					if err != nil || string(got) != string(value[off:off+n]) {
						t.Errorf("reader %d of %s: %d bytes, error %v", i, r, len(got), err)
					}
				})
			}
			if !awaits(t, s, 15) {
				close(release)
				wg.Wait()
				continue
			}
			ctx, cancel := context.WithCancel(t.Context())
			// Readers that are cancelled leave while the request is in flight.
			for range 4 {
				gone.Go(func() {
					if _, _, err := s.Get(ctx, store.MustKey("c/0"), store.Request{Range: r}, nil); !errors.Is(err, context.Canceled) {
						t.Errorf("a cancelled reader: %v", err)
					}
				})
			}
			awaits(t, s, 19)
			cancel()
			gone.Wait()
			close(release)
			wg.Wait()
			if gets, _ := f.took(); gets != 1 {
				t.Errorf("%s: %d requests, want 1", r, gets)
			}
		}
	})
}

// TestSharedAndOld begins a read while a request is in flight that has read the value
// before it was replaced.
func TestSharedAndOld(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		f := newFar()
		s := cached.New(f, c, nil)
		key, later := store.MustKey("c/0"), pattern(1000, 2)
		f.write(t, "c/0", pattern(1000, 1))
		read, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		f.late = func(op stepping.Op) {
			if op.Name == "Get" {
				once.Do(func() {
					close(read)
					<-release
				})
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, _, err := s.Get(t.Context(), key, store.Request{}, nil); err != nil {
				t.Error(err)
			}
		})
		<-read
		f.write(t, "c/0", later)
		wg.Go(func() {
			if got, _, err := s.Get(t.Context(), key, store.Request{}, nil); err != nil || string(got) != string(later) {
				t.Errorf("%d bytes of an old version, error %v", len(got), err)
			}
		})
		awaits(t, s, 1)
		close(release)
		wg.Wait()
	})
}

// TestLeaderFails cancels the reader whose request others wait for.
func TestLeaderFails(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		for _, r := range []store.Range{store.Whole(), store.Span(0, 100_000)} {
			f := newFar()
			s := cached.New(f, c, &cached.Options{Place: r.String(), Immutable: true})
			value := pattern(300<<10, 1)
			f.write(t, "c/0", value)
			ctx, cancel := context.WithCancel(t.Context())
			begun := make(chan struct{})
			first := true
			f.wait = func(op stepping.Op) {
				if f.mu.Lock(); op.Name == "Get" && first {
					first = false
					f.mu.Unlock()
					close(begun)
					<-ctx.Done()
					return
				}
				f.mu.Unlock()
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, _, err := s.Get(ctx, store.MustKey("c/0"), store.Request{Range: r}, nil); !errors.Is(err, context.Canceled) {
					t.Errorf("the first reader: %v", err)
				}
			})
			<-begun
			for range 8 {
				wg.Go(func() {
					got, _, err := s.Get(t.Context(), store.MustKey("c/0"), store.Request{Range: r}, nil)
					_, n, _ := r.Resolve(int64(len(value)))
					if err != nil || string(got) != string(value[:n]) {
						t.Errorf("a waiting reader: %d bytes, error %v", len(got), err)
					}
				})
			}
			awaits(t, s, 8)
			cancel()
			wg.Wait()
		}
	})
}

// TestObject reads an open value.
func TestObject(t *testing.T) {
	each(t, func(t *testing.T, c *cached.Cache) {
		m := memstore.New()
		s := cached.New(m, c, &cached.Options{Place: "m"})
		key, value := store.MustKey("c/0"), pattern(100<<10, 1)
		if _, err := store.Write(t.Context(), m, store.Put(key, value), store.Flush); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			o, err := store.Open(t.Context(), s, key)
			if err != nil {
				t.Fatal(err)
			}
			got, err := o.Read(t.Context(), store.Request{Range: store.From(10)}, nil)
			if err = errors.Join(err, o.Close()); err != nil || string(got) != string(value[10:]) {
				t.Errorf("%d bytes, error %v", len(got), err)
			}
		}
		if st := c.Stats(); st.Misses != 1 || st.MissBytes != 100<<10 || st.HitBytes != 100<<10-10 {
			t.Errorf("%+v", st)
		}
	})
}

// errOf returns the error of a change.
func errOf(_ store.Written, err error) error { return err }
