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
	"strconv"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/driver"
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

// CheckKey implements [store.Describer].
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

func (s *Store) delete(ctx context.Context, key store.Key) error {
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

func (s *Store) deleteIf(ctx context.Context, key store.Key, v store.Version) error {
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

// fault is an answer of the service that reports an error.
type fault struct {
	status  int
	code    string // such as "BlobNotFound"
	message string // of the service, bounded
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
	for _, part := range []string{f.code, f.message} {
		if part != "" {
			text += ": " + part
		}
	}
	// The advice says that there is no container.
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
	f := &fault{
		status: r.StatusCode, code: driver.Printable(r.Header.Get("X-Ms-Error-Code"), 60), request: driver.Printable(r.Header.Get("X-Ms-Request-Id"), 80),
	}
	f.parse(body)
	// An answer to HEAD has no body. Those of the service have a version or an ID.
	if r.Request != nil && r.Request.Method == http.MethodHead && !own(r.Header) && f.request == "" {
		f.page, f.message, f.advice = true, "this is no answer of Azure Blob Storage", "check the option endpoint, and proxies"
		if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			f.message = pageText
		}
	}
	pause := driver.RetryAfter(r.Header)
	switch c := r.StatusCode; {
	// Only the code tells a missing blob from a missing container.
	case cut != nil && f.code == "" && c < 500 && c != http.StatusPreconditionFailed && c != http.StatusTooManyRequests:
		f.advice = "the answer broke off"
		return retry.Temporary(f, pause)
	// Values in a container that is not there must not be read as fill values.
	case f.code == "ContainerBeingDeleted":
		f.kind, f.advice = store.ErrNoBucket, "the container "+s.container+" is being deleted: try again in half a minute"
	case f.code == "ContainerNotFound":
		f.kind, f.advice = store.ErrNoBucket, "the container does not exist: check the name of the container "+s.container+", or create the container first"
	case f.code == "ResourceNotFound" && anonymous(r):
		s.explainForbidden(f, r)
	case s.missing(f):
		f.kind = fs.ErrNotExist
	case c == http.StatusPreconditionFailed || c == http.StatusNotModified || conflicts[f.code]:
		f.kind = store.ErrConflict
	case c == http.StatusConflict && (f.code == "PublicAccessNotPermitted" || f.code == "BlobImmutableDueToPolicy"):
		f.kind = fs.ErrPermission
	case c == http.StatusUnauthorized || c == http.StatusForbidden:
		s.explainForbidden(f, r)
	case c == http.StatusTooManyRequests || c == http.StatusServiceUnavailable:
		return retry.Throttled(f, pause)
	case c == http.StatusRequestTimeout || c >= 500 && c != http.StatusNotImplemented:
		return retry.Temporary(f, pause)
	}
	return f
}

// own reports whether an answer is of the service: it names the version of the API, which
// a page of a proxy does not.
func own(h http.Header) bool { return h.Get("X-Ms-Version") != "" }

// pageText is the message of a page for people.
const pageText = "a page of HTML came instead of an answer of the service, as of a proxy"

// foreign returns the fault that a success of something else than the service is.
func foreign(r *http.Response) *fault {
	f := &fault{status: r.StatusCode, message: "this is no answer of Azure Blob Storage", advice: "check the option endpoint, and proxies"}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		f.page, f.message = true, pageText
	}
	return f
}

// missing reports whether an answer means that there is no blob. A page of a proxy does
// not, and neither does a refusal of credentials, which may expire between two reads.
func (s *Store) missing(f *fault) bool {
	switch {
	case f.page:
		return false
	case f.status == http.StatusNotFound || f.status == http.StatusGone:
		return true
	case f.status == http.StatusUnauthorized:
		return false
	case f.status == http.StatusForbidden && f.code != "AuthorizationPermissionMismatch":
		return false
	}
	return slices.Contains(s.options.Reading.Missing, f.status)
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
func (s *Store) explainForbidden(f *fault, r *http.Response) {
	f.kind = fs.ErrPermission
	switch f.code {
	case "AuthenticationFailed":
		f.advice = "the key, signature or token is refused or expired" + driver.ClockAdvice(r.Header)
	case "NoAuthenticationInformation", "ResourceNotFound":
		f.advice = "the container is not public: sign in, or set AZURE_STORAGE_CONNECTION_STRING"
	default:
		f.advice = "ask the owner of the account for the role Storage Blob Data Reader to read, or Contributor to write"
	}
}

// parse reads the body of an error: XML, or the text of a proxy. The details of the
// service may quote what was signed, so they are left out.
func (f *fault) parse(body []byte) {
	var x struct {
		Code    string `xml:"Code"`
		Message string `xml:"Message"`
	}
	body = []byte(strings.TrimPrefix(string(body), "\ufeff"))
	start := strings.ToLower(driver.Printable(string(body[:min(len(body), 200)]), 200))
	switch {
	case strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html"):
		f.page, f.message = true, pageText
	case xml.Unmarshal(body, &x) == nil && x.Code != "":
		f.code = driver.Printable(x.Code, 60)
		// Further lines have the ID of the request and the time.
		message, _, _ := strings.Cut(x.Message, "\n")
		f.message = driver.Printable(message, 400)
	case f.code == "":
		f.message = driver.Printable(string(body), 120)
	}
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
	if errors.As(err, &refused) {
		return false
	}
	if errors.As(err, &f) {
		return f.status >= 500 || f.status == http.StatusRequestTimeout
	}
	return true
}

func isMissing(err error) bool  { return errors.Is(err, fs.ErrNotExist) }
func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }

// hasCode reports whether the service gave an error this code.
func hasCode(err error, code string) bool {
	var f *fault
	return errors.As(err, &f) && f.code == code
}

// unknown is the error of a change whose outcome is not known. It does not wrap
// [store.ErrConflict], which would mean that nothing has changed.
func unknown(cause error) error {
	return fmt.Errorf("the answer of the service was lost, and it is not known whether the change was made; read the value again (%v)", cause)
}

// conflict returns an error that is [store.ErrConflict], and no longer [fs.ErrNotExist].
func conflict(cause error) error {
	if isConflict(cause) {
		return cause
	}
	return fmt.Errorf("%w: there is no value (%v)", store.ErrConflict, cause)
}
