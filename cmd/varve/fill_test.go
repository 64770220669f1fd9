// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/racing"
)

// configuredTypes are data types that are more than a name, and raw ones, as --dtype
// takes them.
var configuredTypes = []string{
	"r24", "M8[ns]", "M8[7D]", "M8[Y]", "M8[M]", "M8", "m8[s]", "m8[10us]", "m8", "S5", "U3", "V4",
	`[["i","<i2"],["t","M8[s]"],["s","S3"],["f","<f4"],["in",[["b","?"],["c","<c8"]]]]`,
}

// everyType returns the data types that the command knows, by the text that names them.
func everyType(t *testing.T) map[string]dtype.Type {
	types := map[string]dtype.Type{}
	for _, typ := range dtype.All() {
		types[typ.Name()] = typ
	}
	for _, text := range configuredTypes {
		typ, err := input.ParseType(strings.ReplaceAll(text, "?", "|b1"))
		if err != nil {
			t.Fatal(text, err)
		}
		types[strings.ReplaceAll(text, "?", "|b1")] = typ.Type
	}
	return types
}

// fillsOf returns fill values of a type as metadata spells them.
func fillsOf(typ dtype.Type) (fills []string) {
	elems := [][]byte{typ.Default()}
	if typ.Variable() || typ.Kind() == dtype.KindUTF32 {
		for _, word := range []string{"abc", "0x6", "NaN", "12", `a"b`, "null"} {
			if elem, err := typ.ParseText(string(must1(json.Marshal(word)))); err == nil {
				elems = append(elems, elem)
			}
		}
	}
	for _, pattern := range []string{"abc", "\xff", "\x01\x02\x03", "\x01"} {
		elem := bytes.Repeat([]byte(pattern), max(1, typ.Size()))[:typ.Size()]
		if typ.Kind() == dtype.KindStruct {
			typ.Fields()[4].Type.Normalize(elem)
			elem[typ.Fields()[4].Offset] = pattern[0] & 1
		}
		typ.Normalize(elem)
		elems = append(elems, elem)
	}
	for _, elem := range elems {
		if fill, err := typ.FormatFill(elem); err == nil && !slices.Contains(fills, string(fill)) {
			fills = append(fills, string(fill))
		}
	}
	most := 4
	switch typ.Kind() {
	case dtype.KindInt, dtype.KindUint, dtype.KindFloat, dtype.KindComplex:
		most = 2 // package dtype tests more of them
	}
	return fills[:min(most, len(fills))]
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestFillRoundTrip creates an array with the data type and the fill value that info
// prints for another one. Both must be equal, for every data type, in both formats, and
// also if a shell removed the quotes, unless base64 could then be text.
func TestFillRoundTrip(t *testing.T) {
	racing.Skip(t)
	for name, typ := range everyType(t) {
		fills := fillsOf(typ)
		if len(fills) < 2 {
			t.Errorf("%s: fill values %q", name, fills)
		}
		for _, format := range []string{"3", "2"} {
			for _, fill := range fills {
				typeText, first, err := filled(t, name, format, fill)
				if err != "" && format == "2" {
					continue // format 2 does not have the type, or the value
				}
				if _, second, err := filled(t, typeText, format, first); second != first || err != "" {
					t.Errorf("%s, format %s: %s becomes %s, and %s again: %s", name, format, fill, first, second, err)
				}
				if bare := strings.Trim(first, `"`); bare != first && isPlain(bare) && (format != "2" || bare != "null") {
					if _, second, err := filled(t, typeText, format, bare); second != first && !strings.Contains(err, "or the base64 in double quotes") {
						t.Errorf("%s, format %s: %s without quotes becomes %s: %s", name, format, first, second, err)
					}
				}
			}
		}
	}
}

// filled creates an array and returns the data type and fill value that info prints.
func filled(t *testing.T, typeText, format, fill string) (typ, got, failure string) {
	node := filepath.Join(t.TempDir(), "a.zarr")
	out, stderr, status := execute(t, "", "create", node, "--json", "--shape", "2", "--dtype", typeText, "--zarr-format", format, "--fill", fill)
	if status != 0 {
		return "", "", stderr
	}
	var facts struct {
		Type json.RawMessage `json:"data_type"`
		Fill json.RawMessage `json:"fill_value"`
	}
	if err := json.Unmarshal([]byte(out), &facts); err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(facts.Type), `"`), phrase.Compact(facts.Fill), ""
}

