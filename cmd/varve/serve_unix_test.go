// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// announcement waits for the first line of varve serve, and returns the address in it.
func announcement(t *testing.T, p *process) string {
	t.Helper()
	for {
		if line, _, found := strings.Cut(p.errs.String(), "\n"); found {
			return strings.TrimPrefix(line, "listening on ")
		}
		select {
		case <-p.ended:
			t.Fatalf("it ended: %s", p.errs.String())
		default:
		}
	}
}

// TestServeUntilSignal sends a signal while a request is in work. It is answered, and the
// status is that of a command that has done its work. A second signal ends the command at
// once.
func TestServeUntilSignal(t *testing.T) {
	dir := fixture(t, "rect_2d.zarr")
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		source := offer(t, dir, "headers")
		p := start(t, "serve", "n="+source.url, "--listen", "127.0.0.1:0")
		base := announcement(t, p)
		answered := make(chan string, 1)
		go func() {
			is, err := http.Get(base + "n/c/0/0")
			if err != nil {
				answered <- err.Error()
				return
			}
			defer is.Body.Close()
			_, _ = io.Copy(io.Discard, is.Body)
			answered <- is.Status
		}()
		for !source.hangs() {
			select {
			case text := <-answered:
				t.Fatalf("%s, %s", text, p.errs.String())
			default:
			}
		}
		status, stopped := p.stop(t, signal, func() bool {
			_ = p.Process.Signal(signal)
			for address := strings.Trim(strings.TrimPrefix(base, "http:"), "/"); ; {
				c, err := net.Dial("tcp", address)
				if err != nil {
					return true // it does not accept any more
				}
				c.Close()
			}
		})
		if text := <-answered; status != -1 || !stopped || !strings.Contains(text, "EOF") {
			t.Errorf("two signals: status %d, %s; the request: %s", status, p.errs.String(), text)
		}

		p = start(t, "serve", "n="+source.url, "--listen", "127.0.0.1:0")
		base = announcement(t, p)
		source.release()
		is, err := http.Get(base + "n/c/0/0")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(is.Body)
		is.Body.Close()
		want, readErr := os.ReadFile(filepath.Join(dir, "c", "0", "0"))
		if err != nil || readErr != nil || string(got) != string(want) {
			t.Errorf("%q, want %q, %v, %v", got, want, err, readErr)
		}
		if status, _ := p.stop(t, signal, func() bool { return true }); status != 0 {
			t.Errorf("one signal: status %d, %s", status, p.errs.String())
		}
		http.DefaultClient.CloseIdleConnections()
	}
}

// TestServeKilled kills the server while it answers. Nothing is left on the disk, where
// the nodes are, in the folder of temporary files and in that of the user.
func TestServeKilled(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"home", "tmp", "nodes"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "home"))
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	monthlyFiles(t, filepath.Join(dir, "nodes"))
	array := filepath.Join(dir, "nodes", "rect.zarr")
	if err := os.CopyFS(array, os.DirFS(fixture(t, "rect_2d.zarr"))); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, dir)
	p := start(t, "serve", "n="+array, "m="+filepath.Join(dir, "nodes", "data", "2026-09.nc"), "--listen", "127.0.0.1:0")
	base := announcement(t, p)
	for _, path := range []string{"n/zarr.json", "@regular/n/c/0/0", "@v2,codec=gzip/n/0.0", "@values/n?format=npy", "@regular/m/zarr.json", "@values/n?format=csv", "n/current-timestep"} {
		is, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, is.Body); err != nil || is.StatusCode >= 500 {
			t.Errorf("%s: status %d, %v", path, is.StatusCode, err)
		}
		is.Body.Close()
	}
	events, err := http.Get(base + "@events/n") // an answer that goes on
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	if status, stopped := p.stop(t, syscall.SIGKILL, func() bool { return true }); status != -1 || !stopped {
		t.Errorf("status %d", status)
	}
	if after := treeOf(t, dir); after != before {
		for line := range strings.Lines(after) {
			if !strings.Contains(before, line) {
				t.Errorf("left or changed: %.200s", line)
			}
		}
		t.Error("the folders are not as before")
	}
	http.DefaultClient.CloseIdleConnections()
}
