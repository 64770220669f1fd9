// SPDX-License-Identifier: Apache-2.0

package element

import (
	"unsafe"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/number"
)

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
