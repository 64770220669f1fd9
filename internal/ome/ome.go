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
	known map[store.Path][]level
}

// level is one level of an image: the path of an array below its group, and the names of
// the axes, if they are described.
type level struct {
	path string
	axes []string
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
	l, err := i.level(ctx, p)
	return l != nil, err
}

// Axes returns the names of the axes of the array at p, if it is a level of an image that
// a group above it describes, else nil.
func (i *Images) Axes(ctx context.Context, p store.Path) ([]string, error) {
	l, err := i.level(ctx, p)
	if l == nil {
		return nil, err
	}
	return l.axes, nil
}

// level returns the level that is the array at p, or nil.
func (i *Images) level(ctx context.Context, p store.Path) (*level, error) {
	for at := p; !at.IsRoot(); {
		at = at.Parent()
		levels, err := i.levels(ctx, at)
		if err != nil {
			return nil, err
		}
		for k := range levels {
			if levels[k].path == tree.Inside(at, p) {
				return &levels[k], nil
			}
		}
	}
	return nil, nil
}

// levels returns the levels of the images that the group at p describes.
func (i *Images) levels(ctx context.Context, p store.Path) ([]level, error) {
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
	var levels []level
	if g, ok := s.Doc.(*metadata.Group); ok && g != nil {
		levels = levelsIn(g.Attributes)
	}
	if i.known == nil {
		i.known = map[store.Path][]level{}
	}
	i.known[p] = levels
	return levels, nil
}

// image is one entry of multiscales.
type image struct {
	Datasets []struct{ Path string }
	Metadata json.RawMessage
	Axes     json.RawMessage
}

// axes returns the names of the axes: before version 0.4 they were texts.
func (i *image) axes() (names []string) {
	var axes []struct{ Name string }
	if json.Unmarshal(i.Axes, &axes) != nil {
		return nil
	}
	for _, a := range axes {
		names = append(names, a.Name)
	}
	return names
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
func levelsIn(attributes []byte) (levels []level) {
	for i := range imagesIn(attributes) {
		if i.isPyramid() {
			continue
		}
		axes := i.axes()
		for _, d := range i.Datasets {
			levels = append(levels, level{cleaned(d.Path), axes})
		}
	}
	return levels
}
