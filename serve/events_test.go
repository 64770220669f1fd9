// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// stream reads events over HTTP.
type stream struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Reader
}

// follow connects to the events of the node n.
func follow(t *testing.T, url string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // of a missing event
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", url+"/@events/n", nil)
	if err != nil {
		t.Fatal(err)
	}
	is, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = is.Body.Close() })
	if is.StatusCode != 200 || is.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(is.Status)
	}
	return &stream{t, is.Body, bufio.NewReader(is.Body)}
}

// next returns the next event.
func (s *stream) next() (kind string, e serve.Event) {
	s.t.Helper()
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "event":
			kind = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				s.t.Fatal(err)
			}
			return kind, e
		}
	}
}

// want expects the next event.
func (s *stream) want(kind, path string, shape ...int64) {
	s.t.Helper()
	is, e := s.next()
	if is != kind || e.Path != path || !slices.Equal(e.Shape, shape) {
		s.t.Fatalf("event %s %+v, want %s of %q with shape %v", is, e, kind, path, shape)
	}
}

// watched serves the node n of a store, and looks at it often.
func watchedServer(t *testing.T, s store.Store) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler(t, zarr.At(s, "n"), serve.Options{}.Looking(time.Millisecond)))
	t.Cleanup(server.Close)
	return server
}

// TestEvents tells two clients what becomes of an array.
func TestEvents(t *testing.T) {
	s, a := rows(t, 10, grid.Edges(4, 1, 5))
	server := watchedServer(t, s)
	first := follow(t, server.URL)
	first.want("present", "", 10)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(zarr.Append(t.Context(), a, 0, numbers(10, 3), nil))
	first.want("grown", "", 13)
	second := follow(t, server.URL)
	second.want("present", "", 13)
	both := func(kind string, shape ...int64) {
		t.Helper()
		first.want(kind, "", shape...)
		second.want(kind, "", shape...)
	}
	must(a.SetAttribute(t.Context(), "x", 1))
	both("attributes", 13)
	_, err := rechunk.Do(t.Context(), a, rechunk.Compaction{Axis: 0, UpTo: 16}, nil)
	must(err)
	both("rechunked", 13)
	must(a.Resize(t.Context(), []int64{12}, nil))
	both("shrunk", 12)
	_, err = rechunk.Do(t.Context(), a, rechunk.Removal{Axis: 0, Range: grid.Interval{Start: 0, Stop: 2}}, nil)
	must(err)
	both("moved", 10)
	must(zarr.At(s, "n").Delete(t.Context(), &zarr.Options{Write: true}))
	both("deleted")
	_, err = zarr.At(s, "n").CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Type: dtype.Int8}, nil)
	must(err)
	both("created", 3)
}

// TestEventsOfGroup finds arrays that are created while somebody listens.
func TestEventsOfGroup(t *testing.T) {
	s := memstore.New()
	create := func(path string) {
		t.Helper()
		if _, err := zarr.At(s, path).CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Type: dtype.Int8}, nil); err != nil {
			t.Fatal(err)
		}
	}
	create("n/a")
	create("n/g/b")
	server := watchedServer(t, s)
	events := follow(t, server.URL)
	events.want("present", "a", 3)
	events.want("present", "g/b", 3)
	create("n/g/c")
	events.want("created", "g/c", 3)
	if is := request(t, handler(t, zarr.At(s, "n"), nil), "GET", "/@events/m"); is.StatusCode != 404 {
		t.Errorf("status %d for another node", is.StatusCode)
	}
}

