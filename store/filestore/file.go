// SPDX-License-Identifier: Apache-2.0

// Package filestore stores values as files below one directory of this machine.
//
// A key is the name of a file below the directory. A value is written to a temporary file
// in the directory of its key, and that file is then renamed. So readers see the whole
// old value or the whole new one, even after a crash or a power cut. With [store.Sync] a
// written value is durable.
//
// # Links
//
// No key leads out of the directory. Symbolic links are followed only if they stay inside
// (see [os.Root]).
//
// Reads follow links everywhere. Writes do not follow a link below an array, and the
// error names the link. Such a link usually leads to the chunks of another array, whose
// lock the writer does not hold. Outside of arrays, a link is another name of a node.
// The lock of the node lies behind the link too, so writes follow it. If the file
// itself is a link, the write replaces the link, and its target stays.
//
// Deletions follow only links that lead to a node of a hierarchy, because the caller may
// have opened the node by that name. A key behind any other link is an error. Deleting a
// link removes the link itself. [store.DeleteTree] follows no link at all.
//
// # Names
//
// A key that the platform cannot hold is [store.ErrInvalidKey]: a name that is too long
// or, on Windows, a device name, a trailing dot or a colon. So is a name that the driver
// reserves: "__tmp-…" for temporary files, and "__varve.lock" and "__varve.publish" for
// locks. If the file system treats two spellings as one name (letter case, Unicode
// forms), so does the store. A directory is not a value, and nothing can be stored below
// a value.
//
// # Concurrent writers
//
// PutIf, Splice and DeleteIf briefly hold a lock in the directory of the key.
// [store.Lock] takes another one, so its holder can use PutIf in the locked directory.
// Both exclude other goroutines, and other processes that use this package. Both end with
// the process. Put and Delete take no lock. Until they return, a concurrent PutIf or
// DeleteIf may miss their change.
//
// A lock is a file whose content describes the holder. Only users who may write in its
// directory can open it and so lock it. While a store writes, a locked file in the
// directory "__tmp-writers" at its top marks the writer as running.
// [store.Directories.Sweep] removes the temporary files of writers whose lock is free.
//
// No value is changed in place, so the store does not patch values: a crash could leave a
// file with half of a change. Splice builds a new file from ranges of the old one and new
// bytes. So values that share one file by a hard link (Clone) stay independent, unless
// another program changes the file in place.
//
// # Platforms
//
// Windows cannot sync directories: after a power cut every value is whole, but the latest
// may be lost. A rename fails on Windows while another program has the old file open
// without sharing. On a network file system, durability, locks and versions depend on the
// server. On platforms without locks (js, wasip1), PutIf, DeleteIf and Lock fail with
// [store.ErrUnsupported].
package filestore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/internal/diskstore"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Options configure a store. With the zero Options, it reads and writes an existing
// directory.
type Options struct {
	// Create makes the directory and the directories above it if they are missing.
	Create bool
	// ReadOnly makes every write fail with [fs.ErrPermission].
	ReadOnly bool
}

// files is the store.
type files struct {
	fs       vfs.FS
	dir      string // as given to Open, or ""
	placing  sync.Once
	url      string // of dir, once placed is done
	readOnly bool
	clock    atomic.Int64          // latest modification time set, in nanoseconds since 1970
	broken   atomic.Pointer[error] // the failed sync after which the store refuses writes
	made     made
	boot     string // see [vfs.Boot]
	writer   writer
	kinds    sync.Map // node type by name of the document; see [files.isArray]
	cloning  cloning
	whole    wholeDirs // see [files.lost]
}

// Open opens the directory dir. A nil opt is the zero [Options].
//
// The store makes every change but [store.OpPatch], and is safe for concurrent use. Its
// powers, for which [store.As] asks, are [store.Writer], [store.Batcher],
// [store.TreeDeleter], [store.Lister], [store.Stater], [store.Opener], [store.Locker],
// [store.Describer], [store.Directories] and [io.Closer]. Close releases the directory;
// open objects stay readable.
func Open(dir string, opt *Options) (store.Store, error) {
	open := vfs.OpenRoot
	if opt != nil && opt.Create && !opt.ReadOnly {
		open = vfs.MakeRoot
	}
	root, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("file: opening the store: %w", err)
	}
	s := on(root, opt)
	s.dir = dir
	return s, nil
}

func init() {
	diskstore.Open = func(fsys vfs.FS, readOnly bool) store.Store {
		return on(fsys, &Options{ReadOnly: readOnly})
	}
}

// on returns a store of the files of fsys. Closing it closes fsys.
func on(fsys vfs.FS, opt *Options) *files {
	s := &files{fs: fsys, boot: vfs.Boot()}
	s.readOnly = opt != nil && opt.ReadOnly
	return s
}

// Close releases the directory. Open objects stay readable.
func (s *files) Close() error { return s.fs.Close() }

// writable returns an error if nothing can be written now.
func (s *files) writable(ctx context.Context) error {
	if s.readOnly {
		return fmt.Errorf("the store was opened read-only: %w", fs.ErrPermission)
	}
	if broken := s.broken.Load(); broken != nil {
		return *broken
	}
	return ctx.Err()
}

// fail adds the operation and the key to err. It drops the name that the operating system
// reports, which may be that of a temporary file.
func fail(op, name string, err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		err = e.Err
	case *os.LinkError:
		err = e.Err
	}
	return fmt.Errorf("file: %s %q: %w", op, name, err)
}

var (
	_ store.Writer      = (*files)(nil)
	_ store.Batcher     = (*files)(nil)
	_ store.TreeDeleter = (*files)(nil)
	_ store.Lister      = (*files)(nil)
	_ store.Stater      = (*files)(nil)
	_ store.Opener      = (*files)(nil)
	_ store.Locker      = (*files)(nil)
	_ store.Describer   = (*files)(nil)
	_ store.Directories = (*files)(nil)
	_ io.Closer         = (*files)(nil)
)

// Room implements [store.Directories]. A directory that does not exist yet will be in
// the file system of the nearest one above.
func (s *files) Room(dir store.Path) (store.Room, error) {
	unknown := fail("looking for room in", dirOf(dir), store.ErrUnsupported)
	if s.dir == "" {
		return store.Room{}, unknown
	}
	top := filepath.Clean(s.dir)
	name := filepath.Join(top, filepath.FromSlash(dirOf(dir)))
	for name != top {
		if _, err := os.Stat(name); err == nil {
			break
		}
		name = filepath.Dir(name)
	}
	free, plain, ok := vfs.Room(name)
	if !ok {
		return store.Room{}, unknown
	}
	return store.Room{Free: free, Plain: plain}, nil
}

// Traits implements [store.Describer]. The place has no symbolic links.
func (s *files) Traits() store.Traits {
	s.placing.Do(func() { s.url = placeOf(s.dir) })
	return store.Traits{Place: s.url}
}

// placeOf returns the URL of a directory, or "" if it is not known.
func placeOf(dir string) string {
	if dir == "" {
		return ""
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}
	return u.String()
}
