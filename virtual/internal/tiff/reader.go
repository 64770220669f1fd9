// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/binary"
	"math"

	"varve.dev/zarr/virtual/scan"
)

// reader reads the structures of a file.
type reader struct {
	file  *scan.File
	order binary.ByteOrder
	big   bool           // BigTIFF
	seen  map[int64]bool // offsets of the IFDs that were read
	left  int64          // bytes that may still be read
}

// bytes reads a part of the file that no other structure shares. Files whose structures
// overlap a lot could otherwise take memory out of proportion to their size.
func (r *reader) bytes(off, n int64) ([]byte, error) {
	b, err := r.file.Bytes(off, n)
	if err != nil {
		return nil, err
	}
	if r.left -= n; r.left < 0 {
		return nil, scan.Corruptf("tiff: %d bytes at %d: the IFDs and their values overlap", n, off)
	}
	return b, nil
}

// ifd is an image file directory (section 2): the tags of one image.
type ifd struct {
	at      int64
	entries map[tag]entry
}

// entry is an entry of an IFD.
type entry struct {
	typ    fieldType
	count  int64
	inline []byte // the last bytes of the entry: the values, or their offset
}

// ifd reads the IFD at an offset, and the offset of the next one, 0 for none.
func (r *reader) ifd(at int64) (d *ifd, next int64, err error) {
	if r.seen[at] {
		return nil, 0, scan.Corruptf("tiff: the IFD at %d is reached twice", at)
	}
	r.seen[at] = true
	counter, size, link := int64(2), int64(12), int64(4)
	if r.big {
		counter, size, link = 8, 20, 8
	}
	b, err := r.bytes(at, counter)
	if err != nil {
		return nil, 0, err
	}
	n := r.unsigned(b)
	if n == 0 || n > math.MaxUint16 {
		return nil, 0, scan.Corruptf("tiff: the IFD at %d has %d entries", at, n)
	}
	if b, err = r.bytes(at+counter, int64(n)*size+link); err != nil {
		return nil, 0, err
	}
	d = &ifd{at, make(map[tag]entry, n)}
	for ; n > 0; n, b = n-1, b[size:] {
		if err := r.entry(d, b[:size]); err != nil {
			return nil, 0, err
		}
	}
	next, err = offset(r.unsigned(b[:link]))
	return d, next, err
}

// entry adds an entry to an IFD. The first one of a tag counts.
func (r *reader) entry(d *ifd, b []byte) error {
	t := tag(r.order.Uint16(b))
	if _, known := d.entries[t]; known {
		return nil
	}
	word := (len(b) - 4) / 2
	count, err := offset(r.unsigned(b[4 : 4+word]))
	if err != nil {
		return scan.Corruptf("tiff: the IFD at %d: %s has too many values", d.at, t)
	}
	d.entries[t] = entry{fieldType(r.order.Uint16(b[2:])), count, b[4+word:]}
	return nil
}

// unsigned returns the integer that the bytes are.
func (r *reader) unsigned(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(r.order.Uint16(b))
	case 4:
		return uint64(r.order.Uint32(b))
	}
	return r.order.Uint64(b)
}

// offset returns an offset as a signed number, which no file exceeds.
func offset(x uint64) (int64, error) {
	if x > math.MaxInt64 {
		return 0, scan.Corruptf("tiff: an offset or a count of %d", x)
	}
	return int64(x), nil
}
