// SPDX-License-Identifier: Apache-2.0

package hdf5

import "encoding/binary"

// Heap is a part of the global heap, which has values of variable length (III.E). Its
// bytes must be appended to the file where the heap begins.
type Heap struct {
	at   int64 // of the first collection
	done []byte
	open []byte // the collection that is being filled, or nil
	n    int    // its objects
}

// NewHeap returns a heap that begins at an address: [Writer.End].
func NewHeap(at int64) *Heap { return &Heap{at: at} }

// ReferenceBytes is the number of bytes of a reference to a value of the heap.
const ReferenceBytes = 4 + wordBytes + 4

const (
	collectionHead  = 4 + 4 + wordBytes
	collectionLeast = 4096     // the library refuses shorter ones
	collectionFull  = 64 << 10 // the next value begins another one
	objectHead      = 2 + 2 + 4 + wordBytes
	mostObjects     = 1<<16 - 1
)

// AppendText appends the reference to a text to b. Empty text is a zero byte: a value
// without bytes would be no text, which the library tells from an empty one.
func (h *Heap) AppendText(b, text []byte) []byte {
	if len(text) == 0 {
		text = []byte{0}
	}
	return h.append(b, text, len(text))
}

// append adds a value of n elements, and appends the reference to it to b.
func (h *Heap) append(b, value []byte, n int) []byte {
	if h.open != nil && (len(h.open)+len(value) > collectionFull || h.n == mostObjects) {
		h.finish()
	}
	if h.open == nil {
		h.open = append(append(h.open, "GCOL"...), 1, 0, 0, 0)
		h.open = words(h.open, 0) // the size, which finish sets
	}
	h.n++
	o := binary.LittleEndian.AppendUint16(nil, uint16(h.n))
	h.open = words(append(append(h.open, o...), 0, 0, 0, 0, 0, 0), uint64(len(value)))
	h.open = append(h.open, value...)
	h.open = append(h.open, make([]byte, -len(value)&7)...)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = words(b, uint64(h.at+int64(len(h.done))))
	return binary.LittleEndian.AppendUint32(b, uint32(h.n))
}

// finish ends a collection. The rest of a short one is free: object 0.
func (h *Heap) finish() {
	size := max(collectionLeast, len(h.open))
	if free := size - len(h.open); free >= objectHead {
		h.open = words(append(h.open, make([]byte, objectHead-wordBytes)...), uint64(free))
	}
	h.open = append(h.open, make([]byte, size-len(h.open))...)
	binary.LittleEndian.PutUint64(h.open[collectionHead-wordBytes:], uint64(size))
	h.done = append(h.done, h.open...)
	h.open, h.n = nil, 0
}

// Bytes returns the heap. Nothing can be added after it.
func (h *Heap) Bytes() []byte {
	if h.open != nil {
		h.finish()
	}
	return h.done
}
