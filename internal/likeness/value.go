// SPDX-License-Identifier: Apache-2.0

package likeness

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// Same reports whether two JSON texts have the same value: white space, the order of
// members and the spelling of texts and numbers do not count. Numbers are compared
// exactly, and -0 is not 0. Text that is not JSON equals itself only. Nil is no value.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return (a == nil) == (b == nil)
	}
	x, isJSON := valueOf(a)
	y, also := valueOf(b)
	return isJSON && also && reflect.DeepEqual(x, y)
}

// Plain returns a JSON text in the one spelling that its value has here, and any other
// text as it is.
func Plain(text []byte) []byte {
	if v, ok := valueOf(text); ok {
		text, _ = json.Marshal(v) // it was JSON
	}
	return text
}

// valueOf returns the value of a JSON text, in which every number has one spelling.
func valueOf(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // float64 does not hold every number
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	return plain(v), true
}

func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name, m := range v {
			v[name] = plain(m)
		}
	case json.Number:
		return number(string(v))
	}
	return v
}

// number returns the one spelling of a number: its digits without zeros at either end, as
// a whole number, and its exponent. An exponent that is no int64 keeps its text.
func number(text string) json.Number {
	rest, negative := strings.CutPrefix(text, "-")
	digits, power, _ := strings.Cut(strings.ToLower(rest), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	sign := ""
	if negative {
		sign = "-"
	}
	if digits == "" {
		return json.Number(sign + "0")
	}
	exponent := int64(0)
	if power != "" {
		n, err := strconv.ParseInt(power, 10, 64)
		if err != nil {
			return json.Number(text)
		}
		exponent = n
	}
	exponent -= int64(len(fraction))
	short := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(short))
	return json.Number(sign + short + "e" + strconv.FormatInt(exponent, 10))
}
