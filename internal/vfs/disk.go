// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Disk is a disk in memory that records what is durable. Bytes become durable when their
// file is synced, names when their directory is synced. Before that, [Disk.Images] may
// lose them in any combination. Make one with [NewDisk].
type Disk struct {
	// Shares lets files share bytes; see [File]. Set it before the first use.
	Shares bool

	mu      sync.Mutex
	root    *node
	pending []assignment
	ino     uint64
	clock   int64
}

// node is a file or a directory. Programs see data and names; safe and kept are durable.
type node struct {
	dir         bool
	ino         uint64
	ctime       int64
	mtime       int64
	locked      bool
	data, safe  []byte
	names, kept map[string]*node
}

// assignment is one change of a directory that is not durable yet. It makes name refer to
// child, or removes name if child is nil.
type assignment struct {
	dir   *node
	name  string
	child *node
}

// NewDisk returns an empty disk.
func NewDisk() *Disk {
	d := &Disk{}
	d.root = d.newNode(true)
	return d
}

func (d *Disk) newNode(dir bool) *node {
	d.ino++
	n := &node{dir: dir, ino: d.ino}
	if dir {
		n.names, n.kept = map[string]*node{}, map[string]*node{}
	}
	d.modify(n)
	return n
}

// touch changes the change time of a node.
func (d *Disk) touch(n *node) {
	d.clock++
	n.ctime = d.clock
}

// modify changes both times of a node.
func (d *Disk) modify(n *node) {
	d.touch(n)
	n.mtime = n.ctime
}

// lookup returns the node at name.
func (d *Disk) lookup(op, name string) (*node, error) {
	n := d.root
	if name == "." {
		return n, nil
	}
	for seg := range strings.SplitSeq(name, "/") {
		if !n.dir {
			return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
		}
		if n = n.names[seg]; n == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
	}
	return n, nil
}

// parent returns the directory that holds name.
func (d *Disk) parent(op, name string) (*node, error) {
	n, err := d.lookup(op, path.Dir(name))
	if err == nil && !n.dir {
		err = &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
	}
	return n, err
}

// assign changes a directory. The change is durable once the directory is synced.
func (d *Disk) assign(dir *node, name string, child *node) {
	if child == nil {
		delete(dir.names, name)
	} else {
		dir.names[name] = child
	}
	d.modify(dir)
	d.pending = append(d.pending, assignment{dir, name, child})
}

// add makes a new node at name.
func (d *Disk) add(op, name string, dir bool) (*node, error) {
	p, err := d.parent(op, name)
	if err != nil {
		return nil, err
	}
	if p.names[path.Base(name)] != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrExist}
	}
	n := d.newNode(dir)
	d.assign(p, path.Base(name), n)
	return n, nil
}

// Open implements [FS].
func (d *Disk) Open(name string) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.lookup("open", name)
	if err != nil {
		return nil, err
	}
	return &diskFile{d, n}, nil
}

// Create implements [FS].
func (d *Disk) Create(name string) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.add("create", name, false)
	if err != nil {
		return nil, err
	}
	return &diskFile{d, n}, nil
}

// Mkdir implements [FS].
func (d *Disk) Mkdir(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := d.add("mkdir", name, true)
	return err
}

// Stat implements [Tree].
func (d *Disk) Stat(name string) (Stat, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.lookup("stat", name)
	if err != nil {
		return Stat{}, err
	}
	return n.stat(), nil
}

// Touch implements [FS].
func (d *Disk) Touch(name string, mtime int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.lookup("touch", name)
	if err != nil {
		return err
	}
	d.touch(n)
	n.mtime = mtime
	return nil
}

// Rename implements [FS].
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.lookup("rename", from)
	if err != nil {
		return err
	}
	p, err := d.parent("rename", to)
	if err != nil {
		return err
	}
	// The file store renames only files.
	old := p.names[path.Base(to)]
	switch {
	case old != nil && old.dir || n.dir:
		return &fs.PathError{Op: "rename", Path: to, Err: syscall.EISDIR}
	case old == n: // as POSIX requires
		return nil
	case old != nil:
		d.touch(old) // it has fewer names
	}
	q, _ := d.parent("rename", from)
	// Two assignments: a power cut may leave both names or neither. Real file systems
	// that journal leave one, but the file store does not rely on it.
	d.touch(n)
	d.assign(p, path.Base(to), n)
	d.assign(q, path.Base(from), nil)
	return nil
}

// Link implements [FS].
func (d *Disk) Link(from, to string) (Stat, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.lookup("link", from)
	if err == nil && n.dir {
		err = &fs.PathError{Op: "link", Path: from, Err: syscall.EPERM}
	}
	if err != nil {
		return Stat{}, err
	}
	p, err := d.parent("link", to)
	if err != nil {
		return Stat{}, err
	}
	if p.names[path.Base(to)] != nil {
		return Stat{}, &fs.PathError{Op: "link", Path: to, Err: fs.ErrExist}
	}
	d.touch(n)
	d.assign(p, path.Base(to), n)
	return n.stat(), nil
}

