// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// chunkShapes returns the chunks of an array as info prints them, without white space.
func chunkShapes(t *testing.T, node string) string {
	t.Helper()
	var facts struct {
		Grid struct {
			Configuration struct {
				Shapes json.RawMessage `json:"chunk_shapes"`
				Shape  json.RawMessage `json:"chunk_shape"`
			} `json:"configuration"`
		} `json:"chunk_grid"`
	}
	if err := json.Unmarshal([]byte(must(t, "", "info", "--json", node)), &facts); err != nil {
		t.Fatal(err)
	}
	if facts.Grid.Configuration.Shapes != nil {
		return phrase.Compact(facts.Grid.Configuration.Shapes)
	}
	return "every " + phrase.Compact(facts.Grid.Configuration.Shape)
}

// coordinateNode creates a time coordinate at a place and writes its values, JSON.
func coordinateNode(t *testing.T, node, length, units, values string) {
	t.Helper()
	attributes := `{"units": "` + units + `", "calendar": "proleptic_gregorian"}`
	must(t, "", "create", node, "--shape", length, "--dtype", "int32", "--chunks", "[["+length+"]]", "--attributes", attributes)
	must(t, values, "write", node, "--format", "json")
}

func TestResizePolicies(t *testing.T) {
	for _, c := range []struct {
		name, chunks, shape string
		args                []string
		want                string
	}{
		{"append one", "[[4,6],5]", "20,10", nil, "[[4,6,10],5]"},
		{"repeat last", "[[4,6],5]", "20,10", []string{"--grow", "repeat-last"}, "[[4,[6,3]],5]"},
		{"fixed", "[[4,6],5]", "20,10", []string{"--grow", "fixed:4"}, "[[4,6,[4,3]],5]"},
		{"fixed on both", "[[4,6],[5,5]]", "14,14", []string{"--grow", "fixed:4"}, "[[4,6,4],[5,5,4]]"},
		{"pattern", "[[4,6],5]", "20,10", []string{"--grow", "pattern:1,2,3"}, "[[4,6,1,2,3,1,2,3],5]"},
		{"preplanned", "[[4,6],5]", "12,10", []string{"--grow", "preplanned:[[2,10]]"}, "[[4,6,[2,10]],5]"},
		{"months", "[[4,6],5]", "70,12", []string{"--grow", "calendar:month", "--start", "2024-01-22", "--step", "1d"}, "[[4,6,29,31],5]"},
		{"months of a model", "[[4,6],5]", "70,12", []string{"--grow", "calendar:month", "--start", "2024-01-22", "--step", "1d", "--calendar", "noleap"}, "[[4,6,28,31,30],5]"},
		{"years", "[[4,6],[5,5]]", "12,12", []string{"--grow", "calendar:year", "--start", "2014-06-15", "--step", "1y"}, "[[4,6,1,1],[5,5,2]]"},
		{"keep", "[[4,6],5]", "3,10", nil, "[[4,6],5]"},
		{"trim edges", "[[4,6],5]", "3,10", []string{"--shrink", "trim-edges"}, "[[4],5]"},
		{"trim exact", "[[4,6],5]", "3,10", []string{"--shrink", "trim-exact"}, "[[3],5]"},
		{"shrink and grow", "[[4,6],[5,5]]", "4,14", []string{"--shrink", "trim-edges", "--grow", "repeat-last"}, "[[4],[5,5,5]]"},
	} {
		node := newNode(t, "--shape", "10,10", "--dtype", "int8", "--chunks", c.chunks)
		out := decode(t, must(t, "", append([]string{"resize", "--json", "--yes", node, "--shape", c.shape}, c.args...)...))
		before, _ := json.Marshal(out["shape_before"])
		after, _ := json.Marshal(out["shape"])
		if string(before) != "[10,10]" || string(after) != "["+c.shape+"]" || out["path"] != node {
			t.Errorf("%s: %v", c.name, out)
		}
		if got := chunkShapes(t, node); expanded(t, got) != expanded(t, c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// expanded writes out the runs of a list of chunk shapes.
func expanded(t *testing.T, shapes string) string {
	t.Helper()
	var axes []any
	if err := json.Unmarshal([]byte(shapes), &axes); err != nil {
		t.Fatalf("%v in %q", err, shapes)
	}
	for i, axis := range axes {
		list, isList := axis.([]any)
		if !isList {
			continue
		}
		var all []any
		for _, e := range list {
			if run, isRun := e.([]any); isRun {
				for range int(run[1].(float64)) {
					all = append(all, run[0])
				}
				continue
			}
			all = append(all, e)
		}
		axes[i] = all
	}
	text, err := json.Marshal(axes)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestResizeTidiesWhatStays(t *testing.T) {
	node := newNode(t, "--shape", "10", "--dtype", "int8", "--chunks", "[[4,6,5]]")
	must(t, "[1,2,3,4,5,6,7,8,9,10]", "write", node, "--format", "json")
	must(t, "", "resize", "--yes", node, "--shape", "10", "--shrink", "trim-edges")
	if got := chunkShapes(t, node); got != "[[4,6]]" {
		t.Error(got)
	}
	must(t, "", "resize", "--yes", node, "--shape", "7", "--shrink", "trim-exact")
	if got := chunkShapes(t, node); got != "[[4,3]]" {
		t.Error(got)
	}
	if got := must(t, "", "export", node, "--format", "json"); got != "[1,2,3,4,5,6,7]\n" {
		t.Error(got)
	}
}

// TestResizeForgets shrinks an array and grows it again, with and without --keep-stale.
func TestResizeForgets(t *testing.T) {
	for flag, want := range map[string]string{"": "[1,2,3,0]\n", "--keep-stale": "[1,2,3,4]\n"} {
		node := newNode(t, "--shape", "4", "--dtype", "int8", "--chunks", "[[4]]")
		must(t, "[1,2,3,4]", "write", node, "--format", "json")
		for _, shape := range []string{"3", "4"} {
			args := []string{"resize", "--yes", node, "--shape", shape}
			if flag != "" {
				args = append(args, flag)
			}
			must(t, "", args...)
		}
		if got := must(t, "", "export", node, "--format", "json"); got != want {
			t.Errorf("%q: %s", flag, got)
		}
	}
}

// TestResizeExpects repeats a change with --expect.
func TestResizeExpects(t *testing.T) {
	node := newNode(t, "--shape", "4", "--dtype", "int8", "--chunks", "[[4]]")
	args := []string{"resize", node, "--shape", "6", "--expect", "4", "--json"}
	must(t, "", args...)
	_, errs, status := execute(t, "", args...)
	facts, _ := decode(t, errs)["error"].(map[string]any)
	if status != 1 || facts["kind"] != "conflict" || !strings.Contains(errs, "[6]") || !strings.Contains(errs, "[4]") {
		t.Errorf("status %d, %s", status, errs)
	}
}
