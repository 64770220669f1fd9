// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// sorted returns the members of a set in order.
func sorted(set map[int64]bool) []int64 { return slices.Sorted(maps.Keys(set)) }

// extent is what a selection touches along an axis of a grid.
type extent struct{ from, to, cells, elements int64 }

// touched returns what a selection touches. Elements are those that are decoded.
func touched(g *grid.Grid, sel *selection.Resolved) []extent {
	box := (*subset.Elements)(sel).Touched(g)
	list := make([]extent, len(box))
	for i, side := range box {
		e := extent{from: side.Start, to: side.Stop, cells: side.Len()}
		if e.cells > 0 {
			first, _ := g.Axis(i).Cell(side.Start)
			last, _ := g.Axis(i).Cell(side.Stop - 1)
			e.elements = last.Start + last.Encoded - first.Start
		}
		list[i] = e
	}
	return list
}

// unselected returns the error of a selection with a text for the client.
func (a *array) unselected(ctx context.Context, err error) error {
	cause, at := err, (*zarr.Error)(nil)
	if errors.As(err, &at) && err == error(at) {
		cause = at.Err
	}
	if ctx.Err() == nil && (errors.Is(err, selection.ErrInvalid) || errors.Is(err, zarr.ErrInvalidArgument)) && !errors.As(cause, new(*zarr.Error)) {
		text := cause.Error()
		if root := a.Root.String(); root != "" {
			text = strings.ReplaceAll(text, " "+root, " "+a.name)
		}
		return refuse(http.StatusBadRequest, "%s", text)
	}
	return err
}

// series is an axis of an array as numbers.
type series struct {
	From    int64      `json:"from"`
	Step    int64      `json:"step"` // elements for each number
	Min     []*float64 `json:"min"`
	Max     []*float64 `json:"max"`
	Values  []*float64 `json:"values"` // null unless step is 1
	Method  string     `json:"method"` // exact, statistics or sampled
	Exact   bool       `json:"exact"`
	Missing int64      `json:"missing"`
	Problem *problem   `json:"problem,omitempty"`
	version string
}

func (s *series) tag() string { return s.version }

// line makes a series.
type line struct {
	*array
	*series
	*scale
	axis   int
	at     []int64
	to     int64
	decode bool
	mu     sync.Mutex
}

// series answers with the elements along an axis.
func (h *Handler) series(ctx context.Context, q *query) (any, error) {
	a, err := h.openArray(ctx, q.node)
	if err != nil {
		return nil, err
	}
	defer a.Close() // it was only read
	l := &line{array: a, series: &series{Method: "exact", Exact: true, version: a.version}, decode: q.decode}
	if l.at, l.axis, err = along(q, a.Shape()); err != nil {
		return nil, err
	}
	n := a.Shape()[l.axis]
	l.From, l.to = min(q.from, n), n
	if q.last >= 0 {
		l.to = max(l.From, min(q.last, n))
	}
	if slices.Contains(a.Shape(), 0) {
		l.to = l.From
	}
	if l.scale, err = a.scaleOf(ctx, q); err != nil {
		return nil, err
	}
	l.Step = max(1, (l.to-l.From+q.max-1)/q.max)
	bins := (l.to - l.From + l.Step - 1) / l.Step
	l.Min, l.Max = make([]*float64, bins), make([]*float64, bins)
	if bins > 0 {
		err = l.read(ctx)
	}
	if l.Step == 1 {
		l.Values = l.Min
	}
	return l.series, err
}

// along checks the parameters of a line through an array.
func along(q *query, shape []int64) (at []int64, axis int, err error) {
	if axis = q.axis; axis < 0 {
		axis = 0
	}
	at = make([]int64, len(shape))
	if axis >= len(shape) || q.at != nil && len(q.at) != len(shape) {
		return nil, 0, refuse(http.StatusBadRequest, "axis= is the number of an axis, and at= has one index for each axis, with - for that one")
	}
	for i, n := range shape {
		if i == axis || q.at == nil {
			continue
		}
		if at[i] = max(0, q.at[i]); at[i] >= n {
			return nil, 0, refuse(http.StatusBadRequest, "at= has index %d along axis %d, whose length is %d", at[i], i, n)
		}
	}
	return at, axis, nil
}

