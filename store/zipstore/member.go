package zipstore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"

	"varve.dev/zarr/store"
)

// member is what the directory says of a member.
type member struct {
	name          string
	off, stop     int64         // where its record begins, and where the next thing does
	packed, size  int64         // bytes as they are in the archive, and as they were
	data          *atomic.Int64 // where its bytes begin, 0 until its own record was read
	crc           uint32
	flags, method uint16
	kind          uint16 // of file, as Unix knows them; 0 where it is not known
	isDir         bool
}

// mostDeflated is more than the bytes that one deflated byte can stand for, which are
// 1032.
const mostDeflated = 1100

// check refuses what no member can be.
func (m *member) check() error {
	m.isDir = strings.HasSuffix(m.name, "/")
	if _, err := store.ParseKey(strings.TrimSuffix(m.name, "/")); err != nil {
		return err
	}
	switch {
	case m.isDir && m.size != 0:
		return errors.New("it is a directory and has bytes")
	case m.method == stored && m.packed != m.size && m.flags&encryptedFlags == 0:
		return fmt.Errorf("it is stored as it is, in %d bytes instead of %d", m.packed, m.size)
	case m.method == deflated && m.size/mostDeflated > m.packed:
		return fmt.Errorf("%d deflated bytes cannot be %d", m.packed, m.size)
	}
	return nil
}

// readable says why a member cannot be read, if it cannot.
func (m *member) readable() error {
	switch {
	case m.kind != 0 && m.kind != regular:
		return fmt.Errorf("%w: the member is no regular file but of the kind %o: %w", store.ErrUnsupported, m.kind, fs.ErrInvalid)
	case m.flags&encryptedFlags != 0:
		return fmt.Errorf("%w: the member is encrypted", store.ErrUnsupported)
	case m.method != stored && m.method != deflated:
		return fmt.Errorf("%w: the member is compressed by method %d, only stored (0) and deflated (8) members are read", store.ErrUnsupported, m.method)
	}
	return nil
}

// locate returns where the member's bytes begin, from the record that stands before them
// (section 4.3.7), of which raw has at least the fixed part and the name. What both
// records say has to agree.
func (m *member) locate(raw []byte) (int64, error) {
	f := fields{raw, true}
	signature := f.u32()
	f.take(2)
	flags, method := f.u16(), f.u16()
	f.take(4)
	crc, packed, size := f.u32(), f.u32(), f.u32()
	nameLength, extraLength := f.u16(), f.u16()
	switch name := f.text(min(nameLength, len(m.name))); {
	case !f.ok || signature != localSignature:
		return 0, corrupt("no member begins at byte %d", m.off)
	case nameLength != len(m.name) || name != m.name:
		return 0, corrupt("the record at byte %d is of another member", m.off)
	case uint16(method) != m.method || uint16(flags)&encryptedFlags != m.flags&encryptedFlags:
		return 0, corrupt("the record at byte %d says another compression than the directory", m.off)
	}
	differs := func(short uint32, long int64) bool { return short != full32 && int64(short) != long }
	if flags&descriptorFlag == 0 && (crc != m.crc || differs(packed, m.packed) || differs(size, m.size)) {
		return 0, corrupt("the record at byte %d says other sizes or another checksum than the directory", m.off)
	}
	data := m.off + localLength + int64(nameLength) + int64(extraLength)
	if data > m.stop || m.packed > m.stop-data {
		return 0, corrupt("%d bytes from byte %d on reach into what begins at byte %d", m.packed, data, m.stop)
	}
	m.data.Store(data)
	return data, nil
}
