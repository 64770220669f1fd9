// SPDX-License-Identifier: Apache-2.0

package rechunk

// listing counts the pages that the listings of a rechunk take.
type listing struct {
	source, target int64 // pages of one listing
	pages          int64
}

// pages returns the pages of a listing of n values, of 1000 each.
func pages(n int) int64 { return max(1, (int64(n)+999)/1000) }

// compare adds a comparison of the source with the target.
func (l *listing) compare() { l.pages += l.source + l.target }

// scratch adds the listings for a level that has n objects: before it is made, and after.
func (l *listing) scratch(n int) {
	l.compare()
	l.compare()
	l.pages += pages(0) + pages(n)
}

// last adds the listings for the last stage, which makes n chunks, and for publishing.
func (l *listing) last(n int) {
	l.compare()
	l.target = pages(n)
	l.compare()
}
