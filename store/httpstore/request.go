// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// ask is one request for a value.
type ask struct {
	method string
	key    store.Key
	bytes  string // Range header, "" for all bytes
	match  string // strong version, "" for any
}

// name returns the URL of a key, for messages.
func (s *web) name(key store.Key) string {
	u := s.url(key)
	u.RawQuery = ""
	return u.String()
}

// url returns the URL of a key. It escapes '+' too, because some servers read it as a
// space.
func (s *web) url(key store.Key) *url.URL {
	if s.options.Locate != nil {
		return s.options.Locate(key)
	}
	u, text := s.base, key.String()
	u.Path += "/" + text
	var b strings.Builder
	b.Grow(len(s.prefix) + 1 + len(text))
	b.WriteString(s.prefix)
	for segment := range strings.SplitSeq(text, "/") {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(url.PathEscape(segment), "+", "%2B"))
	}
	u.RawPath = b.String()
	return &u
}

// mostRedirects is the largest number of redirections of one request.
const mostRedirects = 5

// errDirectory means that the server redirects to the key with a slash at its end.
var errDirectory = errors.New("the server has a directory at this key")

// do sends a request and follows redirections. The caller closes the body.
func (s *web) do(ctx context.Context, a ask) (*http.Response, error) {
	u := s.url(a.key)
	for range mostRedirects + 1 {
		r, err := s.exchange(ctx, a, u)
		if err != nil {
			return nil, s.lost(ctx, a.method, u.Host, err)
		}
		r.Body = watching(ctx, r.Body)
		next, err := s.redirection(r, u)
		if err != nil || next != nil {
			// Read the rest, so that the connection can be used again.
			drain(r.Body)
		}
		switch {
		case err != nil:
			return nil, err
		case next == nil:
			return r, nil
		}
		u = next
	}
	return nil, fmt.Errorf("more than %s", quantity.Count(mostRedirects, "redirections"))
}

// request returns the request for a URL. Only the store's own host gets secrets.
func (s *web) request(ctx context.Context, a ask, u *url.URL) *http.Request {
	h := http.Header{}
	// No other host may see credentials.
	if s.own(u) {
		h = s.header.Clone()
	}
	h.Set("Accept-Encoding", "identity")
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "varve")
	}
	if a.bytes != "" {
		h.Set("Range", a.bytes)
	}
	r := &http.Request{Method: a.method, URL: u, Host: u.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if a.match != "" {
		s.pin(r, a.match)
	}
	return r.WithContext(ctx)
}

// pin makes a request one for a strong version.
func (s *web) pin(r *http.Request, version string) {
	switch {
	case s.options.Pin != nil:
		s.options.Pin(r, version)
	case s.options.Version == nil: // it is an ETag
		r.Header.Set("If-Match", version)
	}
}

// own reports whether a URL is on the store's host, with the same scheme or by https.
func (s *web) own(u *url.URL) bool {
	if u.Scheme == s.base.Scheme {
		return u.Host == s.base.Host
	}
	return u.Scheme == "https" && s.base.Port() == "" && u.Host == s.base.Host
}

// redirection returns the target of a redirection, or nil if r is not one. Errors do not
// show the target, which may be signed.
func (s *web) redirection(r *http.Response, from *url.URL) (*url.URL, error) {
	switch r.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	if err := s.explain(r); err != nil {
		return nil, err
	}
	to, err := from.Parse(r.Header.Get("Location"))
	if err != nil || r.Header.Get("Location") == "" {
		return nil, fmt.Errorf("status %d with a Location that is not a URL", r.StatusCode)
	}
	// Do not use credentials that a server puts into a redirection.
	to.User, to.Fragment, to.RawFragment = nil, "", ""
	switch {
	case to.Scheme != "http" && to.Scheme != "https":
		return nil, fmt.Errorf("%w: a redirection to the scheme %q is not followed", store.ErrUnsupported, to.Scheme)
	case to.Scheme == "http" && from.Scheme == "https":
		return nil, fmt.Errorf("%w: a redirection from https to http is not followed", store.ErrUnsupported)
	case to.Hostname() == "":
		return nil, fmt.Errorf("status %d with a Location without a host", r.StatusCode)
	case to.Host == from.Host && to.Path == from.Path+"/":
		return nil, errDirectory
	case s.options.SameHost && !s.own(to):
		return nil, fmt.Errorf("%w: a redirection to another host is not followed, because it would get credentials", store.ErrUnsupported)
	case !s.mayLead(to):
		return nil, fmt.Errorf("%w%s", errPrivate, advice(address(to)))
	}
	return to, nil
}

// mayLead reports whether a redirection may lead to a URL, judged by its text. The
// store's own transport also checks each address that it dials; see [guard]. This check
// protects callers' transports, and keeps both from special addresses.
func (s *web) mayLead(to *url.URL) bool {
	if isName(to.Hostname()) || s.own(to) {
		return true
	}
	switch reach(address(to)) {
	case public:
		return true
	case private:
		return s.options.PrivateRedirects || s.options.Transport == nil
	}
	return false
}

// isName reports whether a host is a name, not an address.
func isName(host string) bool {
	_, err := netip.ParseAddr(host)
	return err != nil
}

// mostDrained is the largest number of bytes of an unwanted answer to read. The
// connection can be used again only after the end of the answer.
const mostDrained = 64 << 10

// drain discards and closes a body.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, mostDrained)
	body.Close()
}
