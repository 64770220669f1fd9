// SPDX-License-Identifier: Apache-2.0

package zarr_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// TestReadme builds the first program of the README, runs it on an array like that of
// the demo, and expects the output in its last comment.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```go\n")
	program, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the README has no program")
	}
	_, promise, _ := strings.Cut(program, "fmt.Println(a.Shape(), last.Shape, err) // ")
	promise, _, _ = strings.Cut(promise, "\n")
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program.exe")
	if err := os.WriteFile(source, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, err = zarr.CreateArray(context.Background(), filepath.Join(dir, "build/demo/temperature"), zarr.Spec{
		Shape: []int64{1836, 36, 72}, Type: dtype.Float32,
		Chunks: []grid.Cut{grid.Runs(grid.Run{Length: 1, Count: 1836}), grid.Every(36), grid.Every(72)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(binary)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != promise {
		t.Errorf("the program printed %q (%v), want %q", got, err, promise)
	}
}
