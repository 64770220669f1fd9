// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"bytes"
	"errors"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// described is what the header of an array says.
type described struct {
	space   dataspace
	typ     *datatype
	element int64   // bytes of an element of the file
	inner   []int64 // the shape of an element that is an array, whose elements are typ
	layout  layout
	filters []filter
	fill    fill
}

// addArray adds the array of an object.
func (w *walk) addArray(n *node, path string, o *object) error {
	list, err := w.attributesOf(n, o)
	if err != nil {
		return err
	}
	f := &found{address: o.address, array: &scan.Array{Path: path}}
	if f.scale, err = w.scale(list); err != nil {
		return err
	}
	if f.array.Attributes, err = w.visible(path, list, &f.scale); err != nil {
		return err
	}
	n.array = f
	w.found = append(w.found, f)
	err = w.fillArray(f, o)
	// The array is listed with the reason, and the rest of the file can be used.
	if errors.Is(err, scan.ErrUnsupported) {
		f.array.Refused, f.array.Chunks = err, nil
		return nil
	}
	return err
}

// fillArray sets everything of an array but its name and its attributes.
func (w *walk) fillArray(f *found, o *object) error {
	a := f.array
	d, err := w.describe(o)
	a.Shape, f.space, f.noFill = d.space.shape, d.space, d.fill.unwritten
	if err != nil {
		return err
	}
	if d.space.null {
		return scan.Unsupportedf("it has no elements, not even one (a null dataspace)")
	}
	if o.find(kindExternal) != nil {
		return scan.Unsupportedf("its elements are in other files")
	}
	if err := d.unwrap(); err != nil {
		return err
	}
	if a.Type, err = d.typ.element(); err != nil {
		return err
	}
	if d.layout.class == layoutChunked {
		err = w.chunked(a, &d)
	} else {
		err = w.whole(a, &d)
	}
	if err != nil {
		return err
	}
	// The parts of an element that is an array are never split between chunks.
	a.Shape, a.Chunk = slices.Concat(a.Shape, d.inner), slices.Concat(a.Chunk, d.inner)
	if err := d.typ.setFlags(&a.Attributes); err != nil {
		return err
	}
	if field := d.typ.enumField(); field != "" {
		w.set.Omit(a.Path+":"+flagMeanings, "the names of the values of field %q, an enumeration in a compound", field)
	}
	if a.Type.Variable() {
		return w.inline(a, &d)
	}
	return setFill(a, &d)
}

// unwrap makes the axes of elements that are arrays the last axes of the array.
func (d *described) unwrap() error {
	d.element = d.typ.size
	for d.typ.class == classArray {
		d.inner = append(d.inner, d.typ.shape...)
		d.typ = d.typ.base
	}
	if rank := len(d.space.shape) + len(d.inner); rank > grid.MaxRank {
		return scan.Unsupportedf("%s, at most %d are possible", quantity.Count(rank, "axes"), grid.MaxRank)
	}
	size := int(d.typ.size)
	if d.inner == nil || len(d.fill.value) < size {
		return nil
	}
	first := d.fill.value[:size]
	// A fill value of Zarr is a single number for all places in an element.
	for b := range slices.Chunk(d.fill.value, size) {
		if !bytes.Equal(b, first) {
			return scan.Unsupportedf("its fill value is an array of different values")
		}
	}
	d.fill.value = first
	return nil
}

// describe reads the messages of an array.
func (w *walk) describe(o *object) (d described, err error) {
	parts := []struct {
		kind  uint16
		parse func(*cursor) error
	}{
		{kindDataspace, func(c *cursor) (err error) { d.space, err = parseDataspace(c); return err }},
		{kindDatatype, func(c *cursor) (err error) { d.typ, err = parseDatatype(c, 0); return err }},
		{kindLayout, func(c *cursor) (err error) { d.layout, err = parseLayout(c); return err }},
		{kindFilters, func(c *cursor) (err error) { d.filters, err = parseFilters(c); return err }},
	}
	for _, p := range parts {
		m := o.find(p.kind)
		// Chunks without a pipeline are stored as they are in memory.
		if m == nil && p.kind == kindFilters {
			continue
		}
		if m == nil {
			return d, scan.Corruptf("object header at %d: no message of the kind %d", o.address, p.kind)
		}
		b, err := w.body(m)
		if err == nil {
			err = p.parse(w.over(b))
		}
		if err != nil {
			return d, within(err, "object header", o.address)
		}
	}
	d.fill, err = w.fill(o)
	return d, within(err, "fill value of the object", o.address)
}

