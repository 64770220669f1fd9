// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"bytes"
	"slices"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
)

// Layout tells which keys below an array are chunks, and what they mean. The codecs and
// the data type need not be known.
type Layout struct {
	Grid   *grid.Grid // nil if the document does not tell the keys
	Keys   metadata.KeyEncoding
	Chunks grid.Box

	doc *metadata.Array
}

// LayoutOf returns the layout of the array with a document.
func LayoutOf(name string, raw, attributes []byte) (l Layout) {
	var n metadata.Node
	if name == nodename.V3Node {
		n, _ = metadata.Parse(raw, metadata.Limits{})
	} else {
		n, _ = metadata.ParseV2(name, raw, attributes, metadata.Limits{})
	}
	doc, ok := n.(*metadata.Array)
	// A storage transformer may change the keys.
	if !ok || doc == nil || len(doc.StorageTransformers) > 0 {
		return l
	}
	g, err := grid.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration, &grid.ParseOptions{EncodedShapes: true})
	if err != nil {
		return l
	}
	keys, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return l
	}
	return Layout{g, keys, grid.BoxOf(g.Chunks()), doc}
}

// Known reports whether the keys of the chunks are known.
func (l *Layout) Known() bool { return l.Grid != nil }

// Contains reports whether a key below the array is that of a chunk, or of one that a
// trim has set aside. Of unknown keys, all may be.
func (l *Layout) Contains(rest string) bool {
	key := rest
	if what, isOwn := Record(rest); isOwn {
		aside, ok := strings.CutPrefix(what, "aside/")
		if !ok {
			return false
		}
		_, key, _ = strings.Cut(aside, "/")
	}
	if !l.Known() {
		return true
	}
	index, ok := l.Keys.ParseKey(key, l.Grid.Rank(), make([]int64, 0, 8))
	return ok && l.Chunks.Contains(index)
}

// HasShape reports whether a key below the array is that of a chunk of some grid.
func (l *Layout) HasShape(rest string) bool {
	if _, isOwn := Record(rest); isOwn {
		return strings.HasPrefix(rest, own.Dir+"/aside/")
	}
	return l.Known() && IsChunkKey(rest, l.Grid.Rank())
}

// IsChunkKey reports whether a key below an array of some rank is that of a chunk, in any
// key encoding.
func IsChunkKey(key string, rank int) bool {
	for k := metadata.DefaultSlash; k <= metadata.V2Slash; k++ {
		if _, ok := k.ParseKey(key, rank, make([]int64, 0, 8)); ok {
			return true
		}
	}
	return false
}

// Within reports whether all chunks of l are chunks of o, with the same elements.
func (l *Layout) Within(o *Layout) bool {
	if !l.Continues(o) {
		return false
	}
	for i, n := range l.Grid.Shape() {
		if n > o.Grid.Shape()[i] {
			return false
		}
	}
	return true
}

// Continues reports whether both layouts give every index the same key and, if both have
// the chunk, the same elements.
func (l *Layout) Continues(o *Layout) bool {
	return l.Known() && o.Known() && l.Keys == o.Keys && l.Agrees(o)
}

// WithoutDocument returns the layout without the document. It does not compare to others
// then; there may be many, with long attributes.
func (l Layout) WithoutDocument() Layout {
	l.doc = nil
	return l
}

// Agrees reports whether no key has a chunk in both layouts with different meanings.
func (l *Layout) Agrees(o *Layout) bool {
	if !l.Known() || !o.Known() || l.Grid.Rank() != o.Grid.Rank() {
		return false
	}
	first := make([]int64, l.Grid.Rank())
	if !bytes.Equal(l.Keys.AppendKey(nil, first), o.Keys.AppendKey(nil, first)) {
		return true // no key is a chunk of both
	}
	if !likeness.SameElements(l.doc, o.doc) {
		return false
	}
	common := slices.Clone(l.Chunks)
	for i := range common {
		common[i].Stop = min(common[i].Stop, o.Chunks[i].Stop)
	}
	return l.Grid.SameCells(o.Grid, common)
}
