// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
)

// PendingChange is a transaction over several arrays ([Group.Append]) that is not
// complete: its writer is running, or has crashed.
type PendingChange struct {
	// Decided means that the transaction is committed. The next writer of one of the
	// arrays completes it, and it must not be repeated. Until then some of the arrays may
	// have changed and others not. A transaction that is not committed is not visible,
	// and the next writer undoes it.
	Decided bool
	// Arrays are the paths of the arrays that change, or nil if it is not committed.
	Arrays []string
	// Shape is the shape of the array after the transaction, or nil if it is not
	// committed.
	Shape []int64
}

// String says what is pending, and how it ends.
func (p *PendingChange) String() string {
	if !p.Decided {
		return "a change of several arrays was started but not decided: none of it is visible, and the next writer undoes it"
	}
	return fmt.Sprintf("a change of %s is decided but not finished: the shape will be %v, and some arrays may have "+
		"theirs already; the next writer or "+remedy.Finish+" finishes it, so do not repeat it",
		quantity.Of(int64(len(p.Arrays)), "array"), p.Shape)
}

// PendingChange returns the pending transaction that the array is part of. If there is
// none, the error wraps [fs.ErrNotExist]; finding that out takes one request.
func (a *Array) PendingChange(ctx context.Context) (*PendingChange, error) {
	p, err := a.pendingChange(ctx)
	return p, a.fail("pending change", err)
}

func (a *Array) pendingChange(ctx context.Context) (*PendingChange, error) {
	found, err := publish.Look(ctx, a.publisher())
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fault.NotFound("no change of several arrays is pending")
	}
	p := &PendingChange{Decided: found.Committed}
	for _, node := range found.Nodes {
		p.Arrays = append(p.Arrays, node.String())
	}
	if found.Document == nil {
		return p, nil
	}
	// The journal has the new document of this array. The shape does not depend on the
	// attributes, so those of format 2 are not read.
	doc, err := a.core.ParseDocument(found.Document, nil)
	if err == nil {
		p.Shape = slices.Clone(doc.Shape)
	}
	return p, err
}
