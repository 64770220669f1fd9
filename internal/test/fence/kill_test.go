// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/leftover"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// changeInChild changes the array in a directory until it is killed, and prints a line
// after each change.
func changeInChild(args []string) error {
	ctx := context.Background()
	s, err := filestore.Open(args[0], nil)
	if err != nil {
		return err
	}
	defer store.Close(s)
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	a, err := zarr.At(s, "g/a").OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for n := 0; ; n++ {
		if _, err := fmt.Println(n); err != nil {
			return err
		}
		if err := fixture.DrawChange(r, a.Shape()[0]).Apply(ctx, a); err != nil {
			return fmt.Errorf("change %d: %w", n, err)
		}
	}
}

// TestKill kills a process repeatedly while it changes an array. The array must have the
// state after the last reported change or after the next one, whole; only a write may be
// there in part, chunk by chunk. The next process continues from there.
func TestKill(t *testing.T) {
	racing.Skip(t) // one program at a time, in processes of their own
	if runtime.GOOS == "windows" {
		t.Skip("Windows keeps files that a killed process had open locked for a while")
	}
	kills := 30
	if os.Getenv("VARVE_LONG") != "" {
		kills = 300
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	specs := map[string]zarr.Spec{"edges": fixture.Edges(1, 2, 3), "regular": fixture.Every(6, 4), "ahead": {
		Shape: []int64{6}, Type: fixture.Edges(1).Type, Chunks: []grid.Cut{grid.Edges(4, 4, 4, 4)},
	}}
	for kind, spec := range specs {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			h := zarr.At(fixture.OpenStore(t, dir), "")
			a, err := h.At("g/a").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 6))
			}
			if err != nil {
				t.Fatal(err)
			}
			rows, changes := fixture.Numbers(1, 6), 0
			for range kills / len(specs) {
				seed := r.Uint64()
				made := killChild(t, dir, seed, time.Duration(r.Int64N(int64(40*time.Millisecond))))
				rows = afterKill(t, h, rows, seed, made)
				changes += made
			}
			t.Logf("%d kills, %d changes", kills/len(specs), changes)
		})
	}
}

// killChild kills a process some time after its first change began, and returns the
// number of changes that it reported.
func killChild(t *testing.T, dir string, seed uint64, life time.Duration) (made int) {
	t.Helper()
	c := child(t, "change", dir, strconv.FormatUint(seed, 10))
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	made = -1
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if made++; made == 0 {
			time.AfterFunc(life, func() { c.Process.Kill() })
		}
		if lines.Text() != strconv.Itoa(made) {
			t.Fatalf("the child says %q, want %d", lines.Text(), made)
		}
	}
	if err := c.Wait(); c.ProcessState.Exited() || made < 0 {
		t.Fatalf("the child ended by itself: %v", err)
	}
	return made
}

// nothingLeft opens the array for writing, and expects this to remove the temporary
// files of killed writers.
func nothingLeft(t *testing.T, h *zarr.Location) {
	t.Helper()
	if _, err := h.At("g/a").OpenArray(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	for f, err := range leftover.All(t.Context(), h.Store(), store.Path{}) {
		t.Errorf("the temporary file %s is left, %v", f.Name, err)
	}
}

// afterKill repeats the changes in memory, and expects the array to be in the state
// after those that were reported, or after one more. It returns its rows.
func afterKill(t *testing.T, h *zarr.Location, rows []int32, seed uint64, made int) []int32 {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	for range made {
		rows = fixture.DrawChange(r, int64(len(rows))).After(rows)
	}
	s := fixture.DrawChange(r, int64(len(rows)))
	next := s.After(rows)
	nothingLeft(t, h)
	got, err := rowsOf(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	was, is, found := fixture.OfRows(rows), fixture.OfRows(next), fixture.OfRows(got)
	if !found.Equal(was) && !found.Equal(is) && (s.Op != "write" || !found.IsMixOf(was, is)) {
		t.Fatalf("after %d changes, killed in %s (child seed %d): %v, want %v or %v", made, s.Op, seed, got, rows, next)
	}
	for e, err := range store.List(t.Context(), h.Store(), store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(e.Name, "__") {
			t.Errorf("List yields the internal name %s", e.Name)
		}
	}
	return got
}
