// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"bytes"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
)

// Move says where the planes of the target come from along one axis. The zero Move is
// that the target has the planes of the source.
type Move struct {
	Axis     int
	Segments []Segment // in order; they cover the target's extent along the axis
	Given    *Given    // elements that are not from the source, or nil
	// Window, if not nil, is the part of the source that the target is. It excludes
	// Segments.
	Window grid.Box
}

// IsZero reports whether the target has the planes of the source.
func (m Move) IsZero() bool { return m.Segments == nil && m.Window == nil }

// Job relates the chunks of a target to those of a source: two descriptions of one array,
// whose chunks have different keys. It is safe for concurrent use.
type Job struct {
	Source, Target *snapshot.Array

	units *grid.Grid // of the source
	axes  []axis
	given *Given // or nil
	// sameUnits and sameChunks report that units, or chunks, of the same shape and
	// elements have the same bytes in both.
	sameUnits, sameChunks bool
	// cuts is how an object of scratch is cut into pieces. Nil is a job of chunks.
	cuts *grid.Grid
	// fills is set if a missing chunk of the source has other elements than a missing
	// chunk of the target.
	fills bool
}

// NewJob relates a target to a source.
func NewJob(source, target *snapshot.Array, move Move) (*Job, error) {
	j := &Job{Source: source, Target: target, axes: make([]axis, source.Grid.Rank()), given: move.Given}
	if target.Grid.Rank() != source.Grid.Rank() || target.Type != source.Type {
		return nil, fmt.Errorf("a grid of rank %d and type %s for an array of rank %d and type %s", target.Grid.Rank(), target.Type, source.Grid.Rank(), source.Type)
	}
	// Chunks are numbered in C order, by an int64.
	if _, ok := checked.Product(source.Grid.Cells()...); !ok {
		return nil, fmt.Errorf("%w: %v chunks", grid.ErrOverflow, source.Grid.Cells())
	}
	from, err := unitGrid(source)
	if err != nil {
		return nil, err
	}
	j.units = from
	to, err := unitGrid(target)
	if err != nil {
		return nil, err
	}
	if !move.IsZero() {
		// Planes that stay keep their units, so those of the target are cut in the same
		// way, and at the same places as the target itself.
		j.units = to
	}
	for i := range j.axes {
		a := axis{source: source.Grid.Axis(i), sourceUnits: from.Axis(i), target: target.Grid.Axis(i), targetUnits: to.Axis(i)}
		if i == move.Axis && move.Segments != nil {
			a.segments, a.moved, a.given = move.Segments, true, move.Given.planes(i)
		} else if n := a.target.Extent(); n > 0 {
			a.segments = []Segment{{Count: n}}
			if move.Window != nil {
				a.segments[0].Source, a.moved = move.Window[i].Start, true
			}
		}
		if err := a.check(); err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		j.axes[i] = a
	}
	// Another fill value also changes what a missing inner chunk means, so nothing is
	// copied.
	equal := func(a, b []metadata.Extension) bool { return slices.EqualFunc(a, b, metadata.Extension.Equal) }
	a, b := source.Doc.Codecs, target.Doc.Codecs
	j.fills = !bytes.Equal(source.Fill, target.Fill)
	j.sameChunks = !j.fills && equal(a, b)
	j.sameUnits = !j.fills && equal(source.Engine.Chain.UnitCodecs(a), target.Engine.Chain.UnitCodecs(b))
	return j, nil
}

// unitGrid returns the grid of the units of an array.
func unitGrid(s *snapshot.Array) (*grid.Grid, error) {
	if s.Engine.Chain.Divided() {
		return s.Inner()
	}
	return s.Grid, nil
}

// SourceUnits returns the grid of what can be read alone: inner chunks, or chunks. It has
// the shape of the target.
func (j *Job) SourceUnits() *grid.Grid { return j.units }

// CopiesAll reports whether no chunk of the target needs to be decoded.
func (j *Job) CopiesAll() (bool, error) {
	if !j.sameUnits {
		return false, nil
	}
	for i := range j.axes {
		a := &j.axes[i]
		for k := range a.target.Chunks() {
			c, err := a.cell(k)
			if err != nil || !c.copies {
				return false, err
			}
		}
	}
	return true, nil
}

