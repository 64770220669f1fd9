package codec

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/strided"
)

// Elements that differ in length, as text does: inside of a chain, and wherever else they
// are moved about, they are references to a heap; codecs that turn them into bytes see
// the elements themselves.

// decodeVarying turns stored bytes into references, for which dst has room, and adds what
// they refer to to its heap. Elements that take more bytes than the heap has room for are
// [ErrRoom].
func (c *Chain) decodeVarying(s *scratch, dst Block, src []byte) error {
	count, ok := checked.Product(dst.Shape...)
	if !ok || !c.divides && count > int64(len(dst.Data)) {
		return c.failSerial(fmt.Errorf("%w: an array of shape %v", ErrLimit, dst.Shape))
	}
	room := c.room(dst.Heap)
	first := c.expected(src)
	if room.left < c.limit {
		first = room.left // of which somebody thinks that it is enough
	}
	serial, free, err := c.growing(dst.Shape, src, room, first)
	defer func() { free.Put() }()
	if err != nil {
		return err
	}
	s.block = dst
	if c.divides {
		return c.failSerial(c.serial.Decode(&s.block, serial))
	}
	var lent *budget.Buffer
	s.block = Block{Shape: dst.Shape, Offsets: s.offsets[:0]}
	if in, ok := c.serial.(Overwriter); ok && fills(free, serial) {
		err = in.DecodeInPlace(&s.block, serial)
		lent, free = free, nil // the heap keeps it
	} else if int64(len(serial)) > room.left+lengthBytes*(count+1) {
		err = tooMuchText(int64(len(serial)), room, c.limit)
	} else {
		err = c.serial.Decode(&s.block, serial)
	}
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

// room is how many bytes elements may have, and the limit that leaves so few.
type room struct{ left, most int64 }

// room returns the room for elements of a chunk in a heap.
func (c *Chain) room(h *strided.Heap) room {
	left, most := h.Room()
	if left >= c.limit {
		return room{c.limit, c.limit}
	}
	return room{left, most}
}

// tooMuchText says that elements of n bytes do not fit into the room, which others may
// get more of unless it is the limit.
func tooMuchText(n int64, r room, limit int64) error {
	if r.left < limit {
		return &roomError{n, r}
	}
	return fmt.Errorf("%w: elements of about %d bytes, a chunk may have %d (Limits.Chunk)", ErrLimit, n, limit)
}

// roomError is the [ErrRoom] of elements that have more bytes than there was room for.
type roomError struct {
	bytes int64
	room
}

func (e *roomError) Error() string {
	return fmt.Sprintf("the elements have %d bytes or more, there is room for %d", e.bytes, e.left)
}

func (e *roomError) Is(target error) bool { return target == ErrRoom }

// CheckRoom returns an [ErrRoom] where a heap has more bytes than there are to be in it:
// who limited it may give it more room, as [Chain.Grow] does.
func CheckRoom(h *strided.Heap) error {
	if !h.Full() {
		return nil
	}
	_, most := h.Room()
	return &roomError{most + 1, room{0, most}}
}

// leastInPlace is how many bytes a buffer has that may become a page of a heap. Shorter
// ones are used again.
const leastInPlace = 256 << 10

// fills reports whether data is in the buffer and takes so much of it that a heap may
// keep all of it.
func fills(b *budget.Buffer, data []byte) bool {
	if b == nil || len(data) < leastInPlace || len(data) < cap(b.B)/3*2 {
		return false
	}
	return &data[0] == &b.B[:1][0]
}

// likelySize returns about how many bytes elements that differ in length take in a row.
func likelySize(v strided.View) int64 {
	n := int64(1)
	for _, l := range v.Shape {
		n *= l
	}
	return v.ElementBytes() + lengthBytes*n + 64
}

// lengthBytes is how many bytes it takes to tell how long an element is.
const lengthBytes = 4

// checkOffsets refuses a block that does not have so many elements.
func checkOffsets(b Block, count int64) error {
	if int64(len(b.Offsets)) != count+1 {
		return fmt.Errorf("%w: %d elements, its shape %d takes %d", ErrCorrupt, len(b.Offsets)-1, b.Shape, count)
	}
	before := int64(0)
	for _, o := range b.Offsets {
		if o < before || o > int64(len(b.Data)) {
			return fmt.Errorf("%w: an element ends at byte %d of %d, the one before at %d", ErrCorrupt, o, len(b.Data), before)
		}
		before = o
	}
	return nil
}

// firstTry is how many times as long as its encoded form a chunk of unknown length is
// taken to be at first.
const firstTry = 8

// growing undoes the bytes codecs where nobody knows how many bytes come out: it tries
// with twice as many each time, up to what elements that fill the room take. Of them it
// expects first.
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
		case !errors.Is(err, ErrTooLong):
			return out, free, err
		case most == whole && room.left < c.limit:
			return nil, nil, c.failSerial(&roomError{most, room})
		case most == whole:
			return nil, nil, fmt.Errorf("%w: %w (Limits.Chunk)", ErrLimit, err)
		}
		if most < leastInPlace { // a larger one would wait in vain for another chunk that is longer than expected
			free.Put()
		}
	}
}

// leastText is how many bytes a chunk of unknown length is taken to have at least, at
// first.
const leastText = 64 << 10

// leastClaim is how many bytes are tried at least of a chunk that says how long it is:
// more frames may follow the first.
const leastClaim = 512

