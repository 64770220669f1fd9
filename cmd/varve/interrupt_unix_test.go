// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/internal/racing"
)

// asCommand is the environment variable that makes this test program run as the command.
// It holds the arguments as JSON, or a dash: then they follow those of the test program.
const asCommand = "VARVE_TEST_COMMAND"

// TestCommandItself is not a test. It is the command, for tests that need it in a process
// of its own.
func TestCommandItself(t *testing.T) {
	text, ok := os.LookupEnv(asCommand)
	if !ok {
		t.Skip("a test starts it")
	}
	args := flag.Args()
	if text != "-" {
		args = nil
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			t.Fatal(err)
		}
	}
	os.Args = append([]string{"varve"}, args...)
	main()
}

// process is a command that runs.
type process struct {
	*exec.Cmd
	out, errs shared
	ended     chan struct{}
}

// start starts a command whose standard input is silent.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCommandItself$"), ended: make(chan struct{})}
	p.Env = append(os.Environ(), asCommand+"="+string(text))
	p.Stdout, p.Stderr = &p.out, &p.errs
	if signal.Ignored(syscall.SIGHUP) {
		// The command would inherit this from nohup. A signal that is handled here has
		// its default action there.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	in, err := p.StdinPipe()
	if err == nil {
		t.Cleanup(func() { in.Close() })
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait() // the status tells
		close(p.ended)
	}()
	return p
}

// stop sends a signal when the command has reached a point, and returns its status. It
// returns false if the command ended before.
func (p *process) stop(t *testing.T, s syscall.Signal, ready func() bool) (status int, stopped bool) {
	t.Helper()
	for !ready() {
		select {
		case <-p.ended:
			return p.ProcessState.ExitCode(), false
		case <-time.After(time.Millisecond):
		}
	}
	_ = p.Process.Signal(s) // one that has ended is found out below
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second): // far more than a second: a machine may be busy
		_ = p.Process.Kill()
		t.Fatalf("it continues after %v: %s", s, p.errs.String())
	}
	return p.ProcessState.ExitCode(), true
}

// webStore is a web server for a folder. While it hangs, it does not answer requests for
// chunks.
type webStore struct {
	url   string
	mu    sync.Mutex
	asked bool          // for a chunk
	over  chan struct{} // closed once it hangs no more
}

// offer returns a server for a folder. how is where the answer to a request for a chunk
// stops: "headers" before it begins, "body" in the middle; "busy" answers ask to try
// again later.
func offer(t *testing.T, dir, how string) *webStore {
	w := &webStore{over: make(chan struct{})}
	files := http.FileServer(http.Dir(dir))
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		select {
		case <-w.over:
			files.ServeHTTP(rw, r)
			return
		default:
		}
		if !strings.Contains(r.URL.Path, "/c/") {
			files.ServeHTTP(rw, r)
			return
		}
		switch how {
		case "busy":
			rw.Header().Set("Retry-After", "5")
			rw.WriteHeader(http.StatusServiceUnavailable)
			_ = http.NewResponseController(rw).Flush()
			w.ask()
			return
		case "body":
			rw.Header().Set("Content-Length", "10")
			_, _ = rw.Write([]byte("half"))
			_ = http.NewResponseController(rw).Flush()
		}
		w.ask()
		select {
		case <-r.Context().Done():
		case <-w.over:
		}
	}))
	t.Cleanup(func() { w.release(); s.CloseClientConnections(); s.Close() })
	w.url = s.URL
	return w
}

func (w *webStore) ask() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = true
}

// hangs reports whether a client waits for a chunk.
func (w *webStore) hangs() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// release lets the server answer.
func (w *webStore) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.over:
	default:
		close(w.over)
	}
}

