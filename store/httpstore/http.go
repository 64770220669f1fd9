// Package httpstore is a read-only store of what a web server offers below a URL: one
// value is one resource.
//
// The server needs to know nothing of Zarr. Ranges are asked for as such; a server that
// sends whole values instead is put up with as long as little is thrown away. Values are
// asked for as they are ("Accept-Encoding: identity"), and one that comes with a content
// coding nevertheless is refused, because nobody could tell what is stored.
//
// # Versions
//
// The version of a value is its ETag, else the time of its last change. A value that is
// read in several pieces ([store.Pin]) is of one version as far as the server tells them
// apart, and what changed in between is [store.ErrConflict]. A body that breaks off is
// taken up where it ended only if the ETag is a strong one and still the same.
//
// # Faults
//
// Requests that fail for reasons that pass, as 429, 5xx or a lost connection, are
// repeated a few times with growing pauses, or after the time that the server asks for,
// and no longer than the caller's context lasts. A body that comes to a halt, or trickles
// ([Options.LeastRate]), counts as a lost connection, which is taken up once only.
// Lengths and ranges are checked: whatever is cut, shifted or too long is an error.
//
// # Connections
//
// Requests go over HTTP/1.1, each in flight on a connection of its own, because servers
// and networks limit what one connection passes. All connections are kept for later
// requests, and closed after 90 seconds without one.
//
// A server that sends more than a body's length makes net/http report it by package log.
// A program whose standard error is read by others redirects that with [log.SetOutput].
//
// # Missing values
//
// The statuses 404 and 410 say that a key has no value ([fs.ErrNotExist]). Some servers
// answer 403 for it, as object stores do to clients who may not list; [Options.Missing]
// takes that for an answer. Otherwise 401 and 403 are [fs.ErrPermission]. A redirection
// that adds a slash to the key is what servers say of directories, and is a missing
// value.
//
// # Redirections
//
// A few redirections are followed, to http and https alone and never from https to http.
// Credentials and headers of the options go to the store's own host only. A redirection
// does not lead into a private network, to another host or port than the store's own:
// [Options.PrivateRedirects] permits that.
//
// # Secrets
//
// Passwords and the queries of URLs, which may sign them, stand in no error.
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

	"varve.dev/zarr/store"
)

// Options say how a server is asked. The zero Options ask without credentials.
type Options struct {
	// Header is sent along to the store's own host, as an Authorization.
	Header http.Header
	// Missing lists statuses that say that a key has no value, besides 404 and 410: often
	// 403.
	Missing []int
	// Attempts is how often one request is made at most; 0 stands for 5.
	Attempts int
	// Pause is the time before the first repetition, which doubles from then on; 0 stands
	// for 200 ms.
	Pause time.Duration
	// LongestPause is the most that one pause takes. A server that asks for more is given
	// up at once. 0 stands for 30 s.
	LongestPause time.Duration
	// Stall is how long the server may send nothing, and how long its headers may take,
	// before the request counts as lost; 0 stands for 30 s. Such a request, and one that
	// [Options.LeastRate] ends, is repeated once at most.
	Stall time.Duration
	// Waiting, if any, is told the host of a server that has sent little or nothing for 5
	// s, or a quarter of Stall if that is less. It is called once for a store, and on a
	// goroutine of its own while a request is under way.
	Waiting func(host string)
	// Discard is the most bytes that are thrown away to get at a range of a server that
	// sends none; 0 stands for 64 MiB.
	Discard int64
	// LeastRate is how many bytes a second the server has to send, averaged over each
	// period of Stall; 0 stands for 1024, and a negative rate switches the check off.
	// Requests that are in flight at one time share it. A body that comes slower counts
	// as lost.
	LeastRate int64
	// PrivateRedirects lets redirections lead to addresses of private networks and of
	// this machine, as those of some storage clusters do. Without it they are refused,
	// but for the addresses of the store's own host.
	PrivateRedirects bool
	// Transport makes the requests; nil stands for one of the store's own, which speaks
	// HTTP/1.1, keeps as many connections as there were requests in flight, and keeps
	// redirections away from private networks.
	//
	// A transport of the caller is used as it is. [http.DefaultTransport] is slow for
	// many chunks: it keeps two idle connections, and puts all requests to a server that
	// speaks HTTP/2 on one. A [http.Transport] for a store sets Protocols to HTTP/1 alone
	// and MaxIdleConnsPerHost to the requests in flight. It sees redirections to private
	// addresses only where they are literal: names are for its dialer to check.
	Transport http.RoundTripper
}

// Store reads the values below a URL. It has the power [store.Stater] and no other, and
// its methods may be called from several goroutines at once. Make one with [Open].
type Store struct {
	base      url.URL // without user and fragment; its path and the query are those of every request
	prefix    string  // the path of base as it is escaped, without a slash at the end
	options   Options
	header    http.Header // that of the options and the credentials of the URL
	transport http.RoundTripper
	noHead    atomic.Bool  // the server answers GET but not HEAD
	flying    atomic.Int64 // attempts under way
	told      atomic.Bool  // Options.Waiting has been called
}

