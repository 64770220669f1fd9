// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// Get implements [store.Store]. It makes no request for bytes of the expected version
// that the cache has.
func (s *frontStore) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	k := kindOf(q.Range)
	if !s.keeps(key) || k == other {
		return s.below.Get(ctx, key, q, dst)
	}
	if err := ctx.Err(); err != nil {
		return nil, store.Info{}, err
	}
	if info := q.Expect; !info.Version.IsZero() {
		out, err := s.read(ctx, key, info, nil, q, dst)
		return out, info, err
	}
	q.Expect = store.Info{}
	// A value that is replaced again and again is read from the store in the end.
	for try := range 3 {
		info, found, err := s.present(ctx, key, q.Range, k, try == 0)
		switch {
		case err != nil:
			return nil, store.Info{}, err
		case !found:
			return s.first(ctx, key, q, k, dst)
		case info.Version.IsZero():
			return s.below.Get(ctx, key, q, dst)
		}
		out, err := s.read(ctx, key, info, nil, q, dst)
		if !errors.Is(err, store.ErrConflict) {
			return out, info, err
		}
	}
	return s.below.Get(ctx, key, q, dst)
}

// keeps reports whether values of the key may be cached.
func (s *frontStore) keeps(key store.Key) bool {
	return s.place != "" && !own.IsBelow(key.String()) && !own.IsReserved(key.Base())
}

// kind is the kind of a range.
type kind int

const (
	part   kind = iota
	whole       // from the beginning to the end
	suffix      // to the end, from where depends on the size
	other       // illegal
)

// unknown stands for the size of a value that is not known.
const unknown = 1 << 62

func kindOf(r store.Range) kind {
	off, n, err := r.Resolve(unknown)
	switch {
	case err != nil || off == 0 && n == 0:
		return other // also a read of nothing, which only asks for the version
	case n == unknown:
		return whole
	case off > unknown/2:
		return suffix
	}
	return part
}

// present returns the present version of a value of which the cache has something. found
// is false if it has nothing where r begins.
func (s *frontStore) present(ctx context.Context, key store.Key, r store.Range, k kind, trust bool) (info store.Info, found bool, err error) {
	e := newReader()
	defer e.free()
	if !s.probe(key, r, k, e) {
		return store.Info{}, false, nil
	}
	if trust && s.trusts(key, e) {
		return e.known(), true, nil
	}
	now := time.Now()
	if info, err = s.Stat(ctx, key); err == nil && s.opt.MaxAge > 0 && e.is(info) {
		s.renew(e, info, now)
	}
	return info, true, err
}

// probe finds an entry with the version of a value.
func (s *frontStore) probe(key store.Key, r store.Range, k kind, e *reader) bool {
	if k == suffix {
		return s.cache.shelf.find(s.ident(key, sizeOnly, 0), e)
	}
	off, _, _ := r.Resolve(unknown) // kindOf has checked it
	return s.cache.shelf.find(s.ident(key, largeBlock, off/large), e) ||
		s.cache.shelf.find(s.ident(key, smallBlock, off/small), e)
}

// isReplaced reports whether a key is one of metadata, which change without any change of
// their keys: a document, or the references of a repository of Icechunk.
func isReplaced(name string) bool {
	return nodename.IsDocument(name) || name == "repo" || name == "ref.json"
}

// trusts reports whether an entry is used without asking the store.
func (s *frontStore) trusts(key store.Key, e *reader) bool {
	if isReplaced(key.Base()) || s.written.contains(key) {
		return false
	}
	age := time.Since(time.Unix(0, e.fetched))
	// A clock that was set back must not make an entry last for years.
	return s.opt.Immutable || age >= 0 && age < s.opt.MaxAge
}

// renew stores an entry again, which the store has confirmed.
func (s *frontStore) renew(e *reader, info store.Info, now time.Time) {
	h := e.header
	h.info, h.fetched = info, now.UnixNano()
	data, err := e.appendTo(nil, e.off, e.off+e.n)
	if err == nil {
		s.cache.put(h, data)
	}
}

