// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// CloneOptions select what [Repository.Clone] copies. Nil and the zero value are all
// branches and tags with all of their history.
type CloneOptions struct {
	// At is what follows @ in a location: only this branch, tag or snapshot is cloned.
	// The branch main of the clone leads to it, too.
	At string
	// Depth is the number of commits that are kept of each branch and tag, and Since is
	// the time before which none is kept but the last one. Zero keeps all.
	Depth int
	Since time.Time
	// DryRun copies nothing, and counts what would be copied.
	DryRun bool
	// Progress is called after each object, if it is not nil. Calls do not overlap.
	Progress func(Cloned)
}

// Cloned counts what a clone has copied.
type Cloned struct {
	Snapshots int
	Objects   int64 // copied
	Bytes     int64 // of them
	Kept      int64 // objects that were there before
}

// clone copies a repository in these steps:
//
//  1. Read the object repo, which names all snapshots of one moment.
//  2. Copy the chunks that they have references to.
//  3. Copy their manifests, transaction logs and documents.
//  4. Store the object repo, on the condition that there is none.
//
// A crash before step 4 leaves objects that nobody reads. The repeated call keeps those
// that have their whole length.
type clone struct {
	from, to  *Repository
	opt       CloneOptions
	repo      *format.Repository
	manifests map[ID]manifestOf
	waiting   []copiedObject
	done      Cloned
}

// manifestOf is a manifest, and a snapshot that has it.
type manifestOf struct {
	format.ManifestFile
	snapshot ID
}

// copiedObject is an object that is copied under its name.
type copiedObject struct {
	name string
	// size is the number of bytes that it has to have, at least those for a chunk: a
	// reference may lead to a part of it. -1 is any.
	size  int64
	exact bool
	// optional is set if the reference reads repositories without the object, too.
	optional bool
}

// Clone copies the repository to a place where there is none. Snapshots keep their IDs,
// and chunks their bytes; virtual chunks stay where they are. With a range of history,
// the first commit after the range is joined to the first one of all, as an expiry does.
//
// If there is a repository, the error wraps [ErrExists]. Garbage collection of the source
// must not delete meanwhile what its branches and tags lead to now.
func (r *Repository) Clone(ctx context.Context, s store.Store, root store.Path, opt *CloneOptions) (Cloned, error) {
	c := &clone{from: r, to: &Repository{store: s, root: root, limit: r.limit}, manifests: map[ID]manifestOf{}}
	if opt != nil {
		c.opt = *opt
	}
	err := c.checkPlace(ctx)
	if err == nil {
		err = c.run(ctx)
	}
	return c.done, err
}

// cloneDirectories are what an interrupted clone may have left.
var cloneDirectories = append(slices.Clone(folders), backupFolder)

// checkPlace returns an error unless the destination is free, or has what a clone left.
func (c *clone) checkPlace(ctx context.Context) error {
	full := func(r *Repository) string {
		if at := store.TraitsOf(r.store).Place; at != "" {
			return strings.TrimSuffix(at+"/"+r.root.String(), "/") + "/"
		}
		return ""
	}
	from, to := full(c.from), full(c.to)
	if from != "" && (strings.HasPrefix(to, from) || to != "" && strings.HasPrefix(from, to)) {
		return fmt.Errorf("%w: one of the two repositories would be in the other one", zarr.ErrInvalidArgument)
	}
	return c.to.checkEmpty(ctx, cloneDirectories...)
}

func (c *clone) run(ctx context.Context) error {
	data, _, err := c.from.store.Get(ctx, c.from.root.MustKey(repositoryKey), store.Request{Limit: c.from.limit}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return errV1
	}
	if err == nil {
		c.repo, err = c.from.parseRepository(data)
	}
	if err != nil {
		return err
	}
	// The object is copied as it is, with what later versions of the format have added.
	if c.opt.At != "" || c.opt.Depth > 0 || !c.opt.Since.IsZero() {
		if c.repo.Later {
			return errLater
		}
		if err := c.narrow(ctx); err != nil {
			return err
		}
		if data, err = format.Seal(program, format.KindRepository, c.repo.Encode()); err == nil {
			_, err = c.to.parseRepository(data)
		}
		if err != nil {
			return err
		}
	}
	c.done.Snapshots = len(c.repo.Snapshots)
	for _, step := range []func(context.Context) error{c.survey, c.copyChunks, c.copyOthers} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if c.opt.DryRun {
		return nil
	}
	return c.publish(ctx, data)
}

