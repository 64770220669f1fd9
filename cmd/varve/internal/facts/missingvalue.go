// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
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
		fill = valueText(a.Type(), element.Fill(a))
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
