// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
)

// State identifies what a plan was made from.
type State struct {
	// Document identifies the metadata of the array, with its growth policy and without
	// other attributes.
	Document string `json:"document"`
	// Chunks identifies the stored chunks, by their keys and versions. It is "" if the
	// plan has not listed them.
	Chunks string `json:"chunks,omitempty"`
	// Moved is the ID of the last rechunk that had dropped or inserted elements, ""
	// if there was none. It is nil if the plan has no indices of elements.
	Moved *string `json:"moved,omitempty"`
}

// Changes says what has changed in an array since a plan with that fingerprint was made
// from this state, or returns "". Once a part of the plan is executed, it compares only
// the metadata: linking gives chunks other versions, and the tasks find out themselves
// which of them were written.
//
// If elements were dropped or inserted since, and the plan has indices of elements, the
// error wraps [zarr.ErrConflict].
func (p State) Changes(ctx context.Context, a *zarr.Array, fingerprint string, opt *Options) (string, error) {
	s, err := newSession(a, Rechunking{}, opt)
	if err != nil {
		return "", s.Fail("compare", err)
	}
	text, err := s.changes(ctx, p, fingerprint)
	return text, s.Fail("compare", err)
}

func (s *session) changes(ctx context.Context, was State, fingerprint string) (string, error) {
	old, err := s.Fresh(ctx)
	if err != nil {
		return "", err
	}
	now, err := stateOf(old)
	if err != nil {
		return "", err
	}
	c, err := s.at.Claim(ctx)
	if err != nil {
		return "", err
	}
	begun := c != nil && c.Fingerprint == fingerprint
	if was.Moved != nil && !begun {
		if moved, err := s.lastMove(ctx, old); err != nil || moved != *was.Moved {
			return "", cmp.Or(err, errMoved)
		}
	}
	if now.Document != was.Document {
		return "its metadata are others", nil
	}
	if was.Chunks == "" || begun {
		return "", nil
	}
	sources, err := staging.List(ctx, old)
	if err != nil {
		return "", err
	}
	if now.addChunks(sources); now.Chunks != was.Chunks {
		return "chunks were written or deleted", nil
	}
	return "", nil
}

// planState returns the state without chunks, for a plan.
func (s *session) planState(ctx context.Context, old *snapshot.Array) (State, error) {
	p, err := stateOf(old)
	if k, is := bare(s.request).(Rechunking); err != nil || !s.moves() && (!is || k.Region == nil) {
		return p, err
	}
	moved, err := s.lastMove(ctx, old)
	p.Moved = &moved
	return p, err
}

// lastMove returns the ID of the last rechunk that has moved planes of the array, or
// "".
func (s *session) lastMove(ctx context.Context, old *snapshot.Array) (string, error) {
	return lineage.Array{Store: s.Node.Store, Path: s.Node.Path, Limits: s.Node.Limits}.LastMove(ctx, old.Doc)
}

// errMoved is the conflict of a plan whose planes have other indices by now.
var errMoved error = final("elements were dropped or inserted since the plan was made, so those that it names may be others; make the plan again")

// stateOf returns the state without chunks. It does not depend on how the document is
// spelled: another program may set an attribute meanwhile, and write all of it anew.
func stateOf(old *snapshot.Array) (State, error) {
	raw, err := likeness.Identity(old.Doc)
	if err != nil {
		return State{}, err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s", raw, likeness.Plain(growthOf(old.Doc.Attributes)))
	return State{Document: hex.EncodeToString(h.Sum(nil)[:16])}, nil
}

// addChunks adds the stored chunks to the state.
func (p *State) addChunks(sources *staging.Table) {
	h := sha256.New()
	var room []byte
	for index := range sources.All() {
		room = room[:0]
		for _, k := range index {
			room = binary.AppendVarint(room, k)
		}
		h.Write(binary.LittleEndian.AppendUint64(room, uint64(sources.Digest(index))))
	}
	p.Chunks = hex.EncodeToString(h.Sum(nil)[:16])
}
