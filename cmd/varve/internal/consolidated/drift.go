// SPDX-License-Identifier: Apache-2.0

// Package consolidated says how the consolidated metadata of groups differs from the
// documents of their members, in the words of the command.
package consolidated

import (
	"context"
	"errors"

	"varve.dev/zarr"
	"varve.dev/zarr/check/consolidation"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// FindDrift compares the consolidated metadata of the group at a location with all nodes
// below it. Without consolidated metadata, all nodes are new. It calls found for each
// node.
func FindDrift(ctx context.Context, location string, found func()) (*consolidation.Drift, error) {
	at, err := zarr.Locate(ctx, location, store.Read)
	if err != nil {
		return nil, err
	}
	defer node.Close(at)
	node, err := at.Metadata(ctx, nil)
	if err != nil {
		return nil, err
	}
	group, ok := node.(*metadata.Group)
	if !ok {
		return nil, failure.BadArgument("%s is an array; only groups have consolidated metadata", location)
	}
	return consolidation.Compare(ctx, at, group, &consolidation.Options{Found: found})
}

// GoneText is the message of [consolidation.ErrGone].
var GoneText = consolidation.ErrGone.Error()

// StaleText reports that consolidated metadata is stale, and what to do.
func StaleText(d *consolidation.Drift) string { return failure.Remedied(d.Message()) }

// Undecodable reports whether an error means that there is a node which this program
// cannot interpret.
func Undecodable(err error) bool {
	return errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, zarr.ErrInvalidMetadata)
}
