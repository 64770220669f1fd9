package main

import (
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
	if out := must(t, "", "compact", node, "--shards", "--dry-run"); !strings.HasPrefix(out, node+"  2 shards, 1 to be put in order, nothing was changed: ") {
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
