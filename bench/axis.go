// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// unit is the unit of the numbers of an axis. It determines their format and the ticks.
type unit string

const (
	counted unit = "number"
	doubled unit = "number that doubles" // ticks are at powers of two, like those of sized
	sized   unit = "bytes"
	timed   unit = "seconds"
	rated   unit = "GB/s"
)

// axis is one of the two logarithmic axes of a chart.
type axis struct {
	Title string
	Unit  unit
}

// spell formats a number with its unit.
func (u unit) spell(v float64) string {
	switch u {
	case timed:
		return duration(v)
	case sized:
		return bytesOf(int64(v))
	case rated:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return grouped(int64(v))
}

// grouped writes a number with a comma between each three digits.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesOf formats a number of bytes, in whole units if possible.
func bytesOf(n int64) string {
	for i, name := range []string{"GiB", "MiB", "KiB"} {
		if one := int64(1) << (30 - 10*i); n >= one {
			return fmt.Sprintf("%.3g %s", float64(n)/float64(one), name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// mostTicks bounds the ticks at powers of two.
const mostTicks = 8

// scale is an axis between its first and its last tick.
type scale struct {
	low, high float64
	ticks     []float64 // labelled ones
}

// fit returns a scale for values. It returns none if no value is positive.
func (u unit) fit(values []float64) (s scale) {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !(v > 0) || math.IsInf(v, 0) })
	if len(values) == 0 {
		return scale{}
	}
	low, high := slices.Min(values), slices.Max(values)
	if u == sized || u == doubled {
		return twos(low, high)
	}
	return tens(low, high)
}

// twos has its ticks at powers of two.
func twos(low, high float64) (s scale) {
	first, last := int(math.Floor(math.Log2(low))), int(math.Ceil(math.Log2(high)))
	last = max(last, first+1)
	step := (last - first + mostTicks) / mostTicks
	for e := first; e <= last; e += step {
		s.ticks = append(s.ticks, math.Ldexp(1, e))
	}
	s.low, s.high = math.Ldexp(1, first), math.Ldexp(1, last)
	return s
}

// tens begins and ends at 1, 2 or 5 times a power of ten. A short scale has its ticks
// there, a long one at powers of ten only.
func tens(low, high float64) (s scale) {
	var steps []float64
	for e := int(math.Floor(math.Log10(low))); math.Pow10(e) <= 10*high; e++ {
		for _, m := range []float64{1, 2, 5} {
			// Parse numbers from text, so that each is the float64 nearest to
			// its decimal form.
			v, _ := strconv.ParseFloat(fmt.Sprintf("%ge%d", m, e), 64)
			steps = append(steps, v)
		}
	}
	first := 0
	for steps[first+1] <= low {
		first++
	}
	last := first + 1
	for steps[last] < high {
		last++
	}
	s.low, s.high = steps[first], steps[last]
	for _, v := range steps[first : last+1] {
		if s.high < 100*s.low || isPower(v) {
			s.ticks = append(s.ticks, v)
		}
	}
	return s
}

// isPower reports whether a number is a power of ten.
func isPower(v float64) bool {
	l := math.Log10(v)
	return math.Abs(l-math.Round(l)) < 1e-9
}

// at returns the position of a value on the scale, from 0 to 1.
func (s scale) at(v float64) float64 {
	return (math.Log(v) - math.Log(s.low)) / (math.Log(s.high) - math.Log(s.low))
}
