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

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
)

func kept(off, n int64) store.Fragment { return store.Fragment{Off: off, N: n} }
func fresh(text string) store.Fragment { return store.Fragment{Data: []byte(text)} }
func long(n int) []byte                { return slices.Repeat([]byte("0123456789"), n/10) }

func TestSplicedSize(t *testing.T) {
	for i, c := range []struct {
		size      int64
		fragments []store.Fragment
		want      int64
		err       error
	}{
		{10, nil, 0, nil},
		{10, []store.Fragment{{}}, 0, nil},
		{10, []store.Fragment{kept(2, 3), fresh("abcd"), kept(5, 5)}, 12, nil},
		{10, []store.Fragment{kept(0, 5), kept(0, 5)}, 10, nil},
		{10, []store.Fragment{kept(0, 6), kept(0, 5)}, 0, store.ErrTooLarge},
		{10, []store.Fragment{kept(8, 3)}, 0, io.ErrUnexpectedEOF},
		{10, []store.Fragment{kept(-1, 3)}, 0, io.ErrUnexpectedEOF},
		{10, []store.Fragment{kept(3, -1)}, 0, io.ErrUnexpectedEOF},
		{10, []store.Fragment{kept(math.MaxInt64, math.MaxInt64)}, 0, io.ErrUnexpectedEOF},
		{math.MaxInt64, []store.Fragment{kept(0, math.MaxInt64)}, math.MaxInt64, nil},
		{math.MaxInt64, []store.Fragment{kept(0, math.MaxInt64), fresh("x")}, 0, store.ErrTooLarge},
		{math.MaxInt64, []store.Fragment{kept(0, math.MaxInt64), kept(0, math.MaxInt64)}, 0, store.ErrTooLarge},
	} {
		if got, err := store.SplicedSize(c.size, c.fragments); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("case %d: %d and error %v, want %d and %v", i, got, err, c.want, c.err)
		}
	}
}

// TestSpliceRequests counts the requests of a splice to a store without the power
// Splicer.
func TestSpliceRequests(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		fragments []store.Fragment
		want      []string
	}{
		"new bytes":   {[]store.Fragment{fresh("a"), fresh("b")}, []string{"PutIf"}},
		"one stretch": {[]store.Fragment{kept(5, 20), fresh("b")}, []string{"Get", "PutIf"}},
		"a hole":      {[]store.Fragment{kept(0, mib), fresh("b"), kept(2*mib, mib)}, []string{"Get", "PutIf"}},
		"many holes":  {[]store.Fragment{kept(0, 10), kept(20, 10), fresh("b"), kept(40, 10), kept(90, 1)}, []string{"Get", "PutIf"}},
		"a long way":  {[]store.Fragment{kept(0, 10), kept(3*mib, 10), kept(3*mib+20, 10)}, []string{"Get", "Get", "PutIf"}},
		"backwards":   {[]store.Fragment{kept(100, 10), kept(0, 10)}, []string{"Get", "Get", "PutIf"}},
		"seen before": {[]store.Fragment{kept(100, 10), kept(120, 30), kept(105, 20), kept(120, 0)}, []string{"Get", "PutIf"}},
	} {
		m, key := memstore.New(), store.MustKey("k")
		value := long(4 * mib)
		v, err := m.Put(t.Context(), key, value, store.Flush)
		if err != nil {
			t.Fatal(err)
		}
		f := newFar(m)
		now, err := store.Splice(t.Context(), f, key, v, c.fragments, store.Sync)
		if err != nil || !slices.Equal(f.ops, c.want) {
			t.Errorf("%s: requests are %q with error %v, want %q", name, f.ops, err, c.want)
		}
		var want []byte
		for _, p := range c.fragments {
			want = append(append(want, p.Data...), value[p.Off:p.Off+p.N]...)
		}
		got, info, err := m.Get(t.Context(), key, store.Request{}, nil)
		if !slices.Equal(got, want) || info.Version != now || err != nil {
			t.Errorf("%s: %d bytes of version %v with error %v, want %d of %v", name, len(got), info.Version, err, len(want), now)
		}
	}
}

// TestSpliceTooLate replaces the value, by a shorter or a longer one, before the splice
// and between its requests.
func TestSpliceTooLate(t *testing.T) {
	const mib = 1 << 20
	key := store.MustKey("k")
	fragments := []store.Fragment{kept(0, 10), fresh("x"), kept(3*mib, 10)}
	for _, now := range [][]byte{[]byte("short"), long(5 * mib), nil} {
		for before := range 4 {
			m, n := memstore.New(), 0
			v, err := m.Put(t.Context(), key, long(4*mib), store.Flush)
			if err != nil {
				t.Fatal(err)
			}
			s := storetest.Conditional(m, storetest.Hooks{Before: func(ctx context.Context, _ storetest.Op) error {
				if n++; n != before {
					return nil
				}
				if now == nil {
					return m.Delete(ctx, key)
				}
				_, err := m.Put(ctx, key, now, store.Flush)
				return err
			}})
			_, err = store.Splice(t.Context(), s, key, v, fragments, store.Sync)
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
		fragments := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) store.Fragment {
			if rapid.Bool().Draw(t, "new") {
				return store.Fragment{Data: rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "data")}
			}
			off := rapid.Int64Range(0, size).Draw(t, "off")
			return kept(off, rapid.Int64Range(0, size-off).Draw(t, "n"))
		}), 0, 6).Draw(t, "fragments")
		n, refused := store.SplicedSize(size, fragments)
		var want []byte
		for _, p := range fragments {
			want = append(append(want, p.Data...), value[p.Off:p.Off+p.N]...)
		}
		if refused == nil && n != int64(len(want)) {
			t.Fatalf("size is %d, want %d", n, len(want))
		}
		for name, s := range map[string]func(*memstore.Store) store.Store{
			"own": func(m *memstore.Store) store.Store { return m },
			"far": func(m *memstore.Store) store.Store { return newFar(m) },
		} {
			m := memstore.New()
			v, err := m.Put(ctx, key, value, store.Flush)
			if err != nil {
				t.Fatal(err)
			}
			_, err = store.Splice(ctx, s(m), key, v, fragments, store.Flush)
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
	store.Store
	store.Writer
	store.ConditionalWriter
	batch store.Batch
}

