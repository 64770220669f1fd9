// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"

	"varve.dev/zarr/internal/vfs"
)

// ledger is the content of the lock file: the space that all entries take. A process that
// ends between begin and end leaves two numbers that differ. Then the next one counts.
type ledger struct {
	file   vfs.File
	number uint64 // of the last change
	total  int64
}

// ledgerBytes is the length of the ledger: the number at the beginning of a change, then
// the number and the total at its end, with a checksum.
const ledgerBytes = 8 + 8 + 8 + 4

// read reads the ledger, and reports whether it is whole.
func (l *ledger) read() bool {
	var b [ledgerBytes]byte
	n, _ := l.file.ReadAt(b[:], 0) // a new file is empty
	l.number = binary.LittleEndian.Uint64(b[:])
	l.total = int64(binary.LittleEndian.Uint64(b[16:]))
	return n == len(b) && l.number == binary.LittleEndian.Uint64(b[8:]) && l.total >= 0 &&
		crc32.Checksum(b[8:24], castagnoli) == binary.LittleEndian.Uint32(b[24:])
}

// begin notes that a change has begun.
func (l *ledger) begin() error {
	l.number++
	_, err := l.file.Write(binary.LittleEndian.AppendUint64(nil, l.number))
	return err
}

// end notes the total after the change.
func (l *ledger) end() error {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, ledgerBytes), l.number)
	b = binary.LittleEndian.AppendUint64(b, uint64(l.total))
	_, err := l.file.Write(binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
	return err
}

// used is an entry and the time of its last use.
type used struct {
	name  string
	mtime int64
}

// mostQueued bounds the entries that are remembered for removal.
const mostQueued = 4096

// makeRoom removes the entries that were used longest ago, until need more bytes fit.
func (d *disk) makeRoom(l *ledger, need int64) error {
	for scanned := false; l.total+need > d.limit-besides; {
		if len(d.queue) == 0 {
			if scanned {
				return nil // nothing is left that may be removed
			}
			if err := d.scan(l); err != nil {
				return err
			}
			scanned = true
			continue
		}
		next := d.queue[0]
		d.queue = d.queue[1:]
		st, err := d.fs.Stat(next.name)
		// Another process may have removed it, or used it again.
		if err != nil || st.Mtime != next.mtime {
			continue
		}
		if err := d.fs.Remove(next.name); err != nil {
			return err
		}
		l.total -= space(st.Size)
	}
	return nil
}

// scan counts the space of all entries, and finds those that were used longest ago.
func (d *disk) scan(l *ledger) error {
	l.total, d.queue = 0, d.queue[:0]
	for dir, err := range d.fs.ReadDir(".") {
		if err != nil {
			return err
		}
		if !dir.IsDir() || !isHash(dir.Name(), 2) {
			continue
		}
		if err := d.count(l, dir.Name()); err != nil {
			return err
		}
	}
	d.oldest()
	return nil
}

// count adds the entries of one folder.
func (d *disk) count(l *ledger, dir string) error {
	for e, err := range d.fs.ReadDir(dir) {
		if err != nil {
			return err
		}
		if !isHash(e.Name(), hashed-2) {
			continue // not ours
		}
		name := dir + "/" + e.Name()
		info, err := e.Info()
		if vfs.Missing(err) {
			continue // damaged, and removed by a reader
		}
		if err != nil {
			return err
		}
		st := vfs.StatOf(info)
		l.total += space(st.Size)
		if d.queue = append(d.queue, used{name, st.Mtime}); len(d.queue) >= 2*mostQueued {
			d.oldest()
		}
	}
	return nil
}

// oldest sorts the queue and cuts it.
func (d *disk) oldest() {
	slices.SortFunc(d.queue, func(a, b used) int { return cmp.Compare(a.mtime, b.mtime) })
	d.queue = d.queue[:min(len(d.queue), mostQueued)]
}

// isHash reports whether a name has n hexadecimal digits.
func isHash(name string, n int) bool {
	return len(name) == n && strings.Trim(name, "0123456789abcdef") == ""
}
