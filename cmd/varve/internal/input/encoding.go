// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
)

// encodingAttributes are the attributes that give the numbers of an array their meaning.
var encodingAttributes = []string{cf.ScaleFactor, cf.AddOffset, cf.Unsigned, cf.FillValue, cf.MissingValue, "units", "calendar"}

// CheckEncoding returns an error if the numbers of another array have another meaning in
// this array. They are stored unchanged, so readers would see wrong values. If that array
// has no such attributes, its numbers count as raw.
func (v *Values) CheckEncoding(ctx context.Context, a *zarr.Array) error {
	if v.array == nil || v.Type != a.Type() || v.recoding != nil && v.Type == dtype.Bool { // each is checked when it is recoded
		return nil
	}
	find := v.faults
	if !cf.IsNumeric(v.Type) {
		find = v.fillsOfOthers
	}
	faults, err := find(ctx, a)
	if err != nil || len(faults) == 0 {
		return err
	}
	return failure.BadArgument("the numbers of %s have another meaning there than here: %s; encode them again first, as xarray does, "+
		"or give both the same attributes if they mean the same (varve attrs), or take bare numbers by way of a file: varve export %s -o FILE.npy",
		v.Name, strings.Join(faults, "; "), phrase.Word(v.Name))
}

// faults returns the differences of meaning between the numbers of the node and those of
// an array.
func (v *Values) faults(ctx context.Context, a *zarr.Array) (faults []string, err error) {
	from, err := cf.UnitsIn(ctx, v.array)
	if err != nil {
		return nil, err
	}
	to, err := cf.UnitsIn(ctx, a)
	if err != nil {
		return nil, err
	}
	// The meaning of flags, or the place of a scene, cannot be converted.
	if faults, err = statementsDiffer(v.array, a); err != nil {
		return nil, err
	}
	if v.recoding != nil { // its numbers become those of the array
		return faults, nil
	}
	says := hasEncoding(v.array) || from.Units != "" // bounds have the units of their coordinate
	p, err := cf.PackingOf(ctx, v.array)
	// Without attributes its numbers count as raw.
	if !says && (err != nil || !hasMissing(p)) {
		if err == nil && len(faults) == 0 {
			faults, err = v.fillsDiffer(ctx, a, p)
		}
		return faults, err
	}
	q, also := cf.PackingOf(ctx, a)
	if says {
		faults = slices.Concat(faults, packingDiffers(v.array, a, p, q), unitsDiffer(from, to))
	}
	if err != nil || also != nil || p.Type() != q.Type() {
		return faults, nil // invalid attributes are compared by their spelling
	}
	// In a coordinate, zero is a number even if it is the fill value.
	if cf.IsCoordinate(v.array) {
		p = p.OfCoordinate()
	}
	faults = append(faults, missingDiffers(p, q)...)
	// Attributes that differ are enough. The values are read only if nothing else is
	// wrong.
	if len(faults) > 0 {
		return faults, nil
	}
	if cf.IsCoordinate(a) {
		q = q.OfCoordinate()
	}
	return v.hiddenBy(ctx, p, q)
}

// statementsDiffer returns the attributes of both arrays that say something else about
// elements, beside those of the encoding: the meaning of flags, or the place of a scene.
func statementsDiffer(from, to *zarr.Array) (faults []string, err error) {
	there, err := cf.StatementsOf(from.Metadata().Attributes)
	if err != nil {
		return nil, err
	}
	here, err := cf.StatementsOf(to.Metadata().Attributes)
	if err != nil {
		return nil, err
	}
	differ, _ := here.Compare(there)
	for _, name := range differ {
		// An attribute that only one array has may say what the other leaves to its
		// readers.
		both := !there[name].IsZero() && !here[name].IsZero()
		if both && !slices.Contains(encodingAttributes, name) && !slices.Contains(comparedApart, name) {
			faults = append(faults, attributeDiffers(from, to, name))
		}
	}
	return faults, nil
}

// comparedApart are attributes that are compared in another way.
var comparedApart = []string{"grid_mapping", "formula_terms"}

// hasMissing reports whether an array without attributes has a missing value that
// somebody chose, which is its fill value. Zero is the default of format 2, so it counts
// only where an element equals it.
func hasMissing(p *cf.Packing) bool {
	return slices.ContainsFunc(p.Missing(), func(elem []byte) bool { return bytes.Count(elem, []byte{0}) < len(elem) })
}

