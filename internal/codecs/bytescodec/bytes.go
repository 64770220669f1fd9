// SPDX-License-Identifier: Apache-2.0

// Package bytescodec is the codec "bytes" (zarr-specs v3, "Bytes codec"). It stores the
// elements of a chunk one after the other, in C order and in a given byte order. It takes
// every data type of fixed width.
//
// Importing the package registers it as "bytes".
package bytescodec

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

func init() {
	codec.Register("bytes", New)
	codec.Register(own.BytesByField, newByField)
}

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayBytes] that is a
// [codec.Transparent], if the stored byte order is that of the host, and a
// [coding.Validator].
func New(configuration []byte) (any, error) {
	var c struct {
		Endian *string `json:"endian"`
	}
	if err := codec.DecodeConfiguration(configuration, &c); err != nil {
		return nil, fmt.Errorf("%w: bytes: %w", codec.ErrConfiguration, err)
	}
	if c.Endian == nil {
		return new(coder), nil
	}
	if *c.Endian != "little" && *c.Endian != "big" {
		return nil, fmt.Errorf("%w: bytes: endian is %q, want %q or %q", codec.ErrConfiguration, *c.Endian, "little", "big")
	}
	return &coder{endian: *c.Endian}, nil
}

type coder struct {
	endian string   // "little", "big", or "" if the metadata has none
	fields []string // endian of each number of a struct, nil if all have one
	typ    dtype.Type
	stored dtype.Type // its Swap reverses the stored byte order
	swaps  bool       // the stored byte order is not that of the host
	bools  bool
	small  bool // stored numbers have unused bits
	checks bool // not all bytes are valid elements, as of a struct with a bool
}

// Bind implements [codec.ArrayBytes].
func (c *coder) Bind(spec codec.Spec) error {
	t := spec.Type
	if t.Size() <= 0 {
		return fmt.Errorf("%w: bytes: elements of %s have no fixed width", codec.ErrConfiguration, t)
	}
	if c.endian == "" && c.fields == nil && t.Ordered() {
		return fmt.Errorf("%w: bytes: %s needs an endian, %q or %q", codec.ErrConfiguration, t, "little", "big")
	}
	c.typ, c.stored, c.bools, c.small = t, t, t.Kind() == dtype.KindBool, packed.Small(t)
	c.swaps = t.Ordered() && byteorder.Little() != (c.endian == "little")
	if c.fields != nil {
		if err := c.bindFields(); err != nil {
			return err
		}
	}
	c.checks = packed.HasBool(t)
	return nil
}

// Complete implements [coding.Completer]. Elements of single bytes have no byte order.
func (c *coder) Complete(e metadata.Extension) metadata.Extension {
	switch {
	case c.fields != nil:
		return e
	case !c.typ.Ordered():
		return codec.Bytes("")
	}
	return codec.Bytes(c.endian)
}

// EncodedSize implements [codec.ArrayBytes].
func (c *coder) EncodedSize(_ []int64, n int64) (int64, bool) { return n, true }

// Transparent implements [codec.Transparent].
func (c *coder) Transparent() bool { return !c.swaps && !c.small }

// Lossless is for [coding.Chain.Lossless].
func (c *coder) Lossless() bool { return !c.small }

// Elementwise implements [coding.Elementwise].
func (c *coder) Elementwise() bool { return true }

// Encode implements [codec.ArrayBytes].
func (c *coder) Encode(dst []byte, src codec.Block) ([]byte, error) {
	if !c.swaps {
		return append(dst, src.Data...), nil
	}
	n := len(dst)
	dst = slices.Grow(dst, len(src.Data))[:n+len(src.Data)]
	c.stored.Swap(dst[n:], src.Data)
	return dst, nil
}

// Decode implements [codec.ArrayBytes].
func (c *coder) Decode(dst *codec.Block, src []byte) error {
	if len(src) != len(dst.Data) {
		return fmt.Errorf("%w: bytes: the chunk decodes to %s, but its shape %d needs %d", codec.ErrCorrupt, quantity.Count(len(src), "bytes"), dst.Shape, len(dst.Data))
	}
	if err := c.Validate(src); err != nil {
		return err
	}
	if c.swaps {
		c.stored.Swap(dst.Data, src)
	} else {
		copy(dst.Data, src)
	}
	// Unused bits of stored numbers may have any value.
	if c.small {
		c.typ.Normalize(dst.Data)
	}
	return nil
}

