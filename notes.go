// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// Some programs write, or once wrote, documents that deviate from the specification.
// Three tables list the known deviations: for chunk grids in package grid, for codecs in
// package codec, and for everything else in package metadata. Each is read with a note.
// When Varve writes the document again, it follows the specification.

// Notes returns one sentence for each deviation from the specification that was repaired
// when the array was read, and for an unusual name.
func (a *Array) Notes() []string {
	s := a.state.Load()
	notes := slices.Concat(s.Grid.Notes(), s.Doc.Notes(), tree.NameNotes(a.Format(), a.path))
	for _, r := range s.Engine.Chain.Repairs() {
		notes = append(notes, r.Note)
	}
	return append(notes, a.storeNotes()...)
}

// Misread returns those of [Array.Notes] on deviations for which other programs return
// wrong values. [Array.Respell] ends them.
func (a *Array) Misread() []string {
	s := a.state.Load()
	notes := s.Doc.Misread()
	for _, r := range s.Engine.Chain.Repairs() {
		if r.Misread {
			notes = append(notes, r.Note)
		}
	}
	return notes
}

// Respell publishes the document of the array again, in the specified form. Elements and
// attributes do not change.
func (a *Array) Respell(ctx context.Context) error {
	err := a.update(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		doc := old.Document()
		doc = doc.Resized(doc.Shape, doc.ChunkGrid) // which no longer has the repairs
		next, err := a.binding().Bind(doc, old.Grid, store.Version{})
		if err != nil {
			return nil, nil, err
		}
		document, err := doc.Marshal(a.options.Limits.metadata())
		return &publish.Change{Document: document}, next, err
	})
	return a.fail("respell", err)
}

// Notes returns one sentence for each deviation from the specification that was repaired
// when the group was read, and for an unusual name.
func (g *Group) Notes() []string {
	return slices.Concat(g.doc.Notes(), g.storeNotes(), tree.NameNotes(g.Format(), g.path))
}

// specifiedCodecs returns codecs in their specified form. Codecs that cannot be bound are
// returned as they are; creating the array reports them. strict is not nil if arrays with
// these codecs can be read but must not be created.
func specifiedCodecs(env *codec.Environment, codecs []metadata.Extension, t dtype.Type, fill []byte, rank int) (specified []metadata.Extension, strict error) {
	elem, err := t.ParseFill(fill)
	if err != nil {
		return codecs, nil
	}
	chain, err := coding.NewChain(env, codecs, codec.Spec{Type: t, Fill: elem, Rank: rank})
	if err != nil {
		return codecs, nil
	}
	for _, r := range chain.Repairs() {
		if r.Strict != nil {
			strict = fault.At("/codecs", r.Strict)
			break
		}
	}
	return chain.Specified(codecs), strict
}

// storeNotes returns notes on the store of a node, such as an archive that has two
// members with the same name.
func (n *node) storeNotes() []string {
	if s, ok := store.Driver(n.hierarchy.store).(*zipstore.Store); ok {
		return s.Notes()
	}
	return nil
}
