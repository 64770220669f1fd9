// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// AxisPair is an axis of elements, and the axis of an array or a view where they go.
type AxisPair struct {
	From, To int
	// Grows says that the elements continue the axis, so that their labels differ from
	// those that are there.
	Grows bool
}

// CheckAxes returns an error if elements would be stored under other names or labels than
// they have: if an axis has another name, if the coordinates of an axis differ that does
// not grow, by the values for which they stand, or if the grid mappings do. Coordinates
// in other units or calendars agree if they stand for the same times. What only one side
// knows is not compared: a name, a coordinate, or an element of one that is missing or
// was never written.
//
// The error wraps [zarr.ErrInvalidArgument], and is a [grid.AxisError] if it is about an
// axis, with its number in to.
func CheckAxes(ctx context.Context, from, to zarr.Elements, pairs ...AxisPair) error {
	for _, p := range pairs {
		name, here := axisName(from, p.From), axisName(to, p.To)
		if name == "" || here == "" {
			continue
		}
		err := error(nil)
		if name != here {
			err = invalid("it is the axis %q there and %q here", name, here)
		} else if !p.Grows {
			err = checkLabels(ctx, from, to, name)
		}
		if err != nil {
			return &grid.AxisError{Axis: p.To, Err: err}
		}
	}
	return checkMapping(ctx, from, to)
}

// checkMapping compares the grid mappings of two arrays or views: equal coordinates of
// two zones of a projection are different places.
func checkMapping(ctx context.Context, from, to zarr.Elements) error {
	var of [2]Statements
	for i, e := range []zarr.Elements{from, to} {
		a, _ := parts(e)
		name, _, _ := strings.Cut(textAttribute(a, "grid_mapping"), ":") // the names of coordinates may follow
		if name = strings.TrimSpace(name); name == "" || strings.ContainsAny(name, " /") {
			return nil
		}
		m, err := a.Location().Root().At(path.Join(path.Dir(a.Path()), name)).OpenArray(ctx, reading(a))
		if err != nil {
			return ctx.Err() // it is not known
		}
		of[i], err = StatementsOf(m.Metadata().Attributes)
		if err = errors.Join(err, m.Close()); err != nil {
			return err
		}
	}
	if faults, _ := of[1].Compare(of[0]); len(faults) > 0 {
		return invalid("it has another grid mapping: %s", of[1].Differ(of[0], faults, "this array"))
	}
	return nil
}

// axisName returns the name of an axis, "" if it is not known.
func axisName(e zarr.Elements, axis int) string {
	if names := e.DimensionNames(); axis < len(names) {
		return names[axis]
	}
	return ""
}

// checkLabels compares the coordinates of a dimension of two arrays or views.
func checkLabels(ctx context.Context, from, to zarr.Elements, name string) error {
	a, err := labelsOf(ctx, from, name)
	if a == nil || err != nil {
		return err
	}
	defer a.array.Close()
	b, err := labelsOf(ctx, to, name)
	if b == nil || err != nil {
		return err
	}
	defer b.array.Close()
	if err := a.comparable(b, name); err != nil || a.kind != b.kind || a.view.Shape()[0] != b.view.Shape()[0] {
		return err // the lengths are compared elsewhere
	}
	return a.compare(ctx, b)
}

// comparable returns an error if labels cannot be equal, because they are of other kinds,
// units or calendars.
func (l *labels) comparable(o *labels, name string) error {
	both := l.units.Units != "" && o.units.Units != ""
	switch {
	case l.kind != o.kind && (l.kind == labelText || o.kind == labelText):
		return invalid("the coordinate %s has the type %s there and %s here", name, l.array.Type(), o.array.Type())
	case both && (l.kind != o.kind || l.kind == labelNumber) && !sameMeasure(l.units, o.units):
		return invalid("the coordinate %s is in %q there and in %q here", name, l.units.Units, o.units.Units)
	case l.kind == labelTime && o.kind == labelTime && l.times.Calendar() != o.times.Calendar() && !(l.times.IsReal() && o.times.IsReal()):
		return invalid("the coordinate %s has the calendar %v there and %v here", name, l.times.Calendar(), o.times.Calendar())
	}
	return nil
}

