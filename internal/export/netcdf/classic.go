// SPDX-License-Identifier: Apache-2.0

package netcdf

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/quantity"
)

// The classic formats have a header and then the elements, big-endian (NetCDF user guide,
// "NetCDF classic format"). Variables of the unlimited dimension, which is the first of
// each, are interleaved: a record has the elements of all of them at one index.

// classic is a file of a classic format.
type classic struct {
	Format
	group   *group
	record  *dimension // the unlimited one, or nil
	begins  []int64    // of the variables, in bytes
	sizes   []int64    // of a variable, or of its part of a record, padded
	record1 int64      // bytes of a record
	end     int64
}

// magic is the last byte of the signature of a variant.
func (f Format) magic() byte {
	return map[export.Format]byte{export.NetCDF3: 1, export.Offset64: 2, export.CDF5: 5}[f.Variant]
}

// checkClassic returns an error for what a classic variant lacks.
func (f Format) checkClassic(g *group) error {
	if len(g.groups) > 0 {
		return unfit("group %q: %s has no groups: export it by itself, or use --format netcdf4", "/"+g.groups[0].at, f.Variant)
	}
	if err := f.checkKinds(g); err != nil {
		return err
	}
	c := &classic{Format: f, group: g}
	for _, d := range g.dimensions {
		if err := checkName("dimension", d.name); err != nil {
			return err
		}
		if d.unlimited && c.record != nil {
			return unfit("dimensions %q and %q are unlimited, and %s has one: name it (--unlimited %s), or use --format netcdf4", c.record.name, d.name, f.Variant, d.name)
		}
		if d.unlimited {
			c.record = d
		}
		if f.Variant != export.CDF5 && d.length > math.MaxInt32 {
			return unfit("dimension %q has length %d, and %s permits %d: select a part, or use --format cdf5 or netcdf4", d.name, d.length, f.Variant, math.MaxInt32)
		}
	}
	for _, v := range g.variables {
		if slices.Index(v.dimensions, c.record) > 0 || c.record != nil && lastIndex(v.dimensions, c.record) > 0 {
			return unfit("%s: its dimension %q is not the first, and %s has unlimited dimensions in front only: use --unlimited none, or --format netcdf4", v.at, c.record.name, f.Variant)
		}
	}
	return c.layout()
}

func lastIndex(list []*dimension, d *dimension) int {
	for i := range slices.Backward(list) {
		if list[i] == d {
			return i
		}
	}
	return -1
}

// permits reports whether a variant has a kind.
func (f Format) permits(k kind) bool {
	return k <= kindDouble || f.Variant == export.NetCDF4 || f.Variant == export.CDF5 && k != kindString
}

// checkKinds checks names and types.
func (f Format) checkKinds(g *group) error {
	if err := f.checkAttributes("the group", g.attributes); err != nil {
		return err
	}
	if err := f.fitAttributes("the group", g.attributes); err != nil {
		return err
	}
	for _, v := range g.variables {
		if err := checkName("array", v.name); err != nil {
			return err
		}
		if !f.permits(v.kind) {
			way := "use --format netcdf4"
			if f.Variant != export.CDF5 && v.kind != kindString {
				way = "use --format cdf5 or netcdf4"
			}
			return unfit("%s: elements of type %s become %s, which %s lacks: %s", v.at, v.source.Type, v.kind, f.Variant, way)
		}
		if err := f.checkAttributes(v.at, v.attributes); err != nil {
			return err
		}
		if err := f.fitAttributes(v.at, v.attributes); err != nil {
			return err
		}
	}
	return nil
}

