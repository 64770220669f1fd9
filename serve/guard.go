// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"varve.dev/zarr/serve/internal/reply"
)

// guard decides which requests are answered.
type guard struct {
	hosts, origins []string
	token          string // "" if none is needed
	cookie         string // what the cookie has in place of the token
}

func newGuard(opt *Options) (guard, error) {
	g := guard{}
	for _, host := range opt.Hosts {
		if _, _, err := net.SplitHostPort(host); err == nil {
			return g, fmt.Errorf("the host %q has a port: leave it out", host)
		}
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	for _, origin := range opt.Origins {
		u, err := url.Parse(origin)
		if origin != anything && (err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil) {
			return g, fmt.Errorf("%q is no origin: give scheme and host, such as https://example.org, or *", origin)
		}
		g.origins = append(g.origins, strings.ToLower(origin))
	}
	if opt.Token != "" {
		g.token = opt.Token
		// The token may have bytes that a cookie cannot have.
		sum := sha256.Sum256([]byte("cookie:" + opt.Token))
		g.cookie = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return g, nil
}

// anything permits every host or origin.
const anything = "*"

// admits reports whether a request is to be routed. Otherwise it has answered it.
func (g *guard) admits(w http.ResponseWriter, r *http.Request) bool {
	if !g.permitsHost(r.Host) {
		reply.Refuse(w, http.StatusMisdirectedRequest, "this server does not have the name that the request has: permit the host (varve serve --host)")
		return false
	}
	origin := r.Header.Get("Origin")
	// The answer depends on these for every request, also for those without an origin.
	w.Header().Add("Vary", "Origin")
	foreign := origin != "" && !isSame(origin, r)
	if foreign && !g.permitsOrigin(origin) {
		reply.Refuse(w, http.StatusForbidden, "pages of this origin may not read: permit the origin (varve serve --allow-origin)")
		return false
	}
	if origin == "" && isEmbedded(r) {
		reply.Refuse(w, http.StatusForbidden, "another page asks without its origin: use fetch with CORS, or crossorigin at images")
		return false
	}
	if foreign {
		g.permit(w, origin)
	}
	if r.Method == http.MethodOptions {
		g.preflight(w, r, foreign)
		return false
	}
	return g.admitsToken(w, r, foreign)
}

// permitsHost reports whether a request may name a host.
func (g *guard) permitsHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if inner, is := strings.CutPrefix(host, "["); is && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil && a.IsLoopback() {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(g.hosts, anything) || slices.Contains(g.hosts, host)
}

// isSame reports whether an origin is that of the server itself.
func isSame(origin string, r *http.Request) bool {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return strings.EqualFold(origin, scheme+r.Host)
}

// isEmbedded reports whether a page of another origin has sent the request, such as for
// an image. It may not see such answers, but could make the server work (Fetch Metadata
// Request Headers, of the W3C). The user may follow a link of any page.
func isEmbedded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
	}
	return false
}

func (g *guard) permitsOrigin(origin string) bool {
	return slices.Contains(g.origins, anything) || slices.Contains(g.origins, strings.ToLower(origin))
}

// permit lets a page of another origin read the answer, without cookies (the protocol is
// CORS, in the Fetch standard).
func (g *guard) permit(w http.ResponseWriter, origin string) {
	if slices.Contains(g.origins, anything) {
		origin = anything
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Expose-Headers", "Accept-Ranges, Content-Range, ETag, Last-Modified, Link, Retry-After, Varve-Bounds, Varve-Shape, Varve-Data-Type, Varve-Range")
}

// preflight answers what a browser asks before a page may send a request.
func (g *guard) preflight(w http.ResponseWriter, r *http.Request, foreign bool) {
	h := w.Header()
	h.Set("Allow", "GET, HEAD, OPTIONS")
	if foreign && r.Header.Get("Access-Control-Request-Method") != "" {
		h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers, Access-Control-Request-Private-Network")
		h.Set("Access-Control-Allow-Methods", "GET, HEAD")
		h.Set("Access-Control-Allow-Headers", "Authorization, Cache-Control, If-Match, If-Modified-Since, If-None-Match, If-Range, If-Unmodified-Since, Range")
		h.Set("Access-Control-Max-Age", "600")
		// A public page asks whether it may read from this machine.
		if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
			h.Set("Access-Control-Allow-Private-Network", "true")
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// admitsToken reports whether a request has the token, if one is needed.
func (g *guard) admitsToken(w http.ResponseWriter, r *http.Request, foreign bool) bool {
	if g.token == "" {
		return true
	}
	w.Header().Add("Vary", "Authorization, Cookie")
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && isEqual(given, g.token) {
		return true
	}
	// This comes before the cookie, so that the token does not stay in the address.
	if query := r.URL.Query(); !foreign && isEqual(query.Get("token"), g.token) {
		query.Del("token")
		there := url.URL{Path: r.URL.Path, RawQuery: query.Encode()}
		http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil})
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Location", local(there))
		w.WriteHeader(http.StatusSeeOther)
		return false
	}
	// A cookie comes with each request of the browser, whichever page has sent it.
	// Another server of this host may have set one of the same name.
	if !foreign && slices.ContainsFunc(r.CookiesNamed(cookieName(r)), func(c *http.Cookie) bool { return isEqual(c.Value, g.cookie) }) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="varve"`)
	reply.Refuse(w, http.StatusUnauthorized, "the request needs the token of this server")
	return false
}

// isEqual compares secrets in constant time.
func isEqual(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// cookieName returns the name of the cookie: cookies do not distinguish the ports of a
// host.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		return "varve"
	}
	return "varve-" + port
}

// local returns an address on this server. A path that begins with two slashes would name
// another host.
func local(u url.URL) string {
	u.Path = "/" + strings.TrimLeft(u.Path, "/")
	return u.String()
}
