// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// program is the name of the writer in objects.
const program = "varve"

// ErrNothing means that a session has no changes to commit.
var ErrNothing = errors.New("the session has no changes")

// Commit publishes the changes of the session as a new snapshot of its branch, and ends
// the session. If somebody else has committed to the branch since the session began, the
// error is a [*ConflictError] and names that commit. Nothing is published then, and the
// session goes on: [Session.Rebase] may move it to the tip.
//
// Manifests, the transaction log and the snapshot are stored first. Then one conditional
// write of the object repo publishes them, as the specification describes.
func (s *Session) Commit(ctx context.Context, message string) (ID, error) {
	return s.commit(ctx, message, false)
}

// Amend is Commit, but the new snapshot takes the place of the base of the session, and
// has the changes of both. A session without changes replaces the message and metadata.
// The replaced snapshot stays until garbage is collected, and where a tag or another
// branch leads to it.
func (s *Session) Amend(ctx context.Context, message string) (ID, error) {
	return s.commit(ctx, message, true)
}

func (s *Session) commit(ctx context.Context, message string, amends bool) (ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return ID{}, ErrEnded
	}
	if !utf8.ValidString(message) {
		return ID{}, fmt.Errorf("%w: the message of a commit is not UTF-8", zarr.ErrInvalidArgument)
	}
	if s.failed != nil {
		return ID{}, s.failed
	}
	if s.base.content.Later {
		return ID{}, errLater
	}
	if err := s.checkFinished(ctx); err != nil {
		return ID{}, err
	}
	c := &commit{Session: s, amends: amends, snapshot: &format.Snapshot{ID: newID(), Message: message, Metadata: s.items, Extra: s.base.content.Extra}}
	c.log.ID = c.snapshot.ID
	// The time has to be later than that of the snapshot before, whatever the clock says.
	c.snapshot.Time = later(time.Now(), s.base.content.Time)
	if err := c.gather(ctx); err != nil {
		return ID{}, err
	}
	if c.isEmpty() && (!amends || c.tellsSame()) {
		return ID{}, ErrNothing
	}
	if amends {
		if err := c.merge(ctx); err != nil {
			return ID{}, err
		}
	}
	if err := c.store(ctx); err != nil {
		return ID{}, err
	}
	err := c.publish(ctx)
	if s.ended = err == nil || errors.Is(err, zarr.ErrOutcomeUnknown); err != nil {
		return c.snapshot.ID, err
	}
	return c.snapshot.ID, nil
}

// merge adds the log of the commit that is amended. A commit that was rebased onto one of
// the two has to be compared with both.
func (c *commit) merge(ctx context.Context) error {
	if c.base.ID() == format.InitialSnapshot {
		return fmt.Errorf("%w: the first snapshot of a repository is never amended: commit", zarr.ErrInvalidArgument)
	}
	l, err := c.repository.transactions(ctx, c.base.ID())
	if err != nil {
		return err
	}
	if l.Later {
		return c.repository.fail(transactionName(c.base.ID()), errLater)
	}
	if len(l.Moves) > 0 {
		return fmt.Errorf("%w: the commit %v has moved nodes, and such a commit is not amended: commit", zarr.ErrUnsupported, c.base.ID())
	}
	c.log.Merge(l)
	return nil
}

// forgotten are the directories below __varve that a commit leaves out: records of grids
// before, which the history of the repository has, and what changes that have ended left.
var forgotten = []string{"/__varve/grids/", "/__varve/aside/", "/__varve/parts/", "/__varve/scratch/"}

// checkFinished returns an error if something is kept aside that the session cannot leave
// out: a change that is not finished, a reservation, the record of a follower.
func (s *Session) checkFinished(ctx context.Context) error {
	for key := range s.early {
		return fmt.Errorf("%w: %s is no chunk of an array: store the document of the array, too", zarr.ErrInvalidArgument, key)
	}
	for e, err := range store.List(ctx, s.aside, store.Path{}, store.Deep) {
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(forgotten, func(dir string) bool { return strings.Contains("/"+e.Name, dir) }) {
			return fmt.Errorf("%w: %s is kept beside the array, and a repository has no place for it: end the change, the reservation or the follower first", zarr.ErrUnsupported, e.Name)
		}
	}
	return nil
}

