// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/httptable"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// viewOfTable is the address in a view of the bytes of [httptable.Value].
const viewOfTable = "/@regular,chunks=250,codec=none/n/c/0"

// tableFolder returns a folder with the node n of the table, and its location.
func tableFolder(t testing.TB) (dir string, at *zarr.Location) {
	t.Helper()
	dir = t.TempDir()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close(s) })
	at = zarr.At(s, "n")
	spec := zarr.Spec{Shape: []int64{250}, Type: dtype.Uint32, Chunks: grid.Chunks(250), Codecs: []metadata.Extension{codec.Bytes("little")}}
	a, err := at.CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = a.WriteBytes(t.Context(), nil, httptable.Content())
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "n", "empty"), nil, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, at
}

// listening serves a handler as the command does, and returns its address. At the end of
// the test, the log of package net/http must have no panic.
func listening(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10, ErrorLog: log.New(&complaints, "", 0)}
	ended := make(chan struct{})
	go func() {
		_ = s.Serve(l)
		close(ended)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
		if bytes.Contains(complaints.Bytes(), []byte("panic")) {
			t.Errorf("%s", &complaints)
		}
	})
	return l.Addr().String()
}

// TestConformance holds stored keys and chunks of views to the table of HTTP.
func TestConformance(t *testing.T) {
	_, at := tableFolder(t)
	address := listening(t, handler(t, at, nil))
	for name, server := range map[string]*httptable.Server{
		"stored": {Address: address, Own: true},
		"view":   {Address: address, Own: true, Value: viewOfTable},
	} {
		n := 0
		for _, row := range httptable.Rows() {
			if name == "view" && (row.Dated || row.Stored) {
				continue
			}
			n++
			if err := server.Ask(row); err != nil {
				t.Errorf("%s: %s: %v", name, row.Name, err)
			}
		}
		t.Logf("%s: %d rows", name, n)
	}
}

// TestHead expects HEAD to tell what GET tells, for every row of the table that is a GET.
func TestHead(t *testing.T) {
	_, at := tableFolder(t)
	address := listening(t, handler(t, at, nil))
	for _, server := range []*httptable.Server{{Address: address, Own: true}, {Address: address, Own: true, Value: viewOfTable}} {
		for _, row := range httptable.Rows() {
			if row.Method != "" || row.Status == 206 || row.Status == 416 || row.Closes || row.Differs != "" || server.Value != "" && (row.Dated || row.Stored) {
				continue
			}
			if err := server.CompareHead(row); err != nil {
				t.Errorf("%s: %v", row.Name, err)
			}
		}
	}
}

// TestRecent has a value that was just written, whose version may not be told from the
// next one. Its tag must not be a strong one if the store says so.
func TestRecent(t *testing.T) {
	dir, at := tableFolder(t)
	h := handler(t, at, nil)
	now := time.Now()
	if err := os.Chtimes(filepath.Join(dir, "n", "c", "0"), now, now); err != nil {
		t.Fatal(err)
	}
	is := request(t, h, "GET", httptable.Value)
	tag := is.Header.Get("ETag")
	if _, err := io.Copy(io.Discard, is.Body); err != nil {
		t.Fatal(err)
	}
	part := request(t, h, "GET", httptable.Value, "Range", "bytes=0-1", "If-Range", tag)
	if weak := len(tag) > 1 && tag[0] == 'W'; weak == (part.StatusCode == http.StatusPartialContent) {
		t.Errorf("a part of version %s: status %d", tag, part.StatusCode)
	}
}
