// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// Array is an array whose chunks are byte ranges of sources.
type Array struct {
	Path     string
	Document *metadata.Array
	Grid     *grid.Grid
	// Axis is the axis along which the array grows: the one whose index runs slowest in
	// the order of its references. So an append only adds references at their end.
	Axis int

	// values says that the array is a coordinate whose values are copied into the
	// manifest.
	values bool
	blocks []piece          // the references that are stored already
	refs   references       // those that follow them
	inline map[int64][]byte // the chunks that have no source, by number
	faces  []face           // the chunks that are to be copied without their padding
	points []point          // its places along axes that it lacks
}

// newArray returns an array without any stored chunk.
func newArray(path string, doc *metadata.Array, g *grid.Grid, axis int) (*Array, error) {
	a := &Array{Path: path, Document: doc, Grid: g, Axis: axis}
	if err := a.checkChunks(); err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	n, _ := g.NumChunks()
	// checkChunks has bounded the number.
	a.refs = makeReferences(int(n))
	return a, nil
}

// mostChunks bounds the chunks of an array.
const mostChunks = 1 << 30

// number returns the place of a chunk in the order of the references.
func (a *Array) number(index []int64) int64 { return numberOf(index, a.Grid.Chunks(), a.Axis) }

// numberOf returns the place of an index in an order in which one axis runs slowest, and
// the others as in C order.
func numberOf(index, count []int64, slowest int) int64 {
	if len(index) == 0 {
		return 0
	}
	k := index[slowest]
	for i, x := range index {
		if i != slowest {
			k = k*count[i] + x
		}
	}
	return k
}

// indexOf is the inverse of numberOf. It fills index.
func indexOf(k int64, count []int64, slowest int, index []int64) {
	for i := len(count) - 1; i >= 0; i-- {
		if i != slowest {
			index[i] = k % count[i]
			k /= count[i]
		}
	}
	if len(index) > 0 {
		index[slowest] = k
	}
}

// withGrid returns the document for another grid.
func withGrid(doc *metadata.Array, g *grid.Grid) *metadata.Array {
	return doc.Resized(g.Shape(), snapshot.GridExtension(g, 0))
}

// setInline gives a chunk bytes of its own.
func (a *Array) setInline(number int64, data []byte) {
	if a.inline == nil {
		a.inline = map[int64][]byte{}
	}
	a.inline[number] = data
}

// face is the chunks of an array with one index along the axis that grows, which are to
// be copied without their padding.
type face struct {
	first            int64 // the number of the first chunk
	encoded, logical int64 // elements of the chunks along the axis, with padding and without
}

// checkAbsent returns an error if most chunks of a large array are not stored: a small
// file can declare any number of chunks that it does not have.
func checkAbsent(g *grid.Grid, stored int64) error {
	if n, ok := g.NumChunks(); !ok || !fewAbsent(n, stored) {
		return fmt.Errorf("%w: it has %v chunks, of which %d count as stored", ErrLimit, g.Chunks(), stored)
	}
	return nil
}

// fewAbsent reports whether an array may have so many chunks of which so many are stored.
// A manifest takes some 20 bytes of memory for each.
func fewAbsent(chunks, stored int64) bool { return chunks <= mostAbsent+64*stored }

// mostAbsent is the number of chunks that an array of a file may have without storing
// any.
const mostAbsent = 1 << 20

// checkChunks returns an error if an array has too many chunks.
func (a *Array) checkChunks() error {
	if n, ok := a.Grid.NumChunks(); !ok || n > mostChunks {
		return fmt.Errorf("%w: %v chunks, and at most %d are possible; make several manifests, or files with longer chunks", ErrLimit, a.Grid.Chunks(), int64(mostChunks))
	}
	return nil
}

// stored returns the number of references in blocks.
func (a *Array) stored() int64 { return firstNumber(a.blocks) }

// plane returns the number of chunks with one index along the axis of an array.
func (a *Array) plane() int64 {
	n := int64(1)
	for i, c := range a.Grid.Chunks() {
		if i != a.Axis {
			n *= c
		}
	}
	return n
}

