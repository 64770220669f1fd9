// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
	"varve.dev/zarr/virtual/scan"
)

// foreignFile splits the location of an array in a file of another format, such as
// month.nc/t2m. The file is "" for other locations.
func foreignFile(location string) (file, array string) {
	if strings.Contains(location, "://") {
		return "", ""
	}
	location = path.Clean(filepath.ToSlash(location))
	for at := location; at != "." && at != "/"; at = path.Dir(at) {
		if !slices.Contains(Foreign, strings.ToLower(path.Ext(at))) {
			continue
		}
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
			return at, strings.Trim(strings.TrimPrefix(location, at), "/")
		}
	}
	return "", ""
}

// references are the endings of manifests, and of references of kerchunk.
var references = []string{virtual.Suffix, virtual.KerchunkSuffix, virtual.ParquetSuffix, virtual.LongParquetSuffix}

// isBelowReferences reports whether a location is that of a node which references show.
func isBelowReferences(location string) bool {
	for at := path.Dir(Clean(filepath.ToSlash(location))); at != "." && at != "/"; at = path.Dir(at) {
		if slices.Contains(references, path.Ext(at)) && Exists(at) {
			return true
		}
	}
	return false
}

// IsVirtual reports whether a location is that of an array which references show, or one
// in a file of another format.
func IsVirtual(location string) bool {
	file, _ := foreignFile(location)
	return file != "" || isBelowReferences(location)
}

// OpenSource is [OpenSeen] for a source of values, which may also be an array in a file
// of another format: month.nc/t2m, or month.nc alone for the array that has the name of
// the place of the values. done closes it.
func OpenSource(ctx context.Context, location string, into *zarr.Array, opt *zarr.Options) (a *zarr.Array, done func() error, err error) {
	file, name := foreignFile(location)
	if file == "" {
		a, err = OpenSeen(ctx, location, opt)
		if err != nil {
			return nil, nil, err
		}
		return a, a.Close, nil
	}
	s, dir, err := store.OpenLocation(ctx, path.Dir(file), store.Read)
	if err != nil {
		return nil, nil, err
	}
	part, err := openPart(ctx, s, dir, file)
	if errors.Is(err, scan.ErrUnsupported) {
		err = fmt.Errorf("%w (bare elements need --format raw, or a name that ends in .npy or .raw)", err)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", file, err), closeStore(s))
	}
	end := func() error { return errors.Join(part.Close(), closeStore(s)) }
	at, err := arrayOf(part, file, name, into)
	if err == nil {
		a, err = zarr.At(part.Store(), at).OpenArray(ctx, opt)
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return a, func() error { return errors.Join(a.Close(), end()) }, nil
}

// MembersOf returns the names of the arrays directly in a group, or in a file of another
// format, and those of groups with a slash at their end. What cannot be opened has none.
func MembersOf(ctx context.Context, location string, opt *zarr.Options) (names []string) {
	file, below := foreignFile(location)
	if file == "" {
		return membersOfGroup(ctx, location, opt)
	}
	s, dir, err := store.OpenLocation(ctx, path.Dir(file), store.Read)
	if err != nil {
		return nil
	}
	defer closeStore(s)
	part, err := openPart(ctx, s, dir, file)
	if err != nil {
		return nil
	}
	defer part.Close()
	var paths []string
	for _, a := range part.Manifest.Arrays {
		paths = append(paths, a.Path)
	}
	for _, r := range part.Refused {
		if r.Array {
			paths = append(paths, r.Path)
		}
	}
	for _, at := range paths {
		name, ok := strings.CutPrefix(at, strings.TrimPrefix(below+"/", "/"))
		if first, _, deeper := strings.Cut(name, "/"); deeper {
			name = first + "/"
		}
		if ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func membersOfGroup(ctx context.Context, location string, opt *zarr.Options) (names []string) {
	g, err := zarr.OpenGroup(ctx, location, opt)
	if err != nil {
		return nil
	}
	defer g.Close()
	for m, err := range g.Members(ctx, false) {
		if err != nil {
			continue
		}
		name := m.Path
		if _, is := m.Node.(*zarr.Group); is {
			name += "/"
		}
		names = append(names, name)
	}
	return names
}

func openPart(ctx context.Context, s store.Store, dir store.Path, file string) (*virtual.Part, error) {
	key, err := dir.Key(path.Base(file))
	if err != nil {
		return nil, err
	}
	return virtual.OpenPart(ctx, s, key, file, "file")
}

func closeStore(s store.Store) error {
	if c, ok := s.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}

// arrayOf returns the path of the array with a name in a file. Without a name it is that
// of the place of the values, or the only one.
func arrayOf(p *virtual.Part, file, name string, into *zarr.Array) (string, error) {
	var names []string
	for _, a := range p.Manifest.Arrays {
		names = append(names, a.Path)
	}
	if into != nil && name == "" && slices.Contains(names, path.Base("/"+into.Path())) {
		name = path.Base(into.Path())
	}
	for _, r := range p.Refused {
		if name != "" && r.Path == name {
			return "", fmt.Errorf("%s/%s: %w", file, name, r.Err)
		}
	}
	switch {
	case slices.Contains(names, name):
		return name, nil
	case len(names) == 1 && name == "":
		return names[0], nil
	case len(names) == 0:
		return "", failure.BadArgument("%s has no arrays", file)
	}
	err := failure.OfKind(fs.ErrNotExist, "%s has no array %q%s; it has %s", file, name, spelling.Meant(name, names), phrase.Shorten(strings.Join(names, ", "), 200))
	if name == "" {
		err = failure.BadArgument("%s has several arrays: give one, as %s/%s; they are %s", file, file, names[0], phrase.Shorten(strings.Join(names, ", "), 200))
	}
	return "", err
}
