// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// form tells how far the stored document of an array deviates from the specification. A
// program that accepts one form accepts those before it.
type form int

const (
	specified   form = iota // as specified
	bareNumbers             // NaN and Infinity without quotes, as in Python's json module
	lenient                 // other deviations that zarr-python reads
	odd                     // deviations that zarr-python refuses
	reals                   // refused, too: integers written as 2.0 in codecs and grids, which Varve keeps
	draft                   // grids of other drafts, which programs read differently
)

// lenientNotes are parts of the notes about forms that zarr-python 3.4 reads. Each was
// tried.
var lenientNotes = []string{
	"attributes are null", "dimension_names are null", "storage_transformers are null", "the fill value of the bool elements is a number",
	"the checksum of zstd is a word",
}

// formOf returns the form of the stored document of an array.
func formOf(ctx context.Context, a *zarr.Array) form {
	f := specified
	if len(a.Grid().Notes()) > 0 {
		f = draft
	}
	var others []string // notes about the archive, not about the document
	if s, ok := store.Driver(a.Location().Store()).(*zipstore.Store); ok {
		others = s.Notes()
	}
	for _, note := range a.Notes() {
		if !slices.Contains(others, note) && !strings.HasPrefix(note, "the name ") {
			f = max(f, formOfNote(note, a.Type().Variable()))
		}
	}
	// Read the stored text: the parsed document does not tell 2.0 from 2.
	if f < reals && hasRealLengths(ctx, a) {
		f = reals
	}
	return f
}

// formOfNote returns the form to which a note belongs.
func formOfNote(note string, variable bool) form {
	switch {
	case strings.Contains(note, " bare NaN or Infinity"):
		return bareNumbers
	case variable && strings.HasPrefix(note, "the fill value 0 of elements that are not numbers"):
		return lenient
	case slices.ContainsFunc(lenientNotes, func(part string) bool { return strings.Contains(note, part) }):
		return lenient
	case strings.HasPrefix(note, "the chunk length 0 "): // of format 2; that of format 3 is a note of the grid
		return draft
	}
	return odd
}

// hasRealLengths reports whether the document has a length or a setting of a codec that
// is written with a point or an exponent, such as 2.0. zarr-python refuses such
// documents.
func hasRealLengths(ctx context.Context, a *zarr.Array) bool {
	p, err := store.ParsePath(a.Path())
	if err != nil {
		return false
	}
	raw, _, err := a.Location().Store().Get(ctx, p.MustKey(a.Metadata().Document()), store.Request{Limit: consolidated.LargestCopy}, nil)
	if err != nil {
		return false // only documents up to LargestCopy are checked
	}
	doc, err := strictjson.Parse(raw, strictjson.Limits{})
	if err != nil || doc.Kind() != strictjson.Object {
		return false
	}
	for name, v := range doc.Members() {
		switch name {
		case "shape", "chunks", "chunk_grid":
			if hasReal(v) {
				return true
			}
		case "codecs":
			for _, c := range v.Elements() {
				if e, err := metadata.ParseExtension(c.Raw(), metadata.Limits{}); err == nil && knows(plainCodecs, e.Name, 3) && hasReal(c) {
					return true
				}
			}
		}
	}
	return false
}

// hasReal reports whether a value has a number with a point or an exponent.
func hasReal(v strictjson.Value) bool {
	switch v.Kind() {
	case strictjson.Number:
		return strings.ContainsAny(string(v.Raw()), ".eE")
	case strictjson.Array:
		for _, e := range v.Elements() {
			if hasReal(e) {
				return true
			}
		}
	case strictjson.Object:
		for _, m := range v.Members() {
			if hasReal(m) {
				return true
			}
		}
	}
	return false
}
