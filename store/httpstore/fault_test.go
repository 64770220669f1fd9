// SPDX-License-Identifier: Apache-2.0

package httpstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

const key = "a/c/0/0" // 400 bytes, the digits 0 to 9 again and again

// header returns a wrapper that sets headers of every answer.
func header(pairs ...string) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		a := record(next, r)
		for i := 0; i < len(pairs); i += 2 {
			a.Header().Set(pairs[i], pairs[i+1])
		}
		a.send(w)
	}
}

// status answers all with a status.
func status(code int) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(code) }
}

// redirect answers all with a redirection.
func redirect(to string) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header()["Location"] = []string{to}
		w.WriteHeader(http.StatusFound)
	}
}

// hijack answers with these bytes and closes the connection.
func hijack(text string) func(w http.ResponseWriter, r *http.Request, next http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		c, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buffered.WriteString(text)
		_ = buffered.Flush()
		c.Close()
	}
}

// TestFaults checks that every kind of wrong answer is an error of the right kind, for a
// whole value and for a range.
func TestFaults(t *testing.T) {
	any := errors.New("any error")
	for name, c := range map[string]struct {
		spoil         func(w http.ResponseWriter, r *http.Request, next http.Handler)
		whole, ranged error // what they wrap; nil is none
	}{
		"nothing":         {header(), nil, nil},
		"gone":            {status(410), any, any},
		"unauthorized":    {status(401), fs.ErrPermission, fs.ErrPermission},
		"forbidden":       {status(403), fs.ErrPermission, fs.ErrPermission},
		"no content":      {status(204), any, any},
		"not modified":    {status(304), any, any},
		"teapot":          {status(418), any, any},
		"server error":    {status(500), any, any},
		"not implemented": {status(501), any, any},
		"partial without a range": {func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			w.Header().Set("Content-Range", "bytes 0-3/400")
			w.WriteHeader(206)
			_, _ = io.WriteString(w, "0123")
		}, any, any},
		"no content range": {header("Content-Range", ""), nil, any},
		"size not known":   {header("Content-Range", "bytes 7-26/*"), nil, store.ErrUnsupported},
		"shifted":          {header("Content-Range", "bytes 8-27/400"), nil, any},
		"short":            {header("Content-Range", "bytes 7-25/400"), nil, any},
		"long":             {header("Content-Range", "bytes 7-27/400"), nil, any},
		"beyond the end":   {header("Content-Range", "bytes 7-26/26"), nil, any},
		"backwards":        {header("Content-Range", "bytes 26-7/400"), nil, any},
		"negative":         {header("Content-Range", "bytes -7-26/400"), nil, any},
		"overflow":         {header("Content-Range", "bytes 7-26/99999999999999999999"), nil, any},
		"other unit":       {header("Content-Range", "items 7-26/400"), nil, any},
		"two ranges":       {header("Content-Range", "bytes 7-16,17-26/400"), nil, any},
		"multipart":        {header("Content-Type", "multipart/byteranges; boundary=x"), any, any},
		"gzip":             {header("Content-Encoding", "gzip"), store.ErrUnsupported, store.ErrUnsupported},
		"identity":         {header("Content-Encoding", "identity"), nil, nil},
		"loop":             {redirect("x"), any, any},
		"to itself":        {redirect("?"), any, any},
		"to a file":        {redirect("file:///etc/passwd"), store.ErrUnsupported, store.ErrUnsupported},
		"to ftp":           {redirect("ftp://127.0.0.1/x"), store.ErrUnsupported, store.ErrUnsupported},
		"to metadata":      {redirect("http://169.254.169.254/latest"), any, any},
		"to metadata six":  {redirect("http://[fe80::1]/latest"), any, any},
		"to nowhere":       {redirect(""), any, any},
		"to nonsense":      {redirect("http://[::1"), any, any},
		"to no host":       {redirect("http:///x"), any, any},
		"connection lost":  {hijack(""), any, any},
		"no HTTP":          {hijack("SSH-2.0-OpenSSH\r\n"), any, any},
		"cut headers":      {hijack("HTTP/1.1 200 OK\r\nContent-Le"), any, any},
		"cut body":         {hijack("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n0123456789"), any, any},
		"cut range":        {hijack("HTTP/1.1 206 Partial\r\nContent-Length: 20\r\nContent-Range: bytes 7-26/400\r\n\r\n789"), any, any},
		"cut chunk":        {hijack("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0a\r\n0123456789\r\n"), any, any},
		"no length":        {hijack("HTTP/1.0 200 OK\r\n\r\n0123456789"), store.ErrUnsupported, store.ErrUnsupported},
		"two lengths":      {hijack("HTTP/1.1 200 OK\r\nContent-Length: 400\r\nContent-Length: 10\r\n\r\n0123456789"), any, any},
		"negative length":  {hijack("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n0123456789"), any, any},
		"range longer than said": {hijack("HTTP/1.1 206 Partial\r\nTransfer-Encoding: chunked\r\nContent-Range: bytes 7-26/400\r\n\r\n" +
			"1e\r\n" + strings.Repeat("7890123456", 3) + "\r\n0\r\n\r\n"), any, any},
		"endless headers": {hijack("HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1<<16)+"\r\n", 40)), any, any},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, serve(t, wrap(fixture(), c.spoil)), httpstore.Options{Attempts: 2})
			for _, r := range []struct {
				q    store.Request
				want error
				text string
			}{
				{store.Request{}, c.whole, strings.Repeat("0123456789", 40)},
				{store.Request{Range: store.Span(7, 20)}, c.ranged, "78901234567890123456"},
			} {
				got, _, err := get(t, s, key, r.q)
				switch {
				case r.want == nil && (err != nil || string(got) != r.text):
					t.Errorf("%s: %q and error %v", r.q.Range, got, err)
				case r.want == any && err == nil, r.want != nil && r.want != any && !errors.Is(err, r.want):
					t.Errorf("%s: error is %v, want %v", r.q.Range, err, r.want)
				case r.want != nil && errors.Is(err, io.ErrUnexpectedEOF):
					t.Errorf("%s: %v is taken for a range that the value lacks", r.q.Range, err)
				case r.want != fs.ErrNotExist && errors.Is(err, fs.ErrNotExist):
					t.Errorf("%s: %v is taken for a missing value", r.q.Range, err)
				}
			}
		})
	}
}

