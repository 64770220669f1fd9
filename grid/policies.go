// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/checked"
)

// ErrCalendar means that a growth policy is a calendar policy. Such a policy needs the
// times of the elements, which this package does not know: make it with [ByBoundaries].
var ErrCalendar = errors.New("a calendar policy needs times")

// ParseGrowth parses a growth policy: append-one, repeat-last, fixed:N, pattern:N,N,… or
// preplanned:[…], a JSON list of edges and runs [length, count]. It returns an error that
// wraps [ErrCalendar] for calendar:…, and otherwise [ErrInvalid] or [ErrOverflow].
func ParseGrowth(text string) (Growth, error) {
	g, err := parseGrowth(text)
	if err == nil {
		_, err = g.check()
	}
	if err != nil {
		return Growth{}, err
	}
	return g, nil
}

func parseGrowth(text string) (Growth, error) {
	word, rest, more := strings.Cut(text, ":")
	switch {
	case !more && word == "append-one":
		return AppendOne(), nil
	case !more && word == "repeat-last":
		return RepeatLast(), nil
	case more && word == "fixed":
		n, err := parseLength(rest)
		return Fixed(n), err
	case more && word == "pattern":
		var lengths []int64
		for item := range strings.SplitSeq(rest, ",") {
			n, err := parseLength(item)
			if err != nil {
				return Growth{}, err
			}
			lengths = append(lengths, n)
		}
		return Pattern(lengths...), nil
	case more && word == "preplanned":
		return parsePlan(rest)
	case more && word == "calendar":
		return Growth{}, fmt.Errorf("%w: %.80q", ErrCalendar, text)
	}
	return Growth{}, invalid("growth policy %.80q: there are append-one, repeat-last, fixed:N, pattern:N,N and preplanned:[…]", text)
}

func parseLength(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, invalid("growth policy: %.80q is no length", text)
	}
	return n, nil
}

// parsePlan parses a plan as the chunks of an array with one axis.
func parsePlan(list string) (Growth, error) {
	cuts, err := ParseCuts([]int64{0}, "["+list+"]")
	if err == nil && len(cuts) != 1 {
		err = invalid("%d lists", len(cuts))
	}
	var plan Axis
	if err == nil {
		plan, err = NewAxis(0, cuts[0])
	}
	if err == nil && plan.IsRegular() {
		err = invalid("not a list of edges")
	}
	if err != nil {
		// The axis is an artefact of the parsing: leave its number out of the message.
		var on *AxisError
		if errors.As(err, &on) {
			err = on.Err
		}
		return Growth{}, fmt.Errorf("growth policy preplanned: %w", err)
	}
	var runs []Run
	for r := range plan.Edges() {
		runs = append(runs, r)
	}
	return Preplanned(runs...), nil
}

// Growth is a policy for cutting the region that an axis gains. It applies to the new
// region only: an edge that reaches beyond the old extent is filled first. The zero
// Growth is [AppendOne]. Invalid lengths are reported when an axis grows ([Axis.Grown]).
type Growth struct {
	kind growthKind
	runs []Run // lengths of Fixed and Pattern, plan of Preplanned
	name string
	next func(at int64) (int64, error)

	isRounded bool // round the last new edge up to multiple
	multiple  int64
}

type growthKind uint8

const (
	appendOne growthKind = iota
	repeatLast
	fixed
	pattern
	preplanned
	byBoundaries
)

// AppendOne covers the new region with one edge, as zarr-python does.
func AppendOne() Growth { return Growth{} }

// RepeatLast repeats the last edge until the extent is covered. The last new edge may
// reach beyond the extent. An axis without edges ([Edges]) gets one that covers the
// extent.
func RepeatLast() Growth { return Growth{kind: repeatLast} }

// Fixed appends edges of n elements until the extent is covered. The last edge may reach
// beyond the extent.
func Fixed(n int64) Growth { return Growth{kind: fixed, runs: []Run{{n, 1}}} }

// Pattern appends edges of the given lengths, in elements, in turn and repeatedly until
// the extent is covered. The last edge may reach beyond the extent. Every growth that
// adds edges starts with the first length again.
func Pattern(lengths ...int64) Growth {
	g := Growth{kind: pattern, runs: make([]Run, len(lengths))}
	for i, n := range lengths {
		g.runs[i] = Run{n, 1}
	}
	return g
}

// Preplanned appends all edges of a plan, including those beyond the extent, so that
// later growth finds its cells declared. The plan must cover the new region. Growth
// within declared edges appends nothing, but requires the cells that are not yet full to
// be the end of the plan.
func Preplanned(plan ...Run) Growth {
	return Growth{kind: preplanned, runs: slices.Clone(plan)}
}

