// SPDX-License-Identifier: Apache-2.0

package fits

import (
	"strings"
	"testing"
)

// TestScale says what stored values mean, or why that cannot be said.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		cards []string
		want  string // attributes beyond those of the header, or a part of a reason
		fill  string
	}{
		{[]string{"BITPIX  = 16"}, "{}", ""},
		{[]string{"BITPIX  = 16", "BZERO   = 0", "BSCALE  = 1.0"}, "{}", ""},
		{[]string{"BITPIX  = 16", "BZERO   = 32768"}, `{"scale_factor":1.0,"add_offset":32768.0}`, ""},
		{[]string{"BITPIX  = 8", "BZERO   = -128"}, `{"scale_factor":1.0,"add_offset":-128.0}`, ""},
		{[]string{"BITPIX  = 32", "BZERO   = 2147483648"}, `{"scale_factor":1.0,"add_offset":2.147483648e+09}`, ""},
		{[]string{"BITPIX  = -32", "BSCALE  = 2.D0"}, `{"scale_factor":2.0,"add_offset":0.0}`, ""},
		{[]string{"BITPIX  = 16", "BLANK   = -2"}, `{"_FillValue":-2}`, "-2"},
		{[]string{"BITPIX  = 8", "BLANK   = 255"}, `{"_FillValue":255}`, "255"},
		{[]string{"BITPIX  = 8", "BLANK   = -1"}, "{}", ""},
		{[]string{"BITPIX  = 16", "BLANK   = 40000"}, "{}", ""},
		{[]string{"BITPIX  = -32", "BLANK   = 7"}, "{}", ""},
		{[]string{"BITPIX  = 64", "BLANK   = 7", "BZERO   = 5"}, `{"scale_factor":1.0,"add_offset":5.0,"_FillValue":7}`, "7"},
		{[]string{"BITPIX  = 64", "BZERO   = 9223372036854775808"}, "no codec does that exactly", ""},
		{[]string{"BITPIX  = 64", "BZERO   = 9223372036854775808", "BSCALE  = 0.5"}, `{"scale_factor":0.5,"add_offset":9.223372036854776e+18}`, ""},
		{[]string{"BITPIX  = 16", "BSCALE  = 'two'"}, "BSCALE is two", ""},
	} {
		d, err := scanUnits(t, unitOf(16, append([]string{"SIMPLE  = T", "NAXIS   = 1", "NAXIS1  = 2"}, c.cards...)...))
		if err != nil {
			t.Errorf("%q: %v", c.cards, err)
			continue
		}
		a := d.Arrays[0]
		got, fill := "", ""
		if a.Refused != nil {
			got = a.Refused.Error()
		} else {
			own := a.Attributes[:0:0]
			for _, x := range a.Attributes {
				if strings.ToUpper(x.Name) != x.Name {
					own = append(own, x)
				}
			}
			text, _ := own.JSON()
			got = string(text)
		}
		if a.Fill != nil {
			fill = string(a.Type.AppendText(nil, a.Fill))
		}
		if !strings.Contains(got, c.want) || fill != c.fill {
			t.Errorf("%q: %s and the fill value %q, want %s and %q", c.cards, got, fill, c.want, c.fill)
		}
	}
}

// TestRest names what follows the last extension, unless it is padding.
func TestRest(t *testing.T) {
	for rest, want := range map[string]int{"": 0, strings.Repeat("\x00", 9000): 0, strings.Repeat(" ", 80): 0, "rest of a tape": 1} {
		if d, err := scanUnits(t, primary(), image(), []byte(rest)); err != nil || len(d.Omitted) != want {
			t.Errorf("%.20q: omitted %v, want %d: %v", rest, d.Omitted, want, err)
		}
	}
}
