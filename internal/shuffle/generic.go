// SPDX-License-Identifier: Apache-2.0

package shuffle

import "encoding/binary"

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
