// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// roleVariable is the environment variable that names the role of a child process of a
// test.
const roleVariable = "VARVE_TEST_ROLE"

// roles are the functions that a child process may run, with its arguments.
var roles = map[string]func(args []string) error{"append": appendInChild, "change": changeInChild}

// TestMain runs the tests, or the role of a child process, and expects no goroutine to
// outlive the tests.
func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		fixture.Main(m)
		return
	}
	if err := role(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child returns a process that runs a role. It is killed when the test ends.
func child(t *testing.T, role string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Skipf("the path of the test program is unknown: %v", err)
	}
	c := exec.CommandContext(t.Context(), exe, args...)
	c.Env = append(os.Environ(), roleVariable+"="+role)
	c.Stderr = os.Stderr
	return c
}

// batchRows is the number of rows of one append.
const batchRows = 3

// batchOf returns the elements of append number seq of a writer: each element encodes
// writer, append and row.
func batchOf(writer, seq int) []int32 {
	rows := make([]int32, batchRows)
	for i := range rows {
		rows[i] = int32(writer*100_000 + seq*10 + i)
	}
	return rows
}

// checkBatches checks that rows consist of whole appends, those of each writer in order.
// It returns the number of appends of each writer.
func checkBatches(rows []int32) (map[int]int, error) {
	next := map[int]int{}
	for i := 0; i < len(rows); i += batchRows {
		writer := int(rows[i]) / 100_000
		if want := batchOf(writer, next[writer]); !slices.Equal(rows[i:min(i+batchRows, len(rows))], want) {
			return nil, fmt.Errorf("row %d of %d: %v, want %v", i, len(rows), rows[i:min(i+batchRows, len(rows))], want)
		}
		next[writer]++
	}
	return next, nil
}

// growing are arrays to append to: with listed edges, and with chunks whose length is no
// multiple of an append.
var growing = map[string]zarr.Spec{"edges": fixture.Edges(batchRows), "regular": fixture.Every(batchRows, 4)}

// onStores runs a test on each array of growing, in memory and in a directory. The array
// has one append of writer 0.
func onStores(t *testing.T, run func(t *testing.T, h *zarr.Location)) {
	for kind, spec := range growing {
		for name, newStore := range map[string]func(t *testing.T) store.Store{
			"memory": func(*testing.T) store.Store { return memstore.New() },
			"file":   func(t *testing.T) store.Store { return fixture.OpenStore(t, t.TempDir()) },
		} {
			t.Run(kind+" in "+name, func(t *testing.T) {
				h := zarr.At(newStore(t), "")
				startArray(t, h, spec)
				run(t, h)
			})
		}
	}
}

// startArray creates the array "g/a" with one append of writer 0.
func startArray(t *testing.T, h *zarr.Location, spec zarr.Spec) {
	t.Helper()
	a, err := h.At("g/a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, batchOf(0, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// opened opens the array with Flush instead of Sync, which other programs cannot tell
// apart.
func opened(ctx context.Context, h *zarr.Location) (*zarr.Array, error) {
	return h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true, Durability: store.Flush})
}

// rowsOf opens the array and returns its elements.
func rowsOf(ctx context.Context, h *zarr.Location) ([]int32, error) {
	a, err := h.At("g/a").OpenArray(ctx, nil)
	if err != nil {
		return nil, err
	}
	b, err := zarr.Read[int32](ctx, a, nil)
	return b.Data, err
}

// watch reads the array repeatedly until done is closed, and checks every state.
func watch(ctx context.Context, h *zarr.Location, done <-chan struct{}, check func(rows []int32) error) error {
	for {
		rows, err := rowsOf(ctx, h)
		if err == nil {
			err = check(rows)
		}
		if err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
	}
}

