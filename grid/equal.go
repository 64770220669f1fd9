package grid

import "slices"

// equal reports whether both list the same lengths, in whatever parts.
func (e *edges) equal(o *edges) bool {
	if e.cells != o.cells || e.sum != o.sum {
		return false
	}
	return slices.EqualFunc(e.parts, o.parts, part.same) || e.sameUntil(o, e.sum)
}

// same reports whether both parts are kept in the same way.
func (p part) same(o part) bool {
	return p.repeats == o.repeats && p.offset == o.offset && slices.Equal(p.start, o.start) &&
		slices.Equal(p.first, o.first) && slices.Equal(p.length, o.length)
}

// sameUntil reports whether both lists have the same boundaries up to element stop, which both reach. Parts that repeat are not gone
// through: what has two periods, and is the same over the length of both, is the same throughout (Fine and Wilf).
func (e *edges) sameUntil(o *edges, stop int64) bool {
	for i, j, at := 0, 0, int64(0); at < stop; {
		p, q := &e.parts[i], &o.parts[j]
		to := min(p.end(), q.end(), stop)
		length := to - at
		if p.sum < length && q.sum < length-p.sum {
			length = p.sum + q.sum
		}
		if !p.sameFor(q, at, length) {
			return false
		}
		if at = to; p.end() == at {
			i++
		}
		if q.end() == at {
			j++
		}
	}
	return true
}

// end returns the element behind the part.
func (p *part) end() int64 { return p.offset + p.sum*p.repeats }

// sameFor reports whether both parts have the same boundaries in length elements from at on, which is one of either.
func (p *part) sameFor(q *part, at, length int64) bool {
	a, b := newPlace(p, at), newPlace(q, at)
	for length > 0 {
		r, s := a.run, b.run
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

// place is where one stands in a part.
type place struct {
	table  *table
	entry  int
	run    Run   // what is left of the entry; the first cell counts whole
	within int64 // elements of the first cell that lie behind
}

// newPlace returns the place of an element of a part.
func newPlace(p *part, element int64) place {
	off := (element - p.offset) % p.sum
	entry := search(p.start[:len(p.start)-1], off)
	run := p.run(entry)
	off -= p.start[entry]
	run.Count -= off / run.Length
	return place{&p.table, entry, run, off % run.Length}
}

// skip leaves n cells behind, no more than are left of the entry. Behind the last entry comes the first.
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
