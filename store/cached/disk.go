// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr/internal/vfs"
)

// disk is a shelf in a folder. Each entry is a file, below one of 256 folders. Only the
// holder of the lock file writes: it makes room first, writes a temporary file, and
// renames it. So the folder is never larger than the limit, and a process that ends at
// any time leaves whole files. Nothing is synced: after a power cut, checksums tell
// which files are whole.
type disk struct {
	fs    vfs.FS
	limit int64
	// fresh is for how long the time of last use may be wrong, so that most reads do not
	// write.
	fresh time.Duration

	mu    sync.Mutex // held while an entry is written
	queue []used     // entries to remove next

	pause atomic.Int64 // no writes before this time, in nanoseconds since 1970
}

// The names in the folder, beside those of entries.
const (
	lockName = "lock"
	newName  = "new" // the temporary file of the holder of the lock
)

const (
	// unit is the unit in which a file system gives space to files.
	unit = 4096
	// besides is the space of the other files.
	besides = 4 * unit
	// failurePause is how long nothing is written after a failure, such as a full disk.
	failurePause = 10 * time.Second
	// lockWait is how long a write waits for other processes. Then the entry is not kept.
	lockWait = 50 * time.Millisecond
)

// space returns the space of a file of n bytes.
func space(n int64) int64 { return (n + unit - 1) / unit * unit }

// hashed is the number of hexadecimal digits in the name of an entry.
const hashed = 40

// file returns the name of the file of an entry.
func (i *ident) file() string {
	var b [hashed + 1]byte
	hex.Encode(b[1:], i[:hashed/2])
	b[0], b[1], b[2] = b[1], b[2], '/'
	return string(b[:])
}

// find opens the file of an entry.
func (d *disk) find(id ident, r *reader) bool {
	name := id.file()
	f, err := d.fs.Open(name)
	if err != nil {
		return false // missing, or as good as missing
	}
	r.file, r.name = f, name
	st, err := f.Stat()
	if err != nil || !st.Mode.IsRegular() {
		r.close()
		return false
	}
	n, _ := f.ReadAt(r.buf[:min(st.Size, mostHeader)], 0) // parse sees what is missing
	if !r.parse(id, r.buf[:n], st.Size) {
		d.drop(r)
		r.close()
		return false
	}
	if now := time.Now().UnixNano(); now-st.Mtime >= int64(d.fresh) {
		_ = d.fs.Touch(name, now) // the order of use is a hint
	}
	return true
}

// drop removes a damaged file. The space stays reserved until the next scan.
func (d *disk) drop(r *reader) { _ = d.fs.Remove(r.name) }

// put writes an entry, unless another process is busy with the folder.
func (d *disk) put(h header, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Now().UnixNano() < d.pause.Load() {
		return nil
	}
	err := d.locked(func(l *ledger) error { return d.write(l, h, data) })
	if err != nil {
		d.pause.Store(time.Now().Add(failurePause).UnixNano())
	}
	return err
}

// locked calls do while it holds the lock of the folder, if that is soon free.
func (d *disk) locked(do func(*ledger) error) error {
	give := time.Now().Add(lockWait)
	for {
		f, err := d.fs.TryLock(lockName)
		switch {
		case err == nil:
			return errors.Join(do(&ledger{file: f}), f.Close())
		case !errors.Is(err, vfs.ErrLocked):
			return err
		case time.Now().After(give):
			return nil
		}
		time.Sleep(time.Millisecond + rand.N(time.Millisecond))
	}
}

// write makes room for an entry and writes its file.
func (d *disk) write(l *ledger, h header, data []byte) error {
	b := newBuffer()
	defer b.free()
	b.bytes = h.appendTo(b.bytes[:0], data)
	need := space(int64(len(b.bytes) + len(data)))
	if need > d.limit-besides {
		return nil
	}
	if err := d.begin(l); err != nil {
		return err
	}
	err := d.makeRoom(l, need)
	if err == nil && l.total+need <= d.limit-besides {
		err = d.create(l, h.id.file(), b.bytes, data, need)
	}
	return errors.Join(err, l.end())
}

// begin reads the ledger, or counts the files if a process ended in the middle.
func (d *disk) begin(l *ledger) error {
	sound := l.read()
	if err := l.begin(); err != nil {
		return err
	}
	if sound {
		return nil
	}
	// Nobody else writes, so this file is one that was left.
	if err := d.fs.Remove(newName); err != nil && !vfs.Missing(err) {
		return err
	}
	return d.scan(l)
}

// create writes a file of an entry, and replaces the one of another version.
func (d *disk) create(l *ledger, name string, head, data []byte, need int64) error {
	f, err := d.fs.Create(newName)
	if err != nil {
		return err
	}
	l.total += need
	_, err = f.Write(head)
	if err == nil && len(data) > 0 {
		_, err = f.Write(data)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.publish(l, name)
	}
	if err != nil {
		if removed := d.fs.Remove(newName); removed == nil || vfs.Missing(removed) {
			l.total -= need
		}
	}
	return err
}

// publish gives the new file its name.
func (d *disk) publish(l *ledger, name string) error {
	var old int64
	if st, err := d.fs.Stat(name); err == nil {
		old = space(st.Size)
	}
	err := d.fs.Rename(newName, name)
	if vfs.Missing(err) {
		if err = d.fs.Mkdir(path.Dir(name)); err == nil || errors.Is(err, fs.ErrExist) {
			err = d.fs.Rename(newName, name)
		}
	}
	if err == nil {
		l.total -= old
	}
	return err
}

func (d *disk) close() error { return d.fs.Close() }
