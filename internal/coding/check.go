// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// MostFaults is the largest number of faults of one chunk that a [codec.Check] lists.
const MostFaults = 1000

// AddFault adds a fault to c.
func AddFault(c *codec.Check, f codec.Fault) {
	if len(c.Faults) == MostFaults {
		c.More++
		return
	}
	c.Faults = append(c.Faults, f)
}

// AddInner adds the check of the inner chunk at index, whose bytes begin at off.
func AddInner(c *codec.Check, index []int64, off int64, of *codec.Check) {
	c.Dead += of.Dead
	for _, f := range of.Faults {
		f.Inner = append([][]int64{index}, f.Inner...)
		f.Off += off
		AddFault(c, f)
	}
	c.More += of.More
}

// Check looks for faults in a stored chunk of the given shape. In a shard it reads the
// index, and the indices of nested shards. It checks that they decode, and that every
// inner chunk lies within the shard and overlaps neither the index nor other inner
// chunks. If deep, it decodes all inner chunks, or the chunk if it has none.
//
// Faults are part of the result, not errors. It fails with [fs.ErrNotExist] if the chunk
// is not stored, and with [store.ErrConflict] if it is replaced during the check. If src
// is [Stored], the caller holds a core.
func (c *Chain) Check(ctx context.Context, w *Work, shape []int64, src Source, deep bool) (out *codec.Check, err error) {
	defer parallel.Recover(&err)
	if !c.Divided() {
		return c.checkWhole(ctx, w, shape, src, deep)
	}
	if !c.inOrder {
		shape, w = c.permuted(shape), c.permutedWork(w)
	}
	out, err = c.divider().Check(ctx, w, shape, src, deep)
	if err != nil {
		return nil, c.failSerial(err)
	}
	for i := range out.Faults {
		f := &out.Faults[i]
		f.Err = c.failSerial(f.Err)
		// Indices at deeper levels were converted by the chains of the inner chunks.
		if len(f.Inner) > 0 && !c.inOrder {
			f.Inner[0] = c.unpermuted(f.Inner[0])
		}
	}
	return out, nil
}

// checkWhole is Check for a chunk without inner chunks.
func (c *Chain) checkWhole(ctx context.Context, w *Work, shape []int64, src Source, deep bool) (*codec.Check, error) {
	n, ok := checked.Product(append([]int64{int64(Width(c.spec))}, shape...)...)
	if !ok {
		return nil, fmt.Errorf("%w: a chunk of shape %v", codec.ErrLimit, shape)
	}
	data, inMemory := src.(Stored)
	if c.CheckedInRanges() && (n > CheckRange && !inMemory || !deep) {
		return c.checkRanges(ctx, shape, n, src, deep)
	}
	if !deep {
		_, info, err := src.Read(ctx, store.Request{Range: store.Span(0, 0)}, nil)
		out := &codec.Check{Bytes: info.Size}
		if err == nil {
			err = c.CheckSize(ctx, w, shape, info.Size)
		}
		if most := c.MaxEncoded(shape, n); err == nil && info.Size > max(1, most) {
			err = c.TooLong(fmt.Errorf("%s, too long for its shape %v", quantity.Count(info.Size, "bytes"), shape))
		}
		if errors.Is(err, codec.ErrCorrupt) || errors.Is(err, codec.ErrLimit) {
			AddFault(out, codec.Fault{Len: out.Bytes, Err: err})
			err = nil
		}
		return out, err
	}
	if !inMemory {
		b := budget.Get(0)
		defer b.Put()
		var err error
		data, _, err = src.Read(ctx, store.Request{Limit: max(1, c.MaxEncoded(shape, n))}, b.B)
		if errors.Is(err, store.ErrTooLarge) {
			// No chunk of this shape is that long, so do not decode it.
			err = c.TooLong(fmt.Errorf("too long for its shape %v: %w", shape, err))
			return &codec.Check{Faults: []codec.Fault{{Err: err}}}, nil
		}
		if err != nil {
			return nil, err
		}
		w.Cores.Enter()
		defer w.Cores.Leave()
	}
	return c.checkStored(ctx, w, shape, n, data)
}

// CheckSize checks what the size of a stored chunk tells without its bytes: codecs of
// fixed size encode the shape to one size only, and an empty chunk can be decoded. Other
// sizes may be right. Errors wrap [codec.ErrCorrupt].
func (c *Chain) CheckSize(ctx context.Context, w *Work, shape []int64, size int64) error {
	if err := c.checkLength(shape, size); err != nil || size > 0 {
		return err
	}
	// A crash may leave an empty file, and most codecs refuse it. Ask them: some encode
	// elements to nothing.
	n, _ := checked.Product(append([]int64{int64(Width(c.spec))}, shape...)...)
	return c.tryDecode(ctx, w, shape, n, nil)
}

