// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store/memstore"
)

// browserLimit is how long a browser may take for a page. It ends a test that would hang.
const browserLimit = time.Minute

// script is what pages run: it asks for addresses as the test says, and reports the
// answers to the server of the page.
const script = `<!DOCTYPE html><title>page</title><script>
(async () => {
	const outcomes = {search: location.search};
	for (const [name, address, options] of %s) {
		try {
			const answer = await fetch(address, options);
			outcomes[name] = answer.status + ' ' + answer.type + ' ' + (answer.headers.get('etag') ? 'tagged ' : '') + await answer.text();
		} catch (e) {
			outcomes[name] = e.name;
		}
	}
	for (const name of ['loopback-network']) {
		try { outcomes[name] = (await navigator.permissions.query({name})).state } catch (e) { outcomes[name] = e.name }
	}
	await fetch('%s', {method: 'POST', mode: 'no-cors', body: JSON.stringify(outcomes)});
	const next = '%s';
	if (next) location = next;
})()
</script>`

// question is what a page asks for: a name of the outcome, an address, and the options of
// fetch.
type question [3]any

// pages are pages that a browser opens, and what they report.
type pages struct {
	*httptest.Server
	reports chan map[string]string
	mu      sync.Mutex
	held    map[string]string // by path
}

func newPages(t *testing.T) *pages {
	p := &pages{reports: make(chan map[string]string, 9), held: map[string]string{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var outcomes map[string]string
			if err := json.NewDecoder(r.Body).Decode(&outcomes); err == nil {
				p.reports <- outcomes
			}
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, p.held[r.URL.Path]) // the browser may have gone
	}))
	t.Cleanup(p.Close)
	return p
}

// add makes a page, which reports, and leads to the next one, if there is one.
func (p *pages) add(t *testing.T, path, next string, questions ...question) {
	t.Helper()
	text := p.text(t, next, questions...)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[path] = text
}

func (p *pages) text(t *testing.T, next string, questions ...question) string {
	t.Helper()
	list, err := json.Marshal(questions)
	check(t, err)
	return fmt.Sprintf(script, list, p.URL+"/report", next)
}

// browse opens an address in Chromium, with a profile of its own, and returns what a
// number of pages report.
func (p *pages) browse(t *testing.T, address string, n int, preferences string, flags ...string) (outcomes []map[string]string) {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		t.Skip("no Chromium, so no browser is asked; run interop/web/setup")
	}
	profile := t.TempDir()
	check(t, os.MkdirAll(filepath.Join(profile, "Default"), 0o700))
	if preferences != "" {
		check(t, os.WriteFile(filepath.Join(profile, "Default", "Preferences"), []byte(preferences), 0o600))
	}
	args := slices.Concat([]string{"--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--user-data-dir=" + profile}, flags)
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // Chromium does not start without it
	}
	command := exec.Command(program, append(args, address)...)
	check(t, command.Start())
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
		// Its other processes end after it, and still write to the profile.
		for range 100 {
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	for range n {
		select {
		case one := <-p.reports:
			outcomes = append(outcomes, one)
		case <-time.After(browserLimit):
			t.Fatalf("the browser has reported %d of %d pages", len(outcomes), n)
		}
	}
	return outcomes
}

// watchedServer serves a node as the command does, with a page of its own, and keeps the
// requests.
type watchedServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []*http.Request
	given []int // statuses
}

func newWatchedServer(t *testing.T, opt serve.Options) *watchedServer {
	t.Helper()
	s := memstore.New()
	at := zarr.At(s, "n")
	a, err := at.CreateArray(t.Context(), zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: grid.Chunks(2)}, nil)
	check(t, err)
	check(t, zarr.Write(t.Context(), a, nil, []int32{1, 2, 3, 4}))
	h, err := serve.New([]serve.Node{{Name: "n", Location: at}}, &opt)
	check(t, err)
	w := new(watchedServer)
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		recorded := &statusWriter{ResponseWriter: rw, status: http.StatusOK}
		h.ServeHTTP(recorded, r)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.asked, w.given = append(w.asked, r), append(w.given, recorded.status)
	}))
	t.Cleanup(w.Close)
	return w
}

