// SPDX-License-Identifier: Apache-2.0

package parquet

// This file has the structures of the metadata, in the words and with the field numbers
// of parquet.thrift of format 2.12. Fields that nothing here needs are skipped.

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"
	// tail is the size of what follows the footer: its length and the magic.
	tail = 4 + len(magic)
)

// Types of stored values.
const (
	physicalBoolean = iota
	physicalInt32
	physicalInt64
	physicalInt96
	physicalFloat
	physicalDouble
	physicalByteArray
	physicalFixed
)

// Repetitions of fields.
const (
	required = iota
	optional
	repeated
)

// Encodings of values.
const (
	plainEncoding        = 0
	plainDictionary      = 2 // what older writers, such as fastparquet, call a dictionary
	rleEncoding          = 3
	bitPacked            = 4
	deltaBinaryPacked    = 5
	deltaLengthByteArray = 6
	deltaByteArray       = 7
	rleDictionary        = 8
	byteStreamSplit      = 9
)

// Types of pages.
const (
	dataPage = iota
	indexPage
	dictionaryPage
	dataPage2
)

// Converted types, which logical types have replaced.
const (
	convertedUTF8 = iota
	convertedMap
	convertedMapKeyValue
	convertedList
	convertedEnum
	convertedDecimal
	convertedDate
	convertedTimeMillis
	convertedTimeMicros
	convertedTimestampMillis
	convertedTimestampMicros
	convertedUint8 // and the three wider ones, and then those with a sign
	_
	_
	_
	convertedInt8
	_
	_
	convertedInt64
	convertedJSON
	convertedBSON
	convertedInterval
)

// Logical types by their numbers in the union.
const (
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInteger   = 10
	logicalJSON      = 12
	logicalUUID      = 14
	logicalFloat16   = 15
	logicalVariant   = 16
	logicalGeography = 18
)

// logicalType is a type with its parameters, 0 for none.
type logicalType struct {
	number           int16
	scale, precision int64
	utc              flag
	unit             int16 // 1 for milliseconds, 2 and 3 for microseconds and nanoseconds
	width            int64 // in bits
	signed           flag
}

func (l *logicalType) fields(p *protocol) {
	for n := int16(1); n <= logicalGeography; n++ {
		if p.sub(n, parameters{l, n}, l.number == n) {
			l.number = n
		}
	}
}

// parameters are those of a logical type.
type parameters struct {
	*logicalType
	of int16
}

func (l parameters) fields(p *protocol) {
	switch l.of {
	case logicalDecimal:
		p.int(1, typeI32, &l.scale, true)
		p.int(2, typeI32, &l.precision, true)
	case logicalTime, logicalTimestamp:
		p.flag(1, &l.utc)
		p.sub(2, (*unit)(&l.unit), true)
	case logicalInteger:
		p.int(1, typeI8, &l.width, true)
		p.flag(2, &l.signed)
	}
}

// unit is the union of the units of time.
type unit int16

func (u *unit) fields(p *protocol) {
	for n := int16(1); n <= 3; n++ {
		if p.sub(n, nothing{}, int16(*u) == n) {
			*u = unit(n)
		}
	}
}

// schemaElement is a field of the schema, or a group of those that follow it.
type schemaElement struct {
	physical         int64 // -1 for groups
	length           int64
	repetition       int64
	name             string
	children         int64
	converted        int64 // -1 for none
	scale, precision int64
	logical          logicalType
}

func (s *schemaElement) fields(p *protocol) {
	if p.reading || s.physical >= 0 {
		p.int(1, typeI32, &s.physical, true)
	}
	p.int(2, typeI32, &s.length, false)
	p.int(3, typeI32, &s.repetition, true)
	p.text(4, &s.name, true)
	p.int(5, typeI32, &s.children, false)
	if p.reading || s.converted >= 0 {
		p.int(6, typeI32, &s.converted, true)
	}
	p.int(7, typeI32, &s.scale, false)
	p.int(8, typeI32, &s.precision, false)
	p.sub(10, &s.logical, s.logical.number != 0)
}