// isPlain reports whether a shell passes on a quoted text unchanged, and the text does
// not begin like bytes in hexadecimal.
func isPlain(text string) bool {
	return text != "" && !strings.Contains(text, `\`) && !strings.HasPrefix(text, "0x")
}

// TestWriteNumbers writes numbers to moments and durations, and base64 to byte strings.
func TestWriteNumbers(t *testing.T) {
	node := filepath.Join(t.TempDir(), "a.zarr")
	for _, c := range []struct{ dtype, value, want string }{
		{"M8[s]", "1577836800", "2020-01-01T00:00:00"},
		{"M8[s]", "2020-01-01", "2020-01-01T00:00:00"},
		{"M8[s]", `"2020"`, "2020-01-01T00:00:00"},
		{"M8[s]", "2020", "1970-01-01T00:33:40"},
		{"m8[s]", "30", "30 s"},
		{"S4", `"YWJj"`, "abc"},
		{"S4", "abc", "abc"},
		{"S4", " a ", "a"},
		{"S4", "[97, 98]", "ab"},
		{"S3", "nan", "nan"},
		{"bytes", "missing", "missing"},
		{"S4", "0x616263", "abc"},
	} {
		must(t, "", "create", node, "--overwrite", "--shape", "1", "--dtype", c.dtype)
		_, errs, status := execute(t, "", "write", node, "--value", c.value)
		if status != 0 || (errs != "") != (c.value == "2020") { // which may be meant as a year
			t.Errorf("%s of %s: status %d, %s", c.value, c.dtype, status, errs)
		}
		if got := must(t, "", "cat", node); !strings.Contains(got, c.want) {
			t.Errorf("%s of %s is %q, want %q", c.value, c.dtype, got, c.want)
		}
	}
	if a, err := zarr.OpenArray(t.Context(), node, nil); err != nil || a.Close() != nil {
		t.Error(err)
	}
}

// TestBareBytes gives words without quotes for byte strings. They are text if base64 is
// not possible, and base64, with a note, if text is not. If both are possible, the
// command refuses to choose, and nothing is created or changed.
func TestBareBytes(t *testing.T) {
	node := filepath.Join(t.TempDir(), "a.zarr")
	for _, c := range []struct{ dtype, word, want, message string }{
		{"S4", "n/a", "b'n/a'", ""},
		{"bytes", "missing", "b'missing'", ""},
		{"S4", "none", "", `give the text as 0x6e6f6e65, or the base64 in double quotes, as '"none"'`},
		{"bytes", "none", "", `as '"none"'`},
		{"S4", `"none"`, `b'\x9e\x89\xde'`, ""},
		{"S4", "0x6e6f6e65", "b'none'", ""},
		{"S3", "none", `b'\x9e\x89\xde'`, "--fill none is read as base64, of the bytes 0x9e89de"},
		{"V3", "none", "0x9e89de", "--fill none is read as base64"},
		{"V3", `"none"`, "0x9e89de", ""},
		{`[["a","<i2"],["s","S1"]]`, `{"a": 7, "s": "YQ=="}`, "(7, b'a')", ""},
		{`[["a","<i2"],["s","S1"]]`, `BwBh`, "(7, b'a')", "--fill BwBh is read as base64, of the bytes 0x070061"},
		{`[["a","<i2"],["s","S1"]]`, `{"a": 7}`, "", `as {"a":0,"s":""}`},
	} {
		must(t, "", "create", node, "--overwrite", "--shape", "1", "--dtype", c.dtype)
		for _, line := range [][]string{
			{"create", node, "--overwrite", "--shape", "1", "--dtype", c.dtype, "--fill", c.word},
			{"rechunk", node, "--fill", c.word},
			{"write", node, "--value", c.word},
		} {
			_, stderr, status := execute(t, "", line...)
			if message := strings.ReplaceAll(c.message, "--fill", line[len(line)-2]); (status != 0) != (c.want == "") || !strings.Contains(stderr, message) || c.message == "" && stderr != "" && line[0] != "rechunk" {
				t.Errorf("%s of %s: status %d, %q, want %q", line[0], c.dtype, status, stderr, message)
			}
			if got := must(t, "", "cat", node); c.want != "" && !strings.Contains(got, c.want) {
				t.Errorf("%s %s of %s is %s, want %s", line[0], c.word, c.dtype, got, c.want)
			}
		}
	}
}

// TestStructFill gives the fill value that zarr-python wrote for structs, as its document
// spells it.
func TestStructFill(t *testing.T) {
	var manifest struct{}
	document := must1(fs.ReadFile(openArchive(t, "stores.zip", &manifest), "dtype_struct.zarr/zarr.json"))
	var theirs struct {
		Type json.RawMessage `json:"data_type"`
		Fill json.RawMessage `json:"fill_value"`
	}
	if err := json.Unmarshal(document, &theirs); err != nil {
		t.Fatal(err)
	}
	_, got, failed := filled(t, phrase.Compact(theirs.Type), "3", string(theirs.Fill))
	if want := phrase.Compact(theirs.Fill); got != want {
		t.Errorf("%s, want %s: %s", got, want, failed)
	}
}