// setFill sets the fill value, in the order of the host.
func setFill(a *scan.Array, d *described) error {
	if d.fill.value == nil {
		return nil
	}
	if len(d.fill.value) != a.Type.Size() {
		return scan.Corruptf("a fill value of %s, want %d", quantity.Count(len(d.fill.value), "bytes"), a.Type.Size())
	}
	fill := slices.Clone(d.fill.value)
	if d.typ.order() == bigOrder == byteorder.Little() {
		a.Type.Swap(fill, fill)
	}
	if err := a.Type.Check(fill); err != nil {
		return scan.Unsupportedf("its fill value: %v", err)
	}
	// Zero is the default, in HDF5 as in a scan.
	if a.Fill = fill; isZero(fill) {
		a.Fill = nil
	}
	return nil
}

func isZero(b []byte) bool {
	return !slices.ContainsFunc(b, func(x byte) bool { return x != 0 })
}

// whole sets the only chunk of an array that has no chunks.
func (w *walk) whole(a *scan.Array, d *described) (err error) {
	// Zarr has no chunks of extent 0, which an array without elements would get.
	for _, n := range a.Shape {
		a.Chunk = append(a.Chunk, max(1, n))
	}
	// Filters apply to chunks only (H5Pset_filter).
	if a.Codecs, err = d.codecs(nil); err != nil {
		return err
	}
	n, err := d.space.bytes(d.element)
	if err != nil || n == 0 {
		return err
	}
	switch l := &d.layout; l.class {
	case layoutCompact:
		if int64(len(l.data)) < n {
			return scan.Corruptf("%s of elements, want %d", quantity.Count(len(l.data), "bytes"), n)
		}
		a.Chunks = []scan.Chunk{{Data: l.data[:n:n]}}
	case layoutContiguous:
		// The library allocates contiguous elements at the first write. Nothing was
		// written, so all of them are the fill value.
		if l.address == undefined {
			return nil
		}
		at, err := w.place(l.address)
		if err != nil {
			return err
		}
		// Layouts of versions 1 and 2 do not have the size.
		if l.size != undefined && l.size < n || at > w.file.Size() || n > w.file.Size()-at {
			return scan.Corruptf("%s of elements at %d, in a file of %d", quantity.Count(n, "bytes"), at, w.file.Size())
		}
		a.Chunks = []scan.Chunk{{Offset: at, Length: n}}
	case layoutVirtual:
		return scan.Unsupportedf("it is a virtual dataset: its elements are those of others")
	default:
		return scan.Unsupportedf("its elements have a layout of the kind %d", l.class)
	}
	return nil
}

// chunked sets the chunks of an array.
func (w *walk) chunked(a *scan.Array, d *described) error {
	a.Chunk = d.layout.chunk
	// The last size in a layout is that of an element in bytes (IV.A.2.i).
	if d.layout.element != d.element {
		return scan.Corruptf("its chunks have elements of %s, its type of %d", quantity.Count(d.layout.element, "bytes"), d.element)
	}
	// Without its codecs nobody needs the chunks of an array.
	if _, err := d.codecs(d.filters); err != nil {
		return err
	}
	k, err := w.newChunks(&d.layout, &d.space, len(d.filters))
	if err != nil {
		return err
	}
	if err := k.gather(); err != nil {
		return err
	}
	filters, err := k.encoding(d.filters)
	if err != nil {
		return err
	}
	d.filters = filters
	a.Chunks = k.list
	a.Codecs, err = d.codecs(filters)
	return err
}