// fitAttributes changes integers that a variant lacks to double, if that has all of them.
func (f Format) fitAttributes(at string, list []attribute) error {
	for i := range list {
		a := &list[i]
		if f.permits(a.kind) {
			continue
		}
		if a.kind == kindString {
			return unfit("%s: attribute %q is a list of texts, and %s has single ones: join them, or use --format netcdf4", at, a.name, f.Variant)
		}
		doubles, ok := doublesOf(a)
		if !ok {
			return unfit("%s: attribute %q has numbers of type %s, which %s lacks: use --format cdf5 or netcdf4", at, a.name, a.kind, f.Variant)
		}
		a.kind, a.data = kindDouble, doubles
	}
	return nil
}

// doublesOf returns integers as floats. ok is false if one would change.
func doublesOf(a *attribute) (data []byte, ok bool) {
	const exact = 1 << 53
	t, size := a.kind.dataType(), a.kind.size()
	for b := range slices.Chunk(a.data, size) {
		v, err := parseInteger(t.AppendText(nil, b))
		if err != nil || v > exact || v < -exact {
			return nil, false
		}
		data = append(data, floatElement(kindDouble, float64(v))...)
	}
	return data, true
}

// layout places the variables: those with a fixed length first, then those of records.
func (c *classic) layout() error {
	g := c.group
	c.begins, c.sizes = make([]int64, len(g.variables)), make([]int64, len(g.variables))
	at := int64(len(c.header()))
	records := 0
	for _, v := range g.variables {
		if c.isRecord(v) {
			records++
		}
	}
	for _, isRecord := range []bool{false, true} {
		for i, v := range g.variables {
			if c.isRecord(v) != isRecord {
				continue
			}
			shape := v.shape()
			if isRecord {
				shape = shape[1:]
			}
			size, ok := checked.Product(append([]int64{int64(v.kind.size())}, shape...)...)
			// A single variable of records has no padding between them.
			if ok && (!isRecord || records > 1) {
				size = (size + 3) &^ 3
			}
			c.sizes[i], c.begins[i] = size, at
			if err := c.checkSize(i, v, ok); err != nil {
				return err
			}
			at += size
			if isRecord {
				c.record1 += size
			}
		}
	}
	c.end = at
	if c.record != nil && c.record.length > 0 {
		more, ok := checked.Mul(c.record.length-1, c.record1)
		if ok {
			c.end, ok = checked.Add(at, more)
		}
		if !ok {
			return unfit("%s of %s are too many for a file: select a part", quantity.Count(c.record.length, "records"), quantity.Count(c.record1, "bytes"))
		}
	}
	return nil
}

// checkSize checks the place and the size of a variable against the variant.
func (c *classic) checkSize(i int, v *variable, ok bool) error {
	most, way := int64(math.MaxInt64), "--format cdf5 or netcdf4"
	switch c.Variant {
	case export.NetCDF3:
		most, way = math.MaxInt32-3, "--format netcdf3-64, cdf5 or netcdf4"
	case export.Offset64:
		most = math.MaxUint32 - 3
	}
	what := "elements"
	if c.isRecord(v) {
		what = "one record"
	}
	if !ok || c.sizes[i] > most || c.Variant == export.NetCDF3 && c.begins[i] > math.MaxInt32 {
		return unfit("%s: its %s would take %s at %d of the file, more than %s permits: select a part, or use %s", v.at, what, quantity.Count(c.sizes[i], "bytes"), c.begins[i], c.Variant, way)
	}
	return nil
}

func (c *classic) isRecord(v *variable) bool {
	return c.record != nil && len(v.dimensions) > 0 && v.dimensions[0] == c.record
}

