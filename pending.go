package zarr

import (
	"context"
	"slices"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/publish"
)

// PendingChange is a change of several arrays together ([Group.Append]) that is not
// finished: its writer is at work, or it crashed.
type PendingChange struct {
	// Decided tells that the change will be made: the next writer of one of the arrays
	// finishes it, and it must not be repeated. Until then some of the arrays may have
	// changed, and others not. A change that is not decided is not visible, and the next
	// writer undoes it.
	Decided bool
	// Arrays are the paths of the arrays that change; nil where it is not decided.
	Arrays []string
	// Shape is that of the array once the change is finished; nil where it is not
	// decided.
	Shape []int64
}

// PendingChange returns the unfinished change of several arrays that this one is part of.
// Without one the error wraps [fs.ErrNotExist]. It takes one request where there is none.
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
	doc, err := a.parseDocument(found.Document, nil)
	if err == nil {
		p.Shape = slices.Clone(doc.Shape)
	}
	return p, err
}
