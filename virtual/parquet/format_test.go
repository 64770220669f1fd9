// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/virtual/parquet"
	"varve.dev/zarr/virtual/scan"
)

// row is a row of a file of records, as the library has it.
type row struct {
	Path   *string `parquet:"path,optional,plain"`
	Offset int64   `parquet:"offset"`
	Size   int64   `parquet:"size"`
	Raw    *[]byte `parquet:"raw,optional,plain"`
}

// drawn returns random rows, and the references that they stand for.
func drawn(r *rand.Rand, n int) ([]row, *kerchunk.Records) {
	rows, records := make([]row, n), kerchunk.NewRecords(n)
	urls := 1 + r.IntN(2*n+1)
	kinds := 1 + r.IntN(5)
	for i := range rows {
		var x kerchunk.Reference
		switch r.IntN(kinds) {
		case 0: // missing
			continue
		case 1:
			url := fmt.Sprintf("s3://bucket/é/%d.nc", r.IntN(urls))
			x = kerchunk.Reference{URL: url, Offset: r.Int64N(1 << 40), Length: 1 + r.Int64N(1<<30)}
			rows[i] = row{Path: &url, Offset: x.Offset, Size: x.Length}
		case 2:
			url := fmt.Sprintf("whole/%d", r.IntN(urls))
			x = kerchunk.Reference{URL: url, Length: kerchunk.Whole}
			rows[i] = row{Path: &url}
		case 3:
			data := make([]byte, r.IntN(40))
			for k := range data {
				data[k] = byte(r.IntN(256))
			}
			x = kerchunk.Reference{Data: data}
			rows[i] = row{Raw: &data}
		case 4: // would be decoded if it were stored as it is
			data, stored := []byte("base64:x"), []byte("base64:YmFzZTY0Ong=")
			x = kerchunk.Reference{Data: data}
			rows[i] = row{Raw: &stored}
		}
		if err := records.Set(i, x); err != nil {
			panic(err)
		}
	}
	return rows, records
}

// equal returns an error unless two lists of records are equal.
func equal(got, want *kerchunk.Records) error {
	if got.Len() != want.Len() {
		return fmt.Errorf("%d records, want %d", got.Len(), want.Len())
	}
	for i := range want.Len() {
		x, xOK := got.At(i)
		y, yOK := want.At(i)
		if xOK != yOK || x.URL != y.URL || x.Offset != y.Offset || x.Length != y.Length || !bytes.Equal(x.Data, y.Data) {
			return fmt.Errorf("record %d is %v (%v), want %v (%v)", i, x, xOK, y, yOK)
		}
	}
	return nil
}

// TestWritten decodes what Append writes, and lets parquet-go do so.
func TestWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		rows, want := drawn(r, []int{1, 2, 7, 8, 9, 64, 100, 1000}[i%8])
		file, err := parquet.Format{}.Append([]byte("before"), want)
		if err != nil {
			t.Fatal(err)
		}
		file, ok := bytes.CutPrefix(file, []byte("before"))
		if !ok {
			t.Fatal("Append has overwritten dst")
		}
		got, err := parquet.Format{}.Decode(file, len(rows), kerchunk.Limits{})
		if err == nil {
			err = equal(got, want)
		}
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		found, err := library.Read[row](bytes.NewReader(file), int64(len(file)))
		if err != nil || len(found) != len(rows) {
			t.Fatalf("case %d: parquet-go reads %d rows: %v", i, len(found), err)
		}
		for k := range rows {
			if !sameRow(found[k], rows[k]) {
				t.Fatalf("case %d: parquet-go reads row %d as %+v, want %+v", i, k, found[k], rows[k])
			}
		}
	}
}

func sameRow(a, b row) bool {
	if (a.Path == nil) != (b.Path == nil) || (a.Raw == nil) != (b.Raw == nil) || a.Offset != b.Offset || a.Size != b.Size {
		return false
	}
	return (a.Path == nil || *a.Path == *b.Path) && (a.Raw == nil || bytes.Equal(*a.Raw, *b.Raw))
}

