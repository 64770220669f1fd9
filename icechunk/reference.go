// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
)

// ErrExists means that a repository, or a branch or tag in it, exists.
var ErrExists error = &kindError{"exists already", fs.ErrExist}

// errTaken means that there is a repository where one is to be made.
var errTaken = fmt.Errorf("a repository %w: choose another place", ErrExists)

// CreateBranch makes a branch at what follows @ in a location. If there is one of the
// name, the error wraps [ErrExists].
func (r *Repository) CreateBranch(ctx context.Context, name, at string) error {
	if err := checkBranch(name); err != nil {
		return err
	}
	return r.point(ctx, name, at, func(repo *format.Repository, snapshot int, again bool) (u format.Update, err error) {
		if again && leads(repo.Branches, name, snapshot) {
			return u, errPublished
		}
		if repo.Branches, err = extended(repo.Branches, "branch", name, snapshot); err != nil {
			return u, err
		}
		return format.Update{Kind: format.BranchCreated, Name: name}, nil
	})
}

// CreateTag makes a tag at what follows @ in a location. A tag never changes, and no
// later tag gets its name, also after it was deleted.
func (r *Repository) CreateTag(ctx context.Context, name, at string) error {
	return r.point(ctx, name, at, func(repo *format.Repository, snapshot int, again bool) (u format.Update, err error) {
		if again && leads(repo.Tags, name, snapshot) {
			return u, errPublished
		}
		if slices.Contains(repo.Disabled, tagCreation) {
			return u, fmt.Errorf("%w: the repository does not permit new tags", fs.ErrPermission)
		}
		if _, was := slices.BinarySearch(repo.DeletedTags, name); was {
			return u, &kindError{fmt.Sprintf("a tag %q was deleted, and its name is never used again: choose another one", name), ErrExists}
		}
		if repo.Tags, err = extended(repo.Tags, "tag", name, snapshot); err != nil {
			return u, err
		}
		return format.Update{Kind: format.TagCreated, Name: name}, nil
	})
}

// ResetBranch moves a branch to what follows @ in a location. Snapshots that no branch or
// tag leads to any longer stay until garbage is collected.
func (r *Repository) ResetBranch(ctx context.Context, name, at string) error {
	return r.point(ctx, name, at, func(repo *format.Repository, snapshot int, _ bool) (format.Update, error) {
		i, ok := format.Find(repo.Branches, name)
		if !ok {
			return format.Update{}, fmt.Errorf("%w: branch %q", ErrNoReference, name)
		}
		u := format.Update{Kind: format.BranchReset, Name: name, Previous: repo.Snapshots[repo.Branches[i].Snapshot].ID}
		repo.Branches[i].Snapshot = snapshot
		return u, nil
	})
}

// DeleteBranch deletes a branch. Every repository keeps the branch main.
func (r *Repository) DeleteBranch(ctx context.Context, name string) error {
	if name == mainBranch {
		return fmt.Errorf("%w: a repository always has the branch main", zarr.ErrInvalidArgument)
	}
	return r.update(ctx, func(repo *format.Repository, again bool) (u format.Update, err error) {
		if _, is := format.Find(repo.Branches, name); again && !is {
			return u, errPublished
		}
		u = format.Update{Kind: format.BranchDeleted, Name: name}
		repo.Branches, u.Previous, err = shortened(repo, repo.Branches, "branch", name)
		return u, err
	})
}

// DeleteTag deletes a tag.
func (r *Repository) DeleteTag(ctx context.Context, name string) error {
	return r.update(ctx, func(repo *format.Repository, again bool) (u format.Update, err error) {
		if _, is := slices.BinarySearch(repo.DeletedTags, name); again && is {
			return u, errPublished
		}
		if slices.Contains(repo.Disabled, tagDeletion) {
			return u, errTagDeletion
		}
		u = format.Update{Kind: format.TagDeleted, Name: name}
		if repo.Tags, u.Previous, err = shortened(repo, repo.Tags, "tag", name); err == nil {
			i, _ := slices.BinarySearch(repo.DeletedTags, name)
			repo.DeletedTags = slices.Insert(repo.DeletedTags, i, name)
		}
		return u, err
	})
}

