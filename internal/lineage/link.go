// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"context"

	"varve.dev/zarr/store"
)

// Forget updates the records of superseded grids after some were deleted. chain is that
// of the present document, and deleted reports whether the superseded grid of a record
// is not stored any more.
//
// A record whose grid is deleted stays as a link while an older grid is stored: without
// it, nothing would show that the present document descends from the successor of the
// older grid. Neighbouring links become one. So there are never more links than stored
// grids.
func (a Array) Forget(ctx context.Context, chain []*Record, deleted func(*Record) bool, d store.Durability) error {
	// From the oldest to the latest: a crash leaves a chain that reaches every grid that
	// is stored.
	for len(chain) > 0 && deleted(chain[len(chain)-1]) {
		if err := a.forget(ctx, chain[len(chain)-1], d); err != nil {
			return err
		}
		chain = chain[:len(chain)-1]
	}
	for i := len(chain) - 1; i >= 0; i-- {
		r := chain[i]
		if !deleted(r) {
			continue
		}
		// Only the record of a rechunk in place tells its grids apart.
		if i > 0 && deleted(chain[i-1]) && !r.InPlace && !chain[i-1].InPlace {
			joined, err := a.join(ctx, r, chain[i-1], d)
			if err != nil {
				return err
			}
			chain[i-1] = joined
			continue
		}
		if r.Gone {
			continue
		}
		r.Gone = true
		if err := a.put(ctx, r, d); err != nil {
			return err
		}
	}
	return nil
}

// join replaces two neighbouring links by one. It has the key of the later one, so the
// chain leads past the earlier one as soon as it is stored.
func (a Array) join(ctx context.Context, earlier, later *Record, d store.Durability) (*Record, error) {
	r := *later
	r.Gone, r.Moved = true, earlier.Moved || later.Moved
	r.From, r.from = earlier.From, earlier.from
	// The link does not tell that the grid between them was one of this array.
	if r.Moved {
		if err := a.noteMoved(ctx, later, d); err != nil {
			return nil, err
		}
	}
	if err := a.put(ctx, &r, d); err != nil {
		return nil, err
	}
	return &r, a.Remove(ctx, earlier)
}

// forget removes a record that is not needed any more.
func (a Array) forget(ctx context.Context, r *Record, d store.Durability) error {
	if r.Moved {
		if err := a.noteMoved(ctx, r, d); err != nil {
			return err
		}
	}
	return a.Remove(ctx, r)
}
