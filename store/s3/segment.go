// SPDX-License-Identifier: Apache-2.0

package s3

// segment is a piece of a new object: new bytes or, if it has a source, n bytes of an
// object from offset off on.
type segment struct {
	data   pieces
	source *source
	off, n int64
}

func (g segment) size() int64 {
	if g.source == nil {
		return g.data.size()
	}
	return g.n
}

// cut returns the first n bytes, and the others.
func (g segment) cut(n int64) (head, tail segment) {
	if g.source == nil {
		return segment{data: g.data.cut(0, n)}, segment{data: g.data.cut(n, g.data.size()-n)}
	}
	return segment{source: g.source, off: g.off, n: n}, segment{source: g.source, off: g.off + n, n: g.n - n}
}

// segments are all pieces of a new object.
type segments []segment

func (g segments) size() (n int64) {
	for _, s := range g {
		n += s.size()
	}
	return n
}

// part is a part of an upload: one range that the service copies, or bytes that are
// joined in memory.
type part struct {
	segments
	copied bool
}

// mostCopy is the number of bytes that the service copies for one request, for which the
// request waits.
const mostCopy = 256 << 20

// parts cuts a new object into the parts of an upload. Each is one range that the service
// copies, or is joined in memory of about the size of by. All but the last have at least
// [leastPart] bytes. With join none is copied.
func (g segments) parts(by cuts, join bool) []part {
	c := cutter{join: join}
	// Half of the parts may be joined ones between copies.
	least := (g.size() + mostParts/2 - 1) / (mostParts / 2)
	c.size, c.copy = max(by.joined, least), max(by.copied, least)
	for _, s := range g {
		c.add(s)
	}
	c.end()
	return c.parts
}

// cutter makes parts.
type cutter struct {
	size, copy int64 // of joined and of copied parts
	join       bool
	open       segments // the part in progress, which is joined
	n          int64    // its size
	parts      []part
}

// add appends a segment.
func (c *cutter) add(g segment) {
	for g.size() > 0 {
		copies := g.source != nil && !c.join && g.n >= leastPart
		switch {
		case copies && c.n == 0:
			n := min(g.n, c.copy)
			// The rest must not be too short for a copy.
			if rest := g.n - n; rest > 0 && rest < leastPart {
				n -= leastPart
			}
			var head segment
			head, g = g.cut(n)
			c.parts = append(c.parts, part{segments{head}, true})
		case copies && c.n >= leastPart:
			c.end()
		default:
			want := c.size - c.n
			if copies {
				// Read only what the open part lacks, unless too little would be left.
				if want = leastPart - c.n; g.n-want < leastPart {
					want = g.n
				}
			}
			var head segment
			head, g = g.cut(min(want, g.size()))
			c.open, c.n = append(c.open, head), c.n+head.size()
			if c.n >= c.size {
				c.end()
			}
		}
	}
}

// end ends the open part.
func (c *cutter) end() {
	if c.n > 0 {
		c.parts = append(c.parts, part{segments: c.open})
		c.open, c.n = nil, 0
	}
}
