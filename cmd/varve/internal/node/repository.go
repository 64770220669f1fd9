// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
)

// IsRepository reports whether a location is in a repository of Icechunk. What a command
// stores there is to be seen after its commit.
func IsRepository(location string) bool { return strings.HasPrefix(location, "icechunk+") }

// OutsideRepository returns an error with a remedy if a location is in a repository of
// Icechunk, where a command has nothing to do.
func OutsideRepository(location, remedy string) error {
	if !IsRepository(location) {
		return nil
	}
	return failure.Unsupported("a repository of Icechunk %s", remedy)
}

// mostAbove bounds the folders above a missing node in which a repository is looked for.
const mostAbove = 4

// RepositoryMeant adds a hint to an error for something that does not exist: the location
// of a node in a repository that lacks icechunk+ or a branch, or what an empty repository
// needs.
func RepositoryMeant(ctx context.Context, at string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "is a repository") {
		return err
	}
	at = Clean(at)
	if IsRepository(at) {
		return fmt.Errorf("%w%s", err, emptyText(ctx, at))
	}
	before, after, divided := strings.Cut(at, "@")
	switch {
	case isRepositoryAt(ctx, at):
		return fmt.Errorf("%w: it is a repository of Icechunk, whose nodes are at %s@main/NAME", err, phrase.Word(session.RepositoryLocation(at)))
	case divided && isRepositoryAt(ctx, before):
		return fmt.Errorf("%w (did you mean %s?)", err, phrase.Word(session.RepositoryLocation(before)+"@"+after))
	case strings.Contains(at, "://"):
		return err // a request for each folder above costs too much
	}
	folder := at
	for range mostAbove {
		if folder = path.Dir(folder); folder == "." || folder == "/" {
			break
		}
		if isRepositoryAt(ctx, folder) {
			meant := session.RepositoryLocation(folder) + "@main" + at[len(folder):]
			return fmt.Errorf("%w: %s is a repository of Icechunk (did you mean %s?)", err, phrase.Word(folder), phrase.Word(meant))
		}
	}
	return err
}

// Repository is a repository of Icechunk that is open, and where it is.
type Repository struct {
	*icechunk.Repository
	Store store.Store
	Root  store.Path
}

// OpenRepository opens a repository. --stats counts its requests. If there is none at the
// location, the error says what may be meant.
func OpenRepository(ctx context.Context, location string, access store.Access) (*Repository, error) {
	s, root, err := store.OpenPlain(ctx, location, access)
	if err != nil {
		return nil, RepositoryMeant(ctx, location, err)
	}
	s = zarr.At(s, "").With(&zarr.Options{Observer: session.ObserverOf(ctx)}).Store()
	r, err := icechunk.Open(ctx, s, root, &icechunk.Options{Location: location})
	if err != nil {
		return nil, errors.Join(err, store.Close(s))
	}
	return &Repository{r, s, root}, nil
}

// ParseTime parses a time that a flag gives, as locations of repositories have it.
func ParseTime(text string) (time.Time, error) {
	t, ok := icechunk.ParseTime(text)
	if !ok {
		return t, fmt.Errorf("%q is no time such as 2026-01-01 or 2026-01-01T12:00:00Z, in UTC", text)
	}
	return t, nil
}

// isRepositoryAt reports whether a folder or a URL is a repository.
func isRepositoryAt(ctx context.Context, at string) bool {
	s, root, err := store.OpenPlain(ctx, at, store.ReadOnly)
	if err != nil {
		return false
	}
	defer store.Close(s)
	_, err = icechunk.Open(ctx, s, root, nil)
	return err == nil
}

// HasRoot reports whether the reference of a location in a repository leads to a
// snapshot.
func HasRoot(ctx context.Context, location string) bool {
	_, at, name, err := icechunk.ParseLocation(location)
	if err != nil || at == "" {
		return false
	}
	s, _, err := store.OpenLocation(ctx, strings.TrimSuffix(Clean(location), "/"+name), store.ReadOnly)
	if err != nil {
		return false
	}
	_ = store.Close(s) // it was only read
	return true
}

// InGroup returns the location of a node below a group, which may be the root of a
// repository that was given without a branch.
func InGroup(group, name string) string {
	text, query, hasQuery := strings.Cut(Clean(group), "?")
	if IsRepository(text) && !strings.Contains(text, "@") {
		text += "@main"
	}
	text += "/" + name
	if hasQuery {
		text += "?" + query
	}
	return text
}

// Undivided returns an error for the location of a repository that lacks icechunk+ before
// it and has a reference after it. A folder may have @ in its name.
func Undivided(ctx context.Context, at string) error {
	before, after, divided := strings.Cut(at, "@")
	if !divided || IsRepository(at) || isRepositoryAt(ctx, at) || !isRepositoryAt(ctx, before) {
		return nil
	}
	return failure.BadArgument("%s is a repository: did you mean %s?", phrase.Word(before), phrase.Word(session.RepositoryLocation(before)+"@"+after))
}

// emptyText returns a hint for a location in a repository that does not exist or has no
// nodes, and else "".
func emptyText(ctx context.Context, at string) string {
	repository, ref, name, err := icechunk.ParseLocation(at)
	if err != nil {
		return ""
	}
	if !isRepositoryAt(ctx, repository) {
		return fmt.Sprintf(" (varve icechunk init %s makes one)", phrase.Word(Clean(repository)))
	}
	root := strings.TrimSuffix(at, "/"+name)
	s, _, err := store.OpenLocation(ctx, root, store.ReadOnly)
	if err != nil {
		return ""
	}
	defer store.Close(s)
	for range store.List(ctx, s, store.Path{}, store.Flat) {
		return ""
	}
	if ref == "" {
		root += "@main"
	}
	return fmt.Sprintf(": there is no node yet; varve create %s/NAME makes one", phrase.Word(root))
}
