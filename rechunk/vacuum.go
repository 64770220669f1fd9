// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// DefaultGrace is the default of [VacuumOptions.Grace].
const DefaultGrace = 24 * time.Hour

// VacuumOptions are the options of [Vacuum]. A nil *VacuumOptions is the zero value.
type VacuumOptions struct {
	// Grace is how long a superseded grid stays after it was superseded, so that readers
	// that opened the array before can continue. 0 is [DefaultGrace]; a negative value is
	// none.
	Grace time.Duration
	// DryRun deletes nothing, and returns the same report. If the array is not open for
	// writing, the store cannot be asked for its time, and the clock of this machine
	// counts.
	DryRun bool
}

// VacuumReport lists what a vacuum has found in an array.
type VacuumReport struct {
	Items []VacuumItem
	// Notes are remarks about what could not be checked or deleted, and about chunks that
	// were restored because a writer had overwritten them by chunks of the grid before.
	Notes []string
}

// String says in one line how many values are deleted, and how many stay.
func (r *VacuumReport) String() string {
	deleted, kept := int64(0), int64(0)
	for _, i := range r.Items {
		if i.Kept == "" {
			deleted += i.Values
		} else {
			kept += i.Values
		}
	}
	text := quantity.List(quantity.Some(deleted, "value", "deleted"), quantity.SomeBytes(r.Freed(), "freed"), quantity.Some(kept, "value", "kept"))
	return cmp.Or(text, "nothing to delete")
}

// VacuumItem is a set of values that the document does not describe.
type VacuumItem struct {
	// Kind is "superseded", "staged" if Staged is set, "unexplained" if Unexplained is
	// set, "beyond" for chunks beyond the grid, "merged" for copies of the chunks that a
	// rechunk in place has stored, "records" or "scratch" for what a rechunk has left
	// that is neither running nor to be resumed, or "journal" for a change of several
	// arrays that was rolled back. Package virtual has kinds of its own.
	Kind string
	// Keys is an example of a key.
	Keys string
	// First are the first keys, in the order of text, of values that have the form of
	// chunks, at most ten.
	First []string
	// Values and Bytes are what is stored. Bytes is 0 if the store does not tell sizes.
	Values, Bytes int64
	// Kept is the reason why the values stay, or "" if they are deleted.
	Kept string
	// Due is when the grace ends, if that is the reason.
	Due time.Time
	// Unexplained is set if the values have keys of another encoding than the document
	// names, and no record or claim says why.
	Unexplained bool
	// Staged is set if a rechunk that is not finished has stored the values. [Abandon]
	// deletes them.
	Staged bool
}

// Freed returns the bytes of the values that are deleted.
func (r *VacuumReport) Freed() int64 {
	n := int64(0)
	for _, i := range r.Items {
		if i.Kept == "" {
			n += i.Bytes
		}
	}
	return n
}

// Vacuum deletes values of an array that its document does not describe: superseded grids
// whose grace is over, chunks beyond the extent, records and scratch of rechunks that
// have ended, and journals of changes that were rolled back. It deletes nothing that it
// does not know: values of other programs stay.
//
// A superseded grid stays while its grace runs, and while consolidated metadata of a
// group above, or a document of format 2 beside that of format 3, still describes it.
// It also stays if the present document does not descend from the one that superseded
// it, because another program has put back an older document. After its deletion,
// [Revert] is no longer possible, and readers that opened the array before find no
// chunks.
//
// In a store without locks, chunks are deleted on conditions, because of other writers.
// If the store does not do that, they stay, and [Revert] remains possible, until the
// array is opened with [zarr.Options.SingleWriter].
func Vacuum(ctx context.Context, a *zarr.Array, opt *VacuumOptions) (*VacuumReport, error) {
	if opt == nil {
		opt = new(VacuumOptions)
	}
	s := newSessionIn(a, nil)
	v := s.newVacuum(ctx, opt.Grace, opt.DryRun)
	err := v.runAll(ctx)
	return &v.findings, s.array.fail("vacuum", err)
}

