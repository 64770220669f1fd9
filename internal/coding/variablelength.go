// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"errors"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
)

// Elements that differ in length, such as text, are references to a heap inside a chain
// and wherever they are moved. Only array-to-bytes codecs see the elements themselves.

// decodeVarying decodes stored bytes into references, for which dst has memory, and adds
// the elements to its heap. It returns [ErrRoom] if the heap has too little room.
func (c *Chain) decodeVarying(s *scratch, dst codec.Block, src []byte) error {
	count, ok := checked.Product(dst.Shape...)
	if !ok || !c.divides && count > int64(len(dst.Data)) {
		return c.failSerial(fmt.Errorf("%w: an array of shape %v", codec.ErrLimit, dst.Shape))
	}
	room := c.room(dst.Heap)
	first := c.expected(src)
	if room.left < c.limit {
		first = room.left // the caller limited the heap to what it expects
	}
	serial, free, err := c.growing(dst.Shape, src, room, first)
	defer func() { free.Put() }()
	if err != nil {
		return err
	}
	s.block = dst
	// Codecs with inner chunks work with references.
	if c.divides {
		return c.failSerial(c.serial.Decode(&s.block, serial))
	}
	var lent *budget.Buffer
	s.block = codec.Block{Shape: dst.Shape, Offsets: s.offsets[:0]}
	if in, ok := c.serial.(inPlaceDecoder); ok && fills(free, serial) {
		err = in.DecodeInPlace(&s.block, serial)
		lent, free = free, nil // the heap keeps it
	} else if int64(len(serial)) > room.left+lengthBytes*(count+1) {
		err = tooMuchText(int64(len(serial)), room, c.limit)
	} else {
		err = c.serial.Decode(&s.block, serial)
	}
	// The next chunk is expected to have about the same ratio.
	c.longer.saw(int64(len(serial)), int64(len(src)))
	block := s.block
	if s.offsets = block.Offsets; err != nil {
		return c.failSerial(err)
	}
	if err := checkOffsets(block, count); err != nil {
		return c.failSerial(err)
	}
	if n := int64(len(block.Data)); n > room.left || !dst.Heap.Add(dst.Data, block.Data, block.Offsets) {
		return c.failSerial(tooMuchText(n, room, c.limit))
	}
	if lent != nil {
		dst.Heap.Lend(lent)
	}
	return nil
}

// room is the number of bytes that elements may have, and the limit that sets it.
type room struct{ left, most int64 }

// room returns the room for elements of one chunk in a heap.
func (c *Chain) room(h *strided.Heap) room {
	left, most := h.Room()
	if left >= c.limit {
		return room{c.limit, c.limit}
	}
	return room{left, most}
}

// tooMuchText is the error for elements of n bytes that do not fit: [ErrRoom] if a
// caller could give more room, [codec.ErrLimit] if a chunk may not have that many bytes.
func tooMuchText(n int64, r room, limit int64) error {
	if r.left < limit {
		return &roomError{n, r}
	}
	return fmt.Errorf("%w: elements of about %s, a chunk may have %d ("+remedy.LimitsChunk+")", codec.ErrLimit, quantity.Count(n, "bytes"), limit)
}

// TooLong adds to err what a stored chunk with more bytes than [Chain.MaxEncoded]
// means: it is damaged, or its elements, which differ in length, exceed the limit of a
// chunk.
func (c *Chain) TooLong(err error) error {
	if c.varies {
		return fmt.Errorf("%w: %w ("+remedy.LimitsChunk+")", codec.ErrLimit, err)
	}
	return fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
}

// roomError is an [ErrRoom] with the bytes of the elements and the room that they
// had.
type roomError struct {
	bytes int64
	room
}

func (e *roomError) Error() string {
	return fmt.Sprintf("the elements have %s or more, but there is room for %d", quantity.Count(e.bytes, "bytes"), e.left)
}

func (e *roomError) Is(target error) bool { return target == ErrRoom }

// CheckRoom returns an [ErrRoom] if a heap has more bytes than its limit. The
// caller that set the limit may raise it, as [Chain.Grow] does.
func (c *Chain) CheckRoom(h *strided.Heap) error {
	if !h.Full() {
		return nil
	}
	_, most := h.Room()
	return &roomError{most + 1, room{0, most}}
}

// leastInPlace is the smallest buffer, in bytes, that may become a page of a heap.
// Shorter buffers go back to their pool.
const leastInPlace = 256 << 10

