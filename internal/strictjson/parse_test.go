// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

func mustParse(t testing.TB, doc string) Value {
	t.Helper()
	v, err := Parse([]byte(doc), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseAccepts(t *testing.T) {
	for _, doc := range []string{"null", " true ", "false", "0", "-0", "-0.0e-0", "12.5E+3", `""`, `"\"\\\/\b\f\n\r\t\u00e9"`, `"é𝄞\ud834\udd1e"`,
		"[]", "[ ]", "{}", "{ }", "[1, [2,\t3],\r\n{}]", `{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}`, `{"":0," ":1,"\u0000":2}`,
		"\"\u2028\x7f\"", strings.Repeat("[", 64) + strings.Repeat("]", 64), "123456789", "1234567", "12345678", "[12345678,1]"} {
		v, err := Parse([]byte(doc), Limits{})
		if err != nil {
			t.Errorf("%q: %v", doc, err)
		} else if string(v.Raw()) != strings.Trim(doc, " ") {
			t.Errorf("%q: value %q", doc, v.Raw())
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		doc     string
		kind    error
		pointer string
		offset  int64
	}{
		{"", ErrSyntax, "", 0},
		{" \n", ErrSyntax, "", 2},
		{"\xef\xbb\xbf{}", ErrSyntax, "", 0},
		{"{}x", ErrSyntax, "", 2},
		{"{} {}", ErrSyntax, "", 3},
		{"tru", ErrSyntax, "", 0},
		{"truefalse", ErrSyntax, "", 4},
		{"[1,]", ErrSyntax, "/1", 3},
		{"[1 2]", ErrSyntax, "/0", 3},
		{"[1}", ErrSyntax, "/0", 2},
		{"[1", ErrSyntax, "/0", 2},
		{`{"a" 1}`, ErrSyntax, "", 5},
		{`{"a":1,}`, ErrSyntax, "", 7},
		{`{"a":1]`, ErrSyntax, "/a", 6},
		{`{a:1}`, ErrSyntax, "", 1},
		{`{"x/~":{"b":[0,nil]}}`, ErrSyntax, "/x~1~0/b/1", 15},
		{"01", ErrSyntax, "", 0},
		{"-", ErrSyntax, "", 1},
		{"-01", ErrSyntax, "", 0},
		{"1.", ErrSyntax, "", 2},
		{".5", ErrSyntax, "", 0},
		{"1e", ErrSyntax, "", 2},
		{"1e+", ErrSyntax, "", 3},
		{"+1", ErrSyntax, "", 0},
		{"[NaN]", ErrSyntax, "/0", 1},
		{"[-Infinity]", ErrSyntax, "/0", 1},
		{`"a`, ErrSyntax, "", 2},
		{`"a\`, ErrSyntax, "", 2},
		{`"\x"`, ErrSyntax, "", 1},
		{`"\u12"`, ErrSyntax, "", 1},
		{`"\u12g4"`, ErrSyntax, "", 1},
		{"\"\x01\"", ErrSyntax, "", 1},
		{"\"\xff\"", ErrUnicode, "", 1},
		{"\"\xc0\x80\"", ErrUnicode, "", 1},
		{"\"\xed\xa0\x80\"", ErrUnicode, "", 1},
		{"[\"\xe2\x82\"]", ErrUnicode, "/0", 2},
		{`"\ud834"`, ErrUnicode, "", 1},
		{`"\udd1e\ud834"`, ErrUnicode, "", 1},
		{`"\ud834\u0041"`, ErrUnicode, "", 1},
		{`{"a":1,"a":2}`, ErrDuplicate, "/a", 7},
		{`{"a":1,"b":0,"\u0061" : 2,"b":1}`, ErrDuplicate, "/a", 13},
		{`[{"k":{"é":1,"\u00e9":2}}]`, ErrDuplicate, "/0/k/é", 14},
		{strings.Repeat("[", 65) + strings.Repeat("]", 65), ErrLimit, strings.Repeat("/0", 64), 64},
	} {
		_, err := Parse([]byte(c.doc), Limits{})
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, c.kind) || e.Pointer != c.pointer || e.Offset != c.offset {
			t.Errorf("%q: %#v, %v", c.doc, e, err)
		}
	}
}

// TestRepeated lets one object have members of one name, and no other.
func TestRepeated(t *testing.T) {
	for doc, ok := range map[string]bool{
		`{"a":{"m":{"x":1,"y":2,"x":3}}}`:                   true,
		`{"a":{"m":{"x":1,"x":2},"n":0}}`:                   true,
		`{"a":{"m":{"x":{"y":1,"y":2}}}}`:                   false,
		`{"a":{"m":{"x":1,"x":2},"m":{"x":1,"x":2}}}`:       false,
		`{"a":{"m":{"x":1,"x":2}},"b":1,"b":2}`:             false,
		`{"m":{"x":1,"x":2}}`:                               false,
		`{"a":{"m":[{"x":1,"x":2}]}}`:                       false,
		`{"a":{"m":{"x":1,"x":2},"n":{"m":{"x":1,"x":2}}}}`: false,
	} {
		v, err := Parse([]byte(doc), Limits{Repeated: "/a/m"})
		if (err == nil) != ok || err != nil && !errors.Is(err, ErrDuplicate) {
			t.Errorf("%s: %v", doc, err)
		}
		if _, err := Parse([]byte(doc), Limits{}); !errors.Is(err, ErrDuplicate) {
			t.Errorf("%s: %v", doc, err)
		}
		if !ok {
			continue
		}
		a, _ := v.Member("a")
		m, _ := a.Member("m")
		n := 0
		for name := range m.Members() {
			if name == "x" {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%s: %d members", doc, n)
		}
	}
}

// TestHalvesInNames lets the names of one object have halves of surrogate pairs. They
// stay different, and are written again as they were.
func TestHalvesInNames(t *testing.T) {
	for doc, ok := range map[string]bool{
		`{"a":{"m":{"\udcff":1,"x\ud800y":{"z":1},"\udcfe":2},"n":0}}`: true,
		`{"a":{"m":{"\ud83d\ude00":1,"\udcff":1,"\udcff":2}}}`:         true,
		`{"a":{"m":{"\udcff":"\udcff"}}}`:                              false,
		`{"a":{"m":{"x":{"\udcff":1}}}}`:                               false,
		`{"a":{"m":{"\udcff":{"\udcff":1}}}}`:                          false,
		`{"a":{"m":{"\udcff":1},"\udcff":1}}`:                          false,
		`{"a":{"m":{"\udcff":1},"n":{"\udcff":1}}}`:                    false,
		`{"m":{"\udcff":1}}`:                                           false,
		`{"a":{"m":[{"\udcff":1}]}}`:                                   false,
		`{"a":{"m":{"\udcff":1},"m":{"\udcff":1}}}`:                    false,
		`{"a":{"m":{"\udcff":1}},"b":1,"b":2}`:                         false,
	} {
		v, err := Parse([]byte(doc), Limits{Repeated: "/a/m"})
		if (err == nil) != ok {
			t.Errorf("%s: %v", doc, err)
		}
		if _, err := Parse([]byte(doc), Limits{}); err == nil {
			t.Errorf("%s is accepted", doc)
		}
		if !ok {
			continue
		}
		a, _ := v.Member("a")
		m, _ := a.Member("m")
		for name := range m.Members() {
			if quoted := string(AppendQuote(nil, name)); !strings.Contains(doc, strings.ReplaceAll(quoted, "\U0001f600", `\ud83d\ude00`)) {
				t.Errorf("%s: name %s", doc, quoted)
			}
		}
	}
}

func TestParseLimits(t *testing.T) {
	doc := []byte(`{"a":[[1]]}`)
	for _, c := range []struct {
		limits Limits
		ok     bool
	}{
		{Limits{Depth: 3}, true}, {Limits{Depth: 2}, false}, {Limits{Depth: -1, Size: -1}, true},
		{Limits{Size: 11}, true}, {Limits{Size: 10}, false}, {Limits{Size: 1 << 60, Depth: math.MaxInt}, true},
	} {
		if _, err := Parse(doc, c.limits); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrLimit) {
			t.Errorf("%+v: %v", c.limits, err)
		}
	}
	deep := []byte(strings.Repeat("[", maxDepth+1))
	if _, err := Parse(deep, Limits{Depth: math.MaxInt}); !errors.Is(err, ErrLimit) {
		t.Error("nesting beyond what the stack is for:", err)
	}
}

func TestDuplicatesInLargeObjects(t *testing.T) {
	doc := string(members(100000))
	if _, err := Parse([]byte(doc), Limits{}); err != nil {
		t.Fatal(err)
	}
	_, err := Parse([]byte(strings.Replace(doc, `"k77777"`, `"k3"`, 1)), Limits{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Pointer != "/k3" || !errors.Is(err, ErrDuplicate) {
		t.Error(err)
	}
}

// TestManyDuplicates would not come to an end if every pair of equal names were compared.
func TestManyDuplicates(t *testing.T) {
	doc := []byte(`{"a":0` + strings.Repeat(`,"a":1`, 1000000) + "}")
	_, err := Parse(doc, Limits{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Offset != 7 {
		t.Error(err)
	}
}

// TestParseMemory checks the bound on memory for the documents that need most.
func TestParseMemory(t *testing.T) {
	for name, doc := range map[string][]byte{
		"members": members(200000),
		"arrays":  []byte("[" + strings.Repeat("[],", 200000) + "0]"),
		"nested":  []byte("[" + strings.Repeat(`{"a":1,"b":2},`, 100000) + "0]"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse(doc, Limits{})
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; err != nil || got > uint64(4*len(doc)+1<<12) {
			t.Errorf("%s: %d bytes allocated for %d, %v", name, got, len(doc), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, doc := range []string{`{"a":[1,2.5e3,{"b":null}],"c":"\ud834\udd1e"}`, `{"a":1,"\u0061":2}`, "[NaN]", `"\ud800"`, "[[[[]]]]", "\"\xff\"", "-0.0e-9", ""} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Parse(data, Limits{Depth: 100})
		if valid := json.Valid(data); err == nil && !valid {
			t.Fatalf("%q is accepted", data)
		} else if err != nil {
			named := errors.Is(err, ErrDuplicate) || errors.Is(err, ErrUnicode) || errors.Is(err, ErrLimit)
			if valid && !named || !valid && !errors.Is(err, ErrSyntax) && !named || !utf8.ValidString(err.Error()) {
				t.Fatalf("%q is refused: %v", data, err)
			}
			return
		}
		walk(t, v)
		laid := AppendIndent(nil, data)
		if again := AppendIndent(nil, laid); string(again) != string(laid) {
			t.Fatalf("%q is laid out as %q and then as %q", data, laid, again)
		}
		if !same(v, reparse(t, laid)) {
			t.Fatalf("%q is laid out as %q", data, laid)
		}
	})
}

func reparse(t *testing.T, doc []byte) Value {
	v, err := Parse(doc, Limits{Depth: 100})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// walk compares everything that can be asked of v with encoding/json.
func walk(t *testing.T, v Value) {
	var want any
	d := json.NewDecoder(bytes.NewReader(v.Raw()))
	d.UseNumber() // a number of any length is one
	if err := d.Decode(&want); err != nil {
		t.Fatal(err)
	}
	n := 0
	switch v.Kind() {
	case String:
		if got, err := v.Str(); got != want || err != nil {
			t.Fatalf("%s: %q, %v", v.Raw(), got, err)
		}
	case Bool:
		if got, err := v.Bool(); got != want || err != nil {
			t.Fatalf("%s: %v, %v", v.Raw(), got, err)
		}
	case Number:
		checkInteger(t, v)
	case Array:
		for i, e := range v.Elements() {
			if i != n || pointer(e.doc.data, e.Offset()) != v.Pointer()+fmt.Sprintf("/%d", i) {
				t.Fatalf("element %d at %s is number %d", i, e.Pointer(), n)
			}
			walk(t, e)
			n++
		}
	case Object:
		for name, m := range v.Members() {
			if m.Pointer() != v.Pointer()+Token(name) {
				t.Fatalf("member %q at %s", name, m.Pointer())
			}
			walk(t, m)
			n++
		}
	}
	if v.Len() != n {
		t.Fatalf("%s has %d parts, not %d", v.Raw(), n, v.Len())
	}
}

// same reports whether two values are spelled alike but for white space.
func same(a, b Value) bool {
	if a.Kind() != b.Kind() || a.Len() != b.Len() {
		return false
	}
	switch a.Kind() {
	case Array:
		var list []Value
		for _, e := range b.Elements() {
			list = append(list, e)
		}
		for i, e := range a.Elements() {
			if !same(e, list[i]) {
				return false
			}
		}
		return true
	case Object:
		for name, m := range a.Members() {
			if o, ok := b.Member(name); !ok || !same(m, o) {
				return false
			}
		}
		return true
	}
	return string(a.Raw()) == string(b.Raw())
}