// graceOf returns the grace that [VacuumOptions.Grace] means.
func graceOf(length time.Duration) time.Duration { return max(0, cmp.Or(length, DefaultGrace)) }

// newVacuum returns a vacuum with a grace and a dry run as in [VacuumOptions].
func (s *session) newVacuum(ctx context.Context, length time.Duration, dry bool) *vacuum {
	v := &vacuum{
		array: s.array, hold: s.hold, dry: dry, history: history{at: s.hold.at},
		grace: grace{hold: s.hold, length: graceOf(length), begins: !dry, local: dry && s.array.writable() != nil},
	}
	v.storeRefusal = sync.OnceValues(func() (string, error) { return v.findStoreRefusal(ctx) })
	return v
}

// vacuumFirst is the vacuum of [Options.Grace].
func (s *session) vacuumFirst(ctx context.Context, old *snapshot.Array) error {
	if s.opt.Grace == 0 {
		return nil
	}
	if err := s.array.noteMove(ctx, old); err != nil {
		return err
	}
	v := s.newVacuum(ctx, s.opt.Grace, false)
	err := v.runAll(ctx)
	s.ledger.report.Freed += v.findings.Freed()
	return err
}

// needsVacuum reports whether an error means that chunk keys are to be freed first though
// the caller has asked for no vacuum. In a store that is private to this process, nobody
// reads superseded grids.
func (s *session) needsVacuum(err error) bool {
	if !errors.Is(err, ErrNoKeys) || s.opt.Grace != 0 || !driver.IsPrivate(s.hold.at.Store) {
		return false
	}
	s.opt.Grace = -1
	return true
}

// willFree reports whether a vacuum would free keys that will do, because none are free.
func (s *session) willFree(ctx context.Context, old *snapshot.Array) (bool, error) {
	if s.opt.Grace == 0 && !s.needsVacuum(ErrNoKeys) {
		return false, nil
	}
	t, err := s.array.request.target(old)
	if err != nil {
		return false, err
	}
	v := s.newVacuum(ctx, s.opt.Grace, true)
	err = v.runAll(ctx)
	return slices.ContainsFunc(v.freed.keys, func(k metadata.KeyEncoding) bool {
		return t == nil || t.keys == nil || sameKeys(k, *t.keys, old.Grid.Rank())
	}), err
}

// vacuum is one call of Vacuum.
type vacuum struct {
	array        *subject
	hold         *hold
	dry          bool
	grace        grace
	history      history                // as it was before anything was deleted
	storeRefusal func() (string, error) // why the store keeps chunks, or ""; asked once

	freed    freed
	findings VacuumReport
}

// freed is what a vacuum deletes.
type freed struct {
	keys   []metadata.KeyEncoding // of superseded grids
	merged []*lineage.Record      // of rechunks in place that have kept nothing
}

// grace is the time for which a superseded grid stays.
type grace struct {
	hold   *hold
	length time.Duration
	clock  time.Time // by the clock of the store, once it was asked
	begins bool      // a grace that has not begun begins now
	local  bool      // the clock of this machine counts, because nothing may be written
}

func (v *vacuum) runAll(ctx context.Context) error {
	if v.dry {
		old, err := v.array.fresh(ctx)
		if err != nil {
			return err
		}
		return v.reclaim(ctx, old, nil)
	}
	if err := v.array.writable(); err != nil {
		return err
	}
	lock, err := v.array.core.Lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	for range mostRounds {
		if done, err := v.attempt(ctx); done || err != nil {
			return err
		}
	}
	return errBusy
}

// attempt runs once. It returns false if another writer got in the way, in a store
// without locks.
func (v *vacuum) attempt(ctx context.Context) (done bool, err error) {
	// Under the lock, or behind the fence, no writer stages chunks that are deleted here.
	err = v.array.core.UpdateAs(ctx, v.array.core.Node.Node, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		v.findings = VacuumReport{} // of an earlier try
		v.freed, v.grace.clock = freed{}, time.Time{}
		stays := new(keptValues)
		return &publish.Change{
			Reclaim: func(ctx context.Context, b store.Batch) error { return v.reclaim(ctx, old, b) },
			Kept:    stays.add,
			Tidy: func(ctx context.Context, _ store.Batch) error {
				done = true
				if stays.refused {
					v.keepAll()
				}
				v.findings.Notes = append(v.findings.Notes, stays.notes()...)
				return v.forgetGone(ctx, old)
			},
		}, old, nil
	})
	return done, err
}

