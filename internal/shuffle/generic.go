// SPDX-License-Identifier: Apache-2.0

package shuffle

import (
	"encoding/binary"
)

// shufflePlain shuffles the elements from first to n.
func shufflePlain(dst, src []byte, size, first, n int) {
	if first == n {
		return
	}
	if size == 2 {
		shufflePairs(dst[:n], dst[n:2*n], src, first)
		return
	}
	j := 0
	for ; j+8 <= size; j += 8 {
		shuffleEight(dst[j*n:(j+8)*n], src[j:], size, first, n)
	}
	if j+4 <= size {
		shuffleFour(dst[j*n:(j+4)*n], src[j:], size, first, n)
		j += 4
	}
	for ; j < size; j++ {
		plane := dst[j*n : (j+1)*n]
		for i := first; i < n; i++ {
			plane[i] = src[i*size+j]
		}
	}
}

// unshufflePlain undoes shufflePlain.
func unshufflePlain(dst, src []byte, size, first, n int) {
	if first == n {
		return
	}
	if size == 2 {
		unshufflePairs(dst, src[:n], src[n:2*n], first)
		return
	}
	j := 0
	for ; j+8 <= size; j += 8 {
		unshuffleEight(dst[j:], src[j*n:(j+8)*n], size, first, n)
	}
	if j+4 <= size {
		unshuffleFour(dst[j:], src[j*n:(j+4)*n], size, first, n)
		j += 4
	}
	for ; j < size; j++ {
		plane := src[j*n : (j+1)*n]
		for i := first; i < n; i++ {
			dst[i*size+j] = plane[i]
		}
	}
}

// shuffleEight shuffles eight bytes of each element; the elements begin step bytes apart.
func shuffleEight(dst, src []byte, step, first, n int) {
	i := first
	for ; i+8 <= n; i += 8 {
		at := src[i*step:]
		a, b, c, d, e, f, g, h := transpose8(load(at), load(at[step:]), load(at[2*step:]), load(at[3*step:]),
			load(at[4*step:]), load(at[5*step:]), load(at[6*step:]), load(at[7*step:]))
		to := dst[i:]
		store(to, a)
		store(to[n:], b)
		store(to[2*n:], c)
		store(to[3*n:], d)
		store(to[4*n:], e)
		store(to[5*n:], f)
		store(to[6*n:], g)
		store(to[7*n:], h)
	}
	for ; i < n; i++ {
		for j := range 8 {
			dst[j*n+i] = src[i*step+j]
		}
	}
}

// unshuffleEight undoes shuffleEight.
func unshuffleEight(dst, src []byte, step, first, n int) {
	i := first
	for ; i+8 <= n; i += 8 {
		at := src[i:]
		a, b, c, d, e, f, g, h := transpose8(load(at), load(at[n:]), load(at[2*n:]), load(at[3*n:]),
			load(at[4*n:]), load(at[5*n:]), load(at[6*n:]), load(at[7*n:]))
		to := dst[i*step:]
		store(to, a)
		store(to[step:], b)
		store(to[2*step:], c)
		store(to[3*step:], d)
		store(to[4*step:], e)
		store(to[5*step:], f)
		store(to[6*step:], g)
		store(to[7*step:], h)
	}
	for ; i < n; i++ {
		for j := range 8 {
			dst[i*step+j] = src[j*n+i]
		}
	}
}

// shuffleFour shuffles four bytes of each element; the elements begin step bytes apart.
func shuffleFour(dst, src []byte, step, first, n int) {
	i := first
	for ; i+8 <= n; i += 8 {
		at := src[i*step:]
		a := load4(at) | load4(at[4*step:])<<32
		b := load4(at[step:]) | load4(at[5*step:])<<32
		c := load4(at[2*step:]) | load4(at[6*step:])<<32
		d := load4(at[3*step:]) | load4(at[7*step:])<<32
		a, b = exchange(a, b, 8, bytes1)
		c, d = exchange(c, d, 8, bytes1)
		a, c = exchange(a, c, 16, bytes2)
		b, d = exchange(b, d, 16, bytes2)
		to := dst[i:]
		store(to, a)
		store(to[n:], b)
		store(to[2*n:], c)
		store(to[3*n:], d)
	}
	for ; i < n; i++ {
		for j := range 4 {
			dst[j*n+i] = src[i*step+j]
		}
	}
}

// unshuffleFour undoes shuffleFour.
func unshuffleFour(dst, src []byte, step, first, n int) {
	i := first
	for ; i+8 <= n; i += 8 {
		at := src[i:]
		a, b, c, d := load(at), load(at[n:]), load(at[2*n:]), load(at[3*n:])
		a, c = exchange(a, c, 16, bytes2)
		b, d = exchange(b, d, 16, bytes2)
		a, b = exchange(a, b, 8, bytes1)
		c, d = exchange(c, d, 8, bytes1)
		to := dst[i*step:]
		store4(to, a)
		store4(to[step:], b)
		store4(to[2*step:], c)
		store4(to[3*step:], d)
		store4(to[4*step:], a>>32)
		store4(to[5*step:], b>>32)
		store4(to[6*step:], c>>32)
		store4(to[7*step:], d>>32)
	}
	for ; i < n; i++ {
		for j := range 4 {
			dst[i*step+j] = src[j*n+i]
		}
	}
}

// shufflePairs shuffles elements of two bytes.
func shufflePairs(low, high, src []byte, first int) {
	i := first
	for ; i+8 <= len(low); i += 8 {
		x, y := load(src[2*i:]), load(src[2*i+8:])
		store(low[i:], even(x)|even(y)<<32)
		store(high[i:], even(x>>8)|even(y>>8)<<32)
	}
	for ; i < len(low); i++ {
		low[i], high[i] = src[2*i], src[2*i+1]
	}
}

// unshufflePairs undoes shufflePairs.
func unshufflePairs(dst, low, high []byte, first int) {
	i := first
	for ; i+8 <= len(low); i += 8 {
		x, y := load(low[i:]), load(high[i:])
		store(dst[2*i:], spread(x)|spread(y)<<8)
		store(dst[2*i+8:], spread(x>>32)|spread(y>>32)<<8)
	}
	for ; i < len(low); i++ {
		dst[2*i], dst[2*i+1] = low[i], high[i]
	}
}

func load(b []byte) uint64      { return binary.LittleEndian.Uint64(b) }
func load4(b []byte) uint64     { return uint64(binary.LittleEndian.Uint32(b)) }
func store(b []byte, v uint64)  { binary.LittleEndian.PutUint64(b, v) }
func store4(b []byte, v uint64) { binary.LittleEndian.PutUint32(b, uint32(v)) }

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
