// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"bytes"
	"math"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/internal/strided"
)

// rule says when elements of a data type differ, and by how much.
type rule struct {
	typ       dtype.Type
	tolerance Tolerance
	loose     bool // numbers are compared, not bits
}

// width returns the bytes of an element in memory.
func (r rule) width() int64 {
	if r.typ.Variable() {
		return strided.RefSize
	}
	return int64(r.typ.Size())
}

// text returns an element in the JSON form of fill values.
func (r rule) text(elem []byte, heap *strided.Heap) string {
	if heap != nil {
		elem = heap.Bytes(elem)
	}
	return string(r.typ.AppendJSON(nil, elem))
}

// each calls differ for every element of two rows that differs, with the distance of the
// numbers, or -1 if these are not two finite numbers.
func (r rule) each(x, y []byte, heaps [2]*strided.Heap, differ func(i int64, gap float64)) {
	if heaps[0] != nil {
		for i, at := int64(0), 0; at < len(x); i, at = i+1, at+strided.RefSize {
			if !bytes.Equal(heaps[0].Bytes(x[at:]), heaps[1].Bytes(y[at:])) {
				differ(i, -1)
			}
		}
		return
	}
	format, parts := r.numbers()
	if format == nil {
		size := r.typ.Size()
		for i := range len(x) / size {
			if !bytes.Equal(x[i*size:(i+1)*size], y[i*size:(i+1)*size]) {
				differ(int64(i), -1)
			}
		}
		return
	}
	r.eachNumber(format, parts, x, y, differ)
}

// numbers returns the format of the numbers that an element consists of, and how many
// these are: two of a complex number. The format is nil for other elements.
func (r rule) numbers() (*number.Format, int) {
	switch r.typ.Kind() {
	case dtype.KindDatetime, dtype.KindTimedelta:
		f, _ := number.Of(dtype.Int64)
		return f, 1
	case dtype.KindComplex:
		part := map[int]dtype.Type{8: dtype.Float32, 16: dtype.Float64}[r.typ.Size()]
		if part.IsZero() {
			return nil, 0
		}
		f, _ := number.Of(part)
		return f, 2
	}
	f, ok := number.Of(r.typ)
	if !ok {
		return nil, 0
	}
	return f, 1
}

// eachNumber is each for numbers, a block at a time.
func (r rule) eachNumber(f *number.Format, parts int, x, y []byte, differ func(i int64, gap float64)) {
	a, b := number.NewBlock(), number.NewBlock()
	defer a.Free()
	defer b.Free()
	size, first := f.Bytes*parts, int64(0)
	for step := number.Size / parts * size; len(x) > 0; first += number.Size / int64(parts) {
		n := min(len(x), step)
		if !bytes.Equal(x[:n], y[:n]) {
			f.Load(a, x[:n])
			f.Load(b, y[:n])
			for i := range n / size {
				if bytes.Equal(x[i*size:(i+1)*size], y[i*size:(i+1)*size]) {
					continue
				}
				if gap, differs := r.compare(f.Carrier, a, b, i*parts, parts); differs {
					differ(first+int64(i), gap)
				}
			}
		}
		x, y = x[n:], y[n:]
	}
}

// compare compares the element at a place of two blocks, whose bits differ.
func (r rule) compare(c number.Carrier, a, b *number.Block, at, parts int) (gap float64, differs bool) {
	differs = !r.loose
	for i := at; i < at+parts; i++ {
		var d, of float64
		switch c {
		case number.Signed:
			// The difference of two int64 fits a uint64.
			d, of = float64(uint64(max(a.I[i], b.I[i]))-uint64(min(a.I[i], b.I[i]))), float64(b.I[i])
		case number.Unsigned:
			d, of = float64(max(a.U[i], b.U[i])-min(a.U[i], b.U[i])), float64(b.U[i])
		case number.Float:
			d, of = distance(a.F[i], b.F[i]), b.F[i]
		}
		gap = max(gap, d) // NaN if d is
		// The size of a time depends on where its counting begins.
		within := r.tolerance.Absolute
		if r.typ.Kind() != dtype.KindDatetime {
			within += r.tolerance.Relative * math.Abs(of)
		}
		// What is not finite is within no tolerance. Two NaNs have no distance.
		if d != 0 && (finite(d) < 0 || d > within) {
			differs = true
		}
	}
	return finite(gap), differs
}

// distance returns |a - b|, which is 0 for two NaNs and for equal infinities. A finite
// number and infinity are infinitely far from each other, and a NaN from every number.
func distance(a, b float64) float64 {
	switch {
	case a == b, math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a), math.IsNaN(b):
		return math.NaN()
	}
	return math.Abs(a - b)
}
