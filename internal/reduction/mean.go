// SPDX-License-Identifier: Apache-2.0

package reduction

import (
	"bytes"
	"math"
	"math/bits"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
)

// sums makes means without looking at blocks one by one: it adds up whole rows. means
// divides sums by n, and reports whether one of them is NaN: a missing value may be the
// reason, and then the row is made by plain.
func sums[T short | float, S int64 | float64](means func(dst []T, sums []S, n int) bool, plain rowMaker) rowMaker {
	return func(width int) makeRow {
		room := make([]S, width)
		var slow makeRow
		return func(dst []byte, rows [][]byte, f int) {
			out := as[T](dst)
			sums, length := room[:len(out)], 0
			clear(sums)
			for _, r := range rows {
				row := as[T](r)
				length = len(row)
				add(sums, row, f)
			}
			whole := length / f
			missing := means(out[:whole], sums[:whole], len(rows)*f)
			if means(out[whole:], sums[whole:], len(rows)*(length%f)) || missing {
				// NaN among the elements: the sum of the row is of no use, and blocks
				// are made one by one.
				if slow == nil {
					slow = plain(width)
				}
				slow(dst, rows, f)
			}
		}
	}
}

// apart keeps means apart from missing values: the mean of -1 and 1 is 0, and where 0 is
// missing, readers would find nothing there. The number next to it takes its place.
type apart struct {
	format *number.Format // of an element, or of the real part
	size   int            // bytes of an element
	absent [][]byte
}

// newApart returns nil if nothing is missing.
func newApart(t dtype.Type, absent [][]byte) *apart {
	if len(absent) == 0 {
		return nil
	}
	f, ok := number.Of(t)
	switch {
	case ok:
	case t == dtype.Complex64:
		f, _ = number.Of(dtype.Float32)
	case t == dtype.Complex128:
		f, _ = number.Of(dtype.Float64)
	default: // times
		f, _ = number.Of(dtype.Int64)
		absent = append(slices.Clone(absent), notATime)
	}
	return &apart{f, t.Size(), absent}
}

// rows makes rows as another maker does, without missing values where there are numbers.
func (a *apart) rows(maker rowMaker) rowMaker {
	if a == nil {
		return maker
	}
	return func(width int) makeRow {
		row := maker(width)
		return func(dst []byte, rows [][]byte, f int) {
			row(dst, rows, f)
			for j := range len(dst) / a.size {
				if elem := dst[j*a.size:][:a.size]; a.isAbsent(elem) && a.hasNumber(rows, j*f, f) {
					a.move(elem)
				}
			}
		}
	}
}

func (a *apart) isAbsent(elem []byte) bool {
	return slices.ContainsFunc(a.absent, func(e []byte) bool { return bytes.Equal(e, elem) || a.equal(e, elem) })
}

// equal reports whether two floats are equal, as 0 and -0 are, or both their parts.
func (a *apart) equal(x, y []byte) bool {
	for ; len(x) > 0; x, y = x[a.format.Bytes:], y[a.format.Bytes:] {
		if a.format.Carrier != number.Float || a.value(x) != a.value(y) {
			return false
		}
	}
	return true
}

// hasNumber reports whether an element of a block is neither NaN nor absent.
func (a *apart) hasNumber(rows [][]byte, from, f int) bool {
	for _, r := range rows {
		for k := from; k < min(from+f, len(r)/a.size); k++ {
			if elem := r[k*a.size:][:a.size]; !a.isAbsent(elem) && !math.IsNaN(a.value(elem)) {
				return true
			}
		}
	}
	return false
}

// value returns the number of an element, rounded if it is a wide integer.
func (a *apart) value(elem []byte) float64 {
	b := number.NewBlock()
	defer b.Free()
	a.format.Load(b, elem[:a.format.Bytes])
	switch a.format.Carrier {
	case number.Signed:
		return float64(b.I[0])
	case number.Unsigned:
		return float64(b.U[0])
	}
	return b.F[0]
}

