// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// Kinds of what a vacuum of a manifest finds.
const (
	kindSuperseded = "superseded" // values that changes have replaced
	kindUnfinished = "unfinished" // values that no document has named
	kindScans      = "scans"      // what stopped collections have kept
)

// Vacuum deletes values in the folder of a manifest that its document does not need:
// those that changes have replaced, those that a stopped program has stored before a
// change, and scans that are kept for an interrupted collection ([Collector.Keep]). The
// kinds of items are "superseded", "unfinished" and "scans". The folder may lack a
// document, if a first collection was interrupted. Values with other names are not
// touched.
//
// A value that a change has replaced stays while its grace runs, from that change on, so
// that readers which have opened the manifest before still find it. It may stay longer,
// but not less. Values that no document has named stay until the youngest of them is as
// old, because a program may be about to name them.
//
// A manifest that was made of another one may refer to copies of chunks in the folder of
// that. They stay as long as the other one needs them itself.
func Vacuum(ctx context.Context, s store.Store, path store.Path, opt *rechunk.VacuumOptions) (*rechunk.VacuumReport, error) {
	v := &vacuum{into: s, path: path, grace: rechunk.DefaultGrace, report: &rechunk.VacuumReport{}}
	if opt != nil {
		v.dry = opt.DryRun
		switch {
		case opt.Grace > 0:
			v.grace = opt.Grace
		case opt.Grace < 0:
			v.grace = 0
		}
	}
	if err := v.run(ctx); err != nil {
		return nil, fmt.Errorf("vacuum %s: %w", path, err)
	}
	return v.report, nil
}

// vacuum is one call of Vacuum.
//
//  1. Ask the store for its time.
//  2. List the values of the folder.
//  3. Read the document. What it names was listed before, or is not deleted.
//  4. Read all references, to find out which values of data they lead to: the list of
//     sources only grows.
//  5. If values that no document has named are to be deleted, store the document again
//     with other white space at its end. A program that was about to name them, however
//     long it was held, then fails by the condition of its change.
//  6. Delete what is not needed, and whose grace is over.
type vacuum struct {
	into   store.Store
	path   store.Path
	grace  time.Duration
	dry    bool
	clock  time.Time
	report *rechunk.VacuumReport
}

// garbage are values of one kind that are not needed.
type garbage struct {
	kind    string
	entries []store.Entry
	since   time.Time // when they were replaced, or the youngest was written; zero if unknown
	deleted bool      // they are deleted
}