// Open returns the store of the values below a URL of the scheme http or https. The user
// and the password in it are sent as basic authentication, its query is that of every
// request. Nothing is asked of the server yet. A nil opt is the zero [Options].
func Open(location string, opt *Options) (*Store, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("http: %w: the URL cannot be parsed: %s", store.ErrInvalidKey, parseReason(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "" {
		return nil, fmt.Errorf("http: %w: %s is no URL of http or https with a host", store.ErrInvalidKey, Redact(location))
	}
	s := &Store{base: *u, header: http.Header{}}
	if opt != nil {
		s.options, s.header = *opt, opt.Header.Clone()
	}
	if s.header == nil {
		s.header = http.Header{}
	}
	if name := u.User.Username(); u.User != nil {
		password, _ := u.User.Password()
		r := http.Request{Header: s.header}
		r.SetBasicAuth(name, password)
	}
	s.base.User, s.base.Fragment, s.base.RawFragment = nil, "", ""
	s.base.Path, s.prefix = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.EscapedPath(), "/")
	s.options.setDefaults()
	if s.transport = s.options.Transport; s.transport == nil {
		s.transport = newTransport(&s.base, s.options.PrivateRedirects)
	}
	return s, nil
}

// setDefaults fills in what the zero values stand for.
func (o *Options) setDefaults() {
	if o.Attempts <= 0 {
		o.Attempts = 5
	}
	if o.Pause <= 0 {
		o.Pause = 200 * time.Millisecond
	}
	if o.LongestPause <= 0 {
		o.LongestPause = 30 * time.Second
	}
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

// Close closes connections that are kept for later requests. The store may still be used.
func (s *Store) Close() error {
	if t, ok := s.transport.(interface{ CloseIdleConnections() }); ok && s.options.Transport == nil {
		t.CloseIdleConnections()
	}
	return nil
}

// Place implements [store.Placer]. A store whose values depend on a query has none.
func (s *Store) Place() string {
	if s.base.RawQuery != "" {
		return ""
	}
	return s.base.Scheme + "://" + s.base.Host + s.prefix
}

// missing reports whether a status says that a key has no value.
func (s *Store) missing(status int) bool {
	return status == http.StatusNotFound || status == http.StatusGone || slices.Contains(s.options.Missing, status)
}

// optionsKey is the key of [WithOptions].
type optionsKey struct{}

// WithOptions returns a context with which locations are opened with these options:
// whoever opens by a URL has no other way to give them.
func WithOptions(ctx context.Context, opt *Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, opt)
}

// OptionsOf returns what [WithOptions] put into a context, nil where it put nothing.
func OptionsOf(ctx context.Context) *Options {
	opt, _ := ctx.Value(optionsKey{}).(*Options)
	return opt
}

// OpenLocation is the [store.OpenFunc] of the schemes http and https. The store begins at
// the first segment whose name ends in ".zarr", or else is the whole URL, and the rest is
// the path of the node. To write is [store.ErrUnsupported].
func OpenLocation(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	if access != store.Read {
		return nil, store.Path{}, fmt.Errorf("http: %w: what a web server offers can be read only", store.ErrUnsupported)
	}
	root, rel := Split(Reveal(ctx, location), ".zarr")
	path, err := store.ParsePath(rel)
	if err != nil {
		return nil, store.Path{}, err
	}
	s, err := Open(root, OptionsOf(ctx))
	return s, path, err
}

// Split cuts a URL behind the first segment of its path whose name ends in suffix, and
// returns the URL up to there with the query of the whole, and the unescaped rest without
// slashes around it. A URL without such a segment is returned as it is.
func Split(location, suffix string) (root, rest string) {
	u, err := url.Parse(location)
	if err != nil {
		return location, ""
	}
	escaped, at := u.EscapedPath(), 0
	for segment := range strings.SplitAfterSeq(escaped, "/") {
		at += len(segment)
		name, err := url.PathUnescape(strings.TrimSuffix(segment, "/"))
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

// Redact returns a URL without user, password, query and fragment, for messages. What
// cannot be parsed is cut at the first sign of any of them.
func Redact(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Opaque != "" {
		scheme, rest, found := strings.Cut(location, "://")
		if !found {
			scheme, rest = "", location
		}
		if i := strings.IndexAny(rest, "?#"); i >= 0 {
			rest = rest[:i]
		}
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		if !found {
			return rest
		}
		return scheme + "://" + rest
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// parseReason returns why a URL cannot be parsed, without the URL.
func parseReason(err error) string {
	var e *url.Error
	if !errors.As(err, &e) {
		return "it is malformed"
	}
	// The reason may quote a part of the URL, which may be of a password.
	reason, _, _ := strings.Cut(e.Err.Error(), "\"")
	return strings.TrimSpace(reason)
}

var (
	_ store.Stater   = (*Store)(nil)
	_ store.Placer   = (*Store)(nil)
	_ store.OpenFunc = OpenLocation
)