// Remove implements [FS].
func (d *Disk) Remove(name string) error { return d.remove(name, false) }

// RemoveDir implements [FS].
func (d *Disk) RemoveDir(name string) error { return d.remove(name, true) }

func (d *Disk) remove(name string, onlyDir bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.lookup("remove", name)
	if err != nil {
		return err
	}
	// RemoveDir must never delete a value that replaced a directory.
	if onlyDir && !n.dir {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTDIR}
	}
	if len(n.names) > 0 || n == d.root {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrExist}
	}
	p, _ := d.parent("remove", name)
	d.touch(n) // it may have other names
	d.assign(p, path.Base(name), nil)
	return nil
}

// Readlink implements [FS]. A Disk has no links.
func (d *Disk) Readlink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.EINVAL}
}

// ReadDir implements [Tree].
func (d *Disk) ReadDir(name string) iter.Seq2[fs.DirEntry, error] {
	entries, err := d.readDir(name)
	return func(yield func(fs.DirEntry, error) bool) {
		if err != nil {
			yield(nil, err)
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (d *Disk) readDir(name string) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.lookup("readdir", name)
	if err == nil && !n.dir {
		err = &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	for _, name := range sortedNames(n.names) {
		entries = append(entries, fs.FileInfoToDirEntry(diskInfo{name, n.names[name].stat()}))
	}
	return entries, nil
}

// TryLock implements [FS].
func (d *Disk) TryLock(name string) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// A missing lock file is made, as on a real disk.
	n, err := d.lookup("lock", name)
	if errors.Is(err, fs.ErrNotExist) {
		n, err = d.add("lock", name, false)
	}
	if err != nil {
		return nil, err
	}
	if n.locked {
		return nil, fmt.Errorf("%w: %s", ErrLocked, name)
	}
	n.locked = true
	return &lockedFile{diskFile: diskFile{d, n}}, nil
}

// lockedFile is a file that is locked until it is closed.
type lockedFile struct {
	diskFile
	off int // of the next byte to write
}

func (f *lockedFile) Write(p []byte) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	// Writing begins at the start of the file, so the end of a longer old content stays.
	data := append(slices.Clone(f.n.data[:f.off]), p...)
	if f.off += len(p); f.off < len(f.n.data) {
		data = append(data, f.n.data[f.off:]...)
	}
	f.n.data = data
	f.d.modify(f.n)
	return len(p), nil
}

func (f *lockedFile) Close() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.n.locked = false
	return nil
}

// Local implements [FS].
func (d *Disk) Local() bool { return true }

// Close implements [FS].
func (d *Disk) Close() error { return nil }

// sync makes the bytes of a file, or the names in a directory, durable.
func (d *Disk) sync(n *node) {
	if !n.dir {
		// Later writes append to data, or replace it, and so leave these bytes alone.
		n.safe = n.data[:len(n.data):len(n.data)]
		return
	}
	// All names in the directory are durable now. A power cut can no longer lose these
	// changes.
	d.pending = slices.DeleteFunc(d.pending, func(a assignment) bool { return a.dir == n })
	n.kept = maps.Clone(n.names)
}

func (n *node) stat() Stat {
	s := Stat{Mode: 0o666, Size: int64(len(n.data)), Dev: 1, Ino: n.ino, Ctime: n.ctime, Mtime: n.mtime}
	if n.dir {
		s.Mode = fs.ModeDir | 0o777
	}
	return s
}

// diskInfo is an entry as package fs needs it.
type diskInfo struct {
	name string
	s    Stat
}

func (i diskInfo) Name() string       { return i.name }
func (i diskInfo) Size() int64        { return i.s.Size }
func (i diskInfo) Mode() fs.FileMode  { return i.s.Mode }
func (i diskInfo) ModTime() time.Time { return time.Unix(0, i.s.Mtime) }
func (i diskInfo) IsDir() bool        { return i.s.Mode.IsDir() }
func (i diskInfo) Sys() any           { return nil }

type diskFile struct {
	d *Disk
	n *node
}

func (f *diskFile) ReadAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	n := copy(p, f.n.data[min(off, int64(len(f.n.data))):]) // an offset may lie behind the end
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *diskFile) Write(p []byte) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.n.data = append(f.n.data, p...)
	f.d.modify(f.n)
	return len(p), nil
}

