package zarr

import (
	"math"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/strided"
)

// selected is a selection bound to a state of an array, and the type of what it makes.
type selected struct {
	*selection.Resolved
	typ  dtype.Type
	heap *strided.Heap // an empty one, where elements differ in length
}

// accepts refuses data types that the values which a caller has cannot be of; nil takes
// any.
type accepts func(dtype.Type) error

// exactly accepts one data type.
func exactly(want dtype.Type) accepts {
	return func(t dtype.Type) error {
		if t != want {
			return fault.Argument("the elements are %s, not %s", t, want)
		}
		return nil
	}
}

// resolve binds a selection to the array, if the data type of what it selects is one that
// the caller accepts.
func (s *state) resolve(sel selection.Selection, takes accepts) (*selected, error) {
	r, err := s.target().Resolve(sel)
	if err != nil && (takes == nil || takes(s.typ) == nil) {
		return nil, err
	}
	typ := s.typ
	if err == nil && r.Fields() != nil {
		var windows []strided.Window
		if typ, windows, err = through(s.typ, r.Fields()); err != nil {
			return nil, err
		}
		r = r.Through(windows)
	}
	if takes != nil {
		if typeErr := takes(typ); typeErr != nil {
			return nil, typeErr
		}
	}
	return &selected{r, typ, s.engine.Heap}, err
}

// target returns what selections are resolved for.
func (s *state) target() *selection.Target {
	if t := s.selecting.Load(); t != nil {
		return t
	}
	t := &selection.Target{Shape: s.grid.Shape(), Names: s.names(), Grid: func() (*grid.Grid, error) { return s.grid, nil }}
	if s.engine.Chain.Divided() {
		t.Inner = s.inner
	}
	s.selecting.Store(t)
	return t
}

// through returns the type of what lists of fields make of a type, and which bytes they
// take.
func through(t dtype.Type, fields [][]string) (dtype.Type, []strided.Window, error) {
	windows := []strided.Window{{Size: int64(t.Size())}}
	for _, names := range fields {
		next, taken, err := take(t, names)
		if err != nil {
			return t, nil, err
		}
		var all []strided.Window
		for _, w := range taken {
			all = appendThrough(all, windows, w)
		}
		t, windows = next, all
	}
	return t, windows, nil
}

// take returns the type that fields of a struct make, and their bytes.
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
		return fields[0].Type, windows, nil
	}
	packed, err := dtype.StructOf(fields...)
	if err != nil {
		return t, nil, fault.Argument("fields %q: %v", names, err)
	}
	return packed, windows, nil
}

// appendThrough appends where the bytes of w come from that are bytes of what windows
// make.
func appendThrough(dst, windows []strided.Window, w strided.Window) []strided.Window {
	for _, of := range windows {
		from, to := max(w.From, of.To), min(w.From+w.Size, of.To+of.Size)
		if from < to {
			dst = append(dst, strided.Window{From: of.From + from - of.To, To: w.To + from - w.From, Size: to - from})
		}
	}
	return dst
}

// size returns the bytes of an element in memory.
func (r *selected) size() int64 { return int64(codec.Spec{Type: r.typ}.Width()) }

// room returns memory for what is selected, all of it zero or empty. Elements that differ
// in length may have so many bytes together.
func (r *selected) room(most int64) element.Buffer {
	return element.Buffer{Type: r.typ, Data: make([]byte, r.Len()*r.size()), Heap: r.heap.New().Limited(most)}
}

// view shows memory that holds a block of the selected elements in C order, as plans see
// it.
func (r *selected) view(e element.Buffer) (strided.View, error) {
	size := r.size()
	if r.typ.Variable() && e.Heap == nil {
		return strided.View{}, element.ErrVariable(r.typ)
	}
	if have := int64(len(e.Data)); have%size != 0 || have/size != r.Len() {
		return strided.View{}, fault.Argument("%d values (%d bytes) for a selection of shape %v, which has %d", have/size, have, r.Shape(), r.Len())
	}
	v := strided.Contiguous(e.Data, r.Shape(), int(size))
	v.Heap = e.Heap
	return r.Place(v), nil
}

// source is view of values that are to be stored.
func (r *selected) source(e element.Buffer) (strided.View, error) {
	if err := element.CheckValues(e); err != nil {
		return strided.View{}, err
	}
	return r.view(e)
}

// one shows one element as every selected one.
func (r *selected) one(e element.Buffer) (strided.View, error) {
	if err := element.CheckValues(e); err != nil {
		return strided.View{}, err
	}
	if int64(len(e.Data)) != r.size() {
		return strided.View{}, fault.Argument("%d bytes, an element of type %s has %d", len(e.Data), r.typ, r.size())
	}
	return r.strided(e, make([]int64, len(r.Shape())))
}

// strided shows memory in which the selected elements lie strides apart, counted in
// elements.
func (r *selected) strided(e element.Buffer, strides []int64) (strided.View, error) {
	shape, size := r.Shape(), r.size()
	if len(strides) != len(shape) {
		return strided.View{}, fault.Argument("%d strides for a selection of shape %v", len(strides), shape)
	}
	v := strided.View{Data: e.Data, Shape: shape, Strides: make([]int64, len(shape)), Size: int(size), Heap: e.Heap}
	last := int64(0)
	for i, n := range shape {
		step, ok := checked.Mul(strides[i], size)
		far, fits := checked.Mul(max(0, n-1), strides[i])
		if !ok || !fits || far > math.MaxInt64-last || strides[i] < 0 {
			return strided.View{}, fault.Argument("stride %d of axis %d (0 or more elements are needed)", strides[i], i)
		}
		v.Strides[i], last = step, last+far
	}
	if have := int64(len(e.Data)) / size; r.Len() > 0 && last >= have {
		return strided.View{}, fault.Argument("%d values, strides %d of shape %v reach to number %d", have, strides, shape, last)
	}
	return r.Place(v), nil
}

// apart reports whether no two elements of a block of that shape share memory.
func apart(shape, strides []int64) bool {
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i
	}
	slices.SortFunc(axes, func(a, b int) int { return int(min(1, max(-1, strides[a]-strides[b]))) })
	reach := int64(0)
	for _, i := range axes {
		if shape[i] > 1 && strides[i] <= reach {
			return false
		}
		reach += (shape[i] - 1) * strides[i]
	}
	return true
}

// check refuses elements of another type.
func (s *state) check(e element.Buffer) error {
	if e.Type != s.typ {
		return fault.Argument("the elements are %s, not %s", s.typ, e.Type)
	}
	return nil
}

// atBorder reports whether a selection touches chunks that reach beyond the array.
// Another program may have made the array grow into them, and what it stored there must
// not be taken for leftovers.
func (s *state) atBorder(r *selection.Resolved) bool {
	for i, touched := range r.Touched(s.grid) {
		a := s.grid.Axis(i)
		if last, ok := a.Cell(a.Chunks() - 1); ok && last.IsBoundary() && touched.Stop == a.Chunks() {
			return true
		}
	}
	return s.version.IsZero()
}
