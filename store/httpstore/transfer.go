// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"slices"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
)

// Get implements [store.Store].
func (s *web) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := s.get(ctx, key, q, dst)
	if err != nil {
		return nil, store.Info{}, s.fail(key, err)
	}
	return out, info, nil
}

// fail adds the name of the key to err.
func (s *web) fail(key store.Key, err error) error {
	if errors.Is(err, errDirectory) {
		err = s.missingDirectory()
	}
	if s.options.Name != nil {
		return fmt.Errorf("%s: %w", s.options.Name(key), err)
	}
	return fmt.Errorf("http: %s: %w", s.name(key), err)
}

// transfer is one Get in progress, or one part of it.
type transfer struct {
	s     *web
	key   store.Key
	q     store.Request
	given int    // length of the caller's slice
	out   []byte // the caller's slice and the bytes received

	head   *parts // the transfer is the head of these
	pinned *parts // the transfer is a part of these, and has their version

	// From the first answer. An interrupted body is resumed where it ended.
	info   store.Info
	off, n int64
	tag    string // strong version, "" if the body cannot be resumed
}

// attempt sends one request, or two if the server cannot answer the first.
func (t *transfer) attempt(ctx context.Context) error {
	if got := int64(len(t.out) - t.given); t.tag != "" && got > 0 && got < t.n {
		return t.resume(ctx, got)
	}
	// The body cannot be resumed, so drop the received bytes.
	t.out, t.tag = t.out[:t.given], ""
	header, ok := t.header()
	if !ok {
		return t.look(ctx)
	}
	r, err := t.s.do(ctx, ask{method: http.MethodGet, key: t.key, bytes: header, match: t.match()})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	switch r.StatusCode {
	case http.StatusOK:
		return t.whole(ctx, r)
	case http.StatusPartialContent:
		// A part that was not requested is not a valid answer.
		if header != "" {
			return t.part(ctx, r)
		}
	case http.StatusRequestedRangeNotSatisfiable:
		// The range lies beyond the value, or the server does not support suffixes.
		drain(r.Body)
		return t.look(ctx)
	}
	return t.refused(r)
}

// header returns the Range header of the first request.
func (t *transfer) header() (value string, ok bool) {
	if t.head == nil {
		return t.q.Range.Header()
	}
	off, _, err := t.q.Range.Resolve(math.MaxInt64)
	if err != nil {
		return "", false
	}
	return store.Span(off, t.s.options.Part).Header()
}

// match returns the version that a part must have, or "".
func (t *transfer) match() string {
	if t.pinned == nil {
		return ""
	}
	return t.pinned.version
}

// refused returns the error for an answer without a value.
func (t *transfer) refused(r *http.Response) error {
	err := t.s.statusError(r)
	// The value was there with this version, so it has another one or none.
	if t.pinned != nil && (r.StatusCode == http.StatusPreconditionFailed || errors.Is(err, fs.ErrNotExist)) {
		return errReplaced
	}
	return err
}

// alone makes the head of parts a transfer of all selected bytes, because the server does
// not answer its request by a range.
func (t *transfer) alone() error {
	if t.head != nil && t.head.begun() {
		return errReplaced // the other parts are being read
	}
	t.head = nil
	return nil
}

// look answers a request for no bytes, or one that the server cannot satisfy, from the
// size of the value. Some servers that support ranges do not support suffixes.
func (t *transfer) look(ctx context.Context) error {
	if t.pinned != nil {
		return errReplaced // the part was there
	}
	if err := t.alone(); err != nil {
		return err
	}
	info, err := t.s.stat(ctx, t.key)
	if err != nil {
		return err
	}
	off, n, err := t.q.Resolve(info.Size)
	if err != nil || n == 0 {
		t.info = info
		return err
	}
	header, _ := store.Span(off, n).Header()
	r, err := t.s.do(ctx, ask{method: http.MethodGet, key: t.key, bytes: header})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	switch r.StatusCode {
	case http.StatusOK:
		return t.whole(ctx, r)
	case http.StatusPartialContent:
		return t.part(ctx, r)
	}
	return t.s.statusError(r)
}

