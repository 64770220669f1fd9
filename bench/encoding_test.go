// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
)

// TestMixtures checks that the values of a box are those of its parts, and that grids cut
// by content have edges where the character changes, and about as many chunks.
func TestMixtures(t *testing.T) {
	for _, f := range mixtures {
		begin, end := make([]int64, len(f.shape)), make([]int64, len(f.shape))
		for k, n := range f.shape {
			begin[k], end[k] = n/2+10, n/2+13
		}
		size := int64(f.dtype.Size())
		whole, part := make([]byte, size*pow(3, len(begin))), make([]byte, size*pow(3, len(begin)-1))
		f.values(begin, end, whole)
		last := slices.Clone(begin)
		last[0] += 2
		f.values(last, end, part)
		if !bytes.HasSuffix(whole, part) || bytes.Equal(whole, make([]byte, len(whole))) {
			t.Errorf("%s: the values of a box are not those of its parts", f.name)
		}
		for _, edges := range f.grids {
			g, err := f.byContent(edges)
			if err != nil {
				t.Fatal(err)
			}
			for axis, known := range f.known {
				for _, at := range known {
					if index, within, err := g.Locate(elementAt(g, axis, at)); err != nil || within[axis] != 0 {
						t.Errorf("%s %v: no chunk begins at %d of axis %d but %v, %v", f.name, edges, at, axis, index, err)
					}
				}
			}
		}
	}
}

func pow(n int64, k int) int64 {
	all := int64(1)
	for range k {
		all *= n
	}
	return all
}

// elementAt is the place of an element with all other indices zero.
func elementAt(g *grid.Grid, axis int, at int64) []int64 {
	p := make([]int64, g.Rank())
	p[axis] = at
	return p
}

// TestCoded encodes the chunks at one end of a mixture. Each way counts their bytes.
func TestCoded(t *testing.T) {
	f := mixtures[2]
	f.shape = []int64{40, 256}
	f.known = [][]int64{{13}, nil}
	f.grids = [][]int64{{16, 128}, {40, 64}}
	c, err := f.compare(t.Context(), 1, topLevel)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range c.Results {
		if e.Bytes <= 0 || e.Bytes >= c.Elements || e.Chunks == 0 {
			t.Errorf("%s: %+v", c.Columns[i], e)
		}
	}
	var text strings.Builder
	(&encodings{Fields: []comparison{c}}).markdown(&text)
	for _, want := range append(c.Columns, "## Stations", "encoded bytes") {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q", want)
		}
	}
	chain, err := f.chain("shuffle", lowLevel, false)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := coded(t.Context(), nil, 1, func(int) *coding.Chain { return chain }); err != nil || e.Bytes != 0 {
		t.Errorf("no chunks: %+v, %v", e, err)
	}
}
