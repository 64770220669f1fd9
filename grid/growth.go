// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
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
	case !more && word == words[appendOne]:
		return AppendOne(), nil
	case !more && word == words[repeatLast]:
		return RepeatLast(), nil
	case more && word == words[fixed]:
		n, err := parseLength(rest)
		return Fixed(n), err
	case more && word == words[pattern]:
		var lengths []int64
		for item := range strings.SplitSeq(rest, ",") {
			n, err := parseLength(item)
			if err != nil {
				return Growth{}, err
			}
			lengths = append(lengths, n)
		}
		return Pattern(lengths...), nil
	case more && word == words[preplanned]:
		return parsePlan(rest)
	case more && word == "calendar":
		return Growth{}, fmt.Errorf("%w: %.80q", ErrCalendar, text)
	}
	return Growth{}, invalid("growth policy %.80q: there are %s", text, strings.Join(policyForms(), ", "))
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
		err = invalid("%s", quantity.Count(len(cuts), "lists"))
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
	kind     growthKind
	runs     []Run // lengths of Fixed and Pattern, plan of Preplanned
	name     string
	boundary func(at int64) (int64, error)

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

// words are what policies begin with in text. ByBoundaries has a name of its own. The
// command completes these words (cmd/varve/internal/growth).
var words = map[growthKind]string{
	appendOne: "append-one", repeatLast: "repeat-last",
	fixed: "fixed", pattern: "pattern", preplanned: "preplanned",
}

// lengths are the forms of the lengths that follow a word and a colon.
var lengths = map[growthKind]string{fixed: "N", pattern: "N,N", preplanned: "[…]"}

// policyForms returns the forms of policies, for messages.
func policyForms() []string {
	var forms []string
	for _, kind := range slices.Sorted(maps.Keys(words)) {
		form := words[kind]
		if kind.isGiven() {
			form += ":" + lengths[kind]
		}
		forms = append(forms, form)
	}
	return forms
}

// isGiven reports whether policies of the kind are given with the lengths of edges.
func (k growthKind) isGiven() bool { return lengths[k] != "" }

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
// following boundary, in elements. String returns name, for example
// "calendar:month". Method Next of the buckets of [varve.dev/zarr/cf/calendar] is such a
// function for months and years.
//
// A single edge of length 1 on an axis without elements is replaced, because programs
// declare it where they cannot list no edges. All other edges are kept and filled first.
func ByBoundaries(name string, next func(at int64) (int64, error)) Growth {
	return Growth{kind: byBoundaries, name: name, boundary: next}
}

