// SPDX-License-Identifier: Apache-2.0

// Package tiff finds the chunks of TIFF and BigTIFF files, and so of GeoTIFF and COG:
// strips and tiles are chunks of Zarr.
//
// Section numbers in comments are those of "TIFF Revision 6.0" (Adobe, 1992). BigTIFF is
// the same with offsets of 64 bits.
package tiff

import (
	"encoding/binary"
	"fmt"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// Matches reports whether a file begins as a TIFF or BigTIFF file does.
func Matches(f *scan.File) bool {
	b, err := f.Bytes(0, 4)
	if err != nil {
		return false
	}
	// The number 42 marks TIFF, and 43 BigTIFF: * and + in ASCII.
	switch string(b) {
	case "II*\x00", "MM\x00*", "II+\x00", "MM\x00+":
		return true
	}
	return false
}

// Scan returns an array for every image of the file. A file with one image and smaller
// versions of it has the arrays "full", "overview_1" and so on. In a file of several
// images these names begin with "page_1_", "page_2_" and so on, and the images themselves
// are "page_1", "page_2" and so on.
//
// An image of one sample has the axes y and x. The samples of others are the axis band:
// the first one if each sample is stored apart, otherwise the last. If one IFD stands for
// a stack of images, as ImageJ, MetaMorph, tifffile and writers of OME-XML do it, its
// axes t, z and c, or plane, come before.
func Scan(f *scan.File) (*scan.Dataset, error) {
	r, first, err := open(f)
	if err != nil {
		return nil, err
	}
	images, err := r.images(first)
	if err != nil {
		return nil, err
	}
	d := &scan.Dataset{Format: "TIFF", Groups: []scan.Group{{}}}
	if r.big {
		d.Format = "BigTIFF"
	}
	var values calibration
	for i, path := range paths(images) {
		a, err := r.array(images[i].ifd, path)
		if err != nil {
			return nil, err
		}
		// ImageJ describes the first image only, and means all of them.
		if i == 0 {
			values = calibrationOf(a)
		}
		if a.Refused == nil {
			r.addStack(d, a, images[i], pages(images))
			setValues(d, a, images[i].role, &values)
		}
		d.Arrays = append(d.Arrays, a)
	}
	return d, nil
}

// setValues says what the values of an image are, by the tags of GDAL and the calibration
// of the file, or notes what it cannot say.
func setValues(d *scan.Dataset, a *scan.Array, is role, c *calibration) {
	note := func(err error) {
		d.Omitted = append(d.Omitted, scan.Omission{Path: a.Path + ":scale_factor", Reason: err})
	}
	if err := setMeaning(a); err != nil {
		note(err)
	}
	// The samples of a mask are flags, and no measured values.
	if is == mask {
		return
	}
	if err := c.set(a); err != nil && !c.noted {
		note(err)
		c.noted = true
	}
}

// addStack adds the planes that an image has behind it, or notes why it lacks them. pages
// is the number of images at full resolution that have an IFD.
func (r *reader) addStack(d *scan.Dataset, a *scan.Array, of image, pages int) {
	s := stackOf(of.ifd, a, pages)
	if s == nil || of.role != page {
		return
	}
	if s.apart != "" {
		d.Omit(a.Path, "%s", s.apart)
		return
	}
	// Each image of the stack has its own IFD, as usual. Nothing is behind them.
	if pages > 1 && s.only {
		if n, ok := checked.Product(s.shape...); d.Arrays == nil && (!ok || n > int64(pages)) {
			d.Omit(a.Path, "%s says that there are images of the shape %d, and %d are there", s.program, s.shape, pages)
		}
		return
	}
	if err := r.addPlanes(a, s); err != nil {
		reason := fmt.Errorf("all planes but the first, of the shape %d as %s says: %w", s.shape, s.program, err)
		d.Omitted = append(d.Omitted, scan.Omission{Path: a.Path, Reason: reason})
	}
}

// open reads the header of a file (section 2, "Image File Header"). It returns the offset
// of the first IFD.
func open(f *scan.File) (r *reader, first int64, err error) {
	if !Matches(f) {
		return nil, 0, scan.Corruptf("tiff: the file does not begin as TIFF does")
	}
	r = &reader{file: f, left: f.Size(), order: binary.LittleEndian, seen: map[int64]bool{}}
	head, err := f.Bytes(0, 8)
	if err != nil {
		return nil, 0, err
	}
	if head[0] == 'M' {
		r.order = binary.BigEndian
	}
	if r.order.Uint16(head[2:]) == 42 {
		return r, int64(r.order.Uint32(head[4:])), nil
	}
	r.big = true
	// Bytes 4 to 7 are the size of offsets, so far always 8, and a zero.
	if r.order.Uint16(head[4:]) != 8 || r.order.Uint16(head[6:]) != 0 {
		return nil, 0, scan.Unsupportedf("tiff: BigTIFF with offsets of %s", quantity.Count(r.order.Uint16(head[4:]), "bytes"))
	}
	if head, err = f.Bytes(8, 8); err != nil {
		return nil, 0, err
	}
	first, err = offset(r.order.Uint64(head))
	return r, first, err
}
