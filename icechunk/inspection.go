// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// CheckOptions are those of [Repository.Check]. Nil and the zero value are the defaults.
type CheckOptions struct {
	// Virtual also asks for the objects of virtual chunks, which need the permission of
	// [virtual.WithAllowed].
	Virtual bool
	// Backups is how many former objects repo are searched for commits that were
	// overwritten, the latest ones. 0 is 1000, and what is below 0 is none.
	Backups int
	// Findings bounds the list of findings. 0 is 1000.
	Findings int
	// Progress is that of [GarbageOptions].
	Progress func(what string, done int64)
}

// The kinds of findings.
const (
	FoundDamaged     = "damaged"     // an object does not decode, or is not what it should be
	FoundMissing     = "missing"     // an object that another one names does not exist
	FoundShort       = "short"       // an object ends before a reference does
	FoundSize        = "size"        // a snapshot says another size of a manifest
	FoundHidden      = "hidden"      // readers do not find a reference
	FoundDocument    = "document"    // a document is not one of Zarr, or says another shape
	FoundSource      = "source"      // an object of a virtual chunk is gone or has changed
	FoundOverwritten = "overwritten" // a commit is lost: another writer has overwritten it
)

// Finding is something wrong in a repository.
type Finding struct {
	Kind    string
	Key     string   // of the object, below the repository; "" for an object beside it
	Path    string   // of the node, "" if it is about none
	Chunk   []uint32 // nil if it is about none
	Message string
	// Manifest is the one that is damaged or has the reference. It is zero if the finding
	// is about none.
	Manifest ID
	// Whole is the last snapshot of main without damaged manifests, if the damage affects
	// that of main.
	Whole ID

	in map[carrier]bool // where the references to an object beside it are
}

// CheckReport says what [Repository.Check] has found.
type CheckReport struct {
	Findings []Finding
	Omitted  int64 // findings beyond the bound of the options
	// Overwritten are the commits that the history has lost. [Repository.Restore] makes a
	// branch at one.
	Overwritten []Overwritten
	BackupsLeft int // former objects that were not searched

	Snapshots, Manifests, Transactions, References, Virtual int64 // that were checked
	// Orphans counts objects that nothing live names, by folder. They are garbage, and no
	// finding.
	Orphans map[string]Deleted
}

// inspection is one check of a repository.
type inspection struct {
	*survey
	opt    CheckOptions
	report *CheckReport

	// chunks has for each chunk object the end of the last reference, in bytes, and
	// afterwards [seen].
	chunks  format.Table[uint64]
	files   map[ID]format.ManifestFile // what snapshots say of manifests
	layout  map[ID][]placement         // where snapshots have the references of manifests
	paths   map[format.NodeID]string
	sources map[string]source // each version of an object beside
	broken  map[ID]bool       // manifests that cannot be read
	logs    []ID
	first   map[ID]bool // snapshots without a parent
}

// placement says where a manifest has references of an array.
type placement struct {
	node   format.NodeID
	extent format.ManifestRef
}

// seen is the value of a chunk that exists.
const seen = math.MaxUint64

// Check reads all objects that branches and tags lead to but chunks, of which it asks for
// the sizes, and reports what is wrong. It takes about 32 bytes of memory for each chunk
// object, and changes nothing.
func (r *Repository) Check(ctx context.Context, opt *CheckOptions) (*CheckReport, error) {
	c := &inspection{report: &CheckReport{Orphans: map[string]Deleted{}}, files: map[ID]format.ManifestFile{}, layout: map[ID][]placement{}, paths: map[format.NodeID]string{}, sources: map[string]source{}, broken: map[ID]bool{}, first: map[ID]bool{}}
	if opt != nil {
		c.opt = *opt
	}
	if c.opt.Findings <= 0 {
		c.opt.Findings = 1000
	}
	if c.opt.Backups == 0 {
		c.opt.Backups = 1000
	}
	c.chunks.Combine = format.Larger[uint64]
	c.survey = r.newSurvey(c.opt.Progress)
	c.onSnapshot, c.onManifest, c.failed = c.snapshot, c.manifest, c.bad
	err := c.run(ctx)
	return c.report, err
}

// add adds a finding.
func (c *inspection) add(f Finding) {
	if len(c.report.Findings) >= c.opt.Findings {
		c.report.Omitted++
		return
	}
	f.Chunk = slices.Clone(f.Chunk)
	c.report.Findings = append(c.report.Findings, f)
}

// bad makes a finding of an object that is damaged. Other errors end the check.
func (c *inspection) bad(name string, err error) error {
	f := Finding{Kind: FoundDamaged, Key: name}
	switch {
	case errors.Is(err, errMissing):
		f.Kind, f.Message = FoundMissing, "there is no such object"
	case errors.Is(err, zarr.ErrCorrupt), errors.Is(err, format.ErrVersion), errors.Is(err, store.ErrTooLarge):
		f.Message = strings.TrimPrefix(err.Error(), c.root.MustKey(name).String()+": ")
	default:
		return err
	}
	if id, ok := strings.CutPrefix(name, manifestFolder+"/"); ok {
		f.Manifest, _ = format.ParseObjectID(id) // a name that was made here
		c.broken[f.Manifest] = true
	}
	c.add(f)
	return nil
}

