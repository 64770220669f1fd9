// SPDX-License-Identifier: Apache-2.0

// Package castvalue is the codec "cast_value" (zarr-extensions). It stores the values of
// an array in another data type, for all integer and floating-point types.
//
// A value in the scalar map becomes the mapped one. A value that the other type can
// represent is kept. Any other value is rounded. If it is out of range, it is clamped or
// wrapped if the configuration asks for it. Otherwise it is an error that names the value
// and its position.
package castvalue

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/metadata"
)

// Name is the name of the codec in metadata.
const Name = "cast_value"

func init() { codec.Register(Name, New) }

var modes = map[string]number.Mode{
	"nearest-even": number.NearestEven, "towards-zero": number.TowardsZero, "towards-positive": number.TowardsPositive,
	"towards-negative": number.TowardsNegative, "nearest-away": number.NearestAway,
}

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayArray].
func New(configuration []byte) (any, error) {
	c := new(coder)
	if err := c.parse(configuration); err != nil {
		return nil, fmt.Errorf("%w: cast_value: %w", codec.ErrConfiguration, err)
	}
	return c, nil
}

func (c *coder) parse(configuration []byte) error {
	var m struct {
		DataType   json.RawMessage `json:"data_type"`
		Rounding   *string         `json:"rounding"`
		OutOfRange *string         `json:"out_of_range"`
		ScalarMap  json.RawMessage `json:"scalar_map"`
	}
	err := codec.DecodeConfiguration(configuration, &m)
	switch {
	case err != nil:
		return err
	case m.DataType == nil:
		return fmt.Errorf("data_type is missing")
	}
	if c.stored, err = parseType(m.DataType); err != nil {
		return fmt.Errorf("data_type: %w", err)
	}
	if m.Rounding != nil {
		known := false
		if c.mode, known = modes[*m.Rounding]; !known {
			return fmt.Errorf("rounding is %q, want nearest-even, towards-zero, towards-positive, towards-negative or nearest-away", *m.Rounding)
		}
	}
	if m.OutOfRange != nil {
		if c.beyond, err = parseBeyond(*m.OutOfRange); err != nil {
			return err
		}
	}
	if m.ScalarMap != nil {
		return c.parseMap(m.ScalarMap)
	}
	return nil
}

func parseType(raw []byte) (dtype.Type, error) {
	ext, err := metadata.ParseExtension(raw, metadata.Limits{})
	if err != nil {
		return dtype.Type{}, err
	}
	return dtype.Parse(ext.Name, ext.Configuration)
}

func parseBeyond(text string) (number.Overflow, error) {
	switch text {
	case "clamp":
		return number.Clamps, nil
	case "wrap":
		return number.Wraps, nil
	}
	return number.Fails, fmt.Errorf("out_of_range is %q, want %q, %q, or nothing", text, "clamp", "wrap")
}

func (c *coder) parseMap(raw []byte) error {
	var m struct {
		Encode []json.RawMessage `json:"encode"`
		Decode []json.RawMessage `json:"decode"`
	}
	if err := codec.DecodeConfiguration(raw, &m); err != nil {
		return fmt.Errorf("scalar_map: %w", err)
	}
	var err error
	if c.forward, err = parsePairs(m.Encode); err != nil {
		return fmt.Errorf("scalar_map: encode: %w", err)
	}
	if c.back, err = parsePairs(m.Decode); err != nil {
		return fmt.Errorf("scalar_map: decode: %w", err)
	}
	return nil
}

func parsePairs(list []json.RawMessage) ([]codec.CastPair, error) {
	pairs := make([]codec.CastPair, len(list))
	for i, raw := range list {
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil || len(parts) != 2 {
			return nil, fmt.Errorf("entry %d is not a pair [from, to]", i)
		}
		pairs[i] = codec.CastPair(parts)
	}
	return pairs, nil
}

// coder is the codec of one chain.
type coder struct {
	stored        dtype.Type
	mode          number.Mode
	beyond        number.Overflow
	forward, back []codec.CastPair

	encode, decode cast
}

// Bind implements [codec.ArrayArray].
func (c *coder) Bind(spec codec.Spec) (codec.Spec, error) {
	out, err := c.bind(spec)
	if err != nil {
		return codec.Spec{}, fmt.Errorf("%w: cast_value: %w", codec.ErrConfiguration, err)
	}
	return out, nil
}

func (c *coder) bind(spec codec.Spec) (codec.Spec, error) {
	if err := c.encode.bind(spec.Type, c.stored, c.mode, c.beyond); err != nil {
		return spec, err
	}
	if err := c.decode.bind(c.stored, spec.Type, c.mode, c.beyond); err != nil {
		return spec, err
	}
	// Only integers can wrap around.
	if c.beyond == number.Wraps && c.encode.To.Carrier == number.Float {
		return spec, fmt.Errorf("out_of_range is %q, which needs an integer data_type, not %s", "wrap", c.stored)
	}
	var err error
	if c.encode.scalars, err = newScalars(c.forward, spec.Type, c.stored); err != nil {
		return spec, fmt.Errorf("scalar_map: encode: %w", err)
	}
	if c.decode.scalars, err = newScalars(c.back, c.stored, spec.Type); err != nil {
		return spec, fmt.Errorf("scalar_map: decode: %w", err)
	}
	spec.Fill, err = c.castFill(spec.Fill)
	spec.Type = c.stored
	return spec, err
}

