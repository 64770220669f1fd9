// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// blosclz is the compressor of c-blosc itself. A stream is a sequence of instructions. An
// instruction below 32 is followed by that many plus one literal bytes. Any other is a
// match. Its upper three bits are the length minus two; 7 says that bytes to add follow,
// up to the first that is not 255. Its lower five bits and one more byte are the distance
// minus one. If they are all ones, two bytes with the rest of the distance follow. The
// first instruction is literal, regardless of its upper bits, and so is the last.
type blosclz struct{}

// farthest is the first distance, minus one, that takes two more bytes.
const farthest = 8191

var errBloscLZ = errors.New("an instruction that leads out of the stream or its content")

func (blosclz) decompress(dst, src []byte) error {
	if len(src) == 0 {
		return errBloscLZ
	}
	// The upper bits of the first instruction mean nothing: it is literal.
	in, out, op := 1, 0, uint(src[0]&31)
	for {
		if op < 32 {
			n := int(op) + 1
			if len(dst)-out >= 32 && len(src)-in > 32 { // copies more than n bytes; later ones overwrite the rest
				*(*[32]byte)(dst[out:]) = *(*[32]byte)(src[in:])
			} else if n > len(dst)-out || n > len(src)-in {
				return errBloscLZ
			} else if copy(dst[out:out+n], src[in:]); n == len(src)-in {
				return filled(dst, out+n)
			}
			in, out = in+n, out+n
			op = uint(src[in])
			in++
			continue
		}
		n, distance := int(op>>5)+2, int(op&31)<<8
		// All length bits are set, so more of the length follows.
		if n == 9 {
			if n, in = lengthOf(src, in); in < 0 {
				return errBloscLZ
			}
		}
		if len(src)-in < 2 {
			return errBloscLZ
		}
		distance += int(src[in]) + 1
		// All distance bits are set, so more of the distance follows.
		if in++; distance > farthest {
			if len(src)-in < 3 {
				return errBloscLZ
			}
			distance += int(binary.BigEndian.Uint16(src[in:]))
			in += 2
		}
		// A match repeats earlier content, and fits the rest.
		if n > len(dst)-out || distance > out {
			return errBloscLZ
		}
		// Fast path: copy 16 bytes. Later instructions overwrite those beyond n.
		if distance >= 8 && n <= 16 && len(dst)-out >= 16 {
			store8(dst[out:], load8(dst[out-distance:]))
			store8(dst[out+8:], load8(dst[out+8-distance:]))
		} else {
			copyMatch(dst, out, distance, n)
		}
		out += n
		op = uint(src[in])
		in++
	}
}

// lengthOf reads the rest of a length. It returns the length and where it ends, a
// negative number if the stream is too short.
func lengthOf(src []byte, in int) (n, next int) {
	for n = 9; in < len(src); {
		more := src[in]
		in++
		n += int(more)
		if more != 255 {
			return n, in
		}
	}
	return 0, -1
}

// copyMatch repeats n bytes that begin distance bytes before out. It may change up to 7
// bytes after them.
func copyMatch(dst []byte, out, distance, n int) {
	end := out + n
	if distance < 8 { // byte by byte, until at least 8 bytes repeat
		wide := (7/distance + 1) * distance
		for stop := min(end, out+wide-distance); out < stop; out++ {
			dst[out] = dst[out-distance]
		}
		distance = wide
	}
	switch {
	case end-out > 64:
		to := dst[out-distance : end]
		// Each copy doubles the bytes that can be copied next.
		for have := distance; have < len(to); have *= 2 {
			copy(to[have:], to[:have])
		}
	case len(dst)-end >= 8:
		for ; out < end; out += 8 {
			store8(dst[out:], load8(dst[out-distance:]))
		}
	default:
		for ; out < end; out++ {
			dst[out] = dst[out-distance]
		}
	}
}

