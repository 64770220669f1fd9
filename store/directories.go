// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"time"
)

// Directories is a store of files in directories. Symbolic links or mounts can give a
// directory several names, other programs put things there that are no values, and
// writers that crash leave temporary files. In other stores, different names are
// different directories.
type Directories interface {
	// Resolve returns the path of dir without symbolic links. Segments that do not exist
	// do not change. A link in dir that leads out of the store is an error.
	Resolve(dir Path) (Path, error)
	// Identify returns the identity of dir, following links. It is zero if dir does not
	// exist.
	Identify(dir Path) (Identity, error)
	// Links yields the symbolic links at any depth below dir, in no order. It follows the
	// links that a deep listing follows, and skips a link to a directory that contains
	// the link.
	Links(ctx context.Context, dir Path) iter.Seq2[Link, error]
	// CheckTree returns an error if [DeleteTree] would fail at once, because dir is a
	// symbolic link or is reached through one.
	CheckTree(dir Path) error
	// CheckNames returns an [UnusableError] if [DeleteTree] would fail with one. Like
	// DeleteTree it follows no links.
	CheckNames(ctx context.Context, dir Path) error
	// Room returns how much values below dir may take, which need not exist yet. If that
	// is not known, the error is [ErrUnsupported].
	Room(dir Path) (Room, error)
	// Sweep deletes the temporary objects of writers that are known to have ended, and no
	// others. An object that it cannot delete stays and is harmless. Each opening for
	// writing calls it, so it is quick.
	Sweep(ctx context.Context)
}

// DirectoriesOf returns the directories of the store below all wrappers, which do not
// change them. If it has none, the result knows that: each name is its own directory,
// there are no links, and nothing to sweep.
func DirectoriesOf(s Store) Directories {
	if d, ok := Driver(s).(Directories); ok {
		return d
	}
	return plain{s}
}

// plain is a store without directories of files.
type plain struct{ s Store }

func (plain) Resolve(dir Path) (Path, error)  { return dir, nil }
func (plain) Identify(Path) (Identity, error) { return Identity{}, nil }
func (plain) CheckTree(Path) error            { return nil }
func (plain) Sweep(context.Context)           {}
func (p plain) Room(Path) (Room, error) {
	return Room{}, unsupported(p.s, "tell how much room there is")
}
func (plain) Links(context.Context, Path) iter.Seq2[Link, error] {
	return func(func(Link, error) bool) {}
}

// CheckNames lists everything below dir.
func (p plain) CheckNames(ctx context.Context, dir Path) error {
	for _, err := range List(ctx, p.s, dir, Deep) {
		if errors.Is(err, ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Identity identifies a directory regardless of its names, even of two stores. The zero
// Identity is that of no directory.
type Identity struct {
	id   any
	info fs.FileInfo
}

// MakeIdentity returns an identity. Two of them are the same if their values id are
// equal, such as a device and an inode, or if [os.SameFile] says so of their infos.
// Either may be nil. It is for drivers.
func MakeIdentity(id any, info fs.FileInfo) Identity { return Identity{id, info} }

// IsZero reports whether i identifies nothing.
func (i Identity) IsZero() bool { return i.id == nil && i.info == nil }

// Same reports whether both are known to be the same directory.
func (i Identity) Same(o Identity) bool {
	if i.info != nil && o.info != nil {
		return os.SameFile(i.info, o.info)
	}
	return i.id != nil && i.id == o.id
}

// Link is a symbolic link in a store.
type Link struct {
	Name string // relative to the listed directory
	To   Path   // the target, without links
	// Lost means that the link leads out of the store or is broken. No listing shows its
	// target, and To is not set.
	Lost bool
}

// Room says how much more a store can take. It is about one moment: other programs write,
// too.
type Room struct {
	// Free is the number of bytes that this program may still store.
	Free int64
	// Plain is set if every stored byte takes one of them: the store neither compresses
	// values nor shares bytes between their copies. Links take none in any case.
	Plain bool
}

// UploadSweeper aborts uploads that crashed writers left in an object store: their
// parts cost storage, and no reader sees them. It sends requests, so opening a node
// does not use it, but cleaning up does.
type UploadSweeper interface {
	// SweepUploads aborts the uploads of the store's own keys that began longer ago than
	// age, and returns their number. Uploads in progress that are older fail. A dry run
	// aborts none, and returns the same number.
	SweepUploads(ctx context.Context, age time.Duration, dryRun bool) (n int, err error)
}
