// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// TestLockTimeout changes an array that another writer has locked. With --lock-timeout a
// command must name the holder and give up. Without it, the command must print a line
// after a second, and continue when the lock is free.
func TestLockTimeout(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	node := group + "/a"
	must(t, "", "create", group, "--group")
	must(t, "", "create", node, "--shape", "4", "--dtype", "int8", "--chunks", "[[2,2]]")
	s, err := filestore.Open(group, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(s)
	path, err := store.ParsePath("a")
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := store.Lock(store.WithLocking(t.Context(), store.Locking{Operation: "a test"}), s, path)
	if err != nil {
		t.Skip(err)
	}
	for limit, kind := range map[string]string{"0": "locked", "5ms": "timeout"} {
		for _, args := range [][]string{
			{"append", node, "--format", "raw"}, {"resize", node, "--shape", "6"}, {"attrs", node, "set", "k", "1"}, {"rm", node, "--yes"},
			{"unlock", node}, {"create", node, "--overwrite", "--shape", "1", "--dtype", "int8"},
		} {
			_, errs, status := execute(t, "x", append(args, "--json", "--lock-timeout", limit)...)
			e, _ := decode(t, errs)["error"].(map[string]any)
			if message, _ := e["message"].(string); status != 1 || e["kind"] != kind || !strings.Contains(message, "(a test)") {
				t.Errorf("%q within %s: status %d, %s", args, limit, status, errs)
			}
		}
	}
	release := make(chan error)
	said := writerFunc(func(p []byte) (int, error) {
		if strings.Contains(string(p), "waiting for the lock of a, held by process") {
			go func() { release <- unlock() }()
		}
		return len(p), nil
	})
	if status := run(t.Context(), []string{"attrs", node, "set", "k", "1"}, console.Streams{In: strings.NewReader(""), Out: said, Err: said}); status != 0 {
		t.Errorf("status %d", status)
	}
	if err := <-release; err != nil {
		t.Error(err)
	}
	if _, errs, status := execute(t, "", "attrs", node, "set", "k", "1", "--lock-timeout", "soon"); status != 2 || !strings.Contains(errs, "30s") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// writerFunc is a function that is written to.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
