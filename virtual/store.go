// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// Store shows references as a read-only store of Zarr: documents, and chunks, which are
// byte ranges of the sources. It has the powers [store.Stater], [store.Lister],
// [store.VersionLister] and [store.Pacer]. Its methods are safe for concurrent use.
type Store struct {
	content content
	sources sources
	isFile  bool // it shows a foreign file, and no references that are stored
	joint   joint
}

// content is what a store shows.
type content interface {
	// find returns what a key has, or [fs.ErrNotExist].
	find(ctx context.Context, key store.Key) (found, error)
	// list yields the keys below a folder.
	list(ctx context.Context, l *listing)
	// countStored returns how many chunks of an array are stored, or as many of them as
	// are enough for [fewAbsent]. The array has so many chunks by its document.
	countStored(ctx context.Context, array string, chunks int64) (int64, error)
}

// sources finds the files that references lead to.
type sources interface {
	of(location string) (target, error)
	// shown returns a location for messages: absolute, and without secrets.
	shown(location string) string
	close() error
}

func newStore(m *Manifest, from sources) *Store { return &Store{content: newNodes(m), sources: from} }

// Requests implements [store.Pacer]. Reads of chunks that lie close to each other in a
// file share requests, so more of them may have begun than a store is asked for.
func (s *Store) Requests() int { return jointReads }

// Close closes the stores of the sources.
func (s *Store) Close() error { return s.sources.close() }

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	v, err := s.found(ctx, key)
	if err != nil {
		return nil, store.Info{}, err
	}
	off, n, err := q.Resolve(v.size())
	if err != nil {
		return nil, store.Info{}, err
	}
	if v.bytes == nil {
		dst, err = s.read(ctx, v, off, n, dst)
	} else {
		dst = append(dst, v.bytes[off:off+n]...)
	}
	if err != nil {
		return nil, store.Info{}, err
	}
	return dst, v.info(), nil
}

// read appends bytes of a chunk.
func (s *Store) read(ctx context.Context, v found, off, n int64, dst []byte) ([]byte, error) {
	from, err := s.sources.of(v.source.Location)
	if err != nil {
		return nil, s.explain(v.source, err)
	}
	at := int64(v.ref.offset) + off
	out, info, err := s.joint.get(ctx, file{v.source.Location, from.store, from.key}, at, n, dst)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		// The source is shorter, or an answer was cut.
		if now, statErr := store.Stat(ctx, from.store, from.key); statErr == nil {
			err = cmp.Or(v.source.check(now, ""), err)
		}
	}
	if err == nil {
		err = v.source.check(info, from.times())
	}
	if err == nil {
		err = whollyRead(int64(len(out)-len(dst)), n, at)
	}
	if err != nil {
		return nil, s.explain(v.source, err)
	}
	return out, nil
}

// times returns the scheme of a target, by which its times are compared: an archive on
// this machine has rounded ones.
func (t target) times() string {
	if _, isFolder := store.Driver(t.store).(*filestore.Store); !isFolder && t.scheme == "file" {
		return ""
	}
	return t.scheme
}

// whollyRead returns an error if a read has got fewer bytes than it asked for.
func whollyRead(got, n, at int64) error {
	if got != n {
		return fmt.Errorf("%w: it ends after %d of %d bytes at %d", ErrSourceChanged, got, n, at)
	}
	return nil
}

// explain returns the error of reading a source, or of opening its folder. One that is
// gone is an error, and its chunk never has the fill value.
func (s *Store) explain(from Source, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = gone(from.Location)
	case errors.Is(err, ErrSourceChanged) && s.isFile: // opening it scans it
		err = fmt.Errorf("%w; open it again", err)
	case errors.Is(err, ErrSourceChanged):
		err = fmt.Errorf("%w; scan it again", err)
	}
	return &SourceError{s.sources.shown(from.Location), err}
}

// gone returns the error of a source that is not there.
func gone(location string) error {
	for _, suffix := range suffixes {
		if _, below, found := store.CutPath(location, suffix); found && below != "" {
			return fmt.Errorf("%w: it is not there; references lead to bytes as they are stored, not to what other references show, so give virtualize those", ErrSourceChanged)
		}
	}
	return fmt.Errorf("%w: it is not there any more; put it back", ErrSourceChanged)
}

// found is what a key has: bytes, or a reference to them.
type found struct {
	bytes  []byte
	ref    reference
	source Source
}

func (f *found) size() int64 {
	if f.bytes != nil {
		return int64(len(f.bytes))
	}
	return int64(f.ref.length)
}

func (f *found) info() store.Info {
	if f.bytes != nil {
		sum := sha256.Sum256(f.bytes)
		return store.Info{Size: f.size(), Version: store.MakeVersion(hex.EncodeToString(sum[:]))}
	}
	return store.Info{Size: f.size(), Version: f.source.version(f.ref)}
}

// found returns what a key has, with its size.
func (s *Store) found(ctx context.Context, key store.Key) (found, error) {
	v, err := s.content.find(ctx, key)
	if err != nil || v.bytes != nil || v.ref.length != whole {
		return v, err
	}
	from, err := s.sources.of(v.source.Location)
	if err != nil {
		return v, s.explain(v.source, err)
	}
	info, err := store.Stat(ctx, from.store, from.key)
	if err != nil { // also if it is gone: else the chunk would seem to be missing
		return v, s.explain(v.source, err)
	}
	v.ref.length = uint64(info.Size)
	return v, nil
}

// Stat implements [store.Stater]. For a chunk it makes no request, unless the chunk is a
// whole source of unknown size.
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	v, err := s.found(ctx, key)
	return v.info(), err
}

// List implements [store.Lister].
func (s *Store) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		s.content.list(ctx, &listing{dir: dir.String(), deep: deep, seen: map[string]bool{}, yield: yield})
	}
}

// ListVersions implements [store.VersionLister]. It makes no request for a chunk, but
// reads the blocks of the sources, which a plain listing does not need.
func (s *Store) ListVersions(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		l := &listing{dir: dir.String(), deep: deep, versions: true, seen: map[string]bool{}}
		l.yield = func(e store.Entry, err error) bool {
			if err == nil && !e.Dir && (e.Size < 0 || e.Version.IsZero()) { // documents, and sources as a whole
				var info store.Info
				if info, err = s.Stat(ctx, dir.MustKey(e.Name)); err == nil {
					e.Size, e.Version, e.Modified = info.Size, info.Version, info.Modified
				}
			}
			return yield(e, err)
		}
		s.content.list(ctx, l)
	}
}
