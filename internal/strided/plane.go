// SPDX-License-Identifier: Apache-2.0

package strided

import "varve.dev/zarr/internal/byteorder"

// In a transpose the elements that are adjacent in memory lie along one axis in the
// source and along another in the destination. Copying along either axis would use one
// element of every cache line touched. Planes of the two axes are transposed in blocks
// instead.

// foldedRank is the largest number of axes of a copy by planes, after folding.
const foldedRank = 8

// leastSide is the least length, in elements, of both sides of a plane that is copied in
// blocks.
const leastSide = 4

// folded is an axis of a copy: its length, and the bytes between neighbours on each side.
type folded struct{ n, dst, src int64 }

// fold appends the axes before outer. It leaves out axes of length 1 and merges two axes
// if both sides continue from one to the other without a gap.
func fold(axes []folded, dst, src *View, outer int) []folded {
	for i, n := range dst.Shape[:outer] {
		next := folded{n, dst.Strides[i], src.Strides[i]}
		last := len(axes) - 1
		switch {
		case n == 1:
		case last >= 0 && axes[last].dst == n*next.dst && axes[last].src == n*next.src:
			axes[last] = folded{axes[last].n * n, next.dst, next.src}
		default:
			axes = append(axes, next)
		}
	}
	return axes
}

// planes copies planes of two axes. Elements of dst are adjacent along a, those of src
// along b.
type planes struct {
	dst, src []byte
	a, b     folded
	size     int64 // bytes per element
}

// copyPlanes copies the axes before outer plane by plane, if that is worth it, and
// reports whether it did. Runs of size bytes count as elements here.
func copyPlanes(dst, src *View, outer int, size int64) bool {
	// Cheap checks first: most copies are not transposes.
	if outer < 2 || size > 16 || size&(size-1) != 0 || !follow(dst, outer, size) || !follow(src, outer, size) {
		return false
	}
	var room [foldedRank]folded
	axes := fold(room[:0], dst, src, outer)
	// So many axes are rare: the plain copy handles them.
	if len(axes) > foldedRank {
		return false
	}
	a, b := -1, -1
	for i, x := range axes {
		if x.dst == size && a < 0 {
			a = i
		}
		if x.src == size && b < 0 {
			b = i
		}
	}
	// The innermost axis is the same on both sides, or the plane is too small.
	if a < 0 || b < 0 || a == b || axes[a].n < leastSide || axes[b].n < leastSide {
		return false
	}
	p := planes{dst.Data, src.Data, axes[a], axes[b], size}
	axes[a].n, axes[b].n = 1, 1 // plane walks these two
	p.walk(axes, dst.Offset, src.Offset)
	return true
}

// follow reports whether runs of size bytes are adjacent along one of the axes before
// outer.
func follow(v *View, outer int, size int64) bool {
	for i, step := range v.Strides[:outer] {
		if step == size && v.Shape[i] >= leastSide {
			return true
		}
	}
	return false
}

// walk copies a plane for every index of axes.
func (p *planes) walk(axes []folded, d, s int64) {
	if len(axes) == 0 {
		p.plane(d, s)
		return
	}
	for range axes[0].n {
		p.walk(axes[1:], d, s)
		d += axes[0].dst
		s += axes[0].src
	}
}

func (p *planes) plane(d, s int64) {
	dst := byteorder.Side{Data: p.dst, Offset: int(d), Stride: int(p.b.dst)}
	src := byteorder.Side{Data: p.src, Offset: int(s), Stride: int(p.a.src)}
	byteorder.Plane(dst, src, int(p.a.n), int(p.b.n), int(p.size))
}