// noConditions is why chunks stay in a store that cannot delete them beside other
// writers.
const noConditions = "this store does not delete on conditions: stop other writers and run " + remedy.Vacuum + " with " + remedy.SingleWriter

// findStoreRefusal returns why the store keeps all chunks, or "".
func (v *vacuum) findStoreRefusal(ctx context.Context) (string, error) {
	if !v.array.core.Node.Fenced() {
		return "", nil
	}
	var err error
	if v.dry && v.array.writable() != nil { // nothing may be written to find out
		if !store.Can(v.hold.at.Store, store.OpDeleteIf) {
			err = store.ErrUnsupported
		}
	} else {
		err = v.hold.at.CheckDeletes(ctx)
	}
	if errors.Is(err, store.ErrUnsupported) {
		return noConditions, nil
	}
	return "", err
}

// keepAll takes the chunks from what is reported as deleted. Another machine of a service
// may refuse what one has done before.
func (v *vacuum) keepAll() {
	for i := range v.findings.Items {
		if n := &v.findings.Items[i]; (n.Kind == kindSuperseded || n.Kind == kindBeyond) && n.Kept == "" {
			n.Kept = noConditions
		}
	}
}

// reclaim finds what is to be deleted, and deletes it unless this is a dry run.
func (v *vacuum) reclaim(ctx context.Context, old *snapshot.Array, b store.Batch) error {
	found, left, merged, err := v.inventory(ctx, old)
	if err != nil {
		return err
	}
	for _, k := range encodings {
		n := found[k]
		if n == nil {
			// A crash may have come between deleting the last chunk and the record.
			if rank := old.Grid.Rank(); containKeys(found, k, rank) || sameKeys(k, old.Engine.Keys, rank) || v.history.record(k, rank) == nil {
				continue
			}
			n = &values{kind: kindSuperseded}
		}
		if err := v.reclaimGrid(ctx, old, b, k, n); err != nil {
			return err
		}
	}
	if len(v.freed.keys) > 0 && v.hold.at.Path.IsRoot() {
		v.findings.Notes = append(v.findings.Notes, noParents)
	}
	if err := v.reclaimMerged(ctx, merged); err != nil {
		return err
	}
	return v.reclaimLeftovers(ctx, left)
}

// noParents is the note about an array without groups above it.
const noParents = "no group above the array is known; if one has consolidated metadata, consolidate it again, or programs that open the array by it read fill values"

// inventory reads and lists what there is. It reads the claim last: nothing that was
// listed is of a later claim.
func (v *vacuum) inventory(ctx context.Context, old *snapshot.Array) (found map[metadata.KeyEncoding]*values, left []leftover, merged map[string]*VacuumItem, err error) {
	if v.history.records, err = v.hold.at.Records(ctx); err == nil {
		found, err = survey(ctx, v.hold.at, old)
	}
	if err == nil {
		left, err = leftovers(ctx, v.hold.at)
	}
	if err == nil {
		merged, err = v.mergedItems(ctx)
	}
	if err == nil {
		v.history.claim, err = v.hold.at.Claim(ctx)
	}
	if err == nil {
		v.history.chain = lineage.Chain(v.history.records, old.Doc)
		v.history.broken, err = v.history.whyBroken(ctx)
	}
	return found, left, merged, err
}