func (v *vacuum) run(ctx context.Context) error {
	if err := v.askTime(ctx); err != nil {
		return err
	}
	for range mostTries {
		err := v.try(ctx)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%w: other programs change the manifest all the time", store.ErrConflict)
}

// mostTries is how often a vacuum begins again after another program has changed the
// manifest.
const mostTries = 8

// try runs once, from step 2 on.
func (v *vacuum) try(ctx context.Context) error {
	v.report.Items = nil
	listed, err := ownValues(ctx, v.into, v.path, store.WithVersions)
	if err != nil {
		return err
	}
	m, err := Open(ctx, v.into, v.path)
	// A first collection was interrupted before it stored a document.
	if errors.Is(err, fs.ErrNotExist) && len(listed) > 0 {
		m, err = nil, nil
	}
	if err != nil {
		return err
	}
	all, err := v.sort(ctx, m, listed)
	if err != nil {
		return err
	}
	// Fence before anything is deleted: a conflict begins again.
	fenced := false
	for _, g := range all {
		v.judge(g, m == nil)
		if g.kind == kindUnfinished && m != nil && g.deleted && !v.dry && !fenced {
			if err := v.fence(ctx, m); err != nil {
				return err
			}
			fenced = true
		}
	}
	for _, g := range all {
		if err := v.reclaim(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// fence stores the document again, so that changes which were prepared before fail.
func (v *vacuum) fence(ctx context.Context, m *Manifest) error {
	key, err := v.path.Key(own.ManifestDocument)
	if err != nil {
		return err
	}
	text, info, err := v.into.Get(ctx, key, store.Request{Limit: mostDocument}, nil)
	if err != nil {
		return err
	}
	// The references were read by another document: begin again with the present one.
	if info.Version != m.folder.info.Version {
		return store.ErrConflict
	}
	// White space changes the version, and no meaning. A program that prepared its
	// change before then fails by its condition, and does not name values that are
	// deleted below.
	text = publish.Renewed(text)
	if err := checkDocument(text); err != nil {
		return err
	}
	_, err = store.Write(ctx, v.into, store.PutIf(key, text, store.IfVersion(info.Version)), store.Sync)
	if errors.Is(err, store.ErrUnsupported) {
		return nil // such a store has no changes of manifests
	}
	return err
}

// askTime asks the store for its time: that of this machine may be wrong.
func (v *vacuum) askTime(ctx context.Context) error {
	// A dry run stores nothing, so it cannot ask. Its report may be off by the
	// difference.
	if v.dry {
		v.clock = time.Now()
		return nil
	}
	key, err := v.path.Key(clockFolder + "/" + newID())
	if err == nil {
		_, err = store.Write(ctx, v.into, store.Put(key, []byte("{}")), store.Flush)
	}
	if err != nil {
		return err
	}
	info, err := store.Stat(ctx, v.into, key)
	v.clock = info.Modified
	_, failed := store.Write(store.Finishing(ctx), v.into, store.Delete(key), store.Sync)
	return errors.Join(err, failed)
}

// sort returns the values that are not needed, by the time since when they are not.
func (v *vacuum) sort(ctx context.Context, m *Manifest, listed map[string]store.Entry) ([]*garbage, error) {
	unfinished, scans := &garbage{kind: kindUnfinished}, &garbage{kind: kindScans}
	var all []*garbage
	since := map[string]*garbage{}
	needed := map[string]bool{}
	if m != nil {
		var named map[string]bool
		var err error
		if needed, named, err = v.needed(ctx, m); err != nil {
			return nil, err
		}
		// A value that a source names and no reference leads to was replaced by some
		// change, the last one at the latest.
		last := &garbage{kind: kindSuperseded, since: m.folder.info.Modified}
		for key := range named {
			since[key] = last
		}
		for _, g := range replacedAt(m.folder, listed) {
			all = append(all, g.garbage)
			for _, key := range g.keys {
				since[key] = g.garbage
			}
		}
		all = append(all, last)
	}
	for key, e := range listed {
		g := since[key]
		switch {
		case needed[key]:
			continue
		case g != nil:
		case strings.HasPrefix(key, scanFolder+"/"):
			g = scans
		default:
			g = unfinished
		}
		g.entries = append(g.entries, e)
		if g == scans || g == unfinished {
			// The youngest value decides for all: they may belong to one change in
			// progress.
			if g.since.Before(e.Modified) {
				g.since = e.Modified
			}
		}
	}
	return append(all, unfinished, scans), nil
}

// needed returns the keys of the values that the document leads to, and those of the
// sources that are values of the folder.
func (v *vacuum) needed(ctx context.Context, m *Manifest) (needed, named map[string]bool, err error) {
	needed, named = map[string]bool{}, map[string]bool{}
	// Blocks of references and sources are named by the document itself.
	for key := range m.folder.blocks {
		needed[key] = true
	}
	numbers := map[uint32]string{} // of the sources that are values of the folder
	for n := range uint32(m.count()) {
		s, err := m.source(ctx, n+1)
		if err != nil {
			return nil, nil, err
		}
		if key, ok := m.folder.own(s.Location); ok {
			numbers[n+1], named[key] = key, true
		}
	}
	for _, a := range m.Arrays {
		for _, b := range a.blocks {
			r, err := m.folder.references(ctx, b)
			if err != nil {
				return nil, nil, err
			}
			last := uint32(0)
			for _, number := range r.source {
				// Neighbouring chunks mostly share a source: a look-up for each of
				// millions is slow.
				if number != last {
					if last = number; numbers[number] != "" {
						needed[numbers[number]] = true
					}
				}
			}
		}
	}
	return needed, named, nil
}

// replacedBy are the values that one change has replaced.
type replacedBy struct {
	*garbage
	keys []string
}

// replacedAt returns the values that changes have replaced, with the times of these
// changes or later ones.
func replacedAt(f *folder, listed map[string]store.Entry) []replacedBy {
	list := make([]replacedBy, len(f.superseded))
	at := f.info.Modified
	// From the newest change backwards: without its own value, a change counts as late
	// as the next one. So the time is never too early.
	for i := len(list) - 1; i >= 0; i-- {
		s := f.superseded[i]
		// The value that was stored after the change may be gone to a vacuum itself. Then
		// the one of the next change counts.
		if e, ok := listed[s.Before]; ok {
			at = e.Modified
		}
		list[i] = replacedBy{&garbage{kind: kindSuperseded, since: at}, s.Keys}
	}
	return list
}

// judge reports values that are not needed, and decides whether they are deleted.
func (v *vacuum) judge(g *garbage, noDocument bool) {
	if len(g.entries) == 0 {
		return
	}
	item := rechunk.VacuumItem{Kind: g.kind, Keys: g.entries[0].Name, Values: int64(len(g.entries))}
	for _, e := range g.entries {
		item.Bytes += max(0, e.Size)
	}
	grace := v.grace
	if g.kind == kindUnfinished && noDocument {
		grace = max(grace, leastUnfinished)
	}
	if grace > 0 {
		item.Kept, item.Due = v.kept(g, grace)
	}
	g.deleted = item.Kept == ""
	v.report.Items = append(v.report.Items, item)
}

// reclaim deletes values that are not needed.
func (v *vacuum) reclaim(ctx context.Context, g *garbage) error {
	if !g.deleted || v.dry {
		return nil
	}
	work, within := parallel.New(ctx)
	work.SetLimit(16)
	for _, e := range g.entries {
		work.Go(func() error {
			key, err := v.path.Key(e.Name)
			if err == nil {
				_, err = store.Write(within, v.into, store.Delete(key), store.Sync)
			}
			// Another vacuum was faster.
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
	}
	return work.Wait(nil)
}

// leastUnfinished is the least grace of values that no document has named, in a folder
// without a document: nothing keeps a program that is about to create one from that.
const leastUnfinished = time.Hour

// kept returns why values must stay, or "", and when their grace ends.
func (v *vacuum) kept(g *garbage, grace time.Duration) (why string, due time.Time) {
	if g.since.IsZero() || v.clock.IsZero() {
		return "the store does not tell when they were written", due
	}
	left := g.since.Add(grace).Sub(v.clock)
	if left <= 0 {
		return "", due
	}
	due = time.Now().Add(left) // by the clock of this machine, for people
	who := "readers may still use them"
	switch g.kind {
	case kindUnfinished:
		who = "a program may be about to name them"
	case kindScans:
		who = "the same varve virtualize resumes with them"
	}
	return fmt.Sprintf("%s until %s", who, due.Format(time.RFC3339)), due
}

// Delete deletes a manifest with the values in its folder: the document first, so that
// a deletion that was stopped leaves only values that no reader finds. Other values in
// the folder stay. If there is nothing, the error wraps [fs.ErrNotExist]. A document of
// another program is an error, and nothing is deleted; one that is damaged is deleted.
func Delete(ctx context.Context, s store.Store, path store.Path) error {
	v := &vacuum{into: s, path: path}
	listed, err := ownValues(ctx, v.into, v.path, store.WithVersions)
	if err != nil {
		return err
	}
	key, err := path.Key(own.ManifestDocument)
	if err != nil {
		return err
	}
	found, err := hasDocument(ctx, s, key)
	if err == nil && found {
		_, err = store.Write(ctx, s, store.Delete(key), store.Sync)
	}
	if warns, keyErr := path.Key(nodename.V3Node); err == nil && keyErr == nil && isWarning(ctx, s, warns) {
		_, err = store.Write(ctx, s, store.Delete(warns), store.Sync)
	}
	if err != nil {
		return err
	}
	if !found && len(listed) == 0 {
		return fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	all := &garbage{deleted: true}
	for _, e := range listed {
		all.entries = append(all.entries, e)
	}
	return v.reclaim(ctx, all)
}

// IsManifest reports whether a path is the folder of a manifest, or of one that is not
// finished: a collection that was stopped has left something there. A document of another
// program is an error.
func IsManifest(ctx context.Context, s store.Store, path store.Path) (bool, error) {
	key, err := path.Key(own.ManifestDocument)
	if err != nil {
		return false, err
	}
	if found, err := hasDocument(ctx, s, key); found || err != nil {
		return found, err
	}
	v := &vacuum{into: s, path: path}
	listed, err := ownValues(ctx, v.into, v.path, store.WithVersions)
	if errors.Is(err, store.ErrUnsupported) {
		return false, nil
	}
	return len(listed) > 0, err
}

// hasDocument reports whether a value is the document of a manifest, sound or damaged. A
// document of another program is an error: many programs have a manifest.json.
func hasDocument(ctx context.Context, s store.Store, key store.Key) (bool, error) {
	text, _, err := s.Get(ctx, key, store.Request{Limit: mostDocument}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !json.Valid(text) {
		return true, nil
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // it fails if there are no members
	if _, ours := members[documentMark]; !ours {
		return false, scan.Unsupportedf("%s is of another program: it has no member %s; remove it by other means", key, documentMark)
	}
	return true, nil
}
