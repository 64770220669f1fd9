// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAppendIndent(t *testing.T) {
	for doc, want := range map[string]string{
		" 1.50 ":                    "1.50",
		"[ ]":                       "[]",
		"{ }":                       "{}",
		"":                          "",
		"[10,20,[5,3]]":             "[10, 20, [5, 3]]",
		"[[],[ 1 ],\"a,]\",null]":   "[[], [1], \"a,]\", null]",
		"[[1,2,3]]":                 "[\n  [1, 2, 3]\n]",
		"[1,[[2]]]":                 "[\n  1,\n  [[2]]\n]",
		"[{}]":                      "[\n  {}\n]",
		`{"\u0061":{"b" : [1,{}]}}`: "{\n  \"\\u0061\": {\n    \"b\": [\n      1,\n      {}\n    ]\n  }\n}",
		`[",","]",{"a":","},"}"]`:   "[\n  \",\",\n  \"]\",\n  {\n    \"a\": \",\"\n  },\n  \"}\"\n]",
	} {
		if got := string(AppendIndent([]byte(">"), []byte(doc))); got != ">"+want {
			t.Errorf("%s: %s", doc, got)
		}
	}
}

// TestWriteIndent writes what AppendIndent appends, also where pieces end within strings.
func TestWriteIndent(t *testing.T) {
	long := `"` + strings.Repeat("é\"", 3*pieceSize) + `"`
	numbers := "[" + strings.Repeat("1234,[5,6],", pieceSize) + "1]"
	lines := "[" + strings.Repeat(`{"a":[]},`, pieceSize) + `{"a":{"b":[1,2,{}]}}]`
	for _, doc := range []string{"", " 1 ", "[]", long, numbers, lines, `{"a":` + lines + `,"b":` + long + `,"c":` + numbers + "}"} {
		for depth := range 3 {
			var got bytes.Buffer
			if err := WriteIndent(&got, []byte(doc), depth); err != nil {
				t.Fatal(err)
			}
			want := strings.ReplaceAll(string(AppendIndent(nil, []byte(doc))), "\n", "\n"+strings.Repeat("  ", depth))
			if got.String() != want {
				t.Errorf("%.20q at depth %d differs: %.100q, want %.100q", doc, depth, got.String(), want)
			}
		}
	}
	r, w := io.Pipe()
	r.CloseWithError(io.ErrClosedPipe)
	if err := WriteIndent(w, []byte(lines), 0); err == nil {
		t.Error("the error of the writer is lost")
	}
}

func TestAppendQuote(t *testing.T) {
	for s, want := range map[string]string{
		"": `""`, "aé𝄞\u2028<&>/": "\"aé𝄞\u2028<&>/\"", "\"\\\b\t\n\f\r\x00\x1f\x7f": "\"\\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f\x7f\"",
	} {
		if got := string(AppendQuote(nil, s)); got != want {
			t.Errorf("%q: %s", s, got)
		}
	}
	if _, err := Parse(AppendQuote(nil, "\xff"), Limits{}); err == nil {
		t.Error("invalid UTF-8 has become valid")
	}
}

func TestAppendQuoteInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		raw := AppendQuote(nil, s)
		v, err := Parse(raw, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var other string
		if err := json.Unmarshal(raw, &other); err != nil || other != s {
			t.Fatalf("%s: %q, %v", raw, other, err)
		}
		if got, err := v.Str(); got != s || err != nil {
			t.Fatalf("%s: %q, %v", raw, got, err)
		}
	})
}
