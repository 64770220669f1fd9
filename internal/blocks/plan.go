// SPDX-License-Identifier: Apache-2.0

// Package blocks plans how to rechunk an array within a memory budget. It only does
// arithmetic, no I/O.
//
// The source is a grid of read units, the target a grid of write units, both over one
// shape. A read unit is what can be read alone: a chunk, or an inner chunk of a shard. A
// write unit is a whole stored object. A [Plan] has one stage or more, and each stage has
// a grid of blocks. The block is the task: it is read, held in memory as a whole, and
// written.
//
//   - In a plan of one stage, each block is a union of write units. It reads every read
//     unit that it touches. Units that lie across the border of two blocks are read twice.
//   - In a plan of several stages, each block of the first is a union of read units, and
//     each block of the last is a union of write units. All stages but the last write one
//     scratch object per block.
//
// A scratch object holds the pieces into which the blocks of the next stage cut its
// block, one after the other in C order, and the elements of each piece in C order. So a
// block of the next stage reads one range of each scratch object that it meets. [Pieces]
// and [Sources] list them for the writer and for the reader. Along an axis there are as
// many pieces as cells in the common refinement of both grids. Chunks of 1000 and of 999
// elements make about twice as many pieces as chunks, where the least common multiple
// would make a thousand times as many.
//
// # Cost
//
// The cost of a plan is the number of bytes that it reads and writes, plus 1 MiB for each
// request ([Options]). An object store answers a request in 10 to 20 ms, and transfers
// about 1 MiB over one connection in that time.
//
// [New] prefers one stage. It considers more if one stage would read more than twice the
// bytes of the source, and then takes the number of stages that costs least. Blocks of
// the stages between are spaced geometrically. Each of them merges cells of its
// neighbour, so that their borders coincide where possible.
//
// # Bytes
//
// A block counts with the elements within the array. The units that a task decodes or
// encodes at one time come on top of it. Requests of units count with their encoded
// length, which also includes what lies beyond the extent. All bytes are those of decoded
// elements.
//
// # Growth
//
// While an array is rechunked, it may grow. [Plan.Grown] keeps the stages and all blocks
// before the old end, so that most scratch objects stay.
//
// # Determinism
//
// Equal arguments give equal plans on every machine. All decisions rest on integers and
// on single operations of IEEE 754, none on functions that round differently between
// processors. Time and memory grow with the number of runs of equal lengths, not with
// that of cells.
package blocks

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
)

// ErrInvalid means that an argument makes no sense.
var ErrInvalid = errors.New("blocks: invalid argument")

// mostStages is the largest number of stages that may be asked for.
const mostStages = 16

// Options changes how [New] decides.
type Options struct {
	// Amplification is how many times the bytes of the source one stage may read
	// before several stages are considered. The default is 2.
	Amplification float64
	// Request is the number of bytes that cost as much as one request. The default is
	// 1 MiB. It must not be negative.
	Request int64
	// Stages is the largest number of stages, at most 16. The default is 6.
	Stages int
	// Parts, if not nil, cuts the units of the source into parts that can be read without
	// the others. Of a unit, a block of the source reads only the parts that it touches,
	// with one request.
	Parts *grid.Grid
}

// orDefault returns the options with defaults for zero values.
func (o *Options) orDefault() (Options, error) {
	all := Options{Amplification: 2, Request: 1 << 20, Stages: 6}
	if o == nil {
		return all, nil
	}
	if !(o.Amplification >= 0) || o.Request < 0 || o.Stages < 0 || o.Stages > mostStages {
		return all, fmt.Errorf("%w: amplification %g, %s per request, %s", ErrInvalid, o.Amplification, quantity.Count(o.Request, "bytes"), quantity.Count(o.Stages, "stages"))
	}
	if o.Amplification > 0 {
		all.Amplification = o.Amplification
	}
	if o.Request > 0 {
		all.Request = o.Request
	}
	if o.Stages > 0 {
		all.Stages = o.Stages
	}
	all.Parts = o.Parts
	return all, nil
}

// Plan is how to rechunk an array.
type Plan struct {
	Stages []Stage // at least one; a stage begins when the one before it is complete
	Cost   float64 // bytes, and requests as bytes; see the package comment
}

// New plans how to rechunk an array within a memory budget. source is the grid of what
// can be read alone, target the grid of what must be written as a whole. size is the
// number of bytes of an element, or an estimate if that varies. memory is the largest
// number of bytes of a block.
//
// New returns a [*FitError] if a unit of either grid, or a part of one, exceeds memory,
// and an error that wraps [ErrInvalid] if the grids have different shapes or a number is
// out of range. It returns an error that wraps [grid.ErrUnsupported] if an axis has more
// than 2^22 runs of equal lengths.
func New(source, target *grid.Grid, size, memory int64, o *Options) (*Plan, error) {
	p, err := newPlanner(source, target, size, memory, o)
	if err != nil {
		return nil, err
	}
	return p.plan()
}

// planner holds the arguments of [New].
type planner struct {
	Options
	shape          []int64
	source, target []*line
	parts          []*line // of the units of the source: what is read of them
	size           int64   // bytes per element
	most           int64   // elements of a block
}