// checkStored decodes a chunk of n bytes of elements from data.
func (c *Chain) checkStored(ctx context.Context, w *Work, shape []int64, n int64, data []byte) (*codec.Check, error) {
	out := &codec.Check{Bytes: int64(len(data))}
	if err := c.tryDecode(ctx, w, shape, n, data); err != nil {
		if !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrLimit) {
			return nil, err
		}
		AddFault(out, codec.Fault{Len: out.Bytes, Err: err})
	}
	return out, nil
}

// tryDecode decodes a chunk of n bytes of elements, and drops the elements.
func (c *Chain) tryDecode(ctx context.Context, w *Work, shape []int64, n int64, data []byte) error {
	decode := func(room int64) error {
		decoded := budget.Get(n)
		defer decoded.Put()
		v := strided.View{Data: decoded.Bytes(n), Shape: shape, Size: Width(c.spec), Heap: HeapOf(c.spec).Limited(room)}
		defer v.Heap.Release()
		start := w.Begin()
		err := c.Decode(&v, data)
		if w.Coded(ctx, observe.Decode, n, start, err); err == nil && w.Notes != nil {
			w.Notes.Note(nil, v)
		}
		return err
	}
	if c.Varies() {
		return w.Grow(ctx, c, n, data, decode)
	}
	return decode(0)
}

// WithChecksums returns codecs in which every zstd says whether it stores checksums: as
// its configuration says, or else as on says. It looks into codecs that have a chain of
// their own, such as shards.
//
// A document without the member means no checksums. New arrays of format 3 have checksums
// unless the user opts out.
func WithChecksums(codecs []metadata.Extension, on bool) []metadata.Extension {
	return eachZstd(codecs, func(configuration []byte) ([]byte, error) {
		if _, ok, err := metadata.Attribute(configuration, checksum); ok || err != nil {
			return configuration, err
		}
		return metadata.SetAttribute(configuration, checksum, strconv.AppendBool(nil, on))
	})
}

// WithoutChecksums returns codecs in which every zstd says that it stores no checksums.
// They decode chunks that have them, and check them.
func WithoutChecksums(codecs []metadata.Extension) []metadata.Extension {
	return eachZstd(codecs, func(configuration []byte) ([]byte, error) {
		return metadata.SetAttribute(configuration, checksum, []byte("false"))
	})
}

const checksum = "checksum" // the member of zstd

// eachZstd returns codecs with another configuration of every zstd.
func eachZstd(codecs []metadata.Extension, change func(configuration []byte) ([]byte, error)) []metadata.Extension {
	list := slices.Clone(codecs)
	for i, e := range list {
		// The codec reports a configuration that cannot be read.
		if c, err := zstdConfiguration(e, change); err == nil {
			list[i].Configuration = c
		}
	}
	return list
}

// zstdConfiguration returns the configuration of a codec, with that of every zstd
// changed.
func zstdConfiguration(e metadata.Extension, change func(configuration []byte) ([]byte, error)) ([]byte, error) {
	switch {
	case e.Name == "zstd" && e.Configuration == nil:
		return change([]byte("{}"))
	case e.Name == "zstd":
		return change(e.Configuration)
	}
	if e.Configuration == nil {
		return nil, nil
	}
	// Shards have a chain of their own, and so may codecs that are not known here.
	raw, ok, err := metadata.Attribute(e.Configuration, "codecs")
	if err != nil || !ok {
		return e.Configuration, err
	}
	stored, err := chainOf(raw)
	if err != nil || stored == nil {
		return e.Configuration, err
	}
	changed := eachZstd(stored, change)
	if slices.EqualFunc(stored, changed, metadata.Extension.Equal) {
		return e.Configuration, nil // in its own spelling
	}
	list := []byte{'['}
	for i, c := range changed {
		if i > 0 {
			list = append(list, ',')
		}
		list = c.Append(list)
	}
	return metadata.SetAttribute(e.Configuration, "codecs", append(list, ']'))
}

// chainOf returns the codecs in a list of them, or nil if raw is not a list.
func chainOf(raw []byte) ([]metadata.Extension, error) {
	v, err := strictjson.Parse(raw, strictjson.Limits{Size: int64(len(raw))})
	if err != nil || v.Kind() != strictjson.Array {
		return nil, err
	}
	codecs := []metadata.Extension{}
	for _, m := range v.Elements() {
		e, err := metadata.ParseExtension(m.Raw(), metadata.Limits{})
		if err != nil {
			return nil, err
		}
		codecs = append(codecs, e)
	}
	return codecs, nil
}
