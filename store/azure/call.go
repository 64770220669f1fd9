// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"unicode/utf8"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/retry"
)

// call is one request of the REST API.
type call struct {
	method string
	blob   string // "" for the container
	query  url.Values
	header http.Header
	body   []byte
}

// plainKey is the context key of requests that are sent as they are.
type plainKey struct{}

// send makes one attempt of a call, and returns the headers of the answer. read, unless
// nil, reads the body.
func (s *Store) send(ctx context.Context, c call, read func(io.Reader) error) (http.Header, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	u := s.url(c.blob, c.query)
	r := &http.Request{
		Method: c.method, URL: u, Host: u.Host, Header: http.Header{}, Body: http.NoBody, ContentLength: int64(len(c.body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	for name, values := range c.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if len(c.body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(c.body))
	}
	// Within the limits of those that read, and on the same connections.
	answer, err := s.reads.Send(r.WithContext(context.WithValue(ctx, plainKey{}, true)))
	if err != nil {
		return nil, lost(ctx, err)
	}
	defer drain(answer.Body)
	if answer.StatusCode/100 != 2 {
		if err := s.explain(answer); err != nil {
			return nil, err
		}
		return nil, &fault{status: answer.StatusCode, message: "the service of this endpoint does not answer as Azure Blob Storage does"}
	}
	if !own(answer.Header) {
		return nil, foreign(answer)
	}
	if read != nil {
		err = read(answer.Body)
	}
	return answer.Header, lost(ctx, err)
}

// lost returns the error of an answer that did not arrive.
func lost(ctx context.Context, err error) error {
	var refused *errRefused
	if ctx.Err() == nil && errors.As(err, &refused) && !refused.passes {
		return refused // another attempt would end in the same way
	}
	return retry.Network(ctx, err)
}

// do makes attempts of a call that may be repeated.
func (s *Store) do(ctx context.Context, c call) (h http.Header, err error) {
	err = s.reads.Do(ctx, func(ctx context.Context) (err error) {
		h, err = s.send(ctx, c, nil)
		return err
	})
	return h, err
}

// drain reads the rest of a short answer, so that the connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, mostFault)
	body.Close()
}

// fail adds the name of a key to an error.
func (s *Store) fail(what string, key store.Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: cannot %s: %w", s.name(key), what, err)
}

// mayWrite returns an error if the store is for reading only, or if the service has no
// such name: names are text.
func (s *Store) mayWrite(key store.Key) error {
	if s.options.ReadOnly {
		return fmt.Errorf("%s: %w: the store was opened for reading", s.name(key), fs.ErrPermission)
	}
	return s.CheckKey(key)
}

// CheckKey implements [store.KeyChecker].
func (s *Store) CheckKey(key store.Key) error {
	if !utf8.ValidString(key.String()) {
		return fmt.Errorf("%s: %w: the name is not valid UTF-8", strconv.QuoteToASCII(s.name(key)), store.ErrInvalidKey)
	}
	return nil
}

// noVersion is the error of a condition without a version that a blob can have.
func noVersion(v store.Version) error {
	return fmt.Errorf("%w: the condition asks for version %.40q, which no blob has", store.ErrConflict, v)
}

// isTag reports whether a version is an ETag.
func isTag(v store.Version) bool {
	text := v.String()
	return len(text) > 2 && text[0] == '"' && text[len(text)-1] == '"'
}

// Delete implements [store.Deleter].
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	if err := s.mayWrite(key); err != nil {
		return err
	}
	_, err := s.do(ctx, s.deletion(key))
	if isMissing(err) {
		return nil
	}
	return s.fail("delete", key, err)
}

// deletion returns the call that deletes a blob and its snapshots.
func (s *Store) deletion(key store.Key) call {
	return call{method: http.MethodDelete, blob: s.blob(key), header: http.Header{"X-Ms-Delete-Snapshots": {"include"}}}
}

// DeleteIf implements [store.ConditionalDeleter].
func (s *Store) DeleteIf(ctx context.Context, key store.Key, v store.Version) error {
	if err := s.mayWrite(key); err != nil {
		return err
	}
	if !isTag(v) {
		return s.fail("delete", key, noVersion(v))
	}
	c := s.deletion(key)
	c.header.Set("If-Match", v.String())
	doubt := false
	err := s.reads.Do(ctx, func(ctx context.Context) error {
		_, err := s.send(ctx, c, nil)
		switch {
		case err == nil:
			return nil
		case isMissing(err) || isConflict(err):
			if doubt {
				return unknown(err)
			}
			return conflict(err)
		}
		doubt = doubt || uncertain(err)
		return err
	})
	return s.fail("delete", key, err)
}
