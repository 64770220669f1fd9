// SPDX-License-Identifier: Apache-2.0

// Package conditional is the codec "conditional" (zarr-extensions). It contains
// bytes-to-bytes codecs, and for each chunk applies or skips each of them. A mask before
// the encoded bytes says which it applied; bit 0 of the first byte is the first codec.
//
// When it writes, it skips codecs whose result is longer than their source, except
// checksums. It reads chunks regardless of the rule of their writer.
//
// Importing the package registers it.
package conditional

import (
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
)

// Name is the name of the codec in metadata.
const Name = "conditional"

func init() { codec.Register(Name, New) }

const (
	maxBits   = 256 // of a mask
	maxGrowth = 16  // of the encoded form, to bound the memory between codecs
)

// New is the [codec.Factory] of the codec. It returns a [codec.BytesBytes] that is a
// [codec.Nester] and a [codec.Binder].
func New(configuration []byte) (any, error) {
	c := new(coder)
	if err := c.parse(configuration); err != nil {
		return nil, fmt.Errorf("%w: conditional: %w", codec.ErrConfiguration, err)
	}
	return c, nil
}

func (c *coder) parse(configuration []byte) error {
	var m struct {
		Codecs *[]json.RawMessage `json:"codecs"`
		Bits   *codec.Int         `json:"header_bits"`
	}
	if err := codec.DecodeConfiguration(configuration, &m); err != nil {
		return err
	}
	if m.Codecs == nil {
		return fmt.Errorf("codecs are missing")
	}
	// The header has one bit per codec and consists of whole bytes.
	bits := codec.Int(len(*m.Codecs)+7) / 8 * 8
	if m.Bits != nil {
		bits = *m.Bits
	}
	switch {
	case bits%8 != 0:
		return fmt.Errorf("header_bits is %d, want a multiple of 8", bits)
	case bits < codec.Int(len(*m.Codecs)):
		return fmt.Errorf("header_bits is %d, and there are %s", bits, quantity.Count(len(*m.Codecs), "codecs"))
	case bits > maxBits:
		return fmt.Errorf("%w: header_bits is %d, at most %d are possible", codec.ErrLimit, bits, maxBits)
	}
	c.header = int(bits / 8)
	for i, raw := range *m.Codecs {
		ext, err := metadata.ParseExtension(raw, metadata.Limits{})
		if err != nil {
			return fmt.Errorf("codecs: %d: %w", i, err)
		}
		c.exts = append(c.exts, ext)
	}
	return nil
}

// coder is the codec of one chain.
type coder struct {
	exts   []metadata.Extension
	header int // bytes
	codecs []codec.BytesBytes
}

// Nest implements [codec.Nester]. Errors that name a codec are of type [*coding.Error].
func (c *coder) Nest(env *codec.Environment) error {
	registry := codec.Default
	if env.Registry != nil {
		registry = env.Registry
	}
	for i, ext := range c.exts {
		made, err := registry.New(ext)
		if n, ok := made.(codec.Nester); ok && err == nil {
			err = n.Nest(env)
		}
		b, ok := made.(codec.BytesBytes)
		if err == nil && !ok {
			err = fmt.Errorf("%w: it does not turn bytes into bytes", codec.ErrConfiguration)
		}
		if err != nil {
			return fmt.Errorf("conditional: codecs: %w", &coding.Error{Codec: ext.Name, Place: i, Err: err})
		}
		c.codecs = append(c.codecs, b)
	}
	// Decoding needs memory for the longest result between two codecs.
	if c.most(len(c.codecs), 1<<20) > maxGrowth<<20 {
		return fmt.Errorf("%w: conditional: %w: all codecs together make more than %s as many bytes", codec.ErrConfiguration, codec.ErrLimit, quantity.Count(maxGrowth, "times"))
	}
	return nil
}

