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
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/internal/joint"
)

// view shows references as a read-only store of Zarr: documents, and chunks, which are
// byte ranges of the sources. It has the powers [store.Stater], [store.Lister]
// and [store.Describer]. Its methods are safe for concurrent use.
type view struct {
	content content
	sources sources
	isFile  bool // it shows a foreign file, and no references that are stored
	reads   joint.Reads
}

// content is what a store shows.
type content interface {
	// find returns the value of a key or a reference to it, or [fs.ErrNotExist].
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

// Traits implements [store.Describer]. Reads of chunks that lie close to each other in a
// file share requests, so more of them may have begun than a store is asked for.
func (s *view) Traits() store.Traits { return store.Traits{Requests: joint.Requests} }

// CheckKey implements [store.Describer]. Nothing can be stored in any case.
func (s *view) CheckKey(store.Key) error { return nil }

// Close closes the stores of the sources.
func (s *view) Close() error { return s.sources.close() }

// Get implements [store.Store].
func (s *view) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
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
func (s *view) read(ctx context.Context, v found, off, n int64, dst []byte) ([]byte, error) {
	from, err := s.sources.of(v.source.Location)
	if err != nil {
		return nil, s.explain(v.source, err)
	}
	at := int64(v.ref.offset) + off
	out, info, err := s.reads.Get(ctx, joint.File{Location: v.source.Location, From: from.store, Key: from.key}, at, n, dst)
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
	// Zip archives round times to two seconds.
	if _, isFolder := store.Driver(t.store).(store.Directories); !isFolder && t.scheme == "file" {
		return ""
	}
	return t.scheme
}

// whollyRead returns an error if a read has got fewer bytes than it asked for.
func whollyRead(got, n, at int64) error {
	if got != n {
		return fmt.Errorf("%w: it ends after %d of %s at %d", errSourceChanged, got, quantity.Count(n, "bytes"), at)
	}
	return nil
}

// explain returns the error of reading a source, or of opening its folder. One that is
// gone is an error, and its chunk never has the fill value.
func (s *view) explain(from Source, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = gone(from.Location)
	case errors.Is(err, errSourceChanged) && s.isFile: // opening it scans it
		err = fmt.Errorf("%w; open it again", err)
	case errors.Is(err, errSourceChanged):
		err = fmt.Errorf("%w; scan it again", err)
	}
	return &SourceError{s.sources.shown(from.Location), err}
}

// gone returns the error of a source that is not there.
func gone(location string) error {
	for _, suffix := range suffixes {
		if _, below, found := driver.CutPath(location, suffix); found && below != "" {
			return fmt.Errorf("%w: it is not there; references lead to bytes as they are stored, not to what other references show, so give virtualize those", errSourceChanged)
		}
	}
	return fmt.Errorf("%w: it is not there any more; put it back", errSourceChanged)
}

// found is the value of a key: bytes, or a reference to them.
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

// found returns the value of a key, with its size.
func (s *view) found(ctx context.Context, key store.Key) (found, error) {
	v, err := s.content.find(ctx, key)
	if err != nil || v.bytes != nil || v.ref.length != whole {
		return v, err
	}
	// The size is needed now, for ranges and for the length of the value.
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
func (s *view) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	v, err := s.found(ctx, key)
	return v.info(), err
}

// List implements [store.Lister]. With versions, it makes no request for a chunk, but
// reads the blocks of the sources, which a plain listing does not need.
func (s *view) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		s.content.list(ctx, &listing{
			dir: dir.String(), deep: how&store.Deep != 0, versions: how&store.WithVersions != 0, seen: map[string]bool{}, yield: yield,
		})
	}
}

// readOnly returns the error of a change.
func (s *view) readOnly() error {
	if s.isFile {
		return fmt.Errorf("%w: a file of another format is only read; copy it to a node (varve copy), and change that", store.ErrUnsupported)
	}
	return fmt.Errorf("%w: references are read-only; scan files into them (varve virtualize), or copy them to an array (varve materialize); varve rm deletes only manifests (.vz)", store.ErrUnsupported)
}

// suffixes end the names of references of all forms.
var suffixes = []string{Suffix, kerchunk.Suffix, kerchunk.ParquetSuffix, kerchunk.LongParquetSuffix}

// isReferences reports whether a path is that of references by its name.
func isReferences(path string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(path, s) })
}

// listing yields the keys in a folder. A flat one yields each folder once.
type listing struct {
	dir  string
	deep bool
	// versions says that chunks have their versions. A plain listing is quicker.
	versions bool
	seen     map[string]bool
	yield    func(store.Entry, error) bool
}

