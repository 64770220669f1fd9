// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"context"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
)

// Joined returns the elements of several gains of an array of the given shape, one after
// the other along an axis. The gains stay open as long as it is used.
func Joined(gains []*Gain, shape []int64, axis int) *Gain {
	if len(gains) == 1 {
		return gains[0]
	}
	all := &Gain{values: gains[0].values}
	var sources []*zarr.Source
	for _, g := range gains {
		all.Planes, all.Length = all.Planes+g.Planes, all.Length+g.Length
		sources = append(sources, g.from)
	}
	if all.words.Type = all.values.Type; all.values.Type.Variable() {
		all.words.Words = joinedWords(gains, shape, axis)
	} else {
		all.from = joinedSource(sources, axis, all.values.Type.Size())
	}
	return all
}

// joinedWords returns the words of several gains, one after the other along an axis of an
// array of the given shape.
func joinedWords(gains []*Gain, shape []int64, axis int) [][]byte {
	before, run := int64(1), int64(1) // planes before the axis, and words in each of its planes
	for i, n := range shape {
		switch {
		case i < axis:
			before *= n
		case i > axis:
			run *= n
		}
	}
	all := [][]byte{}
	for k := range before {
		for _, g := range gains {
			n := g.Planes * run
			all = append(all, g.words.Words[k*n:(k+1)*n]...)
		}
	}
	return all
}

// joinedSource is a source of several sources, one after the other along an axis.
func joinedSource(sources []*zarr.Source, axis, size int) *zarr.Source {
	all := &zarr.Source{Shape: slices.Clone(sources[0].Shape)}
	all.Shape[axis] = 0
	for _, s := range sources {
		all.Shape[axis] += s.Shape[axis]
	}
	all.Read = func(ctx context.Context, box grid.Box, dst []byte) error {
		whole := strided.Contiguous(dst, box.Shape(), size)
		start := int64(0)
		for _, s := range sources {
			stop := start + s.Shape[axis]
			part, within := slices.Clone(box), grid.BoxOf(box.Shape())
			part[axis] = grid.Interval{Start: max(box[axis].Start, start) - start, Stop: min(box[axis].Stop, stop) - start}
			within[axis] = grid.Interval{Start: part[axis].Start + start - box[axis].Start, Stop: part[axis].Stop + start - box[axis].Start}
			start = stop
			if part[axis].Len() <= 0 {
				continue
			}
			n, _ := part.Len()
			room := make([]byte, n*int64(size))
			if err := s.Read(ctx, slices.Clone(part), room); err != nil {
				return err
			}
			strided.Copy(whole.Sub(within), strided.Contiguous(room, part.Shape(), size))
		}
		return nil
	}
	return all
}
