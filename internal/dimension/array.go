// SPDX-License-Identifier: Apache-2.0

// Package dimension compares the lengths of arrays along the dimensions that they share.
//
// Arrays of a group that name one dimension should have one length along it; xarray does
// not open a group otherwise. A group may inherit the coordinate of a dimension from a
// group above.
package dimension

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Array has the lengths of an array and the names of its dimensions.
type Array struct {
	Path  store.Path
	Names []string // "" for an axis without a name; nil if there are none
	Shape []int64  // elements
}

// arrayOf returns the lengths in a document.
func arrayOf(p store.Path, doc *metadata.Array) Array {
	return Array{p, snapshot.NamesOf(doc), doc.Shape}
}

// nameIn returns the last segment of the path, or the path from the root if the array is
// in another group.
func (a Array) nameIn(group store.Path) string {
	if a.Path.Parent() != group {
		return "/" + a.Path.String()
	}
	return a.Path.String()[strings.LastIndexByte(a.Path.String(), '/')+1:]
}

// along returns the length along a dimension that the array has.
func (a Array) along(name string) int64 { return a.Shape[slices.Index(a.Names, name)] }

// hasAny reports whether the array has one of the dimensions.
func (a Array) hasAny(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(a.Names, n) })
}

// namesOf returns the names of the dimensions of arrays, each once.
func namesOf(arrays []Array) (names []string) {
	for _, a := range arrays {
		names = append(names, a.Names...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// isPyramid reports whether a group holds levels of resolution. Their dimensions have the
// same names and different lengths.
func isPyramid(attributes []byte) bool {
	var a struct {
		Multiscales json.RawMessage `json:"multiscales"`
		OME         struct {
			Multiscales json.RawMessage `json:"multiscales"`
		} `json:"ome"`
		Levels json.RawMessage `json:"varve:pyramid"` // own.Pyramid
	}
	if json.Unmarshal(attributes, &a) != nil {
		return false
	}
	if a.Levels != nil {
		return true
	}
	list := cmp.Or(string(a.Multiscales), string(a.OME.Multiscales))
	return list != "" && !levelsElsewhere(list)
}

// levelsElsewhere reports whether all levels but the first of every image lie in other
// groups, as those that package pyramid makes.
func levelsElsewhere(list string) bool {
	var images []struct {
		Datasets []struct{ Path string }
	}
	if json.Unmarshal([]byte(list), &images) != nil || len(images) == 0 {
		return false
	}
	for _, image := range images {
		if len(image.Datasets) == 0 {
			return false
		}
		for _, d := range image.Datasets[1:] {
			if !strings.Contains(d.Path, "/") {
				return false
			}
		}
	}
	return true
}

// tries bounds how often differing lengths are read again while another writer appends.
const tries = 20

// pause waits a moment for another writer's change of several arrays to end.
func pause(ctx context.Context) error {
	select {
	case <-time.After(publish.LongestPause / 2):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mostNamed bounds the arrays that an error names.
const mostNamed = 3

// someOf joins the first texts and counts the rest.
func someOf(texts []string, between string) string {
	if more := len(texts) - mostNamed; more > 0 {
		return strings.Join(texts[:mostNamed], between) + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(texts, between)
}
