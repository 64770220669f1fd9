// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/columnar"
)

// footed returns a file with the given pages and footer.
func footed(pages, footer []byte) []byte {
	file := append(append([]byte(magic), pages...), footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), magic...)
}

// claim is a file with one column that a test changes before it is made.
type claim struct {
	file   fileMetadata
	column *columnMetadata
	page   pageHeader
	body   []byte
}

// make returns the file of a claim.
func (c *claim) make() []byte {
	pages := append(marshal(nil, &c.page), c.body...)
	if c.column.compressed == 0 {
		c.column.compressed = int64(len(pages))
	}
	return footed(pages, marshal(nil, &c.file))
}

// newClaim returns a sound file of so many rows, all null.
func newClaim(rows int) *claim {
	n := int64(rows)
	c := &claim{file: fileMetadata{version: 1, rows: n}}
	c.file.schema = []schemaElement{{physical: -1, converted: -1, children: 1}, {physical: physicalByteArray, converted: convertedUTF8, name: "x", repetition: optional}}
	m := columnMetadata{physical: physicalByteArray, path: []string{"x"}, dataOffset: 4, values: n}
	c.file.groups = []rowGroup{{rows: n, columns: []columnChunk{{columnMetadata: m}}}}
	c.column = &c.file.groups[0].columns[0].columnMetadata
	levels := append(binary.AppendUvarint(nil, uint64(rows)<<1), 0) // a run of zeros
	c.body = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	size := int64(len(c.body))
	c.page = pageHeader{kind: dataPage, uncompressed: size, compressed: size, values: n, levels: rleEncoding, repetitions: rleEncoding}
	return c
}

// versionTwo makes the page of a claim one of version 2.
func (c *claim) versionTwo() {
	c.page.kind = dataPage2
	c.page.nulls, c.page.rows, c.page.defBytes, c.body = 10, 10, int64(len(c.body)-4), c.body[4:]
	c.page.compressed, c.page.uncompressed = int64(len(c.body)), int64(len(c.body))
}

// list makes the column one of lists of the oldest form, all of them empty.
func (c *claim) list() {
	c.file.schema[1].repetition = repeated
	run := slices.Clone(c.body)
	c.body = append(run, run...)
	c.page.compressed, c.page.uncompressed = int64(len(c.body)), int64(len(c.body))
}

// values makes the elements not null, with values in an encoding.
func (c *claim) values(encoding int64, body []byte) {
	c.file.schema[1].repetition = required
	c.page.encoding, c.body = encoding, body
	c.page.compressed, c.page.uncompressed = int64(len(body)), int64(len(body))
}

// steps returns n numbers that grow by a step, in the encoding DELTA_BINARY_PACKED.
func steps(n uint64, first, step int64) []byte {
	d := binary.AppendUvarint([]byte{128, 128, 8, 1}, n) // a block with one part
	return append(binary.AppendVarint(binary.AppendVarint(d, first), step), 0)
}

// plainText makes the elements n empty texts, which are not null.
func (c *claim) plainText(n int) {
	c.file.schema[1].repetition = required
	c.body = make([]byte, 4*n)
	c.page.compressed, c.page.uncompressed = int64(len(c.body)), int64(len(c.body))
}

