// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// assemble writes an object of parts. The service copies long ranges, each from the
// version that was looked at. Short ones are read and uploaded. A value of at most four
// parts is joined in memory.
func (s *Store) assemble(ctx context.Context, name string, c store.Change) (store.Version, error) {
	if _, err := c.Size(0); err != nil {
		return store.Version{}, err
	}
	from, err := s.segments(ctx, c.Parts)
	if err != nil {
		return store.Version{}, err
	}
	return s.write(ctx, name, from, condition{})
}

// segments returns the pieces of the parts. It checks the sources of parts without bytes,
// which nothing else will.
func (s *Store) segments(ctx context.Context, parts []store.Part) (segments, error) {
	var from segments
	sources := map[store.Key]*source{}
	for i, p := range parts {
		if p.Data != nil {
			from = append(from, segment{data: pieces{p.Data}})
			continue
		}
		x := sources[p.Key]
		if x == nil {
			x = s.source(p.Key, p.Version)
			sources[p.Key] = x
		}
		switch {
		case x.want.IsZero():
			x.want = p.Version
		case !p.Version.IsZero() && p.Version != x.want:
			return nil, x.replaced()
		}
		if i > 0 && driver.Continues(p, parts[i-1]) && len(from) > 0 && from[len(from)-1].source == x {
			from[len(from)-1].n += p.N
			continue
		}
		from = append(from, segment{source: x, off: p.Off, n: p.N})
	}
	return from, nil
}

// write writes an object of segments: joined in memory if it is small.
func (s *Store) write(ctx context.Context, name string, from segments, cond condition) (store.Version, error) {
	small := from.size() <= singleParts*s.options.PartSize
	like, err := s.check(ctx, from, small)
	if err != nil {
		return store.Version{}, err
	}
	if !small {
		return s.upload(ctx, name, from, cond, like)
	}
	data, err := from.read(ctx)
	if err != nil {
		return store.Version{}, err
	}
	return s.put(ctx, name, data, cond)
}

// check looks at the sources of segments before anything is written: at all, or at those
// that are not read if small is set. It returns the description of the first.
func (s *Store) check(ctx context.Context, from segments, small bool) (like *description, err error) {
	looks := make([]segment, 0, len(from))
	for _, g := range from {
		if g.source != nil && (!small || g.n == 0) {
			looks = append(looks, g)
		}
	}
	err = each(ctx, len(looks), readsAtOnce, func(ctx context.Context, i int) error {
		g := looks[i]
		head, err := g.source.look(ctx)
		if err != nil {
			return err
		}
		return store.Part{Key: g.source.key, Off: g.off, N: g.n}.Within(head.size)
	})
	if err != nil || small || len(looks) == 0 {
		return nil, err
	}
	return looks[0].source.look(ctx)
}

// splice writes an object of segments of its present version and new bytes.
func (s *Store) splice(ctx context.Context, name string, c store.Change) (store.Version, error) {
	cond, err := conditionOf(c.If)
	if err == nil {
		err = s.needs(ctx, writesOnConditions)
	}
	if err != nil {
		return store.Version{}, err
	}
	x := s.source(c.Key, c.If.Version())
	head, err := x.look(ctx)
	if err != nil {
		return store.Version{}, err
	}
	if _, err := c.Size(head.size); err != nil {
		return store.Version{}, fmt.Errorf("%s: %w", s.name(call{key: name}), err)
	}
	var all segments
	for _, f := range c.Parts {
		if f.Data != nil {
			all = append(all, segment{data: pieces{f.Data}})
		} else if f.N > 0 {
			all = append(all, segment{source: x, off: f.Off, n: f.N})
		}
	}
	return s.write(ctx, name, all, cond)
}

// pieces are the bytes of a request's body: the slices, one after the other. They are not
// copied.
type pieces [][]byte

func (p pieces) size() (n int64) {
	for _, b := range p {
		n += int64(len(b))
	}
	return n
}

// cut returns the n bytes from offset off on, which p must have.
func (p pieces) cut(off, n int64) (out pieces) {
	for _, b := range p {
		size := int64(len(b))
		if off < size && n > 0 {
			k := min(size-off, n)
			out = append(out, b[off:off+k])
			off, n = off+k, n-k
		}
		off -= size
		if n == 0 {
			break
		}
	}
	return out
}

// body returns a reader of the bytes.
func (p pieces) body() *body { return &body{pieces: p, n: p.size()} }

type body struct {
	pieces pieces
	at     atomic.Int64
	n      int64
}

// unsent reports whether bytes were never read. Then no service can have the whole body.
// It is false for nil.
func (b *body) unsent() bool { return b != nil && b.at.Load() < b.n }

func (b *body) Read(dst []byte) (int, error) {
	off := b.at.Load()
	if off >= b.n {
		return 0, io.EOF
	}
	for _, piece := range b.pieces {
		if size := int64(len(piece)); off >= size {
			off -= size
			continue
		}
		k := copy(dst, piece[off:])
		b.at.Add(int64(k))
		return k, nil
	}
	return 0, io.EOF
}

// readsAtOnce is the number of sources that are read at the same time.
const readsAtOnce = 32

// take is a range to read into the joined bytes at a position.
type take struct {
	off, n, at int64
}

// read returns the bytes of segments. New bytes are not copied; those of sources are read
// into memory, several sources at a time.
func (g segments) read(ctx context.Context) (pieces, error) {
	var (
		old   int64
		data  pieces
		from  []*source
		takes = map[*source][]take{}
	)
	for _, s := range g {
		if s.source != nil {
			if takes[s.source] == nil {
				from = append(from, s.source)
			}
			takes[s.source] = append(takes[s.source], take{s.off, s.n, old})
			old += s.n
		}
	}
	buf := make([]byte, old)
	err := each(ctx, len(from), readsAtOnce, func(ctx context.Context, i int) error { return from[i].fill(ctx, takes[from[i]], buf) })
	if err != nil {
		return nil, err
	}
	for _, s := range g {
		if s.source == nil {
			data = append(data, s.data...)
			continue
		}
		data = append(data, buf[:s.n])
		buf = buf[s.n:]
	}
	return data, nil
}

// gap is the largest number of bytes between two ranges that are read together. A longer
// read costs less than a second request.
const gap = 1 << 20

// fill reads ranges of the source into buf. Ranges that follow each other closely are
// read together.
func (x *source) fill(ctx context.Context, takes []take, buf []byte) error {
	for len(takes) > 0 {
		first, k := takes[0], 1
		end := first.off + first.n
		for k < len(takes) && takes[k].off >= end && takes[k].off-end <= gap {
			end = takes[k].off + takes[k].n
			k++
		}
		if k == 1 {
			if _, err := x.read(ctx, first.off, first.n, buf[first.at:first.at:first.at+first.n]); err != nil {
				return err
			}
			takes = takes[1:]
			continue
		}
		window, err := x.read(ctx, first.off, end-first.off, nil)
		if err != nil {
			return err
		}
		for _, t := range takes[:k] {
			copy(buf[t.at:t.at+t.n], window[t.off-first.off:])
		}
		takes = takes[k:]
	}
	return nil
}

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