// String returns the policy in the form that [ParseGrowth] reads, or the name that was
// given to [ByBoundaries].
func (g Growth) String() string {
	word := words[g.kind]
	switch g.kind {
	case fixed:
		return word + ":" + strconv.FormatInt(g.runs[0].Length, 10)
	case pattern:
		text := []byte(word + ":")
		for i, r := range g.runs {
			if i > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(text, r.Length, 10)
		}
		return string(text)
	case preplanned:
		return word + ":" + runsText(g.runs, len(g.runs))
	case byBoundaries:
		return g.name
	}
	return word
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
	case g.kind == byBoundaries && g.boundary == nil:
		return 0, invalid("growth %s has no boundaries", g.name)
	case !g.kind.isGiven():
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

// roundedPlan returns the policy with a plan that is already rounded up, and the sum of
// its lengths.
func (g Growth) roundedPlan() (Growth, int64, error) {
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

// Grown returns the axis with a larger extent, or the same. If the extent exceeds the sum
// of the edges, the policy cuts the region after them into new edges; otherwise the
// edges stay. A regular axis follows the extent. It only accepts [AppendOne] and
// [RepeatLast], which leave it regular.
//
// Grown returns an error that wraps [ErrInvalid] if a length is invalid, the extent is
// smaller than before, or a plan does not cover the extent or contradicts the edges. It
// wraps [ErrOverflow] if the edges sum to more than an int64 holds, and [ErrUnsupported]
// if there would be too many edges to list.
//
// AppendOne follows zarr-python 3.4.1. The other policies are specific to this package.
func (a Axis) Grown(extent int64, g Growth) (Axis, error) {
	if extent < a.extent {
		return Axis{}, invalid("extent %d is below the present %d: Shrunk makes an axis shorter", extent, a.extent)
	}
	// Check the lengths first, so that invalid ones are reported even if no edge is
	// added.
	g, sum, err := g.roundedPlan()
	if err != nil {
		return Axis{}, err
	}
	if a.IsRegular() {
		// Other policies would list edges, which changes how later growth works. The
		// caller must unlock the axis explicitly.
		if !g.KeepsRegular() {
			return Axis{}, invalid("growth %.80s on an axis whose chunks of %d follow the extent: unlock turns it into a list", g, a.step)
		}
		return a.resized(extent)
	}
	// A single edge of length 1 hardly ever ends at a boundary ([ByBoundaries]). No
	// chunk was stored with it.
	if g.kind == byBoundaries && a.extent == 0 && a.stored == nil && a.Cells() == 1 && a.Covered() == 1 {
		return a.replaceUnit(extent, g)
	}
	// Elements up to the sum of the edges have their cells already.
	gap := extent - a.Covered()
	if gap <= 0 {
		if g.kind == preplanned {
			if err := a.checkPlan(g.runs, sum); err != nil {
				return Axis{}, err
			}
		}
		return a.resized(extent)
	}
	more, err := a.newEdges(gap, sum, g)
	if err == nil {
		more, err = g.roundUp(more)
	}
	if err == nil {
		a, err = a.extended(more...)
	}
	if err != nil {
		return Axis{}, fmt.Errorf("growth %.80s to the extent %d: %w", g, extent, err)
	}
	return a.resized(extent)
}

// replaceUnit returns the axis with edges for its first elements in place of those it
// has.
func (a Axis) replaceUnit(extent int64, g Growth) (Axis, error) {
	edges, err := boundaries(0, extent, g.boundary)
	if err == nil {
		edges, err = g.roundUp(edges)
	}
	if err == nil {
		a, err = NewAxis(extent, Runs(edges...))
	}
	if err != nil {
		return Axis{}, fmt.Errorf("growth %.80s to the extent %d: %w", g, extent, err)
	}
	return a, nil
}

// newEdges cuts the gap after the last edge. sum is the sum of the policy's lengths.
func (a Axis) newEdges(gap, sum int64, g Growth) ([]Run, error) {
	switch g.kind {
	case appendOne:
		return []Run{{gap, 1}}, nil
	case repeatLast:
		last, ok := a.Cell(a.Cells() - 1)
		if !ok { // there is no edge to repeat
			return []Run{{gap, 1}}, nil
		}
		return []Run{{last.Edge, checked.CeilDiv(gap, last.Edge)}}, nil
	case fixed:
		return []Run{{sum, checked.CeilDiv(gap, sum)}}, nil
	case pattern:
		return cycle(g.runs, sum, gap)
	case preplanned:
		if sum < gap {
			return nil, invalid("the plan ends %s before the extent: lengthen it, or grow by %d fewer", quantity.Count(gap-sum, "elements"), gap-sum)
		}
		return g.runs, nil
	case byBoundaries:
		return boundaries(a.Covered(), gap, g.boundary)
	}
	return nil, invalid("growth policy of kind %d", g.kind)
}

// cycle repeats lengths, whose sum is given, until they cover the gap.
func cycle(lengths []Run, sum, gap int64) ([]Run, error) {
	var once []Run
	for _, r := range lengths {
		once = appendRun(once, r)
	}
	// Repeating one length is a single run, however large the gap is.
	if len(once) == 1 {
		return []Run{{once[0].Length, checked.CeilDiv(gap, once[0].Length)}}, nil
	}
	// The limit holds before times becomes a size of memory.
	times, rest := gap/sum, gap%sum
	if times >= mostRuns/int64(len(once)) {
		return nil, fmt.Errorf("%w: the pattern repeats %s, which is too many edges to list", ErrUnsupported, quantity.Count(times, "times"))
	}
	more := make([]Run, 0, (int(times)+1)*len(once))
	for range times {
		for _, r := range once {
			more = appendRun(more, r)
		}
	}
	for _, r := range lengths {
		if rest <= 0 {
			break
		}
		more = appendRun(more, r)
		rest -= r.Length
	}
	return more, nil
}

// boundaries calls next for the boundaries after element at until they cover the gap.
func boundaries(at, gap int64, next func(at int64) (int64, error)) ([]Run, error) {
	var more []Run
	extent := at + gap
	for calls := 0; at < extent; calls++ {
		if calls == mostRuns {
			return nil, fmt.Errorf("%w: more than %s", ErrUnsupported, quantity.Count(mostRuns, "new edges"))
		}
		to, err := next(at)
		if err != nil {
			return nil, err
		}
		// next is supplied by the caller. A boundary that does not advance would
		// loop for ever.
		if to <= at {
			return nil, invalid("the boundary after element %d is %d, which is not after it", at, to)
		}
		more = appendRun(more, Run{to - at, 1})
		at = to
	}
	return more, nil
}

// checkPlan returns an error unless the cells that are not yet full are the end of the
// plan. sum is the sum of the plan.
func (a Axis) checkPlan(plan []Run, sum int64) error {
	// The first cell that is not full is the last chunk if that is partial, otherwise the
	// cell after it.
	first := a.chunks
	if c, ok := a.Cell(first - 1); ok && c.Logical < c.Edge {
		first--
	}
	c, ok := a.Cell(first)
	if !ok {
		return nil // all cells are full
	}
	if err := a.listable(); err != nil {
		return err
	}
	open, _ := tail(a.Edges(), c.Start)
	var end []Run
	// The cells from there on must be an end of the plan of the same length.
	left := a.Covered() - c.Start
	whole := sum >= left
	if whole {
		end, whole = tail(slices.Values(plan), sum-left)
	}
	if !whole || !slices.Equal(open, end) {
		return invalid("the plan contradicts the edges that are there: cells %d to %d are not full and have lengths %s, no end of the plan %s; "+remedy.AppendOne+" fills them as they are",
			first, a.Cells()-1, runsText(open, 8), runsText(plan, 8))
	}
	return nil
}

// tail returns the runs after the first n elements. If those end within a cell, it
// returns false and the rest of that cell comes first.
func tail(runs iter.Seq[Run], n int64) (rest []Run, whole bool) {
	whole = true
	for r := range runs {
		skip := min(r.Count, n/r.Length)
		n -= skip * r.Length
		if r.Count -= skip; r.Count == 0 {
			continue
		}
		// The first n elements end within this cell.
		if n > 0 {
			rest, whole, n = append(rest, Run{r.Length - n, 1}), false, 0
			r.Count--
		}
		if r.Count > 0 {
			rest = appendRun(rest, r)
		}
	}
	return rest, whole
}

// checkPolicies returns an error unless n policies suit a change of the grid to a shape.
func (g *Grid) checkPolicies(shape []int64, n int, what string) error {
	if len(shape) != len(g.axes) {
		return invalid("the new shape has %s, the array has %d", quantity.Count(len(shape), "axes"), len(g.axes))
	}
	if n > 1 && n != len(g.axes) {
		return invalid("%s for %s: give none, one, or one per axis", quantity.Count(n, what), quantity.Count(len(g.axes), "axes"))
	}
	return nil
}

// Grown returns the grid of an array of another shape. An axis that grows is cut by its
// policy ([Axis.Grown]); an axis that shrinks keeps its edges. Without a policy all axes
// use [AppendOne]. A single policy applies to every axis that grows; otherwise there must
// be one policy per axis.
//
// A single policy skips regular axes, which follow the extent, as long as an axis with
// listed edges grows as well. If only regular axes grow and the policy does not suit
// them, the error wraps [ErrInvalid]. Other errors are those of [Axis.Grown]. All name
// the axis.
func (g *Grid) Grown(shape []int64, growth ...Growth) (*Grid, error) {
	if err := g.checkPolicies(shape, len(growth), "growth policies"); err != nil {
		return nil, err
	}
	axes, err := eachAxis(len(shape), func(i int) (Axis, error) {
		switch a := g.axes[i]; {
		case shape[i] < a.extent:
			return a.Shrunk(shape[i], KeepEdges)
		case shape[i] > a.extent:
			return a.Grown(shape[i], g.policy(i, shape, growth))
		default:
			return a, nil
		}
	})
	if err != nil {
		return nil, err
	}
	return ofAxes(g.name, axes)
}

// policy returns the policy for axis i. A single policy skips a regular axis if it
// applies to an axis with listed edges.
func (g *Grid) policy(i int, shape []int64, growth []Growth) Growth {
	switch {
	case len(growth) == 0:
		return AppendOne()
	case len(growth) == len(g.axes) && len(growth) > 1:
		return growth[i]
	}
	for k, a := range g.axes {
		// AppendOne leaves a regular axis regular.
		if g.axes[i].IsRegular() && !a.IsRegular() && shape[k] > a.extent {
			return AppendOne()
		}
	}
	return growth[0]
}

// FittingLengths returns the lengths nearest to length by which the axis can grow with
// one new edge ([AppendOne]) that is stored with a multiple of n elements
// ([Axis.MultipleOf]). All lengths are in elements. Elements that fill an edge beyond the
// extent come first and are not part of the new edge.
//
// Both results are length if that fits, as it always does on a regular axis. below is 0
// if no shorter length fits, and above is 0 if a longer one would overflow int64. Both
// are 0 if n or length is below 1. With [Growth.RoundedUp] every length fits.
func (a Axis) FittingLengths(length, n int64) (below, above int64) {
	if length < 1 || n < 1 {
		return 0, 0
	}
	if most := math.MaxInt64 - a.extent; length > most {
		below, _ = a.FittingLengths(most, n)
		return below, 0
	}
	// edge is the length of the new edge, common the encoded length that all cells share.
	var edge, common int64
	switch {
	case a.edges != nil:
		edge = length - (a.edges.sum - a.extent)
		if s := a.stored; s != nil && s.edges == nil {
			common = s.step
		}
	case a.IsTrimmed():
		// The last chunk is stored up to the new extent, so it counts from its own start.
		edge = length + a.extent%a.step
	}
	// No new edge is needed, or it is stored with the shared length, or it fits.
	if edge <= common || edge%n == 0 {
		return length, length
	}
	over := edge % n
	// A shorter edge fits if it is a multiple of n, if it is not longer than the encoded
	// length that all cells share, or if it is not needed at all.
	below = max(0, length-over, length-edge+common)
	if above = length + n - over; above < length || above > math.MaxInt64-a.extent {
		above = 0
	}
	return below, above
}
