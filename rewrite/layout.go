// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
)

// layout tells which keys below an array are chunks, and what they mean. The codecs and
// the data type need not be known.
type layout struct {
	doc    *metadata.Array
	grid   *grid.Grid // nil if the document does not tell the keys
	keys   metadata.KeyEncoding
	chunks grid.Box
}

// layoutOf returns the layout of the array with a document.
func layoutOf(name string, raw, attributes []byte) (l layout) {
	var n metadata.Node
	if name == metadata.V3Node {
		n, _ = metadata.Parse(raw, metadata.Limits{})
	} else {
		n, _ = metadata.ParseV2(name, raw, attributes, metadata.Limits{})
	}
	doc, ok := n.(*metadata.Array)
	// A storage transformer may change the keys.
	if !ok || doc == nil || len(doc.StorageTransformers) > 0 {
		return l
	}
	g, err := grid.ParseOptions{EncodedShapes: true}.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration)
	if err != nil {
		return l
	}
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return l
	}
	return layout{doc, g, keys, grid.BoxOf(g.Chunks())}
}

// layouts has the layouts of arrays by their directories. There are two of an array that
// has documents of both formats.
type layouts map[string][]layout

// add adds the layout of an array with a document. In format 2, attributes do not change
// the keys of chunks.
func (l *layouts) add(rel string, raw []byte) {
	dir, name := split(rel)
	one := layoutOf(name, raw, nil)
	one.doc = nil // there may be many, with long attributes
	if *l == nil {
		*l = layouts{}
	}
	(*l)[dir] = append((*l)[dir], one)
}

// superseded reports whether a key is that of a chunk of a grid that an array above it
// does not have, such as one that a rechunk has replaced. Where arrays lie in arrays,
// it is not if any of them has the chunk. Files of other programs are none.
func (l layouts) superseded(rel string) bool {
	found := false
	for dir := range directories(rel) {
		for _, one := range l[dir] {
			rest := rel[len(dir):]
			if one.has(rest) {
				return false
			}
			found = found || one.hasShape(rest)
		}
	}
	return found
}

// directories yields the directories above a key, each with a slash at its end. That of
// the root is "".
func directories(rel string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for end := 0; ; {
			if !yield(rel[:end]) {
				return
			}
			i := strings.IndexByte(rel[end:], '/')
			if i < 0 {
				return
			}
			end += i + 1
		}
	}
}

// known reports whether the keys of the chunks are known.
func (l *layout) known() bool { return l.grid != nil }

// has reports whether a key below the array is that of a chunk, or of one that a trim has
// set aside. Of unknown keys, all may be.
func (l *layout) has(rest string) bool {
	key := rest
	if what, isOwn := kept(rest); isOwn {
		aside, ok := strings.CutPrefix(what, "aside/")
		if !ok {
			return false
		}
		_, key, _ = strings.Cut(aside, "/")
	}
	if !l.known() {
		return true
	}
	index, ok := l.keys.ParseKey(key, l.grid.Rank(), make([]int64, 0, 8))
	return ok && l.chunks.Contains(index)
}

// hasShape reports whether a key below the array is that of a chunk of some grid.
func (l *layout) hasShape(rest string) bool {
	if _, isOwn := kept(rest); isOwn {
		return strings.HasPrefix(rest, own.Dir+"/aside/")
	}
	for k := metadata.DefaultSlash; l.known() && k <= metadata.V2Slash; k++ {
		if _, ok := k.ParseKey(rest, l.grid.Rank(), make([]int64, 0, 8)); ok {
			return true
		}
	}
	return false
}

// continues reports whether both layouts give every index the same key and, if both have
// the chunk, the same elements.
func (l *layout) continues(o *layout) bool {
	return l.known() && o.known() && l.keys == o.keys && l.agrees(o)
}

// within reports whether all chunks of l are chunks of o, with the same elements.
func (l *layout) within(o *layout) bool {
	if !l.continues(o) {
		return false
	}
	for i, n := range l.grid.Shape() {
		if n > o.grid.Shape()[i] {
			return false
		}
	}
	return true
}

// agrees reports whether no key has a chunk in both layouts with different meanings.
func (l *layout) agrees(o *layout) bool {
	if !l.known() || !o.known() || l.grid.Rank() != o.grid.Rank() {
		return false
	}
	first := make([]int64, l.grid.Rank())
	if !bytes.Equal(l.keys.AppendKey(nil, first), o.keys.AppendKey(nil, first)) {
		return true // no key is a chunk of both
	}
	if !likeness.SameElements(l.doc, o.doc) {
		return false
	}
	common := slices.Clone(l.chunks)
	for i := range common {
		common[i].Stop = min(common[i].Stop, o.chunks[i].Stop)
	}
	return l.grid.SameCells(o.grid, common)
}
