// Package crc32c is the codec that appends a CRC-32C checksum to a chunk and checks it on
// the way back (zarr-specs v3, "CRC32C checksum codec"). Importing the package registers
// it as "crc32c".
package crc32c

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/config"
	"varve.dev/zarr/metadata"
)

// size is the number of bytes that the checksum takes.
const size = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func init() { codec.Register("crc32c", New) }

// Extension returns the metadata of the codec. It has no configuration.
func Extension() metadata.Extension { return metadata.Extension{Name: "crc32c"} }

// New is the codec's [codec.Factory]. It returns a [codec.BytesBytes] that is a
// [coding.Summer].
func New(configuration []byte) (any, error) {
	if err := config.Decode(configuration, &struct{}{}); err != nil {
		return nil, fmt.Errorf("%w: crc32c: %w", codec.ErrConfiguration, err)
	}
	return coder{}, nil
}

type coder struct{}

// MaxEncoded implements [codec.BytesBytes].
func (coder) MaxEncoded(n int64) int64 { return min(n, math.MaxInt64-size) + size }

// Encode implements [codec.BytesBytes].
func (coder) Encode(dst, src []byte) ([]byte, error) {
	sum := crc32.Checksum(src, castagnoli)
	return binary.LittleEndian.AppendUint32(append(dst, src...), sum), nil
}

// Decode implements [codec.BytesBytes].
func (c coder) Decode(dst, src []byte, most int64) ([]byte, error) {
	payload, err := c.Trim(src)
	if err != nil {
		return dst, err
	}
	if int64(len(payload)) > most {
		return dst, fmt.Errorf("%w: crc32c: %d bytes before the checksum, want at most %d", codec.ErrTooLong, len(payload), most)
	}
	return append(dst, payload...), nil
}

// Trim implements [codec.Trimmer].
func (coder) Trim(src []byte) ([]byte, error) {
	n := len(src) - size
	if n < 0 {
		return nil, tooFew(len(src))
	}
	if err := compare(int64(n), binary.LittleEndian.Uint32(src[n:]), crc32.Checksum(src[:n], castagnoli)); err != nil {
		return nil, err
	}
	return src[:n:n], nil
}

func tooFew(n int) error {
	return fmt.Errorf("%w: crc32c: %d bytes are too few for a checksum", codec.ErrCorrupt, n)
}

// compare returns an error where the checksum of n bytes is another one than that which
// is stored.
func compare(n int64, stored, sum uint32) error {
	if stored != sum {
		return fmt.Errorf("%w: crc32c of %d bytes is %#08x, stored is %#08x", codec.ErrChecksum, n, sum, stored)
	}
	return nil
}

// Sum implements [coding.Summer].
func (coder) Sum() coding.Sum { return new(sum) }

// sum adds up bytes, of which the last are the checksum of those before them.
type sum struct {
	crc  uint32
	n    int64 // bytes that were added up
	last []byte
	room [size]byte
}

// Add implements [coding.Sum].
func (s *sum) Add(data []byte) {
	before := max(0, len(s.last)+len(data)-size) // that are not among the last
	from := min(before, len(s.last))
	s.crc = crc32.Update(s.crc, castagnoli, s.last[:from])
	s.crc = crc32.Update(s.crc, castagnoli, data[:before-from])
	s.n += int64(before)
	kept := copy(s.room[:], s.last[from:])
	s.last = s.room[:kept+copy(s.room[kept:], data[before-from:])]
}

// Err implements [coding.Sum].
func (s *sum) Err() error {
	if len(s.last) < size {
		return tooFew(len(s.last))
	}
	return compare(s.n, binary.LittleEndian.Uint32(s.last), s.crc)
}
