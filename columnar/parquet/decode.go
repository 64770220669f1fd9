// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"math/bits"

	"varve.dev/zarr/columnar"
)

// decoder reads the values of a page that are not null, in order. A page has values of a
// fixed size, which fixed reads, or byte arrays, which text reads.
type decoder interface {
	// fixed reads as many values as dst has room for.
	fixed(dst []byte) error
	// text returns the next value. It may share the memory of the page.
	text() ([]byte, error)
}

func errShort(what string) error { return corruptf("a page ends within its %s", what) }

// newDecoder returns a reader of the values of a page, which are at most so many.
func (c *chunk) newDecoder(encoding int64, data []byte, values int) (decoder, error) {
	physical, width := c.leaf.physical, c.leaf.width
	integers := physical == physicalInt32 || physical == physicalInt64
	switch {
	case encoding == plainEncoding && physical == physicalBoolean:
		h := &hybrid{run: data, width: 1, packed: true, left: uint64(len(data)) * 8}
		return &booleans{h}, nil
	case encoding == plainEncoding:
		return &plainValues{data}, nil
	case encoding == rleEncoding && physical == physicalBoolean:
		// The length of the runs comes first.
		if len(data) < 4 {
			return nil, errShort("values")
		}
		h, err := newHybrid(data[4:], 1)
		return &booleans{h}, err
	case (encoding == plainDictionary || encoding == rleDictionary) && physical != physicalBoolean:
		if len(data) == 0 { // nothing but nulls
			data = []byte{0}
		}
		// The width of the numbers in bits comes first.
		h, err := newHybrid(data[1:], int(data[0]))
		return &dictionaryValues{c, h, nil}, err
	case encoding == deltaBinaryPacked && integers:
		d, err := newDeltas(data)
		return &deltaValues{d, width}, err
	case encoding == deltaLengthByteArray && physical == physicalByteArray:
		lengths, rest, err := newLengths(data, values)
		return &deltaLengths{lengths, rest}, err
	case encoding == deltaByteArray && (physical == physicalByteArray || physical == physicalFixed):
		return c.newDeltaTexts(data, values)
	case encoding == byteStreamSplit && width > 0 && physical != physicalBoolean && physical != physicalInt96:
		return &splitValues{data: data, width: width, count: len(data) / width}, nil
	}
	return nil, unsupportedf("values of type %d in the encoding %s", physical, encodingName(encoding))
}

var encodings = [...]string{
	"PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY",
	"RLE_DICTIONARY", "BYTE_STREAM_SPLIT",
}

func encodingName(e int64) string {
	if e < 0 || e >= int64(len(encodings)) {
		return "of a number that is not known"
	}
	return encodings[e]
}

// plainValues are values side by side.
type plainValues struct{ data []byte }

func (v *plainValues) fixed(dst []byte) error {
	if copy(dst, v.data) < len(dst) {
		return errShort("values")
	}
	v.data = v.data[len(dst):]
	return nil
}

func (v *plainValues) text() ([]byte, error) {
	if len(v.data) < 4 {
		return nil, errShort("values")
	}
	n := int64(binary.LittleEndian.Uint32(v.data))
	if n > int64(len(v.data)-4) {
		return nil, errShort("values")
	}
	text := v.data[4 : 4+n]
	v.data = v.data[4+n:]
	return text, nil
}

// booleans are bits, or runs of them. Each becomes a byte.
type booleans struct{ *hybrid }

func (v *booleans) fixed(dst []byte) error {
	var block [256]uint32
	for len(dst) > 0 {
		n := min(len(dst), len(block))
		if err := v.read(block[:n]); err != nil {
			return err
		}
		for i, x := range block[:n] {
			dst[i] = byte(x)
		}
		dst = dst[n:]
	}
	return nil
}

func (v *booleans) text() ([]byte, error) { return nil, errShort("values") }

// dictionary has the values of a dictionary page.
type dictionary struct {
	count   int
	data    []byte
	offsets []int64 // of byte arrays, one more than values
}

// column returns the byte arrays of a dictionary.
func (d *dictionary) column() *columnar.Column {
	return &columnar.Column{Rows: d.count, Data: d.data, Offsets: d.offsets}
}

// dictionaryValues are numbers of the dictionary of the column.
type dictionaryValues struct {
	*chunk
	numbers *hybrid
	block   []uint32
}

