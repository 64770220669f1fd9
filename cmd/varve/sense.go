package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/missing"
)

// senses are the attributes that say what the numbers of an array stand for.
var senses = []string{"scale_factor", "add_offset", missing.Unsigned, missing.FillValue, missing.Value, "units", "calendar"}

// keepsSense refuses the numbers of another array that stand for something else there
// than they would here: they are stored as they are, and readers would take them for
// wrong values. Where that array says nothing of its numbers, they are taken as raw ones.
func (v *values) keepsSense(a *zarr.Array) error {
	if v.array == nil || v.typ != a.Type() || !isNumeric(v.typ) || !hasSense(v.array) {
		return nil
	}
	faults := append(packingDiffers(v.array, a), unitsDiffer(v.array, a)...)
	if len(faults) == 0 {
		return nil
	}
	return badArgument("the numbers of %s mean something else there than here: %s; encode them anew first, as xarray does, "+
		"or give both the same attributes if they mean the same (varve attrs), or take bare numbers by way of a file: varve export %s -o FILE.npy",
		v.name, strings.Join(faults, "; "), asWord(v.name))
}

// noteSense tells people that the numbers of an array that says nothing of them are taken
// for packed ones.
func (v *values) noteSense(cmd *cobra.Command, a *zarr.Array) {
	if v.array == nil || v.typ != a.Type() || !isNumeric(v.typ) || hasSense(v.array) {
		return
	}
	if p, err := packingOf(a); err == nil && (p.scaled || p.stored != a.Type()) {
		note(cmd, v.name, "it has no attributes that say what its numbers are, so they are taken for packed ones, as they are")
	}
}

// hasSense reports whether an array says anything of what its numbers stand for.
func hasSense(a *zarr.Array) bool {
	for _, name := range senses {
		if v, err := attributeValue(a, name); err != nil || !v.IsZero() {
			return true
		}
	}
	return false
}

// sense returns an attribute for people, or that there is none.
func sense(a *zarr.Array, name string) string {
	v, err := attributeValue(a, name)
	if err != nil || v.IsZero() {
		return "none"
	}
	return shorten(compact(v.Raw()), 60)
}

// senseDiffers says how an attribute differs.
func senseDiffers(from, to *zarr.Array, name string) string {
	return fmt.Sprintf("%s is %s there and %s here", name, sense(from, name), sense(to, name))
}

// packingDiffers returns how the numbers of two arrays are packed in different ways, or
// what is missing in the first one alone. What is missing in the second one alone is none
// of the values of the first.
func packingDiffers(from, to *zarr.Array) (faults []string) {
	p, err := packingOf(from)
	q, also := packingOf(to)
	unread := err != nil || also != nil // then attributes that are spelled alike are alike
	for _, part := range []struct {
		name    string
		differs bool
	}{{"scale_factor", p.scale != q.scale}, {"add_offset", p.offset != q.offset}} {
		if unread && sense(from, part.name) != sense(to, part.name) || !unread && part.differs {
			faults = append(faults, senseDiffers(from, to, part.name))
		}
	}
	if p.stored != q.stored {
		return append(faults, senseDiffers(from, to, missing.Unsigned))
	}
	if isCoordinate(from) {
		p = p.ofCoordinate()
	}
	for _, elem := range append(p.absent, p.filled) {
		if elem == nil || unread || math.IsNaN(p.number(elem)) || bytes.Equal(elem, notATime) || q.isAbsent(elem, q.number(elem)) {
			continue
		}
		faults = append(faults, fmt.Sprintf("%s stands for no value there and is a number here", p.stored.AppendText(nil, elem)))
	}
	return faults
}

// unitsDiffer returns how the units of two arrays differ that both have some.
func unitsDiffer(from, to *zarr.Array) (faults []string) {
	if attribute(from, "units") == "" || attribute(to, "units") == "" {
		return nil
	}
	a, counts := timesOf(from)
	b, also := timesOf(to)
	if counts && also && a.counts(b) {
		return nil
	}
	for _, name := range []string{"units", "calendar"} {
		if strings.TrimSpace(attribute(from, name)) == strings.TrimSpace(attribute(to, name)) || name == "calendar" && !counts && !also {
			continue
		}
		faults = append(faults, senseDiffers(from, to, name))
	}
	return faults
}

// counts reports whether every number stands for the same time on another axis, however
// its units are spelled.
func (a timeAxis) counts(b timeAxis) bool {
	sameDays := a.Calendar() == b.Calendar() || a.isReal() && b.isReal()
	return sameDays && a.Length() == b.Length() && a.Origin() == b.Origin()
}
