// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"testing"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// TestSlabs cuts a large array in one piece. Its slabs follow each other, without a gap.
func TestSlabs(t *testing.T) {
	plain := []metadata.Extension{scan.Plain(dtype.Float32, false)}
	for _, c := range []struct {
		shape  []int64
		codecs []metadata.Extension
		want   int // chunks
	}{
		{[]int64{1000, 1 << 10, 1 << 10}, plain, 250}, // of 16 MiB
		{[]int64{1001, 1 << 10, 1 << 10}, plain, 251},
		{[]int64{3, 1 << 13, 1 << 13}, plain, 3}, // a row is larger
		{[]int64{16, 1 << 10, 1 << 10}, plain, 1},
		{[]int64{1000, 1 << 10, 1 << 10}, append(plain[:1:1], metadata.Extension{Name: "zstd"}), 1},
	} {
		n := product(c.shape) * 4
		a := inSlabs(&scan.Array{Shape: c.shape, Chunk: c.shape, Type: dtype.Float32, Codecs: c.codecs, Chunks: []scan.Chunk{{Offset: 77, Length: n}}})
		if len(a.Chunks) != c.want {
			t.Errorf("%v: %d chunks, want %d", c.shape, len(a.Chunks), c.want)
		}
		end := int64(77)
		for i, k := range a.Chunks {
			if k.Number != int64(i) || k.Offset != end {
				t.Errorf("%v: chunk %d is at %d, want %d at %d", c.shape, k.Number, k.Offset, i, end)
			}
			end += k.Length
		}
		if end != 77+n {
			t.Errorf("%v: ends at %d", c.shape, end)
		}
	}
}