// begin records the headers of the first answer and checks them against the request.
func (t *transfer) begin(r *http.Response, size int64) (err error) {
	t.info = t.s.describe(r, size)
	if t.off, t.n, err = t.q.Resolve(size); err != nil {
		return err
	}
	if t.n > math.MaxInt-int64(t.given) {
		return fmt.Errorf("%w: %s", store.ErrTooLarge, quantity.Count(t.n, "bytes"))
	}
	version, strong := t.s.version(r.Header)
	if strong {
		t.tag = version
	}
	switch {
	case t.head != nil:
		return t.head.begin(t, version, strong)
	// The server may ignore the condition of the request.
	case t.pinned != nil && (!t.info.Same(t.pinned.info) || version != t.pinned.version):
		return errReplaced
	}
	return nil
}

// part reads an answer that is a range.
func (t *transfer) part(ctx context.Context, r *http.Response) error {
	c, err := t.ranged(r)
	if err == nil {
		err = t.begin(r, c.size)
	}
	if err != nil {
		return err
	}
	// A shifted range would put the wrong bytes into the result.
	if c.first != t.off || c.last-c.first+1 != t.n {
		return fmt.Errorf("the server sent bytes %d to %d of %d for %s", c.first, c.last, c.size, t.q.Range)
	}
	return t.fill(ctx, r.Body)
}

// ranged returns the range of bytes that the headers of an answer announce.
func (t *transfer) ranged(r *http.Response) (contentRange, error) {
	if err := plain(r); err != nil {
		return contentRange{}, err
	}
	c, err := parseContentRange(r.Header.Get("Content-Range"))
	if err != nil {
		return c, err
	}
	// Contradictory headers come from broken servers and proxies.
	if n := c.last - c.first + 1; r.ContentLength >= 0 && r.ContentLength != n {
		return c, fmt.Errorf("the server sends bytes %d to %d as %s", c.first, c.last, quantity.Count(r.ContentLength, "bytes"))
	}
	return c, nil
}

// whole reads an answer that is the whole value, even if the request is for a range.
func (t *transfer) whole(ctx context.Context, r *http.Response) error {
	if err := errors.Join(plain(r), delimited(r), t.alone()); err != nil {
		return err
	}
	if r.ContentLength < 0 {
		return t.unmeasured(ctx, r)
	}
	if err := t.begin(r, r.ContentLength); err != nil {
		return err
	}
	if t.off > t.s.options.Discard {
		return fmt.Errorf("%w: the server ignores Range, and %s begin after %s"+remedy.Discard, store.ErrUnsupported, t.q.Range, quantity.Count(t.off, "others"))
	}
	if err := t.skip(ctx, r.Body, t.off); err != nil {
		return err
	}
	if t.off+t.n == t.info.Size {
		return t.fill(ctx, r.Body)
	}
	return t.take(ctx, r.Body) // the rest is not read
}

// unmeasured reads a whole value whose length is not in the headers.
func (t *transfer) unmeasured(ctx context.Context, r *http.Response) error {
	most := int64(math.MaxInt) - int64(t.given)
	all := t.q.Range == store.Whole()
	switch {
	case all && t.q.Limit > 0:
		most = min(most, t.q.Limit)
	case !all:
		most = min(most, t.s.options.Discard)
	}
	// If only a part is selected, the caller's slice must not get the other bytes.
	out := t.out
	if !all {
		out = nil
	}
	value, err := t.until(ctx, r.Body, out, most)
	if errors.Is(err, store.ErrTooLarge) && !all {
		err = fmt.Errorf("%w: the server ignores Range, and the value has more than %s"+remedy.Discard, store.ErrUnsupported, quantity.Count(most, "bytes"))
	}
	if err != nil {
		return err
	}
	if err := t.begin(r, int64(len(value)-len(out))); err != nil {
		return err
	}
	// The body is complete; there is nothing to resume.
	if t.tag = ""; all {
		t.out = value
		return nil
	}
	t.out = append(t.out, value[t.off:t.off+t.n]...)
	return nil
}