// TestMissing checks Options.Missing.
func TestMissing(t *testing.T) {
	s := open(t, serve(t, wrap(fixture(), status(403))), httpstore.Options{Missing: []int{403}})
	if _, _, err := get(t, s, "none", store.Request{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want %v", err, fs.ErrNotExist)
	}
	if found, err := store.Exists(t.Context(), s, store.MustKey("none")); found || err != nil {
		t.Errorf("Exists: %t, %v", found, err)
	}
}

// TestCutBodies checks that an interrupted body is resumed if the version is the same,
// and requested again otherwise.
func TestCutBodies(t *testing.T) {
	value := bytes.Repeat([]byte("0123456789"), 10_000)
	for name, c := range map[string]struct {
		spoil  func(h http.Header)
		change int // the length of the value afterwards, 0 where it stays
		want   []string
	}{
		"strong ETag": {func(http.Header) {}, 0, []string{"", "bytes=50000-99999"}},
		"weak ETag":   {func(h http.Header) { h.Set("ETag", "W/"+h.Get("ETag")) }, 0, []string{"", ""}},
		"no ETag":     {func(h http.Header) { h.Del("ETag") }, 0, []string{"", ""}},
		"changed":     {func(http.Header) {}, 90_000, []string{"", "bytes=50000-99999", ""}},
		"same length": {func(http.Header) {}, 100_000, []string{"", "bytes=50000-99999", ""}},
		"deaf":        {func(http.Header) {}, 100_000, []string{"", "bytes=50000-99999", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			o := &origin{values: map[string][]byte{"v": value}}
			var n atomic.Int32
			s := open(t, serve(t, wrap(o, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if r.Header.Get("Range") != "" && r.Header.Get("If-Match") == "" {
					t.Error("a body is taken up on no condition")
				}
				if name == "deaf" { // many servers do not know If-Match
					r.Header.Del("If-Match")
				}
				a := record(next, r)
				c.spoil(a.Header())
				if n.Add(1) > 1 {
					a.send(w)
					return
				}
				a.Body.Truncate(50_000) // the length stays
				if a.send(w); c.change > 0 {
					o.put("v", bytes.ToUpper(bytes.Repeat([]byte("abcdefghij"), c.change/10)))
				}
			})), httpstore.Options{})
			got, info, err := get(t, s, "v", store.Request{})
			o.mu.Lock()
			want := o.values["v"]
			o.mu.Unlock()
			if err != nil || !bytes.Equal(got, want) || info.Size != int64(len(want)) {
				t.Fatalf("%d bytes, size %d, error %v", len(got), info.Size, err)
			}
			var ranges []string
			for _, r := range o.requests() {
				ranges = append(ranges, strings.TrimSpace(strings.TrimPrefix(r, "GET /v")))
			}
			if !slices.Equal(ranges, c.want) {
				t.Errorf("asked for %q, want %q", ranges, c.want)
			}
		})
	}
}

