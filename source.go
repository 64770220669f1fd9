// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
)

// Source is a block of elements that is read box by box while it is stored, so that it
// need not fit into memory: a file, another array, or a function that computes elements.
type Source struct {
	// Shape is the shape of the block.
	Shape []int64
	// DimensionNames are the names of its axes, if they are known; "" is an axis without
	// one. An axis that has another name than that of the array is an error, so that no
	// plane (y, t) is stored as one (t, y). Package cf compares coordinates
	// ([varve.dev/zarr/cf.CheckAxes]).
	DimensionNames []string
	// Read fills dst with the elements of a box of the block, in C order and host byte
	// order. It is called for one box at a time, and once for each box. If another writer
	// publishes first, the append starts again and reads all boxes again. It must not
	// change the array that grows, but it may read it. An error ends the operation, and
	// nothing changes.
	Read func(ctx context.Context, box grid.Box, dst []byte) error
}

// SourceAt returns a source that reads elements from r, where they are in C order and
// host byte order from the beginning. An [io.SectionReader] reads from a part of a file.
func SourceAt(r io.ReaderAt, shape ...int64) *Source {
	f := &sourceFile{r, slices.Clone(shape)}
	return &Source{Shape: f.shape, Read: f.read}
}

// AppendFrom is [Append] with the elements of a source. The source must have the shape of
// the array along all other axes. It is read in boxes of whole chunks or shards. This
// takes memory for the chunks that fit into half of [Options.Budget], and at least one,
// in addition to the budget. [AppendOptions.Planes] is not needed.
//
// Data types of variable length are not supported; the error wraps [ErrInvalidArgument].
func (a *Array) AppendFrom(ctx context.Context, axis int, src *Source, opt *AppendOptions) error {
	if src == nil {
		return a.fail("append", fault.Argument("there is no source"))
	}
	return a.fail("append", a.append(ctx, axis, snapshot.Gain{Buffer: element.Buffer{Type: a.Type()}, From: (*snapshot.Source)(src)}, opt.orZero()))
}

// sourceFile is the source of [SourceAt].
type sourceFile struct {
	r     io.ReaderAt
	shape []int64
}

// longestRun bounds one read in bytes, so that cancelling the context takes effect soon.
const longestRun = 8 << 20

// read reads a box in the longest contiguous runs.
func (f *sourceFile) read(ctx context.Context, box grid.Box, dst []byte) error {
	n, _ := box.Len()
	size := int64(len(dst)) / max(1, n)
	outer := slices.Clone(box) // one index for each run
	run := size                // bytes
	steps := make([]int64, len(box))
	for i, step, whole := len(box)-1, size, true; i >= 0; i-- {
		steps[i] = step
		// As long as the inner axes are read completely, the run continues into the next
		// outer axis.
		if whole {
			run *= box[i].Len()
			outer[i].Stop = outer[i].Start + 1
			whole = box[i].Len() == f.shape[i]
		}
		step *= f.shape[i]
	}
	for index := range outer.IndicesInto(make([]int64, len(outer))) {
		at := int64(0)
		for i, k := range index {
			at += k * steps[i]
		}
		for left := run; left > 0; {
			if err := ctx.Err(); err != nil {
				return err
			}
			part := dst[:min(left, longestRun)]
			// ReadAt may return io.EOF together with all bytes, which is not an error
			// here.
			if n, err := f.r.ReadAt(part, at); n < len(part) {
				return short(at+int64(n), err)
			}
			left -= int64(len(part))
			at += int64(len(part))
			dst = dst[len(part):]
		}
	}
	return nil
}

// short returns the error of a read that returned too few bytes.
func short(at int64, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("at byte %d: %w", at, err)
}