// castFill returns the fill value of the encoded array. It must decode to the fill value
// of the array, because chunks that are not stored are read as fill value.
func (c *coder) castFill(fill []byte) ([]byte, error) {
	if fill == nil {
		return nil, nil
	}
	stored, again := make([]byte, c.encode.To.Bytes), make([]byte, c.encode.From.Bytes)
	if f := c.encode.run(stored, fill); f != nil {
		return nil, fmt.Errorf("fill value: %s", f.reason(&c.encode))
	}
	if f := c.decode.run(again, stored); f != nil {
		return nil, fmt.Errorf("fill value on its way back: %s", f.reason(&c.decode))
	}
	if !equal(c.encode.From, fill, again) {
		t := c.encode.source
		return nil, fmt.Errorf("fill value %s comes back as %s; map it in scalar_map, or use another one", t.AppendText(nil, fill), t.AppendText(nil, again))
	}
	return stored, nil
}

// EncodedShape implements [codec.ArrayArray].
func (c *coder) EncodedShape(dst, shape []int64) ([]int64, error) { return append(dst, shape...), nil }

// Encode implements [codec.ArrayArray]. A value that cannot be stored wraps
// [dtype.ErrInvalid].
func (c *coder) Encode(dst *codec.Block, src codec.Block) error {
	if f := c.encode.run(dst.Data, src.Data); f != nil {
		return fmt.Errorf("%w: cast_value: element %d: %s", dtype.ErrInvalid, number.Index(src.Shape, f.at), f.reason(&c.encode))
	}
	return nil
}

// Decode implements [codec.ArrayArray]. A stored value that the array cannot have wraps
// [codec.ErrCorrupt].
func (c *coder) Decode(dst *codec.Block, src codec.Block) error {
	if f := c.decode.run(dst.Data, src.Data); f != nil {
		return fmt.Errorf("%w: cast_value: element %d: %s", codec.ErrCorrupt, number.Index(src.Shape, f.at), f.reason(&c.decode))
	}
	return nil
}

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

// few is the largest number of mapped values for which a linear search is faster than a
// map.
const few = 4

// scalars maps values of one data type to elements of another.
type scalars struct {
	carrier number.Carrier
	keys    []uint64 // of the first few
	place   map[uint64]int
	values  [][]byte // elements of the target
}

// newScalars returns the map of the pairs, nil if there are none. The first of several
// pairs for one value counts.
func newScalars(pairs []codec.CastPair, source, target dtype.Type) (*scalars, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	f, _ := number.Of(source)
	s := &scalars{carrier: f.Carrier, place: make(map[uint64]int, len(pairs))}
	b := number.NewBlock()
	defer b.Free()
	for i, p := range pairs {
		from, err := parseScalar(source, p[0])
		if err != nil {
			return nil, fmt.Errorf("entry %d: from: %w", i, err)
		}
		to, err := parseScalar(target, p[1])
		if err != nil {
			return nil, fmt.Errorf("entry %d: to: %w", i, err)
		}
		f.Load(b, from)
		k := key(b, f.Carrier, 0)
		// The first of several pairs for a value counts.
		if _, taken := s.place[k]; !taken {
			s.place[k] = len(s.values)
			s.keys, s.values = append(s.keys, k), append(s.values, to)
		}
	}
	return s, nil
}

// parseScalar parses a fill value. It also accepts "+Infinity", as the page of the codec
// in zarr-extensions spells it.
func parseScalar(t dtype.Type, text []byte) ([]byte, error) {
	if string(text) == `"+Infinity"` {
		text = []byte(`"Infinity"`)
	}
	return t.ParseFill(text)
}

// key returns a key that is the same for two numbers of a carrier if they are equal. All
// NaNs have one key, and both zeros have one.
func key(b *number.Block, c number.Carrier, i int) uint64 {
	switch c {
	case number.Signed:
		return uint64(b.I[i])
	case number.Unsigned:
		return b.U[i]
	}
	switch x := b.F[i]; {
	case x == 0:
		return 0
	case math.IsNaN(x):
		return math.Float64bits(math.NaN())
	default:
		return math.Float64bits(x)
	}
}

// find returns the position of the value with a key, or -1.
func (s *scalars) find(k uint64) int {
	if len(s.keys) > few {
		if at, ok := s.place[k]; ok {
			return at
		}
		return -1
	}
	for i, have := range s.keys {
		if have == k {
			return i
		}
	}
	return -1
}

// matches has the mapped elements of a block: their indices, and the positions of their
// values.
type matches struct {
	n         int
	at, place [number.Size]int32
}

var spare = sync.Pool{New: func() any { return new(matches) }}

func (m *matches) free() { spare.Put(m) }

// take finds the numbers of a block that are mapped. It replaces each by 1, which every
// data type has, so that the cast does not fail.
func (s *scalars) take(b *number.Block, n int) *matches {
	m := spare.Get().(*matches)
	m.n = 0
	for i := range n {
		place := s.find(key(b, s.carrier, i))
		if place < 0 {
			continue
		}
		m.at[m.n], m.place[m.n] = int32(i), int32(place)
		m.n++
		b.I[i], b.U[i], b.F[i] = 1, 1, 1
	}
	return m
}

// put writes the values of the matches to dst.
func (s *scalars) put(dst []byte, m *matches) {
	size := len(s.values[0])
	for i := range m.n {
		copy(dst[int(m.at[i])*size:][:size], s.values[m.place[i]])
	}
}
