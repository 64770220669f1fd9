// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/internal/own"
)

// Access is the access for which a store is opened.
type Access int

const (
	ReadOnly  Access = iota // read existing nodes
	ReadWrite               // read and change existing nodes
	Create                  // also create a missing store
)

// OpenFunc opens the store of a location such as "s3://bucket/era5.zarr/t2m". It returns
// the store and the path of the node in it. If nothing exists there, the error wraps
// [fs.ErrNotExist]. The caller closes the store if it has a Close method.
type OpenFunc func(ctx context.Context, location string, access Access) (Store, Path, error)

var schemes struct {
	sync.RWMutex
	byName map[string]OpenFunc
}

// Register makes open the opener of locations that begin with "scheme://". Drivers call
// it in init, so that a program supports a scheme by importing the driver's package. It
// panics if the scheme is registered already.
func Register(scheme string, open OpenFunc) {
	schemes.Lock()
	defer schemes.Unlock()
	if _, taken := schemes.byName[scheme]; taken {
		panic(fmt.Sprintf("store: scheme %q is registered twice", scheme))
	}
	if schemes.byName == nil {
		schemes.byName = make(map[string]OpenFunc)
	}
	schemes.byName[scheme] = open
}

// FolderFunc opens what a folder of another store shows as a store, such as a manifest of
// references. folder is the location of the folder that it is in, for [OpenPlain], and
// name its name. If there is no such thing, the error wraps [fs.ErrNotExist], and the
// location is opened like any other: a name alone decides nothing.
type FolderFunc func(ctx context.Context, folder, name string, access Access) (Store, error)

var folders = struct {
	sync.RWMutex
	bySuffix map[string]FolderFunc
}{bySuffix: map[string]FolderFunc{}}

// RegisterFolder makes open the opener of locations with a folder, or a file, whose name
// ends in suffix, on any scheme. Of several such segments the first one that open finds
// something at counts, and what follows is the path of the node. It panics if the suffix
// is registered already.
func RegisterFolder(suffix string, open FolderFunc) {
	folders.Lock()
	defer folders.Unlock()
	if _, taken := folders.bySuffix[suffix]; taken {
		panic(fmt.Sprintf("store: suffix %q is registered twice", suffix))
	}
	folders.bySuffix[suffix] = open
}

// shown is a part of a location that may be a registered folder.
type shown struct {
	open         FolderFunc
	folder, name string // see [FolderFunc]
	rest         string // the path below it
}

// foldersIn returns the segments of a location that may be registered folders, the first
// one first.
func foldersIn(location string) (found []shown) {
	path, query := location, ""
	begin := 0 // of the segments
	if scheme, after, isURL := strings.Cut(location, "://"); isURL {
		after, query, _ = strings.Cut(after, "?")
		host, _, _ := strings.Cut(after, "/")
		begin = len(scheme) + len("://") + len(host) + 1
		path = scheme + "://" + after
	}
	for at := begin; at <= len(path); {
		end := len(path)
		if n := strings.IndexByte(path[at:], '/'); n >= 0 {
			end = at + n
		}
		if open := folderNamed(path[at:end]); open != nil {
			x := shown{open, strings.TrimSuffix(path[:at], "/"), path[at:end], strings.TrimPrefix(path[end:], "/")}
			if at == 1 { // in the root of the file system
				x.folder = "/"
			}
			if query != "" {
				x.folder += "?" + query
			}
			found = append(found, x)
		}
		at = end + 1
	}
	return found
}

// folderNamed returns the opener of folders with a name, or nil. Of several suffixes the
// longest one counts.
func folderNamed(name string) (open FolderFunc) {
	folders.RLock()
	defer folders.RUnlock()
	longest := 0
	for suffix, f := range folders.bySuffix {
		if strings.HasSuffix(name, suffix) && name != suffix && len(suffix) > longest {
			open, longest = f, len(suffix)
		}
	}
	if open == nil {
		return openerOfOthers(name)
	}
	return open
}

// OpenLocation opens the store of a location. A location without a scheme is a path of
// the file system and has the scheme "file". If the scheme is not registered, the error
// wraps [ErrUnsupported] and names the registered schemes.
func OpenLocation(ctx context.Context, location string, access Access) (Store, Path, error) {
	for _, x := range foldersIn(location) {
		path, err := ParsePath(x.rest)
		if err != nil {
			return nil, Path{}, err
		}
		if s, err := x.open(ctx, x.folder, x.name, access); !errors.Is(err, fs.ErrNotExist) {
			return s, path, err
		}
	}
	return OpenPlain(ctx, location, access)
}

// OpenPlain opens the store of a location as [OpenLocation] does, but asks no folder in
// it for what it shows: the store has the values that are stored there. It is for openers
// of such folders ([FolderFunc]).
func OpenPlain(ctx context.Context, location string, access Access) (Store, Path, error) {
	scheme, _, found := strings.Cut(location, "://")
	if !found {
		scheme = "file"
	}
	schemes.RLock()
	open, known := schemes.byName[scheme]
	schemes.RUnlock()
	if !known {
		return nil, Path{}, unknownScheme(scheme)
	}
	s, path, err := open(ctx, location, access)
	// A store such as that of icechunk+s3 has opened the one below it, which was wrapped.
	if err == nil && scheme != "file" && !strings.Contains(scheme, "+") {
		s = Wrap(ctx, s)
	}
	return s, path, err
}

