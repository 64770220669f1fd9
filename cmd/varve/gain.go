package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/grid"
)

// gain is what an array grows by. Files, streams and other arrays are read while they are
// appended; elements that differ in length are in memory.
type gain struct {
	values *input.Values // open until it is appended
	words  element.Values
	from   *zarr.Source // nil where there are words
	planes int64
	length int64 // bytes
}

// gained opens what is to be appended to an array along an axis, and counts its planes.
// There may be none where a file of no length says so and nothing else grows.
func gained(cmd *cobra.Command, file, formatName string, a *zarr.Array, axis int, alone bool) (*gain, error) {
	v, err := input.Open(cmd, file, formatName, a.Type(), a)
	if err != nil {
		return nil, err
	}
	g := &gain{values: v}
	if err := v.KeepsSense(cmd.Context(), a); err != nil {
		return nil, errors.Join(err, g.close())
	}
	v.NoteSense(cmd, a)
	if err := g.measure(a.Shape(), axis, alone); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *gain) close() error { return g.values.Close() }

// measure finds out how many planes there are for an array of the given shape.
func (g *gain) measure(shape []int64, axis int, alone bool) error {
	v := g.values
	if err := continues(v, shape, axis); err != nil {
		return err
	}
	n, err := v.Gather()
	if err != nil {
		return err
	}
	switch {
	case n == 0 && hasEmptyPlanes(shape, axis):
		g.planes, err = v.PlanesAlong(axis, shape)
	case n == 0 && v.Shape != nil && alone:
	default:
		g.planes, err = wholePlanes(v, shape, axis, n)
	}
	if err == nil && n > 0 && g.planes == 0 && axis >= 0 && axis < len(shape) {
		err = failure.OnAxis(axis, "%s has %s, but planes of shape %v have none", v.Name, phrase.Plural(n, "value"), shape)
	}
	if err != nil {
		return err
	}
	if v.Type.Variable() {
		g.words, err = v.All()
		g.length = g.words.Bytes()
		return err
	}
	g.length = n * element.Width(v.Type)
	g.from, err = v.Source(shape, axis, g.planes)
	return err
}

// append makes the array grow.
func (g *gain) append(ctx context.Context, a *zarr.Array, axis int, opt *zarr.AppendOptions) error {
	if g.from == nil {
		return zarr.Append(ctx, a, axis, g.words.Words, opt)
	}
	return a.AppendFrom(ctx, axis, g.from, opt)
}

// addition returns what an array of a group grows by.
func (g *gain) addition(path string, axis int, opt *zarr.AppendOptions) zarr.Addition {
	if g.from == nil {
		return zarr.Add(path, axis, g.words.Words, opt)
	}
	return zarr.Addition{Path: path, Axis: axis, From: g.from, Options: opt}
}

// data returns all elements in host byte order; there are none that differ in length.
func (g *gain) data(ctx context.Context) ([]byte, error) {
	if g == nil || g.from == nil || g.length == 0 {
		return nil, nil
	}
	data := make([]byte, g.length)
	return data, g.from.Read(ctx, grid.BoxOf(g.from.Shape), data)
}
