// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"math"

	"varve.dev/zarr/grid"
)

// write puts a label beside the last strips, whose cells are given.
func (r *ruler) write(text string, inside bool, cells grid.Interval, strips int64) {
	stop := int64(len(r.strips))
	l := label{text: text, strips: grid.Interval{Start: stop - strips, Stop: stop}}
	if r.name != nil && inside {
		l.name = clip(r.name(r.elements(cells)), 40, unicodeText.more)
	}
	r.labels = append(r.labels, l)
}

// makeRoom enlarges strips whose labels would touch others, and arranges everything.
func (r *ruler) makeRoom() {
	// A larger strip moves all labels after it, so repeat until none touch.
	for again := true; again; {
		r.arrange()
		again = false
		for i, l := range r.labels {
			if more := r.room(l) - l.size; more > 0 && (r.touch(i-1) || r.touch(i) || r.kind.across && i == 0) {
				// The middle strip of a run is its gap.
				middle := (l.strips.Start + l.strips.Stop) / 2
				r.strips[middle].size += more
				again = true
			}
		}
	}
}

// touch reports whether a label and the next one need more room than there is.
func (r *ruler) touch(i int) bool {
	if i < 0 || i+1 >= len(r.labels) {
		return false
	}
	a, b := r.labels[i], r.labels[i+1]
	return b.at+b.size/2-a.at-a.size/2 < (r.room(a)+r.room(b))/2
}

// arrange places the strips one after another, and the labels beside them.
func (r *ruler) arrange() {
	r.length, r.inside = 0, 0
	for i := range r.strips {
		s := &r.strips[i]
		s.at = r.length
		r.length += s.size
		if s.inside {
			r.inside = r.length
		}
	}
	for i := range r.labels {
		l := &r.labels[i]
		last := r.strips[l.strips.Stop-1]
		l.at = r.strips[l.strips.Start].at
		l.size = last.at + last.size - l.at
	}
}

// lead returns the number of pixels that the first name of columns needs to the left of
// them.
func (r *ruler) lead() int {
	for _, l := range r.labels {
		if l.name != "" {
			return textWidth(l.name)/2 - l.at - l.size/2
		}
	}
	return 0
}

// excess returns the number of pixels that the last label of columns needs to the right
// of them.
func (r *ruler) excess() int {
	if len(r.labels) == 0 {
		return 0
	}
	l := r.labels[len(r.labels)-1]
	return l.at + l.size/2 + max(r.room(l), textWidth(l.name))/2 - r.length
}

// elements returns the elements of cells that lie within the array.
func (r *ruler) elements(cells grid.Interval) grid.Interval {
	first, _ := r.axis.Cell(cells.Start)
	last, _ := r.axis.Cell(cells.Stop - 1)
	return grid.Interval{Start: first.Start, Stop: last.Start + last.Logical}
}

// room returns the number of pixels that a label needs along the axis.
func (r *ruler) room(l label) int {
	if r.kind.across {
		return textWidth(l.text) + 8
	}
	return 14
}

// labelWidth returns the width of the longest label in pixels.
func (r *ruler) labelWidth() (n int) {
	for _, l := range r.labels {
		n = max(n, textWidth(l.text))
	}
	return n
}

// nameWidth returns the width of the longest name in pixels.
func (r *ruler) nameWidth() (n int) {
	for _, l := range r.labels {
		n = max(n, textWidth(l.name))
	}
	return n
}

// dropNames drops the names of columns that would touch the name before them. Strips are
// not enlarged to make room for names.
func (r *ruler) dropNames() {
	end := math.MinInt
	for i := range r.labels {
		l := &r.labels[i]
		half := (textWidth(l.name) + 8) / 2
		switch middle := l.at + l.size/2; {
		case !r.kind.across || l.name == "":
		case middle-half < end:
			l.name = ""
		default:
			end = middle + half
		}
	}
}

// compare marks the strips that are larger than to scale.
func (r *ruler) compare() {
	// unit is the smallest scale of any strip, in pixels per element.
	unit := 0.0
	for _, s := range r.strips {
		if u := (float64(s.size) + .5) / float64(max(1, s.elements)); s.elements > 0 && (unit == 0 || u < unit) {
			unit = u // sizes are rounded by up to half a pixel
		}
	}
	for i, s := range r.strips {
		r.strips[i].stretched = s.elements > 0 && float64(s.size) > unit*float64(s.elements)+2
	}
}

// isStretched reports whether some strips are larger than to scale.
func (r *ruler) isStretched() bool {
	for _, s := range r.strips {
		if s.stretched {
			return true
		}
	}
	return false
}
