// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store/memstore"
)

// face is the chunks of an array with one index along the axis that grows, which are to
// be copied without their padding.
type face struct {
	first            int64 // the number of the first chunk
	encoded, logical int64 // elements of the chunks along the axis, with padding and without
}

// errUncopied means that a manifest cannot be stored yet.
var errUncopied = errors.New("chunks with padding are to be copied first (Collector.CopyPadded)")

// checkCopied returns an error if chunks are still to be copied.
func (m *Manifest) checkCopied() error {
	for _, a := range m.Arrays {
		if len(a.faces) > 0 {
			return fmt.Errorf("%q: %w", a.Path, errUncopied)
		}
	}
	return nil
}

// Padded returns how many chunks [Collector.CopyPadded] has to copy, and their encoded
// bytes with the padding.
func (m *Manifest) Padded() (chunks, bytes int64) {
	for _, a := range m.Arrays {
		for number := range a.padded() {
			chunks++
			bytes += int64(len(a.inline[number])) + int64(a.refs.at(int(number-a.stored())).length)
		}
	}
	return chunks, bytes
}

// padded yields the numbers of the stored chunks of the faces, and their places in
// the order of all chunks of the faces.
func (a *Array) padded() func(yield func(number, place int64) bool) {
	return func(yield func(number, place int64) bool) {
		place, plane := int64(0), a.plane()
		for _, f := range a.faces {
			for number := f.first; number < f.first+plane; number, place = number+1, place+1 {
				_, inline := a.inline[number]
				if !inline && a.refs.at(int(number-a.stored())).source == 0 {
					continue // the copy has the fill value there, too
				}
				if !yield(number, place) {
					return
				}
			}
		}
	}
}

// cuttable returns an error if the codecs of an array cannot encode chunks with so many
// elements along the axis that grows.
func (n *joined) cuttable(ctx context.Context, logical int64) error {
	err, known := n.cuts[logical]
	if known {
		return err
	}
	if err = n.tryCut(ctx, logical); err != nil {
		err = fmt.Errorf("copy the file with other chunks: %w", err)
	}
	if n.cuts == nil {
		n.cuts = map[int64]error{}
	}
	n.cuts[logical] = err
	return err
}

// tryCut encodes a chunk with so many elements: some codecs only decode, and shards do
// not have any length.
func (n *joined) tryCut(ctx context.Context, logical int64) error {
	alone := *n.Array
	alone.faces = []face{{0, logical, logical}}
	a, err := alone.facesAlone(ctx, func(f face) int64 { return f.logical }, memstore.New(), true)
	if err != nil || a.Type().Variable() || slices.Contains(a.Grid().Chunks(), 0) {
		return err
	}
	first := make([]int64, a.Rank())
	data, err := a.ReadChunk(ctx, first)
	if err != nil {
		return err
	}
	return a.WriteChunk(ctx, first, data)
}

// gridOfFaces returns the grid of an array that has only the faces, one after the other.
func (a *Array) gridOfFaces(length func(face) int64) (*grid.Grid, error) {
	edges, extent := make([]grid.Run, len(a.faces)), int64(0)
	for i, f := range a.faces {
		edges[i] = grid.Run{Length: length(f), Count: 1}
		var ok bool
		if extent, ok = checked.Add(extent, length(f)); !ok {
			return nil, fmt.Errorf("%w: too many elements", ErrLimit)
		}
	}
	axis, err := grid.NewAxis(extent, grid.Runs(edges...))
	if err != nil {
		return nil, err
	}
	return withAxis(a.Grid, a.Axis, axis)
}

// facesAlone makes a real array that has only the faces, in a store. No chunk of it is
// stored yet, and fill says that those with only the fill value will be.
func (a *Array) facesAlone(ctx context.Context, length func(face) int64, s *memstore.Store, fill bool) (*zarr.Array, error) {
	g, err := a.gridOfFaces(length)
	if err != nil {
		return nil, err
	}
	alone := &Array{Path: a.Path, Document: withGrid(a.Document, g)}
	return alone.writable(ctx, s, fill)
}

// facesPadded opens a virtual array that has only the faces, with the padding.
func (m *Manifest) facesPadded(ctx context.Context, a *Array, from sources) (*zarr.Array, error) {
	g, err := a.gridOfFaces(func(f face) int64 { return f.encoded })
	if err != nil {
		return nil, err
	}
	alone, err := newArray(a.Path, withGrid(a.Document, g).WithKeyEncoding(metadata.DefaultSlash), g, a.Axis)
	if err != nil {
		return nil, err
	}
	for number, place := range a.padded() {
		if data, ok := a.inline[number]; ok {
			alone.setInline(place, data)
			continue
		}
		alone.refs.set(int(place), a.refs.at(int(number-a.stored())))
	}
	shown := &Manifest{Arrays: []*Array{alone}, folder: m.folder, sourceBlocks: m.sourceBlocks, Sources: m.Sources}
	return zarr.At(newStore(shown, from), a.Path).OpenArray(ctx, nil)
}
