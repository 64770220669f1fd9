// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

var errClosed = errors.New("the archive is closed")

// bufferLength is the number of bytes of small members that are written at once: one
// write for each of 400,000 members takes longer than to read them.
const bufferLength = 1 << 20

// append adds a value after its record (section 4.3.7), and records in m where they are.
func (l *log) append(m *written, value []byte) error {
	m.off, m.wideRecord = l.end, m.size >= full32
	if len(l.buffer)+len(value) > bufferLength {
		if err := l.flush(); err != nil {
			return err
		}
	}
	l.buffer = m.appendLocal(l.buffer)
	m.data = l.flushed + int64(len(l.buffer))
	l.end = m.data + m.size
	if len(value) < bufferLength {
		l.buffer = append(l.buffer, value...)
		return nil
	}
	if err := l.flush(); err != nil {
		return err
	}
	_, err := l.w.Write(value)
	l.flushed += m.size
	return err
}

// flush writes the buffer.
func (l *log) flush() error {
	n := len(l.buffer)
	if n == 0 {
		return nil
	}
	_, err := l.w.Write(l.buffer)
	l.flushed, l.buffer = l.flushed+int64(n), l.buffer[:0]
	return err
}

// readAt reads bytes of a member, which the buffer or the file has as a whole.
func (l *log) readAt(p []byte, off int64) error {
	if off >= l.flushed {
		copy(p, l.buffer[off-l.flushed:])
		return nil
	}
	// The value may be the last one of the file, so EOF after all its bytes is no error.
	if n, err := l.r.ReadAt(p, off); err != nil && (err != io.EOF || n < len(p)) {
		return err
	}
	return nil
}

// day is the date of all members, the first that the format can express. So equal values
// make equal archives.
const day = 1<<5 | 1

// flags returns the flag for a name that is not ASCII.
func (m *written) flags() int {
	for i := range len(m.name) {
		if m.name[i] >= utf8.RuneSelf {
			return unicodeFlag
		}
	}
	return 0
}

// appendLocal appends the record before the bytes.
func (m *written) appendLocal(to []byte) []byte {
	a := appender{to}
	var extra appender
	version := plain
	// ZIP64: the sizes are in the extra field.
	if m.wideRecord {
		version = wide
		extra.u16(wideField, 16)
		extra.u64(m.size, m.size)
	}
	a.u32(localSignature)
	a.u16(version, m.flags(), stored, 0, day)
	a.u32(m.crc, short(m.size), short(m.size))
	a.u16(len(m.name), len(extra.b))
	a.b = append(a.b, m.name...)
	return append(a.b, extra.b...)
}

// central appends the record in the directory (section 4.3.12).
func (m *written) central(a *appender) {
	// The extra field has only the numbers that do not fit the record, in this order
	// (section 4.5.3).
	var long []int64
	if m.size >= full32 {
		long = append(long, m.size, m.size)
	}
	if m.off >= full32 {
		long = append(long, m.off)
	}
	var extra appender
	version := plain
	if len(long) > 0 {
		version = wide
		extra.u16(wideField, 8*len(long))
		extra.u64(long...)
	}
	const mode = regular | 0o644
	a.u32(centralSignature)
	a.u16(unixSystem|version, version, m.flags(), stored, 0, day)
	a.u32(m.crc, short(m.size), short(m.size))
	a.u16(len(m.name), len(extra.b), 0, 0, 0)
	a.u32(mode<<16, short(m.off))
	a.b = append(a.b, m.name...)
	a.b = append(a.b, extra.b...)
}

// end appends the records after the directory (sections 4.3.14 to 4.3.16). A comment is
// that of an archive of OME-Zarr.
func end(a *appender, count, length, off int64, comment string) {
	// ZIP64: at least one number does not fit the last record. RFC-9 recommends it for
	// archives of all sizes.
	if count >= full16 || length >= full32 || off >= full32 || comment != "" {
		a.u32(wideEndSignature)
		a.u64(wideEndLength - 12)
		a.u16(unixSystem|wide, wide)
		a.u32(0, 0)
		a.u64(count, count, length, off)
		a.u32(locatorSignature, 0)
		a.u64(off + length)
		a.u32(1)
	}
	few := int(min(count, full16))
	a.u32(endSignature)
	a.u16(0, 0, few, few)
	a.u32(short(length), short(off))
	a.u16(len(comment))
	a.b = append(a.b, comment...)
}

// directoryStep is the number of bytes of the directory that are written at once.
const directoryStep = 1 << 20

// finish writes the directory. members are all members of the log.
func (l *log) finish(members []written, comment string) error {
	if err := l.flush(); err != nil {
		return err
	}
	off := l.end
	var a appender
	write := func() error {
		n, err := l.w.Write(a.b)
		l.end += int64(n)
		a.b = a.b[:0]
		return err
	}
	for i := range members {
		members[i].central(&a)
		// A large directory is never in memory as a whole.
		if len(a.b) < directoryStep {
			continue
		}
		if err := write(); err != nil {
			return err
		}
	}
	if err := write(); err != nil {
		return err
	}
	end(&a, int64(len(members)), l.end-off, off, comment)
	return write()
}

// copyStep is the number of bytes of a member that are copied at once.
const copyStep = 64 << 20

// pack copies the members to a new log.
func (l *log) pack(to *log, members []written) error {
	if err := l.flush(); err != nil {
		return err
	}
	for i := range members {
		m := &members[i]
		length := m.data - m.off + m.size
		for done := int64(0); done < length; done += copyStep {
			if err := to.w.CopyFrom(l.r, m.off+done, min(copyStep, length-done)); err != nil {
				return err
			}
		}
		m.off, m.data = to.end, to.end+m.data-m.off
		to.end += length
		to.flushed = to.end
	}
	return nil
}

