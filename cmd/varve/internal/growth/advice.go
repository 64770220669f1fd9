// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"fmt"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/rewrite"
)

// follows reports whether a policy is what a regular axis does anyway: its chunks follow
// the extent.
func (p Policy) follows() bool {
	return p.Unit == 0 && p.Growth.KeepsRegular()
}

// text returns the policy as --grow takes it.
func (p Policy) text() string {
	if p.Unit != 0 {
		return "calendar:" + p.Unit.String()
	}
	return p.Growth.String()
}

// Listed refuses a policy for an axis that has no list of chunks to lengthen, and says
// which commands make one.
func (p Policy) Listed(a *zarr.Array, axis int, location string) error {
	if axis < 0 || axis >= a.Rank() || !a.Grid().Axis(axis).IsRegular() || p.follows() {
		return nil
	}
	unlock := fmt.Sprintf("varve unlock %s --axis %d", phrase.Word(location), axis)
	text := fmt.Sprintf("--grow %.80s: its chunks of %d follow the extent: list them first (%s)", p.text(), a.Grid().Axis(axis).Step(), unlock)
	if a.Format() == 2 {
		text = fmt.Sprintf("--grow %.80s: its chunks of %d follow the extent, and format 2 has no others: convert it (varve convert %s --to 3) and list them (%s)",
			p.text(), a.Grid().Axis(axis).Step(), phrase.Word(node.RootOf(location, a)), unlock)
	}
	if p.Stored {
		text = strings.Replace(text, "--grow", "attribute "+rewrite.GrowthAttribute, 1) +
			fmt.Sprintf(", or remove the attribute (varve attrs %s unset %s)", phrase.Word(location), rewrite.GrowthAttribute)
	}
	return failure.OnAxis(axis, "%s", text)
}

// Placeless returns an axis to which a policy is of no use when an array changes its
// shape, -1 for none. A policy that is for one axis has to go with that; others are for
// every axis that grows, and regular ones are passed by where there is a list.
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

// aligned refuses to cut by a calendar behind chunks that end within a month, at an
// element, and says what ends the month.
func (p Policy) aligned(b calendar.Buckets, at, extent int64, unaligned error) error {
	text := fmt.Sprintf("the chunks that are there end at element %d: %v", at, unaligned)
	next, err := b.Next(at)
	if err != nil {
		return failure.BadArgument("%s; --grow append-one appends without the calendar", text)
	}
	instead := ""
	if p.Stored {
		instead = ", in place of the attribute " + rewrite.GrowthAttribute
	}
	return failure.BadArgument("%s; grow by at most %s with --grow fixed:%d%s, which ends the %v, and by the calendar from there on",
		text, phrase.Plural(next-extent, "element"), next-at, instead, p.Unit)
}

// longer says which command makes a coordinate longer that ends too early.
func (c *coordinate) longer() string {
	return fmt.Sprintf("append the times that are missing first (varve append %s FILE --alone)", phrase.Word(c.name))
}

// stepped says which flags stand in place of a coordinate that has a single time.
func (c *coordinate) stepped(unit calendar.Unit) string {
	flags := fmt.Sprintf("--grow calendar:%v --start %s --step 1d", unit, c.at(0))
	if cal := c.units.Calendar(); cal != calendar.Standard {
		flags += fmt.Sprintf(" --calendar %v", cal)
	}
	return flags
}
