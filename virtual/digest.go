// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/selection"
)

// digestBytes is how many bytes of elements are read at once for a digest, unless a chunk
// has more.
const digestBytes = 64 << 20

// digest returns a hash of all elements of an array of a part, which it reads piece by
// piece. Arrays with the same chunks have the same digest if and only if their elements
// are equal.
func (p *Part) digest(ctx context.Context, path string) ([]byte, error) {
	if p.array == nil {
		return nil, errors.New("its elements cannot be read")
	}
	a, err := p.array(ctx, path)
	if err != nil {
		return nil, err
	}
	sum, buffer := sha256.New(), []byte(nil)
	for box := range boxesOf(a.Grid(), widthOf(a.Type()), digestBytes) {
		if buffer, err = elementsIn(ctx, a, box, buffer[:0]); err != nil {
			return nil, err
		}
		sum.Write(buffer)
	}
	return sum.Sum(nil), nil
}

// boxesOf yields boxes that cover an array, in the order of their first elements. Each
// consists of whole chunks, and has at most so many bytes unless it is one chunk.
func boxesOf(g *grid.Grid, width, most int64) iter.Seq[selection.Box] {
	shape, count := g.Shape(), g.Chunks()
	split := 0 // the boxes have one chunk along the axes before this one, and all of the others
	for split < len(shape) && !fitsIn(g, width, split, most) {
		split++
	}
	return func(yield func(selection.Box) bool) {
		if slices.Contains(shape, 0) {
			return
		}
		boxes, _ := checked.Product(count[:split]...)
		index := make([]int64, len(count))
		for k := range boxes {
			indexOf(k, count[:split], 0, index[:split])
			cell, _ := g.Chunk(index) // it is in the grid
			length := slices.Clone(shape)
			copy(length, cell.Logical[:split])
			if !yield(boxOf(cell.Start, length)) {
				return
			}
		}
	}
}

// fitsIn reports whether boxes with one chunk along the first axes, and with all elements
// along the others, have at most so many bytes.
func fitsIn(g *grid.Grid, width int64, first int, most int64) bool {
	n := width
	for i, extent := range g.Shape() {
		if axis := g.Axis(i); i < first {
			extent = axis.Longest(grid.Interval{Stop: axis.Chunks()})
		}
		var ok bool
		if n, ok = checked.Mul(n, extent); !ok || n > most {
			return false
		}
	}
	return true
}

// repeats checks that a large array of a part is the one that is there already, if the
// files are to be compared as a whole.
func (j *Joined) repeats(ctx context.Context, p *Part, old *joined, a *Array) error {
	switch {
	case old.unread != nil:
		return j.uncompared(p, old, a, old.unread)
	case !j.join.Compare && j.join.merges():
		return mismatch(p.Name, a.Path, "%s has it, too, and it is too large to compare by itself: compare all values (--compare), or give --concat or --stack a dimension", old.last)
	case !j.join.Compare:
		j.note("%s: its values were not compared with those in %s, which count; --compare reads and compares them", a.Path, old.last)
		return nil
	}
	sum, err := p.digest(ctx, a.Path)
	if undecodable(err) {
		return j.uncompared(p, old, a, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", p.Name, a.Path, err)
	}
	if !bytes.Equal(sum, old.digest) {
		return mismatch(p.Name, a.Path, "its values differ from those in %s, and it does not have the dimension of the files", old.last)
	}
	return nil
}

// uncompared notes that an array of a part, which is there already, cannot be compared.
// In a merge it may be another one.
func (j *Joined) uncompared(p *Part, old *joined, a *Array, why error) error {
	if j.join.merges() {
		return mismatch(p.Name, a.Path, "%s has it, too, and they cannot be compared: %v", old.last, why)
	}
	j.note("%s: its values in %s were not compared with those in %s, which count: %v", a.Path, p.Name, old.last, why)
	return nil
}

// elementsIn appends the elements of a part of an array, in host byte order. Texts have
// their lengths before them.
func elementsIn(ctx context.Context, a *zarr.Array, sel selection.Box, dst []byte) ([]byte, error) {
	if a.Type().Variable() {
		b, err := zarr.Read[string](ctx, a, sel)
		return appendTexts(dst, b.Data), err
	}
	n := int64(a.Type().Size())
	for _, x := range sel {
		n *= x[1] - x[0]
	}
	dst = slices.Grow(dst, int(n))[:len(dst)+int(n)]
	return dst, a.ReadBytes(ctx, sel, dst[len(dst)-int(n):])
}
