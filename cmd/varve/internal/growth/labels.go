// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
)

// Labels are the values of a coordinate, by which new planes are found among those that
// an array has.
type Labels struct {
	name     string
	values   export.Values
	hasValue func(elem []byte) bool
	subtract func(a, b []byte) float64 // nil for labels without order, such as text
	text     func(elem []byte) string
	fill     []byte // of cells that were never written
	isTime   bool

	cell      map[string]int64 // the first cell with a value
	written   []int64          // cells with a value, in order
	direction float64          // 1 if values rise, -1 if they fall, 0 if they do neither
	step      float64          // from one cell to the next, 0 if they differ
	disorder  string           // of the first two labels that neither continue nor turn back; "" for none
}

// ReadLabels reads a coordinate of one axis.
func ReadLabels(ctx context.Context, c *zarr.Array, name string) (*Labels, error) {
	switch {
	case c.Rank() != 1:
		return nil, failure.BadArgument("--by %s: a coordinate must have one axis, but it has shape %v", name, c.Shape())
	case c.Shape()[0] > cf.MaxCoordinate:
		return nil, fmt.Errorf("%w: --by %s has %s elements; at most %s are read", zarr.ErrLimit, name, phrase.Count(c.Shape()[0]), phrase.Count(cf.MaxCoordinate))
	}
	l, err := newLabels(ctx, c, name)
	if err == nil {
		l.values.Grow(int(c.Shape()[0]))
		err = l.values.Read(ctx, c, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("--by %s: %w", name, err)
	}
	l.survey()
	return l, nil
}

// newLabels returns how the labels of a coordinate are compared, without any.
func newLabels(ctx context.Context, c *zarr.Array, name string) (*Labels, error) {
	t := c.Type()
	l := &Labels{name: name, values: export.Values{Type: t}, fill: cf.FillOf(c), text: element.Text(t), hasValue: func([]byte) bool { return true }}
	switch k := t.Kind(); {
	case cf.IsNumeric(t):
		p, err := cf.PackingOf(ctx, c)
		if err != nil {
			return nil, err
		}
		p = p.OfCoordinate()
		l.hasValue, l.subtract = p.HasValue, func(a, b []byte) float64 { return p.Stored(a) - p.Stored(b) }
		if times, ok := cf.UnitsOf(c).Times(); ok {
			l.isTime = true
			l.text = func(elem []byte) string {
				text, _ := times.Text(p.Text(elem))
				return cmp.Or(text, p.Text(elem))
			}
		}
		if k != dtype.KindFloat && t.Size() == 8 {
			l.subtract = difference(k == dtype.KindUint) // float64 would round
		}
	case k == dtype.KindDatetime || k == dtype.KindTimedelta:
		l.subtract, l.isTime = difference(false), k == dtype.KindDatetime
		l.hasValue = func(elem []byte) bool { return int64(binary.NativeEndian.Uint64(elem)) != dtype.NaT }
	}
	return l, nil
}

// difference returns the function that subtracts integers of 64 bits.
func difference(unsigned bool) func(a, b []byte) float64 {
	return func(a, b []byte) float64 {
		x, y := binary.NativeEndian.Uint64(a), binary.NativeEndian.Uint64(b)
		if unsigned && x < y || !unsigned && int64(x) < int64(y) {
			return -float64(y - x)
		}
		return float64(x - y)
	}
}

// key returns what equal labels have in common.
func (l *Labels) key(elem []byte) string {
	if l.values.Type.Kind() == dtype.KindFloat && l.subtract(elem, make([]byte, len(elem))) == 0 {
		return "0" // also for -0
	}
	return string(elem)
}

// Len returns the number of cells.
func (l *Labels) Len() int64 { return int64(l.values.Len()) }

func (l *Labels) label(i int64) []byte { return l.values.At(int(i)) }

// isFree reports whether a cell was never written. The first time is often 0, which is
// also the usual fill value, so element 0 counts as written, unless all are alike.
func (l *Labels) isFree(i int64) bool {
	return !l.hasValue(l.label(i)) || i > 0 && l.subtract != nil && bytes.Equal(l.label(i), l.fill)
}

// survey finds out which cells are written, and whether they are in order.
func (l *Labels) survey() {
	l.cell = map[string]int64{}
	for i := range l.Len() {
		if !l.hasValue(l.label(i)) {
			continue
		}
		k := l.key(l.label(i))
		// A label that a coordinate has twice stands for its first cell.
		if _, known := l.cell[k]; !known {
			l.cell[k] = i
		}
		if !l.isFree(i) {
			l.written = append(l.written, i)
		}
	}
	if n := l.Len(); n > 1 && len(l.written) == 1 && l.written[0] == 0 && bytes.Equal(l.label(0), l.fill) {
		l.written, l.cell = nil, map[string]int64{} // nothing was written
	}
	if l.subtract == nil || len(l.written) < 2 {
		return
	}
	// Cells that were never written lie between others, so the step is computed from the
	// distance of their indices.
	w := l.written
	l.direction = sign(l.subtract(l.label(w[1]), l.label(w[0])))
	l.step = l.subtract(l.label(w[1]), l.label(w[0])) / float64(w[1]-w[0])
	for k := 1; k < len(w); k++ {
		if c := sign(l.subtract(l.label(w[k]), l.label(w[k-1]))); c == 0 || c != l.direction {
			l.direction, l.step = 0, 0
			l.disorder = fmt.Sprintf("element %d is %s, but element %d before it is %s", w[k], l.text(l.label(w[k])), w[k-1], l.text(l.label(w[k-1])))
			return
		}
		// One label out of step is enough: a late plane then gets no cell by arithmetic.
		if l.index(l.label(w[k])) != w[k] {
			l.step = 0
		}
	}
}

func sign(x float64) float64 { return float64(cmp.Compare(x, 0)) }

// index returns the cell that a label has if all cells are one step apart, or -1.
func (l *Labels) index(elem []byte) int64 {
	if l.step == 0 {
		return -1
	}
	steps := l.subtract(elem, l.label(l.written[0])) / l.step
	whole := math.Round(steps)
	// Labels of floating-point numbers are rarely whole steps apart. The second condition
	// keeps the conversion to int64 from overflowing.
	if math.Abs(steps-whole) > 1e-6 || math.Abs(whole) > cf.MaxCoordinate {
		return -1
	}
	return l.written[0] + int64(whole)
}

// PlanePlace is a new plane, and the cell that it belongs into.
type PlanePlace struct{ Plane, Cell int64 }

// Duplicates is the error for planes that are there already.
type Duplicates struct{ text string }

// Error says which they are, and what to do.
func (d *Duplicates) Error() string { return d.text }

// Is reports whether target is [zarr.ErrConflict].
func (d *Duplicates) Is(target error) bool { return target == zarr.ErrConflict }

// onDuplicate says what else can become of planes that are there already.
const onDuplicate = "--on-duplicate skip leaves what is there, --on-duplicate replace takes what is new"

// refused returns the error for planes that are there already.
func (l *Labels) refused(there []PlanePlace, states []state, source string) error {
	n, first := int64(0), int64(0)
	for i, s := range states {
		if !s.isFree() {
			if n == 0 {
				first = there[i].Cell
			}
			n++
		}
	}
	return &Duplicates{fmt.Sprintf("--by %s: %s of %s %s there already, from index %d (%s) on: %s",
		l.name, phrase.Plural(n, "value"), source, phrase.AreOrIs(n), first, l.text(l.label(first)), onDuplicate)}
}

// Late is a new plane that belongs before a cell, and no cell is free for it.
type Late struct{ Plane, Before int64 }

// Placing says where new planes belong.
type Placing struct {
	Present  []PlanePlace
	Appended []int64 // in order
	Late     []Late  // in order

	direction float64 // of the labels: 1 if they rise, -1 if they fall, 0 if they do neither
}

// Place finds the cells of planes with new labels. Those that come after the last cell
// are appended. direction is that of the labels if the present ones have none.
func (l *Labels) Place(more export.Values, source string, direction float64) (p Placing, err error) {
	order := make([]int64, more.Len())
	taken := map[string]bool{}
	for j := range order {
		order[j] = int64(j)
		elem := more.At(j)
		if !l.hasValue(elem) {
			return p, failure.BadArgument("--by %s: element %d in %s is missing", l.name, j, source)
		}
		if taken[l.key(elem)] {
			return p, failure.BadArgument("--by %s: %s has %s twice", l.name, source, l.text(elem))
		}
		taken[l.key(elem)] = true
	}
	p.direction = l.directionWith(more, direction)
	// In the order of the labels, each plane that is appended comes after the one before
	// it.
	if p.direction != 0 {
		slices.SortStableFunc(order, func(i, j int64) int {
			return int(p.direction * sign(l.subtract(more.At(int(i)), more.At(int(j)))))
		})
	}
	next := int64(0)
	if n := len(l.written); n > 0 {
		next = l.written[n-1] + 1
	}
	used := map[int64]bool{}
	for _, j := range order {
		elem := more.At(int(j))
		cell, known := l.cell[l.key(elem)]
		switch {
		case known:
		case l.isUnwritten(more, j, p.direction):
			return p, failure.BadArgument("--by %s: element %d in %s, %s, is the fill value: it was probably never written; write it there, or leave the plane out",
				l.name, j, source, l.text(elem))
		case p.direction == 0 && l.isTime && l.disorder != "":
			return p, l.unplaced(elem)
		case p.direction == 0: // numbers or texts that are names, whose place follows from no order
			cell = l.Len()
		case l.isBehind(elem, p.direction):
			if cell = l.index(elem); cell < 0 || cell >= l.Len() || !l.isFree(cell) || used[cell] {
				p.Late = append(p.Late, Late{j, l.before(elem, p.direction)})
				continue
			}
		default:
			// A label that fits no step comes directly after the planes before it.
			if cell = l.index(elem); cell < next {
				cell = next
			}
			next = cell + 1
		}
		if cell >= l.Len() {
			p.Appended = append(p.Appended, j)
			continue
		}
		used[cell] = true
		p.Present = append(p.Present, PlanePlace{j, cell})
	}
	return p, nil
}

// unplaced returns the error for a new time if the present ones are in no order. Times,
// in contrast to numbers that are names, are meant to have one.
func (l *Labels) unplaced(elem []byte) error {
	return failure.BadArgument("--by %s: %s has no place, because the present times are not in order: %s. Remove planes that are out of order with varve drop, "+
		"and give them to varve append --by again; correct wrong times with varve write; or append without --by, at the end", l.name, l.text(elem), l.disorder)
}

// isUnwritten reports whether an element of the coordinate of an array was probably never
// written: it is the fill value. Zero may also be the label that belongs there.
func (l *Labels) isUnwritten(more export.Values, j int64, direction float64) bool {
	elem := more.At(int(j))
	if more.Fill == nil || !bytes.Equal(elem, more.Fill) {
		return false
	}
	isZero := bytes.Count(elem, []byte{0}) == len(elem)
	return !isZero || j > 0 && direction != 0 && direction*l.subtract(elem, more.At(int(j-1))) < 0
}

// isBehind reports whether a label comes before the last one that is written.
func (l *Labels) isBehind(elem []byte, direction float64) bool {
	n := len(l.written)
	return n > 0 && direction*l.subtract(elem, l.label(l.written[n-1])) < 0
}

// before returns the first cell whose label comes after another one.
func (l *Labels) before(elem []byte, direction float64) int64 {
	k, _ := slices.BinarySearchFunc(l.written, elem, func(i int64, elem []byte) int {
		return int(direction * sign(l.subtract(l.label(i), elem)))
	})
	return l.written[k]
}

// directionWith returns the direction in which new labels continue, which is the given
// one if the present labels have none. The first ones define it: they rise, unless they
// fall all the way.
func (l *Labels) directionWith(more export.Values, given float64) float64 {
	switch {
	case l.subtract == nil || len(l.written) > 1:
		return l.direction
	case given != 0:
		return given
	}
	// The array has at most one label, so only the new ones can tell.
	for j := 1; j < more.Len(); j++ {
		if l.subtract(more.At(j), more.At(j-1)) > 0 {
			return 1
		}
	}
	if more.Len() > 1 {
		return -1
	}
	return 1
}

// Waiting has the late planes of all sources of a command, which are inserted at its end.
type Waiting struct {
	by        string
	policy    On
	direction float64 // of the labels

	labels export.Values
	planes []waiting
	index  map[string]int // index in planes by label
	open   []*Gain
}

// waiting is a late plane: one of each array that grows.
type waiting struct {
	gains  []*Gain
	plane  int64
	label  string // for people
	source string
}

// NewWaiting returns a list without planes.
func NewWaiting(by string, on On) *Waiting {
	return &Waiting{by: by, policy: on, index: map[string]int{}}
}

// Len returns the number of planes.
func (w *Waiting) Len() int { return len(w.planes) }

// Labels returns the labels of the planes.
func (w *Waiting) Labels() export.Values { return w.labels }

// Direction returns the direction of the labels.
func (w *Waiting) Direction() float64 { return w.direction }

// Place finds the cells of the planes of a source with new labels. It is an error that a
// plane waits already, if that is how duplicates are treated.
func (w *Waiting) Place(l *Labels, more export.Values, source string) (Placing, error) {
	p, err := l.Place(more, source, w.direction)
	if err != nil || w.policy != Refuse {
		return p, err
	}
	for _, j := range p.Late {
		elem := more.At(int(j.Plane))
		if i, waits := w.index[l.key(elem)]; waits {
			return p, &Duplicates{fmt.Sprintf("--by %s: %s of %s is in %s, too: %s", l.name, l.text(elem), source, w.planes[i].source, onDuplicate)}
		}
	}
	return p, nil
}

// Add adds the late planes of a source, which has one gain for each array. They stay open
// until Close. It returns how many were there already.
func (w *Waiting) Add(l *Labels, p Placing, more export.Values, source string, gains []*Gain) (c Counts) {
	if len(p.Late) == 0 {
		return c
	}
	w.labels.Type, w.direction = more.Type, p.direction
	w.open = append(w.open, gains...)
	for _, j := range p.Late {
		elem := more.At(int(j.Plane))
		one := waiting{gains: gains, plane: j.Plane, label: l.text(elem), source: source}
		switch i, waits := w.index[l.key(elem)]; {
		case !waits:
			w.index[l.key(elem)] = len(w.planes)
			w.planes = append(w.planes, one)
			w.labels.Data = append(w.labels.Data, elem...)
		case w.policy == Replace:
			w.planes[i] = one
			c.Replaced++
		default:
			c.Skipped++
		}
	}
	return c
}

// Holds reports whether a gain has late planes, so that it must stay open.
func (w *Waiting) Holds(g *Gain) bool { return w != nil && slices.Contains(w.open, g) }

// Close closes the gains.
func (w *Waiting) Close() (err error) {
	if w != nil {
		for _, g := range w.open {
			err = errors.Join(err, g.Close())
		}
		w.open = nil
	}
	return err
}

// Gain returns the planes of the array with index i, which has the given shape.
func (w *Waiting) Gain(i int, shape []int64, axis int) *Gain {
	var gains []*Gain
	for start := 0; start < len(w.planes); {
		from := w.planes[start].gains[i]
		var planes []int64
		for ; start < len(w.planes) && w.planes[start].gains[i] == from; start++ {
			planes = append(planes, w.planes[start].plane)
		}
		gains = append(gains, from.SelectPlanes(planes, shape, axis))
	}
	return Joined(gains, shape, axis)
}

// Source names the sources of the planes.
func (w *Waiting) Source() string {
	text, n := w.planes[0].source, int64(0)
	seen := map[string]bool{text: true}
	for _, p := range w.planes {
		if !seen[p.source] {
			seen[p.source] = true
			n++
		}
	}
	if n > 0 {
		text += " and " + phrase.Plural(n, "more file")
	}
	return text
}

// Names returns the labels of some of the planes for people.
func (w *Waiting) Names(late []Late) (names []string) {
	for _, j := range late {
		names = append(names, w.planes[j.Plane].label)
	}
	return names
}
