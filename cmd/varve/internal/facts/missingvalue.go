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

// shownMissing is how many missing values of an attribute are looked at: a list may have
// millions.
const shownMissing = 100

// MissingText returns the elements that are missing, as people read them: _FillValue of
// floats is base64 in format 3, and in format 2 the fill value is in its place. It is ""
// if there are none. Values that cannot be read are left out; info prints the attributes
// too.
func (f *Array) MissingText() string {
	t, err := dtype.Parse(f.Doc.DataType.Name, f.Doc.DataType.Configuration)
	if err != nil {
		return ""
	}
	var texts []string
	n := 0
	for elem := range cf.Missing(f.Doc) {
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

// valueText returns an element as metadata spells it, without quotes; times as dates.
func valueText(t dtype.Type, elem []byte) string {
	if t.Kind() == dtype.Datetime || t.Kind() == dtype.Timedelta {
		return string(t.AppendText(nil, elem))
	}
	text, err := t.FormatFill(elem)
	if err != nil {
		return string(t.AppendText(nil, elem))
	}
	return strings.Trim(phrase.Compact(text), `"`)
}

// NoteMissing tells people that xarray does not open the group of an array for its
// attribute _FillValue, and which it reads; or that it reads none in format 2, where the
// fill value is in its place.
func NoteMissing(cmd *cobra.Command, location string, a *zarr.Array) {
	reason, wanted := cf.Refused(a.Metadata())
	fill := ""
	if cf.Ignored(a) {
		fill = valueText(a.Type(), element.Fill(a))
	}
	switch {
	case fill != "":
		session.Remark(cmd, location, fmt.Sprintf("xarray takes the fill value %s of format 2 for missing, and reads the attribute %s only where that is null (--fill null when it is created)",
			phrase.Shorten(fill, 60), cf.FillValue))
	case reason == "":
	case wanted == nil:
		session.Remark(cmd, location, fmt.Sprintf("xarray does not open such a group of format 3: %s", reason))
	default:
		session.Remark(cmd, location, fmt.Sprintf("xarray does not open such a group of format 3: %s; varve attrs %s set %s %s says the same",
			reason, phrase.Word(location), cf.FillValue, phrase.Word(string(wanted))))
	}
}
