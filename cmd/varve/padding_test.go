// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPadding checks that commands tell of chunks that are much longer than the array,
// and of better ones.
func TestPadding(t *testing.T) {
	dir := t.TempDir()
	padded, plain := filepath.Join(dir, "padded.zarr"), filepath.Join(dir, "plain.zarr")
	spec := []string{"--shape", "366,36,36", "--dtype", "float32", "--chunks"}
	must(t, "", append(append([]string{"create", plain}, spec...), "366,36,36")...)
	for _, args := range [][]string{
		append(append([]string{"create", padded}, spec...), "8760,36,36"),
		{"info", padded}, {"info", padded, "--json"}, {"tree", padded}, {"ls", padded},
		append(append([]string{"plan"}, spec...), "8760,36,36"),
		append(append([]string{"plan", "--json"}, spec...), "8760,36,36"),
		{"rechunk", plain, "--chunks", "8760,36,36", "--dry-run"},
	} {
		out, errs, status := execute(t, "", args...)
		for _, want := range []string{"366 of 8760", "366,36,36 are better"} {
			if status != 0 || !strings.Contains(out+errs, want) {
				t.Errorf("%q does not have %q: status %d, %s%s", args, want, status, out, errs)
			}
		}
	}
	// Chunks for what will be appended, a policy, shards and little padding need none.
	for name, args := range map[string][]string{
		"fits":   {"--shape", "366,36,36", "--chunks", "183,36,36"},
		"empty":  {"--shape", "0,36,36", "--chunks", "8760,36,36"},
		"small":  {"--shape", "3,3", "--chunks", "100,100"},
		"grows":  {"--shape", "366,36,36", "--chunks", "8760,36,36", "--grow", "append-one"},
		"shards": {"--shape", "366,36,36", "--shards", "8760,36,36", "--chunks", "73,36,36"},
	} {
		must(t, "", append([]string{"create", filepath.Join(dir, name), "--dtype", "float32"}, args...)...)
	}
}

// TestChosenChunks checks that create tells which chunks it has chosen, unless there is
// only one, or the numbers were given.
func TestChosenChunks(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"--shape 4000,4000 --dtype float32":                                "chunks 500 × 500 (auto), 977 KiB each",
		"--shape 4000,4000 --dtype float32 --chunks auto --dry-run":        "chunks 500 × 500 (auto), 977 KiB each",
		"--shape 4000000 --dtype string":                                   "chunks 62,500 (auto)",
		"--shape 4000,4000 --dtype float32 --shards 1000":                  "shards 1,000 × 1,000, 3.8 MiB each, of chunks 500 × 500 (auto), 977 KiB each",
		"--shape 40000,40000 --dtype float32 --shards auto --chunks 500":   "shards 8,000 × 13,500 (auto), 412 MiB each, of chunks 500 × 500, 977 KiB each",
		"--shape 4,4 --dtype float32":                                      "",
		"--shape 4000,4000 --dtype float32 --chunks 500":                   "",
		"--shape 4000,4000 --dtype float32 --json":                         "",
		"--shape 4000,4000 --dtype float32 --shards 2000 --chunks 500,500": "",
	} {
		_, errs, status := execute(t, "", append([]string{"create", filepath.Join(dir, "new.zarr"), "--overwrite"}, strings.Fields(args)...)...)
		if status != 0 || want == "" && errs != "" || !strings.HasSuffix(strings.TrimSpace(errs), want) {
			t.Errorf("%s: status %d, %s, want %s", args, status, errs, want)
		}
	}
}
