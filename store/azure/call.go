// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// serviceName is the name of the service in messages, and noun what it calls a value.
const (
	serviceName = "Azure Blob Storage"
	noun        = "blob"
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
		return nil, driver.Lost(ctx, err)
	}
	defer drain(answer.Body)
	if answer.StatusCode/100 != 2 {
		if err := s.explain(answer); err != nil {
			return nil, err
		}
		return nil, &driver.Fault{Status: answer.StatusCode, Message: "the service of this endpoint does not answer as " + serviceName + " does"}
	}
	if !own(answer.Header) {
		return nil, driver.Foreign(answer, serviceName)
	}
	if read != nil {
		err = read(answer.Body)
	}
	return answer.Header, driver.Lost(ctx, err)
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
	_, _ = io.CopyN(io.Discard, body, driver.MostFault)
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
	return driver.CheckWrite(key, s.name(key), s.options.ReadOnly)
}

// CheckKey implements [store.Describer].
func (s *Store) CheckKey(key store.Key) error { return driver.CheckText(key, s.name(key)) }

// isTag reports whether a version is an ETag.
func isTag(v store.Version) bool {
	text := v.String()
	return len(text) > 2 && text[0] == '"' && text[len(text)-1] == '"'
}

func (s *Store) delete(ctx context.Context, key store.Key) error {
	if err := s.mayWrite(key); err != nil {
		return err
	}
	_, err := s.do(ctx, s.deletion(key))
	if driver.IsMissing(err) {
		return nil
	}
	return s.fail("delete", key, err)
}

// deletion returns the call that deletes a blob and its snapshots.
func (s *Store) deletion(key store.Key) call {
	return call{method: http.MethodDelete, blob: s.blob(key), header: http.Header{"X-Ms-Delete-Snapshots": {"include"}}}
}

func (s *Store) deleteIf(ctx context.Context, key store.Key, v store.Version) error {
	if err := s.mayWrite(key); err != nil {
		return err
	}
	if !isTag(v) {
		return s.fail("delete", key, driver.NoVersion(v, noun))
	}
	c := s.deletion(key)
	c.header.Set("If-Match", v.String())
	_, err := driver.Attempts(s.reads.Do).Delete(ctx, func(ctx context.Context) error {
		_, err := s.send(ctx, c, nil)
		return err
	})
	return s.fail("delete", key, err)
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
	f := &driver.Fault{
		Status: r.StatusCode, Code: driver.Printable(r.Header.Get("X-Ms-Error-Code"), 60), Request: driver.Printable(r.Header.Get("X-Ms-Request-Id"), 80),
	}
	parseFault(f, body)
	// An answer to HEAD has no body. Those of the service have a version or an ID.
	if r.Request != nil && r.Request.Method == http.MethodHead && !own(r.Header) && f.Request == "" {
		other := driver.Foreign(r, serviceName)
		f.Page, f.Message, f.Advice = true, other.Message, other.Advice
	}
	pause := driver.RetryAfter(r.Header)
	switch c := r.StatusCode; {
	// Only the code tells a missing blob from a missing container.
	case cut != nil && f.Code == "" && c < 500 && c != http.StatusPreconditionFailed && c != http.StatusTooManyRequests:
		f.Advice = "the answer broke off"
		return driver.Temporary(f, pause)
	// Values in a container that is not there must not be read as fill values.
	case f.Code == "ContainerBeingDeleted":
		f.Kind, f.Advice = store.ErrNoBucket, "the container "+s.container+" is being deleted: try again in half a minute"
	case f.Code == "ContainerNotFound":
		f.Kind, f.Advice = store.ErrNoBucket, "the container does not exist: check the name of the container "+s.container+", or create the container first"
	case f.Code == "ResourceNotFound" && anonymous(r):
		s.explainForbidden(f, r)
	case s.missing(f):
		f.Kind = fs.ErrNotExist
	case c == http.StatusPreconditionFailed || c == http.StatusNotModified || conflicts[f.Code]:
		f.Kind = store.ErrConflict
	case c == http.StatusConflict && (f.Code == "PublicAccessNotPermitted" || f.Code == "BlobImmutableDueToPolicy"):
		f.Kind = fs.ErrPermission
	case c == http.StatusUnauthorized || c == http.StatusForbidden:
		s.explainForbidden(f, r)
	case c == http.StatusTooManyRequests || c == http.StatusServiceUnavailable:
		return driver.Throttled(f, pause)
	case c == http.StatusRequestTimeout || c >= 500 && c != http.StatusNotImplemented:
		return driver.Temporary(f, pause)
	}
	return f
}

// own reports whether an answer is of the service: it names the version of the API, which
// a page of a proxy does not.
func own(h http.Header) bool { return h.Get("X-Ms-Version") != "" }

// missing reports whether an answer means that there is no blob. A page of a proxy does
// not, and neither does a refusal of credentials, which may expire between two reads.
func (s *Store) missing(f *driver.Fault) bool {
	switch {
	case f.Page:
		return false
	case f.Status == http.StatusNotFound || f.Status == http.StatusGone:
		return true
	case f.Status == http.StatusUnauthorized:
		return false
	case f.Status == http.StatusForbidden && f.Code != "AuthorizationPermissionMismatch":
		return false
	}
	return slices.Contains(s.options.Reading.Missing, f.Status)
}

// anonymous reports whether the request of an answer had no credentials. The service
// then answers for a private container as if nothing was there.
func anonymous(r *http.Response) bool {
	return r.Request != nil && r.Request.Header.Get("Authorization") == "" && !r.Request.URL.Query().Has("sig")
}

// conflicts are the codes of conditions that do not hold, besides status 412. A list of
// blocks is invalid if another writer has written the blob since they were uploaded.
var conflicts = map[string]bool{"BlobAlreadyExists": true, "ConditionNotMet": true, "TargetConditionNotMet": true, "SourceConditionNotMet": true, "InvalidBlockList": true}

// explainForbidden says what to do about a missing permission.
func (s *Store) explainForbidden(f *driver.Fault, r *http.Response) {
	f.Kind = fs.ErrPermission
	switch f.Code {
	case "AuthenticationFailed":
		f.Advice = "the key, signature or token is refused or expired" + driver.ClockAdvice(r.Header)
	case "NoAuthenticationInformation", "ResourceNotFound":
		f.Advice = "the container is not public: sign in, or set AZURE_STORAGE_CONNECTION_STRING"
	default:
		f.Advice = "ask the owner of the account for the role Storage Blob Data Reader to read, or Contributor to write"
	}
}

// parseFault reads the body of an error: XML, or the text of a proxy. The details of the
// service may quote what was signed, so they are left out.
func parseFault(f *driver.Fault, body []byte) {
	var x struct {
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
	}
	body = []byte(strings.TrimPrefix(string(body), "\ufeff"))
	switch {
	case driver.LooksLikePage(body):
		f.Page, f.Message = true, driver.PageText
	case xml.Unmarshal(body, &x) == nil && x.Code != "":
		f.Code = driver.Printable(x.Code, 60)
		// Further lines have the ID of the request and the time.
		message, _, _ := strings.Cut(x.Message, "\n")
		f.Message = driver.Printable(message, 400)
	case f.Code == "":
		f.Message = driver.Printable(string(body), 120)
	}
}

// hasCode reports whether the service gave an error this code.
func hasCode(err error, code string) bool {
	var f *driver.Fault
	return errors.As(err, &f) && f.Code == code
}
