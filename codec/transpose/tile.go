package transpose

import (
	"slices"
	"unsafe"
)

// element is a run of bytes that moves as one. Arrays of bytes need no alignment, and still move in one instruction.
type element interface {
	[1]byte | [2]byte | [4]byte | [8]byte | [16]byte
}

// edge is the length of a tile in elements: the cache lines that a tile touches on both sides fit the first cache.
const edge = 32

// tiled is rows for elements that are runs of their own. It moves tiles of the two axes along which the source and the
// destination are contiguous, so that each cache line is used up while it is near.
func tiled[T element](p plan, dst, src []byte) {
	fast := slices.IndexFunc(p.axes, func(a axis) bool { return a.src == p.width })
	last := len(p.axes) - 1
	if fast < 0 || fast == last {
		p.rows(dst, src)
		return
	}
	a, b := p.axes[fast], p.axes[last]
	rest := slices.Delete(p.axes[:last], fast, fast+1)
	d, s := elements[T](dst), elements[T](src)
	t := tiles{a.n, b.n, a.dst / p.width, b.src / p.width}
	each(rest, func(at, from int64) { move(t, d[at/p.width:], s[from/p.width:]) })
}

// elements returns b as a slice of elements.
func elements[T element](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// tiles is a transposition of two axes, in elements: neighbours in the source are dst apart in the destination,
// and neighbours in the destination src apart in the source.
type tiles struct{ rows, columns, dst, src int64 }

func move[T element](t tiles, dst, src []T) {
	for i := int64(0); i < t.rows; i += edge {
		for j := int64(0); j < t.columns; j += edge {
			moveTile(t, dst[i*t.dst+j:], src[j*t.src+i:], min(edge, t.rows-i), min(edge, t.columns-j))
		}
	}
}

func moveTile[T element](t tiles, dst, src []T, rows, columns int64) {
	for i := range rows {
		row, from := dst[i*t.dst:i*t.dst+columns], i
		for j := range row {
			row[j] = src[from]
			from += t.src
		}
	}
}