// Unreached returns the number of commits that lead to a snapshot but to no branch and no
// tag. A garbage collection may delete them.
func (r *Repository) Unreached(ctx context.Context, snapshot ID) (n int, err error) {
	is, err := r.state(ctx)
	if err != nil || is.Repository == nil {
		return 0, cmp.Or(err, errV1)
	}
	reached := is.Reachable()
	i, ok := is.FindSnapshot(snapshot)
	for ok && i >= 0 && !reached[i] {
		i, n = is.Snapshots[i].Parent, n+1
	}
	return n, nil
}

// point changes where a reference leads.
func (r *Repository) point(ctx context.Context, name, at string, change func(repo *format.Repository, snapshot int, again bool) (format.Update, error)) error {
	if err := checkName(name); err != nil {
		return err
	}
	now, err := r.state(ctx)
	if err != nil {
		return err
	}
	if now.Repository == nil {
		return errV1
	}
	id, err := r.find(ctx, now, at)
	if err != nil {
		return err
	}
	return r.update(ctx, func(repo *format.Repository, again bool) (format.Update, error) {
		i, ok := repo.FindSnapshot(id)
		if !ok {
			return format.Update{}, fmt.Errorf("%w: snapshot %v", ErrNoReference, id)
		}
		return change(repo, i, again)
	})
}

// checkName returns an error for a text that is no name of a branch or tag.
func checkName(name string) error {
	if name == "" || strings.ContainsAny(name, "/\x00") || !utf8.ValidString(name) {
		return fmt.Errorf("%w: %q is no name of a branch or tag: it is UTF-8, has a character at least, and no slash", zarr.ErrInvalidArgument, name)
	}
	return nil
}

// checkBranch returns an error for the name of a new branch that would mean something
// else after @ in a location. Other programs may have made such a branch.
func checkBranch(name string) error {
	_, isTime := ParseTime(name)
	_, isSnapshot := format.ParseObjectID(name)
	kind, _, hasKind := strings.Cut(name, ":")
	if isTime || isSnapshot || hasKind && slices.Contains([]string{branchPrefix, tagPrefix, snapshotPrefix, timePrefix}, kind+":") {
		return fmt.Errorf("%w: a branch %q could be taken for a time, a snapshot or a tag in locations: choose another name", zarr.ErrInvalidArgument, name)
	}
	return checkName(name)
}

// Numbers of features that a repository may have disabled.
const (
	tagCreation = 4
	tagDeletion = 5
)

var errTagDeletion = fmt.Errorf("%w: the repository does not permit tags to be deleted", fs.ErrPermission)

// leads reports whether a reference leads to a snapshot.
func leads(list []format.Reference, name string, snapshot int) bool {
	i, ok := format.Find(list, name)
	return ok && list[i].Snapshot == snapshot
}

// extended returns references and one more.
func extended(list []format.Reference, what, name string, snapshot int) ([]format.Reference, error) {
	i, exists := format.Find(list, name)
	if exists {
		next := ", and never changes: choose another name"
		if what == "branch" {
			next = ": reset it, or choose another name"
		}
		return nil, fmt.Errorf("the %s %q %w%s", what, name, ErrExists, next)
	}
	return slices.Insert(list, i, format.Reference{Name: name, Snapshot: snapshot}), nil
}

// shortened returns references but one, and the snapshot of that.
func shortened(repo *format.Repository, list []format.Reference, what, name string) ([]format.Reference, ID, error) {
	i, ok := format.Find(list, name)
	if !ok {
		return nil, ID{}, fmt.Errorf("%w: %s %q", ErrNoReference, what, name)
	}
	id := repo.Snapshots[list[i].Snapshot].ID
	return slices.Delete(list, i, i+1), id, nil
}
