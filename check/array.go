// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/internal/conventions"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/leftover"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// Array is the result of the check of one array.
type Array struct {
	Path string // relative to the checked node; "" is that itself
	Counts
	// Found are the faults of chunks in the order of their indexes, at most
	// [Options.MostFaults].
	Found []zarr.ShardFault
	// Sharded reports whether the chunks are shards.
	Sharded bool
	// Disorder says how the values of a coordinate are out of order, or is "". It is a
	// finding only if they are times, and not known with [Options.Fast] or where there
	// are faults.
	Disorder string
	Times    bool // the values out of order are times
	// Pending is the pending change of several arrays that the array is part of, or nil;
	// PendingErr is the reason if that cannot be read.
	Pending    *zarr.PendingChange
	PendingErr error
	// Replaced says that another program has put back the document of before a
	// rechunk, or is nil.
	Replaced *rechunk.Replaced
	// RecordsErr is the reason if the records of rechunks cannot be read, or nil. The
	// elements do not depend on them.
	RecordsErr error
	// Orphans are values that no document describes, such as superseded grids and chunks
	// beyond the extent, and OrphanBytes their bytes. They are no damage, and are not
	// counted with [Options.Fast] and [Options.Sample].
	Orphans, OrphanBytes int64
	// Orphaned says what these values are, and whether [rechunk.Vacuum] deletes them.
	Orphaned []rechunk.VacuumItem
	// Misplaced is set if no chunk is stored under the keys that the document names, and
	// values under others that no rechunk explains. It says so in one line.
	Misplaced string
	// Misread says, for each deviation of the document, why other programs read wrong
	// values.
	Misread []string
	// Contradiction says of how many chunks, or inner chunks, the statistics that are
	// kept say what is not so, or is "". It is not known with [Options.Fast],
	// [Options.Sample] and [Options.Parts], or where there are faults.
	Contradiction string
	// Notes say what prevents xarray from opening the group. They are no damage.
	Notes []string
	// Err is the reason if the node cannot be opened, or if it or the values of a
	// coordinate cannot be read. It may be a group then.
	Err error

	lost    map[string]zarr.ShardFault // the first fault of each file that chunks lie in
	noOrder bool                       // only the order of the values is not known
}

// IsUnfinished reports whether the array is part of a change that must be finished, or
// that cannot be read. A change that is not decided ends by itself.
func (r *Array) IsUnfinished() bool {
	return r.PendingErr != nil || r.Pending != nil && r.Pending.Decided
}

// array checks one array.
func (o *Options) array(ctx context.Context, path string, a *zarr.Array) (*Array, error) {
	r := &Array{Path: path, Sharded: a.Inner() != nil, Misread: a.Core().Misread()}
	r.Arrays = 1
	total, _ := a.Grid().NumChunks()
	if o.Sample > 0 {
		total = int64(o.Sample * float64(total))
	}
	o.Progress(path, 0, total)
	if r.Pending, r.PendingErr = a.PendingChange(ctx); errors.Is(r.PendingErr, fs.ErrNotExist) {
		r.Pending, r.PendingErr = nil, nil
	}
	if why := attributes.Unnamed(a.Metadata()); why != "" && why != attributes.NoNames {
		r.Notes = append(r.Notes, why+closed)
	}
	i, err := rechunk.Inspect(ctx, a)
	switch {
	case err == nil:
		r.Replaced = i.Replaced
	case errors.Is(err, metadata.ErrInvalid):
		r.RecordsErr = err // readers do not need the records, so check the chunks
	default:
		return nil, err
	}
	if !o.Fast && o.Sample == 0 { // a listing of all chunks would undo what these save
		if err := r.countOrphans(ctx, a); err != nil {
			return nil, err
		}
	}
	var entries *statistics.Verifier
	within := ctx
	if !o.Fast && o.Sample == 0 && len(o.Parts) == 0 {
		// What cannot be compared is no fault of the array.
		if entries, err = statistics.NewVerifier(ctx, a); err != nil {
			entries = nil
		}
	}
	if entries != nil {
		within = entries.Watch(ctx) // the chunks are decoded only once
	}
	if err := r.checkChunks(within, a, o, total); err != nil {
		return nil, err
	}
	r.Misplaced = r.misplaced(a)
	// Reading a damaged coordinate would only report the damage again.
	if r.Faults == 0 && r.Unread == 0 && !o.Fast {
		if r.Disorder, r.Times, err = cf.Unordered(ctx, a); ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.Err, r.Unchecked, r.noOrder = fmt.Errorf("the order of its values is not known: %w", err), 1, true
		}
	}
	if r.Faults == 0 && r.Unread == 0 && entries != nil {
		r.Contradiction = contradiction(ctx, entries)
	}
	return r, ctx.Err()
}

// contradiction says what is wrong about the statistics of an array, or returns "".
func contradiction(ctx context.Context, entries *statistics.Verifier) string {
	c, err := entries.Verify(ctx)
	if err != nil || c.Cells == 0 {
		return ""
	}
	return fmt.Sprintf("the statistics of %s, the first %v, are not those of the elements that are stored: filters keep wrong rows", quantity.Count(c.Cells, "chunks"), c.First)
}

