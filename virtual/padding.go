// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// padding is what becomes of the padding of the last chunks when another part follows.
type padding int

const (
	noPadding     padding = iota
	paddingCut            // references become shorter
	paddingStays          // by the experiment encoded_chunk_shapes
	paddingCopied         // the chunks are copied without it
)

// padding returns what becomes of the padding of the last chunks when another part
// follows. If it would be in the way, the error is an [ErrMismatch].
func (n *joined) padding(ctx context.Context, how Join) (padding, error) {
	axis := n.axes[len(n.axes)-1]
	switch {
	case !isPadded(axis):
		return noPadding, nil
	// Without codecs that need a whole chunk, a shorter range of bytes is the shorter
	// chunk.
	case n.trims():
		return paddingCut, nil
	case how.CopyPadded:
		last, _ := axis.Cell(axis.Chunks() - 1)
		if err := n.cuttable(ctx, last.Logical); err != nil {
			return noPadding, mismatch(n.last, n.Path, "axis %s ends within a chunk, which cannot be stored with %s in place of %d: %v",
				axisText(n.Array, n.along), quantity.Count(last.Logical, "elements"), last.Encoded, err)
		}
		return paddingCopied, nil
	case how.Padded:
		return paddingStays, nil
	}
	last, _ := axis.Cell(axis.Chunks() - 1)
	return noPadding, mismatch(n.last, n.Path, "axis %s ends within a chunk: the last one has %s of the array and is stored with %d. Only the last file may have such padding: "+remedy.CopyPadded+", or permit the experiment encoded_chunk_shapes ("+remedy.Padded+")",
		axisText(n.Array, n.along), quantity.Count(last.Logical, "elements"), last.Encoded)
}

// cut does what becomes of the padding of the last chunks.
func (n *joined) cut(p padding) {
	axis := n.axes[len(n.axes)-1]
	last, _ := axis.Cell(axis.Chunks() - 1)
	switch p {
	case paddingCut:
		n.trim(last)
	case paddingCopied:
		plane := n.plane()
		n.faces = append(n.faces, face{n.stored() + int64(n.refs.len()) - plane, last.Encoded, last.Logical})
	default:
		return
	}
	// The next part begins where the elements of this one end.
	n.axes[len(n.axes)-1] = trimmed(axis)
}

// cutsAll reports whether the padding of chunks that files have followed already is to be
// removed: an experiment has permitted it until now.
func (n *joined) cutsAll(how Join) bool { return how.CopyPadded && n.axes[0].IsEncoded() }

// cutAll does so. The references are in memory.
func (n *joined) cutAll(ctx context.Context) error {
	axis := n.axes[0]
	edges := make([]grid.Run, 0, axis.Chunks())
	for k := range axis.Chunks() {
		c, _ := axis.Cell(k)
		switch {
		case k == axis.Chunks()-1: // it may have padding until a file follows
			c.Logical = c.Encoded
		case c.Encoded != c.Logical:
			if err := n.cuttable(ctx, c.Logical); err != nil {
				return err
			}
			n.faces = append(n.faces, face{k * n.plane(), c.Encoded, c.Logical})
		}
		edges = append(edges, grid.Run{Length: c.Logical, Count: 1})
	}
	var err error
	n.axes[0], err = grid.NewAxis(axis.Extent(), grid.Runs(edges...))
	return err
}

// trims reports whether the padding of the last chunks can be cut off: chunks are not
// compressed, and the axis is the first one. Then the elements of the array come first in
// each chunk.
func (n *joined) trims() bool { return n.along == 0 && plain(n.Document) }

// trim cuts off the padding of the last chunks: it makes the references shorter.
func (n *joined) trim(last grid.Cell) {
	for i := n.refs.len() - int(n.plane()); i < n.refs.len(); i++ {
		if r := n.refs.at(i); r.source != 0 {
			// Rows of the first axis follow each other, so bytes are in proportion to
			// elements.
			r.length = r.length / uint64(last.Encoded) * uint64(last.Logical)
			n.refs.set(i, r)
		}
		at := n.stored() + int64(i)
		if data, ok := n.inline[at]; ok {
			n.inline[at] = data[:int64(len(data))/last.Encoded*last.Logical]
		}
	}
}

// trimmed returns an axis whose last edge ends with it.
func trimmed(axis grid.Axis) grid.Axis {
	cut, err := grid.NewAxis(axis.Extent(), grid.Runs(axis.Sizes()...))
	if err != nil {
		return axis // impossible: these are the lengths of its chunks
	}
	return cut
}

// plain reports whether chunks are stored as the bytes of their elements.
func plain(doc *metadata.Array) bool { return len(doc.Codecs) == 1 && doc.Codecs[0].Name == "bytes" }

// isPadded reports whether the last chunk of an axis has more elements than the array.
func isPadded(axis grid.Axis) bool {
	last, ok := axis.Cell(axis.Chunks() - 1)
	return ok && last.Encoded != last.Logical
}

// cuttable returns an error if the codecs of an array cannot encode chunks with so many
// elements along the axis that grows.
func (n *joined) cuttable(ctx context.Context, logical int64) error {
	// Files mostly end at the same places: each length is tried once.
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
	// Text has no fixed size that could be tried; a codec that cannot encode it fails
	// when it is copied.
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
func (a *Array) facesAlone(ctx context.Context, length func(face) int64, s store.Store, fill bool) (*zarr.Array, error) {
	g, err := a.gridOfFaces(length)
	if err != nil {
		return nil, err
	}
	alone := &Array{Path: a.Path, Document: withGrid(a.Document, g)}
	return alone.writable(ctx, s, fill)
}

// facesPadded opens a virtual array that has only the faces, with the padding.
func facesPadded(ctx context.Context, m *Manifest, a *Array, from sources) (*zarr.Array, error) {
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
