// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"errors"
	"fmt"
	"maps"
	"sync"
)

// Every element of a life says where it belongs: to which row, to which cell of the row,
// and to which write of that cell. The first write is the append or insertion, number 0.
const (
	writeBits = 20
	cellBits  = 8
)

func element(row int64, cell int, write int64) int64 {
	return row<<(cellBits+writeBits) | int64(cell)<<writeBits | write
}

// parse is the inverse of [element].
func parse(v int64) (row int64, cell int, write int64) {
	return v >> (cellBits + writeBits), int(v >> writeBits & (1<<cellBits - 1)), v & (1<<writeBits - 1)
}

// presence says what is known of a row.
type presence int

const (
	uncertain presence = iota // an append or insertion was begun, and not acknowledged
	present                   // it was acknowledged
	leaving                   // a drop was begun
	dropped                   // the drop was acknowledged
)

// entry is what is known of a row: its presence, and for every cell the last write that
// was begun and the last one that was acknowledged.
type entry struct {
	presence
	begun, acknowledged []int64
}

// ledger knows what the programs of a life have begun, and what was acknowledged.
type ledger struct {
	width int // cells of a row

	mu     sync.Mutex
	rows   map[int64]*entry
	writes int64
}

func newLedger(width int) *ledger { return &ledger{width: width, rows: map[int64]*entry{}} }

// add notes that n new rows are to be stored, and returns the first of them.
func (l *ledger) add(n int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := int64(len(l.rows)) + 1 // 0 would be the fill value
	for i := range n {
		l.rows[first+int64(i)] = &entry{begun: make([]int64, l.width), acknowledged: make([]int64, l.width)}
	}
	return first
}

// set notes what is known of rows.
func (l *ledger) set(p presence, rows ...int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range rows {
		l.rows[id].presence = p
	}
}

// begin notes that cells of rows are to be written, and returns the number of the write.
func (l *ledger) begin(rows []int64, from, to int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes++
	for _, id := range rows {
		for c := from; c < to; c++ {
			l.rows[id].begun[c] = l.writes
		}
	}
	return l.writes
}

// end notes that a write was acknowledged.
func (l *ledger) end(write int64, rows []int64, from, to int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range rows {
		for c := from; c < to; c++ {
			l.rows[id].acknowledged[c] = write
		}
	}
}

// moment returns a copy of what is known now. A reader that begins later finds no less.
func (l *ledger) moment() map[int64]entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := make(map[int64]entry, len(l.rows))
	for id, e := range l.rows {
		m[id] = entry{presence: e.presence, acknowledged: append([]int64(nil), e.acknowledged...)}
	}
	return m
}

// check compares elements, of whole rows, with what was known when their reader began:
// each row is there once, has its own cells, and no cell is older. all says that the
// elements are those of the whole array, which then has every acknowledged row.
func (l *ledger) check(data []int64, known map[int64]entry, all bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[int64]bool{}
	for at := 0; at < len(data); at += l.width {
		id, err := l.row(data[at:at+l.width], known)
		if err == nil && seen[id] {
			err = fmt.Errorf("wrong: row %d is there twice", id)
		}
		if err != nil {
			return fmt.Errorf("place %d of %d: %w", at/l.width, len(data)/l.width, err)
		}
		seen[id] = true
	}
	for id, e := range known {
		switch {
		case all && e.presence == present && l.rows[id].presence == present && !seen[id]:
			return fmt.Errorf("wrong: row %d was acknowledged, and is not there", id)
		case e.presence == dropped && seen[id]:
			return fmt.Errorf("wrong: row %d was dropped, and is there", id)
		}
	}
	return nil
}

// row checks the elements of one row, and returns which row it is.
func (l *ledger) row(data []int64, known map[int64]entry) (int64, error) {
	id, _, _ := parse(data[0])
	e := l.rows[id]
	if e == nil {
		return 0, fmt.Errorf("wrong: %d is no element of any row", data[0])
	}
	for c, v := range data {
		row, cell, write := parse(v)
		if row != id || cell != c {
			return id, fmt.Errorf("wrong: cell %d of row %d has the element of cell %d of row %d", c, id, cell, row)
		}
		oldest := int64(0)
		if k, ok := known[id]; ok {
			oldest = k.acknowledged[c]
		}
		if write < oldest || write > e.begun[c] {
			return id, fmt.Errorf("wrong: cell %d of row %d is of write %d; write %d was acknowledged, and write %d begun last", c, id, write, oldest, e.begun[c])
		}
	}
	return id, nil
}

// settle decides what became of the rows of a move that was not acknowledged: with all of
// them there, or none. there has the rows of the array now.
func (l *ledger) settle(rows []int64, there map[int64]bool, drop bool) error {
	n := 0
	for _, id := range rows {
		if there[id] {
			n++
		}
	}
	switch {
	case n == len(rows):
		l.set(present, rows...)
	case n == 0:
		l.set(dropped, rows...)
	default:
		return fmt.Errorf("wrong: %d rows of a move of %d are there (a drop: %t)", n, len(rows), drop)
	}
	return nil
}

// idsOf returns the rows of the elements of a whole array, in order.
func (l *ledger) idsOf(data []int64) ([]int64, map[int64]bool, error) {
	if len(data)%l.width != 0 {
		return nil, nil, errors.New("wrong: not a whole number of rows")
	}
	var ids []int64
	set := map[int64]bool{}
	for at := 0; at < len(data); at += l.width {
		id, _, _ := parse(data[at])
		ids = append(ids, id)
		set[id] = true
	}
	return ids, set, nil
}

// counts returns how many rows are in each presence.
func (l *ledger) counts() map[presence]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := map[presence]int{}
	for e := range maps.Values(l.rows) {
		n[e.presence]++
	}
	return n
}
