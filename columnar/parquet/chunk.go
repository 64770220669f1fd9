// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"unicode/utf8"

	"varve.dev/zarr/columnar"
)

const (
	// mostHeader bounds the header of a page in bytes. It may have long statistics.
	mostHeader = 1 << 20
	// blockRows are the values that are decoded at a time.
	blockRows = 1024
	// pageMemory is about the memory of the header of a page, in a list that grows.
	pageMemory = 512
)

// chunk reads the pages of one column of a row group.
type chunk struct {
	leaf       *leaf
	codec      int64
	rows       int
	data       []byte // of pages
	offset     int64  // of data in the file
	budget     *budget
	pages      []page
	values     int // with nulls, of all pages
	dictionary dictionary
	indexed    bool  // whether the elements keep their dictionary
	held       int64 // memory that the present page takes besides its elements
}

// page is a page that is not decoded.
type page struct {
	pageHeader
	body []byte
	at   int64 // in the file
}

// scan finds the pages. Nothing is decoded before it is known that they have all rows.
func (c *chunk) scan(values int64) error {
	most := values
	if c.leaf.mostRep == 0 {
		if values != int64(c.rows) {
			return corruptf("%d values for %d rows", values, c.rows)
		}
	} else if values < int64(c.rows) {
		return corruptf("%d values in lists for %d rows", values, c.rows)
	}
	c.indexed = c.leaf.element.Kind == columnar.String || c.leaf.element.Kind == columnar.Binary
	rest := c.data
	for values > 0 {
		p := page{at: c.offset + int64(len(c.data)-len(rest))}
		n, err := unmarshal(rest[:min(len(rest), mostHeader)], &p.pageHeader, nil)
		switch rest = rest[n:]; {
		case err != nil:
			err = fmt.Errorf("header: %w", err)
		case p.compressed < 0 || p.compressed > int64(len(rest)) || p.uncompressed < 0:
			err = corruptf("%d bytes, decompressed %d, where %d follow", p.compressed, p.uncompressed, len(rest))
		case p.present == 0 && p.kind != indexPage:
			err = corruptf("type %d without its header", p.kind)
		case p.kind == dictionaryPage && len(c.pages) > 0:
			err = corruptf("a dictionary that is not the first page")
		case p.kind != dictionaryPage && p.kind != indexPage && (p.values < 0 || p.values > values):
			err = corruptf("%d values, where %d are missing", p.values, values)
		}
		if err != nil {
			return c.errPage(len(c.pages), p.at, err)
		}
		p.body, rest = rest[:p.compressed], rest[p.compressed:]
		if p.kind == indexPage {
			continue
		}
		if p.kind != dictionaryPage {
			values -= p.values
			c.indexed = c.indexed && (p.encoding == plainDictionary || p.encoding == rleDictionary)
		}
		err = c.budget.spend(p.uncompressed)
		if err == nil {
			err = c.budget.reserve(pageMemory)
		}
		if err != nil {
			return c.errPage(len(c.pages), p.at, err)
		}
		c.pages = append(c.pages, p)
	}
	c.values = int(most)
	return nil
}

func (c *chunk) errPage(i int, at int64, err error) error {
	return fmt.Errorf("page %d at byte %d: %w", i, at, err)
}

// read decodes the column.
func (c *chunk) read() (columnar.Column, error) {
	s, err := newSink(c)
	if err != nil {
		return columnar.Column{}, err
	}
	for i := range c.pages {
		p := &c.pages[i]
		if p.checksum != 0 && crc32.ChecksumIEEE(p.body) != uint32(p.checksum) {
			err = corruptf("its bytes do not match the checksum")
		} else if p.kind == dictionaryPage {
			err = c.readDictionary(p)
		} else {
			err = c.readPage(p, s)
		}
		if err != nil {
			return columnar.Column{}, c.errPage(i, p.at, err)
		}
	}
	return s.column()
}

// inflate decompresses a page of n bytes.
func (c *chunk) inflate(body []byte, n int64) ([]byte, error) {
	if c.codec != codecNone {
		c.held = n
	}
	return inflate(c.codec, body, int(n), c.budget)
}

