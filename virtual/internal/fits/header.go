// SPDX-License-Identifier: Apache-2.0

package fits

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

const (
	blockBytes = 2880 // of a block (section 3.1)
	cardBytes  = 80   // of a keyword record (section 4.1)
	// maxHeader bounds the headers of a file in bytes.
	maxHeader = 64 << 20
)

// header is a header.
type header struct {
	attributes scan.Attributes
	values     map[string]any // by keyword; the first one counts
	comments   map[string][]string
	// long and open are a keyword and its value, if the value ends with an ampersand so
	// that it may continue in the next record.
	long string
	open []byte
	end  int64 // offset of the first byte after the header
}

// readHeader reads the header at an offset. room is the number of bytes that it may have.
func readHeader(f *scan.File, at, room int64) (*header, error) {
	h := &header{values: map[string]any{}, comments: map[string][]string{}}
	for h.end = at; ; {
		// Only END ends a header. A damaged one could be the whole file.
		if h.end-at+blockBytes > room {
			return nil, scan.Unsupportedf("headers of more than %s", quantity.Count(maxHeader, "bytes"))
		}
		block, err := f.Bytes(h.end, blockBytes)
		if err != nil {
			return nil, fmt.Errorf("the end of the header is missing: %w", err)
		}
		h.end += blockBytes
		for ; len(block) > 0; block = block[cardBytes:] {
			if strings.TrimRight(string(block[:cardBytes]), " ") == "END" {
				h.finish()
				return h, nil
			}
			h.add(string(block[:cardBytes]))
		}
	}
}

// add adds a keyword record (section 4.1.2).
func (h *header) add(card string) {
	keyword := strings.TrimRight(card[:8], " ")
	switch {
	case keyword == "CONTINUE" && h.long != "":
		h.goOn(card[8:])
		return
	case keyword == "COMMENT", keyword == "HISTORY":
		h.comments[keyword] = append(h.comments[keyword], strings.TrimRight(card[8:], " "))
	case keyword == "HIERARCH":
		// The convention of ESO for long keywords, as in HIERARCH ESO TEL ALT = 60.
		if name, value, ok := strings.Cut(card[8:], "="); ok {
			h.set(strings.Trim(name, " "), value)
		}
	case card[8:10] == "= ":
		h.set(keyword, card[10:])
	}
}

// set sets the value of a keyword.
func (h *header) set(keyword, text string) {
	h.closeText()
	value := parseValue(text)
	if s, ok := value.(string); ok && strings.HasSuffix(s, "&") {
		h.long, h.open = keyword, []byte(s)
		return
	}
	h.put(keyword, value)
}

// goOn appends the string of a CONTINUE record to the value before it (section 4.2.1.2).
func (h *header) goOn(text string) {
	text = strings.TrimLeft(text, " ")
	if !strings.HasPrefix(text, "'") {
		return
	}
	s, _ := parseText(text)
	// The ampersand at the end of each part is no part of the value.
	h.open = append(h.open[:len(h.open)-1], s...)
	if !strings.HasSuffix(s, "&") {
		h.closeText()
	}
}

// closeText sets the value that might have gone on.
func (h *header) closeText() {
	if h.long != "" {
		h.put(h.long, string(h.open))
		h.long, h.open = "", nil
	}
}

func (h *header) put(keyword string, value any) {
	// Astropy takes the first one of a repeated keyword, too.
	if _, known := h.values[keyword]; known || value == nil || keyword == "" {
		return
	}
	h.values[keyword] = value
	if !isLayout(keyword) {
		h.attributes = append(h.attributes, scan.Attribute{Name: keyword, Value: value})
	}
}

// finish ends a header.
func (h *header) finish() {
	h.closeText()
	for _, keyword := range []string{"COMMENT", "HISTORY"} {
		if lines := h.comments[keyword]; lines != nil {
			h.put(keyword, strings.Join(lines, "\n"))
		}
	}
}

// isLayout reports whether a keyword describes the layout of the file (section 4.4.1).
func isLayout(keyword string) bool {
	switch keyword {
	case "SIMPLE", "XTENSION", "BITPIX", "PCOUNT", "GCOUNT", "GROUPS", "EXTEND":
		return true
	}
	rest, ok := strings.CutPrefix(keyword, "NAXIS")
	return ok && strings.Trim(rest, "0123456789") == ""
}

// number returns the value of a keyword that is an integer, or the default.
func (h *header) number(keyword string, without int64) (int64, error) {
	v, ok := h.values[keyword]
	if !ok {
		return without, nil
	}
	n, ok := v.(int64)
	// BITPIX is negative for floats (section 4.4.1.1). All others count something.
	if !ok || n < 0 && keyword != "BITPIX" {
		return 0, scan.Corruptf("%s is %v", keyword, v)
	}
	return n, nil
}

// float returns the value of a keyword that is a number, or the default.
func (h *header) float(keyword string, without float64) (float64, error) {
	switch v := h.values[keyword].(type) {
	case nil:
		return without, nil
	case int64:
		return float64(v), nil
	case float64:
		return v, nil
	default:
		return 0, scan.Corruptf("%s is %v", keyword, v)
	}
}

// text returns the value of a keyword that is a string, or "".
func (h *header) text(keyword string) string {
	s, _ := h.values[keyword].(string)
	return s
}

// parseValue returns the value of a keyword in free format (section 4.2), or nil if there
// is none: a string, a bool, an int64, a float64, or the two parts of a complex number.
// Text of another form stays a string.
func parseValue(text string) any {
	text = strings.TrimLeft(text, " ")
	if strings.HasPrefix(text, "'") {
		s, _ := parseText(text)
		return s
	}
	// A slash begins a comment, except in a string.
	text, _, _ = strings.Cut(text, "/")
	switch text = strings.TrimRight(text, " "); text {
	case "":
		return nil
	case "T":
		return true
	case "F":
		return false
	}
	if n, ok := parseNumber(text); ok {
		return n
	}
	if parts, ok := parseComplex(text); ok {
		return parts
	}
	return text
}

