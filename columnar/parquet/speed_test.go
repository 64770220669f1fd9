// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/parquet"
)

// speedTable returns a table as those of gridded data: coordinates that repeat, a
// variable with nulls for what is missing, one with noise, an integer and a text.
func speedTable(rows int) (*columnar.Schema, *columnar.Batch) {
	r := rand.New(rand.NewPCG(1, 2))
	s := &columnar.Schema{}
	b := &columnar.Batch{Rows: rows}
	add := func(name string, t columnar.Type, nullable bool, element func(i int) []byte) {
		c := columnar.Column{Rows: rows}
		if t.Bytes() == 0 {
			c.Offsets = append(c.Offsets, 0)
		}
		if nullable {
			c.Valid = make([]byte, (rows+7)/8)
		}
		for i := range rows {
			c.Data = append(c.Data, element(i)...)
			if c.Offsets != nil {
				c.Offsets = append(c.Offsets, int64(len(c.Data)))
			}
			if nullable && i%1000 > 300 {
				c.Valid[i/8] |= 1 << (i % 8)
			}
		}
		s.Fields = append(s.Fields, columnar.Field{Name: name, Type: t, Nullable: nullable})
		b.Columns = append(b.Columns, c)
	}
	long := func(x uint64) []byte { return binary.LittleEndian.AppendUint64(nil, x) }
	short := func(x uint32) []byte { return binary.LittleEndian.AppendUint32(nil, x) }
	add("time", columnar.Type{Kind: columnar.Timestamp, Unit: columnar.Nanosecond, UTC: true}, false, func(i int) []byte { return long(uint64(i/(180*360)) * 3600e9) })
	add("lat", columnar.Type{Kind: columnar.Float64}, false, func(i int) []byte { return long(math.Float64bits(float64(i/360%180) - 89.5)) })
	add("lon", columnar.Type{Kind: columnar.Float64}, false, func(i int) []byte { return long(math.Float64bits(float64(i%360) + 0.5)) })
	add("t2m", columnar.Type{Kind: columnar.Float32}, true, func(i int) []byte {
		return short(math.Float32bits(float32(280 + 20*math.Sin(float64(i)/500) + math.Round(r.NormFloat64()*100)/100)))
	})
	add("noise", columnar.Type{Kind: columnar.Float64}, false, func(i int) []byte { return long(math.Float64bits(r.NormFloat64())) })
	add("count", columnar.Type{Kind: columnar.Int32}, false, func(i int) []byte { return short(r.Uint32N(1 << 20)) })
	add("station", columnar.Type{Kind: columnar.String}, false, func(i int) []byte { return []byte(fmt.Sprintf("station %d", r.IntN(500))) })
	return s, b
}

// BenchmarkWrite encodes a table in memory. With VARVE_SPEED it leaves the file there,
// for columnar.py speed of interop.
func BenchmarkWrite(b *testing.B) {
	s, batch := speedTable(2_000_000)
	if name := os.Getenv("VARVE_SPEED"); name != "" {
		if err := os.WriteFile(name, encoded(b, s, parquet.Options{}, batch), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	for _, level := range []int{1, 3} {
		b.Run(fmt.Sprint("zstd", level), func(b *testing.B) {
			for range b.N {
				b.SetBytes(int64(len(encoded(b, s, parquet.Options{Level: level}, batch))))
			}
		})
	}
	for i := range s.Fields {
		b.Run(s.Fields[i].Name, func(b *testing.B) {
			one := &columnar.Schema{Fields: s.Fields[i : i+1]}
			for range b.N {
				b.SetBytes(int64(len(encoded(b, one, parquet.Options{}, &columnar.Batch{Rows: batch.Rows, Columns: batch.Columns[i : i+1]}))))
			}
		})
	}
}

// BenchmarkRead decodes the table.
func BenchmarkRead(b *testing.B) {
	s, batch := speedTable(2_000_000)
	file := encoded(b, s, parquet.Options{}, batch)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		r, err := parquet.NewReader(bytes.NewReader(file), int64(len(file)), parquet.Limits{})
		for err == nil {
			_, err = r.Next()
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
}
