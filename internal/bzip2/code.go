package bzip2

import "math/bits"

const (
	longest  = 20  // bits of a code word
	alphabet = 258 // symbols: two for runs, 255 places, and the end
	fastBits = 10  // words up to here are looked up in one step
)

// code is a canonical prefix code.
type code struct {
	fast  [1 << fastBits]uint16 // by the next bits: the symbol times 32, and the length of its word; 0 where it is longer
	last  [longest + 2]uint32   // by length: the first word of 20 bits that is behind those of the length
	base  [longest + 2]int32    // by length: what to add to a word for its place in order
	order [alphabet]uint16      // symbols by their words
}

// build makes the code from the lengths of all words. It is false for lengths that no code has.
func (c *code) build(lengths []byte) bool {
	var counts [longest + 2]int
	for _, l := range lengths {
		counts[l]++
	}
	place, word := 0, uint32(0)
	starts := [longest + 2]int{}
	for l := 1; l <= longest; l++ {
		starts[l] = place
		c.base[l] = int32(place) - int32(word)
		place += counts[l]
		word += uint32(counts[l])
		if word > 1<<l {
			return false
		}
		c.last[l] = word << (longest - l)
		word <<= 1
	}
	clear(c.fast[:])
	for s, l := range lengths {
		c.order[starts[l]] = uint16(s)
		if l <= fastBits {
			c.spread(uint16(s), l, uint32(int32(starts[l])-c.base[l]))
		}
		starts[l]++
	}
	return true
}

// spread enters a short word for all bits that may follow it.
func (c *code) spread(symbol uint16, length byte, word uint32) {
	from := word << (fastBits - length)
	for i := range uint32(1) << (fastBits - length) {
		c.fast[from+i] = symbol<<5 | uint16(length)
	}
}

// next reads a symbol. It is -1 where bits are no word.
func (c *code) next(b *bitReader) int {
	if b.n < longest {
		b.fill()
	}
	if v := c.fast[b.acc>>(64-fastBits)]; v != 0 {
		b.skip(uint(v & 31))
		return int(v >> 5)
	}
	word := uint32(b.acc >> (64 - longest))
	for l := fastBits + 1; l <= longest; l++ {
		if word < c.last[l] {
			b.skip(uint(l))
			return int(c.order[int32(word>>(longest-l))+c.base[l]])
		}
	}
	return -1
}

// readLengths reads the lengths of n words, each as what it differs from the one before.
func readLengths(b *bitReader, lengths []byte) bool {
	l := int(b.take(5))
	for i := range lengths {
		for {
			if l < 1 || l > longest {
				return false
			}
			if b.n < 2 {
				b.fill()
			}
			if b.take(1) == 0 {
				break
			}
			l += 1 - 2*int(b.take(1))
		}
		lengths[i] = byte(l)
	}
	return true
}

// unary returns the number of ones before a zero, at most limit.
func unary(b *bitReader, limit int) int {
	if b.n < 8 {
		b.fill()
	}
	n := min(bits.LeadingZeros64(^b.acc), limit)
	b.skip(uint(min(n+1, limit)))
	return n
}
