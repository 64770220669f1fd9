package grid

import (
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"
)

// Heap holds the bytes of elements that differ in length, as text does. A [View] of such elements has references of [RefSize]
// bytes in their place, which are moved about as elements of fixed width are. References with the same heap that refer to equal bytes
// may differ, but for the empty element and the fill value: each of them has one reference only, in every heap for that fill value.
//
// A Heap may be used from several goroutines at once. What was added to it stays.
type Heap struct {
	*pages
	of    *Heap        // the heap whose pages these are; nil for its own
	bytes atomic.Int64 // of the pages that were added through this heap
	most  int64        // 0 is no limit
}

// pages are what references refer to. The first one is the fill value.
type pages struct {
	mu  sync.Mutex
	all atomic.Pointer[[][]byte]
}

// RefSize is the size of a reference in bytes: the number of a page, the place of the first byte in it, and the number of bytes.
const RefSize = 16

// mostPage is the most bytes of a page.
const mostPage = min(math.MaxUint32, math.MaxInt)

// NewHeap returns a heap for elements of an array with the given fill value.
func NewHeap(fill []byte) *Heap {
	h := &Heap{pages: new(pages)}
	h.all.Store(&[][]byte{fill})
	return h
}

// Limited sets the most bytes that there are to be in h, and returns it; see [Heap.Full].
func (h *Heap) Limited(most int64) *Heap {
	if h != nil {
		h.most = most
	}
	return h
}

// Within returns a heap with the pages of h, through which about n more bytes may be added; see [Heap.Room].
func (h *Heap) Within(n int64) *Heap { return &Heap{pages: h.pages, of: h, most: max(1, n)} }

// Room returns how many more bytes there are to be, by this heap's limit and by those of the heaps that it is within, and the
// limit that leaves so few. Who decodes elements takes no more memory for them.
func (h *Heap) Room() (room, most int64) {
	room, most = math.MaxInt64, math.MaxInt64
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

// Full reports whether there are more bytes in h than there are to be. That of nil is never full.
func (h *Heap) Full() bool { return h != nil && h.most > 0 && h.bytes.Load() > h.most }

// New returns a heap for elements of the same array. That of nil, where elements are of one width, is nil.
func (h *Heap) New() *Heap {
	if h == nil {
		return nil
	}
	return NewHeap((*h.all.Load())[0])
}

// Fill returns the reference to the fill value.
func (h *Heap) Fill() []byte {
	ref := make([]byte, RefSize)
	putRef(ref, 0, 0, len((*h.all.Load())[0]))
	return ref
}

// Bytes returns the bytes of an element. They are not to be changed.
func (h *Heap) Bytes(ref []byte) []byte {
	page, off, n := loadRef(ref)
	return (*h.all.Load())[page][off : off+n : off+n]
}

// Len returns the number of bytes in the heap.
func (h *Heap) Len() (n int64) {
	for _, p := range *h.all.Load() {
		n += int64(len(p))
	}
	return n
}

// Add puts elements into the heap, which keeps data: element i is data[offsets[i]:offsets[i+1]], and refs has room for a reference to
// each. It is false where data is too long for a heap.
func (h *Heap) Add(refs, data []byte, offsets []int64) bool {
	if len(data) > mostPage {
		return false
	}
	fill := (*h.all.Load())[0]
	page := h.add(data)
	from := offsets[0]
	for _, to := range offsets[1:] {
		if string(data[from:to]) == string(fill) {
			putRef(refs, 0, 0, len(fill))
		} else {
			h.put(refs, page, int(from), int(to-from))
		}
		refs, from = refs[RefSize:], to
	}
	return true
}

// put writes a reference: that to no bytes is always the same.
func (h *Heap) put(ref []byte, page, off, n int) {
	if n == 0 {
		page, off = 0, 0
	}
	putRef(ref, page, off, n)
}

// add adds a page and returns its number.
func (h *Heap) add(page []byte) int {
	for in := h; in != nil; in = in.of {
		in.bytes.Add(int64(cap(page)))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := append(*h.all.Load(), page)
	h.all.Store(&all)
	return len(all) - 1
}

// apart reports whether references into one heap mean nothing in the other.
func apart(a, b *Heap) bool { return a != nil && b != nil && a.pages != b.pages }

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

// AppendElements appends the bytes of the elements of v, which has a heap, in C order to data, and to offsets where each ends.
func (v View) AppendElements(data []byte, offsets []int64) ([]byte, []int64) {
	for ref := range v.elements {
		data = append(data, v.Heap.Bytes(ref)...)
		offsets = append(offsets, int64(len(data)))
	}
	return data, offsets
}

// ElementBytes returns the number of bytes that the elements of v have, in the heap where there is one.
func (v View) ElementBytes() (n int64) {
	if v.Heap == nil {
		n = int64(v.Size)
		for _, l := range v.Shape {
			n *= l
		}
		return n
	}
	for ref := range v.elements {
		_, _, length := loadRef(ref)
		n += int64(length)
	}
	return n
}

// elements yields the bytes of every element in C order, where v shows them.
func (v View) elements(yield func(elem []byte) bool) {
	if !v.empty() {
		v.walk(v.Offset, 0, yield)
	}
}

func (v *View) walk(off int64, axis int, yield func([]byte) bool) bool {
	if axis == len(v.Shape) {
		return yield(v.Data[off : off+int64(v.Size)])
	}
	for range v.Shape[axis] {
		if !v.walk(off, axis+1, yield) {
			return false
		}
		off += v.Strides[axis]
	}
	return true
}

// adopt copies elements of another heap, and their bytes.
func adopt(dst, src View) {
	n := int64(RefSize)
	for _, l := range dst.Shape {
		n *= l
	}
	// Their references first, in C order and in a place of their own, so as to replace each by one to the same bytes here.
	refs := View{Data: make([]byte, n), Shape: dst.Shape, Strides: AppendStrides(nil, dst.Shape, RefSize), Size: RefSize}
	Move(refs, src)
	dst.Heap.take(refs.Data, src.Heap)
	Move(dst, refs)
}

// take replaces references into another heap by such into h.
func (h *Heap) take(refs []byte, from *Heap) {
	for len(refs) > 0 {
		size, end := 0, 0
		for ; end < len(refs); end += RefSize {
			page, _, n := loadRef(refs[end:])
			if page == 0 {
				continue
			}
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
				continue // the fill value, or nothing
			}
			if number < 0 {
				number = h.add(data[:size])
			}
			off := len(data)
			data = append(data, from.Bytes(refs[i:])...)
			h.put(refs[i:], number, off, n)
		}
		refs = refs[end:]
	}
}
