// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// element returns the type of Zarr that has the same elements.
func (d *datatype) element() (dtype.Type, error) {
	if d.odd != "" {
		return dtype.Type{}, scan.Unsupportedf("elements are %s", d.odd)
	}
	switch d.class {
	case classInteger:
		return d.integer()
	case classEnum:
		if d.isBool() {
			return dtype.Bool, nil
		}
		return d.integer()
	case classFloat:
		return d.named(d.floatName())
	case classComplex:
		return d.named(d.complexName(d.base))
	case classText:
		return d.fixedText()
	case classOpaque:
		return d.raw()
	case classArray:
		return d.arrayField()
	case classCompound:
		return d.compound()
	case classSequence:
		if d.text {
			return dtype.String, nil
		}
	}
	return dtype.Type{}, scan.Unsupportedf("elements are of the class %s", d.class)
}

// named returns the type of a name, or an error for "".
func (d *datatype) named(name string) (dtype.Type, error) {
	if name == "" {
		return dtype.Type{}, scan.Unsupportedf("elements are of the class %s, and have %s", d.class, quantity.Count(d.size, "bytes"))
	}
	return refusing(dtype.Parse(name, nil))
}

// refusing makes errors of types that Zarr does not have refusals.
func refusing(t dtype.Type, err error) (dtype.Type, error) {
	if err != nil {
		return dtype.Type{}, scan.Unsupportedf("its elements: %v", err)
	}
	return t, nil
}

func (d *datatype) integer() (dtype.Type, error) {
	sign := "u"
	if d.signed {
		sign = ""
	}
	switch d.size {
	case 1, 2, 4, 8:
		return d.named(fmt.Sprintf("%sint%d", sign, 8*d.size))
	}
	return d.named("")
}

func (d *datatype) floatName() string {
	if d.brain {
		return "bfloat16"
	}
	return fmt.Sprintf("float%d", 8*d.size)
}

// complexName returns the name of the type whose parts are of a type.
func (d *datatype) complexName(part *datatype) string {
	if part.class == classFloat && part.odd == "" && (part.size == 4 || part.size == 8) && d.size == 2*part.size {
		return fmt.Sprintf("complex%d", 8*d.size)
	}
	return ""
}

func (d *datatype) fixedText() (dtype.Type, error) {
	// Fortran programs write such text (H5T_STR_SPACEPAD). The types of Zarr would keep
	// the spaces as a part of it.
	if d.padding == padSpaces && d.size > 1 {
		return dtype.Type{}, scan.Unsupportedf("elements are text that is filled up with spaces")
	}
	return refusing(dtype.NullTerminated(int(d.size)))
}

func (d *datatype) raw() (dtype.Type, error) { return refusing(dtype.RawBytes(int(d.size))) }

// arrayField returns the type of a field that is an array. Zarr has no such fields. A
// struct with fields "0", "1" and so on takes its place for each axis, as it does for
// arrays of format 2; its layout is the same.
func (d *datatype) arrayField() (dtype.Type, error) {
	const most = 4096 // fields, as in other structs
	if n := d.leaves(); n > most {
		return dtype.Type{}, scan.Unsupportedf("an array of %s in a compound, at most %d are possible", quantity.Count(n, "numbers"), most)
	}
	t, err := d.base.element()
	for _, n := range slices.Backward(d.shape) {
		if err == nil && t.Variable() {
			err = scan.Unsupportedf("it has variable length")
		}
		if err != nil {
			return t, err
		}
		list := make([]dtype.Field, n)
		for i := range list {
			list[i] = dtype.Field{Name: strconv.Itoa(i), Type: t}
		}
		t, err = refusing(dtype.StructOf(list...))
	}
	return t, err
}

// leaves returns the number of values that an element has. An element has at least as
// many bytes, so that it does not overflow.
func (d *datatype) leaves() (n int64) {
	switch d.class {
	case classArray:
		return d.size / d.base.size * d.base.leaves()
	case classCompound:
		for _, f := range d.fields {
			n += f.typ.leaves()
		}
		return n
	}
	return 1
}

