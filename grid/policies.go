// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrCalendar means that a growth policy is a calendar policy. Such a policy needs the
// times of the elements, which this package does not know: make it with [ByBoundaries].
var ErrCalendar = errors.New("grid: a calendar policy needs times")

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