// TestHangingServer interrupts commands that wait for a web server: for the beginning of
// an answer, for the rest of one, and between two requests. They must end with the status
// of the signal and one message, and leave no file. When repeated, after the server
// answers again, they must succeed.
func TestHangingServer(t *testing.T) {
	signals := map[string]syscall.Signal{"headers": syscall.SIGINT, "body": syscall.SIGTERM, "busy": syscall.SIGHUP}
	for how, signal := range signals {
		for _, c := range []struct {
			args []string // URL is the store on the server, DIR a folder
			says string
		}{
			{[]string{"cat", "URL/a"}, ""},
			{[]string{"export", "URL/a", "-o", "DIR/a.npy"}, ""},
			{[]string{"check", "URL"}, ""},
			{[]string{"equal", "URL/a", "URL/b"}, ""},
			{[]string{"copy", "URL", "DIR/copy.zarr"}, "repeat the command, which starts over"},
			{[]string{"copy", "URL", "DIR/copy.zip"}, "nothing was copied"},
			{[]string{"convert", "URL", "DIR/copy.zarr", "--to", "2"}, ""}, // before or after it has begun at the destination
			{[]string{"append", "DIR/own.zarr", "URL/a"}, "nothing was changed"},
		} {
			t.Run(how+"/"+c.args[0], func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				served := filepath.Join(dir, "served")
				must(t, "", "create", served+"/g.zarr", "--group")
				for _, name := range []string{"/g.zarr/a", "/g.zarr/b", "/../own.zarr"} {
					must(t, "", "create", served+name, "--shape", "4,3", "--dtype", "int8", "--chunks", "[2,3]", "--codecs", `[{"name":"bytes"},{"name":"crc32c"}]`)
					must(t, "", "write", served+name, "--value", "1")
				}
				must(t, "", "consolidate", served+"/g.zarr")
				before := contentOf(t, dir)
				w := offer(t, served, how)
				place := strings.NewReplacer("URL", w.url+"/g.zarr", "DIR", dir)
				var args []string
				for _, a := range c.args {
					args = append(args, place.Replace(a))
				}
				p := start(t, args...)
				status, _ := p.stop(t, signal, w.hangs)
				said := p.errs.String()
				if status != 128+int(signal) || !isOneMessage(said, c.says) {
					t.Fatalf("status %d, %s", status, said)
				}
				if after := contentOf(t, dir); !strings.Contains(said, "repeat") && after != before {
					t.Errorf("something has changed:\n%s\n%s", before, after)
				}
				w.release()
				must(t, "", args...)
				noTemporaries(t, dir)
			})
		}
	}
}

// isOneMessage reports whether an interrupted command has printed one line that says so,
// with a given text.
func isOneMessage(said, what string) bool {
	said = strings.ReplaceAll(said, "varve: interrupted, finishing or undoing the current change; Ctrl-C again ends it at once\n", "") // on a busy machine
	return strings.Count(said, "\n") == 1 && strings.HasPrefix(said, "varve: interrupted: ") && strings.Contains(said, what)
}

// contentOf is like treeOf, without the times of folders.
func contentOf(t *testing.T, dir string) string {
	t.Helper()
	return timesOfFolders.ReplaceAllString(treeOf(t, dir), "$1")
}

var timesOfFolders = regexp.MustCompile(`(?m)( drwx\S+) [0-9]+$`)

// noTemporaries checks that a folder has no file of an unfinished change.
func noTemporaries(t *testing.T, dir string) {
	t.Helper()
	for line := range strings.Lines(treeOf(t, dir)) {
		if name := strings.Fields(line)[0]; strings.Contains(name, "__varve") || strings.Contains(name, ".tmp") {
			t.Errorf("%s is left", name)
		}
	}
}

