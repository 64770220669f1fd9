// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/metadata"
)

// registerFilter registers the codecs that parse a configuration, as register does.
func registerFilter[C any, F interface {
	*C
	codec.ArrayArray
	parse(configuration []byte) error
}](id string, others ...string) {
	register(id, func(configuration []byte) (any, error) {
		f := F(new(C))
		if err := f.parse(configuration); err != nil {
			return nil, fmt.Errorf("%w: %s%s: %w", codec.ErrConfiguration, prefix, id, err)
		}
		return f, nil
	}, others...)
}

// filterExtension returns the metadata of a filter.
func filterExtension(id string, members any) metadata.Extension {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // keep "<i4" readable
	_ = e.Encode(members)  // fails if a number is not finite; the factory then refuses the empty text
	return metadata.Extension{Name: prefix + id, Configuration: bytes.TrimSpace(text.Bytes())}
}

// numPyName returns the NumPy type string of a data type, "" if NumPy has no such type or
// typ is the zero Type.
func numPyName(t dtype.Type) string {
	name, _ := t.NumPy()
	return name
}

// parseNumPy parses the name of a NumPy type: a type string with or without byte order
// ("<i4", "i4"), or a name ("int32"). It ignores the byte order, because filters compute
// with values. An empty text is the zero Type.
func parseNumPy(member, text string) (dtype.Type, error) {
	if text == "" {
		return dtype.Type{}, nil
	}
	// First try a name, such as "int32".
	if t, err := dtype.Parse(text, nil); err == nil && numPyName(t) != "" {
		return t, nil
	}
	// '=' is the byte order of the host.
	if text[0] == '=' {
		text = text[1:]
	}
	if strings.Trim(text[:1], "<>|") == "" {
		t, _, err := dtype.FromNumPy(text)
		if err != nil {
			return t, fmt.Errorf("%s: %w", member, err)
		}
		return t, nil
	}
	// Without a byte order, any will do.
	t, _, err := dtype.FromNumPy("<" + text)
	if err != nil {
		return t, fmt.Errorf("%s: %w", member, err)
	}
	return t, nil
}

// filterType is a data type as filters compute with it.
type filterType struct {
	dtype.Type
	format *number.Format
	lanes  int // numbers in an element: 2 for complex types
}

// filterTypeOf returns the numbers of a data type. ok is false if NumPy does not have the
// type or it is not numeric. Moments and durations are 64-bit integers, and bools are the
// integers 0 and 1.
func filterTypeOf(t dtype.Type) (filterType, bool) {
	if numPyName(t) == "" {
		return filterType{}, false
	}
	// NumPy computes with these types as with others of the same layout.
	name, lanes := t.Name(), 1
	switch t.Kind() {
	case dtype.KindDatetime, dtype.KindTimedelta:
		name = "int64"
	case dtype.KindBool:
		name = "uint8"
	case dtype.KindComplex:
		name, lanes = map[int]string{4: "float32", 8: "float64"}[t.Unit()], 2
	}
	numbers, err := dtype.Parse(name, nil)
	if err != nil {
		return filterType{}, false
	}
	f, ok := number.Of(numbers)
	return filterType{t, f, lanes}, ok
}

// bindTypes returns the types to decode to and to encode to. Both default to the type of
// the array. If the configuration names the first, it must be the type of the array, or
// integers of the same size, as which NumPy views the elements.
func bindTypes(name string, array, decoded, encoded dtype.Type) (from, to filterType, err error) {
	if decoded.IsZero() {
		decoded = array
	}
	if encoded.IsZero() {
		encoded = decoded
	}
	var knows, known bool
	if from, knows = filterTypeOf(decoded); !knows {
		return from, to, fmt.Errorf("%w: %s: NumPy does not compute with %s", codec.ErrConfiguration, name, decoded)
	}
	if to, known = filterTypeOf(encoded); !known {
		return from, to, fmt.Errorf("%w: %s: NumPy does not compute with %s", codec.ErrConfiguration, name, encoded)
	}
	// NumPy views datetimes and timedeltas as integers of the same size.
	if array != decoded && (array.Size() != decoded.Size() || !isInteger(array) || !isInteger(decoded)) {
		return from, to, fmt.Errorf("%w: %s: the configuration says %s, but the array has %s", codec.ErrConfiguration, name, decoded, array)
	}
	if from.lanes != to.lanes {
		return from, to, fmt.Errorf("%w: %s: between %s and %s", codec.ErrUnsupported, name, decoded, encoded)
	}
	return from, to, nil
}

