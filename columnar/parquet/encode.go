// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"

	"varve.dev/zarr/columnar"
)

// pageBytes is about the size of a page before it is compressed.
const pageBytes = 1 << 20

// encoder encodes a column of one batch.
type encoder struct {
	*storage
	nullable, inNull bool // whether rows, and elements of lists, may be null
	list             bool
	codec            *deflater

	rows   *columnar.Column // of the field
	values *columnar.Column // the same, or the elements of its lists
	chosen []int            // the places in values of those that are not null, nil for all
	first  int              // the place of the first one otherwise
	count  int              // values that are not null

	plain    []byte    // values of a fixed size
	numbered *numbered // if there is a dictionary

	out          encoded
	body, packed []byte // of the last page, to use their memory again
}

// encoded is a column of a row group, with offsets from its start.
type encoded struct {
	pages [][]byte // headers and bodies
	bytes int64    // of them
	meta  columnMetadata
	index columnIndex
	paged bool // whether index is true
	place offsetIndex
}

// encode returns the pages of a column of a batch.
func (e *encoder) encode(c *columnar.Column) (*encoded, error) {
	e.rows, e.values = c, c
	if e.list {
		e.values = c.Elements
	}
	if err := e.choose(); err != nil {
		return nil, err
	}
	if err := e.setValues(); err != nil {
		return nil, err
	}
	m := &e.out.meta
	m.physical, m.codec = e.physical, e.codec.codec
	m.statistics = statistics{nullsWereCounted: true, floats: e.order == orderFloat}
	e.out.paged = true
	encoding := int64(plainEncoding)
	m.encodings = []int64{rleEncoding}
	if n := e.numbered; n != nil {
		encoding = rleDictionary
		h := pageHeader{kind: dictionaryPage, values: int64(n.count)}
		if err := e.addPage(&h, n.plain); err != nil {
			return nil, err
		}
		m.encodings = append(m.encodings, plainEncoding)
	}
	m.encodings = append(m.encodings, encoding)
	m.dataOffset = e.out.bytes
	var all bounds
	for row, value := 0, 0; row < c.Rows; {
		p := e.nextPage(row, value)
		if err := e.addData(p, encoding, &all); err != nil {
			return nil, err
		}
		row, value = p.endRow, p.endValue
	}
	m.compressed = e.out.bytes
	e.setStatistics(all)
	// The encoder has the batch, which nobody needs any more.
	out := e.out
	return &out, nil
}

// choose finds the values that are not null.
func (e *encoder) choose() error {
	c, v := e.rows, e.values
	if !e.list {
		e.count = c.Rows
		if c.Valid == nil {
			return nil
		}
		e.count = 0
		for i := range c.Rows {
			if c.IsValid(i) {
				e.count++
			}
		}
		if e.count == c.Rows {
			return nil
		}
		if !e.nullable {
			return fmt.Errorf("it has nulls, and its field is not nullable")
		}
		e.chosen = make([]int, 0, e.count)
		for i := range c.Rows {
			if c.IsValid(i) {
				e.chosen = append(e.chosen, i)
			}
		}
		return nil
	}
	// The lists of nulls may have elements, which nobody reads.
	gaps := v.Valid != nil
	for i := range c.Rows {
		gaps = gaps || !c.IsValid(i)
	}
	e.first = int(c.Offsets[0])
	e.count = int(c.Offsets[c.Rows]) - e.first
	if !gaps {
		return nil
	}
	e.chosen = make([]int, 0, e.count)
	for i := range c.Rows {
		if !c.IsValid(i) {
			if !e.nullable {
				return fmt.Errorf("it has nulls, and its field is not nullable")
			}
			continue
		}
		for k := int(c.Offsets[i]); k < int(c.Offsets[i+1]); k++ {
			switch {
			case v.IsValid(k):
				e.chosen = append(e.chosen, k)
			case !e.inNull:
				return fmt.Errorf("its lists have nulls, and their elements are not nullable")
			}
		}
	}
	e.count = len(e.chosen)
	return nil
}

// at returns the place of a value.
func (e *encoder) at(i int) int {
	if e.chosen != nil {
		return e.chosen[i]
	}
	return e.first + i
}

// text returns a byte array.
func (e *encoder) text(i int) []byte {
	k := e.at(i)
	if text := e.values.Data[e.values.Offsets[k]:e.values.Offsets[k+1]]; text != nil {
		return text
	}
	return []byte{}
}

// setValues sets the plain values or the numbers of a dictionary.
func (e *encoder) setValues() (err error) {
	v := e.values
	if v.Dictionary != nil && e.physical != physicalBoolean {
		return e.setDictionary(v)
	}
	size := e.element.Bytes()
	if size == 0 {
		e.numbered = numberTexts(e.count, false, e.text)
		return nil
	}
	data := v.Data
	if v.Dictionary != nil { // of Booleans, which have none in files
		data = make([]byte, v.Rows)
		for i, x := range v.Index {
			if v.IsValid(i) {
				data[i] = v.Dictionary.Data[x]
			}
		}
	}
	if e.chosen == nil {
		data = data[e.first*size : (e.first+e.count)*size]
	} else {
		data = gather(data, size, e.chosen)
	}
	if e.plain, err = e.stored(data); err != nil {
		return err
	}
	switch w := e.width; {
	case e.physical == physicalBoolean:
	case w == 2 || w == 4 || w == 8:
		e.numbered = numberFixed(e.plain, w)
	default:
		e.numbered = numberTexts(e.count, true, func(i int) []byte { return e.plain[i*w : (i+1)*w] })
	}
	return nil
}

