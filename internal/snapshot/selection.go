// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"math"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
)

// Selected is a selection that is bound to an array. Type is the data type of the
// selected elements, which differs from that of the array if fields are selected.
type Selected struct {
	*selection.Resolved
	Type dtype.Type
	Heap *strided.Heap // an empty heap if elements have variable length, else nil
}

// Accepts returns an error if the values of a caller cannot be elements of a data type.
// Nil accepts every type.
type Accepts func(dtype.Type) error

// Exactly returns an Accepts for one data type.
func Exactly(want dtype.Type) Accepts {
	return func(t dtype.Type) error {
		if t != want {
			return fault.Argument("the elements are %s, not %s", t, want)
		}
		return nil
	}
}

// Resolve binds a selection to the array. It returns the error of takes if the caller
// does not accept the data type of the selected elements.
func (s *Array) Resolve(sel selection.Selection, takes Accepts) (*Selected, error) {
	r, err := s.target().Resolve(sel)
	// If the selection and the type of the values are both wrong, report the type.
	if err != nil && (takes == nil || takes(s.Type) == nil) {
		return nil, err
	}
	typ := s.Type
	if err == nil && r.Fields() != nil {
		var windows []strided.Window
		if typ, windows, err = through(s.Type, r.Fields()); err != nil {
			return nil, err
		}
		r = r.Through(windows)
	}
	if takes != nil {
		if typeErr := takes(typ); typeErr != nil {
			return nil, typeErr
		}
	}
	return &Selected{r, typ, s.Engine.Heap}, err
}

// target returns the description of the array for package selection.
func (s *Array) target() *selection.Target {
	if t := s.selecting.Load(); t != nil {
		return t
	}
	// Concurrent calls may each make one. They are equal, so it does not matter which one
	// stays.
	t := &selection.Target{Shape: s.Grid.Shape(), Names: s.DimensionNames(), Grid: func() (*grid.Grid, error) { return s.Grid, nil }}
	if s.Engine.Chain.Divided() {
		t.Inner = s.Inner
	}
	s.selecting.Store(t)
	return t
}

// through returns the data type that results from selecting fields, one list after the
// other, and the bytes of an element that they select.
func through(t dtype.Type, fields [][]string) (dtype.Type, []strided.Window, error) {
	windows := []strided.Window{{Size: int64(t.Size())}}
	for _, names := range fields {
		next, taken, err := take(t, names)
		if err != nil {
			return t, nil, err
		}
		var all []strided.Window
		for _, w := range taken {
			// Windows of an inner list refer to the packed bytes of the outer one.
			// Translate them to the bytes of the whole element.
			all = appendThrough(all, windows, w)
		}
		t, windows = next, all
	}
	return t, windows, nil
}

// take returns the data type that results from selecting fields of a struct, and their
// bytes.
func take(t dtype.Type, names []string) (dtype.Type, []strided.Window, error) {
	fields := make([]dtype.Field, len(names))
	windows := make([]strided.Window, len(names))
	at := int64(0)
	for i, name := range names {
		f, ok := t.Field(name)
		if !ok {
			return t, nil, fault.Argument("%s has no field %q", t, name)
		}
		n := int64(f.Type.Size())
		fields[i], windows[i] = f, strided.Window{From: int64(f.Offset), To: at, Size: n}
		at += n
	}
	if len(fields) == 1 {
		// A single field is selected as its value, not as a struct with one field.
		return fields[0].Type, windows, nil
	}
	packed, err := dtype.StructOf(fields...)
	if err != nil {
		return t, nil, fault.Argument("fields %q: %v", names, err)
	}
	return packed, windows, nil
}

// appendThrough appends the windows of the original element that w selects. w is a window
// of the bytes that windows select.
func appendThrough(dst, windows []strided.Window, w strided.Window) []strided.Window {
	for _, of := range windows {
		from, to := max(w.From, of.To), min(w.From+w.Size, of.To+of.Size)
		if from < to {
			dst = append(dst, strided.Window{From: of.From + from - of.To, To: w.To + from - w.From, Size: to - from})
		}
	}
	return dst
}

// Size returns the size of an element in memory, in bytes.
func (r *Selected) Size() int64 { return int64(codec.Spec{Type: r.Type}.Width()) }

