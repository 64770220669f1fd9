// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/selection"
)

// evaluation finds the rows for which an expression is true.
type evaluation struct {
	root    condition
	columns map[string]*column
	values  map[*comparison][]cf.Value
	n       int64 // rows
	scans   sync.Pool
}

// newEvaluation parses the values of an expression for the columns that it names.
func newEvaluation(e *Expression, columns map[string]*column, n int64) (*evaluation, error) {
	v := &evaluation{root: e.root, columns: columns, values: map[*comparison][]cf.Value{}, n: n}
	return v, v.parse(e.root)
}

func (e *evaluation) parse(c condition) error {
	switch c := c.(type) {
	case all:
		return e.parseAll(c)
	case some:
		return e.parseAll(c)
	case inverse:
		return e.parse(c.of)
	case *comparison:
		for _, t := range c.values {
			v, err := e.columns[c.name].value(t)
			if err != nil {
				return err
			}
			e.values[c] = append(e.values[c], v)
		}
	}
	return nil
}

func (e *evaluation) parseAll(list []condition) error {
	for _, c := range list {
		if err := e.parse(c); err != nil {
			return err
		}
	}
	return nil
}

// run evaluates the expression. Every unit of a column is decoded at most once: rows are
// evaluated in order, between places where units of all columns begin, and several such
// stretches at once.
func (e *evaluation) run(ctx context.Context, memory int64, concurrency int) (*rows, error) {
	kept := newRows(e.n)
	group, ctx := parallel.New(ctx)
	group.SetLimit(e.workers(memory, concurrency))
	for in := range e.stretches() {
		group.Go(func() error { return e.stretch(ctx, in, kept) })
		if ctx.Err() != nil {
			break
		}
	}
	return kept, group.Wait(nil)
}

// workers returns how many stretches are evaluated at once. Each holds one unit of every
// column.
func (e *evaluation) workers(memory int64, concurrency int) int {
	bytes := int64(1)
	for _, c := range e.columns {
		bytes += 2 * c.bytes()
	}
	return int(max(1, min(int64(concurrency), memory/bytes)))
}

// stretches yields the stretches of rows that are evaluated independently.
func (e *evaluation) stretches() func(yield func(grid.Interval) bool) {
	return func(yield func(grid.Interval) bool) {
		in := grid.Interval{}
		for in.Start < e.n {
			for in.Stop = e.tile(in.Start); in.Stop < e.n && !e.isBorder(in.Stop); {
				in.Stop = e.tile(in.Stop)
			}
			if !yield(in) {
				return
			}
			in.Start = in.Stop
		}
	}
}

// tile returns the end of the tile that begins at a row: the rows up to the next unit of
// any column.
func (e *evaluation) tile(row int64) int64 {
	stop := e.n
	for _, c := range e.columns {
		stop = min(stop, c.unit(row).Stop)
	}
	return stop
}

// isBorder reports whether a unit of every column begins at a row.
func (e *evaluation) isBorder(row int64) bool {
	for _, c := range e.columns {
		if c.unit(row).Start != row {
			return false
		}
	}
	return true
}

// stretch evaluates the tiles of a stretch.
func (e *evaluation) stretch(ctx context.Context, in grid.Interval, kept *rows) error {
	s := e.scan()
	defer e.scans.Put(s)
	for in.Start < in.Stop {
		tile := grid.Interval{Start: in.Start, Stop: e.tile(in.Start)}
		is := s.room(tile.Len())
		if err := s.evaluate(ctx, e.root, tile, is); err != nil {
			return err
		}
		kept.keep(tile.Start, is)
		s.free(is)
		in.Start = tile.Stop
	}
	return ctx.Err()
}

// scan evaluates the tiles of one stretch, one after the other.
type scan struct {
	*evaluation
	pages  map[string]*page
	orders []cf.Order
	spare  [][]bool
}

// scan returns a scan that has decoded nothing.
func (e *evaluation) scan() *scan {
	if s, ok := e.scans.Get().(*scan); ok {
		for _, p := range s.pages {
			p.rows = grid.Interval{} // its memory is used again
		}
		return s
	}
	s := &scan{evaluation: e, pages: map[string]*page{}}
	for name, c := range e.columns {
		s.pages[name] = &page{column: c}
	}
	return s
}

// room returns memory for n rows.
func (s *scan) room(n int64) []bool {
	var is []bool
	if k := len(s.spare) - 1; k >= 0 {
		is, s.spare = s.spare[k], s.spare[:k]
	}
	return slices.Grow(is[:0], int(n))[:n]
}

func (s *scan) free(is []bool) { s.spare = append(s.spare, is) }

// evaluate sets is to the truth of a condition for the rows of a tile.
func (s *scan) evaluate(ctx context.Context, c condition, tile grid.Interval, is []bool) error {
	switch c := c.(type) {
	case all:
		return s.join(ctx, c, tile, is, false)
	case some:
		return s.join(ctx, c, tile, is, true)
	case inverse:
		err := s.evaluate(ctx, c.of, tile, is)
		for i, b := range is {
			is[i] = !b
		}
		return err
	case *comparison:
		return s.compare(ctx, c, tile, is)
	case *absence:
		orders, err := s.order(ctx, c.name, tile, cf.Value{}, places{cf.Absent + 1: true})
		for i, o := range orders {
			is[i] = o == cf.Absent
		}
		return err
	}
	return fmt.Errorf("%w: condition %T", zarr.ErrUnsupported, c)
}