// sameMeasure is Units.Alike for coordinates: degrees of latitude are degrees.
func sameMeasure(a, b Units) bool {
	degrees := func(u Units) bool {
		name := strings.ToLower(strings.TrimSpace(u.Units))
		return name == "degree" || name == "degrees" || sameUnit(u.Units, "degrees_north") || sameUnit(u.Units, "degrees_east")
	}
	return a.Alike(b) || degrees(a) && degrees(b)
}

// labelKind is what labels are compared as.
type labelKind int

const (
	labelText labelKind = iota
	labelNumber
	labelTime
)

// labels are the labels of the elements along a dimension.
type labels struct {
	array     *zarr.Array
	view      *zarr.View // of the labels that count
	kind      labelKind
	units     Units
	times     Times
	packing   *Packing // of numbers
	unwritten []byte   // an element that may never have been written
	firstIs   bool     // such an element counts as written if it is the first one
	precision float64  // of numbers, relative to the largest one
}

// labelsOf opens the coordinate of a dimension. It returns nil if there is none that can
// be compared.
func labelsOf(ctx context.Context, e zarr.Elements, name string) (*labels, error) {
	a, sel := parts(e)
	if path.Base(a.Path()) == name {
		return nil, nil // the elements are labels themselves
	}
	c, err := Coordinate(ctx, a, name)
	if errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrLimit) || errors.Is(err, zarr.ErrUnsupported) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &labels{array: c, units: UnitsOf(c)}
	l.view, err = c.View(sel(name))
	known := false
	if err == nil {
		known, err = l.describe(ctx)
	}
	if err != nil || !known {
		return nil, errors.Join(err, c.Close())
	}
	return l, nil
}

// parts returns the array of elements, and the selection of each dimension of it.
func parts(e zarr.Elements) (a *zarr.Array, sel func(name string) selection.Selection) {
	switch e := e.(type) {
	case *zarr.View:
		a = e.Array()
		return a, func(name string) selection.Selection {
			for i, n := range a.DimensionNames() {
				if n == name {
					return selection.Orthogonal{e.Selection().Along(i)}
				}
			}
			return nil
		}
	case *zarr.Array:
		a = e
	}
	return a, func(string) selection.Selection { return nil }
}

// describe sets how labels are compared. It returns false for types that are not.
func (l *labels) describe(ctx context.Context) (known bool, err error) {
	switch k := l.array.Type().Kind(); {
	case k == dtype.String || k == dtype.UTF32 || k == dtype.Bytes || k == dtype.Terminated:
		return true, nil
	case k == dtype.Datetime:
		l.kind, l.times.Units = labelTime, momentUnits
	case isNumeric(l.array.Type()):
		if l.packing, err = PackingOf(ctx, l.array); err != nil {
			return false, nil // its numbers have no certain value
		}
		l.packing, l.kind = l.packing.OfCoordinate(), labelNumber
		var counts bool
		if l.times, counts = l.units.Times(); counts {
			l.kind = labelTime
		}
	default:
		return false, nil
	}
	l.precision = precisionOf(l.array.Type())
	return true, l.findUnwritten(ctx)
}

// momentUnits are those of datetime64, whose calendar counts.
var momentUnits, _ = calendar.ParseUnits("days since 1970-01-01", calendar.ProlepticGregorian)

// precisionOf returns how far numbers of a type may differ that were meant to be equal.
func precisionOf(t dtype.Type) float64 {
	digits := map[int]int{1: 3, 2: 10, 4: 23}[t.Size()]
	if t.Kind() != dtype.Float || digits == 0 {
		digits = 52
	}
	return math.Ldexp(4, -digits)
}

// findUnwritten finds out which elements may never have been written. The first label is
// often the fill value, zero. It is one unless the next one is the fill value as well.
func (l *labels) findUnwritten(ctx context.Context) error {
	fill, err := l.array.FillValue().Element(l.array.Type())
	if err != nil {
		return nil // it has none
	}
	l.unwritten, l.firstIs = fill, true
	if l.array.Shape()[0] < 2 {
		return nil
	}
	second := make([]byte, l.array.Type().Size())
	err = l.array.ReadBytes(ctx, selection.Box{{1, 2}}, second)
	l.firstIs = !bytes.Equal(second, fill)
	return err
}

