// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// Report says what [Do] has done.
type Report struct {
	Rows, Kept int64
	Counts     // of all filtered arrays, with those that were resumed
	// Resumed counts the chunks that an interrupted call had stored already.
	Resumed int64
	// Others counts the nodes, and the values of arrays without the dimension, which
	// were copied as they are. If Others.Restarted is set, an interrupted call had left
	// chunks of other rows or of another source, which were deleted first.
	Others transfer.Report
}

// String says in one line how many rows were kept, and what became of the chunks.
func (r *Report) String() string {
	return keptText(r.Rows, r.Kept, r.Counts)
}

// keptText says in one line how many rows are kept, and what becomes of the chunks.
func keptText(rows, kept int64, c Counts) string {
	text := quantity.List(quantity.Some(c.Copied, "chunk", "copied"), quantity.Some(c.Encoded, "chunk", "encoded"), quantity.Some(c.Dropped, "chunk", "left out"))
	return quantity.Number(kept) + " of " + quantity.Of(rows, "row") + " kept: " + cmp.Or(text, "no chunks")
}

// Do makes a node at dst with the rows of the table at src that the request keeps. The
// source does not change; it may grow meanwhile, and the result is of the rows that it
// had in the beginning. Everything without the dimension is copied as it is.
//
// If something is at dst and Options.Overwrite is not set, the error wraps [fs.ErrExist].
// If arrays differ in their number of rows, or if the request does not fit them, it wraps
// [zarr.ErrInvalidArgument], as for a name in the condition that no array has. If the
// source changes otherwise than by growth, it wraps [zarr.ErrSourceChanged]. The
// package comment describes what a failure leaves, and how the same call resumes.
func Do(ctx context.Context, src, dst *zarr.Location, r Request, opt *Options) (*Report, error) {
	report := new(Report)
	// The listing shows which chunks need not be asked for.
	t, kept, err := filtering(ctx, src, r, opt, staging.TryList)
	if err != nil {
		return report, fail(src, err)
	}
	report.Rows, report.Kept = t.n, kept.count(t.allRows())
	t.keptRows = kept
	w := &work{table: t, report: report, to: dst.Store()}
	if w.goal, err = store.ParsePath(dst.Path()); err != nil {
		return report, fail(src, err)
	}
	for _, a := range t.arrays {
		if err := w.survey(a); err != nil {
			return report, fail(src, err)
		}
	}
	d := convert.Derivation{Arrays: w.derived(), Attributes: t.attributes(report.Kept)}
	if w.records = w.isResumable(); w.records {
		d.Keep, d.Clean = w.keep, w.clean
		if d.Work, err = w.fingerprint(kept); err == nil {
			w.id = d.Work[:16]
		}
	}
	if err == nil {
		report.Others, err = convert.Derive(ctx, src, dst, d, t.copying())
	}
	return report, fail(src, err)
}

// filtering opens a table, lists the stored chunks, finds the rows that are kept, and
// cuts the results.
func filtering(
	ctx context.Context, src *zarr.Location, r Request, opt *Options, list func(context.Context, *snapshot.Array) (*staging.Table, error),
) (*table, *rows, error) {
	t, err := open(ctx, src, r, opt)
	if err != nil {
		return nil, nil, err
	}
	// Before any chunk is read, and be it by the condition: what is made of a chunk that
	// was read in another version than the listed one is not recorded.
	for _, a := range t.arrays {
		if a.stored, err = list(ctx, a.source); err != nil {
			return nil, nil, err
		}
	}
	if err := t.loadStatistics(ctx); err != nil {
		return nil, nil, err
	}
	kept, err := t.kept(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range t.arrays {
		if err := a.plan(a.keptOf(kept)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", t.nameOf(a), err)
		}
	}
	return t, kept, nil
}

// copying returns the options of the copy.
func (t *table) copying() *transfer.Options {
	return &transfer.Options{Options: t.Options.Options, Overwrite: t.Overwrite}
}

// work is one call of Do.
type work struct {
	*table
	to          store.Store
	goal        store.Path // in it
	records     bool       // of finished chunks are stored
	id          string     // of the result, in the names of records
	mu          sync.Mutex
	report      *Report
	done, total int64 // chunks
}

// survey counts what becomes of the stored chunks of an array.
func (w *work) survey(a *array) error {
	g, err := a.grid()
	if err != nil {
		return err
	}
	if err := engine.Visitable(grid.BoxOf(g.Chunks())); err != nil {
		return err
	}
	if a.stored == nil {
		if err := engine.Visitable(grid.BoxOf(a.source.Grid.Chunks())); err != nil {
			return err
		}
	}
	n := a.tally()
	n.BytesCopied, n.BytesRead, n.BytesDropped = 0, 0, 0 // the first is counted when they are copied
	w.report.add(n)
	w.total += n.Copied + a.encodes(g)
	return nil
}

// encodes returns how many chunks of the result are not copied, stored or not.
func (r *array) encodes(g *grid.Grid) int64 {
	n := int64(0)
	for _, p := range r.pieces {
		if p.whole < 0 {
			n++
		}
	}
	for i, chunks := range g.Chunks() {
		if i != r.axis {
			n *= chunks
		}
	}
	return n
}

// derived returns the arrays that are made anew.
func (w *work) derived() map[string]convert.Derived {
	list := map[string]convert.Derived{}
	for i, a := range w.arrays {
		confirm := a.confirm
		if i == 0 && w.sets != nil { // once for all
			confirm = func(ctx context.Context) error {
				if err := w.confirmSets(ctx); err != nil {
					return err
				}
				return a.confirm(ctx)
			}
		}
		write := func(ctx context.Context, to *zarr.Array) error {
			err := w.write(ctx, a, to)
			if err == nil {
				return nil
			}
			// What cannot be read may be of a newer document.
			if changed := a.confirm(ctx); errors.Is(changed, zarr.ErrSourceChanged) {
				return changed
			}
			return failure.On(a.of, "filter", err)
		}
		list[a.path] = convert.Derived{Document: a.doc, Write: write, Confirm: confirm}
	}
	return list
}

// advance counts what was done.
func (w *work) advance(chunks, copied int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done += chunks
	w.report.BytesCopied += copied
	if w.Progress != nil {
		w.Progress(w.done, w.total)
	}
}

// found counts chunks that were stored already.
func (w *work) found(chunks int64) {
	w.advance(chunks, 0)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Resumed += chunks
}

// fail adds the operation and the node to an error.
func fail(src *zarr.Location, err error) error {
	if e := (*zarr.Error)(nil); err == nil || errors.As(err, &e) {
		if e != nil && e.Op == "copy" { // of convert.Derive, which the caller does not know
			e.Op = "filter"
		}
		return err
	}
	return &zarr.Error{Op: "filter", Path: src.Path(), Axis: -1, Err: err}
}
