// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/picture"
	"varve.dev/zarr/grid"
)

// commandIn returns a command whose work has a context.
func commandIn(ctx context.Context) *cobra.Command {
	c := new(cobra.Command)
	c.SetContext(ctx)
	return c
}

// TestShadingGivesUp checks that the counts stay unknown for endless lists and for stores
// that do not answer.
func TestShadingGivesUp(t *testing.T) {
	endless := func(ctx context.Context, use func([]int64) error) error {
		for i := int64(0); ; i++ {
			if err := use([]int64{i}); err != nil {
				return fmt.Errorf("list: %w", err)
			}
		}
	}
	stuck := func(ctx context.Context, use func([]int64) error) error {
		<-ctx.Done()
		return fmt.Errorf("list: %w", ctx.Err())
	}
	g, err := grid.New([]int64{1e9}, grid.Every(1))
	if err != nil {
		t.Fatal(err)
	}
	d := &picture.Grid{Chunks: g, Each: endless}
	for _, test := range []struct {
		each       func(context.Context, func([]int64) error) error
		head, tail int64
	}{{endless, 1, -1}, {stuck, -1, -1}} {
		d.Each = test.each
		count, err := d.Stored(commandIn(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if got := count(grid.Box{{Stop: 100_000}}); got != test.head {
			t.Errorf("%d at the beginning, want %d", got, test.head)
		}
		if got := count(grid.Box{{Start: 1e8, Stop: 1e9}}); got != test.tail {
			t.Errorf("%d in the rest, want %d", got, test.tail)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d.Each = stuck
	if _, err := d.Stored(commandIn(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	d.Each = func(context.Context, func([]int64) error) error { return io.ErrUnexpectedEOF }
	if _, err := d.Stored(commandIn(t.Context())); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("broken: %v", err)
	}
}

// TestShadingOfMany draws an array of a billion chunks, of which few are stored, and one
// whose codec is not known.
func TestShadingOfMany(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "many")
	must(t, "", "create", dir, "--shape", "1000000000", "--dtype", "int8", "--chunks", "[[[1,1000000000]]]")
	if out := must(t, "", "grid", dir); strings.ContainsAny(out, "░╱") {
		t.Error(out)
	}
	must(t, "", "write", dir, "--select", "5:7", "--value", "1")
	if out := must(t, "", "grid", dir); !strings.Contains(out, "┃░░░⋯░░░┃") {
		t.Error(out)
	}
}

// BenchmarkGridOfMany runs the commands that look at a grid on arrays of very many
// chunks.
func BenchmarkGridOfMany(b *testing.B) {
	for name, chunks := range map[string]string{"regular": "[1,1]", "rectilinear": "[[[1,1000000000]],1]"} {
		dir := filepath.Join(b.TempDir(), name)
		args := []string{"create", dir, "--shape", "1000000000,1000000000", "--dtype", "int8", "--chunks", chunks}
		if status := run(b.Context(), args, console.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}); status != 0 {
			b.Fatal("cannot create an array")
		}
		for _, args := range [][]string{{"info"}, {"grid"}, {"grid", "--json"}, {"grid", "--svg", "-"}} {
			b.Run(name+"/"+strings.Join(args, " "), func(b *testing.B) {
				for b.Loop() {
					if run(b.Context(), append(args, dir), console.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}) != 0 {
						b.Fatal("it failed")
					}
				}
			})
		}
	}
}
