// SPDX-License-Identifier: Apache-2.0

// Package element converts Go values to array elements and back.
package element

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"
	"unsafe"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
)

// Buffer holds the elements of a block in memory, in host byte order.
type Buffer struct {
	Type dtype.Type
	Data []byte
	Heap *strided.Heap // the bytes of elements of variable length, to which Data refers; nil for others
}

// plain returns values as a slice of the underlying type of T, in the same memory:
// []float32 for a Celsius that is defined as a float32. Types of package time and the
// small floats of package dtype stay as they are, because they have data types of their
// own.
func plain[T dtype.Element](values []T) any {
	switch any(values).(type) {
	case []dtype.Float16, []dtype.BFloat16, []time.Time, []time.Duration:
		return values
	}
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Bool:
		return seenAs[bool](values)
	case reflect.Int8:
		return seenAs[int8](values)
	case reflect.Int16:
		return seenAs[int16](values)
	case reflect.Int32:
		return seenAs[int32](values)
	case reflect.Int64:
		return seenAs[int64](values)
	case reflect.Uint8:
		return seenAs[uint8](values)
	case reflect.Uint16:
		return seenAs[uint16](values)
	case reflect.Uint32:
		return seenAs[uint32](values)
	case reflect.Uint64:
		return seenAs[uint64](values)
	case reflect.Float32:
		return seenAs[float32](values)
	case reflect.Float64:
		return seenAs[float64](values)
	case reflect.Complex64:
		return seenAs[complex64](values)
	case reflect.Complex128:
		return seenAs[complex128](values)
	case reflect.String:
		return seenAs[string](values)
	}
	return seenAs[[]byte](values)
}