// until appends all bytes of a body, up to most.
func (t *transfer) until(ctx context.Context, body io.Reader, dst []byte, most int64) ([]byte, error) {
	given := len(dst)
	var one [1]byte // for reading when dst is full, which may be the end
	for {
		room := dst[len(dst):cap(dst)]
		if len(room) == 0 {
			room = one[:]
		}
		if left := most - int64(len(dst)-given); left < int64(len(room)) {
			room = room[:max(left, 1)] // read one byte more than most, to detect a longer body
		}
		n, err := body.Read(room)
		dst = append(dst, room[:n]...)
		switch {
		case int64(len(dst)-given) > most:
			return nil, fmt.Errorf("%w: more than %s not accepted", store.ErrTooLarge, quantity.Count(most, "bytes are"))
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return nil, t.s.lost(ctx, http.MethodGet, t.s.base.Host, err)
		}
	}
}

// skip discards the first n bytes of a body.
func (t *transfer) skip(ctx context.Context, body io.Reader, n int64) error {
	if _, err := io.CopyN(io.Discard, body, n); err != nil {
		return t.s.lost(ctx, http.MethodGet, t.s.base.Host, err)
	}
	return nil
}

// firstStep is the number of bytes to allocate before any have arrived. Later steps are
// half of the received bytes, if that is more. So a false length in a header takes no
// memory.
const firstStep = 64 << 20

// take reads the missing bytes from a body.
func (t *transfer) take(ctx context.Context, body io.Reader) error {
	for {
		got := len(t.out) - t.given
		left := t.n - int64(got)
		if left == 0 {
			return nil
		}
		if cap(t.out) == len(t.out) {
			t.out = slices.Grow(t.out, int(min(left, int64(max(firstStep, got/2)))))
		}
		room := int(min(left, int64(cap(t.out)-len(t.out))))
		k, err := body.Read(t.out[len(t.out) : len(t.out)+room])
		t.out = t.out[:len(t.out)+k]
		// An error that comes with the last missing byte does not matter.
		if err != nil && int64(k) < left {
			return t.s.lost(ctx, http.MethodGet, t.s.base.Host, err)
		}
	}
}

// fill is take for a body that must end with the last missing byte.
func (t *transfer) fill(ctx context.Context, body io.Reader) error {
	if err := t.take(ctx, body); err != nil {
		return err
	}
	if err := atEnd(body); err != nil {
		t.tag = "" // the answer contradicts its headers, so do not resume it
		return t.s.lost(ctx, http.MethodGet, t.s.base.Host, err)
	}
	return nil
}

// resume requests the missing bytes of an interrupted body, from the same version.
func (t *transfer) resume(ctx context.Context, got int64) error {
	header, _ := store.Span(t.off+got, t.n-got).Header()
	r, err := t.s.do(ctx, ask{method: http.MethodGet, key: t.key, bytes: header, match: t.tag})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode == http.StatusPartialContent {
		c, err := t.ranged(r)
		// Some servers ignore If-Match, so compare the version again.
		version, _ := t.s.version(r.Header)
		same := err == nil && version == t.tag && c.size == t.info.Size
		if same && c.first == t.off+got && c.last == t.off+t.n-1 {
			return t.fill(ctx, r.Body)
		}
	}
	// If the error passes, the tag stays, so the next attempt resumes here.
	if err := t.s.statusError(r); driver.IsTemporary(err) {
		return err
	}
	t.tag = "" // start from the beginning
	return driver.Temporary(errors.New("the value changed while it was read"), 0)
}
