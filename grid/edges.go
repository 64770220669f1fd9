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
	isDivided bool // made by Grid.Divided: there may be too many runs to iterate over
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
			// A single entry that repeats is a run, and a table stores runs.
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
	// Search for periods after the first keep stretches.
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

// walk iterates over the runs of a list.
type walk struct {
	stretches []stretch
	turn      int64 // completed repetitions of the first stretch
	entry     int   // completed entries of its table
}

// next returns the next run, or false after the last. It merges neighbours of equal
// length across stretches and repetitions, so runs are as long as possible.
func (w *walk) next() (r Run, ok bool) {
	for len(w.stretches) > 0 {
		n := w.stretches[0].run(w.entry)
		// The next entry begins another run. It stays for the next call.
		if ok && n.Length != r.Length {
			break
		}
		r, ok = Run{n.Length, r.Count + n.Count}, true
		w.step()
	}
	return r, ok
}

// step moves past the current entry.
func (w *walk) step() {
	p := &w.stretches[0]
	if w.entry++; w.entry < p.entries() {
		return
	}
	w.entry = 0
	// The table starts again from its first entry.
	if w.turn++; w.turn < p.repeats {
		return
	}
	w.turn, w.stretches = 0, w.stretches[1:]
}

// table is a list of cell lengths with prefix sums. It has one entry per run of equal
// lengths or, if few neighbours are equal, one entry per cell. It is immutable.
type table struct {
	start  []int64 // start[r] is the first element of run r; the last entry is the sum
	first  []int64 // first[r] is the first cell of run r; nil if every run is one cell
	length []int64 // length of the cells of run r; nil if first is
	cells  int64
	sum    int64 // elements covered by all cells
}

// newTable stores a measured list in its smaller form.
func newTable(m measure, source runSource) table {
	if m.isFlat() {
		return flatTable(m.gatherLengths(source))
	}
	return runTable(m.gatherRuns(source))
}

// runTable stores runs. Neighbours must differ in length.
func runTable(runs []Run) table {
	n := len(runs)
	numbers := make([]int64, 3*n+1)
	t := table{start: numbers[: n+1 : n+1], first: numbers[n+1 : 2*n+1 : 2*n+1], length: numbers[2*n+1:]}
	for i, r := range runs {
		t.start[i], t.first[i], t.length[i] = t.sum, t.cells, r.Length
		t.sum, t.cells = t.sum+r.Length*r.Count, t.cells+r.Count
	}
	t.start[n] = t.sum
	return t
}

// flatTable replaces 0 and the lengths of all cells by their prefix sums, in place.
func flatTable(lengths []int64) table {
	var sum int64
	for i, n := range lengths {
		sum += n
		lengths[i] = sum
	}
	return table{start: lengths, cells: int64(len(lengths) - 1), sum: sum}
}

// entries returns the number of entries: runs, or cells if every run is one cell.
func (t *table) entries() int { return len(t.start) - 1 }

// run returns entry r.
func (t *table) run(r int) Run {
	span := t.start[r+1] - t.start[r]
	if t.first == nil {
		return Run{span, 1}
	}
	return Run{t.length[r], span / t.length[r]}
}

// longest returns the largest length of the cells in the interval, which must not be
// empty.
func (t *table) longest(cells Interval) int64 {
	var longest int64
	if t.first == nil {
		for k := cells.Start; k < cells.Stop; k++ {
			longest = max(longest, t.start[k+1]-t.start[k])
		}
		return longest
	}
	for r := search(t.first, cells.Start); r < len(t.first) && t.first[r] < cells.Stop; r++ {
		longest = max(longest, t.length[r])
	}
	return longest
}

// search returns the largest k with sorted[k] <= i. The first number must be at most i,
// and no number may be negative. The loop has no branch that depends on the numbers,
// which the processor would mispredict half of the time.
func search(sorted []int64, i int64) int {
	lo, n := 0, len(sorted)
	for n > 1 {
		half := n / 2
		notPast := (sorted[lo+half] - i - 1) >> 63 // all ones if sorted[lo+half] <= i
		lo += half & int(notPast)
		n -= half
	}
	return lo
}

