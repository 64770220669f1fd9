// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"encoding/binary"
	"math"

	"varve.dev/zarr/virtual/scan"
)

// maxHeader bounds the bytes of a header that are read. A header with ten thousand
// variables has about two million.
const maxHeader = 16 << 20

// cursor reads a header from front to back. All numbers are big-endian.
type cursor struct {
	file    *scan.File
	at      int64 // offset of the next byte
	version byte
}

// bytes returns the next n bytes.
func (c *cursor) bytes(n int64) ([]byte, error) {
	if n > maxHeader-c.at {
		return nil, scan.Unsupportedf("a header of more than %d bytes", maxHeader)
	}
	b, err := c.file.Bytes(c.at, n)
	c.at += int64(len(b))
	return b, err
}

// padded returns the next n bytes, and skips zeros up to a multiple of four.
func (c *cursor) padded(n int64) ([]byte, error) {
	b, err := c.bytes(n)
	if err == nil {
		_, err = c.bytes(-n & 3)
	}
	return b, err
}

func (c *cursor) uint32() (uint32, error) {
	b, err := c.bytes(4)
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint32(b), nil
}

// number returns the next number of 4 or 8 bytes, which must fit into int64.
func (c *cursor) number(wide bool) (int64, error) {
	if !wide {
		n, err := c.uint32()
		return int64(n), err
	}
	b, err := c.bytes(8)
	if err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint64(b)
	if n > math.MaxInt64 {
		return 0, scan.Corruptf("the number %d at %d, which is negative or too large", n, c.at-8)
	}
	return int64(n), nil
}

// width is the size in bytes of counts (NON_NEG).
func (c *cursor) width() int64 {
	if c.version == 5 {
		return 8
	}
	return 4
}

// count returns the next count or length (NON_NEG), of 8 bytes in CDF-5.
func (c *cursor) count() (int64, error) { return c.number(c.width() == 8) }

// offset returns the next offset (OFFSET), of 4 bytes in CDF-1.
func (c *cursor) offset() (int64, error) { return c.number(c.version != 1) }

// name returns the next name (name = nelems namestring).
func (c *cursor) name() (string, error) {
	n, err := c.count()
	if err != nil {
		return "", err
	}
	b, err := c.padded(n)
	return string(b), err
}

// list returns the number of elements of the list that comes next, which is absent or has
// the given tag (dim_list, att_list, var_list).
func (c *cursor) list(tag uint32, of string) (int64, error) {
	found, err := c.uint32()
	if err != nil {
		return 0, err
	}
	n, err := c.count()
	if err != nil {
		return 0, err
	}
	if found != tag && (found != 0 || n != 0) {
		return 0, scan.Corruptf("a list with the tag %d and %d elements at %d, where that of %s is", found, n, c.at, of)
	}
	return n, nil
}

// each calls read for every element of a list. A count that is too large fails at the end
// of the file.
func (c *cursor) each(tag uint32, of string, read func() error) error {
	n, err := c.list(tag, of)
	for ; err == nil && n > 0; n-- {
		err = read()
	}
	return err
}
