// SPDX-License-Identifier: Apache-2.0

// Package zipstore reads and writes zip archives as stores. A key is the name of a
// member.
//
// [Open] reads an archive that is a value of another store. An archive on a remote server
// is read by ranges, so only the requested members are transferred.
//
// [Create] writes a new archive. [store.Close] is required: it publishes the archive,
// and nothing exists at its name before. A program that ends without calling Close leaves
// no archive, and all that it wrote is lost. Check the error of Close. For an archive
// that the root package created, Close of the node that was created does this.
//
// # What is read
//
// Members may be stored or deflated, and archives may have any size (ZIP64). If several
// members have one name, the last entry of the directory counts, and the notes of the
// nodes that are read say so. An open archive is one version of its value: if it is
// replaced, reads fail with [store.ErrConflict]. Bytes before an archive, as in one that
// extracts itself, are passed over. The checksum of a member is verified whenever it is
// read to its end.
//
// # What is refused
//
// An archive is refused as a whole with [ErrCorrupt] if programs could disagree about its
// content: records that do not fill their places exactly, names that are not legal keys,
// overlapping members, impossible sizes. Nothing is ever extracted, so names cannot lead
// anywhere. Members that are encrypted, compressed by another method, or not regular
// files fail individually.
//
// # Source
//
// The format is that of APPNOTE.TXT 6.3.10 by PKWARE. Comments name its sections.
package zipstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/store"
)

// ErrCorrupt means that bytes are not a zip archive, or that the archive is damaged or
// forged. Get another copy.
var ErrCorrupt = errors.New("damaged zip archive")

// Options configure reading an archive. The zero Options are the defaults.
type Options struct {
	// Directory is the largest size in bytes of the archive's directory, which is held in
	// memory. 0 means 256 MiB, enough for about two million members.
	Directory int64
}

// reader is the store of [Open].
type reader struct {
	archive *store.Pinned
	info    store.Info
	members []member // by name
	below   store.Store

	replaced int // members hidden by a later one of the same name
}

// Open opens the archive that is the value at key of s. The store has the powers
// [store.Stater] and [store.Lister], and is safe for concurrent use. [store.Close] closes
// it and s. If the value is not an archive, the error wraps [ErrCorrupt]. A nil opt means
// the zero [Options].
func Open(ctx context.Context, s store.Store, key store.Key, opt *Options) (store.Store, error) {
	z := &reader{archive: store.Pin(s, key, store.Info{}), below: s}
	var o Options
	if opt != nil {
		o = *opt
	}
	if err := z.open(ctx, cmp.Or(max(0, o.Directory), 256<<20)); err != nil {
		return nil, errors.Join(fmt.Errorf("zip: opening %s: %w", key, err), z.archive.Close())
	}
	return z, nil
}

// Close releases the archive, and closes the store that holds it.
func (s *reader) Close() error {
	return errors.Join(s.archive.Close(), store.Close(s.below))
}

// IsNew implements [archive.Archive].
func (s *reader) IsNew() bool { return false }

// Notes implements [archive.Archive].
func (s *reader) Notes() []string {
	if s.replaced == 0 {
		return nil
	}
	return []string{fmt.Sprintf("members of the zip archive that a later one of the same name replaces: %d; the last entry of the "+
		"directory was read (zarr-python's ZipStore writes another member when a key is set again)", s.replaced)}
}

// find returns the member named key.
func (s *reader) find(ctx context.Context, key store.Key) (*member, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i, found := slices.BinarySearchFunc(s.members, key.String(), func(m member, name string) int { return strings.Compare(m.name, name) })
	if !found {
		return nil, fs.ErrNotExist
	}
	return &s.members[i], nil
}

// describe returns the Info of a member. All members have the version of the archive.
func (s *reader) describe(m *member) store.Info {
	return store.Info{Size: m.size, Version: s.info.Version, Modified: s.info.Modified}
}

// Stat implements [store.Stater]. It makes no request.
func (s *reader) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	m, err := s.find(ctx, key)
	if err == nil {
		err = m.readable()
	}
	if err != nil {
		return store.Info{}, fail("looking at", key, err)
	}
	return s.describe(m), nil
}

// List implements [store.Lister], with versions in any case. It makes no request, and
// yields names in order.
func (s *reader) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
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
			info := s.describe(&s.members[i])
			e := store.Entry{Name: s.members[i].name[len(prefix):], Size: info.Size, Version: info.Version, Modified: info.Modified}
			next := i + 1
			if child, _, isDir := strings.Cut(e.Name, "/"); isDir && how&store.Deep == 0 {
				// All members below this directory give the same entry.
				e = store.Entry{Name: child, Dir: true, Size: -1}
				next += withPrefix(s.members[next:], prefix+child+"/")
			}
			if !yield(e, nil) {
				return
			}
			i = next
		}
	}
}

// withPrefix returns the number of members before the first one without prefix.
func withPrefix(members []member, prefix string) int {
	i, _ := slices.BinarySearchFunc(members, prefix, func(m member, prefix string) int {
		if strings.HasPrefix(m.name, prefix) {
			return -1
		}
		return 1
	})
	return i
}

// fail adds the operation and the key to err.
func fail(op string, key store.Key, err error) error {
	return fmt.Errorf("zip: %s %s: %w", op, key, err)
}

// corrupt returns an error that wraps [ErrCorrupt].
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrCorrupt, fmt.Errorf(format, args...))
}

var (
	_ store.Stater    = (*reader)(nil)
	_ store.Lister    = (*reader)(nil)
	_ archive.Archive = (*reader)(nil)
)
