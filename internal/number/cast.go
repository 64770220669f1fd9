// SPDX-License-Identifier: Apache-2.0

package number

// Overflow is the treatment of numbers beyond the range of the target type of a cast.
type Overflow uint8

// The treatments.
const (
	Fails  Overflow = iota
	Clamps          // they become the nearest number, or an infinity if the format has one
	Wraps           // modulo 2^N, for integers of N bits
)

// Cast converts numbers from one format to another.
type Cast struct {
	From, To *Format
	Mode     Mode
	Overflow Overflow

	low  int64 // range of an integer target
	high uint64
	step func(c *Cast, b *Block, n int) int
}

// NewCast returns the cast from one format to another.
func NewCast(from, to *Format, m Mode, o Overflow) Cast {
	c := Cast{From: from, To: to, Mode: m, Overflow: o}
	if to.Carrier != Float {
		c.low, c.high = to.Limits()
	}
	c.step = steps[[2]Carrier{from.Carrier, to.Carrier}]
	return c
}

// steps convert the first n numbers of a block from one carrier to the other, rounded to
// values of the target. Floats of one or two bytes become their bits, in U. They return
// the index of the first number that cannot be converted, or -1.
var steps = map[[2]Carrier]func(*Cast, *Block, int) int{
	{Signed, Signed}:     signedToSigned,
	{Signed, Unsigned}:   signedToUnsigned,
	{Signed, Float}:      signedToFloat,
	{Unsigned, Signed}:   unsignedToSigned,
	{Unsigned, Unsigned}: unsignedToUnsigned,
	{Unsigned, Float}:    unsignedToFloat,
	{Float, Signed}:      floatToSigned,
	{Float, Unsigned}:    floatToUnsigned,
	{Float, Float}:       floatToFloat,
}

// Run casts all elements of src to dst. It returns the index of the first one that cannot
// be cast, or -1.
func (c *Cast) Run(dst, src []byte) int {
	b := NewBlock()
	defer b.Free()
	for done := 0; len(src) > 0; {
		size := min(len(src), Size*c.From.Bytes)
		n := c.From.Load(b, src[:size])
		if at := c.Step(dst[:n*c.To.Bytes], b, n); at >= 0 {
			return done + at
		}
		dst, src, done = dst[n*c.To.Bytes:], src[size:], done+n
	}
	return -1
}

// Step casts the first n numbers of a block, which have the format From, to the elements
// of dst. It returns the index of the first one that cannot be cast, or -1.
func (c *Cast) Step(dst []byte, b *Block, n int) int {
	if at := c.step(c, b, n); at >= 0 {
		return at
	}
	// Rounding to such a format gives bits. Converting them to float64 and back would
	// only take time.
	if c.packed() {
		c.To.StoreBits(dst, b)
	} else {
		c.To.Store(dst, b)
	}
	return -1
}

// packed reports whether the steps produce the bits of the target's floats.
func (c *Cast) packed() bool { return c.To.Carrier == Float && c.To.Bytes <= 2 }

// exact is the number from which float64 cannot represent all integers.
const exact = 1 << 53