// run makes the steps of a check.
func (c *inspection) run(ctx context.Context) error {
	is, err := c.state(ctx)
	if err != nil {
		return c.bad(repositoryKey, err)
	}
	ids, err := c.live(ctx, is)
	if err != nil {
		return c.bad(repositoryKey, err)
	}
	if err := c.visit(ctx, ids); err != nil {
		return err
	}
	c.report.Snapshots, c.report.Manifests = int64(len(c.snapshots)), int64(len(c.manifests))
	if is.Repository != nil {
		clear(c.first) // snapshots of version 2 do not tell
		for _, s := range is.Snapshots {
			if c.first[s.ID] = s.Parent < 0; c.snapshots[s.ID] {
				c.logs = append(c.logs, s.Pruned...)
			}
		}
	}
	if err := c.checkLogs(ctx, append(c.logs, ids...)); err != nil {
		return err
	}
	for _, folder := range folders {
		if err := c.list(ctx, folder); err != nil {
			return err
		}
	}
	if err := c.missingChunks(ctx, ids); err != nil {
		return err
	}
	if c.opt.Virtual {
		if err := c.virtual(ctx); err != nil {
			return err
		}
	}
	if err := c.trace(ctx, is, ids); err != nil || is.Repository == nil {
		return err
	}
	c.report.Overwritten, c.report.BackupsLeft, err = c.overwritten(ctx, is.Repository, max(0, c.opt.Backups), c.bad)
	for _, o := range c.report.Overwritten {
		c.add(Finding{Kind: FoundOverwritten, Key: snapshotName(o.ID), Message: fmt.Sprintf("the branch %q has lost this commit of %s, which another writer has overwritten: %q", o.Branch, o.Time.Format("2006-01-02T15:04:05Z"), o.Message)})
	}
	return err
}

// snapshot looks at a snapshot that was read.
func (c *inspection) snapshot(s *format.Snapshot) {
	name := snapshotName(s.ID)
	c.first[s.ID] = s.Parent == ID{}
	for _, f := range s.Files {
		if was, ok := c.files[f.ID]; ok && (was.Size != f.Size || was.References != f.References) {
			c.add(Finding{Kind: FoundSize, Key: name, Message: fmt.Sprintf("it says other sizes of the manifest %v than another snapshot", f.ID)})
		}
		c.files[f.ID] = f
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		c.paths[n.ID] = n.Path
		is, err := shapeOf(n.Document)
		switch {
		case err != nil:
			c.add(Finding{Kind: FoundDocument, Key: name, Path: n.Path, Message: err.Error()})
		case (is != nil) != n.IsArray:
			c.add(Finding{Kind: FoundDocument, Key: name, Path: n.Path, Message: "the document and the snapshot differ in whether it is an array"})
		case is != nil && !sameShape(is, n):
			c.add(Finding{Kind: FoundDocument, Key: name, Path: n.Path, Message: "the document has another shape or grid than the snapshot"})
		}
		for _, m := range n.Manifests {
			if _, ok := s.FindFile(m.ID); !ok {
				c.add(Finding{Kind: FoundMissing, Key: name, Path: n.Path, Message: fmt.Sprintf("the list of manifests does not have %v, which the array names", m.ID)})
			}
			is := placement{n.ID, m}
			if !slices.ContainsFunc(c.layout[m.ID], func(p placement) bool { return p.node == n.ID && slices.Equal(p.extent.Extents, m.Extents) }) {
				c.layout[m.ID] = append(c.layout[m.ID], is)
			}
		}
	}
}

// sameShape reports whether a document has the shape that the snapshot says, and the
// number of chunks.
func sameShape(is *shape, n *format.Node) bool {
	_, chunks, err := portable(is.array)
	if err != nil || len(chunks) != len(n.Shape) {
		return err != nil // the library does not know the grid
	}
	for i, d := range n.Shape {
		if d.Length != uint64(is.array.Shape[i]) || d.Chunks != uint64(chunks[i]) {
			return false
		}
	}
	return true
}

