// SPDX-License-Identifier: Apache-2.0

package reduction

import (
	"cmp"
	"encoding/binary"
	"slices"
	"unsafe"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/number"
)

// notATime is NaT, the missing value of times.
var notATime = binary.NativeEndian.AppendUint64(nil, 1<<63)

// rowsOf returns how rows are made, or nil if elements of the type do not have the
// method.
func rowsOf(t dtype.Type, m Method, absent [][]byte) rowMaker {
	switch k := t.Kind(); {
	// A mean of booleans would be no boolean. Min, max and mode treat them as 0 and 1.
	case k == dtype.KindBool && m != Mean:
		return integers[uint8](m, absent)
	case k == dtype.KindDatetime || k == dtype.KindTimedelta:
		// Moments are 64-bit counts. NaT is their smallest number, and must not win as
		// minimum.
		return wides[int64](m, append(absent, notATime))
	// Complex numbers have no order, so they only have a mean.
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

// short are integers whose sums fit into 64 bits, since a block has at most [MostBlock]
// elements.
type short interface {
	int8 | int16 | int32 | uint8 | uint16 | uint32
}

// wide are the other integers.
type wide interface{ int64 | uint64 }

type float interface{ float32 | float64 }

func integers[T short](m Method, absent [][]byte) rowMaker {
	rows := plain(reals(m, shortMean[T]), valuesOf[T](absent))
	// Whole rows are added at once only where no element is left out: the divisor is then
	// the same for all blocks.
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
	// Missing values need a look at each element; the mean of wide integers needs 128
	// bits.
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

// reals returns how an element is made of the values of a block, which are not missing.
func reals[T cmp.Ordered](m Method, mean func([]T) T) func([]T) T {
	switch m {
	case Mean:
		return mean
	case Mode:
		return mode[T]
	case Min:
		return slices.Min[[]T]
	}
	return slices.Max[[]T]
}

// plain makes elements block by block. It leaves out NaN and the values of absent.
func plain[T comparable](method func([]T) T, absent []T) rowMaker {
	return func(int) makeRow {
		var block []T
		return func(dst []byte, rows [][]byte, f int) {
			out := as[T](dst)
			for j := range out {
				block = gather(block[:0], rows, j*f, f, absent)
				if len(block) > 0 {
					out[j] = method(block)
				} else {
					out[j] = as[T](rows[0])[j*f]
				}
			}
		}
	}
}

// gather appends the values of a block that are not missing.
func gather[T comparable](block []T, rows [][]byte, from, f int, absent []T) []T {
	for _, r := range rows {
		row := as[T](r)
		for _, x := range row[from:min(from+f, len(row))] {
			if !isNaN(x) && !slices.Contains(absent, x) {
				block = append(block, x)
			}
		}
	}
	return block
}

// isNaN reports whether a number is NaN, which differs from itself.
func isNaN[T comparable](x T) bool { y := x; return x != y }

// converted makes elements of a format that Go has not, by way of numbers that it has.
func converted[T wide | float64](
	f *number.Format, part func(*number.Block) []T, rows func(Method, [][]byte) rowMaker, m Method, absent [][]byte,
) rowMaker {
	load := func(dst []T, src []byte) []T {
		b := number.NewBlock()
		defer b.Free()
		for len(src) > 0 {
			n := f.Load(b, src[:min(len(src), number.Size*f.Bytes)])
			dst, src = append(dst, part(b)[:n]...), src[n*f.Bytes:]
		}
		return dst
	}
	store := func(dst []byte, src []T) {
		b := number.NewBlock()
		defer b.Free()
		for len(src) > 0 {
			n := copy(part(b), src)
			f.Store(dst[:n*f.Bytes], b)
			dst, src = dst[n*f.Bytes:], src[n:]
		}
	}
	var values [][]byte
	for _, e := range absent {
		values = append(values, bytesOf(load(nil, e)))
	}
	maker := rows(m, values)
	return func(width int) makeRow { return convertedRow(maker(width), load, store) }
}

// convertedRow loads rows, and stores the row that is made of them.
func convertedRow[T any](row makeRow, load func([]T, []byte) []T, store func([]byte, []T)) makeRow {
	var room, out []T
	return func(dst []byte, rows [][]byte, f int) {
		room = room[:0]
		ends := make([]int, len(rows))
		for i, r := range rows {
			room = load(room, r)
			ends[i] = len(room)
		}
		loaded, from := make([][]byte, len(rows)), 0
		for i, to := range ends {
			loaded[i], from = bytesOf(room[from:to]), to
		}
		n := checked.CeilDiv(int64(ends[0]), int64(f))
		out = append(out[:0], make([]T, n)...)
		row(bytesOf(out), loaded, f)
		store(dst, out)
	}
}
