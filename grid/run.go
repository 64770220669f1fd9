// SPDX-License-Identifier: Apache-2.0

package grid

// Run is a number of neighbouring cells of equal length.
type Run struct {
	Length int64 // elements per cell
	Count  int64 // cells
}

// appendRun appends r, or merges it with the last run if their lengths are equal.
func appendRun(runs []Run, r Run) []Run {
	if n := len(runs); n > 0 && runs[n-1].Length == r.Length {
		runs[n-1].Count += r.Count
		return runs
	}
	return append(runs, r)
}
