// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fieldAt makes a group with a field of two times and three latitudes, and coordinates.
// It returns the location of the field.
func fieldAt(t *testing.T, dir, name, latitude, dimensions string) string {
	t.Helper()
	group := filepath.Join(dir, name)
	must(t, "", "create", group, "--group")
	must(t, "", "create", group+"/lat", "--shape", "3", "--dtype", "float64", "--dimension-names", "lat", "--attributes", `{"units": "degrees_north"}`)
	must(t, latitude, "write", group+"/lat", "--format", "json")
	shape := "2,3"
	if strings.HasPrefix(dimensions, "lat") {
		shape = "3,3"
	}
	must(t, "", "create", group+"/v", "--shape", shape, "--dtype", "int32", "--dimension-names", dimensions)
	return group + "/v"
}

// TestForeignAxes stores arrays whose axes have other names or coordinates. Nothing of
// them is stored.
func TestForeignAxes(t *testing.T) {
	dir := t.TempDir()
	to := fieldAt(t, dir, "to", "[10, 20, 30]", "time,lat")
	same := fieldAt(t, dir, "same", "[10, 20, 30]", "time,lat")
	reversed := fieldAt(t, dir, "reversed", "[30, 20, 10]", "time,lat")
	transposed := fieldAt(t, dir, "transposed", "[10, 20, 30]", "lat,time")
	group := filepath.Dir(to)
	for _, command := range [][]string{
		{"append", to, "FROM"},
		{"append", group, "v=FROM"},
		{"append", to, same, "FROM"},
		{"append", to, "FROM", "--axis", "time"},
		{"insert", to, "--at", "1", "FROM", "--unlock"},
		{"insert", group, "--axis", "time", "--at", "0", "v=FROM", "--unlock"},
		{"stitch", to, "FROM"},
		{"write", to, "--select", "0:2", "FROM"},
	} {
		for from, want := range map[string]string{
			reversed:   "element 0 of the coordinate lat is 30.0 there and 10.0 here",
			transposed: `axis "lat" there and "time" here`,
		} {
			if command[0] == "write" && from == transposed {
				continue // its shape does not fit
			}
			before := contents(t, group)
			_, errs, status := execute(t, "", replaced(command, from)...)
			if status != 1 || !strings.Contains(errs, want) {
				t.Errorf("%q: status %d, %s, want %q", replaced(command, from), status, errs, want)
			}
			after := contents(t, group)
			for name, text := range before {
				if after[name] != text {
					t.Errorf("%q: %s has changed", replaced(command, from), name)
				}
			}
		}
		if command[0] != "stitch" { // it needs elements of equal length, which insert has changed
			must(t, "", replaced(command, same)...)
		}
	}
	// A file of bare numbers has no axes.
	file := filepath.Join(dir, "bare.npy")
	must(t, "", "export", reversed, "-o", file)
	must(t, "", "append", to, file)
}

// replaced returns a command with a source.
func replaced(command []string, from string) []string {
	list := make([]string, len(command))
	for i, word := range command {
		list[i] = strings.Replace(word, "FROM", from, 1)
	}
	return list
}

// TestAxesOfPlanes appends single planes, which lack the axis that grows, and text.
func TestAxesOfPlanes(t *testing.T) {
	dir := t.TempDir()
	to := fieldAt(t, dir, "to", "[10, 20, 30]", "time,lat")
	for name, latitude := range map[string]string{"same": "[10, 20, 30]", "reversed": "[30, 20, 10]"} {
		plane := filepath.Join(filepath.Dir(fieldAt(t, dir, name, latitude, "time,lat")), "plane")
		must(t, "", "create", plane, "--shape", "3", "--dtype", "int32", "--dimension-names", "lat")
		for _, args := range [][]string{{"append", to, plane}, {"write", to, plane, "--select", "0"}} {
			if _, errs, status := execute(t, "", args...); (status == 0) != (name == "same") {
				t.Errorf("%q: status %d, %s", args, status, errs)
			}
		}
	}
	for name, dimensions := range map[string]string{"words": "time,lat", "like": "time,lat", "unlike": "time,lon"} {
		must(t, "", "create", filepath.Join(dir, name), "--shape", "2,3", "--dtype", "string", "--dimension-names", dimensions)
	}
	must(t, "", "append", filepath.Join(dir, "words"), filepath.Join(dir, "like"))
	if _, errs, status := execute(t, "", "append", filepath.Join(dir, "words"), filepath.Join(dir, "unlike")); status != 1 || !strings.Contains(errs, `"lon" there and "lat" here`) {
		t.Errorf("status %d, %s", status, errs)
	}
	// A coordinate is written with other values than it has.
	source := filepath.Join(dir, "reversed", "lat")
	must(t, "", "write", filepath.Join(dir, "to", "lat"), source)
	if err := os.RemoveAll(source); err != nil {
		t.Fatal(err)
	}
}

// TestForeignStatements appends arrays whose attributes say something else about their
// elements. What only one of them says is not compared.
func TestForeignStatements(t *testing.T) {
	dir := t.TempDir()
	create := func(name, attributes string) string {
		node := filepath.Join(dir, name)
		must(t, "", "create", node, "--shape", "2", "--dtype", "uint8", "--attributes", attributes)
		return node
	}
	to := create("to", `{"flag_values": [0, 1], "flag_meanings": "land sea", "ModelTiepoint": [0, 0, 0, 5, 50, 0], "standard_name": "status", "valid_range": [0, 3]}`)
	for attributes, want := range map[string]string{
		`{"flag_values": [0, 1.0], "flag_meanings": "land sea", "history": "other"}`: "",
		`{}`: "",
		`{"flag_values": [0, 1], "flag_meanings": "sea land"}`: "flag_meanings is",
		`{"ModelTiepoint": [0, 0, 0, 6, 50, 0]}`:               "ModelTiepoint is",
		`{"standard_name": "quality"}`:                         "standard_name is",
		`{"valid_range": [0, 3.0]}`:                            "",
		`{"valid_range": [0, 200]}`:                            "valid_range is [0,200] there and [0,3] here",
	} {
		from := create("from", attributes)
		_, errs, status := execute(t, "", "append", to, from)
		if (status == 0) != (want == "") || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s", attributes, status, errs)
		}
		must(t, "", "rm", from, "--yes")
	}
}