// Close publishes the archive; see [Create]. After Close or [Discard], it does nothing.
func (a *writer) Close() error { return a.end(true) }

func (a *writer) end(keep bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	// After an earlier Close or Discard, there is nothing to do.
	if errors.Is(a.broken, errClosed) {
		return nil
	}
	err := a.broken
	a.broken = errClosed
	published := false
	if keep && err == nil && len(a.members) > 0 {
		published, err = a.publish()
	}
	if published {
		_ = a.log.unlock(a.fs) // the archive is published; a later sweep removes the lock file
	} else {
		err = errors.Join(err, a.log.remove(a.fs))
	}
	if err = errors.Join(err, a.fs.Close()); err != nil {
		return fmt.Errorf("zip: closing %s: %w", a.name, plainError(err))
	}
	return nil
}

// publish takes steps 2 to 5 of the protocol, and reports whether the archive has its
// name.
func (a *writer) publish() (published bool, err error) {
	comment := ""
	if a.isOME() {
		// The document may have been deleted again, by a copy that has failed.
		_, hasRoot := a.members[store.MustKey(nodename.V3Node)]
		if comment = omeComment(a.version); comment == "" || !hasRoot {
			return false, errNoOME
		}
	}
	for key, value := range a.held {
		m := a.members[key]
		if err := a.log.append(&m, value); err != nil {
			return false, err
		}
		a.members[key] = m
	}
	members := a.ordered()
	var length int64
	for _, m := range members {
		length += m.data - m.off + m.size
	}
	// The log also has values that were replaced or deleted. An archive must not have
	// bytes that belong to no member, because readers may refuse it.
	if length != a.log.end {
		if err := a.compact(members); err != nil {
			return false, err
		}
	}
	if err := a.log.finish(members, comment); err != nil {
		return false, err
	}
	// Without this sync, a power cut after the rename could leave an archive with missing
	// bytes.
	if err := a.log.w.Sync(); err != nil {
		return false, err
	}
	if err := a.log.close(); err != nil { // Windows cannot rename an open file
		return false, err
	}
	// A concurrent writer may have published an archive of this name since Create.
	if err := a.free(); err != nil {
		return false, err
	}
	if err := a.fs.Rename(a.log.name, a.name); err != nil {
		return false, err
	}
	if err := syncDir(a.fs); err != nil {
		return true, fmt.Errorf("%w: %w", store.ErrDurability, err)
	}
	return true, nil
}

// ordered returns the members in the order of the directory: documents first, those of
// upper nodes before others, so that a reader of the directory knows the hierarchy before
// it sees the first chunk; then chunks as they are in the log.
func (a *writer) ordered() []written {
	members := make([]written, len(a.members))
	n, last := 0, len(members)
	for _, m := range a.members {
		if nodename.IsDocument(path.Base(m.name)) {
			members[n] = m
			n++
		} else {
			last--
			members[last] = m
		}
	}
	documents, chunks := members[:n], members[n:]
	sort.Slice(documents, func(i, j int) bool {
		a, b := documents[i].name, documents[j].name
		return cmp.Or(otherFormat(a)-otherFormat(b), strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b)) < 0
	})
	sort.Slice(chunks, func(i, j int) bool { return chunks[i].off < chunks[j].off })
	return members
}

// otherFormat returns 0 for the name of a document of format 3, and else 1.
func otherFormat(name string) int {
	if path.Base(name) == nodename.V3Node {
		return 0
	}
	return 1
}

// isOME reports whether the archive is one of OME-Zarr (RFC-9).
func (a *writer) isOME() bool { return own.EndsIn(a.name, own.OMEArchive) }

var errNoOME = fmt.Errorf("%w: an archive with a name in %s holds one hierarchy of OME-Zarr, whose root is a group of format 3 "+
	"with the attribute ome and its version (RFC-9); for other hierarchies, end the name in .zip", store.ErrUnsupported, own.OMEArchive)

// noteVersion keeps the version of OME-Zarr if a value is the document of the root. It
// refuses other documents there, before the chunks are written.
func (a *writer) noteVersion(name string, value []byte) error {
	if !a.isOME() || !nodename.IsDocument(name) {
		return nil
	}
	var document struct {
		Type       string `json:"node_type"`
		Attributes struct {
			OME struct {
				Version string `json:"version"`
			} `json:"ome"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(value, &document); err != nil || name != nodename.V3Node || document.Type != "group" {
		return errNoOME
	}
	if a.version = document.Attributes.OME.Version; a.version == "" {
		return errNoOME
	}
	return nil
}

// omeComment returns the comment of an archive of OME-Zarr (RFC-9): the version, and that
// the directory has the documents first.
func omeComment(version string) string {
	var c struct {
		OME struct {
			Version string `json:"version"`
			ZipFile struct {
				CentralDirectory struct {
					JSONFirst bool `json:"jsonFirst"`
				} `json:"centralDirectory"`
			} `json:"zipFile"`
		} `json:"ome"`
	}
	c.OME.Version, c.OME.ZipFile.CentralDirectory.JSONFirst = version, true
	text, err := json.Marshal(c)
	if version == "" || err != nil || len(text) >= full16 {
		return ""
	}
	return string(text)
}

// compact replaces the log by one that has only members.
func (a *writer) compact(members []written) error {
	packed, err := newLog(a.fs)
	if err != nil {
		return err
	}
	if err := a.log.pack(packed, members); err != nil {
		return errors.Join(err, packed.remove(a.fs))
	}
	// The new log has all members, so remove the old one.
	old := a.log
	a.log = packed
	return old.remove(a.fs)
}

func syncDir(fsys vfs.FS) error {
	d, err := fsys.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
