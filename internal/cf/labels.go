// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// checkLabels compares the coordinates with a name of two arrays or views. If stay is
// nil, these are the coordinates of a dimension. Otherwise they are other coordinates,
// and stay lists the axes that do not grow, which must include all of theirs.
func checkLabels(ctx context.Context, from, to zarr.Elements, name string, stay []string) error {
	a, err := labelsOf(ctx, from, name, stay)
	if a == nil || err != nil {
		return err
	}
	defer a.close()
	b, err := labelsOf(ctx, to, name, stay)
	if b == nil || err != nil {
		return err
	}
	defer b.close()
	// Coordinates with other axes label other things.
	if !slices.Equal(a.axes, b.axes) {
		return nil
	}
	if err := a.comparable(b, name); err != nil || a.kind != b.kind || a.kind == labelOther {
		return err
	}
	// The elements of a grid mapping mean nothing. The caller compares lengths.
	if a.statements.isGridMapping() || b.statements.isGridMapping() || !slices.Equal(a.view.Shape(), b.view.Shape()) {
		return nil
	}
	return a.compare(ctx, b)
}

// comparable returns an error if labels cannot be equal: if their kinds, units, calendars
// or attributes differ in meaning.
func (l *labels) comparable(o *labels, name string) error {
	measured := l.units.Units != "" && o.units.Units != ""
	// Attributes of the encoding may differ: the decoded values are compared below.
	faults := slices.DeleteFunc(l.statements.contradict(o.statements), func(name string) bool {
		return ofValues[name] || name == "calendar" && l.kind == labelTime && o.kind == labelTime
	})
	switch {
	case len(faults) > 0:
		return invalid("the coordinate %s has another meaning: %s", name, o.statements.Differ(l.statements, faults, "this array"))
	case l.kind == labelOther || o.kind == labelOther:
		return nil
	case l.kind != o.kind && (l.kind == labelText || o.kind == labelText):
		return invalid("the coordinate %s has the type %s there and %s here", name, l.array.Type(), o.array.Type())
	case measured && (l.kind != o.kind || l.kind == labelNumber && (l.length == 0 || o.length == 0)) && !sameMeasure(l.units, o.units):
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

// labelKind is the form in which labels are compared.
type labelKind int

const (
	labelOther labelKind = iota // not compared
	labelText
	labelNumber
	labelTime
)

// labels are the labels of elements: the values of a coordinate with one or more axes.
type labels struct {
	array      *zarr.Array
	view       *zarr.View // of the labels to compare
	statements Statements
	axes       []string
	distinct   bool // no value is repeated, as in the coordinate of a dimension
	kind       labelKind
	units      Units
	times      Times
	packing    *Packing // of numbers
	length     float64  // of the number 1 in nanoseconds, 0 if the numbers are no durations
	precision  float64  // of numbers, relative to the largest one; 0 if they are not rounded

	unwritten []byte          // an element that may never have been written
	repeats   bool            // neighbours hold unwritten
	strict    *zarr.Array     // the array, with an error for chunks that are not stored
	stored    map[string]bool // by the index of the chunk
}

// labelsOf opens a coordinate; see [checkLabels]. It returns nil if no coordinate can be
// compared.
func labelsOf(ctx context.Context, e zarr.Elements, name string, stay []string) (*labels, error) {
	a, along := parts(e)
	if path.Base(a.Path()) == name {
		return nil, nil // the elements are labels themselves
	}
	open := Coordinate
	if stay != nil {
		open = Beside
	}
	c, err := open(ctx, a, name)
	// A coordinate that is missing, unusable or too long is not compared.
	if errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrLimit) || errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l := &labels{array: c, units: UnitsOf(c), axes: []string{name}, distinct: stay == nil && c.Type().Kind() != dtype.KindBool}
	if stay != nil {
		l.axes = c.DimensionNames()
	}
	sel, ok := selection.Orthogonal{}, len(l.axes) == c.Rank()
	for i, axis := range l.axes {
		at := slices.Index(a.DimensionNames(), axis)
		// An axis that the array does not have holds, for example, the characters of a
		// name.
		ok = ok && (stay == nil || at < 0 && len(stay) > 0 || slices.Contains(stay, axis) && c.Shape()[i] == a.Shape()[at])
		sel = append(sel, along(axis))
	}
	if ok {
		if l.statements, err = StatementsOf(c.Metadata().Attributes); err == nil {
			l.view, err = c.View(sel)
		}
		if err == nil {
			err = l.describe(ctx)
		}
	}
	if err != nil || !ok {
		return nil, errors.Join(err, c.Close())
	}
	return l, nil
}

func (l *labels) close() {
	l.array.Close()
	if l.strict != nil {
		l.strict.Close()
	}
}

// parts returns the array of elements, and a function that returns the selection along a
// dimension of the array.
func parts(e zarr.Elements) (a *zarr.Array, along func(name string) selection.Item) {
	switch e := e.(type) {
	case *zarr.View:
		a = e.Array()
		return a, func(name string) selection.Item {
			if i := slices.Index(a.DimensionNames(), name); i >= 0 {
				return itemAlong((*subset.Elements)(e.Selection()), i)
			}
			return selection.All()
		}
	case *zarr.Array:
		a = e
	}
	return a, func(string) selection.Item { return selection.All() }
}

// itemAlong returns the elements that are selected along an axis of an array, as a
// selection of that axis. For points and masks it returns all.
func itemAlong(e *subset.Elements, axis int) selection.Item {
	a, ok := e.Along(axis)
	if !ok {
		return selection.All()
	}
	first, last := a.Start, a.Start+(a.Count-1)*a.Step
	switch {
	case a.Given() != nil:
		return selection.List(a.Given()...)
	case !a.Flip:
		return selection.Stepped(first, last+1, a.Step)
	case a.Count == 0:
		return selection.Span(0, 0)
	}
	stop := first - 1
	if stop < 0 {
		stop = selection.Open // a negative bound counts from the end
	}
	return selection.Stepped(last, stop, -a.Step)
}

// describe chooses the form in which labels are compared.
func (l *labels) describe(ctx context.Context) (err error) {
	t := l.array.Type()
	switch k := t.Kind(); {
	case k == dtype.KindString || k == dtype.KindUTF32 || k == dtype.KindBytes || k == dtype.KindTerminated:
		l.kind = labelText
		return nil
	case k == dtype.KindComplex:
		l.kind = labelText
	case k == dtype.KindBool:
		l.kind = labelNumber
	case k == dtype.KindDatetime:
		l.kind, l.times.Units = labelTime, momentUnits
	case k == dtype.KindTimedelta:
		l.kind, l.units.Units = labelNumber, t.String()
		if one, ok := t.Duration(1); ok {
			l.length = float64(one)
		}
	case IsNumeric(t):
		if l.packing, err = PackingOf(ctx, l.array); err != nil {
			return ctx.Err() // malformed attributes: the values of the numbers are unknown
		}
		l.packing, l.kind = l.packing.OfCoordinate(), labelNumber
		l.length = float64(timeLength(strings.TrimSpace(l.units.Units)))
		if times, counts := l.units.Times(); counts {
			l.times, l.kind, l.length = times, labelTime, float64(times.Length())
		}
		if l.packing.isFloat() || l.packing.IsScaled() {
			l.precision = precisionOf(t)
		}
	}
	if fill, err := l.array.FillValue().Element(t); err == nil {
		l.unwritten = fill
	}
	return nil
}

// momentUnits are the units of datetime64. Only their calendar is used.
var momentUnits, _ = calendar.ParseUnits("days since 1970-01-01", calendar.ProlepticGregorian)

// precisionOf returns the largest relative difference between numbers of a type that
// count as equal.
func precisionOf(t dtype.Type) float64 {
	digits := map[int]int{1: 3, 2: 10, 4: 23}[t.Size()]
	if t.Kind() != dtype.KindFloat || digits == 0 {
		digits = 52
	}
	return math.Ldexp(4, -digits)
}

// label is a decoded label.
type label struct {
	known  bool
	at     calendar.Instant
	number float64
}

const (
	labelsAtOnce = 1 << 14 // in memory
	mostLabels   = 1 << 22 // that are compared of a coordinate with several axes
)

// compare returns an error for the first label that differs.
func (l *labels) compare(ctx context.Context, o *labels) error {
	// Numbers without a common unit of time are compared as they are.
	if l.kind == labelNumber && (l.length == o.length || l.length == 0 || o.length == 0) {
		l.length, o.length = 1, 1
	}
	// With the same encoding, equal bytes are equal labels, which saves decoding.
	alike := l.array.Type() == o.array.Type() && l.units == o.units
	if p, q := l.packing, o.packing; p != nil {
		alike = alike && p.stored == q.stored && p.scale == q.scale && p.offset == q.offset
	}
	largest, err := l.largest(ctx)
	if err != nil {
		return err
	}
	others, err := o.largest(ctx)
	if err != nil {
		return err
	}
	// An element near zero has the rounding errors of the largest ones if it was computed
	// from an origin and a step.
	tolerance := max(largest*l.precision, others*o.precision)
	compared := int64(0)
	for box := range boxes(l.view.Shape()) {
		if compared >= mostLabels && len(box) > 1 {
			break
		}
		a, err := l.read(ctx, box)
		if err != nil {
			return err
		}
		b, err := o.read(ctx, box)
		if err != nil {
			return err
		}
		for i := range a {
			if alike && bytes.Equal(a[i], b[i]) || l.same(o, a[i], b[i], tolerance) {
				continue
			}
			// The labels differ, unless one of them may never have been written.
			at := placeIn(box, int64(i))
			unwritten, err := l.isUnwritten(ctx, at, a[i])
			if err == nil && !unwritten {
				unwritten, err = o.isUnwritten(ctx, at, b[i])
			}
			if err != nil {
				return err
			}
			if !unwritten {
				return invalid("%sthe coordinate %s is %s there and %s here", elementText(at), path.Base(l.array.Path()), l.textBeside(o, a[i]), o.textBeside(l, b[i]))
			}
		}
		compared += int64(len(a))
	}
	return nil
}

// boxes yields boxes of up to labelsAtOnce elements that fill a shape, in C order.
func boxes(shape []int64) iter.Seq[selection.Box] {
	return func(yield func(selection.Box) bool) {
		box := make(selection.Box, len(shape))
		var split func(axis int) bool
		split = func(axis int) bool {
			if axis == len(shape) {
				return yield(slices.Clone(box))
			}
			row := int64(1)
			for _, n := range shape[axis+1:] {
				row *= max(n, 1)
			}
			step := max(1, labelsAtOnce/row)
			for from := int64(0); from < shape[axis]; from += step {
				box[axis] = [2]int64{from, min(from+step, shape[axis])}
				if !split(axis + 1) {
					return false
				}
			}
			return true
		}
		split(0)
	}
}

// placeIn returns the index of element i, in C order, of a box.
func placeIn(box selection.Box, i int64) []int64 {
	at := make([]int64, len(box))
	for axis, b := range slices.Backward(box) {
		n := b[1] - b[0]
		at[axis], i = b[0]+i%n, i/n
	}
	return at
}

func elementText(at []int64) string {
	switch len(at) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("element %d of ", at[0])
	}
	return fmt.Sprintf("element %v of ", at)
}

