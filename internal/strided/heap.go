// SPDX-License-Identifier: Apache-2.0

package strided

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
)

// Heap holds the bytes of elements of variable length, such as text. A [View] of such
// elements holds references of [RefSize] bytes in their place, which are moved like
// elements of fixed width.
//
// Two references into one heap may differ even if they refer to equal bytes. Only the
// empty element and the fill value have a single reference each. It is the same in all
// heaps with that fill value.
//
// A Heap is safe for concurrent use. Bytes that were added to it are never removed.
type Heap struct {
	*pages
	of    *Heap        // heap that this one was made from by Within; nil if there is none
	bytes atomic.Int64 // of the pages added through this heap
	most  int64        // limit of bytes; 0 means no limit
}

// pages holds the bytes that references refer to. The first page is the fill value.
type pages struct {
	mu     sync.Mutex
	all    atomic.Pointer[[][]byte]
	lent   []Loan
	shared atomic.Bool // pages of this heap are pages of another one, too
}

// Loan is memory of a pool. Its user calls Put once, when nothing refers to it any more.
type Loan interface{ Put() }

// RefSize is the size of a reference in bytes. A reference is the number of a page, the
// offset of the first byte in it, and the number of bytes.
const RefSize = 16

// mostPage is the largest number of bytes of a page.
const mostPage = min(math.MaxUint32, math.MaxInt)

// NewHeap returns a heap for elements of an array with the given fill value.
func NewHeap(fill []byte) *Heap {
	h := &Heap{pages: new(pages)}
	h.all.Store(&[][]byte{fill})
	return h
}

// Limited sets the limit of h in bytes, and returns h. A nil h stays nil. See
// [Heap.Full].
func (h *Heap) Limited(most int64) *Heap {
	if h != nil {
		h.most = most
	}
	return h
}

// Within returns a heap with the pages of h that accepts about n more bytes. See
// [Heap.Room].
func (h *Heap) Within(n int64) *Heap { return &Heap{pages: h.pages, of: h, most: max(1, n)} }

// Room returns the number of bytes that may still be added to h, and the limit that
// leaves so few. It considers the limit of h and of the heaps that h was made from by
// [Heap.Within]. A decoder should not allocate more memory for elements than that.
func (h *Heap) Room() (room, most int64) {
	room, most = math.MaxInt64, math.MaxInt64
	// The heap with the least room decides.
	for ; h != nil; h = h.of {
		if h.most <= 0 {
			continue
		}
		if left := max(0, h.most-h.bytes.Load()); left < room {
			room, most = left, h.most
		}
	}
	return room, most
}

// Full reports whether more bytes were added to h than its limit permits. A nil heap is
// never full.
func (h *Heap) Full() bool { return h != nil && h.most > 0 && h.bytes.Load() > h.most }

// New returns an empty heap with the fill value of h. It returns nil if h is nil, as it
// is for elements of fixed width.
func (h *Heap) New() *Heap {
	if h == nil {
		return nil
	}
	return NewHeap((*h.all.Load())[0])
}

// Fill returns a reference to the fill value.
func (h *Heap) Fill() []byte {
	ref := make([]byte, RefSize)
	putRef(ref, 0, 0, len((*h.all.Load())[0]))
	return ref
}

// Bytes returns the bytes of an element. The caller must not modify them.
func (h *Heap) Bytes(ref []byte) []byte {
	page, off, n := loadRef(ref)
	return (*h.all.Load())[page][off : off+n : off+n]
}

// Len returns the number of bytes in the heap, including the fill value.
func (h *Heap) Len() (n int64) {
	for _, p := range *h.all.Load() {
		n += int64(len(p))
	}
	return n
}

// Add adds elements to the heap and writes a reference to each into refs. Element i is
// data[offsets[i]:offsets[i+1]]. The heap keeps data. Add returns false if data is too
// long for a page.
func (h *Heap) Add(refs, data []byte, offsets []int64) bool {
	if len(data) > mostPage {
		return false
	}
	fill := (*h.all.Load())[0]
	page := h.add(data)
	from := offsets[0]
	for _, to := range offsets[1:] {
		// The fill value has the same reference in all heaps.
		if string(data[from:to]) == string(fill) {
			putRef(refs, 0, 0, len(fill))
		} else {
			h.put(refs, page, int(from), int(to-from))
		}
		refs, from = refs[RefSize:], to
	}
	return true
}

