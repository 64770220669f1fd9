// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"fmt"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// variable is a variable
// (var = name nelems [dimid ...] vatt_list nc_type vsize begin).
type variable struct {
	name       string
	dimensions []int64 // numbers of dimensions
	attributes []attribute
	number     uint32 // of the type
	element    element
	begin      int64 // offset of the first value
	perRecord  bool  // the first dimension counts records
	// size is the size in bytes of the values of a record, or of all values if they do
	// not belong to records. It is never 0.
	size int64
}

func (h *header) readVariable(c *cursor, seen map[string]bool) error {
	at := c.at
	v := &variable{}
	var err error
	if v.name, err = c.name(); err != nil {
		return fmt.Errorf("variable at %d: %w", at, err)
	}
	if v.name == "" || seen[v.name] {
		return scan.Corruptf("the variable at %d has no name or that of another, %q", at, v.name)
	}
	seen[v.name] = true
	if err = v.read(c); err == nil {
		err = h.measure(v)
	}
	if err != nil {
		return fmt.Errorf("variable %q: %w", v.name, err)
	}
	h.variables = append(h.variables, v)
	return nil
}

// read reads what follows the name.
func (v *variable) read(c *cursor) error {
	n, err := c.count()
	for ; err == nil && n > 0; n-- {
		var d int64
		d, err = c.count()
		v.dimensions = append(v.dimensions, d)
	}
	if err != nil {
		return err
	}
	if v.attributes, err = readAttributes(c); err != nil {
		return err
	}
	if v.number, v.element, err = c.element(); err != nil {
		return err
	}
	// The size (vsize) follows from the dimensions. It has too few bits for large
	// variables, so it may be anything.
	if _, err = c.bytes(c.width()); err != nil {
		return err
	}
	v.begin, err = c.offset()
	return err
}

// measure finds the size of a variable.
func (h *header) measure(v *variable) error {
	v.size = int64(v.element.typ.Size())
	for i, number := range v.dimensions {
		if number >= int64(len(h.dimensions)) {
			return scan.Corruptf("the dimension %d of %d", number, len(h.dimensions))
		}
		d := h.dimensions[number]
		if d.length == 0 {
			if v.perRecord = i == 0; v.perRecord {
				continue
			}
			return scan.Corruptf("the dimension of records, %q, is not the first", d.name)
		}
		var ok bool
		if v.size, ok = checked.Mul(v.size, d.length); !ok {
			return scan.Corruptf("more than 2^63 bytes")
		}
	}
	return nil
}

// fill returns the fill value in host byte order.
func (v *variable) fill() []byte {
	for _, a := range v.attributes {
		if a.name == "_FillValue" && a.number == v.number && len(a.raw) == v.element.typ.Size() {
			return v.element.host(a.raw)
		}
	}
	return v.element.defaultFill()
}
