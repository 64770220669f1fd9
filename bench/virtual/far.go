// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// latency is the time that the far server waits before it answers a request.
const latency = 20 * time.Millisecond

// server serves a folder of this machine, late.
type server struct {
	http     http.Server
	url      string
	requests atomic.Int64
}

func serve(dir string) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + l.Addr().String()}
	files := http.FileServer(http.Dir(dir))
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		time.Sleep(latency)
		files.ServeHTTP(w, r)
	})
	go func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	}()
	return s, nil
}

// unpaced is a store that does not say that it is far, so that nothing is read jointly.
type unpaced struct{ from store.Store }

// Get implements [store.Store].
func (u unpaced) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return u.from.Get(ctx, key, q, dst)
}

// way is a way to read from the server, and what it took in each round.
type way struct {
	name     string
	path     string
	alone    bool // one request for each chunk
	seconds  []float64
	requests []float64
}

func ways() []way {
	return []way{
		{name: "Zarr, an object for each chunk", path: stored},
		{name: "manifest of one file, a request for each chunk", path: whole + "/a", alone: true},
		{name: "manifest of one file, joint requests", path: whole + "/a"},
	}
}

// farRead is what is read from afar.
type farRead struct {
	from string
	part selection.Box
	ways []way
}

// farSet is the array that is read from afar: 2,048 chunks of 64 KiB.
var farSet = set{name: "far", shape: []int64{512, 256, 256}, chunk: []int64{4, 64, 64}, packed: true}

// measureFar reads from the server, in turns.
func measureFar(ctx context.Context, dir string, rounds int) ([]farRead, error) {
	at := filepath.Join(dir, farSet.name)
	if err := os.Mkdir(at, 0o777); err != nil {
		return nil, err
	}
	defer os.RemoveAll(at)
	if err := farSet.make(ctx, at); err != nil {
		return nil, err
	}
	s, err := serve(at)
	if err != nil {
		return nil, err
	}
	defer s.http.Close()
	all := []farRead{
		{"all 2,048 chunks of 64 KiB, zstd", nil, ways()},
		{"64 chunks that follow each other", selection.Box{{100, 116}, {0, 256}, {0, 256}}, ways()},
		{"128 chunks, each 15 others from the next", selection.Box{{0, 512}, {0, 64}, {0, 64}}, ways()},
	}
	for i := range all {
		if err := all[i].measure(ctx, s, rounds); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// measure reads in each way. The first round does not count: in it all elements are
// compared.
func (r *farRead) measure(ctx context.Context, s *server, rounds int) error {
	part := farSet
	part.part = r.part
	n, sel := part.elements()
	want, got := make([]byte, 4*n), make([]byte, 4*n)
	for round := range rounds + 1 {
		for k := range r.ways {
			w := &r.ways[(k+round)%len(r.ways)]
			with := ctx
			if w.alone {
				with = store.WithWrapping(ctx, func(s store.Store) store.Store { return unpaced{s} })
			}
			s.requests.Store(0)
			seconds, err := read(with, s.url+"/"+w.path, sel, got)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			switch {
			case round > 0:
				w.seconds, w.requests = append(w.seconds, seconds), append(w.requests, float64(s.requests.Load()))
			case k == 0:
				copy(want, got)
			case !bytes.Equal(want, got):
				return fmt.Errorf("%s: other elements", w.name)
			}
		}
	}
	return nil
}

// writeFar writes the table.
func writeFar(w io.Writer, rounds int, all []farRead) {
	fmt.Fprintf(w, `
## Joint requests

A web server on this machine answers each request after 20 ms. An array is opened and read from it, in turns, %d rounds. Reads of one
file that are made at the same time and lie close to each other share a request of at most 4 MiB.

| read | | requests, median | milliseconds, median | fastest |
|---|---|--:|--:|--:|
`, rounds)
	for _, r := range all {
		for i, x := range r.ways {
			what := r.from
			if i > 0 {
				what = ""
			}
			fmt.Fprintf(w, "| %s | %s | %.0f | %s | %s |\n", what, x.name, median(x.requests), milliseconds(median(x.seconds)), milliseconds(slices.Min(x.seconds)))
		}
	}
}
