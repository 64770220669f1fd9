// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// DefaultAge is how old an object is, at the least, that a garbage collection deletes.
const DefaultAge = 7 * 24 * time.Hour

// GarbageOptions are those of [Repository.CollectGarbage]. Nil and the zero value are the
// defaults.
type GarbageOptions struct {
	// OlderThan is how old an object is, at the least, that is deleted, by the clock of
	// the store. 0 is [DefaultAge], and what is below 0 is no age. Sessions that last
	// longer fail when they commit.
	OlderThan time.Duration
	// For bounds the time of the collection. 0 is no bound. What was found to be live by
	// then is stored, so the next collection goes on from there.
	For time.Duration
	// Backups is how many former objects repo stay, the latest ones. 0 keeps all. Those
	// stay, too, that are not old or that the log of the repository needs. Commits that
	// another writer has overwritten are found in former objects only.
	Backups int
	// DryRun deletes nothing and changes nothing. It takes the clock of this machine.
	DryRun bool
	// Progress, if it is not nil, is told how many objects were visited: "snapshots",
	// "manifests" and "objects". It is called by one goroutine at a time.
	Progress func(what string, done int64)
}

// Deleted counts objects that were deleted, or would be in a dry run.
type Deleted struct{ Objects, Bytes int64 }

// add counts an object.
func (d *Deleted) add(bytes int64) { d.Objects, d.Bytes = d.Objects+1, d.Bytes+bytes }

// GarbageReport says what a garbage collection has done.
type GarbageReport struct {
	Cutoff time.Time // objects that were stored before may be deleted
	// Released is how many snapshots were taken out of the object repo, to which no
	// branch and no tag leads.
	Released                                   int
	Snapshots, Transactions, Manifests, Chunks Deleted
	Backups                                    Deleted // former objects repo
	Records                                    Deleted // of former collections
	// Young counts objects that nothing names, and that stay because of their age.
	Young int64
	// Timeless counts objects that nothing names, and that stay because the store does
	// not say when they were stored.
	Timeless int64
	// Foreign counts names below the folders of objects that are no IDs. They stay.
	Foreign int64
	// Stopped means that the time was over before all was deleted. Repeat the collection.
	Stopped bool
}

// garbage is one garbage collection.
type garbage struct {
	*survey
	opt    GarbageOptions
	report *GarbageReport
	end    time.Time // zero without a bound

	chunks format.Table[struct{}] // that live snapshots name
	old    format.Table[struct{}] // snapshots that may be deleted because of their age
	logs   map[ID]bool            // transaction logs that stay

	version  store.Version // of the object repo that was seen last
	released bool          // repo has no snapshots that may be deleted
	resumed  bool          // an interrupted collection has stored its marks
	visited  int64
}

// The folders of objects, in the order in which garbage is deleted. After a crash,
// nothing that is left names what is gone.
const (
	snapshotFolder    = "snapshots"
	transactionFolder = "transactions"
	manifestFolder    = "manifests"
	chunkFolder       = "chunks"

	backupFolder = "overwritten" // of former objects repo
)

// The names of objects below the repository.
func snapshotName(id ID) string    { return snapshotFolder + "/" + id.String() }
func transactionName(id ID) string { return transactionFolder + "/" + id.String() }
func manifestName(id ID) string    { return manifestFolder + "/" + id.String() }
func chunkObject(id ID) string     { return chunkFolder + "/" + id.String() }

var folders = []string{snapshotFolder, transactionFolder, manifestFolder, chunkFolder}

// errTime ends a collection whose time is over.
var errTime = errors.New("the time is over")

