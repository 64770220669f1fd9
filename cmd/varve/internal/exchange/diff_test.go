// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestRangeOf finds the range of indices, also of several ranks.
func TestRangeOf(t *testing.T) {
	for _, c := range []struct {
		indices [][]uint32
		want    [][2]uint32
	}{
		{nil, [][2]uint32{}},
		{[][]uint32{{}}, [][2]uint32{}},
		{[][]uint32{{3, 1}, {2, 5}}, [][2]uint32{{2, 4}, {1, 6}}},
		{[][]uint32{{3}, {2, 5}}, [][2]uint32{{2, 4}, {5, 6}}},
	} {
		if got := rangeOf(c.indices); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.indices, got, c.want)
		}
	}
}

// TestTexts shows the members of objects one by one, and cuts long lists between numbers.
func TestTexts(t *testing.T) {
	edges := func(n int) string {
		text := "[1"
		for range n {
			text += ",31"
		}
		return text + "]"
	}
	grid := func(edges string) []byte {
		return []byte(`{"chunk_grid": {"name": "x", "configuration": {"chunk_shapes": ` + edges + `}}, "attributes": {"a": {"b": 1}}}`)
	}
	list := membersOf(grid("[31]"), grid("[31,28]"))
	if len(list) != 1 || list[0].Name != "chunk_grid.configuration.chunk_shapes" || string(list[0].B) != "[31,28]" {
		t.Errorf("%+v", list)
	}
	list = membersOf([]byte(`{"attributes": {"a": {"b": 1}}}`), []byte(`{"attributes": {"a": {"b": 2}}}`))
	if len(list) != 1 || list[0].Name != "attributes.a" {
		t.Errorf("%+v", list)
	}
	was, is := texts(json.RawMessage(edges(30)), json.RawMessage(edges(31)))
	if was != "…31,31,31,31,31]" || is != "…31,31,31,31,31,31]" {
		t.Errorf("%s, now %s", was, is)
	}
}
