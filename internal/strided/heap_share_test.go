// SPDX-License-Identifier: Apache-2.0

package strided_test

import (
	"bytes"
	"testing"

	"varve.dev/zarr/internal/strided"
)

// TestSharedPages moves long elements between heaps. They are not copied where they are
// nearly all of their page and there is room for it, and are the same elements in any
// case.
func TestSharedPages(t *testing.T) {
	const size = 1 << 20
	words := [][]byte{bytes.Repeat([]byte("a"), size), nil, []byte("fill"), bytes.Repeat([]byte("b"), size), []byte("short")}
	for _, c := range []struct {
		name       string
		from, to   int
		most       int64
		wantShared bool
	}{
		{"all", 0, 5, 0, true}, {"half", 0, 3, 0, false}, {"short ones", 1, 3, 0, false}, {"no room", 0, 5, 2 * size, false}, {"room", 0, 5, 4 * size, true},
	} {
		src, offsets := strided.NewHeap([]byte("fill")), []int64{0}
		var data []byte
		for _, w := range words {
			data = append(data, w...)
			offsets = append(offsets, int64(len(data)))
		}
		data = bytes.Clone(data)
		refs := make([]byte, len(words)*strided.RefSize)
		src.Add(refs, data[:len(data):len(data)], offsets)
		from := strided.Contiguous(refs[c.from*strided.RefSize:c.to*strided.RefSize], []int64{int64(c.to - c.from)}, strided.RefSize)
		from.Heap = src
		to := strided.Contiguous(make([]byte, len(from.Data)), from.Shape, strided.RefSize)
		to.Heap = src.New().Limited(c.most)
		strided.Copy(to, from)
		for i, w := range words[c.from:c.to] {
			got := to.Heap.Bytes(to.Data[i*strided.RefSize:])
			if !bytes.Equal(got, w) {
				t.Errorf("%s: element %d has %d bytes, want %d", c.name, i, len(got), len(w))
			}
			if shared := len(w) == size && &got[0] == &data[offsets[c.from+i]]; len(w) == size && shared != c.wantShared {
				t.Errorf("%s: shared: %t", c.name, shared)
			}
		}
	}
}

// page counts how often it is put back.
type page struct{ put int }

func (p *page) Put() { p.put++ }

// TestRelease gives the pages that were lent back, once, and keeps none but the fill
// value.
func TestRelease(t *testing.T) {
	h, lent := strided.NewHeap([]byte("fill")), new(page)
	h.Within(100).Add(make([]byte, strided.RefSize), []byte("text"), []int64{0, 4})
	h.Lend(lent)
	for range 2 {
		h.Release()
	}
	if n := h.Len(); n != 4 || lent.put != 1 {
		t.Errorf("%d bytes are kept, the page was put back %d times", n, lent.put)
	}
	if got := h.Bytes(h.Fill()); string(got) != "fill" {
		t.Errorf("the fill value is %q", got)
	}
	(*strided.Heap)(nil).Release()
}
