// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
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
	// Flat columns have no repetition levels, and required ones no levels at all.
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
	// The size in the header includes the levels.
	h.UncompressedPageSize -= int32(before + levels)
	data := body[before+levels:]
	// Pages are compressed unless they say that they are not.
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
		// The width of the indices in bits comes first.
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

// hybrid reads numbers of a few bits in Parquet's hybrid of runs and packed groups, one
// after the other. It needs no memory for them, however many a run claims to be.
type hybrid struct {
	data   []byte
	width  int    // of a number, in bits
	left   uint64 // numbers of the present run
	packed bool   // whether each of the run has bits of its own
	value  uint32 // that of an unpacked run
	bits   uint64 // that were read, the next ones lowest
	have   int    // the number of them
}

// newHybrid returns a reader of numbers with a width in bits.
func newHybrid(data []byte, width int) (*hybrid, error) {
	if width > 32 {
		return nil, scan.Corruptf("numbers of %d bits", width)
	}
	return &hybrid{data: data, width: width}, nil
}

// next returns the next number.
func (h *hybrid) next() (uint32, error) {
	for h.left == 0 {
		if err := h.begin(); err != nil {
			return 0, err
		}
	}
	h.left--
	if !h.packed {
		return h.value, nil
	}
	// Numbers are packed from the least significant bit of each byte on.
	for h.have < h.width {
		if len(h.data) == 0 {
			return 0, errShort("packed numbers")
		}
		h.bits |= uint64(h.data[0]) << h.have
		h.data = h.data[1:]
		h.have += 8
	}
	x := uint32(h.bits & (1<<h.width - 1))
	h.bits >>= h.width
	h.have -= h.width
	return x, nil
}

// begin reads the head of a run.
func (h *hybrid) begin() error {
	// The lowest bit of the head tells groups of packed numbers from a repeated one.
	head, n := binary.Uvarint(h.data)
	if n <= 0 {
		return errShort("runs")
	}
	h.data = h.data[n:]
	h.left, h.packed, h.bits, h.have = head>>1, head&1 != 0, 0, 0
	if h.packed { // in groups of eight
		if h.left > 1<<32 {
			return scan.Corruptf("a run of %d groups", h.left)
		}
		h.left *= 8
		return nil
	}
	size := (h.width + 7) / 8
	if len(h.data) < size {
		return errShort("runs")
	}
	var b [4]byte
	copy(b[:], h.data[:size])
	h.value, h.data = binary.LittleEndian.Uint32(b[:]), h.data[size:]
	return nil
}

// errShort is the error for a page that ends within what it has.
func errShort(what string) error { return scan.Corruptf("a page ends within its %s", what) }

// inflate decompresses a page of n bytes. It refuses pages whose compression cannot make
// so many bytes of so few, before it takes memory for them.
func inflate(codec format.CompressionCodec, src []byte, n int) ([]byte, error) {
	var page []byte
	var err error
	switch codec {
	case format.Uncompressed:
		page = src
	case format.Zstd:
		page, err = inflateZstd(src, n)
	case format.Snappy:
		page, err = inflateSnappy(src, n)
	case format.Gzip:
		page, err = inflateGzip(src, n)
	default:
		return nil, scan.Unsupportedf("the compression %v; Zstandard, Snappy and gzip can be read", codec)
	}
	if err == nil && len(page) != n {
		err = errSize
	}
	if err != nil {
		return nil, scan.Corruptf("a page of %d bytes (%v): %v", n, codec, err)
	}
	return page, nil
}

var errSize = errors.New("it has another size")

var zstdDecoders sync.Pool // of *zstd.Decoder

func inflateZstd(src []byte, n int) ([]byte, error) {
	const mostBlock, leastBlock = 128 << 10, 3 // a run of one byte takes four, with its head
	if int64(n) > (int64(len(src))/leastBlock+1)*mostBlock {
		return nil, errSize
	}
	d, ok := zstdDecoders.Get().(*zstd.Decoder)
	if !ok {
		var err error
		d, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecodeAllCapLimit(true),         // the page bounds the decoder
			zstd.WithDecoderMaxWindow(math.MaxInt32), // a window takes no memory: the page is the history
		)
		if err != nil {
			return nil, err
		}
	}
	defer zstdDecoders.Put(d)
	return d.DecodeAll(src, make([]byte, 0, n))
}

func inflateSnappy(src []byte, n int) ([]byte, error) {
	const mostRatio = 22 // a copy of 64 bytes takes three
	if size, err := s2.DecodedLen(src); err != nil || size != n || int64(n) > mostRatio*int64(len(src)) {
		return nil, errSize
	}
	return s2.Decode(make([]byte, n), src)
}

func inflateGzip(src []byte, n int) ([]byte, error) {
	const mostRatio = 1032 // 258 bytes take two bits
	if int64(n) > mostRatio*int64(len(src)) {
		return nil, errSize
	}
	r, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	page := make([]byte, n)
	if _, err := io.ReadFull(r, page); err != nil {
		return nil, err
	}
	if k, err := r.Read(make([]byte, 1)); k != 0 || err != io.EOF {
		return nil, errSize
	}
	return page, nil
}

