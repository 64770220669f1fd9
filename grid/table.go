package grid

// table is a list of cell lengths with prefix sums: one entry a run of equal lengths or, where hardly any
// lengths repeat, one number a cell. It is immutable.
type table struct {
	start  []int64 // start[r] is the first element of run r; the last entry is the sum
	first  []int64 // first[r] is the first cell of run r; nil where every run is one cell
	length []int64 // length of the cells of run r; nil where first is
	cells  int64
	sum    int64 // elements covered by all cells
}

// newTable keeps a list that was measured in the smaller form.
func newTable(m measure, source runSource) table {
	if m.isFlat() {
		return flatTable(m.gatherLengths(source))
	}
	return runTable(m.gatherRuns(source))
}

// runTable keeps runs, no two neighbours of which have one length.
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

// flatTable turns 0 and the lengths of all cells into their prefix sums, in place.
func flatTable(lengths []int64) table {
	var sum int64
	for i, n := range lengths {
		sum += n
		lengths[i] = sum
	}
	return table{start: lengths, cells: int64(len(lengths) - 1), sum: sum}
}

// entries returns how many runs, or cells where every run is one, the table has.
func (t *table) entries() int { return len(t.start) - 1 }

// run returns entry r.
func (t *table) run(r int) Run {
	span := t.start[r+1] - t.start[r]
	if t.first == nil {
		return Run{span, 1}
	}
	return Run{t.length[r], span / t.length[r]}
}

// longest returns the largest length of the cells in the interval, which is not empty.
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

// search returns the largest k with sorted[k] <= i; sorted[0] has to be one, and no number is negative.
// It has no branch that depends on the numbers, since such branches are guessed wrong half of the time.
func search(sorted []int64, i int64) int {
	lo, n := 0, len(sorted)
	for n > 1 {
		half := n / 2
		notPast := (sorted[lo+half] - i - 1) >> 63 // all ones where sorted[lo+half] <= i
		lo += half & int(notPast)
		n -= half
	}
	return lo
}

// quotient returns a/b of numbers that are not negative; small numbers divide faster.
func quotient(a, b int64) int64 {
	if uint64(a|b)>>32 == 0 {
		return int64(uint32(a) / uint32(b))
	}
	return a / b
}
