// SPDX-License-Identifier: Apache-2.0

package array

import (
	"context"
	"sync/atomic"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
)

// Session is an array for an operation of several steps. It remembers the state from
// which the operation began.
type Session struct {
	*Array
	opened *snapshot.Array
	latest atomic.Pointer[snapshot.Array]
}

// Begin begins an operation with the present state.
func (a *Array) Begin() *Session {
	s := &Session{Array: a, opened: a.State()}
	s.latest.Store(s.opened)
	return s
}

// Fresh returns the state of the present document. Elements may have other indices there
// than when the operation began.
func (s *Session) Fresh(ctx context.Context) (*snapshot.Array, error) {
	now, err := s.Look(ctx, s.latest.Load())
	if err == nil {
		s.latest.Store(now)
	}
	return now, err
}

// Unmoved is Fresh for an operation that is given indices. It returns a conflict if
// elements have other indices by now than when the operation began.
func (s *Session) Unmoved(ctx context.Context) (*snapshot.Array, error) {
	now, err := s.Fresh(ctx)
	if err == nil && now.Numbering != s.opened.Numbering {
		err = MovedSince(s.opened)
	}
	return now, err
}

// Participant returns the part of the array in a transaction of several arrays, for
// [publish.UpdateAll].
func (a *Array) Participant(ctx context.Context, plan func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error)) publish.Participant {
	return publish.Participant{Node: a.Node.Node, Plan: a.Planned(ctx, plan)}
}