// publish takes step 4.
func (c *clone) publish(ctx context.Context, data []byte) error {
	key := c.to.root.MustKey(repositoryKey)
	_, err := store.Write(ctx, c.to.store, store.PutIf(key, data, store.IfAbsent()), store.Sync)
	if err == nil {
		return nil
	}
	// The answer to a write that was made may be lost.
	if is, _, failed := c.to.store.Get(ctx, key, store.Request{Limit: c.to.limit}, nil); failed == nil && bytes.Equal(is, data) {
		return nil
	}
	if errors.Is(err, store.ErrConflict) {
		err = errTaken
	}
	return err
}

// narrow leaves out what the options do not select.
func (c *clone) narrow(ctx context.Context) error {
	repo := c.repo
	tips := slices.Concat(repo.Branches, repo.Tags)
	if c.opt.At != "" {
		one, err := c.single(ctx)
		if err != nil {
			return err
		}
		tips = []format.Reference{one}
	}
	kept := make([]bool, len(repo.Snapshots))
	for _, tip := range tips {
		n := 0
		for i := tip.Snapshot; i >= 0; i = repo.Snapshots[i].Parent {
			s := repo.Snapshots[i]
			n++
			inRange := (c.opt.Depth == 0 || n <= c.opt.Depth) && !s.Time.Before(c.opt.Since)
			// The first commit of all stays: everything else leads to it.
			kept[i] = kept[i] || inRange || n == 1 || s.Parent < 0
		}
	}
	repo.Retain(kept, func(i int) bool { return kept[i] })
	now := time.Now()
	repo.Updates, repo.Before = []format.Update{{Kind: format.RepositoryInitialized, Time: now}}, ""
	return nil
}

// single leaves one reference, and main.
func (c *clone) single(ctx context.Context) (format.Reference, error) {
	repo, at := c.repo, c.opt.At
	is := stateOf(repo)
	id, err := c.from.find(ctx, is, at)
	if err != nil {
		return format.Reference{}, err
	}
	i, _ := repo.FindSnapshot(id) // find has found it
	branch, tag := branchOf(at), strings.TrimPrefix(at, tagPrefix)
	branches := []format.Reference{{Name: mainBranch, Snapshot: i}}
	if _, ok := format.Find(repo.Branches, branch); ok && branch != mainBranch {
		branches = append(branches, format.Reference{Name: branch, Snapshot: i})
		sort.Slice(branches, func(i, j int) bool { return branches[i].Name < branches[j].Name })
	}
	repo.Branches = branches
	repo.Tags = slices.DeleteFunc(repo.Tags, func(ref format.Reference) bool { return !strings.HasPrefix(at, tagPrefix) || ref.Name != tag })
	return branches[0], nil
}

// survey finds the manifests of all snapshots.
func (c *clone) survey(ctx context.Context) error {
	var ids []ID
	for _, info := range c.repo.Snapshots {
		ids = append(ids, info.ID)
	}
	s := c.from.newSurvey(nil)
	return s.each(ctx, ids, s.snapshots, snapshotsAtOnce, func(ctx context.Context, id ID) error {
		is, err := c.from.parsed(ctx, id)
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, f := range is.Files {
			c.manifests[f.ID] = manifestOf{f, id}
		}
		return nil
	})
}

// mostIDs bounds the IDs of chunks that are in memory: with more references, their
// manifests are read several times. Tests lower it.
var mostIDs uint64 = 4 << 20