// checkFields returns an error if a bool in a struct is neither 0 nor 1.
func (c *coder) checkFields(data []byte) error {
	if err := checkFields(c.typ, data, c.typ.Size()); err != nil {
		return fmt.Errorf("%w: bytes: %w", codec.ErrCorrupt, err)
	}
	return nil
}

// checkFields checks the bools of structs that begin step bytes apart.
func checkFields(t dtype.Type, data []byte, step int) error {
	for _, f := range t.Fields() {
		switch {
		case f.Type.Kind() == dtype.KindBool:
			for at := f.Offset; at < len(data); at += step {
				if data[at] > 1 {
					return fmt.Errorf("field %q of element %d is stored as %d, want 0 or 1", f.Name, at/step, data[at])
				}
			}
		case f.Type.Kind() == dtype.KindStruct && len(data) > 0:
			if err := checkFields(f.Type, data[f.Offset:], step); err != nil {
				return fmt.Errorf("field %q: %w", f.Name, err)
			}
		}
	}
	return nil
}

// Validate implements [coding.Validator].
func (c *coder) Validate(data []byte) error {
	switch {
	case c.bools:
		return checkBools(data)
	case c.checks:
		return c.checkFields(data)
	}
	return nil
}

// checkBools returns a [codec.ErrCorrupt] with the offset of the first byte that is
// neither 0 nor 1. As a Go bool such a byte would have no defined meaning.
func checkBools(data []byte) error {
	const notBits = 0xfefefefefefefefe
	i := 0
	// Fast path: check 32 bytes at a time.
	for ; i+32 <= len(data); i += 32 {
		w := data[i : i+32]
		all := binary.NativeEndian.Uint64(w) | binary.NativeEndian.Uint64(w[8:]) |
			binary.NativeEndian.Uint64(w[16:]) | binary.NativeEndian.Uint64(w[24:])
		if all&notBits != 0 {
			// The next loop finds the byte.
			break
		}
	}
	for ; i < len(data); i++ {
		if data[i] > 1 {
			return fmt.Errorf("%w: bytes: bool at offset %d is stored as %d, want 0 or 1", codec.ErrCorrupt, i, data[i])
		}
	}
	return nil
}

// newByField is the [codec.Factory] for structs whose fields have different byte orders.
// Format 2 allows them (zarr-specs v2, "Data type encoding"), format 3 has no name for
// them. The configuration lists the order of each field that has one.
func newByField(configuration []byte) (any, error) {
	var c struct {
		Endian []string `json:"endian"`
	}
	if err := codec.DecodeConfiguration(configuration, &c); err != nil {
		return nil, fmt.Errorf("%w: bytes by field: %w", codec.ErrConfiguration, err)
	}
	for i, order := range c.Endian {
		if order != "little" && order != "big" {
			return nil, fmt.Errorf("%w: bytes by field: endian %d is %q, want %q or %q", codec.ErrConfiguration, i, order, "little", "big")
		}
	}
	if len(c.Endian) == 0 {
		return nil, fmt.Errorf("%w: bytes by field: endian is missing", codec.ErrConfiguration)
	}
	return &coder{fields: c.Endian}, nil
}

// bindFields checks the byte orders of fields for Bind.
func (c *coder) bindFields() error {
	c.swaps = false
	next := 0
	c.stored = packed.Turned(c.typ, func() bool {
		next++
		turn := next <= len(c.fields) && byteorder.Little() != (c.fields[next-1] == "little")
		c.swaps = c.swaps || turn
		return turn
	})
	if c.typ.Kind() != dtype.KindStruct || next != len(c.fields) {
		return fmt.Errorf("%w: bytes by field: byte orders of %s are given, and %s has %d with one", codec.ErrConfiguration, quantity.Count(len(c.fields), "fields"), c.typ, next)
	}
	return nil
}

// leastGap is the largest gap in bytes that is read with its neighbours in any store,
// instead of sending another request.
const leastGap = 16 << 10

