// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
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
		text += "; " + i.Replaced.Message
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
	// Message says what has happened, and Repair how to restore the document, each in one
	// line.
	Message, Repair string
}

// newReplaced describes a last rechunk, with this record, from which the document does
// not descend.
func newReplaced(last *lineage.Record, record, document store.Key) *Replaced {
	by := last.By
	by.Operation = last.Operation
	return &Replaced{
		Operation: last.Operation, By: last.By, Record: record, Document: document,
		Message: fmt.Sprintf("the document is not that of the last rechunk, by %.200s, and does not descend from it: "+
			"another program has put back an older one, or has replaced the array; what was written since that rechunk is not visible", by),
		Repair: fmt.Sprintf("stop the other program, export what it has appended, and put the member \"to\" of %s in the place of %s, with the attributes of the latter "+
			"and the present shape; or keep the present document, and "+remedy.NewArray+", which has no such record", record, document),
	}
}

// Inspect reads the records of rechunks of an array. It lists no chunks, and changes
// nothing. Of a store that cannot be listed, nothing is known.
func Inspect(ctx context.Context, a *zarr.Array) (*Inspection, error) {
	s := newSessionIn(a, nil)
	i, err := (&history{at: s.hold.at}).inspect(ctx, s.array)
	return i, s.array.fail("inspect", err)
}

// history is what the records of rechunks tell of an array, and the claim on it.
type history struct {
	at             lineage.Array
	records, chain []*lineage.Record
	claim          *lineage.Claim // as it is after the records were read, and all else was listed
	broken         string         // why the records do not explain the document, or ""
}

func (h *history) inspect(ctx context.Context, a *subject) (*Inspection, error) {
	i := new(Inspection)
	// Most arrays have neither records nor a claim, and one round trip finds that out.
	var early *lineage.Claim
	var earlyErr error
	var both sync.WaitGroup
	if _, lists := store.As[store.Lister](h.at.Store); lists {
		both.Go(func() { early, earlyErr = h.at.Claim(ctx) })
	}
	var err error
	h.records, err = h.at.Records(ctx)
	both.Wait()
	switch {
	case errors.Is(err, store.ErrUnsupported):
		return i, nil
	case err == nil && len(h.records) == 0:
		h.claim, err = early, earlyErr
	case err == nil:
		// After the records: one without a claim is published, or has failed.
		h.claim, err = h.at.Claim(ctx)
	}
	var now *snapshot.Array
	if err == nil && len(h.records) > 0 {
		now, err = a.fresh(ctx)
	}
	if err != nil {
		return i, err
	}
	if h.claim != nil {
		i.Unfinished = h.claim.Text()
	}
	if now == nil {
		return i, nil
	}
	h.chain = lineage.Chain(h.records, now.Doc)
	for _, r := range h.chain {
		if !r.Gone && !r.InPlace && !hasKeys(r.Superseded(), now.Engine.Keys, now.Grid.Rank()) {
			i.Superseded++
		}
	}
	last, err := h.notDescended(ctx)
	if last != nil {
		i.Replaced = newReplaced(last, h.at.Key(last), a.core.Node.Key())
	}
	return i, err
}

// record returns the record that superseded the grid with some keys, or nil.
func (h *history) record(k metadata.KeyEncoding, rank int) *lineage.Record {
	for _, r := range h.chain {
		if !r.Gone && !r.InPlace && hasKeys(r.Superseded(), k, rank) {
			return r
		}
	}
	return nil
}

// stages reports whether a rechunk that is not finished has claimed the keys.
func (h *history) stages(k metadata.KeyEncoding, old *snapshot.Array) bool {
	return h.claim != nil && sameKeys(h.claim.Keys, k, old.Grid.Rank())
}

// whyBroken returns why the records do not explain the present document, or "".
func (h *history) whyBroken(ctx context.Context) (string, error) {
	r, err := h.notDescended(ctx)
	if r == nil || err != nil {
		return "", err
	}
	return fmt.Sprintf("another program has put back an older document than that of the last %s, or replaced the array (varve check)", r.Operation), nil
}

// notDescended returns the last record that was published, if the present document does
// not descend from its successor.
func (h *history) notDescended(ctx context.Context) (*lineage.Record, error) {
	for _, r := range slices.Backward(h.records) {
		// This record leads to the present document. Its claim is still there if its
		// process crashed after it had published.
		if len(h.chain) > 0 && h.chain[0] == r {
			return nil, nil
		}
		if h.claim != nil && r.ID == h.claim.ID {
			continue // not published yet
		}
		// The grace begins before the claim is dropped. Without either, the attempt
		// failed before it was published.
		since, err := h.at.GraceSince(ctx, r)
		if err != nil {
			return nil, err
		}
		if !since.IsZero() || r.Gone {
			return r, nil
		}
	}
	return nil, nil
}
