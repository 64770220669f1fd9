// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// TestHedge exports an array from a server on which one request never ends: --hedge
// repeats it. On a busy machine other requests are late, too, and may use up what may be
// repeated. So the test has several tries.
func TestHedge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a.zarr")
	a, err := zarr.CreateArray(t.Context(), dir, zarr.Spec{Shape: []int64{200}, Type: dtype.Uint8, Chunks: []grid.Cut{grid.Every(1)}}, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, bytes.Repeat([]byte{7}, 200))
	}
	if err != nil {
		t.Fatal(err)
	}
	const tries = 5
	for range tries {
		s := newStuckServer(t, dir)
		begin := time.Now()
		out, _, status := execute(t, "", "export", "--hedge", s.URL, "--format", "raw")
		if status != 0 || len(out) != 200 {
			t.Fatalf("status %d, %d elements", status, len(out))
		}
		took := time.Since(begin)
		s.mu.Lock()
		held, asked := s.held, s.asked[s.held]
		s.mu.Unlock()
		if held != "" && asked >= 2 && took < 20*time.Second {
			return
		}
		t.Logf("%q was asked for %d times, and the export took %v", held, asked, took)
	}
	t.Errorf("a request that never ends was not repeated in %d tries", tries)
}

// stuckServer serves the files of a folder, but does not answer one request.
type stuckServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
	held  string // the path of that request
}

func newStuckServer(t *testing.T, dir string) *stuckServer {
	s := &stuckServer{asked: map[string]int{}}
	stop, files, total := make(chan struct{}), http.FileServer(http.Dir(dir)), 0
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		total++
		s.asked[r.URL.Path]++
		// Not a repetition of a slow request, whose first answer may still come.
		hold := s.held == "" && total >= 150 && s.asked[r.URL.Path] == 1
		if hold {
			s.held = r.URL.Path
		}
		s.mu.Unlock()
		if hold {
			select {
			case <-r.Context().Done():
			case <-stop:
			}
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(stop) })
	return s
}
