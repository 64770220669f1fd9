// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// along returns the part with an axis for each array that has one value along it, and
// with the coordinate of that axis.
func (p *Part) along(dimension string) (*Part, error) {
	m := *p.Manifest
	m.Arrays = nil
	given := map[string]*point{} // by the paths of their coordinates
	first := map[string]string{} // the paths of the arrays that they come from
	for _, a := range p.Manifest.Arrays {
		i := slices.IndexFunc(a.points, func(q point) bool { return q.Name == dimension })
		if i < 0 {
			m.Arrays = append(m.Arrays, a)
			continue
		}
		q := &a.points[i]
		b, err := a.widened(i)
		if err != nil {
			return nil, mismatch(p.Name, a.Path, "%v", err)
		}
		m.Arrays = append(m.Arrays, b)
		at := path.Join(path.Dir(a.Path), dimension)
		if other := p.Manifest.Array(at); other != nil {
			return nil, mismatch(p.Name, a.Path, "it has one value along %s, and other arrays of the file have %d", dimension, other.Grid.Shape())
		}
		if old := given[at]; old != nil && !(bytes.Equal(old.Value, q.Value) && bytes.Equal(old.Document.Attributes, q.Document.Attributes)) {
			return nil, mismatch(p.Name, a.Path, "it has another place along %s than %s, so that they have no coordinate in common: make a file of each, or leave out --concat", dimension, first[at])
		}
		if given[at] == nil {
			given[at], first[at] = q, a.Path
		}
	}
	if len(given) == 0 {
		return p, nil
	}
	for at, q := range given {
		c, err := q.coordinate(at)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", p.Name, at, err)
		}
		m.Arrays = append(m.Arrays, c)
	}
	m.sort()
	out, values := *p, p.Values
	out.Manifest = &m
	out.Values = func(ctx context.Context, path string) ([]byte, error) {
		if q := given[path]; q != nil {
			return q.Value, nil
		}
		return values(ctx, path)
	}
	return &out, nil
}

// widened returns the array with the axis of point i, and without the attributes that say
// the same.
func (a *Array) widened(i int) (*Array, error) {
	p := &a.points[i]
	b, err := inserted(a, p.Axis, p.Name)
	if err != nil {
		return nil, err
	}
	raw := b.Document.Attributes
	for _, name := range p.Attributes {
		if raw, err = metadata.UnsetAttribute(raw, name); err != nil {
			return nil, err
		}
	}
	// Those that follow have their axes behind the new one.
	b.points = slices.Concat(a.points[:i], moved(a.points[i+1:]))
	b.Document, err = b.Document.WithAttributes(raw)
	return b, err
}

// moved returns points for an array with one axis more before theirs.
func moved(points []point) []point {
	points = slices.Clone(points)
	for i := range points {
		points[i].Axis++
	}
	return points
}

// coordinate returns the array of the point's coordinate at a path. Its value is read by
// the part, and stored when the files are joined.
func (p *point) coordinate(at string) (*Array, error) {
	g, err := grid.New([]int64{1}, grid.Chunks(1)...)
	if err != nil {
		return nil, err
	}
	return newArray(at, p.Document, g, 0)
}
