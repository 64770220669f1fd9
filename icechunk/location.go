// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// prefix begins the schemes of repositories.
const prefix = "icechunk+"

func init() {
	for _, scheme := range []string{"file", "s3", "gs", "gcs", "az", "http", "https"} {
		store.Register(prefix+scheme, openLocation)
	}
}

// openLocation opens a snapshot. The location is described in the documentation of the
// package.
func openLocation(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	repository, at, node, err := parseLocation(location)
	if err != nil {
		return nil, store.Path{}, err
	}
	path, err := store.ParsePath(node)
	if err != nil {
		return nil, store.Path{}, err
	}
	if access != store.ReadOnly {
		s, err := stagedAt(ctx, repository, at)
		return s, path, advised(ctx, location, repository, err)
	}
	staged := stagingOf(ctx)
	if o, err := staged.seen(ctx, repository, at); o != nil || err != nil {
		return o, path, err
	}
	r, err := openRepository(ctx, repository, store.ReadOnly)
	if err != nil {
		return nil, store.Path{}, advised(ctx, location, repository, err)
	}
	s, err := r.Snapshot(ctx, at)
	if err != nil {
		return nil, store.Path{}, errors.Join(err, r.Close())
	}
	if staged != nil && staged.Rehearsal && r.isBranch(ctx, branchOf(at)) {
		// What would be written is read here. A repository that cannot be written to is
		// only read.
		if o, err := stagedAt(ctx, repository, at); err == nil {
			return o, path, s.Close()
		}
	}
	return s, path, nil
}

// isBranch reports whether there is a branch of a name.
func (r *Repository) isBranch(ctx context.Context, name string) bool {
	list, err := r.Branches(ctx)
	return err == nil && slices.ContainsFunc(list, func(b Reference) bool { return b.Name == name })
}

// openRepository opens the repository at a location.
func openRepository(ctx context.Context, location string, access store.Access) (*Repository, error) {
	below, root, err := store.OpenPlain(ctx, location, access)
	if err != nil {
		return nil, err
	}
	r, err := Open(ctx, below, root, &Options{Location: location})
	if err != nil {
		return nil, errors.Join(err, store.Close(below))
	}
	return r, nil
}

// mostAbove bounds the folders above a location that are looked at for a repository.
const mostAbove = 4

// advised adds to the error for a location without @, where there is no repository, how
// to write that of a node in the repository above it.
func advised(ctx context.Context, location, repository string, err error) error {
	written, _, _ := strings.Cut(location, "?")
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(written, "@") {
		return err
	}
	if text, name := repositoryAbove(ctx, repository); text != "" {
		return fmt.Errorf("%w: %s is a repository: write @main before the path of a node, as in %s@main%s", err, name, name, written[len(prefix)+len(text):])
	}
	return err
}

// repositoryAbove looks for a repository above a location. It returns its location
// without options and the last part of that, or "".
func repositoryAbove(ctx context.Context, location string) (text, name string) {
	text, query, hasQuery := strings.Cut(location, "?")
	start := 0 // of a path
	if i := strings.Index(text, "://"); i >= 0 {
		start = i + len("://")
	}
	text = strings.TrimRight(text, "/")
	for range mostAbove {
		i := strings.LastIndexByte(text, '/')
		if i <= start { // what is left is the host, or the root of this machine
			return "", ""
		}
		text = text[:i]
		above := text
		if hasQuery {
			above += "?" + query
		}
		if r, failed := openRepository(ctx, above, store.ReadOnly); failed == nil {
			_ = r.Close() // it was only read
			return text, text[strings.LastIndexByte(text, '/')+1:]
		}
	}
	return "", ""
}

// CheckPlace returns an error if a new repository at a location would be in another one.
// The location is a URL or an absolute path with slashes.
func CheckPlace(ctx context.Context, location string) error {
	text, name := repositoryAbove(ctx, location)
	if text == "" {
		return nil
	}
	below, _, _ := strings.Cut(location[len(text):], "?")
	return fmt.Errorf("%w: a new repository would be in another one: %s is a repository; write @main before the path of a node, as in %s@main%s",
		zarr.ErrInvalidArgument, name, name, strings.TrimRight(below, "/"))
}

// ParseLocation divides a location into that of a repository, what follows @, and the
// path of a node. The location of a repository alone is permitted, too.
func ParseLocation(location string) (repository, at, node string, err error) {
	if !strings.HasPrefix(location, prefix) {
		return location, "", "", nil
	}
	return parseLocation(location)
}

// parseLocation returns the location of a repository, what follows @, and the path of a
// node.
func parseLocation(location string) (repository, at, node string, err error) {
	text, ok := strings.CutPrefix(location, prefix)
	if !ok {
		return "", "", "", fmt.Errorf("%w: %q does not begin with %s", store.ErrInvalidKey, location, prefix)
	}
	text, query, hasQuery := strings.Cut(text, "?")
	scheme, rest, _ := strings.Cut(text, "://")
	host, path, _ := strings.Cut(rest, "/")
	if bucket, after, ok := strings.Cut(host, "@"); ok && scheme != "http" && scheme != "https" && !strings.Contains(bucket, ":") {
		return "", "", "", fmt.Errorf("%w: a slash comes before the first @, also where the repository is all of a bucket: write %s%s://%s/@%s", store.ErrInvalidKey, prefix, scheme, bucket, after)
	}
	path, after, _ := strings.Cut(path, "@")
	at, node, _ = strings.Cut(after, "/")
	if at, err = url.PathUnescape(at); err != nil {
		return "", "", "", fmt.Errorf("%w: %w", store.ErrInvalidKey, err)
	}
	repository = scheme + "://" + host + "/" + strings.ReplaceAll(path, "%40", "@")
	if hasQuery {
		repository += "?" + query
	}
	return repository, at, strings.TrimSuffix(node, "/"), nil
}
