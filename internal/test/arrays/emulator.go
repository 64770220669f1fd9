// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"varve.dev/zarr/internal/test/fixture"
)

// Emulator starts a server of others on a free port, which ends with the test, and
// returns its URL. The program is where store/servers/setup installs it, or on the path.
// The test is skipped without it, and where long tests are not wanted. setup is what
// installs it.
func Emulator(t *testing.T, program, setup string, args func(port string) []string) string {
	t.Helper()
	if !fixture.Long() {
		t.Skip("takes a minute or more: make soak runs it, with VARVE_LONG=1")
	}
	name := installed(program)
	if name == "" {
		t.Skipf("%s is not installed; `sh store/servers/setup %s` installs it", program, setup)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	var log bytes.Buffer
	c := exec.Command(name, args(port)...)
	c.Stdout, c.Stderr, c.Dir = &log, &log, t.TempDir()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	life := time.AfterFunc(30*time.Minute, func() { _ = c.Process.Kill() }) // it may have ended
	t.Cleanup(func() {
		life.Stop()
		_ = c.Process.Kill() // the same
		_ = c.Wait()         // it was killed
	})
	url := "http://127.0.0.1:" + port
	for range 600 {
		if r, err := http.Get(url); err == nil {
			r.Body.Close()
			return url
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not answer: %s", program, &log)
	return ""
}

// installed returns the path of a program, or "".
func installed(name string) string {
	folder := os.Getenv("VARVE_SERVERS")
	if cache, err := os.UserCacheDir(); err == nil && folder == "" {
		folder = filepath.Join(cache, "varve-servers")
	}
	for _, name := range []string{filepath.Join(folder, name), filepath.Join(folder, "node_modules", ".bin", name), name} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
