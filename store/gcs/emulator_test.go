// SPDX-License-Identifier: Apache-2.0

package gcs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"varve.dev/zarr/internal/test/arrays"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/gcs"
	"varve.dev/zarr/store/gcs/gcstest"
	"varve.dev/zarr/store/storetest"
)

// TestFakeGCSServer runs the conformance suite against fake-gcs-server, a program of
// others, if it is installed.
//
// The server lacks some conditions, which [conditions] adds: those of deletions, of the
// sources of copies, and of the sources and the target of compose.
func TestFakeGCSServer(t *testing.T) {
	endpoint := emulator(t)
	front := httptest.NewServer(&conditions{to: endpoint})
	t.Cleanup(front.Close)
	var n atomic.Int64
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := gcs.Open(bucket(t, front.URL, n.Add(1)), "era5.zarr", &gcs.Options{Endpoint: front.URL, Anonymous: true, Retry: quick})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}

// emulator starts fake-gcs-server and returns its URL.
func emulator(t *testing.T) string {
	t.Helper()
	return arrays.Emulator(t, "fake-gcs-server", "fake-gcs-server", func(port string) []string {
		return []string{"-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory", "-log-level", "error"}
	})
}

// bucket makes a bucket and returns its name.
func bucket(t *testing.T, endpoint string, n int64) string {
	t.Helper()
	name := fmt.Sprintf("bucket-%d", n)
	r, err := http.Post(endpoint+"/storage/v1/b?project=p", "application/json", strings.NewReader(fmt.Sprintf(`{"name":%q}`, name)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Fatalf("the server does not make a bucket: %s", r.Status)
	}
	return name
}

// conditions is a proxy that adds the conditions that fake-gcs-server lacks. Requests
// that change objects pass one at a time with those that it checks.
type conditions struct {
	to string
	mu sync.Mutex
}

var (
	oneObject = regexp.MustCompile(`^/storage/v1/b/([^/]+)/o/([^/]+)$`)
	copying   = regexp.MustCompile(`^/storage/v1/b/([^/]+)/o/([^/]+)/rewriteTo/`)
	composing = regexp.MustCompile(`^/storage/v1/b/([^/]+)/o/([^/]+)/compose$`)
)

func (c *conditions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to, _ := url.Parse(c.to)
	if r.Method != http.MethodGet {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	path, q := r.URL.EscapedPath(), r.URL.Query()
	if m := oneObject.FindStringSubmatch(path); m != nil && r.Method == http.MethodDelete && !c.holds(w, m, q.Get("ifGenerationMatch")) {
		return
	}
	if m := copying.FindStringSubmatch(path); m != nil && !c.holds(w, m, q.Get("ifSourceGenerationMatch")) {
		return
	}
	if m := composing.FindStringSubmatch(path); m != nil && !(c.holds(w, m, q.Get("ifGenerationMatch")) && c.sources(w, r, m)) {
		return
	}
	(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		p.Out.Host = r.Host // for the URLs of uploads
	}}).ServeHTTP(w, r)
}

// holds reports whether an object has a generation, and answers if it does not.
func (c *conditions) holds(w http.ResponseWriter, m []string, cond string) bool {
	if cond == "" {
		return true
	}
	var d struct{ Generation string }
	r, err := http.Get(c.to + "/storage/v1/b/" + m[1] + "/o/" + m[2])
	if err != nil {
		gcstest.Fail(w, http.StatusBadGateway, err.Error())
		return false
	}
	defer r.Body.Close()
	switch {
	case r.StatusCode == http.StatusNotFound:
		gcstest.Fail(w, http.StatusNotFound, "No such object")
	case json.NewDecoder(r.Body).Decode(&d) != nil || d.Generation != cond:
		gcstest.Fail(w, http.StatusPreconditionFailed, "the condition does not hold")
	default:
		return true
	}
	return false
}

// sources checks the conditions of the sources of compose.
func (c *conditions) sources(w http.ResponseWriter, r *http.Request, m []string) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var asked struct {
		Sources []struct {
			Name       string
			Conditions struct{ IfGenerationMatch string } `json:"objectPreconditions"`
		} `json:"sourceObjects"`
	}
	if err != nil || json.Unmarshal(body, &asked) != nil {
		gcstest.Fail(w, http.StatusBadRequest, "not a list of sources")
		return false
	}
	for _, s := range asked.Sources {
		if !c.holds(w, []string{"", m[1], url.PathEscape(s.Name)}, s.Conditions.IfGenerationMatch) {
			return false
		}
	}
	return true
}
