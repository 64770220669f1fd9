// SPDX-License-Identifier: Apache-2.0

// Package coding encodes and decodes parts of chunks. It defines the contracts between
// the engine, which moves elements, and the codecs that can code a part of a chunk
// without the rest.
//
// A [Chain] has the codecs of one array, and can use these codecs. It is made and
// checked once, when the array is opened. It reads one version of a stored chunk from a
// [Source]. An [Extract] is a part to decode, an [Edit] is a change to encode, and a
// [Revision] is the resulting chunk. [Work] limits the cores, bytes and requests of one
// call.
//
// The contracts are internal until a codec outside of this module needs them.
package coding

import (
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// Chain encodes and decodes chunks, and parts of chunks, of one array. It is safe for
// concurrent use.
type Chain struct {
	names  []string
	spec   codec.Spec
	specs  []codec.Spec // of the arrays before each array codec, and after the last
	arrays []codec.ArrayArray
	serial codec.ArrayBytes
	bytes  []codec.BytesBytes

	encoders []func(dst, src []byte) ([]byte, error) // of bytes

	adapt   bool               // codecs choose settings for each chunk
	plain   bool               // serial is transparent
	order   []int              // of axes in the encoded array, nil if arrays do more than reorder axes
	inOrder bool               // order equals the order of the decoded array
	shows   bool               // stored chunks contain their elements unchanged
	divides bool               // serial is a divider
	varies  bool               // elements differ in length, so that blocks have references
	limit   int64              // bytes of a decoded chunk, at most
	longer  longer             // estimates the length of elements that differ in length
	ranges  codec.RangeDecoder // decodes parts of chunks, or nil

	repairs   []Repair
	specified []metadata.Extension // the specified forms of the codecs, nil without repairs
}

// Repairs returns the repairs of codecs whose metadata does not follow its specification.
func (c *Chain) Repairs() []Repair { return slices.Clone(c.repairs) }

// Specified returns the specified forms of exts, from which the chain was made. Without
// repairs, it returns exts itself.
func (c *Chain) Specified(exts []metadata.Extension) []metadata.Extension {
	if c.specified == nil {
		return exts
	}
	return slices.Clone(c.specified)
}

// Names returns the names of the codecs in the order of the metadata.
func (c *Chain) Names() []string { return c.names }

// Codecs returns the codecs in the order of the metadata, bound to the array.
func (c *Chain) Codecs() []any {
	all := make([]any, len(c.names))
	for i := range all {
		all[i] = c.codec(i)
	}
	return all
}

// Order returns the axes of the decoded array in the order of the encoded array. It is
// nil if array-to-array codecs do more than reorder axes.
func (c *Chain) Order() []int { return slices.Clone(c.order) }

// Plain reports whether stored bytes are the elements of a chunk in C order and host byte
// order, so that there is nothing to decode.
func (c *Chain) Plain() bool {
	// Stored bools may be invalid, so their bytes are always checked.
	return c.plain && len(c.bytes) == 0 && c.inOrder && !packed.HasBool(c.spec.Type)
}

// InOrder reports whether [Chain.Decode] sets strides of C order.
func (c *Chain) InOrder() bool { return c.inOrder || c.order == nil }

// HasChecksum reports whether a checksum guards the elements: that of a codec, or, in
// shards, that of each inner chunk. Decoding then finds damage that changes them.
func (c *Chain) HasChecksum() bool {
	return isGuarded(c.serial) || slices.ContainsFunc(c.bytes, func(b codec.BytesBytes) bool { return isGuarded(b) })
}

// Lossless reports whether decoding gives exactly the elements that were encoded, as far
// as the codecs tell.
func (c *Chain) Lossless() bool {
	l, ok := c.serial.(interface{ Lossless() bool })
	return ok && l.Lossless() && c.order != nil
}

func isGuarded(made any) bool {
	if _, ok := made.(codec.Trimmer); ok {
		return true
	}
	g, ok := made.(codec.Guarded)
	return ok && g.Guarded()
}

// Buffers returns the number of buffers, each about as large as a decoded chunk, that
// decoding a chunk or encoding one in C order needs at once. It counts neither the source
// nor the destination.
func (c *Chain) Buffers() int {
	n := 0
	for _, b := range c.bytes {
		// A trimmer works in place. TextWeight has the buffers for text.
		if _, trims := b.(codec.Trimmer); !trims && !c.varies {
			n++
		}
	}
	if c.plain && n > 0 {
		n-- // the last step writes to the destination
	}
	// A step needs only the buffers of its source and its destination.
	n = min(n, 2)
	if c.order == nil {
		n += min(2, len(c.arrays)) * c.widest()
	} else if !c.inOrder {
		n++
	}
	if c.varies {
		n++ // offsets, while they are turned into references; TextWeight has the elements
	}
	return n
}

// widest returns the largest width of elements between array codecs, as a multiple of the
// width of decoded elements, rounded up.
func (c *Chain) widest() int {
	n := 1
	for _, s := range c.specs {
		n = max(n, (Width(s)+Width(c.spec)-1)/max(1, Width(c.spec)))
	}
	return n
}

// MaxEncoded returns the largest size in bytes of a stored chunk of the given shape. A
// longer chunk is corrupt. decoded is the number of bytes of its elements.
func (c *Chain) MaxEncoded(shape []int64, decoded int64) int64 {
	s := newScratch()
	defer s.free()
	serial := c.serialShape(s, shape)
	// The length of the elements is unknown until they are decoded.
	if c.varies {
		decoded = c.limit
	} else if c.order == nil {
		decoded = c.serialBytes(serial, decoded)
	}
	return c.most(serial, decoded, len(c.bytes))
}

// gaps is the largest number of dead bytes in a shard that is compressed as a whole.
const gaps = 64 << 10

// most returns the largest size in bytes to which the array-to-bytes codec and the first
// n bytes codecs encode an array of the given shape.
func (c *Chain) most(shape []int64, decoded int64, n int) int64 {
	size, _ := c.serial.EncodedSize(shape, decoded)
	if c.divides && len(c.bytes) > 0 {
		size += min(size, gaps)
	}
	for _, b := range c.bytes[:n] {
		size = b.MaxEncoded(size)
	}
	return size
}

// serialShape returns the shape in which chunks of the given shape reach the
// array-to-bytes codec. It may be in the memory of s.
func (c *Chain) serialShape(s *scratch, shape []int64) []int64 {
	switch {
	case c.inOrder:
		return shape
	case c.order != nil:
		s.numbers = c.appendPermuted(s.numbers[:0], shape)
		return s.numbers
	}
	if err := c.shapes(s, shape); err != nil {
		return shape // coding the chunk reports the error
	}
	return s.shapes[len(c.arrays)]
}

// serialBytes returns the bytes of an array that reaches the array-to-bytes codec, from
// its shape and the bytes of the decoded array.
func (c *Chain) serialBytes(serial []int64, decoded int64) int64 {
	n, ok := blockBytes(serial, Width(c.specs[len(c.arrays)]))
	if !ok {
		return decoded // coding the chunk reports the error
	}
	return n
}

// setStrides sets the strides of a decoded chunk. They undo the order of axes if codecs
// only reorder axes, and otherwise are those of C order.
func (c *Chain) setStrides(v *strided.View) {
	if c.InOrder() {
		v.Strides = strided.AppendStrides(v.Strides[:0], v.Shape, v.Size)
		return
	}
	v.Strides = append(v.Strides[:0], v.Shape...)
	step := int64(v.Size)
	// The last axis of the encoded array varies fastest.
	for i := len(c.order) - 1; i >= 0; i-- {
		v.Strides[c.order[i]] = step
		step *= v.Shape[c.order[i]]
	}
}

// appendPermuted appends the numbers of axes in the order of the encoded array to dst.
func (c *Chain) appendPermuted(dst, shape []int64) []int64 {
	for _, axis := range c.order {
		dst = append(dst, shape[axis])
	}
	return dst
}

// reordered returns v with its axes in the order of the encoded array. Its shape and
// strides are appended to room.
func (c *Chain) reordered(v strided.View, room []int64) strided.View {
	for _, axis := range c.order {
		room = append(room, v.Shape[axis])
	}
	for _, axis := range c.order {
		room = append(room, v.Strides[axis])
	}
	v.Shape, v.Strides = room[:len(c.order):len(c.order)], room[len(c.order):]
	return v
}

// gather returns the elements of v in C order: its own bytes if they are in C order,
// otherwise a copy in a buffer that the caller puts back.
func gather(v strided.View) ([]byte, *budget.Buffer) {
	if data, ok := v.Bytes(); ok {
		return data, nil
	}
	b := budget.Get(bytesOf(v))
	b.B = appendElements(b.B, v)
	return b.B, b
}

// appendElements appends the elements of v in C order to dst.
func appendElements(dst []byte, v strided.View) []byte {
	if data, ok := v.Bytes(); ok {
		return append(dst, data...)
	}
	from, n := len(dst), int(bytesOf(v))
	dst = slices.Grow(dst, n)[:from+n]
	var room [8]int64
	strided.Move(strided.View{Data: dst[from:], Shape: v.Shape, Strides: strided.AppendStrides(room[:0], v.Shape, v.Size), Size: v.Size}, v)
	return dst
}

// bytesOf returns the bytes of all elements of v.
func bytesOf(v strided.View) int64 {
	n := int64(v.Size)
	for _, l := range v.Shape {
		n *= l
	}
	return n
}

// encodeSteps encodes src with the first n bytes codecs. It returns the result and its
// buffer. Each step puts back the buffer of its source, the first puts back own.
func (c *Chain) encodeSteps(src []byte, own *budget.Buffer, n int) ([]byte, *budget.Buffer, error) {
	for i, b := range c.bytes[:n] {
		next := budget.Get(b.MaxEncoded(int64(len(src))))
		out, err := c.encoders[i](next.B, src)
		// The source of a step is free as soon as it is encoded.
		own.Put()
		if own = next; err != nil {
			return nil, own, c.failBytes(i, err)
		}
		src = out
	}
	return src, own, nil
}

func (c *Chain) fail(place int, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Codec: c.names[place], Place: place, Err: err}
}

