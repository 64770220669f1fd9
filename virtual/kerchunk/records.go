// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"fmt"
	"unicode/utf8"

	"varve.dev/zarr/virtual/scan"
)

// Records are the references of consecutive chunks of one array, by position. One file of
// the parquet form has them. Records that no longer change are safe for concurrent use.
type Records struct {
	list  []record
	urls  []string          // by number, from 1
	known map[string]uint32 // numbers of URLs; only the latest, see mostURLs
	data  map[int][]byte
	bytes int64 // of URLs and data
}

// record is a reference without its text. The zero record is a chunk that is missing.
type record struct {
	url            uint32 // its number, or valued
	offset, length int64
}

const (
	// valued is the number of the URL of a record whose value is given.
	valued = 1<<32 - 1
	// RecordBytes is about the memory of a record without its URL or value, in bytes.
	RecordBytes = 24
	// MostRecords bounds the records of a file.
	MostRecords = 1 << 20
)

// NewRecords returns n records of chunks that are missing. It panics unless n is from 0
// to [MostRecords].
func NewRecords(n int) *Records {
	if n < 0 || n > MostRecords {
		panic(fmt.Sprintf("kerchunk: %d records", n))
	}
	return &Records{list: make([]record, n), known: map[string]uint32{}, data: map[int][]byte{}}
}

// Len returns the number of records, with those of missing chunks.
func (r *Records) Len() int { return len(r.list) }

// Bytes returns about how many bytes of memory the records take.
func (r *Records) Bytes() int64 { return RecordBytes*int64(len(r.list)) + r.bytes }

// At returns the reference with a number, and false if its chunk is missing.
func (r *Records) At(i int) (Reference, bool) {
	switch x := r.list[i]; x.url {
	case 0:
		return Reference{}, false
	case valued:
		return Reference{Data: r.data[i]}, true
	default:
		return Reference{URL: r.urls[x.url-1], Offset: x.offset, Length: x.length}, true
	}
}

// Set gives the chunk i a reference. It keeps x.Data. The error wraps
// [scan.ErrCorrupt] if the bytes of x cannot exist, and [scan.ErrUnsupported] if its URL
// is not UTF-8.
func (r *Records) Set(i int, x Reference) error {
	if err := x.check(); err != nil {
		return err
	}
	if x.URL == "" {
		if x.Data == nil {
			x.Data = []byte{}
		}
		r.list[i], r.data[i] = record{url: valued}, x.Data
		r.bytes += int64(len(x.Data)) + textBytes
		return nil
	}
	number, ok := r.known[x.URL]
	if !ok {
		if !utf8.ValidString(x.URL) {
			return scan.Unsupportedf("a URL that is not UTF-8")
		}
		if len(r.known) == mostURLs {
			clear(r.known)
		}
		r.urls = append(r.urls, x.URL)
		number = uint32(len(r.urls))
		r.known[x.URL] = number
		r.bytes += int64(len(x.URL)) + textBytes
	}
	r.list[i] = record{number, x.Offset, x.Length}
	return nil
}

// textBytes is about the memory of a text besides its bytes.
const textBytes = 32
