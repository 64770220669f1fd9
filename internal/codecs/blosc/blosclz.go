// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"encoding/binary"
	"errors"
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
