package lzma

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"hash/crc64"
)

// Check is a checksum of an .xz file, by its number in the format.
type Check byte

// The checksums that are known.
const (
	None   Check = 0
	CRC32  Check = 1
	CRC64  Check = 4
	SHA256 Check = 10
)

var ecma = crc64.MakeTable(crc64.ECMA)

// size returns the number of bytes that the checksum takes.
func (c Check) size() (int, error) {
	switch c {
	case None:
		return 0, nil
	case CRC32:
		return crc32.Size, nil
	case CRC64:
		return crc64.Size, nil
	case SHA256:
		return sha256.Size, nil
	case c & 15:
		return 0, fmt.Errorf("%w: checksum %d of an .xz file", ErrUnsupported, c)
	}
	return 0, fmt.Errorf("%w: checksum %#x of an .xz file", ErrCorrupt, byte(c))
}

// append appends the checksum of data to dst.
func (c Check) append(dst, data []byte) []byte {
	switch c {
	case CRC32:
		return binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(data))
	case CRC64:
		return binary.LittleEndian.AppendUint64(dst, crc64.Checksum(data, ecma))
	case SHA256:
		sum := sha256.Sum256(data)
		return append(dst, sum[:]...)
	}
	return dst
}