// closed ends notes about names of dimensions.
const closed = ": xarray does not open such a group"

// countOrphans counts the values of an array that its document does not describe.
func (r *Array) countOrphans(ctx context.Context, a *zarr.Array) error {
	v, err := rechunk.Vacuum(ctx, a, &rechunk.VacuumOptions{DryRun: true})
	if err != nil {
		return ctx.Err() // a store that cannot be listed has no answer
	}
	r.Orphaned = v.Items
	for _, i := range v.Items {
		r.Orphans += i.Values
		r.OrphanBytes += i.Bytes
	}
	return nil
}

// misplaced says that the stored values have other keys than the document names, or
// returns "".
func (r *Array) misplaced(a *zarr.Array) string {
	i := slices.IndexFunc(r.Orphaned, func(i rechunk.VacuumItem) bool { return i.Unexplained && len(i.First) > 0 })
	if i < 0 || r.Chunks > 0 {
		return ""
	}
	for c := range a.Chunks() {
		want := strings.TrimPrefix(c.Key, strings.TrimPrefix(a.Path()+"/", "/"))
		return fmt.Sprintf("no chunk is stored under the keys of the document, such as %q, but %s under keys such as %q, which have another separator or prefix: all elements read as the fill value",
			want, quantity.Count(r.Orphaned[i].Values, "values"), r.Orphaned[i].First[0])
	}
	return "" // the array is empty
}

// checkChunks checks the chunks of an array, or takes what parts have found.
func (r *Array) checkChunks(ctx context.Context, a *zarr.Array, o *Options, total int64) error {
	taken, err := o.parts.take(ctx, r, a, o.MostFaults)
	if taken || err != nil {
		return err
	}
	return r.readChunks(ctx, a, o, 0, 0, total)
}

// readChunks checks the chunks with the numbers from from to to, or all if both are 0.
// total is the largest number of them.
func (r *Array) readChunks(ctx context.Context, a *zarr.Array, o *Options, from, to, total int64) error {
	how := &zarr.CheckOptions{IndexOnly: o.Fast, Sample: o.Sample, Complete: o.Complete, KeepGoing: true, From: from, To: to}
	how.Progress = func(_ []int64, found *codec.Check) {
		r.add(found)
		o.Progress(r.Path, r.Chunks, total)
	}
	for f, err := range a.CheckShards(ctx, how) {
		if err != nil {
			return err
		}
		// add counts only the faults of stored chunks.
		if errors.Is(f.Err, fs.ErrNotExist) {
			r.Missing++
			r.Faults++
		}
		r.keep(f, o.MostFaults)
	}
	for _, f := range r.lost {
		r.Found = append(r.Found, f)
	}
	r.lost = nil
	r.sortFound(o.MostFaults)
	return nil
}

// keep adds a fault to those that are listed. A damaged array may have millions of
// faults. All are counted, and those of the first chunks are kept, so that two checks
// list the same, whatever the order of reading.
//
// Chunks that lie in one file, which has changed or is gone, are one fault of the list.
func (r *Array) keep(f zarr.ShardFault, most int) {
	var of *fault.Source
	if errors.As(f.Err, &of) {
		if r.lost == nil {
			r.lost = map[string]zarr.ShardFault{}
		}
		first, known := r.lost[of.Location]
		if known || len(r.lost) < most {
			if !known || slices.Compare(f.Shard, first.Shard) < 0 {
				r.lost[of.Location] = f
			}
			return
		}
	}
	if r.Found = append(r.Found, f); len(r.Found)/2 >= most {
		r.sortFound(most)
	}
}

// sortFound sorts the faults by chunk and keeps the first ones.
func (r *Array) sortFound(most int) {
	sort.SliceStable(r.Found, func(i, j int) bool { return slices.Compare(r.Found[i].Shard, r.Found[j].Shard) < 0 })
	if len(r.Found) > most {
		clear(r.Found[most:]) // release what is dropped
		r.Found = r.Found[:most]
	}
}

// add adds the result of one chunk.
func (r *Array) add(found *codec.Check) {
	r.Chunks++
	r.Inner += found.Inner
	r.Bytes += found.Bytes
	r.Dead += found.Dead
	damage := int64(0)
	for _, f := range found.Faults {
		if !isUnread(f.Err) {
			damage++
		}
	}
	switch {
	case damage > 0:
		r.Faults += damage + found.More
		r.Damaged++
	case len(found.Faults) > 0: // the chunk may be sound
		r.Unread++
	}
}

// isUnread reports whether a fault says nothing about the chunk, but that this check
// could not read it.
func isUnread(err error) bool {
	if err == nil || errors.Is(err, zarr.ErrCorrupt) || errors.Is(err, zarr.ErrChecksum) {
		return false
	}
	return errors.Is(err, zarr.ErrLimit) || errors.Is(err, fs.ErrPermission) || errors.Is(err, os.ErrDeadlineExceeded)
}

