// SPDX-License-Identifier: Apache-2.0

package element

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/packed"
)

// layout maps the fields of packed elements to their places in a Go struct. Every call
// makes a new one.
type layout struct {
	elem  int // bytes of an element
	Size  int // bytes of the Go struct
	moves []move
}

// move describes how a run of bytes of an element is copied or converted to the struct.
type move struct {
	at     int     // in the element
	offset uintptr // in the struct
	size   int     // in the element
	way    way
	typ    dtype.Type // of the field, where bytes are not just copied
	name   string     // of the field, with those that it is in
}

// way is how a field is moved.
type way uint8

const (
	copied    way = iota
	asText        // string
	asBytes       // []byte
	asTime        // time.Time
	asPeriod      // time.Duration
	asFloat32     // float32, of a shorter float
)

// memory is the memory of a slice of structs.
type memory struct {
	start  unsafe.Pointer
	number int
}

// MemoryOf returns the memory of s.
func MemoryOf[T any](s []T) memory {
	return memory{unsafe.Pointer(unsafe.SliceData(s)), len(s)}
}

// LayoutOf matches the fields of an element with those of T.
func LayoutOf[T any](t dtype.Type) (*layout, error) {
	g := reflect.TypeFor[T]()
	l := &layout{elem: t.Size(), Size: int(g.Size())}
	if t.Kind() != dtype.KindStruct {
		return nil, fault.Argument("the elements are %s, no structs: use Read and Write", t)
	}
	if g.Kind() != reflect.Struct {
		return nil, fault.Argument("%s is no struct of Go", g)
	}
	if err := l.match(t, g, 0, 0, ""); err != nil {
		return nil, err
	}
	l.join()
	return l, nil
}

// match adds the fields of a struct that begins at the given offsets.
func (l *layout) match(t dtype.Type, g reflect.Type, at int, offset uintptr, path string) error {
	tagged := map[string]reflect.StructField{}
	for i := range g.NumField() {
		f := g.Field(i)
		name, ok := f.Tag.Lookup("zarr")
		if !ok {
			continue
		}
		// A tag that matches nothing is probably misspelled. Ignoring it would leave the
		// field zero.
		if _, has := t.Field(name); !has {
			return fault.Argument("field %s of %s is tagged %q, and the elements %s have no such field", f.Name, g, path+name, t)
		}
		if !f.IsExported() {
			return fault.Argument("field %s of %s is tagged %q, and not exported", f.Name, g, path+name)
		}
		if other, twice := tagged[name]; twice {
			return fault.Argument("fields %s and %s of %s are both tagged %q", other.Name, f.Name, g, path+name)
		}
		tagged[name] = f
	}
	for _, field := range t.Fields() {
		f, ok := tagged[field.Name]
		if !ok {
			return fault.Argument("no field of %s is tagged `zarr:%q`, which is %s; tag one, or leave the field out with selection.Fields", g, path+field.Name, field.Type)
		}
		if err := l.add(field.Type, f.Type, at+field.Offset, offset+f.Offset, path+field.Name); err != nil {
			return err
		}
	}
	return nil
}

// add adds one field.
func (l *layout) add(t dtype.Type, g reflect.Type, at int, offset uintptr, name string) error {
	w, ok := wayOf(t, g)
	if !ok && t.Kind() == dtype.KindStruct && g.Kind() == reflect.Struct {
		return l.match(t, g, at, offset, name+".")
	}
	if !ok && t.Kind() == dtype.KindStruct && g.Kind() == reflect.Array && isArray(t, g.Len()) {
		return l.array(t, g, at, offset, name)
	}
	if !ok {
		return fault.Argument("field %q is %s, which is not kept in a %s", name, t, g)
	}
	l.moves = append(l.moves, move{at, offset, t.Size(), w, t, name})
	return nil
}

// array adds a struct with fields "0", "1" and so on, which represents an array field of
// format 2.
func (l *layout) array(t dtype.Type, g reflect.Type, at int, offset uintptr, name string) error {
	for i, f := range t.Fields() {
		if err := l.add(f.Type, g.Elem(), at+f.Offset, offset+uintptr(i)*g.Elem().Size(), name+"."+f.Name); err != nil {
			return err
		}
	}
	return nil
}

// isArray reports whether a struct has n fields named "0", "1" and so on.
func isArray(t dtype.Type, n int) bool {
	fields := t.Fields()
	for i, f := range fields {
		if f.Name != strconv.Itoa(i) {
			return false
		}
	}
	return len(fields) == n
}

// wayOf returns how a field of type t is moved to one of g.
func wayOf(t dtype.Type, g reflect.Type) (way, bool) {
	switch {
	case g == reflect.TypeFor[time.Time]():
		return asTime, t.Kind() == dtype.KindDatetime
	case g == reflect.TypeFor[time.Duration]():
		return asPeriod, t.Kind() == dtype.KindTimedelta
	case g == reflect.TypeFor[dtype.Float16]():
		return copied, t == dtype.Of[dtype.Float16]()
	case g == reflect.TypeFor[dtype.BFloat16]():
		return copied, t == dtype.Of[dtype.BFloat16]()
	}
	text := t.Kind() == dtype.KindTerminated
	switch g.Kind() {
	case reflect.String:
		return asText, text || t.Kind() == dtype.KindUTF32
	case reflect.Slice:
		return asBytes, g.Elem().Kind() == reflect.Uint8 && (text || t.Kind() == dtype.KindRaw)
	case reflect.Array:
		return copied, g.Elem().Kind() == reflect.Uint8 && g.Len() == t.Size() && (text || t.Kind() == dtype.KindRaw)
	case reflect.Float32:
		if t.Kind() == dtype.KindFloat && t.Size() < 4 {
			return asFloat32, true
		}
	}
	return copied, copies(t, g)
}