// reclaimGrid reports the values of one key encoding, and deletes them if they are not to
// be kept.
func (v *vacuum) reclaimGrid(ctx context.Context, old *snapshot.Array, b store.Batch, k metadata.KeyEncoding, n *values) error {
	item := VacuumItem{Kind: n.kind, Keys: n.example, First: n.first, Values: int64(len(n.keys)), Bytes: n.bytes}
	switch n.kind {
	case kindBeyond: // a longer document may have been put aside
		item.Kept = v.history.broken
	case kindSuperseded:
		var err error
		if item.Kept, item.Due, err = v.keepReason(ctx, k, old); err != nil {
			return err
		}
		if item.Unexplained = item.Kept == unexplainedReason; item.Unexplained {
			item.Kind = kindUnexplained
		}
		if item.Staged = v.history.stages(k, old); item.Staged {
			item.Kind = kindStaged
		}
	}
	if item.Kept == "" && item.Values > 0 {
		var err error
		if item.Kept, err = v.storeRefusal(); err != nil {
			return err
		}
	}
	if n.kind == kindSuperseded && item.Kept == "" {
		v.freed.keys = append(v.freed.keys, k)
	}
	if item.Values > 0 {
		v.findings.Items = append(v.findings.Items, item)
	}
	if v.dry || item.Kept != "" {
		return nil
	}
	if n.kind == kindSuperseded {
		if err := v.hold.at.NoteVacuum(ctx, k, old.Grid.Rank(), v.hold.durability); err != nil {
			return err
		}
	}
	// Without these records Revert refuses. A crash after the first deletion must not
	// leave a grid that can be reverted to.
	for _, r := range v.history.records {
		if n.kind == kindSuperseded && hasKeys(r.Superseded(), k, old.Grid.Rank()) {
			if err := v.hold.at.RemoveChunks(ctx, r); err != nil {
				return err
			}
		}
	}
	for _, key := range n.keys {
		if _, err := b.Write(ctx, store.Delete(key)); err != nil {
			return err
		}
	}
	return nil
}

// unexplainedReason is why values stay whose keys no document or record names.
const unexplainedReason = "no record says what they are: perhaps the document names other keys than the chunks have (varve check)"

// keepReason returns why a superseded grid must stay, or "", and when its grace ends.
func (v *vacuum) keepReason(ctx context.Context, k metadata.KeyEncoding, old *snapshot.Array) (why string, due time.Time, err error) {
	rank := old.Grid.Rank()
	if v.history.stages(k, old) {
		return "staged by a rechunk that is not finished: " + v.history.claim.Text(), due, nil
	}
	r := v.history.record(k, rank)
	switch {
	case v.history.broken != "":
		return v.history.broken, due, nil
	case r == nil:
		return unexplainedReason, due, nil
	}
	left, err := v.grace.left(ctx, r)
	if err != nil {
		return "", due, err
	}
	if left > 0 {
		due = time.Now().Add(left) // by the clock of this machine, for people
		return fmt.Sprintf("readers may still use it until %s", due.Format(time.RFC3339)), due, nil
	}
	why, err = v.otherDescription(ctx, k, old)
	return why, time.Time{}, err
}

// left returns for how long the grace of a superseded grid continues. It begins now
// if it has not begun.
func (g *grace) left(ctx context.Context, r *lineage.Record) (time.Duration, error) {
	// Ask for the time first. A store may correct its idea of the clock of its service
	// by a later answer. In this order, that can only make the grace seem younger.
	if err := g.askTime(ctx); err != nil {
		return 0, err
	}
	since, err := g.hold.at.GraceSince(ctx, r)
	if err != nil {
		return 0, err
	}
	if since.IsZero() {
		since = g.clock
		if g.begins {
			if err := g.hold.at.BeginGrace(ctx, r, g.hold.durability); err != nil {
				return 0, err
			}
		}
	}
	return g.remaining(since), nil
}

// remaining returns for how long the grace of something continues that began at a
// time.
func (g *grace) remaining(since time.Time) time.Duration {
	if g.length == 0 {
		// Times of some stores are accurate to a second or two, so since may be later
		// than now.
		return 0
	}
	return since.Add(g.length).Sub(g.clock)
}

// askTime asks the store for its time, by which the beginning of a grace is noted, too.
func (g *grace) askTime(ctx context.Context) (err error) {
	switch {
	case !g.clock.IsZero():
	case g.local:
		g.clock = time.Now()
	default:
		g.clock, err = g.hold.at.StoreTime(ctx)
	}
	return err
}

