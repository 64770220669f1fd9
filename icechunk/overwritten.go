// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// Overwritten is a commit that the history has lost: a writer that took no lock has
// written the object repo without it, such as the reference on a local disk. It is found
// in a former object repo.
type Overwritten struct {
	ID      ID
	Branch  string // to which it was committed
	Time    time.Time
	Message string
}

// backups returns the names of former objects repo, the latest first.
func (r *Repository) backups(ctx context.Context) (names []string, err error) {
	for e, err := range store.List(ctx, r.store, r.folder(backupFolder), store.Flat) {
		if err != nil {
			return nil, err
		}
		if isBackup(e) {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names) // they count down
	return names, nil
}

// isBackup reports whether an entry of the folder is a former object repo.
func isBackup(e store.Entry) bool { return !e.Dir && strings.HasPrefix(e.Name, repositoryKey+".") }

// withFormer adds to the error for an object repo that is missing or damaged which former
// one may take its place, if there is any.
func (r *Repository) withFormer(ctx context.Context, err error) error {
	if !errors.Is(err, zarr.ErrCorrupt) && !errors.Is(err, errNone) {
		return err
	}
	names, failed := r.backups(ctx)
	if failed != nil {
		return err // not every store lists
	}
	var latest link
	for _, name := range names[:min(len(names), mostFormer)] {
		was, failed := r.former(ctx, name)
		// Names tell the time in milliseconds, and the log in microseconds.
		if failed == nil && len(was.Updates) > 0 && (latest.name == "" || was.Updates[0].Time.After(latest.Updates[0].Time)) {
			latest = link{was, name}
		}
	}
	if latest.name == "" {
		return err
	}
	is := stateOf(latest.Repository)
	var tips []string
	for _, b := range latest.Branches {
		c := is.commit(b.Snapshot)
		tips = append(tips, fmt.Sprintf("%s at %v of %s", b.Name, c.ID, c.Time.UTC().Format(time.RFC3339)))
	}
	const most = 5
	if len(tips) > most {
		tips = append(tips[:most], "others")
	}
	return fmt.Errorf("%w; the object repo is lost, and the latest former one that can be read is %s/%s, from before the last change, with %s: "+
		"copy it to %s if you have no better copy", err, backupFolder, latest.name, strings.Join(tips, ", "), r.root.MustKey(repositoryKey))
}

// mostFormer bounds the former objects that are read in the place of one that is lost.
const mostFormer = 10

// overwritten returns the commits that the history has lost, the latest first, of the
// tips in the latest former objects. left is the number of objects that it did not look
// at. failed is told of an object that cannot be read.
//
// A tip that no branch or tag leads to is not always lost: somebody may have reset or
// deleted its branch, amended it, or expired it. Then the log has its commit.
func (r *Repository) overwritten(ctx context.Context, repo *format.Repository, most int, failed func(name string, err error) error) (list []Overwritten, left int, err error) {
	names, err := r.backups(ctx)
	if err != nil {
		return nil, 0, err
	}
	if len(names) > most {
		names, left = names[:most], len(names)-most
	}
	known := map[ID]bool{}
	for _, s := range repo.Snapshots {
		known[s.ID] = true
	}
	var began time.Time // of the log, whose first part may have been deleted
	for u, err := range r.updates(ctx, repo) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			if err = failed(repositoryKey, err); err != nil {
				return nil, 0, err
			}
			break
		}
		known[u.New], known[u.Previous], began = true, true, u.Time
	}
	for _, name := range names {
		was, err := r.former(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			if err = failed(backupFolder+"/"+name, err); err != nil {
				return nil, 0, err
			}
			continue
		}
		for _, ref := range was.Branches {
			if s := was.Snapshots[ref.Snapshot]; !known[s.ID] && s.Time.After(began) {
				known[s.ID] = true
				list = append(list, Overwritten{s.ID, ref.Name, s.Time, s.Message})
			}
		}
	}
	slices.SortFunc(list, func(a, b Overwritten) int { return b.Time.Compare(a.Time) })
	return list, left, nil
}