// TestSignalAtLock interrupts commands that wait for a lock. They must change nothing,
// and succeed when repeated.
func TestSignalAtLock(t *testing.T) {
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	for i, c := range []struct {
		lock, says string
		args       []string
	}{
		{"a", "nothing was changed", []string{"append", "GROUP/a", "GROUP/b"}},
		{"a", "nothing was changed", []string{"resize", "GROUP/a", "--shape", "3,2", "--yes"}},
		{"a", "nothing was changed", []string{"unlock", "GROUP/a", "--trim"}},
		{"b", "1 of 2 arrays were unlocked; repeat", []string{"unlock", "GROUP"}},
		{"a", "nothing was changed", []string{"attrs", "GROUP/a", "set", "k", "1"}},
		{"", "nothing was changed", []string{"consolidate", "GROUP"}},
		{"a", "no document was changed", []string{"convert", "GROUP", "--to", "2"}},
		{"a", "", []string{"rm", "--yes", "GROUP/a"}},
	} {
		signal := signals[i%len(signals)]
		t.Run(c.args[0], func(t *testing.T) {
			t.Parallel()
			group := filepath.Join(t.TempDir(), "g.zarr")
			must(t, "", "create", group, "--group")
			for _, name := range []string{"/a", "/b"} {
				must(t, "", "create", group+name, "--shape", "4,3", "--dtype", "int8", "--chunks", "[2,3]", "--chunk-key-encoding", "v2.")
				must(t, "", "write", group+name, "--value", "1")
			}
			release := holdLock(t, group, c.lock)
			before := contentOf(t, group)
			var args []string
			for _, a := range c.args {
				args = append(args, strings.ReplaceAll(a, "GROUP", group))
			}
			p := start(t, args...)
			waits := func() bool { return strings.Contains(p.errs.String(), "waiting for the lock") }
			status, stopped := p.stop(t, signal, waits)
			lines := slices.DeleteFunc(strings.SplitAfter(p.errs.String(), "\n"), func(l string) bool { return strings.Contains(l, "waiting for the lock") })
			if said := strings.Join(lines, ""); status != 128+int(signal) || !stopped || !isOneMessage(said, c.says) {
				t.Errorf("status %d, %s", status, said)
			}
			if after := contentOf(t, group); after != before && !strings.Contains(c.says, "were unlocked") {
				t.Errorf("something has changed:\n%s\n%s", before, after)
			}
			release()
			var errs bytes.Buffer
			if status := run(t.Context(), args, console.Streams{In: strings.NewReader(""), Out: new(bytes.Buffer), Err: &errs}); status != 0 {
				t.Errorf("done again: status %d, %s", status, errs.String())
			}
			noTemporaries(t, group)
		})
	}
}

// TestSignalAtRemoval interrupts removals and replacements that have begun. The rest must
// be invisible, and the repeated command or rm must remove it.
func TestSignalAtRemoval(t *testing.T) {
	for _, c := range [][]string{{"rm", "--yes", "GROUP"}, {"create", "GROUP", "--group", "--overwrite", "--yes"}} {
		t.Run(c[0], func(t *testing.T) {
			group := filepath.Join(t.TempDir(), "g.zarr")
			must(t, "", "create", group, "--group")
			must(t, "", "create", group+"/a", "--shape", "300,3", "--dtype", "int8", "--chunks", "[1,3]")
			must(t, "", "write", group+"/a", "--value", "1")
			var args []string
			for _, a := range c {
				args = append(args, strings.ReplaceAll(a, "GROUP", group))
			}
			p := start(t, args...)
			status, stopped := p.stop(t, syscall.SIGINT, func() bool {
				_, err := os.Stat(filepath.Join(group, "a", "zarr.json"))
				return err != nil // it goes first
			})
			said := p.errs.String()
			if status != 0 && (status != 130 || !isOneMessage(said, "not visible: repeat the command")) || status == 0 && said != "" {
				t.Errorf("status %d, stopped %v, %s", status, stopped, said)
			}
			if status != 0 {
				must(t, "", args...)
			}
			noTemporaries(t, filepath.Dir(group))
		})
	}
}

// TestSignalWhileReading interrupts a write whose input is silent. Nothing may be
// written.
func TestSignalWhileReading(t *testing.T) {
	node := newNode(t, "--shape", "4", "--dtype", "int8")
	before := treeOf(t, node)
	p := start(t, "write", node)
	begun := time.Now()
	status, stopped := p.stop(t, syscall.SIGINT, func() bool { return time.Since(begun) > 500*time.Millisecond })
	if said := p.errs.String(); status != 130 || !stopped || !isOneMessage(said, "; nothing was changed") {
		t.Errorf("status %d, %s", status, said)
	}
	if treeOf(t, node) != before {
		t.Error("something has changed")
	}
}

