// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestGuard writes cells of any text as CSV: none of them is a formula afterwards, and
// the others stay.
func TestGuard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("=+-@\t\"',\n1ea.")), 0, 5, -1), rapid.SampledFrom([]string{"-1.5", "+2e5", "-inf", "-1+cmd|x", "nan", "a", "-" + strings.Repeat("1", 60)}))
		lines := rapid.SliceOfN(rapid.SliceOfN(cell, 2, 2), 1, 5).Draw(t, "lines")
		var made, plain bytes.Buffer
		g := &guard{to: bufio.NewWriter(&made), begins: true}
		w := csv.NewWriter(&plain)
		if err := w.WriteAll(lines); err != nil {
			t.Fatal(err)
		}
		for piece := range slices.Chunk(plain.Bytes(), rapid.IntRange(1, 7).Draw(t, "piece")) {
			_, _ = g.Write(piece)
		}
		g.settle()
		_ = g.to.Flush()
		got, err := csv.NewReader(&made).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range got {
			for k, text := range line {
				was := lines[i][k]
				_, err := strconv.ParseFloat(was, 64)
				dangerous := was != "" && strings.ContainsAny(was[:1], "=+-@\t\r") && (err != nil || len(was) > longestNumber && strings.ContainsAny(was[:1], "+-"))
				if want := map[bool]string{true: "'" + was, false: was}[dangerous]; text != want {
					t.Fatalf("%q became %q", was, text)
				}
			}
		}
	})
}

// TestSafeName makes names of files.
func TestSafeName(t *testing.T) {
	for name, want := range map[string]string{"t2m": "varve_t2m", "../x": "varve__x", "a\"b\r\nc": "varve_a_b__c", "ü": "varve__", "CON": "varve_CON", "": "varve_"} {
		if got := safeName(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}
