// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/directory"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// destination is the place of a new array.
type destination struct {
	node        tree.Node
	notesOrigin bool // the array notes what it is made from; see [Follow]
}

// newDestination returns the place of an array that is made from the one at from.
func newDestination(from tree.Node, to *zarr.Location) (*destination, error) {
	n, err := to.Core()
	if err != nil {
		return nil, err
	}
	n.Document, n.Limits = from.Document, from.Limits
	switch same, inside, err := destinationRelation(from, n); {
	case err != nil:
		return nil, err
	case same:
		return nil, fmt.Errorf("%w: the destination is the array itself; leave it out to rechunk in place", zarr.ErrInvalidArgument)
	case inside:
		return nil, fmt.Errorf("%w: the destination is within the directory of the array, beside its chunks; choose another place", zarr.ErrInvalidArgument)
	}
	return &destination{node: n}, nil
}

// destinationRelation reports whether a destination is the array itself, or within its
// directory. Another store may have that directory, too, and links may lead to it.
func destinationRelation(from, to tree.Node) (same, inside bool, err error) {
	if from.Store == to.Store && from.Path == to.Path {
		return true, false, nil
	}
	array, err := store.DirectoriesOf(from.Store).Identify(from.Path)
	if err != nil {
		return false, false, err
	}
	above, err := directory.Above(to.Store, to.Path)
	for i, id := range above {
		if array.Same(id) {
			return i == 0, i > 0, err
		}
	}
	if err != nil {
		return false, false, err
	}
	// The directory of the array may be above the top of the other store. Without a
	// URL, such as for stores in memory, the places cannot be compared. Then the check
	// of the empty place has to do.
	base, err := locationURL(from)
	if err != nil || base == "" {
		return false, false, err
	}
	place, err := locationURL(to)
	return false, strings.HasPrefix(place, base+"/"), err
}

// locationURL returns the URL of a node without symbolic links, or "" if it is not known.
func locationURL(n tree.Node) (string, error) {
	place := store.TraitsOf(n.Store).Place
	path, err := store.DirectoriesOf(n.Store).Resolve(n.Path)
	if place == "" || path.IsRoot() {
		return place, err
	}
	return place + "/" + path.String(), err
}

// errOccupied is the error if the place is not free.
var errOccupied = fmt.Errorf("the destination has something already ("+remedy.Delete+" removes it, or choose another name; "+remedy.Follow+" keeps an array that it has made in step): %w", fs.ErrExist)

// checkFree returns an error if anything but the lock of this call is at the place.
func (d *destination) checkFree(ctx context.Context, doc metadata.Node) error {
	for e, err := range store.List(ctx, d.node.Store, d.node.Path, store.Deep) {
		// A store without listings can only be asked for documents.
		if errors.Is(err, store.ErrUnsupported) {
			return d.node.CheckFree(ctx, doc)
		}
		if err != nil {
			return err
		}
		if e.Name != lockName {
			return fmt.Errorf("%w (%s)", errOccupied, e.Name)
		}
	}
	return nil
}

// note notes that the place is unfinished.
func (d *destination) note(ctx context.Context) error {
	_, err := store.Write(ctx, d.node.Store, store.Put(d.noteKey(), []byte("{}")), store.Flush)
	return err
}

func (d *destination) noteKey() store.Key { return d.node.Path.MustKey(publish.Unfinished) }
