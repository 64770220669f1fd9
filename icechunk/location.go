// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

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
		return s, path, err
	}
	below, root, err := store.OpenPlain(ctx, repository, store.ReadOnly)
	if err != nil {
		return nil, store.Path{}, err
	}
	r, err := Open(ctx, below, root, &Options{Location: repository})
	if err != nil {
		return nil, store.Path{}, errors.Join(err, store.Close(below))
	}
	s, err := r.Snapshot(ctx, at)
	if err != nil {
		return nil, store.Path{}, errors.Join(err, r.Close())
	}
	return s, path, nil
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
