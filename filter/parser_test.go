// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
)

// words writes a condition with all parentheses.
func words(c condition) string {
	joined := func(list []condition, by string) string {
		var parts []string
		for _, c := range list {
			parts = append(parts, words(c))
		}
		return "(" + strings.Join(parts, by) + ")"
	}
	switch c := c.(type) {
	case all:
		return joined(c, " and ")
	case some:
		return joined(c, " or ")
	case inverse:
		return "not " + words(c.of)
	case *absence:
		return c.name + " absent"
	case *comparison:
		var values []string
		for _, v := range c.values {
			values = append(values, v.text)
		}
		how := ""
		for i, word := range []string{"below ", "within ", "above "} {
			if c.places[i] {
				how += word
			}
		}
		if c.every {
			how += "each of "
		}
		return fmt.Sprintf("%s %s%s", c.name, how, strings.Join(values, "|"))
	}
	return "?"
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`time >= 2020-01-01 and station == "K12"`: `(time within above 2020-01-01 and station within K12)`,
		`a<1 or b>2 and not c!=3`:                 `(a below 1 or (b above 2 and not c below above 3))`,
		`(a<1 or b>2) AND NOT (c<=3)`:             `((a below 1 or b above 2) and not c below within 3)`,
		`5 < x`:                                   `x above 5`,
		`2020-01 >= time`:                         `time below within 2020-01`,
		`x in (1, -2.5e3, +.5)`:                   `x within 1|-2.5e3|+.5`,
		`x not in ('a''b', "c\d")`:                `x below above each of a'b|c\d`,
		`x is missing or y is not missing`:        `(x absent or not y absent)`,
		`good and not bad`:                        `(good within true and not bad within true)`,
		"`my var` == true":                        `my var within true`,
		"`and` == 'é'":                            `and within é`,
		`t <= 2020-01-01T12:30:00+01:00`:          `t below within 2020-01-01T12:30:00+01:00`,
		`lead < 1d12h`:                            `lead below 1d12h`,
		`x > -inf`:                                `x above -inf`,
		`größe.2 == 1`:                            `größe.2 within 1`,
		`not not a`:                               `not not a within true`,
	} {
		e, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := words(e.root); got != want || e.String() != text {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	e, err := Parse(`b == 1 and (a < 2 or b > 3)`)
	if err != nil || !slices.Equal(e.names, []string{"b", "a"}) {
		t.Errorf("%v, %v", e.names, err)
	}
}

// TestParseHostile checks that every malformed condition is refused, and where.
func TestParseHostile(t *testing.T) {
	for text, want := range map[string]string{
		``:    "at character 1: the name of an array is missing here, before the end",
		`   `: "at character 4: the name of an array is missing",
		`x` + strings.Repeat(" ", 10) + `=` + ` 1`: "at character 12: write == in place of =",
		`x <> 1`:                              "at character 3: write != in place of <>",
		`x == 1 && y == 2`:                    "at character 8: write and in place of &&",
		`x == 1 | y == 2`:                     "at character 8: write or in place of |",
		`!x`:                                  "at character 1: write not in place of !",
		`x!`:                                  "at character 2: write not in place of !",
		`x ≤ 1`:                               "at character 3: write <= in place of ≤",
		`é == 1 and ?`:                        "at character 12: the character '?' has no meaning here",
		`x ==`:                                "at character 5: a value is missing here, before the end",
		`x == y`:                              "at character 6: y is no value: write text in quotes",
		`x == NaN`:                            "at character 6: nothing equals NaN; write: is missing",
		`0 < x < 5`:                           "at character 7: a comparison has two sides",
		`x < y < 5`:                           "at character 5: y is no value",
		`x == 1 < 2`:                          "at character 8: a comparison has two sides",
		`1 == 2`:                              "at character 6: one side of a comparison must be the name of an array",
		`1`:                                   "at character 2: a comparison such as == is missing here, before the end",
		`(x == 1`:                             "at character 8: ) is missing here, before the end",
		`x == 1)`:                             "at character 7: and, or, or the end is missing here, before \")\"",
		`x == 1 y == 2`:                       "at character 8: and, or, or the end is missing here",
		`x == "abc`:                           "at character 6: the quote \" is not closed",
		"`x":                                  "at character 1: the quote ` is not closed",
		`x in 1`:                              "at character 6: ( is missing here, before \"1\"",
		`x in ()`:                             "at character 7: a value is missing here",
		`x in (1,)`:                           "at character 9: a value is missing here",
		`x in (1 2)`:                          "at character 9: ) is missing here, before \"2\"",
		`x not 1`:                             "at character 7: in is missing here",
		`x is 1`:                              "at character 6: missing is missing here",
		`and`:                                 "at character 1: the name of an array is missing here, before \"and\"",
		`x and`:                               "at character 6: the name of an array is missing here, before the end",
		"x\x00":                               "at character 2: the character '\\x00' has no meaning",
		"x == \xff":                           "the condition is not UTF-8",
		`a + b`:                               "at character 3: the character '+' has no meaning",
		strings.Repeat("(", 1000) + "x":       "at character 101: more than 100 conditions within each other",
		strings.Repeat("not ", 1000) + "x":    "at character 401: more than 100 conditions within each other",
		"x == '" + strings.Repeat("a", 1<<17): "at most 65536 are read",
		strings.Repeat("x<1 and ", 8000) + "x==y": "at character 64004: y is no value",
	} {
		_, err := Parse(text)
		var syntax *syntaxError
		if !errors.As(err, &syntax) || !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v\nwant %s", text, err, want)
		}
	}
}

// FuzzParse checks that no text makes the parser panic, that places lie within the text,
// and that what is read can be evaluated.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`time >= 2020-01-01 and station == "K12"`, "not (`a b` in (1, 'x''y') or 5 <= é)", `x is not missing`, `((`, `"`, "x == \xf0", `x ≥ -inf`, `a not in (1`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			var syntax *syntaxError
			if !errors.As(err, &syntax) || syntax.at < 1 || syntax.at > len(text)+1 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if words(e.root) == "?" || len(e.names) == 0 || slices.Contains(e.names, "") && !strings.Contains(text, "``") {
			t.Fatalf("%q: %s, %q", text, words(e.root), e.names)
		}
	})
}