// Fixed returns the largest size in bytes of a stored chunk with the given shape and n
// bytes of elements. fixed reports whether every such chunk has exactly this size.
func (c *Chain) Fixed(shape []int64, n int64) (size int64, fixed bool) {
	if c.varies {
		return c.MaxEncoded(shape, n), false
	}
	s := newScratch()
	defer s.free()
	serial := c.serialShape(s, shape)
	if c.order == nil {
		n = c.serialBytes(serial, n)
	}
	size, fixed = c.serial.EncodedSize(serial, n)
	for _, b := range c.bytes {
		// Only checksums keep a fixed length fixed.
		if _, trims := b.(codec.Trimmer); !trims {
			fixed = false
		}
		size = b.MaxEncoded(size)
	}
	return size, fixed
}

func (c *Chain) failSerial(err error) error       { return c.fail(len(c.arrays), err) }
func (c *Chain) failBytes(i int, err error) error { return c.fail(len(c.arrays)+1+i, err) }

// codec returns codec i in the order of the metadata.
func (c *Chain) codec(i int) any {
	switch n := len(c.arrays); {
	case i < n:
		return c.arrays[i]
	case i == n:
		return c.serial
	default:
		return c.bytes[i-n-1]
	}
}

// blockBytes returns the bytes of an array. ok is false if they overflow an int64.
func blockBytes(shape []int64, width int) (int64, bool) {
	n, ok := checked.Product(shape...)
	if !ok {
		return 0, false
	}
	return checked.Mul(n, int64(width))
}

