// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"
	"varve.dev/zarr/virtual/scan"
)

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
