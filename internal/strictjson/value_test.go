// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestInt64(t *testing.T) {
	for doc, want := range map[string]int64{
		"0": 0, "-0": 0, "-0.00e9": 0, "0e99999999999999999999": 0, "7": 7, "4.0": 4, "4e2": 400, "4.25e2": 425, "400e-2": 4, "0.04E+2": 4,
		"12345678": 12345678, "123456789": 123456789, "-12345678": -12345678, "999999999999999999": 999999999999999999,
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64, "9223372036854775807.000": math.MaxInt64,
		"922337203685477580.7e1": math.MaxInt64, "0.0000000000000000009223372036854775807e37": math.MaxInt64,
		"1000000000000000000000000000000e-30": 1,
	} {
		if got, err := mustParse(t, doc).Int64(); got != want || err != nil {
			t.Errorf("%s: %d, %v", doc, got, err)
		}
	}
	for doc, want := range map[string]error{
		"0.5": ErrFraction, "1e-1": ErrFraction, "1e-99999999999999999999": ErrFraction, "12345678901234567890.5e-10": ErrFraction,
		"9223372036854775808": ErrOverflow, "-9223372036854775809": ErrOverflow, "18446744073709551616": ErrOverflow, "1e19": ErrOverflow,
		"99999999999999999999": ErrOverflow, "1e99999999999999999999": ErrOverflow, "-1e999999999": ErrOverflow,
		"true": ErrKind, `"4"`: ErrKind, "null": ErrKind, "[4]": ErrKind, "{}": ErrKind,
	} {
		if got, err := mustParse(t, doc).Int64(); got != 0 || !errors.Is(err, want) {
			t.Errorf("%s: %d, %v", doc, got, err)
		}
	}
}

// TestInt64Fast compares the fast way with the plain one, at every distance from the end
// of the document.
func TestInt64Fast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n") >> rapid.IntRange(0, 63).Draw(t, "shift")
		doc := fmt.Sprintf("[%d%s]", n, strings.Repeat(" ", rapid.IntRange(0, 9).Draw(t, "space")))
		v, err := Parse([]byte(doc), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range v.Elements() {
			fast, err := e.Int64()
			plain, err2 := e.integer()
			if fast != n || plain != n || err != nil || err2 != nil {
				t.Fatalf("%s: %d and %d (%v, %v)", doc, fast, plain, err, err2)
			}
		}
	})
}

func TestDigits(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			doc := []byte("01234567890123456789")
			doc[at] = byte(c)
			want := at
			for want < len(doc) && doc[want] >= '0' && doc[want] <= '9' {
				want++
			}
			if got := digits(doc, 0); got != want {
				t.Fatalf("%q: %d", doc, got)
			}
		}
	}
}