// SameCells reports whether every chunk of the target has the elements, the shape and the
// codecs of the source chunk with the same index. Then only the document changes.
func (j *Job) SameCells() bool {
	for i := range j.axes {
		if j.axes[i].moved {
			return false
		}
	}
	return j.sameChunks && slices.Equal(j.Source.Grid.Chunks(), j.Target.Grid.Chunks()) &&
		j.Source.Grid.SameCells(j.Target.Grid, grid.BoxOf(j.Target.Grid.Chunks()))
}

// check returns an error unless the segments cover the target and lie within the source.
func (a *axis) check() error {
	at := int64(0)
	for _, s := range a.segments {
		has := a.source.Extent()
		if s.Given {
			has = a.given
		}
		if s.Target != at || s.Count < 1 || s.Source < 0 || s.Count > has-s.Source {
			return fmt.Errorf("%w: planes %d to %d of the source, which has %d", grid.ErrOutOfRange, s.Source, s.Source+s.Count, has)
		}
		at += s.Count
	}
	if at != a.target.Extent() {
		return fmt.Errorf("%w: %s for an extent of %d", grid.ErrOutOfRange, quantity.Count(at, "planes"), a.target.Extent())
	}
	return nil
}

// number returns the number of a chunk of the source in C order.
func (j *Job) number(source []int64) int64 {
	n := int64(0)
	for i, k := range source {
		n = n*j.axes[i].source.Cells() + k
	}
	return n
}

// Index returns the index of a chunk of the target, given its number in C order.
func (j *Job) Index(number int64) []int64 {
	index := make([]int64, len(j.axes))
	indexIn(j.Target.Grid.Cells(), index, number)
	return index
}

// Number returns the number of a target chunk in C order.
func (j *Job) Number(index []int64) int64 { return numberIn(j.Target.Grid.Cells(), index) }

// part is a box of chunks of the target, with its cells along every axis.
type part struct {
	box   grid.Box
	cells [][]cell
}

// part returns the cells of a box of chunks of the target.
func (j *Job) part(box grid.Box) (part, error) {
	// Nothing is copied, so do not compare units: a chunk may have very many.
	if !j.sameUnits {
		return j.partWithoutUnits(box)
	}
	return j.makePart(box, func(i int, k int64) (cell, error) { return j.axes[i].cell(k) })
}

// partWithoutUnits is part without what follows from the units of chunks.
func (j *Job) partWithoutUnits(box grid.Box) (part, error) {
	return j.makePart(box, func(i int, k int64) (cell, error) {
		c, _, err := j.axes[i].cellWithoutUnits(k)
		return c, err
	})
}

func (j *Job) makePart(box grid.Box, of func(i int, k int64) (cell, error)) (part, error) {
	p := part{box: box, cells: make([][]cell, len(box))}
	for i, in := range box {
		p.cells[i] = make([]cell, 0, in.Len())
		for k := in.Start; k < in.Stop; k++ {
			c, err := of(i, k)
			if err != nil {
				return p, &grid.AxisError{Axis: i, Err: err}
			}
			p.cells[i] = append(p.cells[i], c)
		}
	}
	return p, nil
}

// cell returns the cell of the chunk at index along an axis.
func (p *part) cell(i int, index []int64) *cell { return &p.cells[i][index[i]-p.box[i].Start] }

// first returns the index of the first chunk of the part.
func (p *part) first() []int64 {
	index := make([]int64, len(p.box))
	p.box.First(index)
	return index
}

// sub returns the part with some of the cells along an axis.
func (p part) sub(i int, in grid.Interval) part {
	s := part{slices.Clone(p.box), slices.Clone(p.cells)}
	s.cells[i] = p.cells[i][in.Start-p.box[i].Start : in.Stop-p.box[i].Start]
	s.box[i] = in
	return s
}

// split calls do for parts of p whose chunks are all copied, or all decoded.
func (j *Job) split(p part, do func(p part, copies bool) error) error {
	return j.splitFrom(p, 0, j.sameUnits, do)
}

