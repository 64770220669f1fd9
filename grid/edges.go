// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"slices"

	"varve.dev/zarr/internal/checked"
)

// edges is an explicit list of cell lengths. It is immutable. Repetitions are stored
// once, so neither memory nor look-ups depend on their number: the months of eighty years
// are a table of four years that repeats twenty times.
type edges struct {
	stretches []stretch // in order
	cells     int64
	sum       int64      // elements covered by all cells
	only      [1]stretch // backs stretches if there is only one, to save a cache miss

	isPlain   bool // there is one stretch, and it does not repeat
	isDivided bool // made by Axis.Divided: there may be too many runs to iterate over
}

const (
	// mostStretches is the number of stretches from which on a growing list is searched
	// for periods as a whole again.
	mostStretches = 32
	// fewEntries is the number of entries up to which that search costs next to nothing.
	fewEntries = 2048
)

// newEdges stores a list in its smallest form. It reads source twice: first to check and
// measure the list, then to store it.
func newEdges(source runSource) (*edges, error) {
	m, err := measured(source)
	if err != nil {
		return nil, err
	}
	if m.cells == 0 {
		return nil, errNoEdges
	}
	// Periods are searched among cells if few neighbours are equal, otherwise among runs.
	// lengths[0] is 0, for the prefix sums.
	if m.isFlat() {
		lengths := m.gatherLengths(source)
		if cut := periods(lengths[1:]); cut != nil {
			return inStretches(lengths[1:], cut, ofLengths), nil
		}
		return plain(flatTable(lengths)), nil
	}
	runs := m.gatherRuns(source)
	if cut := periods(runs); cut != nil {
		return inStretches(runs, cut, ofRuns), nil
	}
	return plain(runTable(runs)), nil
}

// plain returns a list of one table that does not repeat.
func plain(t table) *edges {
	e := new(edges)
	e.stretches = e.only[:0]
	e.append(t, 1)
	e.isPlain = true
	return e
}

// inStretches stores a checked list with one stretch per section.
func inStretches[S comparable](list []S, cut []section, source func([]S) runSource) *edges {
	e := new(edges)
	if e.stretches = e.only[:0]; len(cut) > 1 {
		e.stretches = make([]stretch, 0, len(cut))
	}
	for _, s := range cut {
		if s.period == 1 {
			// A single entry that repeats is a run, which the table holds by itself.
			s.period, s.repeats = s.repeats, 1
		}
		once := source(list[s.from : s.from+s.period])
		m, _ := measured(once)
		e.append(newTable(m, once), int64(s.repeats))
	}
	return e
}

// append adds a stretch whose lengths are known not to overflow.
func (e *edges) append(t table, repeats int64) {
	e.stretches = append(e.stretches, stretch{t, repeats, e.sum, e.cells})
	e.cells += t.cells * repeats
	e.sum += t.sum * repeats
}

// find returns the cell that holds element i and the cell's first element. i must lie
// within [0, sum).
func (e *edges) find(i int64) (cell, start int64) {
	t := &e.only[0].table
	if !e.isPlain {
		t, cell, start = e.turnOf(i)
		i -= start
	}
	// In a flat table, which has no first, every entry is a cell.
	r := search(t.start[:len(t.start)-1], i)
	if t.first == nil {
		return cell + int64(r), start + t.start[r]
	}
	q := quotient(i-t.start[r], t.length[r])
	return cell + t.first[r] + q, start + t.start[r] + q*t.length[r]
}

// at returns the first element and the length of cell k, which must lie within
// [0, cells).
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

// turnOf returns the table that holds element i, and the first cell and the first element
// of the repetition that i lies in.
func (e *edges) turnOf(i int64) (t *table, cell, start int64) {
	p := e.stretchAt(func(p *stretch) bool { return p.offset <= i })
	turn := quotient(i-p.offset, p.sum)
	return &p.table, p.index + turn*p.cells, p.offset + turn*p.sum
}

// turnAt is turnOf for cell k.
func (e *edges) turnAt(k int64) (t *table, cell, start int64) {
	p := e.stretchAt(func(p *stretch) bool { return p.index <= k })
	turn := quotient(k-p.index, p.cells)
	return &p.table, p.index + turn*p.cells, p.offset + turn*p.sum
}

// stretchAt returns the last stretch for which begins returns true. It must do so for the
// first stretch.
func (e *edges) stretchAt(begins func(*stretch) bool) *stretch {
	lo := 0
	for n := len(e.stretches); n > 1; {
		half := n / 2
		if begins(&e.stretches[lo+half]) {
			lo += half
		}
		n -= half
	}
	return &e.stretches[lo]
}

// longest returns the largest length of the cells in the interval, which must not be
// empty.
func (e *edges) longest(cells Interval) int64 {
	var longest int64
	for i := range e.stretches {
		p := &e.stretches[i]
		in := cells.Intersect(Interval{p.index, p.index + p.cells*p.repeats})
		if in.Len() > 0 {
			longest = max(longest, p.longest(Interval{in.Start - p.index, in.Stop - p.index}))
		}
	}
	return longest
}

// sourceOf returns a source of the runs of stretches.
func sourceOf(stretches []stretch) runSource {
	return func(add func(length, count int64) error) error {
		w := walk{stretches: stretches}
		for r, ok := w.next(); ok; r, ok = w.next() {
			if err := add(r.Length, r.Count); err != nil {
				return err
			}
		}
		return nil
	}
}

// joined returns the list followed by more. It does not read a long list again: new
// lengths join the last stretch while that is short, and otherwise become stretches of
// their own. Periods are searched among these new lengths only, until there are too many
// stretches.
func (e *edges) joined(more runSource) (*edges, error) {
	// keep is the number of stretches that are not read again.
	keep := len(e.stretches)
	// Read a short list as a whole, and a long one only if it has too many stretches.
	if e.entries() <= fewEntries || keep >= mostStretches && !e.isDivided {
		keep = 0
	} else if last := &e.stretches[keep-1]; last.repeats == 1 && last.entries() <= fewEntries {
		keep--
	}
	// Search for periods in what follows the first keep stretches.
	old := sourceOf(e.stretches[keep:])
	tail, err := newEdges(func(add func(length, count int64) error) error {
		if err := old(add); err != nil {
			return err
		}
		return more(add)
	})
	if err != nil || keep == 0 {
		return tail, err
	}
	j := &edges{stretches: slices.Clone(e.stretches[:keep]), isDivided: e.isDivided}
	last := &j.stretches[keep-1]
	j.cells, j.sum = last.index+last.cells*last.repeats, last.offset+last.sum*last.repeats
	if _, ok := checked.Add(j.sum, tail.sum); !ok {
		return nil, ErrOverflow
	}
	for _, p := range tail.stretches {
		j.append(p.table, p.repeats)
	}
	return j, nil
}

// entries returns the number of steps of a walk over the list.
func (e *edges) entries() int64 {
	var n int64
	for i := range e.stretches {
		n += int64(e.stretches[i].entries()) * e.stretches[i].repeats
	}
	return n
}
