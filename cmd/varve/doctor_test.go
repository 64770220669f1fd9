// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctor measures a folder, which is empty afterwards, and refuses a value that would
// take too much memory.
func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	out := must(t, "", "doctor", dir, "--size", "2MiB")
	if !strings.Contains(out, "128 reads of 1 MiB at once") || strings.Contains(out, "limit of requests") {
		t.Errorf("it prints %s", out)
	}
	missing := filepath.Join(dir, "missing")
	if _, text, status := execute(t, "", "doctor", missing); status == 0 || !strings.Contains(text, "missing") {
		t.Errorf("a missing folder: status %d, %s", status, text)
	}
	for _, size := range []string{"1025MiB", "900TiB"} {
		if _, text, status := execute(t, "", "doctor", dir, "--size", size); status != 2 || !strings.Contains(text, "at most 1.0 GiB") {
			t.Errorf("--size %s: status %d, %s", size, status, text)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, error %v", left, err)
	}
}