// written returns a file that parquet-go has written, in several row groups.
func written[T any](t testing.TB, rows []T, options ...library.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := library.NewGenericWriter[T](&b, options...)
	for part := range 3 {
		if _, err := w.Write(rows[part*len(rows)/3 : (part+1)*len(rows)/3]); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rowInDictionary is a row whose columns have dictionaries.
type rowInDictionary struct {
	Raw    *[]byte `parquet:"raw,optional,dict"`
	Extra  float64 `parquet:"extra"`
	Size   *int64  `parquet:"size,optional,dict"`
	Offset *int32  `parquet:"offset,optional"`
	Path   *string `parquet:"path,optional,dict"`
}

// TestLibrary decodes files that parquet-go has written, in all forms that it knows.
func TestLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	codecs := []compress.Codec{&library.Uncompressed, &library.Snappy, &library.Gzip, &library.Zstd, &library.Lz4Raw}
	for i := range 120 {
		rows, want := drawn(r, 1+r.IntN(2000))
		var inDictionary []rowInDictionary
		for k := range rows {
			offset := int32(rows[k].Offset)
			if rows[k].Offset > 1<<31-1 { // the other columns have 32 bits
				rows[k].Offset, offset = 77, 77
				if err := want.Set(k, kerchunk.Reference{URL: *rows[k].Path, Offset: 77, Length: rows[k].Size}); err != nil {
					t.Fatal(err)
				}
			}
			d := rowInDictionary{Raw: rows[k].Raw, Path: rows[k].Path}
			if rows[k].Path != nil {
				d.Offset, d.Size = &offset, &rows[k].Size
			}
			inDictionary = append(inDictionary, d)
		}
		options := []library.WriterOption{
			library.Compression(codecs[i%len(codecs)]), library.DataPageVersion(1 + i/len(codecs)%2), library.PageBufferSize(100 + r.IntN(5000)),
		}
		for name, file := range map[string][]byte{"plain": written(t, rows, options...), "dictionary": written(t, inDictionary, options...)} {
			got, err := parquet.Format{}.Decode(file, 2000, kerchunk.Limits{})
			if err == nil {
				err = equal(got, want)
			}
			if err != nil {
				t.Fatalf("case %d, %s: %v", i, name, err)
			}
		}
	}
}

// TestFewColumns decodes files without some of the columns.
func TestFewColumns(t *testing.T) {
	path := "a.nc"
	only := written(t, []struct {
		Path *string `parquet:"path,optional,plain"`
	}{{&path}, {nil}, {&path}})
	want := kerchunk.NewRecords(3)
	for _, i := range []int{0, 2} {
		if err := want.Set(i, kerchunk.Reference{URL: path, Length: kerchunk.Whole}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := parquet.Format{}.Decode(only, 3, kerchunk.Limits{})
	if err == nil {
		err = equal(got, want)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestRefused has files that are valid but are not references, or have what is not read.
func TestRefused(t *testing.T) {
	path := "a.nc"
	three := []row{{Path: &path}, {}, {Path: &path, Offset: 4, Size: 5}}
	empty := ""
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"too many rows": {written(t, append(three, row{})), scan.ErrCorrupt},
		"brotli":        {written(t, three, library.Compression(&library.Brotli)), scan.ErrUnsupported},
		"text for numbers": {written(t, []struct {
			Size string `parquet:"size"`
		}{{"1"}, {"2"}, {"3"}}), scan.ErrUnsupported},
		"numbers for text": {written(t, []struct {
			Path int64 `parquet:"path"`
		}{{1}, {2}, {3}}), scan.ErrUnsupported},
		"nested": {written(t, []struct {
			Path []string `parquet:"path,list"`
		}{{nil}, {nil}, {nil}}), scan.ErrUnsupported},
		"a list": {written(t, []struct {
			Path []string `parquet:"path"`
		}{{nil}, {nil}, {nil}}), scan.ErrUnsupported},
		"negative size":   {written(t, []row{{}, {}, {Path: &path, Size: -1}}), scan.ErrCorrupt},
		"negative offset": {written(t, []row{{}, {}, {Path: &path, Offset: -1, Size: 1}}), scan.ErrCorrupt},
		"beyond int64":    {written(t, []row{{}, {}, {Path: &path, Offset: 1 << 62, Size: 1 << 62}}), scan.ErrCorrupt},
		"an empty path":   {written(t, []row{{}, {}, {Path: &empty, Size: 1}}), scan.ErrCorrupt},
		"not base64":      {written(t, []row{{}, {}, {Raw: ptr([]byte("base64:%"))}}), scan.ErrCorrupt},
		"not UTF-8":       {written(t, []row{{}, {}, {Path: ptr("\xff")}}), scan.ErrCorrupt},
		"another file":    {[]byte("PAR1, or so"), scan.ErrCorrupt},
		"nothing":         {nil, scan.ErrCorrupt},
	} {
		if r, err := (parquet.Format{}).Decode(c.file, 3, kerchunk.Limits{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v (%v), want %v", name, r, err, c.want)
		}
	}
	if _, err := (parquet.Format{}).Decode(written(t, three), 3, kerchunk.Limits{Generated: 100}); !errors.Is(err, scan.ErrUnsupported) {
		t.Errorf("more memory than the limit: %v", err)
	}
}

func ptr[T any](x T) *T { return &x }

// TestCut decodes files that end early.
func TestCut(t *testing.T) {
	rows, _ := drawn(rand.New(rand.NewPCG(5, 6)), 100)
	file := written(t, rows, library.Compression(&library.Zstd))
	for n := range file {
		if _, err := (parquet.Format{}).Decode(file[:n], 100, kerchunk.Limits{}); !errors.Is(err, scan.ErrCorrupt) {
			t.Fatalf("%d of %d bytes: %v", n, len(file), err)
		}
	}
}