// moved returns a copy of the array in which a number is added to those of all sources.
func (a *Array) moved(base uint32) *Array {
	b := *a
	b.refs = references{}
	b.refs.concat(a.refs)
	for i, s := range b.refs.source {
		// Source 0 is a missing chunk.
		if s != 0 {
			b.refs.source[i] = s + base
		}
	}
	b.inline = maps.Clone(a.inline)
	return &b
}

// ordered returns the array with its references in the order in which an axis runs
// slowest.
func (a *Array) ordered(axis int) *Array {
	// Nothing to do for most arrays: time is mostly the first axis.
	if a.Axis == axis {
		return a
	}
	b := *a
	b.Axis = axis
	count := a.Grid.Chunks()
	b.refs, b.inline = makeReferences(a.refs.len()), nil
	index := make([]int64, len(count))
	for k := range a.refs.len() {
		indexOf(int64(k), count, a.Axis, index)
		b.refs.set(int(numberOf(index, count, axis)), a.refs.at(k))
	}
	for k, data := range a.inline {
		indexOf(k, count, a.Axis, index)
		b.setInline(numberOf(index, count, axis), data)
	}
	return &b
}

func namesOf(doc *metadata.Array) []string {
	names := make([]string, len(doc.DimensionNames))
	for i, n := range doc.DimensionNames {
		if n != nil {
			names[i] = *n
		}
	}
	return names
}

