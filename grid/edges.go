package grid

import (
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Run is a stretch of neighbouring cells of equal length.
type Run struct {
	Length int64 // elements a cell
	Count  int64 // cells
}

// edges is an explicit list of cell lengths. It is immutable. What repeats in it is kept once, so that neither memory nor
// look-ups depend on how often it does: the months of eighty years are a table of four years, repeated twenty times.
type edges struct {
	parts []part // in order, at least one
	cells int64
	sum   int64   // elements covered by all cells
	only  [1]part // the room for parts where there is one, to have it near

	isPlain   bool // there is one part, and nothing repeats
	isDivided bool // how often parts repeat comes from numbers, so that there may be more runs than memory holds
}

// part is a stretch of a list: a table that is repeated.
type part struct {
	table
	repeats int64 // at least 1
	offset  int64 // first element
	index   int64 // first cell
}

const (
	// mostParts is how many parts a list may come to by growing before it is looked at as a whole again.
	mostParts = 32
	// fewEntries is how long a list may be so that looking at it as a whole costs next to nothing.
	fewEntries = 2048
)

// newEdges reads the source twice: to check and to measure it, then to keep it in its smallest form.
func newEdges(source runSource) (*edges, error) {
	m, err := measured(source)
	if err != nil {
		return nil, err
	}
	if m.cells == 0 {
		return nil, invalid("an axis needs at least one edge")
	}
	if m.isFlat() {
		lengths := m.gatherLengths(source)
		if cut := periods(lengths[1:]); cut != nil {
			return inParts(lengths[1:], cut, ofLengths), nil
		}
		return plain(flatTable(lengths)), nil
	}
	runs := m.gatherRuns(source)
	if cut := periods(runs); cut != nil {
		return inParts(runs, cut, ofRuns), nil
	}
	return plain(runTable(runs)), nil
}

// plain returns a list in which nothing repeats.
func plain(t table) *edges {
	e := new(edges)
	e.parts = e.only[:0]
	e.append(t, 1)
	e.isPlain = true
	return e
}

// inParts keeps a list that was measured in parts, one a section.
func inParts[S comparable](list []S, cut []section, source func([]S) runSource) *edges {
	e := new(edges)
	if e.parts = e.only[:0]; len(cut) > 1 {
		e.parts = make([]part, 0, len(cut))
	}
	for _, s := range cut {
		if s.period == 1 {
			s.period, s.repeats = s.repeats, 1 // that is a run
		}
		once := source(list[s.from : s.from+s.period])
		m, _ := measured(once)
		e.append(newTable(m, once), int64(s.repeats))
	}
	return e
}

// append adds a part that is known to fit.
func (e *edges) append(t table, repeats int64) {
	e.parts = append(e.parts, part{t, repeats, e.sum, e.cells})
	e.cells += t.cells * repeats
	e.sum += t.sum * repeats
}

// find returns the cell that holds element i, which has to lie within [0, sum), and the cell's first element.
func (e *edges) find(i int64) (cell, start int64) {
	t := &e.only[0].table
	if !e.isPlain {
		t, cell, start = e.turnOf(i)
		i -= start
	}
	r := search(t.start[:len(t.start)-1], i)
	if t.first == nil {
		return cell + int64(r), start + t.start[r]
	}
	q := quotient(i-t.start[r], t.length[r])
	return cell + t.first[r] + q, start + t.start[r] + q*t.length[r]
}

// at returns first element and length of cell k, which has to lie within [0, cells).
func (e *edges) at(k int64) (start, length int64) {
	t := &e.only[0].table
	if !e.isPlain {
		var first int64
		t, first, start = e.turnAt(k)
		k -= first
	}
	if t.first == nil {
		return start + t.start[k], t.start[k+1] - t.start[k]
	}
	r := search(t.first, k)
	return start + t.start[r] + (k-t.first[r])*t.length[r], t.length[r]
}

// turnOf returns the table that holds element i, with the first cell and the first element of that repetition.
func (e *edges) turnOf(i int64) (t *table, cell, start int64) {
	p := e.partAt(func(p *part) bool { return p.offset <= i })
	turn := quotient(i-p.offset, p.sum)
	return &p.table, p.index + turn*p.cells, p.offset + turn*p.sum
}

// turnAt is turnOf for cell k.
func (e *edges) turnAt(k int64) (t *table, cell, start int64) {
	p := e.partAt(func(p *part) bool { return p.index <= k })
	turn := quotient(k-p.index, p.cells)
	return &p.table, p.index + turn*p.cells, p.offset + turn*p.sum
}

// partAt returns the last part that begins soon enough, as the first does.
func (e *edges) partAt(begins func(*part) bool) *part {
	lo := 0
	for n := len(e.parts); n > 1; {
		half := n / 2
		if begins(&e.parts[lo+half]) {
			lo += half
		}
		n -= half
	}
	return &e.parts[lo]
}

// longest returns the largest length of the cells in the interval, which is not empty.
func (e *edges) longest(cells Interval) int64 {
	var longest int64
	for i := range e.parts {
		p := &e.parts[i]
		in := cells.Intersect(Interval{p.index, p.index + p.cells*p.repeats})
		if in.Len() > 0 {
			longest = max(longest, p.longest(Interval{in.Start - p.index, in.Stop - p.index}))
		}
	}
	return longest
}

// longest returns the largest length of the cells in the interval, counted from the part's first cell.
func (p *part) longest(cells Interval) int64 {
	if cells.Len() >= p.cells {
		return p.table.longest(Interval{0, p.cells})
	}
	from := cells.Start % p.cells
	to := from + cells.Len()
	if to <= p.cells {
		return p.table.longest(Interval{from, to})
	}
	return max(p.table.longest(Interval{from, p.cells}), p.table.longest(Interval{0, to - p.cells}))
}

func sourceOf(parts []part) runSource {
	return func(add func(length, count int64) error) error {
		w := walk{parts: parts}
		for r, ok := w.next(); ok; r, ok = w.next() {
			if err := add(r.Length, r.Count); err != nil {
				return err
			}
		}
		return nil
	}
}

// joined returns the list followed by another. A long list is not read again: what comes behind it becomes a part of its own,
// or is put into the last one while that is short. Periods are then found within what is new, until there are too many parts.
func (e *edges) joined(more runSource) (*edges, error) {
	keep := len(e.parts)
	if e.entries() <= fewEntries || keep >= mostParts && !e.isDivided {
		keep = 0
	} else if last := &e.parts[keep-1]; last.repeats == 1 && last.entries() <= fewEntries {
		keep--
	}
	old := sourceOf(e.parts[keep:])
	tail, err := newEdges(func(add func(length, count int64) error) error {
		if err := old(add); err != nil {
			return err
		}
		return more(add)
	})
	if err != nil || keep == 0 {
		return tail, err
	}
	j := &edges{parts: slices.Clone(e.parts[:keep]), isDivided: e.isDivided}
	last := &j.parts[keep-1]
	j.cells, j.sum = last.index+last.cells*last.repeats, last.offset+last.sum*last.repeats
	if _, ok := checked.Add(j.sum, tail.sum); !ok {
		return nil, ErrOverflow
	}
	for _, p := range tail.parts {
		j.append(p.table, p.repeats)
	}
	return j, nil
}

// entries returns how many steps a walk over the list takes.
func (e *edges) entries() int64 {
	var n int64
	for i := range e.parts {
		n += int64(e.parts[i].entries()) * e.parts[i].repeats
	}
	return n
}