// NoteEncoding prints a note if the numbers of an array lose their units, or if numbers
// without attributes are stored as packed ones.
func (v *Values) NoteEncoding(cmd *cobra.Command, a *zarr.Array) {
	if v.array == nil || v.Type != a.Type() || !cf.IsNumeric(v.Type) {
		return
	}
	if units := cf.TextAttribute(v.array, "units"); units != "" {
		if to, err := cf.UnitsIn(cmd.Context(), a); err == nil && to.Units == "" {
			session.Remark(cmd, v.Name, fmt.Sprintf("its units are %s, and the array that receives its numbers has none (varve attrs sets them)", strconv.Quote(phrase.Shorten(units, 60))))
		}
	}
	if hasEncoding(v.array) {
		return
	}
	// Numbers without attributes may be decoded values, which would be stored wrongly.
	if p, err := cf.PackingOf(cmd.Context(), a); err == nil && (p.IsScaled() || p.Type() != a.Type()) {
		session.Remark(cmd, v.Name, "it has no attributes that define an encoding, so its numbers are stored unchanged as packed ones")
	}
}

// hasEncoding reports whether an array has any attribute that gives its numbers a
// meaning.
func hasEncoding(a *zarr.Array) bool {
	for _, name := range encodingAttributes {
		if v, err := cf.Attribute(a, name); err != nil || !v.IsZero() {
			return true
		}
	}
	return false
}

// attributeText returns an attribute in the form for people.
func attributeText(a *zarr.Array, name string) string {
	v, err := cf.Attribute(a, name)
	if err != nil || v.IsZero() {
		return "none"
	}
	return phrase.Shorten(phrase.Compact(v.Raw()), 60)
}

// attributeDiffers describes how an attribute differs.
func attributeDiffers(from, to *zarr.Array, name string) string {
	return fmt.Sprintf("%s is %s there and %s here", name, attributeText(from, name), attributeText(to, name))
}

// packingDiffers returns the differences between the packings of two arrays, each nil if
// it is not known.
func packingDiffers(from, to *zarr.Array, p, q *cf.Packing) (faults []string) {
	if p == nil || q == nil { // equal spellings have been compared before
		for _, name := range []string{cf.ScaleFactor, cf.AddOffset, cf.Unsigned} {
			if attributeText(from, name) != attributeText(to, name) {
				faults = append(faults, attributeDiffers(from, to, name))
			}
		}
		return faults
	}
	scale, offset := p.Scale()
	otherScale, otherOffset := q.Scale()
	for _, part := range []struct {
		name    string
		differs bool
	}{{cf.ScaleFactor, scale != otherScale}, {cf.AddOffset, offset != otherOffset}} {
		if part.differs {
			faults = append(faults, attributeDiffers(from, to, part.name))
		}
	}
	if p.Type() != q.Type() {
		faults = append(faults, attributeDiffers(from, to, cf.Unsigned))
	}
	return faults
}

// missingDiffers returns the values that are missing only in the first of two arrays.
func missingDiffers(p, q *cf.Packing) (faults []string) {
	for _, elem := range missingBut(p, q) {
		faults = append(faults, fmt.Sprintf("%s is a missing value there and a number here", p.Type().AppendText(nil, elem)))
	}
	return faults
}

// missingBut returns the values that are missing in an array and are numbers in another
// one of the same type. NaN and NaT are never numbers.
func missingBut(p, q *cf.Packing) (list [][]byte) {
	for _, elem := range p.Missing() {
		// Readers take these for missing without any attribute.
		if math.IsNaN(p.Stored(elem)) || isNotATime(elem) || q.IsMissing(elem) {
			continue
		}
		list = append(list, elem)
	}
	return list
}

// isNotATime reports whether an element is NaT, as an int64.
func isNotATime(elem []byte) bool {
	return len(elem) == 8 && int64(binary.NativeEndian.Uint64(elem)) == dtype.NaT
}