// fills reports whether data is in the buffer and uses at least two thirds of it, so that
// a heap may keep the whole buffer.
func fills(b *budget.Buffer, data []byte) bool {
	if b == nil || len(data) < leastInPlace || len(data) < cap(b.B)/3*2 {
		return false
	}
	return &data[0] == &b.B[:1][0]
}

// likelySize estimates the encoded bytes of elements that differ in length.
func likelySize(v strided.View) int64 {
	n := int64(1)
	for _, l := range v.Shape {
		n *= l
	}
	return v.ElementBytes() + lengthBytes*n + 64
}

// checkOffsets returns an error unless the offsets of a block are those of count
// elements.
func checkOffsets(b codec.Block, count int64) error {
	if int64(len(b.Offsets)) != count+1 {
		return fmt.Errorf("%w: %s, but its shape %d needs %d", codec.ErrCorrupt, quantity.Count(len(b.Offsets)-1, "elements"), b.Shape, count)
	}
	before := int64(0)
	for _, o := range b.Offsets {
		if o < before || o > int64(len(b.Data)) {
			return fmt.Errorf("%w: an element ends at byte %d of %d, the one before at %d", codec.ErrCorrupt, o, len(b.Data), before)
		}
		before = o
	}
	return nil
}

// growing decodes the bytes codecs if the decoded length is unknown. It begins with
// memory for elements of first bytes, and doubles it while that is too little. The
// largest memory is that for elements that fill the room.
func (c *Chain) growing(shape []int64, src []byte, room room, first int64) ([]byte, *budget.Buffer, error) {
	whole := min(c.most(shape, room.left, 0), 2*c.limit)
	if c.divides {
		whole = min(whole, max(2*room.left, leastText))
	}
	if !c.divides {
		first = c.most(shape, first, 0)
	}
	for most := min(first, whole); ; most = min(2*most, whole) {
		out, free, err := c.decodeWithin(src, most)
		switch {
		case !errors.Is(err, codec.ErrTooLong):
			return out, free, err
		case most == whole && room.left < c.limit:
			return nil, nil, c.failSerial(&roomError{most, room})
		case most == whole:
			// The bytes may be sound, so this is no codec.ErrTooLong, which is a
			// codec.ErrCorrupt.
			return nil, nil, c.failSerial(fmt.Errorf("%w: a chunk decodes to more than %s ("+remedy.LimitsChunk+")", codec.ErrLimit, quantity.Count(most, "bytes")))
		}
		if most < leastInPlace { // a larger buffer in the pool would hardly be used again
			free.Put()
		}
	}
}

// leastText is the smallest size in bytes to try first for a chunk of unknown length.
const leastText = 64 << 10

// leastClaim is the smallest size in bytes to try for a chunk that states its length. The
// statement covers one frame, and more frames may follow.
const leastClaim = 512

// expected returns the number of bytes that src decodes to: the stated length, or an
// estimate.
func (c *Chain) expected(src []byte) int64 {
	for i := len(c.bytes) - 1; i >= 0; i-- {
		if t, ok := c.bytes[i].(codec.Trimmer); ok {
			out, err := t.Trim(src)
			if err != nil {
				break // decoding reports the error
			}
			src = out
			continue
		}
		// Only the codec that is decoded last states the length of the elements.
		if claimer, ok := c.bytes[i].(codec.Claimer); ok && i == 0 {
			if n, ok := claimer.Claim(src); ok {
				return max(leastClaim, n)
			}
		}
		return max(leastText, c.longer.times(int64(len(src))))
	}
	return max(1, int64(len(src)))
}

// Varies reports whether elements differ in length.
func (c *Chain) Varies() bool { return c.varies }

// Grow calls decode with room for the expected bytes of the elements of a stored chunk.
// While decode fails with [ErrRoom], Grow doubles the room, up to the limit of a
// chunk. decode limits a heap to the room, which inner chunks may share. If a
// [ErrRoom] comes from another limit, such as that of a block or an enclosing
// chunk, Grow returns it. The caller that set this limit can then raise it.
func (c *Chain) Grow(src []byte, decode func(room int64) error) error {
	for room := min(c.limit, c.expected(src)); ; room = min(c.limit, 2*room) {
		err := decode(room)
		var full *roomError
		if !errors.As(err, &full) || full.most != room || room == c.limit {
			return err
		}
	}
}

// TextWeight returns the bytes of memory that decoding elements of room bytes takes,
// besides their references.
func (c *Chain) TextWeight(room int64) int64 {
	n := int64(1) // the heap
	for _, b := range c.bytes {
		if _, trims := b.(codec.Trimmer); !trims {
			n++
		}
	}
	return min(n, 3) * room
}

