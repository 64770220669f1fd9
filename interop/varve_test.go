// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// varve is the module under test. It reads elements in the byte order of the host, which
// must be little endian.
type varve struct{}

func (varve) name() string { return "varve" }

func (varve) create(t *testing.T, path string, s spec) {
	typ, err := dtype.Parse(s.Type, nil)
	check(t, err)
	fill, err := typ.FormatFill(s.Fill)
	check(t, err)
	described := zarr.Spec{
		Shape: s.Shape, Type: typ, Chunks: cuts(s.Chunks), FillValue: zarr.FillJSON(string(fill)), Codecs: extensions(t, s.chain()),
		ListAxes: s.ListAxes, KeyEncoding: s.Keys.encoding(), DimensionNames: plain(s.Names), Attributes: s.Attributes,
	}
	s.describeShards(t, &described)
	a, err := zarr.CreateArray(t.Context(), path, described, nil)
	check(t, err)
	check(t, a.Close())
}

func (varve) write(t *testing.T, path string, data []byte) {
	change(t, path, func(a *zarr.Array) error { return a.WriteBytes(t.Context(), nil, data) })
}

func (varve) append(t *testing.T, path string, axis int, b block) {
	change(t, path, func(a *zarr.Array) error { return a.AppendBytes(t.Context(), axis, b.data, nil) })
}

func (varve) resize(t *testing.T, path string, shape []int64) {
	change(t, path, func(a *zarr.Array) error { return a.Resize(t.Context(), shape, nil) })
}

func change(t *testing.T, path string, do func(*zarr.Array) error) {
	t.Helper()
	changeBy(t, path, &zarr.Options{Write: true}, do)
}

// changeBy opens the array for one change, so that only the directory is shared with the
// next one.
func changeBy(t *testing.T, path string, opt *zarr.Options, do func(*zarr.Array) error) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), path, opt)
	check(t, err)
	check(t, do(a))
	check(t, a.Close())
}

func (varve) read(t *testing.T, path string) state {
	a, err := zarr.OpenArray(t.Context(), path, nil)
	check(t, err)
	r, err := a.Select(nil)
	check(t, err)
	fill, err := a.FillValue().Element(a.Type())
	check(t, err)
	s := state{
		Shape: a.Shape(), Type: a.Type().Name(), Grid: declared(a.Grid()), Sizes: sizes(a.Grid()), Fill: fill,
		Names: pointers(a.DimensionNames()), Data: make([]byte, r.Len()*int64(a.Type().Size())),
	}
	if n := a.Inner(); n != nil {
		g, err := n.Grid()
		check(t, err)
		s.Inner = sizes(g)
	}
	decode(t, a.Attributes(), &s.Attributes)
	check(t, a.ReadBytes(t.Context(), nil, s.Data))
	check(t, a.Close())
	return s
}

func (varve) createGroup(t *testing.T, path string, attributes map[string]any) {
	g, err := zarr.CreateGroup(t.Context(), path, attributes, nil)
	check(t, err)
	check(t, g.Close())
}

func (varve) members(t *testing.T, path string) tree {
	g, err := zarr.OpenGroup(t.Context(), path, nil)
	check(t, err)
	found := tree{Members: map[string]string{}}
	decode(t, g.Attributes(), &found.Attributes)
	for m, err := range g.Members(t.Context(), true) {
		check(t, err)
		check(t, m.Err)
		found.Members[m.Path] = m.Kind
	}
	check(t, g.Close())
	return found
}

func extensions(t *testing.T, codecs []codecJSON) []metadata.Extension {
	var chain []metadata.Extension
	for _, c := range codecs {
		e := metadata.Extension{Name: c.Name}
		if c.Configuration != nil {
			raw, err := json.Marshal(c.Configuration)
			check(t, err)
			e.Configuration = raw
		}
		chain = append(chain, e)
	}
	return chain
}

func (k keys) encoding() metadata.KeyEncoding {
	return map[keys]metadata.KeyEncoding{
		{"default", "/"}: metadata.DefaultSlash, {"default", "."}: metadata.DefaultDot,
		{"v2", "."}: metadata.V2Dot, {"v2", "/"}: metadata.V2Slash,
	}[k]
}

func cuts(chunks []cut) []grid.Cut {
	list := make([]grid.Cut, len(chunks))
	for i, c := range chunks {
		if list[i] = grid.Every(c.step); c.edges != nil {
			list[i] = grid.Edges(c.edges...)
		}
	}
	return list
}

// declared returns the name of a grid and all its edges, including those beyond the
// extents; see [spec.grid].
func declared(g *grid.Grid) string {
	chunks := make([]cut, g.Rank())
	for i := range chunks {
		if a := g.Axis(i); a.IsRegular() {
			chunks[i].step = a.Step()
		} else {
			chunks[i].edges = single(a.Edges())
		}
	}
	return fmt.Sprint(g.Name(), " ", chunks)
}

// sizes returns the logical lengths of the chunks along every axis.
func sizes(g *grid.Grid) [][]int64 {
	all := make([][]int64, g.Rank())
	for i, runs := range g.Sizes() {
		all[i] = single(slices.Values(runs))
	}
	return all
}

// single returns the lengths of runs, each as often as its count.
func single(runs iter.Seq[grid.Run]) []int64 {
	lengths := []int64{}
	for r := range runs {
		lengths = append(lengths, slices.Repeat([]int64{r.Length}, int(r.Count))...)
	}
	return lengths
}

// plain returns names in the form of Varve, with "" for none.
func plain(names []*string) []string {
	if names == nil {
		return nil
	}
	list := make([]string, len(names))
	for i, n := range names {
		if n != nil {
			list[i] = *n
		}
	}
	return list
}

func pointers(names []string) []*string {
	if names == nil {
		return nil
	}
	list := make([]*string, len(names))
	for i, n := range names {
		if n != "" {
			list[i] = &n
		}
	}
	return list
}