// TestPinned checks that all ranges of one value have one version.
func TestPinned(t *testing.T) {
	o := fixture()
	s := open(t, serve(t, o), httpstore.Options{})
	p := store.Pin(s, store.MustKey("v"), store.Info{})
	defer p.Close()
	o.put("v", []byte("old old"))
	if got, _, err := p.Read(t.Context(), store.Request{Range: store.Span(0, 3)}, nil); string(got) != "old" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	o.put("v", []byte("new new"))
	for _, r := range []store.Range{store.Span(4, 3), store.Whole(), store.Suffix(1)} {
		if got, _, err := p.Read(t.Context(), store.Request{Range: r}, nil); !errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: %q and error %v, want %v", r, got, err, store.ErrConflict)
		}
	}
	o.put("v", nil)
	if _, _, err := p.Read(t.Context(), store.Request{Range: store.Span(4, 3)}, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("cut to nothing: %v", err)
	}
}

// TestClaims checks that false lengths in headers take no memory.
func TestClaims(t *testing.T) {
	long := strconv.FormatInt(1<<40, 10)
	endless := func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		for b := make([]byte, 1<<16); r.Context().Err() == nil; {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		spoil func(w http.ResponseWriter, r *http.Request, next http.Handler)
		q     store.Request
		want  error
	}{
		"length":        {hijack("HTTP/1.1 200 OK\r\nContent-Length: " + long + "\r\n\r\nx"), store.Request{}, nil},
		"length, limit": {hijack("HTTP/1.1 200 OK\r\nContent-Length: " + long + "\r\n\r\nx"), store.Request{Limit: 100}, store.ErrTooLarge},
		"range": {hijack("HTTP/1.1 206 Partial\r\nTransfer-Encoding: chunked\r\nContent-Range: bytes 1-" + long + "/9999999999999\r\n\r\n1\r\nx\r\n"),
			store.Request{Range: store.Span(1, 1<<40)}, nil},
		"endless, limit":  {endless, store.Request{Limit: 1 << 20}, store.ErrTooLarge},
		"endless, range":  {endless, store.Request{Range: store.Span(5, 5)}, store.ErrUnsupported},
		"far behind":      {hijack("HTTP/1.1 200 OK\r\nContent-Length: " + long + "\r\n\r\nx"), store.Request{Range: store.Suffix(5)}, store.ErrUnsupported},
		"begins far away": {hijack("HTTP/1.1 200 OK\r\nContent-Length: " + long + "\r\n\r\nx"), store.Request{Range: store.Span(1<<30, 5)}, store.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, serve(t, wrap(fixture(), c.spoil)), httpstore.Options{Attempts: 2, Discard: 1 << 20})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := get(t, s, key, c.q)
			runtime.ReadMemStats(&after)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 160<<20 {
				t.Errorf("took %d MiB", grown>>20)
			}
		})
	}
}