// CollectGarbage deletes the snapshots, transaction logs, manifests and chunks that no
// branch and no tag leads to, and that are older than the options say. It deletes nothing
// if it cannot read all that is live.
//
//  1. The store tells its time. Objects before the cutoff are old.
//  2. All snapshots stay that a branch or tag leads to, or that are not old. They, their
//     manifests and chunks, and the transaction logs that they name, are marked.
//  3. One conditional write takes the other snapshots out of the object repo. What it has
//     then is marked, too.
//  4. Old objects without a mark are deleted. Before each batch of deletions, what has
//     come into the object repo since is marked.
//
// It takes about 16 bytes of memory for each chunk that is live, and the manifests that
// it reads at once. Objects with other names than IDs stay.
func (r *Repository) CollectGarbage(ctx context.Context, opt *GarbageOptions) (*GarbageReport, error) {
	g := &garbage{report: &GarbageReport{}, logs: map[ID]bool{}}
	if opt != nil {
		g.opt = *opt
	}
	switch {
	case g.opt.OlderThan == 0:
		g.opt.OlderThan = DefaultAge
	case g.opt.OlderThan < 0:
		g.opt.OlderThan = 0
	}
	if g.opt.For > 0 {
		g.end = time.Now().Add(g.opt.For)
	}
	g.survey = r.newSurvey(g.opt.Progress)
	g.onManifest = func(m *format.Manifest) error { return addChunks(m, &g.chunks) }
	err := g.collect(ctx)
	if g.report.Stopped = errors.Is(err, errTime); g.report.Stopped {
		err = g.storeMarks(ctx)
	}
	return g.report, err
}

// collect makes the steps of a collection.
func (g *garbage) collect(ctx context.Context) error {
	if _, err := g.look(ctx); err != nil {
		return err
	}
	for _, folder := range append(slices.Clone(folders), backupFolder) {
		// What a link leads to may belong to another repository.
		if err := store.DirectoriesOf(g.store).CheckTree(g.folder(folder)); err != nil {
			return err
		}
	}
	now, err := g.storeTime(ctx)
	if err != nil {
		return err
	}
	g.report.Cutoff = now.Add(-g.opt.OlderThan)
	for e, err := range g.objects(ctx, snapshotFolder) {
		if err != nil {
			return err
		}
		if g.isOld(e) {
			g.old.Add(e.id, struct{}{})
		}
	}
	if err := g.release(ctx); err != nil {
		return err
	}
	for _, folder := range folders {
		if err := g.sweep(ctx, folder); err != nil {
			return err
		}
	}
	if err := g.sweepRecords(ctx); err != nil {
		return err
	}
	if err := g.sweepBackups(ctx); err != nil {
		return err
	}
	if err := g.sweepTemporary(ctx); err != nil {
		return err
	}
	return g.dropMarks(ctx)
}

// sweepBackups deletes old former objects repo beyond those that the options keep.
func (g *garbage) sweepBackups(ctx context.Context) error {
	if g.opt.Backups <= 0 {
		return nil
	}
	repo, err := g.look(ctx)
	if err != nil {
		return err
	}
	needed := map[string]bool{} // by the log
	for was, err := range g.chain(ctx, repo) {
		if errors.Is(err, fs.ErrNotExist) {
			break // the log ends there
		}
		if err != nil {
			return err
		}
		needed[was.name] = true
	}
	var former []store.Entry
	for e, err := range store.List(ctx, g.store, g.folder(backupFolder), store.Flat|store.WithVersions) {
		if err != nil {
			return err
		}
		if isBackup(e) {
			former = append(former, e)
		}
	}
	sort.Slice(former, func(i, j int) bool { return former[i].Name < former[j].Name }) // they count down
	former = slices.DeleteFunc(former[min(g.opt.Backups, len(former)):], func(e store.Entry) bool {
		return needed[e.Name] || !g.isOld(found{Entry: e})
	})
	return g.deleteFormer(ctx, former, &g.report.Backups)
}

// deleteFormer deletes objects below overwritten/.
func (g *garbage) deleteFormer(ctx context.Context, all []store.Entry, of *Deleted) error {
	for list := range slices.Chunk(all, mostDeleted) {
		if err := g.timely(); err != nil {
			return err
		}
		if err := g.deleteNames(ctx, backupFolder, list, of); err != nil {
			return err
		}
	}
	return nil
}

// sweepTemporary deletes the temporary files of writers that have crashed, if the store
// is a folder with the repository alone. Files of writers of which it is not known
// whether they run are deleted if they are old.
func (g *garbage) sweepTemporary(ctx context.Context) error {
	if g.opt.DryRun || g.root != (store.Path{}) {
		return nil
	}
	_, err := filestore.RemoveTemporary(ctx, g.store, time.Since(g.report.Cutoff))
	if errors.Is(err, store.ErrUnsupported) {
		return nil // other stores have no such files
	}
	return err
}

