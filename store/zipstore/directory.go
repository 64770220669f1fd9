// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync/atomic"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
)

// tail is the number of bytes at the end of an archive that are read first. They have the
// last record even with the longest comment, and the whole directory of most archives.
const tail = endLength + full16 + wideEndLength + locatorLength

// layout gives offsets and lengths in an archive, in bytes.
type layout struct {
	count, length, off int64 // members in the directory, its length and its offset
	end                int64 // where the directory must end
	before             int64 // bytes before the archive, which offsets in it do not count
}

// open reads the directory.
func (s *reader) open(ctx context.Context, most int64) error {
	last, info, err := s.archive.Read(ctx, store.Request{Range: store.Suffix(tail)}, nil)
	if err != nil {
		return err
	}
	s.info = info
	if info.Size == 0 {
		return corrupt("it is empty")
	}
	l, err := findLayout(last, info.Size)
	if err != nil {
		return err
	}
	if l.length > most {
		return fmt.Errorf("%w: a directory of %s, at most %d are accepted"+remedy.Directory, store.ErrTooLarge, quantity.Count(l.length, "bytes"), most)
	}
	if l.before > 0 {
		if err := s.alone(ctx, l); err != nil {
			return err
		}
		l.off += l.before
	}
	first := info.Size - int64(len(last)) // offset of last
	raw := last
	// Read a directory that begins before the bytes that were read with the records.
	if l.off < first {
		if raw, _, err = s.archive.Read(ctx, store.Request{Range: store.Span(l.off, l.length)}, nil); err != nil {
			return err
		}
	} else {
		raw = last[l.off-first:][:l.length]
	}
	s.members, s.replaced, err = parseDirectory(raw, l)
	return err
}

// alone refuses an archive with bytes before it, such as a program that extracts it, if
// its offsets also lead somewhere when these bytes count. Programs would disagree.
func (s *reader) alone(ctx context.Context, l layout) error {
	for off, signature := range map[int64]uint32{l.off: centralSignature, l.off + l.length: wideEndSignature} {
		b, _, err := s.archive.Read(ctx, store.Request{Range: store.Span(off, 4)}, nil)
		if err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(b) == signature {
			return corrupt("there are %s before the archive, and a second directory at byte %d", quantity.Count(l.before, "bytes"), off)
		}
	}
	return nil
}

// findLayout reads the records at the end of an archive of size bytes. last holds its
// last bytes.
func findLayout(last []byte, size int64) (l layout, err error) {
	at, err := findEnd(last)
	if err != nil {
		return l, err
	}
	f := fields{last[at+4:], true}
	disk, directoryDisk, here, count, length, off := f.u16(), f.u16(), f.u16(), f.u16(), f.u32(), f.u32()
	l = layout{count: int64(count), length: int64(length), off: int64(off), end: size - int64(len(last)-at)}
	// A ZIP64 archive has a locator directly before the last record.
	if at >= locatorLength && binary.LittleEndian.Uint32(last[at-locatorLength:]) == locatorSignature {
		if l, err = findWide(last, at, size, l); err != nil {
			return l, err
		}
	} else if disk != 0 || directoryDisk != 0 || here != count {
		return l, corrupt("it is a part of an archive of several files")
	}
	switch {
	case l.length > l.end || l.off > l.end-l.length:
		return l, corrupt("a directory of %s from byte %d on does not end at byte %d", quantity.Count(l.length, "bytes"), l.off, l.end)
	// Each record takes at least centralLength bytes. So a false count cannot make
	// parseDirectory allocate much.
	case l.count > l.length/centralLength:
		return l, corrupt("a directory of %s for %s", quantity.Count(l.length, "bytes"), quantity.Count(l.count, "members"))
	}
	l.before = l.end - l.length - l.off
	return l, nil
}

// findEnd returns the index of the last record (section 4.3.16). Its comment ends the
// archive. It must not contain the signature, because other programs would find a
// different record.
func findEnd(last []byte) (int, error) {
	at := bytes.Index(last[max(0, len(last)-endLength-full16):], []byte("PK\x05\x06"))
	if at < 0 {
		return 0, corrupt("it has no end-of-directory record, or bytes after it")
	}
	at += max(0, len(last)-endLength-full16)
	for {
		rest := last[at:]
		if len(rest) >= endLength && int(binary.LittleEndian.Uint16(rest[20:])) == len(rest)-endLength {
			break
		}
		next := bytes.Index(rest[1:], []byte("PK\x05\x06")) // a member may contain the signature too
		if next < 0 {
			return 0, corrupt("its end-of-directory record is truncated, or followed by other bytes")
		}
		at += 1 + next
	}
	if bytes.Contains(last[at+4:], []byte("PK\x05\x06")) {
		return 0, corrupt("its comment contains an end-of-directory record")
	}
	return at, nil
}

// findWide reads the ZIP64 records (sections 4.3.14 and 4.3.15) before the last one,
// which begins at at. The records must agree, because other programs may believe either.
func findWide(last []byte, at int, size int64, l layout) (layout, error) {
	f := fields{last[at-locatorLength+4:], true}
	disk, off, disks := f.u32(), f.u64(), f.u32()
	from := at - locatorLength - wideEndLength // where the record must begin in last
	if !f.ok || disk != 0 || disks > 1 || from < 0 {
		return l, corrupt("the ZIP64 locator points elsewhere")
	}
	f = fields{last[from:], true}
	signature, length := f.u32(), f.u64()
	f.take(4)
	if a, b := f.u32(), f.u32(); signature != wideEndSignature || length != wideEndLength-12 || a != 0 || b != 0 {
		return l, corrupt("the ZIP64 end-of-directory record is malformed")
	}
	here, w := f.u64(), layout{count: f.u64(), length: f.u64(), off: f.u64(), end: size - int64(len(last)-from)}
	agrees := func(short, long, full int64) bool { return short == full || short == long }
	if !f.ok || here != w.count || !agrees(l.count, w.count, full16) || !agrees(l.length, w.length, full32) || !agrees(l.off, w.off, full32) {
		return l, corrupt("its two end-of-directory records disagree")
	}
	if off != w.off+w.length {
		return l, corrupt("the ZIP64 locator points elsewhere")
	}
	return w, nil
}

