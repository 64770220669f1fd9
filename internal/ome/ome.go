// SPDX-License-Identifier: Apache-2.0

// Package ome reads which arrays are levels of images, in the metadata of OME-Zarr that
// groups have (the attribute multiscales).
package ome

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Pyramid is the method of the levels in a description that package pyramid has made. It
// describes an array that was none of an image before.
const Pyramid = "varve.dev/zarr/pyramid"

// Images finds the images of a store, and remembers the groups that it has read.
type Images struct {
	tree.Reader
	known map[store.Path][]string
}

// MasksFill reports whether the fill value of the array at p marks missing elements:
// where xarray reads it so, but never in an image of OME-Zarr, where 0 is black. Groups
// without documents, or with damaged ones, describe no image.
func (i *Images) MasksFill(ctx context.Context, p store.Path, doc *metadata.Array) (bool, error) {
	if !attributes.MasksFill(doc) {
		return false, nil
	}
	level, err := i.IsLevel(ctx, p)
	return !level && err == nil, err
}

// IsLevel reports whether the array at p is a level of an image, which a group above it
// describes.
func (i *Images) IsLevel(ctx context.Context, p store.Path) (bool, error) {
	for at := p; !at.IsRoot(); {
		at = at.Parent()
		levels, err := i.levels(ctx, at)
		if err != nil || slices.Contains(levels, tree.Inside(at, p)) {
			return err == nil, err
		}
	}
	return false, nil
}

// levels returns the levels of the images that the group at p describes.
func (i *Images) levels(ctx context.Context, p store.Path) ([]string, error) {
	if levels, ok := i.known[p]; ok {
		return levels, nil
	}
	s, err := i.Load(ctx, p)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, metadata.ErrInvalid), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		err = nil
	case err != nil && !errors.Is(err, metadata.ErrUnsupported):
		return nil, err
	}
	var levels []string
	if g, ok := s.Doc.(*metadata.Group); ok && g != nil {
		levels = levelsIn(g.Attributes)
	}
	if i.known == nil {
		i.known = map[store.Path][]string{}
	}
	i.known[p] = levels
	return levels, nil
}

// image is one entry of multiscales.
type image struct {
	Datasets []struct{ Path string }
	Metadata json.RawMessage
}

// isPyramid reports whether package pyramid has made the entry.
func (i *image) isPyramid() bool {
	var m struct{ Method string }
	return json.Unmarshal(i.Metadata, &m) == nil && m.Method == Pyramid
}

// Overviews returns the smaller versions of an array, by the attributes of a group above
// it: of an image whose first level it is, or by package pyramid. Paths are those in the
// group.
func Overviews(attributes []byte, array string) (levels []string) {
	for i := range imagesIn(attributes) {
		if len(i.Datasets) == 0 || cleaned(i.Datasets[0].Path) != array {
			continue
		}
		for _, d := range i.Datasets[1:] {
			levels = append(levels, cleaned(d.Path))
		}
		return levels
	}
	return nil
}

// imagesIn returns the images in the attributes of a group: of version 0.5 in the
// attribute ome, of earlier ones beside the other attributes.
func imagesIn(attributes []byte) iter.Seq[*image] {
	return func(yield func(*image) bool) {
		var a struct {
			Multiscales json.RawMessage
			OME         struct{ Multiscales json.RawMessage }
		}
		if json.Unmarshal(attributes, &a) != nil {
			return
		}
		for _, raw := range []json.RawMessage{a.Multiscales, a.OME.Multiscales} {
			var images []image
			if json.Unmarshal(raw, &images) != nil {
				continue // of another convention
			}
			for k := range images {
				if !yield(&images[k]) {
					return
				}
			}
		}
	}
}

// cleaned returns the path of a level as paths of stores are.
func cleaned(at string) string { return strings.TrimPrefix(path.Clean("/"+at), "/") }

// levelsIn returns the levels of all images in the attributes of a group.
func levelsIn(attributes []byte) (levels []string) {
	for i := range imagesIn(attributes) {
		if i.isPyramid() {
			continue
		}
		for _, d := range i.Datasets {
			levels = append(levels, cleaned(d.Path))
		}
	}
	return levels
}
