// SPDX-License-Identifier: Apache-2.0

// Package httpstore is a read-only store of the resources of a web server. A value is
// what the server returns for the URL of its key.
//
// The server needs no support for Zarr. The store sends range requests, and accepts a
// whole value instead if it must discard only a few bytes ([Options.Discard]). It
// requests values without content coding ("Accept-Encoding: identity") and refuses a
// value that has one, because it would not get the stored bytes.
//
// # Versions
//
// The version of a value is its ETag or, without one, the time of its last change. All
// ranges that are read of a value ([store.Pin]) have one version. If the version
// changes in between, the error is [store.ErrConflict]. An interrupted body is resumed
// only if the ETag is strong and still the same.
//
// # Retries
//
// Requests that fail for temporary reasons, such as 429, 5xx or a lost connection, are
// retried with growing pauses, or after the time that the server asks for. Retries end
// with the caller's context, and 5 minutes after the first failure ([Options.Total]). A
// body that stalls or is too slow ([Options.LeastRate]) counts as a lost connection, but
// is retried only once. Lengths and ranges are checked: a truncated, shifted or overlong
// answer is an error.
//
// If the server throttles, fewer requests are in flight to its host. The stores of one
// process share the limit of a host. With a [Options.Part], and for object stores, it is
// 32 requests at first and at most 256; otherwise there is none until the server
// throttles.
//
// # Connections
//
// Each request in flight has a separate HTTP/1.1 connection, because servers and networks
// limit the throughput of one connection. Connections are kept and closed after
// 90 seconds of idleness.
//
// If a server sends more bytes than it announced, net/http logs that with package log. A
// program whose standard error is parsed should redirect it with [log.SetOutput].
//
// # Object stores
//
// A driver of an object store reads by a store of this package. Its [Hooks] replace URLs,
// the names in errors, versions and the meaning of errors; its transport signs requests,
// around one of [NewTransport]. [Options.Part] reads large values by several requests at
// the same time, because one connection is slower than the network, and [Options.Hedge]
// repeats late ones.
//
// # Missing values
//
// The status 404 means that a key has no value ([fs.ErrNotExist]). Object stores answer
// 403 instead to clients that may not list; add it to [Options.Missing] for those. The
// status 410 is an error: a server of views says with it that an array has changed, and
// its elements must not be read as the fill value.
// Otherwise 401 and 403 are [fs.ErrPermission]. A redirection that adds a slash to the
// key means a directory, so the value is missing.
//
// # Redirections
//
// The store follows up to five redirections, to http and https only, and never from https
// to http. It sends credentials and headers only to its own host. It does not follow a
// redirection into a private network, other than to its own host, unless
// [Options.PrivateRedirects] is set.
//
// # Secrets
//
// Errors never contain passwords or the queries of URLs, which may hold signatures.
package httpstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/inflight"
	"varve.dev/zarr/store"
)

// web reads the values below a URL.
type web struct {
	base      url.URL // without user and fragment; every request has its path and query
	prefix    string  // the escaped path of base, without a slash at the end
	place     string  // see [store.Traits]
	options   Options
	header    http.Header // from the options, with the credentials of the URL
	transport http.RoundTripper
	policy    driver.Policy
	limiter   *inflight.Limiter
	noHead    atomic.Bool // the server answers GET but not HEAD
	noParts   atomic.Bool // the server sends no strong versions
	clock     clock
	hedger    *hedger      // nil without Options.Hedge
	flying    atomic.Int64 // attempts in flight
	reported  atomic.Bool  // Options.Waiting has been called
}

