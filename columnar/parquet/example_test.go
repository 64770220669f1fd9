// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"math"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/parquet"
)

// A table of two columns is written, and one of them is read.
func Example() {
	schema := columnar.Schema{Fields: []columnar.Field{
		{Name: "station", Type: columnar.Type{Kind: columnar.String}},
		{Name: "t2m", Type: columnar.Type{Kind: columnar.Float32}, Nullable: true},
	}}
	station := columnar.Column{Rows: 3, Data: []byte("KielBonnBonn"), Offsets: []int64{0, 4, 8, 12}}
	t2m := columnar.Column{Rows: 3, Valid: []byte{0b101}} // the second one is missing
	for _, x := range []float32{280.5, 0, 279} {
		t2m.Data = binary.LittleEndian.AppendUint32(t2m.Data, math.Float32bits(x))
	}
	var file bytes.Buffer
	w, err := parquet.NewWriter(&file, &schema, parquet.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Write(&columnar.Batch{Rows: 3, Columns: []columnar.Column{station, t2m}}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	r, err := parquet.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), parquet.Limits{}, "t2m")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("rows of each row group:", r.Rows())
	for {
		b, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		for i := range b.Rows {
			c := &b.Columns[0]
			if !c.IsValid(i) {
				fmt.Println("missing")
				continue
			}
			fmt.Println(math.Float32frombits(binary.LittleEndian.Uint32(c.Data[4*i:])))
		}
	}
	// Output:
	// rows of each row group: [3]
	// 280.5
	// missing
	// 279
}
