// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/check/consolidation"
	"varve.dev/zarr/metadata"
)

// runGroup checks all arrays below a group, including those that stale consolidated
// metadata does not list. If an array cannot be checked, it goes on with the others.
func (o *Options) runGroup(ctx context.Context, g *zarr.Group) (*Report, error) {
	report, names := &Report{}, naming{}
	// Compare the consolidated metadata first: if it is stale, the members come from the
	// store. The document of the group is already read, and may be long.
	stale, bad := report.addGroup(ctx, g, "", g.Metadata())
	for m, err := range consolidation.Members(ctx, g, stale, true) {
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		if errors.Is(m.Err, consolidation.ErrGone) {
			continue // reported as stale consolidated metadata
		}
		if below, ok := m.Node.(*zarr.Group); ok {
			_, err := report.addGroup(ctx, consolidation.AsStored(below, stale), m.Path, nil)
			bad = errors.Join(bad, err)
		}
		found, err := o.member(ctx, m)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		report.Arrays = append(report.Arrays, found)
		if a, ok := m.Node.(*zarr.Array); ok {
			names.add(a, found)
		}
	}
	// Only now are all arrays of each group known.
	names.note()
	files, err := Temporary(ctx, g)
	if err == nil {
		report.Temporary = files
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return report, errors.Join(bad, err)
}

// addGroup adds the findings about a group itself: stale consolidated metadata, and
// dimensions along which its arrays differ. path is relative to the checked group. It
// returns how the consolidated metadata differs, or nil if it does not.
func (r *Report) addGroup(ctx context.Context, g *zarr.Group, path string, doc *metadata.Group) (stale *consolidation.Drift, err error) {
	stale, err = consolidation.Stale(ctx, g.Location(), doc, nil)
	if stale != nil {
		r.Stale = append(r.Stale, Stale{path, stale})
	}
	for _, text := range disagreements(ctx, consolidation.AsStored(g, stale)) {
		r.lengths = append(r.lengths, lengths{path, text})
	}
	return stale, err
}

// disagreements returns one text for each dimension along which the arrays directly below
// a group differ.
func disagreements(ctx context.Context, g *zarr.Group) []string {
	err := g.CheckDimensions(ctx)
	var e *zarr.Error
	if !errors.Is(err, zarr.ErrInvalidMetadata) || !errors.As(err, &e) {
		return nil // they agree, or could not be compared
	}
	return strings.Split(e.Err.Error(), "\n")
}

// member checks a member of a group. The result is nil for a group that can be read. The
// error is not nil only if the context has ended.
func (o *Options) member(ctx context.Context, m zarr.Member) (*Array, error) {
	err := m.Err
	if a, ok := m.Node.(*zarr.Array); ok && err == nil {
		var found *Array
		if found, err = o.array(ctx, m.Path, a); err == nil {
			return found, nil
		}
	}
	if err == nil {
		return nil, nil
	}
	return &Array{Path: m.Path, Counts: Counts{Arrays: 1, Unchecked: 1}, Err: err}, ctx.Err()
}
