// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"math"
	"slices"
)

// A list whose lengths repeat, such as months over many years or the sizes of similar
// files, is cut into sections. The entries to compare are cells if few neighbours are
// equal, otherwise runs. A run of 10^18 cells is then one entry.

const (
	// leastSaved is the number of entries that a repetition must save to become a
	// stretch.
	leastSaved = 32
	// leastShare is the share of the list that it must save, as a divisor: an eighth.
	leastShare = 8
	// mostCuts is how often the remaining entries are searched again. It keeps the whole
	// search linear in time.
	mostCuts = 3
)

// section is a stretch of a list in which the first period entries occur repeats times.
type section struct{ from, period, repeats int }

func (s section) to() int    { return s.from + s.period*s.repeats }
func (s section) saved() int { return s.period * max(0, s.repeats-1) }

// periods cuts a list into consecutive sections. It returns nil if no repetition saves
// enough. It takes linear time, and reverses parts of the list while it runs.
func periods[S comparable](list []S) []section {
	if len(list) <= leastSaved || len(list) > math.MaxInt32 {
		return nil
	}
	cut := appendSections(nil, list, 0, make([]int32, len(list)), mostCuts)
	if len(cut) == 1 && cut[0].repeats == 1 {
		return nil
	}
	return cut
}

// appendSections appends the section that saves most, and the sections of the entries on
// either side of it. at is the position of list within the whole list. border is scratch
// space.
func appendSections[S comparable](dst []section, list []S, at int, border []int32, cuts int) []section {
	if len(list) == 0 {
		return dst
	}
	var s section
	if cuts > 0 && len(list) > leastSaved {
		s = bestSection(list, border)
	}
	// The repetition is not worth a stretch.
	if s.saved() < max(leastSaved, len(list)/leastShare) {
		return append(dst, section{at, len(list), 1})
	}
	dst = appendSections(dst, list[:s.from], at, border, cuts-1)
	dst = append(dst, section{at + s.from, s.period, s.repeats})
	return appendSections(dst, list[s.to():], at+s.to(), border, cuts-1)
}

// bestSection searches for a period at the start, at the end and in the middle of a list.
// It returns the section that saves most. border is scratch space with one number per
// entry.
func bestSection[S comparable](list []S, border []int32) section {
	n := len(list)
	// Try the start first: most lists repeat from there on.
	best := grow(list, 0, prefixPeriod(list, border))
	// No other period can save much more.
	if best.saved() >= n/2 {
		return best
	}
	// A period at the end of the list is one at the start of the reversed list.
	slices.Reverse(list)
	period := prefixPeriod(list, border)
	slices.Reverse(list)
	// A repetition of more than half of the list covers its middle.
	middle := prefixPeriod(list[n/2:], border)
	for _, s := range []section{grow(list, n-period, period), grow(list, n/2, middle)} {
		if s.saved() > best.saved() {
			best = s
		}
	}
	return best
}

// prefixPeriod returns the period of the prefix that saves most entries if its period is
// stored once. It returns 0 if no prefix holds two periods. The period of a prefix is its
// length less that of its longest border, which the failure function of Knuth, Morris and
// Pratt gives.
func prefixPeriod[S comparable](list []S, border []int32) int {
	border[0] = 0
	period, most := 0, 0
	matched := 0 // length of the longest border of list[:i]
	for i := 1; i < len(list); i++ {
		// Fall back to shorter borders until one can be extended.
		for matched > 0 && list[matched] != list[i] {
			matched = int(border[matched-1])
		}
		if list[matched] == list[i] {
			matched++
		}
		border[i] = int32(matched)
		length := i + 1
		p := length - matched // never decreases
		// No longer prefix holds two periods.
		if 2*p > len(list) {
			break
		}
		// The period saves at most the border, so only a longer border can save more.
		if matched > most && length >= 2*p {
			if saved := (length/p - 1) * p; saved > most {
				period, most = p, saved
			}
		}
	}
	return period
}

// grow returns the longest section around the period entries from from on, in whole
// repetitions. If it reaches the end of the list but not its start, the incomplete
// repetition is left out at its start.
func grow[S comparable](list []S, from, period int) section {
	if period == 0 {
		return section{}
	}
	to := from + period
	for to < len(list) && list[to] == list[to-period] {
		to++
	}
	for from > 0 && list[from-1] == list[from-1+period] {
		from--
	}
	repeats := (to - from) / period
	// The entries before from are the end of an incomplete repetition.
	if from > 0 && to == len(list) {
		from = to - repeats*period
	}
	return section{from, period, repeats}
}
