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
)

// newTransport returns what makes the requests of the store at base.
//
// It speaks HTTP/1.1 only. HTTP/2 would put all requests of a server on one connection,
// and servers and networks limit what one connection passes: chunks by 32 requests would
// take as long as by one. The pool of idle connections has no bound of its own, so it is
// as large as the requests that were in flight, whatever their number.
func newTransport(base *url.URL, lan bool) *http.Transport {
	g := &guard{base: address(base), lan: lan}
	only1 := new(http.Protocols)
	only1.SetHTTP1(true)
	return &http.Transport{
		Proxy: g.proxy, DialContext: g.dial, Protocols: only1,
		MaxIdleConnsPerHost: math.MaxInt, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 15 * time.Second, ExpectContinueTimeout: time.Second,
		DisableCompression: true, MaxResponseHeaderBytes: 1 << 20,
	}
}

// address returns host and port of a URL as they are dialled.
func address(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// errPrivate says that a redirection led where the store's server must not lead.
var errPrivate = errors.New("a redirection to an address of a private network, or to a special one, is not followed")

// guard keeps redirections away from addresses that are of this machine, of its network,
// or of the services that cloud machines ask for their credentials. It looks at addresses
// when they are dialled, so that no name can hide one. The store's own host and the
// proxies of the environment may be anywhere: the caller named them.
type guard struct {
	base    string
	lan     bool     // redirections may lead to private networks
	proxies sync.Map // addresses
	own     sync.Map // netip.AddrPort of the store's own host
}

// proxy returns the proxy of the environment.
func (g *guard) proxy(r *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(r)
	if err == nil && u != nil {
		g.proxies.Store(address(u), true)
	}
	return u, err
}

// dial makes a connection.
func (g *guard) dial(ctx context.Context, network, to string) (net.Conn, error) {
	d := net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	_, isProxy := g.proxies.Load(to)
	switch {
	case to == g.base:
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

// permit says whether a redirection may lead to an address.
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

// isOwn reports whether an address is where the store's own host answers, under another
// name perhaps, or by https where it was asked by http.
func (g *guard) isOwn(resolved string) bool {
	ap, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return false
	}
	if _, found := g.own.Load(ap); found {
		return true
	}
	_, found := g.own.Load(netip.AddrPortFrom(ap.Addr(), 80))
	return found && ap.Port() == 443
}

// advice returns what a caller can do about an address that [guard.permit] refuses.
func advice(resolved string) string {
	if reach(resolved) != private {
		return ""
	}
	return "; Options.PrivateRedirects follows it"
}

// scope is who can be reached at an address.
type scope int

const (
	public  scope = iota // everybody
	private              // those of one network or one machine
	never                // nobody that a redirection may lead to: link-local addresses among them, where machines find credentials
)

// shared is the network between providers and their customers (RFC 6598), and translated
// the addresses of IPv4 in IPv6 (RFC 6052).
var (
	shared     = netip.MustParsePrefix("100.64.0.0/10")
	translated = netip.MustParsePrefix("64:ff9b::/96")
	current    = netip.MustParsePrefix("0.0.0.0/8")
)

// reach returns the scope of an address with its port.
func reach(resolved string) scope {
	ap, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return never
	}
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