// Share implements [File].
func (f *diskFile) Share(src File) error {
	s, ok := src.(*diskFile)
	if !ok || s.d != f.d || !f.d.Shares {
		return errors.ErrUnsupported
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	// The limited capacity makes a later write copy the shared bytes.
	f.n.data = s.n.data[:len(s.n.data):len(s.n.data)]
	f.d.modify(f.n)
	return nil
}

// CopyFrom copies in one step, as the kernel does.
func (f *diskFile) CopyFrom(src File, off, n int64) error {
	s, ok := src.(*diskFile)
	if !ok || s.d != f.d {
		return copyPlain(f, src, off, n)
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	size := int64(len(s.n.data))
	off = min(off, size)
	part := s.n.data[off : off+min(n, size-off)]
	f.n.data = append(f.n.data, part...)
	f.d.modify(f.n)
	if int64(len(part)) < n {
		return io.ErrUnexpectedEOF
	}
	return nil
}

func (f *diskFile) Stat() (Stat, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	return f.n.stat(), nil
}

func (f *diskFile) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.sync(f.n)
	return nil
}

func (f *diskFile) Close() error { return nil }

func sortedNames(m map[string]*node) []string { return slices.Sorted(maps.Keys(m)) }

// fate is the effect of a power cut on the unsynced bytes of one file.
type fate int

const (
	lose  fate = iota // only synced bytes remain
	keep              // all bytes remain
	tear              // the first tornBytes bytes remain
	blank             // the length remains, and all bytes are zero
	fates             // number of fates
)

// tornBytes is the number of bytes that remain of a torn file.
const tornBytes = 4

// policy decides what a power cut leaves: whether change i of n changes of directories
// remains, and which bytes of each file.
type policy struct {
	label string
	name  func(i, n int) bool
	bytes func() fate
}

func eachName(v bool) func(int, int) bool { return func(int, int) bool { return v } }
func eachFile(f fate) func() fate         { return func() fate { return f } }

// policies are tried for every power cut. Disks may write names in any order, so one
// policy keeps late changes and loses early ones.
var policies = []policy{
	{"nothing that was not synced", eachName(false), eachFile(lose)},
	{"everything", eachName(true), eachFile(keep)},
	{"names without their bytes", eachName(true), eachFile(lose)},
	{"bytes without their names", eachName(false), eachFile(keep)},
	{"names with torn bytes", eachName(true), eachFile(tear)},
	{"names with blank bytes", eachName(true), eachFile(blank)},
	{"the early half of the names", func(i, n int) bool { return i < n/2 }, eachFile(lose)},
	{"the late half of the names", func(i, n int) bool { return i >= n/2 }, eachFile(lose)},
}

// Images yields disks that a power cut at this moment may leave, each with a label: one
// for each fixed policy, then random ones that depend on seed. Everything on an image is
// durable.
func (d *Disk) Images(seed uint64, random int) iter.Seq2[string, *Disk] {
	return func(yield func(string, *Disk) bool) {
		for _, p := range policies {
			if !yield(p.label, d.image(p)) {
				return
			}
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for i := range random {
			p := policy{
				label: fmt.Sprintf("random %d of seed %d", i, seed),
				name:  func(int, int) bool { return r.IntN(2) == 0 },
				bytes: func() fate { return fate(r.IntN(int(fates))) },
			}
			if !yield(p.label, d.image(p)) {
				return
			}
		}
	}
}

// image returns the disk that p leaves.
func (d *Disk) image(p policy) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Keep the counters, so that new inodes and times do not repeat earlier ones.
	out := &Disk{ino: d.ino, clock: d.clock}
	c := copier{p, map[*node]*node{}}
	out.root = c.copy(d.root)
	// Each unsynced change of a directory survives or is lost independently of the
	// others.
	for i, a := range d.pending {
		if !p.name(i, len(d.pending)) {
			continue
		}
		if dir := c.copy(a.dir); a.child == nil {
			delete(dir.names, a.name)
			delete(dir.kept, a.name)
		} else {
			child := c.copy(a.child)
			dir.names[a.name], dir.kept[a.name] = child, child
		}
	}
	return out
}

// copier copies each node once.
type copier struct {
	p    policy
	done map[*node]*node
}

func (c copier) copy(n *node) *node {
	// After a power cut, a file may have its old name and its new one.
	if out := c.done[n]; out != nil {
		return out
	}
	out := &node{dir: n.dir, ino: n.ino, ctime: n.ctime, mtime: n.mtime}
	c.done[n] = out
	if !n.dir {
		out.data = n.survive(c.p.bytes)
		out.safe = out.data
		return out
	}
	out.names, out.kept = map[string]*node{}, map[string]*node{}
	for _, name := range sortedNames(n.kept) {
		child := c.copy(n.kept[name])
		out.names[name], out.kept[name] = child, child
	}
	return out
}

// survive returns the bytes of a file after the power cut. It calls fate only if there
// are bytes to lose.
func (n *node) survive(f func() fate) []byte {
	if len(n.safe) == len(n.data) {
		return slices.Clone(n.safe)
	}
	switch f() {
	case keep:
		return slices.Clone(n.data)
	case tear:
		return slices.Clone(n.data[:min(tornBytes, len(n.data))])
	case blank:
		return make([]byte, len(n.data))
	}
	return slices.Clone(n.safe)
}
