// SPDX-License-Identifier: Apache-2.0

package netcdf

import (
	"context"
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
	"unicode/utf8"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/hdf5"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/shuffle"
	"varve.dev/zarr/internal/strided"
)

// elements writes the elements of a variable: in chunks, or if they are few and cannot
// grow, one after the other.
func (h *hdf5File) elements(ctx context.Context, d *hdf5.Dataset, v *variable) error {
	n := checked.Capped(v.source.Shape...)
	e := &encoder{variable: v, file: h.Writer, dataset: d}
	if n == 0 && !v.isUnlimited() {
		return nil
	}
	small := checked.Capped(n, int64(d.Type.Size)) <= smallArray
	if len(v.dimensions) == 0 || small && !v.isUnlimited() || h.Deflate == 0 && !v.isUnlimited() && slices.Equal(v.chunk, v.source.Shape) {
		return e.contiguous(ctx)
	}
	d.Chunk = slices.Clone(v.chunk)
	if v.length > 0 {
		d.Chunk = append(d.Chunk, v.length)
	}
	if h.Deflate > 0 && v.kind != kindString {
		e.compress(h.Deflate)
	}
	return v.source.Tiles(ctx, v.chunk, func(box grid.Box, values export.Values) error { return e.box(ctx, box, values) })
}

// smallArray bounds the bytes of an array that has no chunks.
const smallArray = 16 << 10

// encoder encodes the elements of a variable.
type encoder struct {
	*variable
	file    *hdf5.Writer
	dataset *hdf5.Dataset
	deflate codec.BytesBytes // nil for none
	shuffle bool
	buffers sync.Pool // of *[]byte
}

// compress adds the filters of a level.
func (e *encoder) compress(level int) {
	size := e.kind.size()
	if e.shuffle = size > 1; e.shuffle {
		e.dataset.Filters = append(e.dataset.Filters, hdf5.Filter{ID: hdf5.FilterShuffle, Values: []uint32{uint32(size)}})
	}
	e.dataset.Filters = append(e.dataset.Filters, hdf5.Filter{ID: hdf5.FilterDeflate, Values: []uint32{uint32(level)}})
	e.deflate = numcodecs.Deflate(level)
}

// contiguous writes elements one after the other.
func (e *encoder) contiguous(ctx context.Context) error {
	var references []byte
	at, total := e.file.End(), int64(0)
	err := e.source.Blocks(ctx, func(values export.Values) error {
		var b []byte
		if e.kind == kindString {
			// The references must lie side by side, so all text comes first.
			heap := hdf5.NewHeap(e.file.End())
			for i := range values.Len() {
				references = heap.AppendText(references, e.text(values, i))
			}
			b = heap.Bytes()
		} else {
			b = e.convert(nil, values.Data)
		}
		total += int64(len(b))
		_, err := e.file.Append(b)
		e.source.Tell(int64(values.Len()) * export.Width(e.source.Type))
		return err
	})
	if e.kind == kindString && err == nil {
		total = int64(len(references))
		at, err = e.file.Append(references)
	}
	e.dataset.SetElements(at, total)
	return err
}

