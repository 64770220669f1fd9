package protocol

import (
	"fmt"
	"hash/crc32"
	"sync/atomic"
)

// Sum is the checksum of items that come in any order: the CRC-32 (as in zip) of item i
// times 2i+1, added up modulo 2^64. So an item that is wrong, or in the place of another,
// is noticed, and the programs of all languages have what it takes.
type Sum struct {
	Limit int64 // bytes of every item that count; 0 is all
	total atomic.Uint64
	bytes atomic.Int64
}

// Add adds item i; any number of goroutines may.
func (s *Sum) Add(i int, data []byte) {
	s.bytes.Add(int64(len(data)))
	if s.Limit > 0 && int64(len(data)) > s.Limit {
		data = data[:s.Limit]
	}
	s.total.Add(uint64(crc32.ChecksumIEEE(data)) * (2*uint64(i) + 1))
}

// Bytes returns how many bytes all items have.
func (s *Sum) Bytes() int64 { return s.bytes.Load() }

// String returns the sum as 16 hexadecimal digits.
func (s *Sum) String() string { return fmt.Sprintf("%016x", s.total.Load()) }