// parseText returns the string that begins with a quote, without spaces at its end. Two
// quotes stand for one (section 4.2.1). closed is false if the end is missing.
func parseText(text string) (s string, closed bool) {
	var b []byte
	for i := 1; i < len(text); i++ {
		if text[i] == '\'' {
			if i+1 == len(text) || text[i+1] != '\'' {
				closed = true
				break
			}
			i++
		}
		b = append(b, text[i])
	}
	return strings.TrimRight(string(b), " "), closed
}

// parseNumber returns an int64 or a float64 (sections 4.2.3 and 4.2.4).
func parseNumber(text string) (any, bool) {
	if strings.Trim(text, "+-.0123456789DE") != "" {
		return nil, false // such as "inf", which is no number here
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	// Fortran writes D for the exponent of a double.
	x, err := strconv.ParseFloat(strings.ReplaceAll(text, "D", "E"), 64)
	return x, err == nil
}

// parseComplex returns the parts of a complex number, such as (1.5, 2) (sections 4.2.5
// and 4.2.6).
func parseComplex(text string) ([]float64, bool) {
	text, ok := strings.CutPrefix(text, "(")
	text, closed := strings.CutSuffix(text, ")")
	a, b, comma := strings.Cut(text, ",")
	if !ok || !closed || !comma {
		return nil, false
	}
	parts := make([]float64, 2)
	for i, s := range []string{a, b} {
		n, ok := parseNumber(strings.Trim(s, " "))
		if !ok {
			return nil, false
		}
		switch n := n.(type) {
		case int64:
			parts[i] = float64(n)
		case float64:
			parts[i] = n
		}
	}
	return parts, true
}

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
	// NAXIS1 = 0 marks groups, and is no length.
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
		// Tiles are compressed each in a row of a table (section 10.1).
		return scan.Unsupportedf("an image compressed in tiles (ZCMPTYPE %q)", u.header.text("ZCMPTYPE"))
	case kind == "BINTABLE", kind == "TABLE":
		return scan.Unsupportedf("a table (%s)", kind)
	case u.number > 0 && kind != "IMAGE":
		return scan.Unsupportedf("an extension of the kind %q", kind)
	case u.isGroups():
		return scan.Unsupportedf("random groups")
	case u.parameters != 0 || u.groups != 1:
		return scan.Unsupportedf("an image with %s and %s", quantity.Count(u.parameters, "parameters"), quantity.Count(u.groups, "groups"))
	case len(u.axes) > grid.MaxRank:
		return scan.Unsupportedf("%s, at most %d are possible", quantity.Count(len(u.axes), "axes"), grid.MaxRank)
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
	// NAXIS1 varies fastest, as in Fortran. The last axis of Zarr does.
	slices.Reverse(a.Shape)
	for _, n := range a.Shape {
		a.Chunk = append(a.Chunk, max(1, n))
	}
	if a.Refused = u.setScale(a); a.Refused != nil {
		return a
	}
	// The header of a truncated file is whole, and so are the images before.
	if u.size > fileSize-u.end {
		a.Refused = scan.Corruptf("%s of data at %d, in a file of %d", quantity.Count(u.size, "bytes"), u.end, fileSize)
	} else if u.size > 0 {
		a.Chunks = []scan.Chunk{{Offset: u.end, Length: u.size}}
	}
	return a
}

// setScale says in the words of CF, which readers of Zarr know, what the stored values
// mean: BZERO + BSCALE * value, and nothing where an integer is BLANK (section 4.4.2.5).
// FITS has no unsigned integers of 16 bits and more and no signed ones of 8: those have a
// BZERO, too (section 5.2.5, table 11).
func (u *unit) setScale(a *scan.Array) error {
	scale, err := u.header.float("BSCALE", 1)
	if err != nil {
		return err
	}
	zero, err := u.header.float("BZERO", 0)
	if err != nil {
		return err
	}
	isInteger := u.typ.Kind() == dtype.KindInt || u.typ.Kind() == dtype.KindUint
	if isInteger && u.typ.Size() == 8 && scale == 1 && math.Abs(zero) >= 1<<53 {
		// Floats of 64 bits do not have the sum, and no codec adds integers.
		return scan.Unsupportedf("integers of 64 bits to which BZERO = %.0f is to be added, as for unsigned ones: no codec does that exactly; write the image again with another BITPIX", zero)
	}
	if scale != 1 || zero != 0 {
		a.Attributes.Set("scale_factor", scale)
		a.Attributes.Set("add_offset", zero)
	}
	if blank, ok := u.values["BLANK"].(int64); ok && isInteger {
		u.setBlank(a, blank)
	}
	return nil
}

// setBlank sets the value of elements that have none. A number that the type does not
// have stands for no element.
func (u *unit) setBlank(a *scan.Array, blank int64) {
	size := u.typ.Size()
	b := binary.BigEndian.AppendUint64(nil, uint64(blank))[8-size:]
	// BLANK is a value of the array, before BSCALE and BZERO apply.
	if u.typ.Kind() == dtype.KindUint && blank != int64(b[0]) || blank>>(8*size-1) != blank>>63 && u.typ.Kind() == dtype.KindInt {
		return
	}
	if byteorder.Little() && size > 1 {
		u.typ.Swap(b, b)
	}
	a.Fill = b
	a.Attributes.Set("_FillValue", blank)
}
