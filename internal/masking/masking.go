// SPDX-License-Identifier: Apache-2.0

// Package masking converts the documents of arrays between formats 2 and 3, so that
// xarray takes the same elements for missing ones. Packages convert and virtual share
// it.
package masking

import (
	"bytes"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// Missing values in both formats, as xarray reads them:
//
//   - In format 2 the fill value is the mask: elements equal to it are missing, unless it
//     is null. It takes precedence over the attribute _FillValue. Dates and durations are
//     not masked. Where dimensions have no names, and in images of OME-Zarr, it is none.
//   - In format 3 the fill value has no such meaning. The attribute _FillValue is the
//     mask, in an encoding of its own. Text uses the attribute missing_value.
//
// So 2→3 adds the attribute. If _FillValue is a list, as format 2 permits, its only
// value becomes the new attribute; a list of several values becomes missing_value. 3→2
// moves the attribute to the fill value. Without an attribute the fill value of format
// 2 must be null; otherwise stored zeros would become missing. In both cases the
// elements of missing chunks may change, so these chunks are stored.

// Mask is an array of which the missing values were converted.
type Mask struct {
	Array *metadata.Array // of format 3
	Null  bool            // the fill value of format 2 is null
	// Fills reports that missing chunks must be stored, filled with the element Gap.
	Fills bool
	Gap   []byte
	Note  string // the effect on missing values, for the caller
	Lost  bool   // missing values become ordinary values
	// Refused reports that xarray cannot open a group of format 3 with the array,
	// because of its attribute _FillValue.
	Refused bool

	typ  dtype.Type // zero if unknown
	said string     // the source of the missing value in format 2
}

// newMask starts from the array as format 3 describes it.
func newMask(a *metadata.Array) *Mask {
	b := *a.ToV3()
	m := &Mask{Array: &b}
	m.typ, _ = dtype.Parse(a.DataType.Name, a.DataType.Configuration)
	return m
}

// attribute returns the JSON of an attribute, or nil if it does not exist.
func (m *Mask) attribute(name string) []byte {
	raw, _, err := metadata.Attribute(m.Array.Attributes, name)
	if err != nil {
		return nil // attributes that are null
	}
	return raw
}

func (m *Mask) set(name string, value []byte) (err error) {
	if m.Array.Attributes == nil {
		m.Array.Attributes = []byte("{}")
	}
	m.Array.Attributes, err = metadata.SetAttribute(m.Array.Attributes, name, value)
	return err
}

func (m *Mask) unset(name string) (err error) {
	m.Array.Attributes, err = metadata.UnsetAttribute(m.Array.Attributes, name)
	return err
}

// ToV3 converts an array of format 2. filled is set if its fill value is a mask.
func ToV3(a *metadata.Array, filled bool) (*Mask, error) {
	m := newMask(a)
	if m.typ.IsZero() {
		return m, nil
	}
	if err := m.fromV2(a, filled); err != nil {
		return nil, err
	}
	m.refuse()
	return m, nil
}

func (m *Mask) fromV2(a *metadata.Array, filled bool) error {
	raw := m.attribute(missing.FillValue)
	if !filled && raw == nil {
		return nil // nothing is missing
	}
	elem, err := m.typ.ParseFill(a.FillValue)
	if m.said = "the fill value"; !filled {
		list := missing.List(m.typ, raw)
		if len(list) != 1 {
			return m.encodeList(list)
		}
		elem, err = m.parse(list[0])
		m.said = "the attribute " + missing.FillValue
	}
	switch {
	case err != nil:
		// The fill value is not valid, so no reader masks anything. Keep the
		// attribute.
	case missing.Coded(m.typ):
		return m.encode(elem, raw)
	case missing.IsText(m.typ):
		return m.encodeText(elem, raw)
	case m.typ.Kind() == dtype.KindTerminated || m.typ.Variable():
		m.Lost = true
		m.Note = fmt.Sprintf("the fill value %s marks missing values in format 2 and is an ordinary value in format 3: xarray cannot mark missing byte strings there", a.FillValue)
	}
	return nil
}

// refuse records that xarray cannot open a group with the array, because of an attribute
// that it ignores in format 2.
func (m *Mask) refuse() {
	raw := m.attribute(missing.FillValue)
	if raw == nil || m.Note != "" {
		return
	}
	reason, _ := missing.Refused(m.typ, m.attribute(missing.Unsigned), raw)
	if reason == "" {
		return
	}
	m.Refused = true
	m.Note = fmt.Sprintf("the attribute %s %s stays, and xarray cannot open such a group of format 3: %s; set it to a value of type %s, or unset it",
		missing.FillValue, strictjson.Abbreviate(string(raw)), reason, m.typ)
}

// parse returns the element that the attribute _FillValue denotes.
func (m *Mask) parse(raw []byte) ([]byte, error) {
	return missing.ParseSpelled(m.typ, m.attribute(missing.Unsigned), raw)
}

// encode sets the attribute _FillValue of format 3. was is its previous value.
func (m *Mask) encode(elem, was []byte) error {
	now, err := missing.Format(missing.Spelled(m.typ, m.attribute(missing.Unsigned)), elem)
	if err != nil || bytes.Equal(now, was) {
		return err
	}
	m.tell(elem, missing.FillValue)
	if was != nil && !m.isOnly(was, elem) {
		m.Note += fmt.Sprintf(" in place of %s, which readers of format 2 ignore", strictjson.Abbreviate(was))
	}
	return m.set(missing.FillValue, now)
}

// isOnly reports whether an attribute has the element as its only value.
func (m *Mask) isOnly(raw, elem []byte) bool {
	list := missing.List(m.typ, raw)
	if len(list) != 1 {
		return false
	}
	has, err := m.parse(list[0])
	return err == nil && bytes.Equal(has, elem)
}

// tell notes for the caller that an attribute of format 3 now defines the missing value.
func (m *Mask) tell(elem []byte, attribute string) {
	m.Note = fmt.Sprintf("%s %s, which marks missing data in format 2, becomes the attribute %s of format 3", m.said, m.fill(elem), attribute)
}

// encodeText sets the attribute missing_value. xarray 2026.9 cannot open a group in which
// text has the attribute _FillValue.
func (m *Mask) encodeText(elem, was []byte) error {
	now, err := m.typ.FormatFill(elem)
	if err != nil {
		return err
	}
	if was != nil {
		if err := m.unset(missing.FillValue); err != nil {
			return err
		}
	}
	if other := m.attribute(missing.Value); other != nil {
		if now = listed(other, now); now == nil {
			return nil
		}
	}
	m.tell(elem, missing.Value)
	return m.set(missing.Value, now)
}

// encodeList moves a list of several values, or of none, to the attribute missing_value.
// xarray cannot open a group of format 3 in which _FillValue is a list.
func (m *Mask) encodeList(list [][]byte) error {
	now := m.attribute(missing.Value)
	for _, value := range list {
		if now == nil {
			now = fmt.Appendf(nil, "[%s]", value)
		} else if longer := listed(now, value); longer != nil {
			now = longer
		}
	}
	m.Note = fmt.Sprintf("the attribute %s is a list of several values, which becomes the attribute %s", missing.FillValue, missing.Value)
	if len(list) == 0 {
		m.Note = fmt.Sprintf("the attribute %s has no value, and is removed", missing.FillValue)
	} else if err := m.set(missing.Value, now); err != nil {
		return err
	}
	return m.unset(missing.FillValue)
}

// listed returns a list of the values of an attribute and one more, or nil if the
// attribute has that value already.
func listed(attribute, value []byte) []byte {
	v, err := strictjson.Parse(attribute, strictjson.Limits{})
	if err != nil {
		return value
	}
	all := [][]byte{attribute}
	if v.Kind() == strictjson.Array {
		all = nil
		for _, e := range v.Elements() {
			all = append(all, e.Raw())
		}
	}
	for _, has := range all {
		if bytes.Equal(bytes.TrimSpace(has), value) {
			return nil
		}
	}
	return fmt.Appendf(nil, "[%s]", bytes.Join(append(all, value), []byte(",")))
}

// fill formats an element as a fill value.
func (m *Mask) fill(elem []byte) string {
	raw, err := m.typ.FormatFill(elem)
	if err != nil {
		return m.typ.String()
	}
	return strictjson.Abbreviate(raw)
}

// ToV2 converts an array of format 3. filled is set if its fill value becomes a mask.
func ToV2(a *metadata.Array, filled bool) (*Mask, error) {
	m := newMask(a)
	if !filled {
		return m, nil
	}
	if k := m.typ.Kind(); m.typ.IsZero() || k == dtype.KindDatetime || k == dtype.KindTimedelta {
		return m, nil
	}
	old, err := m.typ.ParseFill(a.FillValue)
	if err != nil {
		// A later step returns an error that names the place.
		return m, nil
	}
	raw := m.attribute(missing.FillValue)
	if raw != nil && (missing.Coded(m.typ) || m.isString()) {
		if elem, err := m.parse(raw); err == nil {
			return m, m.move(missing.FillValue, elem, old)
		}
	}
	if raw == nil {
		if text := m.attribute(missing.Value); text != nil && missing.IsText(m.typ) {
			if elem, err := m.typ.ParseFill(text); err == nil && bytes.Equal(elem, old) {
				return m, m.move(missing.Value, elem, old) // moved there by ToV3
			}
		}
		if m.typ.Kind() == dtype.KindFloat && m.fill(old) == `"NaN"` {
			// NaN marks only values that are missing anyway.
			return m, nil
		}
	}
	return m, m.withoutFill(old)
}

// isString reports whether elements are text or bytes.
func (m *Mask) isString() bool {
	return missing.IsText(m.typ) || m.typ.Kind() == dtype.KindTerminated || m.typ.Variable()
}

// move moves an attribute to the fill value. Missing chunks read as old before that.
func (m *Mask) move(name string, elem, old []byte) error {
	fill, err := m.typ.FormatFill(elem)
	if err != nil {
		return err
	}
	m.Note = fmt.Sprintf("the attribute %s becomes the fill value %s", name, m.fill(elem))
	m.Array.FillValue, m.Fills, m.Gap = fill, !bytes.Equal(elem, old), old
	return m.unset(name)
}

// withoutFill makes the fill value null. Readers disagree on what a missing chunk
// contains then, so all missing chunks are stored.
func (m *Mask) withoutFill(old []byte) (err error) {
	m.Null, m.Fills, m.Gap = true, true, old
	m.Note = fmt.Sprintf("the fill value %s becomes null, because readers of format 2 would treat it as missing", m.fill(old))
	m.Array.FillValue, err = m.typ.FormatFill(m.typ.Default())
	return err
}
