// SPDX-License-Identifier: Apache-2.0

package ragged

import (
	"context"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
)

// Compact merges neighbouring blocks of rows, as long as a merged one has at most upTo
// rows. Longer blocks stay. All arrays are rechunked in one transaction, while others
// read and append; see package rechunk.
func (s *Set) Compact(ctx context.Context, upTo int64, opt *rechunk.Options) error {
	if err := s.Refresh(ctx); err != nil {
		return err
	}
	var rows, elements, perRow []grid.Run
	if s.layout.lead() > 0 {
		rows = append(rows, grid.Run{Length: s.layout.lead(), Count: 1})
	}
	for _, b := range merged(s.blocks(), upTo) {
		n := b[1] - b[0]
		rows, perRow = append(rows, grid.Run{Length: n, Count: 1}), append(perRow, grid.Run{Length: n, Count: 1})
		// Rows without elements have no chunk of them.
		if n := s.offsets[b[1]] - s.offsets[b[0]]; n > 0 {
			elements = append(elements, grid.Run{Length: n, Count: 1})
		}
	}
	var parts []rechunk.Part
	add := func(a *zarr.Array, edges []grid.Run) {
		if a.Grid().Axis(0).Chunks() > int64(len(edges)) {
			parts = append(parts, rechunk.Part{Array: a, Request: rechunk.Compaction{Edges: edges}})
		}
	}
	add(s.rows, rows)
	for _, a := range s.perRow {
		add(a, perRow)
	}
	for _, a := range s.elements {
		add(a, elements)
	}
	if len(parts) == 0 {
		return nil
	}
	if _, err := rechunk.DoAll(ctx, parts, opt); err != nil {
		return err
	}
	return s.Refresh(ctx)
}

// merged merges neighbouring blocks of at most upTo rows together.
func merged(blocks [][2]int64, upTo int64) (list [][2]int64) {
	for _, b := range blocks {
		if n := len(list); n > 0 && b[1]-list[n-1][0] <= upTo {
			list[n-1][1] = b[1]
			continue
		}
		list = append(list, b)
	}
	return list
}
