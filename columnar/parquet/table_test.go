// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/parquet"
)

// value returns an element of a column by itself: nil for null, its bytes, or a list.
func value(t columnar.Type, c *columnar.Column, row int) any {
	if !c.IsValid(row) {
		return nil
	}
	if c.Dictionary != nil {
		return value(t, c.Dictionary, int(c.Index[row]))
	}
	if n := t.Bytes(); n > 0 {
		return string(c.Data[row*n : (row+1)*n])
	}
	if t.Kind != columnar.List {
		return string(c.Data[c.Offsets[row]:c.Offsets[row+1]])
	}
	list := []any{}
	for k := c.Offsets[row]; k < c.Offsets[row+1]; k++ {
		list = append(list, value(t.Element.Type, c.Elements, int(k)))
	}
	return list
}

// sameColumns returns an error unless two columns have the same elements.
func sameColumns(t columnar.Type, got, want *columnar.Column) error {
	if got.Rows != want.Rows {
		return fmt.Errorf("%d rows, want %d", got.Rows, want.Rows)
	}
	for i := range want.Rows {
		a, b := value(t, got, i), value(t, want, i)
		if fmt.Sprintf("%#v", a) != fmt.Sprintf("%#v", b) {
			return fmt.Errorf("row %d is %#v, want %#v", i, a, b)
		}
	}
	return nil
}

// elementTypes are types of all kinds but lists. Seconds are not among those of times.
func elementTypes(t *rapid.T) columnar.Type {
	k := columnar.Kind(rapid.IntRange(int(columnar.Bool), int(columnar.Decimal)).Draw(t, "kind"))
	typ := columnar.Type{Kind: k}
	unit := func() columnar.Unit { return columnar.Unit(rapid.IntRange(1, 3).Draw(t, "unit")) }
	switch k {
	case columnar.FixedBinary:
		typ.Width = rapid.IntRange(1, 100).Draw(t, "width")
	case columnar.Timestamp:
		typ.Unit, typ.UTC = unit(), rapid.Bool().Draw(t, "utc")
	case columnar.Time:
		typ.Unit = unit()
	case columnar.Decimal:
		typ.Precision = rapid.IntRange(1, 38).Draw(t, "precision")
		typ.Scale = rapid.IntRange(0, typ.Precision).Draw(t, "scale")
	}
	return typ
}

// drawElement returns the bytes of an element.
func drawElement(t *rapid.T, typ columnar.Type, few bool) []byte {
	most := uint64(math.MaxUint64)
	if few {
		most = 5
	}
	x := rapid.Uint64Range(0, most).Draw(t, "element")
	b := binary.LittleEndian.AppendUint64(nil, x)
	switch typ.Kind {
	case columnar.Bool:
		return []byte{byte(x & 1)}
	case columnar.Time:
		if typ.Unit == columnar.Millisecond {
			return binary.LittleEndian.AppendUint64(nil, x%86_400_000)
		}
	case columnar.String:
		if few {
			return []byte("text é"[:x])
		}
		return []byte(rapid.StringN(0, 100, 200).Draw(t, "text"))
	case columnar.Binary:
		return bytes.Repeat(b, int(x%20))
	case columnar.Decimal:
		most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(typ.Precision)), nil)
		n := new(big.Int).SetBytes(append(b, b...))
		n.Mod(n, most)
		out := make([]byte, 16)
		if x&1 != 0 {
			n.Sub(new(big.Int).Lsh(big.NewInt(1), 128), n)
		}
		for i, c := range n.FillBytes(make([]byte, 17))[1:] {
			out[15-i] = c
		}
		return out
	case columnar.FixedBinary:
		return bytes.Repeat(b, typ.Width/8+1)[:typ.Width]
	}
	return b[:typ.Bytes()]
}