// DecodePart implements [coding.PartialDecoder]. It reads the spans of bytes that contain
// wanted elements.
func (c *coder) DecodePart(ctx context.Context, w *coding.Work, p coding.Extract, src coding.Source) error {
	elements, ok := checked.Product(p.Shape...)
	total, fits := checked.Mul(elements, int64(p.Into.Size))
	if !ok || !fits {
		return fmt.Errorf("%w: bytes: no chunk can have the shape %d", codec.ErrCorrupt, p.Shape)
	}
	r := partReader{
		coder: c, src: src, total: total, gap: max(leastGap, w.Gap), most: w.Block, size: p.Into.Size,
		shape: p.Shape, strides: strided.AppendStrides(nil, p.Shape, p.Into.Size),
	}
	// The store is near, or only one request may be in flight: read spans one by one.
	if r.most > 0 || w.Requests <= 1 {
		r.most = cmp.Or(r.most, max(leastGap, min(w.Span, w.Bytes)))
		return r.readAll(ctx, p)
	}
	// Spans in flight share the memory, so they are shorter.
	r.most = max(leastGap, min(w.Span, w.Bytes/sideBySide))
	r.room = budget.New(w.Bytes)
	r.flying, ctx = parallel.New(ctx)
	r.flying.SetLimit(w.Requests)
	return r.flying.Wait(r.readAll(ctx, p))
}

// sideBySide is the smallest number of spans that are read at once from a far store.
const sideBySide = 8

// readAll fills p.Into with the part.
func (r *partReader) readAll(ctx context.Context, p coding.Extract) error {
	if p.Picks != nil && p.Picks.Points != nil {
		return r.readPoints(ctx, p.Into, p.Part)
	}
	r.dense = r.denseFrom(p.Part)
	return r.read(ctx, p.Into, p.Part, 0)
}

// partReader reads parts of one chunk.
type partReader struct {
	*coder
	src     coding.Source
	total   int64   // bytes of the chunk
	gap     int64   // bytes between elements that are read together, at most
	most    int64   // bytes of a span, at most, unless it is a single element
	size    int     // bytes of an element
	shape   []int64 // of the chunk
	strides []int64 // bytes
	dense   int     // axes from this one on have no longer gaps

	flying *parallel.Group // reads in flight; nil if spans are read one by one
	room   *budget.Budget  // bytes for them
}

// list returns the list of a part along an axis. ok is false if it has none.
func list(part strided.Part, axis int) (strided.List, bool) {
	if part.Picks == nil || part.Picks.Lists == nil {
		return strided.List{}, false
	}
	l := part.Picks.Lists[axis]
	return l, l.At != nil
}

// along returns the first index of the part along an axis, the distance to the last, and
// the longest step between two.
func along(part strided.Part, axis int) (first, distance, step int64) {
	l, listed := list(part, axis)
	if !listed {
		return part.Start[axis], (part.Count[axis] - 1) * part.Step[axis], part.Step[axis]
	}
	for k := 1; k < len(l.At); k++ {
		step = max(step, l.At[k]-l.At[k-1])
	}
	return l.At[0] - l.Base, l.At[len(l.At)-1] - l.At[0], step
}

// denseFrom returns the first of the last axes along which wanted elements are close
// together.
func (r *partReader) denseFrom(part strided.Part) int {
	span := int64(r.size)
	for axis := len(r.strides) - 1; axis >= 0; axis-- {
		_, distance, step := along(part, axis)
		if distance > 0 && step*r.strides[axis]-span > r.gap {
			return axis + 1
		}
		span += distance * r.strides[axis]
	}
	return 0
}

// span returns the offset and the length of the bytes that contain the part.
func (r *partReader) span(part strided.Part) (first, n int64) {
	n = int64(r.size)
	for axis, stride := range r.strides {
		at, distance, _ := along(part, axis)
		first += at * stride
		n += distance * stride
	}
	return first, n
}

// read fills dst with the part. It reads one span if the part is dense and short enough,
// and otherwise several along the axis.
func (r *partReader) read(ctx context.Context, dst strided.View, part strided.Part, axis int) error {
	first, n := r.span(part)
	if axis == len(r.strides) || axis >= r.dense && n <= r.most {
		return r.readSpan(ctx, dst, part, first, n)
	}
	if l, listed := list(part, axis); listed && axis == r.dense-1 {
		return r.readRuns(ctx, dst, part, axis, l)
	}
	at := int64(1) // indices at a time
	if axis >= r.dense {
		at = max(1, r.most/(n/part.Count[axis]+1))
	}
	next := axis
	if at == 1 {
		next++
	}
	for from := int64(0); from < part.Count[axis]; from += at {
		some, place := cut(part, dst, axis, from, min(at, part.Count[axis]-from))
		if err := r.read(ctx, place, some, next); err != nil {
			return err
		}
	}
	return nil
}