// otherDescription returns which other document describes chunks of an encoding, or "".
func (v *vacuum) otherDescription(ctx context.Context, k metadata.KeyEncoding, old *snapshot.Array) (string, error) {
	rank := old.Grid.Rank()
	// Readers that open the array by consolidated metadata never read its document.
	for p := v.hold.at.Path; !p.IsRoot(); {
		p = p.Parent()
		doc, err := v.array.core.Node.Listed(ctx, p)
		if err != nil {
			return "", err
		}
		if a, ok := doc.(*metadata.Array); ok && hasKeys(a, k, rank) {
			return fmt.Sprintf("the consolidated metadata of %q still describes it; consolidate it again", "/"+p.String()), nil
		}
	}
	if v.array.core.Node.Format() == 2 {
		return "", nil
	}
	names, err := tree.Shadowed(ctx, v.hold.at.Store, v.hold.at.Path)
	if err != nil || !slices.Contains(names, nodename.V2Array) {
		return "", err
	}
	data, _, err := v.hold.at.Store.Get(ctx, v.hold.at.Path.MustKey(nodename.V2Array), store.Request{Limit: v.array.core.Node.Limits.Document}, nil)
	if err != nil {
		return "", err
	}
	if doc, err := metadata.ParseArrayV2(data, nil, v.array.core.Node.Limits); err == nil && hasKeys(doc, k, rank) {
		return nodename.V2Array + " beside the document of format 3 still describes it", nil
	}
	return "", nil
}

// mergedItems returns what merges in place have kept, by their IDs. Earlier versions of
// this package made such merges.
func (v *vacuum) mergedItems(ctx context.Context) (map[string]*VacuumItem, error) {
	root := v.hold.at.MergedRoot()
	items := map[string]*VacuumItem{}
	for e, err := range store.List(ctx, v.hold.at.Store, root, store.Deep) {
		if err != nil {
			return nil, err
		}
		id, _, below := strings.Cut(e.Name, "/")
		if !below || !lineage.IsID(id) {
			continue // it is not ours
		}
		if items[id] == nil {
			items[id] = &VacuumItem{Kind: "merged", Keys: v.hold.at.Path.Rel(root.MustKey(e.Name))}
		}
		items[id].Values++
		items[id].Bytes += max(0, e.Size)
	}
	return items, nil
}

