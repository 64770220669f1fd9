// SPDX-License-Identifier: Apache-2.0

package kerchunk

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"varve.dev/zarr/virtual/scan"
)

// generated returns a document with a generator.
func generated(key, url, offset, length, dimensions string) []byte {
	return fmt.Appendf(nil, `{"version":1,"templates":{"u":"s3://b/x","f":"{{c}}"},"gen":[{"key":%q,"url":%q,"offset":%q,"length":%q,"dimensions":%s}]}`,
		key, url, offset, length, dimensions)
}

func TestGenerators(t *testing.T) {
	text := generated("v/{{ i }}.{{name}}.{{k // 2}}", "{{u}}_{{i}}.nc", "{{(i+1)*1000 + k % 4}}", "8",
		`{"i":{"stop":2},"k":{"start":5,"stop":-2,"step":-3},"name":["a","b"]}`)
	r := must(t, text)
	if r.Len() != 2*3*2 {
		t.Fatalf("%d references", r.Len())
	}
	for key, want := range map[string]string{
		"v/0.a.2": "s3://b/x_0.nc 1001", "v/1.b.2": "s3://b/x_1.nc 2001", "v/0.b.1": "s3://b/x_0.nc 1002", "v/1.a.-1": "s3://b/x_1.nc 2003",
	} {
		if x, ok := r.Find(key); fmt.Sprint(x.URL, " ", x.Offset) != want || x.Length != 8 || !ok {
			t.Errorf("%s: %+v, want %s", key, x, want)
		}
	}
	whole := must(t, []byte(`{"version":1,"gen":[{"key":"{{i}}","url":"f{{i}}","dimensions":{"i":[1,3,5]}}],"refs":{"2":"x"}}`))
	if x, _ := whole.Find("3"); whole.Len() != 4 || x.URL != "f3" || x.Length != Whole {
		t.Errorf("%+v", x)
	}
	if r := must(t, generated("k", "u", "1", "1", `{"i":{"stop":0},"j":{"stop":9223372036854775807},"k":{"stop":9223372036854775807}}`)); r.Len() != 0 {
		t.Errorf("%d references", r.Len())
	}
}

// TestArithmetic compares results with those of Python.
func TestArithmetic(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "i": 7, " i + 1 ": 8, "i-j": 10, "2+3*4": 14, "(2+3)*4": 20, "10-3-2": 5, "100//7//2": 7, "-7//2": -4, "7//-2": -4, "-7//-2": 3,
		"-7%3": 2, "7%-3": -2, "-7%-3": -1, "6%3": 0, "-6//3": -2, "--i": 7, "+i": 7, "-(i+j)*2": -8, "2*-3": -6, "i%4*2": 6, "((((1))))": 1,
		"9223372036854775807": math.MaxInt64, "-9223372036854775807-1": math.MinInt64, "-4611686018427387904*2": math.MinInt64, "0*-1": 0,
	} {
		p := &parser{text: text, variables: []string{"i", "j"}}
		n, ok := p.parse()
		if !ok {
			t.Errorf("%s: not read", text)
			continue
		}
		if got, err := n.eval([]value{{number: 7}, {number: -3}}); got != want || err != nil {
			t.Errorf("%s is %d, want %d: %v", text, got, want, err)
		}
	}
	for _, text := range []string{
		"9223372036854775807+1", "-9223372036854775807-2", "9223372036854775807*2", "-9223372036854775807*2", "1//0", "1%0", "(-9223372036854775807-1)//-1",
		"4611686018427387904*2", "0-(-9223372036854775807-1)",
	} {
		n, ok := (&parser{text: text}).parse()
		if !ok {
			t.Errorf("%s: not read", text)
		} else if x, err := n.eval(nil); !errors.Is(err, scan.ErrCorrupt) {
			t.Errorf("%s is %d, %v", text, x, err)
		}
	}
	for _, text := range []string{
		"", " ", "1+", "*2", "2**3", "1/2", "1.5", "0x10", "1_000", "(1", "1)", "k", "i j", "i|abs", "i()", "i.real", "'a'", "9223372036854775808",
		strings.Repeat("(", 50) + "1" + strings.Repeat(")", 50), strings.Repeat("-", 50) + "1", "1<2", "i~j", "i if j", "1\n", "[1]", "٣",
	} {
		if _, ok := (&parser{text: text, variables: []string{"i", "j"}}).parse(); ok {
			t.Errorf("%q is read", text)
		}
	}
}