// stored returns the stored form of elements.
func (e *encoder) stored(data []byte) ([]byte, error) {
	if e.store == nil {
		return data, nil
	}
	dst := make([]byte, len(data)/e.element.Bytes()*e.width)
	return dst, e.store(dst, data)
}

// gather returns the chosen elements side by side.
func gather(data []byte, size int, chosen []int) []byte {
	dst := make([]byte, len(chosen)*size)
	switch size {
	case 4:
		for i, k := range chosen {
			binary.LittleEndian.PutUint32(dst[4*i:], binary.LittleEndian.Uint32(data[4*k:]))
		}
	case 8:
		for i, k := range chosen {
			binary.LittleEndian.PutUint64(dst[8*i:], binary.LittleEndian.Uint64(data[8*k:]))
		}
	default:
		for i, k := range chosen {
			copy(dst[i*size:(i+1)*size], data[k*size:])
		}
	}
	return dst
}

// setDictionary takes the dictionary of a column as it is.
func (e *encoder) setDictionary(v *columnar.Column) error {
	d := v.Dictionary
	n := &numbered{count: d.Rows, numbers: make([]uint32, e.count)}
	for i := range n.numbers {
		n.numbers[i] = v.Index[e.at(i)]
	}
	e.numbered = n
	if size := e.element.Bytes(); size > 0 {
		var err error
		n.plain, err = e.stored(d.Data[:d.Rows*size])
		return err
	}
	for i := range d.Rows {
		text := d.Data[d.Offsets[i]:d.Offsets[i+1]]
		n.plain = append(binary.LittleEndian.AppendUint32(n.plain, uint32(len(text))), text...)
	}
	return nil
}

// pageRows are the rows and values of a page.
type pageRows struct {
	row, endRow     int
	value, endValue int
	reps, defs      []uint32 // nil where all are at the highest level
	entries, nulls  int
}

// nextPage returns the page that begins with a row and a value, and sets the levels.
func (e *encoder) nextPage(row, value int) *pageRows {
	p := &pageRows{row: row, value: value, endRow: row, endValue: value}
	size := 0
	for p.endRow < e.rows.Rows && size < pageBytes {
		if e.list {
			size += e.addList(p)
			continue
		}
		if n := min(e.rows.Rows-p.endRow, max(1, pageBytes/max(1, e.width))); e.width > 0 && e.chosen == nil {
			p.endRow += n
			p.endValue += n
			break
		}
		size += e.addRow(p)
	}
	p.entries = max(len(p.defs), p.endRow-p.row)
	p.nulls = p.entries - (p.endValue - p.value)
	return p
}

// addRow adds a row to a page of a column without lists. It returns the bytes of its
// value without a dictionary.
func (e *encoder) addRow(p *pageRows) int {
	if e.chosen != nil {
		if !e.rows.IsValid(p.endRow) {
			p.defs = append(p.defs, 0)
			p.endRow++
			return 1
		}
		p.defs = append(p.defs, 1)
	}
	p.endRow++
	p.endValue++
	return e.sizeOf(p.endValue - 1)
}

// sizeOf returns about the bytes of a value.
func (e *encoder) sizeOf(value int) int {
	if e.width > 0 || e.values.Dictionary != nil {
		return max(4, e.width)
	}
	return 4 + len(e.text(value))
}

// addList adds a list to a page, and returns about the bytes of its values.
func (e *encoder) addList(p *pageRows) int {
	c, size := e.rows, 0
	i := p.endRow
	p.endRow++
	null := !c.IsValid(i)
	// The level of an element, one less of a null in the list, and so on.
	element := uint32(1)
	if e.nullable {
		element++
	}
	if null || c.Offsets[i] == c.Offsets[i+1] {
		def := element - 1
		if null {
			def = 0
		}
		p.reps, p.defs = append(p.reps, 0), append(p.defs, def)
		return 1
	}
	for k := c.Offsets[i]; k < c.Offsets[i+1]; k++ {
		rep, def := uint32(1), element
		if k == c.Offsets[i] {
			rep = 0
		}
		if valid := e.values.IsValid(int(k)); valid {
			if e.inNull {
				def++
			}
			p.endValue++
			size += e.sizeOf(p.endValue - 1)
		}
		p.reps, p.defs = append(p.reps, rep), append(p.defs, def)
	}
	return size
}

