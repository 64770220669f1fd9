package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Access says what a store is opened for.
type Access int

const (
	Read   Access = iota // reading only
	Write                // changing what is there
	Create               // changing, and making what is missing
)

// OpenFunc opens the store of a location, as "s3://bucket/era5.zarr/t2m", and returns it
// with the path of the node in it. A location where nothing is wraps [fs.ErrNotExist].
// The caller closes a store that has a Close method.
type OpenFunc func(ctx context.Context, location string, access Access) (Store, Path, error)

var schemes struct {
	sync.RWMutex
	byName map[string]OpenFunc
}

// Register makes locations that begin with "scheme://" known; a program that imports the
// driver's package can then open them. It panics where the scheme is taken: two packages
// then claim one name.
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

// OpenLocation opens the store of a location. One without a scheme is a path of the file
// system, which is what the scheme "file" is registered for. An unknown scheme wraps
// [ErrUnsupported] and names those that are known.
func OpenLocation(ctx context.Context, location string, access Access) (Store, Path, error) {
	scheme, _, found := strings.Cut(location, "://")
	if !found {
		scheme = "file"
	}
	schemes.RLock()
	open, known := schemes.byName[scheme]
	schemes.RUnlock()
	if !known {
		return nil, Path{}, fmt.Errorf("%w: scheme %q (known are %s)", ErrUnsupported, scheme, strings.Join(schemeNames(), ", "))
	}
	return open(ctx, location, access)
}

// schemeNames returns the schemes that are known, in alphabetical order.
func schemeNames() []string {
	schemes.RLock()
	defer schemes.RUnlock()
	return slices.Sorted(maps.Keys(schemes.byName))
}
