// SPDX-License-Identifier: Apache-2.0

// Package bytescodec is the codec "bytes" (zarr-specs v3, "Bytes codec"). It stores the
// elements of a chunk one after the other, in C order and in a given byte order. It takes
// every data type of fixed width.
//
// Importing the package registers it as "bytes".
package bytescodec

import (
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

func init() {
	codec.Register("bytes", New)
	codec.Register(metadata.BytesByField, newByField)
}

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayBytes] that is a
// [codec.Transparent], if the stored byte order is that of the host, and a
// [codec.Validator].
func New(configuration []byte) (any, error) {
	var c struct {
		Endian *string `json:"endian"`
	}
	if err := codec.DecodeConfiguration(configuration, &c); err != nil {
		return nil, fmt.Errorf("%w: bytes: %w", codec.ErrConfiguration, err)
	}
	if c.Endian == nil {
		return new(coder), nil
	}
	if *c.Endian != codec.Little && *c.Endian != codec.Big {
		return nil, fmt.Errorf("%w: bytes: endian is %q, want %q or %q", codec.ErrConfiguration, *c.Endian, codec.Little, codec.Big)
	}
	return &coder{endian: *c.Endian}, nil
}

type coder struct {
	endian string   // codec.Little, codec.Big, or "" if the metadata has none
	fields []string // endian of each number of a struct, nil if all have one
	typ    dtype.Type
	stored dtype.Type // its Swap reverses the stored byte order
	swaps  bool       // the stored byte order is not that of the host
	bools  bool
	small  bool // stored numbers have unused bits
	checks bool // not all bytes are valid elements, as of a struct with a bool
}

// Bind implements [codec.ArrayBytes].
func (c *coder) Bind(spec codec.Spec) error {
	t := spec.Type
	if t.Size() <= 0 {
		return fmt.Errorf("%w: bytes: elements of %s have no fixed width", codec.ErrConfiguration, t)
	}
	if c.endian == "" && c.fields == nil && t.Ordered() {
		return fmt.Errorf("%w: bytes: %s needs an endian, %q or %q", codec.ErrConfiguration, t, codec.Little, codec.Big)
	}
	c.typ, c.stored, c.bools, c.small = t, t, t.Kind() == dtype.KindBool, t.Small()
	c.swaps = t.Ordered() && dtype.LittleEndian() != (c.endian == codec.Little)
	if c.fields != nil {
		if err := c.bindFields(); err != nil {
			return err
		}
	}
	c.checks = t.HasBool()
	return nil
}

// Complete implements [codec.Completer]. Elements of single bytes have no byte order.
func (c *coder) Complete(e metadata.Extension) metadata.Extension {
	switch {
	case c.fields != nil:
		return e
	case !c.typ.Ordered():
		return codec.Bytes("")
	}
	return codec.Bytes(c.endian)
}

// EncodedSize implements [codec.ArrayBytes].
func (c *coder) EncodedSize(_ []int64, n int64) (int64, bool) { return n, true }

// Transparent implements [codec.Transparent].
func (c *coder) Transparent() bool { return !c.swaps && !c.small }

// Elementwise implements [coding.Elementwise].
func (c *coder) Elementwise() bool { return true }

// Encode implements [codec.ArrayBytes].
func (c *coder) Encode(dst []byte, src codec.Block) ([]byte, error) {
	if !c.swaps {
		return append(dst, src.Data...), nil
	}
	n := len(dst)
	dst = slices.Grow(dst, len(src.Data))[:n+len(src.Data)]
	c.stored.Swap(dst[n:], src.Data)
	return dst, nil
}

// Decode implements [codec.ArrayBytes].
func (c *coder) Decode(dst *codec.Block, src []byte) error {
	if len(src) != len(dst.Data) {
		return fmt.Errorf("%w: bytes: the chunk decodes to %d bytes, but its shape %d needs %d", codec.ErrCorrupt, len(src), dst.Shape, len(dst.Data))
	}
	if err := c.Validate(src); err != nil {
		return err
	}
	if c.swaps {
		c.stored.Swap(dst.Data, src)
	} else {
		copy(dst.Data, src)
	}
	// Unused bits of stored numbers may have any value.
	if c.small {
		c.typ.Normalize(dst.Data)
	}
	return nil
}

// checkFields returns an error if a bool in a struct is neither 0 nor 1.
func (c *coder) checkFields(data []byte) error {
	if err := checkFields(c.typ, data, c.typ.Size()); err != nil {
		return fmt.Errorf("%w: bytes: %w", codec.ErrCorrupt, err)
	}
	return nil
}

// checkFields checks the bools of structs that begin step bytes apart.
func checkFields(t dtype.Type, data []byte, step int) error {
	for _, f := range t.Fields() {
		switch {
		case f.Type.Kind() == dtype.KindBool:
			for at := f.Offset; at < len(data); at += step {
				if data[at] > 1 {
					return fmt.Errorf("field %q of element %d is stored as %d, want 0 or 1", f.Name, at/step, data[at])
				}
			}
		case f.Type.Kind() == dtype.KindStruct && len(data) > 0:
			if err := checkFields(f.Type, data[f.Offset:], step); err != nil {
				return fmt.Errorf("field %q: %w", f.Name, err)
			}
		}
	}
	return nil
}

// Validate implements [codec.Validator].
func (c *coder) Validate(data []byte) error {
	switch {
	case c.bools:
		return checkBools(data)
	case c.checks:
		return c.checkFields(data)
	}
	return nil
}
