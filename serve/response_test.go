// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAnswered has one report for each request, without the query.
func TestAnswered(t *testing.T) {
	_, g := folder(t)
	var all []serve.Answer
	h := handler(t, g, &serve.Options{
		Token: "abc", Answered: func(a serve.Answer) { all = append(all, a) },
		Mount: map[string]http.Handler{"view": http.NotFoundHandler()},
	})
	size := int64(len(body(t, request(t, h, "GET", "/n/zarr.json", "Authorization", "Bearer abc"))))
	for _, path := range []string{"/n/zarr.json?token=abc", "/n/none?b=abc", "/@health", "/@view/x", "/@regular,codec=gzip/n/zarr.json", "/@other", "/other/zarr.json", "/"} {
		request(t, h, "GET", path, "Authorization", "Bearer abc")
	}
	request(t, h, "HEAD", "/n/zarr.json")
	var kinds []string
	for _, a := range all {
		kinds = append(kinds, fmt.Sprintf("%s %s %q %d", a.Method, a.Path, a.Kind, a.Status))
		if a.Duration <= 0 || a.Remote == "" || strings.Contains(fmt.Sprint(a), "abc") {
			t.Errorf("%+v", a)
		}
	}
	want := []string{
		`GET /n/zarr.json "n" 200`, `GET /n/zarr.json "n" 200`, `GET /n/none "n" 404`, `GET /@health "@health" 200`, `GET /@view/x "@view" 404`,
		`GET /@regular,codec=gzip/n/zarr.json "@regular" 200`, `GET /@other "" 400`, `GET /other/zarr.json "" 404`, `GET / "" 200`, `HEAD /n/zarr.json "n" 401`,
	}
	if !slices.Equal(kinds, want) || all[0].Bytes != size {
		t.Errorf("got %q, want %q; %d bytes, want %d", kinds, want, all[0].Bytes, size)
	}
}

// TestMounted has a handler beside the nodes, which needs what they need.
func TestMounted(t *testing.T) {
	_, g := folder(t)
	h := handler(t, g, &serve.Options{Token: "abc", Mount: map[string]http.Handler{"metrics": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path)
	})}})
	for _, path := range []string{"/@metrics", "/@metrics/more", "/@health"} {
		if is := request(t, h, "GET", path); is.StatusCode != 401 {
			t.Errorf("%s without the token: status %d", path, is.StatusCode)
		}
		if is := request(t, h, "POST", path, "Authorization", "Bearer abc"); is.StatusCode != 405 {
			t.Errorf("POST %s: status %d", path, is.StatusCode)
		}
		if is := request(t, h, "GET", path, "Authorization", "Bearer abc", "Origin", "https://evil.example"); is.StatusCode != 403 {
			t.Errorf("%s for another page: status %d", path, is.StatusCode)
		}
		want := path
		if path == "/@health" {
			want = "ok\n"
		}
		if is := request(t, h, "GET", path, "Authorization", "Bearer abc"); is.StatusCode != 200 || body(t, is) != want {
			t.Errorf("%s: status %d", path, is.StatusCode)
		}
	}
	for _, name := range []string{"health", "regular", "", "@a", "a/b", "a,b"} {
		opt := &serve.Options{Mount: map[string]http.Handler{name: http.NotFoundHandler()}}
		if _, err := serve.New(nil, opt); err == nil || !strings.Contains(err.Error(), "name") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := serve.New(nil, &serve.Options{Mount: map[string]http.Handler{"a": nil}}); err == nil {
		t.Error("no handler is mounted")
	}
}

// held is a store whose reads wait.
type held struct {
	store.Store
	begun, free chan struct{}
}

func (h held) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	h.begun <- struct{}{}
	<-h.free
	return h.Store.Get(ctx, key, q, dst)
}

// TestRequests has one request in work, and no room for another one of the node.
func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		put(t, m, "n/v", []byte("value"))
		h := held{m, make(chan struct{}), make(chan struct{})}
		s := handler(t, zarr.At(h, "n"), &serve.Options{Requests: 1})
		done := make(chan *http.Response)
		ask := func() { done <- request(t, s, "GET", "/n/v") }
		go ask()
		<-h.begun
		refused := func(after bool) {
			t.Helper()
			begun := time.Now()
			is := request(t, s, "GET", "/n/v")
			if is.StatusCode != 503 || is.Header.Get("Retry-After") != "1" || is.Header.Get("Cache-Control") != "no-store" || (time.Since(begun) >= time.Second) != after {
				t.Errorf("after %v: status %d, %v", time.Since(begun), is.StatusCode, is.Header)
			}
		}
		refused(true)
		if is := request(t, s, "GET", "/@health"); is.StatusCode != 200 {
			t.Errorf("/@health: status %d", is.StatusCode)
		}
		const waiting = 4 // those for whom there may soon be a place
		for range waiting {
			go ask()
		}
		synctest.Wait()
		refused(false)
		go func() { // further reads do not wait
			for range h.begun {
			}
		}()
		close(h.free)
		for range 1 + waiting {
			if is := <-done; body(t, is) != "value" {
				t.Errorf("status %d", is.StatusCode)
			}
		}
		if is := request(t, s, "GET", "/n/v"); body(t, is) != "value" {
			t.Errorf("after it: status %d", is.StatusCode)
		}
		close(h.begun)
	})
}