// addData adds a data page.
func (e *encoder) addData(p *pageRows, encoding int64, all *bounds) error {
	body := e.body[:0]
	if e.list {
		body = appendLevels(body, p.reps, 0, len(p.reps), 1)
	}
	if most := e.mostDef(); most > 0 {
		body = appendLevels(body, p.defs, most, p.entries, bits.Len32(most))
	}
	var err error
	body, b := e.appendValues(body, p)
	e.body = body
	m := &e.out.meta
	m.values += int64(p.entries)
	m.statistics.nulls += int64(p.nulls)
	all.add(e.storage, b)
	e.addBounds(p, b)
	h := pageHeader{kind: dataPage, encoding: encoding, levels: rleEncoding, repetitions: rleEncoding}
	if h.values, err = int32Of(p.entries, "a page with values"); err != nil {
		return err
	}
	begin := e.out.bytes
	if err := e.addPage(&h, body); err != nil {
		return err
	}
	e.out.place.pages = append(e.out.place.pages, pageLocation{begin, e.out.bytes - begin, int64(p.row)})
	return nil
}

// mostDef returns the highest definition level.
func (e *encoder) mostDef() uint32 {
	most := uint32(0)
	for _, b := range []bool{e.nullable, e.list, e.list && e.inNull} {
		if b {
			most++
		}
	}
	return most
}

// appendLevels appends the levels of a page of version 1. Without any they all are equal.
func appendLevels(dst []byte, levels []uint32, level uint32, n, width int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0) // the length comes first
	if levels == nil {
		dst = append(binary.AppendUvarint(dst, uint64(n)<<1), byte(level))
	} else {
		dst = appendHybrid(dst, levels, width)
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// appendValues appends the values of a page, and returns their bounds.
func (e *encoder) appendValues(dst []byte, p *pageRows) ([]byte, bounds) {
	if n := e.numbered; n != nil {
		numbers := n.numbers[p.value:p.endValue]
		// The width of the numbers in bits comes first.
		dst = append(dst, byte(n.bitsOf()))
		return appendHybrid(dst, numbers, n.bitsOf()), e.numberedBounds(numbers)
	}
	if e.width > 0 {
		v := e.plain[p.value*e.width : p.endValue*e.width]
		if e.physical != physicalBoolean {
			return append(dst, v...), e.fixedBounds(v)
		}
		for i, x := range v {
			if i%8 == 0 {
				dst = append(dst, 0)
			}
			dst[len(dst)-1] |= x & 1 << (i % 8)
		}
		return dst, e.fixedBounds(v)
	}
	var b bounds
	for i := p.value; i < p.endValue; i++ {
		text := e.text(i)
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
		b.add(e.storage, bounds{min: text, max: text})
	}
	return dst, b
}

// numberedBounds returns the bounds of values of a dictionary.
func (e *encoder) numberedBounds(numbers []uint32) bounds {
	n := e.numbered
	var b bounds
	used := make([]uint32, n.count)
	for _, x := range numbers {
		used[x]++
	}
	at := 0
	for _, count := range used {
		// A text follows its length.
		size := e.width
		if size == 0 {
			size = int(binary.LittleEndian.Uint32(n.plain[at:]))
			at += 4
		}
		if v := n.plain[at : at+size : at+size]; count > 0 {
			one := bounds{min: v, max: v}
			if e.width > 0 {
				if one = e.fixedBounds(v); one.nans > 0 {
					one.nans = int64(count)
				}
			}
			b.add(e.storage, one)
		}
		at += size
	}
	return b
}

// addBounds adds a page to the index of the column.
func (e *encoder) addBounds(p *pageRows, b bounds) {
	x := &e.out.index
	least, most, _, _ := b.cut(e.element)
	null := p.value == p.endValue
	if !null && (least == nil || most == nil) {
		e.out.paged = false // the page has nothing but NaN
	}
	x.nullPages = append(x.nullPages, null)
	x.min, x.max = append(x.min, least), append(x.max, most)
	x.nulls = append(x.nulls, int64(p.nulls))
}

// setStatistics sets the statistics of the column in the row group.
func (e *encoder) setStatistics(b bounds) {
	s := &e.out.meta.statistics
	s.nans = b.nans
	var leastExact, mostExact bool
	s.min, s.max, leastExact, mostExact = b.cut(e.element)
	if s.min != nil {
		s.exact = flagOf(leastExact)
	}
	if s.max != nil {
		s.maxExact = flagOf(mostExact)
	}
}

// addPage compresses a page, and adds it after its header.
func (e *encoder) addPage(h *pageHeader, data []byte) error {
	var err error
	if h.uncompressed, err = int32Of(len(data), "a page"); err != nil {
		return err
	}
	e.packed = e.codec.deflate(e.packed[:0], data)
	if h.compressed, err = int32Of(len(e.packed), "a page"); err != nil {
		return err
	}
	h.checksum = int64(int32(crc32.ChecksumIEEE(e.packed)))
	header := marshal(nil, h)
	e.out.pages = append(e.out.pages, header, bytes.Clone(e.packed))
	e.out.bytes += int64(len(header) + len(e.packed))
	e.out.meta.uncompressed += int64(len(header) + len(data))
	return nil
}
