// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/parquet"
)

// found is what a program finds in a file, as interop/columnar.py prints it.
type found struct {
	Types, Names []string
	Columns      [][]any
}

// goldenFolder is testdata, or a folder that interop/columnar.py has filled with larger
// files.
func goldenFolder() string {
	if dir := os.Getenv("VARVE_GOLDENS"); dir != "" {
		return dir
	}
	return "testdata"
}

// goldens returns what pyarrow or DuckDB finds in the files that interop/columnar.py
// writes.
func goldens(t testing.TB) map[string]found {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldenFolder(), "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		t.Fatal(err)
	}
	all := map[string]found{}
	for name, part := range parts {
		var same string
		if json.Unmarshal(part, &same) == nil { // as in another file
			part = parts[same]
		}
		var f found
		if err := json.Unmarshal(part, &f); err != nil {
			t.Fatal(err)
		}
		all[name] = f
	}
	if len(all) < 25 {
		t.Fatalf("files: %d", len(all))
	}
	return all
}

// plain returns an element as interop/columnar.py prints it.
func plain(t columnar.Type, c *columnar.Column, row int) any {
	v := value(t, c, row)
	list, isList := v.([]any)
	switch {
	case v == nil:
		return nil
	case isList:
		for i := range list {
			list[i] = plain(t.Element.Type, c.Elements, int(c.Offsets[row])+i)
		}
		return list
	}
	s := v.(string)
	switch k := t.Kind; {
	case k == columnar.String:
		return s
	case k == columnar.Binary || k == columnar.FixedBinary:
		return hex.EncodeToString([]byte(s))
	case k == columnar.Bool:
		return strconv.FormatBool(s[0] != 0)
	}
	b := []byte(s)
	negative := b[len(b)-1] >= 0x80
	slices.Reverse(b)
	x := new(big.Int).SetBytes(b)
	switch k := t.Kind; {
	case k >= columnar.Float16 && k <= columnar.Float64:
		return x.Text(16)
	case negative && (k < columnar.Uint8 || k > columnar.Uint64):
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return x.String()
}

// read returns what a reader finds.
func read(r *parquet.Reader) (f found, err error) {
	for _, field := range r.Schema().Fields {
		f.Names = append(f.Names, field.Name)
		f.Types = append(f.Types, field.Type.String())
		f.Columns = append(f.Columns, []any{})
	}
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, err
		}
		for k := range b.Columns {
			for i := range b.Rows {
				f.Columns[k] = append(f.Columns[k], plain(r.Schema().Fields[k].Type, &b.Columns[k], i))
			}
		}
	}
}

// differ returns an error unless two programs find the same.
func differ(got, want found) error {
	if !slices.Equal(got.Names, want.Names) {
		return fmt.Errorf("columns %v, want %v", got.Names, want.Names)
	}
	for i, name := range want.Names {
		if got.Types[i] != want.Types[i] {
			return fmt.Errorf("column %q has type %s, want %s", name, got.Types[i], want.Types[i])
		}
		for k, x := range want.Columns[i] {
			if k >= len(got.Columns[i]) || !reflect.DeepEqual(got.Columns[i][k], x) {
				return fmt.Errorf("row %d of column %q (%s) is not %v: %v", k, name, want.Types[i], x, got.Columns[i])
			}
		}
		if len(got.Columns[i]) != len(want.Columns[i]) {
			return fmt.Errorf("column %q has %d rows, want %d", name, len(got.Columns[i]), len(want.Columns[i]))
		}
	}
	return nil
}

// golden returns a file.
func golden(t testing.TB, name string) []byte {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(goldenFolder(), name+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestGoldens reads files that pyarrow, DuckDB, Polars and fastparquet have written in
// many forms.
func TestGoldens(t *testing.T) {
	for name, want := range goldens(t) {
		var names []string
		switch name {
		case "maps", "deep": // of which one column is not read
			if _, err := open(golden(t, name), parquet.Limits{}); !errors.Is(err, columnar.ErrUnsupported) || !strings.Contains(err.Error(), want.refused(name)) {
				t.Errorf("%s: %v", name, err)
			}
			names = []string{"n"}
		case "brotli":
			r, err := open(golden(t, name), parquet.Limits{})
			if err == nil {
				_, err = r.Next()
			}
			if !errors.Is(err, columnar.ErrUnsupported) || !strings.Contains(err.Error(), "Brotli") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		r, err := open(golden(t, name), parquet.Limits{}, names...)
		var got found
		if err == nil {
			got, err = read(r)
		}
		if err == nil {
			err = differ(got, want)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// refused returns the message for the column that is not read.
func (f found) refused(name string) string {
	return map[string]string{"maps": `"m.key_value.key": unsupported: a map`, "deep": `unsupported: lists of lists`}[name]
}

// TestSelection reads some of the columns.
func TestSelection(t *testing.T) {
	file := golden(t, "pyarrow_zstd_2.6_2.0")
	want := goldens(t)["pyarrow_zstd_2.6_2.0"]
	r, err := open(file, parquet.Limits{}, "text", "int8")
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(r)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"int8", "text"} {
		k := slices.Index(want.Names, name)
		if got.Names[i] != name || !reflect.DeepEqual(got.Columns[i], want.Columns[k]) {
			t.Errorf("%s: %v", got.Names[i], got.Columns[i])
		}
	}
	for _, names := range [][]string{{"other"}, {"int8", "int8"}} {
		if _, err := open(file, parquet.Limits{}, names...); !errors.Is(err, columnar.ErrCorrupt) {
			t.Errorf("%v: %v", names, err)
		}
	}
}

// TestMemory reads a file with less memory than it needs.
func TestMemory(t *testing.T) {
	file := golden(t, "pyarrow_zstd_2.6_2.0")
	for _, c := range []struct {
		memory int64
		want   error
	}{{100, columnar.ErrUnsupported}, {40_000, columnar.ErrUnsupported}, {1 << 20, nil}} {
		r, err := open(file, parquet.Limits{Memory: c.memory})
		if err == nil {
			_, err = read(r)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%d bytes: %v", c.memory, err)
		}
	}
}
