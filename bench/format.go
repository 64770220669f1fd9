// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// duration formats seconds with three digits.
func duration(s float64) string {
	switch {
	case s <= 0:
		return "0"
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s < 100:
		return fmt.Sprintf("%.3g s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

// memory formats bytes.
func memory(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// rate formats the throughput of elements, in 10^9 bytes per second.
func rate(f figures) string {
	if f.Bytes == 0 || f.Median == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g", float64(f.Bytes)/f.Median/1e9)
}

// each formats a time divided by a number of things, of which there may be none.
func each(seconds, n float64) string {
	if n == 0 {
		return "–"
	}
	return duration(seconds / n)
}

// times formats a ratio.
func times(a, b float64) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", a/b)
}
