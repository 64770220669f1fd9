// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// attribute is an attribute (attr = name nc_type nelems [values ...]).
type attribute struct {
	name   string
	number uint32 // of the type
	raw    []byte // the values
}

// readAttributes reads a list of attributes.
func readAttributes(c *cursor) (list []attribute, err error) {
	seen := map[string]bool{}
	err = c.each(attributeTag, "attributes", func() error {
		a, err := c.attribute()
		if err == nil && seen[a.name] {
			err = scan.Corruptf("two attributes are called %q", a.name)
		}
		seen[a.name] = true
		list = append(list, a)
		return err
	})
	return list, err
}

// attributes returns the names and values of a list.
func attributes(list []attribute) (out scan.Attributes) {
	for _, a := range list {
		out = append(out, scan.Attribute{Name: a.name, Value: a.value()})
	}
	return out
}

func (c *cursor) attribute() (a attribute, err error) {
	at := c.at
	if a.name, err = c.name(); err != nil {
		return a, fmt.Errorf("attribute at %d: %w", at, err)
	}
	if err = a.read(c); err != nil {
		return a, fmt.Errorf("attribute %q: %w", a.name, err)
	}
	return a, nil
}

func (a *attribute) read(c *cursor) error {
	number, e, err := c.element()
	if err != nil {
		return err
	}
	n, err := c.count()
	if err != nil {
		return err
	}
	size, ok := checked.Mul(n, int64(e.typ.Size()))
	if !ok {
		return scan.Corruptf("%d values", n)
	}
	a.number = number
	a.raw, err = c.padded(size)
	return err
}

// value returns the value of an attribute: text, a number, or a slice of numbers.
func (a attribute) value() any {
	order := binary.BigEndian
	switch a.number {
	case char:
		// Programs in C often count the zero at the end.
		return strings.TrimRight(string(a.raw), "\x00")
	case 1:
		return numbers(a.raw, 1, func(b []byte) int8 { return int8(b[0]) })
	case 3:
		return numbers(a.raw, 2, func(b []byte) int16 { return int16(order.Uint16(b)) })
	case 4:
		return numbers(a.raw, 4, func(b []byte) int32 { return int32(order.Uint32(b)) })
	case 5:
		return numbers(a.raw, 4, func(b []byte) float32 { return math.Float32frombits(order.Uint32(b)) })
	case 6:
		return numbers(a.raw, 8, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) })
	case 7:
		return numbers(a.raw, 1, func(b []byte) uint8 { return b[0] })
	case 8:
		return numbers(a.raw, 2, order.Uint16)
	case 9:
		return numbers(a.raw, 4, order.Uint32)
	case 10:
		return numbers(a.raw, 8, func(b []byte) int64 { return int64(order.Uint64(b)) })
	}
	return numbers(a.raw, 8, order.Uint64)
}

// numbers returns a single number, or a slice of any other number of them.
func numbers[T any](raw []byte, size int, number func([]byte) T) any {
	list := make([]T, 0, len(raw)/size)
	for ; len(raw) > 0; raw = raw[size:] {
		list = append(list, number(raw))
	}
	if len(list) == 1 {
		return list[0]
	}
	return list
}
