// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCheckFinish checks an array with a cut chunk that is still set aside. It is a
// fault, also in a dry run, until --repair moves it to its key.
func TestCheckFinish(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	node := group + "/a"
	for _, location := range []string{node, group} {
		must(t, "", "create", node, "--overwrite", "--shape", "14", "--dtype", "int8", "--chunks", "[[8,6]]", "--compressor", "none")
		must(t, "", "write", node, "--value", "7")
		aside := node + "/__varve/aside/6/c"
		if err := os.MkdirAll(aside, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(node+"/c/1", aside+"/1"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(node+"/c/1", make([]byte, 8), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"check", location}, {"check", location, "--repair", "--dry-run"}} {
			if _, errs, status := execute(t, "", args...); status != 1 {
				t.Errorf("%v: status %d, %s", args, status, errs)
			}
		}
		must(t, "", "check", location, "--repair")
		must(t, "", "check", location)
		if data, err := os.ReadFile(node + "/c/1"); err != nil || string(data) != "\a\a\a\a\a\a" {
			t.Errorf("%s: %q, %v", location, data, err)
		}
	}
}
