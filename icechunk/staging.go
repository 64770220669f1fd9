// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// Staging has the sessions that begin when locations are opened for writing. All nodes of
// one branch are in one session, and what is read of that branch afterwards is read in
// the session. Its zero value is empty, and it is safe for concurrent use.
type Staging struct {
	// Rehearsal makes a location of a branch that is opened for reading a session, too,
	// so that a dry run can be made of its changes. Nothing is stored or committed. It is
	// set before the first location is opened.
	Rehearsal bool
	// Policy is that by which sessions are rebased if others have committed meanwhile. It
	// is set before the first location is opened.
	Policy Policy
	// Metadata is that of the commits, as [Session.SetMetadata] takes it.
	Metadata map[string]any
	// Amend makes commits take the place of the tips of their branches, as
	// [Session.Amend] does. Without Metadata they keep that of the tip, and with an empty
	// message its message. A session that is behind is not rebased: it would replace the
	// commit of somebody else.
	Amend bool

	mu       sync.Mutex    // of what follows; it is never held during a request
	former   map[string]ID // where sessions that were given up began, by repository and branch
	sessions []*opened
	ended    []*opened          // committed, and to be closed
	stored   map[string]*memory // by repository
}

// opened is a session that was begun for a location, or that begins.
type opened struct {
	*Session
	repository, branch string
	shown              string        // the repository as it was written first
	begun              chan struct{} // closed when Session or err is there
	err                error
}

// Close implements [io.Closer]. The session ends with the staging, and not with one of
// the nodes in it.
func (o *opened) Close() error { return nil }

// IsPrivate reports that nobody else reads what the session stages.
func (s *Session) IsPrivate() bool { return true }

type stagingKey struct{}

// WithStaging returns a context in which locations of branches can be opened for writing.
// Nothing is published before [Staging.Commit].
func WithStaging(ctx context.Context, s *Staging) context.Context {
	return context.WithValue(ctx, stagingKey{}, s)
}

// stagingOf returns the staging of a context, or nil.
func stagingOf(ctx context.Context) *Staging {
	s, _ := ctx.Value(stagingKey{}).(*Staging)
	return s
}

// branchOf returns the branch that a text after @ may mean. It is "" for what never
// changes.
func branchOf(at string) string {
	if strings.HasPrefix(at, tagPrefix) || strings.HasPrefix(at, snapshotPrefix) || strings.HasPrefix(at, timePrefix) {
		return ""
	}
	return cmp.Or(strings.TrimPrefix(at, branchPrefix), mainBranch)
}

// normal returns one spelling for locations of a repository that differ only in how they
// are written.
func normal(repository string) string {
	text, query, hasQuery := strings.Cut(repository, "?")
	scheme, rest, _ := strings.Cut(text, "://")
	host, name, _ := strings.Cut(rest, "/")
	name = path.Clean("/" + name)
	switch scheme {
	case "file":
		if plain, err := url.PathUnescape(name); err == nil {
			name = path.Clean(plain)
		}
		if real, err := filepath.EvalSymlinks(filepath.FromSlash(name)); err == nil {
			name = filepath.ToSlash(real)
		}
		return "file://" + name // of this machine, and without options
	case "gcs":
		scheme = "gs"
	}
	if hasQuery {
		name += "?" + query
	}
	return scheme + "://" + host + name
}

// stagedAt returns the session of a branch, for writing.
func stagedAt(ctx context.Context, repository, at string) (store.Store, error) {
	s := stagingOf(ctx)
	if s == nil {
		return nil, fmt.Errorf("%w: a repository of Icechunk is changed by commits: begin a session, or open the location in the context of WithStaging", store.ErrUnsupported)
	}
	branch := branchOf(at)
	if branch == "" {
		return nil, fmt.Errorf("%w: %s never changes: write to a branch", zarr.ErrInvalidArgument, at)
	}
	for {
		o, isNew := s.entry(repository, branch)
		if isNew {
			session, err := s.begin(ctx, repository, branch)
			s.set(o, session, err)
		}
		err := o.wait(ctx)
		if err == nil {
			return o, nil
		}
		// Another goroutine may have given up. That is no reason for this one.
		if isNew || ctx.Err() != nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
	}
}

// entry returns the session of a branch. If there is none, the caller has to begin it.
func (s *Staging) entry(repository, branch string) (o *opened, isNew bool) {
	key := normal(repository)
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.find(key, branch); o != nil {
		return o, false
	}
	o = &opened{repository: key, branch: branch, shown: repository, begun: make(chan struct{})}
	s.sessions = append(s.sessions, o)
	return o, true
}

// find returns the session of a branch, or nil. The caller holds the lock.
func (s *Staging) find(key, branch string) *opened {
	for _, o := range s.sessions {
		if o.repository == key && o.branch == branch {
			return o
		}
	}
	return nil
}

// begin opens a repository and begins a session.
func (s *Staging) begin(ctx context.Context, repository, branch string) (*Session, error) {
	access := store.ReadWrite
	if s.Rehearsal {
		access = store.ReadOnly
	}
	r, err := openRepository(ctx, repository, access)
	if err != nil {
		return nil, err
	}
	session, err := r.Session(ctx, branch)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	session.remember(s.memory(repository))
	return session, nil
}