// hiddenBy returns the numbers of the node, with packing p, that would be missing with
// packing q. It reads the values, because most arrays with another missing value do not
// contain it.
func (v *Values) hiddenBy(ctx context.Context, p, q *cf.Packing) (faults []string, err error) {
	// All missing values here are missing there, too, so no number can be hidden.
	if len(missingBut(q, p)) == 0 {
		return nil, nil
	}
	err = v.search(ctx, func(elem []byte) bool {
		if !q.IsMissing(elem) || !p.HasValue(elem) || isNotATime(elem) {
			return false
		}
		faults = []string{fmt.Sprintf("%s is a number there and a missing value here", q.Type().AppendText(nil, elem))}
		return true
	})
	return faults, err
}

// unitsDiffer returns the differences of units, if both arrays have some.
func unitsDiffer(from, to cf.Units) (faults []string) {
	if from.Units == "" || to.Units == "" {
		return nil
	}
	// Different texts may count alike: since 2000-1-1, since 2000-01-01.
	if from.Alike(to) {
		return nil
	}
	_, counts := from.Times()
	_, also := to.Times()
	if strings.TrimSpace(from.Units) != strings.TrimSpace(to.Units) {
		faults = append(faults, differenceText("units", from.Units, to.Units))
	}
	if strings.TrimSpace(from.Calendar) != strings.TrimSpace(to.Calendar) && (counts || also) {
		faults = append(faults, differenceText("calendar", from.Calendar, to.Calendar))
	}
	return faults
}

// differenceText describes how a text attribute differs. "" means that there is none.
func differenceText(name, from, to string) string {
	text := func(s string) string {
		if s == "" {
			return "none"
		}
		return phrase.Shorten(strconv.Quote(s), 60)
	}
	return fmt.Sprintf("%s is %s there and %s here", name, text(from), text(to))
}

// fillsDiffer returns the elements of the node, with packing p, that the fill value of
// only one of two arrays makes missing. The node has no attributes, so its numbers are
// raw for attributes of the other array; but no attribute says so in format 2, where
// xarray takes the fill value for missing.
func (v *Values) fillsDiffer(ctx context.Context, a *zarr.Array, p *cf.Packing) (faults []string, err error) {
	q, err := cf.PackingOf(ctx, a)
	if err != nil || q.Type() != p.Type() {
		return nil, nil // invalid attributes are compared by their spelling
	}
	if cf.IsCoordinate(v.array) {
		p = p.OfCoordinate()
	}
	if cf.IsCoordinate(a) {
		q = q.OfCoordinate()
	}
	masks, err := cf.MasksFill(ctx, a)
	if err != nil {
		return nil, err
	}
	fill, err := a.FillValue().Element(a.Type())
	masks = masks && err == nil && q.IsMissing(fill)
	isFill := func(elem []byte) bool { return bytes.Equal(elem, fill) || q.Stored(elem) == q.Stored(fill) }
	if len(p.Missing()) == 0 && !masks {
		return nil, nil
	}
	err = v.search(ctx, func(elem []byte) bool {
		switch {
		case math.IsNaN(p.Stored(elem)) || isNotATime(elem):
			return false
		case p.IsMissing(elem) && !q.IsMissing(elem):
			faults = []string{fmt.Sprintf("%s is a missing value there and a number here", p.Type().AppendText(nil, elem))}
		case masks && q.IsMissing(elem) && isFill(elem) && !p.IsMissing(elem):
			faults = []string{fmt.Sprintf("%s is a number there and a missing value here", q.Type().AppendText(nil, elem))}
		}
		return len(faults) > 0
	})
	return faults, err
}

