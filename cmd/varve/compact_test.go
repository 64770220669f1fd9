// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
)

// untidy returns an array of two shards, of which the first has dead bytes.
func untidy(t *testing.T) string {
	t.Helper()
	node := newNode(t, "--shape", "12,4", "--dtype", "int16", "--shards", "[6,4]", "--chunks", "2", "--compressor", "none")
	must(t, numbers(0, 48), "write", node, "--format", "json")
	a, err := zarr.OpenArray(t.Context(), node, &zarr.Options{Write: true, Shards: zarr.Shards{Strategy: codec.Append}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	data, err := a.Inner().ReadChunk(t.Context(), []int64{1, 1})
	if err == nil {
		data[0]++
		err = a.Inner().WriteChunk(t.Context(), []int64{1, 1}, data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func TestCompactShards(t *testing.T) {
	node := untidy(t)
	values := must(t, "", "export", node)
	size := func() float64 {
		return decode(t, must(t, "", "info", "--stats", "--json", node))["bytes_stored"].(float64)
	}
	before := size()
	dry := decode(t, must(t, "", "compact", node, "--shards", "--dry-run", "--json"))
	if dry["path"] != node || dry["dry_run"] != true || dry["shards"] != 2.0 || dry["changed"] != 1.0 || dry["bytes_before"] != before || size() != before {
		t.Errorf("%v, %g bytes", dry, before)
	}
	if out := must(t, "", "compact", node, "--shards", "--dry-run"); !strings.HasPrefix(out, node+"  2 shards, 1 to put in order, nothing was changed: ") {
		t.Error(out)
	}
	if out := must(t, "", "compact", node, "--shards"); !strings.HasPrefix(out, node+"  2 shards, 1 put in order: ") || !strings.Contains(out, " → ") {
		t.Error(out)
	}
	if after := size(); after >= before || after != dry["bytes_after"] {
		t.Errorf("%g bytes before, %g after, %v were announced", before, after, dry["bytes_after"])
	}
	again := decode(t, must(t, "", "compact", node, "--shards", "--json"))
	if again["changed"] != 0.0 || again["dry_run"] != false || again["bytes_after"] != size() {
		t.Error(again)
	}
	if got := must(t, "", "export", node); got != values {
		t.Error("the values are others")
	}
}

// TestCompactDamaged puts the sound shards in order and names the damaged one.
func TestCompactDamaged(t *testing.T) {
	node := untidy(t)
	bad := filepath.Join(node, "c", "1", "0")
	data, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, bad, string(data[:len(data)-3]))
	out, errs, status := execute(t, "", "compact", node, "--shards", "--json")
	facts, _ := decode(t, errs)["error"].(map[string]any)
	if kind := facts["kind"]; status != 1 || kind != "corrupt" && kind != "checksum" || facts["key"] != "c/1/0" {
		t.Errorf("status %d, %s", status, errs)
	}
	if got := decode(t, out); got["shards"] != 1.0 || got["changed"] != 1.0 {
		t.Error(got)
	}
}

// TestCompactLeavesDamage checks that shards with a wrong index are not changed, and are
// named.
func TestCompactLeavesDamage(t *testing.T) {
	for name, entries := range map[string][]uint64{
		"no bytes, and bytes of several": {0, 1, 0, 0, 2, 0, 1, 1},
		"no bytes":                       {0, 1, 1, 0, 2, 1, 3, 1},
		"bytes of several":               {0, 1, 0, 1, 2, 1, 3, 1},
		"too many bytes":                 {0, 2, 2, 1, 3, 1, absentEntry, absentEntry},
		"outside":                        {0, 1, 1, 1, 2, 1, 4, 1},
	} {
		t.Run(name, func(t *testing.T) {
			node := newNode(t, "--shape", "4", "--dtype", "int8", "--shards", "4", "--chunks", "1", "--compressor", "none")
			must(t, "[65,66,67,68]", "write", node, "--format", "json")
			path := filepath.Join(node, "c", "0")
			index := []byte("ABCD")
			for _, n := range entries {
				index = binary.LittleEndian.AppendUint64(index, n)
			}
			index = binary.LittleEndian.AppendUint32(index, crc32.Checksum(index[4:], crc32.MakeTable(crc32.Castagnoli)))
			overwrite(t, path, string(index))
			for _, more := range [][]string{{"--dry-run"}, nil} {
				out, errs, status := execute(t, "", append([]string{"compact", node, "--shards"}, more...)...)
				if status != 1 || !strings.Contains(errs, "c/0") || !strings.Contains(out, "0 shards") {
					t.Errorf("status %d: %s%s", status, out, errs)
				}
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(index) {
				t.Errorf("the shard was changed (%v)", err)
			}
		})
	}
}

// absentEntry is the index entry of an inner chunk that is not stored.
const absentEntry = 1<<64 - 1

// TestShardsAlone gives --shards with flags that are about merging. They would be
// ignored, and a plan that is asked for must change nothing.
func TestShardsAlone(t *testing.T) {
	node := newNode(t, "--shape", "12", "--dtype", "int16", "--shards", "6", "--chunks", "2")
	before := treeOf(t, node)
	for _, args := range [][]string{{"--plan", filepath.Join(t.TempDir(), "p.json")}, {"--leave-tail", "1"}, {"--memory", "1GiB"}} {
		if _, errs, status := execute(t, "", append([]string{"compact", node, "--shards"}, args...)...); status != 2 || !strings.Contains(errs, args[0]) {
			t.Errorf("%s: status %d, %s", args, status, errs)
		}
	}
	if treeOf(t, node) != before {
		t.Error("something was changed")
	}
}
