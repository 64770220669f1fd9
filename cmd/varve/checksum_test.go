// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	withSum, withoutSum = `"checksum":true`, `"checksum":false`

	blindNote = "no codec has a checksum"
)

// guardOf returns the codecs of an array as one line of JSON, and whether info says that
// damage would not be seen. Its text and its JSON say the same.
func guardOf(t *testing.T, node string) (codecs string, blind bool) {
	t.Helper()
	facts := decode(t, must(t, "", "info", node, "--json"))
	raw, err := json.Marshal(facts["codecs"])
	if err != nil {
		t.Fatal(err)
	}
	blind = slices.ContainsFunc(facts["notes"].([]any), func(n any) bool { return strings.Contains(n.(string), blindNote) })
	if text := must(t, "", "info", node); strings.Contains(text, blindNote) != blind {
		t.Errorf("%s: the JSON says %t, the text\n%s", node, blind, text)
	}
	return string(raw), blind
}

// TestChecksums creates arrays with all forms of --compressor, and with --codecs. Where
// no codec has a checksum, info says so.
func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		flags, want string
		blind       bool
	}{
		{"", withSum, false},
		{"--shards 8", withSum, false},
		{"--dtype string", withSum, false},
		{"--dtype >f4", withSum, false},
		{"--compressor zstd", withSum, false},
		{"--compressor zstd:7", `"level":7`, false},
		{"--compressor zstd:3:checksum", withSum, false},
		{"--compressor zstd:nochecksum", withoutSum, true},
		{"--compressor zstd:-5:nochecksum --shards 8", withoutSum, true},
		{"--compressor gzip:1", "gzip", false},
		{"--compressor none", "bytes", true},
		{"--compressor auto", "blosc", true},
		{"--compressor auto --dtype string", withSum, false},
		{"--compressor none --shards 8", "crc32c", true}, // of the index only
		{`--codecs ["bytes","zstd"] --dtype int8`, withSum, false},
		{`--codecs ["bytes","crc32c"] --dtype int8`, "crc32c", false},
		{`--codecs [{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":["bytes","zstd"],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"]}}] --dtype int8`, withSum, false},
		{"--zarr-format 2", withoutSum, true},
		{"--zarr-format 2 --compressor zstd:3", withoutSum, true},
		{"--zarr-format 2 --compressor zstd:3:checksum", withSum, false},
		{"--zarr-format 2 --compressor gzip", "gzip", false},
	} {
		node := filepath.Join(dir, fmt.Sprint(i, ".zarr"))
		args := []string{"create", node, "--shape", "8", "--chunks", "4"}
		if !strings.Contains(c.flags, "--dtype") {
			args = append(args, "--dtype", "float32")
		}
		must(t, "", append(args, strings.Fields(c.flags)...)...)
		if codecs, blind := guardOf(t, node); !strings.Contains(codecs, c.want) || blind != c.blind {
			t.Errorf("%q: %s, a note: %t", c.flags, codecs, blind)
		}
		if raw, _ := os.ReadFile(filepath.Join(node, ".zarray")); strings.Contains(string(raw), "checksum") && c.want != withSum {
			t.Errorf("%q: %s", c.flags, raw)
		}
		if not := must(t, "", "info", node); strings.Contains(not, "not: xarray (no dimension names), TensorStore") != strings.Contains(c.flags, "2 --compressor zstd:3:checksum") && strings.Contains(c.flags, "format 2") {
			t.Errorf("%q: %s", c.flags, not)
		}
	}
	for _, bad := range []string{"zstd:3:sum", "zstd:3:", "zstd:checksum:3", "zstd:3:checksum:1", "gzip:5:checksum", "none:checksum", "zstd:nosum"} {
		if _, errs, status := execute(t, "", "create", filepath.Join(dir, "bad.zarr"), "--shape", "1", "--dtype", "int8", "--compressor", bad); status != 2 {
			t.Errorf("%s: status %d, %s", bad, status, errs)
		}
	}
	// An archive has a checksum of each member.
	archive := filepath.Join(dir, "raw.zip")
	must(t, "", "create", archive, "--shape", "8", "--dtype", "int8", "--compressor", "none")
	if _, blind := guardOf(t, archive); blind {
		t.Error("an archive has checksums")
	}
}

