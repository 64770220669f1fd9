// SPDX-License-Identifier: Apache-2.0

package fits

import (
	"fmt"
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// elements are the types of values by BITPIX (section 4.4.1.1).
var elements = map[int64]dtype.Type{
	8: dtype.Uint8, 16: dtype.Int16, 32: dtype.Int32, 64: dtype.Int64,
	-32: dtype.Float32, -64: dtype.Float64,
}

// unit is a header with its data (HDU).
type unit struct {
	*header
	number int64 // counts from the primary one, 0
	typ    dtype.Type
	axes   []int64 // lengths, the fastest axis first
	// parameters (PCOUNT) and groups (GCOUNT) say what else the data have than an image.
	parameters, groups int64
	size               int64 // bytes of the data without padding
}

// measure reads the keywords of the layout.
func (u *unit) measure() (err error) {
	bits, err := u.header.number("BITPIX", 0)
	if err != nil {
		return err
	}
	var ok bool
	if u.typ, ok = elements[bits]; !ok {
		return scan.Corruptf("BITPIX is %d", bits)
	}
	if err = u.readAxes(); err != nil {
		return err
	}
	if u.parameters, err = u.header.number("PCOUNT", 0); err != nil {
		return err
	}
	if u.groups, err = u.header.number("GCOUNT", 1); err != nil {
		return err
	}
	if u.size, ok = u.bytes(); !ok {
		return scan.Corruptf("more than 2^63 bytes of data")
	}
	return nil
}

// readAxes reads the lengths of axes, NAXIS1 to NAXISn. There are at most 999.
func (u *unit) readAxes() error {
	n, err := u.header.number("NAXIS", -1)
	if err == nil && (n < 0 || n > 999) {
		err = scan.Corruptf("NAXIS is %d", n)
	}
	for i := int64(1); err == nil && i <= n; i++ {
		var length int64
		keyword := fmt.Sprintf("NAXIS%d", i)
		if length, err = u.header.number(keyword, -1); err == nil && length < 0 {
			err = scan.Corruptf("%s is missing", keyword)
		}
		u.axes = append(u.axes, length)
	}
	return err
}

// isGroups reports whether the data are random groups (section 6).
func (u *unit) isGroups() bool {
	return u.number == 0 && len(u.axes) > 0 && u.axes[0] == 0 && u.values["GROUPS"] == true
}

// bytes returns the size of the data (section 4.4.1.2, equation 2).
func (u *unit) bytes() (int64, bool) {
	if len(u.axes) == 0 {
		return 0, true
	}
	axes := u.axes
	if u.isGroups() {
		axes = axes[1:]
	}
	n, ok := checked.Product(axes...)
	all, fits := checked.Add(n, u.parameters)
	size, also := checked.Product(all, u.groups, int64(u.typ.Size()))
	return size, ok && fits && also
}

// check returns why the data are not a plain image, or nil.
func (u *unit) check() error {
	kind := u.header.text("XTENSION")
	switch {
	case kind == "BINTABLE" && u.values["ZIMAGE"] == true:
		return scan.Unsupportedf("an image compressed in tiles (ZCMPTYPE %q)", u.header.text("ZCMPTYPE"))
	case kind == "BINTABLE", kind == "TABLE":
		return scan.Unsupportedf("a table (%s)", kind)
	case u.number > 0 && kind != "IMAGE":
		return scan.Unsupportedf("an extension of the kind %q", kind)
	case u.isGroups():
		return scan.Unsupportedf("random groups")
	case u.parameters != 0 || u.groups != 1:
		return scan.Unsupportedf("an image with %d parameters and %d groups", u.parameters, u.groups)
	case len(u.axes) > grid.MaxRank:
		return scan.Unsupportedf("%d axes, at most %d are possible", len(u.axes), grid.MaxRank)
	}
	return nil
}

// array returns the data as an array.
func (u *unit) array(path string, fileSize int64) *scan.Array {
	a := &scan.Array{Path: path, Attributes: u.attributes}
	if a.Refused = u.check(); a.Refused != nil {
		return a
	}
	a.Type, a.Codecs = u.typ, []metadata.Extension{scan.Plain(u.typ, true)}
	a.Shape = slices.Clone(u.axes)
	slices.Reverse(a.Shape)
	for _, n := range a.Shape {
		a.Chunk = append(a.Chunk, max(1, n))
	}
	if a.Refused = u.setScale(a); a.Refused != nil {
		return a
	}
	if u.size > fileSize-u.end {
		a.Refused = scan.Corruptf("%d bytes of data at %d, in a file of %d", u.size, u.end, fileSize)
	} else if u.size > 0 {
		a.Chunks = []scan.Chunk{{Offset: u.end, Length: u.size}}
	}
	return a
}
