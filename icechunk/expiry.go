// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"errors"
	"slices"
	"time"

	"varve.dev/zarr/icechunk/internal/format"
)

// ExpiryOptions are those of [Repository.Expire]. Nil and the zero value are the
// defaults.
type ExpiryOptions struct {
	// Branches and Tags delete the branches and tags whose snapshots are expired. The
	// branch main stays, and branches and tags that lead to a first snapshot.
	Branches, Tags bool
	// DryRun changes nothing.
	DryRun bool
}

// ExpiryReport says what [Repository.Expire] has done.
type ExpiryReport struct {
	Snapshots []ID     // taken out of the history
	Commits   []Commit // what the repository knew of them
	// Edited is how many snapshots have the first one as their parent now.
	Edited         int
	Branches, Tags []string // deleted
}

// Expire takes the snapshots that were committed before a time out of the history, as the
// reference does. Those that a branch or a tag leads to, and first ones, stay. A snapshot
// whose parent is expired follows the first one, and names the transaction logs of what
// is between. If nothing is expired, nothing is changed.
//
// The objects stay until garbage is collected. Expired snapshots cannot be opened any
// longer.
func (r *Repository) Expire(ctx context.Context, before time.Time, opt *ExpiryOptions) (*ExpiryReport, error) {
	e := &expiry{before: before}
	if opt != nil {
		e.ExpiryOptions = *opt
	}
	if e.DryRun {
		is, err := r.state(ctx)
		if err == nil && is.Repository == nil {
			err = errV1
		}
		if err == nil {
			err = writable(is.Repository)
		}
		if err != nil {
			return nil, err
		}
		if _, err = e.expire(is.Repository); errors.Is(err, errPublished) {
			err = nil // nothing would change
		}
		return &e.report, err
	}
	err := r.update(ctx, func(repo *format.Repository, again bool) (format.Update, error) {
		before := e.report
		u, err := e.expire(repo)
		if again && err != nil {
			e.report = before // of the write whose answer was lost
		}
		return u, err
	})
	return &e.report, err
}

// expiry is one call of Expire.
type expiry struct {
	ExpiryOptions
	before time.Time
	report ExpiryReport
}

// expire changes the object repo.
func (e *expiry) expire(repo *format.Repository) (format.Update, error) {
	e.report = ExpiryReport{}
	if e.Tags && slices.Contains(repo.Disabled, tagDeletion) {
		return format.Update{}, errTagDeletion
	}
	kept, expired := make([]bool, len(repo.Snapshots)), make([]bool, len(repo.Snapshots))
	for i, s := range repo.Snapshots {
		expired[i] = s.Parent >= 0 && s.Time.Before(e.before)
		kept[i] = !expired[i]
	}
	// Deleted references do not keep a snapshot, which another one may.
	leave := func(refs []format.Reference, deletes bool, always string) (left []format.Reference, deleted []string) {
		for _, ref := range refs {
			if deletes && expired[ref.Snapshot] && ref.Name != always {
				deleted = append(deleted, ref.Name)
				continue
			}
			left, kept[ref.Snapshot] = append(left, ref), true
		}
		return left, deleted
	}
	repo.Branches, e.report.Branches = leave(repo.Branches, e.Branches, mainBranch)
	repo.Tags, e.report.Tags = leave(repo.Tags, e.Tags, "")
	repo.DeletedTags = append(repo.DeletedTags, e.report.Tags...)
	slices.Sort(repo.DeletedTags)
	for i, is := range kept {
		if !is {
			e.report.Snapshots = append(e.report.Snapshots, repo.Snapshots[i].ID)
			e.report.Commits = append(e.report.Commits, (&state{Repository: repo}).commit(i))
		}
	}
	if len(e.report.Snapshots)+len(e.report.Branches)+len(e.report.Tags) == 0 {
		return format.Update{}, errPublished
	}
	first := func(i int) bool { return repo.Snapshots[i].Parent < 0 }
	e.report.Edited = repo.Retain(kept, first)
	return format.Update{Kind: format.Expired}, nil
}