// index reads numbers, all of which are in the dictionary.
func (v *dictionaryValues) index(dst []uint32) error {
	if err := v.numbers.read(dst); err != nil {
		return err
	}
	for _, x := range dst {
		if int64(x) >= int64(v.dictionary.count) {
			return corruptf("value %d of a dictionary of %d", x, v.dictionary.count)
		}
	}
	return nil
}

func (v *dictionaryValues) fixed(dst []byte) error {
	if v.block == nil {
		v.block = make([]uint32, blockRows)
	}
	w := v.leaf.width
	for len(dst) > 0 {
		block := v.block[:min(len(dst)/w, len(v.block))]
		if err := v.index(block); err != nil {
			return err
		}
		data := v.dictionary.data
		switch w {
		case 4:
			for i, x := range block {
				binary.LittleEndian.PutUint32(dst[4*i:], binary.LittleEndian.Uint32(data[4*x:]))
			}
		case 8:
			for i, x := range block {
				binary.LittleEndian.PutUint64(dst[8*i:], binary.LittleEndian.Uint64(data[8*int(x):]))
			}
		default:
			for i, x := range block {
				copy(dst[w*i:w*i+w], data[w*int(x):])
			}
		}
		dst = dst[w*len(block):]
	}
	return nil
}

func (v *dictionaryValues) text() ([]byte, error) {
	var one [1]uint32
	if err := v.index(one[:]); err != nil {
		return nil, err
	}
	d := &v.dictionary
	return d.data[d.offsets[one[0]]:d.offsets[one[0]+1]], nil
}

// splitValues have their first bytes side by side, then their second ones, and so on.
type splitValues struct {
	data             []byte
	width, count, at int
}

func (v *splitValues) fixed(dst []byte) error {
	n := len(dst) / v.width
	if n > v.count-v.at {
		return errShort("values")
	}
	for k := range v.width {
		for i, x := range v.data[k*v.count+v.at:][:n] {
			dst[i*v.width+k] = x
		}
	}
	v.at += n
	return nil
}

func (v *splitValues) text() ([]byte, error) { return nil, errShort("values") }

// deltas reads integers of the encoding DELTA_BINARY_PACKED: differences in blocks, which
// have parts of one width each. It needs no memory for them.
type deltas struct {
	data   []byte
	count  uint64 // of all numbers
	left   uint64 // numbers to read
	first  bool
	value  int64
	part   uint64 // numbers in a part
	parts  int    // of a block
	least  int64  // difference in the block
	widths []byte // of the next parts of the block
	inPart uint64 // numbers left in the part
	width  int
	run    []byte // the bits of the part
	bit    int    // of the first byte of run
}

func newDeltas(data []byte) (*deltas, error) {
	d := &deltas{data: data, first: true}
	block, parts := d.uvarint(), d.uvarint()
	d.count = d.uvarint()
	x := d.uvarint()
	d.value = int64(x>>1) ^ -int64(x&1)
	if d.data == nil {
		return nil, errShort("values")
	}
	// A part has a multiple of 32 numbers, so that each ends with a byte.
	if parts == 0 || parts > 1<<16 || block > 1<<31 || block%parts != 0 || block/parts%32 != 0 || block == 0 {
		return nil, corruptf("blocks of %d differences in %d parts", block, parts)
	}
	d.left, d.part, d.parts = d.count, block/parts, int(parts)
	return d, nil
}

// uvarint reads a number, and sets data to nil if there is none.
func (d *deltas) uvarint() uint64 {
	x, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.data = nil
		return 0
	}
	d.data = d.data[n:]
	if d.data == nil {
		d.data = []byte{}
	}
	return x
}

// next returns the next number.
func (d *deltas) next() (int64, error) {
	if d.left == 0 {
		return 0, errShort("values")
	}
	d.left--
	if d.first {
		d.first = false
		return d.value, nil
	}
	if d.inPart == 0 {
		if err := d.begin(); err != nil {
			return 0, err
		}
	}
	d.inPart--
	d.value += d.least + int64(d.bits())
	return d.value, nil
}

// bits reads a difference of up to 64 bits.
func (d *deltas) bits() uint64 {
	if d.width == 0 {
		return 0
	}
	// It lies in nine bytes at most. begin has checked that they are there.
	var x uint64
	if len(d.run) >= 8 {
		x = binary.LittleEndian.Uint64(d.run) >> d.bit
		if more := d.bit + d.width - 64; more > 0 {
			x |= uint64(d.run[8]) << (64 - d.bit)
		}
	} else {
		for i := range min(len(d.run), 8) {
			x |= uint64(d.run[i]) << (8 * i)
		}
		x >>= d.bit
	}
	d.bit += d.width
	d.run, d.bit = d.run[d.bit/8:], d.bit%8
	return x & (1<<d.width - 1)
}

