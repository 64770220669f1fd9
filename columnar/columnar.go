// SPDX-License-Identifier: Apache-2.0

// Package columnar has tables in memory, a batch of rows at a time, in the layout of
// Apache Arrow: each column is one run of bytes, with a bitmap of the rows that have a
// value. The packages below it read and write files of them.
//
// The terms are those of the columnar format of Arrow 1.5,
// https://arrow.apache.org/docs/format/Columnar.html.
package columnar

import (
	"errors"
	"fmt"
	"strconv"
)

var (
	// ErrCorrupt is wrapped by errors for files that contradict their format.
	ErrCorrupt = errors.New("corrupt table")
	// ErrUnsupported is wrapped by errors for types, encodings and compressions that
	// are not read or not written.
	ErrUnsupported = errors.New("unsupported")
)

// Kind is what the elements of a column are.
type Kind uint8

// The kinds, and the bytes of an element in [Column.Data]. All numbers are little endian.
const (
	Bool        Kind = iota + 1 // one byte, 0 or 1, and not a bit as in Arrow
	Int8                        // 1
	Int16                       // 2
	Int32                       // 4
	Int64                       // 8
	Uint8                       // 1
	Uint16                      // 2
	Uint32                      // 4
	Uint64                      // 8
	Float16                     // 2
	Float32                     // 4
	Float64                     // 8
	String                      // UTF-8 of any length
	Binary                      // bytes of any length
	FixedBinary                 // Type.Width
	Timestamp                   // 8: an int64 of Type.Unit since 1970-01-01T00:00
	Duration                    // 8: an int64 of Type.Unit
	Date                        // 4: an int32 of days since 1970-01-01
	Time                        // 8: an int64 of Type.Unit since midnight
	Decimal                     // 16: an integer, of which the last Type.Scale digits are a fraction
	List                        // elements of Type.Element
)

var kinds = [...]string{
	"", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
	"string", "binary", "fixed_size_binary", "timestamp", "duration", "date32", "time64", "decimal128", "list",
}

// String returns the name of the kind in Arrow, such as int8.
func (k Kind) String() string {
	if int(k) < len(kinds) && k > 0 {
		return kinds[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Unit is the unit of a time.
type Unit uint8

// The units.
const (
	Second Unit = iota
	Millisecond
	Microsecond
	Nanosecond
)

// String returns the symbol of the unit, such as ms.
func (u Unit) String() string { return [...]string{"s", "ms", "us", "ns"}[u&3] }

// Type is the type of a column.
type Type struct {
	Kind Kind
	// Unit is that of a Timestamp, Duration or Time.
	Unit Unit
	// UTC says of a Timestamp that it is a moment. Others are what a clock shows.
	UTC bool
	// Width is the bytes of an element of FixedBinary.
	Width int
	// Precision is the number of digits of a Decimal, and Scale that of its fraction.
	Precision, Scale int
	// Element is that of a List, which is no list itself.
	Element *Field
}

// String returns the type as Arrow spells it, such as timestamp[ms].
func (t Type) String() string {
	switch t.Kind {
	case Timestamp:
		if t.UTC {
			return fmt.Sprintf("timestamp[%v, tz=UTC]", t.Unit)
		}
		return fmt.Sprintf("timestamp[%v]", t.Unit)
	case Duration, Time:
		return fmt.Sprintf("%v[%v]", t.Kind, t.Unit)
	case FixedBinary:
		return fmt.Sprintf("fixed_size_binary[%d]", t.Width)
	case Decimal:
		return fmt.Sprintf("decimal128(%d, %d)", t.Precision, t.Scale)
	case List:
		if t.Element != nil {
			return "list<" + t.Element.Type.String() + ">"
		}
	}
	return t.Kind.String()
}

// Bytes returns the bytes of an element in [Column.Data], and 0 for elements of any
// length and for lists.
func (t Type) Bytes() int {
	switch t.Kind {
	case Bool, Int8, Uint8:
		return 1
	case Int16, Uint16, Float16:
		return 2
	case Int32, Uint32, Float32, Date:
		return 4
	case Int64, Uint64, Float64, Timestamp, Duration, Time:
		return 8
	case Decimal:
		return 16
	case FixedBinary:
		return t.Width
	}
	return 0
}

// Pair is a name and a text of the metadata of a field or a table.
type Pair struct{ Key, Value string }

// Field is a column of a table, without its elements.
type Field struct {
	Name     string
	Type     Type
	Nullable bool
	Metadata []Pair
}

// Schema is what all batches of a table share.
type Schema struct {
	Fields   []Field
	Metadata []Pair
}

// Column has the elements of a field in a batch.
type Column struct {
	// Rows is the number of elements.
	Rows int
	// Valid has a bit for each row, the lowest of each byte first: 0 for null. nil says
	// that all rows have a value. The element of a null has any bytes.
	Valid []byte
	// Data has the elements, side by side: Rows × [Type.Bytes] bytes, or for elements of
	// any length what their offsets bound. It is nil for lists.
	Data []byte
	// Offsets has, for elements of any length and for lists, the Rows + 1 bounds of the
	// elements, in bytes of Data or rows of Elements. The first need not be 0.
	Offsets []int64
	// Elements has those of all lists.
	Elements *Column

	// Dictionary, if not nil, has the values, without nulls; row i has that of row
	// Index[i]. Data, Offsets and Elements are nil then.
	Dictionary *Column
	Index      []uint32 // one for each row
}

// IsValid reports whether a row has a value.
func (c *Column) IsValid(row int) bool {
	return c.Valid == nil || c.Valid[row>>3]>>(row&7)&1 != 0
}

// Batch is some rows of a table: a row group of Parquet, or a record batch of Arrow.
type Batch struct {
	Rows    int
	Columns []Column // one for each field of the schema
}

// Writer writes a table. Batches may be changed when Write has returned.
type Writer interface {
	Write(*Batch) error
	// Close writes what comes after the last batch. It does not close the file.
	Close() error
}

// Reader reads a table.
type Reader interface {
	Schema() *Schema
	// Rows returns the rows of each batch, or nil if they are unknown before the batches
	// are read, as in a stream.
	Rows() []int64
	// Next returns the next batch, or [io.EOF]. It may use the memory of the last one.
	Next() (*Batch, error)
}