// Open returns the store of the values below a URL of scheme http or https. User and
// password of the URL become basic authentication. Its query is added to every request.
// Open sends no request. A nil opt means the zero [Options].
//
// The store has the powers [store.Stater] and [store.Describer]. It is safe for
// concurrent use. [store.Close] closes idle connections; the store may still be used.
func Open(location string, opt *Options) (store.Store, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("http: %w: the URL cannot be parsed: %s", store.ErrInvalidKey, parseReason(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "" {
		return nil, fmt.Errorf("http: %w: %s is not an http or https URL with a host", store.ErrInvalidKey, driver.Redact(location))
	}
	s := &web{base: *u, header: http.Header{}}
	if opt != nil {
		s.options, s.header = *opt, opt.Header.Clone()
	}
	if s.header == nil {
		s.header = http.Header{}
	}
	// From here on, user and password are in a header and not in a URL.
	if name := u.User.Username(); u.User != nil {
		password, _ := u.User.Password()
		r := http.Request{Header: s.header}
		r.SetBasicAuth(name, password)
	}
	s.base.User, s.base.Fragment, s.base.RawFragment = nil, "", ""
	s.base.Path, s.prefix = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.EscapedPath(), "/")
	s.options.setDefaults()
	if s.transport = s.options.Transport; s.transport == nil {
		s.transport = NewTransport(&s.base, s.options.PrivateRedirects)
	}
	if s.options.Hedge {
		s.hedger = &hedger{}
	}
	o := &s.options
	s.policy = driver.Policy{Attempts: o.Attempts, Pause: o.Pause, LongestPause: o.LongestPause, Total: o.Total}
	s.limiter = inflight.Of(address(&s.base), o.limits())
	if s.place = s.options.Location; s.place == "" && s.base.RawQuery == "" {
		s.place = s.base.Scheme + "://" + s.base.Host + s.prefix
	}
	return s, nil
}

// Close closes idle connections. The store may still be used.
func (s *web) Close() error {
	if t, ok := s.transport.(interface{ CloseIdleConnections() }); ok && s.options.Transport == nil {
		t.CloseIdleConnections()
	}
	return nil
}

// Traits implements [store.Describer]. If the URL has a query, the place is "", because
// values may depend on the query. Requests are the most that the limiter ever allows.
func (s *web) Traits() store.Traits {
	return store.Traits{Place: s.place, Requests: s.limiter.Most()}
}

// CheckKey implements [store.Describer]. Nothing can be stored in any case.
func (s *web) CheckKey(store.Key) error { return nil }

// missing reports whether a status means that a key has no value.
func (s *web) missing(status int) bool {
	return status == http.StatusNotFound || slices.Contains(s.options.Missing, status)
}

// optionsKey is the context key of [WithOptions].
type optionsKey struct{}

// WithOptions returns a context in which [OpenLocation] uses these options. It is for
// functions that open a location and have no parameter for them.
func WithOptions(ctx context.Context, opt *Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, opt)
}

// OptionsOf returns the options of [WithOptions], or nil.
func OptionsOf(ctx context.Context) *Options {
	opt, _ := ctx.Value(optionsKey{}).(*Options)
	return opt
}

// parseReason returns why a URL cannot be parsed, without quoting the URL.
func parseReason(err error) string {
	var e *url.Error
	if !errors.As(err, &e) {
		return "it is malformed"
	}
	// The quoted part may be a piece of a password.
	reason, _, _ := strings.Cut(e.Err.Error(), "\"")
	return strings.TrimSpace(reason)
}

var (
	_ driver.Client = (*web)(nil)
)

