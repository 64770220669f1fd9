// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// writer is the store of [Create].
type writer struct {
	fs   vfs.FS
	name string
	over bool // may replace an archive of that name
	log  *log

	mu      sync.RWMutex
	members map[store.Key]written
	held    map[store.Key][]byte // the members that are not in the log yet
	writes  int64
	version string // of the OME-Zarr in an archive of that
	broken  error  // of a failed write, after which all writes fail
	locks   map[store.Path]chan struct{}
}

// written is a value in the log.
type written struct {
	name       string
	off, data  int64 // begin of its record, and of its bytes
	size       int64
	crc        uint32
	version    int64
	wideRecord bool
}

// mostHeld bounds the bytes of a value in writer.held.
const mostHeld = 1 << 16

// Create begins an archive at a path of the file system. If something exists there, the
// error wraps [fs.ErrExist]. The archive does not exist until it is closed.
//
// [store.Close] is required: it publishes the archive, whole and durable, and its error
// must be checked. Without it there is no archive, and all values are lost. If it fails,
// there is none either, unless the error wraps [store.ErrDurability]. An archive without
// values is not created. [Discard] drops the values on purpose.
//
//	a, err := zipstore.Create("era5.zip")
//	if err != nil {
//		return err
//	}
//	defer zipstore.Discard(a) // does nothing after Close
//	… write to a …
//	return store.Close(a)
//
// Until then values can be replaced and deleted as in any store. No other program sees
// them, and none is durable, regardless of the requested durability. The store puts and
// deletes values, also on conditions, and has the powers [store.Stater], [store.Lister],
// [store.Locker] and [store.Describer]; clones and assembled values pass through memory.
// It is safe for concurrent use. Members are not compressed, because chunks usually are.
//
// An archive with a name in ".ozx" is one of OME-Zarr (RFC-9 of that format): its
// comment has the version, and its root is a group of format 3 with the attribute "ome".
// What is not so is refused with [store.ErrUnsupported] when the root's document is
// stored, or by Close.
//
// # Protocol
//
//  1. Values are appended to "__tmp-<random>" beside the archive, each after its record.
//     Small ones that Varve keeps during a change stay in memory.
//  2. If some values were replaced or deleted, Close copies the others to another such
//     file, and removes the first.
//  3. Close appends the directory, which has the documents first, and syncs the file.
//  4. It renames the file to the archive's name. If a concurrent writer has taken the
//     name, [Create] fails, and [Replace] overwrites it.
//  5. It syncs the directory of both names.
//
// If a step before 4 fails, there is no archive. A crash leaves the temporary file and
// its lock file. The next archive in the same directory removes both.
func Create(name string) (store.Store, error) { return create(name, false) }

// Replace is [Create] for an archive that may replace an existing one. The old archive
// stays until [store.Close] replaces it in one step. After [Discard] it does not change.
func Replace(name string) (store.Store, error) { return create(name, true) }

func create(name string, over bool) (store.Store, error) {
	root, err := vfs.MakeRoot(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("zip: creating %s: %w", name, err)
	}
	a, err := begin(&writer{fs: root, name: filepath.Base(name), over: over})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return a, nil
}

// Discard drops the archive that s writes, and all its values. It does nothing if the
// archive was closed, and for other stores.
func Discard(s store.Store) error {
	if a, ok := store.Driver(s).(*writer); ok {
		return a.end(false)
	}
	return nil
}

// IsNew implements [archive.Archive].
func (a *writer) IsNew() bool { return true }

// Notes implements [archive.Archive].
func (a *writer) Notes() []string { return nil }

// begin checks the name, sweeps the directory and makes the log.
func begin(a *writer) (*writer, error) {
	a.members, a.held, a.locks = map[store.Key]written{}, map[store.Key][]byte{}, map[store.Path]chan struct{}{}
	err := a.free()
	if err == nil {
		// Nothing else removes the logs of crashed writers.
		sweep(a.fs)
		a.log, err = newLog(a.fs)
	}
	if err != nil {
		return nil, fmt.Errorf("zip: creating %s: %w", a.name, plainError(err))
	}
	return a, nil
}

// free returns an error if the name is taken by something that a must not replace.
func (a *writer) free() error {
	switch info, err := a.fs.Stat(a.name); {
	case err == nil && a.over && info.Mode.IsRegular():
		return nil
	case err == nil && a.over:
		return fmt.Errorf("%w: it is not a file", fs.ErrExist)
	case err == nil:
		return fmt.Errorf("%w: a zip archive is written once; choose another name, or copy it to a directory and change that", fs.ErrExist)
	case vfs.Missing(err):
		return nil
	default:
		return err
	}
}

// plainError removes the path from an error of the operating system, which may be that of
// a temporary file.
func plainError(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}

// usable returns an error if nothing can be done now.
func (a *writer) usable(ctx context.Context) error {
	if a.broken != nil {
		return a.broken
	}
	return ctx.Err()
}

// Get implements [store.Store].
func (a *writer) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := a.get(ctx, key, q, dst)
	if err != nil {
		return nil, store.Info{}, fail("reading", key, err)
	}
	return out, info, nil
}

func (a *writer) get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	m, err := a.find(ctx, key)
	if err != nil {
		return nil, store.Info{}, err
	}
	off, n, err := q.Resolve(m.size)
	if err != nil {
		return nil, store.Info{}, err
	}
	// The sum of the lengths must fit an int, which has 32 bits on some platforms.
	if n > math.MaxInt-int64(len(dst)) {
		return nil, store.Info{}, fmt.Errorf("%w: %s", store.ErrTooLarge, quantity.Count(n, "bytes"))
	}
	dst = slices.Grow(dst, int(n))
	out := dst[:len(dst)+int(n)]
	if held, is := a.held[key]; is {
		copy(out[len(dst):], held[off:])
	} else if err := a.log.readAt(out[len(dst):], m.data+off); err != nil {
		return nil, store.Info{}, plainError(err)
	}
	return out, m.info(), nil
}