// memory returns what sessions of a repository have stored.
func (s *Staging) memory(repository string) *memory {
	key := normal(repository)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stored == nil {
		s.stored = map[string]*memory{}
	}
	if s.stored[key] == nil {
		s.stored[key] = new(memory)
	}
	return s.stored[key]
}

// forget makes sessions that begin afterwards store all chunks: what others have stored
// is published, or a garbage collection may have taken it.
func (s *Staging) forget(repository string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stored, repository)
}

// set says that a session has begun, or removes it if it has not.
func (s *Staging) set(o *opened, session *Session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Session, o.err = session, err; err != nil {
		s.sessions = slices.DeleteFunc(s.sessions, func(other *opened) bool { return other == o })
	}
	close(o.begun)
}

// wait waits until a session has begun.
func (o *opened) wait(ctx context.Context) error {
	select {
	case <-o.begun:
		return o.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// seen returns the session in which a branch is read, or nil: one that was begun for
// writing or, in a rehearsal, the one that would be.
func (s *Staging) seen(ctx context.Context, repository, at string) (*opened, error) {
	branch := branchOf(at)
	if s == nil || branch == "" {
		return nil, nil
	}
	s.mu.Lock()
	o := s.find(normal(repository), branch)
	s.mu.Unlock()
	if o == nil {
		return nil, nil
	}
	if err := o.wait(ctx); err != nil {
		return nil, ctx.Err() // whoever writes has the error, and readers read what is there
	}
	return o, nil
}

// Begun reports whether a location was opened for writing, so that there may be something
// to commit.
func (s *Staging) Begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.Rehearsal && len(s.sessions) > 0
}

// Committed is a snapshot that a [Staging] has published.
type Committed struct {
	Repository string // the location
	Branch     string
	ID         ID
}

// Commit publishes the changes of each session as one snapshot of its branch. Sessions
// without changes publish nothing, and one that is behind is rebased. If there are
// several and one of them fails, those before it are published. A location that is opened
// for writing afterwards begins another session.
func (s *Staging) Commit(ctx context.Context, message string) (list []Committed, err error) {
	if s.Rehearsal {
		return nil, nil
	}
	s.mu.Lock()
	sessions := slices.Clone(s.sessions)
	s.mu.Unlock()
	for _, o := range sessions {
		if err := o.wait(ctx); err != nil {
			return list, err
		}
		if err := o.SetMetadata(s.Metadata); err != nil {
			return list, err
		}
		id, err := s.commit(ctx, o.Session, message)
		if errors.Is(err, ErrNothing) {
			continue
		}
		if err == nil || errors.Is(err, ErrCollected) {
			s.forget(o.repository)
		}
		if err != nil {
			return list, fmt.Errorf("%s@%s: %w", driver.Redact(o.shown), o.branch, err)
		}
		s.end(o)
		list = append(list, Committed{o.shown, o.branch, id})
	}
	return list, nil
}

// commit publishes the changes of a session.
func (s *Staging) commit(ctx context.Context, o *Session, message string) (ID, error) {
	if !s.Amend {
		return o.CommitRebased(ctx, message, s.Policy)
	}
	was := o.base.content
	if s.Metadata == nil {
		o.items = was.Metadata
	}
	return o.Amend(ctx, cmp.Or(message, was.Message))
}

// end takes a session out of those that are open.
func (s *Staging) end(o *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = slices.DeleteFunc(s.sessions, func(other *opened) bool { return other == o })
	s.ended = append(s.ended, o)
}

// Reset gives up all sessions, so that locations which are opened afterwards begin others
// at the tips of their branches. Chunks that are written with the same bytes again are
// not stored again.
func (s *Staging) Reset() {
	s.mu.Lock()
	given := s.sessions
	s.sessions, s.ended = nil, append(s.ended, given...)
	s.mu.Unlock()
	for _, o := range given {
		<-o.begun
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range given {
		if o.err != nil {
			continue
		}
		if name := o.repository + "@" + o.branch; s.former[name] == (ID{}) {
			if s.former == nil {
				s.former = map[string]ID{}
			}
			s.former[name] = o.start
		}
	}
}

// Former returns the location of a node of a branch at the snapshot where the first
// session of that branch began, if [Staging.Reset] has given it up.
func (s *Staging) Former(location string) (string, bool) {
	repository, at, node, err := parseLocation(location)
	if err != nil {
		return "", false
	}
	s.mu.Lock()
	id, ok := s.former[normal(repository)+"@"+branchOf(at)]
	s.mu.Unlock()
	text, query, hasQuery := strings.Cut(repository, "?")
	text = prefix + strings.ReplaceAll(text, "@", "%40") + "@" + snapshotPrefix + id.String() + "/" + node
	if hasQuery {
		text += "?" + query
	}
	return text, ok
}

// Close closes all repositories. What was not committed is lost.
func (s *Staging) Close() error {
	s.mu.Lock()
	sessions := slices.Concat(s.sessions, s.ended)
	s.sessions, s.ended = nil, nil
	s.mu.Unlock()
	var errs []error
	for _, o := range sessions {
		if <-o.begun; o.err == nil {
			errs = append(errs, o.Session.Close())
		}
	}
	return errors.Join(errs...)
}