func (j *Job) splitFrom(p part, i int, copies bool, do func(p part, copies bool) error) error {
	if i == len(p.box) || !copies {
		return do(p, copies)
	}
	// Runs of cells that are all copied, or all decoded, along this axis.
	for rest := p.box[i]; rest.Len() > 0; {
		n := rest.Start
		first := p.cells[i][n-p.box[i].Start].copies
		for n < rest.Stop && p.cells[i][n-p.box[i].Start].copies == first {
			n++
		}
		if err := j.splitFrom(p.sub(i, grid.Interval{Start: rest.Start, Stop: n}), i+1, first, do); err != nil {
			return err
		}
		rest.Start = n
	}
	return nil
}

// cloneOf sets index to that of the source chunk that the target chunk is a clone of. It
// returns false if there is none.
func (j *Job) cloneOf(p part, at, index []int64) bool {
	if !j.sameChunks {
		return false
	}
	for i := range at {
		c := p.cell(i, at)
		if c.clone < 0 {
			return false
		}
		index[i] = c.clone
	}
	return true
}

// sources yields the indices of the source chunks that the target chunk at an index takes
// elements from, in a fixed order. If there are many, those that are not listed may be
// left out. The next iteration overwrites the index.
func (j *Job) sources(p part, at []int64, listed *Table) func(yield func([]int64) bool) {
	return func(yield func([]int64) bool) {
		box := make(grid.Box, len(at))
		index := make([]int64, len(at))
		j.sourcesFrom(p, at, 0, box, func(b grid.Box) bool {
			for k := range listed.within(b, index) {
				if !yield(k) {
					return false
				}
			}
			return true
		})
	}
}

func (j *Job) sourcesFrom(p part, at []int64, i int, box grid.Box, yield func(grid.Box) bool) bool {
	if i == len(at) {
		return yield(box)
	}
	for _, in := range p.cell(i, at).sources {
		box[i] = in
		if !j.sourcesFrom(p, at, i+1, box, yield) {
			return false
		}
	}
	return true
}

// targetBoxes yields the boxes of target chunks that take elements from a source chunk.
func (j *Job) targetBoxes(source []int64) func(yield func(grid.Box) bool) {
	return func(yield func(grid.Box) bool) {
		lists := make([][]grid.Interval, len(source))
		for i, k := range source {
			lists[i] = j.axes[i].targets(k)
		}
		products(lists, 0, make(grid.Box, len(source)), yield)
	}
}

// products yields the products of intervals, one of every list.
func products(lists [][]grid.Interval, i int, box grid.Box, yield func(grid.Box) bool) bool {
	if i == len(lists) {
		return yield(box)
	}
	for _, in := range lists[i] {
		box[i] = in
		if !products(lists, i+1, box, yield) {
			return false
		}
	}
	return true
}

// Segment is a run of planes that the target takes from the source, along the axis of a
// [Move].
type Segment struct {
	Target, Source int64 // first plane in the target, and in the source or in what is given
	Count          int64 // planes
	Given          bool  // the planes come from [Move].Given, not from the source
}

// axis relates the chunks of the target to those of the source, along one axis. A unit is
// the smallest part of a stored chunk that can be copied: an inner chunk or, if there are
// none, the chunk.
type axis struct {
	source, sourceUnits grid.Axis
	target, targetUnits grid.Axis
	segments            []Segment // in order; they cover the target
	moved               bool      // the segments are those of a move
	given               int64     // planes of what is given
}

// cell is a chunk of the target along one axis.
type cell struct {
	start, stop int64           // elements within the extent
	sources     []grid.Interval // chunks of the source that it takes elements from, in order
	given       bool            // it takes elements from what is given
	// copies is set if every unit is a unit of the source, so that nothing needs to be
	// decoded along this axis.
	copies bool
	// clone is the chunk of the source that has the same elements in the same encoded
	// shape, or -1.
	clone int64
}

// cell returns the chunk of the target with the index k.
func (a *axis) cell(k int64) (cell, error) {
	c, is, err := a.cellWithoutUnits(k)
	if err != nil {
		return c, err
	}
	if c.copies = a.unitCount(is) <= mostUnits; !c.copies {
		return c, nil // decode it part by part, rather than compare so many units
	}
	for k, _, ok := a.targetUnits.Locate(c.start); ok && c.copies; k++ {
		unit, more := a.targetUnits.Cell(k)
		if !more || unit.Logical == 0 || unit.Start >= c.stop {
			break
		}
		c.copies = a.sourceUnit(unit) >= 0
	}
	// A clone has the bytes of one source chunk: the same elements and encoded shape.
	if len(c.sources) == 1 && c.sources[0].Len() == 1 {
		from, _ := a.source.Cell(c.sources[0].Start)
		at, ok := a.sourcePlane(c.start)
		if ok && at == from.Start && from.Encoded == is.Encoded && from.Logical == is.Logical {
			c.clone = from.Index
		}
	}
	return c, nil
}

