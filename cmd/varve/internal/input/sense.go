// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/calendar"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
)

// senses are the attributes that say what the numbers of an array stand for.
var senses = []string{cf.ScaleFactor, cf.AddOffset, cf.Unsigned, cf.FillValue, cf.MissingValue, "units", "calendar"}

// KeepsSense refuses the numbers of another array that stand for something else there
// than they would here: they are stored as they are, and readers would take them for
// wrong values. Where that array says nothing of its numbers, they are taken as raw ones.
func (v *Values) KeepsSense(ctx context.Context, a *zarr.Array) error {
	if v.array == nil || v.Type != a.Type() || !element.IsNumeric(v.Type) {
		return nil
	}
	faults, err := v.faults(ctx, a)
	if err != nil || len(faults) == 0 {
		return err
	}
	return failure.BadArgument("the numbers of %s mean something else there than here: %s; encode them anew first, as xarray does, "+
		"or give both the same attributes if they mean the same (varve attrs), or take bare numbers by way of a file: varve export %s -o FILE.npy",
		v.Name, strings.Join(faults, "; "), phrase.Word(v.Name))
}

// faults returns how the numbers of the node mean something else than those of an array.
func (v *Values) faults(ctx context.Context, a *zarr.Array) (faults []string, err error) {
	from, err := cf.UnitsIn(ctx, v.array)
	if err != nil {
		return nil, err
	}
	to, err := cf.UnitsIn(ctx, a)
	if err != nil {
		return nil, err
	}
	says := hasSense(v.array) || from.Units != "" // bounds have that of their coordinate
	if says {
		faults = append(packingDiffers(v.array, a), unitsDiffer(from, to)...)
	}
	if !says && !hasMissingFill(v.array) {
		return nil, nil
	}
	p, err := cf.PackingOf(v.array)
	q, also := cf.PackingOf(a)
	if err != nil || also != nil || p.Type() != q.Type() {
		return faults, nil // attributes that nobody can read are compared as they are spelled
	}
	if source.IsCoordinate(v.array) {
		p = p.OfCoordinate()
	}
	faults = append(faults, missingDiffers(p, q)...)
	if len(faults) > 0 {
		return faults, nil
	}
	if source.IsCoordinate(a) {
		q = q.OfCoordinate()
	}
	return v.hiddenBy(ctx, p, q)
}

// hasMissingFill reports whether the fill value of an array of format 2 says by itself
// which element is missing. Zero does not: it is the fill value where nobody chose one.
func hasMissingFill(a *zarr.Array) bool {
	fill := element.Fill(a)
	return a.Format() == 2 && !a.Metadata().HasNullFill() && bytes.Count(fill, []byte{0}) < len(fill)
}

// NoteSense tells people that the numbers of an array lose their units, or that those of
// an array that says nothing of them are taken for packed ones.
func (v *Values) NoteSense(cmd *cobra.Command, a *zarr.Array) {
	if v.array == nil || v.Type != a.Type() || !element.IsNumeric(v.Type) {
		return
	}
	if units := source.Attribute(v.array, "units"); units != "" {
		if to, err := cf.UnitsIn(cmd.Context(), a); err == nil && to.Units == "" {
			session.Remark(cmd, v.Name, fmt.Sprintf("its units are %s, and the array that takes its numbers has none (varve attrs sets them)", strconv.Quote(phrase.Shorten(units, 60))))
		}
	}
	if hasSense(v.array) {
		return
	}
	if p, err := cf.PackingOf(a); err == nil && (p.IsScaled() || p.Type() != a.Type()) {
		session.Remark(cmd, v.Name, "it has no attributes that say what its numbers are, so they are taken for packed ones, as they are")
	}
}

// hasSense reports whether an array says anything of what its numbers stand for.
func hasSense(a *zarr.Array) bool {
	for _, name := range senses {
		if v, err := source.AttributeValue(a, name); err != nil || !v.IsZero() {
			return true
		}
	}
	return false
}

// sense returns an attribute for people, or that there is none.
func sense(a *zarr.Array, name string) string {
	v, err := source.AttributeValue(a, name)
	if err != nil || v.IsZero() {
		return "none"
	}
	return phrase.Shorten(phrase.Compact(v.Raw()), 60)
}

// senseDiffers says how an attribute differs.
func senseDiffers(from, to *zarr.Array, name string) string {
	return fmt.Sprintf("%s is %s there and %s here", name, sense(from, name), sense(to, name))
}

