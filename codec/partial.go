package codec

import (
	"context"

	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// Source is one version of a stored chunk, to be read piece by piece.
type Source interface {
	// Key returns the key of the chunk, under which a codec may keep what it learned
	// about this version.
	Key() store.Key
	// Expect makes reads of any version but that of info fail with [store.ErrConflict];
	// with the zero Info the next read decides which version it is.
	Expect(info store.Info)
	// Read appends the bytes that q selects to dst, all from one version of the chunk. A
	// chunk that is not stored is [fs.ErrNotExist]; one that was replaced since the first
	// read is [store.ErrConflict].
	Read(ctx context.Context, q store.Request, dst []byte) ([]byte, store.Info, error)
}

// Stored is a stored chunk, or a chunk within one, that is in memory. Who passes it on
// holds a core ([Work.Cores]).
type Stored []byte

// Key returns the zero Key.
func (s Stored) Key() store.Key { return store.Key{} }

// Expect does nothing: the bytes stay as they are.
func (s Stored) Expect(store.Info) {}

// Read appends the bytes that q selects to dst.
func (s Stored) Read(_ context.Context, q store.Request, dst []byte) ([]byte, store.Info, error) {
	off, n, err := q.Resolve(int64(len(s)))
	if err != nil {
		return nil, store.Info{}, err
	}
	return append(dst, s[off:off+n]...), store.Info{Size: int64(len(s))}, nil
}

// Part is a part of a chunk that is decoded to memory.
type Part struct {
	// Shape is the encoded shape of the chunk, of whose elements Part is wanted.
	Shape []int64
	strided.Part
	// Into has the shape of the part. Where the part has lists it has all places of their
	// axes, and where it has points all places that these name, in any shape.
	Into strided.View
	// Whole tells that nothing else of the chunk belongs to the array.
	Whole bool
	// Zeroed tells that Into holds zeros.
	Zeroed bool
}

// PartialDecoder is the power of an [ArrayBytes] codec to decode a part of a chunk
// without reading all of it.
type PartialDecoder interface {
	// DecodePart fills p.Into with the part. A part has at least one element and lies
	// within the chunk. Errors are those of Decode and of the source.
	DecodePart(ctx context.Context, w *Work, p Part, src Source) error
}

// Partial reports whether parts of chunks can be decoded: the codecs only reorder axes
// before one that is a [PartialDecoder], and none follows it.
func (c *Chain) Partial() bool {
	_, ok := c.serial.(PartialDecoder)
	return ok && c.order != nil && len(c.bytes) == 0
}

// DecodePart fills p.Into with a part of a chunk. It is for chains that are
// [Chain.Partial].
func (c *Chain) DecodePart(ctx context.Context, w *Work, p Part, src Source) error {
	if !c.inOrder {
		p.Shape, p.Part, p.Into = c.permuted(p.Shape), c.permutedPart(p.Part, p.Shape), c.permutedBlock(p.Part, p.Into)
	}
	return c.failSerial(c.serial.(PartialDecoder).DecodePart(ctx, w, p, src))
}

// Fill makes the part the fill value.
func (p *Part) Fill(fill []byte) {
	if p.Picks == nil {
		strided.Fill(p.Into, fill)
		return
	}
	p.Picks.Fill(p.Into, p.Count, fill)
}

// permutedPart returns a part of a chunk of that shape as one of the encoded array.
func (c *Chain) permutedPart(p strided.Part, shape []int64) strided.Part {
	return strided.Part{
		Start: c.permuted(p.Start), Step: c.permuted(p.Step), Count: c.permuted(p.Count), Picks: p.Picks.Permuted(c.order, shape),
	}
}

// permutedBlock shows the block that a part is taken to or from with its axes in the
// order of the encoded array. A block of single points has axes of its own.
func (c *Chain) permutedBlock(p strided.Part, v strided.View) strided.View {
	if p.Picks != nil && p.Picks.Points != nil {
		return v
	}
	return c.permutedView(v)
}

// permutedView shows the same elements with their axes in the order of the encoded array.
func (c *Chain) permutedView(v strided.View) strided.View {
	v.Shape, v.Strides = c.permuted(v.Shape), c.permuted(v.Strides)
	return v
}
