// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/quantity"
)

// Plan says what [Make] does, or has done.
type Plan struct {
	Group   string // path of the group with the metadata
	Array   string // name of the array in the group
	Method  Method
	Factors []int64 // of every axis, 1 for axes that stay
	Levels  []Level
	// Others are the paths below the group of the levels that another program has made of
	// the array. They stay as they are.
	Others []string
	// Rebuild is set if all levels are made anew: there were none, or they were made with
	// another method or other factors, or of another layout of chunks.
	Rebuild bool
	// BytesRead are the bytes of elements that are read from the array, and those that
	// are read from levels to bring others up to date. BytesWritten are the bytes of
	// elements of the tiles that are made.
	BytesRead, BytesWritten int64
	// Memory is the number of bytes of elements that one goroutine holds at most.
	Memory int64
	// Deviation says why the metadata are not those of an image of OME-Zarr, or is "":
	// these describe 2 to 5 axes, 2 or 3 of which are of space and come last.
	Deviation string
}

// String says in one line which levels there are, and what is made of them.
func (p *Plan) String() string {
	made := int64(0)
	for _, l := range p.Levels {
		made += l.Made
	}
	text := quantity.List(quantity.Some(made, "tile", "made"), quantity.SomeBytes(p.BytesRead, "read"), quantity.SomeBytes(p.BytesWritten, "written"))
	return quantity.Of(int64(len(p.Levels)), "level") + " of " + p.Array + " (" + string(p.Method) + "): " + cmp.Or(text, "nothing to do")
}

// Level is one level of a plan.
type Level struct {
	Path  string // below the group
	Grid  *grid.Grid
	Tiles int64 // chunks that have something to store
	Made  int64 // tiles that are made
	Bytes int64 // of all elements of the level
}

// NewPlan returns what [Make] would do. It lists the chunks of the array and reads no
// elements. Errors are those of Make.
func NewPlan(ctx context.Context, a *zarr.Array, opt *Options) (*Plan, error) {
	w, err := newWork(ctx, a, opt)
	if err != nil {
		return nil, failure.On(a, "pyramid", err)
	}
	return w.plan(), nil
}

// plan returns what is to be made.
func (w *work) plan() *Plan {
	p := &Plan{
		Group: w.group.Path(), Array: w.layout.name, Method: w.Method, Factors: w.Block, Rebuild: w.rebuild,
		Deviation: deviation(w.axes()), Others: slices.Sorted(maps.Keys(w.others)),
	}
	for k, g := range w.grids {
		n, _ := grid.BoxOf(g.Shape()).Len()
		p.Levels = append(p.Levels, Level{
			Path: w.layout.path(k + 1), Grid: g, Tiles: int64(len(w.wanted[k])), Made: int64(len(w.dirty[k])), Bytes: n * int64(w.size()),
		})
		read, written := w.transfer(k)
		// A rebuild reads the array only: tiles of higher levels come from tiles in
		// memory.
		if p.BytesWritten += written; k == 0 || !w.rebuild {
			p.BytesRead += read
		}
	}
	for k := range w.grids {
		p.Memory = max(p.Memory, w.updated(k))
	}
	if len(w.grids) > 0 && w.rebuild {
		p.Memory, _ = (&cascade{work: w}).each()
	}
	return p
}

// transfer returns the bytes of elements that the tiles of a level are made of, and that
// they have.
func (w *work) transfer(k int) (read, written int64) {
	from := w.source(k)
	for n := range w.dirty[k] {
		box := boxOf(w.grids[k], indexOf(w.grids[k], n))
		size, _ := box.Len()
		written += size
		for piece := range from.pieces(w.Reducer, w.Below(box, from.grid.Shape()), w.size()) {
			// Pieces of fill values are not read.
			if from.any(piece) {
				size, _ := piece.Len()
				read += size
			}
		}
	}
	return read * int64(w.size()), written * int64(w.size())
}

// Options are the options of making a pyramid. A nil *Options is the zero value, which
// brings a pyramid up to date.
type Options struct {
	// Method is how elements are made. The zero value is that of the last time. The first
	// time it is [Mode] for names: booleans, arrays with the attribute flag_values or
	// flag_masks of CF, and label images of OME-Zarr; and else [Mean].
	Method Method
	// Factors has the number by which each axis is divided from one level to the next, 1
	// for axes that stay. Nil takes those of the last time. The first time it divides two
	// axes by 2: those named y and x, lat and lon, or latitude and longitude, or else the
	// last two.
	Factors []int64
	// Levels is the number of levels, without the array itself. 0 is that of the last
	// time. The first time it makes levels until one has a single chunk along the axes
	// that are divided, and more of them when the array has grown. A negative number
	// makes none, and removes those that were made. There are at most [MaxLevels].
	Levels int
	// Memory bounds the bytes of elements that are held at once; encoded chunks count
	// with [zarr.Options.Budget]. If a tile of every level needs more, the error wraps
	// [zarr.ErrLimit] and says how much suffices. 0 is 512 MiB, or a quarter of the
	// memory limit of the process if that is less, and more if the tiles need it.
	Memory int64
	// Progress, if not nil, is called after every tile, one call at a time.
	Progress func(done, total int64)
}

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// defaultMemory is the default of [Options.Memory].
const defaultMemory = 512 << 20

// memory returns the bytes that may be held.
func (o Options) memory() int64 { return cmp.Or(o.Memory, min(defaultMemory, 4*budget.Most())) }

// over returns the options with what is not given taken from the last time. first is the
// method of the first time.
func (o Options) over(last *record, first Method) Options {
	o.Method = cmp.Or(o.Method, last.Made.Method, first)
	if o.Levels == 0 {
		o.Levels = last.Asked
	}
	if o.Factors == nil {
		o.Factors = last.Made.Factors
	}
	return o
}

// Method is how one element is made of a block.
type Method string

// The methods. Elements that tie for the mode give the smallest of them.
const (
	Mean    Method = "mean"    // of numbers
	Nearest Method = "nearest" // the first element of the block, of any type of fixed size
	Mode    Method = "mode"    // the most frequent element, for labels
	Min     Method = "min"
	Max     Method = "max"
)

// Methods returns all methods.
func Methods() []Method { return []Method{Mean, Nearest, Mode, Min, Max} }

// centred reports whether an element stands for the whole block, and not for its first
// element. Then its position is the centre of the block.
func (m Method) centred() bool { return m != Nearest }

// reversed returns the method for numbers in the opposite order.
func (m Method) reversed() Method {
	switch m {
	case Min:
		return Max
	case Max:
		return Min
	}
	return m
}
