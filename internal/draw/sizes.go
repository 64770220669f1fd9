// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"strconv"
	"strings"

	"varve.dev/zarr/grid"
)

// longSizes is the largest number of runs that [Sizes] writes out.
const longSizes = 8

// Sizes returns the chunk lengths of an axis in one line, in elements and clipped at the
// extent: "365×4, 366, 1×10". If there are more than eight runs, it only gives the first
// and last ones with the number of chunks between them: "31, 28, 31, 30, … 111 more …,
// 30, 31". The one chunk of a regular axis that is longer than the extent is stored with
// padding: "366 of 8760". For an axis without chunks Sizes returns "none".
func Sizes(a grid.Axis) string { return unicodeText.sizes(a) }

func (t *text) sizes(a grid.Axis) string {
	if a.Chunks() == 0 {
		return "none"
	}
	if a.Step() > a.Extent() {
		return number(a.Extent()) + " of " + number(a.Step())
	}
	var parts []string
	list := merged(spans(a, a.Chunks(), longSizes))
	for _, s := range list {
		parts = append(parts, t.size(s))
	}
	return strings.Join(parts, ", ")
}

// merged joins a last chunk that the extent cuts with the chunks before it if they have
// the same length.
func merged(list []span) []span {
	n := len(list)
	// The chunk that the extent cuts may now be as long as those before it.
	if n > 1 && !list[n-1].leftOut() && list[n-2].inside == list[n-1].inside && list[n-2].edge == list[n-2].inside {
		list[n-2].cells.Stop = list[n-1].cells.Stop
		list = list[:n-1]
	}
	return list
}

func (t *text) size(s span) string {
	switch n := s.cells.Len(); {
	case s.leftOut():
		return t.more + " " + number(n) + " more " + t.more
	case n == 1:
		return number(s.inside)
	default:
		return number(s.inside) + t.times + number(n)
	}
}

// number formats n exactly, and large powers of ten as 10^18.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n >= 1e6 && strings.Trim(s[1:], "0") == "" && s[0] == '1' {
		return "10^" + strconv.Itoa(len(s)-1)
	}
	return s
}