// move replaces an element by the number with the next bits, or those before, that is not
// missing. It stays if there is none.
func (a *apart) move(elem []byte) {
	b, raw := number.NewBlock(), number.Format{Carrier: number.Unsigned, Bytes: a.format.Bytes, Bits: 8 * a.format.Bytes}
	defer b.Free()
	was, from := slices.Clone(elem), a.value(elem)
	raw.Load(b, was[:raw.Bytes])
	bits := b.U[0]
	// The next larger bits first. One of as many steps as there are missing values must
	// be free.
	for _, step := range [...]int{1, -1} {
		for n := 1; n <= len(a.absent); n++ {
			b.U[0] = bits + uint64(n*step)
			raw.StoreBits(elem[:raw.Bytes], b)
			to := a.value(elem)
			// Beyond the end of a type, integers begin anew and floats are infinite.
			wraps := a.format.Carrier != number.Float && math.Abs(to-from) > float64(2*n)+math.Abs(from)/(1<<50)
			if !wraps && !math.IsInf(to, 0) && !math.IsNaN(to) && !a.isAbsent(elem) {
				return
			}
		}
	}
	copy(elem, was)
}

// shortMeans sets dst to sums divided by n, rounded half to even.
func shortMeans[T short](dst []T, sums []int64, n int) bool {
	if k := bits.TrailingZeros(uint(n)) & 63; n > 1 && n == 1<<k {
		// A sum is rounded up if its low bits are more than half, or half of an odd one.
		less := int64(n/2 - 1)
		for i, s := range sums {
			dst[i] = T((s + less + s>>k&1) >> k)
		}
		return false
	}
	for i, s := range sums {
		dst[i] = T(rounded(s, n))
	}
	return false
}

// floatMeans sets dst to sums divided by n.
func floatMeans[T float](dst []T, sums []float64, n int) (missing bool) {
	for i, s := range sums {
		dst[i] = T(s / float64(n))
		missing = missing || isNaN(s)
	}
	return missing
}

// rounded returns sum/n, rounded half to even. The quotient of two float64 is exact
// enough to tell a tie, because the sum is below 2^52.
func rounded(sum int64, n int) float64 { return math.RoundToEven(float64(sum) / float64(n)) }

// add adds the elements of a row to the sums of their blocks, one after the other.
func add[T short | float, S int64 | float64](sums []S, row []T, f int) {
	switch f {
	case 1:
		for j, x := range row {
			sums[j] += S(x)
		}
	case 2:
		addPairs(sums, row)
	default:
		for j := range sums {
			for _, x := range row[j*f : min(j*f+f, len(row))] {
				sums[j] += S(x)
			}
		}
	}
}

// addPairs is add for blocks of two. It takes four blocks at a time, whose bounds are
// checked once.
func addPairs[T short | float, S int64 | float64](sums []S, row []T) {
	for len(row) >= 8 && len(sums) >= 4 {
		s, r := sums[:4:4], row[:8:8]
		s[0] = s[0] + S(r[0]) + S(r[1])
		s[1] = s[1] + S(r[2]) + S(r[3])
		s[2] = s[2] + S(r[4]) + S(r[5])
		s[3] = s[3] + S(r[6]) + S(r[7])
		sums, row = sums[4:], row[8:]
	}
	for i, x := range row {
		sums[i/2] += S(x)
	}
}

// shortMean returns the mean of a block, rounded half to even.
func shortMean[T short](block []T) T {
	sum := int64(0)
	for _, x := range block {
		sum += int64(x)
	}
	return T(rounded(sum, len(block)))
}

// floatMean returns the mean of a block.
func floatMean[T float](block []T) T {
	sum := float64(0)
	for _, x := range block {
		sum += float64(x)
	}
	return T(sum / float64(len(block)))
}

// complexMean returns the mean of a block.
func complexMean[T complex64 | complex128](block []T) T {
	sum := complex128(0)
	for _, x := range block {
		sum += complex128(x)
	}
	n := float64(len(block))
	return T(complex(real(sum)/n, imag(sum)/n))
}

// wideMean returns the mean of a block, rounded half to even. It adds in 128 bits.
func wideMean[T wide](block []T) T {
	var high, low, carry uint64
	for _, x := range block {
		low, carry = bits.Add64(low, uint64(x), 0)
		high += carry
		if x < 0 {
			high-- // the upper half of a negative number is -1
		}
	}
	negative := int64(high) < 0
	if negative {
		low, carry = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, carry)
	}
	// The mean has 64 bits, so high is less than n.
	n := uint64(len(block))
	mean, rest := bits.Div64(high, low, n)
	if 2*rest > n || 2*rest == n && mean%2 == 1 {
		mean++
	}
	if negative {
		mean = -mean
	}
	return T(mean)
}
