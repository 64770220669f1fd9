// SPDX-License-Identifier: Apache-2.0

package grid

import "slices"

// equal reports whether both lists hold the same lengths, however they are split into
// stretches.
func (e *edges) equal(o *edges) bool {
	if e.cells != o.cells || e.sum != o.sum {
		return false
	}
	return slices.EqualFunc(e.stretches, o.stretches, stretch.same) || e.sameUntil(o, e.sum)
}

// same reports whether both stretches are stored in the same form.
func (p stretch) same(o stretch) bool {
	return p.repeats == o.repeats && p.offset == o.offset && slices.Equal(p.start, o.start) &&
		slices.Equal(p.first, o.first) && slices.Equal(p.length, o.length)
}

// sameUntil reports whether both lists have the same boundaries up to element stop, which
// both must reach. It does not walk through all repetitions. By the theorem of Fine and
// Wilf, two sequences of period p and q that agree over p+q elements agree throughout.
func (e *edges) sameUntil(o *edges, stop int64) bool {
	for i, j, at := 0, 0, int64(0); at < stop; {
		p, q := &e.stretches[i], &o.stretches[j]
		// Compare up to the end of the stretch that ends first.
		to := min(p.end(), q.end(), stop)
		length := to - at
		// The second condition compares with p.sum+q.sum, which might overflow.
		if p.sum < length && q.sum < length-p.sum {
			length = p.sum + q.sum
		}
		if !p.sameFor(q, at, length) {
			return false
		}
		// Either stretch, or both, may end here.
		if at = to; p.end() == at {
			i++
		}
		if q.end() == at {
			j++
		}
	}
	return true
}

// end returns the first element after the stretch.
func (p *stretch) end() int64 { return p.offset + p.sum*p.repeats }

// sameFor reports whether both stretches have the same boundaries within length elements
// from at on. Element at must be a boundary of at least one of them.
func (p *stretch) sameFor(q *stretch, at, length int64) bool {
	a, b := newPlace(p, at), newPlace(q, at)
	for length > 0 {
		r, s := a.run, b.run
		// Equal lengths at different offsets have different boundaries.
		if r.Length != s.Length || a.within != b.within {
			return false
		}
		n := min(r.Count, s.Count)
		length -= n*r.Length - a.within
		a.skip(n)
		b.skip(n)
	}
	return true
}

// place is a position in a stretch.
type place struct {
	table  *table
	entry  int
	run    Run   // rest of the entry; its first cell counts as whole
	within int64 // elements of the first cell before the position
}

// newPlace returns the position of an element of a stretch.
func newPlace(p *stretch, element int64) place {
	// All repetitions are alike, so look at the first one.
	off := (element - p.offset) % p.sum
	entry := search(p.start[:len(p.start)-1], off)
	run := p.run(entry)
	off -= p.start[entry]
	run.Count -= off / run.Length
	return place{&p.table, entry, run, off % run.Length}
}

// skip advances by n cells, at most as many as the entry has left. After the last entry
// it continues with the first.
func (p *place) skip(n int64) {
	p.within = 0
	if p.run.Count -= n; p.run.Count > 0 {
		return
	}
	if p.entry++; p.entry == p.table.entries() {
		p.entry = 0
	}
	p.run = p.table.run(p.entry)
}
