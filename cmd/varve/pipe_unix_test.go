// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"bytes"
	"context"
	"path/filepath"
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
