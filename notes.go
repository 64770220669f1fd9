package zarr

import (
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// Forms of documents that programs wrote before, or beside, the specified ones stand in
// three tables: of chunk grids in package grid, of codecs in package codec, and of all
// else in package metadata. They are read with a note each. A document that is written
// again is written as it is specified.

// Notes says in what respects the array was not read as it is stored, because another
// program wrote it so, and what is unusual about its name: one sentence each.
func (a *Array) Notes() []string {
	s := a.state.Load()
	notes := slices.Concat(s.Grid.Notes(), s.Doc.Notes(), tree.NameNotes(a.Format(), a.path))
	for _, r := range s.Engine.Chain.Repairs() {
		notes = append(notes, r.Note)
	}
	return append(notes, a.storeNotes()...)
}

// Notes says in what respects the group was not read as it is stored, because another
// program wrote it so, and what is unusual about its name: one sentence each.
func (g *Group) Notes() []string {
	return slices.Concat(g.doc.Notes(), g.storeNotes(), tree.NameNotes(g.Format(), g.path))
}

// specifiedCodecs returns codecs as they are specified, and as they stand where they
// cannot be bound: whoever makes an array of them is told. strict is why no array may be
// created with them, though they are read. Another spelling of what is specified is no
// reason.
func specifiedCodecs(env *codec.Environment, codecs []metadata.Extension, t dtype.Type, fill []byte, rank int) (specified []metadata.Extension, strict error) {
	elem, err := t.ParseFill(fill)
	if err != nil {
		return codecs, nil
	}
	chain, err := env.NewChain(codecs, codec.Spec{Type: t, Fill: elem, Rank: rank})
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

// storeNotes says in what respects the store of a node was read in one of several ways,
// as an archive with two members of one name.
func (n *node) storeNotes() []string {
	if s, ok := store.Driver(n.hierarchy.store).(*zipstore.Store); ok {
		return s.Notes()
	}
	return nil
}
