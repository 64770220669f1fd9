package codec

import (
	"context"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// Edit is a change of a part of a stored chunk.
type Edit struct {
	// Shape is the encoded shape of the chunk.
	Shape []int64
	// Part of the chunk becomes Values, which are as [Part.Into] is. Values without data
	// change nothing.
	strided.Part
	Values strided.View
	// Encoded becomes the stored form of the inner chunk at Index, where that is not nil.
	// It is not looked into.
	Index   []int64
	Encoded []byte
	// Insets are put in after that: the inner chunks that they store become those of the
	// chunk, as they are encoded.
	Insets []Inset
	// Keep is what stays of the stored chunk besides; all else becomes the fill value.
	// Nil keeps everything.
	Keep grid.Box
	// KeepFill stores inner chunks that hold only the fill value.
	KeepFill bool
	// Compact stores the inner chunks in order and without any other bytes, whatever the
	// strategy. What is so already is the same.
	Compact bool
	// Anew makes a new version even where nothing changes.
	Anew bool
	// Splices says that the store puts values together from their older version, so that
	// bytes which stay need not be read.
	Splices bool
	// Patches says that the store overwrites bytes of a value in place, safely.
	Patches bool
}

// Inset is a stored chunk of the same codecs that becomes a part of a longer one, so that
// a chunk can be encoded bit by bit. Where it stores nothing, the longer one stays as it
// is.
type Inset struct {
	Start []int64 // where it begins in the longer chunk, at a border of inner chunks, in elements
	Shape []int64 // its encoded shape, cut into inner chunks just as that place is
	Chunk Stored  // what is made of the edit keeps pieces of it
}

// PartialEncoder is the power of an [ArrayBytes] codec to change a part of a chunk
// without coding the rest of it.
type PartialEncoder interface {
	// EncodePart returns the stored form of a chunk after the edit. src is the chunk as
	// it is stored; nil where none is, or where nothing of it stays. The caller releases
	// what it gets.
	EncodePart(ctx context.Context, w *Work, e Edit, src Source) (*Edited, error)
}

// Edited is the stored form of a chunk in pieces: new bytes, and bytes of the version
// that it replaces.
type Edited struct {
	Pieces  []store.Piece
	Patches []store.Patch    // in place of pieces: what is overwritten in the stored value
	Size    int64            // bytes of all pieces
	From    store.Info       // the version that pieces, patches and all else are made of, zero where nothing was stored
	Same    bool             // nothing changes
	Empty   bool             // nothing but the fill value is left
	Old     []byte           // the version that pieces are of, where it was read
	Memory  []*budget.Buffer // that the bytes are in
}

// Release gives back the memory of the pieces.
func (e *Edited) Release() {
	for _, b := range e.Memory {
		b.Put()
	}
	*e = Edited{}
}

// AppendTo appends the whole value to dst. It is for values that need nothing which was
// not read.
func (e *Edited) AppendTo(dst []byte) []byte {
	for _, p := range e.Pieces {
		if p.Data == nil {
			p.Data = e.Old[p.Off : p.Off+p.N]
		}
		dst = append(dst, p.Data...)
	}
	return dst
}

// Spliced reports whether the value needs bytes of its older version that were not read.
func (e *Edited) Spliced() bool {
	if e.Old != nil {
		return false
	}
	for _, p := range e.Pieces {
		if p.Data == nil {
			return true
		}
	}
	return false
}

// EncodePart changes a part of a chunk. It is for chains that are [Chain.Divided].
func (c *Chain) EncodePart(ctx context.Context, w *Work, e Edit, src Source) (*Edited, error) {
	if !c.inOrder {
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
	}
	out, err := c.serial.(PartialEncoder).EncodePart(ctx, w, e, src)
	return out, c.failSerial(err)
}