// join evaluates conditions one after the other until each row is decided: for and by
// one that is false, for or by one that is true. Columns of the conditions that remain
// are not decoded.
func (s *scan) join(ctx context.Context, list []condition, tile grid.Interval, is []bool, decides bool) error {
	if err := s.evaluate(ctx, list[0], tile, is); err != nil {
		return err
	}
	other := s.room(tile.Len())
	defer s.free(other)
	for _, c := range list[1:] {
		if !slices.Contains(is, !decides) {
			return nil
		}
		if err := s.evaluate(ctx, c, tile, other); err != nil {
			return err
		}
		for i, b := range other {
			if b == decides {
				is[i] = decides
			}
		}
	}
	return nil
}

// compare evaluates a comparison.
func (s *scan) compare(ctx context.Context, c *comparison, tile grid.Interval, is []bool) error {
	for k, v := range s.values[c] {
		orders, err := s.order(ctx, c.name, tile, v, c.places)
		if err != nil {
			return err
		}
		for i, o := range orders {
			switch has := c.places.contains(o); {
			case k == 0:
				is[i] = has
			case c.every:
				is[i] = is[i] && has
			default:
				is[i] = is[i] || has
			}
		}
	}
	return nil
}

// order returns the orders of the rows of a tile beside a value. The next call overwrites
// them. If the statistics show that all rows lie in the given places, or none, then it
// returns orders for which that is so, and reads nothing.
func (s *scan) order(ctx context.Context, name string, tile grid.Interval, v cf.Value, in places) ([]cf.Order, error) {
	s.orders = slices.Grow(s.orders[:0], int(tile.Len()))[:tile.Len()]
	if o, ok := s.columns[name].decided(ctx, tile.Start, v, in); ok {
		for i := range s.orders {
			s.orders[i] = o
		}
		return s.orders, nil
	}
	return s.orders, s.pages[name].compare(ctx, s.orders, tile, v)
}

// column is an array that a condition names.
type column struct {
	array    *zarr.Array
	state    *snapshot.Array // as it was opened
	comparer *cf.Comparer
	units    grid.Axis           // what is decoded alone: inner chunks, or chunks
	entries  *statistics.Entries // what the units hold, nil if that is not kept
}

func newColumn(ctx context.Context, a *zarr.Array) (*column, error) {
	c := &column{array: a, state: a.Core().State()}
	c.units = c.state.Finest().Axis(0)
	var err error
	if c.comparer, err = cf.ComparerOf(ctx, a); err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path(), err)
	}
	return c, nil
}

// decided reports whether the rows of the unit that has a row all lie in the places
// beside a value, or all outside of them, and returns an order for which that is so. A
// unit with missing rows is only decided if these are on the same side.
func (c *column) decided(ctx context.Context, row int64, v cf.Value, in places) (order cf.Order, ok bool) {
	if c.entries == nil {
		return 0, false
	}
	unit, _, _ := c.units.Locate(row)
	ok = c.entries.Suffices(ctx, []int64{unit}, func(sum cf.Summary, n int64) bool {
		possible, known := c.comparer.Orders(sum, n, v)
		found := 0
		for o := cf.Below; o <= cf.Absent && known; o++ {
			if !possible[o+1] {
				continue
			}
			if found > 0 && in.contains(o) != in.contains(order) {
				return false
			}
			order, found = o, found+1
		}
		return found > 0
	})
	return order, ok
}

// unit returns the rows of the unit that has a row.
func (c *column) unit(row int64) grid.Interval {
	k, _, _ := c.units.Locate(row)
	cell, _ := c.units.Cell(k)
	return grid.Interval{Start: cell.Start, Stop: cell.Start + cell.Logical}
}

// bytes returns how many bytes of elements the longest unit has.
func (c *column) bytes() int64 {
	size := int64(c.array.Type().Size())
	if c.array.Type().Variable() {
		size = 64 // a guess
	}
	return c.units.Longest(grid.Interval{Stop: c.units.Chunks()}) * size
}

// page is the unit of a column that was decoded last.
type page struct {
	*column
	rows  grid.Interval
	data  []byte
	words [][]byte // of elements of variable length
}

// load decodes the unit that has a row, unless it is the present one.
func (p *page) load(ctx context.Context, row int64) error {
	if row >= p.rows.Start && row < p.rows.Stop {
		return nil
	}
	in := p.unit(row)
	sel := selection.Box{{in.Start, in.Stop}}
	p.rows = grid.Interval{}
	if p.array.Type().Variable() {
		b, err := zarr.Read[[]byte](ctx, p.array, sel)
		if err != nil {
			return err
		}
		p.words = b.Data
	} else {
		n := int(in.Len()) * p.array.Type().Size()
		p.data = slices.Grow(p.data[:0], n)[:n]
		if err := p.array.ReadBytes(ctx, sel, p.data); err != nil {
			return err
		}
	}
	p.rows = in
	return nil
}

// compare sets dst to the orders of rows, which lie in one unit.
func (p *page) compare(ctx context.Context, dst []cf.Order, in grid.Interval, v cf.Value) error {
	if err := p.load(ctx, in.Start); err != nil {
		return err
	}
	from, to := in.Start-p.rows.Start, in.Stop-p.rows.Start
	if p.array.Type().Variable() {
		p.comparer.CompareWords(dst, p.words[from:to], v)
		return nil
	}
	size := int64(p.array.Type().Size())
	p.comparer.Compare(dst, p.data[from*size:to*size], v)
	return nil
}

// value parses a value that a column is compared with.
func (c *column) value(t token) (cf.Value, error) {
	v, err := c.comparer.Value(t.text)
	if err != nil {
		return v, &syntaxError{t.at, fmt.Sprintf("%s: %v", c.array.Path(), err)}
	}
	return v, nil
}
