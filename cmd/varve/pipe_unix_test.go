// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr/cmd/varve/internal/console"
)

// TestSignalAtPipe interrupts a command that waits for a writer of the pipe of a mask.
func TestSignalAtPipe(t *testing.T) {
	node := newNode(t, "--shape", "4,3", "--dtype", "int8", "--chunks", "[2,3]")
	pipe := filepath.Join(t.TempDir(), "mask.npy")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes with names here:", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(50*time.Millisecond, func() { cancel(&console.Interrupt{Signal: syscall.SIGTERM}) })
	defer timer.Stop()
	var out, errs bytes.Buffer
	status := run(ctx, []string{"cat", node, "--select", `{"mask": "` + pipe + `"}`}, console.Streams{In: silent(t), Out: &out, Err: &errs})
	if status != 143 {
		t.Errorf("status %d, %s", status, errs.String())
	}
}

// TestAppendOfNoFile checks what is said of a source of a group that is no file.
func TestAppendOfNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "", "create", "g.zarr/t", "--shape", "2", "--dtype", "int8", "--dimension-names", "time")
	if err := syscall.Mkfifo("pipe.nc", 0o600); err != nil {
		t.Skip("no pipes with names here:", err)
	}
	for _, name := range []string{"link", "link.nc"} {
		if err := os.Symlink("nowhere", name); err != nil {
			t.Fatal(err)
		}
	}
	for source, want := range map[string]string{
		"link":    "link is a symbolic link to nothing: what it names does not exist",
		"link.nc": "link.nc is a symbolic link to nothing: what it names does not exist",
		"pipe.nc": "pipe.nc is no file and no group, but a pipe or a device: for the values of one array that come from there, give its name, as in NAME=pipe.nc",
	} {
		if _, errs, status := execute(t, "", "append", "g.zarr", source); status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", source, status, errs)
		}
	}
}

// TestIcechunkPipe appends a named pipe to an array that others change meanwhile. The
// command cannot run again.
func TestIcechunkPipe(t *testing.T) {
	_, main := repositoryWithArray(t)
	pipe := filepath.Join(t.TempDir(), "pipe.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the command
		if err == nil {
			do(t, "", "attrs", main+"/a", "set", "n", "3")
			_, err = w.WriteString("[4]")
			err = errors.Join(err, w.Close())
		}
		done <- err
	}()
	// A second run would wait for another writer for ever.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	status := run(ctx, []string{"append", main + "/a", pipe}, console.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
	if status == 0 || !strings.Contains(errs.String(), "can be read only once") {
		t.Errorf("status %d, %s", status, &errs)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