// shapes sets s.shapes to the shapes before each array codec and after the last.
func (c *Chain) shapes(s *scratch, shape []int64) (err error) {
	s.numbers, s.shapes = s.numbers[:0], append(s.shapes[:0], shape)
	for i, a := range c.arrays {
		from := len(s.numbers)
		if s.numbers, err = a.EncodedShape(s.numbers, s.shapes[i]); err != nil {
			return c.fail(i, err)
		}
		s.shapes = append(s.shapes, s.numbers[from:len(s.numbers):len(s.numbers)])
	}
	return nil
}

// permuted returns numbers of axes in the order of the encoded array.
func (c *Chain) permuted(numbers []int64) []int64 {
	p := make([]int64, len(numbers))
	for i, axis := range c.order {
		p[i] = numbers[axis]
	}
	return p
}

// unpermuted returns numbers of axes in the order of the decoded array.
func (c *Chain) unpermuted(numbers []int64) []int64 {
	p := make([]int64, len(numbers))
	for i, axis := range c.order {
		p[axis] = numbers[i]
	}
	return p
}

// permutedPart returns a part of a chunk of the given shape as a part of the encoded
// array.
func (c *Chain) permutedPart(p strided.Part, shape []int64) strided.Part {
	return strided.Part{
		Start: c.permuted(p.Start), Step: c.permuted(p.Step), Count: c.permuted(p.Count), Picks: p.Picks.Permuted(c.order, shape),
	}
}

