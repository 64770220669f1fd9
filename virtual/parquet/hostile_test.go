// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/virtual/scan"
)

// withFooter returns a file with the given pages and footer.
func withFooter(pages, footer []byte) []byte {
	const magic = "PAR1"
	file := append(append([]byte(magic), pages...), footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), magic...)
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	text, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// claim is a file with one column that a test changes before it is made.
type claim struct {
	file   format.FileMetaData
	column *format.ColumnMetaData
	page   format.PageHeader
	body   []byte
}

// make returns the file of a claim. The page is that of the column path.
func (c *claim) make(t testing.TB) []byte {
	pages := append(marshal(t, &c.page), c.body...)
	if c.column.TotalCompressedSize == 0 {
		c.column.TotalCompressedSize = int64(len(pages))
	}
	return withFooter(pages, marshal(t, &c.file))
}

// newClaim returns a sound file of so many rows, all missing.
func newClaim(rows int) *claim {
	c := &claim{file: format.FileMetaData{Version: 1, NumRows: int64(rows), CreatedBy: "test"}}
	path := format.SchemaElement{Name: "path", Type: thrift.New(format.ByteArray), RepetitionType: thrift.New(format.Optional), ConvertedType: thrift.New(deprecated.UTF8)}
	c.file.Schema = []format.SchemaElement{{Name: "schema", NumChildren: thrift.New(int32(1))}, path}
	m := format.ColumnMetaData{Type: format.ByteArray, PathInSchema: thrift.Slice[string]{"path"}, DataPageOffset: 4, NumValues: int64(rows), Encoding: thrift.Slice[format.Encoding]{format.Plain}}
	c.file.RowGroups = thrift.Slice[format.RowGroup]{{NumRows: int64(rows), Columns: thrift.Slice[format.ColumnChunk]{{MetaData: m}}}}
	c.column = &c.file.RowGroups[0].Columns[0].MetaData
	levels := binary.AppendUvarint(nil, uint64(rows)<<1) // a run of zeros
	levels = append(levels, 0)
	c.body = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	c.page = format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(len(c.body)), CompressedPageSize: int32(len(c.body))}
	c.page.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: int32(rows), Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
	return c
}

