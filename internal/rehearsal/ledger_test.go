// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// counting is a store that counts the bytes that are read.
type counting struct {
	memtest.Store
	read int64
}

func (c *counting) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	at := len(dst)
	dst, info, err := c.Store.Get(ctx, key, q, dst)
	c.read += int64(len(dst) - at)
	return dst, info, err
}

// TestDerived changes parts of a value many times. Reads return the right bytes, and only
// these reads read the store below.
func TestDerived(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, key := t.Context(), store.MustKey("c/0")
		below := &counting{Store: memtest.New()}
		value := rapid.SliceOfN(rapid.Byte(), 20, 40).Draw(t, "value")
		if _, err := below.Write(ctx, store.Put(key, value), store.Flush); err != nil {
			t.Fatal(err)
		}
		l := new(Ledger)
		s := New(below, l)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			info, err := s.Stat(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			data := rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "data")
			off := rapid.Int64Range(0, int64(len(value)-len(data))).Draw(t, "off")
			if rapid.Bool().Draw(t, "patch") {
				_, err = s.Write(ctx, store.PatchValue(key, info.Version, []store.Patch{{Off: off, Data: data}}), store.Flush)
				value = append(append(bytes.Clone(value[:off]), data...), value[off+int64(len(data)):]...)
			} else { // put data in between
				fragments := []store.Part{{Data: data}, {Off: off, N: int64(len(value)) - off}}
				if off > 0 {
					fragments = append([]store.Part{{N: off}}, fragments...)
				}
				_, err = s.Write(ctx, store.Splice(key, info.Version, fragments), store.Flush)
				value = append(append(bytes.Clone(value[:off]), data...), value[off:]...)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if below.read > 0 {
			t.Fatalf("%d bytes were read before anybody asked for them", below.read)
		}
		from := rapid.Int64Range(0, int64(len(value))).Draw(t, "from")
		n := rapid.Int64Range(0, int64(len(value))-from).Draw(t, "n")
		got, _, err := s.Get(ctx, key, store.Request{Range: store.Span(from, n)}, []byte("before"))
		if want := append([]byte("before"), value[from:from+n]...); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q, want %q (%v)", got, want, err)
		}
		if below.read > n {
			t.Fatalf("%d bytes were read for %d", below.read, n)
		}
		if c := l.Changes(); len(c) != 1 || c[0].After != int64(len(value)) {
			t.Fatalf("the changes are %v, want one of %d bytes", c, len(value))
		}
	})
}

// TestDerivedFromReplaced checks that a value is not built from one that was replaced in
// the store below.
func TestDerivedFromReplaced(t *testing.T) {
	ctx, below, key := t.Context(), memtest.New(), store.MustKey("c/0")
	v, err := below.Write(ctx, store.Put(key, []byte("value")), store.Flush)
	if err != nil {
		t.Fatal(err)
	}
	s := New(below, new(Ledger))
	if _, err := s.Write(ctx, store.PatchValue(key, v.Version, []store.Patch{{Data: []byte("V")}}), store.Flush); err != nil {
		t.Fatal(err)
	}
	if _, err := below.Write(ctx, store.Put(key, []byte("other")), store.Flush); err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Get(ctx, key, store.Request{}, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRework records changes of values that are not read.
func TestRework(t *testing.T) {
	ctx, key := t.Context(), store.MustKey("c/0")
	below, l := &counting{Store: memtest.New()}, new(Ledger)
	s := New(below, l)
	if noted, err := s.Rework(ctx, key, 100); noted || err != nil {
		t.Errorf("a value that is not there: %v, %v", noted, err)
	}
	if _, err := below.Write(ctx, store.Put(key, []byte("value")), store.Flush); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if noted, err := s.Rework(ctx, key, 100); !noted || err != nil {
			t.Fatalf("%v, %v", noted, err)
		}
	}
	if _, _, err := s.Get(ctx, key, store.Request{}, nil); !errors.Is(err, errDropped) {
		t.Error(err)
	}
	if got, want := fmt.Sprint(l.Changes(), l.Unread(), below.read), "[{c/0 5 5}] {2 10 200} 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := s.Write(ctx, store.Put(key, []byte("known")), store.Flush); err != nil {
		t.Fatal(err)
	}
	if noted, err := s.Rework(ctx, key, 100); noted || err != nil {
		t.Errorf("a value in memory: %v, %v", noted, err)
	}
}

// TestFull checks the limit for the number of changed values.
func TestFull(t *testing.T) {
	defer func(n int) { mostEntries = n }(mostEntries)
	mostEntries = 2
	s := New(nil, new(Ledger))
	for i := range 4 {
		_, err := s.Write(t.Context(), store.Put(store.MustKey(fmt.Sprint("c/", i)), []byte("value")), store.Flush)
		if errors.Is(err, ErrFull) != (i >= 2) {
			t.Errorf("value %d: %v", i, err)
		}
	}
	if _, err := s.Write(t.Context(), store.Put(store.MustKey("c/1"), []byte("again")), store.Flush); err != nil {
		t.Error(err)
	}
}
