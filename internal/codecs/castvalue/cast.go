// SPDX-License-Identifier: Apache-2.0

package castvalue

import (
	"fmt"
	"math"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
)

// cast turns elements of one data type into those of another.
type cast struct {
	number.Cast
	source, target dtype.Type
	scalars        *scalars // nil if nothing is mapped
}

func (c *cast) bind(source, target dtype.Type, m number.Mode, o number.Overflow) error {
	c.source, c.target = source, target
	from, knows := number.Of(source)
	if !knows {
		return fmt.Errorf("%s is neither an integer nor a floating-point type", source)
	}
	to, known := number.Of(target)
	if !known {
		return fmt.Errorf("%s is neither an integer nor a floating-point type", target)
	}
	if to.Carrier == number.Float && o == number.Wraps {
		o = number.Fails // the reverse of a cast to integers
	}
	c.Cast = number.NewCast(from, to, m, o)
	return nil
}

// run casts all elements of src to dst. It returns the first that has no result, or nil.
func (c *cast) run(dst, src []byte) *failure {
	at := -1
	if c.scalars == nil {
		at = c.Run(dst, src)
	} else {
		at = c.mapped(dst, src)
	}
	if at < 0 {
		return nil
	}
	return &failure{at, src[at*c.From.Bytes:][:c.From.Bytes]}
}

// mapped is run with a scalar map.
func (c *cast) mapped(dst, src []byte) int {
	b := number.NewBlock()
	defer b.Free()
	for done := 0; len(src) > 0; {
		size := min(len(src), number.Size*c.From.Bytes)
		n := c.From.Load(b, src[:size])
		// Take mapped elements out of the block: they may be out of the range of the
		// target.
		found := c.scalars.take(b, n)
		at := c.Step(dst[:n*c.To.Bytes], b, n)
		c.scalars.put(dst, found)
		found.free()
		if at >= 0 {
			return done + at
		}
		dst, src, done = dst[n*c.To.Bytes:], src[size:], done+n
	}
	return -1
}

// failure is the first element that cannot be cast.
type failure struct {
	at      int
	element []byte
}

// reason returns why the element has no result, and what to do.
func (f *failure) reason(c *cast) string {
	value := c.source.AppendText(nil, f.element)
	b := number.NewBlock()
	defer b.Free()
	c.From.Load(b, f.element)
	if x := b.F[0]; c.From.Carrier == number.Float && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return fmt.Sprintf("%s has no counterpart in %s; map it in scalar_map", value, c.target)
	}
	return fmt.Sprintf("%s is out of the range of %s; out_of_range may clamp it%s, or scalar_map map it", value, c.target, c.orWrap())
}

func (c *cast) orWrap() string {
	if c.To.Carrier == number.Float {
		return ""
	}
	return " or wrap"
}

// equal reports whether two elements are the same number, or both NaN.
func equal(f *number.Format, x, y []byte) bool {
	b, c := number.NewBlock(), number.NewBlock()
	defer b.Free()
	defer c.Free()
	f.Load(b, x)
	f.Load(c, y)
	return key(b, f.Carrier, 0) == key(c, f.Carrier, 0)
}
