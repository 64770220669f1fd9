// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"sync"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Sizes of blocks in bytes. A checksum covers a page of the size of a small block.
const (
	small = 64 << 10
	large = 4 << 20
)

// level is the kind of an entry.
type level byte

const (
	smallBlock level = 's'
	largeBlock level = 'l'
	// sizeOnly is an entry without bytes. It has the version and size of a value that was
	// read by a suffix, whose blocks cannot be named without its size.
	sizeOnly level = 'i'
)

// width returns the size of a block.
func (l level) width() int64 {
	if l == largeBlock {
		return large
	}
	return small
}

// ident is the identity of an entry: a hash of place, key, level and index.
type ident [sha256.Size]byte

// ident returns the identity of block index of a value.
func (s *frontStore) ident(key store.Key, l level, index int64) ident {
	var space [512]byte
	b := binary.LittleEndian.AppendUint64(space[:0], uint64(len(s.place)))
	b = append(append(b, s.place...), key.String()...)
	b = append(b, 0, byte(l))
	return sha256.Sum256(binary.LittleEndian.AppendUint64(b, uint64(index)))
}

// header describes an entry: the bytes [off, off+n) of one version of a value.
type header struct {
	id      ident
	info    store.Info
	off, n  int64
	fetched int64 // when the store was known to have this version, in nanoseconds since 1970
}

const (
	magic       = "VARVEC1\n"
	fixed       = 96
	mostVersion = 1024
	mostHeader  = fixed + mostVersion + 4*large/small
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendTo appends the header of an entry, with the checksums of the pages of data.
func (h *header) appendTo(b, data []byte) []byte {
	at := len(b)
	b = append(b, magic...)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0) // length and checksum of the header
	b = append(b, h.id[:]...)
	modified := int64(0)
	if !h.info.Modified.IsZero() {
		modified = h.info.Modified.UnixNano()
	}
	version := h.info.Version.String()
	for _, v := range [...]int64{h.info.Size, h.off, h.n, h.fetched, modified, int64(len(version))} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	b = append(b, version...)
	for from := 0; from < len(data); from += small {
		b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(data[from:min(from+small, len(data))], castagnoli))
	}
	binary.LittleEndian.PutUint32(b[at+8:], uint32(len(b)-at))
	binary.LittleEndian.PutUint32(b[at+12:], crc32.Checksum(b[at+16:], castagnoli))
	return b
}

// reader reads one entry.
type reader struct {
	header         // of an entry in a file: without the version, which is in raw
	raw     []byte // version, if it is in buf
	data    []byte // of an entry in memory
	sums    []byte // of the pages of an entry in a file
	file    vfs.File
	name    string
	from    int64 // where the bytes begin in the file
	buf     [mostHeader]byte
	scratch []byte
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// newReader returns a reader. The caller frees it.
func newReader() *reader { return readers.Get().(*reader) }

// free closes the entry and ends the use of r.
func (r *reader) free() {
	r.close()
	readers.Put(r)
}

// close closes the entry.
func (r *reader) close() {
	if r.file != nil {
		_ = r.file.Close() // it was only read
	}
	r.header, r.raw, r.data, r.sums, r.file, r.name = header{}, nil, nil, nil, nil, ""
}

// parse reads the header in b, the beginning of an entry of total bytes. It reports
// whether that is whole, sound, and the header of id.
func (r *reader) parse(id ident, b []byte, total int64) bool {
	if len(b) < fixed || string(b[:8]) != magic {
		return false
	}
	length := int64(binary.LittleEndian.Uint32(b[8:]))
	if length < fixed || length > int64(len(b)) {
		return false
	}
	b = b[:length]
	if crc32.Checksum(b[16:], castagnoli) != binary.LittleEndian.Uint32(b[12:]) || ident(b[16:48]) != id {
		return false
	}
	number := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[48+8*i:])) }
	h := header{id: id, info: store.Info{Size: number(0)}, off: number(1), n: number(2), fetched: number(3)}
	if modified := number(4); modified != 0 {
		h.info.Modified = time.Unix(0, modified)
	}
	version := number(5)
	// The checksum holds, so these only differ if another release writes other headers.
	if version <= 0 || version > length-fixed || h.n < 0 || h.n > large || total != length+h.n ||
		length != fixed+version+4*((h.n+small-1)/small) {
		return false
	}
	r.header, r.raw, r.sums, r.from = h, b[fixed:fixed+version], b[fixed+version:], length
	return true
}

// is reports whether the entry is of the version that info describes.
func (r *reader) is(info store.Info) bool {
	if r.header.info.Size != info.Size {
		return false
	}
	if r.raw != nil {
		return string(r.raw) == info.Version.String()
	}
	return r.header.info.Version == info.Version
}

// known returns the version of the entry.
func (r *reader) known() store.Info {
	info := r.header.info
	if r.raw != nil {
		info.Version = store.MakeVersion(string(r.raw))
	}
	return info
}

// appendTo appends the bytes [from, to) of the value, which must be in the entry. If they
// are not what was written, the error is errDamaged.
func (r *reader) appendTo(dst []byte, from, to int64) ([]byte, error) {
	from, to = from-r.off, to-r.off
	if r.file == nil {
		return append(dst, r.data[from:to]...), nil
	}
	for from < to {
		page := from / small
		start, stop := page*small, min((page+1)*small, r.n)
		var err error
		if dst, err = r.appendPage(dst, page, start, stop, from, min(to, stop)); err != nil {
			return nil, err
		}
		from = stop
	}
	return dst, nil
}

// appendPage appends the bytes [from, to) of a page that has [start, stop).
func (r *reader) appendPage(dst []byte, page, start, stop, from, to int64) ([]byte, error) {
	if from == start && to == stop {
		at := len(dst)
		dst = grown(dst, stop-start)
		return dst, r.readPage(dst[at:], page, start)
	}
	// The checksum is that of the whole page.
	if r.scratch == nil {
		r.scratch = make([]byte, small)
	}
	b := r.scratch[:stop-start]
	if err := r.readPage(b, page, start); err != nil {
		return nil, err
	}
	return append(dst, b[from-start:to-start]...), nil
}

// readPage reads and checks a page.
func (r *reader) readPage(b []byte, page, start int64) error {
	n, _ := r.file.ReadAt(b, r.from+start) // whatever failed, the bytes are not there
	if n != len(b) || crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(r.sums[4*page:]) {
		return errDamaged
	}
	return nil
}