// requests returns the requests so far, with their statuses.
func (w *watchedServer) requests() ([]*http.Request, []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked), slices.Clone(w.given)
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// asPage are the questions of a page of another origin.
func asPage(base string) []question {
	with := func(headers map[string]string) map[string]any { return map[string]any{"headers": headers} }
	return []question{
		{"document", base + "/n/zarr.json", map[string]any{}},
		{"view", base + "/@regular/n/zarr.json", map[string]any{}},
		{"range", base + "/n/c/0", with(map[string]string{"Range": "bytes=0-1"})},
		{"condition", base + "/n/c/0", with(map[string]string{"If-None-Match": "*"})},
		{"token", base + "/n/zarr.json", with(map[string]string{"Authorization": "Bearer x"})},
		{"missing", base + "/n/c/9", map[string]any{}},
		{"cookies", base + "/n/zarr.json", map[string]any{"credentials": "include"}},
		{"blind", base + "/n/zarr.json", map[string]any{"mode": "no-cors"}},
		{"write", base + "/n/zarr.json", map[string]any{"method": "PUT", "body": "x"}},
	}
}

// TestBrowserOrigins lets a page of another origin ask in a real browser: it can read if
// its origin is permitted, and otherwise nothing.
func TestBrowserOrigins(t *testing.T) {
	p := newPages(t)
	for _, permitted := range []bool{false, true} {
		opt := serve.Options{}
		if permitted {
			opt.Origins = []string{p.URL}
		}
		server := newWatchedServer(t, opt)
		p.add(t, "/", "", asPage(server.URL)...)
		is := p.browse(t, p.URL+"/", 1, "")[0]
		want := map[string]string{"document": "200 cors tagged {", "view": "200 cors tagged {", "range": "206 cors tagged ", "condition": "304 cors tagged ", "token": "200 cors tagged {", "missing": "404 cors {"}
		for _, q := range asPage(server.URL) {
			name := q[0].(string)
			if text, ok := want[name]; !strings.HasPrefix(is[name], text) && permitted && ok || (!permitted || !ok) && is[name] != "TypeError" {
				t.Errorf("%s, permitted %v: %s", name, permitted, is[name])
			}
		}
		asked, given := server.requests()
		for i, r := range asked {
			if !permitted && given[i] != http.StatusForbidden {
				if foreign := r.Header.Get("Origin") != ""; foreign {
					t.Errorf("%s %s of %s: status %d", r.Method, r.URL, r.Header.Get("Origin"), given[i])
				}
			}
		}
	}
}

// TestBrowserRebinding opens a page under a name that then leads to this machine, as the
// owner of the name may arrange. Under the name of this machine the page can read.
func TestBrowserRebinding(t *testing.T) {
	p := newPages(t)
	server := newWatchedServer(t, serve.Options{})
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	check(t, err)
	own := server.Config.Handler
	page := p.text(t, "", question{"document", "/n/zarr.json", map[string]any{}}, question{"values", "/@values/n", map[string]any{}}, question{"list", "/", map[string]any{}})
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/attack" { // before the name leads to this machine
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, page) // the browser may have gone
			return
		}
		own.ServeHTTP(w, r)
	})
	for host, want := range map[string]string{"evil.example": "421 basic {", "127.0.0.1": "200 basic ", "localhost": "200 basic "} {
		is := p.browse(t, "http://"+net.JoinHostPort(host, port)+"/attack", 1, "", "--host-resolver-rules=MAP evil.example 127.0.0.1")[0]
		for _, name := range []string{"document", "values", "list"} {
			if !strings.HasPrefix(is[name], want) || host == "evil.example" && strings.Contains(is[name], "int32") {
				t.Errorf("%s under %s: %s", name, host, is[name])
			}
		}
	}
}

