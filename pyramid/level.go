// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
)

// LevelOf returns the path, in its store, of the array whose pyramid [Make] has made a
// for, and the number of the level, from 1 on. It is 0 if a is no level, or if the array
// is gone. Do not change the elements, the shape or the chunks of a level: the next Make
// does not notice what has changed. LevelOf makes no request for an array without the
// attribute varve:pyramid.
func LevelOf(ctx context.Context, a *zarr.Array) (base string, level int, err error) {
	raw, found, err := metadata.Attribute(a.Attributes(), own.Pyramid)
	if !found || err != nil {
		return "", 0, err
	}
	var note struct {
		Of    string `json:"of"`
		Level int    `json:"level"`
	}
	if json.Unmarshal(raw, &note) != nil || note.Of == "" || note.Level < 1 || note.Level > MaxLevels {
		return "", 0, nil // another program has written it
	}
	for _, l := range []layout{{name: note.Of}, {name: note.Of, image: true}, {name: note.Of, image: true, beside: true}} {
		group, isThere := strings.CutSuffix("/"+a.Path(), "/"+l.path(note.Level))
		if !isThere {
			continue
		}
		base = strings.Trim(group+"/"+note.Of, "/")
		n, err := a.Location().Root().At(base).Metadata(ctx, nil)
		// A document that cannot be read is there all the same.
		if _, isArray := n.(*metadata.Array); isArray || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return base, note.Level, ctx.Err()
		}
	}
	return "", 0, nil
}
