// SPDX-License-Identifier: Apache-2.0

// Package hdf5 scans HDF5 files, and so netCDF-4 files: it reads their metadata and says
// where chunks are. It reads no chunks.
//
// It follows the HDF5 File Format Specification, whose sections the comments name, in all
// versions from 1.1 to 4.0: superblocks 0 to 3, both kinds of object headers, all kinds
// of groups, and all indexes of chunks.
//
// An array is refused with a reason if Zarr has no codec for one of its filters, no type
// for its elements, or if its chunks differ in their filters. Text of variable length is
// copied into the chunks if it is short.
//
// The names of dimensions are those that netCDF sees. Dimensions without values, which
// netCDF keeps as variables of their own, are left out, and so are the attributes that
// netCDF hides.
package hdf5

import (
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// signature begins a superblock.
const signature = "\x89HDF\r\n\x1a\n"

// mostUserBlock bounds the user block that is looked behind. Every try beyond the first
// 256 KiB may cost a request.
const mostUserBlock = 1 << 20

// Matches reports whether a file is one of HDF5: whether a superblock begins at 0, 512,
// 1024 and so on, after a user block of at most 1 MiB.
func Matches(f *scan.File) bool {
	_, ok := find(f)
	return ok
}

// find returns where the superblock begins (specification, II.A).
func find(f *scan.File) (int64, bool) {
	// These are the places that the format permits (II.A). MATLAB begins its files of
	// version 7.3 with a user block of 512 bytes.
	for at := int64(0); at <= mostUserBlock && at < f.Size(); at = max(512, 2*at) {
		b, err := f.Bytes(at, int64(len(signature)))
		if err == nil && string(b) == signature {
			return at, true
		}
	}
	return 0, false
}

// superblock is what is needed of a superblock (specification, II.A).
type superblock struct {
	root      int64 // address of the header of the root group
	extension int64 // address of the header with more about the file, or undefined
}

// mostSuperblock is more than the bytes of any superblock.
const mostSuperblock = 160

// open reads the superblock.
func (r *reader) open() (superblock, error) {
	at, ok := find(r.file)
	if !ok {
		return superblock{}, scan.Corruptf("it has no signature of HDF5")
	}
	// Addresses count from the signature, so a user block shifts all of them.
	r.base = at
	n := min(mostSuperblock, r.file.Size()-at)
	c, err := r.cursor(0, n)
	if err != nil {
		return superblock{}, err
	}
	c.skip(len(signature))
	version, err := c.version(0, 1, 2, 3)
	if err != nil {
		return superblock{}, err
	}
	if version >= 2 {
		return r.openNew(c)
	}
	return r.openOld(c, version)
}

// openOld reads a superblock of version 0 or 1.
func (r *reader) openOld(c *cursor, version byte) (s superblock, err error) {
	c.skip(4) // versions of other structures, reserved
	if err := r.setSizes(c); err != nil {
		return s, err
	}
	c.skip(1 + 2 + 2 + 4) // reserved, ranks of trees, flags
	// Version 1 adds a rank of the trees of chunks, and 2 reserved bytes.
	if version == 1 {
		c.skip(4)
	}
	base := c.address()
	c.address() // free space
	end, driver := c.address(), c.address()
	// A symbol table entry (III.C) ends the superblock. Its cache is not needed: the
	// header of the root group says the same.
	c.address() // the name of the root
	s = superblock{root: c.address(), extension: undefined}
	if err := c.err(); err != nil {
		return s, err
	}
	// A driver block (II.B): the family or the multi driver has spread the addresses over
	// several files.
	if driver != undefined {
		return s, scan.Unsupportedf("a file of several parts")
	}
	return s, r.checkEnd(base, end)
}

// openNew reads a superblock of version 2 or 3.
func (r *reader) openNew(c *cursor) (s superblock, err error) {
	if err := r.setSizes(c); err != nil {
		return s, err
	}
	c.skip(1) // flags
	base := c.address()
	s.extension = c.address()
	end := c.address()
	s.root = c.address()
	c.skip(checksum)
	if err := c.err(); err != nil {
		return s, err
	}
	// The cursor has bytes of the file beyond the superblock. The checksum does not cover
	// them.
	c.data = c.data[:c.position]
	if _, err := r.verify(c); err != nil {
		return s, err
	}
	return s, r.checkEnd(base, end)
}

// setSizes reads the sizes of addresses and lengths.
func (r *reader) setSizes(c *cursor) error {
	c.sizes = sizes{int(c.byte()), int(c.byte())}
	// H5Pset_sizes also permits 16 bytes. No int64 holds such an address.
	for _, n := range []int{c.sizes.address, c.sizes.length} {
		if n != 2 && n != 4 && n != 8 {
			return scan.Unsupportedf("addresses or lengths of %s", quantity.Count(n, "bytes"))
		}
	}
	r.sizes = c.sizes
	return nil
}

// checkEnd checks that the file has all bytes that its superblock promises. A user block
// may have been added or removed since: then all addresses count from where the
// superblock is now, and not from the base that it has.
func (r *reader) checkEnd(base, end int64) error {
	// The HDF5 library refuses such a file, too ("truncated file").
	if there := r.file.Size() - r.base; end-base > there {
		return scan.Corruptf("it has %s of %d: it was cut off", quantity.Count(there, "bytes"), end-base)
	}
	return nil
}
