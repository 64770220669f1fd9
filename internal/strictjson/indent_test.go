package strictjson

import (
	"encoding/json"
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
