// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"fmt"
	"slices"
)

// batchRows is the number of rows of a batch. It divides no chunk.
const batchRows = 5

// firstStream is the number from which on batches are those of streams. Their rows may
// become visible chunk by chunk, with rows of others in between.
const firstStream = 20

// batch returns the rows that a program appends in step k.
func batch(number, k int) []int32 {
	rows := make([]int32, batchRows)
	for i := range rows {
		rows[i] = int32((number+1)*100_000 + k*10 + i)
	}
	return rows
}

// found is what the arrays of a crowd contain.
type found struct {
	own  []int32     // the rows of the programs that write
	rows map[int]int // the number of rows of each program that appends, by its number
}

// count counts the rows of each program. It checks that those of each are in order and
// there once, and that the batches are whole but for those of streams. The first row is
// row number at.
func count(at int, rows []int32) (map[int]int, error) {
	counts := map[int]int{}
	for len(rows) > 0 {
		number := int(rows[0])/100_000 - 1
		n := counts[number]
		want := batch(number, n/batchRows)[n%batchRows:]
		if number >= firstStream {
			want = want[:1]
		}
		if got := rows[:min(len(want), len(rows))]; !slices.Equal(got, want) {
			return nil, fmt.Errorf("wrong: row %d and those that follow are %v, want %v", at, got, want)
		}
		counts[number] += len(want)
		at, rows = at+len(want), rows[len(want):]
	}
	return counts, nil
}

// steps returns the number of steps of a program that are there, and whether a part of
// the next one is. It returns what was acknowledged of a program that leaves nothing.
func (f *found) steps(p *program) (n int, part bool) {
	switch p.kind {
	case appends, joins:
		return f.rows[p.number] / batchRows, false
	case streams:
		rows := f.rows[firstStream+p.number]
		return rows / batchRows, rows%batchRows > 0
	case writes:
		return int(f.own[ownRow(p.number)]), false
	}
	return p.done, false
}
