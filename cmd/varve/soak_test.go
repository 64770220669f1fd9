// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// soaked returns the amount of work of a soak test. As in the core's tests, VARVE_SOAK=1
// is all of it.
func soaked(t *testing.T, quick, all int) int {
	t.Helper()
	text := os.Getenv("VARVE_SOAK")
	if text == "" {
		return quick
	}
	times, err := strconv.ParseFloat(text, 64)
	if err != nil || times <= 0 || times > 1e6 {
		t.Fatalf("VARVE_SOAK is %q, want a number above 0", text)
	}
	return max(quick, int(times*float64(all)))
}

var soakToken = regexp.MustCompile(`-?[0-9][-+.0-9eE]*|"[^"]*"|true|false|null`)

// soakSpoil changes some bytes, or a token of JSON.
func soakSpoil(r *rand.Rand, data []byte) []byte {
	if len(data) == 0 {
		return []byte{byte(r.Uint32())}
	}
	data = slices.Clone(data)
	at := r.IntN(len(data))
	tokens := soakToken.FindAllIndex(data, -1)
	switch k := r.IntN(8); {
	case k < 2:
		data[at] ^= 1 << r.IntN(8)
	case k == 2:
		return data[:at]
	case k == 3:
		copy(data[at:], bytes.Repeat([]byte{255}, 8))
	case len(tokens) > 0:
		a, b := tokens[r.IntN(len(tokens))], tokens[r.IntN(len(tokens))]
		with := slices.Clone(data[b[0]:b[1]])
		if k > 5 {
			with = []byte([]string{"-1", "0", "9223372036854775807", "1e400", "null", "[]", `"x"`, "{}"}[r.IntN(8)])
		}
		return slices.Concat(data[:a[0]], with, data[a[1]:])
	}
	return data
}

// TestSoakCommands damages the stores of zarr-python, a few bytes at a time, and runs the
// commands that read. Each must end with a status and a message, and none may panic.
func TestSoakCommands(t *testing.T) {
	var manifest struct{}
	z := openArchive(t, "stores.zip", &manifest)
	count, failed, runs := soaked(t, 60, 12_000), 0, 0
	entries, err := fs.ReadDir(z, ".")
	if err != nil {
		t.Fatal(err)
	}
	entries = slices.DeleteFunc(entries, func(d fs.DirEntry) bool { return !d.IsDir() })
	dir := t.TempDir()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	for i := range count {
		r := rand.New(rand.NewPCG(uint64(i), 0))
		node := filepath.Join(dir, entries[i%len(entries)].Name())
		files := filesBelow(t, node)
		name := files[r.IntN(len(files))]
		was, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, name, string(soakSpoil(r, was)))
		label := fmt.Sprintf("mutant %d: %s", i, name)
		late := time.AfterFunc(time.Minute, func() { panic(label + " hangs") })
		for _, line := range [][]string{{"info", node}, {"info", "--json", node}, {"check", node}, {"tree", node}, {"grid", node}} {
			out, errs, status := execute(t, "", line...)
			runs++
			if status != 0 {
				failed++
			}
			if status != 0 && out == "" && errs == "" || strings.Contains(errs, "goroutine ") {
				t.Errorf("%s: varve %q: status %d, says %q", label, line, status, errs)
			}
		}
		late.Stop()
		overwrite(t, name, string(was))
	}
	t.Logf("%d mutants of %d stores, %d commands, of which %d failed; none panicked", count, len(entries), runs, failed)
}

// filesBelow returns the documents of a node four times, so that they are damaged more
// often, and its other files once.
func filesBelow(t *testing.T, node string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(node, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
			if base := d.Name(); base == "zarr.json" || base[0] == '.' {
				files = append(files, name, name, name)
			}
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files (%v)", node, err)
	}
	return files
}
