// SPDX-License-Identifier: Apache-2.0

// Package icechunk opens repositories of Icechunk: arrays with branches, tags and a
// history of commits, as the Icechunk specification, versions 1 and 2, describes them.
// Importing it lets every function that opens a location read them:
//
//	import _ "varve.dev/zarr/icechunk"
//
//	a, err := zarr.OpenArray(ctx, "icechunk+s3://bucket/repo@main/t2m", nil)
//
// # Locations
//
// A location is that of the repository with "icechunk+" before it, then @ with what to
// open, then the path of the node:
//
//	icechunk+s3://bucket/repo@main/t2m      the branch main as it is now
//	icechunk+file:///data/repo@tag:v1/t2m   the tag v1
//	icechunk+gs://bucket/repo@1CECHNKREP0F1RSTCMT0
//	icechunk+s3://bucket/repo@2026-01-01T12:00:00Z?endpoint=http://127.0.0.1:9000
//	icechunk+https://data.example/repo      the branch main
//
// The first @ of the path divides it. An @ in the path of the repository is written %40.
// What follows is a branch, a snapshot, or a time in UTC: then it is the last snapshot of
// the branch main that is not younger. Where a name could be several of these, write what
// it is: branch:NAME, tag:NAME, snapshot:ID or time:TIME. Names are percent-encoded: a
// branch a/b is @a%2Fb. Options of the store, such as an endpoint, come at the end.
//
// # Snapshots
//
// A [Snapshot] is a store that never changes: its keys are zarr.json and the chunks of
// each node. A [Repository] lists branches, tags and commits.
package icechunk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sort"
	"strings"
	"time"

	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// Options are those of a repository. Nil and the zero value are the defaults.
type Options struct {
	// Object bounds an object of the repository that is read whole, in bytes and decoded:
	// a snapshot, a manifest or the list of branches. 0 is 1 GiB.
	Object int64
	// Memory bounds the manifests that stay in memory, in bytes. 0 is 256 MiB.
	Memory int64
	// Durability is that of everything that is stored. With [store.Sync], the default, a
	// commit survives a power cut once it has returned.
	Durability store.Durability
	// Location is that of the repository. Virtual chunks, which are in files beside it,
	// are read only if it is set, and only from what [virtual.WithAllowed] names.
	Location string
}

// Repository is a place with branches, tags and snapshots. It is safe for concurrent use.
type Repository struct {
	store      store.Store
	root       store.Path
	limit      int64
	durability store.Durability
	manifests  manifests

	places     *virtual.Places   // nil without a location
	containers map[string]string // prefixes of locations, by name

	placesErr, containersErr error // of virtual chunks
}

// ID identifies a snapshot. Its text has 20 characters.
type ID = format.ObjectID

// Reference is a branch or a tag.
type Reference struct {
	Name     string
	Snapshot ID
}

// Commit is what a repository knows of a snapshot.
type Commit struct {
	ID      ID
	Parent  ID // zero for the first one
	Time    time.Time
	Message string

	items []format.Item
}

// Metadata returns what the writer has said of the commit beside its message, such as its
// name: see [Session.SetMetadata]. It is nil for snapshots of version 1.
func (c Commit) Metadata() (map[string]any, error) {
	if len(c.items) == 0 {
		return nil, nil
	}
	m := map[string]any{}
	for _, item := range c.items {
		v, err := format.ParseFlex(item.Value)
		if err != nil {
			return nil, fmt.Errorf("the metadata %q of the commit %v: %w", item.Name, c.ID, err)
		}
		m[item.Name] = v
	}
	return m, nil
}

// ErrNoReference means that a repository has no branch, tag or snapshot of a name.
var ErrNoReference error = &kindError{"the repository has no such reference", fs.ErrNotExist}

// errNone means that a place has no repository.
var errNone error = &kindError{"there is no repository of Icechunk", fs.ErrNotExist}

// kindError is an error that is also another one, without its text.
type kindError struct {
	text string
	kind error
}

// Error implements error.
func (e *kindError) Error() string { return e.text }

// Is is for [errors.Is].
func (e *kindError) Is(target error) bool { return errors.Is(e.kind, target) }

// ErrUnavailable means that somebody has set the repository offline.
var ErrUnavailable = errors.New("the repository is offline")

