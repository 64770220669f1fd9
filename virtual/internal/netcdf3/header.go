// SPDX-License-Identifier: Apache-2.0

package netcdf3

import (
	"fmt"
	"strings"

	"varve.dev/zarr/virtual/scan"
)

// Tags of lists.
const (
	dimensionTag = 10 // NC_DIMENSION
	variableTag  = 11 // NC_VARIABLE
	attributeTag = 12 // NC_ATTRIBUTE
)

// header is the header of a file
// (header = magic numrecs dim_list gatt_list var_list).
type header struct {
	records    int64 // number of records
	streaming  bool  // the number of records follows from the size of the file
	dimensions []dimension
	counts     bool // one of the dimensions counts records
	attributes []attribute
	variables  []*variable
	end        int64 // offset of the first byte after the header
	stride     int64 // bytes from a record to the next one
}

// dimension is a dimension (dim = name dim_length). That of records has the length 0.
type dimension struct {
	name   string
	length int64
}

func readHeader(c *cursor) (h *header, err error) {
	h = &header{}
	if err = h.readRecords(c); err != nil {
		return nil, fmt.Errorf("number of records: %w", err)
	}
	err = c.each(dimensionTag, "dimensions", func() error { return h.readDimension(c) })
	if err != nil {
		return nil, err
	}
	if h.attributes, err = readAttributes(c); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	err = c.each(variableTag, "variables", func() error { return h.readVariable(c, seen) })
	h.end = c.at
	return h, err
}

// readRecords reads the number of records (numrecs = NON_NEG | STREAMING). All bits of
// STREAMING are set.
func (h *header) readRecords(c *cursor) error {
	b, err := c.bytes(c.width())
	if err != nil {
		return err
	}
	if h.streaming = string(b) == strings.Repeat("\xff", len(b)); h.streaming {
		return nil
	}
	c.at -= c.width()
	h.records, err = c.count()
	return err
}

func (h *header) readDimension(c *cursor) error {
	at := c.at
	d := dimension{}
	var err error
	if d.name, err = c.name(); err == nil {
		d.length, err = c.count()
	}
	if err != nil {
		return fmt.Errorf("dimension at %d: %w", at, err)
	}
	if d.length == 0 {
		if h.counts {
			return scan.Corruptf("dimension %q is the second one that counts records", d.name)
		}
		h.counts = true
	}
	h.dimensions = append(h.dimensions, d)
	return nil
}
