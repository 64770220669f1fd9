// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"path"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/ome"
	"varve.dev/zarr/metadata"
)

// level is a smaller version of an array.
type level struct {
	Node    string  `json:"node"`
	Factors []int64 `json:"factors"`
	Shape   []int64 `json:"shape"`
}

// mostLevels bounds the levels that are looked at.
const mostLevels = 32

// levels returns the smaller versions of the array that a group describes which is shown.
func (a *array) levels(ctx context.Context) ([]level, error) {
	list := []level{}
	for at := a.Path(); ; {
		group := path.Dir(at)
		if group == at || len(list) > 0 {
			return list, nil
		}
		if at = group; group == "." {
			group = ""
		}
		if _, is := a.shown.node(group); !is {
			return list, nil
		}
		doc, _ := a.Location().Root().At(group).Metadata(ctx, nil) // one that is damaged describes nothing
		g, is := doc.(*metadata.Group)
		if err := ctx.Err(); err != nil || group == "" && !is {
			return list, err
		}
		if !is {
			continue
		}
		paths := ome.Overviews(g.Attributes, strings.TrimPrefix(strings.TrimPrefix(a.Path(), group), "/"))
		for _, p := range paths[:min(len(paths), mostLevels)] {
			whole := strings.TrimPrefix(path.Join(group, p), "/")
			node, is := a.shown.node(whole)
			if !is {
				continue
			}
			doc, _ := a.Location().Root().At(whole).Metadata(ctx, nil)
			if below, is := doc.(*metadata.Array); is {
				if factors := factorsOf(a.Shape(), below.Shape); factors != nil {
					list = append(list, level{node, factors, below.Shape})
				}
			}
		}
	}
}

// factorsOf returns how many elements one of a level stands for along each axis, or nil
// if it is none of such elements.
func factorsOf(shape, below []int64) []int64 {
	if len(shape) != len(below) {
		return nil
	}
	factors := make([]int64, len(shape))
	for i, n := range shape {
		m := below[i]
		if m == 0 || m > n {
			return nil
		}
		f := max(1, n/m)
		if n%m*2 >= m && n%m != 0 {
			f++
		}
		if m != n/f && m != checked.CeilDiv(n, f) {
			return nil
		}
		factors[i] = f
	}
	return factors
}

// levelFor returns the level that has enough elements for the pixels of a view, and makes
// the view one of the level. Without such a level it returns the array itself.
func (h *Handler) levelFor(ctx context.Context, a *array, v *view, p *pixels) (*array, error) {
	list, err := a.levels(ctx)
	if err != nil {
		return nil, err
	}
	var best *level
	for i := range list {
		f := list[i].Factors
		if f[v.y] <= v.step[0] && f[v.x] <= v.step[1] && f[v.y]*f[v.x] > 1 && (best == nil || f[v.y]*f[v.x] > best.Factors[v.y]*best.Factors[v.x]) {
			best = &list[i]
		}
	}
	if best == nil {
		return a, nil
	}
	source, err := h.openArray(ctx, best.Node)
	if err != nil {
		return a, ctx.Err() // a level that cannot be read is none
	}
	p.Method, p.Level = "level", best.Node
	for i := range v.at {
		v.at[i] = min(v.at[i]/best.Factors[i], source.Shape()[i]-1)
	}
	for k, axis := range []int{v.y, v.x} {
		f, n := best.Factors[axis], source.Shape()[axis]
		box := grid.Interval{Start: min(v.box[k].Start/f, n-1), Stop: min(checked.CeilDiv(v.box[k].Stop, f), n)}
		most, step := v.pixels[k], max(1, checked.CeilDiv(v.step[k], f))
		for checked.CeilDiv(box.Len(), step) > max(1, most) {
			step++
		}
		v.box[k], v.step[k], v.pixels[k] = box, step, checked.CeilDiv(box.Len(), step)
		p.Step[k], p.Box[2*k] = step*f, box.Start*f
	}
	return source, nil
}