// TestRechunkChecksums gives an array the checksum and takes it again. What keeps the
// codecs keeps the checksum as it is, and so does a copy.
func TestRechunkChecksums(t *testing.T) {
	dir := t.TempDir()
	node := filepath.Join(dir, "a.zarr")
	must(t, "", "create", node, "--shape", "8", "--dtype", "int8", "--chunks", "2", "--compressor", "zstd:1:nochecksum")
	must(t, "[1,2,3,4,5,6,7,8]", "write", node, "--format", "json")
	for _, step := range []struct{ args, want string }{
		{"rechunk NODE --chunks 4", withoutSum}, {"compact NODE --to max:8", withoutSum}, {"rechunk NODE --chunks 2 --shards 4", withoutSum},
		{"rechunk NODE --compressor zstd:1", withSum}, {"rechunk NODE --shards none", withSum}, {"rechunk NODE --chunks 4", withSum},
		{"rechunk NODE --compressor zstd:1:checksum", withSum}, {"rechunk NODE --compressor zstd:1:nochecksum", withoutSum},
	} {
		must(t, "", strings.Fields(strings.Replace(step.args, "NODE", node, 1))...)
		must(t, "", "vacuum", node, "--grace", "0s", "--yes")
		copied := filepath.Join(t.TempDir(), "copied.zarr")
		must(t, "", "copy", node, copied)
		for _, n := range []string{node, copied} {
			if codecs, _ := guardOf(t, n); !strings.Contains(codecs, step.want) {
				t.Errorf("%s: %s", step.args, codecs)
			}
			if got := must(t, "", "cat", n); got != "[1 2 3 4 5 6 7 8]\n" {
				t.Errorf("%s: %s", step.args, got)
			}
		}
	}
}

// TestFollowChecksums brings a follower up to date that was made when zstd had no
// checksum by default: the same flags mean the codecs that it has.
func TestFollowChecksums(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "src.zarr")
	must(t, "", "create", src, "--shape", "8", "--dtype", "float32", "--chunks", "2")
	for made, asked := range map[string]map[string]bool{
		"zstd:1:nochecksum": {"zstd:1": true, "zstd:1:nochecksum": true, "zstd:1:checksum": false, "zstd:2": false},
		"zstd:1":            {"zstd:1": true, "zstd:1:nochecksum": false},
	} {
		dst := filepath.Join(dir, strings.ReplaceAll(made, ":", "-")+".zarr")
		must(t, "", "rechunk", src, dst, "--follow", "--compressor", made)
		must(t, "[1,2,3,4,5,6,7,8]", "write", src, "--format", "json")
		for compressor, right := range asked {
			_, errs, status := execute(t, "", "rechunk", src, dst, "--follow", "--compressor", compressor)
			if right != (status == 0) || !right && !strings.Contains(errs, "other codecs") {
				t.Errorf("made with %s, asked for %s: status %d, %s", made, compressor, status, errs)
			}
		}
	}
}

// TestFollowChecksumsOfCodecs does the same with codecs: a request may say what another
// one means without a word.
func TestFollowChecksumsOfCodecs(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "src.zarr")
	must(t, "", "create", src, "--shape", "8", "--dtype", "float32", "--chunks", "2")
	codecs := func(sum string) string {
		return `[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":3` + sum + `}}]`
	}
	for _, c := range []struct {
		made, asked string
		right       bool
	}{
		{"", "", true}, {"", "," + withSum, true}, {"," + withSum, "", true}, {"," + withoutSum, "", true}, {"", "," + withoutSum, false}, {"," + withoutSum, "," + withSum, false},
	} {
		dst := filepath.Join(t.TempDir(), "dst.zarr")
		must(t, "", "rechunk", src, dst, "--follow", "--codecs", codecs(c.made))
		must(t, "[1,2,3,4,5,6,7,8]", "write", src, "--format", "json")
		_, errs, status := execute(t, "", "rechunk", src, dst, "--follow", "--codecs", codecs(c.asked))
		if c.right != (status == 0) || !c.right && !strings.Contains(errs, "other codecs") {
			t.Errorf("made with %q, asked for %q: status %d, %s", c.made, c.asked, status, errs)
		}
	}
}

// TestConvertChecksums says which programs refuse the checksum in format 2, and nothing
// if there is none.
func TestConvertChecksums(t *testing.T) {
	for _, compressor := range []string{"zstd", "zstd:nochecksum", "none"} {
		dir := t.TempDir()
		node, dst := filepath.Join(dir, "a.zarr"), filepath.Join(dir, "b.zarr")
		must(t, "", "create", node, "--shape", "8", "--dtype", "float32", "--chunks", "2", "--chunk-key-encoding", "v2.", "--compressor", compressor)
		for _, args := range [][]string{{node, "--dry-run"}, {node, dst}, {node}} {
			text := must(t, "", append(append([]string{"convert"}, args...), "--to", "2")...)
			if want := compressor == "zstd"; strings.Contains(text, "in 1 array zstd keeps its checksum, which TensorStore") != want {
				t.Errorf("%s, %q: %s", compressor, args, text)
			}
		}
		if facts := decode(t, must(t, "", "convert", dst, "--to", "3", "--json")); facts["zstd_checksums"] != 0.0 {
			t.Error(facts)
		}
		if codecs, _ := guardOf(t, dst); strings.Contains(codecs, withSum) != (compressor == "zstd") {
			t.Error(codecs)
		}
	}
}
