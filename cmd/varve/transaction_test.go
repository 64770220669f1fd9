// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"varve.dev/zarr/cmd/varve/internal/console"
)

// TestDecided appends to two arrays together while another program prevents one document
// from being published. The command ends by an interrupt, and then by a time-out. It
// reports that the change is decided, and the next command finishes it.
func TestDecided(t *testing.T) {
	for _, c := range []struct {
		limit  string
		status int
		says   string
	}{{"", 130, "interrupted: append "}, {"5ms", 1, "is locked by"}} {
		group := filepath.Join(t.TempDir(), "g.zarr")
		for _, node := range []string{"/a", "/b"} {
			must(t, "", "create", group+node, "--shape", "4", "--dtype", "int8", "--chunks", "[[2,2]]")
		}
		f := files(t, "[1,2]")
		args := []string{"append", group, "--format", "json", "a=" + f[0], "b=" + f[0]}
		if c.limit != "" {
			args = append(args, "--lock-timeout", c.limit)
		}
		held := lockFile(t, filepath.Join(group, "b", "__varve.publish"))
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.limit == "" {
			stop := time.AfterFunc(0, func() {
				for ctx.Err() == nil {
					if found, _ := filepath.Glob(filepath.Join(group, "a", "__varve", "together-*.json")); len(found) > 0 {
						cancel(&console.Interrupt{Signal: syscall.SIGINT})
					}
				}
			})
			defer stop.Stop()
		}
		var out, errs bytes.Buffer
		status := run(ctx, args, console.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		cancel(nil)
		text := errs.String()
		if status != c.status || !strings.Contains(text, c.says) || !strings.Contains(text, "do not repeat the change") {
			t.Errorf("status %d, %s", status, text)
		}
		_, text, status = execute(t, "", "write", group+"/b", "--value", "1", "--lock-timeout", "5ms", "--json")
		if status != 1 || !strings.Contains(text, "is locked by") {
			t.Errorf("a write beside it: status %d, %s", status, text)
		}
		held.Close()
		_, text, status = execute(t, "[3]", "append", group+"/b", "-", "--format", "json")
		if status != 0 || !strings.Contains(text, "was finished first: shape [4] → [6]") {
			t.Errorf("the next append: status %d, %s", status, text)
		}
		for node, want := range map[string]string{"/a": "[0,0,0,0,1,2]\n", "/b": "[0,0,0,0,1,2,3]\n"} {
			if got := must(t, "", "export", group+node, "--format", "json"); got != want {
				t.Errorf("%s is %s, want %s", node, got, want)
			}
		}
	}
}
