// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/arrow"
)

// numbers is a stream of a column of n numbers.
func numbers(t *testing.T, n int) *bytes.Reader {
	t.Helper()
	var out bytes.Buffer
	s := &columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: columnar.Type{Kind: columnar.Int64}}}}
	w, err := arrow.NewStreamWriter(&out, s, arrow.Uncompressed)
	c := columnar.Column{Rows: n}
	for i := range n {
		c.Data = binary.LittleEndian.AppendUint64(c.Data, uint64(i))
	}
	if err == nil {
		err = errors.Join(w.Write(&columnar.Batch{Rows: n, Columns: []columnar.Column{c}}), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(out.Bytes())
}

// TestTableChanged replaces a file after it was read for the first time.
func TestTableChanged(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(context.Background())
	for _, n := range []int{3, 5, 0} {
		first, second := numbers(t, 4), numbers(t, n)
		src, s := &source{name: "x.arrows", at: first, size: first.Size()}, &Staged{dir: t.TempDir()}
		if err := s.plan(cmd, src, Options{Dimension: "row"}); err != nil {
			t.Fatal(err)
		}
		src.at, src.size = second, second.Size()
		if err := s.store(cmd, src); !errors.Is(err, zarr.ErrSourceChanged) {
			t.Errorf("%d rows in place of 4: %v", n, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHiddenElements has lists that are null, and yet have elements, as some programs
// write them.
func TestHiddenElements(t *testing.T) {
	elements := &columnar.Column{Rows: 4, Data: []byte{1, 2, 3, 4}}
	b := &columnar.Batch{Rows: 3, Columns: []columnar.Column{{Rows: 3, Valid: []byte{0b110}, Offsets: []int64{0, 2, 3, 4}, Elements: elements}}}
	item := columnar.Type{Kind: columnar.Int8}
	list, err := arraysOf(&columnar.Schema{Fields: []columnar.Field{{Name: "l", Type: columnar.Type{Kind: columnar.List, Element: &columnar.Field{Type: item}}, Nullable: true}}}, "row")
	if err != nil {
		t.Fatal(err)
	}
	sizes, elems := list[0], list[1]
	sizes.masked = true
	if out, err := elems.block(b); err != nil || !bytes.Equal(out.data, []byte{3, 4}) {
		t.Error(out, err)
	}
	if out, err := sizes.block(b); err != nil || len(out.data) != 24 || out.data[0] != 0 || out.data[8] != 1 {
		t.Error(out, err)
	}
}

// TestUndeclaredNulls has nulls in a field whose schema denies them. The batch before
// them has a value that must not stand for null.
func TestUndeclaredNulls(t *testing.T) {
	list, err := arraysOf(&columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: columnar.Type{Kind: columnar.Int8}}}}, "row")
	if err != nil {
		t.Fatal(err)
	}
	a := list[0]
	for _, c := range []columnar.Column{{Rows: 1, Data: []byte{0x80}}, {Rows: 2, Valid: []byte{0b01}, Data: []byte{5, 0}}} {
		if err := a.survey(&columnar.Batch{Rows: c.Rows, Columns: []columnar.Column{c}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.settle(Options{}); err != nil || a.nulls != 1 || !bytes.Equal(a.isNull, []byte{0x7f}) {
		t.Error(a.nulls, a.isNull, err)
	}
}

// TestRegular has the lengths of row groups. An axis is regular if a reader that knows
// only the first length finds the others.
func TestRegular(t *testing.T) {
	for want, list := range map[bool][][]int64{
		true:  {{3}, {4, 4}, {4, 4, 2}},
		false: {nil, {2, 3}, {4, 2, 4}, {4, 4, 5}, {4, 3, 3}},
	} {
		for _, lengths := range list {
			if isRegular(lengths) != want {
				t.Errorf("%v: not %v", lengths, want)
			}
		}
	}
	list, err := arraysOf(&columnar.Schema{Fields: []columnar.Field{{Name: "x", Type: columnar.Type{Kind: columnar.Int8}}}}, "row")
	if err != nil {
		t.Fatal(err)
	}
	list[0].rows = []int64{4, 4, 2}
	if _, err := list[0].settle(Options{}); err != nil || list[0].Spec.Grid.Name() != "regular" {
		t.Error(list[0].Spec.Grid, err)
	}
}
