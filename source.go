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

// Source is a block of elements that is read box by box while it is stored, so that
// memory need not hold all of it: a file, another array, or whatever computes elements.
type Source struct {
	// Shape is that of the block.
	Shape []int64
	// Read fills dst with the elements of a box of the block, in C order and the byte
	// order of the host. Boxes come one at a time. Each is read once, and once more for
	// every time that another writer publishes first. It must not change the array that
	// grows; it may read that array, whose elements stay as they are. What goes wrong
	// ends the operation, and nothing changes.
	Read func(ctx context.Context, box grid.Box, dst []byte) error
}

// SourceAt returns a source of the given shape whose elements stand in C order in r, from
// its beginning, in the byte order of the host. What an [io.SectionReader] shows may be a
// part of a file.
func SourceAt(r io.ReaderAt, shape ...int64) *Source {
	f := &sourceFile{r, slices.Clone(shape)}
	return &Source{Shape: f.shape, Read: f.read}
}

// AppendFrom is [Append] of what src has, whose shape along all other axes is that of the
// array. It is read in boxes of whole chunks, shards where chunks are shards, so that it
// takes memory for one chunk, or for as many as fit into half of [Options.Budget],
// besides that budget. [AppendOptions.Planes] is not needed.
//
// Elements that differ in length wrap [ErrInvalidArgument]: [Append] takes them.
func (a *Array) AppendFrom(ctx context.Context, axis int, src *Source, opt *AppendOptions) error {
	if src == nil {
		return a.fail("append", fault.Argument("there is no source"))
	}
	return a.fail("append", a.append(ctx, axis, snapshot.Gain{Buffer: element.Buffer{Type: a.Type()}, From: (*snapshot.Source)(src)}, opt.orZero()))
}

// sourceFile is a source whose elements stand in C order.
type sourceFile struct {
	r     io.ReaderAt
	shape []int64
}

// longestRun is how many bytes are read at a time: between two runs one may stop.
const longestRun = 8 << 20

// read reads a box in runs as long as they can be.
func (f *sourceFile) read(ctx context.Context, box grid.Box, dst []byte) error {
	n, _ := box.Len()
	size := int64(len(dst)) / max(1, n)
	outer := slices.Clone(box) // one index for each run
	run := size                // bytes
	steps := make([]int64, len(box))
	for i, step, whole := len(box)-1, size, true; i >= 0; i-- {
		steps[i] = step
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

// short returns the error of a reader that gave less than was asked for.
func short(at int64, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("at byte %d: %w", at, err)
}
