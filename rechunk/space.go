// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Space says how many bytes a rechunk stores before it deletes any. What the old grid
// has stays until [Vacuum].
type Space struct {
	// Least are bytes that it needs in any case: those of scratch and of copies, in a
	// store that neither compresses them nor shares them.
	Least int64
	// Likely is an estimate with the encoded chunks. It supposes that they are compressed
	// as well as the stored ones.
	Likely int64
	// Free are the bytes that the store still takes, or -1 if it does not tell.
	Free int64
}

// space returns the space of what p has predicted for a source.
func (s *session) space(source *snapshot.Array, p *Plan) Space {
	copied, certain := p.BytesCopied, p.BytesCopied
	if p.Links {
		copied, certain = p.BytesArranged, p.BytesArranged
	}
	// Shards have bytes that are not copied: their index, and what nobody uses any more.
	if source.Engine.Chain.Divided() {
		copied, certain = min(copied, p.BytesStored), 0
	}
	took := Space{Likely: p.BytesScratch + copied + encoded(source, p), Free: -1}
	room, err := store.RoomOf(s.at.Store, s.at.Path)
	if err != nil {
		return took
	}
	if took.Free = room.Free; room.Plain {
		took.Least = p.BytesScratch + certain
	}
	return took
}

// encoded estimates the bytes of the chunks that are encoded.
func encoded(source *snapshot.Array, p *Plan) int64 {
	all := logical(source)
	if p.BytesStored >= all {
		return p.BytesEncoded
	}
	return int64(float64(p.BytesEncoded) * float64(p.BytesStored) / float64(all))
}

// logical returns the bytes of all elements of an array.
func logical(s *snapshot.Array) int64 {
	n := int64(s.Engine.Size)
	for _, extent := range s.Grid.Shape() {
		n = product(n, extent)
	}
	return n
}

// err returns an error if the space does not suffice in any case.
func (s Space) err(p *Plan, into bool) error {
	if s.Free < 0 || s.Least <= s.Free {
		return nil
	}
	do := []string{"choose another place (Options.Into)"}
	if !into {
		do = append(do, "delete superseded grids (rechunk.Vacuum)")
	}
	return fmt.Errorf("%w: at least %d bytes are needed, and %d are free: %s", syscall.ENOSPC, s.Least, s.Free, strings.Join(do, ", or "))
}

// checkSpace returns an error if the store has too little room for what is to be staged,
// as far as it tells. If something is staged already, it checks nothing.
func (s *session) checkSpace(ctx context.Context, old *snapshot.Array, w *work, plan *blocks.Plan) error {
	room, err := store.RoomOf(s.at.Store, s.at.Path)
	if err != nil || !room.Plain {
		return nil
	}
	claimed, err := s.at.Claimed(ctx)
	if claimed || err != nil {
		return err
	}
	// Predicting lists all chunks, which is not worth it if there is plenty.
	if most := product(logical(w.Source), int64(len(plan.Stages))+1); room.Free > most {
		return nil
	}
	defer func() { s.claim = nil }() // predict takes one for the names of scratch
	p := new(Plan)
	if err := s.predict(ctx, old, w, p); err != nil {
		return err
	}
	return p.Space.err(p, s.into != nil)
}