// begin begins a part, and a block before the first part of it.
func (d *deltas) begin() error {
	if len(d.widths) == 0 {
		x := d.uvarint()
		d.least = int64(x>>1) ^ -int64(x&1)
		if d.data == nil || len(d.data) < d.parts {
			return errShort("differences")
		}
		d.widths, d.data = d.data[:d.parts], d.data[d.parts:]
	}
	d.width = int(d.widths[0])
	d.widths = d.widths[1:]
	if d.width > 64 {
		return corruptf("differences of %d bits", d.width)
	}
	// Some writers leave out what no number of the last part needs.
	d.inPart = d.part
	n := d.part / 8 * uint64(d.width)
	if need := (min(d.left+1, d.part)*uint64(d.width) + 7) / 8; need > uint64(len(d.data)) {
		return errShort("differences")
	}
	n = min(n, uint64(len(d.data)))
	d.run, d.data, d.bit = d.data[:n], d.data[n:], 0
	return nil
}

// end goes over all numbers, and returns what follows them.
func (d *deltas) end() ([]byte, error) {
	for d.left > 0 {
		if _, err := d.next(); err != nil {
			return nil, err
		}
	}
	return d.data, nil
}

// deltaValues are integers of the encoding DELTA_BINARY_PACKED.
type deltaValues struct {
	*deltas
	width int
}

func (v *deltaValues) fixed(dst []byte) error {
	for ; len(dst) > 0; dst = dst[v.width:] {
		x, err := v.next()
		if err != nil {
			return err
		}
		if v.width == 4 { // differences may have gone around
			binary.LittleEndian.PutUint32(dst, uint32(x))
		} else {
			binary.LittleEndian.PutUint64(dst, uint64(x))
		}
	}
	return nil
}

func (v *deltaValues) text() ([]byte, error) { return nil, errShort("values") }

// newLengths returns a reader of lengths, and what follows them. A second reader goes to
// their end, so that they need no memory.
func newLengths(data []byte, values int) (*deltas, []byte, error) {
	d, err := newDeltas(data)
	if err != nil {
		return nil, nil, err
	}
	if d.count > uint64(values) {
		return nil, nil, corruptf("%d lengths in a page of %d values", d.count, values)
	}
	last := *d
	rest, err := last.end()
	return d, rest, err
}

// deltaLengths are byte arrays side by side, after all of their lengths.
type deltaLengths struct {
	lengths *deltas
	data    []byte
}

func (v *deltaLengths) fixed([]byte) error { return errShort("values") }

func (v *deltaLengths) text() ([]byte, error) {
	n, err := v.lengths.next()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > int64(len(v.data)) {
		return nil, errShort("values")
	}
	text := v.data[:n]
	v.data = v.data[n:]
	return text, nil
}

// deltaTexts are byte arrays that begin with a part of the one before.
type deltaTexts struct {
	*chunk
	common *deltas // bytes shared with the one before
	rest   deltaLengths
	before []byte
}

func (c *chunk) newDeltaTexts(data []byte, values int) (decoder, error) {
	common, data, err := newLengths(data, values)
	if err != nil {
		return nil, err
	}
	lengths, data, err := newLengths(data, values)
	if err != nil {
		return nil, err
	}
	return &deltaTexts{chunk: c, common: common, rest: deltaLengths{lengths, data}}, nil
}

func (v *deltaTexts) text() ([]byte, error) {
	n, err := v.common.next()
	if err != nil {
		return nil, err
	}
	rest, err := v.rest.text()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > int64(len(v.before)) {
		return nil, corruptf("a value that shares %d bytes with one of %d", n, len(v.before))
	}
	if size := int(n) + len(rest); size > cap(v.before) {
		size = max(size, 1<<bits.Len(uint(cap(v.before))))
		if err := v.budget.reserve(int64(size)); err != nil {
			return nil, err
		}
		v.held += int64(size)
		v.before = append(make([]byte, 0, size), v.before...)
	}
	v.before = append(v.before[:n], rest...)
	return v.before, nil
}

func (v *deltaTexts) fixed(dst []byte) error {
	width := v.leaf.width
	for ; len(dst) > 0; dst = dst[width:] {
		text, err := v.text()
		if err != nil {
			return err
		}
		if len(text) != width {
			return corruptf("a value of %d bytes, where %d are needed", len(text), width)
		}
		copy(dst, text)
	}
	return nil
}