// drawColumn returns a column of so many rows.
func drawColumn(t *rapid.T, f *columnar.Field, rows int) columnar.Column {
	c := columnar.Column{Rows: rows}
	if f.Nullable && rapid.Bool().Draw(t, "nulls") {
		c.Valid = make([]byte, (rows+7)/8)
		for i := range c.Valid {
			c.Valid[i] = rapid.Byte().Draw(t, "valid")
		}
	}
	if f.Type.Kind == columnar.List {
		c.Offsets = []int64{int64(rapid.IntRange(0, 3).Draw(t, "first"))}
		for range rows {
			c.Offsets = append(c.Offsets, c.Offsets[len(c.Offsets)-1]+int64(rapid.IntRange(0, 3).Draw(t, "length")))
		}
		e := drawColumn(t, f.Type.Element, int(c.Offsets[rows])+rapid.IntRange(0, 3).Draw(t, "more"))
		c.Elements = &e
		return c
	}
	n := rows
	if rows > 0 && rapid.Bool().Draw(t, "dictionary") {
		n = rapid.IntRange(1, 10).Draw(t, "values")
		c.Dictionary = &columnar.Column{Rows: n}
		for range rows {
			c.Index = append(c.Index, uint32(rapid.IntRange(0, n-1).Draw(t, "index")))
		}
	}
	v := &c
	if c.Dictionary != nil {
		v = c.Dictionary
	}
	few := rapid.Bool().Draw(t, "few")
	if f.Type.Bytes() == 0 {
		v.Offsets = []int64{0}
	}
	for range n {
		v.Data = append(v.Data, drawElement(t, f.Type, few)...)
		if v.Offsets != nil {
			v.Offsets = append(v.Offsets, int64(len(v.Data)))
		}
	}
	return c
}

func drawSchema(t *rapid.T) *columnar.Schema {
	s := &columnar.Schema{Metadata: []columnar.Pair{{Key: "name", Value: "a table"}}}
	for i := range rapid.IntRange(0, 6).Draw(t, "columns") {
		f := columnar.Field{Name: fmt.Sprintf("c%d", i), Type: elementTypes(t), Nullable: rapid.Bool().Draw(t, "nullable")}
		if rapid.IntRange(0, 3).Draw(t, "list") == 0 {
			f.Type = columnar.Type{Kind: columnar.List, Element: &columnar.Field{Name: "element", Type: f.Type, Nullable: rapid.Bool().Draw(t, "nullable")}}
		}
		s.Fields = append(s.Fields, f)
	}
	return s
}

// encoded writes batches.
func encoded(t testing.TB, s *columnar.Schema, o parquet.Options, batches ...*columnar.Batch) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := parquet.NewWriter(&out, s, o)
	for i := 0; i < len(batches) && err == nil; i++ {
		err = w.Write(batches[i])
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// open returns a reader of a file.
func open(file []byte, l parquet.Limits, names ...string) (*parquet.Reader, error) {
	return parquet.NewReader(bytes.NewReader(file), int64(len(file)), l, names...)
}

// TestTurns writes tables of all types, and reads them again.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSchema(rt)
		var batches []*columnar.Batch
		for range rapid.IntRange(0, 3).Draw(rt, "batches") {
			b := &columnar.Batch{Rows: rapid.IntRange(1, 100).Draw(rt, "rows")}
			for i := range s.Fields {
				b.Columns = append(b.Columns, drawColumn(rt, &s.Fields[i], b.Rows))
			}
			batches = append(batches, b)
		}
		o := parquet.Options{Compression: parquet.Compression(rapid.IntRange(0, 2).Draw(rt, "compression"))}
		file := encoded(t, s, o, batches...)
		r, err := open(file, parquet.Limits{})
		if err != nil {
			rt.Fatal(err)
		}
		if fmt.Sprintf("%v", types(r.Schema())) != fmt.Sprintf("%v", types(s)) || r.Schema().Metadata[0] != s.Metadata[0] || len(r.Rows()) != len(batches) {
			rt.Fatalf("%v, want %v; row groups: %v", types(r.Schema()), types(s), r.Rows())
		}
		for i, want := range batches {
			got, err := r.Next()
			if err != nil {
				rt.Fatal(err)
			}
			if got.Rows != want.Rows || r.Rows()[i] != int64(want.Rows) {
				rt.Fatalf("%d rows, want %d", got.Rows, want.Rows)
			}
			for k := range s.Fields {
				if err := sameColumns(s.Fields[k].Type, &got.Columns[k], &want.Columns[k]); err != nil {
					rt.Fatalf("%v: %v", s.Fields[k].Type, err)
				}
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			rt.Error(err)
		}
	})
}

// types returns the fields of a schema. What reads a Duration finds an integer.
func types(s *columnar.Schema) (list []string) {
	for _, f := range s.Fields {
		t, inner := f.Type, ""
		if t.Element != nil {
			inner = fmt.Sprint(t.Element.Name, t.Element.Nullable)
			if t.Element.Type.Kind == columnar.Duration {
				t.Element = &columnar.Field{Type: columnar.Type{Kind: columnar.Int64}}
			}
		} else if t.Kind == columnar.Duration {
			t = columnar.Type{Kind: columnar.Int64}
		}
		list = append(list, fmt.Sprint(f.Name, t, f.Nullable, inner))
	}
	return list
}
