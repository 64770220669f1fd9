package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
)

// Identity tells directories apart, whatever their names are.
type Identity interface {
	// Same reports whether both are surely of one directory, perhaps of two stores.
	Same(Identity) bool
}

// Link is a symbolic link in a store.
type Link struct {
	Name string // relative to the listed directory
	To   Path   // where it leads, without links
	// Lost tells that it leads out of the store, or to nothing: no listing shows what it
	// leads to, and To says nothing.
	Lost bool
}

// Linker is the power to tell which names are of one directory. A store needs it whose
// directories may have several names, because of symbolic links or mounts. Of other
// stores names say it all.
type Linker interface {
	// Resolve returns the path of dir without symbolic links, as far as there is
	// something. A link on the way that leads out of the store is an error.
	Resolve(dir Path) (Path, error)
	// Identify returns the identity of dir; links are followed. A dir that is not there
	// is [fs.ErrNotExist].
	Identify(dir Path) (Identity, error)
	// Links yields the symbolic links at any depth below dir, in no order. It goes
	// through those that a deep listing goes through, and leaves out those that lead to a
	// directory which they are in.
	Links(ctx context.Context, dir Path) iter.Seq2[Link, error]
}

// linker returns the power of the store below all wrappers, which change nothing about
// directories.
func linker(s Store) (Linker, bool) {
	l, ok := Driver(s).(Linker)
	return l, ok
}

// Resolve returns the path of dir without symbolic links, dir itself where s is no
// [Linker].
func Resolve(s Store, dir Path) (Path, error) {
	if l, ok := linker(s); ok {
		return l.Resolve(dir)
	}
	return dir, nil
}

// Links yields the symbolic links below dir, none where s is no [Linker].
func Links(ctx context.Context, s Store, dir Path) iter.Seq2[Link, error] {
	if l, ok := linker(s); ok {
		return l.Links(ctx, dir)
	}
	return func(func(Link, error) bool) {}
}

// Identify returns the identity of dir, nil where it is not there and where s is no
// [Linker].
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

// Identities returns the identities of dir and of all directories that it really is in,
// up to the top of the store. Those that are not there are nil. Of a store that is no
// [Linker] there are none.
func Identities(s Store, dir Path) (ids []Identity, err error) {
	if _, ok := linker(s); !ok {
		return nil, nil
	}
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

// SameDirectory reports whether two paths are of one directory: the paths are the same,
// or the store says so.
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
