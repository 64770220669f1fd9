// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/retry"
)

// fault is an answer of the service that reports an error.
type fault struct {
	status  int
	code    string // such as "BlobNotFound"
	message string // of the service, bounded
	request string // the ID of the request, for the support of the service
	is      error  // the kind of error, or nil
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
	if f.is != nil && f.is != store.ErrNoBucket {
		text += ": " + f.is.Error()
	}
	if f.request != "" {
		text += " (request " + f.request + ")"
	}
	if f.advice != "" {
		text += "; " + f.advice
	}
	return text
}

func (f *fault) Unwrap() error { return f.is }

// mostFault is the largest number of bytes to read of an answer that reports an error.
const mostFault = 64 << 10

// explain returns the error that an answer reports, or nil for an answer that package
// httpstore knows better. It reads the body.
func (s *Store) explain(r *http.Response) error {
	if text := r.Header.Get(refusalHeader); text != "" {
		return &fault{status: r.StatusCode, message: text, is: fs.ErrPermission}
	}
	// Redirections are followed or refused by the store of the reads, and a range beyond
	// the value is judged by its size.
	if c := r.StatusCode; c/100 == 3 && c != http.StatusNotModified || c == http.StatusRequestedRangeNotSatisfiable {
		return nil
	}
	body, cut := io.ReadAll(io.LimitReader(r.Body, mostFault)) // what has arrived may explain
	f := &fault{
		status: r.StatusCode, code: httpstore.Printable(r.Header.Get("X-Ms-Error-Code"), 60), request: httpstore.Printable(r.Header.Get("X-Ms-Request-Id"), 80),
	}
	f.parse(body)
	// An answer to HEAD has no body. Those of the service have a version or an ID.
	if r.Request != nil && r.Request.Method == http.MethodHead && !own(r.Header) && f.request == "" {
		f.page, f.message, f.advice = true, "this is no answer of Azure Blob Storage", "check the option endpoint, and proxies"
		if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			f.message = pageText
		}
	}
	pause := httpstore.RetryAfter(r.Header)
	switch c := r.StatusCode; {
	// Only the code tells a missing blob from a missing container.
	case cut != nil && f.code == "" && c < 500 && c != http.StatusPreconditionFailed && c != http.StatusTooManyRequests:
		f.advice = "the answer broke off"
		return retry.Temporary(f, pause)
	// Values in a container that is not there must not be read as fill values.
	case f.code == "ContainerBeingDeleted":
		f.is, f.advice = store.ErrNoBucket, "the container "+s.container+" is being deleted: try again in half a minute"
	case f.code == "ContainerNotFound":
		f.is, f.advice = store.ErrNoBucket, "the container does not exist: check the name of the container "+s.container+", or create the container first"
	case f.code == "ResourceNotFound" && anonymous(r):
		s.explainForbidden(f, r)
	case s.missing(f):
		f.is = fs.ErrNotExist
	case c == http.StatusPreconditionFailed || c == http.StatusNotModified || conflicts[f.code]:
		f.is = store.ErrConflict
	case c == http.StatusConflict && (f.code == "PublicAccessNotPermitted" || f.code == "BlobImmutableDueToPolicy"):
		f.is = fs.ErrPermission
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
	f.is = fs.ErrPermission
	switch f.code {
	case "AuthenticationFailed":
		f.advice = "the key, signature or token is refused or expired" + httpstore.ClockAdvice(r.Header)
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
	start := strings.ToLower(httpstore.Printable(string(body[:min(len(body), 200)]), 200))
	switch {
	case strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html"):
		f.page, f.message = true, pageText
	case xml.Unmarshal(body, &x) == nil && x.Code != "":
		f.code = httpstore.Printable(x.Code, 60)
		// Further lines have the ID of the request and the time.
		message, _, _ := strings.Cut(x.Message, "\n")
		f.message = httpstore.Printable(message, 400)
	case f.code == "":
		f.message = httpstore.Printable(string(body), 120)
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
