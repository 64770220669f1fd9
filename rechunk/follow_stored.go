// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// originMagic begins an encoded origin. A line of JSON follows, and the chunks: the
// difference of the number to that of the chunk before, the digest of the version, and
// the sum, after a byte that says whether there is one.
const originMagic = "varve follow 1\n"

// errOrigin is the error of an origin that is damaged.
var errOrigin = errors.New("the record of the array that is followed is damaged")

func (o *origin) marshal() ([]byte, error) {
	head := bytes.NewBufferString(originMagic)
	e := json.NewEncoder(head) // which ends the line
	e.SetEscapeHTML(false)     // the document of the array stays as it is
	if err := e.Encode(o); err != nil {
		return nil, err
	}
	data, last := head.Bytes(), int64(0)
	for _, c := range o.chunks {
		data = binary.AppendUvarint(data, uint64(c.number-last))
		data = binary.LittleEndian.AppendUint64(data, uint64(c.version))
		if last = c.number; c.summed {
			data = append(append(data, 1), c.sum[:]...)
		} else {
			data = append(data, 0)
		}
	}
	return data, nil
}

// parseOrigin parses what marshal has encoded.
func parseOrigin(data []byte, l metadata.Limits, most int64) (*origin, error) {
	data, ok := bytes.CutPrefix(data, []byte(originMagic))
	head, data, found := bytes.Cut(data, []byte("\n"))
	o := new(origin)
	if !ok || !found || json.Unmarshal(head, o) != nil {
		return nil, errOrigin
	}
	if attributes.Check(o.Attributes) != nil {
		return nil, errOrigin
	}
	var err error
	if o.doc, err = (lineage.Array{Limits: l}).Parse(o.Array); err != nil {
		return nil, errOrigin
	}
	if o.grid, err = lineage.GridOf(o.doc); err != nil {
		return nil, errOrigin
	}
	all, ok := o.grid.NumChunks()
	if !ok {
		return nil, errOrigin
	}
	for last := int64(0); len(data) > 0; {
		gap, n := binary.Uvarint(data)
		if n <= 0 || gap >= uint64(all) || int64(gap) >= all-last || gap == 0 && len(o.chunks) > 0 {
			return nil, errOrigin
		}
		if data = data[n:]; len(data) < 9 || data[8] > 1 {
			return nil, errOrigin
		}
		c := originChunk{number: last + int64(gap), version: staging.Digest(binary.LittleEndian.Uint64(data)), summed: data[8] == 1}
		if data = data[9:]; c.summed {
			if len(data) < len(c.sum) {
				return nil, errOrigin
			}
			data = data[copy(c.sum[:], data):]
		}
		o.chunks, last = append(o.chunks, c), c.number
		if err := o.checkSize(most); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// errUnfollowed is the error of an array that was not made to follow another one, or that
// another program has changed.
func errUnfollowed(why string) error {
	return final("the array does not follow another one: " + why + "; remove it (zarr.Delete), and follow again")
}

// readOrigin reads the origin of a document.
func readOrigin(ctx context.Context, at lineage.Array, now *snapshot.Array, most int64) (*origin, error) {
	is, err := documentIdentity(now.Doc, at.Limits)
	if err != nil {
		return nil, err
	}
	id, err := originID(now.Doc, is)
	if err != nil {
		return nil, err
	}
	key, most := at.Path.MustKey(followDir+id), max(most, leastRecords)
	data, info, err := at.Store.Get(ctx, key, store.Request{Limit: most}, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errUnfollowed("there is no " + key.String())
	case errors.Is(err, store.ErrTooLarge):
		return nil, fmt.Errorf("%w: %s has more than %d bytes (Options.Memory)", zarr.ErrLimit, key, most)
	case err != nil:
		return nil, err
	}
	o, err := parseOrigin(data, at.Limits, most)
	if errors.Is(err, zarr.ErrLimit) {
		return nil, err
	}
	if err != nil || len(o.doc.Shape) != len(now.Doc.Shape) {
		return nil, errUnfollowed(key.String() + " is damaged")
	}
	if !o.isOf(now.Doc, at.Limits) {
		return nil, errUnfollowed("another program has appended to it, or has rechunked it")
	}
	o.id, o.version, o.modified = id, info.Version, info.Modified
	return o, nil
}

// putOrigin stores an origin that no document names yet.
func putOrigin(ctx context.Context, at lineage.Array, o *origin, d store.Durability) error {
	data, err := o.marshal()
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, at.Store, at.Path.MustKey(followDir+o.id), data, d)
	return err
}

// replaceOrigin stores another origin of the document that was named before. If another
// process has done so, the error wraps [zarr.ErrConflict].
func replaceOrigin(ctx context.Context, at lineage.Array, o, before *origin, d store.Durability) error {
	if _, able := store.As[store.ConditionalWriter](at.Store); !able || before.version.IsZero() {
		return putOrigin(ctx, at, o, d)
	}
	data, err := o.marshal()
	if err != nil {
		return err
	}
	_, err = store.PutIf(ctx, at.Store, at.Path.MustKey(followDir+o.id), data, store.IfVersion(before.version), d)
	return err
}

// removeOrigins deletes the origin of a document that was superseded, and what calls have
// left that were stopped before that was published. Other calls may have stored later
// ones, which may be published by now. named is that of the present document.
func removeOrigins(ctx context.Context, at lineage.Array, o *origin, named string) error {
	dir := at.Path.MustKey(followDir + "-").Dir()
	names := []string{o.id}
	for e, err := range store.List(ctx, at.Store, dir, false) {
		if err != nil {
			return err
		}
		if lineage.IsID(e.Name) && e.Name != named && !e.Modified.IsZero() && e.Modified.Before(o.modified) {
			names = append(names, e.Name)
		}
	}
	for _, name := range names {
		if err := store.Delete(ctx, at.Store, dir.MustKey(name)); err != nil {
			return err
		}
	}
	return nil
}
