// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// shardCodec is a sharding codec with such inner chunks and codecs of them.
func shardCodec(shape, codecs string) string {
	return `{"name":"sharding_indexed","configuration":{"chunk_shape":` + shape + `,"codecs":` + codecs +
		`,"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"],"index_location":"start"}}`
}

func TestInfoShards(t *testing.T) {
	node := filepath.Join(t.TempDir(), "s.zarr")
	must(t, "", "create", node, "--shape", "120,90", "--dtype", "int32", "--shards", "[[60,40,20],50]", "--chunks", "10", "--dimension-names", "t,x")
	must(t, "", "write", node, "--value", "7", "--select", "0:70,0:1")
	want := `array ` + node + `
  format        zarr format 3
  shape         120 × 90  (t, x)
  data type     int32
  size          42 KiB
  shards        3 × 2, rectilinear
    t           60, 40, 20
    x           50, 40
  inner chunks  12 × 9, regular
    t           10×12
    x           10×9
  fill value    0
  codecs        sharding_indexed(chunk_shape=[10,10])
    inner       bytes(endian=little), zstd(level=0, checksum=true)
    index       bytes(endian=little), crc32c; at the end
  chunk keys    default(separator=/)
  stored        2 of 6 shards, `
	if got := must(t, "", "info", "--stats", node); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	facts := decode(t, must(t, "", "info", "--json", node))
	if got := fmt.Sprint(facts["write_chunk_sizes"], facts["read_chunk_sizes"], facts["grid_shape"], facts["notes"]); got !=
		"[[[60 1] [40 1] [20 1]] [[50 1] [40 1]]] [[[10 12]] [[10 9]]] [3 2] []" {
		t.Error(got)
	}
	codecs, _ := facts["codecs"].([]any)
	if c, _ := codecs[0].(map[string]any); len(codecs) != 1 || c["name"] != "sharding_indexed" || len(c["configuration"].(map[string]any)) != 4 {
		t.Error("codecs are not as they are stored:", codecs)
	}
	if got := must(t, "", "tree", node); got != "s.zarr  int32  120 × 90  shards 60, 40, 20 | 50, 40  inner chunks 10 × 10\n" {
		t.Error(got)
	}
	if got := must(t, "", "grid", node); !strings.HasPrefix(got, node+": 120 × 90 in 3 × 2 chunks, rectilinear; each is a shard of inner chunks 10 × 10\n") {
		t.Error(got)
	}
	if got := must(t, "", "grid", "--svg", "-", node); !strings.Contains(got, `stroke-width=".4"`) || !strings.Contains(got, "each is a shard of inner chunks 10 × 10") {
		t.Error(got)
	}
	plain := newNode(t, "--shape", "120,90", "--dtype", "int32", "--chunks", "[[60,40,20],50]")
	if got, want := must(t, "", "grid", "--json", "--chunk", "0,1", node), must(t, "", "grid", "--json", "--chunk", "0,1", plain); got != want {
		t.Errorf("grid --json: got\n%s\nwant\n%s", got, want)
	}
}

// TestInfoAroundShards describes arrays whose inner chunks are hidden by other codecs, or
// are shards themselves.
func TestInfoAroundShards(t *testing.T) {
	for name, c := range map[string]struct {
		codecs string
		text   []string // parts of what people read
		sizes  string   // read_chunk_sizes
	}{
		"gzip behind": {"[" + shardCodec("[2,3]", `["bytes"]`) + `,{"name":"gzip","configuration":{"level":5}}]`,
			[]string{"  chunks      2 × 1, regular\n", "sharding_indexed(chunk_shape=[2,3]), gzip(level=5)\n    inner     bytes\n", "notes       gzip after the sharding codec encodes whole shards"},
			"[[[4 2]] [[9 1]]]"},
		"transpose before": {`[{"name":"transpose","configuration":{"order":[1,0]}},` + shardCodec("[3,2]", `["bytes"]`) + "]",
			[]string{"  shards        2 × 1, regular\n", "  inner chunks  4 × 3, regular\n", "crc32c; at the start\n", "transpose before the sharding codec"},
			"[[[4 2]] [[9 1]]]"},
		"shards in shards": {"[" + shardCodec("[4,3]", "["+shardCodec("[2,1]", `["bytes","crc32c"]`)+"]") + "]",
			[]string{"  inner chunks  2 × 3, regular\n", "    inner       sharding_indexed(chunk_shape=[2,1])\n      inner     bytes, crc32c\n      index     bytes(endian=little), crc32c; at the start\n    index "},
			"[[[4 2]] [[3 3]]]"},
	} {
		node := newNode(t, "--shape", "8,9", "--dtype", "int8", "--chunks", "[4,9]", "--codecs", c.codecs)
		must(t, numbers(0, 72), "write", node, "--format", "json")
		text := must(t, "", "info", node)
		for _, part := range c.text {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in\n%s", name, part, text)
			}
		}
		if got := fmt.Sprint(decode(t, must(t, "", "info", "--json", node))["read_chunk_sizes"]); got != c.sizes {
			t.Errorf("%s: read_chunk_sizes %s, want %s", name, got, c.sizes)
		}
		if got := must(t, "", "cat", node, "--select", "5,4"); got != "49\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestInfoOfShardsThatCannotBeDecoded checks the messages for errors inside of shards.
func TestInfoOfShardsThatCannotBeDecoded(t *testing.T) {
	for _, c := range []struct {
		old, new, note string
		sizes          any // read_chunk_sizes
	}{
		{`"zstd"`, `"middle-out"`, "codec middle-out is not known", nil},
		{`"chunk_shape": [3, 3]`, `"chunk_shape": [4, 3]`, "--experimental inner-chunks", nil},
		{`"chunk_shape": [3, 3]`, `"chunk_shape": [3]`, "codec sharding_indexed is not valid", nil},
		{`"chunk_shape": [3, 3]`, `"chunk_grid": {"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[1,5],[4,5]]}}`, "--experimental inner-chunks", nil},
		{`"index_location": "end"`, `"index_location": 5`, "codec sharding_indexed is not valid", nil},
		{`"fill_value": 0`, `"fill_value": "x"`, `fill value "x" is not valid`, []any{[]any{[]any{3.0, 4.0}}, []any{[]any{3.0, 3.0}, []any{1.0, 1.0}}}},
	} {
		node := newNode(t, "--shape", "12,10", "--dtype", "int8", "--shards", "[6,9]", "--chunks", "3")
		document, err := os.ReadFile(filepath.Join(node, "zarr.json"))
		if err != nil || !strings.Contains(string(document), c.old) {
			t.Fatalf("%v, no %s in %s", err, c.old, document)
		}
		replaceInDocument(t, node, c.old, c.new)
		out, errs, status := execute(t, "", "info", node)
		if status != 1 || !strings.Contains(out, "12 × 10") || !strings.Contains(out, c.note) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %s, %s", c.new, status, out, errs)
		}
		out, _, _ = execute(t, "", "info", "--json", node)
		if got := decode(t, out)["read_chunk_sizes"]; !reflect.DeepEqual(got, c.sizes) {
			t.Errorf("%s: read_chunk_sizes is %v", c.new, got)
		}
	}
}

