package httpstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"

	"varve.dev/zarr/store"
)

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	t := &transfer{s: s, key: key, q: q, given: len(dst), out: dst}
	if err := s.retry(ctx, t.attempt); err != nil {
		return nil, store.Info{}, s.fail(key, err)
	}
	return t.out, t.info, nil
}

// fail returns the error of a key.
func (s *Store) fail(key store.Key, err error) error {
	if errors.Is(err, errDirectory) {
		err = s.missingDirectory()
	}
	return fmt.Errorf("http: %s: %w", s.name(key), err)
}

// transfer is one Get under way.
type transfer struct {
	s     *Store
	key   store.Key
	q     store.Request
	given int    // bytes that the caller's slice had
	out   []byte // these, and the bytes of the value that have come

	// What the first answer told. A body that breaks off is taken up where it ended.
	info   store.Info
	off, n int64
	tag    string // the strong ETag, "" where nothing can be taken up
}

// attempt makes one request, two where the server cannot do what it is asked for.
func (t *transfer) attempt(ctx context.Context) error {
	if got := int64(len(t.out) - t.given); t.tag != "" && got > 0 && got < t.n {
		return t.resume(ctx, got)
	}
	t.out, t.tag = t.out[:t.given], ""
	header, ok := t.q.Range.Header()
	if !ok {
		return t.look(ctx)
	}
	r, err := t.s.do(ctx, ask{method: http.MethodGet, key: t.key, bytes: header})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	switch r.StatusCode {
	case http.StatusOK:
		return t.whole(ctx, r)
	case http.StatusPartialContent:
		if header != "" {
			return t.part(ctx, r)
		}
	case http.StatusRequestedRangeNotSatisfiable:
		drain(r.Body)
		return t.look(ctx)
	}
	drain(r.Body)
	return t.s.statusError(r)
}

// look answers a request for no bytes, or one that the server finds cannot be satisfied,
// from what a look at the value tells. Not every server knows the last bytes of a value,
// but all know those at an offset.
func (t *transfer) look(ctx context.Context) error {
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
	drain(r.Body)
	return t.s.statusError(r)
}

// begin notes what the first answer tells and checks it against the request.
func (t *transfer) begin(r *http.Response, size int64) (err error) {
	t.info = describe(r, size)
	if t.off, t.n, err = t.q.Resolve(size); err != nil {
		return err
	}
	if t.n > math.MaxInt-int64(t.given) {
		return fmt.Errorf("%w: %d bytes", store.ErrTooLarge, t.n)
	}
	if tag := r.Header.Get("ETag"); isStrong(tag) {
		t.tag = tag
	}
	return nil
}

// part takes an answer that is a range.
func (t *transfer) part(ctx context.Context, r *http.Response) error {
	c, err := t.ranged(r)
	if err == nil {
		err = t.begin(r, c.size)
	}
	if err != nil {
		return err
	}
	if c.first != t.off || c.last-c.first+1 != t.n {
		return fmt.Errorf("the server sent bytes %d to %d of %d for %s", c.first, c.last, c.size, t.q.Range)
	}
	return t.fill(ctx, r.Body)
}

// ranged returns which bytes an answer says that it has.
func (t *transfer) ranged(r *http.Response) (contentRange, error) {
	if err := plain(r); err != nil {
		return contentRange{}, err
	}
	c, err := parseContentRange(r.Header.Get("Content-Range"))
	if err != nil {
		return c, err
	}
	if n := c.last - c.first + 1; r.ContentLength >= 0 && r.ContentLength != n {
		return c, fmt.Errorf("the server says that bytes %d to %d are %d bytes", c.first, c.last, r.ContentLength)
	}
	return c, nil
}

