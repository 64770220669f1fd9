// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/mistake"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/transfer"
)

// Counts are what a plan predicts, and what was done. In a store that cannot be listed,
// Do counts chunks as if all were stored.
type Counts struct {
	Copied       int64 // chunks that are kept whole, without decoding
	Encoded      int64 // chunks that are encoded anew; some may have only the fill value
	Read         int64 // stored chunks of which a part is kept, and which are decoded
	Dropped      int64 // stored chunks of which nothing is kept
	BytesCopied  int64 // of the encoded chunks
	BytesDropped int64
	BytesRead    int64 // of the stored chunks that are decoded; only of a plan
	BytesDecoded int64 // of the kept elements that are decoded
	BytesEncoded int64 // of elements, before compression
}

func (c *Counts) add(o Counts) {
	c.Copied += o.Copied
	c.Encoded += o.Encoded
	c.Read += o.Read
	c.Dropped += o.Dropped
	c.BytesCopied += o.BytesCopied
	c.BytesDropped += o.BytesDropped
	c.BytesRead += o.BytesRead
	c.BytesDecoded += o.BytesDecoded
	c.BytesEncoded += o.BytesEncoded
}

// Filtered is an array of a plan.
type Filtered struct {
	Path string // below the node, "" for itself
	Axis int
	Grid *grid.Grid // of the result
	Counts
}

// Plan says what [Do] would do.
type Plan struct {
	Dimension  string // "" if the axis has no name
	Rows, Kept int64
	Arrays     []Filtered
	Counts           // of all arrays
	Memory     int64 // the most bytes that are held at once
	// Others counts the nodes, and the values of arrays without the dimension, which are
	// copied as they are.
	Others transfer.Report
}

// String says in one line how many rows are kept, and what becomes of the chunks.
func (p *Plan) String() string { return keptText(p.Rows, p.Kept, p.Counts) }

// NewPlan predicts what [Do] would do. It evaluates the condition, lists the stored
// chunks, and changes nothing.
func NewPlan(ctx context.Context, src, dst *zarr.Location, r Request, opt *Options) (*Plan, error) {
	t, kept, err := filtering(ctx, src, r, opt, staging.List)
	if err != nil {
		return nil, fail(src, err)
	}
	p := &Plan{Dimension: t.dimension, Rows: t.n, Kept: kept.count(t.allRows()), Memory: t.memory()}
	derived := map[string]convert.Derived{}
	for _, a := range t.arrays {
		f, err := a.predict()
		if err != nil {
			return nil, fail(src, err)
		}
		p.Arrays = append(p.Arrays, f)
		p.add(f.Counts)
		derived[a.path] = convert.Derived{Document: a.doc, Confirm: a.confirm}
	}
	how := t.copying()
	how.DryRun = true
	p.Others, err = convert.Derive(ctx, src, dst, convert.Derivation{Arrays: derived}, how)
	return p, fail(src, err)
}

// predict predicts what becomes of the stored chunks of an array.
func (r *array) predict() (f Filtered, err error) {
	f = Filtered{Path: r.path, Axis: r.axis}
	if f.Grid, err = r.grid(); err == nil {
		f.Counts = r.tally()
	}
	return f, err
}

// grid returns the grid of the result.
func (r *array) grid() (*grid.Grid, error) {
	spec, err := zarr.SpecOf(r.doc)
	return spec.Grid, err
}

// tally counts what becomes of the stored chunks.
func (r *array) tally() Counts {
	n, encoded := Counts{}, map[int64]bool{}
	for index := range r.candidates() {
		s, size := r.slabs[index[r.axis]], int64(0)
		if r.stored != nil {
			size = r.stored.Size(index)
		}
		switch {
		case s.kept == 0:
			n.add(Counts{Dropped: 1, BytesDropped: size})
		case s.whole:
			n.add(Counts{Copied: 1, BytesCopied: size})
		default:
			bytes := s.kept * r.planeBytes(index)
			n.add(Counts{Read: 1, BytesRead: size, BytesDecoded: bytes, BytesEncoded: bytes})
			for k := s.first; k <= s.last; k++ {
				encoded[r.number(index, k)] = true
			}
		}
	}
	n.Encoded = int64(len(encoded))
	return n
}