// TestConcurrentAppends appends from many goroutines, some with one shared Array and
// some with their own, while others read.
func TestConcurrentAppends(t *testing.T) {
	const writers, appends = 6, 8
	onStores(t, func(t *testing.T, h *zarr.Location) {
		shared, err := opened(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		group, ctx := errgroup.WithContext(t.Context())
		readers, done := new(errgroup.Group), make(chan struct{})
		for w := range writers {
			group.Go(func() error {
				a, err := sharedOrOwn(ctx, h, shared, w)
				if err != nil {
					return err
				}
				return appendAll(ctx, a, w+1, appends)
			})
		}
		for range 2 {
			readers.Go(func() error {
				return watch(t.Context(), h, done, func(rows []int32) error { _, err := checkBatches(rows); return err })
			})
		}
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
		close(done)
		if err := readers.Wait(); err != nil {
			t.Error(err)
		}
		wantBatches(t, h, writers, appends)
	})
}

// sharedOrOwn returns the shared array to every second writer, and a newly opened one to
// the others.
func sharedOrOwn(ctx context.Context, h *zarr.Location, shared *zarr.Array, writer int) (*zarr.Array, error) {
	if writer%2 == 0 {
		return opened(ctx, h)
	}
	return shared, nil
}

func appendAll(ctx context.Context, a *zarr.Array, writer, appends int) error {
	for seq := range appends {
		if err := zarr.Append(ctx, a, 0, batchOf(writer, seq), nil); err != nil {
			return fmt.Errorf("writer %d, append %d: %w", writer, seq, err)
		}
	}
	return nil
}

// wantBatches expects each append of all writers once.
func wantBatches(t *testing.T, h *zarr.Location, writers, appends int) {
	t.Helper()
	rows, err := rowsOf(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	got, err := checkBatches(rows)
	if err != nil {
		t.Fatal(err)
	}
	for w := range writers {
		if got[w+1] != appends {
			t.Errorf("the array has %d appends of writer %d, want %d", got[w+1], w+1, appends)
		}
	}
	if want := batchRows * (1 + writers*appends); len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
}

// TestConcurrentWrites writes every element of an array from a goroutine of its own, so
// that the writers of a chunk conflict.
func TestConcurrentWrites(t *testing.T) {
	onStores(t, func(t *testing.T, h *zarr.Location) {
		shared, err := opened(t.Context(), h)
		if err == nil {
			err = shared.Resize(t.Context(), []int64{24}, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		group, ctx := errgroup.WithContext(t.Context())
		for i := range int64(24) {
			group.Go(func() error {
				a, err := sharedOrOwn(ctx, h, shared, int(i))
				if err != nil {
					return err
				}
				return zarr.Write(ctx, a, selection.Box{{i, i + 1}}, []int32{int32(i)})
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		if rows, err := rowsOf(t.Context(), h); err != nil || !slices.Equal(rows, fixture.Numbers(0, 24)) {
			t.Errorf("%v (%v)", rows, err)
		}
	})
}

// TestConcurrentResizes grows and shrinks an array from many goroutines while others
// append to it and read it. Every state has the first rows, which are never cut off.
// Beyond them it has only whole or cut appends and the fill value.
func TestConcurrentResizes(t *testing.T) {
	onStores(t, func(t *testing.T, h *zarr.Location) {
		check := func(rows []int32) error {
			if len(rows) < batchRows || !slices.Equal(rows[:batchRows], batchOf(0, 0)) {
				return fmt.Errorf("the first rows changed to %v", rows[:min(batchRows, len(rows))])
			}
			for _, v := range rows[batchRows:] {
				if v != 0 && (v < 100_000 || v >= 400_000 || v%10 >= batchRows) {
					return fmt.Errorf("the rows have the unknown element %d: %v", v, rows)
				}
			}
			return nil
		}
		group, ctx := errgroup.WithContext(t.Context())
		readers, done := new(errgroup.Group), make(chan struct{})
		readers.Go(func() error { return watch(t.Context(), h, done, check) })
		for w := range 3 {
			group.Go(func() error {
				a, err := opened(ctx, h)
				for i := int64(0); i < 8 && err == nil; i++ {
					if err = a.Resize(ctx, []int64{batchRows + (7*i+5*int64(w))%19}, nil); err == nil {
						err = zarr.Append(ctx, a, 0, batchOf(w+1, int(i)), nil)
					}
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
		close(done)
		if err := readers.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// appendInChild appends to the array in a directory, once its parent tells it to start.
func appendInChild(args []string) error {
	s, err := filestore.Open(args[0], nil)
	if err != nil {
		return err
	}
	defer store.Close(s)
	writer, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	appends, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	a, err := opened(context.Background(), zarr.At(s, ""))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return appendAll(context.Background(), a, writer, appends)
}

// TestProcessesAppend lets two processes append to one array concurrently.
func TestProcessesAppend(t *testing.T) {
	racing.Skip(t) // processes share no memory; the goroutines of TestConcurrentAppends do
	const appends = 30
	for kind, spec := range growing {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			h := zarr.At(fixture.OpenStore(t, dir), "")
			startArray(t, h, spec)
			var begin []func() error
			var children []*exec.Cmd
			for w := range 2 {
				c := child(t, "append", dir, strconv.Itoa(w+1), strconv.Itoa(appends))
				begin = append(begin, startChild(t, c))
				children = append(children, c)
			}
			for _, b := range begin {
				if err := b(); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range children {
				if err := c.Wait(); err != nil {
					t.Error(err)
				}
			}
			wantBatches(t, h, 2, appends)
		})
	}
}

// startChild starts a process and waits until it is ready. The returned function lets it
// begin.
func startChild(t *testing.T, c *exec.Cmd) (begin func() error) {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the child says %q (%v)", line, err)
	}
	return func() error { _, err := in.Write([]byte("\n")); return err }
}
