// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// distant is a store whose requests each take a second. In a bubble of package synctest,
// the seconds of a command are its round trips, one after the other.
type distant struct {
	below memtest.Store
	mu    sync.Mutex
	asked []string
}

func (d *distant) ask(ctx context.Context, what string) error {
	d.mu.Lock()
	d.asked = append(d.asked, what)
	d.mu.Unlock()
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *distant) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := d.ask(ctx, "Get "+key.String()); err != nil {
		return nil, store.Info{}, err
	}
	return d.below.Get(ctx, key, q, dst)
}

func (d *distant) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	if err := d.ask(ctx, "Stat "+key.String()); err != nil {
		return store.Info{}, err
	}
	return d.below.Stat(ctx, key)
}

// listing is a distant store that can list.
type listing struct{ *distant }

func (l listing) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := l.ask(ctx, "List "+dir.String()); err != nil {
			yield(store.Entry{}, err)
			return
		}
		l.below.List(ctx, dir, how)(yield)
	}
}

// present is the store of the scheme distant:// at this time.
var present store.Store

func init() {
	store.Register("distant", func(_ context.Context, location string, _ store.Access) (store.Store, store.Path, error) {
		p, err := store.ParsePath(strings.TrimPrefix(location, "distant://"))
		return present, p, err
	})
}

// loaded returns a distant store with the files of a folder.
func loaded(t *testing.T, dir string) *distant {
	t.Helper()
	d := &distant{below: memtest.New()}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		_, err = d.below.Write(t.Context(), store.Put(store.MustKey(filepath.ToSlash(rel)), b), store.Flush)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// trips runs a command on a distant store with the files of a folder. It returns the
// number of round trips and the requests.
func trips(t *testing.T, dir string, lists bool, args ...string) (rounds int, asked []string, out string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := loaded(t, dir)
		if present = d; lists {
			present = listing{d}
		}
		time.Sleep(time.Hour) // the values are old
		var o, e strings.Builder
		began := time.Now()
		status := run(t.Context(), args, console.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
		rounds, asked, out = int(time.Since(began)/time.Second), d.asked, o.String()
		if status != 0 {
			t.Errorf("%v: status %d, %s", args, status, e.String())
		}
	})
	return rounds, asked, out
}

// dataset makes a group with an array of temperatures and its coordinates.
func dataset(t *testing.T, consolidate bool) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "era5.zarr")
	must(t, "", "create", dir, "--group")
	must(t, "", "create", dir+"/time", "--shape", "48", "--chunks", "24", "--dtype", "int64", "--dimension-names", "time", "--compressor", "none",
		"--attributes", `{"units": "hours since 2024-01-01", "calendar": "standard"}`)
	must(t, "", "write", dir+"/time", "--value", "5")
	for _, name := range []string{"t2m", "u10", "v10"} {
		must(t, "", "create", dir+"/"+name, "--shape", "48,4,4", "--chunks", "24,4,4", "--dtype", "float32", "--dimension-names", "time,lat,lon")
	}
	if consolidate {
		must(t, "", "consolidate", dir)
	}
	return dir
}

// TestTrips counts round trips and requests of commands that look at a data set.
func TestTrips(t *testing.T) {
	type look struct {
		consolidated, lists bool
		args                string
	}
	dirs := map[bool]string{true: dataset(t, true), false: dataset(t, false)}
	for l, most := range map[look][2]int{ // round trips, requests
		// A web server: the document first, and all else at once.
		{true, false, "info distant://t2m"}:   {2, 6},
		{true, false, "info distant://time"}:  {2, 8}, // with the first and the last time
		{true, false, "info distant://"}:      {2, 3},
		{true, false, "tree distant://"}:      {1, 1},
		{true, false, "ls distant://"}:        {1, 1},
		{false, false, "info distant://t2m"}:  {2, 6},
		{false, false, "info distant://time"}: {2, 8},
		// An object store, where metadata is compared with the nodes: the document, and
		// then the names and the documents that the metadata names.
		{true, true, "info distant://t2m"}:   {2, 8},
		{true, true, "info distant://time"}:  {2, 10},
		{true, true, "info distant://"}:      {3, 17},
		{true, true, "tree distant://"}:      {2, 6},
		{true, true, "ls distant://"}:        {2, 6},
		{false, true, "info distant://t2m"}:  {2, 8},
		{false, true, "info distant://time"}: {2, 10},
		{false, true, "info distant://"}:     {4, 22},
		{false, true, "tree distant://"}:     {3, 6},
		{false, true, "ls distant://"}:       {3, 6},
	} {
		rounds, asked, out := trips(t, dirs[l.consolidated], l.lists, strings.Fields(l.args)...)
		if slices.Sort(asked); rounds > most[0] || len(asked) > most[1] {
			t.Errorf("%+v: %d round trips and %d requests, want %d and %d: %q", l, rounds, len(asked), most[0], most[1], asked)
		}
		near, _, _ := execute(t, "", strings.Fields(strings.Replace(l.args, "distant://", dirs[l.consolidated]+"/", 1))...)
		if lines := strings.Count(near, "\n"); strings.Count(out, "\n") != lines || lines < 2 {
			t.Errorf("%+v: %s\nof a directory: %s", l, out, near)
		}
	}
}