// serveSlowly returns the address of a server of a value of 64 MiB, which no socket
// buffers, and a channel of its answers.
func serveSlowly(t *testing.T, stall time.Duration, isTLS bool) (*httptest.Server, chan serve.Answer) {
	t.Helper()
	m := memstore.New()
	put(t, m, "n/v", make([]byte, 64<<20))
	ended := make(chan serve.Answer, 9)
	h := handler(t, zarr.At(m, "n"), &serve.Options{Stall: stall, Answered: func(a serve.Answer) { ended <- a }})
	s := httptest.NewUnstartedServer(h)
	if s.EnableHTTP2 = isTLS; isTLS {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, ended
}

// TestStall has a client that takes nothing. Its connection is closed.
func TestStall(t *testing.T) {
	s, ended := serveSlowly(t, 50*time.Millisecond, false)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /n/v HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if a := <-ended; a.Bytes >= 64<<20 {
		t.Errorf("%d bytes were taken", a.Bytes)
	}
	if n, err := io.Copy(io.Discard, c); n >= 64<<20 {
		t.Errorf("%d bytes came, %v", n, err)
	}
}

// trickle is a client that takes what it gets in two milliseconds.
type trickle struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (c *trickle) SetWriteDeadline(t time.Time) error {
	c.until = t
	return nil
}

func (c *trickle) Write(p []byte) (int, error) {
	time.Sleep(2 * time.Millisecond)
	if !c.until.IsZero() && time.Now().After(c.until) {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

// TestTrickle has a client that takes less than 64 KiB within the time, although it
// always takes something.
func TestTrickle(t *testing.T) {
	var err error
	h := handler(t, zarr.At(memstore.New(), "n"), &serve.Options{Stall: 300 * time.Millisecond, Mount: map[string]http.Handler{
		"view": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < 1000 && err == nil; i++ {
				_, err = w.Write(make([]byte, 16))
			}
		}),
	}})
	h.ServeHTTP(&trickle{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/@view", nil))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it was not cut: %v", err)
	}
}

// TestEnd has a client that always takes enough of values. It is cut at the end of the
// time nevertheless, also if there is no other limit.
func TestEnd(t *testing.T) {
	s := memstore.New()
	array(t, s, "n", zarr.Spec{Shape: []int64{64 << 20}, Type: dtype.Uint8}, []uint8(nil))
	for _, stall := range []time.Duration{time.Minute, -1} {
		h := handler(t, zarr.At(s, "n"), (&serve.Options{Stall: stall}).Ending(200*time.Millisecond))
		client := &trickle{ResponseRecorder: httptest.NewRecorder()}
		func() {
			defer func() {
				if is := recover(); is != http.ErrAbortHandler {
					t.Errorf("the answer was not cut: %v", is)
				}
			}()
			h.ServeHTTP(client, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/@values/n?format=raw", nil))
		}()
		if left := time.Until(client.until); client.until.IsZero() || left > 0 {
			t.Errorf("stall %v: it could be written until %v, in %v", stall, client.until, left)
		}
	}
	h := handler(t, zarr.At(hanging{s}, "n"), serve.Options{}.Ending(10*time.Millisecond))
	client := &trickle{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(client, httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/@values/n", nil))
	if client.Code != 504 || time.Until(client.until) < time.Second {
		t.Errorf("of a store that hangs: status %d, to be written until %v", client.Code, client.until)
	}
}

// TestHanging has a store that hangs. It keeps no place of a request for ever.
func TestHanging(t *testing.T) {
	s, _ := rows(t, 3)
	h := handler(t, zarr.At(hanging{s}, "n"), (&serve.Options{Requests: 1}).Ending(10*time.Millisecond))
	for _, path := range []string{"/n/zarr.json", "/n/c/0", "/@regular/n/zarr.json", "/@v2/n/.zarray", "/@values/n"} {
		if is := request(t, h, "GET", path); is.StatusCode != 504 {
			t.Errorf("%s: status %d, %s", path, is.StatusCode, body(t, is))
		}
	}
}

// TestLongValue has a value whose parts take longer than one of them may. It is whole.
func TestLongValue(t *testing.T) {
	m := memstore.New()
	put(t, m, "n/v", make([]byte, 5<<20))
	s := &late{Store: m, begun: make(chan struct{}, 9)} // it takes 50 ms for each further MiB
	is := request(t, handler(t, zarr.At(s, "n"), serve.Options{}.Ending(150*time.Millisecond)), "GET", "/n/v")
	if got := body(t, is); is.StatusCode != 200 || len(got) != 5<<20 {
		t.Errorf("status %d, %d bytes", is.StatusCode, len(got))
	}
}

// hanging is a store whose reads wait for the end of the request.
type hanging struct{ store.Store }

func (h hanging) Get(ctx context.Context, _ store.Key, _ store.Request, _ []byte) ([]byte, store.Info, error) {
	<-ctx.Done()
	return nil, store.Info{}, ctx.Err()
}

// TestStallOfStream is TestStall with HTTP/2, whose other streams go on.
func TestStallOfStream(t *testing.T) {
	s, ended := serveSlowly(t, 50*time.Millisecond, true)
	is, err := s.Client().Get(s.URL + "/n/v")
	if err != nil || is.ProtoMajor != 2 {
		t.Fatal(is, err)
	}
	defer is.Body.Close()
	<-ended
	if n, err := io.Copy(io.Discard, is.Body); err == nil {
		t.Errorf("the answer ended after %d bytes without an error", n)
	}
	again, err := s.Client().Get(s.URL + "/@health")
	if err != nil || body(t, again) != "ok\n" {
		t.Error(err)
	}
	again.Body.Close()
	s.Client().CloseIdleConnections()
}

// TestSlowStore has a store that takes longer than a client may. That is not the
// client's doing, so the answer is whole, over both versions of HTTP.
func TestSlowStore(t *testing.T) {
	for _, isTLS := range []bool{false, true} {
		m := memstore.New()
		put(t, m, "n/v", make([]byte, 2<<20))
		l := &late{Store: m, begun: make(chan struct{}, 9)} // it takes 50 ms for the second MiB
		s := httptest.NewUnstartedServer(handler(t, zarr.At(l, "n"), &serve.Options{Stall: 25 * time.Millisecond}))
		if s.EnableHTTP2 = isTLS; isTLS {
			s.StartTLS()
		} else {
			s.Start()
		}
		is, err := s.Client().Get(s.URL + "/n/v")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, is.Body); n != 2<<20 || err != nil {
			t.Errorf("HTTP/%d: %d bytes, %v", is.ProtoMajor, n, err)
		}
		is.Body.Close()
		s.Close()
	}
}

// TestNoLimit has a client without a limit, and one whose body nobody reads.
func TestNoLimit(t *testing.T) {
	s, ended := serveSlowly(t, -1, false)
	is, err := s.Client().Get(s.URL + "/n/v")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case a := <-ended:
		t.Errorf("cut after %d bytes", a.Bytes)
	case <-time.After(20 * time.Millisecond):
	}
	if n, err := io.Copy(io.Discard, is.Body); n != 64<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	is.Body.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = io.WriteString(c, "GET /@health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
	text, readErr := io.ReadAll(c) // until the server closes it
	if err != nil || readErr != nil || !strings.Contains(string(text), "Connection: close") || !strings.HasSuffix(string(text), "ok\n") {
		t.Errorf("%q, %v, %v", text, err, readErr)
	}
}

// TestCompressed compresses text that is long, for clients that accept it, and nothing
// else.
func TestCompressed(t *testing.T) {
	s, _ := rows(t, 20_000, grid.Every(20_000))
	h := handler(t, zarr.At(s, "n"), nil)
	for path, want := range map[string]bool{
		"/@values/n?format=json": true, "/@values/n?format=csv": true, "/@values/n?format=npy": false, "/@values/n?format=raw": false,
		"/@values/n?format=json&select=0:5": false, "/n/c/0": false, "/n/zarr.json": false, "/@regular,codec=none/n/c/0": false, "/@values/none": false, "/": false,
	} {
		plain := body(t, request(t, h, "GET", path))
		for accepted, accepts := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "br": false, "": false} {
			is := request(t, h, "GET", path, "Accept-Encoding", accepted)
			zipped := is.Header.Get("Content-Encoding") == "gzip"
			if zipped != (want && accepts) {
				t.Errorf("%s, accepted %q: compressed %v", path, accepted, zipped)
			}
			text := body(t, is)
			if zipped {
				r, err := gzip.NewReader(strings.NewReader(text))
				if err != nil {
					t.Fatal(err)
				}
				unzipped, err := io.ReadAll(r)
				if text = string(unzipped); err != nil {
					t.Error(path, err)
				}
			}
			if text != plain {
				t.Errorf("%s, accepted %q: %d bytes that differ from the %d that are not compressed", path, accepted, len(text), len(plain))
			}
		}
	}
}
