// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/internal/driver"
	_ "varve.dev/zarr/internal/scheme" // http and https
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// TestRequests counts the requests of calls.
func TestRequests(t *testing.T) {
	o := fixture()
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(o)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	s := open(t, server.URL, httpstore.Options{})
	for _, c := range []struct {
		call string
		do   func() error
		want string
	}{
		{"whole", func() error { _, _, err := get(t, s, key, store.Request{}); return err }, "GET /" + key},
		{"span", func() error { _, _, err := get(t, s, key, store.Request{Range: store.Span(7, 20)}); return err }, "GET /" + key + " bytes=7-26"},
		{"from", func() error { _, _, err := get(t, s, key, store.Request{Range: store.From(7)}); return err }, "GET /" + key + " bytes=7-"},
		{"suffix", func() error { _, _, err := get(t, s, key, store.Request{Range: store.Suffix(7)}); return err }, "GET /" + key + " bytes=-7"},
		{"nothing", func() error { _, _, err := get(t, s, key, store.Request{Range: store.Span(7, 0)}); return err }, "HEAD /" + key},
		{"look", func() error { _, err := s.Stat(t.Context(), store.MustKey(key)); return err }, "HEAD /" + key},
		{"exists", func() error { _, err := store.Exists(t.Context(), s, store.MustKey("none")); return err }, "HEAD /none"},
		{"pin", func() error {
			_, _, err := store.Pin(s, store.MustKey(key), store.Info{}).Read(t.Context(), store.Request{Range: store.Suffix(7)}, nil)
			return err
		}, "GET /" + key + " bytes=-7"},
	} {
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.call, err)
		}
		if got := strings.Join(o.requests(), ", "); got != c.want {
			t.Errorf("%s: asked %q, want %q", c.call, got, c.want)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// TestKeys checks that every legal key reaches the server unchanged.
func TestKeys(t *testing.T) {
	o := fixture()
	s := open(t, serve(t, o), httpstore.Options{})
	for _, name := range []string{
		"...", "a..b", ".hidden", " ", "a  b", "%", "%2F", "%2e%2e", "a%00b", "#", "?", "a?b=c#d", "*", "[a]", "(a)", "a'b", "a\"b", "$HOME", "a&b",
		"a;b", "a|b", "a<b", "ab:c", "a=b", "a+b", "a,b", "a@b", "a!b", "a^b", "é", "日本語", "𝄞", "\u202e", "c/0/1", "~", "..a/b", "http:", strings.Repeat("n", 500),
	} {
		o.put(name, []byte("value of "+name))
		if got, _, err := get(t, s, name, store.Request{}); string(got) != "value of "+name {
			t.Errorf("%q: %q, %v (asked %q)", name, got, err, o.requests())
		}
	}
}

// TestModified checks that times are by the clock of this machine, regardless of that of
// the server.
func TestModified(t *testing.T) {
	for name, skew := range map[string]time.Duration{"right": 0, "late": -40 * time.Hour, "early": 1000 * time.Hour} {
		s := open(t, serve(t, wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			a := record(next, r)
			now := time.Now().Add(skew).UTC()
			a.Header().Set("Date", now.Format(http.TimeFormat))
			a.Header().Set("Last-Modified", now.Add(-time.Hour).Format(http.TimeFormat))
			a.send(w)
		})), httpstore.Options{})
		info, err := s.Stat(t.Context(), store.MustKey(key))
		if off := time.Since(info.Modified) - time.Hour; err != nil || off.Abs() > 2*time.Second {
			t.Errorf("%s: off by %v, error %v", name, off, err)
		}
	}
	s := open(t, serve(t, wrap(fixture(), header("Date", "long ago"))), httpstore.Options{})
	if info, err := s.Stat(t.Context(), store.MustKey(key)); err != nil || !info.Modified.IsZero() {
		t.Errorf("a time by an unknown clock: %v, %v", info, err)
	}
	s = open(t, serve(t, wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		w.Header()["Date"] = nil // the server would set one
		next.ServeHTTP(w, r)
	})), httpstore.Options{})
	if info, err := s.Stat(t.Context(), store.MustKey(key)); err != nil || info.Modified.IsZero() {
		t.Errorf("a time without a date: %v, %v", info, err)
	}
}

// TestVersions checks which headers distinguish versions.
func TestVersions(t *testing.T) {
	modified := "Fri, 02 Jan 2026 03:04:05 GMT"
	for tag, want := range map[string]string{`"x"`: `"x"`, `W/"x"`: `W/"x" ` + modified, "": "W/ " + modified} {
		s := open(t, serve(t, wrap(fixture(), header("ETag", tag))), httpstore.Options{})
		if info, err := s.Stat(t.Context(), store.MustKey(key)); err != nil || info.Version.String() != want {
			t.Errorf("ETag %s: version %q, want %q, error %v", tag, info.Version, want, err)
		}
	}
}

