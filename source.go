package zarr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/selection"
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
	return a.fail("append", a.append(ctx, axis, gain{Buffer: element.Buffer{Type: a.Type()}, from: src}, opt.orZero()))
}

var errBothGiven = fault.Argument("there are both elements and a source of elements: leave one out")

// gain is what an array grows by: elements in memory, or those of a source.
type gain struct {
	element.Buffer
	from *Source
}

// along returns how many planes along an axis the array gains. Options may say it, too.
func (g gain) along(s *state, axis int, said int64) (int64, error) {
	if g.from == nil {
		return s.planes(axis, len(g.Data), said)
	}
	shape := s.grid.Shape()
	switch {
	case s.typ.Variable():
		return 0, fault.Argument("elements of %s differ in length: a source has none of them, Append takes them", s.typ)
	case g.Data != nil:
		return 0, errBothGiven
	case g.from.Read == nil:
		return 0, fault.Argument("the source has no Read")
	case len(g.from.Shape) == len(shape):
		shape[axis] = g.from.Shape[axis]
	}
	_, fits := checked.Product(append(slices.Clone(shape), int64(s.engine.Size))...)
	switch {
	case !slices.Equal(shape, g.from.Shape) || shape[axis] < 0:
		return 0, fault.Argument("a source of shape %v does not continue shape %v along axis %d", g.from.Shape, s.grid.Shape(), axis)
	case !fits:
		return 0, fmt.Errorf("%w: a source of shape %v", ErrOverflow, shape)
	case said != 0 && said != shape[axis]:
		return 0, fault.Argument("the source has %d planes along axis %d, AppendOptions.Planes says %d", shape[axis], axis, said)
	}
	return shape[axis], nil
}

// isEmpty reports whether the planes of a gain have no elements.
func (g gain) isEmpty() bool {
	if g.from == nil {
		return len(g.Data) == 0
	}
	return slices.Contains(g.from.Shape, 0)
}

// writeFrom stores what a source has for a region, box by box.
func (s *state) writeFrom(ctx context.Context, src *Source, region grid.Box, how engine.Writing) error {
	limit, err := s.engine.BoxBytes(region)
	if err != nil {
		return err
	}
	boxes, err := s.engine.Boxes(region, limit)
	if err != nil {
		return err
	}
	var buffer *budget.Buffer
	defer func() { buffer.Put() }()
	for box := range boxes {
		n, _ := box.Len() // all elements together fit, as along has seen
		if n *= int64(s.engine.Size); buffer == nil || int64(cap(buffer.B)) < n {
			buffer.Put()
			buffer = budget.Get(n)
		}
		if err := s.writeBox(ctx, src, region, box, buffer.Bytes(n), how); err != nil {
			return err
		}
		how.FirstAlone = false
	}
	return ctx.Err()
}

// writeBox reads one box of a region to memory for it, and stores it.
func (s *state) writeBox(ctx context.Context, src *Source, region, box grid.Box, room []byte, how engine.Writing) error {
	r, err := selection.Resolve(selection.Region(box), s.grid.Shape())
	if err != nil {
		return err
	}
	within := slices.Clone(box)
	for i := range within {
		within[i].Start -= region[i].Start
		within[i].Stop -= region[i].Start
	}
	shown := slices.Clone(within)
	err = src.Read(ctx, within, room)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return &sourceError{fmt.Errorf("read elements %v of the source: %w", shown, err)}
	}
	view, err := (&selected{r, s.typ, nil}).source(element.Buffer{Type: s.typ, Data: room})
	if err != nil {
		return fmt.Errorf("elements %v of the source: %w", shown, err)
	}
	return s.engine.Write(ctx, r, view, how)
}

// sourceError is what went wrong with a source. It says nothing of the array: nobody
// overtook its writer, and it is known what was published.
type sourceError struct{ err error }

func (s *sourceError) Error() string { return s.err.Error() }

func (s *sourceError) Is(target error) bool {
	return target != ErrConflict && target != ErrIncomplete && target != ErrOutcomeUnknown && errors.Is(s.err, target)
}

// As finds what went wrong, which may be an error of the array that the source is.
func (s *sourceError) As(target any) bool { return errors.As(s.err, target) }

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
	for index := range outer.Indices() {
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
