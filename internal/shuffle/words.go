// SPDX-License-Identifier: Apache-2.0

package shuffle

// Masks of every other byte, pair of bytes, and so on, from the lowest on.
const (
	bytes1 = 0x00ff00ff00ff00ff
	bytes2 = 0x0000ffff0000ffff
	bytes4 = 0x00000000ffffffff
)

// exchange swaps the bits of b that mask selects with those shift bits above them in a.
func exchange(a, b uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (a>>shift ^ b) & mask
	return a ^ t<<shift, b ^ t
}

// transpose8 reads its arguments as the rows of 8 by 8 bytes, the lowest byte first, and
// returns the columns.
func transpose8(a, b, c, d, e, f, g, h uint64) (_, _, _, _, _, _, _, _ uint64) {
	a, b = exchange(a, b, 8, bytes1)
	c, d = exchange(c, d, 8, bytes1)
	e, f = exchange(e, f, 8, bytes1)
	g, h = exchange(g, h, 8, bytes1)
	a, c = exchange(a, c, 16, bytes2)
	b, d = exchange(b, d, 16, bytes2)
	e, g = exchange(e, g, 16, bytes2)
	f, h = exchange(f, h, 16, bytes2)
	a, e = exchange(a, e, 32, bytes4)
	b, f = exchange(b, f, 32, bytes4)
	c, g = exchange(c, g, 32, bytes4)
	d, h = exchange(d, h, 32, bytes4)
	return a, b, c, d, e, f, g, h
}

// transposeBits reads the bytes of x as the rows of 8 by 8 bits, the lowest first, and
// returns the columns.
func transposeBits(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}

// even returns the bytes 0, 2, 4 and 6 of x in the lower half.
func even(x uint64) uint64 {
	x &= bytes1
	x = (x | x>>8) & bytes2
	return (x | x>>16) & bytes4
}

// spread undoes even. It ignores the upper half of x.
func spread(x uint64) uint64 {
	x &= bytes4
	x = (x | x<<16) & bytes2
	return (x | x<<8) & bytes1
}

// splitBitsPlain is splitBits from the byte first of plane on.
func splitBitsPlain(dst []byte, stride int, plane []byte, first int) {
	i := first
	for ; i+64 <= len(plane); i += 64 {
		at := plane[i : i+64 : i+64]
		a, b, c, d, e, f, g, h := transpose8(transposeBits(load(at)), transposeBits(load(at[8:])),
			transposeBits(load(at[16:])), transposeBits(load(at[24:])), transposeBits(load(at[32:])),
			transposeBits(load(at[40:])), transposeBits(load(at[48:])), transposeBits(load(at[56:])))
		to := dst[i/8:]
		store(to, a)
		store(to[stride:], b)
		store(to[2*stride:], c)
		store(to[3*stride:], d)
		store(to[4*stride:], e)
		store(to[5*stride:], f)
		store(to[6*stride:], g)
		store(to[7*stride:], h)
	}
	for ; i < len(plane); i += 8 {
		x := transposeBits(load(plane[i:]))
		for k := range 8 {
			dst[k*stride+i/8] = byte(x >> (8 * k))
		}
	}
}

// joinBitsPlain is joinBits from the byte first of plane on.
func joinBitsPlain(plane, src []byte, stride, first int) {
	i := first
	for ; i+64 <= len(plane); i += 64 {
		at := src[i/8:]
		a, b, c, d, e, f, g, h := transpose8(load(at), load(at[stride:]), load(at[2*stride:]), load(at[3*stride:]),
			load(at[4*stride:]), load(at[5*stride:]), load(at[6*stride:]), load(at[7*stride:]))
		to := plane[i : i+64 : i+64]
		store(to, transposeBits(a))
		store(to[8:], transposeBits(b))
		store(to[16:], transposeBits(c))
		store(to[24:], transposeBits(d))
		store(to[32:], transposeBits(e))
		store(to[40:], transposeBits(f))
		store(to[48:], transposeBits(g))
		store(to[56:], transposeBits(h))
	}
	for ; i < len(plane); i += 8 {
		var x uint64
		for k := range 8 {
			x |= uint64(src[k*stride+i/8]) << (8 * k)
		}
		store(plane[i:], transposeBits(x))
	}
}
