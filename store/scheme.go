// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Access is the access for which a store is opened.
type Access int

const (
	Read   Access = iota // read only
	Write                // read and change existing nodes
	Create               // also create a missing store
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

// OpenLocation opens the store of a location. A location without a scheme is a path of
// the file system and has the scheme "file". If the scheme is not registered, the error
// wraps [ErrUnsupported] and names the registered schemes.
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

// schemeNames returns the registered schemes in alphabetical order.
func schemeNames() []string {
	schemes.RLock()
	defer schemes.RUnlock()
	return slices.Sorted(maps.Keys(schemes.byName))
}
