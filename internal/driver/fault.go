// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"

	"varve.dev/zarr/store"
)

// Fault is an answer of a service that reports an error.
type Fault struct {
	Status  int
	Code    string // such as "BlobNotFound"
	Reason  string // a code that messages do not have
	Message string // of the service, bounded
	Request string // the ID of the request, for the support of the service
	Kind    error  // the kind of error, or nil
	Advice  string // what the user can do
	Page    bool   // the answer is a page for people
}

// Error returns what the service answered, and what to do.
func (f *Fault) Error() string {
	text := "status " + strconv.Itoa(f.Status)
	if name := http.StatusText(f.Status); name != "" {
		text += " " + name
	}
	for _, part := range []string{f.Code, f.Message} {
		if part != "" {
			text += ": " + part
		}
	}
	// The message or the advice says that there is no bucket.
	if f.Kind != nil && f.Kind != store.ErrNoBucket {
		text += ": " + f.Kind.Error()
	}
	if f.Request != "" {
		text += " (request " + f.Request + ")"
	}
	if f.Advice != "" {
		text += "; " + f.Advice
	}
	return text
}

// Unwrap returns the kind of error, or nil.
func (f *Fault) Unwrap() error { return f.Kind }

// MostFault is the largest number of bytes to read of an answer that reports an error.
const MostFault = 64 << 10

// PageText is the message of a page for people.
const PageText = "a page of HTML came instead of an answer of the service, as of a proxy"

// IsPage reports whether an answer with these headers is a page for people.
func IsPage(h http.Header) bool { return strings.HasPrefix(h.Get("Content-Type"), "text/html") }

// LooksLikePage reports whether a body is a page for people.
func LooksLikePage(body []byte) bool {
	start := strings.ToLower(Printable(string(body[:min(len(body), 200)]), 200))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

// Foreign returns the fault that a success of something else than a service is, such as
// the page of a proxy.
func Foreign(r *http.Response, service string) *Fault {
	f := &Fault{Status: r.StatusCode, Message: "this is no answer of " + service, Advice: "check the option endpoint, and proxies"}
	if IsPage(r.Header) {
		f.Page, f.Message = true, PageText
	}
	return f
}

// Unsent is the error of a request that was not sent because of its credentials.
type Unsent struct {
	Err    error
	Passes bool // another attempt may succeed
}

// Error returns the text of the reason.
func (e *Unsent) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *Unsent) Unwrap() error { return e.Err }

// refusalHeader has the text of an Unsent in an answer made by this program.
const refusalHeader = "Varve-Refusal"

// UnsentAnswer returns an error of a request that was not sent, and that another attempt
// would meet again, as the answer to the request. Otherwise it returns nil.
func UnsentAnswer(r *http.Request, err error) *http.Response {
	e := (*Unsent)(nil)
	if !errors.As(err, &e) || e.Passes {
		return nil
	}
	status := http.StatusUnauthorized
	if !errors.Is(e.Err, fs.ErrPermission) {
		status = http.StatusNotImplemented
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{refusalHeader: {e.Err.Error()}}, Body: http.NoBody,
	}
}

// UnsentFault returns the fault of an answer of [UnsentAnswer], or nil for another one.
func UnsentFault(r *http.Response) *Fault {
	text := r.Header.Get(refusalHeader)
	if text == "" {
		return nil
	}
	return &Fault{Status: r.StatusCode, Message: text, Kind: fs.ErrPermission}
}

// IsRefusal reports whether a request was refused for lack of permission, or was not sent
// for lack of credentials.
func IsRefusal(err error) bool {
	if errors.As(err, new(*sourceError)) {
		return false // another service has refused to be read
	}
	return errors.Is(err, fs.ErrPermission) || errors.As(err, new(*Unsent))
}

// Lost returns the error of an answer that did not arrive. Another attempt may get it,
// unless the request was not sent.
func Lost(ctx context.Context, err error) error {
	if e := (*Unsent)(nil); ctx.Err() == nil && errors.As(err, &e) && !e.Passes {
		return e
	}
	return Network(ctx, err)
}

// IsLoopback reports whether a host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
