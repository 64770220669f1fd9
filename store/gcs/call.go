// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/retry"
)

// call is one request of the JSON API.
type call struct {
	method string
	path   string // escaped
	query  url.Values
	header http.Header
	body   [][]byte
}

// request returns the request of a call.
func (s *Store) request(ctx context.Context, c call) *http.Request {
	r := &http.Request{
		Method: c.method, URL: s.url(c.path, c.query), Host: s.endpoint.Host, Header: http.Header{},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	setBody(r, c.body)
	return r.WithContext(ctx)
}

// setBody makes pieces the body of a request, without copying them.
func setBody(r *http.Request, pieces [][]byte) {
	r.Body = http.NoBody
	var readers []io.Reader
	for _, p := range pieces {
		r.ContentLength += int64(len(p))
		readers = append(readers, bytes.NewReader(p))
	}
	if r.ContentLength > 0 {
		r.Body = io.NopCloser(io.MultiReader(readers...))
	}
}

// send makes one attempt of a call, and decodes the answer into to unless it is nil.
func (s *Store) send(ctx context.Context, c call, to any) error {
	r, err := s.answer(ctx, s.request(ctx, c))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode/100 != 2 {
		return s.failure(r)
	}
	switch {
	case to == nil && isPage(r.Header):
		return foreign(r) // or a deletion would have succeeded
	case to == nil:
		_, err = io.CopyN(io.Discard, r.Body, mostFault)
		if err == io.EOF {
			err = nil
		}
	default:
		if err = decode(r.Body, to); errors.As(err, new(*strange)) && isPage(r.Header) {
			err = &strange{-1}
		}
	}
	return lost(ctx, err)
}

// plainKey is the context key of requests that are sent as they are.
type plainKey struct{}

// answer sends a request with those that read: within the same limits, and on the same
// connections. It follows no redirections, which the API does not use.
func (s *Store) answer(ctx context.Context, r *http.Request) (*http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer, err := s.reads.Send(r.WithContext(context.WithValue(ctx, plainKey{}, true)))
	if err != nil {
		return nil, lost(ctx, err)
	}
	return answer, nil
}

// failure returns the error of an answer that is not the expected one.
func (s *Store) failure(r *http.Response) error {
	if err := s.explain(r); err != nil {
		return err
	}
	return &fault{status: r.StatusCode, message: "the service of this endpoint does not answer as Google Cloud Storage does"}
}

// lost returns the error of an answer that did not arrive.
func lost(ctx context.Context, err error) error {
	var refused *errRefused
	var odd *strange
	// Another attempt would end in the same way.
	if ctx.Err() == nil && errors.As(err, &refused) && !refused.passes {
		return refused
	}
	if ctx.Err() == nil && errors.As(err, &odd) {
		return err
	}
	return retry.Network(ctx, err)
}

// do makes attempts of a call that may be repeated.
func (s *Store) do(ctx context.Context, c call, to any) error {
	return s.reads.Do(ctx, func(ctx context.Context) error { return s.send(ctx, c, to) })
}

// fail adds the name of a key to an error.
func (s *Store) fail(what string, key store.Key, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: cannot %s: %w", s.name(key), what, err)
}

// encode returns a value as JSON. The types of this package can always be encoded.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
