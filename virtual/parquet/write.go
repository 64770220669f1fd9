// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/virtual/scan"
)

// appendFile appends a file with one row group, and one data page of version 1 for each
// column. It has no schema of pandas, by which paths would become categories, whose nulls
// are NaN; see addPaths.
func appendFile(dst []byte, r *kerchunk.Records) ([]byte, error) {
	t := splitRecords(r)
	f := &fileWriter{start: len(dst), out: append(dst, magic...), rows: r.Len()}
	var err error
	for _, add := range []func() error{
		func() error { return f.addPaths(t) },
		func() error { return f.addNumbers("offset", t.offset) },
		func() error { return f.addNumbers("size", t.size) },
		func() error { return f.addRaw(t) },
	} {
		if err = add(); err != nil {
			return dst, err
		}
	}
	return f.finish()
}

// columns are records by column.
type columns struct {
	urls         []string // different ones, in order
	path         []int32  // their numbers, of rows that have one
	offset, size []byte   // plain numbers
	raw          []byte   // plain values, of rows that have one
	hasPath      []uint8  // 1 for each row that has a path
	hasRaw       []uint8
}

func splitRecords(r *kerchunk.Records) *columns {
	n := r.Len()
	t := &columns{hasPath: make([]uint8, n), hasRaw: make([]uint8, n)}
	numbers := map[string]int32{}
	for i := range n {
		x, ok := r.At(i)
		offset, size := x.Offset, x.Length
		switch {
		case !ok:
			offset, size = 0, 0
		case x.URL == "" || size == 0: // a path with a size of 0 is a whole file
			t.hasRaw[i], t.raw = 1, plain.AppendByteArray(t.raw, wrapped(x.Data))
			offset, size = 0, 0
		default:
			number, known := numbers[x.URL]
			if !known {
				number = int32(len(t.urls))
				numbers[x.URL] = number
				t.urls = append(t.urls, x.URL)
			}
			t.hasPath[i], t.path = 1, append(t.path, number)
			if size == kerchunk.Whole {
				offset, size = 0, 0
			}
		}
		t.offset, t.size = plain.AppendInt64(t.offset, offset), plain.AppendInt64(t.size, size)
	}
	return t
}

// fileWriter makes a file.
type fileWriter struct {
	out    []byte
	start  int // where the file begins in out
	rows   int
	schema []format.SchemaElement
	chunks []format.ColumnChunk
}

// addPaths adds the column with the paths. It has a dictionary, also if they do not
// repeat, or if there are none: fastparquet makes None of null then, as fsspec expects.
// Of plain texts it makes a column of pandas 3 whose nulls are NaN, and fsspec takes NaN
// for a path.
func (f *fileWriter) addPaths(t *columns) error {
	var texts []byte
	urls := t.urls
	if len(urls) == 0 {
		urls = []string{""}
	}
	for _, url := range urls {
		texts = plain.AppendByteArrayString(texts, url)
	}
	width := max(1, bits.Len(uint(len(urls)-1)))
	indices, err := (&rle.Encoding{BitWidth: width}).EncodeInt32(nil, t.path)
	if err != nil {
		return err
	}
	// A page of indices begins with their width in bits.
	return f.add(textElement("path", true), texts, len(urls), t.hasPath, format.RLEDictionary, append([]byte{byte(width)}, indices...))
}

func (f *fileWriter) addRaw(t *columns) error {
	return f.add(textElement("raw", false), nil, 0, t.hasRaw, format.Plain, t.raw)
}

func (f *fileWriter) addNumbers(name string, values []byte) error {
	e := format.SchemaElement{Name: name, Type: thrift.New(format.Int64), RepetitionType: thrift.New(format.Required)}
	return f.add(e, nil, 0, nil, format.Plain, values)
}

// textElement returns the description of a column of texts, which may be null.
func textElement(name string, utf8 bool) format.SchemaElement {
	e := format.SchemaElement{Name: name, Type: thrift.New(format.ByteArray), RepetitionType: thrift.New(format.Optional)}
	if utf8 {
		e.ConvertedType = thrift.New(deprecated.UTF8)
		e.LogicalType = format.LogicalType{Value: new(format.StringType)}
	}
	return e
}