// TestShortPair compares with the elements of arrays of all kinds, at every distance from
// the end of the document.
func TestShortPair(t *testing.T) {
	texts := rapid.SampledFrom([]string{"5", "0", "12345678", "123456789", "-5", "5.0", "5e1", `"5"`, "[5]", "[5, 2]", "null", "{}", "true"})
	rapid.Check(t, func(t *rapid.T) {
		blank := rapid.SampledFrom([]string{"", " ", "\n  "}).Draw(t, "blank")
		list := rapid.SliceOfN(texts, 0, 4).Draw(t, "list")
		doc := "[" + blank + strings.Join(list, blank+","+blank) + blank + "]" + strings.Repeat(" ", rapid.IntRange(0, 9).Draw(t, "behind"))
		v, err := Parse([]byte(doc), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		first, second, ok := v.ShortPair()
		var want []int64
		for _, e := range v.Elements() {
			if n, err := e.Int64(); err == nil {
				want = append(want, n)
			}
		}
		if ok && (v.Len() != 2 || len(want) != 2 || want[0] != first || want[1] != second) {
			t.Fatalf("%s is the pair %d and %d", doc, first, second)
		}
	})
	if a, b, ok := mustParse(t, "[ 10 , 2000000 ]        ").ShortPair(); !ok || a != 10 || b != 2000000 {
		t.Error(a, b, ok)
	}
}

func TestInt64Spellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := rapid.StringMatching(`-?(0|[1-9][0-9]{0,21})(\.[0-9]{1,21})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		v, err := Parse([]byte(doc), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		checkInteger(t, v)
	})
}

type fataler interface{ Fatalf(string, ...any) }

// checkInteger compares Int64 with exact arithmetic.
func checkInteger(t fataler, v Value) {
	doc := string(v.Raw())
	if i := strings.IndexAny(doc, "eE"); i >= 0 && len(doc)-i > 5 {
		return // too large for exact arithmetic
	}
	want, ok := new(big.Rat).SetString(doc)
	if !ok {
		t.Fatalf("%s is no number", doc)
	}
	got, err := v.Int64()
	switch {
	case err == nil && (!want.IsInt() || !want.Num().IsInt64() || want.Num().Int64() != got):
		t.Fatalf("%s is read as %d", doc, got)
	case errors.Is(err, ErrFraction) && want.IsInt(), errors.Is(err, ErrOverflow) && want.Num().IsInt64() && want.IsInt():
		t.Fatalf("%s: %v", doc, err)
	}
}

func TestFloat64(t *testing.T) {
	for doc, want := range map[string]float64{"0": 0, "1.5": 1.5, "1e-999": 0, "-2E2": -200} {
		if got, err := mustParse(t, doc).Float64(); got != want || err != nil {
			t.Errorf("%s: %v, %v", doc, got, err)
		}
	}
	for doc, want := range map[string]error{"1e999": ErrOverflow, `"1"`: ErrKind} {
		if _, err := mustParse(t, doc).Float64(); !errors.Is(err, want) {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

func TestAccess(t *testing.T) {
	v := mustParse(t, `{"a" : [1 , "x\u0041\ud834\udd1e", [] ] ,"b":true , "\u0063":null}`)
	var names []string
	for name, m := range v.Members() {
		names = append(names, fmt.Sprint(name, " ", m.Kind(), " ", m.Len()))
	}
	if got := strings.Join(names, "; "); got != "a an array 3; b a boolean 0; c null 0" || v.Len() != 3 {
		t.Error(got)
	}
	a, ok := v.Member("a")
	if !ok || a.Pointer() != "/a" || a.Offset() != 7 {
		t.Error(a.Pointer(), a.Offset(), ok)
	}
	for i, e := range a.Elements() {
		if s, err := e.Str(); i == 1 && (s != "xA𝄞" || err != nil) || i != 1 && !errors.Is(err, ErrKind) {
			t.Error(i, s, err)
		}
	}
	for range a.Elements() {
		break
	}
	if _, ok := v.Member("d"); ok {
		t.Error("a member out of nothing")
	}
	if _, err := a.Bool(); !errors.Is(err, ErrKind) || err.Error() != "/a: must be a boolean, got an array" {
		t.Error(err)
	}
}

func TestZeroValue(t *testing.T) {
	var v Value
	if !v.IsZero() || v.Kind() != Null || v.Raw() != nil || v.Len() != 0 || v.Offset() != 0 || v.Pointer() != "" {
		t.Error("the zero Value is something")
	}
	for range v.Elements() {
		t.Error("an element")
	}
	_, err := v.Int64()
	_, err2 := v.Str()
	_, err3 := v.Bool()
	_, err4 := v.Float64()
	for _, err := range []error{err, err2, err3, err4} {
		if !errors.Is(err, ErrKind) {
			t.Error(err)
		}
	}
}

func TestElementsAllocate(t *testing.T) {
	v := mustParse(t, string(edges(1000)))
	n := testing.AllocsPerRun(10, func() {
		if _, err := sum(v); err != nil {
			t.Error(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestErrorf(t *testing.T) {
	v := mustParse(t, `{"chunk_shapes": [[1, 2], [3, {"a/b": 0}]]}`)
	cause := errors.New("cause")
	shapes, _ := v.Member("chunk_shapes")
	var last Value
	for _, last = range shapes.Elements() {
	}
	for _, last = range last.Elements() {
	}
	last, _ = last.Member("a/b")
	err := last.Errorf("edge must be at least 1, got %d: %w", 0, cause)
	if err.Error() != "/chunk_shapes/1/1/a~1b: edge must be at least 1, got 0: cause" || !errors.Is(err, cause) {
		t.Error(err)
	}
	moved := Prefix(err, "/chunk_grid/configuration")
	if e, ok := moved.(*Error); !ok || e.Pointer != "/chunk_grid/configuration/chunk_shapes/1/1/a~1b" || e.Offset != 38 || !errors.Is(moved, cause) {
		t.Errorf("%#v", moved)
	}
	wrapped := Prefix(fmt.Errorf("grid: %w", err), "/x")
	if e, ok := wrapped.(*Error); !ok || e.Pointer != "/x/chunk_shapes/1/1/a~1b" || !errors.Is(wrapped, cause) {
		t.Errorf("%#v", wrapped)
	}
	if e, ok := Prefix(cause, "/x").(*Error); !ok || e.Error() != "/x: cause" || e.Offset != -1 {
		t.Errorf("%#v", e)
	}
	if Prefix(nil, "/x") != nil {
		t.Error("an error out of nothing")
	}
}

func TestAbbreviate(t *testing.T) {
	if got := Abbreviate(strings.Repeat("é", 1000)); len(got) > 300 || strings.ContainsRune(got, '\ufffd') {
		t.Error(got)
	}
	if got := Abbreviate("a\x00\n\"b"); got != `a\x00\n\"b` {
		t.Error(got)
	}
}