// mostUnits bounds the units of a chunk that are compared one by one along an axis.
const mostUnits = 1 << 24

// unitCount returns about how many units a chunk of the target has along the axis.
func (a *axis) unitCount(is grid.Cell) int64 {
	first, _, _ := a.targetUnits.Locate(is.Start)
	last, _, ok := a.targetUnits.Locate(is.Start + max(1, is.Logical) - 1)
	if !ok {
		return 0
	}
	return last - first + 1
}

// cellWithoutUnits returns the chunk of the target with the index k, without looking at
// its units.
func (a *axis) cellWithoutUnits(k int64) (cell, grid.Cell, error) {
	is, ok := a.target.Cell(k)
	if !ok {
		return cell{}, is, fmt.Errorf("%w: no chunk %d", grid.ErrOutOfRange, k)
	}
	c := cell{start: is.Start, stop: is.Start + is.Logical, clone: -1}
	for s := range a.segmentsIn(c.start, c.stop) {
		if s.Given {
			c.given = true
			continue
		}
		first, _, _ := a.source.Locate(s.Source)
		last, _, ok := a.source.Locate(s.Source + s.Count - 1)
		if !ok {
			return c, is, fmt.Errorf("%w: planes %d to %d of the source", grid.ErrOutOfRange, s.Source, s.Source+s.Count)
		}
		c.sources = append(c.sources, grid.Interval{Start: first, Stop: last + 1})
	}
	return c, is, nil
}

// sourcePlane returns the plane of the source that becomes a plane of the target. It
// returns false if that plane is given.
func (a *axis) sourcePlane(plane int64) (int64, bool) {
	i, _ := slices.BinarySearchFunc(a.segments, plane, func(s Segment, plane int64) int {
		if s.Target+s.Count <= plane {
			return -1
		}
		return 1
	})
	if i == len(a.segments) || a.segments[i].Target > plane || a.segments[i].Given {
		return 0, false
	}
	return a.segments[i].Source + plane - a.segments[i].Target, true
}

// segmentsIn yields the segments of the planes from start to stop.
func (a *axis) segmentsIn(start, stop int64) func(yield func(Segment) bool) {
	return func(yield func(Segment) bool) {
		for _, s := range a.segments {
			from, to := max(start, s.Target), min(stop, s.Target+s.Count)
			if from < to && !yield(Segment{Target: from, Source: s.Source + from - s.Target, Count: to - from, Given: s.Given}) {
				return
			}
		}
	}
}

// sourceUnit returns the unit of the source that has the elements of a unit of the target
// in the same encoded shape, or -1.
func (a *axis) sourceUnit(unit grid.Cell) int64 {
	at, ok := a.sourcePlane(unit.Start)
	if !ok {
		return -1
	}
	// The last plane is in the same segment, or the elements come from two places.
	if end, ok := a.sourcePlane(unit.Start + unit.Logical - 1); !ok || end-at != unit.Logical-1 {
		return -1
	}
	k, within, ok := a.sourceUnits.Locate(at)
	if !ok || within != 0 {
		return -1
	}
	from, _ := a.sourceUnits.Cell(k)
	if from.Encoded != unit.Encoded || from.Logical != unit.Logical {
		return -1
	}
	return k
}

// targets returns the chunks of the target that take elements from chunk k of the source,
// as intervals in order.
func (a *axis) targets(k int64) []grid.Interval {
	is, ok := a.source.Cell(k)
	if !ok || is.Logical == 0 {
		return nil
	}
	var list []grid.Interval
	for _, s := range a.segments {
		from, to := max(is.Start, s.Source), min(is.Start+is.Logical, s.Source+s.Count)
		if s.Given || from >= to {
			continue
		}
		first, _, _ := a.target.Locate(s.Target + from - s.Source)
		last, _, _ := a.target.Locate(s.Target + to - 1 - s.Source)
		list = append(list, grid.Interval{Start: first, Stop: last + 1})
	}
	return list
}
