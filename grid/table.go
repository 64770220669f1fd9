// SPDX-License-Identifier: Apache-2.0

package grid

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
