// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"slices"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/selection"
)

// want returns the range of inner chunk k, which is stored.
func (x *index) want(k uint32) want {
	return want{int64(x.entries[2*k]), int64(x.entries[2*k+1]), int64(k)}
}

// stretch is a range of a shard that was read.
type stretch struct {
	off    int64
	data   []byte
	buffer *budget.Buffer
}

// holds returns the n bytes of the shard from off on, if the stretch has them.
func (s stretch) holds(off, n int64) ([]byte, bool) {
	if off < s.off || off+n > s.off+int64(len(s.data)) {
		return nil, false
	}
	return s.data[off-s.off:][:n:n], true
}

// want is the range of inner chunk k, which must be read.
type want struct{ off, n, k int64 }

// mostWants is the largest number of inner chunks that are looked up before they are
// read.
const mostWants = 1 << 16

// wants returns the next stored inner chunks that the part touches, in the order of their
// bytes, and whether there may be more. Those that are not stored become the fill value.
func (d *decoder) wants(x *index, plan *selection.Plan) (wants []want, more bool, err error) {
	p := d.take()
	defer d.put(p)
	// Bound the memory for the look-ups of a huge part.
	for len(wants) < mostWants {
		if !plan.Next(p.Visit) {
			slices.SortFunc(wants, want.compare)
			return wants, false, nil
		}
		k := d.number(p.Chunk)
		off, n, stored, err := x.span(k)
		if err != nil {
			return nil, false, d.fail(k, err)
		}
		if stored {
			wants = append(wants, want{off, n, k})
			continue
		}
		d.grid.Cell(p.Chunk, p.Cell)
		p.Into(d.Extract.Into)
		d.fill(p)
	}
	slices.SortFunc(wants, want.compare)
	return wants, true, nil
}

// compare orders wants by their bytes. Of wants with one offset, the longest comes first,
// so that no two groups of wants begin at the same offset.
func (w want) compare(o want) int { return cmp.Or(cmp.Compare(w.off, o.off), cmp.Compare(o.n, w.n)) }

// group returns how many wants, from the first one on, to read as one range, and the end
// of the range.
func (d *decoder) group(wants []want) (n int, stop int64) {
	first, last := wants[0], wants[len(wants)-1]
	most := d.work.Bytes
	if last.off+last.n-first.off > most {
		most /= 2 // one is decoded while the next is read: see readRanges
	}
	most = max(min(d.work.Span, most), first.n)
	stop = first.off + first.n
	for n = 1; n < len(wants); n++ {
		w := wants[n]
		if w.off-stop > d.work.Gap || max(stop, w.off+w.n)-first.off > most {
			break
		}
		stop = max(stop, w.off+w.n)
	}
	return n, stop
}
