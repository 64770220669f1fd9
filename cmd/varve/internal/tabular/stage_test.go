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
