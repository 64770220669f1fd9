// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnlock(t *testing.T) {
	for _, c := range []struct {
		chunks string
		args   []string
		want   string
		text   string
	}{
		{"[4,5]", nil, "[[[4,3]],[[5,2]]]", "4×2, 2 | 5×2  (the last chunks reach beyond"},
		{"[4,5]", []string{"--axis", "0"}, "[[[4,3]],5]", "--trim cuts them"},
		{"[4,5]", []string{"--axis", "-1", "--axis", "0"}, "[[[4,3]],[[5,2]]]", ""},
		{"[4,5]", []string{"--axis", "0,1", "--trim"}, "[[4,4,2],[[5,2]]]", ""},
		{"[[4,6],5]", nil, "[[4,6],[[5,2]]]", ""},
		{"[[4,6],[10]]", nil, "[[4,6],[10]]", "(nothing to do)"},
	} {
		node := newNode(t, "--shape", "10,10", "--dtype", "int8", "--chunks", c.chunks)
		must(t, "", "write", node, "--value", "7")
		before := must(t, "", "export", node, "--format", "csv")
		if out := must(t, "", append([]string{"unlock", node}, c.args...)...); !strings.Contains(out, c.text) {
			t.Errorf("%s %q: %s", c.chunks, c.args, out)
		}
		if got := chunkShapes(t, node); expanded(t, got) != expanded(t, c.want) {
			t.Errorf("%s %q: got %s, want %s", c.chunks, c.args, got, c.want)
		}
		if got := must(t, "", "export", node, "--format", "csv"); got != before {
			t.Errorf("%s %q: %s", c.chunks, c.args, got)
		}
	}
}

// TestUnlockedGrows appends to an array whose last chunk reaches beyond the extent, and
// to one where it has been trimmed.
func TestUnlockedGrows(t *testing.T) {
	for _, c := range []struct{ trim, want string }{{"", "[[4,4,4,1]]"}, {"--trim", "[[4,4,2,3]]"}} {
		node := newNode(t, "--shape", "10", "--dtype", "int8", "--chunks", "[4]")
		must(t, numbers(0, 10), "write", node, "--format", "json")
		args := []string{"unlock", node, "--json"}
		if c.trim != "" {
			args = append(args, c.trim)
		}
		if out := decode(t, must(t, "", args...)); out["changed"] != true || out["path"] != node {
			t.Error(out)
		}
		must(t, numbers(10, 3), "append", node, "--format", "json")
		if got := chunkShapes(t, node); expanded(t, got) != c.want {
			t.Errorf("%q: %s", c.trim, got)
		}
		if got := must(t, "", "export", node, "--format", "json"); got != numbers(0, 13)+"\n" {
			t.Errorf("%q: %s", c.trim, got)
		}
	}
}

// TestUnlockVersion2 checks that arrays of format 2 are refused.
func TestUnlockVersion2(t *testing.T) {
	node := filepath.Join(t.TempDir(), "v2.zarr")
	overwrite(t, filepath.Join(node, ".zarray"), `{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "compressor": null, "fill_value": 0, "order": "C", "filters": null}`)
	_, errs, status := execute(t, "", "unlock", node, "--json")
	facts, _ := decode(t, errs)["error"].(map[string]any)
	if status != 1 || facts["kind"] != "unsupported" || !strings.Contains(errs, "varve convert") || facts["path"] != node {
		t.Errorf("status %d, %s", status, errs)
	}
	if entries, err := os.ReadDir(node); err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
}

// TestUnlockGroupTrims checks that no array of a group changes if one cannot be trimmed,
// because its shards would not consist of whole inner chunks.
func TestUnlockGroupTrims(t *testing.T) {
	group := newNode(t, "--group")
	must(t, "", "create", group+"/a", "--shape", "10", "--dtype", "int8", "--chunks", "4", "--dimension-names", "x")
	must(t, "", "create", group+"/b", "--shape", "10", "--dtype", "int8", "--shards", "8", "--chunks", "4", "--dimension-names", "x")
	before := treeOf(t, group)
	_, errs, status := execute(t, "", "unlock", group, "--trim")
	if status != 1 || !strings.Contains(errs, "unlock "+group+"/b: ") || !strings.Contains(errs, "without --trim") || treeOf(t, group) != before {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", "unlock", group)
	if got := chunkShapes(t, group+"/a"); expanded(t, got) != expanded(t, "[[[4,3]]]") {
		t.Errorf("the chunks are %s", got)
	}
}
