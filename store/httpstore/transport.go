// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"

	"varve.dev/zarr/internal/remedy"
)

// NewTransport returns the transport that a store at base uses if its options have none.
// With private it follows redirections to private networks; see
// [Options.PrivateRedirects]. A driver wraps it in an [http.RoundTripper] that signs
// requests, and uses the same one for its writes. The caller closes its idle connections.
//
// It speaks HTTP/1.1 only. HTTP/2 would put all requests to a server on one connection,
// and servers and networks limit the throughput of one connection. 32 parallel requests
// would take as long as 32 consecutive ones. The pool of idle connections is unbounded,
// so it grows to the number of requests in flight.
func NewTransport(base *url.URL, private bool) *http.Transport {
	g := &guard{base: address(base), lan: private, find: http.ProxyFromEnvironment}
	only1 := new(http.Protocols)
	only1.SetHTTP1(true)
	return &http.Transport{
		Proxy: g.proxy, DialContext: g.dial, Protocols: only1,
		MaxIdleConnsPerHost: math.MaxInt, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second, ExpectContinueTimeout: time.Second,
		DisableCompression: true, MaxResponseHeaderBytes: 1 << 20,
	}
}

// address returns host and port of a URL, for dialing.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// errPrivate means that a redirection led to an address that is not permitted.
var errPrivate = errors.New("a redirection to an address of a private network, or a special one, is not followed")

// guard refuses redirections to this machine, its network, and the services that give
// cloud machines their credentials. It checks addresses when they are dialed, so a DNS
// name cannot hide one. It permits every address of the store's own host and of the
// proxies of the environment, because the caller chose them. A proxy looks names up
// itself, so behind one the guard checks addresses that a URL spells out, but not names.
type guard struct {
	base    string
	lan     bool                                    // redirections may lead to private networks
	find    func(r *http.Request) (*url.URL, error) // the proxy for a request
	proxies sync.Map                                // addresses
	own     sync.Map                                // netip.AddrPort of the store's own host
}

// proxy returns the proxy of the environment and records it as permitted.
func (g *guard) proxy(r *http.Request) (*url.URL, error) {
	u, err := g.find(r)
	if err != nil || u == nil {
		return u, err
	}
	// The proxy makes the connection, so dial does not see its address.
	if to := address(r.URL); to != g.base && !isName(r.URL.Hostname()) {
		// An address as the store's host need not be looked up.
		if ap, err := netip.ParseAddrPort(g.base); err == nil {
			g.own.Store(ap, true)
		}
		if err := g.permit(to); err != nil {
			return nil, err
		}
	}
	g.proxies.Store(address(u), true)
	return u, nil
}

// dial opens a connection.
func (g *guard) dial(ctx context.Context, network, to string) (net.Conn, error) {
	d := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	_, isProxy := g.proxies.Load(to)
	switch {
	case to == g.base:
		// Redirections may lead to every address of the store's own host.
		d.Control = func(_, resolved string, _ syscall.RawConn) error {
			if ap, err := netip.ParseAddrPort(resolved); err == nil {
				g.own.Store(ap, true)
			}
			return nil
		}
	case !isProxy:
		d.Control = func(_, resolved string, _ syscall.RawConn) error { return g.permit(resolved) }
	}
	return d.DialContext(ctx, network, to)
}

// permit returns an error if a redirection may not lead to an address.
func (g *guard) permit(resolved string) error {
	switch reach(resolved) {
	case public:
		return nil
	case private:
		if g.lan || g.isOwn(resolved) {
			return nil
		}
	}
	host, _, _ := net.SplitHostPort(resolved)
	return fmt.Errorf("%w (%s)%s", errPrivate, host, advice(resolved))
}

// isOwn reports whether the store's own host has this address. The redirection may use
// another name of it, or https instead of http.
func (g *guard) isOwn(resolved string) bool {
	ap, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return false
	}
	if _, found := g.own.Load(ap); found {
		return true
	}
	// The store's host may redirect from http to https.
	_, found := g.own.Load(netip.AddrPortFrom(ap.Addr(), 80))
	return found && ap.Port() == 443
}

// advice returns advice for the caller about a refused address.
func advice(resolved string) string {
	if reach(resolved) != private {
		return ""
	}
	return "; set " + remedy.PrivateRedirects + " to follow it"
}

// scope is the network from which an address can be reached.
type scope int

const (
	public  scope = iota // from everywhere
	private              // from one network or one machine
	never                // special, such as link-local, where cloud machines find credentials
)

// shared is the network between providers and customers (RFC 6598). translated holds IPv4
// addresses in IPv6 (RFC 6052). current is this network (RFC 1122).
var (
	shared     = netip.MustParsePrefix("100.64.0.0/10")
	translated = netip.MustParsePrefix("64:ff9b::/96")
	current    = netip.MustParsePrefix("0.0.0.0/8")
)

// reach returns the scope of an address with a port.
func reach(resolved string) scope {
	ap, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return never
	}
	// An IPv6 address may contain an IPv4 one.
	a := ap.Addr().Unmap().WithZone("")
	if translated.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	switch {
	case a.IsLinkLocalUnicast(), a.IsMulticast(), a.IsUnspecified(), current.Contains(a), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return never
	case a.IsLoopback(), a.IsPrivate(), shared.Contains(a):
		return private
	}
	return public
}