// Bind implements [codec.Binder]. It binds those codecs that are Binders.
func (c *coder) Bind(spec codec.Spec) error {
	for i, b := range c.codecs {
		binder, ok := b.(codec.Binder)
		if !ok {
			continue
		}
		if err := binder.Bind(spec); err != nil {
			return fmt.Errorf("conditional: codecs: %w", c.fail(i, err))
		}
	}
	return nil
}

// Guarded implements [codec.Guarded]. Only checksums are never left out.
func (c *coder) Guarded() bool {
	return slices.ContainsFunc(c.codecs, func(b codec.BytesBytes) bool {
		_, sums := b.(codec.Trimmer)
		return sums
	})
}

func (c *coder) fail(i int, err error) error {
	return &coding.Error{Codec: c.exts[i].Name, Place: i, Err: err}
}

// most returns the largest size in bytes that n bytes can reach within the first k
// codecs.
func (c *coder) most(k int, n int64) int64 {
	for _, b := range c.codecs[:k] {
		n = max(n, b.MaxEncoded(n))
	}
	return n
}

// MaxEncoded implements [codec.BytesBytes].
func (c *coder) MaxEncoded(n int64) int64 {
	n = c.most(len(c.codecs), n)
	return max(n, n+int64(c.header))
}

// Encode implements [codec.BytesBytes].
func (c *coder) Encode(dst, src []byte) ([]byte, error) {
	from := len(dst)
	for range c.header {
		dst = append(dst, 0)
	}
	mask := dst[from:]
	var held *budget.Buffer
	defer func() { held.Put() }()
	for i, b := range c.codecs {
		next := budget.Get(b.MaxEncoded(int64(len(src))))
		out, err := b.Encode(next.B, src)
		if err != nil {
			next.Put()
			return dst[:from], c.fail(i, err)
		}
		// Skip a codec whose result is longer than its source, unless it is a checksum.
		if _, sums := b.(codec.Trimmer); !sums && len(out) > len(src) {
			next.Put()
			continue
		}
		held.Put()
		held, src = next, out
		mask[i/8] |= 1 << (i % 8)
	}
	return append(dst, src...), nil
}

// Decode implements [codec.BytesBytes].
func (c *coder) Decode(dst, src []byte, most int64) ([]byte, error) {
	if len(src) < c.header {
		return dst, fmt.Errorf("%w: conditional: %s too few for the mask", codec.ErrCorrupt, quantity.Count(len(src), "bytes are"))
	}
	mask, src := src[:c.header], src[c.header:]
	first, err := c.applied(mask)
	if err != nil {
		return dst, err
	}
	var held *budget.Buffer
	defer func() { held.Put() }()
	// All applied codecs but the last one to decode need a buffer.
	for i := len(c.codecs) - 1; i > first; i-- {
		if mask[i/8]>>(i%8)&1 == 0 {
			continue
		}
		room := c.most(i, most)
		next := budget.Get(room)
		out, err := c.codecs[i].Decode(next.Bytes(room)[:0], src, room)
		held.Put()
		if held = next; err != nil {
			return dst, c.fail(i, err)
		}
		src = out
	}
	if first >= 0 {
		out, err := c.codecs[first].Decode(dst, src, most)
		if err != nil {
			return dst, c.fail(first, err)
		}
		return out, nil
	}
	// No codec was applied, so the source is the result.
	if int64(len(src)) > most {
		return dst, fmt.Errorf("%w: conditional: %s, at most %d are possible", codec.ErrTooLong, quantity.Count(len(src), "bytes"), most)
	}
	return append(dst, src...), nil
}

// applied returns the first codec in the mask, or -1 if there is none. It fails if a bit
// has no codec.
func (c *coder) applied(mask []byte) (int, error) {
	first := -1
	for i := 8*len(mask) - 1; i >= 0; i-- {
		if mask[i/8]>>(i%8)&1 == 0 {
			continue
		}
		if first = i; i >= len(c.codecs) {
			return i, fmt.Errorf("%w: conditional: the mask %x has codec %d, but there are %d", codec.ErrCorrupt, mask, i, len(c.codecs))
		}
	}
	return first, nil
}
