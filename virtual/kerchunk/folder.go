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

	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

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
	// FolderDocument is the name of the document in the folder.
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
	if name := key[strings.LastIndexByte(key, '/')+1:]; name == metadata.V3Node {
		// Its array would seem to have no chunks.
		return scan.Unsupportedf("a document of format 3, in a form that has documents of format 2 only")
	}
	if k := v.Kind(); k != strictjson.Object {
		return scan.Corruptf("%s, where an object is needed", k)
	}
	f.Documents[key] = metadata.BareNumbers(v.Raw())
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
