// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// Assemble writes the value that parts of a store make.
func (w *writing) Assemble(ctx context.Context, from store.Store, parts []store.Part) (store.Version, error) {
	size, err := store.Assemble(w.key, parts).Size(0)
	if err != nil {
		return store.Version{}, w.Fail("assemble", err)
	}
	r, err := driver.NewPartReader(ctx, from, parts)
	if err != nil {
		return store.Version{}, w.Fail("assemble", err)
	}
	switch {
	case size > mostAtOnce && from == store.Store(w.s) && composable(r):
		return w.repeat(ctx, w.compose(r.Parts()))
	case size > mostAtOnce:
		return w.stream(ctx, r, size)
	}
	value, err := r.AppendPiece(ctx, nil, size)
	if err != nil {
		return store.Version{}, w.Fail("assemble", err)
	}
	return w.Put(ctx, value)
}

// stream uploads the parts, and reads the next piece meanwhile.
func (w *writing) stream(ctx context.Context, r *driver.PartReader, size int64) (store.Version, error) {
	u := &upload{w: w, size: size}
	made, err := u.sessions(ctx, func() (string, error) {
		r.Rewind()
		return u.pieces(ctx, r)
	})
	return w.settle(ctx, made, err, u.doubt)
}

// pieces uploads parts piece by piece.
func (u *upload) pieces(ctx context.Context, r *driver.PartReader) (made string, err error) {
	if err = u.start(ctx); err != nil {
		return "", err
	}
	spare := make([]byte, 0, piece)
	present, err := r.AppendPiece(ctx, make([]byte, 0, piece), piece)
	for err == nil && made == "" {
		var following []byte
		var failed error
		var reading sync.WaitGroup
		reading.Go(func() { following, failed = r.AppendPiece(ctx, spare, piece) })
		made, err = u.send(ctx, present)
		reading.Wait()
		if err == nil && made == "" {
			err = failed
		}
		present, spare = following, present[:0]
	}
	return made, err
}

// mostComposed is the largest number of objects that the service joins in one request.
const mostComposed = 32

// composable reports whether the parts are whole objects that the service can join.
func composable(r *driver.PartReader) bool {
	return len(r.Parts()) <= mostComposed && !slices.ContainsFunc(r.Parts(), func(p store.Part) bool { return !r.IsWhole(p) })
}

// compose returns the call that joins whole objects.
func (w *writing) compose(parts []store.Part) call {
	type match struct {
		Generation string `json:"ifGenerationMatch"`
	}
	type component struct {
		Name       string `json:"name"`
		Generation string `json:"generation"`
		Condition  match  `json:"objectPreconditions"`
	}
	var joined struct {
		Kind        string      `json:"kind"`
		Components  []component `json:"sourceObjects"`
		Destination resource    `json:"destination"`
	}
	joined.Kind, joined.Destination = "storage#composeRequest", w.resource("")
	joined.Destination.Name = ""
	for _, p := range parts {
		g, _ := generation(p.Version) // the parts are pinned
		joined.Components = append(joined.Components, component{w.s.object(p.Key), g, match{g}})
	}
	return call{
		method: http.MethodPost, path: w.s.objectPath(w.s.object(w.key)) + "/compose",
		query:  w.query(url.Values{"fields": {described}}),
		header: http.Header{"Content-Type": {"application/json"}},
		body:   [][]byte{encode(joined)},
	}
}

// descriptions remembers what the service has said of some objects, by their names. A
// copy keeps the key of its source, and then needs no request to find it. What is known
// of a generation holds for ever, because an object gets another key only by a write.
type descriptions struct {
	mu sync.Mutex
	of map[string]description
}

// mostDescriptions is the largest number of objects to remember: some pages of a listing.
const mostDescriptions = 10_000

// add remembers what a listing or another answer has said.
func (d *descriptions) add(all ...description) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range all {
		if len(d.of) >= mostDescriptions || d.of == nil {
			d.of = map[string]description{}
		}
		one.Metadata = nil // of any size
		d.of[one.Name] = one
	}
}

// find returns the last description of an object, which another writer may have replaced
// since then.
func (d *descriptions) find(name string) (description, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one, ok := d.of[name]
	return one, ok
}