// copyChunks takes step 2. Manifests repeat the references of those before, so the IDs
// are in parts by their first bytes, which are random.
func (c *clone) copyChunks(ctx context.Context) error {
	total := uint64(0)
	for _, m := range c.manifests {
		total += uint64(m.References)
	}
	for parts, part := 1+total/mostIDs, uint64(0); part < parts; part++ {
		inPart := func(id ID) bool { return uint64(binary.BigEndian.Uint32(id[:]))%parts == part }
		sizes, err := c.chunksOf(ctx, inPart)
		if err != nil {
			return err
		}
		known, err := c.sizesIn(ctx, chunkFolder, inPart)
		if err != nil {
			return err
		}
		for id, size := range sizes {
			if err := c.add(ctx, known, copiedObject{name: chunkObject(id), size: size}); err != nil {
				return err
			}
		}
		if err := c.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// chunksOf returns how many bytes references need of each chunk.
func (c *clone) chunksOf(ctx context.Context, inPart func(ID) bool) (map[ID]int64, error) {
	sizes := map[ID]int64{}
	for _, id := range slices.SortedFunc(maps.Keys(c.manifests), compareIDs) {
		of := c.manifests[id]
		m, err := c.from.manifest(ctx, &format.Snapshot{ID: of.snapshot, Files: []format.ManifestFile{of.ManifestFile}}, id)
		if err != nil {
			return nil, err
		}
		for _, refs := range m.Arrays() {
			for ref, err := range refs.All() {
				if err != nil {
					return nil, c.from.fail(manifestName(id), err)
				}
				if ref.Payload == format.Native && inPart(ref.ID) {
					sizes[ref.ID] = max(sizes[ref.ID], int64(ref.Offset+ref.Length))
				}
			}
		}
	}
	return sizes, nil
}

// copyOthers takes step 3.
func (c *clone) copyOthers(ctx context.Context) error {
	lists := map[string][]copiedObject{}
	for id, m := range c.manifests {
		lists[manifestFolder] = append(lists[manifestFolder], copiedObject{name: manifestName(id), size: int64(m.Size), exact: true})
	}
	seen := map[ID]bool{}
	for _, s := range c.repo.Snapshots {
		lists[snapshotFolder] = append(lists[snapshotFolder], copiedObject{name: snapshotName(s.ID), size: -1})
		for _, id := range append(slices.Clone(s.Pruned), s.ID) {
			if !seen[id] {
				// Migrated repositories have none for the first snapshot, and older
				// programs delete those of snapshots that have expired.
				lists[transactionFolder] = append(lists[transactionFolder], copiedObject{name: transactionName(id), size: -1, optional: true})
			}
			seen[id] = true
		}
	}
	for was, err := range c.from.chain(ctx, c.repo) {
		if errors.Is(err, fs.ErrNotExist) {
			break // the log ends there, for the reference, too
		}
		if err != nil {
			return err
		}
		if was.name != "" {
			lists[backupFolder] = append(lists[backupFolder], copiedObject{name: backupFolder + "/" + was.name, size: -1})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(lists)) {
		known, err := c.sizesIn(ctx, dir, func(ID) bool { return true })
		if err != nil {
			return err
		}
		for _, o := range lists[dir] {
			if err := c.add(ctx, known, o); err != nil {
				return err
			}
		}
	}
	return c.flush(ctx)
}

// batchLength is the number of objects that are copied in one batch: enough that a sync
// costs little, and so few that what waits takes little memory.
const batchLength = 4096

// sizesIn returns the sizes of the objects in a directory of the destination, by their
// names. Names that are IDs are asked about. It returns nil if the store cannot list.
func (c *clone) sizesIn(ctx context.Context, dir string, wanted func(ID) bool) (map[string]int64, error) {
	at, err := c.to.root.Join(dir)
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for e, err := range store.List(ctx, c.to.store, at, store.Flat) {
		switch {
		case errors.Is(err, store.ErrUnsupported):
			return nil, nil
		case errors.Is(err, fs.ErrNotExist):
			return sizes, nil
		case err != nil:
			return nil, err
		}
		if id, ok := format.ParseObjectID(e.Name); !ok || wanted(id) {
			sizes[e.Name] = e.Size
		}
	}
	return sizes, nil
}

// add notes an object that is to be copied, unless the destination has it.
func (c *clone) add(ctx context.Context, sizes map[string]int64, o copiedObject) error {
	size, found := sizes[path.Base(o.name)]
	if sizes == nil || found && size < 0 {
		info, err := store.Stat(ctx, c.to.store, c.to.root.MustKey(o.name))
		if found = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size = info.Size
	}
	if found && o.size < 0 {
		info, err := store.Stat(ctx, c.from.store, c.from.root.MustKey(o.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		o.size, o.exact = info.Size, true
	}
	if found && o.fits(size) {
		c.done.Kept++
		return nil
	}
	if c.waiting = append(c.waiting, o); len(c.waiting) < batchLength {
		return nil
	}
	return c.flush(ctx)
}

// fits reports whether an object of a size is a whole copy.
func (o *copiedObject) fits(size int64) bool {
	return size == o.size || size > o.size && !o.exact
}

// flush copies what waits.
func (c *clone) flush(ctx context.Context) error {
	list := c.waiting
	c.waiting = nil
	b := store.Batch(nil)
	if !c.opt.DryRun && len(list) > 0 {
		var err error
		if b, err = store.NewBatch(ctx, c.to.store, store.Sync); err != nil {
			return err
		}
		defer b.Discard()
	}
	if err := c.each(ctx, list, func(ctx context.Context, o copiedObject) (int64, error) {
		if b == nil {
			info, err := store.Stat(ctx, c.from.store, c.from.root.MustKey(o.name))
			return info.Size, err
		}
		return c.copy(ctx, b, c.from.root.MustKey(o.name), c.to.root.MustKey(o.name))
	}); err != nil || b == nil {
		return err
	}
	return b.Commit(ctx)
}

// copyTasks is the number of objects that are copied at once.
const copyTasks = 16

// each calls do for each object, for several at once, and counts them.
func (c *clone) each(ctx context.Context, list []copiedObject, do func(context.Context, copiedObject) (int64, error)) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(copyTasks)
	var mu sync.Mutex
	for _, o := range list {
		if within.Err() != nil {
			break
		}
		g.Go(func() error {
			n, err := do(within, o)
			switch {
			case errors.Is(err, fs.ErrNotExist) && o.optional:
				return nil
			case errors.Is(err, fs.ErrNotExist):
				return c.from.fail(o.name, fmt.Errorf("%w: there is no such object; if garbage was collected meanwhile, clone again", format.ErrDamaged))
			case err == nil && !o.fits(n):
				return c.from.fail(o.name, fmt.Errorf("%w: the object has another length than what leads to it says (bytes: %d, not %d)", format.ErrDamaged, n, o.size))
			case err != nil:
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			c.done.Objects, c.done.Bytes = c.done.Objects+1, c.done.Bytes+n
			if c.opt.Progress != nil {
				c.opt.Progress(c.done)
			}
			return nil
		})
	}
	return cmp.Or(g.Wait(), ctx.Err())
}

// mostBuffered is the longest object that passes through memory beside others.
const mostBuffered = 16 << 20

// copy copies an object, by the service if it can, and returns its size.
func (c *clone) copy(ctx context.Context, b store.Batch, from, to store.Key) (int64, error) {
	made, err := b.Write(ctx, store.Copy(to, c.from.store, from))
	if !errors.Is(err, store.ErrUnsupported) {
		return made.Size, err
	}
	data, info, err := c.from.store.Get(ctx, from, store.Request{Limit: mostBuffered}, nil)
	if errors.Is(err, store.ErrTooLarge) {
		if info, err = store.Stat(ctx, c.from.store, from); err != nil {
			return 0, err
		}
		_, err = b.Write(ctx, store.Gather(to, c.from.store, []store.Part{{Key: from, Version: info.Version, N: info.Size}}))
		if !errors.Is(err, store.ErrUnsupported) {
			return info.Size, err
		}
		data, _, err = c.from.store.Get(ctx, from, store.Request{Limit: c.from.limit}, nil)
	}
	if err == nil {
		_, err = b.Write(ctx, store.Put(to, data))
	}
	return int64(len(data)), err
}
