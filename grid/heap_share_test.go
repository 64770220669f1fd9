package grid_test

import (
	"bytes"
	"slices"
	"testing"

	"varve.dev/zarr/grid"
)

// TestSharedPages moves long elements between heaps. They are not copied where they are nearly all
// of their page and there is room for it, and are the same elements in any case.
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
		src, offsets := grid.NewHeap([]byte("fill")), []int64{0}
		var data []byte
		for _, w := range words {
			data = append(data, w...)
			offsets = append(offsets, int64(len(data)))
		}
		data = bytes.Clone(data)
		refs := make([]byte, len(words)*grid.RefSize)
		src.Add(refs, data[:len(data):len(data)], offsets)
		from := grid.Contiguous(refs[c.from*grid.RefSize:c.to*grid.RefSize], []int64{int64(c.to - c.from)}, grid.RefSize)
		from.Heap = src
		to := grid.Contiguous(make([]byte, len(from.Data)), from.Shape, grid.RefSize)
		to.Heap = src.New().Limited(c.most)
		grid.Copy(to, from)
		for i, w := range words[c.from:c.to] {
			got := to.Heap.Bytes(to.Data[i*grid.RefSize:])
			if !bytes.Equal(got, w) {
				t.Errorf("%s: element %d has %d bytes, want %d", c.name, i, len(got), len(w))
			}
			if shared := len(w) == size && &got[0] == &data[offsets[c.from+i]]; len(w) == size && shared != c.wantShared {
				t.Errorf("%s: shared: %t", c.name, shared)
			}
		}
	}
}

// TestInPage finds elements that follow each other in one page, and no others, and returns what
// AppendElements does.
func TestInPage(t *testing.T) {
	for name, c := range map[string]struct {
		order []int // of elements 0 to 4, of which 1 is empty and 3 the fill value; 5 is in another page
		ok    bool
	}{
		"none": {nil, true}, "empty": {[]int{1, 1}, true}, "in order": {[]int{0, 1, 2}, true}, "from the second": {[]int{1, 2}, true},
		"backwards": {[]int{2, 0}, false}, "twice": {[]int{0, 0}, false}, "fill value": {[]int{2, 3, 4}, false}, "a gap": {[]int{0, 4}, false},
		"two pages": {[]int{0, 5}, false}, "one of two": {[]int{5, 1}, true},
	} {
		h := grid.NewHeap([]byte("fill"))
		refs := make([]byte, 6*grid.RefSize)
		h.Add(refs, []byte("abcdefillgh"), []int64{0, 2, 2, 5, 9, 11})
		h.Add(refs[5*grid.RefSize:], []byte("cdx"), []int64{0, 3})
		v := grid.View{Shape: []int64{int64(len(c.order))}, Strides: []int64{grid.RefSize}, Size: grid.RefSize, Heap: h}
		for _, i := range c.order {
			v.Data = append(v.Data, refs[i*grid.RefSize:][:grid.RefSize]...)
		}
		want, ends := v.AppendElements(nil, []int64{0})
		got, offsets, ok := v.InPage([]int64{0})
		if ok != c.ok || ok && (!bytes.Equal(got, want) || !slices.Equal(offsets, ends)) {
			t.Errorf("%s: %q %v (%t), want %q %v", name, got, offsets, ok, want, ends)
		}
	}
}
