// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"bytes"
	"fmt"
	"math"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/hdf5"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// reader reads the structures of a file.
type reader struct {
	file  *scan.File
	base  int64 // where address 0 is: after the user block
	sizes sizes
	// left bounds the bytes that are still read and the names that are still made. A file
	// in which everything refers to everything is then an error, and not days of work.
	left int64
	// trusting leaves checksums out. Tests of damaged files need it to reach what the
	// checksums protect.
	trusting    bool
	collections map[int64]collection
	shared      []sharedHeap
}

const (
	// budgetTimes bounds the bytes that are read, for each byte of a file. Few bytes are
	// read twice.
	budgetTimes = 4
	// budgetLeast is the budget of an empty file.
	budgetLeast = 1 << 20
)

func newReader(f *scan.File) *reader {
	left, ok := checked.Mul(f.Size(), budgetTimes)
	if ok {
		left, ok = checked.Add(left, budgetLeast)
	}
	if !ok {
		left = f.Size()
	}
	return &reader{file: f, left: left, collections: map[int64]collection{}}
}

// spend takes from the budget.
func (r *reader) spend(n int64) error {
	if n < 0 || n > r.left {
		return scan.Corruptf("its metadata refers to the same bytes again and again")
	}
	r.left -= n
	return nil
}

// place returns where an address is in the file.
func (r *reader) place(address int64) (int64, error) {
	at, ok := checked.Add(r.base, address)
	if !ok {
		return 0, scan.Corruptf("an address of %d", address)
	}
	return at, nil
}

// bytes returns n bytes at an address.
func (r *reader) bytes(address, n int64) ([]byte, error) {
	at, err := r.place(address)
	if err != nil {
		return nil, err
	}
	// A length of a damaged field gets this message, and not that of the budget.
	if n > r.file.Size() {
		return nil, scan.Corruptf("%s at %d, in a file of %d", quantity.Count(n, "bytes"), at, r.file.Size())
	}
	if err := r.spend(n); err != nil {
		return nil, err
	}
	return r.file.Bytes(at, n)
}

// cursor returns a cursor over n bytes at an address.
func (r *reader) cursor(address, n int64) (*cursor, error) {
	b, err := r.bytes(address, n)
	if err != nil {
		return nil, err
	}
	return r.over(b), nil
}

// over returns a cursor over bytes.
func (r *reader) over(b []byte) *cursor { return &cursor{data: b, sizes: r.sizes} }

// checksum is the number of bytes of a checksum.
const checksum = 4

// summed returns a cursor over n bytes at an address. The last four are the checksum of
// the others, and left out.
func (r *reader) summed(address, n int64) (*cursor, error) {
	b, err := r.bytes(address, n)
	if err != nil {
		return nil, err
	}
	return r.verify(r.over(b))
}

// verify checks the checksum at the end of the bytes of a cursor, and cuts it off.
func (r *reader) verify(c *cursor) (*cursor, error) {
	n := len(c.data) - checksum
	if n < 0 {
		return nil, scan.Corruptf("%s with a checksum", quantity.Count(len(c.data), "bytes"))
	}
	if got, want := hdf5.Checksum(c.data[:n]), uint32(little(c.data[n:])); got != want && !r.trusting {
		return nil, scan.Corruptf("its checksum is %08x, want %08x", got, want)
	}
	c.data = c.data[:n]
	return c, nil
}

// signed returns a cursor over n bytes at an address after a signature, without the
// checksum at their end.
func (r *reader) signed(address, n int64, signature string) (*cursor, error) {
	b, err := r.bytes(address, n)
	if err != nil {
		return nil, err
	}
	c := r.over(b)
	if err := c.signature(signature); err != nil {
		return nil, err
	}
	return r.verify(c)
}

// within says in which structure an error is.
func within(err error, what string, address int64) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s at %d: %w", what, address, err)
}

// undefined is an address that leads nowhere, and an extent without an end. The file has
// all bits set.
const undefined = -1

// cursor reads numbers from the bytes of a structure. It gives zeros beyond the end, and
// remembers that.
type cursor struct {
	data     []byte
	position int
	sizes    sizes
	short    bool
}

// sizes are the bytes of addresses and lengths in a file.
type sizes struct{ address, length int }

// rest returns the number of bytes after the next one read.
func (c *cursor) rest() int { return len(c.data) - c.position }

// take returns the next n bytes.
func (c *cursor) take(n int) []byte {
	if n < 0 || n > c.rest() {
		c.short, c.position = true, len(c.data)
		return nil
	}
	// The capacity ends here, so that an append does not overwrite what follows.
	b := c.data[c.position:][:n:n]
	c.position += n
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
	n := bytes.IndexByte(c.data[c.position:], 0)
	if n < 0 {
		// Ask for more than there is: the cursor then remembers that the zero is missing.
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
	// Beyond the end all bytes read as 0, which would look like version 0.
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
		return scan.Corruptf("it ends after %s, which are too few", quantity.Count(len(c.data), "bytes"))
	}
	return nil
}