// quotient returns a/b. Neither may be negative. Small numbers divide faster in 32 bits.
func quotient(a, b int64) int64 {
	if uint64(a|b)>>32 == 0 {
		return int64(uint32(a) / uint32(b))
	}
	return a / b
}

// stretch is a table of a list, which repeats.
type stretch struct {
	table
	repeats int64 // at least 1
	offset  int64 // first element
	index   int64 // first cell
}

// longest returns the largest length of the cells in the interval, which counts from the
// first cell of the stretch.
func (p *stretch) longest(cells Interval) int64 {
	// The interval holds every cell of the table at least once.
	if cells.Len() >= p.cells {
		return p.table.longest(Interval{0, p.cells})
	}
	// All repetitions are alike, so begin in the first one.
	from := cells.Start % p.cells
	to := from + cells.Len()
	if to <= p.cells {
		return p.table.longest(Interval{from, to})
	}
	// The interval continues in the next repetition.
	return max(p.table.longest(Interval{from, p.cells}), p.table.longest(Interval{0, to - p.cells}))
}

// runSource calls add for every run of a list, in order, until add fails. Neighbouring
// runs may have equal lengths.
type runSource func(add func(length, count int64) error) error

// ofLengths returns a source with one run per cell.
func ofLengths(lengths []int64) runSource {
	return func(add func(length, count int64) error) error {
		for _, n := range lengths {
			if err := add(n, 1); err != nil {
				return err
			}
		}
		return nil
	}
}

// ofRuns returns a source of the given runs.
func ofRuns(runs []Run) runSource {
	return func(add func(length, count int64) error) error {
		for _, r := range runs {
			if err := add(r.Length, r.Count); err != nil {
				return err
			}
		}
		return nil
	}
}

// measure is the size of a list.
type measure struct {
	cells, sum int64
	runs       int64 // runs after neighbours of equal length are merged
}

// measured checks a list and measures it.
func measured(source runSource) (m measure, err error) {
	last := int64(0)
	err = source(func(length, count int64) error {
		if length < 1 {
			return invalid("edge length must be at least 1, got %d", length)
		}
		if count < 1 {
			return invalid("repeat count must be at least 1, got %d", count)
		}
		span, ok := checked.Mul(length, count)
		if ok {
			m.sum, ok = checked.Add(m.sum, span)
		}
		if !ok {
			return ErrOverflow
		}
		m.cells += count // cannot exceed the sum
		if length != last {
			m.runs, last = m.runs+1, length
		}
		return nil
	})
	return m, err
}

// isFlat reports whether to store one number per cell instead of three per run. It does
// so if that takes less memory.
func (m measure) isFlat() bool { return m.runs > m.cells/3 && m.runs > 4 }

// gatherLengths returns 0 and the length of every cell, to be replaced by prefix sums in
// place.
func (m measure) gatherLengths(source runSource) []int64 {
	lengths := make([]int64, 1, m.cells+1)
	_ = source(func(length, count int64) error {
		for range count {
			lengths = append(lengths, length)
		}
		return nil
	})
	return lengths
}

// gatherRuns returns the runs of the list, with neighbours of equal length merged.
func (m measure) gatherRuns(source runSource) []Run {
	runs := make([]Run, 0, m.runs)
	_ = source(func(length, count int64) error {
		runs = appendRun(runs, Run{length, count})
		return nil
	})
	return runs
}

// An axis of extent 0 may have no edges at all. zarr-python 3.4.1 refuses an empty list
// of edges, so documents have a placeholder instead: the run [1, 1]. Other programs read
// it as one edge of length 1. Varve and zarr-python write a single edge as an integer, so
// the placeholder cannot be confused with one.
const placeholder = "[[1, 1]]"

// noEdges is the list of every axis without edges.
var noEdges = &edges{isPlain: true}