// later returns a time, or the first one after another if it is not later.
func later(t, after time.Time) time.Time {
	t = t.UTC().Truncate(time.Microsecond)
	if !t.After(after) {
		t = after.Add(time.Microsecond)
	}
	return t
}

// commit is what a session publishes.
type commit struct {
	*Session
	amends   bool
	snapshot *format.Snapshot
	log      format.TransactionLog
	objects  []object // to be stored, the manifests first
}

// object is one that is stored before the publication.
type object struct {
	name string
	data []byte
}

// isEmpty reports whether the log has no changes.
func (c *commit) isEmpty() bool {
	return len(c.log.NewGroups)+len(c.log.NewArrays)+len(c.log.DeletedGroups)+len(c.log.DeletedArrays)+len(c.log.UpdatedArrays)+len(c.log.UpdatedGroups)+len(c.log.Chunks) == 0
}

// tellsSame reports whether message and metadata are those of the base.
func (c *commit) tellsSame() bool {
	was := c.base.content
	return c.snapshot.Message == was.Message && slices.EqualFunc(c.snapshot.Metadata, was.Metadata, func(x, y format.Item) bool {
		return x.Name == y.Name && bytes.Equal(x.Value, y.Value)
	})
}

// gather makes the nodes and manifests of the snapshot.
func (c *commit) gather(ctx context.Context) error {
	paths := map[string]bool{}
	for _, n := range c.base.content.Nodes {
		paths[n.Path] = true
	}
	for path := range c.nodes {
		paths[path] = true
	}
	files := map[ID]format.ManifestFile{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if err := c.gatherNode(ctx, path, files); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(path, "/"), err)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(files), compareIDs) {
		c.snapshot.Files = append(c.snapshot.Files, files[id])
	}
	c.log.Sort()
	return nil
}

// gatherNode adds the node at a path, if there is one, and what has become of the one
// that was there.
func (c *commit) gatherNode(ctx context.Context, path string, files map[ID]format.ManifestFile) error {
	var was *format.Node
	if i, ok := c.base.content.FindNode(path); ok {
		was = &c.base.content.Nodes[i]
	}
	is := c.node(path)
	if was != nil && (is == nil || is.id != was.ID) {
		if was.IsArray {
			c.log.DeletedArrays = append(c.log.DeletedArrays, was.ID)
		} else {
			c.log.DeletedGroups = append(c.log.DeletedGroups, was.ID)
		}
		was = nil
	}
	if is == nil {
		return nil
	}
	if was != nil && c.nodes[path] == nil && c.chunks[is.id].len() == 0 {
		// Nothing has changed, also in a document that this program does not understand.
		c.snapshot.Nodes = append(c.snapshot.Nodes, *was)
		return c.keepFiles(was.Manifests, files)
	}
	n := format.Node{ID: is.id, Path: path, Document: is.document}
	if was != nil {
		n.Extra = was.Extra
	}
	err := error(nil)
	if is.shape != nil {
		err = c.gatherArray(ctx, &n, is, was, files)
	} else {
		n.Document, err = alone(is.document)
	}
	if err != nil {
		return err
	}
	c.note(&n, was)
	c.snapshot.Nodes = append(c.snapshot.Nodes, n)
	return nil
}

// note adds a node to the log that is new or has another document.
func (c *commit) note(n, was *format.Node) {
	list := &c.log.UpdatedGroups
	switch {
	case was == nil && n.IsArray:
		list = &c.log.NewArrays
	case was == nil:
		list = &c.log.NewGroups
	case bytes.Equal(n.Document, was.Document):
		return
	case n.IsArray:
		list = &c.log.UpdatedArrays
	}
	*list = append(*list, n.ID)
}

