// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"slices"
	"strings"

	"varve.dev/zarr/internal/gdal"
	"varve.dev/zarr/internal/strictjson"
)

// itemsOf returns the items of an attribute. ok is false if it cannot be parsed.
func itemsOf(v strictjson.Value) (items []gdal.Item, ok bool) {
	if v.IsZero() {
		return nil, true
	}
	text, err := v.Str()
	if err == nil {
		items, err = gdal.Parse(text)
	}
	return items, err == nil
}

// sameRoles reports whether samples mean the same by two attributes. Those that cannot be
// parsed do not.
func sameRoles(a, b strictjson.Value) bool {
	x, ok := itemsOf(a)
	y, also := itemsOf(b)
	return ok && also && slices.Equal(rolesOf(x), rolesOf(y))
}

// rolesOf returns the items that say what samples mean, in one order and spelling. It
// leaves out those without an effect.
func rolesOf(items []gdal.Item) (roles []gdal.Item) {
	for _, i := range items {
		if is, ok := i.Meaning(); ok && !is.IsIdle() {
			roles = append(roles, is)
		}
	}
	slices.SortFunc(roles, func(a, b gdal.Item) int {
		return strings.Compare(a.Sample+" "+a.Role+" "+a.Text, b.Sample+" "+b.Role+" "+b.Text)
	})
	return slices.Compact(roles)
}

// commonItems returns the items that two attributes share as JSON, nil if there are none.
func commonItems(a, b strictjson.Value) []byte {
	x, _ := itemsOf(a)
	y, _ := itemsOf(b)
	x = slices.DeleteFunc(x, func(i gdal.Item) bool { return !slices.Contains(y, i) && len(rolesOf([]gdal.Item{i})) == 0 })
	if len(x) == 0 || len(y) == 0 {
		return nil
	}
	text, err := gdal.Format(x)
	if err != nil {
		return nil
	}
	return strictjson.AppendQuote(nil, string(text))
}
