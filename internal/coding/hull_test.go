// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"testing"

	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/transpose"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// TestHull compares the hull of a part with the positions at which its elements are
// encoded.
func TestHull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation([]int{0, 1, 2}).Draw(t, "order")
		exts := []metadata.Extension{codec.Transpose(order...), codec.Bytes("little")}
		spec := codec.Spec{Type: dtype.Uint16, Fill: make([]byte, 2), Rank: 3}
		c, err := coding.NewChain(&codec.Environment{Registry: codec.Default}, exts, spec)
		if err != nil {
			t.Fatal(err)
		}
		shape, part := make([]int64, 3), strided.Part{}
		for i := range shape {
			count, step := rapid.Int64Range(1, 4).Draw(t, "count"), rapid.Int64Range(1, 3).Draw(t, "step")
			start := rapid.Int64Range(0, 3).Draw(t, "start")
			part.Start, part.Step, part.Count = append(part.Start, start), append(part.Step, step), append(part.Count, count)
			shape[i] = start + (count-1)*step + 1 + rapid.Int64Range(0, 3).Draw(t, "after")
		}
		// Mark the elements of the part, and find them among the encoded ones.
		elements := make([]byte, 2*shape[0]*shape[1]*shape[2])
		for i := range part.Count[0] {
			for j := range part.Count[1] {
				for k := range part.Count[2] {
					at := ((part.Start[0]+i*part.Step[0])*shape[1]+part.Start[1]+j*part.Step[1])*shape[2] + part.Start[2] + k*part.Step[2]
					elements[2*at] = 1
				}
			}
		}
		encoded, err := c.Encode(nil, strided.Contiguous(elements, shape, 2))
		if err != nil {
			t.Fatal(err)
		}
		first, last := int64(-1), int64(0)
		for i, b := range encoded {
			if b != 0 && first < 0 {
				first = int64(i)
			}
			if b != 0 {
				last = int64(i)
			}
		}
		if got, want := c.Hull(shape, part), (last-first)/2+1; got != want {
			t.Fatalf("hull %d, want %d", got, want)
		}
	})
}