// Open opens the repository at a path of a store. If there is none, the error wraps
// [fs.ErrNotExist].
func Open(ctx context.Context, s store.Store, root store.Path, opt *Options) (*Repository, error) {
	r := &Repository{store: s, root: root, limit: 1 << 30, durability: store.Sync}
	r.manifests.most = 256 << 20
	if opt != nil && opt.Object > 0 {
		r.limit = opt.Object
	}
	if opt != nil && opt.Memory > 0 {
		r.manifests.most = opt.Memory
	}
	if opt != nil && opt.Durability != 0 {
		r.durability = opt.Durability
	}
	is, err := r.state(ctx)
	if err != nil {
		return nil, r.withFormer(ctx, err)
	}
	if is.Repository != nil {
		// Without virtual chunks, nobody needs these.
		if r.containers, err = containers(is.Config); err != nil {
			r.containersErr = r.fail(repositoryKey, err)
		}
	}
	if opt != nil && opt.Location != "" {
		r.places, r.placesErr = virtual.NewPlaces(ctx, opt.Location)
	}
	return r, nil
}

// Close closes the store of the repository, if it can be closed, and those of virtual
// chunks.
func (r *Repository) Close() error {
	err := store.Close(r.store)
	if r.places != nil && r.placesErr == nil {
		err = errors.Join(err, r.places.Close())
	}
	return err
}

// state is what a repository is at one moment.
type state struct {
	*format.Repository // nil in version 1
	branches, tags     []Reference
}

// repositoryKey is the name of the object with all references, in version 2.
const repositoryKey = "repo"

// state reads the references.
func (r *Repository) state(ctx context.Context) (*state, error) {
	body, err := r.read(ctx, repositoryKey, format.KindRepository)
	if errors.Is(err, fs.ErrNotExist) {
		return r.stateV1(ctx)
	}
	if err != nil {
		return nil, err
	}
	repo, err := format.ParseRepository(body)
	if err != nil {
		return nil, r.fail(repositoryKey, err)
	}
	if repo.Status.Availability == format.Offline {
		return nil, unavailable(repo)
	}
	return stateOf(repo), nil
}

// unavailable returns the error for a repository that is offline.
func unavailable(repo *format.Repository) error {
	return fmt.Errorf("%w since %s: %s", ErrUnavailable, repo.Status.Since.Format(time.RFC3339), repo.Status.Reason)
}

// stateOf returns what the object repo says.
func stateOf(repo *format.Repository) *state {
	named := func(list []format.Reference) (refs []Reference) {
		for _, ref := range list {
			refs = append(refs, Reference{ref.Name, repo.Snapshots[ref.Snapshot].ID})
		}
		return refs
	}
	return &state{repo, named(repo.Branches), named(repo.Tags)}
}

// read reads an object of the repository.
func (r *Repository) read(ctx context.Context, name string, kind format.Kind) ([]byte, error) {
	key, err := r.root.Key(name)
	if err != nil {
		return nil, err
	}
	data, _, err := r.store.Get(ctx, key, store.Request{Limit: r.limit}, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist) && kind != format.KindRepository:
		// Something names it. A missing chunk would be read as the fill value.
		return nil, r.fail(name, errMissing)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	_, body, err := format.Open(data, kind, r.limit)
	if err != nil {
		return nil, r.fail(name, err)
	}
	return body, nil
}

// errMissing means that an object does not exist which another one names.
var errMissing = fmt.Errorf("%w: there is no such object", format.ErrDamaged)

// fail adds the key of an object to an error.
func (r *Repository) fail(name string, err error) error {
	return fmt.Errorf("%s: %w", r.root.MustKey(name), err)
}

// Branches returns the branches as they are now, by name.
func (r *Repository) Branches(ctx context.Context) ([]Reference, error) {
	is, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	return is.branches, nil
}

// Tags returns the tags as they are now, by name.
func (r *Repository) Tags(ctx context.Context) ([]Reference, error) {
	is, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	return is.tags, nil
}

// Log yields the commits that lead to a snapshot, the last one first. The text is what
// follows @ in a location.
func (r *Repository) Log(ctx context.Context, at string) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		is, err := r.state(ctx)
		if err != nil {
			yield(Commit{}, err)
			return
		}
		id, err := r.find(ctx, is, at)
		if err != nil {
			yield(Commit{}, err)
			return
		}
		for c, err := range r.ancestors(ctx, is, id) {
			if !yield(c, err) {
				return
			}
		}
	}
}

