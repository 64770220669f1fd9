// Package zipstore is the store of the members of one zip archive: a key is the name of a
// member.
//
// [Open] reads an archive that is a value of another store, so that one on a far server
// is read by ranges, and no more of it than is asked for. [Create] writes an archive,
// once: it appears at its name when it is closed, whole.
//
// # What is read
//
// Members that are stored or deflated, archives of any size (ZIP64). Of several members
// with one name the last entry of the directory counts ([Store.Notes] tells). The archive
// is one version of its value: if it is replaced while it is open, reads fail with
// [store.ErrConflict]. Checksums are compared wherever a member is read to its end.
//
// # What is refused
//
// An archive is refused with [ErrCorrupt] as a whole where readers could disagree on what
// is in it: if its records do not fill their places exactly, if names are no legal keys,
// if members overlap, if sizes cannot be. Nothing is ever extracted, so that names lead
// nowhere. Members that are encrypted, compressed in another way or no files fail by
// themselves.
//
// Source: the format is that of APPNOTE.TXT 6.3.10 of PKWARE; sections are named in the
// comments.
package zipstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr/store"
)

// ErrCorrupt says that bytes are no zip archive, or one that is damaged or made to
// deceive. Get another copy.
var ErrCorrupt = errors.New("zip: damaged archive")

// Options say how an archive is read. The zero Options are the defaults.
type Options struct {
	// Directory is the most bytes of the archive's directory, which is held in memory; 0
	// stands for 256 MiB, some two million members.
	Directory int64
}

// Store reads the members of an archive. It has the powers [store.Stater] and
// [store.Lister], and its methods may be called from several goroutines at once. Make one
// with [Open] and end it with [Store.Close].
type Store struct {
	archive *store.Pinned
	info    store.Info
	members []member // by name
	below   store.Store

	replaced int // members that a later one of the same name replaces
}

// Open opens the archive that is the value at key of s. Store.Close closes s, too, where
// it can be. What is no archive wraps [ErrCorrupt]. A nil opt is the zero [Options].
func Open(ctx context.Context, s store.Store, key store.Key, opt *Options) (*Store, error) {
	z := &Store{archive: store.Pin(s, key, store.Info{}), below: s}
	var o Options
	if opt != nil {
		o = *opt
	}
	if err := z.open(ctx, cmp.Or(max(0, o.Directory), 256<<20)); err != nil {
		return nil, errors.Join(fmt.Errorf("zip: opening %s: %w", key, err), z.archive.Close())
	}
	return z, nil
}

// Close lets go of the archive, and closes the store that it is in.
func (s *Store) Close() error {
	err := s.archive.Close()
	if c, ok := store.As[io.Closer](s.below); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Notes says in what respects the archive was read in one of several ways: one sentence
// each.
func (s *Store) Notes() []string {
	if s.replaced == 0 {
		return nil
	}
	return []string{fmt.Sprintf("members of the zip archive that a later one of the same name replaces: %d; the last entry of the "+
		"directory was read (zarr-python's ZipStore writes another member when a key is set again)", s.replaced)}
}

// find returns the member of a name.
func (s *Store) find(ctx context.Context, key store.Key) (*member, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i, found := slices.BinarySearchFunc(s.members, key.String(), func(m member, name string) int { return strings.Compare(m.name, name) })
	if !found {
		return nil, fs.ErrNotExist
	}
	return &s.members[i], nil
}

// describe returns what is known of a member. It is of the version that the archive is
// of.
func (s *Store) describe(m *member) store.Info {
	return store.Info{Size: m.size, Version: s.info.Version, Modified: s.info.Modified}
}

// Stat implements [store.Stater]. It costs no request.
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	m, err := s.find(ctx, key)
	if err == nil {
		err = m.readable()
	}
	if err != nil {
		return store.Info{}, fail("looking at", key, err)
	}
	return s.describe(m), nil
}

// List implements [store.Lister]. It costs no request, and it is in order.
func (s *Store) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		prefix := ""
		if !dir.IsRoot() {
			prefix = dir.String() + "/"
		}
		i, _ := slices.BinarySearchFunc(s.members, prefix, func(m member, name string) int { return strings.Compare(m.name, name) })
		for i < len(s.members) && strings.HasPrefix(s.members[i].name, prefix) {
			if err := ctx.Err(); err != nil {
				yield(store.Entry{}, fmt.Errorf("zip: listing %q: %w", dir, err))
				return
			}
			e := store.Entry{Name: s.members[i].name[len(prefix):], Size: s.members[i].size}
			next := i + 1
			if child, _, isDir := strings.Cut(e.Name, "/"); isDir && !deep {
				e = store.Entry{Name: child, Dir: true, Size: -1}
				next += behind(s.members[next:], prefix+child+"/")
			}
			if !yield(e, nil) {
				return
			}
			i = next
		}
	}
}

// behind returns how many members come before the first that does not begin with prefix.
func behind(members []member, prefix string) int {
	i, _ := slices.BinarySearchFunc(members, prefix, func(m member, prefix string) int {
		if strings.HasPrefix(m.name, prefix) {
			return -1
		}
		return 1
	})
	return i
}

// fail says what was done to which key when err came up.
func fail(op string, key store.Key, err error) error {
	return fmt.Errorf("zip: %s %s: %w", op, key, err)
}

// corrupt returns an error of a damaged archive.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

var (
	_ store.Stater = (*Store)(nil)
	_ store.Lister = (*Store)(nil)
)