func isInteger(t dtype.Type) bool {
	switch t.Kind() {
	case dtype.KindInt, dtype.KindUint, dtype.KindDatetime, dtype.KindTimedelta:
		return true
	}
	return false
}

// encodedSpec returns the spec of the encoded arrays. If both types of a filter are the
// same, the type of the array stays. The fill value keeps its number, as in zarr-python.
func encodedSpec(spec codec.Spec, from, to filterType) codec.Spec {
	if from.Type == to.Type {
		return spec
	}
	if spec.Fill != nil {
		fill := make([]byte, to.Size())
		convert(fill, spec.Fill, from, to)
		spec.Fill = fill
	}
	spec.Type = to.Type
	return spec
}

// sameShape is embedded in filters that keep the shape.
type sameShape struct{}

// EncodedShape implements [codec.ArrayArray].
func (sameShape) EncodedShape(dst, shape []int64) ([]int64, error) { return append(dst, shape...), nil }

// retyped is embedded in filters that store elements as another type. The zero Type of
// either field stands for the type of the array, or for decoded.
type retyped struct {
	sameShape
	decoded, encoded dtype.Type
	from, to         filterType // the same, once they are known
}

// bind sets the types, and returns the spec of the encoded arrays.
func (r *retyped) bind(name string, spec codec.Spec) (codec.Spec, error) {
	var err error
	if r.from, r.to, err = bindTypes(name, spec.Type, r.decoded, r.encoded); err != nil {
		return codec.Spec{}, err
	}
	return encodedSpec(spec, r.from, r.to), nil
}

// Decode implements [codec.ArrayArray] for filters whose encoded numbers are the
// elements.
func (r *retyped) Decode(dst *codec.Block, src codec.Block) error {
	convert(dst.Data, src.Data, r.to, r.from)
	return nil
}

// blockwise computes dst from src, block by block. It loads numbers of one type, calls
// compute, and stores the results as the other type.
func blockwise(dst, src []byte, from, to filterType, compute func(b *number.Block, n int)) {
	b := number.NewBlock()
	defer b.Free()
	for len(src) > 0 {
		size := min(len(src), number.Size*from.format.Bytes)
		n := from.format.Load(b, src[:size])
		compute(b, n)
		to.format.Store(dst[:n*to.format.Bytes], b)
		dst, src = dst[n*to.format.Bytes:], src[size:]
	}
}

// convert casts elements as NumPy does.
func convert(dst, src []byte, from, to filterType) {
	blockwise(dst, src, from, to, func(b *number.Block, n int) { cast(b, n, from.format.Carrier, to) })
}

// cast converts numbers to those that a type stores. Integers keep their low bits. Floats
// are truncated to integers, which keep their low bits.
func cast(b *number.Block, n int, from number.Carrier, to filterType) {
	if to.Kind() == dtype.KindBool {
		castBool(b, n, from)
		return
	}
	// Numbers of the same carrier need no conversion.
	switch [2]number.Carrier{from, to.format.Carrier} {
	case [2]number.Carrier{number.Signed, number.Unsigned}:
		for i, x := range b.I[:n] {
			b.U[i] = uint64(x)
		}
	case [2]number.Carrier{number.Unsigned, number.Signed}:
		for i, x := range b.U[:n] {
			b.I[i] = int64(x)
		}
	case [2]number.Carrier{number.Signed, number.Float}:
		castIntegers(b.F[:n], b.I[:n], to.format.Bytes == 4)
	case [2]number.Carrier{number.Unsigned, number.Float}:
		castIntegers(b.F[:n], b.U[:n], to.format.Bytes == 4)
	case [2]number.Carrier{number.Float, number.Signed}:
		for i, x := range b.F[:n] {
			b.I[i] = cut(x, to.format)
		}
	case [2]number.Carrier{number.Float, number.Unsigned}:
		for i, x := range b.F[:n] {
			b.U[i] = cutUnsigned(x, to.format)
		}
	}
}