// expected returns about how many bytes the bytes codecs make of src: what it claims to
// be, or a guess.
func (c *Chain) expected(src []byte) int64 {
	for i := len(c.bytes) - 1; i >= 0; i-- {
		if t, ok := c.bytes[i].(Trimmer); ok {
			out, err := t.Trim(src)
			if err != nil {
				break // decoding says so
			}
			src = out
			continue
		}
		if claimer, ok := c.bytes[i].(Claimer); ok && i == 0 {
			if n, ok := claimer.Claim(src); ok {
				return max(leastClaim, n)
			}
		}
		return max(leastText, c.longer.times(int64(len(src))))
	}
	return max(1, int64(len(src)))
}

// longer is how many times as long as stored the elements of the chunk were that was
// decoded last, in units of 1/256. The zero value has seen none.
type longer struct{ atomic.Int64 }

// times returns how long the elements of a chunk of n stored bytes probably are, and a
// little more.
func (l *longer) times(n int64) int64 {
	ratio := l.Load()
	if ratio == 0 {
		return firstTry * n
	}
	more, ok := checked.Mul(n, ratio+ratio/8)
	if !ok {
		return math.MaxInt64
	}
	return more>>8 + lengthBytes
}

// saw notes what the elements of a chunk have been.
func (l *longer) saw(decoded, stored int64) {
	if more, ok := checked.Mul(decoded, 1<<8); ok && stored > 0 {
		l.Store(more/stored + 1)
	}
}

// Varies reports whether elements differ in length.
func (c *Chain) Varies() bool { return c.varies }

// Grow calls decode with room for the elements of a stored chunk as long as they probably
// are, and again with twice the room as long as it fails for want of it ([ErrRoom]), up
// to the limit of a chunk. decode limits a heap to that room, which may be shared by
// inner chunks. Grow gives up where another limit left no room, as that of a block or of
// the chunk around this one: whoever set it may raise it.
func (c *Chain) Grow(src []byte, decode func(room int64) error) error {
	for room := min(c.limit, c.expected(src)); ; room = min(c.limit, 2*room) {
		err := decode(room)
		var full *roomError
		if !errors.As(err, &full) || full.most != room || room == c.limit {
			return err
		}
	}
}

// TextWeight returns the bytes that it takes to decode elements that have so many bytes,
// besides references to them.
func (c *Chain) TextWeight(room int64) int64 {
	n := int64(1) // where the elements come to be
	for _, b := range c.bytes {
		if _, trims := b.(Trimmer); !trims {
			n++
		}
	}
	return min(n, 3) * room
}

// decodeWithin undoes the bytes codecs, of which each has a result of at most about so
// many bytes.
func (c *Chain) decodeWithin(src []byte, most int64) ([]byte, *budget.Buffer, error) {
	var last *budget.Buffer
	for i := len(c.bytes) - 1; i >= 0; i-- {
		if t, ok := c.bytes[i].(Trimmer); ok {
			out, err := t.Trim(src)
			if err != nil {
				return nil, last, c.failBytes(i, err)
			}
			src = out
			continue
		}
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

// decodeStep undoes bytes codec i, the result of which has at most so many bytes. That of
// all but the last to be undone is bytes which are encoded, probably far fewer.
func (c *Chain) decodeStep(i int, src []byte, room int64) ([]byte, *budget.Buffer, error) {
	first := room
	if i > 0 {
		first = min(room, max(leastText, firstTry*int64(len(src))))
	}
	for most := first; ; most = min(firstTry*most, room) {
		to := budget.Get(most)
		out, err := c.bytes[i].Decode(to.Bytes(most)[:0:most], src, most)
		if err == nil && int64(len(out)) > most {
			err = fmt.Errorf("%w: %d bytes, at most %d are possible", ErrTooLong, len(out), most)
		}
		if most == room || !errors.Is(err, ErrTooLong) {
			return out, to, err
		}
		to.Put()
	}
}

// EncodeNew is [Chain.Encode] to a buffer that the caller puts back, also after an error.
//
// Elements that differ in length are long beside their references, so each step takes its
// memory when it begins, and gives back that of the step before. If last is set, that
// goes for the elements of src, too: neither they nor any others in their heap may be
// used again.
func (c *Chain) EncodeNew(src strided.View, last bool) ([]byte, *budget.Buffer, error) {
	if !c.varies {
		b := budget.Get(c.MaxEncoded(src.Shape, src.ElementBytes()))
		out, err := c.Encode(b.B, src)
		return out, b, err
	}
	serial, own, err := c.encodeText(src)
	if err != nil {
		return nil, own, err
	}
	if last {
		src.Heap.Release()
	}
	return c.encodeSteps(serial, own, len(c.bytes))
}

// encodeText returns what the array-to-bytes codec makes of elements that differ in
// length, and the buffer that it is in.
func (c *Chain) encodeText(src strided.View) ([]byte, *budget.Buffer, error) {
	s := newScratch()
	defer s.free()
	block, free, err := c.encodeArrays(s, src)
	defer free.Put()
	if err != nil {
		return nil, nil, err
	}
	own := budget.Get(likelySize(src))
	out, err := c.encodeSerial(s, own.B, block)
	return out, own, c.failSerial(err)
}

// encodeVarying appends what a codec that is no [Divider] makes of the elements that a
// block refers to.
func (c *Chain) encodeVarying(s *scratch, dst []byte, b Block) ([]byte, error) {
	if serial, ok := c.serial.(HeapEncoder); ok {
		return serial.EncodeHeap(dst, b)
	}
	s.length[0], s.stride[0] = int64(len(b.Data))/strided.RefSize, strided.RefSize
	v := strided.View{Data: b.Data, Shape: s.length[:], Strides: s.stride[:], Size: strided.RefSize, Heap: b.Heap}
	data := budget.Get(v.ElementBytes())
	defer data.Put()
	data.B, s.offsets = v.AppendElements(data.B, append(s.offsets[:0], 0))
	return c.serial.Encode(dst, Block{Shape: b.Shape, Data: data.B, Offsets: s.offsets})
}
