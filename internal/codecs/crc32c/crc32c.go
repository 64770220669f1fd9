// SPDX-License-Identifier: Apache-2.0

// Package crc32c is the codec "crc32c" (zarr-specs v3, "CRC32C checksum codec"). It
// appends a checksum to a chunk, and checks it when it decodes the chunk. Importing the
// package registers it.
package crc32c

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
)

// size is the length of the checksum in bytes.
const size = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func init() { codec.Register("crc32c", New) }

// New is the [codec.Factory] of the codec. It returns a [codec.BytesBytes] with which the
// root package can also check a large chunk range by range, without all of it in memory.
func New(configuration []byte) (any, error) {
	if err := codec.DecodeConfiguration(configuration, &struct{}{}); err != nil {
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
		return dst, fmt.Errorf("%w: crc32c: %s before the checksum, want at most %d", codec.ErrTooLong, quantity.Count(len(payload), "bytes"), most)
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
	return fmt.Errorf("%w: crc32c: %s too few for a checksum", codec.ErrCorrupt, quantity.Count(n, "bytes are"))
}

// compare returns an error if sum, the checksum of n bytes, is not the stored one.
func compare(n int64, stored, sum uint32) error {
	if stored != sum {
		return fmt.Errorf("%w: crc32c of %s is %#08x, stored is %#08x", codec.ErrChecksum, quantity.Count(n, "bytes"), sum, stored)
	}
	return nil
}

// Sum implements [coding.Summer].
func (coder) Sum() coding.Sum { return new(sum) }

// sum is a [coding.Sum]. The last bytes that it is given are the checksum of the others.
type sum struct {
	crc  uint32
	n    int64 // bytes in the sum so far
	last []byte
	room [size]byte
}

// Add implements [coding.Sum].
func (s *sum) Add(data []byte) {
	before := max(0, len(s.last)+len(data)-size) // that are not among the last
	// Earlier last bytes that newer ones displace belong to the data.
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
