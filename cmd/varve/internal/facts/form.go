// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
	"varve.dev/zarr/strictjson"
)

// form says how far a stored document deviates from the specification. A program that
// accepts a form also accepts all smaller ones.
type form int

const (
	specified   form = iota // as specified
	bareNumbers             // NaN and Infinity without quotes, as Python's json module writes and reads them
	lenient                 // other deviations that zarr-python accepts
	odd                     // deviations that zarr-python refuses
	reals                   // also refused: integers written as 2.0, which Varve keeps in codecs and grids
	draft                   // grids of other drafts; programs differ in which draft they read
)

// lenientNotes are parts of notes about deviations that zarr-python 3.4 accepts, as
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
	var others []string // notes that are not about the document
	if s, ok := store.Driver(a.Location().Store()).(*zipstore.Store); ok {
		others = s.Notes()
	}
	for _, note := range a.Notes() {
		if !slices.Contains(others, note) && !strings.HasPrefix(note, "the name ") {
			f = max(f, formOfNote(note, a.Type().Variable()))
		}
	}
	if f < reals && hasRealLengths(ctx, a) {
		f = reals
	}
	return f
}

// formOfNote returns the form that a note describes.
func formOfNote(note string, variable bool) form {
	switch {
	case strings.Contains(note, " bare NaN or Infinity"):
		return bareNumbers
	case variable && strings.HasPrefix(note, "the fill value 0 of elements that are not numbers"):
		return lenient
	case slices.ContainsFunc(lenientNotes, func(part string) bool { return strings.Contains(note, part) }):
		return lenient
	}
	return odd
}

// hasRealLengths reports whether lengths or codec settings are written as 2.0 instead
// of 2. To JSON both are the same number, but zarr-python refuses the first.
func hasRealLengths(ctx context.Context, a *zarr.Array) bool {
	p, err := store.ParsePath(a.Path())
	if err != nil {
		return false
	}
	raw, _, err := a.Location().Store().Get(ctx, p.MustKey(a.Metadata().Document()), store.Request{Limit: consolidated.LargestCopy}, nil)
	if err != nil {
		return false // skip larger documents
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
