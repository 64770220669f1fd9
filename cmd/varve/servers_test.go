// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSlowServer reads from a web server that sends one byte at a time. A command must say
// that it waits, give up with advice, and wait forever if told so.
func TestSlowServer(t *testing.T) {
	dir := fixture(t, "rect_2d.zarr")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		for i := range text {
			time.Sleep(2 * time.Millisecond)
			if _, err := w.Write(text[i : i+1]); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(s.Close)
	_, errs, status := execute(t, "", "info", "--http-timeout", "10ms", s.URL)
	host := strings.TrimPrefix(s.URL, "http://")
	if status != 1 || !strings.Contains(errs, "--http-timeout") || strings.Count(errs, "waiting for "+host) != 1 {
		t.Errorf("status %d, %s", status, errs)
	}
	_, errs, status = execute(t, "", "info", "--json", "--http-timeout", "10ms", s.URL)
	if status != 1 || strings.Contains(errs, "waiting for") {
		t.Errorf("status %d, %s", status, errs)
	}
	if out, errs, status := execute(t, "", "info", "--http-timeout", "0", s.URL); status != 0 || !strings.Contains(out, "shape") || errs != "" {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	if _, errs, status := execute(t, "", "info", "--http-timeout", "-1s", s.URL); status != 2 {
		t.Errorf("status %d, %s", status, errs)
	}
}
