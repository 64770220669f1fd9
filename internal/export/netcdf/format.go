// SPDX-License-Identifier: Apache-2.0

// Package netcdf writes data sets as files of netCDF: netCDF-4, which are HDF5, and the
// three classic formats.
//
// A plan says what the file has: groups, shared dimensions, variables and attributes with
// the types of netCDF. It is made from metadata alone, and what a variant lacks is
// refused there, before the file is created. Values stay as they are stored: packed
// numbers, and times as CF numbers.
package netcdf

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/hdf5"
	"varve.dev/zarr/internal/quantity"
)

// Format writes files of a variant. It implements [export.FileFormat].
type Format struct {
	Variant export.Format // NetCDF4, NetCDF3, Offset64 or CDF5
	// Unlimited names the dimensions that can grow in the file. Nil means those along
	// which arrays have a growth policy.
	Unlimited []string
	// Deflate is the level of compression of netCDF-4 from 1 to 9, after a byte shuffle;
	// 0 is none.
	Deflate int
}

var _ export.FileFormat = Format{}

// Check implements [export.FileFormat].
func (f Format) Check(ctx context.Context, d *export.Dataset) error {
	_, err := f.plan(ctx, d)
	return err
}

// Write implements [export.FileFormat].
func (f Format) Write(ctx context.Context, d *export.Dataset, to export.File) error {
	root, err := f.plan(ctx, d)
	if err != nil {
		return err
	}
	if f.Variant == export.NetCDF4 {
		return f.writeHDF5(ctx, root, to)
	}
	return f.writeClassic(ctx, root, to)
}

// unfit returns an error for what a file cannot hold.
func unfit(format string, args ...any) error { return export.Unfit(fmt.Sprintf(format, args...)) }

// checkVariant returns an error if a variant cannot hold what a file is to have.
func (f Format) checkVariant(root *group) error {
	if f.Variant != export.NetCDF4 {
		return f.checkClassic(root)
	}
	return f.checkGroup(root)
}

// reserved are the names of attributes that netCDF-C keeps for itself.
var reserved = map[string]bool{
	"_NCProperties": true, "_Netcdf4Coordinates": true, "_Netcdf4Dimid": true, "_nc3_strict": true, "CLASS": true, "NAME": true,
	"DIMENSION_LIST": true, "REFERENCE_LIST": true, "DIMENSION_LABELS": true, "_NCCOPY": true, "_IsNetcdf4": true, "_SuperblockVersion": true,
}

// checkGroup checks the names and the sizes of a group and of all below it.
func (f Format) checkGroup(g *group) error {
	members := len(g.variables) + len(g.dimensions) + len(g.groups)
	if members > hdf5.MaxMembers {
		return unfit("group %q has %s, and a group of this writer at most %d: export groups below it one by one", "/"+g.at, quantity.Count(members, "members"), hdf5.MaxMembers)
	}
	if err := f.checkAttributes("group /"+g.at, g.attributes); err != nil {
		return err
	}
	for _, d := range g.dimensions {
		if err := checkName("dimension", d.name); err != nil {
			return err
		}
		for _, below := range g.groups {
			if below.name == d.name && d.coordinate == nil {
				return unfit("group %q has a dimension and a group of the name %q, which HDF5 cannot tell apart: rename one", "/"+g.at, d.name)
			}
		}
	}
	uses := map[*dimension]int{}
	for _, v := range g.variables {
		if err := checkName("array", v.name); err != nil {
			return err
		}
		if err := f.checkAttributes(v.at, v.attributes); err != nil {
			return err
		}
		for _, d := range v.dimensions {
			if uses[d]++; uses[d] > hdf5.MaxUses {
				return unfit("more than %s dimension %q, and a netCDF-4 file of this writer lists at most as many: export groups below it one by one", quantity.Count(hdf5.MaxUses, "arrays have"), d.name)
			}
		}
	}
	for _, below := range g.groups {
		if err := checkName("group", below.name); err != nil {
			return err
		}
		if err := f.checkGroup(below); err != nil {
			return err
		}
	}
	return nil
}

// checkAttributes checks the attributes of a node.
func (f Format) checkAttributes(at string, list []attribute) error {
	if len(list) > hdf5.MaxMembers {
		return unfit("%s has %s, and a file has at most %d for it", at, quantity.Count(len(list), "attributes"), hdf5.MaxMembers)
	}
	const around = 256 // bytes of a message beside name and value, at most
	for _, a := range list {
		if err := checkName("attribute", a.name); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if f.Variant != export.NetCDF4 {
			continue
		}
		if reserved[a.name] {
			return unfit("%s: netCDF keeps the attribute %q for itself: rename it (varve attrs)", at, a.name)
		}
		if n := len(a.name) + len(a.data) + len(a.texts)*referenceBytes; n > hdf5.MaxMessage-around {
			return unfit("%s: attribute %q has %s, and a netCDF-4 file of this writer at most %d: store it as an array", at, a.name, quantity.Count(n, "bytes"), hdf5.MaxMessage-around)
		}
	}
	return nil
}

// maxName bounds the bytes of a name (NC_MAX_NAME).
const maxName = 256

// checkName returns an error for a name that netCDF does not permit (NetCDF user guide,
// "Permitted characters in netCDF names").
func checkName(what, name string) error {
	first, _ := utf8.DecodeRuneInString(name)
	var reason string
	switch {
	case name == "":
		reason = "is empty"
	case len(name) > maxName:
		reason = fmt.Sprintf("has %s, at most %d are possible", quantity.Count(len(name), "bytes"), maxName)
	case !utf8.ValidString(name):
		reason = "is not UTF-8"
	case first < utf8.RuneSelf && first != '_' && !unicode.IsLetter(first) && !unicode.IsDigit(first):
		reason = "begins with neither a letter nor a digit nor _"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '/' }):
		reason = "has a control character or a slash"
	case strings.HasSuffix(name, " "):
		reason = "ends with a blank"
	default:
		return nil
	}
	return unfit("the %s name %q %s, which netCDF does not permit: rename it", what, name, reason)
}
