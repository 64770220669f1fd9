// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
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
		panic(fmt.Sprintf("kerchunk: %s", quantity.Count(n, "records")))
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

// RecordFormat reads and writes files of records. Its methods are safe for concurrent
// use.
type RecordFormat interface {
	// Decode returns the records of a file. It refuses files with more than most records
	// and those that need more memory than the limits. The records do not refer to file.
	// Errors wrap [scan.ErrCorrupt] or [scan.ErrUnsupported].
	Decode(file []byte, most int, l Limits) (*Records, error)
	// Append appends a file with the records to dst.
	Append(dst []byte, r *Records) ([]byte, error)
}

var parquet atomic.Pointer[RecordFormat]

// RegisterParquet makes f the format of files of records. It panics if there is one
// already.
func RegisterParquet(f RecordFormat) {
	if !parquet.CompareAndSwap(nil, &f) {
		panic("kerchunk: parquet is registered twice")
	}
}

// Parquet returns the format of files of records. The core has no library for Parquet:
// the separate module varve.dev/zarr/virtual/parquet registers one. Without it the error
// wraps [scan.ErrUnsupported].
func Parquet() (RecordFormat, error) {
	if f := parquet.Load(); f != nil {
		return *f, nil
	}
	return nil, scan.Unsupportedf(`references in Parquet files need the module varve.dev/zarr/virtual/parquet: import _ "varve.dev/zarr/virtual/parquet"`)
}

// Folder is the document of a folder of references in the parquet form: all documents of
// a hierarchy, and how its references are divided among files (fsspec, class
// LazyReferenceMapper).
//
// The chunks of an array are counted in C order over its grid. The file [RecordsName] of
// k, in the folder with the path of the array, has the references from k × RecordSize on.
// If it is not there, those chunks are missing.
type Folder struct {
	// RecordSize is the number of records in each file.
	RecordSize int
	// Documents has the documents of format 2 by key, such as "t/.zarray".
	Documents map[string][]byte
}

const (
	// FolderDocument is the name of the document in a folder of references.
	FolderDocument = ".zmetadata"
	// DefaultRecordSize is the record size of fsspec.
	DefaultRecordSize = 10_000
)

// ErrNoReferences means that a document of metadata is not that of references.
var ErrNoReferences = errors.New("a document without references: it has no record_size")

// RecordsName returns the name of the file with number k.
func RecordsName(k int64) string { return "refs." + strconv.FormatInt(k, 10) + ".parq" }

// ParseRecordsName is the inverse of [RecordsName].
func ParseRecordsName(name string) (k int64, ok bool) {
	digits, _ := strings.CutPrefix(name, "refs.")
	digits, _ = strings.CutSuffix(digits, ".parq")
	k, err := strconv.ParseInt(digits, 10, 64)
	return k, err == nil && name == RecordsName(k) && k >= 0
}

// ParseFolder parses the document of a folder. Its documents share the memory of text.
//
// Errors wrap [scan.ErrCorrupt], [scan.ErrUnsupported], or [ErrNoReferences] if it is the
// consolidated metadata of a hierarchy of format 2, which has the same name.
func ParseFolder(text []byte, l Limits) (*Folder, error) {
	f, err := parseFolder(text, l)
	if err != nil {
		return nil, fmt.Errorf("kerchunk: %w", err)
	}
	return f, nil
}

func parseFolder(text []byte, l Limits) (*Folder, error) {
	v, err := parseDocuments(text, l)
	switch {
	case errors.Is(err, strictjson.ErrLimit):
		return nil, fmt.Errorf("%w: %w", scan.ErrUnsupported, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", scan.ErrCorrupt, err)
	}
	size, ok := v.Member("record_size")
	if !ok {
		return nil, ErrNoReferences
	}
	n, err := size.Int64()
	if err != nil || n < 1 {
		return nil, scan.Corruptf("record_size is %s, where a positive number is needed", size.Brief())
	}
	if n > MostRecords {
		return nil, scan.Unsupportedf("a record_size of %d; at most %d is possible. Write the references with smaller files", n, MostRecords)
	}
	f := &Folder{RecordSize: int(n), Documents: map[string][]byte{}}
	documents, _ := v.Member("metadata")
	if k := documents.Kind(); k != strictjson.Object {
		return nil, scan.Corruptf("metadata is %s, where an object is needed", k)
	}
	for key, x := range documents.Members() {
		if err := f.add(key, x); err != nil {
			return nil, fmt.Errorf("document %q: %w", strictjson.Abbreviate(key), err)
		}
	}
	return f, nil
}

// parseDocuments parses JSON that may have a bare NaN or Infinity: Python writes them in
// attributes.
func parseDocuments(text []byte, l Limits) (strictjson.Value, error) {
	v, err := strictjson.Parse(text, strictjson.Limits{Size: l.document()})
	if err == nil || errors.Is(err, strictjson.ErrLimit) || len(text) == 0 {
		return v, err
	}
	quoted, bareErr := metadata.ParseAttributesV2(text, metadata.Limits{Document: l.document()})
	if bareErr != nil {
		return v, err
	}
	return strictjson.Parse(quoted, strictjson.Limits{Size: l.document()})
}

// add adds a document.
func (f *Folder) add(key string, v strictjson.Value) error {
	if name := key[strings.LastIndexByte(key, '/')+1:]; name == nodename.V3Node {
		// Its array would seem to have no chunks.
		return scan.Unsupportedf("a document of format 3, in a form that has documents of format 2 only")
	}
	if k := v.Kind(); k != strictjson.Object {
		return scan.Corruptf("%s, where an object is needed", k)
	}
	f.Documents[key] = nonfinite.Bare(v.Raw())
	return nil
}

// Append appends the document.
func (f *Folder) Append(dst []byte) []byte {
	dst = append(dst, `{"metadata":{`...)
	for i, key := range slices.Sorted(maps.Keys(f.Documents)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(strictjson.AppendQuote(append(dst, '\n'), key), ':')
		dst = append(dst, bytes.TrimSpace(f.Documents[key])...)
	}
	dst = append(dst, "},\n\"record_size\":"...)
	return append(strconv.AppendInt(dst, int64(f.RecordSize), 10), "}\n"...)
}
