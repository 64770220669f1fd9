// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"cmp"
	"slices"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/number"
)

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
