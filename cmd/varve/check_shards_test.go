// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckRepairShards restores the index of a shard, on request only, and says why that
// of another one stays as it is.
func TestCheckRepairShards(t *testing.T) {
	g := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", g, "--group")
	for name, codecs := range map[string]string{"/sound": `["bytes","zstd","crc32c"]`, "/plain": `["bytes"]`} {
		must(t, "", "create", g+name, "--shape", "8", "--dtype", "uint8", "--chunks", "2", "--shards", "4", "--codecs", codecs)
		must(t, "", "write", g+name, "--value", "7")
	}
	const name = "/sound/c/1"
	before, err := os.ReadFile(g + name)
	if err != nil {
		t.Fatal(err)
	}
	flip := func(b []byte) []byte { b[len(b)-9] ^= 1; return b }
	spoil(t, g+name, flip)
	for _, args := range [][]string{{"--repair"}, {"--repair-shards", "--dry-run"}} {
		if out, _, status := execute(t, "", append([]string{"check", g}, args...)...); status != 1 || !strings.Contains(out, "sound/c/1") {
			t.Errorf("%q: status %d, %s", args, status, out)
		}
	}
	out, _, status := execute(t, "", "check", g, "--json")
	if status != 1 || !strings.Contains(out, "varve check --repair-shards restores the index if its checksum proves what it was") {
		t.Errorf("status %d, %s", status, out)
	}
	must(t, "", "check", g, "--repair-shards")
	if after, err := os.ReadFile(g + name); err != nil || string(after) != string(before) {
		t.Errorf("%x, %v; want %x", after, err, before)
	}
	spoil(t, g+"/plain/c/0", flip)
	_, errs, status := execute(t, "", "check", g, "--repair-shards")
	if want := "not repaired: repair "; status != 1 || !strings.Contains(errs, want) || !strings.Contains(errs, "have no checksums") {
		t.Errorf("status %d, %s", status, errs)
	}
	out, _, _ = execute(t, "", "check", g, "--repair-shards", "--json")
	findings := decode(t, out)["findings"].([]any)
	if len(findings) != 1 || !strings.Contains(findings[0].(map[string]any)["repair"].(string), "have no checksums") {
		t.Errorf("%v", findings)
	}
}
