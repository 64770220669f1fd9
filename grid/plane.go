package grid

import "varve.dev/zarr/internal/turn"

// Where the axis along which elements follow each other is not the same on both sides, as in a transpose, rows of one are columns
// of the other. To copy along either would use one element of every cache line that is touched, so planes of two axes are turned.

// foldedRank is the largest number of axes of a copy by planes, those counted once along which both sides run on.
const foldedRank = 8

// leastSide is the length of a side of a plane, in elements, from which on turning it is of use.
const leastSide = 4

// folded is an axis of a copy: its length, and the bytes between neighbours.
type folded struct{ n, dst, src int64 }

// fold appends the axes before outer, those of length 1 left out, and those along which both sides run on taken for one.
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

// planes copies planes of two axes: along a the elements of dst follow each other, along b those of src.
type planes struct {
	dst, src []byte
	a, b     folded
	size     int64 // bytes an element
}

// copyPlanes copies what stands along the axes before outer, in runs of size bytes that are elements here, plane by plane if
// that is of use, and reports whether it is.
func copyPlanes(dst, src *View, outer int, size int64) bool {
	if outer < 2 || size > 16 || size&(size-1) != 0 || !follow(dst, outer, size) || !follow(src, outer, size) {
		return false
	}
	var room [foldedRank]folded
	axes := fold(room[:0], dst, src, outer)
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
	if a < 0 || b < 0 || a == b || axes[a].n < leastSide || axes[b].n < leastSide {
		return false
	}
	p := planes{dst.Data, src.Data, axes[a], axes[b], size}
	axes[a].n, axes[b].n = 1, 1 // walked by plane
	p.walk(axes, dst.Offset, src.Offset)
	return true
}

// follow reports whether runs of size bytes follow each other along one of the axes before outer.
func follow(v *View, outer int, size int64) bool {
	for i, step := range v.Strides[:outer] {
		if step == size && v.Shape[i] >= leastSide {
			return true
		}
	}
	return false
}

// walk goes along axes.
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
	dst := turn.Side{Data: p.dst, Offset: int(d), Stride: int(p.b.dst)}
	src := turn.Side{Data: p.src, Offset: int(s), Stride: int(p.a.src)}
	turn.Plane(dst, src, int(p.a.n), int(p.b.n), int(p.size))
}
