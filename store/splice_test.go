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

func kept(off, n int64) store.Part { return store.Part{Off: off, N: n} }
func fresh(text string) store.Part { return store.Part{Data: []byte(text)} }
func long(n int) []byte            { return slices.Repeat([]byte("0123456789"), n/10) }

func TestSplicedSize(t *testing.T) {
	for i, c := range []struct {
		size      int64
		fragments []store.Part
		want      int64
		err       error
	}{
		{10, nil, 0, nil},
		{10, []store.Part{{}}, 0, nil},
		{10, []store.Part{kept(2, 3), fresh("abcd"), kept(5, 5)}, 12, nil},
		{10, []store.Part{kept(0, 5), kept(0, 5)}, 10, nil},
		{10, []store.Part{kept(0, 6), kept(0, 5)}, 0, store.ErrTooLarge},
		{10, []store.Part{kept(8, 3)}, 0, io.ErrUnexpectedEOF},
		{10, []store.Part{kept(-1, 3)}, 0, io.ErrUnexpectedEOF},
		{10, []store.Part{kept(3, -1)}, 0, io.ErrUnexpectedEOF},
		{10, []store.Part{kept(math.MaxInt64, math.MaxInt64)}, 0, io.ErrUnexpectedEOF},
		{math.MaxInt64, []store.Part{kept(0, math.MaxInt64)}, math.MaxInt64, nil},
		{math.MaxInt64, []store.Part{kept(0, math.MaxInt64), fresh("x")}, 0, store.ErrTooLarge},
		{math.MaxInt64, []store.Part{kept(0, math.MaxInt64), kept(0, math.MaxInt64)}, 0, store.ErrTooLarge},
	} {
		if got, err := store.Splice(store.MustKey("k"), store.Version{}, c.fragments).Size(c.size); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("case %d: %d and error %v, want %d and %v", i, got, err, c.want, c.err)
		}
	}
}

// TestSpliceRequests counts the requests of a splice to a store without the power to
// splice.
func TestSpliceRequests(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		fragments []store.Part
		want      []string
	}{
		"new bytes":   {[]store.Part{fresh("a"), fresh("b")}, []string{"PutIf"}},
		"one stretch": {[]store.Part{kept(5, 20), fresh("b")}, []string{"Get", "PutIf"}},
		"a hole":      {[]store.Part{kept(0, mib), fresh("b"), kept(2*mib, mib)}, []string{"Get", "PutIf"}},
		"many holes":  {[]store.Part{kept(0, 10), kept(20, 10), fresh("b"), kept(40, 10), kept(90, 1)}, []string{"Get", "PutIf"}},
		"a long way":  {[]store.Part{kept(0, 10), kept(3*mib, 10), kept(3*mib+20, 10)}, []string{"Get", "Get", "PutIf"}},
		"backwards":   {[]store.Part{kept(100, 10), kept(0, 10)}, []string{"Get", "Get", "PutIf"}},
		"seen before": {[]store.Part{kept(100, 10), kept(120, 30), kept(105, 20), kept(120, 0)}, []string{"Get", "PutIf"}},
	} {
		m, key := memtest.New(), store.MustKey("k")
		value := long(4 * mib)
		v, err := m.Write(t.Context(), store.Put(key, value), store.Flush)
		if err != nil {
			t.Fatal(err)
		}
		f := newFar(m)
		now, err := store.Write(t.Context(), f, store.Splice(key, v.Version, c.fragments), store.Sync)
		if err != nil || !slices.Equal(f.ops, c.want) {
			t.Errorf("%s: requests are %q with error %v, want %q", name, f.ops, err, c.want)
		}
		var want []byte
		for _, p := range c.fragments {
			want = append(append(want, p.Data...), value[p.Off:p.Off+p.N]...)
		}
		got, info, err := m.Get(t.Context(), key, store.Request{}, nil)
		if !slices.Equal(got, want) || info.Version != now.Version || err != nil {
			t.Errorf("%s: %d bytes of version %v with error %v, want %d of %v", name, len(got), info.Version, err, len(want), now.Version)
		}
	}
}

