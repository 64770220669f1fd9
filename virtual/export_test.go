// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"

	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/store"
)

// What tests outside of the package open and read.
var OpenPart = openPart

func OpenNode(ctx context.Context, s store.Store, path store.Path, location, scheme string) (*Part, error) {
	return openNode(&walk{ctx: ctx, store: s, root: path, location: location, scheme: scheme, room: newRoom(0)})
}

func (p *Part) Close() error { return p.close() }

func (p *Part) Store() store.Store { return p.shown }

func (m *Manifest) Kerchunk(ctx context.Context) (*kerchunk.References, error) {
	x, err := newExport(ctx, m)
	if err != nil {
		return nil, err
	}
	return x.kerchunk(ctx)
}
