// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// Two writers append to one array. The second one to commit begins again after the other,
// so both days are there.
func ExampleRepository_Change() {
	ctx := context.Background()
	r, err := icechunk.Create(ctx, memstore.New(), store.Path{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	add := func(day int32) func(context.Context, *icechunk.Session) error {
		return func(ctx context.Context, s *icechunk.Session) error {
			a, err := zarr.At(s, "days").OpenArray(ctx, &zarr.Options{Write: true})
			if err != nil {
				return err
			}
			return zarr.Append(ctx, a, 0, []int32{day}, nil)
		}
	}
	_, err = r.Change(ctx, "main", "an array", func(ctx context.Context, s *icechunk.Session) error {
		_, err := zarr.At(s, "days").CreateArray(ctx, zarr.Spec{
			Shape: []int64{0}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(1)}, Codecs: []metadata.Extension{codec.Bytes("little")},
		}, nil)
		return err
	})
	attempts := 0
	_, failed := r.Change(ctx, "main", "day 1", func(ctx context.Context, s *icechunk.Session) error {
		if attempts++; attempts == 1 {
			if _, err := r.Change(ctx, "main", "day 2", add(2)); err != nil {
				return err
			}
		}
		return add(1)(ctx, s)
	})
	if err = errors.Join(err, failed); err != nil {
		fmt.Println(err)
	}
	for c, err := range r.Log(ctx, "main") {
		fmt.Println(c.Message, err)
	}
	s, err := r.Snapshot(ctx, "main")
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := zarr.At(s, "days").OpenArray(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	days, err := zarr.Read[int32](ctx, a, nil)
	fmt.Println(days.Data, err, "after", attempts, "attempts")
	// Output:
	// day 1 <nil>
	// day 2 <nil>
	// an array <nil>
	// Repository initialized <nil>
	// [2 1] <nil> after 2 attempts
}

// A session that has changed the same chunk as a commit beside it names the chunk and the
// commit. A policy may resolve that.
func ExampleSession_Rebase() {
	ctx := context.Background()
	r, err := icechunk.Create(ctx, memstore.New(), store.Path{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = r.Change(ctx, "main", "an array", func(ctx context.Context, s *icechunk.Session) error {
		_, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: grid.Chunks(2)}, nil)
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var sessions [2]*icechunk.Session
	for i := range sessions {
		if sessions[i], err = r.Session(ctx, "main"); err != nil {
			fmt.Println(err)
			return
		}
		a, err := zarr.At(sessions[i], "a").OpenArray(ctx, &zarr.Options{Write: true})
		if err == nil {
			err = zarr.Write(ctx, a, nil, []int32{1, 2, int32(i) + 3, 4})
		}
		if err != nil {
			fmt.Println(err)
		}
	}
	_, err = sessions[0].Commit(ctx, "first")
	failed := sessions[1].Rebase(ctx, icechunk.Policy{})
	var conflict *icechunk.ConflictError
	if errors.As(failed, &conflict) {
		for _, c := range conflict.Conflicts {
			fmt.Println(c.Kind, c.Path, c.Chunks, c.Commit.Message)
		}
	}
	_, resolved := sessions[1].CommitRebased(ctx, "second", icechunk.Policy{Chunks: icechunk.Ours})
	fmt.Println(err, resolved)
	// Output:
	// ChunkDoubleUpdate a [[0] [1]] first
	// <nil> <nil>
}

// TestDocument builds the program of the document about repositories, runs it in an empty
// folder, and expects the output in its last comment.
func TestDocument(t *testing.T) {
	racing.Skip(t)
	if testing.Short() {
		t.Skip("builds a program")
	}
	text, err := os.ReadFile("../docs/icechunk.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```go\npackage main\n")
	program, _, _ := strings.Cut(rest, "```")
	_, promise, _ := strings.Cut(program, "t2m.Data, err) // ")
	promise, _, _ = strings.Cut(promise, "\n")
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program.exe")
	if err := os.WriteFile(source, []byte("package main\n"+program), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(binary)
	run.Dir = dir
	out, err := run.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || promise == "" || got != promise {
		t.Errorf("the program printed %q (%v), want %q", got, err, promise)
	}
}