// Room allocates memory for the selected elements, all zero or empty. Elements of
// variable length may have at most that many bytes in total.
func (r *Selected) Room(most int64) element.Buffer {
	return element.Buffer{Type: r.Type, Data: make([]byte, r.Len()*r.Size()), Heap: r.Heap.New().Limited(most)}
}

// View returns a view of a buffer that has the selected elements in C order. The view has
// the axes of the plan: it undoes flips and dropped axes.
func (r *Selected) View(e element.Buffer) (strided.View, error) {
	size := r.Size()
	if r.Type.Variable() && e.Heap == nil {
		return strided.View{}, element.ErrVariable(r.Type)
	}
	// Divide instead of multiplying r.Len() by size, which could overflow.
	if have := int64(len(e.Data)); have%size != 0 || have/size != r.Len() {
		return strided.View{}, fault.Argument("%d values (%d bytes) for a selection of shape %v, which has %d", have/size, have, r.Shape(), r.Len())
	}
	v := strided.Contiguous(e.Data, r.Shape(), int(size))
	v.Heap = e.Heap
	return r.Place(v), nil
}

// CheckedView is [Selected.View] for elements that will be stored. It returns an error if
// an element is not a valid value of the data type.
func (r *Selected) CheckedView(e element.Buffer) (strided.View, error) {
	if err := element.CheckValues(e); err != nil {
		return strided.View{}, err
	}
	return r.View(e)
}

// One returns a view that has the same element at every selected place.
func (r *Selected) One(e element.Buffer) (strided.View, error) {
	if err := element.CheckValues(e); err != nil {
		return strided.View{}, err
	}
	if int64(len(e.Data)) != r.Size() {
		return strided.View{}, fault.Argument("%d bytes, but an element of type %s has %d", len(e.Data), r.Type, r.Size())
	}
	return r.Strided(e, make([]int64, len(r.Shape())))
}

// Strided returns a view of a buffer in which the selected elements have the given
// strides, in elements.
func (r *Selected) Strided(e element.Buffer, strides []int64) (strided.View, error) {
	shape, size := r.Shape(), r.Size()
	if len(strides) != len(shape) {
		return strided.View{}, fault.Argument("%d strides for a selection of shape %v", len(strides), shape)
	}
	v := strided.View{Data: e.Data, Shape: shape, Strides: make([]int64, len(shape)), Size: int(size), Heap: e.Heap}
	last := int64(0)
	for i, n := range shape {
		step, ok := checked.Mul(strides[i], size)
		far, fits := checked.Mul(max(0, n-1), strides[i])
		if !ok || !fits || far > math.MaxInt64-last || strides[i] < 0 {
			return strided.View{}, fault.Argument("stride %d of axis %d is negative or too large", strides[i], i)
		}
		v.Strides[i], last = step, last+far
	}
	if have := int64(len(e.Data)) / size; r.Len() > 0 && last >= have {
		return strided.View{}, fault.Argument("%d values, strides %d of shape %v reach to number %d", have, strides, shape, last)
	}
	return r.Place(v), nil
}

// Apart reports whether no two elements of a block with these strides share memory.
func Apart(shape, strides []int64) bool {
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i
	}
	// Ordered by stride, an axis must step over everything that the axes before it reach.
	slices.SortFunc(axes, func(a, b int) int { return int(min(1, max(-1, strides[a]-strides[b]))) })
	reach := int64(0)
	for _, i := range axes {
		// The stride of an axis of length 1 is never used.
		if shape[i] > 1 && strides[i] <= reach {
			return false
		}
		reach += (shape[i] - 1) * strides[i]
	}
	return true
}

// CheckType returns an error if the elements have another data type than the array.
func (s *Array) CheckType(e element.Buffer) error {
	if e.Type != s.Type {
		return fault.Argument("the elements are %s, not %s", s.Type, e.Type)
	}
	return nil
}

// AtBorder reports whether a selection touches boundary chunks, which reach beyond the
// extent. A concurrent writer may have appended elements there, and these must not be
// treated as stale.
func (s *Array) AtBorder(r *selection.Resolved) bool {
	for i, touched := range r.Touched(s.Grid) {
		a := s.Grid.Axis(i)
		if last, ok := a.Cell(a.Chunks() - 1); ok && last.IsBoundary() && touched.Stop == a.Chunks() {
			return true
		}
	}
	// Without versions a stale grid is not noticed, so treat every chunk as a boundary
	// chunk.
	return s.Version.IsZero()
}