// TestInfoUnevenInnerChunks describes experimental inner chunks.
func TestInfoUnevenInnerChunks(t *testing.T) {
	permit := []string{"--experimental", "inner-chunks"}
	for _, c := range []struct{ shards, chunks, sizes, tree string }{
		{"[10,9]", "[[5,3,2],3]", "[[[5 1] [3 1] [2 1] [5 1] [3 1] [2 1] [5 1]] [[3 3]]]", "inner chunks 5, 3, 2, 5, 3, 2, 5 | 3×3"},
		{"[10,9]", "[8,9]", "[[[8 1] [2 1] [8 1] [2 1] [5 1]] [[9 1]]]", "inner chunks 8, 2, 8, 2, 5 | 9"},
		{"[10,9]", "[5,3]", "[[[5 5]] [[3 3]]]", "inner chunks 5 × 3"},
	} {
		node := newNode(t, append([]string{"--shape", "25,9", "--dtype", "int8", "--shards", c.shards, "--chunks", c.chunks}, permit...)...)
		if got := fmt.Sprint(decode(t, must(t, "", append([]string{"info", "--json", node}, permit...)...))["read_chunk_sizes"]); got != c.sizes {
			t.Errorf("%s: %s, want %s", c.chunks, got, c.sizes)
		}
		if got := must(t, "", append([]string{"tree", node}, permit...)...); !strings.Contains(got, c.tree+"\n") {
			t.Errorf("%s: %s", c.chunks, got)
		}
	}
	node := newNode(t, append([]string{"--shape", "9000000000000000000", "--dtype", "int8", "--shards", "[[[10,450000000000000000],[15,300000000000000000]]]", "--chunks", "4"}, permit...)...)
	facts := decode(t, must(t, "", append([]string{"info", "--json", node}, permit...)...))
	if got := fmt.Sprint(facts["read_chunk_sizes"], facts["notes"]); got != "[<nil>] [axis 0 has too many inner chunks of different lengths to list them]" {
		t.Error(got)
	}
}

// TestReadChunkSizes compares the read_chunk_sizes of arrays that zarr-python wrote with
// those that it gives itself.
func TestReadChunkSizes(t *testing.T) {
	archive, err := zip.OpenReader("../../testdata/stores.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	raw, err := fs.ReadFile(archive, "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Cases map[string]struct {
			Write [][]int64 `json:"write_chunk_sizes"`
			Read  [][]int64 `json:"read_chunk_sizes"`
		}
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for name, c := range manifest.Cases {
		document, err := fs.ReadFile(archive, name+".zarr/zarr.json")
		if err != nil || !strings.Contains(string(document), "sharding_indexed") {
			continue
		}
		node := filepath.Join(t.TempDir(), name)
		overwrite(t, filepath.Join(node, "zarr.json"), string(document))
		out, _, status := execute(t, "", "info", "--json", node)
		facts := decode(t, out)
		if got := expandPairs(facts["write_chunk_sizes"]); !reflect.DeepEqual(got, c.Write) {
			t.Errorf("%s: write_chunk_sizes %v, want %v", name, got, c.Write)
		}
		if status != 0 { // a codec that is not there yet
			continue
		}
		seen++
		if got := expandPairs(facts["read_chunk_sizes"]); !reflect.DeepEqual(got, c.Read) {
			t.Errorf("%s: read_chunk_sizes %v, want %v", name, got, c.Read)
		}
	}
	if seen < 9 {
		t.Errorf("%d sharded arrays", seen)
	}
}

// expandPairs returns all sizes of the runs in JSON.
func expandPairs(v any) [][]int64 {
	var axes [][]int64
	list, _ := v.([]any)
	for _, axis := range list {
		sizes := []int64{}
		for _, run := range axis.([]any) {
			pair := run.([]any)
			for range int(pair[1].(float64)) {
				sizes = append(sizes, int64(pair[0].(float64)))
			}
		}
		axes = append(axes, sizes)
	}
	return axes
}