func load8(b []byte) uint64     { return binary.LittleEndian.Uint64(b) }
func store8(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

const (
	hashBits    = 14
	mostDistant = farthest + 1 + 1<<16 - 2 // c-blosc goes no further
	tail        = 12                       // no match begins in this many bytes at the end
)

// bloscLZWriter writes streams of [blosclz]. It looks up where four bytes occurred last,
// and takes longer steps the longer it finds nothing.
type bloscLZWriter struct {
	level int
	seen  [1 << hashBits]uint32
}

// leastGain has, for each level, the factor by which a stream must shrink. A stream that
// shrinks less is read faster as a copy.
var leastGain = [10]float64{2, 2, 1.5, 1.2, 1.2, 1.2, 1.2, 1.15, 1.1, 1}

// sampleSize is the largest number of bytes of a stream that are compressed as a trial. A
// trial has at most a quarter of the stream.
const sampleSize = 4 << 10

func (w *bloscLZWriter) compress(dst, src []byte) int {
	if len(src) < 16 {
		return 0
	}
	dst = dst[:min(len(dst), int(float64(len(src))/leastGain[w.level]))]
	// Most incompressible streams already fail in the trial.
	if n := min(len(src)/4, sampleSize); n >= 256 && w.level < 9 {
		at := len(src) - len(src)/4
		if w.run(dst[:min(len(dst), int(float64(n)/leastGain[w.level]))], src[at:at+n]) == 0 {
			return 0
		}
	}
	return w.run(dst, src)
}

// run compresses all of src.
func (w *bloscLZWriter) run(dst, src []byte) int {
	shift := uint(32 - min(hashBits, max(bits.Len(uint(len(src)))-1, 8), hashBits-3+w.level))
	clear(w.seen[:1<<(32-shift)])
	lazy := uint(w.level) // log2 of the distance before steps grow
	out, from := 0, 0
	for i := 1; i < len(src)-tail; {
		word := binary.LittleEndian.Uint32(src[i:])
		slot := &w.seen[word*2654435761>>shift&(1<<hashBits-1)]
		at := int(*slot)
		*slot = uint32(i)
		if i-at > mostDistant || binary.LittleEndian.Uint32(src[at:]) != word {
			i += 1 + (i-from)>>lazy
			continue
		}
		n := sameBytes(src, at, i)
		// A far match takes two more bytes, so a short one gains nothing.
		if n < 6 && i-at > farthest {
			i++
			continue
		}
		// Extend the match backwards over bytes that are not written yet.
		for at > 0 && i > from && src[at-1] == src[i-1] {
			at, i, n = at-1, i-1, n+1
		}
		if out = putLiterals(dst, out, src[from:i]); out < 0 {
			return 0
		}
		if out = putMatch(dst, out, i-at, n); out < 0 {
			return 0
		}
		i += n
		from = i
		// Also remember a position near the end of the match.
		if i < len(src)-tail {
			word = binary.LittleEndian.Uint32(src[i-2:])
			w.seen[word*2654435761>>shift&(1<<hashBits-1)] = uint32(i - 2)
		}
	}
	return max(0, putLiterals(dst, out, src[from:]))
}

// sameBytes returns how many bytes from i on equal those from at on. It never includes
// the last byte, because streams end with a literal.
func sameBytes(src []byte, at, i int) int {
	a, b := src[at:], src[i:len(src)-1]
	n := 0
	for n+8 <= len(b) {
		if diff := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); diff != 0 {
			return n + bits.TrailingZeros64(diff)/8
		}
		n += 8
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// putLiterals writes instructions for literal bytes. It returns where they end, a
// negative number if dst is too short.
func putLiterals(dst []byte, out int, src []byte) int {
	if out+len(src)+(len(src)+31)/32 > len(dst) {
		return -1
	}
	for len(src) > 0 {
		n := min(len(src), 32)
		dst[out] = byte(n - 1)
		if out == 0 {
			dst[out] |= 1 << 5 // as c-blosc marks streams
		}
		out += 1 + copy(dst[out+1:], src[:n])
		src = src[n:]
	}
	return out
}

// putMatch writes an instruction for a match of at least three bytes. It returns where it
// ends, a negative number if dst is too short.
func putMatch(dst []byte, out, distance, n int) int {
	if out+5+n/255 > len(dst) {
		return -1
	}
	n, distance = n-2, distance-1
	near := min(distance, farthest)
	dst[out] = byte(min(n, 7)<<5 | near>>8)
	out++
	if n >= 7 {
		for n -= 7; n >= 255; n -= 255 {
			dst[out] = 255
			out++
		}
		dst[out] = byte(n)
		out++
	}
	dst[out] = byte(near)
	out++
	if near == farthest {
		binary.BigEndian.PutUint16(dst[out:], uint16(distance-farthest))
		out += 2
	}
	return out
}