// seenAs returns values as a slice of another type with the same memory layout.
func seenAs[To, T any](values []T) []To {
	return unsafe.Slice((*To)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// Native reports whether values of T have the same bytes in memory as elements of t.
func Native[T dtype.Element](t dtype.Type) bool {
	switch plain[T](nil).(type) {
	case []string, [][]byte, []time.Time, []time.Duration:
		return false
	case []int8:
		return t.Kind() == dtype.KindInt && t.Size() == 1
	case []uint8:
		return t.Kind() == dtype.KindUint && t.Size() == 1
	case []int64:
		return t == dtype.Int64 || t.Kind() == dtype.KindDatetime || t.Kind() == dtype.KindTimedelta
	case []complex64:
		return t.Kind() == dtype.KindComplex && t.Size() == 8 && t.Bits() == 32
	case []complex128:
		return t.Kind() == dtype.KindComplex && t.Size() == 16
	}
	return t == dtype.Of[T]()
}

// Converted reports whether values of T represent elements of t but have other bytes in
// memory, so that they must be converted.
func Converted[T dtype.Element](t dtype.Type) bool {
	switch plain[T](nil).(type) {
	case []string:
		return t.Kind() == dtype.KindString || t.Kind() == dtype.KindUTF32 || t.Kind() == dtype.KindTerminated
	case [][]byte:
		return t.Variable() || t.Kind() == dtype.KindTerminated || t.Kind() == dtype.KindRaw
	case []time.Time:
		return t.Kind() == dtype.KindDatetime
	case []time.Duration:
		return t.Kind() == dtype.KindTimedelta
	}
	return false
}

// Check returns an error if values of T cannot represent elements of t.
func Check[T dtype.Element](t dtype.Type) error {
	if Native[T](t) || Converted[T](t) {
		return nil
	}
	var zero T
	return fault.Argument("the elements are %s, not %T%s", t, zero, alternatives(t, plain[T](nil)))
}

// alternatives returns a hint that names the methods that read and write elements of t as
// values of another type. It returns "" if there are none.
func alternatives(t dtype.Type, values any) string {
	switch values.(type) {
	case []int8, []int16, []int32, []int64, []uint8, []uint16, []uint32, []uint64, []float32, []float64:
		switch t.Kind() {
		case dtype.KindInt, dtype.KindUint, dtype.KindFloat:
			return "; ReadAs and WriteAs convert numbers"
		}
	}
	if t.Kind() == dtype.KindStruct {
		return "; ReadStructs and WriteStructs take structs, selection.Fields one field"
	}
	return ""
}

// From returns values as elements of t. It shares their memory if no conversion is
// needed. Elements of variable length are stored in a new heap made from empty.
func From[T dtype.Element](t dtype.Type, empty *strided.Heap, values []T) (Buffer, error) {
	e := Buffer{Type: t}
	switch {
	case Native[T](t):
		e.Data = Bytes(values)
		return e, nil
	case !Converted[T](t):
		return e, Check[T](t)
	case t.Variable():
		if words, ok := plain(values).([]string); ok {
			return variable(t, empty.New(), words)
		}
		words, _ := plain(values).([][]byte)
		return variable(t, empty.New(), words)
	}
	e.Data = make([]byte, len(values)*t.Size())
	if i, err := setElements(t, e.Data, plain(values)); err != nil {
		return e, fault.Argument("value %d: %v", i, err)
	}
	return e, nil
}

// setElements converts values to elements. After an error it returns the index of the
// value that does not fit.
func setElements(t dtype.Type, elems []byte, values any) (int, error) {
	size := t.Size()
	switch values := values.(type) {
	case []string:
		return eachElement(elems, size, values, func(elem []byte, v *string) error { return setText(t, elem, *v) })
	case [][]byte:
		return eachElement(elems, size, values, func(elem []byte, v *[]byte) error { return setBytes(t, elem, *v) })
	case []time.Time:
		return eachElement(elems, size, values, func(elem []byte, v *time.Time) error { return setTime(t, elem, *v) })
	case []time.Duration:
		return eachElement(elems, size, values, func(elem []byte, v *time.Duration) error { return setPeriod(t, elem, *v) })
	}
	return 0, nil
}

func eachElement[T any](elems []byte, size int, values []T, set func(elem []byte, v *T) error) (int, error) {
	for i := range values {
		if err := set(elems[i*size:][:size], &values[i]); err != nil {
			return i, err
		}
	}
	return 0, nil
}

func setText(t dtype.Type, elem []byte, text string) error {
	if t.Kind() == dtype.KindUTF32 && !utf8.ValidString(text) {
		return fmt.Errorf("text %.40q is not UTF-8", text)
	}
	if !t.SetText(elem, text) {
		return fmt.Errorf("text %.40q is too long for %s", text, t)
	}
	return nil
}

func setBytes(t dtype.Type, elem, value []byte) error {
	if len(value) > len(elem) || t.Kind() == dtype.KindRaw && len(value) < len(elem) {
		return fmt.Errorf("%s for %s", quantity.Count(len(value), "bytes"), t)
	}
	clear(elem[copy(elem, value):])
	return nil
}

// setTime sets elem to a moment. The zero Time becomes NaT, and NaT is read as the zero
// Time.
func setTime(t dtype.Type, elem []byte, at time.Time) error {
	n, ok := t.NumberOf(at)
	if at.IsZero() {
		n, ok = dtype.NaT, true
	} else if there, _ := t.Moment(n); ok && !there.Equal(at) {
		return fmt.Errorf("%v is not a whole number of steps of %s: round it first (time.Time.Truncate)", at, t)
	}
	if !ok {
		return fmt.Errorf("%v does not fit %s", at, t)
	}
	binary.NativeEndian.PutUint64(elem, uint64(n))
	return nil
}

func setPeriod(t dtype.Type, elem []byte, d time.Duration) error {
	n, ok := t.NumberOfDuration(d)
	if !ok {
		return fmt.Errorf("%v does not fit %s", d, t)
	}
	binary.NativeEndian.PutUint64(elem, uint64(n))
	return nil
}

// variable returns elements of variable length, with their bytes in the heap.
func variable[V string | []byte](t dtype.Type, heap *strided.Heap, values []V) (Buffer, error) {
	e := Buffer{t, make([]byte, len(values)*strided.RefSize), heap}
	for from := 0; from < len(values); {
		size, to := 0, from
		// A page of the heap has a limited size, so part a long list of values into
		// pages.
		for ; to < len(values) && (to == from || size+len(values[to]) <= math.MaxInt32); to++ {
			size += len(values[to])
		}
		data, offsets := make([]byte, 0, size), make([]int64, 1, to-from+1)
		for i, v := range values[from:to] {
			before := len(data)
			data = append(data, v...)
			if err := t.Check(data[before:]); err != nil {
				return e, fault.Argument("value %d: %v", from+i, err)
			}
			offsets = append(offsets, int64(len(data)))
		}
		if !e.Heap.Add(e.Data[from*strided.RefSize:], data, offsets) {
			return e, fault.Argument("value %d has %s", from, quantity.Count(len(values[from]), "bytes"))
		}
		from = to
	}
	return e, nil
}

// Values converts elements to Go values. It does nothing if they share their memory.
func Values[T dtype.Element](e Buffer, values []T) error {
	switch values := plain(values).(type) {
	case []string:
		e.strings(values)
	case [][]byte:
		e.byteStrings(values)
	case []time.Time:
		for i := range values {
			n := int64(binary.NativeEndian.Uint64(e.Data[8*i:]))
			at, ok := e.Type.Moment(n)
			if !ok && n != dtype.NaT {
				return fault.Argument("element %d of the selection, %s, is no time.Time; read the numbers as int64", i, e.Type.AppendText(nil, e.Data[8*i:8*i+8]))
			}
			values[i] = at
		}
	case []time.Duration:
		for i := range values {
			n := int64(binary.NativeEndian.Uint64(e.Data[8*i:]))
			d, ok := e.Type.Duration(n)
			if !ok {
				return fault.Argument("element %d of the selection, %s, is no time.Duration; read the numbers as int64", i, e.Type.AppendText(nil, e.Data[8*i:8*i+8]))
			}
			values[i] = d
		}
	}
	return nil
}

// strings sets values to the text of the elements.
func (e Buffer) strings(values []string) {
	if e.Heap == nil {
		size := e.Type.Size()
		var room []byte
		for i := range values {
			room = packed.AppendWord(e.Type, room[:0], e.Data[i*size:][:size])
			values[i] = string(room)
		}
		return
	}
	share := e.shares()
	for i := range values {
		b := e.Heap.Bytes(e.Data[i*strided.RefSize:])
		if share {
			values[i] = unsafe.String(unsafe.SliceData(b), len(b)) // the heap never changes what it has
		} else {
			values[i] = string(b)
		}
	}
}

// byteStrings sets values to the bytes of the elements. Each slice has no spare capacity,
// so an append to one does not overwrite another.
func (e Buffer) byteStrings(values [][]byte) {
	if e.Heap == nil {
		size := e.Type.Size()
		for i := range values {
			values[i] = append(make([]byte, 0, size), packed.TrimPadding(e.Type, e.Data[i*size:][:size])...)
		}
		return
	}
	v := strided.View{Data: e.Data, Shape: []int64{int64(len(values))}, Strides: []int64{strided.RefSize}, Size: strided.RefSize, Heap: e.Heap}
	all := make([]byte, 0, v.ElementBytes()) // a copy: the caller may write to it
	for i := range values {
		from := len(all)
		all = append(all, e.Heap.Bytes(e.Data[i*strided.RefSize:])...)
		values[i] = all[from:len(all):len(all)]
	}
}

// shares reports whether the elements make up at least half of their heap. Then strings
// may refer to the heap, which keeps all of it in memory.
func (e Buffer) shares() bool {
	v := strided.View{Data: e.Data, Shape: []int64{int64(len(e.Data) / strided.RefSize)}, Strides: []int64{strided.RefSize}, Size: strided.RefSize, Heap: e.Heap}
	return v.ElementBytes() >= e.Heap.Len()/2
}

// Bytes returns the memory of a slice of elements.
func Bytes[T dtype.Element](s []T) []byte {
	var e T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(e)))
}

