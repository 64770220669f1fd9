package zarr

import (
	"fmt"
	"slices"

	"varve.dev/zarr/metadata"
)

// olderCodecs are codecs under names that documents had before the format was settled. They are read with a note, and
// written under the names that they have now. Package grid has the same for chunk grids.
var olderCodecs = []struct{ name, now, source string }{
	{"endian", "bytes", "drafts of zarr-specs v3; zarr-python 3 and zarrs read it"},
}

// Notes says in what respects the array was not read as it is stored, because an older program wrote it so: one sentence each.
func (a *Array) Notes() []string {
	s := a.state.Load()
	notes := append(s.grid.Notes(), s.doc.Notes()...)
	for _, o := range olderCodecs {
		if slices.ContainsFunc(s.doc.Codecs, func(e metadata.Extension) bool { return e.Name == o.name }) {
			notes = append(notes, fmt.Sprintf("the codec %q of older documents was read as %q", o.name, o.now))
		}
	}
	return notes
}

// presentCodecs returns the codecs under the names that they have now, and whether one had another.
func presentCodecs(codecs []metadata.Extension) (present []metadata.Extension, renamed bool) {
	present = slices.Clone(codecs)
	for i, e := range codecs {
		for _, o := range olderCodecs {
			if e.Name == o.name {
				present[i], renamed = metadata.Extension{Name: o.now, Configuration: e.Configuration, Optional: e.Optional}, true
			}
		}
	}
	return present, renamed
}

// Notes says in what respects the group was not read as it is stored, because an older program wrote it so: one sentence each.
func (g *Group) Notes() []string { return g.doc.Notes() }