// largest returns the largest number at the ends of the coordinate, in the unit in which
// labels are compared.
func (l *labels) largest(ctx context.Context) (largest float64, err error) {
	if l.precision == 0 || l.view.Selection().Len() == 0 {
		return 0, nil
	}
	first, last := selection.Box{}, selection.Box{}
	for _, n := range l.view.Shape() {
		first, last = append(first, [2]int64{0, 1}), append(last, [2]int64{n - 1, n})
	}
	for _, end := range []selection.Box{first, last} {
		list, err := l.read(ctx, end)
		if err != nil {
			return 0, err
		}
		if x := l.label(list[0]); x.known && !math.IsInf(x.number, 0) {
			largest = max(largest, math.Abs(x.number))
		}
	}
	return largest, nil
}

// same reports whether two labels are equal, or one is not known.
func (l *labels) same(o *labels, elem, other []byte, tolerance float64) bool {
	a, b := l.label(elem), o.label(other)
	if !a.known || !b.known {
		return true
	}
	if l.kind == labelText {
		return l.text(elem) == o.text(other)
	}
	// Large numbers have large rounding errors. The error of an infinity would accept
	// everything.
	for _, x := range []float64{math.Abs(a.number) * l.precision, math.Abs(b.number) * o.precision} {
		if !math.IsInf(x, 0) {
			tolerance = max(tolerance, x)
		}
	}
	if l.kind == labelTime {
		apart := float64(a.at.Day-b.at.Day)*float64(24*time.Hour) + float64(a.at.Nano-b.at.Nano)
		return math.Abs(apart) <= tolerance
	}
	whole := l.precision == 0 && o.precision == 0 && l.length == o.length
	if whole && (l.packing != nil && o.packing != nil || l.array.Type() == o.array.Type()) {
		return l.text(elem) == o.text(other) // a float64 may be less precise
	}
	return a.number == b.number || math.Abs(a.number-b.number) <= tolerance
}