// read reads the units of the line, or some of them if they are too many.
func (l *line) read(ctx context.Context) error {
	along := l.units.Axis(l.axis)
	first, _, _ := along.Locate(l.From)
	last, _, _ := along.Locate(l.to - 1)
	step := max(1, (last-first+mostUnits)/mostUnits)
	if step > 1 {
		l.Method, l.Exact = "sampled", false
		if l.summarize(ctx, first, last) {
			return ctx.Err()
		}
	}
	limited, cancel := context.WithTimeout(ctx, mostReading)
	defer cancel()
	group, within := parallel.New(limited)
	group.SetLimit(engine.InFlight(l.Location().Store(), 0, 2))
	for k := first; k <= last; k += step {
		group.Go(func() error {
			if within.Err() == nil {
				l.readUnit(within, k)
			}
			if within.Err() != nil {
				l.mu.Lock()
				l.Method, l.Exact = "sampled", false
				l.mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(nil); err != nil {
		return err
	}
	return ctx.Err()
}

// readUnit adds the elements of the line that lie in unit k.
func (l *line) readUnit(ctx context.Context, k int64) {
	cell, _ := l.units.Axis(l.axis).Cell(k)
	box, part := make(grid.Box, len(l.at)), make(grid.Box, len(l.at))
	for i, at := range l.at {
		c := cell
		if part[i] = (grid.Interval{Start: at, Stop: at + 1}); i != l.axis {
			n, _, _ := l.units.Axis(i).Locate(at)
			c, _ = l.units.Axis(i).Cell(n)
		}
		box[i] = grid.Interval{Start: c.Start, Stop: c.Start + c.Logical}
	}
	part[l.axis] = grid.Interval{Start: max(cell.Start, l.From), Stop: min(cell.Start+cell.Logical, l.to)}
	if part[l.axis].Len() > l.h.Memory/16/int64(l.state.Type.Size()+8) {
		part[l.axis].Stop = part[l.axis].Start // it could not be held; as if it was not read
		l.mu.Lock()
		l.Method, l.Exact = "sampled", false
		l.mu.Unlock()
		return
	}
	u, kept := l.unit(ctx, box, func() selection.Selection { return selection.BoxOf(part) })
	if ctx.Err() != nil {
		return
	}
	if u.state != stateValue {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Missing += part[l.axis].Len()
		if u.state == stateUnreadable {
			p := l.problem(u)
			l.Problem, l.Exact = &p, false
		}
		return
	}
	size := int64(l.state.Type.Size())
	base, stride, below := int64(0), size, size
	if kept {
		for i := len(box) - 1; i >= 0; i-- {
			base += (part[i].Start - box[i].Start) * below
			if i == l.axis {
				stride = below
			}
			below *= box[i].Len()
		}
	}
	const piece = 4096
	elems := make([]byte, 0, piece*size)
	numbers, states := make([]float32, piece), make([]byte, piece)
	for at := part[l.axis].Start; at < part[l.axis].Stop; {
		n := min(piece, part[l.axis].Stop-at)
		elems = elems[:0]
		for range n {
			elems = append(elems, u.data[base:base+size]...)
			base += stride
		}
		l.convert(numbers[:n], states[:n], elems)
		l.add(at, numbers[:n], states[:n])
		at += n
	}
}

// add adds elements from index at on.
func (l *line) add(at int64, numbers []float32, states []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, x := range numbers {
		if states[i] > stateFill {
			l.Missing++
			continue
		}
		l.include((at+int64(i)-l.From)/l.Step, float64(x), float64(x))
	}
}

// include widens the range of a bin.
func (l *line) include(bin int64, low, high float64) {
	if math.IsInf(low, 0) || math.IsInf(high, 0) {
		return // JSON has no infinities
	}
	if l.Min[bin] == nil {
		l.Min[bin], l.Max[bin] = &low, &high
		return
	}
	*l.Min[bin], *l.Max[bin] = min(*l.Min[bin], low), max(*l.Max[bin], high)
}

// summarize makes the series of what is kept about the chunks. It returns false if that
// is not known of one of them, or other elements lie in them.
func (l *line) summarize(ctx context.Context, first, last int64) bool {
	if l.Rank() != 1 || l.packing == nil || last-first > mostListed {
		return false
	}
	entries := l.entries(ctx)
	if entries == nil {
		return false
	}
	p, err := cf.PackingOf(ctx, l.Array)
	if err != nil {
		return false
	}
	if !l.decode {
		p = p.Unscaled()
	}
	missing, aligned := int64(0), true
	lows, highs := make([]*float64, len(l.Min)), make([]*float64, len(l.Max))
	l.Min, lows = lows, l.Min
	l.Max, highs = highs, l.Max
	for k := first; k <= last; k++ {
		s, n, known := entries.Known([]int64{k})
		cell, _ := l.units.Axis(0).Cell(k)
		if !known {
			l.Min, l.Max = lows, highs
			return false
		}
		missing += s.Missing
		if s.Minimum == nil || n == 0 {
			continue
		}
		x, y := p.Value(s.Minimum), p.Value(s.Maximum)
		from, to := max(cell.Start, l.From), min(cell.Start+cell.Logical, l.to)-1
		aligned = aligned && from == cell.Start && to == cell.Start+cell.Logical-1 && (from-l.From)/l.Step == (to-l.From)/l.Step
		for bin := (from - l.From) / l.Step; bin <= (to-l.From)/l.Step; bin++ {
			l.include(bin, min(x, y), max(x, y))
		}
	}
	l.Missing, l.Method, l.Exact = missing, "statistics", aligned
	return true
}
