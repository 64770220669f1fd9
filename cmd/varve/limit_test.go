package main

import (
	"strings"
	"testing"
)

// TestLimit lowers the most that a chunk may have, and raises it again, by one flag of all commands.
func TestLimit(t *testing.T) {
	node := newNode(t, "--shape", "4096", "--dtype", "int8", "--chunks", "4096", "--compressor", "gzip:1")
	must(t, "", "write", node, "--value", "7")
	_, errs, status := execute(t, "", "cat", node, "--limit", "4095B")
	if status != 1 || !strings.Contains(errs, "--limit") || !strings.Contains(errs, "4095") {
		t.Errorf("status %d, %s", status, errs)
	}
	if out := must(t, "", "cat", node, "--limit", "4kiB", "--select", "-1"); strings.TrimSpace(out) != "7" {
		t.Error(out)
	}
	for _, bad := range []string{"", "many", "0B", "4096", "-1MiB"} {
		if _, errs, status := execute(t, "", "cat", node, "--limit", bad); status != 2 || !strings.Contains(errs, "--limit") {
			t.Errorf("%q: status %d, %s", bad, status, errs)
		}
	}
}
