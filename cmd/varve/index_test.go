// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
)

// TestSelections reads and writes by selections of every kind.
func TestSelections(t *testing.T) {
	mask := npyFile(t, npy.Header{Type: dtype.Bool, Shape: []int64{3, 4}, Fortran: true}, []byte{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0})
	node := newNode(t, "--shape", "3,4", "--dtype", "int16", "--chunks", "[[1,2],2]", "--dimension-names", "y,x")
	must(t, "[[0,1,2,3],[10,11,12,13],[20,21,22,23]]", "write", node, "--format", "json")
	selections := []struct{ sel, want string }{
		{"::-1,::-2", "[[23,21],[13,11],[3,1]]"},
		{"x=-1", "[3,13,23]"},
		{`{"basic": "y=1, x=::-1"}`, "[13,12,11,10]"},
		{`{"orthogonal": [[2,0,2], "1:3"]}`, "[[21,22],[1,2],[21,22]]"},
		{`{"orthogonal": [[true,false,true], 1]}`, "[1,21]"},
		{`{"orthogonal": {"x": [3,0]}}`, "[[3,0],[13,10],[23,20]]"},
		{`{"points": [[0,1,2],[3,0,-1]]}`, "[3,10,23]"},
		{`{"points": [[[0],[2]],[0,1]]}`, "[[0,1],[20,21]]"},
		{`{"blocks": ["1", "0"]}`, "[[10,11],[20,21]]"},
		{`{"mask": "` + mask + `"}`, "[0,13,21]"},
	}
	for _, c := range selections {
		if got := must(t, "", "export", node, "--format", "json", "--select", c.sel); got != c.want+"\n" {
			t.Errorf("%s: %swant %s", c.sel, got, c.want)
		}
		if got := must(t, "", "cat", node, "--json", "--select", c.sel); !strings.Contains(phrase.Compact([]byte(got)), `"values":`+c.want) {
			t.Errorf("%s: cat is %s", c.sel, got)
		}
		text := must(t, "", "cat", node, "--select", c.sel)
		if got, want := strings.Join(strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(text)), ","), strings.NewReplacer("[", "", "]", "").Replace(c.want); got != want {
			t.Errorf("%s: cat is %s", c.sel, text)
		}
		other := newNode(t, "--shape", "3,4", "--dtype", "int16", "--chunks", "[[1,2],2]", "--fill", "-1", "--dimension-names", "y,x")
		must(t, c.want, "write", other, "--format", "json", "--select", c.sel)
		if got := must(t, "", "export", other, "--format", "json", "--select", c.sel); got != c.want+"\n" {
			t.Errorf("%s: what was written is %s", c.sel, got)
		}
		must(t, "", "write", other, "--value", "7", "--select", c.sel)
		if got := must(t, "", "export", other, "--format", "csv"); strings.Contains(got, "2") || !strings.Contains(got, "-1") && c.sel != "::-1,::-2" {
			t.Errorf("%s: filled, %s", c.sel, got)
		}
	}
}

// TestFields reads and writes fields of structs.
func TestFields(t *testing.T) {
	node := newNode(t, "--shape", "3", "--dtype", `[["a","<i4"],["b","<f8"],["c","U2"]]`)
	must(t, "[1,2,3]", "write", node, "--format", "json", "--select", `{"fields": ["a"]}`)
	must(t, `[{"c":"x","b":0.5}]`, "write", node, "--format", "json", "--select", `{"fields": ["c","b"], "basic": "1:2"}`)
	if got := must(t, "", "export", node, "--format", "csv"); got != "a,b,c\n1,0,\"\"\n2,0.5,x\n3,0,\"\"\n" {
		t.Errorf("%q", got)
	}
	if got := must(t, "", "export", node, "--format", "csv", "--select", `{"fields": ["c","a"], "basic": "::-1"}`); got != "c,a\n\"\",3\nx,2\n\"\",1\n" {
		t.Errorf("%q", got)
	}
	if got := must(t, "", "export", node, "--select", `{"fields": ["a"], "basic": "1"}`); got != "\x02\x00\x00\x00" {
		t.Errorf("%q", got)
	}
}

// TestMaskThatDoesNotFit checks that the message names the wrong file.
func TestMaskThatDoesNotFit(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", "int8")
	for _, file := range []string{
		npyFile(t, npy.Header{Type: dtype.Int8, Shape: []int64{2}}, make([]byte, 2)),
		npyFile(t, npy.Header{Type: dtype.Bool, Shape: []int64{2}}, make([]byte, 3)),
		npyFile(t, npy.Header{Type: dtype.Bool, Shape: []int64{1 << 40, 1 << 22}}, make([]byte, 3)),
		npyFile(t, npy.Header{Type: dtype.Bool, Shape: []int64{3}}, make([]byte, 3)),
	} {
		_, errs, status := execute(t, "", "cat", node, "--select", `{"mask": "`+file+`"}`)
		if status != 1 || !strings.Contains(errs, "mask") {
			t.Errorf("status %d, %s", status, errs)
		}
	}
}
