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
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
)

// recoding makes elements of an array those of another one that mean the same: times that
// count from another moment, in other units or in another type, or booleans, which NetCDF
// stores as numbers.
type recoding struct {
	name     string // of the array, for errors
	src, dst dtype.Type
	element  func(dst, src []byte) error
}

// recount recodes times: each file may count from its own first day.
type recount struct {
	src, dst dtype.Type
	from, to cf.Times
	hasValue func(elem []byte) bool
	// isMissing reports whether readers of the other array take an element for no value.
	isMissing func(elem []byte) bool
}

// areTruths reports whether the numbers of an array are booleans: xarray stores these as
// int8 in NetCDF, with the attribute dtype.
func areTruths(a *zarr.Array) bool {
	return (a.Type() == dtype.Int8 || a.Type() == dtype.Uint8) && cf.TextAttribute(a, "dtype") == "bool"
}

// recodingFor returns the recoding of the times or booleans of an array for another
// array, or nil if their elements are alike, or if not both have times that are stored as
// they are.
func recodingFor(ctx context.Context, name string, from, to *zarr.Array) (*recoding, error) {
	if to != nil && to.Type() == dtype.Bool && areTruths(from) {
		return &recoding{name, from.Type(), dtype.Bool, truths(from.Type())}, nil
	}
	if to == nil || !cf.IsNumeric(from.Type()) || !cf.IsNumeric(to.Type()) {
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
	r := &recount{src: from.Type(), dst: to.Type()}
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
	return &recoding{name, r.src, r.dst, r.element}, nil
}

// ReadAs returns all elements of an array in the type and, if they are times, in the
// units of another one. If their numbers mean something else, it returns an error.
func ReadAs(ctx context.Context, name string, from, to *zarr.Array) (e export.Values, err error) {
	r, err := recodingFor(ctx, name, from, to)
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
	more := export.Values{Type: r.dst}
	more.Grow(int(n))
	return more, r.recode(more.Data, e.Data, func(i int64) []int64 { return indexAt(from.Shape(), i) })
}

// recode sets dst to the elements of src, both in host byte order. index returns the
// index in the array of element i of src, for errors.
func (r *recoding) recode(dst, src []byte, index func(i int64) []int64) error {
	n, m := r.src.Size(), r.dst.Size()
	for i := int64(0); len(src) > 0; i, dst, src = i+1, dst[m:], src[n:] {
		if err := r.element(dst[:m], src[:n]); err != nil {
			at := index(i)
			place := fmt.Sprint(at)
			if len(at) == 1 {
				place = strconv.FormatInt(at[0], 10)
			}
			return failure.BadArgument("%s: element %s: %w", r.name, place, err)
		}
	}
	return nil
}

// truths returns a function that sets dst to the boolean that a number of a type of one
// byte stands for.
func truths(t dtype.Type) func(dst, src []byte) error {
	return func(dst, src []byte) error {
		if src[0] > 1 { // -1 is 255
			return failure.BadArgument("%s is no boolean: only 0 and 1 are", t.AppendText(nil, src))
		}
		dst[0] = src[0]
		return nil
	}
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

// element sets dst to the time that src stands for.
func (r *recount) element(dst, src []byte) error {
	if err := r.time(dst, src); err != nil {
		return failure.BadArgument("time %s cannot be stored here: %w", r.src.AppendText(nil, src), err)
	}
	return nil
}

func (r *recount) time(dst, src []byte) error {
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
