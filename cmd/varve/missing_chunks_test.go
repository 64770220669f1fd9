// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

// TestMissingChunks reads an array that has lost a chunk, and checks which one is named.
func TestMissingChunks(t *testing.T) {
	node := newNode(t, "--shape", "6", "--chunks", "2", "--dtype", "int8")
	must(t, "", "write", node, "--value", "1")
	if err := os.Remove(node + "/c/1"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"cat", node}, {"export", node, "--format", "json"}, {"equal", node, node}} {
		must(t, "", append(args, "--missing-chunks", "fill")...)
		out, errs, status := execute(t, "", append(args, "--missing-chunks", "error")...)
		if status != 1 || out != "" || !strings.Contains(errs, "c/1") || !strings.Contains(errs, "--missing-chunks") {
			t.Errorf("%v: status %d, %q, %s", args, status, out, errs)
		}
	}
	must(t, "", "check", node)
	out, errs, status := execute(t, "", "check", node, "--complete")
	if status != 1 || !strings.Contains(out, "chunk [1] (c/1)") || !strings.Contains(errs, "1 chunk missing") {
		t.Errorf("status %d, %q, %s", status, out, errs)
	}
	out, _, _ = execute(t, "", "check", node, "--complete", "--json")
	found := decode(t, out)
	if found["chunks_missing"] != 1.0 || found["faults"] != 1.0 || len(found["found"].([]any)) != 1 {
		t.Error(out)
	}
	if _, errs, status := execute(t, "", "cat", node, "--missing-chunks", "warn"); status != 2 {
		t.Errorf("status %d, %s", status, errs)
	}
}
