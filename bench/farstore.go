// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Properties of a far store.
const (
	latency   = 20 * time.Millisecond
	bandwidth = 200e6 // bytes per second, of all requests together
)

// far serves values like a far store: every request waits, and all share the bandwidth,
// in each direction of their own.
type far struct {
	url             string
	server          *http.Server
	requests, bytes atomic.Int64
	way, back       way // of answers, and of the bodies of requests
}

// way is the shared connection of all answers.
type way struct {
	mutex     sync.Mutex
	free      time.Time
	bandwidth float64
}

// take waits until n bytes are transferred.
func (w *way) take(n int) {
	w.mutex.Lock()
	// An idle connection does not save bandwidth for later.
	if now := time.Now(); w.free.Before(now) {
		w.free = now
	}
	w.free = w.free.Add(time.Duration(float64(n) / w.bandwidth * 1e9))
	// Sleep without the mutex, so that other answers can queue behind this one.
	until := w.free
	w.mutex.Unlock()
	time.Sleep(time.Until(until))
}

// serve starts a server of a folder on this machine.
func serve(dir string, latency time.Duration, bandwidth float64) (*far, error) {
	return serveAs(http.FileServer(http.Dir(dir)), latency, bandwidth)
}

// serveAs starts a server on this machine that answers as another handler does.
func serveAs(handler http.Handler, latency time.Duration, bandwidth float64) (*far, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &far{url: "http://" + l.Addr().String() + "/", way: way{bandwidth: bandwidth}, back: way{bandwidth: bandwidth}}
	f.server = &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		time.Sleep(latency)
		r.Body = slowBody{r.Body, &f.back}
		handler.ServeHTTP(&slow{rw, f}, r)
	})}
	go func() { _ = f.server.Serve(l) }()
	return f, nil
}

func (f *far) close() { _ = f.server.Close() }

func (f *far) reset() {
	f.requests.Store(0)
	f.bytes.Store(0)
}

func (f *far) counts() (requests, bytes int64) { return f.requests.Load(), f.bytes.Load() }

// slow is an answer with limited bandwidth.
type slow struct {
	http.ResponseWriter
	far *far
}

// Write sends few bytes at a time, so that answers share the bandwidth.
func (s *slow) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), 32<<10)]
		s.far.way.take(len(part))
		var k int
		k, err = s.ResponseWriter.Write(part)
		n, p = n+k, p[k:]
		s.far.bytes.Add(int64(k))
	}
	return n, err
}

// slowBody is the body of a request with limited bandwidth.
type slowBody struct {
	io.ReadCloser
	way *way
}

func (s slowBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p[:min(len(p), 32<<10)])
	if n > 0 {
		s.way.take(n)
	}
	return n, err
}

// ideal returns the minimum time to read the document and then all chunks with n
// concurrent requests. Each request waits for the latency, and then its bytes are
// transferred one after another.
func ideal(dir string, n int, latency time.Duration, bandwidth float64) (float64, error) {
	var lengths []int64
	err := filepath.WalkDir(filepath.Join(dir, "c"), func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			lengths = append(lengths, info.Size())
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("chunks of %s: %w", dir, err)
	}
	document, err := os.Stat(filepath.Join(dir, "zarr.json"))
	if err != nil {
		return 0, err
	}
	begin := latency.Seconds() + float64(document.Size())/bandwidth
	return schedule(begin, lengths, n, latency.Seconds(), bandwidth), nil
}

// schedule runs n concurrent requests from begin on, and returns the time at which the
// last one ends.
func schedule(begin float64, lengths []int64, n int, latency, bandwidth float64) float64 {
	free := make([]float64, max(n, 1)) // when each of n may begin its next request
	for i := range free {
		free[i] = begin
	}
	way := begin
	for _, length := range lengths {
		next := 0
		for i := range free {
			if free[i] < free[next] {
				next = i
			}
		}
		way = max(way, free[next]+latency) + float64(length)/bandwidth
		free[next] = way
	}
	for _, t := range free {
		way = max(way, t)
	}
	return way
}
