// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
)

// mapping is how a view shows the elements of a data type.
type mapping struct {
	of, shown dtype.Type
	// convert converts elements. It is nil if they have the same bytes. A number always
	// fits, because shown has all numbers of the type.
	convert    func(dst, src []byte) int
	attributes map[string]any // that the shown type needs
	note       string         // "" if the type is shown as it is
}

// units are the units of CF for those of moments, as xarray decodes them.
var units = map[string]string{
	"D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds",
}

// mappingOf returns the mapping of a data type. Types that few programs read become ones
// that all read; types that zarr-python reads stay.
func mappingOf(t dtype.Type, attributes []byte) (m mapping, err error) {
	m = mapping{of: t, shown: wider(t)}
	if t.Kind() == dtype.KindDatetime && t.Step().Factor == 1 && units[t.Step().Unit] != "" && !hasAny(attributes, "units", "calendar", missing.FillValue) {
		m.shown = dtype.Int64
		m.attributes = map[string]any{
			"units": units[t.Step().Unit] + " since 1970-01-01", "calendar": "proleptic_gregorian",
			missing.FillValue: json.Number("-9223372036854775808"), // NaT
		}
	} else if m.shown != t {
		m.convert, err = element.Conversion(t, m.shown)
	}
	if m.shown != t {
		m.note = fmt.Sprintf("data type %s is shown as %s", t, m.shown)
	}
	return m, err
}

// wider returns the smallest common type that has all numbers of a type.
func wider(t dtype.Type) dtype.Type {
	switch t.Kind() {
	case dtype.KindInt:
		if t.Bits() < 8 {
			return dtype.Int8
		}
	case dtype.KindUint:
		if t.Bits() < 8 {
			return dtype.Uint8
		}
	case dtype.KindFloat:
		if t != dtype.Of[dtype.Float16]() && t != dtype.Float32 && t != dtype.Float64 {
			return dtype.Float32
		}
	}
	return t
}

// hasAny reports whether a JSON object has one of the names.
func hasAny(object []byte, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, found, err := metadata.Attribute(object, name)
		return found || err != nil
	})
}

// fill returns the fill value of an array with the mapped type.
func (m mapping) fill(of zarr.Spec) (zarr.FillValue, error) {
	if m.shown == m.of || of.FillValue.JSON() == "null" {
		return of.FillValue, nil
	}
	elem, err := of.FillValue.Element(m.of)
	if err != nil {
		return of.FillValue, err
	}
	if m.convert != nil {
		shown := make([]byte, m.shown.Size())
		m.convert(shown, elem)
		elem = shown
	}
	raw, err := m.shown.FormatFill(elem)
	return zarr.FillJSON(string(raw)), err
}

// Served is the attribute of a node of a view that differs from its source. It is an
// object: "changes" is a list of sentences, and "refused", of a group, has the reasons
// for which arrays are not shown, by their paths.
const Served = own.Attributes + "served"

// served returns the attributes that the view shows.
func (a *array) served(spec zarr.Spec, m mapping, changes []string) (any, error) {
	raw, err := json.Marshal(spec.Attributes)
	if r, ok := spec.Attributes.(json.RawMessage); ok {
		raw, err = r, nil
	}
	if err != nil {
		return nil, err
	}
	for name, value := range m.attributes {
		if raw, err = setAttribute(raw, name, value); err != nil {
			return nil, err
		}
	}
	// Regular chunks cannot follow each policy, and nothing grows through a view.
	if hasAny(raw, own.Growth) {
		if raw, err = metadata.UnsetAttribute(raw, own.Growth); err != nil {
			return nil, err
		}
	}
	if m.note != "" {
		changes = append(changes, m.note)
	}
	if a.block != nil || a.view.settings.Coarsen != nil && len(a.edges) == 0 {
		rest, gone, err := unplaced(raw)
		if err != nil {
			return nil, err
		}
		if raw = rest; gone != nil {
			changes = append(changes, unplacedNote(gone))
		}
	}
	if changes != nil {
		raw, err = setAttribute(raw, Served, map[string]any{"changes": changes})
	}
	return json.RawMessage(raw), err
}

// addServed adds a member to the attribute [Served].
func addServed(attributes []byte, name string, value any) ([]byte, error) {
	served, found, err := metadata.Attribute(attributes, Served)
	if err != nil || !found {
		served = []byte("{}")
	}
	if served, err = setAttribute(served, name, value); err != nil {
		return nil, err
	}
	return metadata.SetAttribute(attributes, Served, served)
}

func setAttribute(raw []byte, name string, value any) ([]byte, error) {
	v, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return metadata.SetAttribute(raw, name, v)
}