// ancestors yields a commit and those before it.
func (r *Repository) ancestors(ctx context.Context, is *state, id ID) iter.Seq2[Commit, error] {
	if is.Repository == nil {
		return r.ancestorsV1(ctx, id)
	}
	return func(yield func(Commit, error) bool) {
		i, ok := is.FindSnapshot(id)
		if !ok {
			yield(Commit{}, fmt.Errorf("%w: snapshot %v", ErrNoReference, id))
			return
		}
		for i >= 0 { // no snapshot is its own ancestor
			if !yield(is.commit(i), ctx.Err()) || ctx.Err() != nil {
				return
			}
			i = is.Snapshots[i].Parent
		}
	}
}

// commit returns what the repository says of a snapshot.
func (s *state) commit(i int) Commit {
	is := s.Snapshots[i]
	c := Commit{ID: is.ID, Time: is.Time, Message: is.Message, items: is.Metadata}
	if is.Parent >= 0 {
		c.Parent = s.Snapshots[is.Parent].ID
	}
	return c
}

// Snapshot opens what follows @ in a location: a branch, a tag, a snapshot or a time. ""
// is the branch main.
func (r *Repository) Snapshot(ctx context.Context, at string) (*Snapshot, error) {
	is, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	id, err := r.find(ctx, is, at)
	if err != nil {
		return nil, err
	}
	return r.open(ctx, id)
}

// The kinds of references in locations.
const (
	branchPrefix   = "branch:"
	tagPrefix      = "tag:"
	snapshotPrefix = "snapshot:"
	timePrefix     = "time:"
)

// mainBranch is the branch that every repository has.
const mainBranch = "main"

// find returns the snapshot that a text means.
func (r *Repository) find(ctx context.Context, is *state, at string) (ID, error) {
	if at == "" {
		at = branchPrefix + mainBranch
	}
	for prefix, find := range map[string]func(context.Context, *state, string) (ID, error){
		branchPrefix: r.branch, tagPrefix: r.tag, snapshotPrefix: r.snapshot, timePrefix: r.time,
	} {
		if name, ok := strings.CutPrefix(at, prefix); ok {
			return find(ctx, is, name)
		}
	}
	var found []string
	var id ID
	var older error
	for _, try := range []struct {
		prefix string
		find   func(context.Context, *state, string) (ID, error)
	}{{branchPrefix, r.branch}, {snapshotPrefix, r.snapshot}, {timePrefix, r.time}} {
		one, err := try.find(ctx, is, at)
		if err == nil {
			id, found = one, append(found, try.prefix+at)
		} else if !errors.Is(err, ErrNoReference) {
			return id, err
		} else if errors.Is(err, errOlder) {
			older = err
		}
	}
	switch len(found) {
	case 0:
		if older != nil {
			return id, older
		}
		meant := ""
		if _, err := r.tag(ctx, is, at); err == nil {
			meant = " (did you mean " + tagPrefix + at + "?)"
		}
		return id, fmt.Errorf("%w: %q is no branch, snapshot or time%s; %s", ErrNoReference, at, meant, is.known())
	case 1:
		return id, nil
	}
	return id, fmt.Errorf("%q may be %s: write which", at, strings.Join(found, " or "))
}

// known names the references that there are.
func (s *state) known() string {
	const most = 10
	list := func(what string, refs []Reference) string {
		var names []string
		for i, ref := range refs {
			if i == most {
				names = append(names, "…")
				break
			}
			names = append(names, ref.Name)
		}
		return what + ": " + strings.Join(names, ", ")
	}
	text := list("the branches", s.branches)
	if len(s.tags) > 0 {
		text += list("; the tags (tag:NAME)", s.tags)
	}
	return text
}

func named(refs []Reference, name, what string, is *state) (ID, error) {
	for _, ref := range refs {
		if ref.Name == name {
			return ref.Snapshot, nil
		}
	}
	return ID{}, fmt.Errorf("%w: %s %q; %s", ErrNoReference, what, name, is.known())
}

func (r *Repository) branch(_ context.Context, is *state, name string) (ID, error) {
	return named(is.branches, name, "branch", is)
}

func (r *Repository) tag(_ context.Context, is *state, name string) (ID, error) {
	return named(is.tags, name, "tag", is)
}

