package grid

import (
	"fmt"
	"iter"
	"slices"
	"strconv"

	"varve.dev/zarr/internal/checked"
)

// mostRuns bounds what one operation makes of a few numbers: so many runs of equal edges take 64 MiB, and are about
// as many as a metadata document holds.
const mostRuns = 1 << 22

// Growth says how the region is cut that an axis gains. It describes the new region only: an edge that reaches beyond
// the extent is filled before a new one begins. The zero Growth is [AppendOne]. Lengths that are wrong show when an
// axis grows ([Axis.Grown]).
type Growth struct {
	kind growthKind
	runs []Run // lengths of Fixed and Pattern, the plan of Preplanned
	name string
	next func(at int64) (int64, error)

	isRounded bool // the last new edge is lengthened
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

// AppendOne covers all that is new with one edge (zarr-python's rule).
func AppendOne() Growth { return Growth{} }

// RepeatLast repeats the last edge until the extent is covered; the last one may reach beyond it.
func RepeatLast() Growth { return Growth{kind: repeatLast} }

// Fixed appends edges of n elements until the extent is covered; the last one may reach beyond it.
func Fixed(n int64) Growth { return Growth{kind: fixed, runs: []Run{{n, 1}}} }

// Pattern appends the lengths in turn, in elements, from the first one on, again and again until the extent is
// covered; the last edge may reach beyond it. Every growth that adds edges begins with the first length again.
func Pattern(lengths ...int64) Growth {
	g := Growth{kind: pattern, runs: make([]Run, len(lengths))}
	for i, n := range lengths {
		g.runs[i] = Run{n, 1}
	}
	return g
}

// Preplanned appends all edges of a plan, also those beyond the extent, so that later growth finds its cells declared.
// The plan has to cover what is new. Growth within the edges that are there appends nothing; it wants the cells that are
// not full to be the end of the plan.
func Preplanned(plan ...Run) Growth {
	return Growth{kind: preplanned, runs: slices.Clone(plan)}
}

// ByBoundaries appends edges that end where next says, until the extent is covered. Given the element at which the
// last edge ends, next returns the boundary that follows, in elements. The name is what String returns, such as
// "calendar:month".
//
// An axis without elements needs an edge all the same. A single edge of 1 stands for none: the first
// elements replace it, as no chunk was stored by it. Other edges wait for the elements that fill them.
func ByBoundaries(name string, next func(at int64) (int64, error)) Growth {
	return Growth{kind: byBoundaries, name: name, next: next}
}

// String returns the policy as [ParseGrowth] reads it.
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

// runsText writes runs as metadata does, at most the given number of them.
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

// check refuses lengths that cannot be edges, wherever the axis stands, and returns the sum of those that are given.
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
	if err != nil {
		return 0, fmt.Errorf("growth %.80s: %w", g, err)
	}
	return given.Covered(), nil
}

// ready returns the policy with a plan that is rounded up already, and the sum of its lengths.
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

// followsStep reports whether the policy does to a regular axis what happens to one anyway.
func (g Growth) followsStep() bool { return g.kind == appendOne || g.kind == repeatLast }

// Grown returns the axis with a larger extent, or the same. New edges are cut as the policy says from the sum of
// the edges on, where the extent exceeds that; else the edges stay. A regular axis follows the extent: it takes [AppendOne]
// and [RepeatLast], which change nothing about that, and no other policy.
//
// Wrong lengths, a smaller extent, a plan that does not cover the extent or contradicts the edges wrap [ErrInvalid],
// a sum beyond 64 bits [ErrOverflow], and edges that would be too many to list [ErrUnsupported].
//
// Source: zarr-python 3.4.1 for AppendOne; the other policies are of this package.
func (a Axis) Grown(extent int64, g Growth) (Axis, error) {
	if extent < a.extent {
		return Axis{}, invalid("extent %d is below the present %d: Shrunk makes an axis shorter", extent, a.extent)
	}
	g, sum, err := g.ready()
	if err != nil {
		return Axis{}, err
	}
	if a.IsRegular() {
		if !g.followsStep() {
			return Axis{}, invalid("growth %.80s on an axis whose chunks of %d follow the extent: unlock turns it into a list", g, a.step)
		}
		return a.Resized(extent)
	}
	if g.kind == byBoundaries && a.isPlaceholder() {
		return a.begun(extent, g)
	}
	gap := extent - a.Covered()
	if gap <= 0 {
		if g.kind == preplanned {
			err = a.follows(g.runs, sum)
		}
		if err != nil {
			return Axis{}, err
		}
		return a.Resized(extent)
	}
	more, err := a.newEdges(gap, sum, g)
	if err == nil {
		more, err = g.roundUp(more)
	}
	if err == nil {
		a, err = a.Extended(more...)
	}
	if err != nil {
		return Axis{}, fmt.Errorf("growth %.80s to the extent %d: %w", g, extent, err)
	}
	return a.Resized(extent)
}

