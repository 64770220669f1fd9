// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/store"
)

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		r            store.Range
		size, off, n int64
	}{
		{store.Whole(), 0, 0, 0}, {store.Whole(), 10, 0, 10}, {store.Range{}, math.MaxInt64, 0, math.MaxInt64},
		{store.Span(0, 0), 0, 0, 0}, {store.Span(10, 0), 10, 10, 0}, {store.Span(3, 4), 10, 3, 4},
		{store.From(0), 10, 0, 10}, {store.From(10), 10, 10, 0}, {store.From(3), math.MaxInt64, 3, math.MaxInt64 - 3},
		{store.Suffix(0), 10, 10, 0}, {store.Suffix(3), 10, 7, 3}, {store.Suffix(11), 10, 0, 10}, {store.Suffix(math.MaxInt64), 0, 0, 0},
	} {
		if off, n, err := c.r.Resolve(c.size); off != c.off || n != c.n || err != nil {
			t.Errorf("%s of %d: %d, %d and error %v, want %d, %d", c.r, c.size, off, n, err, c.off, c.n)
		}
	}
	for _, r := range []store.Range{
		store.Span(0, 11), store.Span(10, 1), store.Span(11, 0), store.From(11), store.Span(math.MaxInt64, math.MaxInt64),
		store.Span(1, math.MaxInt64), store.From(math.MaxInt64),
	} {
		if _, _, err := r.Resolve(10); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s of 10: error is %v, want %v", r, err, io.ErrUnexpectedEOF)
		}
	}
	for _, r := range []store.Range{store.Span(-1, 0), store.Span(0, -1), store.From(-1), store.Suffix(math.MinInt64)} {
		if _, _, err := r.Resolve(10); err == nil {
			t.Errorf("%s of 10: no error", r)
		}
	}
}

func TestRequestLimit(t *testing.T) {
	for _, c := range []struct {
		limit int64
		want  error
	}{{0, nil}, {-1, nil}, {10, nil}, {9, store.ErrTooLarge}} {
		if _, _, err := (store.Request{Limit: c.limit}).Resolve(10); !errors.Is(err, c.want) {
			t.Errorf("limit %d: error is %v, want %v", c.limit, err, c.want)
		}
	}
}

// TestResolveInside checks that resolved ranges lie inside the value, for any numbers.
func TestResolveInside(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a, b := rapid.Int64().Draw(r, "a"), rapid.Int64().Draw(r, "b")
		size := rapid.Int64Min(0).Draw(r, "size")
		for _, q := range []store.Range{store.Whole(), store.Span(a, b), store.From(a), store.Suffix(b)} {
			off, n, err := q.Resolve(size)
			if err == nil && (off < 0 || n < 0 || off > size || n > size-off) {
				r.Fatalf("%s of %d is %d, %d", q, size, off, n)
			}
		}
	})
}

func ExampleRange() {
	for _, r := range []store.Range{store.Whole(), store.Span(4, 2), store.From(4), store.Suffix(16)} {
		fmt.Println(r)
	}
	// Output:
	// all bytes
	// bytes [4, 4+2)
	// bytes from 4 on
	// the last 16 bytes
}

func TestRangeHeader(t *testing.T) {
	for _, c := range []struct {
		r    store.Range
		want string
		ok   bool
	}{
		{store.Whole(), "", true}, {store.Span(0, 1), "bytes=0-0", true}, {store.Span(3, 4), "bytes=3-6", true},
		{store.Span(math.MaxInt64, math.MaxInt64), "bytes=9223372036854775807-9223372036854775807", true},
		{store.From(0), "bytes=0-", true}, {store.From(7), "bytes=7-", true}, {store.Suffix(5), "bytes=-5", true},
		{store.Span(3, 0), "", false}, {store.Span(-1, 2), "", false}, {store.From(-1), "", false},
		{store.Span(0, -1), "", false}, {store.Suffix(-1), "", false},
	} {
		if got, ok := c.r.Header(); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %q, %t, want %q, %t", c.r, got, ok, c.want, c.ok)
		}
	}
	if _, ok := store.Suffix(0).Header(); ok {
		t.Error("the last 0 bytes have a header")
	}
}