// count appends a number of things: 4 bytes, or 8 in CDF-5.
func (c *classic) count(b []byte, n int64) []byte {
	if c.Variant == export.CDF5 {
		return binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return binary.BigEndian.AppendUint32(b, uint32(min(n, math.MaxUint32)))
}

// The tags of lists.
const (
	tagDimension = 10
	tagVariable  = 11
	tagAttribute = 12
)

// list appends the tag and the length of a list.
func (c *classic) list(b []byte, tag uint32, n int) []byte {
	if n == 0 {
		tag = 0
	}
	return c.count(binary.BigEndian.AppendUint32(b, tag), int64(n))
}

// padded appends bytes, and zeros up to a multiple of 4.
func padded(b, data []byte) []byte {
	b = append(b, data...)
	return append(b, make([]byte, -len(data)&3)...)
}

func (c *classic) name(b []byte, name string) []byte {
	return padded(c.count(b, int64(len(name))), []byte(name))
}

// header returns the header. Its length does not depend on places and sizes.
func (c *classic) header() []byte {
	g := c.group
	b := []byte{'C', 'D', 'F', c.magic()}
	records := int64(0)
	if c.record != nil {
		records = c.record.length
	}
	b = c.list(c.count(b, records), tagDimension, len(g.dimensions))
	ids := map[*dimension]int64{}
	for i, d := range g.dimensions {
		ids[d] = int64(i)
		length := d.length
		if d == c.record {
			length = 0
		}
		b = c.count(c.name(b, d.name), length)
	}
	b = c.attributes(b, g.attributes)
	b = c.list(b, tagVariable, len(g.variables))
	for i, v := range g.variables {
		b = c.count(c.name(b, v.name), int64(len(v.dimensions)))
		for _, d := range v.dimensions {
			b = c.count(b, ids[d])
		}
		b = binary.BigEndian.AppendUint32(c.attributes(b, v.attributes), uint32(v.kind))
		b = c.count(b, (c.sizes[i]+3)&^3) // padded, also where the records are not
		if c.Variant == export.NetCDF3 {
			b = binary.BigEndian.AppendUint32(b, uint32(c.begins[i]))
		} else {
			b = binary.BigEndian.AppendUint64(b, uint64(c.begins[i]))
		}
	}
	return b
}

func (c *classic) attributes(b []byte, list []attribute) []byte {
	b = c.list(b, tagAttribute, len(list))
	for _, a := range list {
		data := []byte(a.text)
		n := len(data)
		if a.kind != kindChar {
			data = a.swapped(binary.BigEndian)
			n = len(data) / a.kind.size()
		}
		b = c.count(binary.BigEndian.AppendUint32(c.name(b, a.name), uint32(a.kind)), int64(n))
		b = padded(b, data)
	}
	return b
}

// writeClassic writes a file.
func (f Format) writeClassic(ctx context.Context, g *group, to export.File) error {
	c := &classic{Format: f, group: g}
	for _, d := range g.dimensions {
		if d.unlimited {
			c.record = d
		}
	}
	if err := c.layout(); err != nil {
		return err
	}
	header := c.header()
	if _, err := to.Write(header); err != nil {
		return err
	}
	// The file has its full length, also if the last elements need padding.
	if c.end > int64(len(header)) {
		if _, err := to.WriteAt([]byte{0}, c.end-1); err != nil {
			return err
		}
	}
	for i, v := range g.variables {
		if err := c.write(ctx, i, v, to); err != nil {
			return err
		}
	}
	return nil
}

// write writes the elements of a variable at their places.
func (c *classic) write(ctx context.Context, i int, v *variable, to export.File) error {
	part, step := int64(math.MaxInt64), int64(0)
	if c.isRecord(v) {
		part = int64(v.kind.size()) * checked.Capped(v.shape()[1:]...)
		step = c.record1
	}
	at := int64(0) // in the variable, without padding
	var b []byte
	return v.source.Blocks(ctx, func(values export.Values) error {
		b = v.converted(b[:0], values.Data)
		swap(v.kind.dataType(), b, binary.BigEndian)
		for rest := b; len(rest) > 0; {
			within := at % part
			n := min(int64(len(rest)), part-within)
			if _, err := to.WriteAt(rest[:n], c.begins[i]+at/part*step+within); err != nil {
				return err
			}
			rest, at = rest[n:], at+n
		}
		v.source.Tell(int64(len(values.Data)))
		return nil
	})
}
