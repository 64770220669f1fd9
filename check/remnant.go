// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"path"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// Remnant is a folder below a group that holds chunks or other nodes, and no document of
// its own. No reader sees what it holds. Its document is lost, or a command that stores
// documents last is running or was stopped: a copy, for example.
type Remnant struct {
	Path string // relative to the checked group
	Key  string // one of the values in it, relative to it
}

// findRemnants adds the remnants in the folder of a group below root, the checked group.
// nodes has the paths of all nodes below root.
func (r *Report) findRemnants(ctx context.Context, root *zarr.Group, group string, nodes map[string]bool) error {
	dir, err := store.ParsePath(path.Join(root.Path(), group))
	if err != nil {
		return err
	}
	s := root.Location().Store()
	for e, err := range store.List(ctx, s, dir, store.Flat) {
		switch below := path.Join(group, e.Name); {
		case errors.Is(err, store.ErrUnusable): // the list of the members has named it
		case errors.Is(err, store.ErrUnsupported):
			return nil // a store that lists nothing has the members of consolidated metadata
		case err != nil:
			return err
		case !e.Dir || nodes[below] || own.IsReserved(e.Name):
		default:
			at, err := dir.Join(e.Name)
			if err != nil {
				continue // no node has such a name
			}
			key, err := partOfNode(ctx, s, at)
			if err != nil {
				return err
			}
			if key != "" {
				r.Remnants = append(r.Remnants, Remnant{below, key})
			}
		}
	}
	return nil
}

// mostLooks bounds the values of a folder that are looked at: one of other programs may
// hold many.
const mostLooks = 1000

// partOfNode returns the name of a value in a folder that only a node has: a chunk, a
// record of Varve, or the document of a node below. It returns "" if there is none.
func partOfNode(ctx context.Context, s store.Store, dir store.Path) (string, error) {
	looks := 0
	for e, err := range store.List(ctx, s, dir, store.Deep) {
		if errors.Is(err, store.ErrUnusable) {
			continue
		}
		if err != nil {
			return "", err
		}
		if nodename.IsDocument(path.Base(e.Name)) || own.IsBelow(e.Name) || isChunkKey(e.Name) {
			return e.Name, nil
		}
		if looks++; looks == mostLooks {
			break
		}
	}
	return "", nil
}

// isChunkKey reports whether a name is the key of a chunk of an array of any rank.
func isChunkKey(name string) bool {
	for _, separator := range []string{"/", "."} {
		n := strings.Count(name, separator)
		// A key has a separator for each axis, or in the encodings of format 2 one less.
		if tree.IsChunkKey(name, n) || tree.IsChunkKey(name, n+1) {
			return true
		}
	}
	return false
}