// folder returns the path of a folder of objects.
func (r *Repository) folder(name string) store.Path {
	path, err := r.root.Join(name)
	if err != nil {
		panic(err) // the names are constants
	}
	return path
}

// timely returns an error if the time of the collection is over.
func (g *garbage) timely() error {
	if !g.end.IsZero() && !time.Now().Before(g.end) {
		return errTime
	}
	return nil
}

// storeTime returns the time of the store. It stores a chunk that nothing names: what a
// crash here leaves is garbage, too.
func (g *garbage) storeTime(ctx context.Context) (time.Time, error) {
	if g.opt.DryRun {
		return time.Now(), nil
	}
	key := g.folder(chunkFolder).MustKey(newID().String())
	if _, err := store.Write(ctx, g.store, store.Put(key, []byte("a question for the time")), store.Flush); err != nil {
		return time.Time{}, err
	}
	info, err := store.Stat(ctx, g.store, key)
	_, failed := store.Write(store.Finishing(ctx), g.store, store.Delete(key), store.Flush)
	if err == nil && info.Modified.IsZero() {
		err = fmt.Errorf("%w: the store does not say when objects were stored, so it is not known which are old", zarr.ErrUnsupported)
	}
	return info.Modified, errors.Join(err, failed)
}

// found is an object of a folder.
type found struct {
	store.Entry
	id ID
}

// objects yields the objects in a folder. It counts other names.
func (g *garbage) objects(ctx context.Context, folder string) func(yield func(found, error) bool) {
	return func(yield func(found, error) bool) {
		for e, err := range store.List(ctx, g.store, g.folder(folder), store.Flat|store.WithVersions) {
			if err != nil {
				yield(found{}, err)
				return
			}
			g.visited++
			g.progress("objects", g.visited)
			id, ok := objectOf(e)
			if !ok {
				g.report.Foreign++
				continue
			}
			if !yield(found{e, id}, nil) {
				return
			}
		}
	}
}

// objectOf returns the ID of an object in a folder. Other names are not of objects, also
// the name of an ID in small letters.
func objectOf(e store.Entry) (id ID, ok bool) {
	id, ok = format.ParseObjectID(e.Name)
	return id, ok && !e.Dir && id.String() == e.Name
}

// isOld reports whether an object may be deleted because of its age.
func (g *garbage) isOld(e found) bool {
	return !e.Modified.IsZero() && e.Modified.Before(g.report.Cutoff)
}

// look reads the object repo.
func (g *garbage) look(ctx context.Context) (*format.Repository, error) {
	data, info, err := g.store.Get(ctx, g.root.MustKey(repositoryKey), store.Request{Limit: g.limit}, nil)
	if err != nil {
		if is, failed := g.state(ctx); failed == nil && is.Repository == nil {
			return nil, errV1
		}
		return nil, fmt.Errorf("%s: %w", g.root.MustKey(repositoryKey), err)
	}
	repo, err := g.parseRepository(data)
	if err == nil {
		err = writable(repo)
	}
	g.version = info.Version
	return repo, err
}

// kept reports for each snapshot of the object repo whether it stays there.
func (g *garbage) kept(repo *format.Repository) []bool {
	kept := repo.Reachable()
	for i, s := range repo.Snapshots {
		if _, old := g.old.Of(s.ID); !old || g.released {
			kept[i] = true
		}
	}
	return kept
}

// addLost adds to the old snapshots those that have no object any more, and to which
// nothing leads. What tells their age is the object repo. Nobody can read them, so they
// would stop every collection.
func (g *garbage) addLost(ctx context.Context, repo *format.Repository) error {
	for i, reached := range repo.Reachable() {
		s := repo.Snapshots[i]
		if _, old := g.old.Of(s.ID); old || reached || !s.Time.Before(g.report.Cutoff) {
			continue
		}
		_, err := store.Stat(ctx, g.store, g.root.MustKey(snapshotName(s.ID)))
		if errors.Is(err, fs.ErrNotExist) {
			g.old.Add(s.ID, struct{}{})
		} else if err != nil {
			return err
		}
	}
	return nil
}

