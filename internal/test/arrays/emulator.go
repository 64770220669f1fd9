// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/fixture"
)

// Emulator starts a server of others on a free port, which ends with the test, and
// returns its URL. The program is where store/servers/setup installs it, or on the path.
// The test is skipped without it, and where long tests are not wanted. setup is what
// installs it.
func Emulator(t *testing.T, program, setup string, args func(port string) []string) string {
	t.Helper()
	if !fixture.Long() {
		t.Skip("takes a minute or more: make soak runs it, with VARVE_LONG=1")
	}
	name := installed(program)
	if name == "" {
		t.Skipf("%s is not installed; `sh store/servers/setup %s` installs it", program, setup)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	var log bytes.Buffer
	c := exec.Command(name, args(port)...)
	c.Stdout, c.Stderr, c.Dir = &log, &log, t.TempDir()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	life := time.AfterFunc(time.Hour, func() { _ = c.Process.Kill() }) // it may have ended
	t.Cleanup(func() {
		life.Stop()
		_ = c.Process.Kill() // the same
		_ = c.Wait()         // it was killed
	})
	url := "http://127.0.0.1:" + port
	for range 600 {
		if r, err := http.Get(url); err == nil {
			r.Body.Close()
			return url
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not answer: %s", program, &log)
	return ""
}

// installed returns the path of a program, or "".
func installed(name string) string {
	folder := os.Getenv("VARVE_SERVERS")
	if cache, err := os.UserCacheDir(); err == nil && folder == "" {
		folder = filepath.Join(cache, "varve-servers")
	}
	for _, name := range []string{filepath.Join(folder, name), filepath.Join(folder, "node_modules", ".bin", name), name} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// proxy stands in front of a server and does harm to some of the requests. The clock of
// its answers is off by hours at times.
type proxy struct {
	url     string
	clock   clock
	harmed  []atomic.Int64 // requests that came to each kind of harm
	passed  atomic.Int64
	turn    atomic.Int64 // of the kinds of harm
	harmful atomic.Bool
	server  *httputil.ReverseProxy

	mu       sync.Mutex
	dice     *rand.Rand
	inFlight map[*http.Request]chan struct{}
}

// fault is one kind of harm to a request.
type fault struct {
	name string
	do   func(p *proxy, w http.ResponseWriter, r *http.Request)
}

// faults are what networks, load balancers and busy services do to requests.
var faults = []fault{
	{"lost", func(*proxy, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	{"answer lost", func(p *proxy, _ http.ResponseWriter, r *http.Request) {
		p.server.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}},
	{"answer cut", func(p *proxy, w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		p.server.ServeHTTP(answer, r)
		reply(w, answer, answer.Body.Len()/2)
		panic(http.ErrAbortHandler)
	}},
	{"500", func(_ *proxy, w http.ResponseWriter, r *http.Request) { refuse(w, r, http.StatusInternalServerError) }},
	{"503", func(_ *proxy, w http.ResponseWriter, r *http.Request) { refuse(w, r, http.StatusServiceUnavailable) }},
	{"429", func(_ *proxy, w http.ResponseWriter, r *http.Request) { refuse(w, r, http.StatusTooManyRequests) }},
	{"502 afterwards", func(p *proxy, w http.ResponseWriter, r *http.Request) {
		p.server.ServeHTTP(httptest.NewRecorder(), r)
		refuse(w, r, http.StatusBadGateway)
	}},
	{"503 afterwards", func(p *proxy, w http.ResponseWriter, r *http.Request) {
		p.server.ServeHTTP(httptest.NewRecorder(), r)
		refuse(w, r, http.StatusServiceUnavailable)
	}},
	{"delivered twice", func(p *proxy, w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		again := r.Clone(r.Context())
		r.Body, again.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
		p.server.ServeHTTP(httptest.NewRecorder(), r)
		p.server.ServeHTTP(w, again)
	}},
	{"late", func(p *proxy, w http.ResponseWriter, r *http.Request) {
		time.Sleep(rand.N(200 * time.Millisecond))
		p.server.ServeHTTP(w, r)
	}},
	{"slow", func(p *proxy, w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		p.server.ServeHTTP(answer, r)
		reply(&trickle{w}, answer, answer.Body.Len())
	}},
}

// newProxy starts a proxy in front of the server at a URL. It ends with the test. Once a
// test asks for it, one in rate requests comes to harm. The seed decides which: the same
// seed harms the requests with the same numbers.
func newProxy(t *testing.T, to string, rate int, seed uint64) *proxy {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{harmed: make([]atomic.Int64, len(faults)), clock: clock{period: period, remaining: 50 + rand.IntN(100)},
		inFlight: map[*http.Request]chan struct{}{}, dice: rand.New(rand.NewPCG(seed, 1))}
	p.server = &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), // killed programs break their requests off
		Rewrite: func(q *httputil.ProxyRequest) {
			q.SetURL(target)
			q.Out.Host = q.In.Host // signatures and URLs of uploads have it
		},
		ModifyResponse: func(r *http.Response) error {
			if p.harmful.Load() {
				p.clock.date(r.Header)
			}
			return nil
		},
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harmful := p.harmful.Load()
		defer p.enter(r)()
		switch {
		case harmful && p.clock.refuses(w, r):
		case harmful && p.unlucky(rate):
			k := p.turn.Add(1) % int64(len(faults)) // each of them comes
			p.harmed[k].Add(1)
			faults[k].do(p, w, r)
		default:
			p.passed.Add(1)
			p.server.ServeHTTP(w, r)
		}
	}))
	front.Config.ErrorLog = p.server.ErrorLog
	p.url = front.URL
	t.Cleanup(front.Close)
	return p
}

// Harmful starts a proxy in front of a server, which does harm to one in rate requests
// from harm(true) until harm(false), which waits for the requests in flight.
func Harmful(t *testing.T, server string, rate int) (url string, harm func(begin bool)) {
	p := newProxy(t, server, rate, rand.Uint64())
	return p.url, func(begin bool) {
		if p.harm(begin); !begin {
			p.settle()
			t.Log(p.text())
		}
	}
}

// unlucky draws whether the next request comes to harm.
func (p *proxy) unlucky(rate int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dice.IntN(rate) == 0
}

// harm begins or ends to do harm.
func (p *proxy) harm(begin bool) { p.harmful.Store(begin) }

// enter notes that a request is in flight, until the returned function is called.
func (p *proxy) enter(r *http.Request) (leave func()) {
	over := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight[r] = over
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.inFlight, r)
		close(over)
	}
}

