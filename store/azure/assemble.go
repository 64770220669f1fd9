// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/store"
)

// Assemble implements [store.Assembler]. In a value above 16 MiB, the service copies long
// ranges into blocks (Put Block From URL). Shorter ones are read and uploaded.
func (s *Store) Assemble(ctx context.Context, key store.Key, parts []store.Part, _ store.Durability) (store.Version, error) {
	w, err := s.begin(key, store.Condition{})
	if err != nil {
		return store.Version{}, err
	}
	return w.assemble(ctx, s, parts)
}

// Gather implements [store.Gatherer]: from a store of the same account, as
// [Store.Assemble] does; from others, it reads the parts and uploads them in blocks of 16
// MiB.
func (s *Store) Gather(ctx context.Context, key store.Key, from store.Store, parts []store.Part, _ store.Durability) (store.Version, error) {
	w, err := s.begin(key, store.Condition{})
	if err != nil {
		return store.Version{}, err
	}
	return w.assemble(ctx, from, parts)
}

// Splice implements [store.Splicer].
func (s *Store) Splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, _ store.Durability,
) (store.Version, error) {
	if from.IsZero() {
		return store.Version{}, s.fail("splice", key, noVersion(from))
	}
	w, err := s.begin(key, store.IfVersion(from))
	if err != nil {
		return store.Version{}, err
	}
	info, err := s.Stat(ctx, key)
	if isMissing(err) || err == nil && info.Version != from {
		err = fmt.Errorf("%w: the value to splice is not of version %s", store.ErrConflict, from)
	}
	if err == nil {
		_, err = store.SplicedSize(info.Size, fragments)
	}
	if err != nil {
		return store.Version{}, s.fail("splice", key, err)
	}
	return w.assemble(ctx, s, store.PartsOf(key, from, fragments))
}

// assemble writes the value that parts of a store make.
func (w *writing) assemble(ctx context.Context, from store.Store, parts []store.Part) (store.Version, error) {
	size, err := store.AssembledSize(parts)
	var r *store.PartReader
	if err == nil {
		r, err = store.NewPartReader(ctx, from, parts)
	}
	var value []byte
	if err == nil && size <= piece {
		value, err = r.AppendPiece(ctx, nil, size)
	}
	switch {
	case err != nil:
		return store.Version{}, w.s.fail("assemble", w.key, err)
	case size <= piece:
		return w.put(ctx, value)
	}
	other := w.s.copies(from)
	var blocks []block
	if other != nil {
		blocks = cut(r.Parts())
	}
	if len(blocks) > 0 {
		v, err := w.inBlocks(ctx, func(ctx context.Context) ([]string, error) { return w.sendBlocks(ctx, other, blocks, r) })
		refused := (*notCopied)(nil)
		if !errors.As(err, &refused) {
			return v, err
		}
		v, err = w.upload(ctx, r)
		if err == nil && !isMissing(refused) {
			w.s.uploads.Store(true) // what the service does not copy could be read
		}
		return v, err
	}
	return w.upload(ctx, r)
}

// upload reads all parts, and uploads them.
func (w *writing) upload(ctx context.Context, r *store.PartReader) (store.Version, error) {
	held := make([]byte, 0, piece)
	next := func(ctx context.Context, n int) (_ []byte, err error) {
		if n == 0 {
			r.Rewind()
		}
		held, err = r.AppendPiece(ctx, held[:0], piece)
		return held, err
	}
	return w.inBlocks(ctx, func(ctx context.Context) ([]string, error) { return w.sendEach(ctx, next) })
}