// first reads a value of which the cache has nothing where the range begins.
func (s *frontStore) first(ctx context.Context, key store.Key, q store.Request, k kind, dst []byte) ([]byte, store.Info, error) {
	switch {
	case nodename.IsDocument(key.Base()):
		if k != whole {
			return s.below.Get(ctx, key, q, dst)
		}
		return s.fetchWhole(ctx, key, q, dst)
	case k == part:
		return s.firstPart(ctx, key, q, dst)
	}
	ask := question{key, q}
	f, mine := s.flights.ask(ask)
	if !mine {
		return s.share(ctx, f, key, q, dst)
	}
	var out []byte
	var info store.Info
	var err error
	defer func() {
		if err != nil || info.Version.IsZero() {
			s.flights.answer(ask, f, nil, info)
			return
		}
		s.flights.answer(ask, f, out[len(dst):], info)
	}()
	if k == suffix {
		out, info, err = s.fetchSuffix(ctx, key, q, dst)
	} else {
		out, info, err = s.fetchWhole(ctx, key, q, dst)
	}
	return out, info, err
}

// share returns the result of another reader's flight.
func (s *frontStore) share(ctx context.Context, f *flight, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := f.wait(ctx); err != nil {
		return nil, store.Info{}, err
	}
	if f.data != nil {
		// The flight may have begun before this call, and the value may have changed in
		// between.
		now := f.info
		if s.opt.MaxAge <= 0 && !s.opt.Immutable || s.written.contains(key) {
			var err error
			if now, err = s.Stat(ctx, key); err != nil {
				return nil, store.Info{}, err
			}
		}
		if now.Same(f.info) {
			return append(dst, f.data...), now, nil
		}
	}
	return s.below.Get(ctx, key, q, dst)
}

// firstPart reads a part of a value whose size is not known.
func (s *frontStore) firstPart(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	info, err := s.Stat(ctx, key)
	if err != nil {
		return nil, store.Info{}, err
	}
	if !info.Version.IsZero() {
		out, err := s.read(ctx, key, info, nil, q, dst)
		if !errors.Is(err, store.ErrConflict) {
			return out, info, err
		}
	}
	return s.below.Get(ctx, key, q, dst)
}

// fetchWhole reads a value from the store and keeps it.
func (s *frontStore) fetchWhole(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	now := time.Now()
	out, info, err := s.below.Get(ctx, key, q, dst)
	if err != nil {
		return nil, store.Info{}, err
	}
	// A small document costs as much to ask for as to read.
	if data := out[len(dst):]; int64(len(data)) == info.Size && (info.Size >= small || !nodename.IsDocument(key.Base())) {
		s.cache.missed(info.Size)
		s.keep(key, info, 0, data, now)
	}
	return out, info, nil
}

// fetchSuffix reads the last bytes of a value from the store, and one block more, so that
// all blocks of the suffix can be kept.
func (s *frontStore) fetchSuffix(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	_, n, _ := q.Range.Resolve(unknown) // kindOf has checked it
	if q.Limit > 0 && n > q.Limit {
		return s.below.Get(ctx, key, q, dst) // too large, or the value is small
	}
	now := time.Now()
	b := newBuffer()
	defer b.free()
	data, info, err := s.below.Get(ctx, key, store.Request{Range: store.Suffix(n + small)}, b.bytes[:0])
	if err != nil {
		return nil, store.Info{}, err
	}
	b.bytes = data
	off := info.Size - int64(len(data))
	if _, m, err := q.Range.Resolve(info.Size); err == nil && off >= 0 && m <= int64(len(data)) {
		s.cache.missed(int64(len(data)))
		aligned := (off + small - 1) / small * small
		if s.keep(key, info, aligned, data[min(aligned-off, int64(len(data))):], now); !info.Version.IsZero() {
			s.cache.put(header{id: s.ident(key, sizeOnly, 0), info: info, fetched: now.UnixNano()}, nil)
		}
		return append(dst, data[int64(len(data))-m:]...), info, nil
	}
	return s.below.Get(ctx, key, q, dst) // a driver that breaks the contract
}

// settled is the age from which on a value can no longer be replaced by another one with
// the same weak version, which has times in whole seconds.
const settled = 2 * time.Second

// doubtful reports whether a value that is read from now on may be replaced without
// changing its version. If nobody knows its age, it may.
func doubtful(info store.Info, now time.Time) bool {
	return info.Version.IsWeak() && (info.Modified.IsZero() || now.Sub(info.Modified) < settled)
}