// add yields a key if it is in the folder.
func (l *listing) add(key string, info store.Info) bool {
	rel := key
	if l.dir != "" {
		var ok bool
		if rel, ok = strings.CutPrefix(key, l.dir+"/"); !ok {
			return true
		}
	}
	folder, _, nested := strings.Cut(rel, "/")
	switch {
	case l.deep || !nested:
		return l.yield(store.Entry{Name: rel, Size: info.Size, Version: info.Version}, nil)
	case l.seen[folder]:
		return true
	}
	l.seen[folder] = true
	return l.yield(store.Entry{Name: folder, Dir: true}, nil)
}

// wantsChunks reports whether the listing may have chunks of the array at a path. A flat
// listing above the array has none.
func (l *listing) wantsChunks(path string) bool {
	inside := l.dir == path || strings.HasPrefix(l.dir, path+"/") || path == ""
	above := l.dir == "" || strings.HasPrefix(path, l.dir+"/")
	return inside || above && l.deep
}

// document yields the document of a node.
func (l *listing) document(path string) bool {
	return l.add(strings.TrimPrefix(path+"/"+nodename.V3Node, "/"), store.Info{Size: -1})
}

// version returns the version of bytes of the source. Whoever reads them has made sure
// that the source is the one that was scanned.
func (s *Source) version(r reference) store.Version {
	b := make([]byte, 0, len(s.Location)+len(s.Version)+4*21+5)
	b = append(append(b, s.Location...), ' ')
	b = append(strconv.AppendInt(b, s.Size, 10), ' ')
	b = append(strconv.AppendInt(b, s.Modified, 10), ' ')
	b = append(append(b, s.Version...), ' ')
	b = append(strconv.AppendUint(b, r.offset, 10), ' ')
	return store.MakeVersion(string(strconv.AppendUint(b, r.length, 10)))
}

// openIn opens references in a folder, which is the location of a path in a store.
func openIn(
	ctx context.Context, folder string, access store.Access, open func(home store.Store, dir store.Path, folder string) (*view, error),
) (store.Store, error) {
	if folder == "" {
		folder = "."
	}
	home, dir, err := store.OpenPlain(ctx, folder, store.ReadOnly)
	if err != nil {
		return nil, err
	}
	s, err := open(home, dir, folder)
	if err == nil && access != store.ReadOnly {
		err = s.readOnly()
	}
	if err != nil {
		return nil, errors.Join(err, store.Close(home))
	}
	if from, ok := s.sources.(*sites); ok && from.near() {
		return nearStore{s}, nil
	}
	return s, nil
}

// nearStore is a store of references that lead only to files near by. It is a
// [store.Opener], by which readers know that a request takes almost no time: they read
// parts of chunks where that is less, and no more than they need.
type nearStore struct{ *view }

// Open implements [store.Opener].
func (s nearStore) Open(ctx context.Context, key store.Key) (store.Object, error) {
	v, err := s.found(ctx, key)
	if err != nil {
		return nil, err
	}
	if v.bytes != nil {
		return &object{found: v, store: s.view}, nil
	}
	from, err := s.sources.of(v.source.Location)
	if err != nil {
		return nil, s.explain(v.source, err)
	}
	file, err := store.Open(ctx, from.store, from.key)
	if err == nil {
		if err = v.source.check(file.Info(), from.times()); err != nil {
			_ = file.Close() // nothing was written
		}
	}
	if err != nil {
		return nil, s.explain(v.source, err)
	}
	return &object{v, s.view, file}, nil
}

// shows is a store of references, near or far.
type shows interface{ references() *view }

func (s *view) references() *view { return s }

// referencesOf returns the references that a store shows, or nil if it is another one.
func referencesOf(s store.Store) *view {
	if v, ok := store.As[shows](s); ok {
		return v.references()
	}
	return nil
}

// near reports whether all places where references may lead are near: the folder of the
// manifest, and what the reader has allowed.
func (s *sites) near() bool {
	if _, ok := store.As[store.Opener](s.home); !ok {
		return false
	}
	for _, p := range s.allow {
		if p.scheme != "file" {
			return false
		}
	}
	return true
}

// object is an open chunk.
type object struct {
	found
	store *view
	file  store.Object // its source; nil if it has none
}

// Info implements [store.Object].
func (o *object) Info() store.Info { return o.info() }

// Read implements [store.Object].
func (o *object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	off, n, err := q.Resolve(o.size())
	if err != nil {
		return nil, err
	}
	if o.file == nil {
		return append(dst, o.bytes[off:off+n]...), ctx.Err()
	}
	at := int64(o.ref.offset) + off
	out, err := o.file.Read(ctx, store.Request{Range: store.Span(at, n)}, dst)
	if err == nil {
		err = whollyRead(int64(len(out)-len(dst)), n, at)
	}
	if err != nil {
		return nil, o.store.explain(o.source, err)
	}
	return out, nil
}

// Close implements [store.Object].
func (o *object) Close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