var claims = map[string]func(c *claim){
	"sound":                    func(c *claim) {},
	"sound, version 2":         func(c *claim) { c.versionTwo() },
	"sound, lists":             func(c *claim) { c.list() },
	"sound, texts":             func(c *claim) { c.plainText(10) },
	"other rows in the file":   func(c *claim) { c.file.rows = 2 },
	"more rows in the file":    func(c *claim) { c.file.rows = 11 },
	"negative rows":            func(c *claim) { c.file.rows = -1 },
	"many rows":                func(c *claim) { c.file.rows = math.MaxInt64 },
	"negative rows in a group": func(c *claim) { c.file.groups[0].rows = -1 },
	"many rows in a group":     func(c *claim) { c.file.groups[0].rows = math.MaxInt64 },
	"a billion rows":           func(c *claim) { c.file.rows, c.file.groups[0].rows, c.column.values = 1<<30, 1<<30, 1<<30 },
	"rows that 64 bits lack": func(c *claim) {
		c.file.rows, c.file.groups[0].rows, c.column.values = math.MaxInt64, math.MaxInt64, math.MaxInt64
	},
	"no row group":               func(c *claim) { c.file.groups = nil },
	"no columns":                 func(c *claim) { c.file.groups[0].columns = nil },
	"no schema":                  func(c *claim) { c.file.schema = nil },
	"children that are not":      func(c *claim) { c.file.schema[0].children = 5 },
	"negative children":          func(c *claim) { c.file.schema[0].children = -1 },
	"fewer children":             func(c *claim) { c.file.schema = append(c.file.schema, c.file.schema[1]) },
	"a group without a field":    func(c *claim) { c.file.schema[1].physical = -1 },
	"a type that is not":         func(c *claim) { c.file.schema[1].physical = 8 },
	"another repetition":         func(c *claim) { c.file.schema[1].repetition = 3 },
	"another column":             func(c *claim) { c.column.path[0] = "y" },
	"another type of the column": func(c *claim) { c.column.physical = physicalInt32 },
	"another file":               func(c *claim) { c.file.groups[0].columns[0].file = "other" },
	"a negative offset":          func(c *claim) { c.column.dataOffset = -5 },
	"an offset beyond the end":   func(c *claim) { c.column.dataOffset = 1 << 40 },
	"a size beyond the end":      func(c *claim) { c.column.compressed = math.MaxInt64 },
	"a negative size":            func(c *claim) { c.column.compressed = -1 },
	"other values of the column": func(c *claim) { c.column.values = 9 },
	"more rows in the page":      func(c *claim) { c.page.values = 11 },
	"many rows in the page":      func(c *claim) { c.page.values, c.body[4] = 20, 20<<1 },
	"fewer rows in the page":     func(c *claim) { c.page.values = 9 },
	"negative rows in the page":  func(c *claim) { c.page.values = -10 },
	"a page beyond the end":      func(c *claim) { c.page.compressed = math.MaxInt32 },
	"a negative page":            func(c *claim) { c.page.compressed = -1 },
	"a negative content":         func(c *claim) { c.page.uncompressed = -1 },
	"a page of another size":     func(c *claim) { c.page.uncompressed++ },
	"another kind of page":       func(c *claim) { c.page.kind = 77 },
	"a wrong checksum":           func(c *claim) { c.page.checksum = 5 },
	"a dictionary of nothing":    func(c *claim) { c.page.kind = dictionaryPage },
	"packed levels":              func(c *claim) { c.page.levels = bitPacked },
	"levels beyond the page":     func(c *claim) { c.body[0] = 200 },
	"huge levels":                func(c *claim) { c.body[3] = 255 },
	"a level that is not":        func(c *claim) { c.body[5] = 3 },
	"values that are not there":  func(c *claim) { c.body[5] = 1 },
	"a dictionary that is not":   func(c *claim) { c.body[5] = 1; c.page.encoding = rleDictionary },
	"a dictionary of no values":  func(c *claim) { c.values(rleDictionary, []byte{1, 10 << 1, 0}) },
	"a beginning that is not":    func(c *claim) { c.values(deltaByteArray, append(steps(10, 5, 0), steps(10, 0, 0)...)) },
	"more lengths than values":   func(c *claim) { c.values(deltaLengthByteArray, steps(11, 0, 0)) },
	"a length that is not":       func(c *claim) { c.values(deltaLengthByteArray, steps(10, 1, 0)) },
	"a negative length":          func(c *claim) { c.values(deltaLengthByteArray, steps(10, -1, 0)) },
	"blocks of no differences":   func(c *claim) { c.values(deltaLengthByteArray, []byte{0, 0, 10, 0}) },
	"a list without an element": func(c *claim) {
		c.list()
		c.file.rows, c.file.groups[0].rows = 9, 9
		c.body = []byte{4, 0, 0, 0, 9 << 1, 0, 1 << 1, 1, 2, 0, 0, 0, 10 << 1, 0}
		c.page.compressed, c.page.uncompressed = 14, 14
	},
	"a long text":              func(c *claim) { c.plainText(10); c.body[0] = 200 },
	"a text too few":           func(c *claim) { c.plainText(9) },
	"lists without rows":       func(c *claim) { c.list(); c.body[5] = 1 },
	"a repetition of 3":        func(c *claim) { c.list(); c.body[5] = 3 },
	"more lists than rows":     func(c *claim) { c.list(); c.file.rows, c.file.groups[0].rows = 9, 9 },
	"fewer lists than rows":    func(c *claim) { c.list(); c.file.rows, c.file.groups[0].rows = 11, 11 },
	"lists of no elements":     func(c *claim) { c.list(); c.body[11] = 1 },
	"zstd that is not":         func(c *claim) { c.column.codec = codecZstd },
	"snappy that is not":       func(c *claim) { c.column.codec = codecSnappy },
	"gzip that is not":         func(c *claim) { c.column.codec = codecGzip },
	"LZ4 that is not":          func(c *claim) { c.column.codec = codecLZ4 },
	"LZO":                      func(c *claim) { c.column.codec = 3 },
	"a compression of its own": func(c *claim) { c.column.codec = 99 },
	"a gigabyte of snappy":     func(c *claim) { c.column.codec, c.page.uncompressed = codecSnappy, 1<<30 },
	"a gigabyte of LZ4":        func(c *claim) { c.column.codec, c.page.uncompressed = codecLZ4, 1<<30 },
	"100 MB of zstd": func(c *claim) {
		c.column.codec, c.body = codecZstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 6, 1, 0, 0} // a frame of so many, without blocks
		c.page.uncompressed, c.page.compressed = 6<<24, int64(len(c.body))
	},
	"100 MB of snappy": func(c *claim) {
		c.column.codec, c.body = codecSnappy, binary.AppendUvarint(nil, 6<<24)
		c.page.uncompressed, c.page.compressed = 6<<24, int64(len(c.body))
	},
	"100 MB of gzip":         func(c *claim) { c.column.codec, c.page.uncompressed = codecGzip, 6<<24 },
	"100 MB of nothing":      func(c *claim) { c.page.uncompressed = 6 << 24 },
	"two gigabytes of zstd":  func(c *claim) { c.column.codec, c.page.uncompressed = codecZstd, math.MaxInt32 },
	"an encoding of its own": func(c *claim) { c.page.encoding = 77 },
	"an encoding of numbers": func(c *claim) { c.page.encoding = deltaBinaryPacked },
	"a column twice": func(c *claim) {
		c.file.schema = append(c.file.schema, c.file.schema[1])
		c.file.schema[0].children = 2
		c.file.groups[0].columns = slices.Repeat(c.file.groups[0].columns, 2)
	},
	"pages twice": func(c *claim) {
		c.file.groups, c.file.rows = slices.Repeat(c.file.groups, 2), 20
	},
	"levels of rows before them": func(c *claim) { c.versionTwo(); c.page.repBytes = 1 << 30 },
	"negative levels":            func(c *claim) { c.versionTwo(); c.page.defBytes = -1 },
	"levels that are the page":   func(c *claim) { c.versionTwo(); c.page.uncompressed = 1 },
}

