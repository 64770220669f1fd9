// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"fmt"
	"hash/crc32"
	"sync/atomic"
)

// Sum is the checksum of items that arrive in any order: the sum of (2i+1) times the
// CRC-32 (as in zip) of item i, modulo 2^64. It detects wrong and misplaced items, and
// every language has CRC-32.
type Sum struct {
	Limit int64 // bytes of every item that count; 0 means all
	total atomic.Uint64
	bytes atomic.Int64
}

// Add adds item i. It may be called concurrently.
func (s *Sum) Add(i int, data []byte) {
	s.bytes.Add(int64(len(data)))
	if s.Limit > 0 && int64(len(data)) > s.Limit {
		data = data[:s.Limit]
	}
	s.total.Add(uint64(crc32.ChecksumIEEE(data)) * (2*uint64(i) + 1))
}

// Bytes returns the total size of all items.
func (s *Sum) Bytes() int64 { return s.bytes.Load() }

// String returns the sum as 16 hexadecimal digits.
func (s *Sum) String() string { return fmt.Sprintf("%016x", s.total.Load()) }
