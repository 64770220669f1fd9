package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveFollowsNoLink removes an array that has a symbolic link to its neighbour, which stays.
func TestRemoveFollowsNoLink(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	for _, name := range []string{"/a", "/b"} {
		must(t, "", "create", group+name, "--shape", "4", "--dtype", "int32", "--chunks", "2")
		must(t, "", "write", group+name, "--value", "7")
	}
	want := must(t, "", "cat", group+"/b")
	if err := os.Symlink("../b", filepath.Join(group, "a", "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	must(t, "", "rm", "--yes", group+"/a")
	if got := must(t, "", "cat", group+"/b"); got != want {
		t.Errorf("b is %s, want %s", got, want)
	}
	if _, err := os.Lstat(filepath.Join(group, "a")); !os.IsNotExist(err) {
		t.Errorf("a is still there: %v", err)
	}
	if err := os.Symlink("../b", filepath.Join(group, "b", "link")); err != nil {
		t.Fatal(err)
	}
	must(t, "", "create", group+"/b", "--shape", "2", "--dtype", "int8", "--overwrite")
}