// TestRefused has documents that are refused, and why.
func TestRefused(t *testing.T) {
	v1 := func(rest string) []byte {
		return []byte(`{"version":1,"templates":{"u":"x","f":"{{c.upper()}}"},` + rest + `}`)
	}
	i := `{"i":{"stop":3}}`
	for why, text := range map[string][]byte{
		"the document is cut off: it ends":        []byte(`{"a":`),
		"behind the document":                     []byte(`{} {}`),
		"an object is needed":                     []byte(`[]`),
		"version 2":                               []byte(`{"version":2}`),
		"given twice":                             []byte(`{"a":"x","a":"y"}`),
		`reference "a": damaged file: 2 elements`: []byte(`{"a":["u",1]}`),
		"4 elements":                              []byte(`{"a":["u",1,2,3]}`),
		"a length of -1":                          []byte(`{"a":["u",0,-1]}`),
		"a length of -2":                          []byte(`{"a":["u",0,-2]}`),
		"at 9223372036854775807":                  []byte(`{"a":["u",9223372036854775807,1]}`),
		"must be an integer":                      []byte(`{"a":["u",0.5,1]}`),
		"must be a string":                        []byte(`{"a":[1,0,1]}`),
		"empty URL":                               []byte(`{"a":["",0,1]}`),
		"a number, where text":                    []byte(`{"a":1}`),
		"null, where text":                        []byte(`{"a":null}`),
		"illegal base64":                          []byte(`{"a":"base64:*"}`),
		"templates is":                            []byte(`{"version":1,"templates":[]}`),
		"gen is":                                  v1(`"gen":{}`),
		"the references are":                      v1(`"refs":[]`),
		"not closed":                              v1(`"refs":{"a":["{{u"]}`),
		`no template "w"`:                         v1(`"refs":{"a":["{{w}}"]}`),
		`the template "f('a')"`:                   v1(`"refs":{"a":["{{f('a')}}"]}`),
		`the template "f"`:                        v1(`"refs":{"a":["{{f}}"]}`),
		`the template "u|upper"`:                  v1(`"refs":{"a":["{{u|upper}}"]}`),
		`the template "-u"`:                       v1(`"refs":{"a":["{{-u}}"]}`),
		`the template "{% if`:                     generated("{% if i %}{{i}}", "u", "1", "1", i),
		`the template "i/2"`:                      generated("{{i/2}}", "u", "1", "1", i),
		"two references":                          generated("{{i//2}}", "u", "1", "1", i),
		"dimensions is null":                      []byte(`{"version":1,"gen":[{"key":"k","url":"u"}]}`),
		"gen/0: damaged file: a number":           []byte(`{"version":1,"gen":[1]}`),
		"key is missing":                          []byte(`{"version":1,"gen":[{"url":"u","dimensions":{}}]}`),
		"or none of them":                         []byte(`{"version":1,"gen":[{"key":"k","url":"u","offset":"1","dimensions":{}}]}`),
		"a step of 0":                             generated("{{i}}", "u", "1", "1", `{"i":{"stop":3,"step":0}}`),
		"a range of 9223372036854775808":          generated("{{i}}", "u", "1", "1", `{"i":{"start":-9223372036854775808,"stop":0}}`),
		`an offset or a length of "-1"`:           generated("{{i}}", "u", "{{i-1}}", "1", i),
		`an offset or a length of "1.5"`:          generated("{{i}}", "u", "1.5", "1", i),
		`arithmetic with the text "a"`:            generated("{{i+1}}", "u", "1", "1", `{"i":["a"]}`),
		"is no number of 64 bits":                 generated("{{i//(i-1)}}", "u", "1", "1", i),
		"(1000000000000)":                         nil, // below
		"([9223372036854775807 2])":               generated("{{i}}", "u", "1", "1", `{"i":{"stop":9223372036854775807},"j":[1,2]}`),
		"65 dimensions":                           nil,
		"more than 16384 bytes":                   nil,
		"templates make more":                     nil,
		"a template of 20000":                     generated(strings.Repeat("x", 20000), "u", "1", "1", i),
	} {
		switch why {
		case "(1000000000000)":
			why, text = "([1000000000000])", generated("{{i}}", "u", "1", "1", `{"i":{"stop":1000000000000}}`)
		case "65 dimensions":
			var list []string
			for k := range 65 {
				list = append(list, fmt.Sprintf(`"i%d":[1]`, k))
			}
			text = generated("k", "u", "1", "1", "{"+strings.Join(list, ",")+"}")
		case "more than 16384 bytes":
			text = []byte(`{"version":1,"templates":{"u":"` + strings.Repeat("x", 10000) + `"},"refs":{"a":["{{u}}{{u}}"]}}`)
		case "templates make more":
			text = []byte(`{"version":1,"templates":{"u":"` + strings.Repeat("x", 10000) + `"},"refs":{"a":["{{u}}1"],"b":["{{u}}2"]}}`)
		}
		_, err := Parse(text, Limits{Generated: 15000})
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "scan: ", ""), why) || !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported) {
			t.Errorf("%v, want %s", err, why)
		}
	}
	if _, err := Parse(read(t, "nc3_classic.v1.json"), Limits{Document: 1000}); !errors.Is(err, scan.ErrUnsupported) {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	want := map[string]Reference{
		"a": {URL: "f", Offset: 1, Length: 2}, "b": {URL: "g", Length: Whole}, "c": {Data: []byte("base64:no")}, "d": {Data: []byte{0xff, 0}}, "e": {Data: []byte{}},
		"f \"ü\"": {Data: []byte("ü\n\"")},
	}
	r, err := New(maps.All(want))
	if err != nil || r.Len() != len(want) {
		t.Fatal(err)
	}
	checkWritten(t, "new", r)
	for key, x := range r.All() {
		if w := want[key]; x.URL != w.URL || x.Offset != w.Offset || x.Length != w.Length || string(x.Data) != string(w.Data) {
			t.Errorf("%s: %+v, want %+v", key, x, w)
		}
	}
	for _, x := range []Reference{{URL: "f", Offset: -1, Length: 1}, {URL: "f", Length: -2}, {URL: "f", Offset: 1, Length: Whole}, {URL: "\xff"}} {
		if _, err := New(maps.All(map[string]Reference{"k": x})); err == nil {
			t.Errorf("%+v is accepted", x)
		}
	}
}