// packingDiffers returns how the numbers of two arrays are packed in different ways.
func packingDiffers(from, to *zarr.Array) (faults []string) {
	p, err := cf.PackingOf(from)
	q, also := cf.PackingOf(to)
	if err != nil || also != nil { // attributes that are spelled alike are alike
		for _, name := range []string{cf.ScaleFactor, cf.AddOffset, cf.Unsigned} {
			if sense(from, name) != sense(to, name) {
				faults = append(faults, senseDiffers(from, to, name))
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
			faults = append(faults, senseDiffers(from, to, part.name))
		}
	}
	if p.Type() != q.Type() {
		faults = append(faults, senseDiffers(from, to, cf.Unsigned))
	}
	return faults
}

// missingDiffers returns which elements are missing in the first of two arrays alone.
func missingDiffers(p, q *cf.Packing) (faults []string) {
	for _, elem := range missingBut(p, q) {
		faults = append(faults, fmt.Sprintf("%s stands for no value there and is a number here", p.Type().AppendText(nil, elem)))
	}
	return faults
}

// missingBut returns the elements that are missing in an array and numbers in another of
// the same type. NaN and NaT are numbers nowhere.
func missingBut(p, q *cf.Packing) (list [][]byte) {
	for _, elem := range p.Missing() {
		if math.IsNaN(p.Stored(elem)) || isNotATime(elem) || q.IsMissing(elem) {
			continue
		}
		list = append(list, elem)
	}
	return list
}

// isNotATime reports whether an element is the int64 that stands for NaT.
func isNotATime(elem []byte) bool {
	return len(elem) == 8 && int64(binary.NativeEndian.Uint64(elem)) == dtype.NaT
}

// hiddenBy returns which numbers of the node, which is packed as p, are missing where
// elements are packed as q. The values are read to see whether there are any: most arrays
// that differ in the missing value alone have none.
func (v *Values) hiddenBy(ctx context.Context, p, q *cf.Packing) (faults []string, err error) {
	if len(missingBut(q, p)) == 0 {
		return nil, nil
	}
	s, err := source.New(ctx, v.array, "", false)
	if err != nil {
		return nil, err
	}
	err = s.Blocks(ctx, func(e element.Values) error {
		for i := range e.Len() {
			if elem := e.At(i); q.IsMissing(elem) && p.HasValue(elem) && !isNotATime(elem) {
				faults = []string{fmt.Sprintf("%s is a number there and stands for no value here", q.Type().AppendText(nil, elem))}
				return errFound
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return faults, err
}

// errFound ends the search of hiddenBy.
var errFound = errors.New("found")

// unitsDiffer returns how what the numbers of two arrays count differs, where both say
// it.
func unitsDiffer(from, to cf.Units) (faults []string) {
	if from.Units == "" || to.Units == "" {
		return nil
	}
	a, counts := from.Times()
	b, also := to.Times()
	switch {
	case counts && also:
		if countAlike(a, b) {
			return nil
		}
	case !counts && !also && sameUnit(from.Units, to.Units):
		return nil
	}
	if strings.TrimSpace(from.Units) != strings.TrimSpace(to.Units) {
		faults = append(faults, differs("units", from.Units, to.Units))
	}
	if strings.TrimSpace(from.Calendar) != strings.TrimSpace(to.Calendar) && (counts || also) {
		faults = append(faults, differs("calendar", from.Calendar, to.Calendar))
	}
	return faults
}

// differs says how an attribute differs that is a text, "" where there is none.
func differs(name, from, to string) string {
	text := func(s string) string {
		if s == "" {
			return "none"
		}
		return phrase.Shorten(strconv.Quote(s), 60)
	}
	return fmt.Sprintf("%s is %s there and %s here", name, text(from), text(to))
}

// unitNames are other names of units, of which CF or UDUNITS has each.
var unitNames = map[string]string{
	"kelvin": "K", "Kelvin": "K", "degrees_K": "K", "degree_K": "K", "degK": "K",
	"degree_north": "degrees_north", "degree_N": "degrees_north", "degrees_N": "degrees_north",
	"degreeN": "degrees_north", "degreesN": "degrees_north",
	"degree_east": "degrees_east", "degree_E": "degrees_east", "degrees_E": "degrees_east",
	"degreeE": "degrees_east", "degreesE": "degrees_east",
}

// sameUnit reports whether two names are of one unit.
func sameUnit(a, b string) bool {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if cmp.Or(unitNames[a], a) == cmp.Or(unitNames[b], b) {
		return true
	}
	x, y := timeLength(a), timeLength(b)
	return x > 0 && x == y
}

// timeLength returns the length of a unit of time, 0 for any other unit.
func timeLength(name string) time.Duration {
	u, err := calendar.ParseUnits(name+" since 2000-01-01", calendar.Standard)
	if err != nil {
		return 0
	}
	return u.Length()
}

// countAlike reports whether every number stands for the same time on another axis, however
// its units are spelled.
func countAlike(a, b cf.Times) bool {
	sameDays := a.Calendar() == b.Calendar() || a.IsReal() && b.IsReal()
	return sameDays && a.Length() == b.Length() && a.Origin() == b.Origin()
}