// TestWriterDelayed suspends a writer while another program removes or replaces its
// array. The chunks that it stores afterwards belong to no array or the wrong one, and it
// must report that.
func TestWriterDelayed(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"replaced": {[]string{"create", "GROUP/a", "--overwrite", "--yes", "--shape", "7000", "--dtype", "int32", "--chunks", "3"}, "its data type was int64 and is int32"},
		"removed":  {[]string{"rm", "--yes", "GROUP"}, "not there any more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := filepath.Join(t.TempDir(), "g.zarr")
			must(t, "", "create", group, "--group")
			must(t, "", "create", group+"/a", "--shape", "5000", "--dtype", "int64", "--chunks", "1")
			p := start(t, "write", group+"/a", "--value", "1", "--json")
			p.await(t, func() bool {
				list, _ := filepath.Glob(filepath.Join(group, "a", "c", "*"))
				return len(list) > 0
			})
			p.signal(t, syscall.SIGSTOP)
			for i, a := range c.args {
				c.args[i] = strings.ReplaceAll(a, "GROUP", group)
			}
			must(t, "", c.args...)
			p.signal(t, syscall.SIGCONT)
			<-p.ended
			said := p.errs.String()
			if status := p.ProcessState.ExitCode(); status != 1 || !strings.Contains(said, `"kind": "conflict"`) || !strings.Contains(said, c.says) {
				t.Errorf("status %d, %s", status, said)
			}
		})
	}
}

// await waits until a command has reached a point.
func (p *process) await(t *testing.T, ready func() bool) {
	t.Helper()
	for !ready() {
		select {
		case <-p.ended:
			t.Fatalf("it ended before: %s", p.errs.String())
		case <-time.After(time.Millisecond):
		}
	}
}

// signal sends a signal to a command that runs.
func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err, p.errs.String())
	}
}

