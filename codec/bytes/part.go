package bytes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/store"
)

// Reading past bytes that are not wanted is cheaper than another request for as many as this: spans of so many bytes, and
// spans of which so large a part is wanted, are read in one piece.
const (
	denseBytes = 16 << 10
	densePart  = 4
)

// DecodePart implements [codec.PartialDecoder]: it reads the spans of bytes that hold wanted elements.
func (c *coder) DecodePart(ctx context.Context, w *codec.Work, p codec.Part, src codec.Source) error {
	elements, ok := checked.Product(p.Shape...)
	total, fits := checked.Mul(elements, int64(p.Into.Size))
	if !ok || !fits {
		return fmt.Errorf("%w: bytes: no chunk can have the shape %d", codec.ErrCorrupt, p.Shape)
	}
	r := partReader{c, src, total, w.Block, p.Into.Size, p.Shape, grid.AppendStrides(nil, p.Shape, p.Into.Size)}
	if p.Picks != nil {
		return r.readPicked(ctx, p.Into, p.Part)
	}
	return r.read(ctx, p.Into, p.Part, 0)
}

// partReader reads parts of one chunk.
type partReader struct {
	*coder
	src     codec.Source
	total   int64   // bytes of the chunk
	block   int64   // most bytes of a span that is read at once, 0 without bounds
	size    int     // bytes an element
	shape   []int64 // of the chunk
	strides []int64 // bytes
}

// read fills dst with the part: in one piece if it is dense, in several along the axis if that is longer than a block, and else index by index.
func (r *partReader) read(ctx context.Context, dst grid.View, part grid.Part, axis int) error {
	first, last := int64(0), int64(r.size)
	for i, stride := range r.strides {
		first += part.Start[i] * stride
		last += (part.Start[i] + (part.Count[i]-1)*part.Step[i]) * stride
	}
	wanted := part.Len() * int64(r.size)
	span, at := last-first, int64(0)
	if dense := span <= denseBytes || span/densePart <= wanted; dense && r.block > 0 && axis < len(r.strides) {
		at = r.block * part.Count[axis] / span // indices at a time
	} else if dense {
		at = math.MaxInt64
	}
	if axis == len(r.strides) || at >= part.Count[axis] {
		return r.readSpan(ctx, dst, part, first, span)
	}
	one := grid.Part{Start: append([]int64(nil), part.Start...), Step: part.Step, Count: append([]int64(nil), part.Count...)}
	at = max(1, at)
	next := axis
	if at == 1 {
		next++
	}
	row := dst
	row.Shape = one.Count
	for done := int64(0); done < part.Count[axis]; done += at {
		one.Count[axis] = min(at, part.Count[axis]-done)
		if err := r.read(ctx, row, one, next); err != nil {
			return err
		}
		one.Start[axis] += at * part.Step[axis]
		row.Offset += at * dst.Strides[axis]
	}
	return nil
}

// readSpan reads the bytes from first on that hold the part, and moves its elements to dst.
func (r *partReader) readSpan(ctx context.Context, dst grid.View, part grid.Part, first, n int64) error {
	return r.withSpan(ctx, first, n, func(span grid.View) {
		span.Offset, span.Shape, span.Strides = 0, part.Count, make([]int64, len(r.strides))
		for i, stride := range r.strides {
			span.Strides[i] = stride * part.Step[i]
		}
		grid.Copy(dst, span)
	})
}

// withSpan reads n bytes of the chunk from first on and calls use with them, as a view that byte 0 of the chunk is the beginning of.
func (r *partReader) withSpan(ctx context.Context, first, n int64, use func(span grid.View)) error {
	b := budget.Get(n)
	defer b.Put()
	data, info, err := r.src.Read(ctx, store.Request{Range: store.Span(first, n)}, b.B)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && info.Size != r.total {
		if err != nil {
			return fmt.Errorf("%w: bytes: the chunk should have %d bytes: %w", codec.ErrCorrupt, r.total, err)
		}
		return fmt.Errorf("%w: bytes: the chunk has %d bytes, its shape takes %d", codec.ErrCorrupt, info.Size, r.total)
	}
	if err != nil {
		return err
	}
	if err := r.Validate(data); err != nil {
		return err
	}
	if r.swaps || r.small {
		room := b.Bytes(n) // never in the source's own memory
		if r.swaps {
			r.stored.Swap(room, data)
		} else {
			copy(room, data)
		}
		if r.small {
			r.typ.Normalize(room)
		}
		data = room
	}
	use(grid.View{Data: data, Offset: -first, Size: r.size})
	return nil
}
