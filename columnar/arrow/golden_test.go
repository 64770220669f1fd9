// SPDX-License-Identifier: Apache-2.0

package arrow_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"varve.dev/zarr/columnar"
)

// content is what interop/arrow.py says that a file has.
type content struct {
	Fields  [][3]any `json:"fields"`
	Batches [][2]any `json:"batches"`
}

// contentOf reads a table to its end.
func contentOf(r columnar.Reader) (c content, err error) {
	for _, f := range r.Schema().Fields {
		c.Fields = append(c.Fields, [3]any{f.Name, f.Type.String(), f.Nullable})
	}
	for {
		b, err := r.Next()
		if err == io.EOF {
			return c, nil
		}
		if err != nil {
			return c, err
		}
		columns := []any{}
		for i, f := range r.Schema().Fields {
			list := []any{}
			for _, v := range values(f.Type, &b.Columns[i], 0, int64(b.Rows)) {
				list = append(list, v)
			}
			columns = append(columns, list)
		}
		c.Batches = append(c.Batches, [2]any{float64(b.Rows), columns})
	}
}

// goldens yields the files that pyarrow and Polars have written: interop/arrow.py writes
// them.
func goldens(t testing.TB) (names []string) {
	names, err := filepath.Glob("testdata/*.arrow*")
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	return names
}

// TestGolden reads files of pyarrow and Polars.
func TestGolden(t *testing.T) {
	for _, name := range goldens(t) {
		text, err := os.ReadFile(name + ".json")
		if err != nil {
			continue // it is such a text, or is refused
		}
		var want content
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := open(raw, 1<<20)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := contentOf(r)
		if len(want.Batches) == 0 { // it has no columns in JSON then
			got.Fields, got.Batches, want = nil, nil, content{}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\ngot  %v\nwant %v", name, err, got, want)
		}
	}
}

// TestRefused has types that are not read. The message names them.
func TestRefused(t *testing.T) {
	for name, want := range map[string]string{
		"union": "a union", "map": "a map", "interval": "an interval", "run-end": "run-end encoded", "list-view": "a list view",
		"lists": "lists of lists", "structs": "lists of lists or of structs", "digits": "precision (76)", "feather": "version 1",
	} {
		raw, err := os.ReadFile("testdata/refused-" + name + ".arrow")
		if err != nil {
			t.Fatal(err)
		}
		_, err = open(raw, 0)
		if !strings.HasPrefix(string(raw), "ARROW1") { // open takes it for a stream
			_, err = openFile(raw)
		}
		if !errors.Is(err, columnar.ErrUnsupported) || !strings.Contains(err.Error(), want) || name != "feather" && !strings.Contains(err.Error(), `column "odd"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
