// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"strconv"
	"strings"
)

// shownRuns bounds the text of an axis.
const shownRuns = 6

// String returns the grid in one short line, such as "(365, 721) in chunks of (30, 721)".
// A listed axis shows its edges, with equal neighbours as "31×2" and at most six runs.
func (g *Grid) String() string {
	var b []byte
	b = append(b, '(')
	for i, a := range g.axes {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendInt(b, a.Extent(), 10)
	}
	b = append(b, ") in chunks of ("...)
	for i, a := range g.axes {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, a.String()...)
	}
	return string(append(b, ')'))
}

// String returns the edges of the axis: "30" for a regular axis, "[31 28 31×2 …]" for a
// listed one.
func (a Axis) String() string {
	if a.IsRegular() {
		return strconv.FormatInt(a.Step(), 10)
	}
	var runs []string
	for r := range a.Edges() {
		if len(runs) == shownRuns {
			runs = append(runs, "…")
			break
		}
		text := strconv.FormatInt(r.Length, 10)
		if r.Count > 1 {
			text += "×" + strconv.FormatInt(r.Count, 10)
		}
		runs = append(runs, text)
	}
	return "[" + strings.Join(runs, " ") + "]"
}
