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
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/internal/driver"
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

// fault is an answer of the service that reports an error.
type fault struct {
	status  int
	message string // of the service, bounded
	reason  string // such as "rateLimitExceeded"
	request string // the ID of the request, for the support of the service
	kind    error  // the kind of error, or nil
	advice  string
	page    bool // the answer is a page for people
}

func (f *fault) Error() string {
	text := "status " + strconv.Itoa(f.status)
	if name := http.StatusText(f.status); name != "" {
		text += " " + name
	}
	if f.message != "" {
		text += ": " + f.message
	}
	// The service says itself that there is no bucket.
	if f.kind != nil && f.kind != store.ErrNoBucket {
		text += ": " + f.kind.Error()
	}
	if f.request != "" {
		text += " (request " + f.request + ")"
	}
	if f.advice != "" {
		text += "; " + f.advice
	}
	return text
}

func (f *fault) Unwrap() error { return f.kind }

// mostFault is the largest number of bytes to read of an answer that reports an error.
const mostFault = 64 << 10

// explain returns the error that an answer reports, or nil for an answer that package
// httpstore knows better. It reads the body.
func (s *Store) explain(r *http.Response) error {
	if text := r.Header.Get(refusalHeader); text != "" {
		return &fault{status: r.StatusCode, message: text, kind: fs.ErrPermission}
	}
	// Redirections are followed or refused by the store of the reads, and a range beyond
	// the value is judged by its size.
	if c := r.StatusCode; c/100 == 3 && c != http.StatusNotModified || c == http.StatusRequestedRangeNotSatisfiable {
		return nil
	}
	body, cut := io.ReadAll(io.LimitReader(r.Body, mostFault)) // what has arrived may explain
	f := &fault{status: r.StatusCode, request: driver.Printable(r.Header.Get("X-Guploader-Uploadid"), 200)}
	f.parse(body)
	switch c := r.StatusCode; {
	// Only the body tells a missing object from a missing bucket.
	case cut != nil && c < 500 && c != http.StatusPreconditionFailed && c != http.StatusTooManyRequests:
		f.advice = "the answer broke off"
		return retry.Temporary(f, 0)
	case s.missing(f):
		f.kind = fs.ErrNotExist
	case c == http.StatusNotFound || c == http.StatusGone:
		s.explainMissing(f)
	case c == http.StatusPreconditionFailed || c == http.StatusNotModified:
		f.kind = store.ErrConflict
	case c == http.StatusUnauthorized:
		f.kind = fs.ErrPermission
		f.advice = "the credentials are missing, expired or refused: sign in again, or read public data with ?token=anon" + driver.ClockAdvice(r.Header)
	case c == http.StatusForbidden && strings.HasSuffix(strings.ToLower(f.reason), "ratelimitexceeded"):
		return retry.Throttled(f, driver.RetryAfter(r.Header))
	case c == http.StatusForbidden:
		s.explainForbidden(f)
	case c == http.StatusBadRequest && strings.Contains(f.message, "requester pays"):
		f.kind, f.advice = fs.ErrPermission, "the bucket's requester pays: name your project with ?user_project="
	case c == http.StatusTooManyRequests:
		return f.throttled(driver.RetryAfter(r.Header))
	case c == http.StatusServiceUnavailable:
		return retry.Throttled(f, driver.RetryAfter(r.Header))
	case c == http.StatusRequestTimeout || c >= 500 && c != http.StatusNotImplemented:
		return retry.Temporary(f, driver.RetryAfter(r.Header))
	}
	return f
}

// explainMissing tells a missing object from a missing bucket.
func (s *Store) explainMissing(f *fault) {
	switch {
	// Values in a bucket that is not there must not be read as fill values.
	case strings.Contains(f.message, "bucket does not exist"):
		f.kind, f.advice = store.ErrNoBucket, "check the name of the bucket "+s.bucket+", or create the bucket first"
	case f.page:
		f.advice = "check the endpoint, and proxies"
	default:
		f.kind = fs.ErrNotExist
	}
}

// missing reports whether the user says that an answer means that there is no object. A
// refusal of credentials or by a quota does not: it may come between two reads.
func (s *Store) missing(f *fault) bool {
	switch f.status {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusGone:
		return false
	case http.StatusForbidden:
		if !strings.Contains(f.message, "may not exist") {
			return false
		}
	}
	return !f.page && slices.Contains(s.options.Reading.Missing, f.status)
}

// explainForbidden tells a missing permission from others. The service answers the same
// for a missing object to a client that may not list.
func (s *Store) explainForbidden(f *fault) {
	f.kind = fs.ErrPermission
	switch {
	case strings.Contains(f.message, "requester pays"):
		f.advice = "the bucket's requester pays: name your project with ?user_project="
	case strings.Contains(f.message, "may not exist"):
		f.advice = "the object may be missing too: the service does not say so to clients that may not list the bucket (option Missing, or --missing)"
	default:
		f.advice = "ask the owner of the bucket for the role Storage Object Viewer to read, or Storage Object User to write"
	}
}

// throttled returns the error of a client that sends too many requests. Too many writes
// of one object say nothing about the load of the service.
func (f *fault) throttled(pause time.Duration) error {
	if f.contended() {
		f.advice = "one object can be written about once a second"
		return retry.Temporary(f, max(pause, time.Second))
	}
	return retry.Throttled(f, pause)
}

// contended reports whether one object is written too often.
func (f *fault) contended() bool {
	return f.status == http.StatusTooManyRequests && (strings.Contains(f.message, "object mutation") || strings.Contains(f.reason, "Mutation"))
}

// contended reports whether the last attempt of a change failed because its object is
// written too often.
func contended(err error) bool {
	var f *fault
	return errors.As(err, &f) && f.contended()
}

// parse reads the body of an error: JSON, or XML, or the text of a proxy.
func (f *fault) parse(body []byte) {
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
		f.message = driver.Printable(j.Error.Message, 500)
		for _, e := range j.Error.Errors {
			f.reason = driver.Printable(e.Reason, 60)
		}
	case xml.Unmarshal(body, &x) == nil && x.Code != "":
		f.reason, f.message = driver.Printable(x.Code, 60), driver.Printable(strings.TrimSpace(x.Message+" "+x.Details), 500)
	case looksLikeHTML(body):
		f.page, f.message = true, pageText
	default:
		f.message = driver.Printable(string(body), 120)
	}
}

// foreign returns the fault that a success of something else than the service is, such as
// the page of a proxy.
func foreign(r *http.Response) *fault {
	f := &fault{status: r.StatusCode, message: "this is no answer of Google Cloud Storage", advice: "check the option endpoint, and proxies"}
	if isPage(r.Header) {
		f.page, f.message = true, pageText
	}
	return f
}

// isPage reports whether an answer is a page for people.
func isPage(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "text/html") }

// pageText is the message of a page for people.
const pageText = "a page of HTML came instead of an answer of the service, as of a proxy"

// looksLikeHTML reports whether a body is a page for people.
func looksLikeHTML(body []byte) bool {
	start := strings.ToLower(driver.Printable(string(body[:min(len(body), 200)]), 200))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

// isRefusal reports whether a request was refused for lack of permission, or was not sent
// for lack of credentials.
func isRefusal(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.As(err, new(*errRefused))
}

// uncertain reports whether a request that failed may have been carried out.
func uncertain(err error) bool {
	var f *fault
	var refused *errRefused
	if errors.As(err, &refused) || errors.Is(err, errSession) {
		return false
	}
	if errors.As(err, &f) {
		return f.status >= 500 || f.status == http.StatusRequestTimeout
	}
	return true
}
