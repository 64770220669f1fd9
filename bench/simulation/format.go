// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// table is a table of Markdown.
type table struct {
	strings.Builder
	columns int
}

// newTable returns a table whose first columns have text. The others have numbers.
func newTable(text int, heads ...string) *table {
	t := &table{columns: len(heads)}
	t.row(heads...)
	t.WriteString("|" + strings.Repeat("---|", text) + strings.Repeat("--:|", len(heads)-text) + "\n")
	return t
}

func (t *table) row(cells ...string) {
	for len(cells) < t.columns {
		cells = append(cells, "–")
	}
	t.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// duration formats seconds with two or three digits.
func duration(s float64) string {
	switch {
	case s < 100:
		return fmt.Sprintf("%.0f s", s)
	case s < 100*60:
		return fmt.Sprintf("%.0f min", s/60)
	case s < 100*3600:
		return fmt.Sprintf("%.1f h", s/3600)
	}
	return fmt.Sprintf("%.1f d", s/86400)
}

// amount formats a number with three digits.
func amount(n float64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%.0f", n)
	case n < 1e6:
		return fmt.Sprintf("%.0f k", n/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f M", n/1e6)
	}
	return fmt.Sprintf("%.2f G", n/1e9)
}

// percent formats a fraction.
func percent(f float64) string { return fmt.Sprintf("%.0f %%", 100*f) }

// value formats an input with its unit.
func (c *cost) value() string {
	v := fmt.Sprintf("%g", c.Value)
	switch {
	case c.Unit == "s" && c.Value > 0 && c.Value < 1e-3:
		return fmt.Sprintf("%.3g µs", c.Value*1e6)
	case c.Unit == "s" && c.Value > 0 && c.Value < 0.1:
		return fmt.Sprintf("%.3g ms", c.Value*1e3)
	case c.Unit == "bytes/s":
		return fmt.Sprintf("%g MB/s", c.Value/1e6)
	case c.Unit == "bytes":
		return fmt.Sprintf("%g MiB", c.Value/(1<<20))
	case c.Unit == "workers":
		return percent(c.Value) + " of workers"
	case c.Unit == "sigma":
		return "σ " + v
	case c.Unit == "USD" && c.Value < 0.1:
		return fmt.Sprintf("%.3g USD per 1,000", c.Value*1000)
	}
	return v + " " + c.Unit
}
