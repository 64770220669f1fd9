package vfs

import (
	"os"
	"testing"
)

// TestIdentified opens a directory by the first of several names that still leads to it.
func TestIdentified(t *testing.T) {
	here, other := t.TempDir(), t.TempDir()
	was, err := os.Stat(here)
	if err != nil {
		t.Fatal(err)
	}
	r := identified(was, here+"/none", other, here)
	if r == nil || r.Name() != here {
		t.Fatalf("%v", r)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if r := identified(was, here+"/none", other); r != nil {
		t.Errorf("%s was taken for another directory", r.Name())
	}
}
