// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"fmt"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
)

// alike checks that an array fits the one that is there already, except along an axis.
func (j *Joined) alike(p *Part, old *joined, a *Array, along int) error {
	was, is := old.Document, a.Document
	kept := old.coord != nil // as values, which are compared or encoded anew
	for _, x := range []struct {
		what    string
		differ  bool
		old, is any
	}{
		{"type", was.DataType.Name != is.DataType.Name || !bytes.Equal(was.DataType.Configuration, is.DataType.Configuration), was.DataType.Name, is.DataType.Name},
		{"number of axes", len(was.Shape) != len(is.Shape), len(was.Shape), len(is.Shape)},
		{"fill value", !sameFill(was, is), string(was.FillValue), string(is.FillValue)},
		{"dimensions", !slices.EqualFunc(was.DimensionNames, is.DimensionNames, sameName), namesOf(was), namesOf(is)},
		{"codecs", !kept && !slices.EqualFunc(was.Codecs, is.Codecs, metadata.Extension.Equal), codecNames(was), codecNames(is)},
	} {
		if x.differ {
			return mismatch(p.Name, a.Path, "its %s: %v, and in %s it is %v", x.what, x.is, old.last, x.old)
		}
	}
	for i := range is.Shape {
		if i == along {
			continue
		}
		was, is := old.Grid.Axis(i), a.Grid.Axis(i)
		if was.Extent() != is.Extent() {
			return mismatch(p.Name, a.Path, "axis %s has %d elements, and in %s it has %d", axisText(a, i), is.Extent(), old.last, was.Extent())
		}
		if !kept && !sameEdges(was, is) {
			return mismatch(p.Name, a.Path, "axis %s has chunks of %s, and in %s of %s", axisText(a, i), is, old.last, was)
		}
	}
	return j.sameMeaning(p, old, a)
}

// meaning are the attributes that change what elements mean. The others may differ from
// file to file: those of the first one count.
var meaning = []string{
	"_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "calendar", "units", "dtype", "positive", "grid_mapping",
	"valid_min", "valid_max", "valid_range", "flag_values", "flag_masks", "flag_meanings", "BSCALE", "BZERO", "BLANK",
}

func (j *Joined) sameMeaning(p *Part, old *joined, a *Array) error {
	for _, name := range meaning {
		was, _, err := metadata.Attribute(old.Document.Attributes, name)
		if err != nil {
			return err
		}
		is, _, err := metadata.Attribute(a.Document.Attributes, name)
		if err != nil {
			return err
		}
		if name == "units" && old.coord != nil && old.along >= 0 {
			continue // they are converted
		}
		if !bytes.Equal(was, is) {
			return mismatch(p.Name, a.Path, "its attribute %s is %s, and in %s it is %s", name, textOr(is), old.last, textOr(was))
		}
	}
	return nil
}

// sameFill reports whether two arrays of one type have the same fill value, in whatever
// spelling.
func sameFill(a, b *metadata.Array) bool {
	if bytes.Equal(a.FillValue, b.FillValue) {
		return true
	}
	t, err := dtype.Parse(a.DataType.Name, a.DataType.Configuration)
	if err != nil {
		return false
	}
	x, err := t.ParseFill(a.FillValue)
	y, otherErr := t.ParseFill(b.FillValue)
	return err == nil && otherErr == nil && bytes.Equal(x, y)
}

// sameEdges reports whether two axes of one extent have the same chunks.
func sameEdges(a, b grid.Axis) bool {
	x, regular := oneEdge(a)
	y, also := oneEdge(b)
	return a.Equal(b) || regular && also && x == y
}

func textOr(raw []byte) string {
	if raw == nil {
		return "not set"
	}
	return fmt.Sprintf("%.60s", raw)
}

func sameName(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func namesOf(doc *metadata.Array) []string {
	names := make([]string, len(doc.DimensionNames))
	for i, n := range doc.DimensionNames {
		if n != nil {
			names[i] = *n
		}
	}
	return names
}

func codecNames(doc *metadata.Array) (names []string) {
	for _, c := range doc.Codecs {
		names = append(names, fmt.Sprintf("%s%s", c.Name, c.Configuration))
	}
	return names
}

func axisText(a *Array, i int) string {
	if names := namesOf(a.Document); i < len(names) && names[i] != "" {
		return fmt.Sprintf("%d (%s)", i, names[i])
	}
	return fmt.Sprint(i)
}
