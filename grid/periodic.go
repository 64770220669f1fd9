package grid

import (
	"math"
	"slices"
)

// Lists whose lengths repeat (months over years, sizes of files of one kind) are cut where they do. The entries that are
// compared are cells where lengths hardly repeat, else runs, so a run of 10^18 cells is one entry.

const (
	// leastSaved is how many entries a repetition has to save to be worth a part of its own.
	leastSaved = 32
	// leastShare is the share of the list that it has to save, as a divisor: an eighth.
	leastShare = 8
	// mostCuts is how often what is left is looked at again, so that all of it takes linear time.
	mostCuts = 3
)

// section is a part of a list that holds its first period entries repeats times.
type section struct{ from, period, repeats int }

func (s section) to() int    { return s.from + s.period*s.repeats }
func (s section) saved() int { return s.period * max(0, s.repeats-1) }

// periods cuts a list into sections, in order and without a gap; it returns nil where nothing repeats that is worth it.
// It takes linear time, and changes the list for a while.
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

// appendSections cuts out the section that saves most and goes on with what is left and right of it.
func appendSections[S comparable](dst []section, list []S, at int, border []int32, cuts int) []section {
	if len(list) == 0 {
		return dst
	}
	var s section
	if cuts > 0 && len(list) > leastSaved {
		s = bestSection(list, border)
	}
	if s.saved() < max(leastSaved, len(list)/leastShare) {
		return append(dst, section{at, len(list), 1})
	}
	dst = appendSections(dst, list[:s.from], at, border, cuts-1)
	dst = append(dst, section{at + s.from, s.period, s.repeats})
	return appendSections(dst, list[s.to():], at+s.to(), border, cuts-1)
}

// bestSection looks for a period at the start, at the end and in the middle of a list, and returns the section that
// saves most. border has room for a number an entry.
func bestSection[S comparable](list []S, border []int32) section {
	n := len(list)
	best := grow(list, 0, prefixPeriod(list, border))
	if best.saved() >= n/2 {
		return best
	}
	slices.Reverse(list)
	period := prefixPeriod(list, border)
	slices.Reverse(list)
	middle := prefixPeriod(list[n/2:], border)
	for _, s := range []section{grow(list, n-period, period), grow(list, n/2, middle)} {
		if s.saved() > best.saved() {
			best = s
		}
	}
	return best
}

// prefixPeriod returns the period of the prefix that saves most by being kept once, 0 where no prefix holds two periods.
// The period of a prefix is its length less that of its longest border, which is Knuth, Morris and Pratt's failure function.
func prefixPeriod[S comparable](list []S, border []int32) int {
	border[0] = 0
	period, most := 0, 0
	matched := 0 // entries of the prefix that end here again
	for i := 1; i < len(list); i++ {
		for matched > 0 && list[matched] != list[i] {
			matched = int(border[matched-1])
		}
		if list[matched] == list[i] {
			matched++
		}
		border[i] = int32(matched)
		length := i + 1
		p := length - matched // never less than before
		if 2*p > len(list) {
			break
		}
		if matched > most && length >= 2*p {
			if saved := (length/p - 1) * p; saved > most {
				period, most = p, saved
			}
		}
	}
	return period
}

// grow returns the section with a period that surrounds one of its repetitions, in whole repetitions.
// Where it reaches the end but not the start of the list, what is left over is left at the start.
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
	if from > 0 && to == len(list) {
		from = to - repeats*period
	}
	return section{from, period, repeats}
}