// TestSpliceLimit shows that a splice holds no more in memory than its limit allows.
func TestSpliceLimit(t *testing.T) {
	for limit, want := range map[int64]error{10: store.ErrTooLarge, 11: nil} {
		m, key := memtest.New(), store.MustKey("k")
		v, err := m.Write(t.Context(), store.Put(key, long(100)), store.Flush)
		if err != nil {
			t.Fatal(err)
		}
		change := store.Splice(key, v.Version, []store.Part{kept(0, 10), fresh("x")})
		change.Limit = limit
		if _, err := store.Write(t.Context(), newFar(m), change, store.Sync); !errors.Is(err, want) {
			t.Errorf("limit %d: error is %v, want %v", limit, err, want)
		}
	}
}

// TestSpliceTooLate replaces the value, by a shorter or a longer one, before the splice
// and between its requests.
func TestSpliceTooLate(t *testing.T) {
	const mib = 1 << 20
	key := store.MustKey("k")
	fragments := []store.Part{kept(0, 10), fresh("x"), kept(3*mib, 10)}
	for _, now := range [][]byte{[]byte("short"), long(5 * mib), nil} {
		for before := range 4 {
			m, n := memtest.New(), 0
			v, err := m.Write(t.Context(), store.Put(key, long(4*mib)), store.Flush)
			if err != nil {
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
			_, err = store.Write(t.Context(), s, store.Splice(key, v.Version, fragments), store.Sync)
			if want := before > 0; errors.Is(err, store.ErrConflict) != want || !want && err != nil {
				t.Errorf("%d bytes ahead of request %d: error is %v, conflict %t", len(now), before, err, want)
			}
		}
	}
}

// TestSpliceModel splices random fragments in every way, and compares with a simple
// implementation.
func TestSpliceModel(t *testing.T) {
	ctx, key := t.Context(), store.MustKey("k")
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "value")
		size := int64(len(value))
		fragments := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) store.Part {
			if rapid.Bool().Draw(t, "new") {
				return store.Part{Data: rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "data")}
			}
			off := rapid.Int64Range(0, size).Draw(t, "off")
			return kept(off, rapid.Int64Range(0, size-off).Draw(t, "n"))
		}), 0, 6).Draw(t, "fragments")
		n, refused := store.Splice(key, store.Version{}, fragments).Size(size)
		var want []byte
		for _, p := range fragments {
			want = append(append(want, p.Data...), value[p.Off:p.Off+p.N]...)
		}
		if refused == nil && n != int64(len(want)) {
			t.Fatalf("size is %d, want %d", n, len(want))
		}
		for name, s := range map[string]func(memtest.Store) store.Store{
			"own": func(m memtest.Store) store.Store { return m },
			"far": func(m memtest.Store) store.Store { return newFar(m) },
		} {
			m := memtest.New()
			v, err := m.Write(ctx, store.Put(key, value), store.Flush)
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.Write(ctx, s(m), store.Splice(key, v.Version, fragments), store.Flush)
			got, _, _ := m.Get(ctx, key, store.Request{}, nil)
			if refused != nil {
				want = value
			}
			if (err == nil) != (refused == nil) || !slices.Equal(got, want) {
				t.Fatalf("%s: %q and error %v, want %q and %v", name, got, err, want, refused)
			}
		}
	})
}

// withBatch is a store with batches of another kind.
type withBatch struct {
	readWrite
	batch store.Batch
}

func (w withBatch) Batch(context.Context, store.Durability) (store.Batch, error) { return w.batch, nil }

// conditions is a batch that cannot splice. It records conditional writes.
type conditions struct {
	bare
	puts int
}

func newConditions(m memtest.Store) *conditions {
	return &conditions{bare: bareBatch(m, store.OpPutIf, store.OpDeleteIf)}
}

func (c *conditions) Write(ctx context.Context, change store.Change) (store.Written, error) {
	if change.Op == store.OpPutIf {
		c.puts++
	}
	return c.bare.Write(ctx, change)
}

