// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// Staging has the sessions that begin when locations are opened for writing. All nodes of
// one branch are in one session. Its zero value is empty, and it is safe for concurrent
// use.
type Staging struct {
	mu       sync.Mutex
	sessions []*opened
}

// opened is a session that was begun for a location.
type opened struct {
	*Session
	repository, branch string
}

// Close implements [io.Closer]. The session ends with the staging, and not with one of
// the nodes in it.
func (o *opened) Close() error { return nil }

type stagingKey struct{}

// WithStaging returns a context in which locations of branches can be opened for writing.
// Nothing is published before [Staging.Commit].
func WithStaging(ctx context.Context, s *Staging) context.Context {
	return context.WithValue(ctx, stagingKey{}, s)
}

// stagedAt returns the session of a branch.
func stagedAt(ctx context.Context, repository, at string) (store.Store, error) {
	s, ok := ctx.Value(stagingKey{}).(*Staging)
	if !ok {
		return nil, fmt.Errorf("%w: a repository of Icechunk is changed by commits: begin a session, or open the location in the context of WithStaging", store.ErrUnsupported)
	}
	branch := strings.TrimPrefix(at, branchPrefix)
	if branch == "" {
		branch = mainBranch
	}
	if strings.HasPrefix(at, tagPrefix) || strings.HasPrefix(at, snapshotPrefix) || strings.HasPrefix(at, timePrefix) {
		return nil, fmt.Errorf("%w: %s never changes: write to a branch", zarr.ErrInvalidArgument, at)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.sessions {
		if o.repository == repository && o.branch == branch {
			return o, nil
		}
	}
	below, root, err := store.OpenPlain(ctx, repository, store.ReadWrite)
	if err != nil {
		return nil, err
	}
	r, err := Open(ctx, below, root, &Options{Location: repository})
	if err != nil {
		return nil, errors.Join(err, store.Close(below))
	}
	session, err := r.Session(ctx, branch)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	o := &opened{session, repository, branch}
	s.sessions = append(s.sessions, o)
	return o, nil
}

// Committed is a snapshot that a [Staging] has published.
type Committed struct {
	Repository string // the location
	Branch     string
	ID         ID
}

// Commit publishes the changes of each session as one snapshot of its branch. Sessions
// without changes publish nothing. If there are several and one of them fails, those
// before it are published.
func (s *Staging) Commit(ctx context.Context, message string) (list []Committed, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.sessions {
		id, err := o.Commit(ctx, message)
		if errors.Is(err, ErrNothing) {
			continue
		}
		if err != nil {
			return list, fmt.Errorf("%s@%s: %w", o.repository, o.branch, err)
		}
		list = append(list, Committed{o.repository, o.branch, id})
	}
	return list, nil
}

// Close closes all repositories. What was not committed is lost.
func (s *Staging) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, o := range s.sessions {
		errs = append(errs, o.Session.Close())
	}
	s.sessions = nil
	return errors.Join(errs...)
}
