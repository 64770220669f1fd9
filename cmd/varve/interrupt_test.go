package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// silent is a stream that nobody writes to, until it is closed.
func silent(t *testing.T) io.Reader {
	t.Helper()
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	return r
}

// TestSignals checks that each signal ends a command which waits for a silent pipe, with the status
// that shells expect, and that nothing has changed.
func TestSignals(t *testing.T) {
	node := newNode(t, "--shape", "4,3", "--dtype", "int8", "--chunks", "[2,3]")
	before := treeOf(t, node)
	for s, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		for _, args := range [][]string{{"append", node, "-"}, {"write", node, "-"}, {"append", node}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			in := notified{silent(t), make(chan struct{})}
			go func() {
				<-in.begun
				cancel(&interrupt{s})
			}()
			var out, errs bytes.Buffer
			status := run(ctx, args, streams{in, &out, &errs})
			if status != want || !strings.HasPrefix(errs.String(), "varve: interrupted: "+args[0]) {
				t.Errorf("%q after %v: status %d, %s", args, s, status, errs.String())
			}
		}
	}
	if after := treeOf(t, node); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
}

// notified tells when it is read for the first time.
type notified struct {
	io.Reader
	begun chan struct{}
}

func (n notified) Read(b []byte) (int, error) {
	close(n.begun)
	return n.Reader.Read(b)
}

// TestPatient checks that a stream is read as it is, whatever the sizes of its reads.
func TestPatient(t *testing.T) {
	text := strings.Repeat("0123456789", 1<<16)
	got, err := io.ReadAll(patiently(t.Context(), strings.NewReader(text)))
	if err != nil || string(got) != text {
		t.Errorf("%d bytes and %v, want %d", len(got), err, len(text))
	}
}

// TestUnfinishedCopy checks what becomes of a copy that was stopped: rm removes it, and so does another copy.
func TestUnfinishedCopy(t *testing.T) {
	src := fixture(t, "rect_2d.zarr")
	dst := filepath.Join(t.TempDir(), "copy.zarr")
	begin := func() {
		overwrite(t, filepath.Join(dst, "__varve", "copying.json"), "{}")
		overwrite(t, filepath.Join(dst, "c", "0", "0"), "half")
	}
	begin()
	must(t, "", "rm", "--yes", dst)
	if left := treeOf(t, filepath.Dir(dst)); strings.Contains(left, "copy.zarr") {
		t.Errorf("rm leaves %s", left)
	}
	begin()
	must(t, "", "copy", src, dst)
	must(t, "", "equal", src, dst)
}

// TestStoppedCopy checks that a copy which is stopped half-way says what is left and how to go on.
func TestStoppedCopy(t *testing.T) {
	src := newNode(t, "--shape", "200,3", "--dtype", "int8", "--chunks", "[2,3]")
	must(t, "", "write", src, "--value", "1")
	for _, args := range [][]string{{"copy"}, {"convert", "--to", "2"}} {
		dst := filepath.Join(t.TempDir(), "copy.zarr")
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := time.AfterFunc(0, func() {
			for ctx.Err() == nil {
				if _, err := os.Stat(filepath.Join(dst, "__varve", "copying.json")); err == nil {
					cancel(&interrupt{syscall.SIGINT})
				}
			}
		})
		defer stop.Stop()
		var out, errs bytes.Buffer
		status := run(ctx, append(args, src, dst), streams{strings.NewReader(""), &out, &errs})
		cancel(nil)
		if status == 0 {
			continue // it was faster than the signal
		}
		if status != 130 || !strings.Contains(errs.String(), "interrupted") || !strings.Contains(errs.String(), "varve rm") {
			t.Errorf("%q: status %d, %s", args, status, errs.String())
		}
		must(t, "", append(args, src, dst)...)
		must(t, "", "equal", src, dst)
	}
}