// TestEventsAfterDamage has a member that is no array any more. Listeners that come then
// do not hear of it, until it is one again.
func TestEventsAfterDamage(t *testing.T) {
	s := memstore.New()
	spec := zarr.Spec{Shape: []int64{3}, Type: dtype.Int8}
	for _, path := range []string{"n/a", "n/b"} {
		if _, err := zarr.At(s, path).CreateArray(t.Context(), spec, nil); err != nil {
			t.Fatal(err)
		}
	}
	server := watchedServer(t, s)
	first := follow(t, server.URL)
	first.want("present", "a", 3)
	first.want("present", "b", 3)
	put(t, s, "n/a/zarr.json", []byte("{}"))
	first.want("replaced", "a")
	second := follow(t, server.URL)
	second.want("present", "b", 3)
	if _, err := zarr.At(s, "n/a").CreateArray(t.Context(), spec, &zarr.CreateOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	first.want("created", "a", 3)
	second.want("created", "a", 3)
}

// TestManyEvents has more arrays than are watched, of which no further one is opened.
func TestManyEvents(t *testing.T) {
	s := memstore.New()
	if _, err := zarr.At(s, "n").CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.At(s, "n/a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Type: dtype.Int8}, nil); err != nil {
		t.Fatal(err)
	}
	key, err := store.ParseKey("n/a/zarr.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const most = 1000 // watched
	for i := range most + 500 {
		put(t, s, fmt.Sprintf("n/a%04d/zarr.json", i), doc)
	}
	opened := &counting{Store: s}
	server := watchedServer(t, opened)
	events := follow(t, server.URL)
	for i := range most {
		if kind, e := events.next(); kind != "present" || len(e.Shape) != 1 {
			t.Fatal(i, kind, e)
		}
	}
	if n := opened.last.Load(); n > most+300 { // some are read ahead
		t.Errorf("the document of array %d was read", n)
	}
}

// counting knows the highest number of an array whose document was read.
type counting struct {
	store.Store
	last atomic.Int64
}

// Unwrap implements [store.Wrapper].
func (c *counting) Unwrap() store.Store { return c.Store }

// List implements [store.Lister].
func (c *counting) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, c.Store, dir, how)
}

func (c *counting) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	n := int64(0)
	if _, err := fmt.Sscanf(key.String(), "n/a%d/", &n); err == nil && n > c.last.Load() {
		c.last.Store(n)
	}
	return c.Store.Get(ctx, key, q, dst)
}

// timestep asks for one of the two documents.
func timestep(t *testing.T, url, path string) (step int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	is, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer is.Body.Close()
	found := map[string]int{}
	if err := json.NewDecoder(is.Body).Decode(&found); err != nil || is.StatusCode != 200 {
		t.Fatal(is.Status, err)
	}
	return found["timestep"]
}

// TestTimestep follows a data set whose shape is complete while its chunks arrive.
func TestTimestep(t *testing.T) {
	s := memstore.New()
	spec := zarr.Spec{Shape: []int64{100_000, 2}, Type: dtype.Int32, Chunks: grid.Chunks(2, 2), DimensionNames: []string{"time", "x"}}
	a, err := zarr.At(s, "n/a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec.Shape, spec.Chunks, spec.DimensionNames = []int64{100_000}, grid.Chunks(100_000), []string{"time"}
	if _, err := zarr.At(s, "n/time").CreateArray(t.Context(), spec, nil); err != nil {
		t.Fatal(err)
	}
	server := watchedServer(t, s)
	written := int64(0)
	write := func() {
		t.Helper()
		if err := a.WriteChunk(t.Context(), []int64{written, 0}, bytes.Repeat([]byte{1}, 16)); err != nil {
			t.Fatal(err)
		}
		written++
	}
	if is := request(t, handler(t, zarr.At(s, "n"), nil), "GET", "/n/current-timestep"); is.StatusCode != 404 {
		t.Errorf("status %d before the first step", is.StatusCode)
	}
	for _, prefix := range []string{"/n/", "/@regular/n/", "/@v2/n/"} {
		before := int(2*written) - 1
		next := make(chan int)
		go func() { next <- timestep(t, server.URL, prefix+"next-timestep") }()
		for answered := false; !answered; {
			write() // a request that comes late waits for a later one
			select {
			case n := <-next:
				if answered = true; n <= before || n%2 != 1 {
					t.Errorf("%s: step %d after %d", prefix, n, before)
				}
			case <-time.After(5 * time.Millisecond):
			}
		}
		for timestep(t, server.URL, prefix+"current-timestep") != int(2*written)-1 {
			time.Sleep(time.Millisecond) // what it has found is used for a while
		}
	}
}
