// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/vfs"
)

// tagName is the file by which programs for backups know a cache
// (https://bford.info/cachedir/).
const tagName = "CACHEDIR.TAG"

// tag is its content. The second line makes the folder a cache of this package.
const tag = "Signature: 8a477f597d28d172789f06886806bc55\n" +
	"# A cache of values that Varve has read, version 1. It may be deleted at any time.\n"

// leastLimit is the smallest limit of a cache in a folder, in bytes.
const leastLimit = 1 << 20

// ErrNotCache means that a folder holds something else than a cache.
var ErrNotCache = errors.New("cache: the folder is not a cache of Varve; name a new or an empty folder")

// ErrLimit means that a limit is below 1 MiB.
var ErrLimit = errors.New("cache: the limit is too small")

// Open opens a cache of at most limit bytes in the folder dir, and makes the folder if it
// is missing. The folder is made private to the user. A folder that holds other files is
// [ErrNotCache].
//
// Processes that use one folder should give the same limit: each keeps to its own.
func Open(dir string, limit int64) (*Cache, error) {
	if limit < leastLimit {
		return nil, fmt.Errorf("%w: %s; give at least %d", ErrLimit, quantity.Count(limit, "bytes"), leastLimit)
	}
	if err := prepare(dir); err != nil {
		return nil, err
	}
	root, err := vfs.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	if !root.Local() {
		return nil, errors.Join(fmt.Errorf("cache: %s is on a file system without locks; name a folder of a local disk", dir), root.Close())
	}
	return &Cache{shelf: &disk{fs: root, limit: limit, fresh: time.Minute}}, nil
}

// prepare makes the folder a private cache, if it is missing or empty.
func prepare(dir string) error {
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o777); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cache: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%w (%s)", ErrNotCache, dir)
	}
	if err := claim(dir); err != nil {
		return err
	}
	// Only a folder that is a cache is changed.
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("cache: %s can be read or changed by other users: %w", dir, err)
		}
	}
	return nil
}

// claim writes the tag into an empty folder.
func claim(dir string) error {
	name := filepath.Join(dir, tagName)
	text, err := readTag(name)
	if err == nil && text == tag {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	names, listErr := filenames(dir)
	if listErr != nil {
		return fmt.Errorf("cache: %w", listErr)
	}
	// Another process may have begun to write the tag, and may have been ended.
	begun := err == nil && len(names) == 1 && strings.HasPrefix(tag, text)
	if len(names) > 0 && !begun {
		// Or it has written the tag, and more, since it was read.
		if text, err := readTag(name); err == nil && text == tag {
			return nil
		}
		return fmt.Errorf("%w (%s)", ErrNotCache, dir)
	}
	return writeTag(name)
}

// writeTag writes the tag. It never makes a file shorter, because another process may
// have written it by now.
func writeTag(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	_, err = f.WriteString(tag)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	return nil
}

// readTag returns the beginning of the tag. A symbolic link is not followed.
func readTag(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 2*int64(len(tag)) {
		return "", fmt.Errorf("%w (%s)", ErrNotCache, filepath.Dir(name))
	}
	b, err := os.ReadFile(name)
	return string(b), err
}

// filenames returns the first names in a folder.
func filenames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(2)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

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
	sort.Slice(d.queue, func(i, j int) bool { return d.queue[i].mtime < d.queue[j].mtime })
	d.queue = d.queue[:min(len(d.queue), mostQueued)]
}

// isHash reports whether a name has n hexadecimal digits.
func isHash(name string, n int) bool {
	return len(name) == n && strings.Trim(name, "0123456789abcdef") == ""
}

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
