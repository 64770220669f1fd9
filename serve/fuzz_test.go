// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/internal/test/httptable"
	"varve.dev/zarr/serve"
)

// secret is in files that are not served.
const secret = "PLANTED-SECRET"

// fuzzed returns a function that makes handlers for the node of the table, with secrets
// in it and beside it.
func fuzzed(f *testing.F, opt *serve.Options) func() http.Handler {
	dir, at := tableFolder(f)
	for _, name := range []string{"secret", "n/.env", "n/__varve/x", "m/zarr.json"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(secret), 0o666)); err != nil {
			f.Fatal(err)
		}
	}
	_ = os.Symlink("..", filepath.Join(dir, "n", "link")) // where there are symbolic links
	return func() http.Handler {
		h, err := serve.New([]serve.Node{{Name: "n", Location: at}}, opt)
		if err != nil {
			panic(err)
		}
		return h
	}
}

// answerTo parses a request as package net/http does and returns the answer, or nil if
// it is no request. No answer has a secret, or a status from 500 on but 503.
func answerTo(t *testing.T, h http.Handler, target string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	for _, text := range append(headers, target) {
		if strings.ContainsAny(text, "\r\n\x00") || len(text) > 20000 {
			return nil, nil
		}
	}
	text := "GET " + target + " HTTP/1.1\r\n" + strings.Join(append(headers, "Connection: close"), "\r\n") + "\r\n\r\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	// A stream ends with its client, and package net/http refuses such hosts itself.
	if err != nil || strings.Contains(r.URL.Path, "@events") || strings.Contains(r.URL.Path, "next-timestep") || r.Host == "" {
		return nil, nil
	}
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(t.Context()))
	is := w.Result()
	b, err := io.ReadAll(is.Body)
	if err != nil || is.StatusCode >= 500 && is.StatusCode != 503 || bytes.Contains(b, []byte(secret)) {
		t.Fatalf("%q: status %d, %.300q, %v", text, is.StatusCode, b, err)
	}
	return is, b
}

// FuzzPath asks for paths.
func FuzzPath(f *testing.F) {
	h := fuzzed(f, nil)()
	for _, path := range []string{"/n/c/0", "/n/../secret", "/n/%2e%2e/secret", "/n/.env", "/n/link/secret", "/@regular/n/c/0", "/@values/n?format=raw", "/@v2/n/.zarray", "/", "//", "/n/__varve/x", "/n/a%00", "/@health"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		is, b := answerTo(t, h, path, "Host: localhost")
		if is != nil && is.StatusCode >= 400 && is.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%q: status %d, %v, %.100q", path, is.StatusCode, is.Header, b)
		}
		if is != nil && strings.HasPrefix(is.Header.Get("Location"), "//") {
			t.Errorf("%q leads to %q", path, is.Header.Get("Location"))
		}
	})
}

// FuzzRange asks for ranges of a stored value, and of a chunk of a view. The answer is
// the whole value, or the bytes that it names.
func FuzzRange(f *testing.F) {
	h := fuzzed(f, nil)()
	for _, ranges := range []string{"bytes=0-0", "bytes=-1", "bytes=0-0,5-", "bytes=999-1000", "bytes=1000-", "bytes=-0", "bytes=9-5", "BYTES=,,1-2 ,", "lines=1", "bytes=+1-2", "bytes=18446744073709551616-", "bytes=0-0,-18446744073709551616"} {
		f.Add(ranges, "")
		f.Add(ranges, `"x"`)
	}
	f.Fuzz(func(t *testing.T, ranges, version string) {
		for _, target := range []string{httptable.Value, viewOfTable} {
			is, b := answerTo(t, h, target, "Host: localhost", "Range: "+ranges, "If-Range: "+version)
			if is == nil {
				return
			}
			if err := isPartOf(httptable.Content(), is, b); err != nil {
				t.Errorf("%q of %s: %v", ranges, target, err)
			}
		}
	})
}

