// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"fmt"

	"varve.dev/zarr/internal/checked"
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
	if n > r.file.Size() {
		return nil, scan.Corruptf("%d bytes at %d, in a file of %d", n, at, r.file.Size())
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
		return nil, scan.Corruptf("%d bytes with a checksum", len(c.data))
	}
	if got, want := lookup3(c.data[:n]), word(c.data[n:]); got != want && !r.trusting {
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
