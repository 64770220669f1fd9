// Package filestore is the store of a directory of this machine.
//
// A key is the name of a file below the directory. A value is written beside its key and
// moved into place, so that whoever looks, and whatever remains after a kill or a power
// cut, sees the old value or the new one, whole. With [store.Sync] a value that was
// written is durable; the steps are told above [Store.Put].
//
// # Names
//
// No key leads out of the directory: symbolic links are followed only where they stay
// inside (see [os.Root]).
//
// Reads follow links within an array, writes do not: one to a key behind such a link is
// an error that names the link. What is behind it is the directory of another node, as a
// rule, whose own lock keeps writers apart, and a writer that came through the link would
// not hold that lock. A link outside of arrays is another name of a node, whose lock is
// found behind it as well, so writes go through it; and a file that is a link itself is
// replaced, and what it led to stays.
//
// A deletion follows no link at all: a link itself goes, and a key behind one is an
// error, unless the link leads to a node of a hierarchy, which the caller has then opened
// by that name. Below an array there are no nodes, so no link there counts.
// [Store.DeleteTree] follows not even those.
//
// A key that the platform cannot hold is [store.ErrInvalidKey]: a name that is too long,
// or on Windows a device, a trailing dot, a colon. So is a name that the driver keeps for
// itself: "__tmp-…" for values that are being written, "__varve.lock" and
// "__varve.publish" for locks. Where the file system takes two spellings for one name
// (letter case, Unicode forms), so does the store. A directory is no value, and nothing
// can be stored below a value.
//
// # Writers
//
// [Store.PutIf] and [Store.DeleteIf] take a short lock in the directory of the key, and
// [Store.Lock] a long one that is another lock: who holds a directory with Lock goes on
// to use PutIf in it. Both keep out other goroutines and other processes that use this
// package, and end with the process. An unconditional Put or Delete of the same key at
// the same time is not kept out, in a batch or not; a condition sees it if it has
// returned before.
//
// A lock is a file that says who holds it. Only those can open it, and so lock it, who
// may write in its directory. While a store writes, the directory "__tmp-writers" at its
// top shows that its writer is alive; [Store.Sweep] removes the temporary files of those
// that are not.
//
// No value is changed in place, so the store is no [store.Patcher]: a write within a file
// may stop halfway, and what is torn by a power cut stays torn. [Store.Splice] makes a
// new file of the old one and new bytes.
//
// # Platforms
//
// Windows has no sync of directories: a value is whole after a power cut, but the latest
// may be lost. A rename fails while another program holds the old file open without
// sharing it. On network file systems durability, locks and versions are as good as the
// server's. Without locks (js, wasip1) PutIf, DeleteIf and Lock fail with
// [store.ErrUnsupported].
package filestore

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Options say how to open a directory. The zero Options read and write a directory that
// exists.
type Options struct {
	// Create makes the directory, and the directories above it, where they are missing.
	Create bool
	// ReadOnly makes every write fail with [fs.ErrPermission].
	ReadOnly bool
}

// Store reads and writes files below one directory. It has every power that package store
// knows but [store.Patcher], and its methods may be called from several goroutines at
// once. Make one with [Open] and end it with [Store.Close].
type Store struct {
	fs       vfs.FS
	dir      string // as it was opened, "" where that is not known
	readOnly bool
	clock    atomic.Int64          // the latest modification time given, nanoseconds since 1970
	broken   atomic.Pointer[error] // the failed sync after which nothing is written
	made     made
	boot     string // see [vfs.Boot]
	writer   writer
	kinds    sync.Map // the kind by the name of a document; see [Store.isArray]
}

// Open opens the directory dir. A nil opt is the zero [Options].
func Open(dir string, opt *Options) (*Store, error) {
	open := vfs.OpenRoot
	if opt != nil && opt.Create && !opt.ReadOnly {
		open = vfs.MakeRoot
	}
	root, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("file: opening the store: %w", err)
	}
	s := On(root, opt)
	s.dir = dir
	return s, nil
}

// On returns the store of the files of fsys, which it closes in the end. It serves the
// tests of this module.
func On(fsys vfs.FS, opt *Options) *Store {
	s := &Store{fs: fsys, boot: vfs.Boot()}
	s.readOnly = opt != nil && opt.ReadOnly
	return s
}

// Close releases the directory. Objects that are open stay readable.
func (s *Store) Close() error { return s.fs.Close() }

// writable returns why nothing can be written now, or nil.
func (s *Store) writable(ctx context.Context) error {
	if s.readOnly {
		return fmt.Errorf("the store was opened read-only: %w", fs.ErrPermission)
	}
	if broken := s.broken.Load(); broken != nil {
		return *broken
	}
	return ctx.Err()
}

// fail says what was done to which name when err came up. The name replaces the one that
// the operating system tells, which may be that of a temporary file.
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
	_ store.ConditionalWriter  = (*Store)(nil)
	_ store.Writer             = (*Store)(nil)
	_ store.Splicer            = (*Store)(nil)
	_ store.Copier             = (*Store)(nil)
	_ store.Placer             = (*Store)(nil)
	_ store.Batcher            = (*Store)(nil)
	_ store.ConditionalBatch   = (*batch)(nil)
	_ store.SplicingBatch      = (*batch)(nil)
	_ store.CopyingBatch       = (*batch)(nil)
	_ store.Deleter            = (*Store)(nil)
	_ store.ConditionalDeleter = (*Store)(nil)
	_ store.TreeDeleter        = (*Store)(nil)
	_ store.Lister             = (*Store)(nil)
	_ store.Stater             = (*Store)(nil)
	_ store.Opener             = (*Store)(nil)
	_ store.HeldLocker         = (*Store)(nil)
	_ store.Sweeper            = (*Store)(nil)
)