// manifest looks at a manifest that was read.
func (c *inspection) manifest(m *format.Manifest) error {
	name, all, key := manifestName(m.ID), 0, []byte(nil)
	for _, refs := range m.Arrays() {
		all += refs.Len()
		places, hidden := c.layout[m.ID], int64(0)
		places = slices.DeleteFunc(slices.Clone(places), func(p placement) bool { return p.node != refs.Node })
		var example []uint32
		for ref, err := range refs.All() {
			if err != nil {
				return err
			}
			c.report.References++
			// The references of an array that is gone stay in a manifest of several.
			if len(places) > 0 && !slices.ContainsFunc(places, func(p placement) bool { return p.extent.Contains(ref.Index) }) {
				if hidden++; hidden == 1 {
					example = slices.Clone(ref.Index)
				}
			}
			switch ref.Payload {
			case format.Native:
				c.chunks.Add(ref.ID, ref.Offset+ref.Length)
			case format.Virtual:
				c.report.Virtual++
				if !c.opt.Virtual {
					continue
				}
				key = appendSource(key[:0], &ref)
				if last, ok := c.sources[string(key)]; !ok || ref.Offset+ref.Length > last.ref.Offset+last.ref.Length {
					c.sources[string(key)] = source{ref.Clone(), refs.Node, m.ID}
				}
			}
		}
		if hidden > 0 {
			c.add(Finding{Kind: FoundHidden, Key: name, Path: c.paths[refs.Node], Chunk: example, Message: fmt.Sprintf("references lie outside of the extents that snapshots say (number: %d)", hidden)})
		}
	}
	if f, ok := c.files[m.ID]; ok && int64(f.References) != int64(all) {
		c.add(Finding{Kind: FoundSize, Key: name, Message: fmt.Sprintf("the number of its references is %d, and the snapshot says %d", all, f.References)})
	}
	return nil
}

// checkLogs reads transaction logs.
func (c *inspection) checkLogs(ctx context.Context, ids []ID) error {
	slices.SortFunc(ids, compareIDs)
	c.logs = slices.Compact(ids)
	return c.each(ctx, c.logs, map[ID]bool{}, snapshotsAtOnce, func(ctx context.Context, id ID) error {
		_, err := c.transactions(ctx, id)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.report.Transactions++
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errMissing) && c.first[id]:
			return nil // repositories that began with version 1 have none
		}
		return c.bad(transactionName(id), err)
	})
}

// list looks at the objects in a folder.
func (c *inspection) list(ctx context.Context, folder string) error {
	logs := map[ID]bool{}
	for _, id := range c.logs {
		logs[id] = true
	}
	n := int64(0)
	for e, err := range store.List(ctx, c.store, c.folder(folder), store.Flat|store.WithVersions) {
		if err != nil {
			return err
		}
		n++
		c.progress(folder, n)
		id, ok := objectOf(e)
		if !ok {
			continue
		}
		live := c.snapshots[id]
		switch folder {
		case transactionFolder:
			live = logs[id]
		case manifestFolder:
			live = c.manifests[id]
			if f, ok := c.files[id]; ok && int64(f.Size) != e.Size && !c.broken[id] {
				c.add(Finding{Kind: FoundSize, Key: manifestName(id), Message: fmt.Sprintf("its size in bytes is %d, and snapshots say %d, which other programs read", e.Size, f.Size)})
			}
		case chunkFolder:
			var end uint64
			if end, live = c.chunks.Of(id); live && end <= uint64(e.Size) {
				c.chunks.Set(id, seen)
			}
		}
		if !live {
			o := c.report.Orphans[folder]
			o.add(e.Size)
			c.report.Orphans[folder] = o
		}
	}
	return nil
}

// missingChunks reports the references to chunks that do not exist or are too short.
func (c *inspection) missingChunks(ctx context.Context, ids []ID) error {
	bad := false
	for _, state := range c.chunks.All() {
		bad = bad || state != seen
	}
	if !bad {
		return nil
	}
	again := c.newSurvey(nil)
	again.failed = func(string, error) error { return nil } // it was found
	again.onManifest = func(m *format.Manifest) error {
		for _, refs := range m.Arrays() {
			for ref, err := range refs.All() {
				if err != nil {
					return err
				}
				if ref.Payload != format.Native {
					continue
				}
				if state, _ := c.chunks.Of(ref.ID); state == seen {
					continue
				}
				if len(c.report.Findings) >= c.opt.Findings {
					c.report.Omitted++ // without a request for each
					continue
				}
				key := chunkFolder + "/" + ref.ID.String()
				f := Finding{Kind: FoundMissing, Key: key, Path: c.paths[refs.Node], Chunk: ref.Index, Message: "there is no such object"}
				info, err := store.Stat(ctx, c.store, c.root.MustKey(key))
				if err == nil && uint64(info.Size) >= ref.Offset+ref.Length {
					continue // another reference is too long
				}
				if err == nil {
					f.Kind, f.Message = FoundShort, fmt.Sprintf("its size in bytes is %d, and the reference ends at %d", info.Size, ref.Offset+ref.Length)
				}
				c.add(f)
			}
		}
		return nil
	}
	return again.visit(ctx, ids)
}

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
	return fmt.Errorf("%w; the object repo is lost, and the latest former one that can be read is %s/%s, with %s: "+
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
	sort.Slice(list, func(i, j int) bool { return list[i].Time.After(list[j].Time) })
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
	if err := r.checkObjects(ctx, ids); err != nil {
		return fmt.Errorf("the branch %q was made, but not all of its objects are found again: delete it if they are gone: %w", branch, err)
	}
	return nil
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
