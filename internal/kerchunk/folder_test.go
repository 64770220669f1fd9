// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr/virtual/scan"
)

// TestFolder parses the documents that fsspec has written, and writes them again.
func TestFolder(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(folder, "*.parq", FolderDocument))
	if err != nil || len(names) < 6 {
		t.Fatalf("%d documents (%v)", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ParseFolder(text, Limits{})
		if err != nil || f.RecordSize != 10 || len(f.Documents) < 4 {
			t.Errorf("%s: %v (%v)", name, f, err)
		}
		checkFolder(t, f)
	}
}

// checkFolder writes a document and parses it again.
func checkFolder(t *testing.T, f *Folder) {
	t.Helper()
	again, err := ParseFolder(f.Append(nil), Limits{})
	if err != nil || again.RecordSize != f.RecordSize || !maps.EqualFunc(again.Documents, f.Documents, bytes.Equal) {
		t.Errorf("written again: %v, want %v (%v)", again, f, err)
	}
}

// TestBareNumbers has a document with numbers that JSON does not have.
func TestBareNumbers(t *testing.T) {
	const attributes = `{"a":NaN,"b":[-Infinity,"NaN"]}`
	f, err := ParseFolder([]byte(`{"record_size":1,"metadata":{".zattrs":`+attributes+`}}`), Limits{})
	if err != nil || string(f.Documents[".zattrs"]) != attributes {
		t.Errorf("%s (%v)", f.Documents[".zattrs"], err)
	}
	checkFolder(t, f)
}

// TestRecordsName has names of files, and similar ones.
func TestRecordsName(t *testing.T) {
	for name, want := range map[string]int64{"refs.0.parq": 0, "refs.12.parq": 12, "refs.9223372036854775807.parq": 1<<63 - 1} {
		if k, ok := ParseRecordsName(name); !ok || k != want || RecordsName(k) != name {
			t.Errorf("%s is %d (%v)", name, k, ok)
		}
	}
	for _, name := range []string{"", "refs", "refs.parq", "refs..parq", "refs.-1.parq", "refs.+1.parq", "refs.01.parq", "refs.1.parquet", "0.parq", "refs.9223372036854775808.parq"} {
		if k, ok := ParseRecordsName(name); ok {
			t.Errorf("%q is %d", name, k)
		}
	}
}

// TestRecords sets records, and refuses those that cannot be.
func TestRecords(t *testing.T) {
	r := NewRecords(4)
	for i, x := range []Reference{{URL: "a", Offset: 1, Length: 2}, {URL: "a", Length: Whole}, {}} {
		if err := r.Set(i, x); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []Reference{{URL: "a", Offset: 1, Length: 2}, {URL: "a", Length: Whole}, {Data: []byte{}}} {
		if x, ok := r.At(i); !ok || x.URL != want.URL || x.Offset != want.Offset || x.Length != want.Length || x.Data == nil != (want.Data == nil) {
			t.Errorf("%d: %v (%v), want %v", i, x, ok, want)
		}
	}
	if x, ok := r.At(3); ok {
		t.Errorf("%v, where nothing was set", x)
	}
	if err := r.Set(3, Reference{URL: "a", Offset: 1 << 62, Length: 1 << 62}); !errors.Is(err, scan.ErrCorrupt) {
		t.Error(err)
	}
	if err := r.Set(3, Reference{URL: "\xff"}); !errors.Is(err, scan.ErrUnsupported) {
		t.Error(err)
	}
	if n := r.Bytes(); n < 4*RecordBytes || n > 1000 {
		t.Errorf("%d bytes", n)
	}
	if _, err := Parquet(); !errors.Is(err, scan.ErrUnsupported) { // this package does not import it
		t.Error(err)
	}
}

func FuzzParseFolder(f *testing.F) {
	f.Add([]byte(`{"metadata":{".zgroup":{"zarr_format":2},"a\/.zarray":{},".zattrs":{"a":NaN}},"record_size":10}`))
	f.Add([]byte(`{"metadata":{},"record_size":1e1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if g, err := ParseFolder(text, Limits{}); err == nil {
			checkFolder(t, g)
		}
	})
}