// statistics are those of a column in a row group.
type statistics struct {
	nulls            int64
	max, min         []byte // nil if unknown
	maxExact, exact  flag   // whether max and min are values
	nans             int64
	floats           bool // whether there may be NaN
	nullsWereCounted bool
}

func (s *statistics) fields(p *protocol) {
	p.int(3, typeI64, &s.nulls, s.nullsWereCounted)
	p.bytes(5, &s.max)
	p.bytes(6, &s.min)
	p.flag(7, &s.maxExact)
	p.flag(8, &s.exact)
	p.int(9, typeI64, &s.nans, s.floats)
}

// columnChunk is a column in a row group.
type columnChunk struct {
	file                      string
	columnMetadata            columnMetadata
	offsetIndex, offsetLength int64
	columnIndex, columnLength int64
	encrypted                 bool
	known                     bool // whether there is metadata
}

func (c *columnChunk) fields(p *protocol) {
	p.text(1, &c.file, false)
	p.int(2, typeI64, new(int64), true)
	c.known = p.sub(3, &c.columnMetadata, true) || c.known
	p.int(4, typeI64, &c.offsetIndex, false)
	p.int(5, typeI32, &c.offsetLength, false)
	p.int(6, typeI64, &c.columnIndex, false)
	p.int(7, typeI32, &c.columnLength, false)
	c.encrypted = p.sub(8, nothing{}, false) || c.encrypted
}

type columnMetadata struct {
	physical                 int64
	encodings                []int64
	path                     []string
	codec                    int64
	values                   int64 // with nulls
	uncompressed, compressed int64 // bytes, with the headers of pages
	dataOffset               int64
	dictionaryOffset         int64
	statistics               statistics
}

func (m *columnMetadata) fields(p *protocol) {
	p.int(1, typeI32, &m.physical, true)
	listOf(p, 2, typeI32, &m.encodings, 8, true, func(x *int64) { p.integer(typeI32, x) })
	listOf(p, 3, typeBinary, &m.path, 16, true, p.string)
	p.int(4, typeI32, &m.codec, true)
	p.int(5, typeI64, &m.values, true)
	p.int(6, typeI64, &m.uncompressed, true)
	p.int(7, typeI64, &m.compressed, true)
	p.int(9, typeI64, &m.dataOffset, true)
	p.int(11, typeI64, &m.dictionaryOffset, false)
	p.sub(12, &m.statistics, m.statistics.nullsWereCounted)
}

type rowGroup struct {
	columns    []columnChunk
	bytes      int64 // of pages, not compressed
	rows       int64
	offset     int64
	compressed int64
}

func (g *rowGroup) fields(p *protocol) {
	listOf(p, 1, typeStruct, &g.columns, 256, true, func(c *columnChunk) { p.structure(c) })
	p.int(2, typeI64, &g.bytes, true)
	p.int(3, typeI64, &g.rows, true)
	p.int(5, typeI64, &g.offset, false)
	p.int(6, typeI64, &g.compressed, false)
}

type keyValue struct{ key, value string }

func (k *keyValue) fields(p *protocol) {
	p.text(1, &k.key, true)
	p.text(2, &k.value, true)
}

// fileMetadata is the footer.
type fileMetadata struct {
	version   int64
	schema    []schemaElement
	rows      int64
	groups    []rowGroup
	pairs     []keyValue
	createdBy string
	orders    []columnOrder
	encrypted bool
}

func (f *fileMetadata) fields(p *protocol) {
	p.int(1, typeI32, &f.version, true)
	listOf(p, 2, typeStruct, &f.schema, 128, true, func(s *schemaElement) {
		if p.reading {
			s.physical, s.converted = -1, -1
		}
		p.structure(s)
	})
	p.int(3, typeI64, &f.rows, true)
	listOf(p, 4, typeStruct, &f.groups, 72, true, func(g *rowGroup) { p.structure(g) })
	listOf(p, 5, typeStruct, &f.pairs, 32, false, func(k *keyValue) { p.structure(k) })
	p.text(6, &f.createdBy, false)
	if !p.reading {
		listOf(p, 7, typeStruct, &f.orders, 0, false, func(o *columnOrder) { p.structure(o) })
	}
	f.encrypted = p.sub(8, nothing{}, false) || f.encrypted
}

