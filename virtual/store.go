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
	"sync"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// view shows references as a read-only store of Zarr: documents, and chunks, which are
// byte ranges of the sources. It has the powers [store.Stater], [store.Lister]
// and [store.Describer]. Its methods are safe for concurrent use.
type view struct {
	content content
	sources sources
	isFile  bool // it shows a foreign file, and no references that are stored
	joint   joint
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

func newStore(m *Manifest, from sources) *view { return &view{content: newNodes(m), sources: from} }

// Traits implements [store.Describer]. Reads of chunks that lie close to each other in a
// file share requests, so more of them may have begun than a store is asked for.
func (s *view) Traits() store.Traits { return store.Traits{Requests: jointReads} }

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

func init() { store.RegisterFolder(Suffix, openFolder) }

// openFolder opens a stored manifest as a store. It is what a location such as
// archive.vz/t2m opens.
func openFolder(ctx context.Context, folder, name string, access store.Access) (store.Store, error) {
	return openIn(ctx, folder, access, func(home store.Store, dir store.Path, folder string) (*view, error) {
		path, err := dir.Join(name)
		if err != nil {
			return nil, err
		}
		m, err := Open(ctx, home, path)
		if err != nil {
			return nil, err
		}
		from, err := newSites(ctx, home, dir, folder, name)
		return newStore(m, from), err
	})
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

// readOnly returns the error of a change.
func (s *view) readOnly() error {
	if s.isFile {
		return fmt.Errorf("%w: a file of another format is only read; copy it to a node (varve copy), and change that", store.ErrUnsupported)
	}
	return fmt.Errorf("%w: references are read-only; scan files into them (varve virtualize), or copy them to an array (varve materialize); varve rm deletes only manifests (.vz)", store.ErrUnsupported)
}

// joint makes one request of reads of one file that are asked for at the same time and
// lie close to each other: chunks of an array follow each other in most files. In a far
// store a request costs more than the bytes in between.
type joint struct {
	mu      sync.Mutex
	pending map[string][]*piecewise // by the location of the file
	alone   chan struct{}           // see slots
}

// file is a source: a value of a store.
type file struct {
	location string // a store may be of a type that is no key of a map
	from     store.Store
	key      store.Key
}

// piecewise is one read that waits. Its fields are under the lock.
type piecewise struct {
	ctx    context.Context // of the caller
	off, n int64
	dst    []byte // the n bytes go behind it
	out    []byte
	info   store.Info
	err    error
	mu     sync.Mutex
	gone   bool // the caller has given up, and dst is no longer ours
	done   chan struct{}
}

const (
	// jointWait is how long the first read waits for others. It is short compared with a
	// request to a far store.
	jointWait = 500 * time.Microsecond
	// jointGap is the largest number of bytes between two reads of a request.
	jointGap = 64 << 10
	// jointSpan bounds the bytes of a request that has several reads.
	jointSpan = 4 << 20
	// jointReads is how many reads may have begun at the same time. They become fewer
	// requests, and those of a far store are limited by itself.
	jointReads = 256
	// mostAlone is the number of requests at the same time to stores that do not.
	mostAlone = 32
)

// get reads n bytes of a file from an offset on, and appends them to dst.
func (j *joint) get(ctx context.Context, f file, off, n int64, dst []byte) ([]byte, store.Info, error) {
	paced := store.TraitsOf(f.from).Requests > 0
	if _, near := store.As[store.Opener](f.from); !paced && !near {
		return j.getAlone(ctx, f, off, n, dst)
	}
	if !paced || n >= jointSpan {
		return f.from.Get(ctx, f.key, store.Request{Range: store.Span(off, n)}, dst)
	}
	w := &piecewise{ctx: ctx, off: off, n: n, dst: dst, done: make(chan struct{})}
	j.mu.Lock()
	if j.pending == nil {
		j.pending = map[string][]*piecewise{}
	}
	first := len(j.pending[f.location]) == 0
	j.pending[f.location] = append(j.pending[f.location], w)
	j.mu.Unlock()
	if first {
		time.Sleep(jointWait)
		j.mu.Lock()
		all := j.pending[f.location]
		delete(j.pending, f.location)
		j.mu.Unlock()
		if len(all) == 1 { // no other caller shares the request: read into place
			return f.from.Get(ctx, f.key, store.Request{Range: store.Span(off, n)}, dst)
		}
		go f.serve(all) // this caller may give up before the others
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		w.gone = true
		return nil, store.Info{}, ctx.Err()
	}
	if w.isOfAnother() && ctx.Err() == nil {
		return f.from.Get(ctx, f.key, store.Request{Range: store.Span(off, n)}, dst)
	}
	return w.out, w.info, w.err
}

// getAlone reads n bytes of a file of a store that does not limit its requests.
func (j *joint) getAlone(ctx context.Context, f file, off, n int64, dst []byte) ([]byte, store.Info, error) {
	select {
	case j.slots() <- struct{}{}:
		defer func() { <-j.slots() }()
	case <-ctx.Done():
		return nil, store.Info{}, ctx.Err()
	}
	return f.from.Get(ctx, f.key, store.Request{Range: store.Span(off, n)}, dst)
}

// slots has an entry for each request to stores that do not limit them.
func (j *joint) slots() chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.alone == nil {
		j.alone = make(chan struct{}, mostAlone)
	}
	return j.alone
}

// isOfAnother reports whether the error of a shared request may be that of another read:
// its caller has given up, or the file does not have its bytes.
func (w *piecewise) isOfAnother() bool {
	return errors.Is(w.err, context.Canceled) || errors.Is(w.err, context.DeadlineExceeded) || errors.Is(w.err, io.ErrUnexpectedEOF)
}

// serve makes the requests for reads of one file.
func (f file) serve(all []*piecewise) {
	slices.SortFunc(all, func(a, b *piecewise) int { return int(min(max(a.off-b.off, -1), 1)) })
	var requests sync.WaitGroup
	for len(all) > 0 {
		end, k := all[0].off+all[0].n, 1
		for k < len(all) && all[k].off-end <= jointGap && max(end, all[k].off+all[k].n)-all[0].off <= jointSpan {
			end = max(end, all[k].off+all[k].n)
			k++
		}
		group := all[:k]
		all = all[k:]
		if len(all) == 0 {
			f.read(group, end)
			break
		}
		requests.Go(func() { f.read(group, end) })
	}
	requests.Wait()
}

// read makes one request for a group of reads that ends at an offset.
func (f file) read(group []*piecewise, end int64) {
	first := group[0]
	if len(group) == 1 {
		first.out, first.info, first.err = f.from.Get(first.ctx, f.key, store.Request{Range: store.Span(first.off, first.n)}, nil)
		first.finish(first.out)
		return
	}
	data, info, err := f.from.Get(first.ctx, f.key, store.Request{Range: store.Span(first.off, end-first.off)}, nil)
	for _, w := range group {
		w.info, w.err = info, err
		if err != nil {
			w.finish(nil)
			continue
		}
		w.finish(data[w.off-first.off:][:w.n])
	}
}

// finish gives the caller its bytes.
func (w *piecewise) finish(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out = nil; w.err == nil && !w.gone {
		w.out = append(w.dst, data...)
	}
	close(w.done)
}
