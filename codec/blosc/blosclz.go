package blosc

import (
	"encoding/binary"
	"errors"
)

// blosclz is the compressor of c-blosc itself. A stream is a row of instructions. One below 32 is that many and one literal
// bytes, which follow. Any other is a match: its upper three bits are the length less two, where 7 says that bytes to
// be added follow, up to the first that is not 255; its lower five bits and one more byte are the distance less one. A distance of all ones
// says that two bytes with the rest of it follow. The first instruction is literal, whatever its upper bits, and the last is, too.
type blosclz struct{}

// farthest is the first distance, less one, that takes two bytes more.
const farthest = 8191

var errBloscLZ = errors.New("an instruction that leads out of the stream or its content")

func (blosclz) decompress(dst, src []byte) error {
	if len(src) == 0 {
		return errBloscLZ
	}
	in, out, op := 1, 0, uint(src[0]&31)
	for {
		if op < 32 {
			n := int(op) + 1
			if n > len(dst)-out || n > len(src)-in {
				return errBloscLZ
			}
			copyLiterals(dst, src, out, in, n)
			in, out = in+n, out+n
			if in == len(src) {
				return filled(dst, out)
			}
			op = uint(src[in])
			in++
			continue
		}
		n, distance, next := matchOf(src, in, op)
		if next <= 0 || next >= len(src) || n > len(dst)-out || distance > out {
			return errBloscLZ
		}
		copyMatch(dst, out, distance, n)
		out += n
		op = uint(src[next])
		in = next + 1
	}
}

// matchOf reads the rest of a match and returns where it ends, 0 where the stream does.
func matchOf(src []byte, in int, op uint) (n, distance, next int) {
	n = int(op>>5) + 2
	if n == 9 {
		for {
			if in >= len(src) {
				return 0, 0, 0
			}
			more := src[in]
			in++
			n += int(more)
			if more != 255 {
				break
			}
		}
	}
	if in >= len(src) {
		return 0, 0, 0
	}
	low := int(src[in])
	in++
	if distance = int(op&31)<<8 | low; distance < farthest {
		return n, distance + 1, in
	}
	if len(src)-in < 2 {
		return 0, 0, 0
	}
	return n, farthest + 1 + int(binary.BigEndian.Uint16(src[in:])), in + 2
}

// copyLiterals copies n bytes, at most 32, and others behind them where there is room: that is faster.
func copyLiterals(dst, src []byte, out, in, n int) {
	if len(dst)-out >= 32 && len(src)-in >= 32 {
		*(*[32]byte)(dst[out:]) = *(*[32]byte)(src[in:])
		return
	}
	copy(dst[out:out+n], src[in:])
}

// copyMatch repeats n bytes that begin distance bytes before out.
func copyMatch(dst []byte, out, distance, n int) {
	if distance >= 8 && n <= 32 && len(dst)-out >= 40 {
		for i := 0; i < n; i += 8 { // may write more than n bytes: what is behind them is yet to come
			binary.LittleEndian.PutUint64(dst[out+i:], binary.LittleEndian.Uint64(dst[out+i-distance:]))
		}
		return
	}
	to := dst[out-distance : out+n]
	for have := distance; have < len(to); have *= 2 {
		copy(to[have:], to[:have])
	}
}
