// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/store"
)

const (
	// mostParts is the largest number of parts of one value that are requested at the
	// same time. Clouds give 50 to 90 MB/s to a connection, so these fill a fast network.
	mostParts = 32
	// mostReplaced is how often a value may be replaced while its parts are read.
	mostReplaced = 3
)

var (
	// errReplaced means that the parts of a value have several versions.
	errReplaced = fmt.Errorf("%w: the value was replaced while it was read", store.ErrConflict)
	// errNoParts means that the parts of a value cannot be known to have one version.
	errNoParts = errors.New("the server sends no strong versions")
)

// get reads a value, in parts if it is large ([Options.Part]).
func (s *web) get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	for tries := 1; s.splits(q); tries++ {
		out, info, err := s.inParts(ctx, key, q, dst)
		switch {
		case errors.Is(err, errNoParts):
			s.noParts.Store(true)
		case !errors.Is(err, errReplaced) || tries == mostReplaced:
			return out, info, err
		}
	}
	t := &transfer{s: s, key: key, q: q, given: len(dst), out: dst}
	if err := s.Do(ctx, t.attempt); err != nil {
		return nil, store.Info{}, err
	}
	return t.out, t.info, nil
}

// splits reports whether a request may select more bytes than a part has. The size of a
// suffix is known only after the first answer; these are short in practice.
func (s *web) splits(q store.Request) bool {
	part := s.options.Part
	if part <= 0 || s.noParts.Load() || q.Limit > 0 && q.Limit <= part {
		return false
	}
	_, n, err := q.Range.Resolve(1<<63 - 1)
	return err == nil && n > part && q.Range != store.Suffix(n)
}

// parts is one value that is read in parts:
//
//  1. The head is a request for the first part. The headers of its answer contain the
//     size and the version of the value.
//  2. While the body of the head arrives, the other parts are requested, each pinned to
//     this version. They are read into the caller's slice in place.
//  3. An answer with another version ends all of them. The read begins again at 1.
//
// Each part is retried and resumed separately. A slice that lacks capacity grows in
// steps, as that of a transfer does, with steps 2 and 3 for each.
type parts struct {
	s       *web
	key     store.Key
	ctx     context.Context // ends all parts
	cancel  context.CancelCauseFunc
	all     sync.WaitGroup
	info    store.Info
	version string
	off, n  int64 // the selected bytes
	room    int64 // bytes requested in step 2, with the head
}

// inParts reads a value once.
func (s *web) inParts(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	p := &parts{s: s, key: key}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	defer p.cancel(nil)
	head := &transfer{s: s, key: key, q: q, given: len(dst), out: dst, head: p}
	if err := s.Do(p.ctx, head.attempt); err != nil {
		p.cancel(err)
	}
	// Nothing may write to the slice after Get returns.
	if p.all.Wait(); ctx.Err() != nil {
		return nil, store.Info{}, ctx.Err()
	}
	if err := context.Cause(p.ctx); err != nil {
		return nil, store.Info{}, err
	}
	out := head.out
	if p.begun() {
		out = out[:int64(len(dst))+p.room]
	}
	for int64(len(out)-len(dst)) < p.n {
		got := int64(len(out) - len(dst))
		var room int64
		out, room = p.space(out, p.n-got)
		p.fill(out[len(out):len(out)+int(room)], p.off+got)
		if p.all.Wait(); ctx.Err() != nil {
			return nil, store.Info{}, ctx.Err()
		}
		if err := context.Cause(p.ctx); err != nil {
			return nil, store.Info{}, err
		}
		out = out[:len(out)+int(room)]
	}
	return out, head.info, nil
}

// space returns out with room for the next step, and the number of bytes of the step: all
// that are left, or whole parts of them if out lacks capacity. See [firstStep].
func (p *parts) space(out []byte, left int64) ([]byte, int64) {
	part := p.s.options.Part
	if int64(cap(out)-len(out)) < left {
		out = slices.Grow(out, int(min(left, max(firstStep, part, int64(len(out)/2)))))
	}
	room := int64(cap(out) - len(out))
	if room >= left {
		return out, left
	}
	return out, room - room%part
}

