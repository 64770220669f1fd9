// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/quantity"
)

// gather returns the bytes of parts. If they are more than limit, and limit is not 0, the
// error is [ErrTooLarge]. check, unless nil, is called with the version of each source
// before its bytes are used.
func gather(ctx context.Context, s Store, parts []Part, limit int64, check func(Info) error) ([]byte, error) {
	n, err := assembledSize(parts) // else no sum below overflows
	if err == nil && (n > math.MaxInt || limit > 0 && n > limit) {
		err = fmt.Errorf("%w: %s of %s", ErrTooLarge, quantity.Count(n, "bytes"), quantity.Count(len(parts), "parts"))
	}
	if err != nil {
		return nil, err
	}
	g := &collector{s: s, parts: parts, most: mostWindow, check: check, known: map[Key]Info{}}
	defer g.leave()
	var value []byte
	for i, p := range parts {
		if p.Data != nil {
			value = append(value, p.Data...)
			continue
		}
		if value, err = g.take(ctx, i, value); err != nil {
			return nil, err
		}
		// Only now is it known that n is no invented number.
		if limit > 0 || check != nil {
			value = slices.Grow(value, int(n)-len(value))
		}
	}
	return value, nil
}

// collector reads the sources of parts, one at a time.
type collector struct {
	s     Store
	parts []Part
	most  int64 // bytes of a window
	check func(Info) error
	known map[Key]Info // versions of the sources so far

	key    Key     // of the present source
	p      *Pinned // nil before the first source
	off    int64   // offset of window in the source
	window []byte  // bytes of several parts
}

const (
	// gap is the largest number of bytes between two parts that are read together. One
	// longer read costs a remote store less than a second request.
	gap = 1 << 20
	// mostWindow bounds the bytes of parts that are read together, and of the gaps.
	mostWindow = 64 << 20
)

// take appends part i to value. It reads parts that are close to each other together.
func (g *collector) take(ctx context.Context, i int, value []byte) ([]byte, error) {
	p := g.parts[i]
	g.enter(p.Key)
	if info, seen := g.known[p.Key]; seen {
		if err := g.fits(p, info); err != nil {
			return nil, err
		}
		at := p.Off - g.off
		switch {
		case p.N == 0:
			return value, nil
		case at >= 0 && at+p.N <= int64(len(g.window)):
			return append(value, g.window[at:at+p.N]...), nil
		}
	}
	end := reach(g.parts[i:], g.most)
	if end == p.Off+p.N {
		return g.read(ctx, p, p.N, value)
	}
	window, err := g.read(ctx, p, end-p.Off, g.window[:0])
	if err != nil {
		return nil, err
	}
	g.off, g.window = p.Off, window
	return append(value, window[:p.N]...), nil
}

// reach returns the end of the range to read for the first part and those of the same
// value that follow and are close to it. The range has at most most bytes, unless the
// first part is longer.
func reach(parts []Part, most int64) int64 {
	first := parts[0]
	end := first.Off + first.N
	for _, p := range parts[1:] {
		if p.Data != nil {
			continue
		}
		// A part that is too long for the window is read into the value itself.
		if p.Key != first.Key || p.Off < end || p.Off-end > gap || p.Off+p.N-first.Off > most {
			break
		}
		end = p.Off + p.N
	}
	return end
}

// enter makes key the present source.
func (g *collector) enter(key Key) {
	if g.p != nil && g.key == key {
		return
	}
	g.leave()
	g.key, g.p, g.off, g.window = key, Pin(g.s, key, g.known[key]), 0, g.window[:0]
}

// leave closes the present source.
func (g *collector) leave() {
	if g.p != nil {
		_ = g.p.Close() // nothing was written
	}
}

// fits returns an error if a source is not of the version of a part, or too short.
func (g *collector) fits(p Part, info Info) error {
	if !p.Version.IsZero() && p.Version != info.Version {
		return replaced(p.Key)
	}
	return p.Within(info.Size)
}

// read appends n bytes of the source of p to dst, from the offset of p on. The first read
// of a source checks its version.
func (g *collector) read(ctx context.Context, p Part, n int64, dst []byte) ([]byte, error) {
	_, seen := g.known[p.Key]
	out, info, err := g.p.Read(ctx, Request{Range: Span(p.Off, n)}, dst)
	// A concurrent writer may have shortened or deleted the value.
	if err != nil && !seen {
		return nil, g.judge(ctx, p, err)
	}
	if err != nil || seen {
		return out, err
	}
	if err = g.fits(p, info); err == nil && g.check != nil {
		err = g.check(info)
	}
	if err != nil {
		return nil, err
	}
	g.known[p.Key] = info
	return out, nil
}

// judge returns [ErrConflict] if the first read failed because a concurrent writer
// replaced or deleted the version. Otherwise it returns err.
func (g *collector) judge(ctx context.Context, p Part, err error) error {
	if !p.Version.IsZero() && errors.Is(err, io.ErrUnexpectedEOF) {
		info, failed := Stat(ctx, g.s, p.Key)
		if now := isFrom(p.Key, p.Version, info, failed); errors.Is(now, ErrConflict) {
			return now
		}
	}
	return isFrom(p.Key, p.Version, Info{Version: p.Version}, err)
}

// pieceSize is the number of bytes that WriteParts reads and writes at once.
const pieceSize = budget.Parts / 2

// WriteParts writes the bytes of parts of the store from to w, first to last. It holds at
// most 8 MiB, and reads parts that are close to each other together. The errors are those
// of [OpAssemble], and those of w. Some bytes may have been written by then, so drop what
// w has after any error.
func WriteParts(ctx context.Context, w io.Writer, from Store, parts []Part) error {
	if _, err := assembledSize(parts); err != nil {
		return err
	}
	pieces := piecesOf(parts)
	c := &collector{s: from, parts: pieces, most: pieceSize, known: map[Key]Info{}}
	defer c.leave()
	var held []byte // that is not written yet
	flush := func() error {
		_, err := w.Write(held)
		held = held[:0]
		return err
	}
	for i, p := range pieces {
		n := p.size()
		if n > pieceSize-int64(len(held)) {
			if err := flush(); err != nil {
				return err
			}
		}
		if p.Data != nil && n > pieceSize { // it is held already
			if _, err := w.Write(p.Data); err != nil {
				return err
			}
			continue
		}
		if p.Data != nil {
			held = append(held, p.Data...)
			continue
		}
		if int64(cap(held)-len(held)) < n { // never more than a piece
			held = slices.Grow(held, int(min(max(2*n, 64<<10), pieceSize-int64(len(held)))))
		}
		var err error
		if held, err = c.take(ctx, i, held); err != nil {
			return err
		}
	}
	return flush()
}

// piecesOf returns parts with those that are longer than a piece cut into pieces.
func piecesOf(parts []Part) []Part {
	long := func(p Part) bool { return p.Data == nil && p.N > pieceSize }
	if !slices.ContainsFunc(parts, long) {
		return parts
	}
	var pieces []Part
	for _, p := range parts {
		for ; long(p); p.Off, p.N = p.Off+pieceSize, p.N-pieceSize {
			piece := p
			piece.N = pieceSize
			pieces = append(pieces, piece)
		}
		pieces = append(pieces, p)
	}
	return pieces
}