// isPartOf returns an error unless an answer has all bytes of a value, those that it
// names, or none.
func isPartOf(value []byte, is *http.Response, b []byte) error {
	size := len(value)
	equals := func(text string, b []byte) error {
		var first, last, all int
		if _, err := fmt.Sscanf(text, "bytes %d-%d/%d", &first, &last, &all); err != nil || all != size || first < 0 || last < first || last >= size || !bytes.Equal(b, value[first:last+1]) {
			return fmt.Errorf("%d bytes as %q", len(b), text)
		}
		return nil
	}
	told := is.Header.Get("Content-Range")
	switch kind, parameters, _ := mime.ParseMediaType(is.Header.Get("Content-Type")); {
	case is.StatusCode == http.StatusOK && bytes.Equal(b, value) && told == "":
	case is.StatusCode == http.StatusRequestedRangeNotSatisfiable && told == fmt.Sprintf("bytes */%d", size):
	case is.StatusCode == http.StatusPartialContent && kind != "multipart/byteranges":
		return equals(told, b)
	case is.StatusCode == http.StatusPartialContent:
		parts := multipart.NewReader(bytes.NewReader(b), parameters["boundary"])
		for n := 0; ; n++ {
			part, err := parts.NextPart()
			if errors.Is(err, io.EOF) && n > 1 && told == "" {
				return nil
			}
			if err != nil {
				return err
			}
			text, err := io.ReadAll(part)
			if err := errors.Join(err, equals(part.Header.Get("Content-Range"), text)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("status %d, %d bytes as %q", is.StatusCode, len(b), told)
	}
	return nil
}

// FuzzConditions asks with conditions, for the present version among others.
func FuzzConditions(f *testing.F) {
	h := fuzzed(f, nil)()
	for _, text := range []string{`"x"`, `"x", TAG`, "*", "W/TAG", "TAG", "x", `"`, "Mon, 06 May 2024 07:08:09 GMT", "Mon, 06 May 2044 07:08:09 GMT", ""} {
		for which := range uint8(5) {
			f.Add(which, text, "")
			f.Add(which, text, `"x"`)
		}
	}
	names := []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}
	f.Fuzz(func(t *testing.T, which uint8, text, none string) {
		for _, target := range []string{httptable.Value, viewOfTable} {
			first, _ := answerTo(t, h, target, "Host: localhost")
			tag := first.Header.Get("ETag")
			is, b := answerTo(t, h, target, "Host: localhost", names[int(which)%len(names)]+": "+strings.ReplaceAll(text, "TAG", tag), "If-None-Match: "+none)
			switch {
			case is == nil:
			case is.StatusCode == http.StatusOK && bytes.Equal(b, httptable.Content()):
			case is.StatusCode == http.StatusNotModified && len(b) == 0 && is.Header.Get("ETag") == tag:
			case is.StatusCode == http.StatusPreconditionFailed && len(b) == 0:
			default:
				t.Errorf("%q: status %d, %.100q", text, is.StatusCode, b)
			}
		}
	})
}

// FuzzView asks for views with options. A view has the values of its source.
func FuzzView(f *testing.F) {
	renewed := fuzzed(f, nil)
	h := renewed()
	for _, view := range []string{"regular", "v2", "regular,chunks=3", "regular,chunks=3x3,codec=none", "regular,at=x", "regular,coarsen=0:2", "regular,coarsen=0:4+1:2,method=nearest,chunks=3", "regular,coarsen=0:99999999999", "v2,codec=gzip,chunks=99999999999999999999", "regular,chunks=1,chunks=1", "regular,,", "x"} {
		f.Add(view, "c/0")
		f.Add(view, ".zarray")
		f.Add(view, "zarr.json")
	}
	held := 0
	f.Fuzz(func(t *testing.T, view, path string) {
		if held > 900 {
			h, held = renewed(), 0 // a handler holds a bounded number of views
		}
		held++
		is, b := answerTo(t, h, "/@"+view+"/n/"+path, "Host: localhost")
		if is == nil || !strings.Contains(view, "codec=none") || strings.Contains(view, "coarsen") || is.StatusCode != http.StatusOK || len(b) == 0 || !strings.HasPrefix(path, "c/") {
			return
		}
		// The chunk has whole elements, of which those of the source come in a row.
		if body := bytes.TrimRight(b, "\x00"); len(b)%4 != 0 || strings.Contains(view, "regular") && !bytes.Contains(httptable.Content(), body) {
			t.Errorf("%s of %s: %d bytes", path, view, len(b))
		}
	})
}

// FuzzGuard asks under other names, as other pages, and with other tokens. Only the
// token lets a request through, and only for the server itself and the page that may.
func FuzzGuard(f *testing.F) {
	const token, page = "abc", "https://a.example"
	h := fuzzed(f, &serve.Options{Token: token, Hosts: []string{"data.example"}, Origins: []string{page}})()
	for _, host := range []string{"localhost", "data.example:80", "127.0.0.1:8000", "[::1]", "evil.example", "127.0.0.1.evil", "a.localhost", "localhost.", "[::1", "[localhost]"} {
		for _, origin := range []string{"", page, "null", "http://localhost", "https://evil.example"} {
			f.Add(host, origin, "Bearer abc", "", "")
			f.Add(host, origin, "Bearer x", "varve=abc", "abc")
		}
	}
	cookie := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(f.Context(), "GET", "http://localhost/n/c/0?token=abc", nil)
	h.ServeHTTP(cookie, r)
	value := cookie.Result().Cookies()[0].Value
	f.Add("localhost", page, "", "varve="+value, "")
	f.Add("localhost", "", "", "varve="+value, "")
	f.Fuzz(func(t *testing.T, host, origin, authorization, cookie, query string) {
		if strings.ContainsAny(query, " #") {
			return
		}
		headers := []string{"Host: " + host, "Authorization: " + authorization, "Cookie: " + cookie}
		if origin != "" {
			headers = append(headers, "Origin: "+origin)
		}
		is, _ := answerTo(t, h, "/n/c/0?token="+query, headers...)
		if is == nil || is.StatusCode >= 400 {
			return
		}
		if !mayBeNamed(host) {
			t.Errorf("status %d under the host %q", is.StatusCode, host)
		}
		own := strings.TrimSpace(origin) == "" || strings.EqualFold(strings.TrimSpace(origin), "http://"+strings.TrimSpace(host))
		bears := strings.Contains(authorization, " "+token)
		switch {
		case !own && !strings.EqualFold(strings.TrimSpace(origin), page):
			t.Errorf("status %d for a page of %q", is.StatusCode, origin)
		case !own && !bears:
			t.Errorf("status %d for a page without the token", is.StatusCode)
		case is.StatusCode == http.StatusOK && !bears && !strings.Contains(cookie, value):
			t.Errorf("status 200 without the token: %q, %q", authorization, cookie)
		case is.StatusCode == http.StatusSeeOther && !strings.HasPrefix(strings.ToLower(query), "abc") && !strings.Contains(query, "%") && !strings.Contains(query, "abc"):
			t.Errorf("a cookie for %q", query)
		}
		if allowed := is.Header.Get("Access-Control-Allow-Origin"); allowed != "" && (own || len(is.Header["Set-Cookie"]) > 0) {
			t.Errorf("%q may read, with cookies %v", allowed, is.Header["Set-Cookie"])
		}
	})
}

// mayBeNamed reports whether a host is one that the server of [FuzzGuard] has.
func mayBeNamed(host string) bool {
	name := strings.ToLower(strings.TrimSpace(host))
	if at := strings.LastIndexByte(name, ':'); at >= 0 && strings.HasPrefix(name, "[") == strings.HasSuffix(name[:at], "]") {
		if _, err := netip.ParseAddr(name); err != nil {
			name = name[:at] // without the port
		}
	}
	if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
		name = name[1 : len(name)-1]
	}
	name = strings.TrimSuffix(name, ".")
	if address, err := netip.ParseAddr(name); err == nil {
		return address.IsLoopback()
	}
	return name == "localhost" || name == "data.example" || strings.HasSuffix(name, ".localhost")
}