// ByBoundaries appends edges that end at the boundaries that next returns, until the
// extent is covered. Given the element at which the last edge ends, next returns the
// following boundary, in elements. String returns name, for example "calendar:month".
//
// A single edge of length 1 on an axis without elements is replaced, because programs
// declare it where they cannot list no edges. All other edges are kept and filled first.
func ByBoundaries(name string, next func(at int64) (int64, error)) Growth {
	return Growth{kind: byBoundaries, name: name, next: next}
}

// String returns the policy in the form that [ParseGrowth] reads, or the name that was
// given to [ByBoundaries].
func (g Growth) String() string {
	switch g.kind {
	case repeatLast:
		return "repeat-last"
	case fixed:
		return "fixed:" + strconv.FormatInt(g.runs[0].Length, 10)
	case pattern:
		text := []byte("pattern:")
		for i, r := range g.runs {
			if i > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(text, r.Length, 10)
		}
		return string(text)
	case preplanned:
		return "preplanned:" + runsText(g.runs, len(g.runs))
	case byBoundaries:
		return g.name
	}
	return "append-one"
}

// runsText writes runs as metadata does, up to the given number of them.
func runsText(runs []Run, most int) string {
	text := []byte{'['}
	for i, r := range runs {
		if i > 0 {
			text = append(text, ',')
		}
		if i == most {
			text = append(text, "…"...)
			break
		}
		if r.Count == 1 {
			text = strconv.AppendInt(text, r.Length, 10)
			continue
		}
		text = fmt.Appendf(text, "[%d,%d]", r.Length, r.Count)
	}
	return string(append(text, ']'))
}

// check returns an error if a length cannot be an edge of any axis. Otherwise it returns
// the sum of the policy's lengths.
func (g Growth) check() (int64, error) {
	switch {
	case g.isRounded && g.multiple < 1:
		return 0, invalid("growth %.80s: edges are rounded up to a multiple of at least 1, got %d", g, g.multiple)
	case g.kind == byBoundaries && g.next == nil:
		return 0, invalid("growth %s has no boundaries", g.name)
	case g.kind < fixed || g.kind == byBoundaries:
		return 0, nil
	}
	given, err := NewAxis(0, Runs(g.runs...))
	if err == nil && len(g.runs) == 0 {
		err = errNoEdges
	}
	if err != nil {
		return 0, fmt.Errorf("growth %.80s: %w", g, err)
	}
	return given.Covered(), nil
}

// ready returns the policy with a plan that is already rounded up, and the sum of its
// lengths.
func (g Growth) ready() (Growth, int64, error) {
	sum, err := g.check()
	if err != nil || g.kind != preplanned || !g.isRounded {
		return g, sum, err
	}
	if g.runs, err = g.roundUp(g.runs); err == nil {
		sum, err = g.check()
	}
	return g, sum, err
}

// KeepsRegular reports whether the policy leaves a regular axis regular. Only [AppendOne]
// and [RepeatLast] do; a regular axis accepts no other ([Axis.Grown]).
func (g Growth) KeepsRegular() bool { return g.kind == appendOne || g.kind == repeatLast }

// IsAppendOne reports whether the policy is [AppendOne], which the zero Growth is too.
// Rounding ([Growth.RoundedUp]) does not count.
func (g Growth) IsAppendOne() bool { return g.kind == appendOne }

// RoundedUp returns the policy with its last new edge rounded up to a multiple of the
// given number of elements. That edge may reach beyond the extent; all others stay as the
// policy makes them. A shard that is appended then holds whole inner chunks. For
// [Preplanned] the last edge of the plan is rounded up.
//
// Nothing changes if no edge is added, or if the axis is regular. A number below 1 is
// reported when an axis grows, as an error that wraps [ErrInvalid]. [Growth.String] does
// not show the rounding.
func (g Growth) RoundedUp(to int64) Growth {
	g.isRounded, g.multiple = true, to
	return g
}

// roundUp returns runs with the last edge rounded up. It does not modify runs.
func (g Growth) roundUp(runs []Run) ([]Run, error) {
	if !g.isRounded || len(runs) == 0 {
		return runs, nil
	}
	last := runs[len(runs)-1]
	over := last.Length % g.multiple
	if over == 0 {
		return runs, nil
	}
	longer, ok := checked.Add(last.Length, g.multiple-over)
	if !ok {
		return nil, ErrOverflow
	}
	rounded := slices.Clone(runs[:len(runs)-1])
	if last.Count > 1 {
		rounded = append(rounded, Run{last.Length, last.Count - 1})
	}
	return append(rounded, Run{longer, 1}), nil
}
