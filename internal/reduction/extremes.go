// SPDX-License-Identifier: Apache-2.0

package reduction

import (
	"cmp"
	"slices"
)

// extremes makes the smallest or the largest element of every block without looking at
// blocks one by one: it compares whole rows. NaN is a missing value, and a row that has
// one is made by plain.
func extremes[T short | wide | float](m Method, plain rowMaker) rowMaker {
	extend := smallest[T]
	if m == Max {
		extend = largest[T]
	}
	return func(width int) makeRow {
		var slow makeRow
		return func(dst []byte, rows [][]byte, f int) {
			out := as[T](dst)
			for j := range out {
				out[j] = as[T](rows[0])[j*f]
			}
			missing := false
			for _, r := range rows {
				extend(out, as[T](r), f)
			}
			for _, x := range out {
				missing = missing || isNaN(x)
			}
			if missing {
				if slow == nil {
					slow = plain(width)
				}
				slow(dst, rows, f)
			}
		}
	}
}

// largest makes each element of out the largest of it and of the elements of its block in
// a row. NaN stays.
func largest[T short | wide | float](out, row []T, f int) {
	if f == 2 {
		// Four blocks at a time, whose bounds are checked once.
		for len(row) >= 8 && len(out) >= 4 {
			o, r := out[:4:4], row[:8:8]
			o[0] = max(o[0], r[0], r[1])
			o[1] = max(o[1], r[2], r[3])
			o[2] = max(o[2], r[4], r[5])
			o[3] = max(o[3], r[6], r[7])
			out, row = out[4:], row[8:]
		}
	}
	for j := range out {
		for _, x := range row[j*f : min(j*f+f, len(row))] {
			out[j] = max(out[j], x)
		}
	}
}

// smallest is largest for the smallest element.
func smallest[T short | wide | float](out, row []T, f int) {
	if f == 2 {
		for len(row) >= 8 && len(out) >= 4 {
			o, r := out[:4:4], row[:8:8]
			o[0] = min(o[0], r[0], r[1])
			o[1] = min(o[1], r[2], r[3])
			o[2] = min(o[2], r[4], r[5])
			o[3] = min(o[3], r[6], r[7])
			out, row = out[4:], row[8:]
		}
	}
	for j := range out {
		for _, x := range row[j*f : min(j*f+f, len(row))] {
			out[j] = min(out[j], x)
		}
	}
}

// mode returns the most frequent value, the smallest of several. It sorts the block.
func mode[T cmp.Ordered](block []T) T {
	// Most blocks of labels have one value.
	if !slices.ContainsFunc(block, func(x T) bool { return x != block[0] }) {
		return block[0]
	}
	slices.Sort(block)
	best, most := block[0], 0
	for from := 0; from < len(block); {
		n := 1
		for from+n < len(block) && block[from+n] == block[from] {
			n++
		}
		if n > most {
			best, most = block[from], n
		}
		from += n
	}
	return best
}

// modes makes the modes of blocks of 2 × 2 elements. Those of other blocks are made by
// plain.
func modes[T short | wide](plain rowMaker) rowMaker {
	return func(width int) makeRow {
		var slow makeRow
		return func(dst []byte, rows [][]byte, f int) {
			if len(rows) != 2 || f != 2 {
				if slow == nil {
					slow = plain(width)
				}
				slow(dst, rows, f)
				return
			}
			out, above, below := as[T](dst), as[T](rows[0]), as[T](rows[1])
			for len(out) > 0 && len(above) >= 2 && len(below) >= 2 {
				out[0] = modeOfFour(above[0], above[1], below[0], below[1])
				out, above, below = out[1:], above[2:], below[2:]
			}
			if len(out) > 0 { // a column alone
				out[0] = min(above[0], below[0])
			}
		}
	}
}

// modeOfFour returns the most frequent of four values, the smallest of several.
func modeOfFour[T short | wide](a, b, c, d T) T {
	if a == b && c == d {
		return min(a, c)
	}
	a, b = min(a, b), max(a, b)
	c, d = min(c, d), max(c, d)
	a, c = min(a, c), max(a, c)
	b, d = min(b, d), max(b, d)
	b, c = min(b, c), max(b, c)
	switch { // they are in order
	case a == b:
		return a
	case b == c:
		return b
	case c == d:
		return c
	}
	return a
}
