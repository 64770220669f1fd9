// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// far is an object store without the power Opener. It records requests.
type far struct {
	stepping.ObjectStore
	mu  sync.Mutex
	ops []string
}

func newFar(m memtest.Store) *far {
	f := &far{}
	f.ObjectStore = stepping.Conditional(m, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ops = append(f.ops, op.Name)
		return nil
	}})
	return f
}

// opening is a store in memory that counts requests by method.
type opening struct {
	memtest.Store
	ops []string
}

func (o *opening) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	o.ops = append(o.ops, "Get")
	return o.Store.Get(ctx, key, q, dst)
}

func (o *opening) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	o.ops = append(o.ops, "Stat")
	return o.Store.Stat(ctx, key)
}

func (o *opening) Open(ctx context.Context, key store.Key) (store.Object, error) {
	o.ops = append(o.ops, "Open")
	return o.Store.Open(ctx, key)
}

// sizes is a store without versions.
type sizes struct{ s memtest.Store }

func (s sizes) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := s.s.Get(ctx, key, q, dst)
	return out, store.Info{Size: info.Size}, err
}

var pinKey = store.MustKey("c/0")

func write(t *testing.T, m memtest.Store, value string) store.Info {
	t.Helper()
	if _, err := m.Write(t.Context(), store.Put(pinKey, []byte(value)), store.Flush); err != nil {
		t.Fatal(err)
	}
	info, err := m.Stat(t.Context(), pinKey)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestPinRequests counts the requests for an index and two parts of a value: one Get
// each, and none before.
func TestPinRequests(t *testing.T) {
	m := memtest.New()
	want := write(t, m, "0123456789")
	f, o := newFar(m), &opening{Store: m}
	for name, c := range map[string]struct {
		s        store.Store
		ops      func() []string
		expected store.Info
		want     []string
	}{
		"far":                      {f, func() []string { return f.ops }, store.Info{}, []string{"Get", "Get", "Get"}},
		"far, version is known":    {f, func() []string { return f.ops }, want, []string{"Get", "Get", "Get"}},
		"opened":                   {o, func() []string { return o.ops }, store.Info{}, []string{"Open"}},
		"opened, version is known": {o, func() []string { return o.ops }, want, []string{"Open"}},
	} {
		f.ops, o.ops = nil, nil
		p := store.Pin(c.s, pinKey, c.expected)
		if got := c.ops(); len(got) != 0 {
			t.Errorf("%s: Pin asked for %q", name, got)
		}
		for _, r := range []store.Range{store.Suffix(2), store.Span(0, 3), store.Span(3, 4)} {
			got, info, err := p.Read(t.Context(), store.Request{Range: r}, []byte("x"))
			off, n, _ := r.Resolve(10)
			if string(got) != "x"+"0123456789"[off:off+n] || !info.Same(want) || err != nil {
				t.Errorf("%s: %s is %q of %v with error %v", name, r, got, info, err)
			}
		}
		if err := errors.Join(p.Close(), p.Close()); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
		if got := c.ops(); !slices.Equal(got, c.want) {
			t.Errorf("%s: requests are %q, want %q", name, got, c.want)
		}
		if _, _, err := p.Read(t.Context(), store.Request{}, nil); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s: Read after Close: error is %v, want %v", name, err, fs.ErrClosed)
		}
	}
}

// TestPinChanges changes a value between two reads, or before the first one if a version
// is expected.
func TestPinChanges(t *testing.T) {
	old := "0123456789"
	for name, c := range map[string]struct {
		change func(t *testing.T, m memtest.Store)
		r      store.Range
		want   error
	}{
		"nothing":        {func(*testing.T, memtest.Store) {}, store.Span(2, 2), nil},
		"replaced":       {func(t *testing.T, m memtest.Store) { write(t, m, "abcdefghijklm") }, store.Span(2, 2), store.ErrConflict},
		"shorter":        {func(t *testing.T, m memtest.Store) { write(t, m, "a") }, store.Span(2, 2), store.ErrConflict},
		"too long":       {func(t *testing.T, m memtest.Store) { write(t, m, "0123456789a") }, store.Whole(), store.ErrConflict},
		"deleted":        {func(t *testing.T, m memtest.Store) { remove(t, m) }, store.Span(2, 2), store.ErrConflict},
		"beyond the end": {func(*testing.T, memtest.Store) {}, store.Span(8, 3), io.ErrUnexpectedEOF},
		"beyond as ever": {func(t *testing.T, m memtest.Store) { write(t, m, "abc") }, store.Span(8, 3), io.ErrUnexpectedEOF},
	} {
		for label, s := range map[string]func(m memtest.Store) store.Store{
			"far":   func(m memtest.Store) store.Store { return newFar(m) },
			"sizes": func(m memtest.Store) store.Store { return sizes{m} },
		} {
			for _, expected := range []bool{false, true} {
				m := memtest.New()
				info := write(t, m, old)
				if label == "sizes" {
					info = store.Info{Size: info.Size}
				}
				p := store.Pin(s(m), pinKey, store.Info{})
				if expected {
					p = store.Pin(s(m), pinKey, info)
				} else if _, _, err := p.Read(t.Context(), store.Request{Range: store.Suffix(1)}, nil); err != nil {
					t.Fatal(err)
				}
				c.change(t, m)
				got, _, err := p.Read(t.Context(), store.Request{Range: c.r, Limit: 10}, nil)
				if !errors.Is(err, c.want) || err != nil && got != nil {
					t.Errorf("%s, %s, expected %t: %q and error %v, want %v", name, label, expected, got, err, c.want)
				}
			}
		}
	}
}

