// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
)

// assemble returns the new value: fragments, applied to version from of the value at key.
func assemble(ctx context.Context, s Store, key Key, from Version, fragments []Fragment) ([]byte, error) {
	if _, err := SplicedSize(math.MaxInt64, fragments); err != nil { // else no sum below overflows
		return nil, fmt.Errorf("store: %s: %w", key, err)
	}
	old := &former{s: s, key: key, from: from, fragments: fragments, p: Pin(s, key, Info{})}
	defer old.p.Close()
	var value []byte
	for i, p := range fragments {
		if p.Data != nil {
			value = append(value, p.Data...)
			continue
		}
		var err error
		if value, err = old.take(ctx, i, value); err != nil {
			return nil, err
		}
		value = slices.Grow(value, max(0, old.total-len(value)))
	}
	return value, nil
}

// former reads the version that a splice replaces.
type former struct {
	s         Store
	key       Key
	from      Version
	fragments []Fragment
	p         *Pinned

	seen   bool   // the version was checked, and it has all fragments
	total  int    // bytes of the new value, known once seen is set
	off    int64  // offset of window in the value
	window []byte // bytes of several fragments
}

// gap is the largest number of bytes between two fragments that are read together. One
// longer read costs a remote store less than a second request.
const gap = 1 << 20

// take appends fragment i to value. It reads fragments that are close to each other
// together.
func (f *former) take(ctx context.Context, i int, value []byte) ([]byte, error) {
	p := f.fragments[i]
	at := p.Off - f.off
	switch {
	case f.seen && p.N == 0:
		return value, nil
	case f.seen && at >= 0 && at+p.N <= int64(len(f.window)):
		return append(value, f.window[at:at+p.N]...), nil
	}
	end := reach(f.fragments[i:])
	if end == p.Off+p.N {
		return f.read(ctx, Span(p.Off, p.N), value)
	}
	window, err := f.read(ctx, Span(p.Off, end-p.Off), f.window[:0])
	if err != nil {
		return nil, err
	}
	f.off, f.window = p.Off, window
	return append(value, window[:p.N]...), nil
}

// reach returns the end of the range to read for the first fragment and those close to
// it.
func reach(fragments []Fragment) int64 {
	end := fragments[0].Off + fragments[0].N
	for _, p := range fragments[1:] {
		if p.Data != nil {
			continue
		}
		if p.Off < end || p.Off-end > gap {
			break
		}
		end = p.Off + p.N
	}
	return end
}

// read appends a range of the version to dst. The first read checks that the version is
// the expected one.
func (f *former) read(ctx context.Context, r Range, dst []byte) ([]byte, error) {
	out, info, err := f.p.Read(ctx, Request{Range: r}, dst)
	// A concurrent writer may have shortened or deleted the value.
	if err != nil && !f.seen {
		return nil, f.judge(ctx, err)
	}
	if err != nil || f.seen {
		return out, err
	}
	if info.Version != f.from {
		return nil, replaced(f.key)
	}
	n, err := SplicedSize(info.Size, f.fragments)
	if err == nil && n > math.MaxInt {
		err = fmt.Errorf("%w: %d bytes", ErrTooLarge, n)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", f.key, err)
	}
	f.seen, f.total = true, int(n)
	return out, nil
}

// judge returns [ErrConflict] if the first read failed because a concurrent writer
// replaced or deleted the version. Otherwise it returns err.
func (f *former) judge(ctx context.Context, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s was deleted", ErrConflict, f.key)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		if info, failed := Stat(ctx, f.s, f.key); failed == nil && info.Version != f.from || errors.Is(failed, fs.ErrNotExist) {
			return replaced(f.key)
		}
	}
	return err
}
