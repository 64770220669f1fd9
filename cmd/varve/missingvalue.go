package main

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// shownMissing is how many missing values of an attribute are looked at: a list may have
// millions.
const shownMissing = 100

// missingText returns the elements that stand for no value, as people read them:
// _FillValue of floats is base64 in format 3, and in format 2 the fill value is in its
// place. It is "" where there are none, and what cannot be read is left to the attributes
// themselves.
func (f *arrayFacts) missingText() string {
	t, err := dtype.Parse(f.doc.DataType.Name, f.doc.DataType.Configuration)
	if err != nil {
		return ""
	}
	unsigned, _ := attributeOf(f.Attributes, missing.Unsigned)
	var texts []string
	names := []string{missing.FillValue, missing.Value}
	if elem := f.missingFill(t); elem != nil {
		texts, names = append(texts, phrase.Shorten(valueText(t, elem), 60)), names[1:]
	}
	for _, name := range names {
		raw, ok := attributeOf(f.Attributes, name)
		if !ok {
			continue
		}
		n := 0
		for one := range missingValues(raw) {
			if n++; n > shownMissing {
				texts = append(texts, "…")
				break
			}
			elem, err := missing.ParseSpelled(t, unsigned, one)
			if err != nil {
				continue
			}
			if text := phrase.Shorten(valueText(t, elem), 60); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, ", ")
}

// missingFill returns the fill value of format 2 where xarray takes it for missing, nil
// where it does not: it masks no moments and no durations, and nothing where the fill
// value is null.
func (f *arrayFacts) missingFill(t dtype.Type) []byte {
	masks := missing.Coded(t) || missing.IsText(t) || t.Kind() == dtype.Terminated || t.Variable()
	if f.doc.Format() != 2 || f.doc.HasNullFill() || !masks {
		return nil
	}
	elem, err := t.ParseFill(f.doc.FillValue)
	if err != nil {
		return nil
	}
	return elem
}

// missingValues yields the elements of a JSON list, and any other value by itself. A list
// of two texts is a complex number.
func missingValues(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		v, err := strictjson.Parse(raw, strictjson.Limits{})
		if err != nil || v.Kind() != strictjson.Array || isPairOfTexts(v) {
			yield(raw)
			return
		}
		for _, e := range v.Elements() {
			if !yield(e.Raw()) {
				return
			}
		}
	}
}

// isPairOfTexts reports whether a list has two elements, and one of them is a text.
func isPairOfTexts(list strictjson.Value) bool {
	if list.Len() != 2 {
		return false
	}
	for _, e := range list.Elements() {
		if e.Kind() == strictjson.String {
			return true
		}
	}
	return false
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

// missingRefused returns why xarray opens no group with an array of such a document, for
// the attribute _FillValue, and the attribute that it would read in its place, nil for
// none. The reason is "" where it opens it.
func missingRefused(doc *metadata.Array) (reason string, wanted []byte) {
	if doc.Format() != 3 {
		return "", nil
	}
	t, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
	if err != nil {
		return "", nil
	}
	raw, ok := attributeOf(doc.Attributes, missing.FillValue)
	if !ok {
		return "", nil
	}
	unsigned, _ := attributeOf(doc.Attributes, missing.Unsigned)
	return missing.Refused(t, unsigned, raw)
}

// missingIgnored returns what xarray takes for missing in an array of format 2 in place
// of its attribute _FillValue, "" where the attribute counts: it counts only where the
// fill value is null (xarray 2026.9, open_store_variable in backends/zarr.py).
func missingIgnored(a *zarr.Array) string {
	doc := a.Metadata()
	raw, ok, err := metadata.Attribute(doc.Attributes, missing.FillValue)
	if doc.Format() != 2 || doc.HasNullFill() || err != nil || !ok {
		return ""
	}
	if elem, err := missing.Parse(a.Type(), raw); err == nil && bytes.Equal(elem, fillOf(a)) {
		return ""
	}
	return valueText(a.Type(), fillOf(a))
}

// noteMissing tells people that xarray does not open the group of an array for its
// attribute _FillValue, and which it reads; or that it reads none in format 2, where the
// fill value is in its place.
func noteMissing(cmd *cobra.Command, location string, a *zarr.Array) {
	reason, wanted := missingRefused(a.Metadata())
	fill := missingIgnored(a)
	switch {
	case fill != "":
		remark(cmd, location, fmt.Sprintf("xarray takes the fill value %s of format 2 for missing, and reads the attribute %s only where that is null (--fill null when it is created)",
			phrase.Shorten(fill, 60), missing.FillValue))
	case reason == "":
	case wanted == nil:
		remark(cmd, location, fmt.Sprintf("xarray does not open such a group of format 3: %s", reason))
	default:
		remark(cmd, location, fmt.Sprintf("xarray does not open such a group of format 3: %s; varve attrs %s set %s %s says the same",
			reason, phrase.Word(location), missing.FillValue, phrase.Word(string(wanted))))
	}
}
