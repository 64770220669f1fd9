// SPDX-License-Identifier: Apache-2.0

package reduction

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/dtype"
)

// TestWholeRows compares rows that are made as a whole with those that are made block by
// block.
func TestWholeRows(t *testing.T) {
	t.Run("uint8", func(t *testing.T) {
		sameRows(t, dtype.Uint8, func(n uint64) uint8 { return uint8(n) }, func(m Method) rowMaker { return plain(reals(m, shortMean[uint8]), nil) })
	})
	t.Run("int16", func(t *testing.T) {
		sameRows(t, dtype.Int16, func(n uint64) int16 { return int16(n) - 2 }, func(m Method) rowMaker { return plain(reals(m, shortMean[int16]), nil) })
	})
	t.Run("uint64", func(t *testing.T) {
		sameRows(t, dtype.Uint64, func(n uint64) uint64 { return math.MaxUint64 - n }, func(m Method) rowMaker { return plain(reals(m, wideMean[uint64]), nil) })
	})
	t.Run("int64", func(t *testing.T) {
		sameRows(t, dtype.Int64, func(n uint64) int64 { return int64(n) - 2 }, func(m Method) rowMaker { return plain(reals(m, wideMean[int64]), nil) })
	})
	t.Run("float32", func(t *testing.T) {
		sameRows(t, dtype.Float32, func(n uint64) float32 {
			return [...]float32{0, 1.5, float32(math.Copysign(0, -1)), float32(math.Inf(-1)), float32(math.NaN()), -2}[n%6]
		}, func(m Method) rowMaker { return plain(reals(m, floatMean[float32]), nil) })
	})
}

func sameRows[T short | wide | float](t *testing.T, typ dtype.Type, value func(uint64) T, plain func(Method) rowMaker) {
	rapid.Check(t, func(t *rapid.T) {
		n, f, most := rapid.IntRange(1, 40).Draw(t, "length"), rapid.IntRange(1, 5).Draw(t, "factor"), rapid.Uint64Range(1, 6).Draw(t, "values")
		rows := make([][]byte, rapid.IntRange(1, 4).Draw(t, "rows"))
		for i := range rows {
			row := make([]T, n)
			for j := range row {
				row[j] = value(rapid.Uint64Range(0, most).Draw(t, "value"))
			}
			rows[i] = bytesOf(row)
		}
		for _, m := range []Method{Mean, Mode, Min, Max} {
			got, want := make([]T, (n+f-1)/f), make([]T, (n+f-1)/f)
			rowsOf(typ, m, nil)(len(got))(bytesOf(got), rows, f)
			plain(m)(len(want))(bytesOf(want), rows, f)
			if !bytes.Equal(bytesOf(got), bytesOf(want)) {
				t.Fatalf("%s: %v, want %v, of %v", m, got, want, rows)
			}
		}
	})
}