// settle waits for the requests that are in flight now.
func (p *proxy) settle() {
	p.mu.Lock()
	now := slices.Collect(maps.Values(p.inFlight))
	p.mu.Unlock()
	for _, over := range now {
		<-over
	}
}

// text says what was done to requests.
func (p *proxy) text() string {
	text := fmt.Sprintf("%d requests passed", p.passed.Load())
	for k := range faults {
		text += fmt.Sprintf(", %s %d", faults[k].name, p.harmed[k].Load())
	}
	return text
}

// check logs what was done to requests, and expects each kind of harm at least once.
func (p *proxy) check(t *testing.T) {
	t.Helper()
	p.clock.check(t)
	for k := range faults {
		if p.harmed[k].Load() == 0 {
			t.Errorf("no request was %s", faults[k].name)
		}
	}
	t.Log(p.text())
}

// reply sends n bytes of an answer.
func reply(w http.ResponseWriter, answer *httptest.ResponseRecorder, n int) {
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:n]) // the client may be gone
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// refuse answers as a load balancer does, which knows nothing of the service behind it.
func refuse(w http.ResponseWriter, r *http.Request, status int) {
	_, _ = io.Copy(io.Discard, r.Body) // the client may be gone
	http.Error(w, "this page is not of the service", status)
}

