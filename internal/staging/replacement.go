// SPDX-License-Identifier: Apache-2.0

package staging

import "slices"

// Replaced returns the numbers of the target chunks that are stored in place, under the
// keys that chunks of the source have: those of the wanted ones that differ from the
// source chunk of the same index, and those that take nothing from stored chunks, but at
// whose key another chunk is stored.
func (j *Job) Replaced(wanted []int64, sources *Table) []int64 {
	cells, index := j.Target.Grid.Cells(), make([]int64, j.Target.Grid.Rank())
	var numbers []int64
	for _, n := range wanted {
		if indexIn(cells, index, n); !j.IsKept(index) {
			numbers = append(numbers, n)
		}
	}
	for at := range sources.All() {
		if j.isTarget(at) && !j.IsKept(at) {
			numbers = append(numbers, numberIn(cells, at))
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// IsKept reports whether the chunks of the source and of the target at an index are the
// same.
func (j *Job) IsKept(index []int64) bool {
	for i, k := range index {
		was, ok := j.axes[i].source.Cell(k)
		is, also := j.axes[i].target.Cell(k)
		if !ok || !also || was.Start != is.Start || was.Encoded != is.Encoded {
			return false
		}
	}
	return j.sameChunks
}

// isTarget reports whether the target has a chunk at an index.
func (j *Job) isTarget(index []int64) bool {
	for i, k := range index {
		if k >= j.axes[i].target.Chunks() {
			return false
		}
	}
	return true
}

// Reused returns the stored shapes of the chunks of the source and of the target at an
// index of the target. It returns false if the source has no chunk there.
func (j *Job) Reused(index []int64) (was, is []int64, ok bool) {
	for i, k := range index {
		if k >= j.axes[i].source.Chunks() {
			return nil, nil, false
		}
		a, _ := j.axes[i].source.Cell(k)
		b, _ := j.axes[i].target.Cell(k)
		was, is = append(was, a.Encoded), append(is, b.Encoded)
	}
	return was, is, true
}

// SameChunks reports whether chunks of one shape and with the same elements have the same
// bytes in the source and in the target.
func (j *Job) SameChunks() bool { return j.sameChunks }
