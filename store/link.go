// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
)

// Identity identifies a directory regardless of its names.
type Identity interface {
	// Same reports whether both are known to be the same directory, even of two stores.
	Same(Identity) bool
}

// Link is a symbolic link in a store.
type Link struct {
	Name string // relative to the listed directory
	To   Path   // the target, without links
	// Lost means that the link leads out of the store or is broken. No listing shows its
	// target, and To is not set.
	Lost bool
}

// Linker finds the names of one directory. A store needs it if symbolic links or mounts
// can give a directory several names. In other stores, different names are different
// directories.
type Linker interface {
	// Resolve returns the path of dir without symbolic links. Segments that do not exist
	// do not change. A link in dir that leads out of the store is an error.
	Resolve(dir Path) (Path, error)
	// Identify returns the identity of dir, following links. If dir does not exist, the
	// error is [fs.ErrNotExist].
	Identify(dir Path) (Identity, error)
	// Links yields the symbolic links at any depth below dir, in no order. It follows the
	// links that a deep listing follows, and skips a link to a directory that contains
	// the link.
	Links(ctx context.Context, dir Path) iter.Seq2[Link, error]
}

// linker returns the Linker of the store below all wrappers. Wrappers do not change
// directories.
func linker(s Store) (Linker, bool) {
	l, ok := Driver(s).(Linker)
	return l, ok
}

// Resolve returns the path of dir without symbolic links, or dir if s is not a [Linker].
func Resolve(s Store, dir Path) (Path, error) {
	if l, ok := linker(s); ok {
		return l.Resolve(dir)
	}
	return dir, nil
}

// Links yields the symbolic links below dir, or nothing if s is not a [Linker].
func Links(ctx context.Context, s Store, dir Path) iter.Seq2[Link, error] {
	if l, ok := linker(s); ok {
		return l.Links(ctx, dir)
	}
	return func(func(Link, error) bool) {}
}

// Identify returns the identity of dir. It returns nil if dir does not exist or s is not
// a [Linker].
func Identify(s Store, dir Path) (Identity, error) {
	l, ok := linker(s)
	if !ok {
		return nil, nil
	}
	id, err := l.Identify(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return id, err
}

// Identities returns the identities of dir and of all directories above it, after links
// are resolved, up to the top of the store. Directories that do not exist have a nil
// identity. If s is not a [Linker], the result is empty.
func Identities(s Store, dir Path) (ids []Identity, err error) {
	if _, ok := linker(s); !ok {
		return nil, nil
	}
	// Resolve links first: the parents that count are those of the target.
	for dir, err = Resolve(s, dir); err == nil; dir = dir.Parent() {
		var id Identity
		id, err = Identify(s, dir)
		ids = append(ids, id)
		if dir.IsRoot() {
			break
		}
	}
	return ids, err
}

// SameDirectory reports whether two paths name one directory: the paths are equal, or
// their identities are the same.
func SameDirectory(s Store, a, b Path) (bool, error) {
	if a == b {
		return true, nil
	}
	x, err := Identify(s, a)
	if err != nil || x == nil {
		return false, err
	}
	y, err := Identify(s, b)
	return err == nil && y != nil && x.Same(y), err
}
