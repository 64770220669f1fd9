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