// parseDirectory parses the records of all members (section 4.3.12). It returns the
// members that are not directories, sorted by name, and the number of members that a
// later member of the same name replaces.
func parseDirectory(raw []byte, l layout) (members []member, replaced int, err error) {
	all := make([]member, 0, l.count)
	f := fields{raw, true}
	for i := range l.count {
		m, err := parseMember(&f)
		if err != nil {
			return nil, 0, corruptAt(i, m.name, err)
		}
		all = append(all, m)
	}
	// Other programs might read these bytes as further members.
	if len(f.b) > 0 {
		return nil, 0, corrupt("its directory has %s after %s", quantity.Count(len(f.b), "bytes"), quantity.Count(l.count, "members"))
	}
	if err := place(all, l.off, l.before); err != nil {
		return nil, 0, err
	}
	all = slices.DeleteFunc(all, func(m member) bool { return m.isDir })
	members = lastOfName(all)
	// One slice for all members needs only one allocation.
	for i, begins := 0, make([]atomic.Int64, len(members)); i < len(members); i++ {
		members[i].data = &begins[i]
	}
	return members, len(all) - len(members), nil
}

// lastOfName sorts members by name and keeps the last one of each name. Writers that
// cannot overwrite a member, such as zarr-python's ZipStore, append another one. Readers
// that index the directory by name, such as Python's zipfile, find the last.
func lastOfName(all []member) []member {
	sort.SliceStable(all, func(i, j int) bool { return all[i].name < all[j].name })
	last := all[:0:0]
	for i := range all {
		if i+1 == len(all) || all[i].name != all[i+1].name {
			last = append(last, all[i])
		}
	}
	return last
}

// corruptAt names the member that is wrong.
func corruptAt(i int64, name string, err error) error {
	return corrupt("member %d, %.200q: %w", i, name, err)
}

// parseMember parses one record.
func parseMember(f *fields) (m member, err error) {
	if f.u32() != centralSignature {
		return m, errors.New("no record begins here")
	}
	made := f.u16()
	f.take(2)
	flags, method := f.u16(), f.u16()
	f.take(4) // the time
	m.crc, m.flags, m.method = f.u32(), uint16(flags), uint16(method)
	packed, size, nameLength, extraLength, commentLength := f.u32(), f.u32(), f.u16(), f.u16(), f.u16()
	disk := f.u16()
	f.take(2)
	attributes, off := f.u32(), f.u32()
	m.name = f.text(nameLength)
	extra := f.take(extraLength)
	f.take(commentLength)
	if !f.ok {
		return m, io.ErrUnexpectedEOF
	}
	m.packed, m.size, m.off = int64(packed), int64(size), int64(off)
	if err := m.widen(extra, disk); err != nil {
		return m, err
	}
	// Only these systems store a Unix mode in the upper half.
	if system := made & 0xff00; system == unixSystem || system == macSystem {
		m.kind = uint16(attributes >> 16 & kindMask)
	}
	return m, m.check()
}

// widen reads the numbers that do not fit the record from the ZIP64 extra field.
func (m *member) widen(extra []byte, disk int) error {
	var long fields
	for f := (fields{extra, true}); len(f.b) > 0; {
		id, n := f.u16(), f.u16()
		body := f.take(n)
		switch {
		case !f.ok:
			return errors.New("an extra field is cut off")
		case id == wideField && long.ok:
			return errors.New("it has two ZIP64 extra fields")
		case id == wideField:
			long = fields{body, true}
		// Info-ZIP writes the name again in UTF-8. Programs may show either name.
		case id == unicodePathField && (n < 5 || string(body[5:]) != m.name):
			return errors.New("it has two names")
		}
	}
	wanted := false
	// The extra field has only the numbers that the record does not have, in this order
	// (section 4.5.3).
	for _, p := range []*int64{&m.size, &m.packed, &m.off} {
		if *p == full32 {
			wanted = true
			*p = long.u64()
		}
	}
	if disk == full16 {
		wanted = true
		disk = int(long.u32())
	}
	if disk != 0 {
		return errors.New("it is in another file")
	}
	if wanted && !long.ok {
		return errors.New("its ZIP64 extra field lacks its sizes")
	}
	return nil
}

// place computes where the bytes of each member begin and must end, and refuses members
// that overlap. end is the offset of the directory. Offsets do not count the bytes before
// the archive.
func place(all []member, end, before int64) error {
	order := make([]*member, len(all))
	for i := range all {
		order[i] = &all[i]
		all[i].off += before // less than 0 beyond 64 bits
	}
	slices.SortFunc(order, func(a, b *member) int {
		if a.off != b.off {
			return int(min(1, max(-1, a.off-b.off)))
		}
		return strings.Compare(a.name, b.name)
	})
	for i, m := range order {
		m.stop = end
		if i+1 < len(order) {
			m.stop = order[i+1].off
		}
		// At least the fixed part of the member's record and the name precede the bytes.
		// locate checks the extra field.
		if least := localLength + int64(len(m.name)); m.off < before || m.stop < m.off || m.stop-m.off < least || m.packed > m.stop-m.off-least {
			return corrupt("member %.200q has %s from byte %d on, where the next thing begins at byte %d", m.name, quantity.Count(m.packed, "bytes"), m.off, m.stop)
		}
	}
	return nil
}
