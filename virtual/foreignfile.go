// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// fileSuffixes end the names of foreign files that are opened like manifests:
// month.nc/t2m. They count in small letters and in capitals.
var fileSuffixes = []string{
	".nc", ".nc4", ".cdf", ".h5", ".hdf5", ".he5", // NetCDF and HDF5
	".tif", ".tiff", ".grib", ".grib2", ".grb", ".grb2", ".fits", ".fit",
}

// IsForeign reports whether a name is that of a foreign file that is opened like a
// manifest, such as month.nc. Files with other names can be scanned, but have no nodes at
// locations below them.
func IsForeign(name string) bool {
	ext := path.Ext(name)
	return slices.ContainsFunc(fileSuffixes, func(s string) bool { return ext == s || ext == strings.ToUpper(s) })
}

func init() {
	for _, suffix := range fileSuffixes {
		store.RegisterFolder(suffix, openForeign)
		store.RegisterFolder(strings.ToUpper(suffix), openForeign)
	}
}

// openForeign scans a foreign file and opens it as a store. A folder with such a name may
// be a Zarr node, so it is left to the opener of its scheme.
func openForeign(ctx context.Context, folder, name string, access store.Access) (store.Store, error) {
	return openIn(ctx, folder, access, func(home store.Store, dir store.Path, folder string) (*view, error) {
		key, err := dir.Key(name)
		if err != nil {
			return nil, err
		}
		// Paths are relative to the folder of the file.
		from, err := newSites(ctx, home, dir, folder, "")
		if err != nil {
			return nil, err
		}
		p, err := openPart(ctx, home, key, name, from.place.scheme)
		if isFolder(err) || isPage(err, from.place) {
			return nil, fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
		content := foreignNodes{newNodes(p.Manifest), map[string]error{}}
		for _, r := range p.Refused {
			if r.Array {
				content.refused[r.Path] = r.Err
			}
		}
		return &view{content: content, sources: from, isFile: true}, p.close()
	})
}

// isPage reports whether an error may mean that a server has answered with a page about a
// folder: what it sends is of no known format.
func isPage(err error, folder place) bool {
	return folder.scheme != "file" && errors.Is(err, scan.ErrUnsupported)
}

// foreignNodes are the nodes of a file. Arrays that cannot be referenced are listed, so
// that a copy of the file fails on them instead of losing them.
type foreignNodes struct {
	*nodes
	refused map[string]error
}

// find implements content.
func (n foreignNodes) find(ctx context.Context, key store.Key) (found, error) {
	v, err := n.nodes.find(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		if array, isDocument := strings.CutSuffix(key.String(), "/"+metadata.V3Node); isDocument && n.refused[array] != nil {
			return v, fmt.Errorf("array %q: %w", array, n.refused[array])
		}
	}
	return v, err
}

// list implements content.
func (n foreignNodes) list(ctx context.Context, l *listing) {
	wanted, yield := true, l.yield
	l.yield = func(e store.Entry, err error) bool {
		wanted = yield(e, err)
		return wanted
	}
	n.nodes.list(ctx, l)
	for at := range n.refused {
		if !wanted || !l.document(at) {
			return
		}
	}
}
