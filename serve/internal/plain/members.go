// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// IsHidden reports whether no value or directory of this name is served: files of Varve,
// manifests, and names of other programs that begin with a period.
func IsHidden(name string) bool {
	if nodename.IsDocument(name) {
		return false
	}
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, own.Dir) || strings.HasPrefix(name, own.Temporary) || strings.HasSuffix(name, own.ManifestSuffix)
}

// Members yields the members of a group that are served. It leaves out hidden ones, whose
// chunks nobody could read, and names that nobody can read here, such as a link that
// leads out of the node. The other members are there.
func Members(ctx context.Context, g *zarr.Group, recursive bool) iter.Seq2[zarr.Member, error] {
	return func(yield func(zarr.Member, error) bool) {
		for m, err := range g.Members(ctx, recursive) {
			withheld := m.Path != "" && errors.Is(err, fs.ErrPermission) || errors.Is(err, store.ErrUnusable)
			if withheld || slices.ContainsFunc(strings.Split(m.Path, "/"), IsHidden) {
				continue
			}
			if !yield(m, err) {
				return
			}
		}
	}
}