// keepFiles adds what the base says of manifests.
func (c *commit) keepFiles(refs []format.ManifestRef, files map[ID]format.ManifestFile) error {
	for _, m := range refs {
		f, ok := c.base.content.FindFile(m.ID)
		if !ok {
			return fmt.Errorf("%w: the snapshot %v does not list the manifest %v", format.ErrDamaged, c.base.ID(), m.ID)
		}
		files[m.ID] = f
	}
	return nil
}

// gatherArray makes the manifests of an array. Its document gets the form that the
// reference reads: keys such as c/0/1, and a list for every axis of a rectilinear grid.
func (c *commit) gatherArray(ctx context.Context, n *format.Node, is *staged, was *format.Node, files map[ID]format.ManifestFile) error {
	doc, lengths, err := portable(is.array)
	if err != nil {
		return err
	}
	if n.IsArray, n.Names = true, is.array.DimensionNames; doc != nil {
		if n.Document, err = doc.Marshal(metadata.Limits{}); err != nil {
			return err
		}
	}
	for i, chunks := range lengths {
		n.Shape = append(n.Shape, format.Dimension{Length: uint64(is.array.Shape[i]), Chunks: uint64(chunks)})
	}
	isMoved := true
	if base, keys := c.base.array(n.Path, is.id); base != nil {
		isMoved = keys != is.keys
	}
	return c.gatherChunks(ctx, n, was, is, isMoved, files)
}

// rectilinear is the name of the grid with a list of edges for each axis.
const rectilinear = "rectilinear"

// compact returns JSON without spaces.
func compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

// alone returns the document of a group without consolidated metadata. A snapshot has all
// documents in one object, and other programs would leave the copies stale: the reference
// writes none.
func alone(document []byte) ([]byte, error) {
	n, err := metadata.Parse(document, metadata.Limits{})
	if err != nil {
		return nil, err
	}
	g, ok := n.(*metadata.Group)
	if !ok || g.Consolidated == nil {
		return document, nil
	}
	return g.WithConsolidated(nil).Marshal(metadata.Limits{})
}

// portable returns the document of an array as the reference reads it, nil if it is so
// already, and the number of chunks along each axis, with those beyond its end.
func portable(a *metadata.Array) (*metadata.Array, []int64, error) {
	g, err := grid.Parse(a.Shape, a.ChunkGrid.Name, a.ChunkGrid.Configuration, nil)
	if err != nil {
		return nil, nil, err
	}
	keys, err := metadata.ParseKeyEncoding(a.ChunkKeyEncoding)
	if err != nil {
		return nil, nil, err
	}
	var out *metadata.Array
	if keys != metadata.DefaultSlash {
		out = a.WithKeyEncoding(metadata.DefaultSlash)
	}
	if listed := g.AppendListed(nil); g.Name() == rectilinear && !bytes.Equal(compact(listed), compact(a.ChunkGrid.Configuration)) {
		if out == nil {
			out = a
		}
		out = out.Resized(a.Shape, metadata.Extension{Name: rectilinear, Configuration: listed})
	}
	lengths := make([]int64, g.Rank())
	for i := range lengths {
		axis := g.Axis(i)
		if u, err := axis.Unlocked(); err == nil && g.Name() == rectilinear {
			axis = u
		}
		if lengths[i] = axis.Cells(); lengths[i] > math.MaxUint32-1 {
			return nil, nil, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: a repository has fewer than 2^32 chunks along an axis, and this one needs more (number: %d): use larger chunks", zarr.ErrUnsupported, lengths[i])}
		}
	}
	return out, lengths, nil
}

// storers is how many objects a commit stores at once.
const storers = 16

