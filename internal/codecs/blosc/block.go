// SPDX-License-Identifier: Apache-2.0

package blosc

import "math"

const (
	cache         = 32 << 10  // an L1 cache: the unit of block sizes
	smallestSplit = 64 << 10  // the smallest block that is split on purpose
	largestStream = 256 << 10 // of a block that is split
	largestSplit  = 1 << 20   // the largest block that is split on purpose
	maxBlock      = (math.MaxInt32 - 4*maxElement) / 3
)

// blockFactors has the size of a block by level, in caches.
var blockFactors = [10]float64{0.25, 0.5, 1, 2, 4, 4, 8, 8, 8, 8}

// blockFor returns the bytes of a block for a content of n bytes, and whether blocks are
// split. It decides as c-blosc 1.21 does in its forward-compatible mode, whose frames all
// versions since 1.3 can read.
func (c coder) blockFor(n int) (block int, split bool) {
	if n < c.element {
		return 1, false
	}
	block = n
	if c.forced > 0 {
		block = max(c.forced, minStream)
	} else if n >= cache {
		block = int(cache * blockFactors[c.level])
		if c.kind.large() {
			block *= 2
			if c.level == 9 {
				block *= 2
			}
		}
	}
	if c.level > 0 && c.splits(block) {
		block = min(block, largestStream) * c.element
		block = min(max(block, smallestSplit), largestSplit)
	}
	block = min(block, n)
	// Shuffling needs whole elements.
	if block > c.element {
		block = block / c.element * c.element
	}
	return block, c.splits(block)
}

// splits reports whether blocks of the given size in bytes are split.
func (c coder) splits(block int) bool { return c.kind != kindZstd && splits(c.element, block) }
