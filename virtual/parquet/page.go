// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"

	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/format"
	"varve.dev/zarr/virtual/scan"
)

// mostHeader bounds the header of a page in bytes. It may have statistics with values.
const mostHeader = 1 << 20

// plainDictionary is what older writers, such as fastparquet, call a dictionary.
const plainDictionary format.Encoding = 2

// page is a data page.
type page struct {
	rows   int     // with nulls
	levels *hybrid // 1 for a value, 0 for null; nil if all are values
	values values
}

// values are those of a page that are not null, in order.
type values struct {
	data       []byte     // plain ones
	indices    *hybrid    // or numbers of the dictionary, unless nil
	dictionary dictionary // of the column
}

// dictionary has the plain values of a dictionary page.
type dictionary struct {
	texts [][]byte
	ints  []int64
}

// dataPage returns the data page of version 1 or 2 with a header. body is the stored
// page.
func (c *column) dataPage(h *format.PageHeader, body []byte) (page, error) {
	if h.Type == format.DataPageV2 {
		return c.dataPage2(h, body)
	}
	d := h.DataPageHeader.V
	p := page{rows: int(d.NumValues)}
	data, err := c.inflate(body, h)
	if err != nil {
		return p, err
	}
	if c.optional {
		if d.DefinitionLevelEncoding != format.RLE {
			return p, scan.Unsupportedf("levels in the encoding %v", d.DefinitionLevelEncoding)
		}
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return p, errShort("levels")
		}
		n := 4 + int(binary.LittleEndian.Uint32(data))
		p.levels, _ = newHybrid(data[4:n], 1)
		data = data[n:]
	}
	return p, c.setValues(&p, d.Encoding, data)
}

// dataPage2 returns a data page of version 2, whose levels are not compressed.
func (c *column) dataPage2(h *format.PageHeader, body []byte) (page, error) {
	d := h.DataPageHeaderV2.V
	p := page{rows: int(d.NumValues)}
	before, levels := int(d.RepetitionLevelsByteLength), int(d.DefinitionLevelsByteLength)
	if before < 0 || levels < 0 || before > len(body) || levels > len(body)-before {
		return p, errShort("levels")
	}
	if c.optional {
		p.levels, _ = newHybrid(body[before:before+levels], 1)
	}
	h.UncompressedPageSize -= int32(before + levels)
	data := body[before+levels:]
	if !d.IsCompressed.Valid || d.IsCompressed.V {
		var err error
		if data, err = c.inflate(data, h); err != nil {
			return p, err
		}
	}
	return p, c.setValues(&p, d.Encoding, data)
}

// setValues sets the values of a page.
func (c *column) setValues(p *page, e format.Encoding, data []byte) error {
	p.values = values{data: data, dictionary: c.dictionary}
	switch e {
	case format.Plain:
		return nil
	case plainDictionary, format.RLEDictionary:
		if len(data) == 0 { // nothing but nulls
			data = []byte{0}
		}
		var err error
		p.values.indices, err = newHybrid(data[1:], int(data[0]))
		return err
	}
	return scan.Unsupportedf("values in the encoding %v; plain ones and dictionaries can be read", e)
}

// dictionaryPage reads the dictionary of the column.
func (c *column) dictionaryPage(h *format.PageHeader, body []byte) error {
	d := h.DictionaryPageHeader.V
	if d.Encoding != format.Plain && d.Encoding != plainDictionary {
		return scan.Unsupportedf("a dictionary in the encoding %v", d.Encoding)
	}
	data, err := c.inflate(body, h)
	if err != nil {
		return err
	}
	// A text takes four bytes at least, and six times as many in memory.
	if err := c.reserve(6 * int64(len(data))); err != nil {
		return err
	}
	c.dictionary = dictionary{}
	for n := int32(0); n < d.NumValues; n++ {
		var err error
		if c.physical == format.ByteArray {
			var text []byte
			text, data, err = plain.NextByteArray(data)
			c.dictionary.texts = append(c.dictionary.texts, text)
		} else {
			var x int64
			x, data, err = c.nextInt(data)
			c.dictionary.ints = append(c.dictionary.ints, x)
		}
		if err != nil {
			return scan.Corruptf("dictionary: %v", err)
		}
	}
	return nil
}

// nextInt returns the plain number at the start of data, and what follows it.
func (c *column) nextInt(data []byte) (int64, []byte, error) {
	if c.physical == format.Int32 {
		if len(data) < 4 {
			return 0, nil, errShort("values")
		}
		return int64(int32(binary.LittleEndian.Uint32(data))), data[4:], nil
	}
	if len(data) < 8 {
		return 0, nil, errShort("values")
	}
	return int64(binary.LittleEndian.Uint64(data)), data[8:], nil
}

// text returns the next text of a page.
func (v *values) text() (text []byte, err error) {
	if v.indices == nil {
		if text, v.data, err = plain.NextByteArray(v.data); err != nil {
			return nil, scan.Corruptf("%v", err)
		}
		return text, nil
	}
	i, err := v.indices.next()
	if err == nil && int64(i) >= int64(len(v.dictionary.texts)) {
		err = errIndex(i, len(v.dictionary.texts))
	}
	if err != nil {
		return nil, err
	}
	return v.dictionary.texts[i], nil
}

// number returns the next number of a page of a column.
func (v *values) number(c *column) (x int64, err error) {
	if v.indices == nil {
		x, v.data, err = c.nextInt(v.data)
		return x, err
	}
	i, err := v.indices.next()
	if err == nil && int64(i) >= int64(len(v.dictionary.ints)) {
		err = errIndex(i, len(v.dictionary.ints))
	}
	if err != nil {
		return 0, err
	}
	return v.dictionary.ints[i], nil
}

func errIndex(i uint32, n int) error { return scan.Corruptf("value %d of a dictionary of %d", i, n) }
