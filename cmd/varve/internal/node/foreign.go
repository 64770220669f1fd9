// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
	"varve.dev/zarr/virtual/scan"
)

// ForeignFile returns the file of another format that a location is in, such as month.nc
// for month.nc/t2m, or "". At a URL the name alone counts.
func ForeignFile(location string) string {
	if scheme, rest, isURL := strings.Cut(location, "://"); isURL {
		// What has no slash is the host; file:// has none.
		for at := path.Clean(rest); strings.Contains(at, "/") && at != "/"; at = path.Dir(at) {
			if virtual.IsForeign(at) {
				return scheme + "://" + at
			}
		}
		return ""
	}
	for at := path.Clean(filepath.ToSlash(location)); at != "." && at != "/"; at = path.Dir(at) {
		if !virtual.IsForeign(at) {
			continue
		}
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() {
			return at
		}
	}
	return ""
}

// IsForeign reports whether a location is in a file of another format, or is one.
func IsForeign(location string) bool { return ForeignFile(location) != "" }

// references are the endings of manifests, and of references of kerchunk.
var references = []string{virtual.Suffix, kerchunk.Suffix, kerchunk.ParquetSuffix, kerchunk.LongParquetSuffix}

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
func IsVirtual(location string) bool { return IsForeign(location) || isBelowReferences(location) }

// OpenSource is [OpenSeen] for a source of values. month.nc alone, or another file of a
// foreign format, stands for the array in it that has the name of the place of the
// values, or for its only array. done closes the source. [zarr.Array.Location] names it.
func OpenSource(ctx context.Context, location string, into *zarr.Array, opt *zarr.Options) (a *zarr.Array, done func() error, err error) {
	if !virtual.IsForeign(path.Base(Clean(location))) {
		if a, err = OpenSeen(ctx, location, opt); err != nil {
			return nil, nil, err
		}
		return a, a.Close, nil
	}
	at, err := zarr.Locate(ctx, location, store.ReadOnly)
	if errors.Is(err, scan.ErrUnsupported) {
		err = fmt.Errorf("%w (bare elements need --format raw, or a name that ends in .npy or .raw)", err)
	}
	if err != nil {
		return nil, nil, err
	}
	s := at.Store()
	end := func() error { return closeStore(s) }
	n, err := at.Open(ctx, opt)
	if g, is := n.(*zarr.Group); is {
		if at, err = arrayIn(ctx, g, location, into); err == nil {
			n, err = at.OpenArray(ctx, opt)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	a = n.(*zarr.Array)
	return a, func() error { return errors.Join(a.Close(), end()) }, nil
}

// MembersOf returns the names of the arrays directly in a group, or in a file of another
// format, and those of groups with a slash at their end. What cannot be opened has none.
func MembersOf(ctx context.Context, location string, opt *zarr.Options) (names []string) {
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

func closeStore(s store.Store) error {
	if c, ok := s.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}

// arrayIn returns the place of the array in a file that has the name of the place of the
// values, or of the only one.
func arrayIn(ctx context.Context, g *zarr.Group, file string, into *zarr.Array) (*zarr.Location, error) {
	var names []string
	for m, err := range g.Members(ctx, true) {
		if err != nil {
			return nil, err
		}
		if m.Kind == "array" {
			names = append(names, m.Path)
		}
	}
	if into != nil {
		if name := path.Base("/" + into.Path()); slices.Contains(names, name) {
			return g.At(name), nil
		}
	}
	switch len(names) {
	case 0:
		return nil, failure.BadArgument("%s has no arrays", file)
	case 1:
		return g.At(names[0]), nil
	}
	return nil, failure.BadArgument("%s has several arrays: give one, as %s; they are %s", file, phrase.Word(file+"/"+names[0]), phrase.Shorten(strings.Join(names, ", "), 200))
}

// CheckOwn returns an error for an array that follows another one, or is a level of the
// pyramid of one, before a command changes its elements or its shape. The next varve
// rechunk --follow would refuse an array if its shape was changed, and then all that was
// added has to go. It would not notice other elements, and replace some of them and leave
// others. varve pyramid does not look at levels either.
func CheckOwn(ctx context.Context, location string, a *zarr.Array) error {
	if level, err := LevelText(ctx, location, a); level != "" || err != nil {
		if err == nil {
			err = failure.BadArgument("it is %s: change that array, and varve pyramid brings this one up to date; varve attrs %s unset varve:pyramid makes it an array of its own, which is no level any longer",
				level, phrase.Word(Clean(location)))
		}
		return err
	}
	of, err := rechunk.Followed(ctx, a)
	if of == "" || err != nil {
		return err
	}
	alone := fmt.Sprintf("varve attrs %s unset varve:follow makes it an array of its own, which follows no longer", phrase.Word(Clean(location)))
	if a.Format() == 2 { // a record says it, and no attribute
		alone = fmt.Sprintf("varve copy %s DST makes a copy that is an array of its own", phrase.Word(Clean(location)))
	}
	return failure.BadArgument("it follows %s: change that array, and varve rechunk --follow brings this one up to date; %s", of, alone)
}

// LevelText says of which array the one at a location is a level, or returns "".
func LevelText(ctx context.Context, location string, a *zarr.Array) (string, error) {
	base, level, err := pyramid.LevelOf(ctx, a)
	if level == 0 || err != nil {
		return "", err
	}
	// The base as the command line would name it, if the location ends with the path.
	if store, found := strings.CutSuffix(Clean(location), a.Path()); found {
		base = store + base
	}
	return fmt.Sprintf("level %d of the pyramid of %s", level, phrase.Word(base)), nil
}

// IsReferences reports whether a location is that of a manifest, or of references of
// kerchunk.
func IsReferences(location string) bool {
	return slices.Contains(references, path.Ext(Clean(filepath.ToSlash(location))))
}

// IsUnsupported reports whether an error is about an array of a file of another format
// that cannot be shown, and a location is in such a file.
func IsUnsupported(location string, err error) bool {
	return errors.Is(err, scan.ErrUnsupported) && IsForeign(location)
}
