// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// newTarget makes a node with arrays of several sizes, and secrets in it and beside it.
func newTarget(t *testing.T) (location string) {
	t.Helper()
	dir := t.TempDir()
	location = filepath.Join(dir, "node")
	at, err := zarr.Locate(t.Context(), location, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(at.Store())
	if _, err := at.CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"a": 10, "large": 2 << 20} {
		a, err := at.At(name).CreateArray(t.Context(), zarr.Spec{Shape: []int64{int64(n)}, Type: dtype.Int32, Chunks: grid.Chunks(int64(n)), DimensionNames: []string{"x"}}, nil)
		data := make([]int32, n)
		for i := range data {
			data[i] = int32(i) * 1_234_577 // does not compress
		}
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := at.At("many").CreateArray(t.Context(), zarr.Spec{Shape: []int64{1 << 40}, Type: dtype.Float64, Chunks: grid.Chunks(1 << 20), DimensionNames: []string{"x"}}, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret.txt", "node/.env", "node/.git/config", "node/__varve/x", "node/a/__varve/x", "node.bak/secret.txt", "etc/passwd"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(planted), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	// Systems without symbolic links have less to attack.
	_ = errors.Join(os.Symlink("..", filepath.Join(location, "link")), os.Symlink(filepath.Join("..", "secret.txt"), filepath.Join(location, "file")),
		os.Symlink(filepath.Join("..", "..", "..", "secret.txt"), filepath.Join(location, "a", "c", "link")), os.Symlink(".git", filepath.Join(location, "dotted")))
	return location
}

// TestHostile attacks the command over connections of its own.
func TestHostile(t *testing.T) {
	location := newTarget(t)
	defer debug.SetGCPercent(debug.SetGCPercent(50)) // little of what is counted is garbage
	before, heap := runtime.NumGoroutine(), heapMiB()
	servers := map[bool]*running{false: start(t, location), true: start(t, location, "--token", secretToken, "--allow-origin", "https://a.example")}
	list := attacks()
	if len(list) < 500 {
		t.Errorf("%d attacks are too few", len(list))
	}
	work, seen := make(chan attack), map[string]int{}
	var mu sync.Mutex
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			for a := range work {
				status, err := a.run(strings.TrimSuffix(strings.TrimPrefix(servers[a.token].base, "http://"), "/"))
				if err != nil {
					t.Errorf("%.100q: %v", a.name, err)
				}
				mu.Lock()
				seen[status]++
				mu.Unlock()
			}
		})
	}
	for _, a := range list {
		work <- a
	}
	close(work)
	g.Wait()
	t.Logf("%d attacks, statuses are %v", len(list), seen)
	for _, r := range servers {
		if status, text := r.get(t, "@health"); status != 200 && status != 401 {
			t.Errorf("afterwards: status %d, %s", status, text)
		}
		r.client.CloseIdleConnections()
		if log := r.stop(t); strings.Contains(log, "panic") || strings.Contains(log, planted) {
			t.Errorf("%s", log)
		}
	}
	if grown := heapMiB() - heap; grown > 256 {
		t.Errorf("the heap has grown by %d MiB", grown)
	}
	for range 1000 { // goroutines take a moment to end
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, and %d before", runtime.NumGoroutine(), before)
}

// heapMiB returns the most memory that the heap has taken from the system so far.
func heapMiB() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys >> 20)
}

// run sends an attack and returns the status of the answer.
func (a attack) run(address string) (status string, err error) {
	dialed, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	c := dialed.(*net.TCPConn)
	defer c.Close()
	// This ends a test that would hang.
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return "", err
	}
	sent := make(chan struct{})
	go func() {
		_, _ = io.WriteString(c, a.text) // the server may close before it has read all
		close(sent)
	}()
	defer func() { <-sent }()
	if a.vanishes {
		<-sent
		return "closed", c.SetLinger(0)
	}
	if a.open {
		<-sent
		_ = c.CloseWrite() // it may be closed already
	}
	answer, err := a.receive(c)
	if a.leaves {
		_ = c.SetLinger(0)
	}
	_ = c.SetWriteDeadline(time.Now()) // the server reads no more
	if err != nil {
		return "", err
	}
	return a.judge(answer)
}

// mostReceived bounds what is kept of an answer.
const mostReceived = 32 << 20

// receive reads the answer. A connection that the server resets is closed.
func (a attack) receive(c net.Conn) ([]byte, error) {
	var b bytes.Buffer
	piece := make([]byte, 64<<10)
	for b.Len() < mostReceived {
		n, err := c.Read(piece)
		b.Write(piece[:n])
		if os.IsTimeout(err) {
			return nil, fmt.Errorf("no end of the answer after %.200q", b.Bytes())
		}
		if err != nil || a.leaves && bytes.Contains(b.Bytes(), []byte("\r\n\r\n")) {
			break
		}
	}
	return b.Bytes(), nil
}

// judge compares an answer with what may come.
func (a attack) judge(answer []byte) (status string, err error) {
	status = "closed"
	if len(answer) > 0 {
		first, _, _ := strings.Cut(string(answer), "\r\n")
		fields := strings.Fields(first)
		if len(fields) < 2 || !strings.HasPrefix(first, "HTTP/1.") {
			return "", fmt.Errorf("the answer is %.100q", answer)
		}
		status = fields[1]
	}
	ok := false
	for want := range strings.FieldsSeq(a.want) {
		ok = ok || want == status || strings.HasSuffix(want, "xx") && len(status) == 3 && status[0] == want[0]
	}
	switch n, _ := strconv.Atoi(status); {
	case !ok:
		return status, fmt.Errorf("status %s, want %s: %.300q", status, a.want, answer)
	case n >= 500 && !strings.Contains(a.want, status):
		return status, fmt.Errorf("status %s", status)
	case bytes.Contains(answer, []byte(planted)):
		return status, fmt.Errorf("it has a secret: %.300q", answer)
	case bytes.Count(answer, []byte("HTTP/1.1 ")) > 1:
		return status, fmt.Errorf("more than one answer: %.300q", answer)
	case strings.Contains(string(answer), "\r\nX: y"), strings.Contains(string(answer), "//evil.example/"):
		return status, fmt.Errorf("a header of the client: %.300q", answer)
	}
	return status, nil
}