// search reads the elements of the node until found returns true for one of them.
func (v *Values) search(ctx context.Context, found func(elem []byte) bool) error {
	s, err := source.New(ctx, v.array, "", false)
	if err != nil {
		return err
	}
	err = s.Blocks(ctx, func(e export.Values) error {
		for i := range e.Len() {
			if found(e.At(i)) {
				return errFound
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return err
}

// errFound ends a search.
var errFound = errors.New("found")

// fillsOfOthers is fillsDiffer for elements that are neither integers nor floats, such as
// texts and booleans.
func (v *Values) fillsOfOthers(ctx context.Context, a *zarr.Array) (faults []string, err error) {
	there, filledThere, err := missingOf(ctx, v.array)
	if err != nil {
		return nil, err
	}
	here, filledHere, err := missingOf(ctx, a)
	if err != nil || filledThere == nil && filledHere == nil {
		return nil, err
	}
	has := func(list [][]byte, elem []byte) bool {
		return slices.ContainsFunc(list, func(x []byte) bool { return bytes.Equal(x, elem) })
	}
	err = v.search(ctx, func(elem []byte) bool {
		switch {
		case filledThere != nil && bytes.Equal(elem, filledThere) && !has(here, elem):
			faults = []string{fmt.Sprintf("%s is a missing value there and a value here", v.Type.AppendText(nil, elem))}
		case filledHere != nil && bytes.Equal(elem, filledHere) && !has(there, elem):
			faults = []string{fmt.Sprintf("%s is a value there and a missing value here", v.Type.AppendText(nil, elem))}
		}
		return len(faults) > 0
	})
	return faults, err
}

// missingOf returns the missing elements of an array, and its fill value if that is one;
// filled is nil otherwise. In a coordinate zero, or an empty text, is a value.
func missingOf(ctx context.Context, a *zarr.Array) (all [][]byte, filled []byte, err error) {
	masks, err := cf.MasksFill(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	isZero := func(elem []byte) bool { return bytes.Count(elem, []byte{0}) == len(elem) }
	doc := a.Metadata()
	bare, err := doc.WithAttributes([]byte("{}"))
	if err != nil {
		return nil, nil, err
	}
	for elem := range cf.Missing(bare, masks) {
		if masks && !(cf.IsCoordinate(a) && isZero(elem)) {
			filled = append([]byte{}, elem...)
		}
	}
	for elem := range cf.Missing(doc, masks) {
		if filled != nil || !cf.IsCoordinate(a) || !isZero(elem) {
			all = append(all, elem)
		}
	}
	return all, filled, nil
}

// CheckAxes returns an error if the values are those of another array whose axes have
// other names, another order or other coordinates than the place of the values. Axis
// grown of the place gets new labels; -1 stands for none.
func (v *Values) CheckAxes(ctx context.Context, to zarr.Elements, grown int) error {
	if v.array == nil {
		return nil
	}
	err := cf.CheckAxes(ctx, v.array, to, pairsOf(v.array.Shape(), to.Shape(), grown)...)
	if !errors.Is(err, zarr.ErrInvalidArgument) {
		return err
	}
	const text = "%s has other axes than the place of its values: %w; store it in the order and with the labels of that place first, " +
		"or take bare numbers by way of a file: varve export %s -o FILE.npy"
	var axis *grid.AxisError
	if errors.As(err, &axis) {
		return failure.OnAxis(axis.Axis, text, v.Name, axis.Err, phrase.Word(v.Name))
	}
	return failure.BadArgument(text, v.Name, err, phrase.Word(v.Name))
}

// CheckSegment is [Values.CheckEncoding] and [Values.CheckAxes] for all elements of an
// array that continue another one.
func CheckSegment(ctx context.Context, name string, from, to *zarr.Array, grown int) error {
	v := &Values{array: from, Name: name, Type: from.Type()}
	if err := v.CheckEncoding(ctx, to); err != nil {
		return err
	}
	return v.CheckAxes(ctx, to, grown)
}

// pairsOf returns which axes of a shape go to which axes of a place. A single plane may
// lack the axis that grows; otherwise axes of length 1 may be missing on either side. It
// returns nil if the values are a list, whose axes are not known.
func pairsOf(have, place []int64, grown int) (pairs []cf.AxisPair) {
	from, to := axesOf(have, -1, false), axesOf(place, -1, false)
	switch {
	case len(from) == len(to):
	case grown >= 0 && len(from) == len(to)-1:
		to = axesOf(place, grown, false)
	default:
		from, to = axesOf(have, -1, true), axesOf(place, -1, true)
	}
	if len(from) != len(to) {
		return nil
	}
	for i := range from {
		pairs = append(pairs, cf.AxisPair{From: from[i], To: to[i], Grows: to[i] == grown})
	}
	return pairs
}

// axesOf returns the numbers of the axes of a shape, without one of them, and perhaps
// without those of length 1.
func axesOf(shape []int64, without int, long bool) (axes []int) {
	for i, n := range shape {
		if i != without && (n != 1 || !long) {
			axes = append(axes, i)
		}
	}
	return axes
}
