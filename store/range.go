// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"io"
	"math"

	"varve.dev/zarr/internal/quantity"
)

// Range selects bytes of a value. The zero Range selects all.
type Range struct {
	kind   rangeKind
	off, n int64
}

type rangeKind uint8

const (
	rangeWhole rangeKind = iota
	rangeSpan
	rangeFrom
	rangeSuffix
)

// Whole is the range of all bytes.
func Whole() Range { return Range{} }

// Span is the range of n bytes from offset off on. A value that ends earlier is an error.
func Span(off, n int64) Range { return Range{rangeSpan, off, n} }

// From is the range of all bytes from offset off on.
func From(off int64) Range { return Range{rangeFrom, off, 0} }

// Suffix is the range of the last n bytes, or of all bytes if the value is shorter.
func Suffix(n int64) Range { return Range{rangeSuffix, 0, n} }

// Resolve returns the offset and the number of the bytes that r selects of a value of
// size bytes. If r begins or ends beyond the value, the error wraps
// [io.ErrUnexpectedEOF].
func (r Range) Resolve(size int64) (off, n int64, err error) {
	if r.off < 0 || r.n < 0 {
		return 0, 0, fmt.Errorf("store: range %s has a negative bound", r)
	}
	switch r.kind {
	case rangeSpan:
		off, n = r.off, r.n
	case rangeFrom:
		off, n = r.off, max(0, size-r.off)
	case rangeSuffix:
		n = min(size, r.n)
		off = size - n
	default:
		n = size
	}
	// Compare with a difference: a sum could overflow.
	if off > size || n > size-off {
		return 0, 0, fmt.Errorf("store: %s of a value of %s: %w", r, quantity.Count(size, "bytes"), io.ErrUnexpectedEOF)
	}
	return off, n, nil
}

// String describes the range for messages.
func (r Range) String() string {
	switch r.kind {
	case rangeSpan:
		return fmt.Sprintf("bytes [%d, %d+%d)", r.off, r.off, r.n)
	case rangeFrom:
		return fmt.Sprintf("bytes from %d on", r.off)
	case rangeSuffix:
		return fmt.Sprintf("the last %s", quantity.Count(r.n, "bytes"))
	}
	return "all bytes"
}

// Header returns the range as the value of an HTTP Range header (RFC 9110, section 14.2),
// or "" for all bytes. ok is false if no header can express the range: it selects no
// bytes, or has a negative bound.
func (r Range) Header() (value string, ok bool) {
	if r.off < 0 || r.n < 0 {
		return "", false
	}
	switch r.kind {
	case rangeSpan:
		if r.n == 0 {
			return "", false
		}
		// No value is longer than MaxInt64, so the sum may be capped.
		last := r.off + min(r.n-1, math.MaxInt64-r.off)
		return fmt.Sprintf("bytes=%d-%d", r.off, last), true
	case rangeFrom:
		return fmt.Sprintf("bytes=%d-", r.off), true
	case rangeSuffix:
		return fmt.Sprintf("bytes=-%d", r.n), r.n > 0
	}
	return "", true
}

// Request selects the bytes of a value to read. The zero Request selects all.
type Request struct {
	// Range selects the bytes.
	Range Range
	// Limit is the largest number of bytes to return; 0 means no limit. A longer
	// selection fails with [ErrTooLarge] before memory is allocated for it.
	Limit int64
	// Expect describes the version that the caller expects, which the store had at some
	// time. A cache that has that version need not ask whether it is still the present
	// one. If it is not, the store may fail with [ErrConflict] or ignore Expect, so
	// callers compare the Info. The zero Info expects nothing.
	Expect Info
}

// Resolve is [Range.Resolve] with the limit applied. Drivers call it once they know the
// size.
func (q Request) Resolve(size int64) (off, n int64, err error) {
	off, n, err = q.Range.Resolve(size)
	if err == nil && q.Limit > 0 && n > q.Limit {
		err = fmt.Errorf("%w: %s, at most %d are accepted", ErrTooLarge, quantity.Count(n, "bytes"), q.Limit)
	}
	return off, n, err
}
