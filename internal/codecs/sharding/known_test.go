// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"bytes"
	"errors"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
)

// readByte reads element i of a stored line of bytes, and so makes its index known.
func (d *drawnShards) readByte(t *testing.T, n, i int64, src coding.Source) (byte, error) {
	t.Helper()
	part := strided.Part{Start: []int64{i}, Step: []int64{1}, Count: []int64{1}}
	var got [1]byte
	err := d.chain.DecodePart(t.Context(), work(), coding.Extract{Shape: []int64{n}, Part: part, Into: strided.Contiguous(got[:], part.Count, 1)}, src)
	return got[0], err
}

// TestCompactKnownIndex compacts a shard whose index is known, after another writer has
// left dead bytes in it. That nothing is to be done was true of the shard as it was.
func TestCompactKnownIndex(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	src := keep(t, d.encodeLine(t, 1, 2, 3, 4, 5, 6, 7, 8))
	if v, err := d.readByte(t, 8, 3, src); err != nil || v != 4 {
		t.Fatal(v, err)
	}
	body := []byte{9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8}
	src.put(handmade(body, [2]uint64{4, 2}, [2]uint64{6, 2}, [2]uint64{8, 2}, [2]uint64{10, 2}))
	out := d.edited(t, coding.Edit{Shape: []int64{8}, Compact: true}, src)
	defer out.Release()
	if out.Same || out.Size != int64(len(d.encodeLine(t, body[4:]...))) {
		t.Errorf("nothing changes: %v; %d bytes", out.Same, out.Size)
	}
}

// TestKnownIndexOfAnotherShape reads a shard, whose index is known, as a chunk of another
// shape, which a document may claim: the index does not fit, and no entry beyond it is
// taken.
func TestKnownIndexOfAnotherShape(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	line := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for _, n := range []int64{2, 4, 16} {
		src := keep(t, d.encodeLine(t, line...))
		if v, err := d.readByte(t, 8, 3, src); err != nil || v != 4 {
			t.Fatal(v, err)
		}
		known, knownErr := d.readByte(t, n, n-1, src)
		fresh, freshErr := lineShards(t, codec.Environment{}, "uint8").readByte(t, n, n-1, keep(t, bytes.Clone(d.encodeLine(t, line...))))
		if known != fresh || !errors.Is(knownErr, codec.ErrCorrupt) || !errors.Is(freshErr, codec.ErrCorrupt) {
			t.Errorf("as %d elements: %d (%v), without the index %d (%v)", n, known, knownErr, fresh, freshErr)
		}
	}
}
