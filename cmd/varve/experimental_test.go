// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

const encodedGrid = `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[[4,2],3,4]],"encoded_chunk_shapes":[4]}}`

// TestExperimental runs commands on an array whose chunks are stored longer than their
// edges, with and without permission.
func TestExperimental(t *testing.T) {
	permit := []string{"--experimental", "encoded-shapes"}
	group := filepath.Join(t.TempDir(), "g.zarr")
	node := group + "/a"
	allowed := func(stdin string, args ...string) string {
		t.Helper()
		return must(t, stdin, append(args, permit...)...)
	}
	allowed("", "create", node, "--shape", "15", "--dtype", "int16", "--chunks", encodedGrid, "--dimension-names", "x")
	allowed(numbers(0, 15), "write", node, "--format", "json")
	allowed(numbers(15, 2), "append", node, "--format", "json")
	allowed(numbers(17, 1), "append", group, "a=-", "--format", "json")
	allowed("", "attrs", node, "set", "k", "1")
	if got := allowed("", "export", node, "--format", "json"); got != numbers(0, 18)+"\n" {
		t.Error(got)
	}
	if got, want := allowed("", "grid", node, "--chunk", "2", "--json"), `"encoded_shape": [4]`; !strings.Contains(got, want) {
		t.Error(got)
	}
	if got, want := allowed("", "info", node, "--json"), `"encoded_chunk_shapes": [4]`; !strings.Contains(got, want) {
		t.Error(got)
	}
	if got := allowed("", "tree", group); !strings.Contains(got, "chunks 4×2, 3, 4, 2, 1") {
		t.Error(got)
	}
	allowed("", "equal", node, node)
	allowed("", "resize", node, "--shape", "9", "--yes")
	// Without it the flag that is missing is named.
	for _, args := range [][]string{
		{"create", group + "/b", "--shape", "15", "--dtype", "int8", "--chunks", encodedGrid},
		{"grid", "--shape", "15", "--chunk-grid", encodedGrid}, {"grid", node}, {"info", node}, {"append", node}, {"export", node}, {"resize", node, "--shape", "3"},
	} {
		_, errs, status := execute(t, "", append(args, "--json")...)
		facts, _ := decode(t, errs)["error"].(map[string]any)
		if status != 1 || facts["kind"] != "unsupported" || !strings.Contains(errs, "--experimental encoded-shapes") {
			t.Errorf("%q: status %d, %s", args, status, errs)
		}
	}
	allowed("", "rm", node, "--yes")
}

// TestExperimentalCoordinate reads a time coordinate with such chunks.
func TestExperimentalCoordinate(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	permit := []string{"--experimental", "encoded-shapes"}
	chunks := `{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[6,4]],"encoded_chunk_shapes":[6]}}`
	must(t, "", append([]string{"create", group + "/time", "--shape", "10", "--dtype", "int32", "--attributes", sinceLeapYear, "--chunks", chunks}, permit...)...)
	must(t, numbers(5, 10), append([]string{"write", group + "/time", "--format", "json"}, permit...)...)
	args := []string{"create", group + "/t2m", "--shape", "10", "--dtype", "int8", "--chunks", "calendar:month", "--time", "time"}
	if _, errs, status := execute(t, "", args...); status != 1 || !strings.Contains(errs, "--experimental") {
		t.Errorf("status %d, %s", status, errs)
	}
	must(t, "", append(args, permit...)...)
	if got := chunkShapes(t, group+"/t2m"); got != "[[5,31]]" {
		t.Error(got)
	}
}

// TestExperimentalTwice permits two things at once, in one flag and in two.
func TestExperimentalTwice(t *testing.T) {
	for _, permit := range [][]string{
		{"--experimental", "encoded-shapes,inner-chunks"}, {"--experimental", "encoded-shapes", "--experimental", "inner-chunks"},
		{"--experimental", "inner-chunks, encoded-shapes", "--experimental", "inner-chunks"},
	} {
		node := filepath.Join(t.TempDir(), "a")
		must(t, "", append([]string{"create", node, "--shape", "15", "--dtype", "int16", "--shards", encodedGrid, "--chunks", "3"}, permit...)...)
		must(t, numbers(0, 15), append([]string{"write", node, "--format", "json"}, permit...)...)
		if got := must(t, "", append([]string{"export", node, "--format", "json"}, permit...)...); got != numbers(0, 15)+"\n" {
			t.Error(got)
		}
	}
	node := newNode(t, "--shape", "15", "--dtype", "int16", "--shards", "10", "--chunks", "4", "--experimental", "inner-chunks")
	for _, permit := range []string{"", "encoded-shapes"} {
		if _, errs, status := execute(t, "", "export", node, "--experimental", permit); status != 1 || !strings.Contains(errs, "--experimental inner-chunks") {
			t.Errorf("%q: status %d, %s", permit, status, errs)
		}
	}
}

func TestCreateFromGrid(t *testing.T) {
	for _, c := range []struct{ chunks, want string }{
		{`{"name":"regular","configuration":{"chunk_shape":[4]}}`, `regular {"chunk_shape":[4]}`},
		{`{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[4]}}`, `rectilinear {"kind":"inline","chunk_shapes":[4]}`},
		{` {"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[4,4,4,4]]}}`, `rectilinear {"kind":"inline","chunk_shapes":[[[4,4]]]}`},
		{`{"name":"zarrs.regular_bounded","configuration":{"chunk_shape":[4]}}`, `zarrs.regular_bounded {"chunk_shape":[4]}`},
		{`{"type":"rectangular","chunk_shape":[[4,6]]}`, `rectilinear {"kind":"inline","chunk_shapes":[[4,6]]}`},
	} {
		node := newNode(t, "--shape", "10", "--dtype", "int8", "--chunks", c.chunks)
		g, _ := decode(t, must(t, "", "info", node, "--json"))["chunk_grid"].(map[string]any)
		want := decode(t, c.want[strings.IndexByte(c.want, ' '):])
		if got := g["configuration"]; !strings.HasPrefix(c.want, fmt.Sprint(g["name"], " ")) || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v", c.chunks, g)
		}
	}
	for chunks, kind := range map[string]string{
		`{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[4,5]]}}`: "invalid-argument",
		`{"name":"regular","configuration":{"chunk_shape":[4,4]}}`:                        "invalid-argument",
		`{"name":"hexagonal","configuration":{}}`:                                         "unsupported",
	} {
		_, errs, status := execute(t, "", "create", filepath.Join(t.TempDir(), "a"), "--shape", "10", "--dtype", "int8", "--chunks", chunks, "--json")
		if facts, _ := decode(t, errs)["error"].(map[string]any); status != 1 || facts["kind"] != kind {
			t.Errorf("%s: status %d, %s", chunks, status, errs)
		}
	}
}
