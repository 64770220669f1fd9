// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/selection"
)

// TestRepairDamages damages a group at random: it flips bits, cuts files, removes them,
// puts back old documents, and leaves cut chunks aside. A repair makes no element
// unreadable that could be read, and changes none.
func TestRepairDamages(t *testing.T) {
	racing.Skip(t) // it reads element by element
	n := 30
	if os.Getenv("VARVE_LONG") != "" {
		n = 1000
	}
	whole := t.TempDir() + "/g.zarr"
	must(t, "", "create", whole, "--group")
	for name, args := range map[string][]string{
		"/plain":   {"--chunks", "[[3,5]]"},
		"/sub/raw": {"--chunks", "4", "--compressor", "none"},
		"/shards":  {"--chunks", "1", "--shards", "4"},
	} {
		must(t, "", append([]string{"create", whole + name, "--shape", "8", "--dtype", "int16"}, args...)...)
		must(t, "", "write", whole+name, "--value", "7", "--select", ":5")
	}
	must(t, "", "consolidate", whole)
	old := readAll(t, whole)
	must(t, "", "attrs", whole+"/plain", "set", "units", `"K"`)
	readable := 0
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "g.zarr")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range 1 + r.IntN(3) {
				damage(t, r, dir, old)
			}
			before := elementsThere(dir)
			if _, errs, status := execute(t, "", "check", dir, "--repair", "--json"); status > 1 {
				t.Errorf("status %d, %s", status, errs)
			}
			after := elementsThere(dir)
			for at, v := range before {
				readable++
				if is, ok := after[at]; !ok || is != v {
					t.Errorf("%s was %d, and is %d (%v)", at, v, is, ok)
				}
			}
		})
	}
	if readable < 10*n {
		t.Errorf("only %d elements could be read in %d groups", readable, n)
	}
}

// TestRepairPrints checks that --repair and --repair-shards say what they have done, each
// by its node and key, or that it was nothing.
func TestRepairPrints(t *testing.T) {
	group := t.TempDir() + "/g.zarr"
	must(t, "", "create", group, "--group")
	must(t, "", "create", group+"/s", "--shape", "16", "--dtype", "int16", "--chunks", "4", "--shards", "8")
	must(t, "", "write", group+"/s", "--value", "7")
	must(t, "", "consolidate", group)
	if out := must(t, "", "check", group, "--repair-shards"); !strings.HasPrefix(out, "0 repairs\n") {
		t.Errorf("sound:\n%s", out)
	}
	for _, at := range []string{group, group + "/s"} {
		for _, json := range []bool{false, true} {
			for _, chunk := range []string{"0", "1"} {
				spoil(t, filepath.Join(group, "s", "c", chunk), func(b []byte) []byte { b[len(b)-10] ^= 1; return b })
			}
			if out, _, status := execute(t, "", "check", at, "--repair"); status != 1 || !strings.HasPrefix(out, "0 repairs\n") {
				t.Errorf("status %d:\n%s", status, out)
			}
			args := []string{"check", at, "--repair-shards"}
			if json {
				done := decode(t, must(t, "", append(args, "--json")...))["repaired"].([]any)
				if len(done) != 2 || done[1].(map[string]any)["path"] != group+"/s" || done[1].(map[string]any)["key"] == nil {
					t.Errorf("%v", done)
				}
				continue
			}
			out := must(t, "", args...)
			for _, want := range []string{group + "/s  repaired: the index of the shard ", "c/0 is restored\n", "c/1 is restored\n", "\n2 repairs\n"} {
				if !strings.Contains(out, want) {
					t.Errorf("lacks %q:\n%s", want, out)
				}
			}
		}
	}
	// Another program has changed a document without its copy.
	spoil(t, filepath.Join(group, "s", "zarr.json"), func(b []byte) []byte { return bytes.Replace(b, []byte("16"), []byte("15"), 1) })
	if out := must(t, "", "check", group, "--repair"); !strings.HasPrefix(out, group+"  repaired: consolidated metadata is up to date again\n1 repair\n") {
		t.Error(out)
	}
	if out := must(t, "", "check", group); strings.Contains(out, "repair") {
		t.Error(out)
	}
}

// readAll returns the files of a folder.
func readAll(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		files[rel], err = os.ReadFile(name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// damage damages one file of a folder.
func damage(t *testing.T, r *rand.Rand, dir string, old map[string][]byte) {
	t.Helper()
	files := readAll(t, dir)
	names := slices.Sorted(maps.Keys(files))
	if len(names) == 0 {
		return
	}
	name := names[r.IntN(len(names))]
	data, path := files[name], filepath.Join(dir, name)
	switch kind := r.IntN(5); {
	case kind == 0 && len(data) > 0:
		data[r.IntN(len(data))] ^= 1 << r.IntN(8)
	case kind == 1:
		data = data[:r.IntN(len(data)+1)]
	case kind == 2:
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return
	case kind == 3 && old[name] != nil:
		data = old[name]
	default:
		path = filepath.Join(filepath.Dir(path), "__varve", "aside", "5", "c", "0")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return // a file is in the way
		}
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// elementsThere returns the elements of a group that can be read, one by one.
func elementsThere(dir string) map[string]int16 {
	ctx, there := context.Background(), map[string]int16{}
	for _, name := range []string{"plain", "sub/raw", "shards"} {
		a, err := zarr.OpenArray(ctx, filepath.Join(dir, name), nil)
		if err != nil || a.Rank() != 1 {
			continue
		}
		for i := range a.Shape()[0] {
			v := make([]int16, 1)
			if zarr.ReadInto(ctx, a, selection.Basic{selection.Span(i, i+1)}, v) == nil {
				there[fmt.Sprint(name, i)] = v[0]
			}
		}
		_ = a.Close()
	}
	return there
}