// unread adds to the error for a snapshot that cannot be read why it is needed.
func (g *garbage) unread(repo *format.Repository, name string, err error) error {
	text, _ := strings.CutPrefix(name, snapshotFolder+"/")
	id, _ := format.ParseObjectID(text) // or no snapshot has it
	at, ok := repo.FindSnapshot(id)
	if !ok {
		return err
	}
	for kind, refs := range map[string][]format.Reference{"branch": repo.Branches, "tag": repo.Tags} {
		for _, ref := range refs {
			for i := ref.Snapshot; i >= 0; i = repo.Snapshots[i].Parent {
				if i == at {
					return fmt.Errorf("%w; the %s %q leads to it: put the object back, or move or delete the %s", err, kind, ref.Name, kind)
				}
			}
		}
	}
	return fmt.Errorf("%w; no branch and no tag leads to it: put the object back, or collect garbage when its commit of %s is older than the cutoff", err, repo.Snapshots[at].Time.UTC().Format(time.RFC3339))
}

// mark marks the snapshots that stay, and all that they name.
func (g *garbage) mark(ctx context.Context, repo *format.Repository) error {
	if err := g.timely(); err != nil {
		return err
	}
	g.failed = func(name string, err error) error { return g.unread(repo, name, err) }
	if !g.end.IsZero() {
		within, cancel := context.WithDeadlineCause(ctx, g.end, errTime)
		defer cancel()
		ctx = within
	}
	var ids []ID
	for i, kept := range g.kept(repo) {
		if s := repo.Snapshots[i]; kept {
			ids, g.logs[s.ID] = append(ids, s.ID), true
			for _, id := range s.Pruned {
				g.logs[id] = true
			}
		}
	}
	together := max(1, len(ids))
	if !g.end.IsZero() {
		together = min(together, visitedTogether)
	}
	for group := range slices.Chunk(ids, together) {
		err := g.visit(ctx, group)
		if err == nil {
			continue
		}
		for _, id := range group {
			delete(g.snapshots, id) // some of its manifests may not be marked
		}
		if context.Cause(ctx) == errTime {
			return errTime
		}
		return err
	}
	return nil
}

// visitedTogether is how many snapshots are visited before their manifests are, if the
// time is bounded. These are read again after the time was over.
var visitedTogether = 256 // less in tests

// release marks what stays, and takes the snapshots that do not out of the object repo.
func (g *garbage) release(ctx context.Context) error {
	repo, err := g.look(ctx)
	if err == nil {
		err = g.addLost(ctx, repo)
	}
	if err == nil {
		err = g.loadMarks(ctx, repo)
	}
	if err == nil {
		err = g.mark(ctx, repo)
	}
	if err != nil {
		return err
	}
	if g.opt.DryRun {
		kept := g.kept(repo)
		g.report.Released = len(kept) - count(kept)
		return nil
	}
	var entry time.Time // in the log
	err = g.update(ctx, func(repo *format.Repository, again bool) (u format.Update, err error) {
		if again && slices.ContainsFunc(repo.Updates, func(u format.Update) bool { return u.Kind == format.GarbageCollected && u.Time.Equal(entry) }) {
			return u, errPublished
		}
		entry = time.Now()
		if len(repo.Updates) > 0 {
			entry = later(entry, repo.Updates[0].Time)
		}
		// Commits that read the entry need the record.
		if err := g.putRecord(ctx, entry, g.opt.OlderThan); err != nil {
			return u, err
		}
		kept := g.kept(repo)
		g.report.Released = len(kept) - count(kept)
		repo.Retain(kept, func(i int) bool { return kept[i] })
		return format.Update{Kind: format.GarbageCollected, Time: entry}, nil
	})
	// The object repo is another one now, so what was committed since is marked before
	// anything is deleted.
	g.released = err == nil
	return err
}

func count(list []bool) (n int) {
	for _, is := range list {
		if is {
			n++
		}
	}
	return n
}

// refresh marks what the object repo has now, if it has changed since it was read last.
// Sessions of other programs do not look for collections, and may have committed chunks
// that are old.
func (g *garbage) refresh(ctx context.Context) error {
	info, err := store.Stat(ctx, g.store, g.root.MustKey(repositoryKey))
	if err != nil || info.Version == g.version {
		return err
	}
	repo, err := g.look(ctx)
	if err != nil {
		return err
	}
	return g.mark(ctx, repo)
}

