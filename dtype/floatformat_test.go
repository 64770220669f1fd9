// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseDecimal(t *testing.T) {
	tests := []struct {
		text string
		want decimal
	}{
		{"0", decimal{false, "", 0}},
		{"-0", decimal{true, "", 0}},
		{"-0.000e99", decimal{true, "", 0}},
		{"1", decimal{false, "1", 1}},
		{"-120", decimal{true, "12", 3}},
		{"0.00120", decimal{false, "12", -2}},
		{"10.01", decimal{false, "1001", 2}},
		{"1E+2", decimal{false, "1", 3}},
		{"1e-2", decimal{false, "1", -1}},
		{"1e99999999999999999999", decimal{false, "1", maxExponent + 1}},
		{"1e-99999999999999999999", decimal{false, "1", 1 - maxExponent}},
	}
	for _, tt := range tests {
		if got, ok := parseDecimal(tt.text); !ok || got != tt.want {
			t.Errorf("parseDecimal(%s) = %v, %v; want %v", tt.text, got, ok, tt.want)
		}
	}
}

// TestDecimalGrammar compares the grammar with that of encoding/json.
func TestDecimalGrammar(t *testing.T) {
	for _, text := range []string{"", "-", "+1", ".5", "5.", "01", "-01", "1e", "1e+", "1ee1", "1_0", "0x1", "1e-+1", "--1", "1 2", "Inf", "١"} {
		if d, ok := parseDecimal(text); ok {
			t.Errorf("parseDecimal(%q) = %v", text, d)
		}
	}
	text := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789.eE+-")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		if _, ok := parseDecimal(s); ok != json.Valid([]byte(s)) {
			t.Fatalf("parseDecimal(%q): %v", s, ok)
		}
	})
}

// number draws a number of the JSON grammar with a small exponent.
var number = rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?(e[+-]?[0-4]?[0-9])?`)

func TestDecimalInteger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := number.Draw(t, "number")
		r, _ := new(big.Rat).SetString(s)
		d, _ := parseDecimal(s)
		got, ok := d.integer()
		want := new(big.Int).Abs(r.Num())
		if ok != (r.IsInt() && want.IsUint64()) || ok && got != want.Uint64() {
			t.Fatalf("%s: %d, %v", s, got, ok)
		}
	})
}

func TestDecimalCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, r := number.Draw(t, "a"), number.Draw(t, "b")
		if rapid.Bool().Draw(t, "same") {
			r = s + "e0"
			if strings.Contains(s, "e") {
				r = s
			}
		}
		x, _ := new(big.Rat).SetString(s)
		y, _ := new(big.Rat).SetString(r)
		a, _ := parseDecimal(s)
		b, _ := parseDecimal(r)
		if got, want := a.compare(b), x.Abs(x).Cmp(y.Abs(y)); got != want {
			t.Fatalf("compare(%s, %s) = %d, want %d", s, r, got, want)
		}
	})
}

// TestFloat16Decimal compares decimals, many of them near the middle of two neighbours,
// with exact arithmetic.
func TestFloat16Decimal(t *testing.T) {
	tail := rapid.StringMatching(`0{0,60}[0-9]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Uint16Range(0, half16Inf-2).Draw(t, "f")
		low, high := slowValue(Float16(f)), slowValue(Float16(f+1))
		text := big.NewFloat((low+high)/2).Text('f', 40)
		if rapid.Bool().Draw(t, "below") {
			text = big.NewFloat(math.Nextafter((low+high)/2, 0)).Text('f', 40)
		}
		text += tail.Draw(t, "tail")
		x, _ := new(big.Rat).SetString(text)
		middle := new(big.Rat).SetFloat64((low + high) / 2)
		want := Float16(f)
		if c := x.Cmp(middle); c > 0 || c == 0 && f%2 == 1 {
			want++
		}
		d, _ := parseDecimal(text)
		if got, _ := float16Format.round(d); Float16(got) != want {
			t.Fatalf("%s: %#04x, want %#04x", text, got, uint16(want))
		}
	})
}

// TestRoundFarExponent has numbers whose zeros and exponent cancel out. A reader that
// limits exponents gets them wrong.
func TestRoundFarExponent(t *testing.T) {
	zeros := strings.Repeat("0", 200_000)
	for _, text := range []string{"0." + zeros + "15e200001", "15" + zeros + "e-200001"} {
		for _, typ := range []Type{Of[Float16](), Of[float32](), Of[float64]()} {
			got, err := typ.ParseFill([]byte(text))
			if err != nil || string(typ.AppendText(nil, got)) != "1.5" {
				t.Errorf("%s: %.12s… = %s, %v", typ, text, typ.AppendText(nil, got), err)
			}
		}
	}
}
