// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Inspection says what the records of rechunks tell of an array.
type Inspection struct {
	// Superseded counts the grids before the present one that are not vacuumed.
	Superseded int
	// Unfinished describes a rechunk that runs, or was stopped. It is "" if there is
	// none.
	Unfinished string
	// Replaced is set if the document does not descend from the one that the last
	// rechunk published.
	Replaced *Replaced
}

// String says in one line what the records tell.
func (i *Inspection) String() string {
	text := quantity.Of(int64(i.Superseded), "superseded grid")
	if i.Superseded == 0 {
		text = "no superseded grids"
	}
	if i.Unfinished != "" {
		text += "; " + i.Unfinished
	}
	if i.Replaced != nil {
		text += "; " + i.Replaced.Message()
	}
	return text
}

// Replaced says that another program has put back an older document, as programs do that
// opened the array before it was rechunked and then append. [Vacuum] then deletes
// nothing, so the chunks of both grids are there.
type Replaced struct {
	// Operation is the last rechunk, and By the process that published it.
	Operation string
	By        store.Holder
	// Record is the key of its record. The member "to" of the record is the document
	// that it published, without attributes.
	Record store.Key
	// Document is the key of the document of the array.
	Document store.Key
}

// Message says what has happened, in one line.
func (r *Replaced) Message() string {
	by := r.By
	by.Operation = r.Operation
	return fmt.Sprintf("the document is not that of the last rechunk, by %.200s, and does not descend from it: "+
		"another program has put back an older one, or has replaced the array; what was written since that rechunk is not visible", by)
}

// Repair says how to restore the document, in one line.
func (r *Replaced) Repair() string {
	return fmt.Sprintf("stop the other program, export what it has appended, and put the member \"to\" of %s in the place of %s, with the attributes of the latter "+
		"and the present shape; or keep the present document, and "+remedy.NewArray+", which has no such record", r.Record, r.Document)
}

// Inspect reads the records of rechunks of an array. It lists no chunks, and changes
// nothing. Of a store that cannot be listed, nothing is known.
func Inspect(ctx context.Context, a *zarr.Array) (*Inspection, error) {
	s := newSessionIn(a, nil)
	i, err := s.inspect(ctx)
	return i, s.array.fail("inspect", err)
}

func (s *session) inspect(ctx context.Context) (*Inspection, error) {
	v, i := &vacuum{array: s.array, hold: s.hold}, new(Inspection)
	// Most arrays have neither records nor a claim, and one round trip finds that out.
	var early *lineage.Claim
	var earlyErr error
	var both sync.WaitGroup
	if _, lists := store.As[store.Lister](s.hold.at.Store); lists {
		both.Go(func() { early, earlyErr = s.hold.at.Claim(ctx) })
	}
	var err error
	v.records, err = s.hold.at.Records(ctx)
	both.Wait()
	switch {
	case errors.Is(err, store.ErrUnsupported):
		return i, nil
	case err == nil && len(v.records) == 0:
		v.claim, err = early, earlyErr
	case err == nil:
		// After the records: one without a claim is published, or has failed.
		v.claim, err = s.hold.at.Claim(ctx)
	}
	var now *snapshot.Array
	if err == nil && len(v.records) > 0 {
		now, err = s.array.fresh(ctx)
	}
	if err != nil {
		return i, err
	}
	if v.claim != nil {
		i.Unfinished = v.claim.Text()
	}
	if now == nil {
		return i, nil
	}
	v.chain = lineage.Chain(v.records, now.Doc)
	for _, r := range v.chain {
		if !r.Gone && !r.InPlace && !hasKeys(r.Superseded(), now.Engine.Keys, now.Grid.Rank()) {
			i.Superseded++
		}
	}
	last, err := v.notDescended(ctx)
	if last != nil {
		i.Replaced = &Replaced{Operation: last.Operation, By: last.By, Record: s.hold.at.Key(last), Document: s.array.core.Node.Key()}
	}
	return i, err
}
