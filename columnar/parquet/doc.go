// SPDX-License-Identifier: Apache-2.0

// Package parquet reads and writes files of Apache Parquet, a row group at a time, as
// tables of package [columnar].
//
//	w, err := parquet.NewWriter(file, &schema, parquet.Options{})
//	…
//	err = w.Write(&batch) // a row group
//	err = w.Close()       // the footer
//
// The types of columns, and how they are stored:
//
//	columnar               Parquet
//	Bool                   BOOLEAN
//	Int8, Int16            INT32 with INT(8, true), INT(16, true)
//	Int32, Int64           INT32, INT64
//	Uint8, Uint16, Uint32  INT32 with INT(8, false), INT(16, false), INT(32, false)
//	Uint64                 INT64 with INT(64, false)
//	Float16                FIXED_LEN_BYTE_ARRAY(2) with FLOAT16
//	Float32, Float64       FLOAT, DOUBLE
//	String, Binary         BYTE_ARRAY, with STRING for text
//	FixedBinary            FIXED_LEN_BYTE_ARRAY
//	Timestamp              INT64 with TIMESTAMP; seconds become milliseconds
//	Duration               INT64, which is read as Int64: Parquet has no durations
//	Date                   INT32 with DATE
//	Time                   INT64 with TIME; seconds become milliseconds, in INT32
//	Decimal                FIXED_LEN_BYTE_ARRAY with DECIMAL, of the bytes that it needs
//	List                   the group of three levels with LIST
//
// Metadata of fields have no place in Parquet. Those of the schema are the pairs of the
// file, without the schema of Arrow that some writers add.
//
// # Writing
//
// A batch becomes a row group, with pages of about 1 MiB. Columns with a dictionary keep
// it, and others get one if that is clearly smaller. There are statistics of each column,
// the page index, and a checksum of each page. NaN is never a minimum or maximum, and a
// zero is -0 as the one and +0 as the other. Values are plain beside that, because all
// known readers have that encoding. Equal batches make equal files.
//
// # Reading
//
// Both versions of data pages are read, all encodings of values, and the compressions
// Zstandard, Snappy, gzip and raw LZ4. So are the older forms of lists, types and
// timestamps: INT96 becomes nanoseconds. Levels have the encoding RLE. Fields of structs
// become columns a.b. Maps, lists of lists or of groups, columns in other files and
// encryption are refused by name, and a selection of columns may leave them out. Text has
// a dictionary where all pages of the column have.
//
// Files come from anywhere. A page is refused before memory is taken if its compression
// cannot make so many bytes, and [Limits] bounds the memory of a row group.
package parquet
