// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
)

// recount converts times that count from another moment, in other units or in another
// type: each file may count from its own first day. It also converts the numbers 0 and 1
// to booleans, which NetCDF does not have.
type recount struct {
	name     string
	src, dst dtype.Type
	shape    []int64 // of booleans; nil for times
	from, to cf.Times
	hasValue func(elem []byte) bool
	// isMissing reports whether readers of the other array take an element for no value.
	isMissing func(elem []byte) bool
}

// areTruths reports whether the numbers of an array are booleans: xarray stores these as
// int8 in NetCDF, with the attribute dtype.
func areTruths(a *zarr.Array) bool {
	return (a.Type() == dtype.Int8 || a.Type() == dtype.Uint8) && source.Attribute(a, "dtype") == "bool"
}

// recountFor returns the conversion of the times or booleans of an array for another
// array, or nil if there is nothing to convert, or if not both have times that are stored
// as they are.
func recountFor(ctx context.Context, name string, from, to *zarr.Array) (*recount, error) {
	if to != nil && to.Type() == dtype.Bool && areTruths(from) {
		return &recount{name: name, src: from.Type(), dst: dtype.Bool, shape: from.Shape()}, nil
	}
	if to == nil || !element.IsNumeric(from.Type()) || !element.IsNumeric(to.Type()) {
		return nil, nil
	}
	there, err := cf.UnitsIn(ctx, from)
	if err != nil {
		return nil, err
	}
	here, err := cf.UnitsIn(ctx, to)
	if err != nil {
		return nil, err
	}
	r := &recount{name: name, src: from.Type(), dst: to.Type()}
	var is, also bool
	r.from, is = there.Times()
	r.to, also = here.Times()
	if !is || !also || !r.from.CanBe(r.to) || r.src == r.dst && there.Alike(here) {
		return nil, nil
	}
	p, err := cf.PackingOf(ctx, from)
	if err != nil {
		return nil, nil // CheckEncoding reports it
	}
	q, err := cf.PackingOf(ctx, to)
	if err != nil || p.IsScaled() || q.IsScaled() || p.Type() != r.src || q.Type() != r.dst {
		return nil, nil
	}
	// In the coordinate of a dimension, 0 is a time like others.
	if cf.IsCoordinate(from) {
		p = p.OfCoordinate()
	}
	if cf.IsCoordinate(to) {
		q = q.OfCoordinate()
	}
	r.hasValue, r.isMissing = p.HasValue, q.IsMissing
	return r, nil
}

// ReadAs returns all elements of an array in the type and, if they are times, in the
// units of another one. If their numbers mean something else, it returns an error.
func ReadAs(ctx context.Context, name string, from, to *zarr.Array) (e element.Values, err error) {
	r, err := recountFor(ctx, name, from, to)
	if err == nil && r == nil {
		if from.Type() != to.Type() {
			return e, failure.BadArgument("%s has elements of type %s, and here they are of type %s", name, from.Type(), to.Type())
		}
		err = CheckSegment(ctx, name, from, to, 0)
	}
	if err != nil {
		return e, err
	}
	n, _ := checked.Product(from.Shape()...)
	e.Type = from.Type()
	e.Grow(int(n))
	if err := e.Read(ctx, from, nil); err != nil || r == nil {
		return e, err
	}
	more := element.Values{Type: r.dst}
	more.Grow(int(n))
	return more, r.convert(more.Data, e.Data, 0)
}

// convert sets dst to the times of src, elements in host byte order. first is the index
// of the first one, for errors, or negative if the array has several axes.
func (r *recount) convert(dst, src []byte, first int64) error {
	if r.shape != nil {
		return r.truths(dst, src, func(i int) []int64 { return indexAt(r.shape, first+int64(i)) })
	}
	n, m := r.src.Size(), r.dst.Size()
	for i := first; len(src) > 0; i, dst, src = i+1, dst[m:], src[n:] {
		if err := r.element(dst[:m], src[:n]); err != nil {
			place := ""
			if first >= 0 {
				place = fmt.Sprintf("element %d: ", i)
			}
			return failure.BadArgument("%s: %stime %s cannot be stored here: %w", r.name, place, r.src.AppendText(nil, src[:n]), err)
		}
	}
	return nil
}

// truths sets dst to the booleans that the numbers 0 and 1 in src stand for. index
// returns the index of one of them in the array, for errors.
func (r *recount) truths(dst, src []byte, index func(i int) []int64) error {
	for i, number := range src {
		if number > 1 {
			return failure.BadArgument("%s: element %v is %s, which is no boolean: only 0 and 1 are", r.name, index(i), r.src.AppendText(nil, src[i:i+1]))
		}
		dst[i] = number
	}
	return nil
}

// indexAt returns the index of an element by its number in C order.
func indexAt(shape []int64, number int64) []int64 {
	index := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		index[i], number = number%shape[i], number/shape[i]
	}
	return index
}

// indexIn returns the index of an element by its number in C order in a box.
func indexIn(box grid.Box, number int64) []int64 {
	shape := make([]int64, len(box))
	for i, in := range box {
		shape[i] = in.Len()
	}
	index := indexAt(shape, number)
	for i, in := range box {
		index[i] += in.Start
	}
	return index
}

func (r *recount) element(dst, src []byte) error {
	if !r.hasValue(src) {
		return failure.BadArgument("it is missing there")
	}
	at, err := r.from.Instant(string(r.src.AppendText(nil, src)))
	if err != nil {
		return err
	}
	// A float has fewer digits than a moment.
	if r.src.Kind() == dtype.KindFloat && r.from.Length() >= time.Microsecond {
		at = at.Round(time.Microsecond)
	}
	if err := r.from.Agree(r.to, at); err != nil {
		return err
	}
	text := ""
	if r.dst.Kind() == dtype.KindFloat {
		text = strconv.FormatFloat(r.to.CountFloat(at), 'g', -1, 64)
	} else {
		n, err := r.to.Count(at)
		if err != nil {
			return err
		}
		text = strconv.FormatInt(n, 10)
	}
	elem, err := r.dst.ParseText(text)
	if err != nil {
		return err
	}
	if r.isMissing(elem) {
		return failure.BadArgument("the number would be %s, which stands for no value here", text)
	}
	copy(dst, elem)
	if r.dst.Kind() != dtype.KindFloat {
		return nil
	}
	back, err := r.to.Instant(string(r.dst.AppendText(nil, elem)))
	if err == nil && distance(at, back) > time.Millisecond {
		err = failure.BadArgument("type %s has too few digits", r.dst)
	}
	return err
}

// distance returns how far moments are apart, up to what matters.
func distance(a, b calendar.Instant) time.Duration {
	return time.Duration(math.Min(math.Abs(float64(a.Day-b.Day)*float64(24*time.Hour)+float64(a.Nano-b.Nano)), 1e18))
}