// Restore makes a branch at a commit that the history has lost, with the lost commits
// before it. snapshot is the text of its ID. Restore reads all objects that they name
// first. If there is a branch of the name, the error wraps [ErrExists].
func (r *Repository) Restore(ctx context.Context, branch, snapshot string) error {
	if err := checkBranch(branch); err != nil {
		return err
	}
	id, ok := format.ParseObjectID(snapshot)
	if !ok {
		return fmt.Errorf("%w: %q is no ID of a snapshot", zarr.ErrInvalidArgument, snapshot)
	}
	is, err := r.state(ctx)
	if err != nil {
		return err
	}
	if is.Repository == nil {
		return errV1
	}
	if _, ok := is.FindSnapshot(id); ok {
		return fmt.Errorf("%w: the history has the snapshot %v: make a branch at it", zarr.ErrInvalidArgument, id)
	}
	was, at, err := r.lost(ctx, id)
	if err != nil {
		return err
	}
	var chain []int // the lost snapshots, the last one first
	var ids []ID
	for i := at; i >= 0; i = was.Snapshots[i].Parent {
		if _, ok := is.FindSnapshot(was.Snapshots[i].ID); ok {
			break
		}
		chain, ids = append(chain, i), append(ids, was.Snapshots[i].ID)
	}
	if err := r.checkObjects(ctx, ids); err != nil {
		return err
	}
	began := begun(is.Repository, id)
	err = r.update(ctx, func(repo *format.Repository, again bool) (u format.Update, err error) {
		if i, ok := repo.FindSnapshot(id); ok && again && leads(repo.Branches, branch, i) {
			return u, errPublished
		}
		for _, u := range repo.Updates {
			if u.Kind == format.GarbageCollected && u.Time.After(began.update) {
				return u, fmt.Errorf("%w: repeat the command", ErrCollected)
			}
		}
		for _, i := range slices.Backward(chain) {
			s := was.Snapshots[i]
			if _, ok := repo.FindSnapshot(s.ID); ok {
				continue
			}
			parent := format.InitialSnapshot
			if s.Parent >= 0 {
				parent = was.Snapshots[s.Parent].ID
			}
			if _, ok := repo.FindSnapshot(parent); !ok {
				return u, fmt.Errorf("%w: the snapshot %v before %v is gone", ErrNoReference, parent, s.ID)
			}
			repo.Insert(s, parent)
		}
		i, _ := repo.FindSnapshot(id)
		repo.Branches, err = extended(repo.Branches, "branch", branch, i)
		return format.Update{Kind: format.BranchCreated, Name: branch}, err
	})
	if err != nil {
		return err
	}
	// A garbage collection that ran all the while may have deleted something before it
	// saw the branch.
	return r.checkObjects(ctx, ids)
}

// lost finds a snapshot in the former objects repo.
func (r *Repository) lost(ctx context.Context, id ID) (*format.Repository, int, error) {
	names, err := r.backups(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		was, err := r.former(ctx, name)
		if errors.Is(err, zarr.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
			continue // another one may have it
		}
		if err != nil {
			return nil, 0, err
		}
		if i, ok := was.FindSnapshot(id); ok {
			return was, i, nil
		}
	}
	return nil, 0, fmt.Errorf("%w: no former object repo below overwritten/ has the snapshot %v", ErrNoReference, id)
}

// checkObjects returns an error if an object that snapshots name is missing or cannot be
// read.
func (r *Repository) checkObjects(ctx context.Context, ids []ID) error {
	s, chunks := r.newSurvey(nil), format.Table[struct{}]{}
	s.onManifest = func(m *format.Manifest) error { return addChunks(m, &chunks) }
	if err := s.visit(ctx, ids); err != nil {
		return err
	}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(snapshotsAtOnce)
	for id := range chunks.All() {
		g.Go(func() error {
			key := r.folder(chunkFolder).MustKey(id.String())
			_, err := store.Stat(within, r.store, key)
			if errors.Is(err, fs.ErrNotExist) {
				err = r.fail(chunkFolder+"/"+id.String(), errMissing)
			}
			return err
		})
	}
	return cmp.Or(g.Wait(), ctx.Err())
}

// addChunks adds the chunk objects that a manifest names.
func addChunks(m *format.Manifest, chunks *format.Table[struct{}]) error {
	for _, refs := range m.Arrays() {
		for ref, err := range refs.All() {
			if err != nil {
				return err
			}
			if ref.Payload == format.Native {
				chunks.Add(ref.ID, struct{}{})
			}
		}
	}
	return nil
}