// reclaimMerged deletes the chunks that merges in place have kept, except for those of a
// merge that is not finished.
func (v *vacuum) reclaimMerged(ctx context.Context, items map[string]*VacuumItem) error {
	for _, r := range v.history.records {
		if !r.InPlace || v.history.broken != "" || v.history.claim != nil && v.history.claim.ID == r.ID {
			continue
		}
		v.freed.merged = append(v.freed.merged, r)
		if v.dry {
			continue
		}
		if err := v.hold.at.RemoveChunks(ctx, r); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(items)) {
		i := items[id]
		if i.Kept = v.history.broken; v.history.claim != nil && v.history.claim.ID == id {
			i.Staged, i.Kept = true, "staged by a rechunk that is not finished: "+v.history.claim.Text()
		}
		v.findings.Items = append(v.findings.Items, *i)
		if v.dry || i.Kept != "" {
			continue
		}
		if err := v.hold.at.RemoveMerged(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// forgetGone updates the records of the grids that are deleted. A conflict may have kept
// chunks of a grid, and then its record stays for the next vacuum.
//
// It goes by the records that were read before anything was deleted. Since then the keys
// are free, and a rechunk may have stored a record that it will publish.
func (v *vacuum) forgetGone(ctx context.Context, old *snapshot.Array) error {
	// A crash may have left links that are not needed.
	links := slices.ContainsFunc(v.history.records, func(r *lineage.Record) bool { return r.Gone })
	if v.history.broken != "" || len(v.freed.keys)+len(v.freed.merged) == 0 && !links {
		return nil
	}
	left, err := survey(ctx, v.hold.at, old)
	if err != nil {
		return err
	}
	rank := old.Grid.Rank()
	deleted := func(r *lineage.Record) bool {
		if r.InPlace {
			return r.Gone || slices.Contains(v.freed.merged, r)
		}
		// The present chunks have these keys again, after a revert. They are not
		// superseded.
		if r.Gone || hasKeys(r.Superseded(), old.Engine.Keys, rank) {
			return true
		}
		return slices.ContainsFunc(v.freed.keys, func(k metadata.KeyEncoding) bool {
			return !containKeys(left, k, rank) && hasKeys(r.Superseded(), k, rank)
		})
	}
	for _, r := range v.history.records {
		inUse := slices.Contains(v.history.chain, r) || v.history.claim != nil && r.ID == v.history.claim.ID
		if !inUse && deleted(r) {
			if err := v.hold.at.Remove(ctx, r); err != nil {
				return err
			}
		}
	}
	return v.hold.at.Forget(ctx, v.history.chain, deleted, v.hold.durability)
}

// reclaimLeftovers reports what belongs to no claim, and deletes it.
func (v *vacuum) reclaimLeftovers(ctx context.Context, list []leftover) error {
	if err := v.reclaimMark(ctx); err != nil {
		return err
	}
	items := map[string]*VacuumItem{}
	for _, l := range list {
		if v.history.claim != nil && l.id == v.history.claim.ID {
			continue
		}
		item := items[l.kind]
		if item == nil {
			item = &VacuumItem{Kind: l.kind, Keys: l.name}
			items[l.kind] = item
		}
		item.Values++
		item.Bytes += max(0, l.size)
		if v.dry {
			continue
		}
		if _, err := store.Write(ctx, v.hold.at.Store, store.Delete(v.hold.at.Path.MustKey(l.name)), store.Sync); err != nil {
			return err
		}
	}
	for _, kind := range []string{"records", "scratch"} {
		if item := items[kind]; item != nil {
			v.findings.Items = append(v.findings.Items, *item)
		}
	}
	return v.reclaimJournals(ctx)
}

// reclaimMark deletes the object that keeps the directory of the lock of staging, if a
// rechunk that was killed has left it. It keeps the object while a rechunk runs, such as
// the one that this vacuum is a part of.
func (v *vacuum) reclaimMark(ctx context.Context) error {
	key := v.hold.at.Path.MustKey(lockName)
	if _, locks := store.As[store.Locker](v.hold.at.Store); !locks || v.dry || v.history.claim != nil || v.hold.locked {
		return nil
	}
	if there, err := store.Exists(ctx, v.hold.at.Store, key); !there || err != nil {
		return err
	}
	unlock, _, err := lockDir(ctx, v.hold.at.Store, key, -1)
	if errors.Is(err, ErrClaimed) || errors.Is(err, store.ErrLocked) {
		return nil // it is in use
	}
	if err != nil {
		return err
	}
	return unlock()
}

// reclaimJournals deletes the journals of transactions that were rolled back, and whose
// writers have had time to notice.
func (v *vacuum) reclaimJournals(ctx context.Context) error {
	found, err := publish.Aborted(ctx, v.array.core.Node.Node)
	if err != nil || len(found) == 0 {
		return err
	}
	if err := v.grace.askTime(ctx); err != nil {
		return err
	}
	for _, key := range found {
		info, err := store.Stat(ctx, v.hold.at.Store, key)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		item := VacuumItem{Kind: "journal", Keys: key.String(), Values: 1, Bytes: info.Size}
		left := v.grace.remaining(info.Modified)
		switch {
		case info.Modified.IsZero():
			item.Kept = "the store does not say how old it is"
		case left > 0:
			item.Due = time.Now().Add(left)
			item.Kept = "its writer may still run"
		case !v.dry:
			_, err = store.Write(ctx, v.hold.at.Store, store.Delete(key), store.Sync)
		}
		if err != nil {
			return err
		}
		v.findings.Items = append(v.findings.Items, item)
	}
	return nil
}