// begun reports whether step 2 has begun.
func (p *parts) begun() bool { return p.version != "" }

// begin is step 2, when the headers of the head t have come. It reports through t what
// remains for the head.
func (p *parts) begin(t *transfer, version string, strong bool) error {
	most := p.s.options.Part
	switch {
	case p.begun():
		// The head was requested again.
		if !t.info.Same(p.info) || version != p.version {
			return errReplaced
		}
		t.n = most
		return nil
	case t.n <= most:
		return nil
	case !strong:
		return errNoParts
	}
	p.info, p.version, p.off, p.n = t.info, version, t.off, t.n
	t.out, p.room = p.space(t.out, p.n)
	t.n = most
	p.fill(t.out[t.given+int(most):t.given+int(p.room)], t.off+most)
	return nil
}

// fill begins to read the bytes from offset off on into dst.
func (p *parts) fill(dst []byte, off int64) {
	part := int(p.s.options.Part)
	count := (len(dst) + part - 1) / part
	var next atomic.Int64
	for range min(count, mostParts) {
		p.all.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && p.ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				begin, end := i*part, min(len(dst), (i+1)*part)
				if err := p.read(dst[begin:begin:end], off+int64(begin)); err != nil {
					p.cancel(err)
				}
			}
		})
	}
}

// read reads one part into the capacity of dst.
func (p *parts) read(dst []byte, off int64) error {
	q := store.Request{Range: store.Span(off, int64(cap(dst)))}
	t := &transfer{s: p.s, key: p.key, q: q, out: dst, pinned: p}
	return p.s.Do(p.ctx, t.attempt)
}

// Stat implements [store.Stater] with HEAD. If the server does not answer HEAD properly,
// Stat requests the first byte.
func (s *web) Stat(ctx context.Context, key store.Key) (info store.Info, err error) {
	err = s.Do(ctx, func(ctx context.Context) error {
		info, err = s.stat(ctx, key)
		return err
	})
	if err != nil {
		return store.Info{}, s.fail(key, err)
	}
	return info, nil
}

// stat makes one attempt.
func (s *web) stat(ctx context.Context, key store.Key) (store.Info, error) {
	if s.noHead.Load() {
		return s.firstByte(ctx, key)
	}
	r, err := s.do(ctx, ask{method: http.MethodHead, key: key})
	if err != nil {
		return store.Info{}, err
	}
	switch c := r.StatusCode; {
	case c == http.StatusOK && r.ContentLength >= 0 && plain(r) == nil:
		drain(r.Body)
		return s.describe(r, r.ContentLength), nil
	case s.missing(c) || passes(c) || c == http.StatusUnauthorized:
		return store.Info{}, s.statusError(r)
	}
	drain(r.Body)
	// Some servers answer HEAD with an error or without a length.
	info, err := s.firstByte(ctx, key)
	if err == nil {
		// GET works where HEAD does not. Skip HEAD from now on.
		s.noHead.Store(true)
	}
	return info, err
}

// firstByte requests the first byte of a value. The answer contains its size.
func (s *web) firstByte(ctx context.Context, key store.Key) (store.Info, error) {
	r, err := s.do(ctx, ask{method: http.MethodGet, key: key, bytes: "bytes=0-0"})
	if err != nil {
		return store.Info{}, err
	}
	defer r.Body.Close()
	switch c := r.StatusCode; {
	case c == http.StatusOK && r.ContentLength < 0:
		return store.Info{}, fmt.Errorf("%w: the server does not send the length of the value", store.ErrUnsupported)
	case c == http.StatusOK:
		return s.describe(r, r.ContentLength), plain(r)
	// An empty value has no first byte; the answer 416 contains its size too.
	case c == http.StatusPartialContent || c == http.StatusRequestedRangeNotSatisfiable:
		drain(r.Body)
		size, err := parseContentRange(r.Header.Get("Content-Range"))
		if err != nil {
			return store.Info{}, err
		}
		return s.describe(r, size.size), plain(r)
	}
	return store.Info{}, s.statusError(r)
}

// missingDirectory is the error of a key that is a directory of the server.
func (s *web) missingDirectory() error { return fmt.Errorf("%w, %w", errDirectory, fs.ErrNotExist) }