// put writes a reference. An empty element always has the same one.
func (h *Heap) put(ref []byte, page, off, n int) {
	if n == 0 {
		page, off = 0, 0
	}
	putRef(ref, page, off, n)
}

// add adds a page and returns its number.
func (h *Heap) add(page []byte) int {
	for in := h; in != nil; in = in.of {
		// Count the memory that is held, not only the bytes in use.
		in.bytes.Add(int64(cap(page)))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	// Readers load the list without the lock. They never look beyond its length, so
	// append may extend the array in place.
	all := append(*h.all.Load(), page)
	h.all.Store(&all)
	return len(all) - 1
}

// Lend records that a page of the heap belongs to a pool; see [Heap.Release].
func (h *Heap) Lend(page Loan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lent = append(h.lent, page)
}

// Release returns the pages that were lent to their pool, and drops all others. If
// another heap shares pages with h, it drops all of them. Do not use the elements of h
// afterwards.
func (h *Heap) Release() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.lent {
		if !h.shared.Load() {
			p.Put()
		}
	}
	h.lent = nil
	clear((*h.all.Load())[1:])
}

// apart reports whether references into one heap are meaningless in the other.
func apart(a, b *Heap) bool { return a != nil && b != nil && a.pages != b.pages }

// putRef writes a reference. Its last four bytes are always 0.
func putRef(ref []byte, page, off, n int) {
	binary.NativeEndian.PutUint32(ref[12:], 0)
	binary.NativeEndian.PutUint32(ref, uint32(page))
	binary.NativeEndian.PutUint32(ref[4:], uint32(off))
	binary.NativeEndian.PutUint32(ref[8:], uint32(n))
}

func loadRef(ref []byte) (page, off, n int) {
	ref = ref[:RefSize]
	return int(binary.NativeEndian.Uint32(ref)), int(binary.NativeEndian.Uint32(ref[4:])), int(binary.NativeEndian.Uint32(ref[8:]))
}

// take replaces references into another heap by references into h.
func (h *Heap) take(refs []byte, from *Heap) {
	if h.share(refs, from) {
		return
	}
	for len(refs) > 0 {
		// Find the references up to end whose bytes fit into one page.
		size, end := 0, 0
		for ; end < len(refs); end += RefSize {
			page, _, n := loadRef(refs[end:])
			if page == 0 {
				continue
			}
			// The bytes of the references so far fill a page; the rest goes to another
			// page.
			if size+n > mostPage {
				break
			}
			size += n
		}
		data := make([]byte, 0, size)
		number := -1
		for i := 0; i < end; i += RefSize {
			page, _, n := loadRef(refs[i:])
			if page == 0 {
				continue // the fill value or an empty element: the same in both heaps
			}
			if number < 0 {
				// The page is added before its bytes are written. That is safe because no
				// reference to it exists yet.
				number = h.add(data[:size])
			}
			off := len(data)
			data = append(data, from.Bytes(refs[i:])...)
			h.put(refs[i:], number, off, n)
		}
		refs = refs[end:]
	}
}

// leastShared is the number of bytes from which on pages are shared. Fewer bytes are
// copied, so that many small chunks do not become many pages.
const leastShared = 1 << 20

// share is take without a copy: the pages of the other heap become pages of h. It returns
// false and does nothing unless the references cover nearly all bytes of these pages and
// h has room for them.
func (h *Heap) share(refs []byte, from *Heap) bool {
	all := *from.all.Load()
	numbers := make([]int, len(all)) // of the pages in h; 0 means that there is none
	used, held := int64(0), int64(0)
	for i := 0; i < len(refs); i += RefSize {
		page, _, n := loadRef(refs[i:])
		if page == 0 {
			continue // the fill value or an empty element: the same in both heaps
		}
		if used += int64(n); numbers[page] == 0 {
			numbers[page] = -1
			held += int64(cap(all[page]))
		}
	}
	if room, _ := h.Room(); used < leastShared || used < held/8*7 || held > room {
		return false
	}
	from.shared.Store(true)
	for i := 0; i < len(refs); i += RefSize {
		page, off, n := loadRef(refs[i:])
		if page == 0 {
			continue
		}
		if numbers[page] < 0 {
			numbers[page] = h.add(all[page])
		}
		h.put(refs[i:], numbers[page], off, n)
	}
	return true
}