// castIntegers rounds only once, also to float32.
func castIntegers[T int64 | uint64](dst []float64, src []T, short bool) {
	for i, x := range src {
		if short {
			dst[i] = float64(float32(x))
		} else {
			dst[i] = float64(x)
		}
	}
}

func castBool(b *number.Block, n int, from number.Carrier) {
	for i := range n {
		set := from == number.Signed && b.I[i] != 0 || from == number.Unsigned && b.U[i] != 0 || from == number.Float && b.F[i] != 0
		// A bool is stored as an unsigned byte.
		b.U[i] = 0
		if set {
			b.U[i] = 1
		}
	}
}

// cut truncates x to an integer, whose low bits are stored. NaN and values out of range
// become the least integer, as in NumPy on x86-64: of 32 bits for types of up to 32 bits,
// otherwise of 64.
func cut(x float64, to *number.Format) int64 {
	switch {
	case x > -0x1p31-1 && x < 0x1p31:
		return int64(x)
	case to.Bytes <= 4:
		return math.MinInt32
	case x >= -0x1p63 && x < 0x1p63:
		return int64(x)
	}
	return math.MinInt64
}

// cutUnsigned is cut for unsigned integers.
func cutUnsigned(x float64, to *number.Format) uint64 {
	switch {
	case to.Bytes <= 2:
		return uint64(cut(x, to))
	case x >= -0x1p63 && x < 0x1p63:
		return uint64(int64(x))
	case to.Bytes == 8 && x < 0x1p64 && x > 0:
		return uint64(x)
	}
	return 0
}

// arithmetic is the float type that results are rounded to, given by its bytes: 2, 4 or
// 8.
type arithmetic int

// round rounds the first n floats of a block.
func (a arithmetic) round(x []float64) {
	switch a {
	case 2:
		for i, v := range x {
			x[i] = a.one(v)
		}
	case 4:
		for i, v := range x {
			x[i] = float64(float32(v))
		}
	}
}

// one rounds one number.
func (a arithmetic) one(x float64) float64 {
	switch a {
	case 2:
		return float64(dtype.FromFloat32(float32(x)).Float32())
	case 4:
		return float64(float32(x))
	}
	return x
}

// wrap keeps the bits of integers that their type has.
func wrap(b *number.Block, n int, f *number.Format) {
	unused := 64 - f.Bits
	switch {
	case f.Carrier == number.Float || unused == 0:
	case f.Carrier == number.Signed:
		for i, x := range b.I[:n] {
			b.I[i] = x << unused >> unused
		}
	default:
		for i, x := range b.U[:n] {
			b.U[i] = x << unused >> unused
		}
	}
}

// members decodes a configuration. A type may be null, as in documents of format 2.
func members(configuration []byte, dst any) error {
	return codec.DecodeConfiguration(WithoutNulls(configuration, "dtype", "astype", "decode_dtype"), dst)
}

func init() { registerFilter[asType]("astype") }

// AsType returns the metadata of numcodecs.astype, which stores elements as the type
// encoded. It does not check that they fit.
func AsType(encoded, decoded dtype.Type) metadata.Extension {
	return filterExtension("astype", struct {
		Encoded string `json:"encode_dtype"`
		Decoded string `json:"decode_dtype"`
	}{numPyName(encoded), numPyName(decoded)})
}

type asType struct{ retyped }

func (a *asType) parse(configuration []byte) error {
	var m struct {
		Encoded string `json:"encode_dtype"`
		Decoded string `json:"decode_dtype"`
	}
	err := members(configuration, &m)
	if err == nil {
		a.encoded, err = parseNumPy("encode_dtype", m.Encoded)
	}
	if err == nil {
		a.decoded, err = parseNumPy("decode_dtype", m.Decoded)
	}
	if err == nil && a.encoded.IsZero() {
		err = errors.New("encode_dtype is missing")
	}
	return err
}

// Bind implements [codec.ArrayArray].
func (a *asType) Bind(spec codec.Spec) (codec.Spec, error) { return a.bind("numcodecs.astype", spec) }

// Encode implements [codec.ArrayArray].
func (a *asType) Encode(dst *codec.Block, src codec.Block) error {
	convert(dst.Data, src.Data, a.from, a.to)
	return nil
}