// trickle sends an answer in small pieces.
type trickle struct{ http.ResponseWriter }

func (t *trickle) Write(b []byte) (n int, err error) {
	for len(b) > 0 && err == nil {
		var k int
		k, err = t.ResponseWriter.Write(b[:min(len(b), 64)])
		if f, ok := t.ResponseWriter.(http.Flusher); ok {
			f.Flush()
		}
		time.Sleep(time.Millisecond)
		n, b = n+k, b[k:]
	}
	return n, err
}

// clock is the clock of the machines of a service that answer. It is off by hours for a
// part of the time, in both directions. The times of objects are those of other machines,
// so they are right.
type clock struct {
	period time.Duration // the longest time between two changes, 0 for one with each answer

	mu        sync.Mutex
	by        time.Duration
	until     time.Time
	remaining int // signed requests until one is refused
	early     int // answers that are hours ahead before all others

	skewed, signed, refused atomic.Int64 // answers with another date, signed requests, those refused
}

// period is how often the clock of a proxy changes at least.
const period = 300 * time.Millisecond

// mostSkew is the largest error of the clock.
const mostSkew = 12 * time.Hour

// skew returns how far the clock is off now.
func (c *clock) skew() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.early > 0 {
		c.early--
		return 5 * time.Hour
	}
	if now := time.Now(); now.After(c.until) {
		if c.until = now; c.period > 0 {
			c.until = now.Add(rand.N(c.period))
		}
		if c.by != 0 && rand.IntN(2) == 0 {
			c.by = 0
		} else {
			c.by = someHours()
		}
	}
	return c.by
}

// someHours returns an error of a clock for which services refuse signatures.
func someHours() time.Duration {
	by := time.Hour + rand.N(mostSkew-time.Hour)
	if rand.IntN(2) == 0 {
		return -by
	}
	return by
}

// date changes the date of an answer.
func (c *clock) date(h http.Header) {
	by := c.skew()
	if at, err := http.ParseTime(h.Get("Date")); err == nil && by != 0 {
		h.Set("Date", at.Add(by).Format(http.TimeFormat))
		c.skewed.Add(1)
	}
}

// refuses reports whether a signed request is refused because its time seems wrong, and
// answers as the service does. That ends many programs, so it happens once in some
// hundred requests. Tokens are not checked by the time of a request.
func (c *clock) refuses(w http.ResponseWriter, r *http.Request) bool {
	code, message := "", ""
	switch scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " "); scheme {
	case "AWS4-HMAC-SHA256":
		code, message = "RequestTimeTooSkewed", "The difference between the request time and the current time is too large."
	case "SharedKey":
		code, message = "AuthenticationFailed", "Server failed to authenticate the request."
	}
	if code == "" {
		return false
	}
	c.signed.Add(1)
	if !c.turn() {
		return false
	}
	c.refused.Add(1)
	_, _ = io.Copy(io.Discard, r.Body) // the client may be gone
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("X-Ms-Error-Code", code)
	w.Header().Set("Date", time.Now().Add(someHours()).UTC().Format(http.TimeFormat))
	w.WriteHeader(http.StatusForbidden)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message) // the same
	return true
}

// turn reports whether it is the turn of a signed request to be refused.
func (c *clock) turn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remaining--
	if c.remaining > 0 {
		return false
	}
	c.remaining = 100 + rand.IntN(600)
	return true
}

// check expects that the clock was off, and that a signed request was refused if there
// were any.
func (c *clock) check(t *testing.T) {
	t.Helper()
	t.Logf("%d answers with wrong dates, %d of %d signed requests refused", c.skewed.Load(), c.refused.Load(), c.signed.Load())
	if c.skewed.Load() == 0 {
		t.Error("no answer had a wrong date")
	}
	if c.signed.Load() > 0 && c.refused.Load() == 0 {
		t.Error("no signed request was refused")
	}
}