// read reads labels.
func (l *labels) read(ctx context.Context, box selection.Box) ([][]byte, error) {
	v, err := l.view.View(box)
	if err != nil {
		return nil, err
	}
	if l.array.Type().Variable() {
		words, err := zarr.Read[[]byte](ctx, v, nil)
		return words.Data, err
	}
	size := l.array.Type().Size()
	list := make([][]byte, v.Selection().Len())
	data := make([]byte, len(list)*size)
	for i := range list {
		list[i] = data[i*size:][:size:size]
	}
	return list, l.array.ReadBytes(ctx, v.Selection(), data)
}

// label decodes an element.
func (l *labels) label(elem []byte) (d label) {
	var err error
	switch t := l.array.Type(); {
	case l.kind == labelText:
		return label{known: l.text(elem) != ""}
	case t.Kind() == dtype.KindBool:
		return label{known: true, number: float64(elem[0])}
	case t.Kind() == dtype.KindTimedelta:
		return label{known: countOf(elem) != dtype.NaT, number: float64(countOf(elem)) * l.length}
	case t.Kind() == dtype.KindDatetime:
		d.at, err = calendar.ParseInstant(string(t.AppendText(nil, elem)), calendar.ProlepticGregorian)
	default:
		d.number = l.packing.Value(elem) * l.length
		if d.known = l.packing.HasValue(elem); l.kind == labelNumber || !d.known {
			return d
		}
		d.at, err = l.times.Instant(l.packing.Text(elem))
	}
	d.known = err == nil
	return d
}

