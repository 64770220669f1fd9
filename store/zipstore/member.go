// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/store"
)

// member is a member as the directory describes it.
type member struct {
	name          string
	off, stop     int64         // begin of its record, and of the next one
	packed, size  int64         // bytes in the archive, and uncompressed
	data          *atomic.Int64 // begin of its bytes, 0 until its own record was read
	crc           uint32
	flags, method uint16
	kind          uint16 // Unix file type, 0 if unknown
	isDir         bool
}

// mostDeflated bounds the bytes to which one deflated byte can expand. The true maximum
// is 1032.
const mostDeflated = 1100

// mostName bounds the bytes of a member's name.
const mostName = 1<<16 - 1

// checkName returns an error if programs disagree about a name, because it is no UTF-8,
// or if an archive cannot hold it.
func checkName(name string) error {
	switch {
	case !utf8.ValidString(name):
		return fmt.Errorf("%w %q: it is not valid UTF-8", store.ErrInvalidKey, name)
	case nodename.LeadsOut(strings.TrimSuffix(name, "/")):
		return fmt.Errorf("%w %q: it leads out of the archive where a backslash separates names, or c: is a drive", store.ErrInvalidKey, name)
	case len(name) > mostName:
		return fmt.Errorf("%w: %d bytes, an archive holds names of %d", store.ErrInvalidKey, len(name), mostName)
	}
	return nil
}

// CheckKey implements [store.KeyChecker].
func (a *Archive) CheckKey(key store.Key) error { return checkName(key.String()) }

// check returns an error if no valid archive can have the member.
func (m *member) check() error {
	m.isDir = strings.HasSuffix(m.name, "/")
	if _, err := store.ParseKey(strings.TrimSuffix(m.name, "/")); err != nil {
		return err
	}
	if err := checkName(m.name); err != nil {
		return err
	}
	switch {
	case m.isDir && m.size != 0:
		return errors.New("it is a directory and has bytes")
	case m.method == stored && m.packed != m.size && m.flags&encryptedFlags == 0:
		return fmt.Errorf("it is stored in %d bytes, but has %d", m.packed, m.size)
	// Refuse a bomb by its claimed size, before anything is allocated.
	case m.method == deflated && m.size/mostDeflated > m.packed:
		return fmt.Errorf("%d deflated bytes cannot expand to %d", m.packed, m.size)
	}
	return nil
}

// readable returns an error if the member cannot be read.
func (m *member) readable() error {
	switch {
	case m.kind != 0 && m.kind != regular:
		return fmt.Errorf("%w: the member is not a regular file but of Unix type %o: %w", store.ErrUnsupported, m.kind, fs.ErrInvalid)
	case m.flags&encryptedFlags != 0:
		return fmt.Errorf("%w: the member is encrypted", store.ErrUnsupported)
	case m.method != stored && m.method != deflated:
		return fmt.Errorf("%w: the member is compressed by method %d; only stored (0) and deflated (8) are supported", store.ErrUnsupported, m.method)
	}
	return nil
}

// locate returns the offset of the member's bytes. raw is the record before them (section
// 4.3.7), at least its fixed part and the name. Both records must agree, because other
// programs may believe either.
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
		return 0, corrupt("the record at byte %d is that of another member", m.off)
	case uint16(method) != m.method || uint16(flags)&encryptedFlags != m.flags&encryptedFlags:
		return 0, corrupt("the record at byte %d and the directory disagree on the compression", m.off)
	}
	differs := func(short uint32, long int64) bool { return short != full32 && int64(short) != long }
	// With the flag, a streaming writer stored sizes and checksum after the bytes.
	if flags&descriptorFlag == 0 && (crc != m.crc || differs(packed, m.packed) || differs(size, m.size)) {
		return 0, corrupt("the record at byte %d and the directory disagree on sizes or checksum", m.off)
	}
	data := m.off + localLength + int64(nameLength) + int64(extraLength)
	if data > m.stop || m.packed > m.stop-data {
		return 0, corrupt("%d bytes from byte %d on reach into what begins at byte %d", m.packed, data, m.stop)
	}
	m.data.Store(data)
	return data, nil
}
