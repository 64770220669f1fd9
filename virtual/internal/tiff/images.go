// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"fmt"

	"varve.dev/zarr/virtual/scan"
)

// role is what an image is within the file (section 8, "NewSubfileType").
type role int

const (
	page     role = iota // an image at its full resolution
	overview             // a smaller version of the page before it
	mask                 // says which pixels of the page before it count
	part                 // another image below a page
)

// image is an IFD and what it is.
type image struct {
	*ifd
	role role
}

// images returns all images in the order of the file, each with its SubIFDs behind it.
func (r *reader) images(first int64) (list []image, err error) {
	if first == 0 {
		return nil, scan.Corruptf("tiff: the file has no IFD")
	}
	for at := first; at != 0; {
		d, next, err := r.ifd(at)
		if err != nil {
			return nil, err
		}
		if list, err = r.withParts(list, d, page); err != nil {
			return nil, err
		}
		at = next
	}
	return list, nil
}

// withParts appends an image and those that it names as SubIFDs (TIFF Technical Note 1).
// Each of these may be followed by others, and has no SubIFDs of its own.
func (r *reader) withParts(list []image, d *ifd, otherwise role) ([]image, error) {
	is, err := r.role(d, otherwise)
	if err != nil {
		return nil, err
	}
	list = append(list, image{d, is})
	if otherwise == part {
		return list, nil
	}
	below, err := r.numbers(d, subIFDs)
	if err != nil {
		return nil, err
	}
	for _, x := range below {
		if list, err = r.withChain(list, x); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// withChain appends the images of a chain of SubIFDs. Some writers list all images of a
// chain, so it ends at one that was read.
func (r *reader) withChain(list []image, first uint64) ([]image, error) {
	at, err := offset(first)
	for err == nil && at != 0 && !r.seen[at] {
		var d *ifd
		if d, at, err = r.ifd(at); err == nil {
			list, err = r.withParts(list, d, part)
		}
	}
	return list, err
}

// role returns what an image is.
func (r *reader) role(d *ifd, otherwise role) (role, error) {
	flags, err := r.number(d, newSubfileType, 0)
	if err != nil {
		return 0, err
	}
	old, err := r.number(d, oldSubfileType, 0)
	switch {
	case err != nil:
		return 0, err
	case flags&4 != 0:
		return mask, nil
	case flags&1 != 0 || old == 2:
		return overview, nil
	}
	return otherwise, nil
}

// pages returns the number of images at full resolution.
func pages(images []image) (n int) {
	for _, d := range images {
		if d.role == page {
			n++
		}
	}
	return n
}

// paths names images.
func paths(images []image) []string {
	several := pages(images) > 1
	names := make([]string, len(images))
	prefix, at := "", 0
	var counts [part + 1]int
	for i, d := range images {
		if d.role == page {
			// A smaller version may come before the first page.
			if at++; at > 1 {
				counts = [part + 1]int{}
			}
		}
		if several {
			prefix = fmt.Sprintf("page_%d", max(at, 1))
		}
		counts[d.role]++
		names[i] = name(prefix, d.role, counts[d.role])
	}
	return names
}

// name returns the path of image n of its role.
func name(prefix string, is role, n int) string {
	switch {
	case is == page && prefix == "":
		return "full"
	case is == page:
		return prefix
	case prefix != "":
		prefix += "_"
	}
	return fmt.Sprintf("%s%s_%d", prefix, [...]string{"", "overview", "mask", "part"}[is], n)
}
