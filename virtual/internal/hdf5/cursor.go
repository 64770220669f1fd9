// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"bytes"
	"math"

	"varve.dev/zarr/virtual/scan"
)

// undefined is an address that leads nowhere, and an extent without an end. The file has
// all bits set.
const undefined = -1

// cursor reads numbers from the bytes of a structure. It gives zeros beyond the end, and
// remembers that.
type cursor struct {
	data  []byte
	next  int
	sizes sizes
	short bool
}

// sizes are the bytes of addresses and lengths in a file.
type sizes struct{ address, length int }

// rest returns the number of bytes after the next one read.
func (c *cursor) rest() int { return len(c.data) - c.next }

// take returns the next n bytes.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > c.rest() {
		c.short, c.next = true, len(c.data)
		return nil
	}
	b := c.data[c.next:][:n:n]
	c.next += n
	return b
}

// skip leaves out n bytes.
func (c *cursor) skip(n int) { c.take(n) }

// uint reads a number of n bytes, the least significant one first.
func (c *cursor) uint(n int) uint64 { return little(c.take(n)) }

// little returns the number in bytes, of which the first is the least significant.
func little(b []byte) (v uint64) {
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

func (c *cursor) byte() byte     { return byte(c.uint(1)) }
func (c *cursor) uint16() uint16 { return uint16(c.uint(2)) }
func (c *cursor) uint32() uint32 { return uint32(c.uint(4)) }

// int reads a number of n bytes as an offset or a count. If all bits are set it is
// [undefined]. If it does not fit it is the largest one, which no file has.
func (c *cursor) int(n int) int64 {
	v := c.uint(n)
	switch {
	case v == math.MaxUint64>>(64-8*n):
		return undefined
	case v > math.MaxInt64:
		return math.MaxInt64
	}
	return int64(v)
}

// address reads an address.
func (c *cursor) address() int64 { return c.int(c.sizes.address) }

// length reads a length.
func (c *cursor) length() int64 { return c.int(c.sizes.length) }

// text reads bytes up to a zero, which it skips.
func (c *cursor) text() string {
	n := bytes.IndexByte(c.data[c.next:], 0)
	if n < 0 {
		c.take(c.rest() + 1)
		return ""
	}
	s := string(c.take(n))
	c.skip(1)
	return s
}

// signature checks that the next bytes are a signature.
func (c *cursor) signature(want string) error {
	if got := c.take(len(want)); string(got) != want {
		return scan.Corruptf("%q in place of the signature %q", got, want)
	}
	return nil
}

// version reads a version, which must be one of these.
func (c *cursor) version(known ...byte) (byte, error) {
	v := c.byte()
	if c.short {
		return 0, c.err()
	}
	if bytes.IndexByte(known, v) < 0 {
		return 0, scan.Unsupportedf("version %d of it", v)
	}
	return v, nil
}

// err returns an error if the bytes were too few.
func (c *cursor) err() error {
	if c.short {
		return scan.Corruptf("it ends after %d bytes, which are too few", len(c.data))
	}
	return nil
}