// TestBrowserCookie opens the link with the token. It leads to an address without it, and
// the cookie lets pages of the server read. Pages of other origins get nothing by it, be
// they of this machine, where the browser sends it, or of another site, where it does
// not, and also if they are permitted.
func TestBrowserCookie(t *testing.T) {
	p := newPages(t)
	_, port, err := net.SplitHostPort(p.Listener.Addr().String())
	check(t, err)
	foreign := "http://" + net.JoinHostPort("evil.example", port)
	for _, permitted := range []bool{false, true} {
		opt := serve.Options{Token: "abc"}
		if permitted {
			opt.Origins = []string{p.URL, foreign}
		}
		var text string
		opt.Mount = map[string]http.Handler{"page": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, text) // the browser may have gone
		})}
		server := newWatchedServer(t, opt)
		text = p.text(t, p.URL+"/same", question{"document", "/n/zarr.json", map[string]any{}})
		with := []question{
			{"cookies", server.URL + "/n/zarr.json", map[string]any{"credentials": "include"}},
			{"plain", server.URL + "/n/zarr.json", map[string]any{}},
			{"blind", server.URL + "/n/zarr.json", map[string]any{"mode": "no-cors", "credentials": "include"}},
			{"token in the address", server.URL + "/n/zarr.json?token=abc", map[string]any{"credentials": "include"}},
		}
		p.add(t, "/same", foreign+"/other", with...)
		p.add(t, "/other", "", with...)
		is := p.browse(t, server.URL+"/@page?token=abc&x=1", 3, "", "--host-resolver-rules=MAP evil.example 127.0.0.1")
		if is[0]["search"] != "?x=1" || !strings.HasPrefix(is[0]["document"], "200 basic ") {
			t.Errorf("the page of the server: %v", is[0])
		}
		for i, one := range is[1:] {
			for _, q := range with {
				name := q[0].(string)
				if text := one[name]; text != "TypeError" && (!strings.HasPrefix(text, "401 cors ") || !permitted) {
					t.Errorf("page %d, %s: %s", i, name, text)
				}
			}
		}
		asked, given := server.requests()
		for i, r := range asked {
			fetched := r.Header.Get("Sec-Fetch-Site")
			if fetched == "cross-site" && r.Header.Get("Cookie") != "" {
				t.Errorf("the cookie was sent for %s across sites", r.URL)
			}
			own := slices.Contains([]string{"same-origin", "none"}, fetched)
			// The page of a permitted origin on this machine may ask blindly, without an
			// origin, but does not see the answer.
			if given[i] == http.StatusOK && !own && r.Header.Get("Origin") != "" {
				t.Errorf("status 200 for %s of %s", r.URL, r.Header.Get("Origin"))
			}
			if strings.Contains(r.Referer(), "abc") {
				t.Errorf("the address that led to %s is %s", r.URL, r.Referer())
			}
		}
	}
}

// TestBrowserLocalNetwork lets a page ask that is public by a flag of Chromium, because
// tests have no page of the network. Such a page needs the leave of the user, which is
// what present versions ask for in place of a question to the server: without it, no
// request comes; with it, the origin decides, as for other pages. A page of the network
// itself, its certificate and the dialog are not tested.
func TestBrowserLocalNetwork(t *testing.T) {
	p := newPages(t)
	for _, c := range []struct{ leave, permitted, reads bool }{{false, true, false}, {true, false, false}, {true, true, true}} {
		opt := serve.Options{}
		if c.permitted {
			opt.Origins = []string{p.URL}
		}
		server := newWatchedServer(t, opt)
		p.add(t, "/", "", question{"document", server.URL + "/n/zarr.json", map[string]any{}},
			question{"token", server.URL + "/n/zarr.json", map[string]any{"headers": map[string]string{"Authorization": "Bearer x"}}})
		preferences := ""
		if c.leave {
			preferences = fmt.Sprintf(`{"profile":{"content_settings":{"exceptions":{"loopback_network":{"%[1]s,*":{"setting":1}},"local_network_access":{"%[1]s,*":{"setting":1}}}}}}`, p.URL)
		}
		is := p.browse(t, p.URL+"/", 1, preferences, "--ip-address-space-overrides="+p.Listener.Addr().String()+"=public")[0]
		if state := is["loopback-network"]; state == "TypeError" {
			t.Skip("this Chromium does not know the permission")
		} else if (state == "granted") != c.leave {
			t.Errorf("%+v: the permission is %s", c, state)
		}
		for _, name := range []string{"document", "token"} {
			if reads := strings.HasPrefix(is[name], "200 cors "); reads != c.reads {
				t.Errorf("%+v: %s: %s", c, name, is[name])
			}
		}
		asked, _ := server.requests()
		if !c.leave && len(asked) > 0 {
			t.Errorf("%d requests came without leave, such as %s %v", len(asked), asked[0].Method, asked[0].Header)
		}
		for _, r := range asked {
			if h := r.Header.Get("Access-Control-Request-Private-Network"); h != "" {
				t.Logf("%s asks for a private network", r.Method)
			}
		}
	}
}
