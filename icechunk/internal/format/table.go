// SPDX-License-Identifier: Apache-2.0

package format

import (
	"cmp"
	"slices"
)

// Table has a value for each of many IDs, in little memory: that of an ID and a value, a
// quarter for growth, and an eighth for IDs that wait to be sorted. With values of no
// bytes it is a set, of about 16 bytes for each ID.
//
// It is divided by the first byte of IDs, which are random. An order of other IDs makes
// it take more memory for moments, and no more time.
type Table[V any] struct {
	// Combine returns the value for an ID that has two. Nil keeps one of them.
	Combine func(x, y V) V
	parts   [256]part[V]
}

// row is an ID and its value. The value is the first field, because a last one of no
// bytes would take one.
type row[V any] struct {
	value V
	id    ObjectID
}

type part[V any] struct {
	sorted, waiting []row[V]
}

// fewest is how many IDs wait, at the least, before they are sorted.
const fewest = 64

// Add adds an ID with a value.
func (t *Table[V]) Add(id ObjectID, value V) {
	p := &t.parts[id[0]]
	if p.waiting = append(p.waiting, row[V]{value, id}); len(p.waiting) >= fewest+len(p.sorted)/8 {
		t.settle(p)
	}
}

// settle sorts what waits into the other IDs.
func (t *Table[V]) settle(p *part[V]) {
	if len(p.waiting) == 0 {
		return
	}
	more := t.unique(p.waiting)
	// Those that are known need no room.
	more = slices.DeleteFunc(more, func(r row[V]) bool {
		i, ok := p.find(r.id)
		if ok {
			p.sorted[i].value = t.combine(p.sorted[i].value, r.value)
		}
		return ok
	})
	// Merge from the end, so that no second copy is needed.
	i, k := len(p.sorted)-1, len(more)-1
	p.sorted = append(p.sorted, more...)
	for at := len(p.sorted) - 1; k >= 0; at-- {
		if i >= 0 && compareIDs(p.sorted[i].id, more[k].id) > 0 {
			p.sorted[at], i = p.sorted[i], i-1
		} else {
			p.sorted[at], k = more[k], k-1
		}
	}
	p.waiting = p.waiting[:0]
}

// unique sorts rows, and leaves one of those with the same ID.
func (t *Table[V]) unique(rows []row[V]) []row[V] {
	slices.SortFunc(rows, func(x, y row[V]) int { return compareIDs(x.id, y.id) })
	n := 1
	for _, r := range rows[1:] {
		if last := &rows[n-1]; last.id == r.id {
			last.value = t.combine(last.value, r.value)
			continue
		}
		rows[n] = r
		n++
	}
	return rows[:n]
}

func (t *Table[V]) combine(x, y V) V {
	if t.Combine == nil {
		return x
	}
	return t.Combine(x, y)
}

func (p *part[V]) find(id ObjectID) (int, bool) {
	return slices.BinarySearchFunc(p.sorted, id, func(r row[V], id ObjectID) int { return compareIDs(r.id, id) })
}

// Of returns the value of an ID.
func (t *Table[V]) Of(id ObjectID) (value V, ok bool) {
	p := &t.parts[id[0]]
	t.settle(p)
	i, ok := p.find(id)
	if ok {
		value = p.sorted[i].value
	}
	return value, ok
}

// Set sets the value of an ID that the table has.
func (t *Table[V]) Set(id ObjectID, value V) {
	p := &t.parts[id[0]]
	t.settle(p)
	if i, ok := p.find(id); ok {
		p.sorted[i].value = value
	}
}

// All yields all IDs, in order.
func (t *Table[V]) All() func(yield func(ObjectID, V) bool) {
	return func(yield func(ObjectID, V) bool) {
		for i := range t.parts {
			p := &t.parts[i]
			t.settle(p)
			for _, r := range p.sorted {
				if !yield(r.id, r.value) {
					return
				}
			}
		}
	}
}

// Larger returns the larger one of two numbers, as a Table may combine them.
func Larger[V cmp.Ordered](x, y V) V { return max(x, y) }
