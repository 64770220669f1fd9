// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// differences are the dimensions along which arrays of a group differ in length.
type differences struct{ error }

func (d differences) Unwrap() error        { return d.error }
func (d differences) Is(target error) bool { return target == ErrInvalidMetadata }

// CheckDimensions returns an error that wraps [ErrInvalidMetadata] if arrays directly below
// the group differ in length along a shared dimension. It joins one error for each such
// dimension. Some programs, such as xarray, do not open such a group. Levels of a pyramid
// (attribute multiscales) may differ. [Array.CheckDimensions] tells what is compared.
func (g *Group) CheckDimensions(ctx context.Context) error {
	if isPyramid(g.doc.Attributes) {
		return nil
	}
	var arrays []extents
	err := g.arrays(ctx, nil, func(p store.Path, doc *metadata.Array) {
		arrays = append(arrays, extents{p, snapshot.NamesOf(doc), doc.Shape})
	})
	if err != nil {
		return g.fail("check dimensions", err)
	}
	arrays = append(arrays, g.inherited(ctx, dimensionsOf(arrays), arrays)...)
	was := ""
	for range agreementTries {
		involved, found := differing(g.path, arrays)
		if found == nil || found.Error() == was {
			return g.fail("check dimensions", found)
		}
		was = found.Error()
		if err := pause(ctx); err != nil {
			return g.fail("check dimensions", err)
		}
		arrays = g.hierarchy.extentsOf(ctx, involved, g.options.Limits)
	}
	return nil // they move all the time, as those of a group to which others append
}

// dimensionsOf returns the names that arrays have for dimensions, each once.
func dimensionsOf(arrays []extents) (names []string) {
	for _, e := range arrays {
		names = append(names, e.names...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// differing returns the arrays that have a dimension along which arrays differ in length,
// and an error for each such dimension.
func differing(group store.Path, arrays []extents) (involved []extents, found error) {
	byName := map[string]map[int64][]string{} // names of arrays by dimension and length
	for _, e := range arrays {
		for i, name := range e.names {
			if name == "" {
				continue
			}
			if byName[name] == nil {
				byName[name] = map[int64][]string{}
			}
			if in := byName[name]; !slices.Contains(in[e.shape[i]], e.nameIn(group)) {
				in[e.shape[i]] = append(in[e.shape[i]], e.nameIn(group))
			}
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if in := byName[name]; len(in) > 1 {
			errs = append(errs, fmt.Errorf("dimension %q has %s", name, lengthsText(in)))
		}
	}
	for _, e := range arrays {
		if slices.ContainsFunc(e.names, func(n string) bool { return len(byName[n]) > 1 }) {
			involved = append(involved, e)
		}
	}
	if errs == nil {
		return nil, nil
	}
	return involved, differences{errors.Join(errs...)}
}

// lengthsText says which arrays have which length: length 3 in t2m, u10 and length 4 in
// time.
func lengthsText(in map[int64][]string) string {
	var parts []string
	for _, length := range slices.Sorted(maps.Keys(in)) {
		parts = append(parts, fmt.Sprintf("length %d in %s", length, someOf(slices.Sorted(slices.Values(in[length])), ", ")))
	}
	return someOf(parts, " and ")
}
