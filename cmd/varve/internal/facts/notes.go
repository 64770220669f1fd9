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
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/attributes"
	"varve.dev/zarr/internal/cf"
)

// shownMissing bounds the missing values of an attribute that are parsed. A list may have
// millions.
const shownMissing = 100

// missingText returns the missing values in the form for people, or "" if there are none.
// In format 3 the attribute _FillValue of floats is base64; in format 2 xarray uses the
// fill value instead. Values that cannot be parsed are left out, because info prints the
// attributes too.
func (f *Array) missingText() string {
	t, err := dtype.Parse(f.Doc.DataType.Name, f.Doc.DataType.Configuration)
	if err != nil {
		return ""
	}
	var texts []string
	n := 0
	for elem := range cf.Missing(f.Doc, f.Filled) {
		if n++; n > shownMissing {
			texts = append(texts, "…")
			break
		}
		if text := phrase.Shorten(valueText(t, elem), 60); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ", ")
}

// valueText returns an element in the spelling of metadata without quotes, and times as
// dates.
func valueText(t dtype.Type, elem []byte) string {
	if t.Kind() == dtype.KindDatetime || t.Kind() == dtype.KindTimedelta {
		return string(t.AppendText(nil, elem))
	}
	text, err := t.FormatFill(elem)
	if err != nil {
		return string(t.AppendText(nil, elem))
	}
	return strings.Trim(phrase.Compact(text), `"`)
}

// NoteMissing prints a note if xarray does not open the group of an array because of its
// attribute _FillValue, and suggests a value that xarray reads. In format 2 it prints a
// note that xarray ignores the attribute and uses the fill value.
func NoteMissing(cmd *cobra.Command, location string, a *zarr.Array) {
	reason, wanted := cf.Refused(a.Metadata())
	fill := ""
	if filled, err := cf.MasksFill(cmd.Context(), a); err == nil && cf.Ignored(a, filled) {
		fill = valueText(a.Type(), cf.FillOf(a))
	}
	switch {
	case fill != "":
		session.Remark(cmd, location, fmt.Sprintf("xarray takes the fill value %s of format 2 as the missing value, and reads the attribute %s only if the fill value is null (create with --fill null)",
			phrase.Shorten(fill, 60), cf.FillValue))
	case reason == "":
	case wanted == nil:
		session.Remark(cmd, location, fmt.Sprintf("xarray does not open such a group of format 3: %s", reason))
	default:
		session.Remark(cmd, location, fmt.Sprintf("xarray does not open such a group of format 3: %s; varve attrs %s set %s %s has the same meaning",
			reason, phrase.Word(location), cf.FillValue, phrase.Word(string(wanted))))
	}
}

// DimensionsAttribute is the attribute that names the dimensions of an array of format 2.
const DimensionsAttribute = "_ARRAY_DIMENSIONS"

// mostNeighbors bounds the members of a group that are searched for one with dimension
// names.
const mostNeighbors = 100

// ParseNames parses names of dimensions separated by commas. Space around a name is
// removed. The empty text has no names. Brackets and quotes around names are an error,
// because they would become part of the names.
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
	return nil, fmt.Errorf("write names without brackets and quotes%s", hint)
}

const opening, closing, quoting = "[({", "])}", `"'`

// isEnclosed reports whether a name is quoted, or begins or ends with a bracket of a
// list. It returns false for a name such as "depth (m)".
func isEnclosed(name string) bool {
	if name == "" {
		return false
	}
	return strings.Contains(opening+quoting, name[:1]) || strings.Contains(quoting, name[len(name)-1:]) ||
		strings.Contains(closing, name[len(name)-1:]) && !strings.ContainsAny(name, opening)
}

// NoteUnnamed prints a note if xarray does not open the group of an array because it
// finds no dimension names. An array without any names gets the note only beside arrays
// that have some: other programs do not need names.
func NoteUnnamed(cmd *cobra.Command, location string, a *zarr.Array, g *zarr.Group) {
	why := attributes.Unnamed(a.Metadata())
	if why == "" || why == attributes.NoNames && !othersNamed(cmd.Context(), g, path.Base(a.Path())) {
		return
	}
	if why == attributes.NoNames {
		why += ", and other arrays of its group have some"
	}
	session.Remark(cmd, location, why+": xarray does not open such a group"+namedBy(cmd, location, a))
}

// namedBy returns how to name the dimensions of an existing array, or "" if that is not
// possible.
func namedBy(cmd *cobra.Command, location string, a *zarr.Array) string {
	switch {
	case a.Format() == 2:
		return fmt.Sprintf("; varve attrs %s set %s JSON names them", phrase.Word(location), DimensionsAttribute)
	case cmd.Name() == "create":
		return "; --dimension-names names them"
	}
	return ""
}

// othersNamed reports whether another array directly below the group has dimension names.
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