// store stores all objects that the publication names.
func (c *commit) store(ctx context.Context) error {
	for _, o := range []struct {
		name string
		kind format.Kind
		body []byte
	}{
		{transactionName(c.snapshot.ID), format.KindTransactionLog, c.log.Encode()},
		{snapshotName(c.snapshot.ID), format.KindSnapshot, c.snapshot.Encode()},
	} {
		sealed, err := c.seal(o.name, o.kind, o.body)
		if err != nil {
			return err
		}
		c.objects = append(c.objects, sealed)
	}
	b, err := store.NewBatch(ctx, c.repository.store, c.repository.durability)
	if err != nil {
		return err
	}
	defer b.Discard()
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(storers)
	for _, o := range c.objects {
		g.Go(func() error {
			_, err := b.Write(within, store.Put(c.repository.root.MustKey(o.name), o.data))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return b.Commit(ctx)
}

// seal returns the object with a body, which it reads meanwhile as readers will. What
// they would refuse must not be published.
func (c *commit) seal(name string, kind format.Kind, body []byte) (object, error) {
	var g errgroup.Group
	g.Go(func() (err error) {
		switch kind {
		case format.KindSnapshot:
			_, err = format.ParseSnapshot(body)
		case format.KindManifest:
			_, err = format.ParseManifest(body)
		case format.KindTransactionLog:
			_, err = format.ParseTransactionLog(body)
		}
		return err
	})
	data, err := format.Seal(program, kind, body)
	if err = cmp.Or(g.Wait(), err); err == nil && int64(len(body)) > c.repository.limit {
		err = fmt.Errorf("%w: its length is above %d", format.ErrDamaged, c.repository.limit)
	}
	if err != nil {
		return object{}, fmt.Errorf("%s cannot be committed: %w", name, err)
	}
	return object{name, data}, nil
}

// put stores an object under a name that nothing has.
func (r *Repository) put(ctx context.Context, name string, data []byte) error {
	_, err := store.Write(ctx, r.store, store.Put(r.root.MustKey(name), data), r.durability)
	return err
}

// publish adds the snapshot to the repository.
func (c *commit) publish(ctx context.Context) error {
	return c.repository.update(ctx, func(repo *format.Repository, _ bool) (format.Update, error) {
		// An attempt before may have been made although its answer was lost. Others may
		// have committed after it.
		if _, ok := repo.FindSnapshot(c.snapshot.ID); ok {
			return format.Update{}, errPublished
		}
		if err := c.checkCollected(ctx, repo); err != nil {
			return format.Update{}, err
		}
		at, ok := format.Find(repo.Branches, c.branch)
		if !ok {
			return format.Update{}, c.branchGone()
		}
		k := repo.Branches[at].Snapshot
		tip := repo.Snapshots[k]
		if tip.ID != c.base.ID() {
			is := state{Repository: repo}
			return format.Update{}, &ConflictError{Branch: c.branch, Base: c.base.ID(), Tip: is.commit(k)}
		}
		info := format.SnapshotInfo{ID: c.snapshot.ID, Time: c.snapshot.Time, Message: c.snapshot.Message, Metadata: c.snapshot.Metadata}
		u, parent := format.Update{Kind: format.Committed, Name: c.branch, New: c.snapshot.ID}, tip.ID
		if c.amends {
			if tip.Parent < 0 {
				return u, fmt.Errorf("%w: the first snapshot of a branch is never amended: commit", zarr.ErrInvalidArgument)
			}
			u.Kind, u.Previous, parent, info.Pruned = format.Amended, tip.ID, repo.Snapshots[tip.Parent].ID, tip.Pruned
		}
		repo.Branches[at].Snapshot = repo.Insert(info, parent)
		return u, nil
	})
}

// errPublished means that the repository has what an update would add.
var errPublished = errors.New("published before")

// mostUpdates is how many updates the object repo has at most, unless its configuration
// says another number. Those before are in the object that it replaced.
const mostUpdates = 1000

// tries is how often an update begins anew because of another one.
const tries = 100

// update changes the object repo by a conditional write. change is called with what the
// repository is, again if it has changed meanwhile.
func (r *Repository) update(ctx context.Context, change func(repo *format.Repository, again bool) (format.Update, error)) error {
	lost := error(nil)         // of a write whose outcome is not known
	var replaced store.Version // by that write
	unknown := func(err error) error {
		if lost == nil {
			return err
		}
		return fmt.Errorf("%w: %w; the write before: %w", zarr.ErrOutcomeUnknown, err, lost)
	}
	for try := range tries {
		if err := pause(ctx, try); err != nil {
			return unknown(err)
		}
		data, info, err := r.store.Get(ctx, r.root.MustKey(repositoryKey), store.Request{Limit: r.limit}, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return errV1
		}
		if err != nil {
			return unknown(err)
		}
		repo, err := r.parseRepository(data)
		if err == nil {
			err = writable(repo)
		}
		if err != nil {
			return unknown(err)
		}
		u, err := change(repo, lost != nil)
		if errors.Is(err, errPublished) {
			return nil
		}
		if err != nil {
			if info.Version == replaced { // the write may still be made
				return unknown(err)
			}
			return err
		}
		now := time.Now()
		at := backupTime(repo, now)
		backup := backupName(at)
		u.Time = cmp.Or(u.Time, now)
		if len(repo.Updates) > 0 {
			u.Time = later(u.Time, repo.Updates[0].Time)
			repo.Updates[0].Backup = backup
		}
		if len(repo.Updates) >= number(settings(repo.Config), "num_updates_per_repo_info_file", mostUpdates, math.MaxUint16) {
			repo.Updates, repo.Before = nil, backup
		}
		repo.Updates = append([]format.Update{u}, repo.Updates...)
		fresh, err := format.Seal(program, format.KindRepository, repo.Encode())
		if err == nil {
			// What cannot be read must not be published.
			_, err = r.parseRepository(fresh)
		}
		if err == nil {
			err = r.put(ctx, backupFolder+"/"+backup, data)
		}
		if err != nil {
			return unknown(err)
		}
		_, err = store.Write(ctx, r.store, store.PutIf(r.root.MustKey(repositoryKey), fresh, store.IfVersion(info.Version)), r.durability)
		switch {
		case err == nil:
			r.keepPublished(ctx, at, fresh)
			return nil
		case errors.Is(err, store.ErrUnsupported), errors.Is(err, store.ErrRefused):
			return unknown(err)
		case !errors.Is(err, store.ErrConflict):
			// The write may have been made: the next look tells.
			lost, replaced = err, info.Version
		}
	}
	return unknown(fmt.Errorf("%w: every attempt to change the repository met another one (attempts: %d); repeat the change", store.ErrConflict, tries))
}

// keepPublished stores what was published as a former object, where a writer without a
// lock may overwrite it before the next writer keeps it: in a store whose conditional
// writes are made by locks. So [Repository.Check] finds every commit of Varve that was
// overwritten. A failure loses nothing but that.
func (r *Repository) keepPublished(ctx context.Context, at time.Time, published []byte) {
	if _, byLocks := store.As[store.Locker](r.store); byLocks {
		_ = r.put(context.WithoutCancel(ctx), backupFolder+"/"+backupName(at.Add(time.Millisecond)), published)
	}
}

// errLater is the error of a change that would drop what Varve does not know.
var errLater = fmt.Errorf("%w: the repository has fields of a later version of the specification, which a change by this version of Varve would drop: use a later one", zarr.ErrUnsupported)

// writable returns an error for a repository that must not be changed, or that a later
// program has written.
func writable(repo *format.Repository) error {
	if repo.Status.Availability == format.Offline {
		return unavailable(repo)
	}
	if repo.Status.Availability != format.Online {
		return fmt.Errorf("%w: the repository is %v: %s", fs.ErrPermission, repo.Status.Availability, repo.Status.Reason)
	}
	if repo.Later {
		return errLater
	}
	for _, u := range repo.Updates {
		if u.Kind == 0 || u.Kind > format.StatusChanged {
			return fmt.Errorf("%w: the log of the repository has an entry of a later version of the specification (kind %d)", zarr.ErrUnsupported, u.Kind)
		}
	}
	return nil
}

// pause waits before an attempt, except before the first ones.
func pause(ctx context.Context, try int) error {
	const immediate, longest = 5, 2 * time.Second
	if try < immediate {
		return ctx.Err()
	}
	wait := min(longest, 10*time.Millisecond<<min(try-immediate, 10))
	t := time.NewTimer(wait/2 + time.Duration(newID()[0])*wait/512)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// parseRepository parses the object repo.
func (r *Repository) parseRepository(data []byte) (*format.Repository, error) {
	_, body, err := format.Open(data, format.KindRepository, r.limit)
	if err == nil {
		var repo *format.Repository
		if repo, err = format.ParseRepository(body); err == nil {
			return repo, nil
		}
	}
	return nil, r.fail(repositoryKey, err)
}

// endOfTime is the time, in milliseconds since 1970, from which names of backups count
// back: the start of the year 3000.
const endOfTime = 32503680000000

// backupName returns the name of a backup of the object repo, below overwritten/.
func backupName(now time.Time) string {
	return fmt.Sprintf("repo.%d.%v", endOfTime-now.UnixMilli(), newID())
}

// backupTime returns the time of the next backup: now, or later if the names of the one
// before and of what was published then, a millisecond later, would not come before.
func backupTime(repo *format.Repository, now time.Time) time.Time {
	last := repo.Before // if the log of the object has none
	for _, u := range repo.Updates {
		if u.Backup != "" {
			last = u.Backup
			break
		}
	}
	var down int64
	if _, err := fmt.Sscanf(last, "repo.%d.", &down); err != nil {
		return now
	}
	if next := time.UnixMilli(endOfTime - down + 2); next.After(now) {
		return next
	}
	return now
}

// Create makes an empty repository, with the branch main. If there is one, the error
// wraps [ErrExists].
func Create(ctx context.Context, s store.Store, root store.Path, opt *Options) (*Repository, error) {
	r := &Repository{store: s, root: root, limit: 1 << 30}
	if err := r.checkEmpty(ctx); err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	snapshot := &format.Snapshot{ID: format.InitialSnapshot, Time: now, Message: "Repository initialized"}
	log := &format.TransactionLog{ID: format.InitialSnapshot}
	repo := &format.Repository{
		Branches:  []format.Reference{{Name: mainBranch}},
		Snapshots: []format.SnapshotInfo{{ID: format.InitialSnapshot, Parent: -1, Time: now, Message: snapshot.Message}},
		Status:    format.Status{Since: now},
		Updates:   []format.Update{{Kind: format.RepositoryInitialized, Time: now}},
	}
	for _, o := range []struct {
		name string
		kind format.Kind
		body []byte
	}{{snapshotName(snapshot.ID), format.KindSnapshot, snapshot.Encode()}, {transactionName(log.ID), format.KindTransactionLog, log.Encode()}} {
		data, err := format.Seal(program, o.kind, o.body)
		if err == nil {
			err = r.put(ctx, o.name, data)
		}
		if err != nil {
			return nil, err
		}
	}
	data, err := format.Seal(program, format.KindRepository, repo.Encode())
	if err != nil {
		return nil, err
	}
	if _, err := store.Write(ctx, s, store.PutIf(root.MustKey(repositoryKey), data, store.IfAbsent()), store.Sync); err != nil {
		if errors.Is(err, store.ErrConflict) {
			err = errTaken
		}
		return nil, err
	}
	return Open(ctx, s, root, opt)
}

// checkEmpty returns an error if something is where a repository is to be made, except
// some names.
func (r *Repository) checkEmpty(ctx context.Context, except ...string) error {
	switch _, err := r.state(ctx); {
	case err == nil:
		return errTaken
	case !errors.Is(err, errNone):
		return err
	}
	for e, err := range store.List(ctx, r.store, r.root, store.Flat) {
		switch {
		case errors.Is(err, store.ErrUnsupported):
			return nil // the write of the object repo has a condition
		case err != nil:
			return err
		case slices.Contains(except, e.Name):
			continue
		}
		return &kindError{fmt.Sprintf("the place has %q, and a repository begins empty: choose another one", e.Name), ErrExists}
	}
	return nil
}
