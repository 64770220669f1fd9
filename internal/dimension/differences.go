// SPDX-License-Identifier: Apache-2.0

package dimension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// differences are the dimensions along which arrays of a group differ in length.
type differences struct{ error }

func (d differences) Unwrap() error        { return d.error }
func (d differences) Is(target error) bool { return target == metadata.ErrInvalid }

// Check returns an error that wraps [metadata.ErrInvalid] if arrays directly below the
// group differ in length along a shared dimension. It joins one error for each such
// dimension. Levels of a pyramid may differ.
func (g Group) Check(ctx context.Context) error {
	if isPyramid(g.Doc.Attributes) {
		return nil
	}
	var arrays []Array
	if err := g.arrays(ctx, nil, func(a Array) { arrays = append(arrays, a) }); err != nil {
		return err
	}
	arrays = append(arrays, g.inherited(ctx, namesOf(arrays), arrays)...)
	was := ""
	for range tries {
		involved, found := differing(g.Path, arrays)
		if found == nil || found.Error() == was {
			return found
		}
		// A concurrent append to several arrays may be visible in only some of them. Look
		// again until the result stays the same.
		was = found.Error()
		if err := pause(ctx); err != nil {
			return err
		}
		arrays = g.again(ctx, involved)
	}
	return nil // the lengths keep changing, because a concurrent writer appends to the group
}

// differing returns the arrays that have a dimension along which arrays differ in length,
// and an error for each such dimension.
func differing(group store.Path, arrays []Array) (involved []Array, found error) {
	byName := map[string]map[int64][]string{} // names of arrays by dimension and length
	for _, a := range arrays {
		for i, name := range a.Names {
			if name == "" {
				continue
			}
			if byName[name] == nil {
				byName[name] = map[int64][]string{}
			}
			if in := byName[name]; !slices.Contains(in[a.Shape[i]], a.nameIn(group)) {
				in[a.Shape[i]] = append(in[a.Shape[i]], a.nameIn(group))
			}
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if in := byName[name]; len(in) > 1 {
			errs = append(errs, fmt.Errorf("dimension %q has %s", name, lengthsText(in)))
		}
	}
	for _, a := range arrays {
		if slices.ContainsFunc(a.Names, func(n string) bool { return len(byName[n]) > 1 }) {
			involved = append(involved, a)
		}
	}
	if errs == nil {
		return nil, nil
	}
	return involved, differences{errors.Join(errs...)}
}

// lengthsText lists lengths with their arrays: length 3 in t2m, u10 and length 4 in time.
func lengthsText(in map[int64][]string) string {
	var parts []string
	for _, length := range slices.Sorted(maps.Keys(in)) {
		parts = append(parts, fmt.Sprintf("length %d in %s", length, someOf(slices.Sorted(slices.Values(in[length])), ", ")))
	}
	return someOf(parts, " and ")
}