// TestSpliceBatch splices in batches of every kind.
func TestSpliceBatch(t *testing.T) {
	ctx, m, key := t.Context(), memtest.New(), store.MustKey("k")
	noted := newConditions(m)
	hidden := puts(m)
	for name, c := range map[string]struct {
		s    store.Store
		want error
		puts int // of those, by the batch that notes them
	}{
		"own":                             {m, nil, 0},
		"the store splices, beside":       {plainBatch{m}, nil, 0},
		"only the store has conditions":   {withBatch{puts(m, store.OpPutIf), bareBatch(m)}, nil, 0},
		"the batch has conditions":        {withBatch{puts(m, store.OpPutIf), noted}, nil, 1},
		"the batch has conditions, alone": {withBatch{puts(m), noted}, nil, 1},
		"single":                          {newFar(m), nil, 0},
		"none":                            {hidden, store.ErrUnsupported, 0},
		"none, beside":                    {withBatch{hidden, bareBatch(m)}, store.ErrUnsupported, 0},
	} {
		v, err := m.Write(ctx, store.Put(key, []byte("old")), store.Flush)
		if err != nil {
			t.Fatal(err)
		}
		noted.puts = 0
		b, err := store.NewBatch(ctx, c.s, store.Sync)
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = b.Write(ctx, store.Splice(key, v.Version, []store.Part{fresh("very "), kept(0, 3)}))
		if !errors.Is(err, c.want) || noted.puts != c.puts {
			t.Errorf("%s: error is %v, want %v; %d puts, want %d", name, err, c.want, noted.puts, c.puts)
		}
		want := "very old"
		if c.want != nil {
			want = "old"
		}
		if got, _, err := m.Get(ctx, key, store.Request{}, nil); string(got) != want || err != nil {
			t.Errorf("%s: %q and error %v, want %q", name, got, err, want)
		}
		_, again := b.Write(ctx, store.Splice(key, v.Version, []store.Part{kept(0, 3)}))
		if c.want == nil && !errors.Is(again, store.ErrConflict) {
			t.Errorf("%s: once more: error is %v, want %v", name, again, store.ErrConflict)
		}
	}
}

// TestBatchForwards checks that a batch that lacks one power still uses its own methods
// for the others.
func TestBatchForwards(t *testing.T) {
	ctx, m, key := t.Context(), memtest.New(), store.MustKey("k")
	noted := newConditions(m)
	b, err := store.NewBatch(ctx, withBatch{puts(m, store.OpPutIf), noted}, store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	_, put := b.Write(ctx, store.PutIf(key, []byte("v"), store.IfAbsent()))
	info, stat := m.Stat(ctx, key)
	_, del := b.Write(ctx, store.DeleteIf(key, info.Version)) // which the store itself cannot
	if err := errors.Join(put, stat, del); err != nil || noted.puts != 1 {
		t.Errorf("error is %v; %d puts by the batch, want 1", err, noted.puts)
	}
	v, err := m.Write(ctx, store.Put(key, []byte("old")), store.Flush)
	if err != nil {
		t.Fatal(err)
	}
	s := bareBatch(m, store.OpSplice)
	if b, err = store.NewBatch(ctx, withBatch{puts(m), s}, store.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write(ctx, store.Splice(key, v.Version, []store.Part{kept(1, 2)})); err != nil { // which the store itself cannot
		t.Errorf("Splice: %v", err)
	}
}

func ExampleSplice() {
	ctx, s, key := context.Background(), memstore.New(), store.MustKey("c/0")
	v, err := store.Write(ctx, s, store.Put(key, []byte("one two three")), store.Sync)
	if err != nil {
		fmt.Println(err)
	}
	fragments := []store.Part{{Off: 0, N: 4}, {Data: []byte("2")}, {Off: 7, N: 6}}
	_, err = store.Write(ctx, s, store.Splice(key, v.Version, fragments), store.Sync)
	value, _, _ := s.Get(ctx, key, store.Request{}, nil)
	fmt.Printf("%s %v\n", value, err)
	_, err = store.Write(ctx, s, store.Splice(key, v.Version, fragments), store.Sync)
	fmt.Println(errors.Is(err, store.ErrConflict))
	// Output:
	// one 2 three <nil>
	// true
}
