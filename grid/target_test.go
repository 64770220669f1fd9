// SPDX-License-Identifier: Apache-2.0

package grid_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
)

func TestTarget(t *testing.T) {
	const MiB = 1 << 20
	for _, tt := range []struct {
		shape       []int64
		size, bytes int64
		want        []int64
	}{
		{[]int64{}, 4, MiB, []int64{}},
		{[]int64{0}, 4, MiB, []int64{1}},
		{[]int64{0, 5}, 4, MiB, []int64{1, 5}},
		{[]int64{100, 100}, 8, MiB, []int64{100, 100}},
		{[]int64{1_000_000_000}, 8, 8 * MiB, []int64{1048219}},
		{[]int64{1000, 1000, 1000}, 4, 8 * MiB, []int64{125, 125, 125}},
		{[]int64{1024, 1024, 1024}, 4, 8 * MiB, []int64{128, 128, 128}},
		{[]int64{8760, 721, 1440}, 4, 8 * MiB, []int64{131, 121, 131}},
		{[]int64{1_000_000, 10}, 8, MiB, []int64{12988, 10}},
		{[]int64{3, 10_000_000}, 1, MiB, []int64{3, 344828}},
		{[]int64{50, 50}, 16, 8, []int64{1, 1}},
		{[]int64{math.MaxInt64, math.MaxInt64}, 1, math.MaxInt64, []int64{3037000499, 3037000500}},
	} {
		got, err := grid.Target(tt.shape, tt.size, tt.bytes)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%v of %d bytes in chunks of %d: %v (%v), want %v", tt.shape, tt.size, tt.bytes, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		shape       []int64
		size, bytes int64
	}{{[]int64{1}, 0, 1}, {[]int64{1}, 1, 0}, {[]int64{1, -1}, 1, 1}, {make([]int64, 65), 1, 1}} {
		if _, err := grid.Target(tt.shape, tt.size, tt.bytes); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%v of %d bytes in chunks of %d: %v", tt.shape, tt.size, tt.bytes, err)
		}
	}
}

// TestTargetKeepsItsWord checks the promised size, that an array that fits is one chunk,
// and that the longest axis could not be cut evenly into fewer chunks.
func TestTargetKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.Int64Range(0, 2000), 1, 5).Draw(t, "shape")
		size := rapid.SampledFrom([]int64{1, 2, 4, 8, 12}).Draw(t, "size")
		bytes := rapid.Int64Range(1, 1<<20).Draw(t, "bytes")
		chunk, err := grid.Target(shape, size, bytes)
		if err != nil {
			t.Fatal(err)
		}
		elements, whole, longest := int64(1), float64(size), 0
		for i, n := range chunk {
			elements *= n
			whole *= float64(max(1, shape[i]))
			if n < 1 || n > max(1, shape[i]) {
				t.Fatalf("chunk %v of shape %v", chunk, shape)
			}
			if shape[i] >= shape[longest] {
				longest = i
			}
		}
		if elements > 1 && elements*size > bytes {
			t.Fatalf("chunk %v takes %d bytes, at most %d are wanted", chunk, elements*size, bytes)
		}
		if fits := whole <= float64(bytes); fits != (float64(elements*size) == whole) && elements > 1 {
			t.Fatalf("shape %v in chunks of %v", shape, chunk)
		}
		// The longest axis is cut last and gets all that is left. With one chunk fewer it
		// would not fit.
		n := max(1, shape[longest])
		if cuts := (n + chunk[longest] - 1) / chunk[longest]; cuts > 1 {
			longer := (n + cuts - 2) / (cuts - 1)
			if elements/chunk[longest]*longer*size <= bytes {
				t.Fatalf("chunk %v of shape %v: %d fits along axis %d", chunk, shape, longer, longest)
			}
		}
	})
}