// CheckValues returns an error if bytes are not valid elements of the data type, such as
// a bool of 2. Readers would refuse them.
func CheckValues(e Buffer) error {
	if e.Type.Variable() {
		if e.Heap == nil {
			return ErrVariable(e.Type)
		}
		return nil // From has checked them
	}
	if err := e.Type.Check(e.Data); err != nil {
		return fault.Argument("%v", err)
	}
	return nil
}

// ErrVariable returns the error for passing bytes where elements have variable length.
func ErrVariable(t dtype.Type) error {
	return fault.Argument("elements of %s differ in length: read and write them as Go values, string or []byte", t)
}

// Conversion returns the function that converts elements of type from to elements of type
// to. The function returns the index of the first number that does not fit, or -1.
func Conversion(from, to dtype.Type) (func(dst, src []byte) int, error) {
	source, known := number.Of(from)
	target, wanted := number.Of(to)
	single := dtype.Float32
	short := func(t dtype.Type) bool { return t.Kind() == dtype.KindFloat && t.Size() < 4 }
	switch {
	case !known || !wanted:
		return nil, fault.Argument("elements of %s are not converted to %s: both have to be real numbers", from, to)
	case source.Carrier == number.Float && target.Carrier != number.Float:
		return nil, fault.Argument("elements of %s are not converted to %s: they may have fractions; round them first", from, to)
	// Tables convert short floats faster than the general cast.
	case short(from) && to == single:
		return func(dst, src []byte) int { return before(len(dst)/4, from.Float32s(float32sOf(dst), src)) }, nil
	case from == single && short(to):
		return func(dst, src []byte) int { return before(len(src)/4, to.SetFloat32s(dst, float32sOf(src))) }, nil
	}
	c := number.NewCast(source, target, number.NearestEven, number.Fails)
	return c.Run, nil
}

// before returns done if it is less than all, and otherwise -1.
func before(all, done int) int {
	if done < all {
		return done
	}
	return -1
}

// float32sOf returns b as a slice of float32 in the same memory.
func float32sOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
