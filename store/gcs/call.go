// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// serviceName is the name of the service in messages.
const serviceName = "Google Cloud Storage"

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
	case to == nil && driver.IsPage(r.Header):
		return driver.Foreign(r, serviceName) // or a deletion would have succeeded
	case to == nil:
		_, err = io.CopyN(io.Discard, r.Body, driver.MostFault)
		if err == io.EOF {
			err = nil
		}
	default:
		if err = decode(r.Body, to); errors.As(err, new(*strange)) && driver.IsPage(r.Header) {
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
	return &driver.Fault{Status: r.StatusCode, Message: "the service of this endpoint does not answer as " + serviceName + " does"}
}

// lost returns the error of an answer that did not arrive.
func lost(ctx context.Context, err error) error {
	if ctx.Err() == nil && errors.As(err, new(*strange)) {
		return err // another attempt would end in the same way
	}
	return driver.Lost(ctx, err)
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

// explain returns the error that an answer reports, or nil for an answer that package
// httpstore knows better. It reads the body.
func (s *Store) explain(r *http.Response) error {
	if f := driver.UnsentFault(r); f != nil {
		return f
	}
	// Redirections are followed or refused by the store of the reads, and a range beyond
	// the value is judged by its size.
	if c := r.StatusCode; c/100 == 3 && c != http.StatusNotModified || c == http.StatusRequestedRangeNotSatisfiable {
		return nil
	}
	body, cut := io.ReadAll(io.LimitReader(r.Body, driver.MostFault)) // what has arrived may explain
	f := &driver.Fault{Status: r.StatusCode, Request: driver.Printable(r.Header.Get("X-Guploader-Uploadid"), 200)}
	parse(f, body)
	switch c := r.StatusCode; {
	// Only the body tells a missing object from a missing bucket.
	case cut != nil && c < 500 && c != http.StatusPreconditionFailed && c != http.StatusTooManyRequests:
		f.Advice = "the answer broke off"
		return driver.Temporary(f, 0)
	case s.missing(f):
		f.Kind = fs.ErrNotExist
	case c == http.StatusNotFound || c == http.StatusGone:
		s.explainMissing(f)
	case c == http.StatusPreconditionFailed || c == http.StatusNotModified:
		f.Kind = store.ErrConflict
	case c == http.StatusUnauthorized:
		f.Kind = fs.ErrPermission
		f.Advice = "the credentials are missing, expired or refused: sign in again, or read public data with ?token=anon" + driver.ClockAdvice(r.Header)
	case c == http.StatusForbidden && strings.HasSuffix(strings.ToLower(f.Reason), "ratelimitexceeded"):
		return driver.Throttled(f, driver.RetryAfter(r.Header))
	case c == http.StatusForbidden:
		s.explainForbidden(f)
	case c == http.StatusBadRequest && strings.Contains(f.Message, "requester pays"):
		f.Kind, f.Advice = fs.ErrPermission, "the bucket's requester pays: name your project with ?user_project="
	case c == http.StatusTooManyRequests:
		return tooMany(f, driver.RetryAfter(r.Header))
	case c == http.StatusServiceUnavailable:
		return driver.Throttled(f, driver.RetryAfter(r.Header))
	case c == http.StatusRequestTimeout || c >= 500 && c != http.StatusNotImplemented:
		return driver.Temporary(f, driver.RetryAfter(r.Header))
	}
	return f
}

// explainMissing tells a missing object from a missing bucket.
func (s *Store) explainMissing(f *driver.Fault) {
	switch {
	// Values in a bucket that is not there must not be read as fill values.
	case strings.Contains(f.Message, "bucket does not exist"):
		f.Kind, f.Advice = store.ErrNoBucket, "check the name of the bucket "+s.bucket+", or create the bucket first"
	case f.Page:
		f.Advice = "check the endpoint, and proxies"
	default:
		f.Kind = fs.ErrNotExist
	}
}

// missing reports whether the user says that an answer means that there is no object. A
// refusal of credentials or by a quota does not: it may come between two reads.
func (s *Store) missing(f *driver.Fault) bool {
	switch f.Status {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusGone:
		return false
	case http.StatusForbidden:
		if !strings.Contains(f.Message, "may not exist") {
			return false
		}
	}
	return !f.Page && slices.Contains(s.options.Reading.Missing, f.Status)
}

// explainForbidden tells a missing permission from others. The service answers the same
// for a missing object to a client that may not list.
func (s *Store) explainForbidden(f *driver.Fault) {
	f.Kind = fs.ErrPermission
	switch {
	case strings.Contains(f.Message, "requester pays"):
		f.Advice = "the bucket's requester pays: name your project with ?user_project="
	case strings.Contains(f.Message, "may not exist"):
		f.Advice = "the object may be missing too: the service does not say so to clients that may not list the bucket (option Missing, or --missing)"
	default:
		f.Advice = "ask the owner of the bucket for the role Storage Object Viewer to read, or Storage Object User to write"
	}
}

// tooMany returns the error of a client that sends too many requests. Too many writes
// of one object say nothing about the load of the service.
func tooMany(f *driver.Fault, pause time.Duration) error {
	if contended(f) {
		f.Advice = "one object can be written about once a second"
		return driver.Temporary(f, max(pause, time.Second))
	}
	return driver.Throttled(f, pause)
}

// contended reports whether the last attempt of a change failed because its object is
// written too often.
func contended(err error) bool {
	var f *driver.Fault
	return errors.As(err, &f) && f.Status == http.StatusTooManyRequests && (strings.Contains(f.Message, "object mutation") || strings.Contains(f.Reason, "Mutation"))
}

// parse reads the body of an error: JSON, or XML, or the text of a proxy.
func parse(f *driver.Fault, body []byte) {
	var j struct {
		Error struct {
			Message string `json:"message"`
			Errors  []struct {
				Reason string `json:"reason"`
			} `json:"errors"`
		} `json:"error"`
	}
	var x struct {
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
		Details string `xml:"Details"`
	}
	switch {
	case json.Unmarshal(body, &j) == nil:
		f.Message = driver.Printable(j.Error.Message, 500)
		for _, e := range j.Error.Errors {
			f.Reason = driver.Printable(e.Reason, 60)
		}
	case xml.Unmarshal(body, &x) == nil && x.Code != "":
		f.Reason, f.Message = driver.Printable(x.Code, 60), driver.Printable(strings.TrimSpace(x.Message+" "+x.Details), 500)
	case driver.LooksLikePage(body):
		f.Page, f.Message = true, driver.PageText
	default:
		f.Message = driver.Printable(string(body), 120)
	}
}
