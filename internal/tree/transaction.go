// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"errors"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// pendingMember is the error for a member of a group that is part of a pending
// transaction.
type pendingMember struct {
	member Node
	err    error
}

func (p *pendingMember) Error() string { return p.err.Error() }

func (p *pendingMember) Unwrap() error { return p.err }

// CheckPending returns an error if a node is part of a pending transaction with another
// journal.
func (n Node) CheckPending(ctx context.Context, journal store.Key) error {
	err := publish.CheckPending(ctx, n.Node, journal)
	if errors.Is(err, publish.ErrPending) {
		err = &pendingMember{n, err}
	}
	return err
}

// FinishMember completes the pending transaction that err reports, if any. It returns
// err, joined with the error of completing it.
func FinishMember(ctx context.Context, err error) error {
	var p *pendingMember
	if errors.As(err, &p) {
		_, othersErr := p.member.FinishTransaction(ctx)
		return errors.Join(othersErr, err)
	}
	return err
}

// FinishTransaction rolls a pending transaction that this node is part of forward or
// back. It reports whether there was one, or whether the node is held by a reservation.
func (n Node) FinishTransaction(ctx context.Context) (found bool, err error) {
	if found, err = publish.Recover(ctx, n.Node, Refresh(n.Limits)); err != nil {
		err = &othersError{err}
	}
	return found, err
}

// FinishPending calls [Node.FinishTransaction] until no other writer is in the way.
func (n Node) FinishPending(ctx context.Context) error {
	return publish.Retry(ctx, func() error {
		_, err := n.FinishTransaction(ctx)
		return err
	})
}

// othersError is an error while completing a change of another writer. It does not match
// errors about the outcome of a change, because the caller's own change has not begun.
type othersError struct{ err error }

func (o *othersError) Error() string {
	return "finishing a change that another writer began: " + o.err.Error()
}

func (o *othersError) Is(target error) bool {
	return target != publish.ErrIncomplete && target != publish.ErrDecided && target != publish.ErrOutcomeUnknown && errors.Is(o.err, target)
}