// add adds a column: the values of the rows that are defined, which are all if defined is
// nil, and the plain values of a dictionary, which has count of them.
func (f *fileWriter) add(e format.SchemaElement, dictionary []byte, count int, defined []uint8, encoding format.Encoding, values []byte) error {
	m := format.ColumnMetaData{
		Type: e.Type.V, Encoding: thrift.Slice[format.Encoding]{format.RLE, encoding}, PathInSchema: thrift.Slice[string]{e.Name},
		Codec: format.Zstd, NumValues: int64(f.rows),
	}
	begin := len(f.out)
	if encoding == format.RLEDictionary {
		m.Encoding = append(m.Encoding, format.Plain)
		m.DictionaryPageOffset = int64(len(f.out) - f.start)
		h := format.PageHeader{Type: format.DictionaryPage}
		h.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: int32(count), Encoding: format.Plain})
		if err := f.addPage(&m, h, dictionary); err != nil {
			return err
		}
	}
	data, nulls, err := appendLevels(nil, defined)
	if err != nil {
		return err
	}
	// Offsets count from the start of the file, and not of the buffer.
	m.DataPageOffset = int64(len(f.out) - f.start)
	m.Statistics.NullCount = nulls
	h := format.PageHeader{Type: format.DataPage}
	h.DataPageHeader = thrift.New(format.DataPageHeader{
		NumValues: int32(f.rows), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		Statistics: format.Statistics{NullCount: nulls},
	})
	if err := f.addPage(&m, h, append(data, values...)); err != nil {
		return err
	}
	m.TotalCompressedSize = int64(len(f.out) - begin)
	f.schema = append(f.schema, e)
	f.chunks = append(f.chunks, format.ColumnChunk{MetaData: m})
	return nil
}

// appendLevels appends the levels of a page, and returns how many of its values are null.
func appendLevels(dst []byte, defined []uint8) ([]byte, int64, error) {
	if defined == nil {
		return dst, 0, nil
	}
	levels, err := (&rle.Encoding{BitWidth: 1}).EncodeLevels(nil, defined)
	nulls := int64(0)
	for _, d := range defined {
		nulls += 1 - int64(d)
	}
	// Levels of a page of version 1 follow their length in 4 bytes.
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(levels)))
	return append(dst, levels...), nulls, err
}

// addPage adds a page.
func (f *fileWriter) addPage(m *format.ColumnMetaData, h format.PageHeader, data []byte) error {
	// Page headers have sizes of 32 bits with a sign.
	if int64(len(data)) > math.MaxInt32 {
		return scan.Unsupportedf("column %q has %d bytes; put fewer references into a file", m.PathInSchema[0], len(data))
	}
	e, err := zstdEncoder()
	if err != nil {
		return err
	}
	body := e.EncodeAll(data, nil)
	h.UncompressedPageSize, h.CompressedPageSize = int32(len(data)), int32(len(body))
	header, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	f.out = append(append(f.out, header...), body...)
	m.TotalUncompressedSize += int64(len(header) + len(data))
	return err
}

// zstdEncoder returns the encoder of all pages, which may be used by many at once.
var zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true), zstd.WithLowerEncoderMem(true))
})

// finish adds the footer, and returns the file.
func (f *fileWriter) finish() ([]byte, error) {
	root := format.SchemaElement{Name: "schema", NumChildren: thrift.New(int32(len(f.schema)))}
	g := format.RowGroup{Columns: f.chunks, NumRows: int64(f.rows)}
	for i := range f.chunks {
		m := &f.chunks[i].MetaData
		g.TotalByteSize += m.TotalUncompressedSize
		g.TotalCompressedSize += m.TotalCompressedSize
	}
	text, err := thrift.Marshal(new(thrift.CompactProtocol), &format.FileMetaData{
		Version: 1, Schema: append([]format.SchemaElement{root}, f.schema...), NumRows: int64(f.rows),
		RowGroups: thrift.Slice[format.RowGroup]{g}, CreatedBy: "varve",
	})
	if err != nil {
		return nil, err
	}
	// A file ends with the metadata, their length in 4 bytes, and the magic.
	f.out = append(f.out, text...)
	f.out = binary.LittleEndian.AppendUint32(f.out, uint32(len(text)))
	return append(f.out, magic...), nil
}
