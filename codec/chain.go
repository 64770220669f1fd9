package codec

import (
	"fmt"
	"slices"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/strided"
)

// Error says which codec of a chain failed, and why.
type Error struct {
	Codec string // name in the metadata
	Place int    // position in the chain, from 0
	Err   error
}

// Error returns the place and name of the codec, and the message of Err.
func (e *Error) Error() string { return fmt.Sprintf("codec %d (%s): %v", e.Place, e.Codec, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Chain codes the chunks of one array. Several goroutines may use it at once.
type Chain struct {
	names  []string
	spec   Spec
	specs  []Spec // of the arrays before each array codec, and after the last
	arrays []ArrayArray
	serial ArrayBytes
	bytes  []BytesBytes

	plain   bool         // serial is Transparent
	order   []int        // of axes in the encoded array, nil if arrays do more than reorder axes
	inOrder bool         // order is that of the decoded array
	shows   bool         // stored chunks contain their elements unchanged
	divides bool         // serial is a divider
	varies  bool         // elements differ in length, so that blocks have references
	limit   int64        // bytes of a decoded chunk, at most
	longer  longer       // estimates the length of elements that differ in length
	ranges  RangeDecoder // decodes parts of chunks, or nil

	repairs []Repair
	now     []metadata.Extension // the specified forms of the codecs, nil without repairs
}

// NewChain makes the codecs that exts describe and binds them to arrays of spec; see
// [Environment.NewChain].
func NewChain(r *Registry, exts []metadata.Extension, spec Spec) (*Chain, error) {
	return (&Environment{Registry: r}).NewChain(exts, spec)
}

// finish sets the fields that depend on all codecs.
func (c *Chain) finish() error {
	if c.serial == nil {
		return fmt.Errorf("%w: no codec of %q turns arrays into bytes; one of the chain has to (as \"bytes\" does)", ErrConfiguration, c.names)
	}
	if t, ok := c.serial.(Transparent); ok {
		c.plain = t.Transparent()
	}
	_, c.divides = c.serial.(divider)
	c.varies = c.spec.Type.Variable()
	c.order = permutation(c.arrays, c.spec.Rank)
	c.inOrder = c.order != nil && slices.IsSorted(c.order)
	c.shows = c.plain && c.order != nil && !slices.ContainsFunc(c.bytes, func(b BytesBytes) bool {
		_, ok := b.(Trimmer)
		return !ok
	})
	c.ranges = c.ranger()
	return nil
}

// add appends one codec. It replaces spec by that of the encoded arrays. If it fails, it
// changes nothing.
func (c *Chain) add(made any, spec *Spec) error {
	switch made := made.(type) {
	case ArrayArray:
		if c.serial != nil {
			return fmt.Errorf("%w: it works on arrays and has to stand before %q", ErrConfiguration, c.names[len(c.arrays)])
		}
		next, err := made.Bind(*spec)
		if err != nil {
			return err
		}
		if next.Type.Variable() != spec.Type.Variable() {
			return fmt.Errorf("%w: it makes %s of %s", ErrConfiguration, next.Type, spec.Type)
		}
		*spec = next
		c.arrays = append(c.arrays, made)
		c.specs = append(c.specs, next)
		return nil
	case ArrayBytes:
		if c.serial != nil {
			return fmt.Errorf("%w: only one codec of a chain may turn arrays into bytes, and %q does", ErrConfiguration, c.names[len(c.arrays)])
		}
		if err := made.Bind(*spec); err != nil {
			return err
		}
		c.serial = made
		return nil
	case BytesBytes:
		if c.serial == nil {
			return fmt.Errorf("%w: it works on bytes and has to stand behind a codec that makes them (as \"bytes\" does)", ErrConfiguration)
		}
		if b, ok := made.(Binder); ok {
			if err := b.Bind(*spec); err != nil {
				return err
			}
		}
		c.bytes = append(c.bytes, made)
		return nil
	}
	return fmt.Errorf("codec: %T is no codec", made)
}

// permutation returns the order of axes that the codecs make of a decoded array, nil if
// one does more than reorder them.
func permutation(arrays []ArrayArray, rank int) []int {
	order := make([]int, rank)
	for i := range order {
		order[i] = i
	}
	for _, a := range arrays {
		p, ok := a.(Permuter)
		if !ok {
			return nil
		}
		next := make([]int, rank)
		for i, axis := range p.Order() {
			next[i] = order[axis]
		}
		order = next
	}
	return order
}

// Repairs returns how codecs were read whose metadata does not follow its specification.
func (c *Chain) Repairs() []Repair { return slices.Clone(c.repairs) }

// Specified returns the specified forms of exts, which the chain was made of. Without
// repairs it returns exts itself.
func (c *Chain) Specified(exts []metadata.Extension) []metadata.Extension {
	if c.now == nil {
		return exts
	}
	return slices.Clone(c.now)
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
	return c.plain && len(c.bytes) == 0 && c.inOrder && !c.spec.Type.HasBool()
}

// InOrder reports whether [Chain.Decode] sets strides of C order.
func (c *Chain) InOrder() bool { return c.inOrder || c.order == nil }

// HasChecksum reports whether a checksum guards the stored bytes.
func (c *Chain) HasChecksum() bool {
	return slices.ContainsFunc(c.bytes, func(b BytesBytes) bool {
		_, ok := b.(Trimmer)
		return ok
	})
}

// Buffers returns how many buffers of about the size of a decoded chunk are in use at
// once while a chunk is decoded, or one in C order is encoded. It counts neither the
// source nor the destination.
func (c *Chain) Buffers() int {
	n := 0
	for _, b := range c.bytes {
		if _, trims := b.(Trimmer); !trims && !c.varies {
			n++
		}
	}
	if c.plain && n > 0 {
		n-- // the last step writes to the destination
	}
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

// widest returns how many times as long as an element the elements between array codecs
// are, at most and rounded up.
func (c *Chain) widest() int {
	n := 1
	for _, s := range c.specs {
		n = max(n, (s.Width()+c.spec.Width()-1)/max(1, c.spec.Width()))
	}
	return n
}

// MaxEncoded returns the most bytes that a stored chunk of the given shape may have.
// Longer ones are corrupt. decoded is the bytes of its elements.
func (c *Chain) MaxEncoded(shape []int64, decoded int64) int64 {
	s := newScratch()
	defer s.free()
	serial := c.serialShape(s, shape)
	if c.varies {
		decoded = c.limit
	} else if c.order == nil {
		decoded = c.serialBytes(serial, decoded)
	}
	return c.most(serial, decoded, len(c.bytes))
}

// gaps is how many dead bytes a shard may have that is compressed as a whole.
const gaps = 64 << 10

// most returns the most bytes that the array-to-bytes codec and the first n bytes codecs
// make of an array of the given shape.
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
	n, ok := blockBytes(serial, c.specs[len(c.arrays)].Width())
	if !ok {
		return decoded // coding the chunk reports the error
	}
	return n
}

// Decode decodes the stored bytes src of a chunk into v. The caller sets Shape to the
// encoded shape of the chunk, Size, Data to exactly the bytes of its elements, and Heap
// if elements differ in length. Decode sets Strides, reusing their memory. They are those
// of C order unless codecs reorder axes. Errors wrap [ErrCorrupt].
func (c *Chain) Decode(v *strided.View, src []byte) error {
	c.setStrides(v)
	if c.inOrder && !c.varies {
		return c.decodeSerial(nil, Block{Shape: v.Shape, Data: v.Data, Heap: v.Heap}, src)
	}
	s := newScratch()
	defer s.free()
	if c.order == nil {
		return c.decodeArrays(s, v, src)
	}
	return c.decodeSerial(s, Block{Shape: c.serialShape(s, v.Shape), Data: v.Data, Heap: v.Heap}, src)
}

// setStrides sets the strides of a decoded chunk. They undo the order of axes if codecs
// only reorder axes, and else are those of C order.
func (c *Chain) setStrides(v *strided.View) {
	if c.InOrder() {
		v.Strides = strided.AppendStrides(v.Strides[:0], v.Shape, v.Size)
		return
	}
	v.Strides = append(v.Strides[:0], v.Shape...)
	step := int64(v.Size)
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

// decodeSerial decodes stored bytes into the block that the array-to-bytes codec encoded.
// s may be nil unless elements differ in length.
func (c *Chain) decodeSerial(s *scratch, dst Block, src []byte) error {
	switch {
	case c.varies:
		return c.decodeVarying(s, dst, src)
	case !c.plain:
		return c.decodeBlock(dst, src)
	}
	out, free, err := c.decodeBytes(dst.Data, dst.Shape, int64(len(dst.Data)), src)
	defer free.Put() // out is in dst or in src
	switch {
	case err != nil:
		return err
	case len(c.bytes) == 0 && len(out) == len(dst.Data):
		copy(dst.Data, out)
	}
	return c.checkSerial(out, dst.Shape, int64(len(dst.Data)))
}

// checkSerial reports an error unless data has n bytes and they are valid elements.
func (c *Chain) checkSerial(data []byte, shape []int64, n int64) error {
	if int64(len(data)) != n {
		return c.failSerial(fmt.Errorf("%w: %d bytes, its shape %d takes %d", ErrCorrupt, len(data), shape, n))
	}
	if v, ok := c.serial.(Validator); ok {
		return c.failSerial(v.Validate(data))
	}
	return nil
}

// decodeBlock is decodeSerial if the array-to-bytes codec is not plain.
func (c *Chain) decodeBlock(dst Block, src []byte) error {
	serial, free, err := c.decodeBytes(nil, dst.Shape, int64(len(dst.Data)), src)
	defer free.Put()
	if err != nil {
		return err
	}
	s := newScratch()
	defer s.free()
	s.block = dst
	return c.failSerial(c.serial.Decode(&s.block, serial))
}

// decodeBytes undoes the bytes codecs. The last step writes to dst, or if that is nil to
// a buffer that the caller puts back. Without bytes codecs it returns src.
func (c *Chain) decodeBytes(dst []byte, shape []int64, decoded int64, src []byte) ([]byte, *budget.Buffer, error) {
	var last *budget.Buffer
	for i := len(c.bytes) - 1; i >= 0; i-- {
		if t, ok := c.bytes[i].(Trimmer); ok {
			out, err := t.Trim(src)
			if err != nil {
				return nil, last, c.failBytes(i, err)
			}
			src = out
			if i == 0 && dst != nil {
				src = dst[:copy(dst, out)]
				if len(out) > len(dst) {
					return nil, last, c.failBytes(i, fmt.Errorf("%w: %d bytes, want %d", ErrCorrupt, len(out), len(dst)))
				}
			}
			continue
		}
		most := c.most(shape, decoded, i)
		to, room := (*budget.Buffer)(nil), dst
		if i > 0 || dst == nil {
			to = budget.Get(most)
			room = to.Bytes(most)
		}
		out, err := c.bytes[i].Decode(room[:0:most], src, most)
		last.Put()
		last = to
		if err == nil && int64(len(out)) > most {
			err = fmt.Errorf("%w: %d bytes, at most %d are possible", ErrCorrupt, len(out), most)
		}
		if err != nil {
			return nil, last, c.failBytes(i, err)
		}
		if to == nil && len(out) > 0 && &out[0] != &dst[0] {
			out = dst[:copy(dst, out)] // the codec returned its own memory
		}
		src = out
	}
	return src, last, nil
}

// Encode appends the stored form of a chunk to dst. src has its elements in its encoded
// shape.
func (c *Chain) Encode(dst []byte, src strided.View) ([]byte, error) {
	if c.plain && c.order != nil && len(c.bytes) == 0 {
		if c.inOrder {
			return appendElements(dst, src), nil
		}
		var room [16]int64
		return appendElements(dst, c.reordered(src, room[:0])), nil
	}
	s := newScratch()
	defer s.free()
	block, free, err := c.encodeArrays(s, src)
	defer free.Put()
	if err != nil {
		return nil, err
	}
	switch {
	case c.plain:
		return c.encodeBytes(dst, block.Data, nil)
	case len(c.bytes) == 0:
		out, err := c.encodeSerial(s, dst, block)
		return out, c.failSerial(err)
	}
	serial := budget.Get(c.likelySerialSize(src, block))
	if serial.B, err = c.encodeSerial(s, serial.B, block); err != nil {
		serial.Put()
		return nil, c.failSerial(err)
	}
	return c.encodeBytes(dst, serial.B, serial)
}

// likelySerialSize estimates how many bytes the array-to-bytes codec makes of a block
// with the elements of src. If they have one width, it is the most.
func (c *Chain) likelySerialSize(src strided.View, block Block) int64 {
	if c.varies {
		return likelySize(src)
	}
	size, _ := c.serial.EncodedSize(block.Shape, int64(len(block.Data)))
	return size
}

// encodeSerial encodes a block with the array-to-bytes codec and appends the result to
// dst.
func (c *Chain) encodeSerial(s *scratch, dst []byte, block Block) ([]byte, error) {
	if c.varies && !c.divides {
		return c.encodeVarying(s, dst, block)
	}
	return c.serial.Encode(dst, block)
}

// encodeArrays encodes src with the array codecs. The caller puts the buffer back.
func (c *Chain) encodeArrays(s *scratch, src strided.View) (Block, *budget.Buffer, error) {
	if c.order == nil {
		return c.encodeBlocks(s, src)
	}
	v := src
	if !c.inOrder {
		s.numbers = slices.Grow(s.numbers[:0], 2*len(c.order))
		v = c.reordered(src, s.numbers)
	}
	data, free := gather(v)
	return Block{Shape: v.Shape, Data: data, Heap: v.Heap}, free, nil
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

// gather returns the elements of v in C order: its own bytes if they are in C order, else
// a copy in a buffer that the caller puts back.
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

// encodeBytes encodes src with the bytes codecs and appends the result to dst. It puts
// back own, the buffer of src, which may be nil.
func (c *Chain) encodeBytes(dst, src []byte, own *budget.Buffer) ([]byte, error) {
	last := len(c.bytes) - 1
	if last < 0 {
		defer own.Put()
		return append(dst, src...), nil
	}
	src, own, err := c.encodeSteps(src, own, last)
	defer own.Put()
	if err != nil {
		return nil, err
	}
	out, err := c.bytes[last].Encode(dst, src)
	return out, c.failBytes(last, err)
}

// encodeSteps encodes src with the first n bytes codecs. It returns the result and its
// buffer. Each step puts back the buffer of its source, the first puts back own.
func (c *Chain) encodeSteps(src []byte, own *budget.Buffer, n int) ([]byte, *budget.Buffer, error) {
	for i, b := range c.bytes[:n] {
		next := budget.Get(b.MaxEncoded(int64(len(src))))
		out, err := b.Encode(next.B, src)
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
	return &Error{c.names[place], place, err}
}

// Fixed returns the most bytes of a stored chunk with the given shape and n bytes of
// elements, and whether each has exactly that many.
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
		if _, trims := b.(Trimmer); !trims {
			fixed = false
		}
		size = b.MaxEncoded(size)
	}
	return size, fixed
}

func (c *Chain) failSerial(err error) error       { return c.fail(len(c.arrays), err) }
func (c *Chain) failBytes(i int, err error) error { return c.fail(len(c.arrays)+1+i, err) }
