// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

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
	// Manifest is the one that is damaged, or has the reference. It is zero if it is about
	// none.
	Manifest ID
	// Whole is the last snapshot of main without damaged manifests, if the damage affects
	// that of main.
	Whole ID

	place string // of objects that are not allowed
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
	sources map[string]source // each object beside
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
	if err := c.transactions(ctx, append(c.logs, ids...)); err != nil {
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
	name, all := manifestName(m.ID), 0
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
				if last, ok := c.sources[ref.Location]; c.opt.Virtual && (!ok || ref.Offset+ref.Length > last.ref.Offset+last.ref.Length) {
					ref.Index = slices.Clone(ref.Index)
					c.sources[ref.Location] = source{ref, refs.Node, m.ID}
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

// transactions reads transaction logs.
func (c *inspection) transactions(ctx context.Context, ids []ID) error {
	slices.SortFunc(ids, compareIDs)
	c.logs = slices.Compact(ids)
	return c.each(ctx, c.logs, map[ID]bool{}, snapshotsAtOnce, func(ctx context.Context, id ID) error {
		name := transactionFolder + "/" + id.String()
		body, err := c.read(ctx, name, format.KindTransactionLog)
		if err == nil {
			var log *format.TransactionLog
			if log, err = format.ParseTransactionLog(body); err == nil && log.ID != id {
				err = fmt.Errorf("%w: it is the transaction log %v", format.ErrDamaged, log.ID)
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.report.Transactions++
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errMissing) && c.first[id]:
			return nil // repositories that began with version 1 have none
		}
		return c.bad(name, err)
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
				c.add(Finding{Kind: FoundSize, Key: manifestName(id), Message: fmt.Sprintf("its size is %d bytes, and snapshots say %d, which other programs read", e.Size, f.Size)})
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
					f.Kind, f.Message = FoundShort, fmt.Sprintf("it has %d bytes, and the reference ends at %d", info.Size, ref.Offset+ref.Length)
				}
				c.add(f)
			}
		}
		return nil
	}
	return again.visit(ctx, ids)
}
