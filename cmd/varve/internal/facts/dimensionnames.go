// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/strictjson"
)

// DimensionsAttribute is the attribute that names the dimensions of an array of format 2.
const DimensionsAttribute = "_ARRAY_DIMENSIONS"

// NoNames is what unnamed says of an array that names no dimensions at all.
const NoNames = "no dimension names"

// mostNeighbors is how many members of a group are looked at for one that names its
// dimensions.
const mostNeighbors = 100

// ParseNames reads the names of dimensions with commas between them. Space around a name
// is no part of it, as in other lists. Empty text has none. A list in brackets or with
// quotes is not read, since they would become parts of the names.
func ParseNames(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	names := strings.Split(text, ",")
	plain := make([]string, len(names))
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
		if plain[i] = names[i]; isEnclosed(names[i]) {
			plain[i] = strings.TrimSpace(strings.Trim(names[i], opening+closing+quoting))
		}
	}
	if slices.Equal(names, plain) {
		return names, nil
	}
	hint := ""
	if list := strings.Join(plain, ","); strings.Trim(list, ",") != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", phrase.Word(list))
	}
	return nil, fmt.Errorf("names have no brackets and no quotes around them%s", hint)
}

const opening, closing, quoting = "[({", "])}", `"'`

// isEnclosed reports whether a name begins or ends a list in brackets, or is quoted. A
// name such as "depth (m)" is not.
func isEnclosed(name string) bool {
	if name == "" {
		return false
	}
	return strings.Contains(opening+quoting, name[:1]) || strings.Contains(quoting, name[len(name)-1:]) ||
		strings.Contains(closing, name[len(name)-1:]) && !strings.ContainsAny(name, opening)
}

// Unnamed returns why xarray finds no name for each axis of an array with such a
// document, "" where it does. In format 2 names are in an attribute, in format 3 in the
// document, where an array without axes needs none.
func Unnamed(doc *metadata.Array) string {
	if doc.Format() == 3 {
		if len(doc.DimensionNames) == 0 && len(doc.Shape) > 0 {
			return NoNames
		}
		return ""
	}
	raw, ok, err := metadata.Attribute(doc.Attributes, DimensionsAttribute)
	if err != nil || !ok {
		return NoNames
	}
	v, err := strictjson.Parse(raw, strictjson.Limits{})
	switch {
	case err != nil || v.Kind() != strictjson.Array:
		return "attribute " + DimensionsAttribute + " is no list of names"
	case v.Len() != len(doc.Shape):
		return fmt.Sprintf("attribute %s has %s for %s", DimensionsAttribute, phrase.Plural(int64(v.Len()), "name"), phrase.Plural(int64(len(doc.Shape)), "axis"))
	}
	return ""
}

// NoteUnnamed tells people that xarray does not open the group of an array, since it does
// not find the names of its dimensions. Where there are none, it is told only beside
// arrays that have some: other programs want none.
func NoteUnnamed(cmd *cobra.Command, location string, a *zarr.Array, g *zarr.Group) {
	why := Unnamed(a.Metadata())
	if why == "" || why == NoNames && !othersNamed(cmd.Context(), g, path.Base(a.Path())) {
		return
	}
	if why == NoNames {
		why += ", and other arrays of its group have some"
	}
	session.Remark(cmd, location, why+": xarray does not open such a group"+namedBy(cmd, location, a))
}

// namedBy says how the dimensions of an array get names, "" where they do not once it is
// there.
func namedBy(cmd *cobra.Command, location string, a *zarr.Array) string {
	switch {
	case a.Format() == 2:
		return fmt.Sprintf("; varve attrs %s set %s JSON names them", phrase.Word(location), DimensionsAttribute)
	case cmd.Name() == "create":
		return "; --dimension-names names them"
	}
	return ""
}

// othersNamed reports whether an array right below a group, other than the one of that
// name, names its dimensions.
func othersNamed(ctx context.Context, g *zarr.Group, name string) bool {
	looked := 0
	for m, err := range g.Members(ctx, false) {
		if a, ok := m.Node.(*zarr.Array); err == nil && ok && m.Path != name && a.DimensionNames() != nil {
			return true
		}
		if looked++; looked == mostNeighbors {
			break
		}
	}
	return false
}
