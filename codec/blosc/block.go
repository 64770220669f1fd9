package blosc

import "math"

const (
	cache         = 32 << 10  // a first-level cache: the unit of blocks
	smallestSplit = 64 << 10  // the smallest block that is split on purpose
	largestStream = 256 << 10 // of a block that is split
	largestSplit  = 1 << 20   // the largest block that is split on purpose
	maxBlock      = (math.MaxInt32 - 4*maxElement) / 3
)

// blockFactors say by level how many caches a block has.
var blockFactors = [10]float64{0.25, 0.5, 1, 2, 4, 4, 8, 8, 8, 8}

// blockFor returns how many bytes blocks of a content of n bytes have, and whether they
// are split. It decides as c-blosc 1.21 does in its mode of forward compatibility, for
// what it writes all its versions since 1.3 can read.
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
	if block > c.element {
		block = block / c.element * c.element
	}
	return block, c.splits(block)
}

// splits reports whether blocks of that many bytes are split.
func (c coder) splits(block int) bool { return c.kind != kindZstd && splits(c.element, block) }
