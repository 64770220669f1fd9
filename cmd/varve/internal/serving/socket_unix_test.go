// SPDX-License-Identifier: Apache-2.0

//go:build unix

package serving

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shortFolder returns a new folder with a path that sockets can have.
func shortFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "v")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestSocket serves at a socket that only this user can open, needs no token there, and
// removes it at the end.
func TestSocket(t *testing.T) {
	a, dir := newNode(t, "a.zarr"), shortFolder(t)
	path := filepath.Join(dir, "s")
	r := start(t, "--listen", "unix:"+path, a)
	if r.base != "unix:"+path {
		t.Errorf("it listens at %s", r.base)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	r.client, r.base = &http.Client{Transport: transport}, "http://localhost/"
	if status, _ := r.get(t, "a.zarr/zarr.json"); status != 200 {
		t.Errorf("status %d", status)
	}
	if text := refusal(t, false, "--listen", "unix:"+path, a); !strings.Contains(text, "another server listens there") {
		t.Error(text)
	}
	if errs := r.stop(t); !strings.Contains(errs, "http://localhost/a.zarr  ") || strings.Contains(errs, "note:") {
		t.Errorf("it printed %s", errs)
	}
	if names, err := os.ReadDir(dir); len(names) != 0 || err != nil {
		t.Errorf("%v is left, %v", names, err)
	}
}

// TestSocketMode looks at the socket in the folder where it is made, before and after it
// has its mode. Nobody else can enter the folder.
func TestSocketMode(t *testing.T) {
	dir := shortFolder(t)
	l, err := listenSocket(t.Context(), filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	made := filepath.Dir(l.(*socket).Addr().String())
	if filepath.Dir(made) != dir || !strings.HasPrefix(filepath.Base(made), ".varve-") {
		t.Errorf("the socket was made in %s", made)
	}
	if info, err := os.Lstat(filepath.Join(dir, "s")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestStaleSocket replaces the socket of a server that was killed, and nothing else.
func TestStaleSocket(t *testing.T) {
	dir := shortFolder(t)
	path := filepath.Join(dir, "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l, err := listenSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	// Somebody else takes the path. It is not removed.
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte("data"), 0o600), l.Close()); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{path, dir} {
		if _, err := listenSocket(t.Context(), other); err == nil || !strings.Contains(err.Error(), "no socket") {
			t.Errorf("%s: %v", other, err)
		}
	}
	if text, err := os.ReadFile(path); string(text) != "data" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for name, want := range map[string]string{
		"": "needs the path", filepath.Join(dir, "none", "s"): "no such file", filepath.Join(dir, strings.Repeat("x", 120)): "too long",
	} {
		if err := os.MkdirAll(filepath.Join(dir, strings.Repeat("d", 100)), 0o700); err != nil {
			t.Fatal(err)
		}
		if want == "too long" {
			name = filepath.Join(dir, strings.Repeat("d", 100), "s")
		}
		if _, err := listenSocket(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	if names, err := os.ReadDir(dir); len(names) != 2 || err != nil {
		t.Errorf("%v is left, %v", names, err)
	}
}