// isPlaceholder reports whether the axis is empty and has the one edge of 1 that stands for none.
func (a Axis) isPlaceholder() bool {
	return a.extent == 0 && a.stored == nil && a.Cells() == 1 && a.Covered() == 1
}

// begun returns the axis with edges for its first elements, in place of the one that stood for none.
func (a Axis) begun(extent int64, g Growth) (Axis, error) {
	edges, err := boundaries(0, extent, g.next)
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

// newEdges cuts the gap behind the last edge. The sum is that of the lengths of the policy.
func (a Axis) newEdges(gap, sum int64, g Growth) ([]Run, error) {
	switch g.kind {
	case repeatLast:
		last, _ := a.Cell(a.Cells() - 1)
		return []Run{{last.Edge, checked.CeilDiv(gap, last.Edge)}}, nil
	case fixed:
		return []Run{{sum, checked.CeilDiv(gap, sum)}}, nil
	case pattern:
		return cycle(g.runs, sum, gap)
	case preplanned:
		if sum < gap {
			return nil, invalid("the plan ends %d elements before the extent: lengthen it, or grow by %d fewer", gap-sum, gap-sum)
		}
		return g.runs, nil
	case byBoundaries:
		return boundaries(a.Covered(), gap, g.next)
	}
	return []Run{{gap, 1}}, nil
}

// cycle repeats lengths with the given sum until they cover the gap.
func cycle(lengths []Run, sum, gap int64) ([]Run, error) {
	var once []Run
	for _, r := range lengths {
		once = appendRun(once, r)
	}
	if len(once) == 1 {
		return []Run{{once[0].Length, checked.CeilDiv(gap, once[0].Length)}}, nil
	}
	times, rest := gap/sum, gap%sum
	if times >= mostRuns/int64(len(once)) {
		return nil, fmt.Errorf("%w: the pattern repeats %d times, which is too many edges to list", ErrUnsupported, times)
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

// boundaries asks for boundaries behind the element at, until they cover the gap.
func boundaries(at, gap int64, next func(at int64) (int64, error)) ([]Run, error) {
	var more []Run
	extent := at + gap
	for calls := 0; at < extent; calls++ {
		if calls == mostRuns {
			return nil, fmt.Errorf("%w: more than %d new edges", ErrUnsupported, mostRuns)
		}
		to, err := next(at)
		if err != nil {
			return nil, err
		}
		if to <= at {
			return nil, invalid("the boundary behind element %d is %d, which does not lie behind it", at, to)
		}
		more = appendRun(more, Run{to - at, 1})
		at = to
	}
	return more, nil
}

// follows refuses a plan, with its sum, whose end is not the cells that are still to be filled.
func (a Axis) follows(plan []Run, sum int64) error {
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
	left := a.Covered() - c.Start
	whole := sum >= left
	if whole {
		end, whole = tail(slices.Values(plan), sum-left)
	}
	if !whole || !slices.Equal(open, end) {
		return invalid("the plan contradicts the edges that are there: cells %d to %d are not full and have lengths %s, no end of the plan %s; AppendOne fills them as they are",
			first, a.Cells()-1, runsText(open, 8), runsText(plan, 8))
	}
	return nil
}

// tail returns the runs behind the first n elements. It is false where those end within a cell, of which the rest
// comes first.
func tail(runs iter.Seq[Run], n int64) (rest []Run, whole bool) {
	whole = true
	for r := range runs {
		skip := min(r.Count, n/r.Length)
		n -= skip * r.Length
		if r.Count -= skip; r.Count == 0 {
			continue
		}
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