// column reads the pages of one column of a row group.
type column struct {
	name       string
	physical   format.Type
	optional   bool
	codec      format.CompressionCodec
	pages      []byte
	dictionary dictionary
	reserve    func(n int64) error // counts memory, and returns an error at the limit
	spend      func(n int) error   // counts bytes of pages in the same way
}

// column returns a column of a row group.
func (f *footer) column(e *format.SchemaElement, g *format.RowGroup, reserve func(int64) error) (*column, error) {
	for i := range g.Columns {
		m := &g.Columns[i].MetaData
		if len(m.PathInSchema) != 1 || m.PathInSchema[0] != e.Name {
			continue
		}
		if g.Columns[i].FilePath != "" || g.Columns[i].CryptoMetadata.Value != nil {
			return nil, scan.Unsupportedf("it is in another file, or encrypted")
		}
		begin := m.DataPageOffset
		// The dictionary comes before the data pages, to which DataPageOffset leads.
		if m.DictionaryPageOffset > 0 {
			begin = min(begin, m.DictionaryPageOffset)
		}
		if n := int64(len(f.pages)); begin < 0 || begin > n || m.TotalCompressedSize < 0 || m.TotalCompressedSize > n-begin {
			return nil, scan.Corruptf("%d bytes at %d, before the footer at %d", m.TotalCompressedSize, begin, n)
		}
		return &column{
			name: e.Name, physical: m.Type, optional: e.RepetitionType.V == format.Optional, codec: m.Codec,
			pages: f.pages[begin : begin+m.TotalCompressedSize], reserve: reserve, spend: f.spend,
		}, nil
	}
	return nil, scan.Corruptf("a row group lacks it")
}

// inflate returns the decompressed bytes of a page, or of its values.
func (c *column) inflate(body []byte, h *format.PageHeader) ([]byte, error) {
	if h.UncompressedPageSize < 0 {
		return nil, scan.Corruptf("a page of %d bytes", h.UncompressedPageSize)
	}
	if c.codec != format.Uncompressed {
		if err := c.reserve(int64(h.UncompressedPageSize)); err != nil {
			return nil, err
		}
	}
	if len(body) == 0 && h.UncompressedPageSize == 0 { // some codecs write nothing for nothing
		return nil, nil
	}
	return inflate(c.codec, body, int(h.UncompressedPageSize))
}

// next returns the next data page, after it has read a dictionary before it.
func (c *column) next() (page, error) {
	for {
		if len(c.pages) == 0 {
			return page{}, scan.Corruptf("the pages end before the rows")
		}
		var h format.PageHeader
		n, err := unmarshal(c.pages[:min(len(c.pages), mostHeader)], &h)
		if err != nil {
			return page{}, fmt.Errorf("header of a page: %w", err)
		}
		rest := c.pages[n:]
		if h.CompressedPageSize < 0 || int64(h.CompressedPageSize) > int64(len(rest)) {
			return page{}, scan.Corruptf("a page of %d bytes where %d follow", h.CompressedPageSize, len(rest))
		}
		body := rest[:h.CompressedPageSize]
		c.pages = rest[h.CompressedPageSize:]
		if err := c.spend(n + len(body)); err != nil {
			return page{}, err
		}
		switch {
		case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
			if err := c.dictionaryPage(&h, body); err != nil {
				return page{}, err
			}
		case h.Type == format.IndexPage:
		case h.Type == format.DataPage && h.DataPageHeader.Valid, h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
			return c.dataPage(&h, body)
		default:
			return page{}, scan.Corruptf("a page of type %d without its header", h.Type)
		}
	}
}

// each calls f for each of so many rows that is not null, from the given number on. f
// must take one value.
func (c *column) each(first, rows int, f func(row int, v *values) error) error {
	for end := first + rows; first < end; {
		p, err := c.next()
		if err != nil {
			return err
		}
		if p.rows < 0 || p.rows > end-first {
			return scan.Corruptf("a page with %d rows, where %d are missing", p.rows, end-first)
		}
		for range p.rows {
			level := uint32(1)
			if p.levels != nil {
				if level, err = p.levels.next(); err != nil {
					return fmt.Errorf("row %d: %w", first, err)
				}
			}
			if level != 0 {
				if err := f(first, &p.values); err != nil {
					return fmt.Errorf("row %d: %w", first, err)
				}
			}
			first++
		}
	}
	return nil
}

// encoded begins a value that is base64. Fsspec decodes it in files of records as in
// JSON, so a value that begins like this has to be encoded.
const encoded = "base64:"

// unwrapped returns the value that a text of the column raw stands for. It does not share
// the memory of text.
func unwrapped(text []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(text, []byte(encoded))
	if !ok {
		return append([]byte{}, text...), nil
	}
	data, err := base64.StdEncoding.AppendDecode([]byte{}, rest)
	if err != nil {
		return nil, scan.Corruptf("%v", err)
	}
	return data, nil
}

// wrapped is the inverse of unwrapped. It may share the memory of data.
func wrapped(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte(encoded)) {
		return data
	}
	return base64.StdEncoding.AppendEncode([]byte(encoded), data)
}