// text returns a label as text for messages.
func (l *labels) text(elem []byte) string {
	switch {
	case l.kind == labelText && l.array.Type().Kind() != dtype.KindComplex:
		return string(textOf(l.array.Type(), nil, elem))
	case l.kind == labelTime:
		return l.times.Calendar().Text(l.label(elem).at)
	case l.packing != nil:
		return l.packing.Text(elem)
	}
	return string(l.array.Type().AppendText(nil, elem))
}

// textBeside is text, with the units of a number if those of o differ.
func (l *labels) textBeside(o *labels, elem []byte) string {
	if l.kind != labelNumber || l.units == o.units {
		return l.text(elem)
	}
	return strings.TrimSpace(l.text(elem) + " " + l.units.Units)
}

// isUnwritten reports whether an element of the view may never have been written. Such
// an element has the fill value, and either its chunk is not stored, or a neighbour
// along the axis has the fill value, too. The first label of an axis is often zero,
// which is the fill value, and many writers do not store a chunk that holds only zeros.
func (l *labels) isUnwritten(ctx context.Context, at []int64, elem []byte) (bool, error) {
	if l.unwritten == nil || !bytes.Equal(elem, l.unwritten) || l.repeats {
		return l.repeats && bytes.Equal(elem, l.unwritten), nil
	}
	box := selection.Box{}
	for _, i := range at {
		box = append(box, [2]int64{i, i + 1})
	}
	v, err := l.view.View(box)
	if err != nil {
		return false, err
	}
	index := make([]int64, l.array.Rank())
	for i, b := range v.Selection().Bounds() {
		index[i] = b.Start
	}
	// In the coordinate of a dimension no value is repeated, so equal neighbours that
	// hold the fill value were never written.
	if l.distinct {
		around := [2]int64{max(0, index[0]-1), min(index[0]+2, l.array.Shape()[0])}
		near := make([]byte, int(around[1]-around[0])*len(elem))
		if err := l.array.ReadBytes(ctx, selection.Box{around}, near); err != nil {
			return false, err
		}
		equal := 0
		for ; len(near) > 0; near = near[len(elem):] {
			if bytes.Equal(near[:len(elem)], elem) {
				equal++
			}
		}
		l.repeats = equal > 1
	}
	if l.repeats || l.distinct && index[0] == 0 || l.array.Rank() == 0 {
		return l.repeats, nil
	}
	stored, err := l.isStored(ctx, index)
	return !stored, err
}

// isStored reports whether the chunk of an element is stored.
func (l *labels) isStored(ctx context.Context, index []int64) (bool, error) {
	g := l.array.Grid()
	if inner := l.array.Inner(); inner != nil {
		if cells, err := inner.Grid(); err == nil {
			g = cells
		}
	}
	chunk, _, err := g.Locate(index)
	if err != nil {
		return false, err
	}
	key := fmt.Sprint(chunk)
	stored, known := l.stored[key]
	if known {
		return stored, nil
	}
	// A second handle fails for chunks that are not stored. Most comparisons never need
	// it.
	if l.strict == nil {
		o := readOptions(l.array)
		o.RequireChunks = true
		if l.strict, err = l.array.Location().OpenArray(ctx, o); err != nil {
			return false, err
		}
		l.stored = map[string]bool{}
	}
	box := selection.Box{}
	for _, i := range index {
		box = append(box, [2]int64{i, i + 1})
	}
	err = l.strict.ReadBytes(ctx, box, make([]byte, l.array.Type().Size()))
	if l.stored[key] = err == nil; errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return l.stored[key], err
}
