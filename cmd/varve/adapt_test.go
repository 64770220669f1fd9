// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// codecsOf returns the codecs that an array has in its metadata, as JSON.
func codecsOf(t *testing.T, node string) string {
	t.Helper()
	raw, err := json.Marshal(decode(t, must(t, "", "info", "--json", node))["codecs"])
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestCompressorAuto gives arrays another compressor, among them the one that chooses its
// settings. The values stay, and so do the other codecs.
func TestCompressorAuto(t *testing.T) {
	const blosc = `"blocksize":0,"clevel":5,"cname":"zstd",`
	for _, tt := range []struct{ create, rechunk, want string }{
		{"--dtype float32", "--compressor auto", blosc + `"shuffle":"shuffle","typesize":4},"name":"blosc"}]`},
		{"--dtype uint8", "--compressor auto", blosc + `"shuffle":"bitshuffle","typesize":1},"name":"blosc"}]`},
		{"--dtype int16 --shards [[6,6]] --chunks 3", "--compressor auto", blosc + `"shuffle":"shuffle","typesize":2},"name":"blosc"}]`},
		{"--dtype int16 --compressor auto", "--compressor none --chunks 4", `[{"configuration":{"endian":"little"},"name":"bytes"}]`},
		{`--dtype uint8 --codecs ["bytes","zstd","crc32c"]`, "--compressor gzip", `[{"name":"bytes"},{"configuration":{"level":5},"name":"gzip"},{"name":"crc32c"}]`},
		{"--dtype string", "--compressor auto --chunks 4", `"name":"zstd"}]`},
	} {
		node, values := newNode(t, append(strings.Fields(tt.create), "--shape", "12")...), numbers(0, 12)
		if strings.Contains(tt.create, "string") {
			values = `["a","b","c","d","e","f","g","h","i","j","k","l"]`
		}
		must(t, values, "write", node, "--format", "json")
		values = must(t, "", "export", node, "--format", "json")
		must(t, "", append([]string{"rechunk", node}, strings.Fields(tt.rechunk)...)...)
		if got := codecsOf(t, node); !strings.Contains(got, tt.want) {
			t.Errorf("%s, %s: codecs %s, want %s", tt.create, tt.rechunk, got, tt.want)
		}
		if got := must(t, "", "export", node, "--format", "json"); got != values {
			t.Errorf("%s, %s: other values: %s", tt.create, tt.rechunk, got)
		}
	}
}

// TestCompressorAutoStored compares with the setting that the metadata name. Auto stores
// less where another one suits the values, when an array is encoded anew, in place or
// elsewhere, and when it is created from a file. A plan keeps the choice.
func TestCompressorAutoStored(t *testing.T) {
	// Records of ten numbers, out of sixteen records.
	var raw []byte
	for r := rand.New(rand.NewPCG(1, 2)); len(raw) < 4*40_000; {
		record := 10 * r.IntN(16)
		for i := range 10 {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(record+i+1)*2654435761)
		}
	}
	plain := newNode(t, "--shape", "40000", "--dtype", "uint32", "--chunks", "20000")
	must(t, string(raw), "write", plain)
	file, dir := filepath.Join(t.TempDir(), "a.npy"), t.TempDir()
	must(t, "", "export", plain, "-o", file)
	fixed, created, copied := filepath.Join(dir, "fixed"), filepath.Join(dir, "created"), filepath.Join(dir, "copied")
	chain := `[{"name":"bytes","configuration":{"endian":"little"}},` +
		`{"name":"blosc","configuration":{"typesize":4,"cname":"zstd","clevel":5,"shuffle":"shuffle","blocksize":0}}]`
	must(t, "", "create", fixed, "--from", file, "--chunks", "20000", "--codecs", chain)
	must(t, "", "create", created, "--from", file, "--chunks", "20000", "--compressor", "auto")
	must(t, "", "rechunk", plain, copied, "--compressor", "auto")
	plan := filepath.Join(dir, "plan.json")
	must(t, "", "rechunk", plain, "--compressor", "auto", "--plan", plan)
	must(t, "", "run", plan)
	must(t, "", "vacuum", plain, "--grace", "0s", "--yes")
	size := func(node string) float64 {
		return decode(t, must(t, "", "info", "--stats", "--json", node))["bytes_stored"].(float64)
	}
	for _, node := range []string{created, copied, plain} {
		if codecsOf(t, node) != codecsOf(t, fixed) || size(node) > 0.8*size(fixed) || size(node) != size(created) {
			t.Errorf("%s: %g bytes, %g with one setting, codecs %s", node, size(node), size(fixed), codecsOf(t, node))
		}
		if must(t, "", "export", node) != string(raw) {
			t.Errorf("%s: other values", node)
		}
	}
}
