// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/vfs"
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
		return fmt.Errorf("%w: %s, an archive holds names of %d", store.ErrInvalidKey, quantity.Count(len(name), "bytes"), mostName)
	}
	return nil
}

// Traits implements [store.Describer]. The place of an archive that is being written is
// not known.
func (a *writer) Traits() store.Traits { return store.Traits{} }

// CheckKey implements [store.Describer].
func (a *writer) CheckKey(key store.Key) error { return checkName(key.String()) }

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
		return fmt.Errorf("it is stored in %s, but has %d", quantity.Count(m.packed, "bytes"), m.size)
	// Refuse a bomb by its claimed size, before anything is allocated.
	case m.method == deflated && m.size/mostDeflated > m.packed:
		return fmt.Errorf("%s expand to %d", quantity.Count(m.packed, "deflated bytes cannot"), m.size)
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
		return 0, corrupt("%s from byte %d on reach into what begins at byte %d", quantity.Count(m.packed, "bytes"), data, m.stop)
	}
	m.data.Store(data)
	return data, nil
}

// Signatures and lengths of the records of an archive (section 4.3).
const (
	localSignature     = 0x04034b50
	centralSignature   = 0x02014b50
	endSignature       = 0x06054b50
	wideEndSignature   = 0x06064b50
	locatorSignature   = 0x07064b50
	localLength        = 30
	centralLength      = 46
	endLength          = 22
	wideEndLength      = 56
	locatorLength      = 20
	wideField          = 0x0001 // the ZIP64 extra field (section 4.5.3)
	unicodePathField   = 0x7075 // the extra field with a name in UTF-8 (section 4.6.9)
	encryptedFlags     = 1 | 1<<6 | 1<<13
	descriptorFlag     = 1 << 3
	unicodeFlag        = 1 << 11
	stored, deflated   = 0, 8
	full16, full32     = math.MaxUint16, math.MaxUint32 // the number is in a ZIP64 record
	plain, wide        = 20, 45                         // versions of the format
	unixSystem         = 3 << 8
	macSystem          = 19 << 8
	kindMask           = 0o170000 // file type bits of a Unix mode
	regular, directory = 0o100000, 0o040000
)

// fields reads little-endian numbers one after the other. If the record is too short,
// they read as zeros, and ok becomes false.
type fields struct {
	b  []byte
	ok bool
}

func (f *fields) take(n int) []byte {
	if n < 0 || n > len(f.b) {
		f.b, f.ok = nil, false
		return make([]byte, min(max(n, 0), 8))
	}
	b := f.b[:n]
	f.b = f.b[n:]
	return b
}

func (f *fields) u16() int    { return int(binary.LittleEndian.Uint16(f.take(2))) }
func (f *fields) u32() uint32 { return binary.LittleEndian.Uint32(f.take(4)) }

// u64 reads a number that must fit an int64.
func (f *fields) u64() int64 {
	n := binary.LittleEndian.Uint64(f.take(8))
	if n > math.MaxInt64 {
		f.ok = false
		return 0
	}
	return int64(n)
}

// text reads n bytes of text.
func (f *fields) text(n int) string {
	if n > len(f.b) {
		f.b, f.ok = nil, false
		return ""
	}
	return string(f.take(n))
}

// appender writes little-endian numbers.
type appender struct{ b []byte }

func (a *appender) u16(values ...int) {
	for _, v := range values {
		a.b = binary.LittleEndian.AppendUint16(a.b, uint16(v))
	}
}

func (a *appender) u32(values ...uint32) {
	for _, v := range values {
		a.b = binary.LittleEndian.AppendUint32(a.b, v)
	}
}

func (a *appender) u64(values ...int64) {
	for _, v := range values {
		a.b = binary.LittleEndian.AppendUint64(a.b, uint64(v))
	}
}

// short returns n as it appears in a record without ZIP64.
func short(n int64) uint32 { return uint32(min(n, full32)) }

// log is the temporary file that becomes an archive. Its writer holds the lock of a
// second file. If that lock is free, the writer has crashed.
type log struct {
	name string
	w, r vfs.File
	lock vfs.File // nil if there are no locks
	end  int64    // of the last member, or of the directory

	flushed int64  // bytes in the file
	buffer  []byte // the members after them

	done bool // closed
}

const (
	// temporary begins the names of files that are being written. Package filestore hides
	// them.
	temporary = own.Temporary
	// lockSuffix ends the name of the file that the writer of a log locks.
	lockSuffix = own.ZipLock
	// logTries bounds how often newLog starts again because a sweep took its lock.
	logTries = 8
)

// newLog makes a temporary file in fsys. It takes the lock first, because a sweep removes
// only logs that have a lock file.
func newLog(fsys vfs.FS) (*log, error) {
	l := &log{}
	var err error
	for range logTries {
		l.name = temporary + own.Random()
		l.lock, err = fsys.TryLock(l.name + lockSuffix)
		if !errors.Is(err, vfs.ErrLocked) { // a concurrent sweep locked the new file first
			break
		}
	}
	if err != nil {
		l.lock = nil
		// Without locks there is no lock file, so no sweep removes this log.
		if !errors.Is(err, errors.ErrUnsupported) {
			return nil, err
		}
	}
	if l.w, err = fsys.Create(l.name); err != nil {
		return nil, errors.Join(err, l.unlock(fsys))
	}
	if l.r, err = fsys.Open(l.name); err != nil {
		return nil, errors.Join(err, l.w.Close(), fsys.Remove(l.name), l.unlock(fsys))
	}
	return l, nil
}

// close closes the file once. The lock stays held.
func (l *log) close() error {
	if l.done {
		return nil
	}
	l.done = true
	return errors.Join(l.w.Close(), l.r.Close())
}

// remove removes the log. If that fails, its lock file stays, so that a sweep tries
// again.
func (l *log) remove(fsys vfs.FS) error {
	err := errors.Join(l.close(), fsys.Remove(l.name))
	// Release the lock but keep its file, by which a sweep finds the log.
	if err != nil && l.lock != nil {
		err = errors.Join(err, l.lock.Close())
		l.lock = nil
	}
	return errors.Join(err, l.unlock(fsys))
}

// unlock releases the lock, after the log was removed or renamed.
func (l *log) unlock(fsys vfs.FS) error {
	if l.lock == nil {
		return nil
	}
	err := errors.Join(fsys.Remove(l.name+lockSuffix), l.lock.Close())
	l.lock = nil
	return err
}

// sweep removes the logs of crashed writers, whose locks are free. It ignores errors.
func sweep(fsys vfs.FS) {
	var names []string
	for e, err := range fsys.ReadDir(".") {
		if err != nil {
			return
		}
		name, isLock := strings.CutSuffix(e.Name(), lockSuffix)
		// Temporary files without such a lock belong to package filestore.
		if isLock && own.IsTemporary(name) && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	for _, name := range names {
		lock, err := fsys.TryLock(name + lockSuffix)
		if err != nil {
			continue
		}
		// Remove the lock file last. If this sweep crashes in between, the next one finds
		// the log by its lock file.
		if err := fsys.Remove(name); err == nil || vfs.Missing(err) {
			_ = fsys.Remove(name + lockSuffix)
		}
		_ = lock.Close()
	}
}
