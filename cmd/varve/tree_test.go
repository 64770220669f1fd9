// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/internal/strictjson"
)

// TestTreeJSON checks the shape, type and chunks of every array.
func TestTreeJSON(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	must(t, "", "create", group, "--group")
	for name, args := range map[string][]string{
		"a": {"--shape", "10,4", "--dtype", "int16", "--chunks", "[[4,6],2]", "--dimension-names", "time,"},
		"b": {"--shape", "", "--dtype", "float32"},
		"c": {"--shape", "10", "--dtype", "M8[s]", "--shards", "6", "--chunks", "3"},
		"d": {"--shape", "10", "--dtype", "int8", "--chunks", "4"},
	} {
		must(t, "", append([]string{"create", "--json", group + "/deep/" + name}, args...)...)
	}
	if text := must(t, "", "tree", "--json", group); text != string(strictjson.AppendIndent(nil, []byte(text)))+"\n" {
		t.Errorf("it is laid out as\n%s", text)
	}
	for _, command := range []string{"tree", "ls"} {
		at := map[string]string{"tree": group, "ls": group + "/deep"}[command]
		facts := decode(t, must(t, "", command, "--json", at))
		if command == "tree" {
			if _, ok := facts["shape"]; ok || facts["kind"] != "group" {
				t.Errorf("a group has %v", facts)
			}
			facts = facts["members"].([]any)[0].(map[string]any)
		}
		for i, want := range []string{
			`{"chunks":[[4,6],2],"data_type":"int16","dimension_names":["time",null],"kind":"array","members":[],"name":"a","shape":[10,4]}`,
			`{"chunks":[],"data_type":"float32","dimension_names":null,"kind":"array","members":[],"name":"b","shape":[]}`,
			`{"chunks":[3],"data_type":{"configuration":{"scale_factor":1,"unit":"s"},"name":"numpy.datetime64"},"dimension_names":null,"kind":"array","members":[],"name":"c","shape":[10],"shards":[6]}`,
			`{"chunks":[4],"data_type":"int8","dimension_names":null,"kind":"array","members":[],"name":"d","shape":[10]}`,
		} {
			if got := string(output.Text(facts["members"].([]any)[i])); got != want {
				t.Errorf("%s: got %s, want %s", command, got, want)
			}
		}
	}
}