// newPlanner checks the arguments.
func newPlanner(source, target *grid.Grid, size, memory int64, o *Options) (*planner, error) {
	options, err := o.orDefault()
	if err != nil {
		return nil, err
	}
	shape := source.Shape()
	if !slices.Equal(shape, target.Shape()) {
		return nil, fmt.Errorf("%w: shapes %v and %v", ErrInvalid, shape, target.Shape())
	}
	if size < 1 || memory < 1 {
		return nil, fmt.Errorf("%w: elements of %s and blocks of %d", ErrInvalid, quantity.Count(size, "bytes"), memory)
	}
	p := &planner{Options: options, shape: shape, size: size, most: memory / size}
	if p.source, err = linesOf(source); err != nil {
		return nil, fmt.Errorf("blocks: source: %w", err)
	}
	if p.target, err = linesOf(target); err != nil {
		return nil, fmt.Errorf("blocks: target: %w", err)
	}
	if p.parts = p.source; p.Parts != nil {
		if !slices.Equal(shape, p.Parts.Shape()) {
			return nil, fmt.Errorf("%w: shapes %v and %v", ErrInvalid, shape, p.Parts.Shape())
		}
		if p.parts, err = linesOf(p.Parts); err != nil {
			return nil, fmt.Errorf("blocks: parts of the source: %w", err)
		}
	}
	return p, p.checkFit(memory)
}

// linesOf returns the axes of a grid.
func linesOf(g *grid.Grid) ([]*line, error) {
	lines := make([]*line, g.Rank())
	for i := range lines {
		var err error
		if lines[i], err = lineOf(g.Axis(i)); err != nil {
			return nil, fmt.Errorf("axis %d: %w", i, err)
		}
	}
	return lines, nil
}

// plan chooses between one stage and several.
func (p *planner) plan() (*Plan, error) {
	// Without elements there is nothing to choose.
	if slices.Contains(p.shape, 0) {
		return p.finish(p.measureChain(chain{p.target}))
	}
	one, _ := choose(p.target, p.parts, p.most, (*tally).amplification)
	best := p.measureChain(chain{one})
	if best.stages[0].Amplification > p.Amplification {
		best = p.cheaper(best)
	}
	return p.finish(best)
}

// cheaper returns a draft of several stages that costs less than one of one stage, or
// that one.
func (p *planner) cheaper(best draft) draft {
	// Read blocks have whole units.
	if p.Stages < 2 || !(chain{p.source}).fits(p.most) {
		return best
	}
	read, write := endBlocks(p.source, p.target, p.most)
	for n := 2; n <= p.Stages; n++ {
		// Rounding may exceed the budget by an element. Another number of stages fits.
		c := intermediate(read, write, n)
		if !c.fits(p.most) {
			continue
		}
		if d := p.measureChain(c); d.cost < best.cost {
			best = d
		}
	}
	return best
}

// Grown returns the plan for an array that has grown since p was made for it. source and
// target are its present grids, whose cells up to the old extent are those of p; the
// other arguments are those of [New]. The stages stay, and so do all blocks but the last
// ones along an axis that has grown: scratch objects of these blocks remain valid, where
// a new plan might cut all of them in another way.
//
// Grown returns an error if the array has not grown, or the blocks no longer fit into the
// memory. Then make a new plan.
func (p *Plan) Grown(source, target *grid.Grid, size, memory int64, o *Options) (*Plan, error) {
	now, err := newPlanner(source, target, size, memory, o)
	if err != nil {
		return nil, err
	}
	old := make(chain, len(p.Stages))
	for k, s := range p.Stages {
		if old[k], err = linesOf(s.Blocks); err != nil {
			return nil, err
		}
		for i, l := range old[k] {
			if l.extent == 0 || l.extent > now.shape[i] {
				return nil, fmt.Errorf("%w: axis %d has %s, and had %d", ErrInvalid, i, quantity.Count(now.shape[i], "elements"), l.extent)
			}
		}
	}
	c := make(chain, len(old))
	for k := range c {
		c[k] = make([]*line, len(now.shape))
	}
	for i := range now.shape {
		c.grow(old, i, now.source[i], now.target[i])
	}
	if !c.fits(now.most) {
		return nil, fmt.Errorf("%w: grown blocks exceed %s", ErrInvalid, quantity.Count(memory, "bytes"))
	}
	return now.finish(now.measureChain(c))
}

// grow sets the blocks along one axis to those of a plan for a smaller extent, and more
// of them. As in space, the blocks of the stages between merge those of a neighbour.
func (c chain) grow(old chain, axis int, source, target *line) {
	last := len(c) - 1
	c[0][axis] = old[0][axis].growTo(source)
	if last == 0 {
		c[0][axis] = old[0][axis].growTo(target)
		return
	}
	c[last][axis] = old[last][axis].growTo(target)
	if old[0][axis].longest < old[last][axis].longest {
		for k := 1; k < last; k++ {
			c[k][axis] = old[k][axis].growTo(c[k-1][axis])
		}
		return
	}
	for k := last - 1; k > 0; k-- {
		c[k][axis] = old[k][axis].growTo(c[k+1][axis])
	}
}

