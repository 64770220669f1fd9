package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// largestCopy is how large the document of a group may be that info looks into for its copy of an array's metadata.
const largestCopy = 1 << 20

// olderCopies returns a note for every group above the array at a location whose consolidated metadata says something else of the
// array, or nothing. The path is that of the array in its store. Groups that cannot be read, or that are large, are passed by.
func olderCopies(ctx context.Context, location, path string, doc *metadata.Array) []string {
	root, ok := strings.CutSuffix(sameNode(location), "/"+path)
	if !ok || path == "" {
		return nil
	}
	s, err := openNodeStore(ctx, root)
	if err != nil {
		return nil
	}
	defer s.Close()
	is, err := doc.Record(metadata.Limits{})
	if err != nil {
		return nil
	}
	var notes []string
	for above := path; above != ""; {
		above = above[:max(0, strings.LastIndexByte(above, '/'))]
		p, err := store.ParsePath(above)
		if err != nil {
			return notes
		}
		if c := copiesIn(ctx, s, p); c != nil && !c.agrees(strings.TrimPrefix(path[len(above):], "/"), is) {
			group := strings.TrimSuffix(root+"/"+above, "/")
			notes = append(notes, fmt.Sprintf("the consolidated metadata of %s is older than this array: varve consolidate makes it new", group))
		}
	}
	return notes
}

// copies is the consolidated metadata of a group.
type copies struct{ *metadata.Consolidated }

// copiesIn returns the consolidated metadata of the group at a path, nil where there is none.
func copiesIn(ctx context.Context, s store.Store, p store.Path) *copies {
	n, err := zarr.On(s).Metadata(ctx, p.String(), &zarr.Options{Limits: zarr.Limits{Document: largestCopy}})
	g, ok := n.(*metadata.Group)
	if err != nil || !ok || g.Consolidated == nil {
		return nil
	}
	return &copies{g.Consolidated}
}

// agrees reports whether the copy of the document at a path says what a document says.
func (c *copies) agrees(path string, document []byte) bool {
	was, err := canonical(c.Consolidated, path)
	return err == nil && bytes.Equal(was, document)
}
