// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
)

// newReducer returns the reducer for elements of type t. absent are elements that are
// missing values.
func newReducer(t dtype.Type, m Method, factors []int64, absent [][]byte) (*reducer, error) {
	if t.Variable() {
		return nil, fmt.Errorf("%w: elements of type %s have no fixed size", zarr.ErrUnsupported, t)
	}
	r := &reducer{factors: factors}
	if m == Nearest {
		return r, nil
	}
	if r.rows = rowsOf(t, m, absent); r.rows == nil {
		return nil, fmt.Errorf("%w: elements of type %s have no %s; the method nearest takes any type of fixed size", zarr.ErrInvalidArgument, t, m)
	}
	if m == Mean {
		r.rows = newApart(t, absent).rows(r.rows)
	}
	return r, nil
}

// notATime is NaT, the missing value of times.
var notATime = binary.NativeEndian.AppendUint64(nil, 1<<63)

// rowsOf returns how rows are made, or nil if elements of the type do not have the
// method.
func rowsOf(t dtype.Type, m Method, absent [][]byte) rowMaker {
	switch k := t.Kind(); {
	case k == dtype.KindBool && m != Mean:
		return integers[uint8](m, absent)
	case k == dtype.KindDatetime || k == dtype.KindTimedelta:
		return wides[int64](m, append(absent, notATime))
	case t == dtype.Complex64 && m == Mean:
		return plain(complexMean[complex64], valuesOf[complex64](absent))
	case t == dtype.Complex128 && m == Mean:
		return plain(complexMean[complex128], valuesOf[complex128](absent))
	}
	if rows, ok := native[t.Name()]; ok {
		return rows(m, absent)
	}
	f, ok := number.Of(t)
	if !ok {
		return nil
	}
	switch f.Carrier {
	case number.Signed:
		return converted(f, func(b *number.Block) []int64 { return b.I[:] }, wides[int64], m, absent)
	case number.Unsigned:
		return converted(f, func(b *number.Block) []uint64 { return b.U[:] }, wides[uint64], m, absent)
	}
	return converted(f, func(b *number.Block) []float64 { return b.F[:] }, floats[float64], m, absent)
}

// native has the types whose elements are Go numbers.
var native = map[string]func(Method, [][]byte) rowMaker{
	"int8": integers[int8], "int16": integers[int16], "int32": integers[int32], "int64": wides[int64],
	"uint8": integers[uint8], "uint16": integers[uint16], "uint32": integers[uint32], "uint64": wides[uint64],
	"float32": floats[float32], "float64": floats[float64],
}

// short are integers whose sums fit into 64 bits, since a block has at most [mostBlock]
// elements.
type short interface {
	int8 | int16 | int32 | uint8 | uint16 | uint32
}

// wide are the other integers.
type wide interface{ int64 | uint64 }

type float interface{ float32 | float64 }

func integers[T short](m Method, absent [][]byte) rowMaker {
	rows := plain(reals(m, shortMean[T]), valuesOf[T](absent))
	if m == Mean && len(absent) == 0 {
		return sums(shortMeans[T], rows)
	}
	return whole[T](m, absent, rows)
}

func wides[T wide](m Method, absent [][]byte) rowMaker {
	return whole[T](m, absent, plain(reals(m, wideMean[T]), valuesOf[T](absent)))
}

// whole returns what makes the elements of whole rows as plain does, or plain.
func whole[T short | wide](m Method, absent [][]byte, plain rowMaker) rowMaker {
	switch {
	case len(absent) > 0 || m == Mean:
		return plain
	case m == Mode:
		return modes[T](plain)
	}
	return extremes[T](m, plain)
}

func floats[T float](m Method, absent [][]byte) rowMaker {
	rows := plain(reals(m, floatMean[T]), valuesOf[T](absent))
	switch {
	case len(absent) > 0 || m == Mode:
		return rows
	case m == Mean:
		return sums(floatMeans[T], rows)
	}
	return extremes[T](m, rows)
}

// as returns the elements of a block of memory.
func as[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// bytesOf returns the memory of elements.
func bytesOf[T any](s []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(t)))
}

// valuesOf returns the values of single elements.
func valuesOf[T any](elements [][]byte) (values []T) {
	for _, e := range elements {
		values = append(values, make([]T, 1)...)
		copy(bytesOf(values[len(values)-1:]), e)
	}
	return values
}

// mostBlock bounds the elements of a block.
const mostBlock = 1 << 20