// decodeWithin decodes the bytes codecs. The result has at most most bytes.
func (c *Chain) decodeWithin(src []byte, most int64) ([]byte, *budget.Buffer, error) {
	var last *budget.Buffer
	for i := len(c.bytes) - 1; i >= 0; i-- {
		if t, ok := c.bytes[i].(codec.Trimmer); ok {
			out, err := t.Trim(src)
			if err != nil {
				return nil, last, c.failBytes(i, err)
			}
			src = out
			continue
		}
		// Before the last step, the bytes are still encoded and may be longer.
		room := most
		for _, b := range c.bytes[:i] {
			room = b.MaxEncoded(room)
		}
		out, to, err := c.decodeStep(i, src, room)
		last.Put()
		last = to
		if err != nil {
			return nil, last, c.failBytes(i, err)
		}
		src = out
	}
	return src, last, nil
}

// decodeStep decodes bytes codec i, whose result has at most room bytes. Except in the
// last step, the result is still encoded and usually far shorter, so decodeStep begins
// with less memory.
func (c *Chain) decodeStep(i int, src []byte, room int64) ([]byte, *budget.Buffer, error) {
	first := room
	if i > 0 {
		first = min(room, max(leastText, firstTry*int64(len(src))))
	}
	for most := first; ; most = min(firstTry*most, room) {
		to := budget.Get(most)
		out, err := c.bytes[i].Decode(to.Bytes(most)[:0:most], src, most)
		if err == nil && int64(len(out)) > most {
			err = fmt.Errorf("%w: %s, at most %d are possible", codec.ErrTooLong, quantity.Count(len(out), "bytes"), most)
		}
		if most == room || !errors.Is(err, codec.ErrTooLong) {
			return out, to, err
		}
		to.Put()
	}
}

// encodeVarying encodes the elements that a block refers to, with a codec that has no
// inner chunks, and appends the result to dst.
func (c *Chain) encodeVarying(s *scratch, dst []byte, b codec.Block) ([]byte, error) {
	if serial, ok := c.serial.(heapEncoder); ok {
		return serial.EncodeHeap(dst, b)
	}
	s.length[0], s.stride[0] = int64(len(b.Data))/strided.RefSize, strided.RefSize
	v := strided.View{Data: b.Data, Shape: s.length[:], Strides: s.stride[:], Size: strided.RefSize, Heap: b.Heap}
	data := budget.Get(v.ElementBytes())
	defer data.Put()
	data.B, s.offsets = v.AppendElements(data.B, append(s.offsets[:0], 0))
	return c.serial.Encode(dst, codec.Block{Shape: b.Shape, Data: data.B, Offsets: s.offsets})
}

// inPlaceDecoder is the power of a [codec.ArrayBytes] codec of elements that differ in
// length to decode them within the memory of their encoded form.
type inPlaceDecoder interface {
	// DecodeInPlace is Decode with empty data, which it builds from the memory of src.
	// The caller must not use src again.
	DecodeInPlace(dst *codec.Block, src []byte) error
}

// heapEncoder is the power of a [codec.ArrayBytes] codec of elements that differ in
// length to encode them from their heap, so that the chain need not copy them to a row
// first.
type heapEncoder interface {
	// EncodeHeap appends to dst what Encode does. src has references as its data, and a
	// heap in place of offsets.
	EncodeHeap(dst []byte, src codec.Block) ([]byte, error)
}

// The limits of a [codec.Environment] that does not set them.
const (
	DefaultChunk = 1 << 30 // bytes of a decoded chunk
	DefaultInner = 1 << 24 // inner chunks of a shard; their index has 256 MiB
)

// Element returns the fill value of a spec as one element of [codec.Block.Data].
func Element(s codec.Spec) []byte {
	if s.Type.Variable() {
		return strided.NewHeap(s.Fill).Fill()
	}
	return s.Fill
}

// HeapOf returns an empty heap for the elements of a block, or nil if they have one
// width.
func HeapOf(s codec.Spec) *strided.Heap {
	if s.Type.Variable() {
		return strided.NewHeap(s.Fill)
	}
	return nil
}

// Width returns the bytes of an element in [codec.Block.Data]: the size of its type, or
// of a reference if elements differ in length.
func Width(s codec.Spec) int {
	if s.Type.Variable() {
		return strided.RefSize
	}
	return s.Type.Size()
}