// TestSignalAtRechunking interrupts a rechunk once it has stored something. The array
// stays as it is, the message says how to continue, and the repeated command stages only
// the rest.
func TestSignalAtRechunking(t *testing.T) {
	racing.Skip(t) // TestSignalInWork has signals, and test/rechunk what is shared here
	node := newNode(t, "--shape", "3000,50", "--dtype", "int32", "--chunks", "1,50")
	must(t, "", "write", node, "--value", "7")
	want := must(t, "", "export", node, "--format", "raw")
	args := []string{"rechunk", node, "--chunks", "7,5", "--memory", "1MiB"}
	records := filepath.Join(node, "__varve", "regrid")
	p := start(t, args...)
	status, stopped := p.stop(t, syscall.SIGINT, func() bool {
		found, err := filepath.Glob(filepath.Join(records, "*", "*"))
		return err == nil && len(found) > 0
	})
	if said := p.errs.String(); status != 130 || !stopped || !isOneMessage(said, "repeat") {
		t.Fatalf("status %d, stopped %t, %s", status, stopped, said)
	}
	if got := must(t, "", "export", node, "--format", "raw"); got != want {
		t.Error("the array has other elements after the interrupt")
	}
	out := decode(t, must(t, "", append(args, "--json")...))
	if staged, _ := out["encoded"].(float64); out["changed"] != true || staged >= 429*10 {
		t.Errorf("the repeated command says %v", out)
	}
	if got := must(t, "", "export", node, "--format", "raw"); got != want {
		t.Error("the array has other elements afterwards")
	}
	must(t, "", "vacuum", node, "--grace", "0s", "--yes")
	if left, err := filepath.Glob(filepath.Join(records, "*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

// killed kills a rechunk of the array at place once it has stored something.
func killed(t *testing.T, place string, args ...string) {
	t.Helper()
	pattern := filepath.Join(place, "__varve", "regrid", "*", "*")
	before, _ := filepath.Glob(pattern)
	p := start(t, args...)
	_, stopped := p.stop(t, syscall.SIGKILL, func() bool {
		found, _ := filepath.Glob(pattern)
		return slices.ContainsFunc(found, func(name string) bool { return !slices.Contains(before, name) })
	})
	if !stopped {
		t.Fatalf("varve %q has ended before: %s", args, p.errs.String())
	}
}

// TestKilledRechunks kills rechunks with different goals, one after the other, as
// on a machine that loses its power whenever a daily job runs. The next job needs no
// help, and nothing is left.
func TestKilledRechunks(t *testing.T) {
	racing.Skip(t) // processes share no memory
	node := newNode(t, "--shape", "800,50", "--dtype", "int32", "--chunks", "[[[1,800]],50]")
	must(t, "", "write", node, "--value", "7")
	must(t, "", "write", node, "--select", "5", "--value", "5")
	want := must(t, "", "export", node, "--format", "raw")
	small := []string{"--memory", "160KiB"}
	for _, args := range [][]string{
		{"compact", node, "--to", "max:2"},
		{"compact", node, "--to", "max:3"},
		{"rechunk", node, "--chunks", "7,5"},
		{"drop", node, "--range", "0:1", "--yes"},
		{"compact", node, "--to", "align:4"},
	} {
		killed(t, node, append(args, small...)...)
		if got := must(t, "", "export", node, "--format", "raw"); got != want {
			t.Fatalf("%q has changed elements", args)
		}
	}
	must(t, "", "compact", node, "--to", "max:400")
	place := filepath.Join(t.TempDir(), "new")
	for _, chunks := range []string{"1,5", "1,7"} {
		killed(t, place, append(small, "rechunk", node, place, "--chunks", chunks)...)
	}
	must(t, "", "rechunk", node, place, "--chunks", "400,50")
	for _, node := range []string{node, place} {
		if got := must(t, "", "export", node, "--format", "raw"); got != want {
			t.Errorf("%s: other elements", node)
		}
		must(t, "", "vacuum", node, "--grace", "0s", "--yes")
		must(t, "", "check", node)
		var left []string
		err := fs.WalkDir(os.DirFS(node), ".", func(name string, d fs.DirEntry, err error) error {
			if !d.IsDir() && name != "zarr.json" && !strings.Contains(name, "vacuumed") { // notes
				left = append(left, name)
			}
			return err
		})
		if err != nil || len(left) != 2 { // chunks
			t.Errorf("left %q (%v)", left, err)
		}
	}
}

// TestHeldRechunking suspends a rechunk. It holds its lock, so another one is
// refused. It continues afterwards.
func TestHeldRechunking(t *testing.T) {
	racing.Skip(t)
	node := newNode(t, "--shape", "800,50", "--dtype", "int32", "--chunks", "[[[1,800]],50]")
	must(t, "", "write", node, "--value", "7")
	want := must(t, "", "export", node, "--format", "raw")
	p := start(t, "compact", node, "--to", "max:2", "--memory", "160KiB")
	p.await(t, func() bool {
		found, _ := filepath.Glob(filepath.Join(node, "__varve", "regrid", "*", "*"))
		return len(found) > 0
	})
	p.signal(t, syscall.SIGSTOP)
	refuses(t, "which runs now; wait for it, or stop it", "compact", node, "--to", "max:3")
	refuses(t, "which runs now; wait for it, or stop it", "vacuum", node, "--give-up", "--yes")
	p.signal(t, syscall.SIGCONT)
	<-p.ended
	if status := p.ProcessState.ExitCode(); status != 0 || chunkShapes(t, node) != "[[[2,400]],50]" {
		t.Errorf("status %d, %s", status, p.errs.String())
	}
	if got := must(t, "", "export", node, "--format", "raw"); got != want {
		t.Error("other elements")
	}
}
