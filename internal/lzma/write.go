package lzma

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// WrapXZ appends an .xz file of one block to dst: packed is a raw LZMA2 stream of data, which went through deltas of some distances
// before. The dictionary had size bytes.
func WrapXZ(dst, packed, data []byte, size int64, deltas []int, check Check) []byte {
	flags := []byte{0, byte(check)}
	dst = appendSum(append(dst, magic...), flags)
	if len(data) == 0 {
		return appendEnd(dst, []byte{0, 0}, flags)
	}
	head := appendHeader(nil, size, deltas)
	dst = append(append(appendSum(dst, head), packed...), make([]byte, -len(packed)&3)...)
	before := len(dst)
	dst = check.append(dst, data)
	index := binary.AppendUvarint([]byte{0, 1}, uint64(len(head)+crcSize+len(packed)+len(dst)-before))
	return appendEnd(dst, binary.AppendUvarint(index, uint64(len(data))), flags)
}

// appendHeader appends the header of a block but for its checksum.
func appendHeader(dst []byte, size int64, deltas []int) []byte {
	dst = append(dst, 0, byte(len(deltas)))
	for _, d := range deltas {
		dst = append(dst, filterDelta, 1, byte(d-1))
	}
	dst = append(dst, filterLZMA2, 1, dictionary(size))
	dst = append(dst, make([]byte, -len(dst)&3)...)
	dst[0] = byte(len(dst) / 4)
	return dst
}

// last is the byte for the greatest size of a dictionary.
const last = 40

// dictionary returns the byte for the least size of a dictionary that is at least so many bytes.
func dictionary(size int64) byte {
	for b := range byte(last) {
		if dictionarySize(b) >= size {
			return b
		}
	}
	return last
}

// dictionarySize returns the size that a byte below the last one stands for: 2 or 3, times a power of two.
func dictionarySize(b byte) int64 { return int64(2|b&1) << (b/2 + 11) }

// appendEnd appends an index and what follows it.
func appendEnd(dst, index, flags []byte) []byte {
	index = append(index, make([]byte, -len(index)&3)...)
	dst = appendSum(dst, index)
	fields := append(binary.LittleEndian.AppendUint32(nil, uint32(len(index)+crcSize)/4-1), flags...)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(fields))
	return append(append(dst, fields...), tail...)
}

// appendSum appends bytes and their checksum.
func appendSum(dst, data []byte) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, data...), crc32.ChecksumIEEE(data))
}

// WrapAlone appends a .lzma file to dst: packed is a raw LZMA stream with an end marker. The dictionary had size bytes; the file says
// no less, in a number that liblzma believes.
func WrapAlone(dst, packed []byte, size int64, p Properties) []byte {
	said := uint32(math.MaxUint32)
	if b := dictionary(size); b < last {
		said = uint32(dictionarySize(b))
	}
	dst = binary.LittleEndian.AppendUint32(append(dst, p.Byte()), said)
	return append(binary.LittleEndian.AppendUint64(dst, math.MaxUint64), packed...)
}