func remove(t *testing.T, m memtest.Store) {
	t.Helper()
	if _, err := m.Write(t.Context(), store.Delete(pinKey), store.Sync); err != nil {
		t.Fatal(err)
	}
}

// TestPinOpened checks that an opened value does not change, and that opening fails if
// the version is not the expected one.
func TestPinOpened(t *testing.T) {
	m := memtest.New()
	old := write(t, m, "old")
	p, q := store.Pin(m, pinKey, store.Info{}), store.Pin(m, pinKey, old)
	defer p.Close()
	defer q.Close()
	if _, _, err := p.Read(t.Context(), store.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	now := write(t, m, "new")
	if got, info, err := p.Read(t.Context(), store.Request{}, nil); string(got) != "old" || !info.Same(old) || err != nil {
		t.Errorf("%q of %v with error %v, want the old value", got, info, err)
	}
	for range 2 {
		if _, _, err := q.Read(t.Context(), store.Request{}, nil); !errors.Is(err, store.ErrConflict) {
			t.Errorf("error is %v, want %v", err, store.ErrConflict)
		}
	}
	r := store.Pin(m, pinKey, now)
	remove(t, m)
	if _, _, err := r.Read(t.Context(), store.Request{}, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("expected and deleted: error is %v, want %v", err, store.ErrConflict)
	}
}

// TestPinAbsent pins a key that gets a value after the first read.
func TestPinAbsent(t *testing.T) {
	for name, s := range map[string]func(m memtest.Store) store.Store{
		"far":    func(m memtest.Store) store.Store { return newFar(m) },
		"opened": func(m memtest.Store) store.Store { return m },
	} {
		m := memtest.New()
		p := store.Pin(s(m), pinKey, store.Info{})
		if _, _, err := p.Read(t.Context(), store.Request{}, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: error is %v, want %v", name, err, fs.ErrNotExist)
		}
		write(t, m, "v")
		if got, _, err := p.Read(t.Context(), store.Request{}, nil); string(got) != "v" || err != nil {
			t.Errorf("%s: %q and error %v", name, got, err)
		}
	}
}

// TestPinTogether makes the first read in many goroutines while another one replaces the
// value. All reads that succeed return one version.
func TestPinTogether(t *testing.T) {
	for name, s := range map[string]func(m memtest.Store) store.Store{
		"far":    func(m memtest.Store) store.Store { return newFar(m) },
		"opened": func(m memtest.Store) store.Store { return m },
	} {
		for range 50 {
			m := memtest.New()
			write(t, m, "old")
			p := store.Pin(s(m), pinKey, store.Info{})
			seen := make([]store.Info, 8)
			var wg sync.WaitGroup
			for i := range seen {
				wg.Go(func() {
					var err error
					if _, seen[i], err = p.Read(t.Context(), store.Request{}, nil); err != nil && !errors.Is(err, store.ErrConflict) {
						t.Error(err)
					}
				})
			}
			wg.Go(func() { _, _ = m.Write(t.Context(), store.Put(pinKey, []byte("new")), store.Flush) })
			wg.Wait()
			seen = slices.DeleteFunc(seen, func(i store.Info) bool { return i == store.Info{} })
			if len(seen) == 0 || slices.ContainsFunc(seen, func(i store.Info) bool { return !i.Same(seen[0]) }) {
				t.Errorf("%s: the readers saw %v", name, seen)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func ExamplePin() {
	ctx, s, key := context.Background(), memstore.New(), store.MustKey("c/0")
	if _, err := store.Write(ctx, s, store.Put(key, []byte("payload|index")), store.Sync); err != nil {
		fmt.Println(err)
	}
	p := store.Pin(s, key, store.Info{})
	defer p.Close()
	index, info, err := p.Read(ctx, store.Request{Range: store.Suffix(5)}, nil)
	fmt.Printf("%s of %d bytes, error %v\n", index, info.Size, err)
	payload, _, err := p.Read(ctx, store.Request{Range: store.Span(0, 7)}, nil)
	fmt.Printf("%s, error %v\n", payload, err)
	// Output:
	// index of 13 bytes, error <nil>
	// payload, error <nil>
}

// TestBrokenConnection makes a Get end early although the value has not changed. The
// error is not a conflict.
func TestBrokenConnection(t *testing.T) {
	m, broken := memtest.New(), false
	write(t, m, "0123456789")
	s := stepping.Conditional(m, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if broken && op.Name == "Get" {
			return io.ErrUnexpectedEOF
		}
		return nil
	}})
	p := store.Pin(s, pinKey, store.Info{})
	_, info, err := p.Read(t.Context(), store.Request{Range: store.Suffix(1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	broken = true
	if _, _, err := p.Read(t.Context(), store.Request{}, nil); !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, store.ErrConflict) {
		t.Errorf("Read: error is %v, want %v", err, io.ErrUnexpectedEOF)
	}
	_, err = store.Write(t.Context(), s, store.Splice(pinKey, info.Version, []store.Part{kept(0, 5)}), store.Sync)
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, store.ErrConflict) {
		t.Errorf("Splice: error is %v, want %v", err, io.ErrUnexpectedEOF)
	}
}
