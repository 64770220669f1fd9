// SPDX-License-Identifier: Apache-2.0

package comparison

import (
	"slices"

	"varve.dev/zarr/grid"
)

// Region is a box around elements that differ.
type Region struct {
	Box     grid.Box
	Count   int64   // elements that differ
	Largest float64 // of |a - b|; negative if no two of the elements are finite numbers
	First   []int64 // the first element that differs, in C order
	A, B    string  // it in the JSON form of fill values
}

// regions are the regions that come first in C order, and one for all others. Which these
// are does not depend on the order in which they are found.
type regions struct {
	most int // at least 1
	list []Region
	rest *Region
}

// add adds regions.
func (r *regions) add(found ...Region) {
	r.list = append(r.list, found...)
	if len(r.list) > 2*r.most { // seldom, because sorting takes time
		r.trim(r.most)
	}
}

// trim keeps n regions, and joins all others to the rest.
func (r *regions) trim(n int) {
	r.sort()
	for _, one := range r.list[min(n, len(r.list)):] {
		if r.rest != nil {
			one = union(*r.rest, one)
		}
		r.rest = &one
	}
	r.list = r.list[:min(n, len(r.list))]
}

func (r *regions) sort() {
	slices.SortFunc(r.list, func(a, b Region) int { return slices.Compare(a.First, b.First) })
}

// all returns at most most regions, sorted. The last one has the rest.
func (r *regions) all() []Region {
	if r.rest != nil || len(r.list) > r.most {
		r.trim(r.most - 1)
		return append(slices.Clone(r.list), *r.rest)
	}
	r.sort()
	return r.list
}

// union returns the smallest region with the elements of both.
func union(a, b Region) Region {
	if slices.Compare(b.First, a.First) < 0 {
		a.First, a.A, a.B = b.First, b.A, b.B
	}
	box := slices.Clone(a.Box)
	for i, in := range b.Box {
		box[i].Start, box[i].Stop = min(box[i].Start, in.Start), max(box[i].Stop, in.Stop)
	}
	a.Box = box
	a.Count += b.Count
	a.Largest = max(a.Largest, b.Largest)
	return a
}

// joined returns all regions, after joining those that are one box together.
func (r *regions) joined() []Region {
	regions := r.list
	slices.SortFunc(regions, func(a, b Region) int { return slices.Compare(a.First, b.First) })
	for axis := range rank(regions) {
		// Neighbours along the axis follow each other if the axis is the last one to
		// sort by.
		slices.SortStableFunc(regions, func(a, b Region) int {
			for i := range a.Box {
				if i != axis && a.Box[i] != b.Box[i] {
					return slices.Compare([]int64{a.Box[i].Start, a.Box[i].Stop}, []int64{b.Box[i].Start, b.Box[i].Stop})
				}
			}
			return int(min(1, max(-1, a.Box[axis].Start-b.Box[axis].Start)))
		})
		kept := regions[:0]
		for _, r := range regions {
			if n := len(kept); n > 0 && touch(kept[n-1].Box, r.Box, axis) {
				kept[n-1] = union(kept[n-1], r)
				continue
			}
			kept = append(kept, r)
		}
		regions = kept
	}
	r.list = regions
	return r.all()
}

func rank(regions []Region) int {
	if len(regions) == 0 {
		return 0
	}
	return len(regions[0].Box)
}

// touch reports whether b continues a along an axis.
func touch(a, b grid.Box, axis int) bool {
	for i := range a {
		if i != axis && a[i] != b[i] {
			return false
		}
	}
	return a[axis].Stop == b[axis].Start
}
