package castvalue

import (
	"fmt"
	"math"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
)

// beyond is what becomes of values out of range.
type beyond uint8

const (
	fails beyond = iota
	clamps
	wraps
)

// cast turns elements of one data type into those of another.
type cast struct {
	source, target dtype.Type
	from, to       *number.Format
	mode           number.Mode
	beyond         beyond
	scalars        *scalars // nil where nothing is mapped

	low  int64 // limits of an integer target
	high uint64
	step func(c *cast, b *number.Block, n int) int
}

func (c *cast) bind(source, target dtype.Type, m number.Mode, b beyond) error {
	c.source, c.target, c.mode, c.beyond = source, target, m, b
	var knows, known bool
	if c.from, knows = number.Of(source); !knows {
		return fmt.Errorf("%s is no integer and no floating-point type", source)
	}
	if c.to, known = number.Of(target); !known {
		return fmt.Errorf("%s is no integer and no floating-point type", target)
	}
	if c.to.Carrier != number.Float {
		c.low, c.high = c.to.Limits()
	} else if c.beyond == wraps {
		c.beyond = fails // the way back of a cast to integers
	}
	c.step = steps[[2]number.Carrier{c.from.Carrier, c.to.Carrier}]
	return nil
}

// steps convert the first n numbers of a block from one carrier to the other, to values that the target has; for floats of one
// or two bytes to their bits, in U. They return the index of the first number for which there is none, or -1.
var steps = map[[2]number.Carrier]func(*cast, *number.Block, int) int{
	{number.Signed, number.Signed}:     signedToSigned,
	{number.Signed, number.Unsigned}:   signedToUnsigned,
	{number.Signed, number.Float}:      signedToFloat,
	{number.Unsigned, number.Signed}:   unsignedToSigned,
	{number.Unsigned, number.Unsigned}: unsignedToUnsigned,
	{number.Unsigned, number.Float}:    unsignedToFloat,
	{number.Float, number.Signed}:      floatToSigned,
	{number.Float, number.Unsigned}:    floatToUnsigned,
	{number.Float, number.Float}:       floatToFloat,
}

// run casts all elements of src to dst. It returns the first that cannot be, or nil.
func (c *cast) run(dst, src []byte) *failure {
	b := number.NewBlock()
	defer b.Free()
	for done := 0; len(src) > 0; {
		size := min(len(src), number.Size*c.from.Bytes)
		n := size / c.from.Bytes
		if at := c.block(dst[:n*c.to.Bytes], src[:size], b); at >= 0 {
			return &failure{done + at, src[at*c.from.Bytes:][:c.from.Bytes]}
		}
		dst, src, done = dst[n*c.to.Bytes:], src[size:], done+n
	}
	return nil
}

// block casts the elements of one block.
func (c *cast) block(dst, src []byte, b *number.Block) int {
	n := c.from.Load(b, src)
	var found *matches
	if c.scalars != nil {
		found = c.scalars.take(b, n)
		defer found.free()
	}
	if at := c.step(c, b, n); at >= 0 {
		return at
	}
	if c.packed() {
		c.to.StoreBits(dst, b)
	} else {
		c.to.Store(dst, b)
	}
	if c.scalars != nil {
		c.scalars.put(dst, found)
	}
	return -1
}

// packed reports whether the steps make bits of the target's floats.
func (c *cast) packed() bool { return c.to.Carrier == number.Float && c.to.Bytes <= 2 }

// failure is the first element that cannot be cast.
type failure struct {
	at      int
	element []byte
}

// reason says why there is no value, and what to do.
func (f *failure) reason(c *cast) string {
	value := c.source.AppendText(nil, f.element)
	b := number.NewBlock()
	defer b.Free()
	c.from.Load(b, f.element)
	if x := b.F[0]; c.from.Carrier == number.Float && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return fmt.Sprintf("%s has no counterpart in %s; map it in scalar_map", value, c.target)
	}
	return fmt.Sprintf("%s is out of the range of %s; out_of_range may clamp it%s, or scalar_map map it", value, c.target, c.orWrap())
}

func (c *cast) orWrap() string {
	if c.to.Carrier == number.Float {
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
