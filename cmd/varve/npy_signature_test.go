// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNPYWithoutItsName reads a .npy file with any name, unless --format says otherwise.
// Its header must not become values.
func TestNPYWithoutItsName(t *testing.T) {
	const data = "[[1,2],[3,4]]"
	source := newNode(t, "--shape", "2,2", "--dtype", "int16", "--chunks", "2,2")
	must(t, data, "write", source, "--format", "json")
	npy := must(t, "", "export", source, "--format", "npy")
	dir := t.TempDir()
	for _, name := range []string{"", "a", "a.bin", "a.raw"} {
		file, in := "-", npy
		if name != "" {
			file, in = filepath.Join(dir, name), ""
			overwrite(t, file, npy)
		}
		node := newNode(t, "--shape", "0,2", "--dtype", "int16", "--chunks", "2,2")
		must(t, in, "append", node, file)
		if got := must(t, "", "export", node, "--format", "json"); got != data+"\n" {
			t.Errorf("append %s: %s", name, got)
		}
		node = newNode(t, "--shape", "2,2", "--dtype", "int16", "--chunks", "2,2")
		must(t, in, "write", node, file)
		if got := must(t, "", "export", node, "--format", "json"); got != data+"\n" {
			t.Errorf("write %s: %s", name, got)
		}
		must(t, in, "append", node, file, "--format", "raw") // 136 bytes are 34 planes
		if got := must(t, "", "info", node); !strings.Contains(got, "36") {
			t.Errorf("append %s as raw: %s", name, got)
		}
		_, errs, status := execute(t, in, "write", node, file, "--select", ":2", "--format", "raw")
		if status != 1 || !strings.Contains(errs, "it is a .npy file; omit --format raw") {
			t.Errorf("write %s as raw: status %d, %s", name, status, errs)
		}
	}
}