// TestClaims has files whose metadata claim what is not there. Each is refused without
// much memory.
func TestClaims(t *testing.T) {
	claims := map[string]func(c *claim){
		"sound":                    func(c *claim) {},
		"other rows in the file":   func(c *claim) { c.file.NumRows = 2 },
		"negative rows":            func(c *claim) { c.file.NumRows = -1 },
		"many rows":                func(c *claim) { c.file.NumRows = math.MaxInt64 },
		"negative rows in a group": func(c *claim) { c.file.RowGroups[0].NumRows = -1 },
		"many rows in a group":     func(c *claim) { c.file.RowGroups[0].NumRows = math.MaxInt64 },
		"no row group":             func(c *claim) { c.file.RowGroups = nil },
		"no columns":               func(c *claim) { c.file.RowGroups[0].Columns = nil },
		"no schema":                func(c *claim) { c.file.Schema = nil },
		"children that are not":    func(c *claim) { c.file.Schema[0].NumChildren.V = 5 },
		"negative children":        func(c *claim) { c.file.Schema[0].NumChildren.V = -1 },
		"another file":             func(c *claim) { c.file.RowGroups[0].Columns[0].FilePath = "other" },
		"a negative offset":        func(c *claim) { c.column.DataPageOffset = -5 },
		"an offset beyond the end": func(c *claim) { c.column.DataPageOffset = 1 << 40 },
		"an offset in the footer":  func(c *claim) { c.column.DataPageOffset = 60 },
		"a size beyond the end":    func(c *claim) { c.column.TotalCompressedSize = math.MaxInt64 },
		"a negative size":          func(c *claim) { c.column.TotalCompressedSize = -1 },
		"more rows in the page":    func(c *claim) { c.page.DataPageHeader.V.NumValues = 11 },
		"many rows in the page": func(c *claim) {
			c.page.DataPageHeader.V.NumValues = 20
			c.body[4] = 20 << 1
		},
		"fewer rows in the page":    func(c *claim) { c.page.DataPageHeader.V.NumValues = 9 },
		"negative rows in the page": func(c *claim) { c.page.DataPageHeader.V.NumValues = -10 },
		"a page beyond the end":     func(c *claim) { c.page.CompressedPageSize = math.MaxInt32 },
		"a negative page":           func(c *claim) { c.page.CompressedPageSize = -1 },
		"a negative content":        func(c *claim) { c.page.UncompressedPageSize = -1 },
		"a page of another size":    func(c *claim) { c.page.UncompressedPageSize++ },
		"another kind of page":      func(c *claim) { c.page.Type = 77 },
		"no header of the page":     func(c *claim) { c.page.Type = format.DataPageV2 },
		"packed levels":             func(c *claim) { c.page.DataPageHeader.V.DefinitionLevelEncoding = format.BitPacked },
		"levels beyond the page":    func(c *claim) { c.body[0] = 200 },
		"huge levels":               func(c *claim) { c.body[3] = 255 },
		"values that are not there": func(c *claim) { c.body[len(c.body)-1] = 1 },
		"a dictionary that is not":  func(c *claim) { c.body[len(c.body)-1] = 1; c.page.DataPageHeader.V.Encoding = format.RLEDictionary },
		"zstd that is not":          func(c *claim) { c.column.Codec = format.Zstd },
		"a gigabyte of snappy":      func(c *claim) { c.column.Codec = format.Snappy; c.page.UncompressedPageSize = 1 << 30 },
		"gzip that is not":          func(c *claim) { c.column.Codec = format.Gzip },
		"100 MB of zstd": func(c *claim) {
			c.column.Codec, c.body = format.Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 6, 1, 0, 0} // a frame of so many, without blocks
			c.page.UncompressedPageSize, c.page.CompressedPageSize = 6<<24, int32(len(c.body))
		},
		"100 MB of snappy": func(c *claim) {
			c.column.Codec, c.body = format.Snappy, binary.AppendUvarint(nil, 6<<24)
			c.page.UncompressedPageSize, c.page.CompressedPageSize = 6<<24, int32(len(c.body))
		},
		"100 MB of gzip":           func(c *claim) { c.column.Codec = format.Gzip; c.page.UncompressedPageSize = 6 << 24 },
		"two gigabytes of zstd":    func(c *claim) { c.column.Codec = format.Zstd; c.page.UncompressedPageSize = math.MaxInt32 },
		"an encoding of its own":   func(c *claim) { c.page.DataPageHeader.V.Encoding = format.DeltaByteArray },
		"a compression of its own": func(c *claim) { c.column.Codec = 99 },
		"a column twice": func(c *claim) {
			c.file.Schema = append(c.file.Schema, c.file.Schema[1])
			c.file.Schema[0].NumChildren.V = 2
		},
		"an encrypted column": func(c *claim) {
			c.file.RowGroups[0].Columns[0].CryptoMetadata.Value = new(format.EncryptionWithFooterKey)
		},
		"levels of rows before them": func(c *claim) { versionTwo(c); c.page.DataPageHeaderV2.V.RepetitionLevelsByteLength = 1 << 30 },
		"negative levels":            func(c *claim) { versionTwo(c); c.page.DataPageHeaderV2.V.DefinitionLevelsByteLength = -1 },
	}
	for name, change := range claims {
		c := newClaim(10)
		change(c)
		file := c.make(t)
		var r *kerchunk.Records
		var err error
		if n := allocated(func() { r, err = Format{}.Decode(file, 10, kerchunk.Limits{}) }); n > 8<<20 {
			t.Errorf("%s: %d bytes of memory", name, n)
		}
		switch {
		case name == "sound":
			if err != nil || r.Len() != 10 {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// versionTwo makes the page of a claim one of version 2.
func versionTwo(c *claim) {
	c.page.Type = format.DataPageV2
	c.page.DataPageHeader.Valid = false
	c.page.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{NumValues: 10, NumNulls: 10, NumRows: 10, Encoding: format.Plain})
}

// allocated returns the bytes that a call allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestStructures has footers that are lists of billions, or nested deeply.
func TestStructures(t *testing.T) {
	huge := binary.AppendUvarint([]byte{0x15, 2, 0x19, 0xfc}, math.MaxInt32) // version, schema
	for name, footer := range map[string][]byte{
		"a huge list":       huge,
		"a list of structs": append(binary.AppendUvarint([]byte{0x49, 0xfc}, 1<<19), make([]byte, 1<<19+1)...), // row groups
		"nested structs":    bytes.Repeat([]byte{0xfc}, 1<<19),
		"nested lists":      append([]byte{0xf9}, bytes.Repeat([]byte{0x19}, 1<<19)...),
		"a long text":       binary.AppendUvarint([]byte{0x68}, math.MaxInt32),
		"an endless number": append([]byte{0x15}, bytes.Repeat([]byte{0x80}, 20)...),
		"another type":      {0x1e, 1},
		"a map":             {0x1b, 1, 0x55, 1, 1, 0},
		"empty":             {},
	} {
		var err error
		n := allocated(func() { _, err = Format{}.Decode(withFooter(nil, footer), 10, kerchunk.Limits{}) })
		if !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported) || n > 96<<20 {
			t.Errorf("%s: %v, with %d bytes of memory", name, err, n)
		}
		// The library would follow them as deeply as they go.
		if strings.HasPrefix(name, "nested") && (err == nil || !strings.Contains(err.Error(), "more than 16 deep")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMemory decodes a file whose pages take more memory than the limit, with records
// that do not.
func TestMemory(t *testing.T) {
	file, err := Format{}.Append(nil, kerchunk.NewRecords(10_000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Format{}).Decode(file, 10_000, kerchunk.Limits{Generated: 450_000}); !errors.Is(err, scan.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if _, err := (Format{}).Decode(file, 10_000, kerchunk.Limits{Generated: 600_000}); err != nil {
		t.Error(err)
	}
}

// sample returns a file with all kinds of records.
func sample(t testing.TB) []byte {
	t.Helper()
	r := kerchunk.NewRecords(40)
	for i, x := range []kerchunk.Reference{
		{URL: "a.nc", Offset: 5, Length: 6}, {URL: "b.nc", Length: kerchunk.Whole}, {Data: []byte("value")}, {Data: []byte{}}, {Data: []byte("base64:")},
		{URL: "a.nc", Offset: 1 << 40, Length: 1 << 30}, {URL: "c.nc", Offset: 9, Length: 0},
	} {
		if err := r.Set(5*i, x); err != nil {
			t.Fatal(err)
		}
	}
	file, err := Format{}.Append(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDamaged decodes files with changed bytes. A changed file may decode to other
// records, because pages have no checksums, but to no more of them.
func TestDamaged(t *testing.T) {
	file := sample(t)
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 20_000 {
		changed := bytes.Clone(file)
		for range 1 + i%3 {
			changed[r.IntN(len(changed))] = byte(r.IntN(256))
		}
		checkDecoded(t, changed)
	}
}

// checkDecoded decodes a file, and checks the result.
func checkDecoded(t *testing.T, file []byte) {
	t.Helper()
	r, err := Format{}.Decode(file, 100, kerchunk.Limits{Generated: 1 << 20})
	if err != nil {
		if !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported) {
			t.Errorf("%v", err)
		}
		return
	}
	if r.Len() > 100 {
		t.Errorf("%d records", r.Len())
	}
	again, err := Format{}.Append(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Format{}.Decode(again, 100, kerchunk.Limits{})
	if err != nil || read.Len() != r.Len() {
		t.Errorf("written again: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sample(f))
	f.Add(newClaim(10).make(f))
	two := newClaim(10)
	versionTwo(two)
	f.Add(two.make(f))
	f.Fuzz(func(t *testing.T, file []byte) { checkDecoded(t, file) })
}
