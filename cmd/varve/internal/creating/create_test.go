// SPDX-License-Identifier: Apache-2.0

package creating

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/failure"
)

// TestCreateUndo deletes a new array after an interrupt, and reports if that
// fails.
func TestCreateUndo(t *testing.T) {
	for _, overwrites := range []bool{false, true} {
		node := filepath.Join(t.TempDir(), "s.zarr", "a")
		ctx, cancel := context.WithCancel(t.Context())
		cmd := NewCreate()
		cmd.SetContext(ctx)
		c := &creation{overwrite: overwrites, chunks: "auto", keys: "default/"}
		cmd.SetOut(io.Discard)
		cmd.SetArgs([]string{node, "--shape", "4", "--dtype", "int8"})
		if err := cmd.Execute(); err != nil {
			t.Fatal(err)
		}
		cancel()
		err := c.undo(cmd, node, "array", ctx.Err())
		var u *failure.Undone
		if !errors.As(err, &u) || !errors.Is(err, context.Canceled) || !strings.Contains(u.Note, "was deleted again") || strings.Contains(u.Note, "--overwrite") != overwrites {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(node, "zarr.json")); err == nil {
			t.Error("the array is still there")
		}
		if text := c.undo(cmd, node, "array", ctx.Err()).Error(); !strings.Contains(text, "could not be deleted") {
			t.Error(text)
		}
	}
}
