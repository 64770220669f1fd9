// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"varve.dev/zarr"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/serve/page"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mounted returns the handler of package serve that shows a node as "d".
func mounted(t testing.TB, at *zarr.Location, opt *page.Options) http.Handler {
	t.Helper()
	h, err := page.New([]page.Node{{Name: "d", Location: at}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New([]serve.Node{{Name: "d", Location: at}}, &serve.Options{Mount: map[string]http.Handler{"view": h}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asking is a test, or one case of a property.
type asking interface {
	Helper()
	Context() context.Context
}

// ask returns the answer to a question.
func ask(t asking, h http.Handler, question string, params ...string) *httptest.ResponseRecorder {
	t.Helper()
	q := url.Values{}
	for i := 0; i < len(params); i += 2 {
		q.Set(params[i], params[i+1])
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/@view/api/"+question+"?"+q.Encode(), nil)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// answerTo decodes the answer to a question.
func answerTo(t testing.TB, h http.Handler, question string, params ...string) map[string]any {
	t.Helper()
	w := ask(t, h, question, params...)
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s %v: %d %s %v", question, params, w.Code, w.Body, err)
	}
	return v
}

// drawn is the answer about a plane.
type drawn struct {
	Height, Width            int
	Box                      [4]int64
	Step                     [2]int64
	Method, Level            string
	Exact                    bool
	Min, Max                 *float64
	Chunks                   int
	Requests, Bytes, Decoded int64
	Problems                 []struct{ Key, Message string }
	numbers                  []float32
	states                   []byte
}

func draw(t testing.TB, h http.Handler, params ...string) *drawn {
	t.Helper()
	w := ask(t, h, "plane", params...)
	if w.Code != http.StatusOK {
		t.Fatalf("plane %v: %d %s", params, w.Code, w.Body)
	}
	d, err := parsePlane(w.Body.Bytes())
	if err != nil {
		t.Fatalf("plane %v: %v", params, err)
	}
	return d
}

func parsePlane(body []byte) (*drawn, error) {
	d := new(drawn)
	n := int(binary.LittleEndian.Uint32(body))
	if err := json.Unmarshal(body[4:4+n], d); err != nil {
		return nil, err
	}
	body = body[4+n:]
	if len(body) != d.Height*d.Width*5 {
		return nil, fmt.Errorf("%d bytes for %d × %d pixels", len(body), d.Height, d.Width)
	}
	for i := range d.Height * d.Width {
		d.numbers = append(d.numbers, math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:])))
	}
	d.states = body[4*d.Height*d.Width:]
	return d, nil
}

// create makes an array in memory.
func create(t testing.TB, at *zarr.Location, spec zarr.Spec) *zarr.Array {
	t.Helper()
	a, err := at.CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func inMemory() *zarr.Location { return zarr.At(memstore.New(), "") }

// write writes elements to all of an array.
func write(t testing.TB, a *zarr.Array, sel [][2]int64, values any) {
	t.Helper()
	var err error
	switch v := values.(type) {
	case []float32:
		err = zarr.Write(t.Context(), a, box(sel), v)
	case []float64:
		err = zarr.Write(t.Context(), a, box(sel), v)
	case []int16:
		err = zarr.Write(t.Context(), a, box(sel), v)
	case []int32:
		err = zarr.Write(t.Context(), a, box(sel), v)
	case []int64:
		err = zarr.Write(t.Context(), a, box(sel), v)
	case []uint8:
		err = zarr.Write(t.Context(), a, box(sel), v)
	case []string:
		err = zarr.Write(t.Context(), a, box(sel), v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestBundle(t *testing.T) {
	h := mounted(t, inMemory().At("x"), nil)
	get := func(path, encoding string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
		if encoding != "" {
			r.Header.Set("Accept-Encoding", encoding)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, encoding := range []string{"", "gzip"} {
		w := get("/@view/", encoding)
		body, _ := io.ReadAll(w.Body)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || encoding == "" && !strings.HasPrefix(strings.ToLower(string(body)), "<!doctype html>") {
			t.Errorf("%q: %d %s %.40s", encoding, w.Code, w.Header(), body)
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'; script-src 'self';") || strings.Contains(policy, "unsafe") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("headers %v", w.Header())
		}
		if w.Header().Get("ETag") == "" {
			t.Error("no ETag")
		}
	}
	if w := get("/@view", ""); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "/@view/" {
		t.Errorf("/@view: %d %s", w.Code, w.Header())
	}
	for _, path := range []string{"/@view/page.go", "/@view/..", "/@view/dist", "/@view/api/nothing", "/@view/api/"} {
		if w := get(path, ""); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// put stores a value.
func put(t testing.TB, s store.Store, key, value string) {
	t.Helper()
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte(value)), store.Flush); err != nil {
		t.Fatal(err)
	}
}
