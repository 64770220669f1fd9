// SPDX-License-Identifier: Apache-2.0

// Package growth implements what the commands that grow arrays share: flags, policies,
// times, and new planes.
package growth

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/grid"
)

// policyWords are the beginnings of the growth policies. Those that end in ":" need more
// text.
var policyWords = []string{"append-one", "repeat-last", "fixed:", "pattern:", "calendar:", "preplanned:"}

// Policy is the value of --grow.
type Policy struct {
	Growth grid.Growth
	Unit   calendar.Unit // of a calendar policy, which needs times to become a growth; else 0
	Stored bool          // the policy is stored with the array

	// tell prints that a chunk begins within a month or a year. It may be nil.
	tell func(text string)
}

// astray prints that a chunk begins within a month or a year because times are missing.
func (p Policy) astray(unaligned error) {
	if p.tell != nil {
		p.tell(fmt.Sprintf("%v; a chunk begins there, because the times have gaps", unaligned))
	}
}

// lone prints that the first chunk has the only time that is known. How long its month
// will be follows from the next one.
func (p Policy) lone() {
	if p.tell != nil {
		p.tell(fmt.Sprintf("the first chunk has one element, because one time does not tell how far times are apart; "+
			"the next chunk has the rest of its %v, and varve compact --to %s merges both", p.Unit, p.text()))
	}
}

// ParsePolicy parses a growth policy.
func ParsePolicy(text string) (p Policy, err error) {
	if err := flagtext.Policy(policyWords...)(text); err != nil {
		return p, err
	}
	if p.Growth, err = grid.ParseGrowth(text); errors.Is(err, grid.ErrCalendar) {
		p.Unit, err = parseCalendar(text)
	}
	return p, err
}

// parseCalendar parses calendar:month and calendar:year.
func parseCalendar(text string) (calendar.Unit, error) {
	return calendar.ParseUnit(strings.TrimPrefix(text, "calendar:"))
}

// Change has the flags of all commands that change an extent.
type Change struct {
	grow, Expect string
	RoundUp      bool
	Alone        *bool
	By           string // the coordinate of --by, or ""
	OnDuplicate  string
	Grace        string // of superseded grids, before late planes are inserted
	Unlock       bool   // permits listed chunks where late planes are inserted
	SingleWriter *bool
	times        Times
}

// Flags adds the flags of a change of the shape to a command.
func Flags(c *cobra.Command) *Change {
	f := new(Change)
	flagtext.Var(c.Flags(), &f.grow, "grow", "append-one", "the `POLICY` for new chunks of listed axes", flagtext.Syntax(ParsePolicy))
	f.times.Flags(c)
	flagtext.Var(c.Flags(), &f.Expect, "expect", "", "change the array only if it has this `SHAPE`", flagtext.Syntax(argument.ParseShape))
	c.Flags().BoolVar(&f.RoundUp, "round-up", false, "lengthen the last shard to whole inner chunks")
	f.Alone = AloneFlag(c)
	f.SingleWriter = SingleWriterFlag(c)
	flagtext.Propose(c, "grow", "append-one", "repeat-last", "fixed:", "pattern:", "preplanned:", "calendar:month", "calendar:year")
	return f
}

// SingleWriterFlag adds the flag --single-writer to a command.
func SingleWriterFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("single-writer", false, "promise that no other writer exists: for stores without locks")
}

// Policy returns the value of --grow. Flags that contradict it are wrong usage.
func (c *Change) Policy(cmd *cobra.Command) (Policy, error) {
	p, err := ParsePolicy(c.grow)
	if err != nil {
		return p, failure.BadUsage("--grow %s: %w", c.grow, err)
	}
	return p, c.times.Check(cmd, p.Unit, "--grow")
}

// Options returns the options for the flags.
func (c *Change) Options(cmd *cobra.Command) *zarr.Options {
	o := session.Writing(cmd)
	o.SingleWriter = *c.SingleWriter
	return o
}

// Expected returns the shape of --expect, or nil if it is not given.
func (c *Change) Expected(cmd *cobra.Command) ([]int64, error) {
	if !cmd.Flags().Changed("expect") {
		return nil, nil
	}
	return argument.ParseShape(c.Expect)
}

// Met returns a conflict if an array has another shape than the one expected; nil expects
// nothing. It is called before sources are opened, so that a command that was repeated is
// told from one whose data are wrong.
func Met(a *zarr.Array, expect []int64) error {
	if is := a.Shape(); expect != nil && !slices.Equal(expect, is) {
		return failure.OfKind(zarr.ErrConflict, "%w, or by this very change before: the shape is %v, %v was expected", zarr.ErrConflict, is, expect)
	}
	return nil
}

// Along returns the policy for an axis of the given extent with the times of its
// elements. A calendar policy needs times.
func (p Policy) Along(l Timeline, b calendar.Buckets, extent int64) grid.Growth {
	if p.Unit == 0 {
		return p.Growth
	}
	return grid.ByBoundaries(p.text(), func(at int64) (int64, error) {
		_, gaps := b.Len()
		if gaps && l.coordinate != nil && at >= int64(l.coordinate.len()) {
			// The length of a month is predicted from its first time, so there must be
			// one.
			return 0, failure.BadArgument("%w: it has %s, and a chunk begins at element %d: %s",
				calendar.ErrOutOfRange, phrase.Plural(int64(l.coordinate.len()), "value"), at, l.coordinate.longer())
		}
		err := b.Fits(at)
		if at == 1 && errors.Is(err, calendar.ErrUnaligned) {
			err = nil // the first append had one time, whose chunk is its own
		}
		if gaps && l.coordinate != nil && l.coordinate.len() == 1 {
			p.lone()
		}
		if gaps && errors.Is(err, calendar.ErrUnaligned) {
			// The previous month was predicted to be longer than it was.
			p.astray(err)
			err = nil
		}
		if errors.Is(err, calendar.ErrUnaligned) {
			return 0, p.aligned(b, at, extent, err)
		}
		next := int64(0)
		if err == nil {
			next, err = b.Next(at)
		}
		if errors.Is(err, calendar.ErrOutOfRange) && l.coordinate != nil {
			return 0, failure.BadArgument("%w: %s", err, l.coordinate.longer())
		}
		if err != nil {
			return 0, failure.BadArgument("%w", err)
		}
		return next, nil
	})
}

// AloneFlag adds the flag --alone to a command.
func AloneFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("alone", false, "change the array even if other arrays of its group keep their length along the dimension")
}
