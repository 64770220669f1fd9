// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"bytes"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// wordsIn returns a view of 2 by 3 words, which are in no order in their heap.
func wordsIn() strided.View {
	words := [][]byte{[]byte("fill"), []byte("tide"), nil, []byte("ebb"), bytes.Repeat([]byte("surge "), 1000), []byte("tide")}
	v := strided.Contiguous(make([]byte, len(words)*strided.RefSize), []int64{2, 3}, strided.RefSize)
	v.Heap = strided.NewHeap([]byte("fill"))
	for i := len(words) - 1; i >= 0; i-- {
		v.Heap.Add(v.Data[i*strided.RefSize:][:strided.RefSize], words[i], []int64{0, int64(len(words[i]))})
	}
	return v
}

// TestEncodeNew encodes elements that differ in length from where they are and in a row,
// behind other bytes and in memory of its own.
func TestEncodeNew(t *testing.T) {
	typ, err := dtype.Parse("bytes", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, behind := range map[string][]metadata.Extension{
		"none": nil, "one": {codec.ZstdChecksum(1, false)}, "three": {codec.Gzip(1), codec.ZstdChecksum(1, true), codec.CRC32C()},
	} {
		spec := codec.Spec{Type: typ, Fill: []byte("fill"), Rank: 2}
		exts := append([]metadata.Extension{codec.VariableLength(typ)}, behind...)
		plain, fast := newChain(t, opaque(), spec, exts...), newChain(t, codec.Default, spec, exts...)
		want, err := plain.Encode([]byte("before"), wordsIn())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := fast.Encode([]byte("before"), wordsIn()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: Encode gives %x (%v), want %x", name, got, err, want)
		}
		for _, c := range []*coding.Chain{plain, fast} {
			for _, last := range []bool{false, true} {
				v := wordsIn()
				got, buffer, err := c.EncodeNew(v, last)
				if err != nil || !bytes.Equal(got, want[len("before"):]) {
					t.Errorf("%s, last %t: EncodeNew gives %x (%v), want %x", name, last, got, err, want)
				}
				if kept := v.Heap.Len() > 4; kept == last {
					t.Errorf("%s: the heap keeps its pages: %t, last: %t", name, kept, last)
				}
				buffer.Put()
			}
		}
	}
}

// failing is a codec that fails after it has made some bytes.
type failing struct{ codec.BytesBytes }

func (failing) MaxEncoded(n int64) int64 { return n }
func (failing) Encode(dst, src []byte) ([]byte, error) {
	return append(dst, src[:len(src)/2]...), errBroken
}

// TestEncodeNewFails tells which codec failed, and has a buffer to put back all the same.
func TestEncodeNewFails(t *testing.T) {
	typ, err := dtype.Parse("bytes", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := opaque()
	r.Register("failing", func([]byte) (any, error) { return failing{}, nil })
	spec := codec.Spec{Type: typ, Fill: []byte("fill"), Rank: 2}
	c := newChain(t, r, spec, codec.VariableLength(typ), metadata.Extension{Name: "failing"}, codec.Gzip(1))
	out, buffer, err := c.EncodeNew(wordsIn(), true)
	defer buffer.Put()
	wantPlace(t, err, errBroken, "failing", 1)
	if out != nil || buffer == nil {
		t.Errorf("%d bytes after an error, in a buffer: %t", len(out), buffer != nil)
	}
}