// The attributes of CF that say what numbers stand for.
const (
	flagValues   = "flag_values"
	flagMeanings = "flag_meanings"
)

// setFlags sets the attributes that say what the values of an enumeration mean, as CF has
// them. Those that the file has itself stay.
func (d *datatype) setFlags(to *scan.Attributes) error {
	if d.class != classEnum || d.isBool() || to.Get(flagValues) != nil || to.Get(flagMeanings) != nil {
		return nil
	}
	list, err := d.integers(d.values, false)
	if err != nil {
		return err
	}
	words := make([]string, len(d.names))
	for i, name := range d.names {
		words[i] = strings.Join(strings.Fields(name), "_") // meanings are separated by blanks
	}
	to.Set(flagValues, list)
	to.Set(flagMeanings, strings.Join(words, " "))
	return nil
}

// enumField returns the name of a field that is an enumeration, "" if there is none. Zarr
// has no place for the names of its values.
func (d *datatype) enumField() string {
	for _, f := range d.fields {
		t := f.typ
		for t.class == classArray {
			t = t.base
		}
		if t.class == classEnum && !t.isBool() {
			return f.name
		}
		if below := t.enumField(); below != "" {
			return f.name + "." + below
		}
	}
	return ""
}

// compound returns the type of a struct. Fields that overlap or have gaps between them
// have no type.
func (d *datatype) compound() (dtype.Type, error) {
	if len(d.fields) == 2 && d.isComplex() {
		if name := d.complexName(d.fields[0].typ); name != "" {
			return d.named(name)
		}
	}
	// Fields are declared in any order. Those of a struct of Zarr lie in its own.
	sorted := slices.Clone(d.fields)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].offset < sorted[j].offset })
	var list []dtype.Field
	end := int64(0)
	for _, f := range sorted {
		// C programs that store structs as they are in memory leave gaps: compilers align
		// fields. The same types packed (H5Tpack) have none.
		if f.offset != end {
			return dtype.Type{}, scan.Unsupportedf("field %q of a compound begins at %d, and the one before ends at %d", f.name, f.offset, end)
		}
		t, err := f.typ.element()
		if err == nil && t.Variable() {
			err = scan.Unsupportedf("it has variable length")
		}
		if err != nil {
			return dtype.Type{}, fmt.Errorf("field %q: %w", f.name, err)
		}
		list = append(list, dtype.Field{Name: f.name, Type: t})
		end += f.typ.size
	}
	if end != d.size {
		return dtype.Type{}, scan.Unsupportedf("a compound of %s whose fields end at %d", quantity.Count(d.size, "bytes"), end)
	}
	return refusing(dtype.StructOf(list...))
}

// isComplex reports whether two fields are the parts of a complex number, as h5py stores
// them.
func (d *datatype) isComplex() bool {
	r, i := d.fields[0], d.fields[1]
	return r.name == "r" && i.name == "i" && r.offset == 0 && i.offset == r.typ.size &&
		r.typ.class == classFloat && i.typ.class == classFloat && r.typ.odd == "" && i.typ.odd == "" &&
		r.typ.size == i.typ.size && r.typ.big == i.typ.big && r.typ.brain == i.typ.brain
}

// byteOrder is the order of the bytes of all numbers of an element.
type byteOrder byte

const (
	noOrder     byteOrder = 0
	littleOrder byteOrder = 1
	bigOrder    byteOrder = 2
	bothOrders  byteOrder = 3
)

// order returns the order of bytes within an element.
func (d *datatype) order() (o byteOrder) {
	switch d.class {
	case classInteger, classEnum, classFloat:
		switch {
		case d.size == 1:
			return noOrder
		case d.big:
			return bigOrder
		}
		return littleOrder
	case classComplex, classArray:
		return d.base.order()
	case classCompound:
		for _, f := range d.fields {
			o |= f.typ.order()
		}
	}
	return o
}
