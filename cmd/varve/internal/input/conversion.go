// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
)

// convertNode returns how the elements of another array, which are of type from, become
// elements of type t of the array into, nil if there is none yet. Where the attributes of
// the two give numbers another meaning, the values are decoded first: the type alone
// would keep the stored numbers.
func convertNode(ctx context.Context, location string, a, into *zarr.Array, from, t dtype.Type) string {
	if from.Variable() { // .npy has no elements of any length, and lists as text have them
		if t.Kind() != dtype.KindString && t.Kind() != dtype.KindUTF32 && t.Kind() != dtype.KindTerminated && t.Kind() != dtype.KindBytes {
			return ""
		}
		return fmt.Sprintf("; export them first (varve export %s -o FILE.json), and give that file", phrase.Word(location))
	}
	first := fmt.Sprintf("export them first (varve export %s -o FILE.npy)", phrase.Word(location))
	if into == nil || !cf.IsNumeric(from) || !cf.IsNumeric(t) {
		return astype(t, first)
	}
	p, packingErr := cf.PackingOf(ctx, a)
	q, intoPackingErr := cf.PackingOf(ctx, into)
	units, unitsErr := cf.UnitsIn(ctx, a)
	intoUnits, intoUnitsErr := cf.UnitsIn(ctx, into)
	if errors.Join(packingErr, intoPackingErr, unitsErr, intoUnitsErr) != nil {
		return "" // advice that ignores an invalid attribute might store wrong values
	}
	differences := unitsDiffer(units, intoUnits)
	if len(differences) == 0 && samePacking(p, q) {
		return encoding{into: into, from: from, raw: true}.text(first)
	}
	decoded, err := source.New(ctx, a, "", true)
	if err != nil {
		return ""
	}
	e := encoding{into: into, packing: q, from: decoded.Type, missing: p.IsMasked()}
	if _, ok := units.Times(); len(differences) > 0 && !ok && cf.IsNumeric(e.from) {
		e.steps = append(e.steps, "change their units: "+strings.Join(differences, "; "))
	}
	return e.text(fmt.Sprintf("export their values first (varve export %s --decode -o FILE.npy)", phrase.Word(location)))
}

// samePacking reports whether a stored number has the same meaning with both packings,
// whatever the types are.
func samePacking(p, q *cf.Packing) bool {
	scale, offset := p.Scale()
	otherScale, otherOffset := q.Scale()
	numbers := func(p *cf.Packing) (list []float64) {
		for _, elem := range p.Missing() {
			if x := p.Stored(elem); !math.IsNaN(x) && !slices.Contains(list, x) {
				list = append(list, x)
			}
		}
		slices.Sort(list)
		return list
	}
	return scale == otherScale && offset == otherOffset && slices.Equal(numbers(p), numbers(q)) &&
		(p.Type().Kind() == dtype.KindUint) == (q.Type().Kind() == dtype.KindUint)
}

// encoding describes how NumPy converts values for an array.
type encoding struct {
	into    *zarr.Array
	packing *cf.Packing // of into; nil if raw
	from    dtype.Type  // the type of the values
	raw     bool        // the values are stored numbers already
	missing bool        // NaN may stand for missing values
	steps   []string    // to do before
}

// text returns the advice, after a first step or "".
func (e encoding) text(first string) string {
	t := e.into.Type()
	if e.raw || e.packing == nil {
		return astype(t, first) + wholeOnly(e.from, t)
	}
	stored, x := e.packing.Type(), "x"
	if _, ok := stored.NumPy(); !ok {
		return ""
	}
	steps, fraction := e.steps, e.from.Kind() == dtype.KindFloat
	if k := e.from.Kind(); (k == dtype.KindDatetime || k == dtype.KindTimedelta) && cf.TextAttribute(e.into, "units") != "" {
		steps = append(steps, "count in "+phrase.Shorten(cf.TextAttribute(e.into, "units"), 60))
	}
	whole := stored.Kind() != dtype.KindFloat
	if e.packing.IsScaled() {
		scale, offset := e.packing.Scale()
		step := fmt.Sprintf("subtract add_offset %v, divide by scale_factor %v", offset, scale)
		x, fraction = fmt.Sprintf("(x - %v) / %v", offset, scale), true
		if whole {
			step += fmt.Sprintf(", and round; %s holds %s", stored, e.limits(stored))
			x = fmt.Sprintf("np.round(%s)", x)
		}
		steps = append(steps, step)
	}
	if e.from.Kind() == dtype.KindFloat && whole {
		if list := e.packing.Missing(); len(list) > 0 {
			steps = append(steps, "replace NaN by the missing value")
			x = fmt.Sprintf("np.where(np.isnan(x), %s, %s)", stored.AppendText(nil, list[0]), x)
		} else if e.missing {
			steps = append(steps, "the array has no missing value, so NaN cannot be stored")
		}
	}
	if len(steps) == 0 {
		return astype(t, first) + wholeOnly(e.from, t)
	}
	if !strings.HasPrefix(x, "np.") && x != "x" {
		x = "(" + x + ")"
	}
	line := fmt.Sprintf("%s.astype(%q)", x, typeText(stored))
	if stored != t { // the attribute _Unsigned
		line += fmt.Sprintf(".view(%q)", typeText(t))
	}
	do := "encode them first"
	if first != "" {
		do = first + ", and then encode them"
	}
	tail := ""
	if !e.packing.IsScaled() && fraction {
		tail = wholeOnly(e.from, t)
	}
	return fmt.Sprintf("; %s as the attributes of the array say (%s), in NumPy with %s%s", do, strings.Join(steps, "; "), line, tail)
}

// limits returns the least and the largest value of packed integers.
func (e encoding) limits(t dtype.Type) string {
	bits := 8 * t.Size()
	low, high := 0.0, math.Ldexp(1, bits)-1
	if t.Kind() == dtype.KindInt {
		low, high = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)-1
	}
	scale, offset := e.packing.Scale()
	a, b := low*scale+offset, high*scale+offset
	return strconv.FormatFloat(min(a, b), 'g', 6, 64) + " to " + strconv.FormatFloat(max(a, b), 'g', 6, 64)
}

// wholeOnly returns what a conversion from one type to another loses: integers have no
// fractions, so half a day would become none.
func wholeOnly(from, to dtype.Type) string {
	integer := to.Kind() == dtype.KindInt || to.Kind() == dtype.KindUint
	if from.Kind() != dtype.KindFloat || !integer {
		return ""
	}
	return ", if all are whole numbers: (x % 1 == 0).all(); the fractions of others would be lost"
}