// candidates yields the chunks of the source that are stored, or all of them in a store
// that cannot be listed. The next iteration overwrites the index.
func (r *array) candidates() func(yield func([]int64) bool) {
	if r.stored == nil {
		return grid.BoxOf(r.source.Grid.Chunks()).IndicesInto(make([]int64, r.source.Grid.Rank()))
	}
	return r.stored.All()
}

// number returns the number in C order of the chunk of the result with a piece, and with
// the other indices of a chunk of the source.
func (r *array) number(index []int64, piece int64) int64 {
	n := int64(0)
	for i, k := range index {
		length := r.source.Grid.Axis(i).Cells()
		if i == r.axis {
			k, length = piece, int64(len(r.pieces))
		}
		n = n*length + k
	}
	return n
}

// planeBytes returns the bytes of the elements of one plane of a chunk.
func (r *array) planeBytes(index []int64) int64 {
	n := int64(r.source.Engine.Size)
	for i, k := range index {
		if i != r.axis {
			cell, _ := r.source.Grid.Axis(i).Cell(k)
			n *= cell.Logical
		}
	}
	return n
}

// Request says which rows are kept.
type Request struct {
	// Where is the condition that rows fulfil, or nil.
	Where *Expression
	// Mask has one bool for every row, or is nil. Either Where or Mask must be set.
	Mask []bool
	// Dimension is the name of the filtered dimension. All arrays of a group that have it
	// are filtered. "" is the dimension of the arrays that Where names; of a single
	// array, it is that of Axis; and of a sparse matrix of AnnData, that of the rows of
	// indptr, which may be the columns of the matrix.
	Dimension string
	// Axis is the filtered axis of a single array if Dimension is "".
	Axis int
}

func (r *Request) check() error {
	if (r.Where == nil) == (r.Mask == nil) {
		return fmt.Errorf("%w: either a condition or a mask must be given", zarr.ErrInvalidArgument)
	}
	return nil
}

// Options configure [NewPlan] and [Do]. A nil *Options is the zero value.
type Options struct {
	// Options open the nodes, with limits, codecs, durability and observer. Write is not
	// needed.
	zarr.Options
	// Overwrite first removes a node at the destination. That is not atomic: a crash
	// before the result is complete leaves no node there.
	Overwrite bool
	// Memory bounds the bytes of elements, chunks and rows that are held at once. A
	// single chunk may need more. 0 is 512 MiB, or a quarter of the memory limit of the
	// process if that is less.
	Memory int64
	// Progress, if not nil, is called after chunks of filtered arrays are stored, one
	// call at a time.
	Progress func(done, total int64)
}

// defaultMemory is the default of [Options.Memory].
const defaultMemory = 512 << 20

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// memory returns the bytes that may be held.
func (o *Options) memory() int64 {
	return max(1, cmp.Or(o.Memory, min(defaultMemory, 4*budget.Most())))
}

// Parts of the memory. Two blocks are in work at once, so that one is read while the
// other is written.
const tasks = 2

// block returns the bytes of the elements of one block.
func (o *Options) block() int64 { return max(1, o.memory()/(2*tasks)) }

// engine returns the budget of reading or writing one block.
func (o *Options) engine() int64 { return max(1, o.memory()/(4*tasks)) }

// reading returns the options for opening the source.
func (o *Options) reading() *zarr.Options {
	r := o.Options
	r.Write, r.Finish, r.RequireChunks = false, false, false
	return &r
}

// nameError reports a name in a condition that no array has. The array would be at the
// path, from the root of the store.
func nameError(name, path string) error {
	return &mistake.Name{Name: name, Err: fmt.Errorf("%w: the condition names %q, and there is no array %s; write text in quotes", zarr.ErrInvalidArgument, name, path)}
}