// readDictionary reads the dictionary of the column.
func (c *chunk) readDictionary(p *page) error {
	if p.encoding != plainEncoding && p.encoding != plainDictionary {
		return unsupportedf("a dictionary in the encoding %s", encodingName(p.encoding))
	}
	data, err := c.inflate(p.body, p.uncompressed)
	if err != nil {
		return err
	}
	d := &c.dictionary
	if w := c.leaf.width; w > 0 {
		if p.values < 0 || p.values > int64(len(data)/w) {
			return corruptf("a dictionary of %d values in %d bytes", p.values, len(data))
		}
		d.count, d.data = int(p.values), data
		return nil
	}
	if p.values < 0 || p.values > int64(len(data)/4) {
		return corruptf("a dictionary of %d values in %d bytes", p.values, len(data))
	}
	if err := c.budget.reserve(8*p.values + 8 + int64(len(data))); err != nil {
		return err
	}
	d.count = int(p.values)
	d.offsets, d.data = make([]int64, 1, d.count+1), make([]byte, 0, len(data))
	texts := plainValues{data}
	for range d.count {
		text, err := texts.text()
		if err != nil {
			return err
		}
		d.data = append(d.data, text...)
		d.offsets = append(d.offsets, int64(len(d.data)))
	}
	return checkText(c.leaf.element.Kind, d.column())
}

// checkText returns an error for text that is not UTF-8.
func checkText(k columnar.Kind, c *columnar.Column) error {
	if k != columnar.String || c.Rows == 0 {
		return nil
	}
	// Mostly all of it can be checked at a time, if no character is in two texts.
	whole := utf8.Valid(c.Data[c.Offsets[0]:c.Offsets[c.Rows]])
	for i := range c.Rows {
		text := c.Data[c.Offsets[i]:c.Offsets[i+1]]
		if whole && (len(text) == 0 || utf8.RuneStart(text[0])) || utf8.Valid(text) || !c.IsValid(i) {
			continue
		}
		return corruptf("text that is not UTF-8: %.40q", text)
	}
	return nil
}

// readPage decodes a data page of version 1 or 2.
func (c *chunk) readPage(p *page, s *sink) error {
	var reps, defs *hybrid
	var data []byte
	var err error
	c.held = 0
	if p.kind == dataPage2 {
		reps, defs, data, err = c.open2(p)
	} else {
		reps, defs, data, err = c.open1(p)
	}
	if err != nil {
		return err
	}
	values, err := c.newDecoder(p.encoding, data, int(p.values))
	if err != nil {
		return err
	}
	for left := int(p.values); left > 0; {
		n := left
		// Most pages have no nulls: a run of the highest level.
		if reps == nil && (defs == nil || defs.skip(&n, c.leaf.mostDef)) {
			err = s.add(values, nil, n)
		} else {
			n = min(n, blockRows)
			err = s.addLevels(reps, defs, n, values)
		}
		if err != nil {
			return err
		}
		left -= n
	}
	c.budget.release(c.held)
	return nil
}

// open1 returns the levels and values of a page of version 1. Without levels of a kind
// the column has none.
func (c *chunk) open1(p *page) (reps, defs *hybrid, data []byte, err error) {
	if data, err = c.inflate(p.body, p.uncompressed); err != nil {
		return nil, nil, nil, err
	}
	for _, l := range []struct {
		most     uint32
		encoding int64
		h        **hybrid
	}{{c.leaf.mostRep, p.repetitions, &reps}, {c.leaf.mostDef, p.levels, &defs}} {
		if l.most == 0 {
			continue
		}
		width := bits.Len32(l.most)
		if l.encoding == bitPacked {
			return nil, nil, nil, unsupportedf("levels in the encoding BIT_PACKED")
		}
		if l.encoding != rleEncoding {
			return nil, nil, nil, corruptf("levels in the encoding %s", encodingName(l.encoding))
		}
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return nil, nil, nil, errShort("levels")
		}
		n := 4 + int(binary.LittleEndian.Uint32(data))
		*l.h, _ = newHybrid(data[4:n], width)
		data = data[n:]
	}
	return reps, defs, data, nil
}

