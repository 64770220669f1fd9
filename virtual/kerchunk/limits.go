// SPDX-License-Identifier: Apache-2.0

package kerchunk

// Limits bounds the references that are read. A field that is not positive stands for the
// default.
type Limits struct {
	// Document is the largest size of a document in bytes. The default is 1 GiB, the
	// maximum 2 GiB minus one.
	Document int64
	// Generated is the most memory in bytes for what templates and generators make, or
	// for the pages and records of a Parquet file. A generated reference takes about 100.
	// The default is 256 MiB.
	Generated int64
}

const (
	// maxText bounds the bytes of a text that templates make.
	maxText = 16 << 10
	// entryBytes is about the memory of a reference without its texts.
	entryBytes = 64
)

func (l Limits) document() int64 {
	if l.Document <= 0 {
		return 1 << 30
	}
	return l.Document
}

func (l Limits) generated() int64 {
	if l.Generated <= 0 {
		return 256 << 20
	}
	return l.Generated
}
