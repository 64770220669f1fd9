// SPDX-License-Identifier: Apache-2.0

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

	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/rechunking"
)

// silent is a stream without data, until it is closed.
func silent(t *testing.T) io.Reader {
	t.Helper()
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	return r
}

// TestSignals checks that each signal ends a command that waits for a silent pipe, with
// the status that shells expect, and that nothing changes.
func TestSignals(t *testing.T) {
	node := newNode(t, "--shape", "4,3", "--dtype", "int8", "--chunks", "[2,3]")
	before := treeOf(t, node)
	for s, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		for _, args := range [][]string{{"append", node, "-"}, {"write", node, "-"}, {"append", node}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			in := notified{silent(t), make(chan struct{})}
			go func() {
				<-in.begun
				cancel(&console.Interrupt{Signal: s})
			}()
			var out, errs bytes.Buffer
			status := run(ctx, args, console.Streams{In: in, Out: &out, Err: &errs})
			if status != want || !strings.HasPrefix(errs.String(), "varve: interrupted: "+args[0]) {
				t.Errorf("%q after %v: status %d, %s", args, s, status, errs.String())
			}
		}
	}
	if after := treeOf(t, node); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
}

// keyboard is a terminal without input.
type keyboard struct{ notified }

func (keyboard) IsTerminal() bool { return true }

// TestSignalAtQuestion ends commands that wait for an answer. They must exit with the
// status of the signal, and change nothing.
func TestSignalAtQuestion(t *testing.T) {
	node := newNode(t, "--shape", "4,3", "--dtype", "int8", "--chunks", "[2,3]")
	must(t, "", "write", node, "--value", "1")
	before := treeOf(t, node)
	for _, args := range [][]string{{"rm", node}, {"resize", node, "--shape", "1,3"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		in := keyboard{notified{silent(t), make(chan struct{})}}
		go func() {
			<-in.begun
			cancel(&console.Interrupt{Signal: syscall.SIGINT})
		}()
		var out, errs bytes.Buffer
		status := run(ctx, args, console.Streams{In: in, Out: &out, Err: &errs})
		if status != 130 || !strings.Contains(errs.String(), "\nvarve: interrupted: "+args[0]) {
			t.Errorf("%q: status %d, %s", args, status, errs.String())
		}
	}
	if after := treeOf(t, node); after != before {
		t.Errorf("something has changed:\n%s\n%s", before, after)
	}
}

// notified reports when it is read for the first time.
type notified struct {
	io.Reader
	begun chan struct{}
}

func (n notified) Read(b []byte) (int, error) {
	close(n.begun)
	return n.Reader.Read(b)
}

// TestUnfinishedCopy checks that rm, and also another copy, remove an interrupted copy.
func TestUnfinishedCopy(t *testing.T) {
	src := fixture(t, "rect_2d.zarr")
	dst := filepath.Join(t.TempDir(), "copy.zarr")
	begin := func() {
		overwrite(t, filepath.Join(dst, "__varve", "unfinished.json"), "{}")
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

// TestStoppedCopy checks that an interrupted copy reports what is left and how to
// continue.
func TestStoppedCopy(t *testing.T) {
	src := newNode(t, "--shape", "200,3", "--dtype", "int8", "--chunks", "[2,3]")
	must(t, "", "write", src, "--value", "1")
	for _, args := range [][]string{{"copy"}, {"convert", "--to", "2"}} {
		dst := filepath.Join(t.TempDir(), "copy.zarr")
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := time.AfterFunc(0, func() {
			for ctx.Err() == nil {
				if _, err := os.Stat(filepath.Join(dst, "__varve", "unfinished.json")); err == nil {
					cancel(&console.Interrupt{Signal: syscall.SIGINT})
				}
			}
		})
		defer stop.Stop()
		var out, errs bytes.Buffer
		status := run(ctx, append(args, src, dst), console.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
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

// TestStoppedInTheMiddle interrupts long commands after they have begun to change
// something. They must end soon, with the status of the signal, unless they were faster.
// When repeated, they must succeed.
func TestStoppedInTheMiddle(t *testing.T) {
	const soon = 10 * time.Second // far more than it takes: one that does not stop is looked for
	for _, c := range []struct {
		name string
		args []string // GROUP and PARENT stand for places
	}{
		{"rm", []string{"rm", "--yes", "GROUP/a"}},
		{"copy", []string{"copy", "GROUP", "PARENT/copy.zarr"}},
		{"convert", []string{"convert", "GROUP", "PARENT/copy.zarr", "--to", "2"}},
		{"filter", []string{"filter", "GROUP/a", "PARENT/copy.zarr", "--mask", "PARENT/mask.raw"}},
		{"resize", []string{"resize", "GROUP/a", "--shape", "1,3", "--yes"}},
		{"consolidate", []string{"consolidate", "GROUP"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := t.TempDir()
			group := filepath.Join(parent, "g.zarr")
			must(t, "", "create", group, "--group")
			must(t, "", "create", group+"/a", "--shape", "400,3", "--dtype", "int8", "--chunks", "[1,3]")
			must(t, "", "write", group+"/a", "--value", "1")
			overwrite(t, filepath.Join(parent, "mask.raw"), strings.Repeat("\x00\x01", 200))
			place := strings.NewReplacer("GROUP", group, "PARENT", parent)
			var args []string
			for _, a := range c.args {
				args = append(args, place.Replace(a))
			}
			before := len(changedNames(parent))
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := make(chan time.Time, 1)
			go func() {
				for ctx.Err() == nil && len(changedNames(parent)) == before {
					time.Sleep(time.Millisecond)
				}
				stopped <- time.Now()
				cancel(&console.Interrupt{Signal: syscall.SIGTERM})
			}()
			var out, errs bytes.Buffer
			status := run(ctx, args, console.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			cancel(nil)
			if took := time.Since(<-stopped); took > soon {
				t.Errorf("it went on for %v", took)
			}
			if status == 0 {
				return // it was faster than the signal
			}
			if status != 143 || !strings.Contains(errs.String(), "interrupted") {
				t.Errorf("status %d, %s", status, errs.String())
			}
			must(t, "", args...)
		})
	}
}

// changedNames returns the names in a folder, down to some depth. It is cheap enough to
// poll.
func changedNames(parent string) (names []string) {
	for _, pattern := range []string{"*", "*/*", "*/.z*", "*/*/*", "*/*/.z*", "*/*/c/*"} {
		found, _ := filepath.Glob(filepath.Join(parent, pattern)) // the patterns are right
		names = append(names, found...)
	}
	return names
}

// TestLeftByRechunk checks what an interrupted rechunk says is left. What it makes anew
// is no node yet, so varve vacuum could not give it up.
func TestLeftByRechunk(t *testing.T) {
	for line, want := range map[string]string{
		"a.zarr --chunks 2":                 "varve vacuum --give-up",
		"a.zarr b.zarr --chunks 2":          "varve rm b.zarr --yes",
		"a.zarr b.zarr --chunks 2 --follow": "varve vacuum --give-up",
	} {
		cmd := rechunking.NewRechunk()
		cmd.SetContext(t.Context())
		if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		if got := leftBehind(cmd); !strings.Contains(got, want) {
			t.Errorf("%s: %s", line, got)
		}
	}
}