// label is one label.
type label struct {
	known  bool
	text   string // as people read it
	at     calendar.Instant
	number float64
}

// labelsAtOnce is the number of labels in memory.
const labelsAtOnce = 1 << 14

// compare returns an error for the first label that differs.
func (l *labels) compare(ctx context.Context, o *labels) error {
	n := l.view.Shape()[0]
	tolerance := -1.0 // only equal numbers are equal
	if l.kind == labelNumber && (l.isRounded() || o.isRounded()) {
		largest, err := l.largest(ctx)
		if err != nil {
			return err
		}
		tolerance = largest * max(l.precision, o.precision)
	}
	for from := int64(0); from < n; from += labelsAtOnce {
		to := min(n, from+labelsAtOnce)
		a, err := l.read(ctx, from, to)
		if err != nil {
			return err
		}
		b, err := o.read(ctx, from, to)
		if err != nil {
			return err
		}
		for i := range a {
			if a[i].known && b[i].known && !l.same(a[i], b[i], tolerance) {
				return invalid("element %d of the coordinate %s is %s there and %s here", from+int64(i), path.Base(l.array.Path()), a[i].text, b[i].text)
			}
		}
	}
	return nil
}

// isRounded reports whether the numbers may differ in their last digits.
func (l *labels) isRounded() bool { return l.packing.isFloat() || l.packing.IsScaled() }

// largest returns the largest number at the ends of the coordinate.
func (l *labels) largest(ctx context.Context) (largest float64, err error) {
	n := l.view.Shape()[0]
	for _, at := range []int64{0, n - 1} {
		if n == 0 {
			break
		}
		list, err := l.read(ctx, at, at+1)
		if err != nil {
			return 0, err
		}
		if x := math.Abs(list[0].number); list[0].known && x > largest && !math.IsInf(x, 0) {
			largest = x
		}
	}
	return largest, nil
}

// same reports whether two labels are equal.
func (l *labels) same(a, b label, tolerance float64) bool {
	switch l.kind {
	case labelTime:
		return a.at.Round(time.Microsecond) == b.at.Round(time.Microsecond)
	case labelNumber:
		return a.text == b.text || math.Abs(a.number-b.number) <= tolerance
	}
	return a.text == b.text
}

// read reads labels.
func (l *labels) read(ctx context.Context, from, to int64) ([]label, error) {
	v, err := l.view.View(selection.Box{{from, to}})
	if err != nil {
		return nil, err
	}
	if l.array.Type().Variable() {
		words, err := zarr.Read[string](ctx, v, nil)
		list := make([]label, len(words.Data))
		for i, text := range words.Data {
			list[i] = label{known: text != "", text: text}
		}
		return list, err
	}
	size := l.array.Type().Size()
	data := make([]byte, int(to-from)*size)
	if err := l.array.ReadBytes(ctx, v.Selection(), data); err != nil {
		return nil, err
	}
	first := v.Selection().Bounds()[0].Start
	list := make([]label, to-from)
	for i := range list {
		elem := data[i*size:][:size:size]
		written := !bytes.Equal(elem, l.unwritten) || l.firstIs && first == 0 && i == 0
		list[i] = l.label(elem)
		list[i].known = list[i].known && written
	}
	return list, nil
}

// label returns the label that an element is.
func (l *labels) label(elem []byte) (d label) {
	t := l.array.Type()
	switch l.kind {
	case labelText:
		d.text = string(textOf(t, nil, elem))
		d.known = d.text != ""
		return d
	case labelNumber:
		return label{known: l.packing.HasValue(elem), text: l.packing.Text(elem), number: l.packing.Value(elem)}
	}
	var err error
	switch {
	case t.Kind() == dtype.Datetime:
		d.at, err = calendar.ParseInstant(string(t.AppendText(nil, elem)), calendar.ProlepticGregorian)
	case !l.packing.HasValue(elem):
		return d
	default:
		d.at, err = l.times.Instant(l.packing.Text(elem))
	}
	d.known, d.text = err == nil, l.times.Calendar().Text(d.at)
	return d
}