// TestStall checks that a request fails if the server sends nothing any more, before its
// headers or within its body.
func TestStall(t *testing.T) {
	for name, begin := range map[string]string{"headers": "", "body": "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n0123"} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			done := make(chan struct{})
			url := serve(t, wrap(fixture(), func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				n.Add(1)
				c, buffered, err := w.(http.Hijacker).Hijack()
				if err != nil {
					panic(err)
				}
				_, _ = buffered.WriteString(begin)
				_ = buffered.Flush()
				<-done
				c.Close()
			}))
			defer close(done)
			s := open(t, url, httpstore.Options{Attempts: 3, Stall: 20 * time.Millisecond})
			if _, _, err := get(t, s, key, store.Request{}); err == nil || !strings.Contains(err.Error(), "sends nothing") || errors.Is(err, context.Canceled) {
				t.Errorf("error is %v", err)
			}
			if n.Load() != 2 {
				t.Errorf("%d attempts, want 2", n.Load())
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(5*time.Millisecond, cancel)
			patient := open(t, url, httpstore.Options{Stall: time.Hour})
			if _, _, err := patient.Get(ctx, store.MustKey(key), store.Request{}, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: error is %v", err)
			}
		})
	}
}

// TestSecrets checks that no error contains secrets of a URL or a header, or the target
// of a redirection.
func TestSecrets(t *testing.T) {
	const canary = "canary"
	for name, spoil := range map[string]func(w http.ResponseWriter, r *http.Request, next http.Handler){
		"missing": status(404), "forbidden": status(403), "busy": status(503), "lost": hijack(""), "nonsense": hijack("canar"),
		"loop": redirect("?x=" + canary), "scheme": redirect("gopher://" + canary + "/"), "escape": redirect("http://%zz" + canary),
		"elsewhere": redirect("http://user:" + canary + "@127.0.0.1:1/?" + canary),
	} {
		u := strings.Replace(serve(t, wrap(fixture(), spoil)), "http://", "http://"+canary+":"+canary+"@", 1) + "/x?sig=" + canary
		s := open(t, u, httpstore.Options{Attempts: 1, Header: http.Header{"X-Key": {canary}}})
		_, _, err := get(t, s, key, store.Request{})
		if _, failed := s.Stat(t.Context(), store.MustKey(key)); true {
			err = errors.Join(err, failed)
		}
		if err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, u := range []string{
		"http://u:canary@", "ftp://u:canary@h/x?canary", "http://u:canary@h:port/x", "http://u:can ary@h/%zz?canary", "https://canary@/x", "//canary@h/",
	} {
		if s, err := httpstore.OpenStore(u, nil); err == nil || strings.Contains(err.Error(), "anary") || strings.Contains(err.Error(), "can ") {
			t.Errorf("%s: %v, %v", u, s, err)
		}
	}
}

// TestSecretsStay checks that the store sends credentials and headers only to its own
// host.
func TestSecretsStay(t *testing.T) {
	var seen []string
	note := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		name, password, _ := r.BasicAuth()
		seen = append(seen, fmt.Sprintf("%s %s %s %s %s", r.URL.Path, name, password, r.Header.Get("X-Key"), r.URL.RawQuery))
		next.ServeHTTP(w, r)
	}
	other := serve(t, wrap(fixture(), note))
	url := serve(t, wrap(http.RedirectHandler(other+"/"+key, http.StatusFound), note))
	s := open(t, strings.Replace(url, "//", "//me:word@", 1)+"?sig=1", httpstore.Options{Header: http.Header{"X-Key": {"42"}}, PrivateRedirects: true})
	if _, _, err := get(t, s, key, store.Request{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/" + key + " me word 42 sig=1", "/" + key + "    "}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

// TestNoLength checks that a value that ends with the connection is refused, with the
// reason: a truncated value may look complete.
func TestNoLength(t *testing.T) {
	s := open(t, serve(t, wrap(fixture(), hijack("HTTP/1.0 200 OK\r\n\r\n0123456789"))), httpstore.Options{Attempts: 1})
	if _, _, err := get(t, s, key, store.Request{}); !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), "would look complete") {
		t.Errorf("%v", err)
	}
}
