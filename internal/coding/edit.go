// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// Edit is a change of a part of a stored chunk. The steps are Keep, Values, Encoded and
// Insets, in this order.
type Edit struct {
	// Shape is the encoded shape of the chunk.
	Shape []int64
	// Part is set to Values, which have the layout of [Extract.Into]. Values without data
	// change nothing.
	strided.Part
	Values strided.View
	// Encoded, if not nil, becomes the stored form of the inner chunk at Index. It is not
	// decoded.
	Index   []int64
	Encoded []byte
	// Insets replace inner chunks of the chunk by their own.
	Insets []Inset
	// Keep is the box of the stored chunk that stays; everything outside becomes the fill
	// value. Nil keeps everything.
	Keep grid.Box
	// KeepFill stores inner chunks that hold only the fill value.
	KeepFill bool
	// Compact stores the inner chunks in order and without any other bytes, regardless of
	// the codec's strategy. A compact chunk stays the same.
	Compact bool
	// Mend restores a damaged index, without any other change, or keeps the chunk if the
	// index is not damaged. If it is not proven what the index was, the error wraps
	// [codec.ErrCorrupt].
	Mend bool
	// Anew makes a new version even if nothing changes.
	Anew bool
	// Splices means that the store can build a value from ranges of its present version.
	// Bytes that stay then need not be read.
	Splices bool
	// Patches means that the store can atomically overwrite ranges of a value in place.
	Patches bool
}

// Inset is a stored chunk that becomes a part of a longer one with the same codecs. With
// insets, a long chunk can be encoded step by step. Inner chunks that the inset does not
// store do not change in the longer chunk.
type Inset struct {
	Start []int64 // its first element in the longer chunk, where inner chunks begin
	Shape []int64 // its encoded shape in elements; it has the inner chunks of that place
	Chunk Stored  // the revision refers to these bytes
}

// PartialEncoder is implemented by a [codec.ArrayBytes] codec that can change a part of a
// chunk without coding the rest.
type PartialEncoder interface {
	// EncodePart returns the stored form of a chunk after the edit. src is the stored
	// chunk, or nil if none is stored or nothing of it stays. The caller releases the
	// revision.
	EncodePart(ctx context.Context, w *Work, e Edit, src Source) (*Revision, error)
}

// Revision is the next stored form of a chunk. It consists of new bytes and of ranges of
// the version that it replaces.
type Revision struct {
	Fragments []store.Part
	Patches   []store.Patch    // in place of fragments: ranges to overwrite in the stored value
	Size      int64            // bytes of the whole value
	From      store.Info       // the version that it replaces; zero if none was stored
	Same      bool             // the chunk does not change
	Empty     bool             // the chunk has only the fill value
	Old       []byte           // the version that fragments refer to, if it was read
	Memory    []*budget.Buffer // the buffers of new bytes
}

// Release puts back the buffers of the revision.
func (r *Revision) Release() {
	for _, b := range r.Memory {
		b.Put()
	}
	*r = Revision{}
}

// AppendTo appends the whole value to dst. The revision must not be [Revision.Spliced].
func (r *Revision) AppendTo(dst []byte) []byte {
	for _, p := range r.Fragments {
		if p.Data == nil {
			p.Data = r.Old[p.Off : p.Off+p.N]
		}
		dst = append(dst, p.Data...)
	}
	return dst
}

// Spliced reports whether the value has ranges of the present version that were not read.
// Then only the store can build it.
func (r *Revision) Spliced() bool {
	if r.Old != nil {
		return false
	}
	for _, p := range r.Fragments {
		if p.Data == nil {
			return true
		}
	}
	return false
}

// EncodePart returns the stored form of a chunk after the edit; see [PartialEncoder]. The
// chain must be [Chain.Divided].
func (c *Chain) EncodePart(ctx context.Context, w *Work, e Edit, src Source) (out *Revision, err error) {
	defer parallel.Recover(&err)
	if !c.inOrder {
		e, w = c.permutedEdit(e), c.permutedWork(w)
	}
	out, err = c.serial.(PartialEncoder).EncodePart(ctx, w, e, src)
	return out, c.failSerial(err)
}

// permutedWork returns w for the encoded array.
func (c *Chain) permutedWork(w *Work) *Work {
	if w.Notes == nil {
		return w
	}
	reordered := *w
	reordered.Notes = permutedNotes{w.Notes, c}
	return &reordered
}

// permutedNotes are notes about inner chunks whose axes are in the order of the encoded
// array.
type permutedNotes struct {
	Notes
	chain *Chain
}

// Note implements [Notes].
func (n permutedNotes) Note(index []int64, elems strided.View) {
	if elems.Data != nil {
		elems.Shape, elems.Strides = n.chain.unpermuted(elems.Shape), n.chain.unpermuted(elems.Strides)
	}
	n.Notes.Note(n.chain.unpermuted(index), elems)
}

// permutedEdit returns e as a change of the encoded array.
func (c *Chain) permutedEdit(e Edit) Edit {
	if e.Values.Data != nil {
		e.Part, e.Values = c.permutedPart(e.Part, e.Shape), c.permutedBlock(e.Part, e.Values)
	}
	e.Shape = c.permuted(e.Shape)
	if e.Index != nil {
		e.Index = c.permuted(e.Index)
	}
	e.Insets = slices.Clone(e.Insets)
	for i, in := range e.Insets {
		e.Insets[i].Start, e.Insets[i].Shape = c.permuted(in.Start), c.permuted(in.Shape)
	}
	if e.Keep != nil {
		keep := make(grid.Box, len(e.Keep))
		for i, axis := range c.order {
			keep[i] = e.Keep[axis]
		}
		e.Keep = keep
	}
	return e
}