// open2 returns the levels and values of a page of version 2, whose levels are not
// compressed.
func (c *chunk) open2(p *page) (reps, defs *hybrid, data []byte, err error) {
	n := int64(len(p.body))
	if p.repBytes < 0 || p.defBytes < 0 || p.repBytes > n || p.defBytes > n-p.repBytes || p.repBytes+p.defBytes > p.uncompressed {
		return nil, nil, nil, errShort("levels")
	}
	levels := p.repBytes + p.defBytes
	if c.leaf.mostRep > 0 {
		reps, _ = newHybrid(p.body[:p.repBytes], 1)
	}
	if c.leaf.mostDef > 0 {
		defs, _ = newHybrid(p.body[p.repBytes:levels], bits.Len32(c.leaf.mostDef))
	}
	data = p.body[levels:]
	// Pages are compressed unless they say that they are not. The size in the header
	// includes the levels.
	if p.isCompressed != no {
		data, err = c.inflate(data, p.uncompressed-levels)
	}
	return reps, defs, data, err
}

// skip goes over up to n numbers of a run, if the next one is of a run of the given
// number.
func (h *hybrid) skip(n *int, number uint32) bool {
	for h.left == 0 {
		if h.begin() != nil {
			return false
		}
	}
	if h.packed || h.value != number {
		return false
	}
	*n = int(min(uint64(*n), h.left))
	h.left -= uint64(*n)
	return true
}

// sink takes the values of a column.
type sink struct {
	*chunk
	size    int // of an element in Data, or 0 for byte arrays
	entries int // elements so far, those of lists if there are lists
	most    int // room for them
	data    []byte
	offsets []int64
	index   []uint32
	valid   []byte // nil before the first null

	lists     []int64 // the bounds of lists
	listValid []byte

	reps, defs [blockRows]uint32
	present    [blockRows]bool
	stored     []byte // values before they are converted
}

// newSink takes the memory for the rows that the pages have.
func newSink(c *chunk) (*sink, error) {
	s := &sink{chunk: c, size: c.leaf.element.Bytes(), most: c.values}
	n := int64(s.most)
	bytes := n * int64(s.size)
	switch {
	case n > 0 && bytes/n != int64(s.size):
		return nil, corruptf("%d values of %d bytes", n, s.size)
	case s.indexed:
		bytes = 4 * n
	case s.size == 0:
		bytes = 8 * (n + 1)
	}
	if c.leaf.mostRep > 0 {
		bytes += 8 * int64(c.rows+1)
	}
	if err := c.budget.reserve(bytes + n/8 + int64(c.rows)/8); err != nil {
		return nil, err
	}
	switch {
	case s.indexed:
		s.index = make([]uint32, 0, n)
	case s.size == 0:
		s.offsets = make([]int64, 1, n+1)
	default:
		s.data = make([]byte, int(n)*s.size)
	}
	if c.leaf.mostRep > 0 {
		s.lists = make([]int64, 0, c.rows+1)
	}
	return s, nil
}

// addLevels takes n values or places without one, by their levels.
func (s *sink) addLevels(reps, defs *hybrid, n int, values decoder) error {
	levels := s.defs[:n]
	if err := defs.read(levels); err != nil {
		return fmt.Errorf("levels: %w", err)
	}
	most := s.leaf.mostDef
	if reps == nil {
		count := 0
		for i, d := range levels {
			if d > most {
				return corruptf("a definition level of %d, where the highest is %d", d, most)
			}
			s.present[i] = d == most
			if d == most {
				count++
			}
		}
		return s.add(values, s.present[:n], count)
	}
	if err := reps.read(s.reps[:n]); err != nil {
		return fmt.Errorf("levels: %w", err)
	}
	count, entries := 0, 0
	for i, d := range levels {
		switch r := s.reps[i]; {
		case d > most || r > 1:
			return corruptf("levels of %d and %d, where the highest are 1 and %d", r, d, most)
		case r == 0 && len(s.lists) == s.rows:
			return corruptf("more lists than rows, which are %d", s.rows)
		case r == 0:
			s.lists = append(s.lists, int64(s.entries+entries))
			if d+1 < s.leaf.inList {
				setNull(&s.listValid, len(s.lists)-1, s.rows)
			}
		case len(s.lists) == 0 || d < s.leaf.inList:
			return corruptf("a list that goes on without an element")
		}
		if d >= s.leaf.inList {
			s.present[entries] = d == most
			if d == most {
				count++
			}
			entries++
		}
	}
	return s.add(values, s.present[:entries], count)
}

// setNull makes a row null in a bitmap of n rows.
func setNull(valid *[]byte, row, n int) {
	if *valid == nil {
		*valid = make([]byte, (n+7)/8)
		for i := range *valid {
			(*valid)[i] = 0xff
		}
	}
	(*valid)[row>>3] &^= 1 << (row & 7)
}

