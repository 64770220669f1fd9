// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// int32s returns numbers as they are stored.
func int32s(values ...int32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// TestFilledBeside sets all elements of a chunk to the fill value. A concurrent writer
// changes another part just before the chunk is deleted or stored. That change is not
// lost.
func TestFilledBeside(t *testing.T) {
	key := store.MustKey("a/c/0")
	for name, first := range map[string][]byte{"stored": int32s(1, 1, 9, 9), "not stored": nil} {
		t.Run(name, func(t *testing.T) {
			others, done := memtest.New(), false
			s := stepping.Conditional(others, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
				if op.Key != key || done || op.Name == "Get" || op.Name == "Stat" {
					return nil
				}
				done = true
				_, err := others.Write(ctx, store.Put(key, int32s(1, 1, 7, 8)), store.Flush)
				return err
			}})
			if first != nil {
				must(others.Write(t.Context(), store.Put(key, first), store.Flush))
			}
			a, _ := row(s, plain(), 4)
			values, want := int32s(9, 9), int32s(9, 9, 7, 8)
			if first == nil {
				values, want = int32s(5, 5), int32s(5, 5, 7, 8)
			}
			r := must(elements(selection.Box{{0, 2}}, []int64{4}))
			if err := write(t.Context(), a, r, view(a, r, values)); err != nil {
				t.Fatal(err)
			}
			got, _, err := others.Get(t.Context(), key, store.Request{}, nil)
			if err != nil || !bytes.Equal(got, want) || !done {
				t.Errorf("%v (%v), want %v", got, err, want)
			}
		})
	}
}

// TestNotStoredBeside sets a part of a chunk that is not stored to the fill value. A
// concurrent writer stores the chunk after it was looked up. Its chunk is not deleted.
func TestNotStoredBeside(t *testing.T) {
	key, theirs := store.MustKey("a/c/0"), int32s(1, 1, 7, 8)
	others, done := memtest.New(), false
	s := stepping.Conditional(others, stepping.Hooks{After: func(op stepping.Op, err error) error {
		if op.Key == key && !done {
			done = true
			must(others.Write(t.Context(), store.Put(key, theirs), store.Flush))
		}
		return err
	}})
	a, _ := row(s, plain(), 4)
	r := must(elements(selection.Box{{0, 2}}, []int64{4}))
	if err := write(t.Context(), a, r, view(a, r, int32s(9, 9))); err != nil {
		t.Fatal(err)
	}
	got, _, err := others.Get(t.Context(), key, store.Request{}, nil)
	if err != nil || !bytes.Equal(got, theirs) || !done {
		t.Errorf("%v (%v), want %v", got, err, theirs)
	}
}

// inner are the codecs of shards with inner chunks of two elements.
func inner() []metadata.Extension {
	return []metadata.Extension{{Name: "sharding_indexed", Configuration: []byte(`{"chunk_shape": [2],
		"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
		"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}`)}}
}

// shardOf returns the bytes of a shard of four elements.
func shardOf(t *testing.T, data []byte) []byte {
	t.Helper()
	s := memtest.New()
	a, _ := row(s, inner(), 4)
	filled(t, a, data)
	value, _, err := s.Get(t.Context(), store.MustKey("a/c/0"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestShardBeside changes one inner chunk of a shard. A concurrent writer changes the
// other one just before the shard is stored. Neither change is lost.
func TestShardBeside(t *testing.T) {
	key := store.MustKey("a/c/0")
	for name, c := range map[string][2][]byte{ // what the other writer leaves of the inner chunk, what is stored first
		"stored":     {int32s(1, 2), int32s(1, 2, 3, 4)},
		"not stored": {int32s(9, 9), nil},
	} {
		t.Run(name, func(t *testing.T) {
			others, done := memtest.New(), false
			beside, _ := row(others, inner(), 4)
			theirs := shardOf(t, slices.Concat(c[0], int32s(7, 8)))
			s := stepping.Conditional(others, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
				if op.Key != key || done || op.Name == "Get" || op.Name == "Stat" {
					return nil
				}
				done = true
				_, err := others.Write(ctx, store.Put(key, theirs), store.Flush)
				return err
			}})
			if c[1] != nil {
				filled(t, beside, c[1])
			}
			a, _ := row(s, inner(), 4)
			r := must(elements(selection.Box{{0, 2}}, []int64{4}))
			if err := write(t.Context(), a, r, view(a, r, int32s(5, 6))); err != nil {
				t.Fatal(err)
			}
			got, want := make([]byte, 16), int32s(5, 6, 7, 8)
			if err := read(t.Context(), beside, got); err != nil || !bytes.Equal(got, want) || !done {
				t.Errorf("%v (%v), want %v", got, err, want)
			}
		})
	}
}

// bare is a store without conditions.
type bare struct {
	s    memtest.Store
	read func() // is called after a value was read
}

func (b bare) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := b.s.Get(ctx, key, q, dst)
	b.read()
	return out, info, err
}

func (b bare) Can(op store.Op) bool { return op == store.OpPut || op == store.OpDelete }

func (b bare) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !b.Can(c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	return b.s.Write(ctx, c, d)
}

// TestTurns starts a second writer of the same process between the read and the write
// of a first one. Both write parts of one chunk in a store without conditions. The
// second waits for its turn, so that no change is lost.
func TestTurns(t *testing.T) {
	s := memtest.New()
	must(s.Write(t.Context(), store.Put(store.MustKey("a/c/0"), int32s(1, 2, 3, 4)), store.Flush))
	var second sync.WaitGroup
	var once sync.Once
	writePart := func(b bare, start int64, values ...int32) {
		a, _ := row(b, plain(), 4)
		r := must(elements(selection.Box{{start, start + int64(len(values))}}, []int64{4}))
		if err := write(t.Context(), a, r, view(a, r, int32s(values...))); err != nil {
			t.Error(err)
		}
	}
	writePart(bare{s, func() {
		once.Do(func() {
			done := make(chan bool)
			second.Go(func() {
				defer close(done)
				writePart(bare{s, func() {}}, 2, 7, 8)
			})
			select {
			case <-done:
			case <-time.After(50 * time.Millisecond):
			}
		})
	}}, 0, 5, 6)
	second.Wait()
	got, _, err := s.Get(t.Context(), store.MustKey("a/c/0"), store.Request{}, nil)
	if err != nil || !slices.Equal(got, int32s(5, 6, 7, 8)) {
		t.Errorf("%v (%v): a part is lost", got, err)
	}
}

// TestOverwriteOfAnotherLength writes parts of chunks whose size is not that of their
// elements, and which exceed the limit. They do not change.
func TestOverwriteOfAnotherLength(t *testing.T) {
	key := store.MustKey("a/c/0")
	for _, stored := range [][]byte{int32s(1, 2, 3), int32s(1, 2, 3, 4, 5), {}} {
		s := memtest.New()
		must(s.Write(t.Context(), store.Put(key, stored), store.Flush))
		a, _ := row(s, plain(), 4)
		a.MaxChunk = 1
		for _, values := range [][]byte{int32s(5, 6), int32s(9, 9)} {
			r := must(elements(selection.Box{{0, 2}}, []int64{4}))
			if err := write(t.Context(), a, r, view(a, r, values)); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%d bytes: %v", len(stored), err)
			}
			if got, _, err := s.Get(t.Context(), key, store.Request{}, nil); err != nil || !bytes.Equal(got, stored) {
				t.Errorf("%d bytes became %v (%v)", len(stored), got, err)
			}
		}
	}
}
