// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// isPadded reports whether the last chunk of an axis has more elements than the array.
func isPadded(axis grid.Axis) bool {
	last, ok := axis.Cell(axis.Chunks() - 1)
	return ok && last.Encoded != last.Logical
}

// padding is what becomes of the padding of the last chunks when another part follows.
type padding int

const (
	noPadding     padding = iota
	paddingCut            // references become shorter
	paddingStays          // by the experiment encoded_chunk_shapes
	paddingCopied         // the chunks are copied without it
)

// padding returns what becomes of the padding of the last chunks of an array when another
// part follows. If it would be in the way, the error is an [ErrMismatch].
func (j *Joined) padding(ctx context.Context, old *joined) (padding, error) {
	axis := old.axes[len(old.axes)-1]
	switch {
	case !isPadded(axis):
		return noPadding, nil
	case old.trims():
		return paddingCut, nil
	case j.join.CopyPadded:
		last, _ := axis.Cell(axis.Chunks() - 1)
		if err := old.cuttable(ctx, last.Logical); err != nil {
			return noPadding, mismatch(old.last, old.Path, "axis %s ends within a chunk, which cannot be stored with %d elements in place of %d: %v",
				axisText(old.Array, old.along), last.Logical, last.Encoded, err)
		}
		return paddingCopied, nil
	case j.join.Padded:
		return paddingStays, nil
	}
	last, _ := axis.Cell(axis.Chunks() - 1)
	return noPadding, mismatch(old.last, old.Path, "axis %s ends within a chunk: the last one has %d elements of the array and is stored with %d. Only the last file may have such padding: let the manifest have copies of these chunks without it (Join.CopyPadded), or permit the experiment encoded_chunk_shapes (Join.Padded)",
		axisText(old.Array, old.along), last.Logical, last.Encoded)
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

// plane returns the number of chunks with one index along the axis of an array.
func (a *Array) plane() int64 {
	n := int64(1)
	for i, c := range a.Grid.Chunks() {
		if i != a.Axis {
			n *= c
		}
	}
	return n
}

// trims reports whether the padding of the last chunks can be cut off: chunks are not
// compressed, and the axis is the first one. Then the elements of the array come first in
// each chunk.
func (n *joined) trims() bool { return n.along == 0 && plain(n.Document) }

// trim cuts off the padding of the last chunks: it makes the references shorter.
func (n *joined) trim(last grid.Cell) {
	for i := n.refs.len() - int(n.plane()); i < n.refs.len(); i++ {
		if r := n.refs.at(i); r.source != 0 {
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
