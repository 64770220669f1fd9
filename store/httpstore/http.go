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
// with the caller's context, and 5 minutes after the first failure ([Options.Total]). If
// the server throttles, fewer requests are in flight to its host ([retry.Limiter]). A
// body that stalls or is too slow ([Options.LeastRate]) counts as a lost connection, but
// is retried only once. Lengths and ranges are checked: a truncated, shifted or overlong
// answer is an error.
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
// A driver of an object store reads by a Store. Its [Hooks] replace URLs, the names in
// errors, versions and the meaning of errors; its transport signs requests, around one of
// [NewTransport]. [Options.Part] reads large values by several requests at the same time,
// because one connection is slower than the network, and [Options.Hedge] repeats late
// ones. The driver writes with [Store.Do] and [Store.Send], which share the policy, the
// limiter and the connections with its reads.
//
// # Missing values
//
// The statuses 404 and 410 mean that a key has no value ([fs.ErrNotExist]). Object stores
// answer 403 instead to clients that may not list; add it to [Options.Missing] for those.
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

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/retry"
)

// Store reads the values below a URL. Its powers are [store.Stater], [store.Placer] and
// [store.Pacer]. Its methods are safe for concurrent use. Make one with [Open].
type Store struct {
	base      url.URL // without user and fragment; every request has its path and query
	prefix    string  // the escaped path of base, without a slash at the end
	options   Options
	header    http.Header // from the options, with the credentials of the URL
	transport http.RoundTripper
	policy    retry.Policy
	noHead    atomic.Bool // the server answers GET but not HEAD
	noParts   atomic.Bool // the server sends no strong versions
	clock     clock
	hedger    *hedger      // nil without Options.Hedge
	flying    atomic.Int64 // attempts in flight
	told      atomic.Bool  // Options.Waiting has been called
}

// Open returns the store of the values below a URL of scheme http or https. User and
// password of the URL become basic authentication. Its query is added to every request.
// Open sends no request. A nil opt means the zero [Options].
func Open(location string, opt *Options) (*Store, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("http: %w: the URL cannot be parsed: %s", store.ErrInvalidKey, parseReason(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "" {
		return nil, fmt.Errorf("http: %w: %s is not an http or https URL with a host", store.ErrInvalidKey, Redact(location))
	}
	s := &Store{base: *u, header: http.Header{}}
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
	s.policy = s.options.policy(address(&s.base))
	return s, nil
}

// Close closes idle connections. The store may still be used.
func (s *Store) Close() error {
	if t, ok := s.transport.(interface{ CloseIdleConnections() }); ok && s.options.Transport == nil {
		t.CloseIdleConnections()
	}
	return nil
}

// Place implements [store.Placer]. If the URL has a query, it returns "", because values
// may depend on the query.
func (s *Store) Place() string {
	if s.options.Location != "" {
		return s.options.Location
	}
	if s.base.RawQuery != "" {
		return ""
	}
	return s.base.Scheme + "://" + s.base.Host + s.prefix
}

// Requests implements [store.Pacer]: it is the most that the limiter ever allows.
func (s *Store) Requests() int { return s.policy.Limiter.Most() }

// missing reports whether a status means that a key has no value.
func (s *Store) missing(status int) bool {
	return status == http.StatusNotFound || status == http.StatusGone || slices.Contains(s.options.Missing, status)
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

// OpenLocation is the [store.OpenFunc] of the schemes http and https. The store begins at
// the first path segment whose name ends in ".zarr"; the rest is the path of the node.
// Without such a segment the store is the whole URL. Any access but [store.Read] is
// [store.ErrUnsupported].
func OpenLocation(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	if access != store.Read {
		return nil, store.Path{}, fmt.Errorf("http: %w: a web server can only be read", store.ErrUnsupported)
	}
	root, rel := Split(Reveal(ctx, location), ".zarr")
	path, err := store.ParsePath(rel)
	if err != nil {
		return nil, store.Path{}, err
	}
	s, err := Open(root, OptionsOf(ctx))
	return s, path, err
}

// Split cuts a URL after the first path segment whose name ends in suffix. It returns the
// URL up to there, with the query, and the unescaped rest without slashes around it. A
// URL without such a segment is returned unchanged.
func Split(location, suffix string) (root, rest string) {
	u, err := url.Parse(location)
	if err != nil {
		return location, ""
	}
	escaped, at := u.EscapedPath(), 0
	for segment := range strings.SplitAfterSeq(escaped, "/") {
		at += len(segment)
		name, err := url.PathUnescape(strings.TrimSuffix(segment, "/"))
		// The suffix alone is not a name.
		if err != nil || !strings.HasSuffix(name, suffix) || name == suffix {
			continue
		}
		u.RawPath = strings.TrimSuffix(escaped[:at], "/")
		rest, restErr := url.PathUnescape(strings.Trim(escaped[at:], "/"))
		if u.Path, err = url.PathUnescape(u.RawPath); err != nil || restErr != nil {
			break
		}
		return u.String(), rest
	}
	return location, ""
}

// Redact returns a URL without user, password, query and fragment, for messages. If the
// URL cannot be parsed, Redact cuts it at the first sign of one of these.
func Redact(location string) string {
	u, err := url.Parse(location)
	// Package url would leave out the slashes of a URL that names nothing. Special
	// characters in a password can make one malformed. Cut these by their delimiters.
	if err != nil || u.Opaque != "" || u.Host == "" && u.Path == "" && u.User == nil {
		scheme, rest, found := strings.Cut(location, "://")
		if !found {
			scheme, rest = "", location
		}
		if i := strings.IndexAny(rest, "?#"); i >= 0 {
			rest = rest[:i]
		}
		// A password may contain '@' too.
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		if !found {
			return rest
		}
		return scheme + "://" + rest
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
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
	_ store.Stater   = (*Store)(nil)
	_ store.Placer   = (*Store)(nil)
	_ store.Pacer    = (*Store)(nil)
	_ store.OpenFunc = OpenLocation
)