func sameName(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func axisText(a *Array, i int) string {
	if names := namesOf(a.Document); i < len(names) && names[i] != "" {
		return fmt.Sprintf("%d (%s)", i, names[i])
	}
	return fmt.Sprint(i)
}

// axisOf returns the axis with a name, or -1.
func axisOf(doc *metadata.Array, name string) int {
	return slices.IndexFunc(doc.DimensionNames, func(n *string) bool { return n != nil && *n == name })
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// sizeOf returns the bytes of the elements of an array, and false if they are more than a
// bound. A text counts as 64 bytes.
func sizeOf(a *Array, most int64) (int64, bool) {
	t, err := dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration)
	if err != nil {
		return 0, false
	}
	n := int64(t.Size())
	if t.Variable() {
		n = 64
	}
	for _, x := range a.Document.Shape {
		var ok bool
		if n, ok = checked.Mul(n, x); !ok || n > most {
			return 0, false
		}
	}
	return n, true
}

// inserted returns an array with a new axis of one element before an axis. Its chunks are
// the same bytes, and have the same order.
func inserted(a *Array, at int, name string) (*Array, error) {
	var shape, chunk []int64
	var cuts []grid.Cut
	// A grid that can be regular is written as one: few programs read others.
	regular := true
	for i := range a.Grid.Rank() {
		axis := a.Grid.Axis(i)
		shape = append(shape, axis.Extent())
		edge, ok := oneEdge(axis)
		regular = regular && ok
		cuts, chunk = append(cuts, cutOf(axis)), append(chunk, edge)
	}
	shape, chunk, cuts = slices.Insert(shape, at, 1), slices.Insert(chunk, at, 1), slices.Insert(cuts, at, grid.Every(1))
	g, err := grid.New(shape, cuts...)
	if regular {
		g, err = grid.New(shape, grid.Chunks(chunk...)...)
	}
	if err != nil {
		return nil, err
	}
	doc := *withGrid(a.Document, g)
	doc.DimensionNames = slices.Clone(a.Document.DimensionNames)
	for len(doc.DimensionNames) < a.Grid.Rank() {
		doc.DimensionNames = append(doc.DimensionNames, nil)
	}
	doc.DimensionNames = slices.Insert(doc.DimensionNames, at, &name)
	b := *a
	b.Document, b.Grid, b.Axis = &doc, g, 0
	if a.Axis != 0 {
		b.refs, b.inline = a.ordered(0).refs, a.ordered(0).inline
	}
	return &b, nil
}

// withAxis returns a grid with another axis. It is regular if it can be.
func withAxis(g *grid.Grid, along int, axis grid.Axis) (*grid.Grid, error) {
	shape, cuts, chunk := g.Shape(), make([]grid.Cut, g.Rank()), make([]int64, g.Rank())
	shape[along] = axis.Extent()
	regular := true
	for i := range cuts {
		a := g.Axis(i)
		if i == along {
			a = axis
		}
		if edge, ok := oneEdge(a); ok {
			cuts[i], chunk[i] = grid.Every(edge), edge
			continue
		}
		regular = false
		cuts[i] = cutOf(a)
	}
	if regular {
		return grid.New(shape, grid.Chunks(chunk...)...)
	}
	return grid.New(shape, cuts...)
}

// cutOf returns the edges of an axis.
func cutOf(a grid.Axis) grid.Cut {
	if a.IsRegular() {
		return grid.Every(a.Step())
	}
	cut := grid.Runs(slices.Collect(a.Edges())...)
	if a.IsEncoded() {
		return cut.EncodedAs(grid.Runs(slices.Collect(a.Encoded())...))
	}
	return cut
}

// oneEdge returns the edge that all chunks of an axis have, if a regular grid with it has
// the same chunks.
func oneEdge(a grid.Axis) (edge int64, ok bool) {
	// Chunks with padding between them hold fewer elements than a regular grid says.
	if a.IsEncoded() {
		return 0, false
	}
	if a.IsRegular() {
		return a.Step(), true
	}
	for run := range a.Edges() {
		if edge == 0 {
			edge = run.Length
		}
		if run.Length != edge {
			return 0, false
		}
	}
	return edge, edge > 0
}

// below reports whether an index is within a grid with so many chunks.
func below(index, count []int64) bool {
	for i, n := range count {
		if index[i] >= n {
			return false
		}
	}
	return true
}

// writable makes an array with the same grid and codecs, of which no chunk is stored yet,
// in a store. fill says that chunks with only the fill value will be stored.
func (a *Array) writable(ctx context.Context, s store.Store, fill bool) (*zarr.Array, error) {
	text, err := a.Document.WithKeyEncoding(metadata.DefaultSlash).Marshal(metadata.Limits{})
	if err != nil {
		return nil, err
	}
	key := store.MustKey(strings.TrimPrefix(a.Path+"/"+nodename.V3Node, "/"))
	if _, err := store.Write(ctx, s, store.Put(key, text), store.Flush); err != nil {
		return nil, err
	}
	return zarr.At(s, a.Path).OpenArray(ctx, &zarr.Options{Write: true, StoreFill: fill})
}

// chunkKey returns the key of a chunk of a [Array.writable].
func chunkKey(path string, index []int64) store.Key {
	return store.MustKey(strings.TrimPrefix(path+"/"+string(metadata.DefaultSlash.AppendKey(nil, index)), "/"))
}

// point is the place of an array along an axis that it lacks, as [scan.Point], in its
// stored form. The coordinate is beside the array.
type point struct {
	Axis       int             `json:"axis"`
	Name       string          `json:"name"`
	Document   *metadata.Array `json:"-"` // of the coordinate
	Text       string          `json:"document"`
	Value      []byte          `json:"value"` // in host byte order
	Attributes []string        `json:"attributes"`
}

func (p *point) check(rank int) error {
	node, err := metadata.Parse([]byte(p.Text), metadata.Limits{})
	if err != nil {
		return err
	}
	doc, ok := node.(*metadata.Array)
	// The point may come from a manifest of a stranger.
	if !ok || p.Axis < 0 || p.Axis > rank || !slices.Equal(doc.Shape, []int64{1}) || !slices.Equal(namesOf(doc), []string{p.Name}) {
		return scan.Corruptf("no coordinate %q of an axis %d", p.Name, p.Axis)
	}
	t, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
	if err != nil || t.Variable() || t.Size() != len(p.Value) {
		return scan.Corruptf("%s for a value of the coordinate %q", quantity.Count(len(p.Value), "bytes"), p.Name)
	}
	p.Document = doc
	return nil
}

// checkPoints returns an error unless points that were stored are those of an array. It
// parses their documents.
func (a *Array) checkPoints() error {
	for i := range a.points {
		if err := a.points[i].check(a.Grid.Rank()); err != nil {
			return err
		}
	}
	return nil
}