// box writes the chunks of a box, in their order. Several goroutines encode them.
func (e *encoder) box(ctx context.Context, box grid.Box, values export.Values) error {
	counts, first := make([]int64, len(box)), make([]int64, len(box))
	for i, in := range box {
		counts[i], first[i] = checked.CeilDiv(in.Len(), e.chunk[i]), in.Start/e.chunk[i]
	}
	g, ctx := parallel.New(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	turn := make(chan struct{})
	close(turn)
	var err error
	for index := range grid.BoxOf(counts).IndicesInto(make([]int64, len(box))) {
		if err = ctx.Err(); err != nil {
			break
		}
		number, part := int64(0), make(grid.Box, len(box))
		for i := range index {
			k := first[i] + index[i]
			number = number*checked.CeilDiv(e.source.Shape[i], e.chunk[i]) + k
			part[i] = grid.Interval{Start: k * e.chunk[i], Stop: min((k+1)*e.chunk[i], e.source.Shape[i])}
		}
		// A chunk is appended after those before it, so that equal data makes equal
		// files.
		before, after := turn, make(chan struct{})
		turn = after
		g.Go(func() error {
			defer close(after)
			return e.chunkOf(ctx, number, part, box, values, before)
		})
	}
	return g.Wait(err)
}

// chunkOf encodes a chunk, and appends it when its turn comes.
func (e *encoder) chunkOf(ctx context.Context, number int64, part, box grid.Box, values export.Values, turn <-chan struct{}) error {
	wait := func() error {
		select {
		case <-turn:
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if e.kind == kindString {
		if err := wait(); err != nil {
			return err
		}
		return e.textChunk(number, part, box, values)
	}
	raw := e.gather(part, box, values)
	defer e.release(raw)
	encoded := raw
	if e.filled(raw) {
		encoded = nil
	} else if e.deflate != nil {
		var err error
		if encoded, err = e.filter(raw); err != nil {
			return err
		}
		defer e.release(encoded)
	}
	if err := wait(); err != nil {
		return err
	}
	n, _ := part.Len()
	e.source.Tell(n * export.Width(e.source.Type))
	// A chunk of the fill value is not stored.
	if encoded == nil {
		return nil
	}
	if int64(len(encoded)) > hdf5.MaxChunk {
		return unfit("a chunk has %s after compression, and HDF5 has chunks below 4 GiB: export without compression (--deflate 0)", quantity.Count(len(encoded), "bytes"))
	}
	at, err := e.file.Append(encoded)
	if err == nil {
		e.dataset.AddChunk(number, at, len(encoded))
	}
	return err
}

// buffer returns a buffer of a capacity, which release takes back.
func (e *encoder) buffer(n int) []byte {
	if b, ok := e.buffers.Get().(*[]byte); ok && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]byte, n)
}

func (e *encoder) release(b []byte) { e.buffers.Put(&b) }

// gather returns a whole chunk in the bytes of the file. Beyond the array it has the fill
// value.
func (e *encoder) gather(part, box grid.Box, values export.Values) []byte {
	size := e.source.Type.Size()
	count := int(checked.Capped(e.chunk...))
	raw := e.buffer(count * size)
	inChunk, inBox := make(grid.Box, len(part)), make(grid.Box, len(part))
	lengths := make([]int64, len(part))
	for i, in := range part {
		inChunk[i] = grid.Interval{Stop: in.Len()}
		inBox[i] = grid.Interval{Start: in.Start - box[i].Start, Stop: in.Stop - box[i].Start}
		lengths[i] = box[i].Len()
	}
	to, from := strided.Contiguous(raw, e.chunk, size), strided.Contiguous(values.Data, lengths, size)
	if n, _ := part.Len(); n < int64(count) {
		if e.pad == nil {
			clear(raw)
		} else {
			strided.FillBytes(raw, e.pad)
		}
	}
	strided.Copy(to.Sub(inChunk), from.Sub(inBox))
	if !e.wider {
		swap(e.kind.dataType(), raw, binary.LittleEndian)
		return raw
	}
	wide := e.convert(e.buffer(0)[:0], raw)
	e.release(raw)
	return wide
}

// filled reports whether a chunk consists of the fill value.
func (e *encoder) filled(raw []byte) bool {
	fill := e.dataset.Fill
	if fill == nil {
		fill = make([]byte, e.kind.size())
	}
	return strided.AllEqual(raw, fill)
}

// filter returns a chunk after the filters.
func (e *encoder) filter(raw []byte) ([]byte, error) {
	src := raw
	if e.shuffle {
		src = e.buffer(len(raw))
		defer e.release(src)
		shuffle.Shuffle(src, raw, e.kind.size())
	}
	return e.deflate.Encode(e.buffer(0)[:0], src)
}

// convert appends elements in the bytes of the file.
func (e *encoder) convert(dst, data []byte) []byte {
	from := len(dst)
	dst = e.converted(dst, data)
	swap(e.kind.dataType(), dst[from:], binary.LittleEndian)
	return dst
}

// textChunk appends a chunk of references to text, after the text.
func (e *encoder) textChunk(number int64, part, box grid.Box, values export.Values) error {
	heap := hdf5.NewHeap(e.file.End())
	references := make([]byte, checked.Capped(e.chunk...)*hdf5.ReferenceBytes)
	for index := range part.IndicesInto(make([]int64, len(part))) {
		from, to := int64(0), int64(0)
		for i, at := range index {
			from = from*box[i].Len() + at - box[i].Start
			to = to*e.chunk[i] + at - part[i].Start
		}
		heap.AppendText(references[to*hdf5.ReferenceBytes:][:0], e.text(values, int(from)))
	}
	if _, err := e.file.Append(heap.Bytes()); err != nil {
		return err
	}
	at, err := e.file.Append(references)
	if err == nil {
		e.dataset.AddChunk(number, at, len(references))
	}
	n, _ := part.Len()
	e.source.Tell(n * export.Width(e.source.Type))
	return err
}

// text returns an element as UTF-8.
func (e *encoder) text(values export.Values, i int) []byte {
	elem := values.At(i)
	if values.Type.Kind() != dtype.KindUTF32 {
		return elem
	}
	var text []byte
	for ; len(elem) >= 4; elem = elem[4:] {
		r := rune(binary.NativeEndian.Uint32(elem))
		if r == 0 && !slices.ContainsFunc(elem, func(b byte) bool { return b != 0 }) {
			break // the rest is padding
		}
		text = utf8.AppendRune(text, r)
	}
	return text
}
