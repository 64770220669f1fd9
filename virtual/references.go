// SPDX-License-Identifier: Apache-2.0

package virtual

// reference says where a chunk is. The zero reference is a chunk that is not stored.
type reference struct {
	// source is the number of the source, counted from 1.
	source         uint32
	offset, length uint64 // in bytes; see whole
}

// whole is the length of a reference to a whole source, whose size is not known.
const whole = 1<<64 - 1

// references are the references of consecutive chunks, in columns: 20 bytes for each.
type references struct {
	source         []uint32
	offset, length []uint64
}

func makeReferences(n int) references {
	return references{make([]uint32, n), make([]uint64, n), make([]uint64, n)}
}

func (r *references) len() int { return len(r.source) }

func (r *references) at(i int) reference {
	return reference{r.source[i], r.offset[i], r.length[i]}
}

func (r *references) set(i int, x reference) {
	r.source[i], r.offset[i], r.length[i] = x.source, x.offset, x.length
}

// stored returns the number of references to chunks that are stored.
func (r *references) stored() (n int64) {
	for _, s := range r.source {
		if s != 0 {
			n++
		}
	}
	return n
}

// concat appends other references.
func (r *references) concat(o references) {
	r.source = append(r.source, o.source...)
	r.offset = append(r.offset, o.offset...)
	r.length = append(r.length, o.length...)
}

// slice returns the references from one index up to another. They share their memory.
func (r *references) slice(from, to int) references {
	return references{r.source[from:to:to], r.offset[from:to:to], r.length[from:to:to]}
}