func (w withBatch) Batch(context.Context, store.Durability) (store.Batch, error) { return w.batch, nil }

// conditions is a batch that cannot splice. It records conditional writes.
type conditions struct {
	store.ConditionalBatch
	puts int
}

func (c *conditions) PutIf(ctx context.Context, key store.Key, value []byte, cond store.Condition) error {
	c.puts++
	return c.ConditionalBatch.PutIf(ctx, key, value, cond)
}

// TestSpliceBatch splices in batches of every kind.
func TestSpliceBatch(t *testing.T) {
	ctx, m, key := t.Context(), memstore.New(), store.MustKey("k")
	own, err := m.Batch(ctx, store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	noted := &conditions{ConditionalBatch: own.(store.ConditionalBatch)}
	hidden := readWrite{onlyGet{m}, m}
	for name, c := range map[string]struct {
		s    store.Store
		want error
		puts int // of those, by the batch that notes them
	}{
		"own":                             {m, nil, 0},
		"the store splices, beside":       {plainBatch{m}, nil, 0},
		"only the store has conditions":   {withBatch{onlyGet{m}, m, m, bare{m}}, nil, 0},
		"the batch has conditions":        {withBatch{onlyGet{m}, m, m, noted}, nil, 1},
		"the batch has conditions, alone": {withBatch{onlyGet{m}, m, nil, noted}, nil, 1},
		"single":                          {newFar(m), nil, 0},
		"none":                            {hidden, store.ErrUnsupported, 0},
		"none, beside":                    {plain{hidden, bare{m}}, store.ErrUnsupported, 0},
	} {
		v, err := m.Put(ctx, key, []byte("old"), store.Flush)
		if err != nil {
			t.Fatal(err)
		}
		noted.puts = 0
		b, err := store.NewBatch(ctx, c.s, store.Sync)
		if err != nil {
			t.Fatal(name, err)
		}
		err = store.BatchSplice(ctx, b, key, v, []store.Fragment{fresh("very "), kept(0, 3)})
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
		again := store.BatchSplice(ctx, b, key, v, []store.Fragment{kept(0, 3)})
		if c.want == nil && !errors.Is(again, store.ErrConflict) {
			t.Errorf("%s: once more: error is %v, want %v", name, again, store.ErrConflict)
		}
	}
	if err := store.BatchSplice(ctx, bare{m}, key, store.Version{}, nil); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a bare batch says %v, want %v", err, store.ErrUnsupported)
	}
}

// TestBatchForwards checks that a batch that lacks one power still uses its own methods
// for the others.
func TestBatchForwards(t *testing.T) {
	ctx, m, key := t.Context(), memstore.New(), store.MustKey("k")
	own, err := m.Batch(ctx, store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	noted := &conditions{ConditionalBatch: own.(store.ConditionalBatch)}
	b, err := store.NewBatch(ctx, withBatch{onlyGet{m}, m, m, noted}, store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	put := store.BatchPutIf(ctx, b, key, []byte("v"), store.IfAbsent())
	info, stat := m.Stat(ctx, key)
	del := store.BatchDeleteIf(ctx, b, key, info.Version) // which the store itself cannot
	if err := errors.Join(put, stat, del); err != nil || noted.puts != 1 {
		t.Errorf("error is %v; %d puts by the batch, want 1", err, noted.puts)
	}
	v, err := m.Put(ctx, key, []byte("old"), store.Flush)
	if err != nil {
		t.Fatal(err)
	}
	s := onlySplices{own, own.(store.SplicingBatch)}
	if b, err = store.NewBatch(ctx, withBatch{onlyGet{m}, m, nil, s}, store.Sync); err != nil {
		t.Fatal(err)
	}
	if err := store.BatchSplice(ctx, b, key, v, []store.Fragment{kept(1, 2)}); err != nil { // which the store itself cannot
		t.Errorf("Splice: %v", err)
	}
}

// onlySplices is a batch that can splice, but has no other conditional writes.
type onlySplices struct {
	store.Batch
	spl store.SplicingBatch
}

func (o onlySplices) Splice(ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment) error {
	return o.spl.Splice(ctx, key, from, fragments)
}

// plain is a store without conditions whose batches have none either.
type plain struct {
	readWrite
	batch store.Batch
}

func (p plain) Batch(context.Context, store.Durability) (store.Batch, error) { return p.batch, nil }

func ExampleSplice() {
	ctx, s, key := context.Background(), memstore.New(), store.MustKey("c/0")
	v, err := s.Put(ctx, key, []byte("one two three"), store.Sync)
	if err != nil {
		fmt.Println(err)
	}
	fragments := []store.Fragment{{Off: 0, N: 4}, {Data: []byte("2")}, {Off: 7, N: 6}}
	_, err = store.Splice(ctx, s, key, v, fragments, store.Sync)
	value, _, _ := s.Get(ctx, key, store.Request{}, nil)
	fmt.Printf("%s %v\n", value, err)
	_, err = store.Splice(ctx, s, key, v, fragments, store.Sync)
	fmt.Println(errors.Is(err, store.ErrConflict))
	// Output:
	// one 2 three <nil>
	// true
}
