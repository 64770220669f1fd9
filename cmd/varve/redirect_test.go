// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/internal/racing"
)

// TestPrivateRedirects checks that a redirection to another service of this machine is
// followed only with the flag, and that the message names the flag.
func TestPrivateRedirects(t *testing.T) {
	files := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(fixture(t, "rect_2d.zarr")))))
	t.Cleanup(files.Close)
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, files.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(door.Close)
	if _, errs, status := execute(t, "", "info", door.URL+"/rect_2d.zarr"); status == 0 || !strings.Contains(errs, "--private-redirects") {
		t.Errorf("without the flag: status %d, %s", status, errs)
	}
	if _, errs, status := execute(t, "", "--private-redirects", "info", door.URL+"/rect_2d.zarr"); status != 0 {
		t.Errorf("with the flag: status %d, %s", status, errs)
	}
}

// overlongURL is the environment variable that makes TestOverlong run as the command.
const overlongURL = "VARVE_TEST_OVERLONG"

// TestOverlong checks that nothing is printed on standard error if a server sends more
// than it announced. It runs the command as a process, because package log is global.
func TestOverlong(t *testing.T) {
	racing.Skip(t)
	if url := os.Getenv(overlongURL); url != "" {
		os.Args = []string{"varve", "cat", url}
		main()
	}
	dir := filepath.Dir(fixture(t, "rect_2d.zarr"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := httptest.NewRecorder()
		http.FileServer(http.Dir(dir)).ServeHTTP(a, r)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		result := a.Result()
		_ = result.Write(conn)
		_, _ = io.WriteString(conn, "canary")
	}))
	t.Cleanup(server.Close)
	command := exec.Command(os.Args[0], "-test.run=^TestOverlong$")
	command.Env = append(os.Environ(), overlongURL+"="+server.URL+"/rect_2d.zarr")
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil || len(out) == 0 || errs.Len() > 0 {
		t.Errorf("error %v, %d bytes, standard error %q", err, len(out), errs.String())
	}
}