// readRuns is read along an axis with a list that has some long gaps.
func (r *partReader) readRuns(ctx context.Context, dst strided.View, part strided.Part, axis int, l strided.List) error {
	near := r.gap/r.strides[axis] + 1 // indices, at most, from one to the next
	run := *r
	run.dense = axis
	for from := 0; from < len(l.At); {
		to := from + 1
		for to < len(l.At) && l.At[to]-l.At[to-1] <= near {
			to++
		}
		some, place := cut(part, dst, axis, int64(from), int64(to-from))
		if err := run.read(ctx, place, some, axis); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// cut returns count indices of a part along an axis, and their place in dst.
func cut(part strided.Part, dst strided.View, axis int, from, count int64) (strided.Part, strided.View) {
	part.Count = slices.Clone(part.Count)
	part.Count[axis] = count
	dst.Shape = part.Count
	if l, listed := list(part, axis); listed {
		part.Picks = &strided.Picks{Lists: slices.Clone(part.Picks.Lists)}
		part.Picks.Lists[axis] = strided.List{At: l.At[from : from+count], Place: l.Place[from : from+count], Base: l.Base}
		return part, dst
	}
	part.Start = slices.Clone(part.Start)
	part.Start[axis] += from * part.Step[axis]
	dst.Offset += from * dst.Strides[axis]
	return part, dst
}

// readSpan reads n bytes from first on, which contain the part, and moves its elements to
// dst.
func (r *partReader) readSpan(ctx context.Context, dst strided.View, part strided.Part, first, n int64) error {
	return r.withSpan(ctx, first, n, func(span strided.View) {
		span.Shape, span.Strides = part.Count, make([]int64, len(r.strides))
		for axis, stride := range r.strides {
			span.Strides[axis] = stride * part.Step[axis]
			if _, listed := list(part, axis); !listed {
				span.Offset += part.Start[axis] * stride
			}
		}
		if part.Picks == nil {
			strided.Copy(dst, span)
		} else {
			part.Picks.Gather(dst, span)
		}
	})
}

// withSpan reads n bytes of the chunk from first on, and calls use with a view of them
// whose offset 0 is the start of the chunk. If several reads are in flight, it may return
// before use is called, with the error of an earlier read.
func (r *partReader) withSpan(ctx context.Context, first, n int64, use func(span strided.View)) error {
	if r.flying == nil {
		return r.useSpan(ctx, first, n, use)
	}
	weight, err := r.room.Acquire(ctx, n)
	if err != nil {
		return err
	}
	r.flying.Go(func() error {
		defer r.room.Release(weight)
		return r.useSpan(ctx, first, n, use)
	})
	return nil
}

func (r *partReader) useSpan(ctx context.Context, first, n int64, use func(span strided.View)) error {
	b := budget.Get(n)
	defer b.Put()
	data, info, err := r.src.Read(ctx, store.Request{Range: store.Span(first, n)}, b.B)
	// Both conditions mean that the chunk does not have the size that its shape needs.
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && info.Size != r.total {
		if err != nil {
			return fmt.Errorf("%w: bytes: the chunk should have %s: %w", codec.ErrCorrupt, quantity.Count(r.total, "bytes"), err)
		}
		return fmt.Errorf("%w: bytes: the chunk has %s, but its shape needs %d", codec.ErrCorrupt, quantity.Count(info.Size, "bytes"), r.total)
	}
	if err != nil {
		return err
	}
	if err := r.Validate(data); err != nil {
		return err
	}
	if r.swaps || r.small {
		room := b.Bytes(n) // never the memory of the source
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
	use(strided.View{Data: data, Offset: -first, Size: r.size})
	return nil
}

// readPoints reads points. It reads those together whose distance is less than the cost
// of another request.
func (r *partReader) readPoints(ctx context.Context, dst strided.View, part strided.Part) error {
	points := slices.Clone(part.Picks.Points)
	slices.SortFunc(points, func(a, b strided.Point) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Place, b.Place)) })
	size := int64(r.size)
	for len(points) > 0 {
		n := 1
		// Join points whose distance costs less than another request.
		for n < len(points) && (points[n].At-points[n-1].At-1)*size <= r.gap && (points[n].At-points[0].At+1)*size <= r.most {
			n++
		}
		first, last := points[0].At*size, (points[n-1].At+1)*size
		one := strided.Part{Count: part.Count, Picks: &strided.Picks{Points: points[:n]}}
		err := r.withSpan(ctx, first, last-first, func(span strided.View) {
			span.Shape, span.Strides = r.shape, r.strides
			one.Picks.Gather(dst, span)
		})
		if err != nil {
			return err
		}
		points = points[n:]
	}
	return nil
}
