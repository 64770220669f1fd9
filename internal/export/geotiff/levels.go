// SPDX-License-Identifier: Apache-2.0

package geotiff

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"path"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/ome"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// setLevels decides which overviews there are: the levels of a pyramid that the array
// has, or versions of half the size each until one tile holds one.
func (p *planner) setLevels(ctx context.Context) error {
	p.sizes = [][2]int64{{p.height, p.width}}
	if !p.Overviews || max(p.height, p.width) <= p.tile {
		return nil
	}
	if err := p.findStored(ctx); err != nil || p.stored != nil {
		return err
	}
	for height, width := p.height, p.width; max(height, width) > p.tile; {
		height, width = (height+1)/2, (width+1)/2
		p.sizes = append(p.sizes, [2]int64{height, width})
	}
	return nil
}

// findStored finds the levels of a pyramid, of OME-Zarr or of package pyramid, that a
// group above the array describes. A part of a plane has none.
func (p *planner) findStored(ctx context.Context) error {
	a := p.source.Array
	of := (*subset.Elements)(p.source.Selection)
	for _, axis := range []int{p.y, p.x} {
		along, _ := of.Along(of.Axes()[axis])
		if along.Given() != nil || along.Count != a.Shape()[of.Axes()[axis]] {
			return nil
		}
	}
	for at := a.Path(); at != ""; {
		at = above(at)
		attributes, err := cf.GroupAttributes(ctx, a, at)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(a.Path(), at), "/")
		for _, level := range ome.Overviews(attributes, name) {
			if err := p.addStored(ctx, path.Join(at, level)); err != nil {
				return err
			}
		}
		if p.stored != nil {
			return nil
		}
	}
	return nil
}

// above returns the path of the group above a node.
func above(at string) string {
	if at = path.Dir(at); at == "." {
		return ""
	}
	return at
}

// reading returns the options for reading nodes beside an array.
func reading(a *zarr.Array) *zarr.Options {
	o := a.Options()
	o.Write, o.Finish, o.RequireChunks = false, false, false
	return &o
}

// addStored adds a level if it is one: the same bands of the same type, and fewer rows
// and columns.
func (p *planner) addStored(ctx context.Context, at string) error {
	a := p.source.Array
	l, err := a.Location().Root().At(at).OpenArray(ctx, reading(a))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a description may be older than its levels
	}
	if err != nil || l.Type() != a.Type() || l.Rank() != a.Rank() {
		return err
	}
	of := (*subset.Elements)(p.source.Selection)
	items := make(selection.Orthogonal, l.Rank())
	for i := range items {
		along, _ := of.Along(i)
		switch {
		case i == of.Axes()[p.y] || i == of.Axes()[p.x]:
			items[i] = selection.All()
		case l.Shape()[i] != a.Shape()[i]:
			return nil
		default:
			items[i] = export.ItemOf(along)
		}
	}
	v, err := l.View(items)
	if err != nil {
		return err
	}
	s, err := export.Of(ctx, v, p.source.Decoding != nil)
	if err != nil {
		return err
	}
	same, err := samePacking(ctx, l, a)
	below := p.sizes[len(p.sizes)-1]
	height, width := s.Shape[p.y], s.Shape[p.x]
	if err != nil || !same || s.Type != p.source.Type || height > below[0] || width > below[1] || height*width == below[0]*below[1] ||
		!divides(p.height, height) || !divides(p.width, width) {
		return err
	}
	if s, err = flipped(s, p.turned); err != nil {
		return err
	}
	s.Memory, s.Reserve = p.source.Memory, p.source.Reserve
	p.stored, p.sizes = append(p.stored, s), append(p.sizes, [2]int64{height, width})
	return nil
}

// samePacking reports whether numbers of two arrays mean the same.
func samePacking(ctx context.Context, a, b *zarr.Array) (bool, error) {
	p, err := cf.PackingOf(ctx, a)
	if err != nil {
		return false, err
	}
	q, err := cf.PackingOf(ctx, b)
	if err != nil {
		return false, err
	}
	scale, offset := p.Scale()
	same, also := q.Scale()
	return scale == same && offset == also && p.Type() == q.Type(), nil
}

// divides reports whether an axis of n elements has so many blocks, the last of which may
// be shorter or missing.
func divides(n, blocks int64) bool {
	if blocks < 1 {
		return false
	}
	f := int64(math.Round(float64(n) / float64(blocks)))
	return blocks == n/f || blocks == checked.CeilDiv(n, f)
}
