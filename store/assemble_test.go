// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// taken returns the part of n bytes from offset off on of any version of a value.
func taken(name string, off, n int64) store.Part {
	return store.Part{Key: store.MustKey(name), Off: off, N: n}
}

func added(text string) store.Part { return store.Part{Data: []byte(text)} }

// assembled returns what parts make of values, in the simplest way.
func assembled(values map[string][]byte, parts []store.Part) (out []byte) {
	for _, p := range parts {
		if p.Data != nil {
			out = append(out, p.Data...)
		} else {
			out = append(out, values[p.Key.String()][p.Off:p.Off+p.N]...)
		}
	}
	return out
}

func TestAssembledSize(t *testing.T) {
	for i, c := range []struct {
		parts []store.Part
		want  int64
		err   error
	}{
		{nil, 0, nil},
		{[]store.Part{{}}, 0, nil},
		{[]store.Part{taken("a", 2, 3), added("abcd"), taken("b", 5, 5)}, 12, nil},
		{[]store.Part{taken("a", 2, 3), taken("a", 2, 3)}, 6, nil},
		{[]store.Part{taken("a", -1, 3)}, 0, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a", 3, -1)}, 0, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a", math.MaxInt64, 1)}, 0, io.ErrUnexpectedEOF},
		{[]store.Part{taken("a", 0, math.MaxInt64)}, math.MaxInt64, nil},
		{[]store.Part{taken("a", 0, math.MaxInt64), added("x")}, 0, store.ErrTooLarge},
		{[]store.Part{taken("a", 0, math.MaxInt64), taken("b", 0, math.MaxInt64)}, 0, store.ErrTooLarge},
	} {
		if got, err := store.Assemble(store.MustKey("m"), c.parts).Size(0); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("case %d: %d and error %v, want %d and %v", i, got, err, c.want, c.err)
		}
	}
}

// TestAssembleRequests counts the requests of a store without the power to assemble.
func TestAssembleRequests(t *testing.T) {
	const mib = 1 << 20
	values := map[string][]byte{"a": long(4 * mib), "b": long(100)}
	for name, c := range map[string]struct {
		parts []store.Part
		limit int64
		want  []string
		err   error
	}{
		"new bytes":     {[]store.Part{added("a"), added("b")}, 2, []string{"Put"}, nil},
		"adjacent":      {[]store.Part{taken("a", 0, 10), taken("a", 10, 10), added("x")}, 0, []string{"Get", "Put"}, nil},
		"holes":         {[]store.Part{taken("a", 0, 10), added("x"), taken("a", 30, 10), taken("a", 50, 10)}, 0, []string{"Get", "Put"}, nil},
		"a long way":    {[]store.Part{taken("a", 0, 10), taken("a", 3*mib, 10)}, 0, []string{"Get", "Get", "Put"}, nil},
		"two values":    {[]store.Part{taken("a", 0, 10), taken("b", 0, 10), taken("a", 10, 10)}, 0, []string{"Get", "Get", "Get", "Put"}, nil},
		"nothing":       {[]store.Part{taken("a", 0, 10), taken("a", mib, 0)}, 0, []string{"Get", "Put"}, nil},
		"at the limit":  {[]store.Part{taken("a", 0, 10), added("x")}, 11, []string{"Get", "Put"}, nil},
		"above it":      {[]store.Part{taken("a", 0, 10), added("x")}, 10, nil, store.ErrTooLarge},
		"a wild number": {[]store.Part{taken("b", 0, 1<<50)}, 0, []string{"Get"}, io.ErrUnexpectedEOF},
		"seen, but too long": {
			[]store.Part{taken("b", 0, 10), taken("a", 0, 1), taken("b", 50, 51)}, 0, []string{"Get", "Get"}, io.ErrUnexpectedEOF,
		},
	} {
		m := memtest.New()
		for key, value := range values {
			if _, err := m.Write(t.Context(), store.Put(store.MustKey(key), value), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		f := newFar(m)
		change := store.Assemble(store.MustKey("m"), c.parts)
		change.Limit = c.limit
		v, err := store.Write(t.Context(), f, change, store.Sync)
		if !errors.Is(err, c.err) || !slices.Equal(f.ops, c.want) {
			t.Errorf("%s: requests are %q with error %v, want %q and %v", name, f.ops, err, c.want, c.err)
		}
		got, info, _ := m.Get(t.Context(), store.MustKey("m"), store.Request{}, nil)
		if err == nil && (!slices.Equal(got, assembled(values, c.parts)) || info.Version != v.Version) {
			t.Errorf("%s: %d bytes of version %v, want version %v", name, len(got), info.Version, v.Version)
		}
	}
}

// TestAssembleTooLate replaces or deletes a source before the assembly and between its
// requests.
func TestAssembleTooLate(t *testing.T) {
	const mib = 1 << 20
	key := store.MustKey("k")
	for _, now := range [][]byte{[]byte("short"), long(5 * mib), nil} {
		for before := range 5 {
			for _, pinned := range []bool{false, true} {
				m, n := memtest.New(), 0
				v, err := m.Write(t.Context(), store.Put(key, long(4*mib)), store.Flush)
				_, otherErr := m.Write(t.Context(), store.Put(store.MustKey("other"), []byte("x")), store.Flush)
				if err := errors.Join(err, otherErr); err != nil {
					t.Fatal(err)
				}
				s := stepping.Conditional(m, stepping.Hooks{Before: func(ctx context.Context, _ stepping.Op) error {
					if n++; n != before {
						return nil
					}
					if now == nil {
						_, err := m.Write(ctx, store.Delete(key), store.Sync)
						return err
					}
					_, err := m.Write(ctx, store.Put(key, now), store.Flush)
					return err
				}})
				parts := []store.Part{taken("k", 0, 10), taken("other", 0, 1), taken("k", 20, 2)}
				if pinned {
					parts[0].Version, parts[2].Version = v.Version, v.Version
				}
				_, err = store.Write(t.Context(), s, store.Assemble(store.MustKey("m"), parts), store.Sync)
				// Before the first request, any version will do. Before the fourth one,
				// all bytes are read.
				conflict := before == 2 || before == 3 || before == 1 && pinned
				if errors.Is(err, store.ErrConflict) != conflict || (before == 0 || before == 4) && err != nil {
					t.Errorf("%d bytes ahead of request %d, pinned %t: error is %v, conflict %t", len(now), before, pinned, err, conflict)
				}
			}
		}
	}
}

// TestAssembleModel assembles random parts in every way, and compares with a simple
// implementation.
func TestAssembleModel(t *testing.T) {
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		values := map[string][]byte{}
		for _, name := range []string{"a", "b"} {
			values[name] = rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, name)
		}
		parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) store.Part {
			if rapid.Bool().Draw(t, "new") {
				return store.Part{Data: rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "data")}
			}
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "source")
			size := int64(len(values[name]))
			off := rapid.Int64Range(0, size).Draw(t, "off")
			return taken(name, off, rapid.Int64Range(0, size-off).Draw(t, "n"))
		}), 0, 6).Draw(t, "parts")
		for name, s := range map[string]func(memtest.Store) store.Store{
			"own":  func(m memtest.Store) store.Store { return m },
			"far":  func(m memtest.Store) store.Store { return newFar(m) },
			"open": func(m memtest.Store) store.Store { return openable{puts(m), m} },
		} {
			m := memtest.New()
			for key, value := range values {
				if _, err := m.Write(ctx, store.Put(store.MustKey(key), value), store.Flush); err != nil {
					t.Fatal(err)
				}
			}
			key := store.MustKey(rapid.SampledFrom([]string{"a", "m"}).Draw(t, "key"))
			_, err := store.Write(ctx, s(m), store.Assemble(key, parts), store.Flush)
			got, _, _ := m.Get(ctx, key, store.Request{}, nil)
			if want := assembled(values, parts); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s: %q and error %v, want %q", name, got, err, want)
			}
		}
	})
}

