// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
)

func TestReach(t *testing.T) {
	for address, want := range map[string]scope{
		"93.184.216.34:80": public, "[2606:2800:220::1]:443": public, "100.128.0.1:80": public,
		"127.0.0.1:80": private, "127.9.9.9:80": private, "[::1]:80": private, "10.1.2.3:80": private, "172.31.0.1:80": private, "192.168.0.1:80": private,
		"[fd00::1]:80": private, "100.64.0.1:80": private, "[::ffff:10.0.0.1]:80": private, "[64:ff9b::a00:1]:80": private,
		"169.254.169.254:80": never, "[fe80::1%eth0]:80": never, "0.0.0.0:80": never, "[::]:80": never, "224.0.0.1:80": never, "[ff02::1]:80": never,
		"255.255.255.255:80": never, "[::ffff:169.254.169.254]:80": never, "[64:ff9b::a9fe:a9fe]:80": never, "0.1.2.3:80": never, "name:80": never, "": never,
	} {
		if got := reach(address); got != want {
			t.Errorf("%s: %d, want %d", address, got, want)
		}
	}
}

func TestPermit(t *testing.T) {
	var g guard
	for address, ok := range map[string]bool{"93.184.216.34:80": true, "10.0.0.1:80": false, "127.0.0.1:80": false, "169.254.169.254:80": false} {
		if err := g.permit(address); (err == nil) != ok || err != nil && !errors.Is(err, errPrivate) {
			t.Errorf("from a public address to %s: %v", address, err)
		}
	}
	g.own.Store(netip.MustParseAddrPort("10.0.0.1:80"), true)
	for address, ok := range map[string]bool{
		"93.184.216.34:80": true, "10.0.0.1:80": true, "10.0.0.1:443": true, "10.0.0.1:8080": false, "10.0.0.2:80": false, "127.0.0.1:80": false,
		"169.254.169.254:80": false, "x": false,
	} {
		if err := g.permit(address); (err == nil) != ok || err != nil && !errors.Is(err, errPrivate) {
			t.Errorf("from 10.0.0.1:80 to %s: %v", address, err)
		}
	}
	g.lan = true
	for address, ok := range map[string]bool{"10.0.0.2:8080": true, "127.0.0.1:80": true, "169.254.169.254:80": false, "0.0.0.0:80": false} {
		if err := g.permit(address); (err == nil) != ok {
			t.Errorf("with private redirections to %s: %v", address, err)
		}
	}
}

// TestProxied checks addresses that are reached by a proxy.
func TestProxied(t *testing.T) {
	proxy := &url.URL{Scheme: "http", Host: "10.9.9.9:3128"}
	for _, c := range []struct {
		base, to string
		lan, ok  bool
	}{
		{"name:80", "http://10.0.0.1/k", false, false},
		{"name:80", "http://10.0.0.1/k", true, true},
		{"name:80", "http://169.254.169.254/k", true, false},
		{"name:80", "http://[fd00::1]:8080/k", false, false},
		{"name:80", "http://93.184.216.34/k", false, true},
		{"name:80", "http://other/k", false, true}, // the proxy looks it up
		{"10.0.0.1:80", "http://10.0.0.1/k", false, true},
		{"10.0.0.1:80", "https://10.0.0.1/k", false, true},
		{"10.0.0.1:80", "http://10.0.0.1:8080/k", false, false},
	} {
		g := &guard{base: c.base, lan: c.lan, find: func(*http.Request) (*url.URL, error) { return proxy, nil }}
		to, err := url.Parse(c.to)
		if err != nil {
			t.Fatal(err)
		}
		u, err := g.proxy(&http.Request{URL: to})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, errPrivate) || c.ok && u != proxy {
			t.Errorf("%s from %s: proxy %v, error %v", c.to, c.base, u, err)
		}
	}
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"http://h/x": "h:80", "https://h": "h:443", "https://h:8443": "h:8443", "http://[::1]/": "[::1]:80", "socks5://p": "p:1080",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := address(u); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzContentRange checks that accepted headers are consistent.
func FuzzContentRange(f *testing.F) {
	for _, s := range []string{
		"bytes 0-0/1", "bytes 7-26/400", "bytes */400", "bytes 0-0/*", "bytes -1-0/1", "bytes 0-1/1", "bytes 1-0/9", "Bytes 0-9223372036854775806/9223372036854775807",
		"", "bytes", "bytes /", "bytes -/1", "bytes 0-0/9999999999999999999", "items 0-0/1", "bytes 0-0,1-1/9", "bytes  0-0/1", "bytes 0-0/1 ", "bytes ٣-٣/٩",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseContentRange(s)
		if err == nil && (c.first < 0 || c.last < c.first-1 || c.last >= c.size && c.last >= 0 || c.size < 0) {
			t.Errorf("%q: %+v", s, c)
		}
	})
}
