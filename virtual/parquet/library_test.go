// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	columnar "varve.dev/zarr/columnar/parquet"
)

// wideRow is a row with columns in all encodings that parquet-go writes.
type wideRow struct {
	Flag   bool      `parquet:"flag"`
	Int32  int32     `parquet:"int32,delta"`
	Int64  int64     `parquet:"int64,optional,delta"`
	Uint8  uint32    `parquet:"uint8,uint(8)"`
	Float  float32   `parquet:"float,split"`
	Double float64   `parquet:"double,optional,split"`
	Text   string    `parquet:"text,delta"`
	Plain  *string   `parquet:"plain,optional"`
	Word   string    `parquet:"word,dict"`
	Fixed  [5]byte   `parquet:"fixed"`
	Time   time.Time `parquet:"time,timestamp(microsecond)"`
	Old    []int32   `parquet:"old"`
	List   []*string `parquet:"list,list,optional"`
}

// listRow is a wideRow whose repeated field is a list, as the specification asks for.
type listRow struct {
	Flag   bool      `parquet:"flag"`
	Int32  int32     `parquet:"int32,delta"`
	Int64  int64     `parquet:"int64,optional,delta"`
	Uint8  uint32    `parquet:"uint8,uint(8)"`
	Float  float32   `parquet:"float,split"`
	Double float64   `parquet:"double,optional,split"`
	Text   string    `parquet:"text,delta"`
	Plain  *string   `parquet:"plain,optional"`
	Word   string    `parquet:"word,dict"`
	Fixed  [5]byte   `parquet:"fixed"`
	Time   time.Time `parquet:"time,timestamp(microsecond)"`
	Old    []int32   `parquet:"old,list"`
	List   []*string `parquet:"list,list,optional"`
}

func drawnRows(r *rand.Rand, n int) []wideRow {
	rows := make([]wideRow, n)
	for i := range rows {
		word := fmt.Sprintf("word %d", r.IntN(5))
		w := &rows[i]
		*w = wideRow{Flag: r.IntN(2) == 0, Int32: int32(r.Uint32()), Uint8: r.Uint32N(256), Float: r.Float32(), Word: word}
		w.Text = fmt.Sprintf("%d and %d", i/10, r.IntN(1000))
		copy(w.Fixed[:], w.Text)
		w.Time = time.UnixMicro(r.Int64N(1 << 50)).UTC()
		for range r.IntN(4) {
			w.Old = append(w.Old, int32(r.IntN(100)))
			if x := fmt.Sprint(r.IntN(100)); r.IntN(4) > 0 {
				w.List = append(w.List, &x)
			} else {
				w.List = append(w.List, nil)
			}
		}
		if r.IntN(3) > 0 {
			x, y := r.Int64(), r.NormFloat64()
			w.Int64, w.Double, w.Plain = x, y, &word
		}
	}
	return rows
}

// TestTurns lets parquet-go write tables in all of its encodings, writes them again with
// package columnar/parquet, and lets parquet-go read the result.
func TestTurns(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	codecs := []compress.Codec{&library.Uncompressed, &library.Snappy, &library.Gzip, &library.Zstd, &library.Lz4Raw}
	for i := range 40 {
		rows := drawnRows(r, 1+r.IntN(1000))
		file := written(t, rows, library.Compression(codecs[i%len(codecs)]), library.DataPageVersion(1+i/len(codecs)%2), library.PageBufferSize(100+r.IntN(5000)))
		in, err := columnar.NewReader(bytes.NewReader(file), int64(len(file)), columnar.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		out, err := columnar.NewWriter(&again, in.Schema(), columnar.Options{Compression: columnar.Compression(i % 3)})
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := in.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err == nil {
				err = out.Write(b)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		found, err := library.Read[listRow](bytes.NewReader(again.Bytes()), int64(again.Len()))
		if err != nil || len(found) != len(rows) {
			t.Fatalf("case %d: %d rows of %d: %v", i, len(found), len(rows), err)
		}
		for k := range rows {
			got := wideRow(found[k])
			got.Time = got.Time.UTC()
			if len(got.Old) == 0 {
				got.Old = nil
			}
			if len(got.List) == 0 {
				got.List = nil
			}
			if !reflect.DeepEqual(got, rows[k]) {
				t.Fatalf("case %d: row %d is %+v, want %+v", i, k, got, rows[k])
			}
		}
	}
}