// openable is a store that can be written to, and opens values.
type openable struct {
	readWrite
	store.Opener
}

// TestNewBatches clones and assembles in batches of every kind.
func TestNewBatches(t *testing.T) {
	ctx, m := t.Context(), memtest.New()
	own, err := m.Batch(ctx, store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	hidden := puts(m)
	for name, s := range map[string]store.Store{
		"own": m, "beside": plainBatch{m}, "only the batch can": withBatch{puts(m, store.OpPutIf), own}, "single": newFar(m),
		"neither can": hidden, "neither can, beside": withBatch{hidden, bareBatch(m)}, "copies": copying{withBatch{hidden, bareBatch(m)}, m},
	} {
		m.Write(ctx, store.Delete(store.MustKey("m")), store.Sync)
		v, err := m.Write(ctx, store.Put(store.MustKey("k"), []byte("old")), store.Flush)
		if err != nil {
			t.Fatal(err)
		}
		b, err := store.NewBatch(ctx, s, store.Sync)
		if err != nil {
			t.Fatal(name, err)
		}
		holds := func(want string, err error) {
			t.Helper()
			got, info, _ := m.Get(ctx, store.MustKey("m"), store.Request{}, nil)
			if string(got) != want || err != nil || info.Version == v.Version {
				t.Errorf("%s: %q and error %v, want %q", name, got, err, want)
			}
		}
		made, err := b.Write(ctx, store.Clone(store.MustKey("m"), store.MustKey("k"), v.Version))
		if holds("old", err); made.Source != v.Version || made.Size != 3 || made.Moved == 3 != (name != "own" && name != "beside" && name != "only the batch can") {
			t.Errorf("%s: %+v", name, made)
		}
		part := taken("k", 1, 2)
		part.Version = v.Version
		holds("very ld", errOf(b.Write(ctx, store.Assemble(store.MustKey("m"), []store.Part{added("very "), part}))))
		part.Version = made.Version
		_, err = b.Write(ctx, store.Clone(store.MustKey("m"), store.MustKey("k"), store.MakeVersion("none")))
		part.Version = store.MakeVersion("none")
		_, again := b.Write(ctx, store.Assemble(store.MustKey("m"), []store.Part{part}))
		if !errors.Is(err, store.ErrConflict) || !errors.Is(again, store.ErrConflict) {
			t.Errorf("%s: errors are %v and %v, want %v", name, err, again, store.ErrConflict)
		}
		holds("very ld", nil)
	}
}

func ExampleAssemble() {
	ctx, s := context.Background(), memstore.New()
	for i, text := range []string{"Monday", "Tuesday"} {
		if _, err := store.Write(ctx, s, store.Put(store.MustKey(fmt.Sprintf("day/%d", i)), []byte(text)), store.Sync); err != nil {
			fmt.Println(err)
		}
	}
	parts := []store.Part{
		{Key: store.MustKey("day/0"), Off: 0, N: 3}, {Data: []byte("-")}, {Key: store.MustKey("day/1"), Off: 0, N: 4},
	}
	_, err := store.Write(ctx, s, store.Assemble(store.MustKey("week"), parts), store.Sync)
	value, _, _ := s.Get(ctx, store.MustKey("week"), store.Request{}, nil)
	fmt.Printf("%s %v\n", value, err)
	// Output: Mon-Tues <nil>
}