// find returns the value at key. The caller holds the lock.
func (a *writer) find(ctx context.Context, key store.Key) (written, error) {
	if err := a.usable(ctx); err != nil {
		return written{}, err
	}
	m, found := a.members[key]
	if !found {
		return written{}, fs.ErrNotExist
	}
	return m, nil
}

func (m written) info() store.Info { return store.Info{Size: m.size, Version: m.id()} }

func (m written) id() store.Version {
	return store.MakeVersion(strconv.FormatInt(m.version, 10))
}

// Stat implements [store.Stater].
func (a *writer) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	m, err := a.find(ctx, key)
	if err != nil {
		return store.Info{}, fail("looking at", key, err)
	}
	return m.info(), nil
}

// List implements [store.Lister], with versions in any case.
func (a *writer) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		entries, err := a.entries(ctx, dir, how&store.Deep != 0)
		if err != nil {
			yield(store.Entry{}, fmt.Errorf("zip: listing %q: %w", dir, err))
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (a *writer) entries(ctx context.Context, dir store.Path, deep bool) (entries []store.Entry, err error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if err := a.usable(ctx); err != nil {
		return nil, err
	}
	dirs := map[string]bool{}
	for key, m := range a.members {
		if !dir.Contains(key) {
			continue
		}
		rel := dir.Rel(key)
		switch child, _, isDir := strings.Cut(rel, "/"); {
		case deep || !isDir:
			entries = append(entries, store.Entry{Name: rel, Size: m.size, Version: m.id()})
		case !dirs[child]:
			dirs[child] = true
			entries = append(entries, store.Entry{Name: child, Dir: true, Size: -1})
		}
	}
	return entries, nil
}

// Can implements [store.Writer].
func (a *writer) Can(op store.Op) bool { return op >= store.OpPut && op <= store.OpDeleteIf }

// Write implements [store.Writer].
func (a *writer) Write(ctx context.Context, c store.Change, _ store.Durability) (made store.Written, err error) {
	cond := &c.If
	if c.Op == store.OpPut || c.Op == store.OpDelete {
		cond = nil
	}
	switch c.Op {
	case store.OpPut, store.OpPutIf:
		made.Version, err = a.put(ctx, c.Key, c.Value, cond)
	case store.OpDelete, store.OpDeleteIf:
		err = a.remove(ctx, c.Key, cond)
	default:
		err = fail("changing", c.Key, store.ErrUnsupported)
	}
	return made, err
}

// put appends a value, on a condition unless cond is nil.
func (a *writer) put(ctx context.Context, key store.Key, value []byte, cond *store.Condition) (store.Version, error) {
	// Compute the checksum before taking the lock.
	m := written{name: key.String(), size: int64(len(value)), crc: crc32.ChecksumIEEE(value)}
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.usable(ctx)
	if err == nil {
		err = cmp.Or(checkName(m.name), a.noteVersion(m.name, value))
	}
	if now, found := a.members[key]; err == nil && cond != nil && !cond.Holds(now.id(), found) {
		err = store.ErrConflict
	}
	switch {
	case err != nil:
	case own.IsBelow(m.name) && len(value) <= mostHeld:
		// Notes are deleted before the archive is closed. In the log, each would be a gap
		// for which all other members have to be copied.
		a.held[key] = slices.Clone(value)
	default:
		delete(a.held, key)
		if err = a.log.append(&m, value); err != nil {
			// The log may end with a part of this value, so no value can follow.
			a.broken = fmt.Errorf("the archive cannot be written after an error: %w", plainError(err))
			err = a.broken
		}
	}
	if err != nil {
		return store.Version{}, fail("writing", key, err)
	}
	a.writes++
	m.version = a.writes
	a.members[key] = m
	return m.id(), nil
}

// remove deletes the value at key, on a condition unless cond is nil.
func (a *writer) remove(ctx context.Context, key store.Key, cond *store.Condition) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.usable(ctx)
	if m, found := a.members[key]; err == nil && cond != nil && !cond.Holds(m.id(), found) {
		err = store.ErrConflict
	}
	if err != nil {
		return fail("deleting", key, err)
	}
	// The bytes stay in the log until Close compacts it.
	delete(a.members, key)
	delete(a.held, key)
	return nil
}

// LockHolder implements [store.Locker]. Only this process can hold the lock.
func (a *writer) LockHolder(store.Path) store.Holder { return store.Holder{} }

// Lock implements [store.Locker]. Only this process sees the archive, so it excludes only
// goroutines.
func (a *writer) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("zip: locking %q: %w", dir, err)
		}
		a.mu.Lock()
		busy, held := a.locks[dir]
		if !held {
			free := make(chan struct{})
			a.locks[dir] = free
			a.mu.Unlock()
			return sync.OnceValue(func() error {
				a.mu.Lock()
				defer a.mu.Unlock()
				delete(a.locks, dir)
				close(free)
				return nil
			}), nil
		}
		a.mu.Unlock()
		// Another goroutine may take the lock first, so try again after the release.
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
}

var (
	_ store.Writer    = (*writer)(nil)
	_ store.Stater    = (*writer)(nil)
	_ store.Lister    = (*writer)(nil)
	_ store.Locker    = (*writer)(nil)
	_ store.Describer = (*writer)(nil)
	_ archive.Archive = (*writer)(nil)
)