// whole takes an answer that is the whole value, which may be more than was asked for.
func (t *transfer) whole(ctx context.Context, r *http.Response) error {
	if err := errors.Join(plain(r), delimited(r)); err != nil {
		return err
	}
	if r.ContentLength < 0 {
		return t.unmeasured(ctx, r)
	}
	if err := t.begin(r, r.ContentLength); err != nil {
		return err
	}
	if t.off > t.s.options.Discard {
		return fmt.Errorf("%w: the server sends no ranges, and %s begin behind %d others (Options.Discard)", store.ErrUnsupported, t.q.Range, t.off)
	}
	if err := t.skip(ctx, r.Body, t.off); err != nil {
		return err
	}
	if t.off+t.n == t.info.Size {
		return t.fill(ctx, r.Body)
	}
	return t.take(ctx, r.Body) // what comes behind is left
}

// unmeasured takes a whole value of a length that shows only in the end.
func (t *transfer) unmeasured(ctx context.Context, r *http.Response) error {
	most := int64(math.MaxInt) - int64(t.given)
	all := t.q.Range == store.Whole()
	switch {
	case all && t.q.Limit > 0:
		most = min(most, t.q.Limit)
	case !all:
		most = min(most, t.s.options.Discard)
	}
	out := t.out
	if !all {
		out = nil
	}
	value, err := t.until(ctx, r.Body, out, most)
	if errors.Is(err, store.ErrTooLarge) && !all {
		err = fmt.Errorf("%w: the server sends no ranges, and the value has more than %d bytes (Options.Discard)", store.ErrUnsupported, most)
	}
	if err != nil {
		return err
	}
	if err := t.begin(r, int64(len(value)-len(out))); err != nil {
		return err
	}
	if t.tag = ""; all {
		t.out = value
		return nil
	}
	t.out = append(t.out, value[t.off:t.off+t.n]...)
	return nil
}

// until appends all bytes of a body, of which there may be most.
func (t *transfer) until(ctx context.Context, body io.Reader, dst []byte, most int64) ([]byte, error) {
	given := len(dst)
	var one [1]byte // read where dst is full, which may be just enough
	for {
		room := dst[len(dst):cap(dst)]
		if len(room) == 0 {
			room = one[:]
		}
		if left := most - int64(len(dst)-given); left < int64(len(room)) {
			room = room[:max(left, 1)] // a byte too many shows that there are too many
		}
		n, err := body.Read(room)
		dst = append(dst, room[:n]...)
		switch {
		case int64(len(dst)-given) > most:
			return nil, fmt.Errorf("%w: more than %d bytes are not accepted", store.ErrTooLarge, most)
		case err == io.EOF:
			return dst, nil
		case err != nil:
			return nil, lost(ctx, err)
		}
	}
}

// skip throws the first n bytes of a body away.
func (t *transfer) skip(ctx context.Context, body io.Reader, n int64) error {
	if _, err := io.CopyN(io.Discard, body, n); err != nil {
		return lost(ctx, err)
	}
	return nil
}

// firstStep is how many bytes are made room for before they have come, or, if that is
// more, half as many as have come: a length that a server only claims takes no memory.
const firstStep = 64 << 20

// take reads from a body what is still missing.
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
		if err != nil && int64(k) < left {
			return lost(ctx, err)
		}
	}
}

// fill is take where nothing may come behind.
func (t *transfer) fill(ctx context.Context, body io.Reader) error {
	if err := t.take(ctx, body); err != nil {
		return err
	}
	if err := atEnd(body); err != nil {
		t.tag = "" // nothing of this answer is to be trusted
		return lost(ctx, err)
	}
	return nil
}

// resume asks for what is missing of a body that broke off, of the same version.
func (t *transfer) resume(ctx context.Context, got int64) error {
	header, _ := store.Span(t.off+got, t.n-got).Header()
	r, err := t.s.do(ctx, ask{method: http.MethodGet, key: t.key, bytes: header, match: t.tag})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode == http.StatusPartialContent {
		c, err := t.ranged(r)
		same := err == nil && r.Header.Get("ETag") == t.tag && c.size == t.info.Size
		if same && c.first == t.off+got && c.last == t.off+t.n-1 {
			return t.fill(ctx, r.Body)
		}
	}
	drain(r.Body)
	if passes(r.StatusCode) {
		return t.s.statusError(r)
	}
	t.tag = "" // begin anew
	return &passing{err: errors.New("the value changed while it was read")}
}