// keep puts bytes from offset off on, which is a multiple of small, into the cache.
func (s *frontStore) keep(key store.Key, info store.Info, off int64, data []byte, now time.Time) {
	if v := info.Version.String(); v == "" || len(v) > mostVersion || doubtful(info, now) {
		return
	}
	for end := off + int64(len(data)); off < end; {
		l := smallBlock
		if off%large == 0 && (end-off >= large || end == info.Size) {
			l = largeBlock
		}
		n := min(l.width(), end-off)
		if n < small && end != info.Size {
			return // not a whole block
		}
		h := header{id: s.ident(key, l, off/l.width()), info: info, off: off, n: n, fetched: now.UnixNano()}
		s.cache.put(h, data[:n])
		off, data = off+n, data[n:]
	}
}

// read appends the bytes of a known version, from the cache where it has them. o is the
// open value, or nil.
func (s *frontStore) read(ctx context.Context, key store.Key, info store.Info, o store.Object, q store.Request, dst []byte) ([]byte, error) {
	pos, n, err := q.Resolve(info.Size)
	if err != nil {
		return nil, fmt.Errorf("cache: %s: %w", key, err)
	}
	// The size may be invented as long as no bytes have come.
	dst = slices.Grow(dst, int(min(n, mostReserved)))
	e := newReader()
	defer e.free()
	for end := pos + n; pos < end; {
		var ok bool
		if dst, pos, ok = s.hit(e, key, info, pos, end, dst); ok {
			continue
		}
		if dst, pos, err = s.miss(ctx, e, key, info, o, pos, end, dst); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// mostReserved bounds the bytes that are reserved before any have come.
const mostReserved = 64 << 20

// hit appends the bytes of [pos, end) that one entry has, from pos on. It returns where
// they end.
func (s *frontStore) hit(e *reader, key store.Key, info store.Info, pos, end int64, dst []byte) ([]byte, int64, bool) {
	for _, l := range [...]level{largeBlock, smallBlock} {
		if !s.cache.shelf.find(s.ident(key, l, pos/l.width()), e) {
			continue
		}
		stop := min(end, e.off+e.n)
		ok := e.is(info) && e.off <= pos && pos < stop
		if ok {
			dst, ok = s.cache.take(e, pos, stop, dst)
		}
		if e.close(); ok {
			return dst, stop, true
		}
	}
	return dst, pos, false
}

// hasBlock reports whether the cache has the block that begins at off.
func (s *frontStore) hasBlock(e *reader, key store.Key, info store.Info, off int64) bool {
	for _, l := range [...]level{largeBlock, smallBlock} {
		if !s.cache.shelf.find(s.ident(key, l, off/l.width()), e) {
			continue
		}
		ok := e.is(info) && e.off <= off && off < e.off+e.n
		if e.close(); ok {
			return true
		}
	}
	return false
}

// miss reads the blocks from pos on that the cache does not have, keeps them, and appends
// their bytes up to end. It returns where these end.
func (s *frontStore) miss(
	ctx context.Context, e *reader, key store.Key, info store.Info, o store.Object, pos, end int64, dst []byte,
) ([]byte, int64, error) {
	first, last := pos-pos%small, end
	if rest := end % small; rest != 0 {
		last = min(info.Size, end-rest+small)
	}
	// Blocks at the end that the cache has are not read again. Those in between are: one
	// request costs less than two.
	for begin := last - 1 - (last-1)%small; begin > first && s.hasBlock(e, key, info, begin); begin -= small {
		last = begin
	}
	f, mine := s.flights.join(key, info.Version, first, last)
	if !mine {
		if err := f.wait(ctx); err != nil {
			return nil, 0, err
		}
		if f.data == nil {
			return dst, pos, nil // the other reader failed, so try it here
		}
		stop := min(end, f.end)
		return append(dst, f.data[pos-f.off:stop-f.off]...), stop, nil
	}
	return s.fly(ctx, f, key, info, o, pos, end, dst)
}

// fly makes the request of a flight.
func (s *frontStore) fly(
	ctx context.Context, f *flight, key store.Key, info store.Info, o store.Object, pos, end int64, dst []byte,
) ([]byte, int64, error) {
	b := newBuffer()
	defer b.free()
	// The waiters get a copy of data, so the flight lands before its buffer is free.
	var data []byte
	defer func() { s.flights.land(key, info.Version, f, data) }()
	stop, now := min(end, f.end), time.Now()
	q := store.Request{Range: store.Span(f.off, f.end-f.off)}
	// Whole blocks go to their place at once.
	if f.off == pos && f.end == stop {
		out, err := s.fetch(ctx, key, info, o, q, dst)
		if err != nil {
			return nil, 0, err
		}
		data = out[len(dst):]
		s.keep(key, info, f.off, data, now)
		return out, stop, nil
	}
	out, err := s.fetch(ctx, key, info, o, q, b.bytes[:0])
	if err != nil {
		return nil, 0, err
	}
	b.bytes, data = out, out
	s.keep(key, info, f.off, data, now)
	return append(dst, data[pos-f.off:stop-f.off]...), stop, nil
}

// fetch reads bytes of a known version from the store.
func (s *frontStore) fetch(ctx context.Context, key store.Key, info store.Info, o store.Object, q store.Request, dst []byte) (out []byte, err error) {
	if o != nil {
		out, err = o.Read(ctx, q, dst)
	} else {
		var now store.Info
		q.Expect = info
		if out, now, err = s.below.Get(ctx, key, q, dst); err == nil && !now.Same(info) {
			return nil, replaced(key)
		}
	}
	if err == nil {
		s.cache.missed(int64(len(out) - len(dst)))
		return out, nil
	}
	// The range lies within this version, so another one may be shorter.
	if errors.Is(err, io.ErrUnexpectedEOF) {
		if now, failed := s.Stat(ctx, key); failed == nil && !now.Same(info) {
			return nil, replaced(key)
		}
	}
	return nil, err
}

// replaced is the error of a read that finds another version.
func replaced(key store.Key) error {
	return fmt.Errorf("%w: %s was replaced while it was read", store.ErrConflict, key)
}

// buffer holds bytes that are not part of a result.
type buffer struct{ bytes []byte }

// mostPooled is the capacity of the largest buffer that is used again.
const mostPooled = 8 << 20

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

func (b *buffer) free() {
	if cap(b.bytes) <= mostPooled {
		buffers.Put(b)
	}
}

// grown returns b with n more bytes, which may have any value.
func grown(b []byte, n int64) []byte { return slices.Grow(b, int(n))[:len(b)+int(n)] }

// flights are the requests in flight for bytes that the cache does not have.
type flights struct {
	mu     sync.Mutex
	blocks map[place]*flight
	values map[question]*flight
}

// place names a small block of one version.
type place struct {
	key     store.Key
	version store.Version
	index   int64
}

// question names a read of a value whose version is not known yet.
type question struct {
	key store.Key
	q   store.Request
}

// flight is one request, for the bytes [off, end) of a value. Its result is set before
// done is closed.
type flight struct {
	off, end int64
	waiters  int // guarded by flights.mu
	done     chan struct{}
	data     []byte // nil if it failed; a copy, which readers share
	info     store.Info
}

// join returns the flight for the block at off, and whether the caller must make the
// request: then it ends before a block that another flight is for.
func (f *flights) join(key store.Key, v store.Version, off, end int64) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.blocks[place{key, v, off / small}]; other != nil {
		other.waiters++
		return other, false
	}
	if f.blocks == nil {
		f.blocks = map[place]*flight{}
	}
	own := &flight{off: off, done: make(chan struct{})}
	for own.end = off; own.end < end; own.end = min(end, own.end+small) {
		p := place{key, v, own.end / small}
		if f.blocks[p] != nil {
			break
		}
		f.blocks[p] = own
	}
	return own, true
}

// land ends a flight of blocks. A nil data means that it failed.
func (f *flights) land(key store.Key, v store.Version, own *flight, data []byte) {
	f.mu.Lock()
	for at := own.off; at < own.end; at += small {
		delete(f.blocks, place{key, v, at / small})
	}
	f.finish(own, data)
}

// ask returns the flight of a question, and whether the caller must make the request.
func (f *flights) ask(q question) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.values[q]; other != nil {
		other.waiters++
		return other, false
	}
	if f.values == nil {
		f.values = map[question]*flight{}
	}
	own := &flight{done: make(chan struct{})}
	f.values[q] = own
	return own, true
}

// answer ends the flight of a question.
func (f *flights) answer(q question, own *flight, data []byte, info store.Info) {
	f.mu.Lock()
	delete(f.values, q)
	own.info = info
	f.finish(own, data)
}

// finish sets the result of a flight that nobody can join any more. It releases the lock,
// which the caller holds.
func (f *flights) finish(own *flight, data []byte) {
	waited := own.waiters > 0
	f.mu.Unlock()
	if waited {
		own.data = bytes.Clone(data) // the reader owns data
	}
	close(own.done)
}

// wait waits for the end of a flight.
func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