func TestSplit(t *testing.T) {
	for location, want := range map[string][2]string{
		"https://h/a/x.zarr/g/t2m":         {"https://h/a/x.zarr", "g/t2m"},
		"https://h/x.zarr":                 {"https://h/x.zarr", ""},
		"https://h/x.zarr/":                {"https://h/x.zarr", ""},
		"https://h/x.zarr//a/?k=v#f":       {"https://h/x.zarr?k=v#f", "a"},
		"https://h/x.zarr/y.zarr/a":        {"https://h/x.zarr", "y.zarr/a"},
		"https://h/a%20b.zarr/c%20d":       {"https://h/a%20b.zarr", "c d"},
		"https://h/a%2Fb.zarr/c":           {"https://h/a%2Fb.zarr", "c"},
		"https://h/x%2Ezarr/c":             {"https://h/x%2Ezarr", "c"},
		"https://u:p@h:1/x.zarr/c":         {"https://u:p@h:1/x.zarr", "c"},
		"https://h/.zarr/c":                {"https://h/.zarr/c", ""},
		"https://h/plain/c":                {"https://h/plain/c", ""},
		"https://h.zarr/c":                 {"https://h.zarr/c", ""},
		"https://h/%zz.zarr/c":             {"https://h/%zz.zarr/c", ""},
		"https://h/era5/t2m?x=/y.zarr/z#x": {"https://h/era5/t2m?x=/y.zarr/z#x", ""},
	} {
		if root, rest := driver.Split(location, ".zarr"); root != want[0] || rest != want[1] {
			t.Errorf("%s: %q, %q, want %q", location, root, rest, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for location, want := range map[string]string{
		"https://u:p@h:1/x.zarr/a?sig=1#f": "https://h:1/x.zarr/a",
		"https://h/%zz?sig=1":              "https://h/%zz",
		"https://u:p%zz@h/x#1":             "https://h/x",
		"u:p@h/%zz":                        "h/%zz",
		"s3://":                            "s3://",
		"s3://?secret=1":                   "s3://",
		"s3:///x?secret=1":                 "s3:///x",
		"file:///a@b/x.zarr":               "file:///a@b/x.zarr",

		"icechunk+https://u:p@h/r@main/a?sig=1": "icechunk+https://h/r@main/a",
		"icechunk+file:///a%b@main/a":           "icechunk+file:///a%b@main/a",
		"icechunk+s3://b/a%b@main/a?secret=1":   "icechunk+s3://b/a%b@main/a",
		"icechunk+s3://key:se%/cret@b/a@main":   "icechunk+s3://main",
		"icechunk+https://u:p%zz@h/r":           "icechunk+https://h/r",
	} {
		if got := driver.Redact(location); got != want {
			t.Errorf("%s: %s, want %s", location, got, want)
		}
	}
}

func TestConceal(t *testing.T) {
	ctx := t.Context()
	for _, given := range []string{"https://u:p@h/x.zarr/?sig=1", "https://h/x.zarr/deep?sig=2", "https://h/other?sig=3#f", "https://v:q@i/a%20b"} {
		var shown string
		if ctx, shown = driver.Conceal(ctx, given); shown != strings.TrimSuffix(driver.Redact(given), "/") {
			t.Errorf("%s is shown as %s", given, shown)
		}
	}
	for location, want := range map[string]string{
		"https://h/x.zarr": "https://u:p@h/x.zarr?sig=1", "https://h/x.zarr/t2m": "https://u:p@h/x.zarr/t2m?sig=1",
		"https://h/x.zarr/deep/a": "https://h/x.zarr/deep/a?sig=2", "https://h/x.zarr2": "https://h/x.zarr2", "https://h/other": "https://h/other?sig=3#f",
		"https://i/a%20b/c": "https://v:q@i/a%20b/c", "/local": "/local", "http://h/x.zarr": "http://h/x.zarr",
	} {
		if got := driver.Reveal(ctx, location); got != want {
			t.Errorf("%s stands for %s, want %s", location, got, want)
		}
	}
	for _, plain := range []string{"https://h/x", "local?x", "s3://b/x", "file:///b/x?y"} {
		if same, shown := driver.Conceal(ctx, plain); same != ctx || shown != plain {
			t.Errorf("%s is shown as %s", plain, shown)
		}
	}
}

func TestOpenLocation(t *testing.T) {
	o := fixture()
	o.put("x.zarr/g/zarr.json", []byte("{}"))
	url := serve(t, wrap(o, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := record(next, r)
		if a.Code == http.StatusNotFound {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		a.send(w)
	}))
	ctx := httpstore.WithOptions(t.Context(), &httpstore.Options{Missing: []int{403}})
	s, path, err := store.OpenLocation(ctx, url+"/x.zarr/g", store.ReadOnly)
	if err != nil || path.String() != "g" {
		t.Fatal(path, err)
	}
	defer store.Close(s)
	if found, err := store.Exists(ctx, s, path.MustKey("zarr.json")); !found || err != nil {
		t.Error(found, err)
	}
	if found, err := store.Exists(ctx, s, path.MustKey("c/0")); found || err != nil {
		t.Error(found, err)
	}
	for _, access := range []store.Access{store.ReadWrite, store.Create} {
		if _, _, err := store.OpenLocation(ctx, url, access); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("to write: %v", err)
		}
	}
	if httpstore.OptionsOf(context.Background()) != nil {
		t.Error("options of nothing")
	}
}

// TestQuery checks that every request has the query of the URL, which may be a signature.
func TestQuery(t *testing.T) {
	var seen []string
	u := serve(t, wrap(fixture(), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		seen = append(seen, r.URL.RequestURI())
		next.ServeHTTP(w, r)
	}))
	s := open(t, u+"/a/?sig=a%2Fb&x", httpstore.Options{})
	if _, _, err := get(t, s, "c/0/0", store.Request{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/a/c/0/0?sig=a%2Fb&x"}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// BenchmarkGet reads values over loopback. Its allocations do not depend on their
// lengths.
func BenchmarkGet(b *testing.B) {
	for _, size := range []int{16 << 10, 1 << 20, 16 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			value := bytes.Repeat([]byte{7}, size)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"x"`)
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(value))
			}))
			defer server.Close()
			s, err := httpstore.OpenStore(server.URL, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			dst := make([]byte, 0, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Get(b.Context(), store.MustKey("v"), store.Request{}, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
