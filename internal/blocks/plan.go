// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"errors"
	"fmt"

	"varve.dev/zarr/grid"
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
		return all, fmt.Errorf("%w: amplification %g, %d bytes per request, %d stages", ErrInvalid, o.Amplification, o.Request, o.Stages)
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