// copies reports whether numbers of the types t and g have the same bytes in memory.
func copies(t dtype.Type, g reflect.Type) bool {
	if int(g.Size()) != t.Size() {
		return false
	}
	switch g.Kind() {
	case reflect.Bool:
		return t.Kind() == dtype.KindBool
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return t.Kind() == dtype.KindInt || t.Kind() == dtype.KindDatetime || t.Kind() == dtype.KindTimedelta
	case reflect.Uint8:
		return t.Kind() == dtype.KindUint || t.Kind() == dtype.KindFloat // the bits of a small float
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return t.Kind() == dtype.KindUint
	case reflect.Float32, reflect.Float64:
		return t.Kind() == dtype.KindFloat
	case reflect.Complex64, reflect.Complex128:
		return t.Kind() == dtype.KindComplex && t.Unit() == t.Size()/2 && t.Bits() == 4*t.Size()
	}
	return false
}

// join merges copied fields that are adjacent both in the element and in the struct.
func (l *layout) join() {
	joined := l.moves[:0]
	// Field by field: the branch on the kind of move is then the same for all elements.
	for _, m := range l.moves {
		if n := len(joined); n > 0 && m.way == copied {
			if last := &joined[n-1]; last.way == copied && last.at+last.size == m.at && last.offset+uintptr(last.size) == m.offset {
				last.size += m.size
				continue
			}
		}
		joined = append(joined, m)
	}
	l.moves = joined
}

// Load converts elements to structs. If one does not fit, it returns its index and an
// error.
func (l *layout) Load(dst memory, elems []byte) (int, error) {
	for _, m := range l.moves {
		for i := range dst.number {
			elem := elems[i*l.elem+m.at:][:m.size]
			place := unsafe.Add(dst.start, uintptr(i)*uintptr(l.Size)+m.offset)
			if m.way == copied {
				copyBytes(unsafe.Slice((*byte)(place), m.size), elem)
			} else if !m.load(place, elem) {
				return i, fmt.Errorf("field %q, %s, does not fit; take int64 for it", m.name, m.typ.AppendText(nil, elem))
			}
		}
	}
	return 0, nil
}

// copyBytes copies the few bytes of a number without a call.
func copyBytes(dst, src []byte) {
	switch len(src) {
	case 1:
		dst[0] = src[0]
	case 2:
		*(*[2]byte)(dst) = *(*[2]byte)(src)
	case 4:
		*(*[4]byte)(dst) = *(*[4]byte)(src)
	case 8:
		*(*[8]byte)(dst) = *(*[8]byte)(src)
	default:
		copy(dst, src)
	}
}

// load converts the bytes of an element to the field at place. It returns false if the
// field cannot hold them.
func (m *move) load(place unsafe.Pointer, elem []byte) bool {
	switch m.way {
	case asText:
		var room [64]byte
		*(*string)(place) = string(packed.AppendWord(m.typ, room[:0], elem))
	case asBytes:
		*(*[]byte)(place) = append([]byte{}, packed.TrimPadding(m.typ, elem)...)
	case asFloat32:
		m.typ.Float32s(unsafe.Slice((*float32)(place), 1), elem)
	case asTime:
		n := int64(binary.NativeEndian.Uint64(elem))
		at, ok := m.typ.Moment(n)
		*(*time.Time)(place) = at
		return ok || n == dtype.NaT
	case asPeriod:
		d, ok := m.typ.Duration(int64(binary.NativeEndian.Uint64(elem)))
		*(*time.Duration)(place) = d
		return ok
	}
	return true
}

// Store converts structs to elements, whose bytes must be zero. If a struct does not fit,
// it returns its index and an error.
func (l *layout) Store(elems []byte, src memory) (int, error) {
	for _, m := range l.moves {
		for i := range src.number {
			elem := elems[i*l.elem+m.at:][:m.size]
			place := unsafe.Add(src.start, uintptr(i)*uintptr(l.Size)+m.offset)
			if m.way == copied {
				copyBytes(elem, unsafe.Slice((*byte)(place), m.size))
			} else if err := m.store(elem, place); err != nil {
				return i, fmt.Errorf("field %q: %v", m.name, err)
			}
		}
	}
	return 0, nil
}

// store converts the field at place to the bytes of an element.
func (m *move) store(elem []byte, place unsafe.Pointer) error {
	switch m.way {
	case asText:
		return setText(m.typ, elem, *(*string)(place))
	case asBytes:
		return setBytes(m.typ, elem, *(*[]byte)(place))
	case asTime:
		return setTime(m.typ, elem, *(*time.Time)(place))
	case asPeriod:
		return setPeriod(m.typ, elem, *(*time.Duration)(place))
	case asFloat32:
		if x := (*float32)(place); m.typ.SetFloat32s(elem, unsafe.Slice(x, 1)) == 0 {
			return fmt.Errorf("%v does not fit %s", *x, m.typ)
		}
	}
	return nil
}
