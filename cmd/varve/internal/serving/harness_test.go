// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// output is a stream of a command that runs.
type output struct {
	mu    sync.Mutex
	b     bytes.Buffer
	lined chan struct{} // closed when there is a line
	first sync.Once
}

func newOutput() *output { return &output{lined: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if bytes.ContainsRune(p, '\n') {
		o.first.Do(func() { close(o.lined) })
	}
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// running is the command in this process.
type running struct {
	base      string // the address of the first line
	out, errs *output
	client    *http.Client
	end       context.CancelFunc
	ended     chan error // has the error of the command
}

// execute runs the command as package main does.
func execute(ctx context.Context, out, errs io.Writer, args ...string) error {
	root := &cobra.Command{Use: "varve", SilenceErrors: true, SilenceUsage: true}
	session.Flags(root)
	c := NewServe()
	work := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		args, end, err := session.Begin(cmd, args)
		defer end()
		if err != nil {
			return err
		}
		return work(cmd, args)
	}
	root.AddCommand(c)
	root.SetArgs(append([]string{"serve"}, args...))
	root.SetOut(out)
	root.SetErr(errs)
	return root.ExecuteContext(ctx)
}

// start starts the command on a free port, unless the arguments have --listen, and waits
// for its first line.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{out: newOutput(), errs: newOutput(), end: cancel, ended: make(chan error, 1)}
	go func() {
		r.ended <- execute(ctx, r.out, r.errs, append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	}()
	transport := new(http.Transport)
	r.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
	})
	select {
	case <-r.errs.lined:
	case err := <-r.ended:
		t.Fatalf("it ended: %v", err)
	}
	first, _, _ := strings.Cut(r.errs.String(), "\n")
	var found bool
	if r.base, found = strings.CutPrefix(first, "listening on "); !found {
		t.Fatalf("the first line is %q", first)
	}
	return r
}

// get returns the status and the body for an address. Headers are pairs.
func (r *running) get(t *testing.T, path string, headers ...string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if q.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			q.Host = headers[i+1]
		}
	}
	is, err := r.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer is.Body.Close()
	text, err := io.ReadAll(is.Body)
	if err != nil {
		t.Fatal(err)
	}
	return is.StatusCode, string(text)
}

// stop ends the command as a signal does, and returns what it printed on standard error.
func (r *running) stop(t *testing.T) string {
	t.Helper()
	r.end()
	if err := <-r.ended; err != nil {
		t.Errorf("it failed: %v", err)
	}
	return r.errs.String()
}

// refusal runs a command line that must fail, and returns its error as one line.
func refusal(t *testing.T, usage bool, args ...string) string {
	t.Helper()
	errs := newOutput()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := execute(ctx, io.Discard, errs, append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	if err == nil || failure.IsUsage(err) != usage || errs.String() != "" {
		t.Fatalf("%q: %v, %s", args, err, errs)
	}
	return failure.OneLine(err)
}

// newNode makes an array of a folder and returns its path.
func newNode(t *testing.T, name string) string {
	t.Helper()
	location := filepath.Join(t.TempDir(), name)
	at, err := zarr.Locate(t.Context(), location, store.Create)
	if err != nil {
		t.Fatal(err)
	}
	a, err := at.CreateArray(t.Context(), zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: grid.Chunks(2)}, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, []int32{1, 2, 3, 4})
	}
	if err == nil {
		err = store.Close(at.Store())
	}
	if err != nil {
		t.Fatal(err)
	}
	return location
}

// slowSource is a web server for the folder above a node. Requests for chunks wait until
// free is closed.
type slowSource struct {
	url         string
	asked, free chan struct{}
}

func newSlowSource(t *testing.T, folder string) *slowSource {
	t.Helper()
	w := &slowSource{asked: make(chan struct{}, 99), free: make(chan struct{})}
	files := http.FileServer(http.Dir(folder))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/c/") {
			w.asked <- struct{}{}
			select {
			case <-w.free:
			case <-r.Context().Done():
			}
		}
		files.ServeHTTP(rw, r)
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	w.url = "http://" + l.Addr().String()
	return w
}
