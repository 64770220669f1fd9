// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
)

// serveOnce serves a node, reads a key of it, and ends the command. It returns the value
// and what was printed.
func serveOnce(t *testing.T, location, key string) (value, printed string) {
	t.Helper()
	return servedBy(t, []string{"serve", "n=" + location}, "n/"+key)
}

// servedBy is serveOnce for a command and an address.
func servedBy(t *testing.T, command []string, address string) (value, printed string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append(command, "--listen", "127.0.0.1:0"), console.Streams{In: strings.NewReader(""), Out: io.Discard, Err: w})
		w.Close()
	}()
	// Each write is one read.
	line := make([]byte, 4096)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string)
	go func() {
		text, _ := io.ReadAll(r) // until the command ends
		said <- string(text)
	}()
	base := strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "listening on "))
	is, err := http.Get(base + address)
	if err != nil {
		t.Fatalf("%v: %s", err, line[:n])
	}
	text, err := io.ReadAll(is.Body)
	is.Body.Close()
	if err != nil || is.StatusCode != http.StatusOK {
		t.Errorf("status %d, %v", is.StatusCode, err)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if status := <-ended; status != 0 {
		t.Errorf("the command has the status %d", status)
	}
	return string(text), string(line[:n]) + <-said
}

// TestViewFiles shows files of another format, one beside the other.
func TestViewFiles(t *testing.T) {
	dir := t.TempDir()
	monthlyFiles(t, dir)
	value, printed := servedBy(t, []string{"view", filepath.Join(dir, "data", "*.nc"), "--no-browser"}, "@view/api/nodes")
	if n := strings.Count(value, `"name":`); n < 2 || !strings.Contains(value, `"program":"varve`) || !strings.Contains(printed, "\npage: http://127.0.0.1:") {
		t.Errorf("%d nodes: %s, %s", n, value, printed)
	}
}

// TestServeVirtual serves a manifest, an archive and a file of another format by their
// nodes.
func TestServeVirtual(t *testing.T) {
	dir := t.TempDir()
	monthlyFiles(t, dir)
	manifest, archive := dir+"/archive.vz", dir+"/a.zip"
	must(t, "", "virtualize", dir+"/data/2026-09.nc", dir+"/data/2026-10.nc", "--concat", "time", "-o", manifest)
	must(t, "", "copy", fixture(t, "rect_2d.zarr"), archive)
	for _, location := range []string{manifest, archive, dir + "/data/2026-09.nc"} {
		if text, _ := serveOnce(t, location, "zarr.json"); !strings.Contains(text, `"node_type"`) {
			t.Errorf("%s: %s", location, text)
		}
	}
}