// growTo returns the cells of the line but the last one, and after them those of units,
// joined up to the longest length of the line.
func (l *line) growTo(units *line) *line {
	if l.extent == units.extent {
		return l
	}
	g := new(line)
	for i, r := range l.runs {
		if i == len(l.runs)-1 {
			r.count--
		}
		g.addBlocks(r.length, r.count)
	}
	units.merge(g.extent, units.extent, l.longest, 0, g.addBlocks)
	return g
}

// FitError means that one unit needs more memory than a block may have. A smaller budget
// than its Bytes fits no plan.
type FitError struct {
	IsWrite bool    // the unit is one of the target
	Index   []int64 // position of the first such unit in its grid
	Unit    []int64 // its shape within the array
	Shape   []int64 // shape of the array
	Bytes   int64   // of the unit within the array; the largest int64 if there are more
	Memory  int64   // largest number of bytes of a block
}

// Error names the unit and what it needs.
func (e *FitError) Error() string {
	kind := "read"
	if e.IsWrite {
		kind = "write"
	}
	return fmt.Sprintf("blocks: no block fits into %s: %s unit %v has shape %v and takes %s, in an array of shape %v",
		quantity.Count(e.Memory, "bytes"), kind, e.Index, e.Unit, quantity.Count(e.Bytes, "bytes"), e.Shape)
}

// checkFit returns an error if the largest unit of either side exceeds the budget. That
// of the target comes first, because a block is never smaller than one write unit.
func (p *planner) checkFit(memory int64) error {
	if slices.Contains(p.shape, 0) {
		return nil
	}
	for _, isWrite := range []bool{true, false} {
		units := p.parts
		if isWrite {
			units = p.target
		}
		e := &FitError{IsWrite: isWrite, Shape: p.shape, Memory: memory}
		bytes := count(p.size)
		for _, l := range units {
			e.Index, e.Unit = append(e.Index, l.indexOf(l.longest)), append(e.Unit, l.longest)
			bytes = bytes.times(count(l.longest))
		}
		if e.Bytes = bytes.exact; e.Bytes > memory {
			return e
		}
	}
	return nil
}

// Piece is what a block of one stage and a block of the next one have in common. It is
// one range of the scratch object of the earlier block, with its elements in C order.
type Piece struct {
	Block  []int64  // index of the block on the other side
	Box    grid.Box // region of the array
	Offset int64    // elements before the piece in the scratch object
}

// Pieces yields the pieces of the scratch object of a block, in the order in which they
// are stored. next is the grid of the blocks of the next stage. All pieces share the
// memory of the first, so one is valid until the next is yielded. Pieces returns an error
// that wraps [grid.ErrOutOfRange] if there is no such block.
func Pieces(blocks, next *grid.Grid, index []int64) (iter.Seq[*Piece], error) {
	return commonPieces(blocks, next, index, true)
}

// Sources yields the pieces that a block reads, in C order. previous is the grid of the
// blocks of the stage before, which wrote the scratch objects. All pieces share the
// memory of the first, so one is valid until the next is yielded. Sources returns an
// error that wraps [grid.ErrOutOfRange] if there is no such block.
func Sources(previous, blocks *grid.Grid, index []int64) (iter.Seq[*Piece], error) {
	return commonPieces(blocks, previous, index, false)
}

// commonPieces yields what a block has in common with those of another grid. The scratch
// objects are those of the block, or of the other grid.
func commonPieces(blocks, other *grid.Grid, index []int64, isWriter bool) (iter.Seq[*Piece], error) {
	c, ok := blocks.Chunk(index)
	if !ok {
		return nil, fmt.Errorf("blocks: %w: block %v of a grid of %v", grid.ErrOutOfRange, index, blocks.Chunks())
	}
	box := c.Box()
	met, err := other.Touched(box)
	if err != nil {
		return nil, fmt.Errorf("blocks: %w", err)
	}
	return func(yield func(*Piece) bool) {
		rank := len(box)
		p := Piece{Block: make([]int64, rank), Box: make(grid.Box, rank)}
		cell, object := grid.NewChunk(rank), make(grid.Box, rank)
		for more := met.First(p.Block); more; more = met.Next(p.Block) {
			other.Cell(p.Block, cell)
			for i := range object {
				object[i] = grid.Interval{Start: cell.Start[i], Stop: cell.Start[i] + cell.Logical[i]}
				p.Box[i] = box[i].Intersect(object[i])
			}
			if isWriter {
				copy(object, box)
			}
			p.Offset = offset(object, p.Box)
			if !yield(&p) {
				return
			}
		}
	}, nil
}

// offset returns the number of elements before a piece in the scratch object of a block.
// It depends on no other piece: those before it along an axis have the same extent as the
// piece along earlier axes, and fill the block along later ones.
func offset(object, piece grid.Box) int64 {
	before, across := int64(0), int64(1)
	for i, in := range piece {
		before = before*object[i].Len() + across*(in.Start-object[i].Start)
		across *= in.Len()
	}
	return before
}
