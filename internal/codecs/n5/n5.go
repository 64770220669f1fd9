// SPDX-License-Identifier: Apache-2.0

// Package n5 is the codec "n5_default" (zarr-extensions) for N5 blocks of the default
// mode (N5 4.0.0).
//
// A block has a header with its shape, followed by its elements in Fortran order and
// big-endian, compressed as a whole. N5 writers clip or pad blocks at the border. The
// codec reads both, and clips or pads them to the shape of the chunk. The array has the
// axes of N5 in the same order.
//
// Importing the package registers it.
package n5

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
)

// Name is the name of the codec in metadata.
const Name = "n5_default"

func init() { codec.Register(Name, New) }

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayBytes] that is a
// [codec.Nester].
func New(configuration []byte) (any, error) {
	c := new(coder)
	if err := c.parse(configuration); err != nil {
		return nil, fmt.Errorf("%w: n5_default: %w", codec.ErrConfiguration, err)
	}
	return c, nil
}

// The places of the codecs.
const (
	transposition = iota
	serializer
	compressor
)

func (c *coder) parse(configuration []byte) error {
	var m struct {
		Codecs *[]json.RawMessage `json:"codecs"`
	}
	if err := codec.DecodeConfiguration(configuration, &m); err != nil {
		return err
	}
	if m.Codecs == nil {
		return errors.New("codecs are missing")
	}
	for i, raw := range *m.Codecs {
		ext, err := metadata.ParseExtension(raw, metadata.Limits{})
		if err != nil {
			return fmt.Errorf("codecs: %d: %w", i, err)
		}
		c.exts = append(c.exts, ext)
	}
	if n := len(c.exts); n <= serializer || n > compressor+1 {
		return fmt.Errorf("%s, want \"transpose\", \"bytes\", and perhaps one that compresses", quantity.Count(n, "codecs"))
	}
	if c.exts[transposition].Name != "transpose" || c.exts[serializer].Name != "bytes" {
		return fmt.Errorf("the codecs begin with %q and %q, want \"transpose\" and \"bytes\"", c.exts[transposition].Name, c.exts[serializer].Name)
	}
	return c.parseEndian(c.exts[serializer].Configuration)
}

func (c *coder) parseEndian(configuration []byte) error {
	var m struct {
		Endian *string `json:"endian"`
	}
	if err := codec.DecodeConfiguration(configuration, &m); err != nil {
		return fmt.Errorf("codecs: %d: bytes: %w", serializer, err)
	}
	if m.Endian != nil && *m.Endian != "big" {
		return fmt.Errorf("codecs: %d: bytes: endian is %q, but N5 is big-endian", serializer, *m.Endian)
	}
	return nil
}

// coder is the codec of one chain.
type coder struct {
	exts []metadata.Extension
	env  codec.Environment

	spec  codec.Spec
	turn  codec.ArrayArray // reverses the axes
	inner *coding.Chain    // of the reversed array
	size  int64            // bytes of an element
	limit int64            // bytes of a decoded block
}

// Nest implements [codec.Nester].
func (c *coder) Nest(env *codec.Environment) error {
	c.env = *env
	return nil
}

// types has the data types of N5.
var types = []string{"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}

// Bind implements [codec.ArrayBytes].
func (c *coder) Bind(spec codec.Spec) error {
	if !slices.Contains(types, spec.Type.Name()) {
		return fmt.Errorf("%w: n5_default: N5 has no %s, only %v", codec.ErrConfiguration, spec.Type, types)
	}
	c.spec, c.size = spec, int64(spec.Type.Size())
	// Without a fill value, blocks are padded with zeros.
	if c.spec.Fill == nil {
		c.spec.Fill = make([]byte, c.size)
	}
	if c.limit = c.env.Chunk; c.limit == 0 {
		c.limit = coding.DefaultChunk
	}
	turned, err := c.bindTurn()
	if err != nil {
		return fmt.Errorf("n5_default: codecs: %w", &coding.Error{Codec: "transpose", Place: transposition, Err: err})
	}
	if c.inner, err = coding.NewChain(&c.env, c.exts[serializer:], turned); err != nil {
		return fmt.Errorf("n5_default: codecs: %w", moved(err))
	}
	return nil
}

// bindTurn makes the transposition and returns the spec of its result. It fails unless
// the transposition reverses all axes.
func (c *coder) bindTurn() (codec.Spec, error) {
	registry := codec.Default
	if c.env.Registry != nil {
		registry = c.env.Registry
	}
	made, err := registry.New(c.exts[transposition])
	if err != nil {
		return codec.Spec{}, err
	}
	turn, ok := made.(codec.ArrayArray)
	if !ok {
		return codec.Spec{}, fmt.Errorf("%w: it does not turn arrays into arrays", codec.ErrConfiguration)
	}
	turned, err := turn.Bind(c.spec)
	if err != nil {
		return codec.Spec{}, err
	}
	// A program may have registered another codec under this name.
	p, ok := turn.(codec.Permuter)
	if !ok {
		return codec.Spec{}, fmt.Errorf("%w: it does more than reorder axes", codec.ErrConfiguration)
	}
	for i, axis := range p.Order() {
		if axis != c.spec.Rank-1-i {
			return codec.Spec{}, fmt.Errorf("%w: its order is %d, but N5 reverses all axes", codec.ErrConfiguration, p.Order())
		}
	}
	c.turn = turn
	return turned, nil
}

// moved makes the place in an error count from the transposition on.
func moved(err error) error {
	if e, ok := err.(*coding.Error); ok {
		return &coding.Error{Codec: e.Codec, Place: e.Place + serializer, Err: e.Err}
	}
	return err
}

// Guarded implements [codec.Guarded].
func (c *coder) Guarded() bool { return c.inner.HasChecksum() }

// overhang is the largest number of bytes by which a padded block may exceed the chunk.
const overhang = 16 << 20

// EncodedSize implements [codec.ArrayBytes].
func (c *coder) EncodedSize(shape []int64, n int64) (int64, bool) {
	return int64(headerSize(c.spec.Rank)) + c.inner.MaxEncoded(reversed(shape), n) + overhang, false
}

func reversed(shape []int64) []int64 {
	r := slices.Clone(shape)
	slices.Reverse(r)
	return r
}