// readAll reads a file to its end, and returns the rows.
func readAll(file []byte, l Limits) (rows int, err error) {
	r, err := NewReader(bytes.NewReader(file), int64(len(file)), l)
	for err == nil {
		var b *columnar.Batch
		if b, err = r.Next(); err == nil {
			rows += b.Rows
		}
	}
	if err == io.EOF {
		err = nil
	}
	return rows, err
}

// refused reports whether an error is one for a file that cannot be read.
func refused(err error) bool {
	return errors.Is(err, columnar.ErrCorrupt) || errors.Is(err, columnar.ErrUnsupported)
}

// allocated returns the bytes that a call allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestClaims has files whose metadata claim what is not there. Each is refused without
// much memory.
func TestClaims(t *testing.T) {
	for name, change := range claims {
		c := newClaim(10)
		change(c)
		file := c.make()
		var rows int
		var err error
		if n := allocated(func() { rows, err = readAll(file, Limits{}) }); n > 8<<20 {
			t.Errorf("%s: %d bytes of memory", name, n)
		}
		switch {
		case strings.HasPrefix(name, "sound"):
			if err != nil || rows != 10 {
				t.Errorf("%s: %v", name, err)
			}
		case !refused(err):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEncryption has files that are encrypted as a whole, or in a column.
func TestEncryption(t *testing.T) {
	c := newClaim(10)
	file := c.make()
	whole := append(slices.Clone(file[:len(file)-4]), magicEncrypted...)
	footer := file[len(file)-tail-int(binary.LittleEndian.Uint32(file[len(file)-tail:])) : len(file)-tail]
	// Field 8 of the footer is the algorithm, and comes after field 4.
	plain := footed(file[4:len(file)-tail-len(footer)], append(slices.Clone(footer[:len(footer)-1]), 0x4c, 0, 0))
	for name, file := range map[string][]byte{"whole": whole, "with a plain footer": plain} {
		if _, err := readAll(file, Limits{}); !errors.Is(err, columnar.ErrUnsupported) || !strings.Contains(err.Error(), "encrypted") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRuns has runs of billions of numbers, which must take no memory.
func TestRuns(t *testing.T) {
	for name, data := range map[string][]byte{
		"a run":  append(binary.AppendUvarint(nil, math.MaxInt32<<1), 1),
		"packed": append(binary.AppendUvarint(nil, (1<<31)<<1|1), 0xff),
		"groups": append(binary.AppendUvarint(nil, math.MaxUint64), 0xff),
		"empty":  bytes.Repeat([]byte{0, 7}, 1000),
	} {
		n := allocated(func() {
			h, err := newHybrid(data, 1)
			if err == nil {
				err = h.read(make([]uint32, 100))
			}
			if name != "a run" && !errors.Is(err, columnar.ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		})
		if n > 1<<20 {
			t.Errorf("%s: %d bytes of memory", name, n)
		}
	}
	if _, err := newHybrid(nil, 33); !errors.Is(err, columnar.ErrCorrupt) {
		t.Error(err)
	}
}

// TestStructures has footers that are lists of billions, or nested deeply.
func TestStructures(t *testing.T) {
	for name, footer := range map[string][]byte{
		"a huge list":       binary.AppendUvarint([]byte{0x15, 2, 0x19, 0xfc}, math.MaxInt32), // version, schema
		"a list of structs": append(binary.AppendUvarint([]byte{0x49, 0xfc}, 1<<18), make([]byte, 1<<18+1)...),
		"nested structs":    bytes.Repeat([]byte{0xfc}, 1<<18),
		"nested lists":      append([]byte{0xf9}, bytes.Repeat([]byte{0x19}, 1<<18)...),
		"a long text":       binary.AppendUvarint([]byte{0x68}, math.MaxInt32),
		"an endless number": append([]byte{0x15}, bytes.Repeat([]byte{0x80}, 20)...),
		"another type":      {0x1e, 1},
		"a map":             {0x1b, 1, 0x55, 1, 1, 0},
		"a wide number":     append(binary.AppendUvarint([]byte{0x15}, 1<<40), 0),
		"another list":      {0x29, 0x15, 2, 0},
		"empty":             {},
	} {
		var err error
		n := allocated(func() { _, err = readAll(footed(nil, footer), Limits{}) })
		if !refused(err) || n > 48<<20 {
			t.Errorf("%s: %v, with %d bytes of memory", name, err, n)
		}
		if strings.HasPrefix(name, "nested") && (err == nil || !strings.Contains(err.Error(), "more than 16 deep")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A long name of a group would be in the names of many columns.
	long := fileMetadata{schema: []schemaElement{{physical: -1, converted: -1, children: 1}, {physical: -1, converted: -1, name: strings.Repeat("x", 1<<20), children: 10_000}}}
	for range 10_000 {
		long.schema = append(long.schema, schemaElement{converted: -1})
	}
	if _, err := readAll(footed(nil, marshal(nil, &long)), Limits{}); !errors.Is(err, columnar.ErrUnsupported) {
		t.Error(err)
	}
	deep := fileMetadata{schema: []schemaElement{{physical: -1, converted: -1, children: 1}}}
	for range 1000 {
		deep.schema = append(deep.schema, schemaElement{physical: -1, converted: -1, name: "g", children: 1})
	}
	if _, err := readAll(footed(nil, marshal(nil, &deep)), Limits{}); !errors.Is(err, columnar.ErrUnsupported) {
		t.Error(err)
	}
}

// TestEmptyPages has row groups of one row that all have the same pages, most of which
// have no rows. No more pages are read than the file has.
func TestEmptyPages(t *testing.T) {
	c := newClaim(1)
	c.plainText(1)
	c.page.values, c.page.compressed, c.page.uncompressed = 0, 0, 0
	pages := bytes.Repeat(marshal(nil, &c.page), 1000)
	c.page.values, c.page.compressed, c.page.uncompressed = 1, 4, 4
	pages = append(append(pages, marshal(nil, &c.page)...), c.body...)
	c.column.compressed = int64(len(pages))
	if rows, err := readAll(footed(pages, marshal(nil, &c.file)), Limits{}); err != nil || rows != 1 {
		t.Error(err)
	}
	c.file.rows, c.file.groups = 100, slices.Repeat(c.file.groups, 100)
	if rows, err := readAll(footed(pages, marshal(nil, &c.file)), Limits{}); rows > 1 || !errors.Is(err, columnar.ErrCorrupt) {
		t.Errorf("rows read: %d (%v)", rows, err)
	}
}

// TestBombs has small pages that become large: of a dictionary, of values that share
// their beginning, and of zeros. The limit of the memory holds.
func TestBombs(t *testing.T) {
	const rows = 100_000
	run := func(width byte) []byte {
		return append(append([]byte{width}, binary.AppendUvarint(nil, rows<<1)...), 0)
	}
	text := append(binary.LittleEndian.AppendUint32(nil, 10_000), make([]byte, 10_000)...)
	// Each value is the one before, and a byte.
	shared := append(append(steps(rows, 0, 1), steps(rows, 1, 0)...), make([]byte, rows)...)
	zeros := make([]byte, 128<<20)
	for name, make := range map[string]func(c *claim) []byte{
		"a dictionary": func(c *claim) []byte {
			h := pageHeader{kind: dictionaryPage, values: 1, uncompressed: int64(len(text)), compressed: int64(len(text))}
			c.page.encoding, c.body = rleDictionary, run(1)
			// A page of plain values after it, so that the dictionary does not stay.
			c.page.values, c.column.values = rows, rows+1
			c.file.rows, c.file.groups[0].rows = rows+1, rows+1
			last := pageHeader{kind: dataPage, values: 1, uncompressed: 4, compressed: 4, levels: rleEncoding, repetitions: rleEncoding}
			c.page.uncompressed, c.page.compressed = int64(len(c.body)), int64(len(c.body))
			pages := append(append(marshal(nil, &h), text...), marshal(nil, &c.page)...)
			return append(append(append(pages, c.body...), marshal(nil, &last)...), 0, 0, 0, 0)
		},
		"shared beginnings": func(c *claim) []byte {
			c.page.encoding, c.body = deltaByteArray, shared
			c.page.uncompressed, c.page.compressed = int64(len(c.body)), int64(len(c.body))
			return append(marshal(nil, &c.page), c.body...)
		},
		"a page of zeros": func(c *claim) []byte {
			d, _ := newDeflater(Options{})
			c.column.codec = codecZstd
			c.body = d.deflate(nil, zeros)
			c.page.uncompressed, c.page.compressed = int64(len(zeros)), int64(len(c.body))
			return append(marshal(nil, &c.page), c.body...)
		},
		"pages of nothing": func(c *claim) []byte {
			c.page.values, c.page.compressed, c.page.uncompressed = 0, 0, 0
			return bytes.Repeat(marshal(nil, &c.page), 300_000)
		},
		"pages of zeros": func(c *claim) []byte {
			d, _ := newDeflater(Options{})
			c.column.codec = codecZstd
			c.body = d.deflate(nil, zeros[:64<<20])
			c.page.values, c.page.uncompressed, c.page.compressed = 0, 64<<20, int64(len(c.body))
			return bytes.Repeat(append(marshal(nil, &c.page), c.body...), 100)
		},
	} {
		c := newClaim(rows)
		c.file.schema[1].repetition = required
		c.page.levels, c.page.repetitions = rleEncoding, rleEncoding
		pages := make(c)
		c.column.compressed = int64(len(pages))
		file := footed(pages, marshal(nil, &c.file))
		var err error
		n := allocated(func() { _, err = readAll(file, Limits{Memory: 100 << 20}) })
		if !errors.Is(err, columnar.ErrUnsupported) || n > 250<<20 {
			t.Errorf("%s: %v, with %d bytes of memory", name, err, n)
		}
	}
}

// samples returns files of many forms.
func samples(t testing.TB) [][]byte {
	names, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(names) < 25 {
		t.Fatal(err)
	}
	var files [][]byte
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for _, change := range []string{"sound", "sound, version 2", "sound, lists", "sound, texts"} {
		c := newClaim(10)
		claims[change](c)
		files = append(files, c.make())
	}
	return files
}

// checkRead reads a file, which is refused if it cannot be read.
func checkRead(t *testing.T, file []byte) {
	t.Helper()
	if _, err := readAll(file, Limits{Memory: 4 << 20}); err != nil && !refused(err) {
		t.Errorf("%v", err)
	}
}

// TestDamaged reads files with changed bytes.
func TestDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	files := samples(t)
	for i := range 6_000 {
		changed := bytes.Clone(files[i%len(files)])
		at := len(changed)
		if i%2 == 0 { // mostly in the footer
			at = min(at, 1500)
		}
		for range 1 + i%3 {
			changed[len(changed)-1-r.IntN(at)] = byte(r.IntN(256))
		}
		checkRead(t, changed)
	}
}

// TestCut reads files that end early.
func TestCut(t *testing.T) {
	for _, file := range samples(t) {
		for n := 0; n < len(file); n += 1 + len(file)/100 {
			if _, err := readAll(file[:n], Limits{}); !errors.Is(err, columnar.ErrCorrupt) {
				t.Fatalf("%d of %d bytes: %v", n, len(file), err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, file := range samples(f) {
		f.Add(file)
	}
	f.Fuzz(checkRead)
}