// columnOrder says that statistics are in the order of the type.
type columnOrder struct{}

func (*columnOrder) fields(p *protocol) { p.sub(1, nothing{}, true) }

// pageHeader is what comes before each page.
type pageHeader struct {
	kind                     int64
	uncompressed, compressed int64 // bytes, without the header
	checksum                 int64 // of the stored bytes, 0 for none

	// The header of this kind of page, if it is there.
	present     int16
	values      int64 // with nulls
	encoding    int64
	levels      int64 // the encoding of definition levels
	repetitions int64 // and of repetition levels

	// What pages of version 2 have besides.
	nulls, rows        int64
	defBytes, repBytes int64
	isCompressed       flag
}

func (h *pageHeader) fields(p *protocol) {
	p.int(1, typeI32, &h.kind, true)
	p.int(2, typeI32, &h.uncompressed, true)
	p.int(3, typeI32, &h.compressed, true)
	p.int(4, typeI32, &h.checksum, false)
	for _, s := range []structure{(*header1)(h), (*headerDictionary)(h), (*header2)(h)} {
		n, of := numberOf(s)
		if p.sub(n, s, h.kind == of) && h.kind == of {
			h.present = n
		}
	}
}

// numberOf returns the number of a field of page headers, and the type of its page.
func numberOf(s structure) (number int16, kind int64) {
	switch s.(type) {
	case *header1:
		return 5, dataPage
	case *headerDictionary:
		return 7, dictionaryPage
	}
	return 8, dataPage2
}

type header1 pageHeader

func (h *header1) fields(p *protocol) {
	p.int(1, typeI32, &h.values, true)
	p.int(2, typeI32, &h.encoding, true)
	p.int(3, typeI32, &h.levels, true)
	p.int(4, typeI32, &h.repetitions, true)
}

type headerDictionary pageHeader

func (h *headerDictionary) fields(p *protocol) {
	p.int(1, typeI32, &h.values, true)
	p.int(2, typeI32, &h.encoding, true)
}

type header2 pageHeader

func (h *header2) fields(p *protocol) {
	p.int(1, typeI32, &h.values, true)
	p.int(2, typeI32, &h.nulls, true)
	p.int(3, typeI32, &h.rows, true)
	p.int(4, typeI32, &h.encoding, true)
	p.int(5, typeI32, &h.defBytes, true)
	p.int(6, typeI32, &h.repBytes, true)
	p.flag(7, &h.isCompressed)
}

// offsetIndex has the places of the data pages of a column in a row group.
type offsetIndex struct{ pages []pageLocation }

func (o *offsetIndex) fields(p *protocol) {
	listOf(p, 1, typeStruct, &o.pages, 24, true, func(l *pageLocation) { p.structure(l) })
}

type pageLocation struct{ offset, bytes, row int64 }

func (l *pageLocation) fields(p *protocol) {
	p.int(1, typeI64, &l.offset, true)
	p.int(2, typeI32, &l.bytes, true)
	p.int(3, typeI64, &l.row, true)
}

// columnIndex has the statistics of the data pages of a column in a row group.
type columnIndex struct {
	nullPages []bool // of nothing but nulls
	min, max  [][]byte
	order     int64
	nulls     []int64
}

func (c *columnIndex) fields(p *protocol) {
	listOf(p, 1, typeTrue, &c.nullPages, 1, true, func(b *bool) {
		p.out = append(p.out, byte(flagOf(*b)))
	})
	listOf(p, 2, typeBinary, &c.min, 24, true, p.binary)
	listOf(p, 3, typeBinary, &c.max, 24, true, p.binary)
	p.int(4, typeI32, &c.order, true)
	listOf(p, 5, typeI64, &c.nulls, 8, false, func(x *int64) { p.integer(typeI64, x) })
}