// isMarked reports whether an object of a folder stays.
func (g *garbage) isMarked(folder string, id ID) bool {
	switch folder {
	case snapshotFolder:
		return g.snapshots[id]
	case transactionFolder:
		return g.logs[id]
	case manifestFolder:
		return g.manifests[id]
	}
	_, is := g.chunks.Of(id)
	return is
}

// mostDeleted is how many objects are deleted between two looks at the object repo.
const mostDeleted = 1000

// sweep deletes what is garbage in a folder.
func (g *garbage) sweep(ctx context.Context, folder string) error {
	var batch []found
	for e, err := range g.objects(ctx, folder) {
		if err == nil {
			err = g.timely()
		}
		if errors.Is(err, errTime) {
			// A listing begins anew the next time, so what this one has found goes now.
			return cmp.Or(g.delete(ctx, folder, batch), err)
		}
		if err != nil {
			return err
		}
		switch {
		case g.isMarked(folder, e.id):
		case e.Modified.IsZero():
			g.report.Timeless++
		case !g.isOld(e):
			g.report.Young++
		default:
			batch = append(batch, e)
		}
		if len(batch) == mostDeleted {
			if err := g.delete(ctx, folder, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	return g.delete(ctx, folder, batch)
}

// deletedAtOnce is the number of concurrent deletions.
const deletedAtOnce = 32

// delete deletes objects of a folder that are still not marked.
func (g *garbage) delete(ctx context.Context, folder string, list []found) error {
	if len(list) == 0 {
		return nil
	}
	of := map[string]*Deleted{snapshotFolder: &g.report.Snapshots, transactionFolder: &g.report.Transactions, manifestFolder: &g.report.Manifests, chunkFolder: &g.report.Chunks}[folder]
	if !g.opt.DryRun {
		if err := g.refresh(ctx); err != nil {
			return err
		}
	}
	var entries []store.Entry
	for _, e := range list {
		if !g.isMarked(folder, e.id) {
			entries = append(entries, e.Entry)
		}
	}
	return g.deleteNames(ctx, folder, entries, of)
}

// deleteNames deletes objects of a folder, and counts them.
func (g *garbage) deleteNames(ctx context.Context, folder string, list []store.Entry, of *Deleted) error {
	if g.opt.DryRun {
		for _, e := range list {
			of.add(e.Size)
		}
		return nil
	}
	b, err := store.NewBatch(ctx, g.store, store.Flush)
	if err != nil {
		return err
	}
	defer b.Discard()
	work, within := errgroup.WithContext(ctx)
	work.SetLimit(deletedAtOnce)
	for _, e := range list {
		work.Go(func() error {
			_, err := b.Write(within, store.Delete(g.folder(folder).MustKey(e.Name)))
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	for _, e := range list {
		of.add(e.Size)
	}
	return b.Commit(ctx)
}

func compareIDs(a, b ID) int { return bytes.Compare(a[:], b[:]) }

// A garbage collection deletes what no snapshot names and what is older than its cutoff.
// The chunks of a session that is not committed are such objects. So that a commit never
// publishes references to chunks that are deleted:
//
//  1. The collection stores a record of its cutoff, and then an entry in the log of the
//     object repo, by the conditional write of any change. It deletes after that.
//  2. A commit before the entry is seen by the collection, and its chunks stay.
//  3. A commit after the entry reads the entry and the record. It fails if its session
//     began before the cutoff, by the clock of the store, or if a snapshot whose chunks
//     the session may name is gone.
//
// Other programs make the entry without the record. Then the cutoff is not known, and
// sessions that began before the entry fail.

// ErrCollected means that garbage was collected since a session began, so that chunks of
// the session may be deleted. Nothing was published. Begin another session and repeat the
// change. It is a [store.ErrConflict].
var ErrCollected error = &kindError{"garbage was collected since the session began", store.ErrConflict}

// beginning is when a session began, and what it depends on.
type beginning struct {
	at     time.Time // by the clock of this machine
	update time.Time // of the last entry of the log
	// sources are the snapshots of which the session may name chunks: its bases, and
	// those from which chunks were copied.
	sources []ID
}

// begun returns the beginning of a session that begins now.
func begun(repo *format.Repository, base ID) beginning {
	b := beginning{at: time.Now(), sources: []ID{base}}
	if len(repo.Updates) > 0 {
		b.update = repo.Updates[0].Time
	}
	return b
}

// add makes a beginning that of chunks of another one, too. That of a snapshot has no
// times.
func (b *beginning) add(o beginning) {
	if !o.at.IsZero() {
		if o.at.Before(b.at) {
			b.at = o.at
		}
		if o.update.Before(b.update) {
			b.update = o.update
		}
	}
	for _, id := range o.sources {
		if !slices.Contains(b.sources, id) {
			b.sources = append(b.sources, id)
		}
	}
}

// age returns how long ago the session began. The clock may have been set since, or stood
// still while the machine slept.
func (b beginning) age() time.Duration {
	return max(time.Since(b.at), time.Now().Round(0).Sub(b.at.Round(0)))
}

// clockSlack is how much times of objects may be wrong: services round to seconds.
const clockSlack = 5 * time.Second

// checkCollected returns an error if garbage was collected since the session began, and
// objects of the session may be deleted.
func (c *commit) checkCollected(ctx context.Context, repo *format.Repository) error {
	for u, err := range c.repository.updates(ctx, repo) {
		if err != nil {
			return err
		}
		if !u.Time.After(c.began.update) {
			return nil
		}
		if u.Kind != format.GarbageCollected {
			continue
		}
		refused := func(why string) error {
			return fmt.Errorf("%w, at %s, and %s: nothing is published; repeat the change in a new session", ErrCollected, u.Time.Format(time.RFC3339), why)
		}
		// The session may name chunks of these at other places.
		for _, id := range c.began.sources {
			if _, ok := repo.FindSnapshot(id); !ok {
				return refused(fmt.Sprintf("the snapshot %v, with which the session began or from which it has copied, is gone", id))
			}
		}
		before, known, err := c.repository.cutoff(ctx, u.Time)
		if err != nil {
			return err
		}
		if !known {
			return refused("by a program that does not say how old what it deletes is")
		}
		// What this commit has just stored tells the time of the store.
		info, err := store.Stat(ctx, c.repository.store, c.repository.root.MustKey(snapshotName(c.snapshot.ID)))
		if errors.Is(err, fs.ErrNotExist) {
			return refused("what it has stored is deleted")
		}
		if err != nil {
			return err
		}
		if info.Modified.Add(-c.began.age() - clockSlack).Before(before) {
			return refused("the session began before the time from which on objects stay, " + before.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// updates yields the log of the repository, the latest entry first, also those that are
// in former objects.
func (r *Repository) updates(ctx context.Context, repo *format.Repository) iter.Seq2[format.Update, error] {
	return func(yield func(format.Update, error) bool) {
		for was, err := range r.chain(ctx, repo) {
			if err != nil {
				yield(format.Update{}, err)
				return
			}
			for _, u := range was.Updates {
				if !yield(u, nil) {
					return
				}
			}
		}
	}
}

// link is an object repo that has a part of the log.
type link struct {
	*format.Repository
	name string // of a former object, below overwritten/
}

// chain yields the object repo and the former ones that have the log before it.
func (r *Repository) chain(ctx context.Context, repo *format.Repository) iter.Seq2[link, error] {
	return func(yield func(link, error) bool) {
		seen := map[string]bool{}
		is, err := link{Repository: repo}, error(nil)
		for yield(is, err) && err == nil && is.Before != "" {
			name := is.Before
			if is.Repository, err = r.former(ctx, name); err == nil && seen[name] {
				err = r.fail(backupFolder+"/"+name, fmt.Errorf("%w: the log leads in a circle", format.ErrDamaged))
			}
			is.name, seen[name] = name, true
		}
	}
}

// former reads a former object repo, by its name below overwritten/.
func (r *Repository) former(ctx context.Context, name string) (*format.Repository, error) {
	if strings.ContainsAny(name, "/\\") || !strings.HasPrefix(name, repositoryKey+".") {
		return nil, r.fail(repositoryKey, fmt.Errorf("%w: %q is no name of a former object", format.ErrDamaged, name))
	}
	key, err := r.root.Key(backupFolder + "/" + name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", zarr.ErrCorrupt, err)
	}
	data, _, err := r.store.Get(ctx, key, store.Request{Limit: r.limit}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return r.parseRepository(data)
}
