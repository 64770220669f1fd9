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
	"time"

	"github.com/spf13/cobra"
	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/picture"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memstore"
)

// commandIn returns a command with a context.
func commandIn(ctx context.Context) *cobra.Command {
	c := new(cobra.Command)
	c.SetContext(ctx)
	return c
}

// TestShadingCounts checks that listing and single requests count the same chunks.
func TestShadingCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
			Shape: []int64{30, 40}, Type: dtype.Of[int8](), Chunks: []grid.Cut{grid.Every(1), grid.Every(1)},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		stored := map[[2]int64]bool{}
		for range rapid.IntRange(0, 30).Draw(t, "chunks") {
			at := [2]int64{rapid.Int64Range(0, 29).Draw(t, "row"), rapid.Int64Range(0, 39).Draw(t, "column")}
			stored[at] = true
			if err := a.WriteChunk(ctx, at[:], []byte{1}); err != nil {
				t.Fatal(err)
			}
		}
		d := picture.OfArray("", a)
		listed, err := d.Stored(commandIn(ctx))
		if err != nil {
			t.Fatal(err)
		}
		s := &picture.Shading{Context: ctx, Of: d, Deadline: time.Now().Add(time.Hour)}
		for range 10 {
			box := make(grid.Box, 2)
			for i, n := range a.Shape() {
				box[i].Start = rapid.Int64Range(0, n).Draw(t, "start")
				box[i].Stop = rapid.Int64Range(box[i].Start, n).Draw(t, "stop")
			}
			want := int64(0)
			for at := range stored {
				if box.Contains(at[:]) {
					want++
				}
			}
			if got := listed(box); got != want {
				t.Fatalf("%d listed in %v, want %d", got, box, want)
			}
			if n, _ := box.Len(); n > 100 {
				continue
			}
			s.Asked = 0
			if got := s.Probe(box); got != want {
				t.Fatalf("%d found in %v, want %d", got, box, want)
			}
		}
	})
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
// with an unknown codec.
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

// BenchmarkGridOfMany runs the commands that examine a grid, on arrays of very many
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