// Options configure requests. The zero Options send no credentials.
type Options struct {
	// Header is added to requests to the store's own host, such as Authorization.
	Header http.Header
	// Missing lists statuses, besides 404, that mean that a key has no value.
	// Often that is 403.
	Missing []int
	// Attempts is the largest number of attempts of one request; 0 means 5.
	Attempts int
	// Pause is the pause before the first retry. It doubles with each further retry. 0
	// means 200 ms.
	Pause time.Duration
	// LongestPause is the longest pause. If a server asks for more, the request fails at
	// once. 0 means 30 s.
	LongestPause time.Duration
	// Total is the time after the first failure of a request in which further attempts
	// may begin. 0 means ten times LongestPause; a negative Total sets no limit.
	Total time.Duration
	// Stall is the longest time in which the server may send nothing, and the longest
	// time for its headers. After that the request counts as lost. 0 means 30 s. A
	// stalled or slow request is retried only once.
	Stall time.Duration
	// Waiting, if not nil, is called with the host of a server that has sent little or
	// nothing for 5 s, or for a quarter of Stall if that is less. It is called once for a
	// store, on a separate goroutine, while a request is in flight.
	Waiting func(host string)
	// Discard is the largest number of bytes to discard before a range if the server
	// ignores range requests; 0 means 64 MiB.
	Discard int64
	// LeastRate is the rate in bytes per second that the server must sustain over each
	// period of Stall. Requests in flight share the rate. 0 means 1024; a negative rate
	// switches the check off. A slower body counts as lost.
	LeastRate int64
	// PrivateRedirects permits redirections to private networks and to this machine,
	// which some storage clusters use. Without it only the addresses of the store's own
	// host are permitted.
	PrivateRedirects bool
	// Transport sends the requests. If it is nil, the store uses its own: HTTP/1.1, as
	// many connections as requests in flight, and no redirections into private networks.
	//
	// A transport of the caller is used unchanged. [http.DefaultTransport] is slow for
	// many chunks: it keeps two idle connections, and puts all HTTP/2 requests to a
	// server on one. Set Protocols of an [http.Transport] to HTTP/1 alone, and
	// MaxIdleConnsPerHost to the number of requests in flight. For such a transport the
	// store checks redirections by literal address only; its dialer must check names.
	Transport http.RoundTripper
	// Hedge sends a second request if the first answers a Get later than most others did,
	// and takes the answer that comes first. At most 5 % of the requests are repeated,
	// and none while the server is slow as a whole.
	Hedge bool
	// Part, if positive, is the number of bytes above which a Get is made of several
	// requests at the same time. 8 to 16 MiB suit object stores. It needs a server with
	// ranges and strong versions; from others each value comes in one piece.
	Part int64

	Hooks
}

// Hooks adapt a store to a service that has its own names, versions and errors. They are
// for drivers of object stores. Each may be nil, and is called concurrently.
type Hooks struct {
	// Locate returns the URL of a key, as a new value. It must be on the store's own host
	// unless the transport adds no credentials. Without it the URL is the store's URL, a
	// slash and the key.
	Locate func(key store.Key) *url.URL
	// Name returns the text that begins the errors of a key, such as "s3: bucket b, key
	// k". It must contain no secret. Without it that is "http: " and the URL.
	Name func(key store.Key) string
	// Location, if not empty, is the place of the store ([store.Traits]).
	Location string
	// Version returns the version of a value from the headers of an answer, or "" if
	// there is none. It must change with every write. Without it the version is the ETag
	// or the time of the last change.
	Version func(h http.Header) string
	// Pin changes a request so that it is for one version only. The service answers with
	// an error, such as 412, if the value has another one. The version is from Version
	// or, without that, a strong ETag. Without Pin such an ETag is sent as If-Match.
	// Answers are compared with the version in any case.
	Pin func(r *http.Request, version string)
	// Explain returns the error of an answer that is not a success, or nil for the
	// default, which is chosen by the status. It may wrap [io/fs.ErrNotExist] or
	// [io/fs.ErrPermission], or be of [varve.dev/zarr/store/retry.Temporary] or
	// Throttled. It may read at most 64 KiB of the body, which is empty for HEAD. It sees
	// all headers, such as Date, which shows a wrong clock. Redirections come here first:
	// nil follows them.
	Explain func(r *http.Response) error
	// SameHost refuses redirections to other hosts. It is for transports that add
	// credentials to every request.
	SameHost bool
}

// setDefaults replaces zero values by the defaults.
func (o *Options) setDefaults() {
	if o.Stall <= 0 {
		o.Stall = 30 * time.Second
	}
	if o.LeastRate == 0 {
		o.LeastRate = 1 << 10
	}
	if o.Discard <= 0 {
		o.Discard = 64 << 20
	}
}

// limits returns the limits of the requests in flight: those of object stores if values
// are read in parts or a driver has set hooks, and otherwise none until the server
// throttles.
func (o *Options) limits() inflight.Limits {
	if o.Part > 0 || o.Location != "" {
		return inflight.Adaptive()
	}
	return inflight.Limits{}
}