// permutedBlock returns a view of the memory of a part with its axes in the order of the
// encoded array. If the part consists of points, the memory has other axes, which stay.
func (c *Chain) permutedBlock(p strided.Part, v strided.View) strided.View {
	if p.Picks != nil && p.Picks.Points != nil {
		return v
	}
	return c.permutedView(v)
}

// permutedView returns a view of the same elements with their axes in the order of the
// encoded array.
func (c *Chain) permutedView(v strided.View) strided.View {
	v.Shape, v.Strides = c.permuted(v.Shape), c.permuted(v.Strides)
	return v
}

// ErrRoom means that elements of variable length need more bytes than their heap may hold
// ([strided.Heap.Room]). The stored bytes are fine: a caller that can give more room
// decodes them again.
var ErrRoom = errors.New("no room")

// Error says which codec of a chain failed, and why.
type Error struct {
	Codec string // name in the metadata
	Place int    // position in the chain, from 0
	Err   error
}

// Error returns the place and name of the codec, and the message of Err.
func (e *Error) Error() string {
	return fmt.Sprintf("codec %d (%s): %v", e.Place, e.Codec, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Chains whose array codecs do more than reorder axes take a block for each such codec.

// encodeBlocks encodes src with the array codecs. The caller puts the buffer back.
func (c *Chain) encodeBlocks(s *scratch, src strided.View) (codec.Block, *budget.Buffer, error) {
	if err := c.shapes(s, src.Shape); err != nil {
		return codec.Block{}, nil, err
	}
	data, free := gather(src)
	block := codec.Block{Shape: src.Shape, Data: data, Heap: src.Heap}
	for i, a := range c.arrays {
		next, to, err := c.block(s.shapes[i+1], i+1)
		if err == nil {
			next.Heap = src.Heap
			s.block = next
			err = c.fail(i, a.Encode(&s.block, block))
		}
		// The source of this step is no longer needed.
		free.Put()
		free = to
		if err != nil {
			return codec.Block{}, free, err
		}
		block = next
	}
	return block, free, nil
}

// block returns memory for an array of the given shape after the first n array codecs,
// and the buffer that the caller puts back.
func (c *Chain) block(shape []int64, n int) (codec.Block, *budget.Buffer, error) {
	size, ok := blockBytes(shape, Width(c.specs[n]))
	if !ok || size > c.mostBetween() {
		return codec.Block{}, nil, c.fail(max(0, n-1), fmt.Errorf("%w: an encoded array of shape %v", codec.ErrLimit, shape))
	}
	b := budget.Get(size)
	return codec.Block{Shape: shape, Data: b.Bytes(size)}, b, nil
}

// mostBetween returns the largest size in bytes of an array between two codecs. It may
// exceed that of a chunk, because some codecs widen elements.
func (c *Chain) mostBetween() int64 { return c.limit * int64(c.widest()) }
