// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"fmt"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/rewrite"
)

// follows reports whether a policy describes a regular axis, whose chunks follow the
// extent.
func (p Policy) follows() bool {
	return p.Unit == 0 && p.Growth.KeepsRegular()
}

// text returns the policy in the form of --grow.
func (p Policy) text() string {
	if p.Unit != 0 {
		return "calendar:" + p.Unit.String()
	}
	return p.Growth.String()
}

// Listed returns an error if an axis has no list of chunks to lengthen. The error names
// the commands that make one.
func (p Policy) Listed(a *zarr.Array, axis int, location string) error {
	if axis < 0 || axis >= a.Rank() || !a.Grid().Axis(axis).IsRegular() || p.follows() {
		return nil
	}
	unlock := fmt.Sprintf("varve unlock %s --axis %d", phrase.Word(location), axis)
	text := fmt.Sprintf("--grow %.80s: its chunks of %d follow the extent: list them first (%s)", p.text(), a.Grid().Axis(axis).Step(), unlock)
	if a.Format() == 2 {
		text = fmt.Sprintf("--grow %.80s: its chunks of %d follow the extent, as all chunks of format 2 do: convert it (varve convert %s --to 3) and list them (%s)",
			p.text(), a.Grid().Axis(axis).Step(), phrase.Word(node.RootOf(location, a)), unlock)
	}
	if p.Stored {
		text = strings.Replace(text, "--grow", "attribute "+rewrite.GrowthAttribute, 1) +
			fmt.Sprintf(", or remove the attribute (varve attrs %s unset %s)", phrase.Word(location), rewrite.GrowthAttribute)
	}
	return failure.OnAxis(axis, "%s", text)
}

// Placeless returns an axis that grows although the policy has no effect on it, or -1. A
// calendar or stored policy counts only for its own axis. Any other policy counts for
// every axis that grows, and one axis with a list is enough.
func (p Policy) Placeless(a *zarr.Array, axis int, to []int64) int {
	first := -1
	if len(to) != a.Rank() {
		return first // the library refuses the shape
	}
	for i, n := range a.Shape() {
		if to[i] <= n || i != axis && (p.Unit != 0 || p.Stored) {
			continue
		}
		if !a.Grid().Axis(i).IsRegular() {
			return -1
		}
		if first < 0 && !p.follows() {
			first = i
		}
	}
	return first
}

// aligned returns the error for a calendar policy after chunks that end within a month,
// at an element. The error says how to complete the month.
func (p Policy) aligned(b calendar.Buckets, at, extent int64, unaligned error) error {
	text := fmt.Sprintf("the present chunks end at element %d: %v", at, unaligned)
	next, err := b.Next(at)
	if err != nil {
		return failure.BadArgument("%s; --grow append-one appends without the calendar", text)
	}
	instead := ""
	if p.Stored {
		instead = ", instead of the attribute " + rewrite.GrowthAttribute
	}
	return failure.BadArgument("%s; grow by at most %s with --grow fixed:%d%s, which completes the %v, and use the calendar from there on",
		text, phrase.Plural(next-extent, "element"), next-at, instead, p.Unit)
}

// longer returns the command that lengthens a coordinate that ends too early.
func (c *coordinate) longer() string {
	return fmt.Sprintf("append the missing times first (varve append %s FILE --alone)", phrase.Word(c.name))
}

// stepped returns the flags that replace a coordinate with a single time.
func (c *coordinate) stepped(unit calendar.Unit) string {
	flags := fmt.Sprintf("--grow calendar:%v --start %s --step 1d", unit, c.at(0))
	if cal := c.units.Calendar(); cal != calendar.Standard {
		flags += fmt.Sprintf(" --calendar %v", cal)
	}
	return flags
}
