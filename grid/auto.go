// SPDX-License-Identifier: Apache-2.0

package grid

import "math"

// Bounds of the chunks that Auto chooses, in bytes.
const (
	autoBase  = 256 << 10 // target for an array of 1 MiB
	autoLeast = 128 << 10
	autoMost  = 64 << 20
)

// Auto returns a chunk shape for an array of the given shape with elements of size bytes.
// It follows zarr-python's rule and returns the same shapes: larger arrays get larger
// chunks, and axes are halved in turn until a chunk has about the target size, between
// 128 KiB and 64 MiB. A smaller array is one chunk.
//
// An axis of length 0 counts as one of length 1, so its chunks have one element, as in
// zarr-python. An array that is created empty and then grows along such an axis gets a
// chunk for every element along it. Pass the shape that the array will have instead, as
// the command varve does: it chooses chunks of about 128 KiB along the first empty axis.
func Auto(shape []int64, size int64) []int64 {
	chunk := make([]int64, len(shape))
	total := float64(size)
	for i, n := range shape {
		chunk[i] = max(1, n)
		total *= float64(chunk[i])
	}
	// The target doubles with each factor of ten in the size of the array.
	target := autoBase * math.Pow(2, math.Log10(total/(1<<20)))
	target = min(max(target, autoLeast), autoMost)
	for i := 0; len(chunk) > 0; i++ {
		bytes, rest := float64(size), int64(0)
		for _, n := range chunk {
			bytes *= float64(n)
			rest = max(rest, n)
		}
		// Half a target more or less is near enough. If all axes have length 1, nothing
		// is left to halve.
		near := bytes < target || math.Abs(bytes-target)/target < 0.5
		if near && bytes < autoMost || rest == 1 {
			break
		}
		// Halve one axis after another, also those that have length 1 already.
		axis := i % len(chunk)
		chunk[axis] = chunk[axis]/2 + chunk[axis]%2
	}
	return chunk
}