func (r *Repository) snapshot(ctx context.Context, is *state, text string) (ID, error) {
	id, ok := format.ParseObjectID(text)
	if !ok {
		return ID{}, fmt.Errorf("%w: %q is no ID of a snapshot", ErrNoReference, text)
	}
	if is.Repository != nil {
		if _, ok = is.FindSnapshot(id); !ok {
			return ID{}, fmt.Errorf("%w: snapshot %v", ErrNoReference, id)
		}
		return id, nil
	}
	key := r.root.MustKey(snapshotName(id))
	if ok, err := store.Exists(ctx, r.store, key); err != nil {
		return ID{}, err
	} else if !ok {
		return ID{}, fmt.Errorf("%w: snapshot %v", ErrNoReference, id)
	}
	return id, nil
}

// times are the forms of a time, in UTC.
var times = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02 15:04",
}

// errOlder means that no snapshot is as old as a time, which follows the text.
var errOlder = fmt.Errorf("%w: no snapshot is as old", ErrNoReference)

// ParseTime parses a time as a location has it: a day such as 2026-01-01, with or without
// a time of the day, in UTC unless it says another zone.
func ParseTime(text string) (t time.Time, ok bool) {
	for _, form := range times {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return t, false
}

func (r *Repository) time(ctx context.Context, is *state, text string) (ID, error) {
	t, ok := ParseTime(text)
	if !ok {
		return ID{}, fmt.Errorf("%w: %q is no time", ErrNoReference, text)
	}
	id, err := r.branch(ctx, is, mainBranch)
	if err != nil {
		return ID{}, err
	}
	var oldest Commit
	for c, err := range r.ancestors(ctx, is, id) {
		if err != nil {
			return ID{}, err
		}
		if !c.Time.After(t) {
			return c.ID, nil
		}
		oldest = c
	}
	return ID{}, fmt.Errorf("%w as %s: the oldest of the branch main is %v of %s", errOlder, text, oldest.ID, oldest.Time.UTC().Format(time.RFC3339Nano))
}

// stateV1 reads the references of a repository of version 1, which are files.
func (r *Repository) stateV1(ctx context.Context) (*state, error) {
	is := &state{}
	dir, err := r.root.Join("refs")
	if err != nil {
		return nil, err
	}
	for e, err := range store.List(ctx, r.store, dir, store.Flat) {
		if err != nil {
			return nil, err
		}
		kind, name, ok := strings.Cut(e.Name, ".")
		if !e.Dir || !ok {
			continue
		}
		deleted, err := store.Exists(ctx, r.store, dir.MustKey(e.Name+"/ref.json.deleted"))
		if err != nil {
			return nil, err
		}
		if deleted {
			continue
		}
		id, err := r.refV1(ctx, dir.MustKey(e.Name+"/ref.json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // an empty folder of one that was deleted
		}
		if err != nil {
			return nil, err
		}
		switch kind {
		case "branch":
			is.branches = append(is.branches, Reference{name, id})
		case "tag":
			is.tags = append(is.tags, Reference{name, id})
		}
	}
	if is.branches == nil {
		return nil, errNone
	}
	sortReferences(is.branches)
	sortReferences(is.tags)
	return is, nil
}

// refV1 reads a reference of version 1.
func (r *Repository) refV1(ctx context.Context, key store.Key) (id ID, err error) {
	raw, _, err := r.store.Get(ctx, key, store.Request{Limit: 1 << 16}, nil)
	if err != nil {
		return id, fmt.Errorf("%s: %w", key, err)
	}
	var is struct {
		Snapshot string `json:"snapshot"`
	}
	err = json.Unmarshal(raw, &is)
	id, ok := format.ParseObjectID(is.Snapshot)
	if err != nil || !ok {
		return id, fmt.Errorf("%s: %w: it names no snapshot", key, format.ErrDamaged)
	}
	return id, nil
}

// ancestorsV1 yields a commit and those before it, each of which is an object.
func (r *Repository) ancestorsV1(ctx context.Context, id ID) iter.Seq2[Commit, error] {
	return func(yield func(Commit, error) bool) {
		seen := map[ID]bool{}
		for id != (ID{}) {
			if seen[id] {
				yield(Commit{}, r.fail(snapshotName(id), fmt.Errorf("%w: the snapshot is its own ancestor", format.ErrDamaged)))
				return
			}
			seen[id] = true
			s, err := r.parsed(ctx, id)
			if err != nil {
				yield(Commit{}, err)
				return
			}
			if !yield(Commit{ID: s.ID, Parent: s.Parent, Time: s.Time, Message: s.Message}, nil) {
				return
			}
			id = s.Parent
		}
	}
}

func sortReferences(list []Reference) {
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
}