type wrappingKey struct{}

// WithWrapping returns a context in which [OpenLocation] calls wrap with each store that
// is not a directory or a file of this machine, such as to cache it. The result takes the
// place of the store. It is for functions that open a location and have no parameter for
// that.
func WithWrapping(ctx context.Context, wrap func(Store) Store) context.Context {
	return context.WithValue(ctx, wrappingKey{}, wrap)
}

// Wrap returns s as the function of [WithWrapping] wraps it, or s. It is for drivers that
// open a store below their own: archives in a store.
func Wrap(ctx context.Context, s Store) Store {
	if wrap, ok := ctx.Value(wrappingKey{}).(func(Store) Store); ok {
		return wrap(s)
	}
	return s
}

// packages names the packages of this project that open locations of a scheme.
var packages = map[string]string{
	"s3": "store/s3", "s3a": "store/s3", "gs": "store/gcs", "gcs": "store/gcs",
	"az": "store/azure", "abfs": "store/azure", "abfss": "store/azure",
}

// unknownScheme is the error for a location with a scheme that is not registered.
func unknownScheme(scheme string) error {
	if p, known := packages[scheme]; known {
		return fmt.Errorf("%w: scheme %q (import _ \"varve.dev/zarr/%s\")", ErrUnsupported, scheme, p)
	}
	return fmt.Errorf("%w: scheme %q; the known schemes are %s", ErrUnsupported, scheme, strings.Join(schemeNames(), ", "))
}

// openerOfOthers returns the opener of a name whose ending package virtual registers, for
// a program that does not import it, or nil. It finds out whether such a thing is there.
func openerOfOthers(name string) FolderFunc {
	key, what := "", "a file of another format" // key is that of a folder
	switch strings.ToLower(name[max(0, strings.LastIndexByte(name, '.')):]) {
	case own.ManifestSuffix:
		key, what = "/"+own.ManifestDocument, "a manifest of references"
	case ".parq", ".parquet":
		key, what = "/.zmetadata", "references of kerchunk"
	case ".json":
		what = "a file, perhaps references of kerchunk"
	case ".nc", ".nc4", ".cdf", ".h5", ".hdf5", ".he5", ".tif", ".tiff", ".grib", ".grib2", ".grb", ".grb2", ".fits", ".fit":
	default:
		return nil
	}
	return func(ctx context.Context, folder, name string, _ Access) (Store, error) {
		s, path, err := OpenPlain(ctx, cmp.Or(folder, "."), ReadOnly)
		if err != nil {
			return nil, fs.ErrNotExist // opening the location itself says what is wrong
		}
		defer Close(s)
		if path, err = path.Join(name + key); err != nil {
			return nil, fs.ErrNotExist
		}
		if is, err := Exists(ctx, s, path.AsKey()); err != nil || !is {
			return nil, fs.ErrNotExist
		}
		return nil, fmt.Errorf("%w: %s is %s (import _ \"varve.dev/zarr/virtual\")", ErrUnsupported, name, what)
	}
}

// schemeNames returns the registered schemes in alphabetical order.
func schemeNames() []string {
	schemes.RLock()
	defer schemes.RUnlock()
	return slices.Sorted(maps.Keys(schemes.byName))
}

// Wrapper is a [Store] that has the values of another store under the same keys and adds
// behaviour, such as counting or waiting. Its type has the methods of every power that it
// can pass on. It has a power only if the store below has it.
type Wrapper interface {
	Store
	// Unwrap returns the store below.
	Unwrap() Store
}

// As returns s as the power P, as in As[Lister](s), and reports whether s has that power.
// The type of s must have the methods and, if s is a [Wrapper], so must the store below.
// A plain type assertion ignores the store below.
func As[P any](s Store) (power P, ok bool) {
	p, ok := s.(P)
	if !ok {
		return power, false
	}
	// A wrapper has the methods of all powers, even of those that the store below lacks.
	if w, wraps := s.(Wrapper); wraps {
		if _, ok := As[P](w.Unwrap()); !ok {
			return power, false
		}
	}
	return p, true
}

// Close closes a store that has a Close method, and does nothing for any other one.
func Close(s Store) error {
	if c, ok := As[io.Closer](s); ok {
		return c.Close()
	}
	return nil
}

// Driver returns the store below all wrappers, or s if it is not a [Wrapper].
func Driver(s Store) Store {
	for {
		w, ok := s.(Wrapper)
		if !ok {
			return s
		}
		s = w.Unwrap()
	}
}

// unsupported returns an [ErrUnsupported] that names the store and the power.
func unsupported(s Store, power string) error { return cannot(Driver(s), "store", power) }

// cannot returns an [ErrUnsupported]. It names the type by its package, as in "the zip
// store", because users of a program need not know Go types.
func cannot(what any, kind, power string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(fmt.Sprintf("%T", what), "*"), ".")
	name = strings.TrimSuffix(name, "store") // package httpstore is "the http store"
	return fmt.Errorf("%w: the %s %s cannot %s", ErrUnsupported, name, kind, power)
}
