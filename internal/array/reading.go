// SPDX-License-Identifier: Apache-2.0

package array

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/comparison"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// ReadTries bounds how often a read starts again because the array changed.
const ReadTries = 16

// grownLooks bounds how often a read starts again if the array seems to have only grown.
const grownLooks = 3

// Read reads a selection of the elements of at, a state of the array, into the view that
// room returns.
//
// A chunk is suspect if it is missing, does not decode, or was written after the document
// was read. Another process may have deleted it, or written it for another grid. If the
// document is newer than the one that this read began with, the read starts again with
// the new one. A chunk that is older than the document is never suspect, because writers
// store chunks before they publish the document that describes them.
//
// If the array has only grown, beyond the chunks of this read, the read starts again at
// most [grownLooks] times. The array could have shrunk and grown again meanwhile, but a
// read must also end while others append all the time.
//
// If elements were dropped or inserted meanwhile, the read keeps to its state, whose
// chunks stay until a vacuum. After that the error is [ErrMoved].
func (a *Array) Read(
	ctx context.Context, at *snapshot.Array, sel selection.Selection, takes snapshot.Accepts, zeroed bool, room func(*snapshot.Selected) (strided.View, error),
) error {
	s, grown := at, false
	var r *snapshot.Selected
	var view strided.View
	var err error
	looks := 0
	for range ReadTries {
		if !grown { // after growth the resolved selection is still valid
			if r, err = s.Resolve(sel, takes); err != nil {
				if now, staleErr := a.LookUnmoved(ctx, s); staleErr == nil && now != s {
					s = now // another process may have appended the elements
					continue
				}
				return err
			}
			if view, err = room(r); err != nil {
				return err
			}
		}
		// After growth the view is that of the last try, whose memory is no longer zero.
		suspect, err := s.ReadTo(ctx, r, view, zeroed && !grown)
		// Only damage and missing chunks can result from a newer grid. Return other
		// errors at once, and results that no concurrent change can have affected.
		if !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, engine.ErrMissing) && (err != nil || suspect == engine.Certain) {
			return err
		}
		now, staleErr := a.LookUnmoved(ctx, s)
		if errors.Is(staleErr, ErrMoved) {
			return a.OrMoved(ctx, s, err)
		}
		// The document has not changed, so the first result stands.
		if now == s || staleErr != nil {
			return errors.Join(err, staleErr)
		}
		grown = err == nil && s.GrewTo(now, r.Touched(s.Grid))
		if !grown {
			// The edges may have changed, so everything read so far may be wrong. Start
			// counting again.
			looks = -1
		}
		// The chunks of this read are the same cells in every document seen, so newer
		// chunks are accepted. Missing chunks are tried until the loop ends.
		if looks++; looks > grownLooks && suspect == engine.Newer {
			return nil
		}
		s = now
	}
	if grown {
		return nil // missing chunks stayed missing in every try, so they have fill values
	}
	return ErrUnsettled
}

// OrMoved returns the result err of a read of s, or [ErrMoved] if s may have lost chunks
// because a later state numbers elements otherwise.
func (a *Array) OrMoved(ctx context.Context, s *snapshot.Array, err error) error {
	deleted, lookErr := a.Vacuumed(ctx, s)
	switch {
	case lookErr != nil:
		return errors.Join(err, lookErr)
	case deleted:
		return MovedSince(s)
	}
	return err
}

// ErrUnsettled is the error of a read that was repeated ReadTries times and found the
// array changed by another writer each time.
var ErrUnsettled = fmt.Errorf("%w each time it was read", store.ErrConflict)

// Compared describes the array to package comparison. fail adds the array to an error.
func (a *Array) Compared(fail func(error) error) comparison.Array {
	read := func(ctx context.Context, box grid.Box, zeroed bool, room func(*snapshot.Selected) (strided.View, error)) error {
		return fail(a.Read(ctx, a.State(), selection.BoxOf(box), nil, zeroed, room))
	}
	return comparison.Array{
		State: a.State, Fresh: a.LookUnmoved, Complete: a.RequireChunks, Fail: fail,
		Read: func(ctx context.Context, box grid.Box, dst []byte) error {
			return read(ctx, box, false, func(r *snapshot.Selected) (strided.View, error) {
				return r.View(element.Buffer{Type: r.Type, Data: dst})
			})
		},
		Elements: func(ctx context.Context, box grid.Box, oneChunk bool) (element.Buffer, error) {
			e, err := a.Elements(ctx, selection.BoxOf(box), oneChunk)
			return e, fail(err)
		},
	}
}

// Room returns the bytes that elements of variable length may have in memory: those of a
// block. Elements of several chunks may have 1/32 of a chunk's limit at most, because a
// caller can read them one by one, while a single chunk has to be decoded whole.
func (a *Array) Room(oneChunk bool) int64 {
	if oneChunk {
		return a.Block
	}
	return max(1, min(a.Block, a.State().Engine.MaxChunk)/32)
}

// Elements reads elements of variable length. The caller releases their heap. If they
// have no [Array.Room], the error wraps [coding.ErrRoom].
func (a *Array) Elements(ctx context.Context, sel selection.Selection, oneChunk bool) (e element.Buffer, err error) {
	err = a.Read(ctx, a.State(), sel, nil, true, func(r *snapshot.Selected) (strided.View, error) {
		e = r.Room(a.Room(oneChunk))
		return r.View(e)
	})
	if err != nil {
		e.Heap.Release()
	}
	return e, err
}