// runGroup checks all arrays below a group, including those that stale consolidated
// metadata does not list. If an array cannot be checked, it continues with the others.
func (o *Options) runGroup(ctx context.Context, g *zarr.Group) (*Report, error) {
	report, names := &Report{}, naming{}
	groups, nodes, complete := []string{""}, map[string]bool{}, true
	// Compare the consolidated metadata first: if it is stale, the members come from the
	// store. The document of the group is already read, and may be long.
	stale, bad := report.addGroup(ctx, g, "", g.Metadata())
	t, err := conventions.New(o.Conventions, g, !o.Fast)
	if err != nil {
		return nil, err
	}
	t.Add("", g, "")
	for m, err := range consolidation.Members(ctx, g, stale, true) {
		if err != nil && m.Path != "" && errors.Is(err, fs.ErrPermission) {
			nodes[m.Path] = true // or a folder of another program; nobody can tell
			t.Miss()
			report.Arrays = append(report.Arrays, &Array{Path: m.Path, Counts: Counts{Arrays: 1, Unchecked: 1}, Err: err})
			continue
		}
		if err != nil {
			complete = complete && errors.Is(err, store.ErrUnusable)
			bad = errors.Join(bad, err)
			t.Miss()
			continue
		}
		nodes[m.Path] = true
		if errors.Is(m.Err, consolidation.ErrGone) {
			continue // reported as stale consolidated metadata
		}
		if below, ok := m.Node.(*zarr.Group); ok {
			groups = append(groups, m.Path)
			_, err := report.addGroup(ctx, consolidation.AsStored(below, stale), m.Path, nil)
			bad = errors.Join(bad, err)
		}
		found, err := o.member(ctx, m)
		if err != nil {
			return nil, err
		}
		if found == nil {
			t.Add(m.Path, m.Node, "")
			continue
		}
		t.Add(m.Path, m.Node, found.Disorder)
		report.Arrays = append(report.Arrays, found)
		if a, ok := m.Node.(*zarr.Array); ok {
			names.add(a, found)
		}
	}
	// Only now are all arrays of each group known.
	names.note()
	bad = errors.Join(bad, report.addConventions(ctx, t))
	// A node that the list of the members has not reached is no remnant.
	for _, path := range groups {
		if complete {
			bad = errors.Join(bad, report.findRemnants(ctx, g, path, nodes))
		}
	}
	bad = errors.Join(bad, report.findTemporary(ctx, g))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return report, bad
}

// findTemporary lists the temporary files at and below a node. A folder that may not be
// read ends the list. That is no error if a finding says so already.
func (r *Report) findTemporary(ctx context.Context, n zarr.Node) error {
	files, err := leftover.Below(ctx, n.Location().Store(), n.Path())
	if err == nil {
		for _, f := range files {
			r.Temporary = append(r.Temporary, Temporary(f))
		}
	}
	known := func(a *Array) bool { return a.Unread > 0 || errors.Is(a.Err, fs.ErrPermission) }
	if errors.Is(err, fs.ErrPermission) && slices.ContainsFunc(r.Arrays, known) {
		return nil
	}
	return err
}

// addGroup adds the findings about a group itself: stale consolidated metadata, and
// dimensions along which its arrays differ. path is relative to the checked group. It
// returns how the consolidated metadata differs, or nil if it does not.
func (r *Report) addGroup(ctx context.Context, g *zarr.Group, path string, doc *metadata.Group) (stale *consolidation.Drift, err error) {
	stale, err = consolidation.Stale(ctx, g.Location(), doc, nil)
	if stale != nil {
		r.Stale = append(r.Stale, Stale{path, stale.Nodes, stale.New, stale.Changed, stale.Gone})
	}
	for _, text := range disagreements(ctx, consolidation.AsStored(g, stale)) {
		r.lengths = append(r.lengths, lengths{path, text})
	}
	return stale, err
}

// disagreements returns one text for each dimension along which the arrays directly below
// a group differ.
func disagreements(ctx context.Context, g *zarr.Group) []string {
	err := g.CheckDimensions(ctx)
	var e *zarr.Error
	if !errors.Is(err, zarr.ErrInvalidMetadata) || !errors.As(err, &e) {
		return nil // they agree, or could not be compared
	}
	return strings.Split(e.Err.Error(), "\n")
}

// member checks a member of a group. The result is nil for a group that can be read. The
// error is not nil only if the context has ended.
func (o *Options) member(ctx context.Context, m zarr.Member) (*Array, error) {
	err := m.Err
	if a, ok := m.Node.(*zarr.Array); ok && err == nil {
		var found *Array
		if found, err = o.array(ctx, m.Path, a); err == nil {
			return found, nil
		}
	}
	if err == nil {
		return nil, nil
	}
	return &Array{Path: m.Path, Counts: Counts{Arrays: 1, Unchecked: 1}, Err: err}, ctx.Err()
}