// add takes count values. present says which elements have one; nil stands for all.
func (s *sink) add(values decoder, present []bool, count int) error {
	if present == nil || count == len(present) {
		return s.addValues(values, count)
	}
	for len(present) > 0 {
		n := 1
		for n < len(present) && present[n] == present[0] {
			n++
		}
		if present[0] {
			if err := s.addValues(values, n); err != nil {
				return err
			}
		} else {
			s.addNulls(n)
		}
		present = present[n:]
	}
	return nil
}

// addNulls takes n nulls.
func (s *sink) addNulls(n int) {
	for range n {
		setNull(&s.valid, s.entries, s.most)
		switch {
		case s.index != nil:
			s.index = append(s.index, 0)
		case s.size == 0:
			s.offsets = append(s.offsets, int64(len(s.data)))
		}
		s.entries++
	}
}

// addValues takes n values.
func (s *sink) addValues(values decoder, n int) error {
	var err error
	first := s.entries
	s.entries += n
	switch convert := s.leaf.convert; {
	case s.index != nil:
		s.index = s.index[:s.entries]
		d, _ := values.(*dictionaryValues)
		return d.index(s.index[first:])
	case s.size == 0:
		return s.addTexts(values, n)
	case convert == nil:
		return values.fixed(s.data[first*s.size : s.entries*s.size])
	case s.leaf.width == 0:
		for i := first; i < s.entries && err == nil; i++ {
			var text []byte
			if text, err = values.text(); err == nil {
				err = convert(s.data[i*s.size:(i+1)*s.size], text)
			}
		}
	default:
		w := s.leaf.width
		if s.stored == nil {
			if err := s.budget.reserve(int64(w) * blockRows); err != nil {
				return err
			}
			s.stored = make([]byte, w*blockRows)
		}
		for i := first; i < s.entries && err == nil; {
			k := min(s.entries-i, blockRows)
			if err = values.fixed(s.stored[:k*w]); err == nil {
				err = convert(s.data[i*s.size:(i+k)*s.size], s.stored[:k*w])
			}
			i += k
		}
	}
	return err
}

// addTexts takes n byte arrays.
func (s *sink) addTexts(values decoder, n int) error {
	for range n {
		text, err := values.text()
		if err != nil {
			return err
		}
		if need := len(s.data) + len(text); need > cap(s.data) {
			size := max(need, 2*cap(s.data), 1<<10)
			if err := s.budget.reserve(int64(size)); err != nil {
				return err
			}
			larger := append(make([]byte, 0, size), s.data...)
			s.budget.release(int64(cap(s.data)))
			s.data = larger
		}
		s.data = append(s.data, text...)
		s.offsets = append(s.offsets, int64(len(s.data)))
	}
	return nil
}

// column returns the column, after its last page.
func (s *sink) column() (columnar.Column, error) {
	c := columnar.Column{Rows: s.entries, Valid: s.valid}
	switch d := &s.dictionary; {
	case s.index != nil && d.count > 0:
		c.Dictionary = d.column()
		c.Index = s.index
	case s.index != nil: // nothing but nulls
		c.Offsets = make([]int64, s.entries+1)
	default:
		c.Data, c.Offsets = s.data, s.offsets
		if s.size > 0 {
			c.Data = s.data[:s.entries*s.size]
		}
		if err := checkText(s.leaf.element.Kind, &c); err != nil {
			return c, err
		}
	}
	if s.leaf.mostRep == 0 {
		return c, nil
	}
	if len(s.lists) != s.rows {
		return c, corruptf("%d lists for %d rows", len(s.lists), s.rows)
	}
	// The bitmap of the elements has room for all values.
	if s.valid != nil {
		c.Valid = s.valid[:(s.entries+7)/8]
	}
	s.lists = append(s.lists, int64(s.entries))
	return columnar.Column{Rows: s.rows, Valid: s.listValid, Offsets: s.lists, Elements: &c}, nil
}

// int32Of returns n if it fits a field of 32 bits.
func int32Of(n int, what string) (int64, error) {
	if n > math.MaxInt32 {
		return 0, unsupportedf("%s of %d bytes; write smaller row groups", what, n)
	}
	return int64(n), nil
}
