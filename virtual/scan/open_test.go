// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// requests is a store that counts reads, and may cut their results.
type requests struct {
	s   memtest.Store
	n   int
	cut int // bytes that are missing at the end of a result
}

// Get implements [store.Store].
func (r *requests) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	r.n++
	b, info, err := r.s.Get(ctx, key, q, dst)
	return b[:max(0, len(b)-r.cut)], info, err
}

func opened(t *testing.T, data []byte, cut int) (*File, *requests, error) {
	t.Helper()
	r := &requests{s: memtest.New(), cut: cut}
	if _, err := r.s.Write(t.Context(), store.Put(store.MustKey("f"), data), store.Flush); err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), r, store.MustKey("f"))
	return f, r, err
}

// TestOpen opens files around the size of the first request. A shorter one takes two.
func TestOpen(t *testing.T) {
	for size, want := range map[int]int{0: 2, 1: 2, blockBytes: 2, firstBytes - 1: 2, firstBytes: 1, firstBytes + 1: 1, firstBytes + blockBytes: 1} {
		data := bytes.Repeat([]byte("abcdefg"), size/7+1)[:size]
		f, r, err := opened(t, data, 0)
		if err != nil || r.n != want {
			t.Errorf("%d bytes: %d requests, want %d: %v", size, r.n, want, err)
			continue
		}
		got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d are read: %v", size, len(got), err)
		}
		if b, err := f.Bytes(int64(size), 1); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d bytes: the next one is %q, %v", size, b, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestShortResults has a store that returns less than it should.
func TestShortResults(t *testing.T) {
	for _, size := range []int{10, firstBytes, firstBytes + 10} {
		if _, _, err := opened(t, make([]byte, size), 3); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	f, r, err := opened(t, make([]byte, firstBytes+10), 0)
	if err != nil {
		t.Fatal(err)
	}
	r.cut = 1
	if _, err := f.Bytes(firstBytes, 10); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := Open(t.Context(), memtest.New(), store.MustKey("f")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestCount has lengths close to the largest number.
func TestCount(t *testing.T) {
	a := &Array{Shape: []int64{0, 1, 7, 1<<63 - 1}, Chunk: []int64{1, 5, 3, 2}}
	for i, want := range []int64{0, 1, 3, 1 << 62} {
		if got := a.Count()[i]; got != want {
			t.Errorf("axis %d has %d chunks, want %d", i, got, want)
		}
	}
}

func TestSwappedMeanwhile(t *testing.T) {
	ctx, key := t.Context(), store.MustKey("x.nc")
	was, is := bytes.Repeat([]byte{1}, 3<<20), bytes.Repeat([]byte{2}, 3<<20)
	refused := 0
	for at := 0; ; at++ {
		s := memtest.New()
		if _, err := s.Write(ctx, store.Put(key, was), store.Flush); err != nil {
			t.Fatal(err)
		}
		requests := 0
		before := func(context.Context, stepping.Op) error {
			if requests++; requests != at+1 {
				return nil
			}
			_, err := s.Write(ctx, store.Put(key, is), store.Flush)
			return err
		}
		got, err := all(ctx, stepping.Conditional(s, stepping.Hooks{Before: before}), key)
		switch {
		case errors.Is(err, store.ErrConflict):
			refused++
		case err != nil:
			t.Fatalf("request %d: %v", at, err)
		case !bytes.Equal(got, was) && !bytes.Equal(got, is):
			t.Fatalf("request %d: bytes of both files", at)
		}
		if requests <= at {
			break
		}
	}
	if refused < 3 {
		t.Errorf("%d scans were refused, want those at all requests but the first", refused)
	}
}

func all(ctx context.Context, s store.Store, key store.Key) ([]byte, error) {
	f, err := Open(ctx, s, key)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Bytes(0, f.Size())
}
