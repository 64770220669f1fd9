// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestPolicyFollowsTheGrid rechunks an array with a stored growth policy, and appends.
func TestPolicyFollowsTheGrid(t *testing.T) {
	edges := func(node string) string {
		return strings.Join(strings.Fields(must(t, "", "info", node, "--json")), "")
	}
	times := []string{"--start", "2024-01-01", "--step", "1d"}
	for _, c := range []struct {
		args  []string // of the command after the node
		note  string
		edges string // after an append of 40 days
	}{
		{[]string{"compact", "--to", "calendar:year"}, "", `"chunk_shapes":[[366,31,28]]`}, // months continue
		{[]string{"rechunk", "--chunks", "calendar:year"}, "is now calendar:year", `"chunk_shapes":[[366,365]]`},
		{[]string{"rechunk", "--chunks", "[[[61,6]]]"}, "is removed", `"chunk_shapes":[[[61,6],40]]`},
		{[]string{"regularize", "--chunks", "61"}, "is removed", `"chunk_shape":[61]`},
	} {
		node := newNode(t, append([]string{"--shape", "366", "--dtype", "int16", "--chunks", "calendar:month", "--grow", "calendar:month"}, times...)...)
		must(t, numbers(0, 366), "write", node, "--format", "json")
		args := append([]string{c.args[0], node}, c.args[1:]...)
		if strings.Contains(strings.Join(args, " "), "calendar") {
			args = append(args, times...)
		}
		_, stderr, status := execute(t, "", args...)
		if status != 0 || (c.note == "") != !strings.Contains(stderr, "varve:growth") || !strings.Contains(stderr, c.note) {
			t.Errorf("%v: %d %s", args, status, stderr)
			continue
		}
		must(t, numbers(0, 40), "append", node, "--format", "json")
		if is := edges(node); !strings.Contains(is, c.edges) {
			t.Errorf("%v: %s", args, is)
		}
	}
}
