// SPDX-License-Identifier: Apache-2.0

package bytescodec

import (
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
)

// newByField is the [codec.Factory] for structs whose fields have different byte orders.
// Format 2 allows them (zarr-specs v2, "Data type encoding"), format 3 has no name for
// them. The configuration lists the order of each field that has one.
func newByField(configuration []byte) (any, error) {
	var c struct {
		Endian []string `json:"endian"`
	}
	if err := codec.DecodeConfiguration(configuration, &c); err != nil {
		return nil, fmt.Errorf("%w: bytes by field: %w", codec.ErrConfiguration, err)
	}
	for i, order := range c.Endian {
		if order != codec.Little && order != codec.Big {
			return nil, fmt.Errorf("%w: bytes by field: endian %d is %q, want %q or %q", codec.ErrConfiguration, i, order, codec.Little, codec.Big)
		}
	}
	if len(c.Endian) == 0 {
		return nil, fmt.Errorf("%w: bytes by field: endian is missing", codec.ErrConfiguration)
	}
	return &coder{fields: c.Endian}, nil
}

// bindFields checks the byte orders of fields for Bind.
func (c *coder) bindFields() error {
	c.swaps = false
	next := 0
	c.stored = c.typ.Turned(func() bool {
		next++
		turn := next <= len(c.fields) && dtype.LittleEndian() != (c.fields[next-1] == codec.Little)
		c.swaps = c.swaps || turn
		return turn
	})
	if c.typ.Kind() != dtype.KindStruct || next != len(c.fields) {
		return fmt.Errorf("%w: bytes by field: byte orders of %d fields are given, and %s has %d with one", codec.ErrConfiguration, len(c.fields), c.typ, next)
	}
	return nil
}
