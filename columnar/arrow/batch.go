// SPDX-License-Identifier: Apache-2.0

package arrow

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"varve.dev/zarr/columnar"
)

// decoder makes columns of the buffers of a record batch.
type decoder struct {
	r    *Reader
	body []byte
	rows int
	// room is the memory that is left.
	room int64
	// unread counts the bytes of the body that no buffer has had. Buffers that overlap
	// would let a short body have a long content.
	unread int64

	nodes, buffers, variadic    vector
	node, buffer, variadicCount int
	codec                       Compression
	err                         error
}

// newDecoder returns the decoder of a record batch with a body.
func newDecoder(r *Reader, t table, body []byte) *decoder {
	d := &decoder{r: r, body: body, unread: int64(len(body)), room: r.limit - r.held}
	rows := t.number(0, 8, 0)
	d.nodes, d.buffers, d.variadic = t.vector(1, 16), t.vector(2, 16), t.vector(4, 8)
	if c := t.below(3); c.at != 0 {
		d.codec = LZ4 + Compression(c.number(0, 1, 0))
		if d.codec > Zstd || c.number(1, 1, 0) != 0 {
			d.err = fmt.Errorf("%w: the compression is neither LZ4 nor Zstandard", columnar.ErrUnsupported)
		}
	}
	switch {
	case t.b.err != nil:
		d.err = t.b.err
	case t.at == 0 || rows < 0:
		d.corrupt("it has no number of rows")
	}
	// A batch without columns has rows, too.
	if d.err == nil && d.spend(int64(len(body))) && d.spend(rows/8) {
		d.rows = int(rows)
	}
	return d
}

// corrupt keeps an error.
func (d *decoder) corrupt(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", columnar.ErrCorrupt, fmt.Sprintf(format, args...))
	}
}

// spend takes memory. It reports whether there is as much.
func (d *decoder) spend(n int64) bool {
	if d.room -= n; d.room < 0 && d.err == nil {
		d.err = d.r.exceeds()
	}
	return d.err == nil
}

// end returns the error, also for what no column has used.
func (d *decoder) end() error {
	if d.node != d.nodes.len || d.buffer != d.buffers.len || d.variadicCount != d.variadic.len {
		d.corrupt("it has more buffers than its columns")
	}
	return d.err
}

// next returns the next buffer, which has at least some bytes.
func (d *decoder) next(least int64) []byte {
	if d.err == nil && d.buffer == d.buffers.len {
		d.corrupt("buffers are missing")
	}
	if d.err != nil {
		return nil
	}
	at, n := d.buffers.number(d.buffer, 0, 8), d.buffers.number(d.buffer, 8, 8)
	d.buffer++
	if at < 0 || n < 0 || n > d.unread || at > int64(len(d.body))-n {
		d.corrupt("a buffer leads out of the body")
		return nil
	}
	d.unread -= n
	raw := d.body[at : at+n : at+n]
	if n > 0 && d.codec != Uncompressed {
		raw = d.decompress(raw)
	}
	if int64(len(raw)) < least {
		d.corrupt("a buffer has fewer bytes than the rows need")
	}
	return raw
}

// count returns the next number of buffers of a field of views.
func (d *decoder) count() int {
	if d.variadicCount == d.variadic.len {
		d.corrupt("numbers of buffers are missing")
	}
	if d.err != nil {
		return 0
	}
	n := d.variadic.number(d.variadicCount, 0, 8)
	if d.variadicCount++; n < 0 || n > int64(d.buffers.len) {
		d.corrupt("a number of buffers is wrong")
		return 0
	}
	return int(n)
}

// begin returns the rows and the validity of the next field: as many rows as the field
// above has, unless they are -1.
func (d *decoder) begin(l *layout, rows int) (n int, valid []byte) {
	if d.err == nil && d.node == d.nodes.len {
		d.corrupt("columns are missing")
	}
	if d.err != nil {
		return 0, nil
	}
	length, nulls := d.nodes.number(d.node, 0, 8), d.nodes.number(d.node, 8, 8)
	d.node++
	if length < 0 || nulls > length || rows >= 0 && length != int64(rows) {
		d.corrupt("it has a wrong number of rows or nulls")
		return 0, nil
	}
	if l.code == typeNull {
		if length > d.r.limit/8 || !d.spend(length/8+1+8*length) {
			d.err = d.r.exceeds()
			return 0, nil
		}
		return int(length), make([]byte, (length+7)/8)
	}
	valid = d.next(0)
	switch {
	case d.err != nil:
		return 0, nil
	case len(valid) == 0 && nulls <= 0:
		// No bitmap says that all rows have a value. Memory still bounds the rows.
		d.spend(length / 8)
		return int(length), nil
	case int64(len(valid)) < (length+7)/8:
		d.corrupt("the bitmap of nulls is too short")
		return 0, nil
	}
	if found := length - ones(valid, length); nulls >= 0 && found != nulls {
		d.corrupt("the number of nulls and the bitmap of nulls differ")
	} else if found == 0 {
		valid = nil
	}
	return int(length), valid
}

// ones counts the bits of a bitmap of some rows.
func ones(valid []byte, rows int64) (n int64) {
	full := rows / 8
	for _, b := range valid[:full] {
		n += int64(bits.OnesCount8(b))
	}
	if rest := rows % 8; rest > 0 {
		n += int64(bits.OnesCount8(valid[full] & (1<<rest - 1)))
	}
	return n
}

// field appends the columns of a field: one, or those of a struct. above has the nulls of
// the structs around it.
func (d *decoder) field(l *layout, above []byte, out *[]columnar.Column) error {
	if l.code != typeStruct {
		c := d.column(l, d.rows)
		c.Valid = d.common(c.Valid, above)
		*out = append(*out, c)
		return d.err
	}
	_, valid := d.begin(l, d.rows)
	valid = d.common(valid, above)
	for _, c := range l.children {
		if err := d.field(c, valid, out); err != nil {
			return err
		}
	}
	return d.err
}

// common returns the rows that two bitmaps have.
func (d *decoder) common(x, y []byte) []byte {
	switch {
	case d.err != nil || y == nil:
		return x
	case x == nil:
		return y
	}
	n := (d.rows + 7) / 8
	if !d.spend(int64(n)) {
		return nil
	}
	valid := make([]byte, n)
	for i := range valid {
		valid[i] = x[i] & y[i]
	}
	return valid
}

// column returns the next column, of as many rows as are given, unless they are -1.
func (d *decoder) column(l *layout, rows int) (c columnar.Column) {
	c.Rows, c.Valid = d.begin(l, rows)
	n := int64(c.Rows)
	switch l.code {
	case typeNull:
		if d.err == nil {
			c.Data = make([]byte, 8*n)
		}
	case typeBool:
		c.Data = d.unpack(d.next((n+7)/8), n)
	case typeUtf8, typeBinary, typeList:
		c.Offsets = d.offsets(n, 4)
	case typeLargeUtf8, typeLargeBinary, typeLargeList:
		c.Offsets = d.offsets(n, 8)
	case typeUtf8View, typeBinaryView:
		d.views(&c)
	case typeFixedList:
		c.Offsets = d.even(n, int64(l.repeat))
	default:
		c.Data = d.fixed(l, &c)
	}
	if d.err != nil {
		return c
	}
	switch l.code {
	case typeUtf8, typeBinary, typeLargeUtf8, typeLargeBinary:
		c.Data = d.next(c.Offsets[n])
	case typeList, typeLargeList, typeFixedList:
		e := d.column(l.children[0], -1)
		if c.Elements = &e; int64(e.Rows) < c.Offsets[n] {
			d.corrupt("the lists have more elements than there are")
		}
	}
	if l.field.Type.Kind == columnar.String && l.values == nil && d.err == nil {
		d.checkText(&c)
	}
	return c
}

// fixed returns elements of one width, in the form of a column.
func (d *decoder) fixed(l *layout, c *columnar.Column) []byte {
	n, width := int64(c.Rows), int64(l.width)
	if width > 0 && n > d.r.limit/width {
		d.corrupt("a buffer has fewer bytes than the rows need")
	}
	if d.err != nil {
		return nil
	}
	raw := d.next(n * width)
	if d.err != nil {
		return nil
	}
	raw = raw[:n*width]
	switch typ := l.field.Type; {
	case l.values != nil:
		d.index(l, c, raw)
		return c.Data
	case typ.Kind == columnar.Decimal && l.width != 16 || typ.Kind == columnar.Time && l.width != 8:
		return d.resize(l, c, raw, typ.Bytes())
	}
	return raw
}

// resize returns signed integers with another number of bytes.
func (d *decoder) resize(l *layout, c *columnar.Column, raw []byte, width int) []byte {
	if !d.spend(int64(c.Rows) * int64(width)) {
		return nil
	}
	out := make([]byte, c.Rows*width)
	for i := range c.Rows {
		from, to := raw[i*l.width:(i+1)*l.width], out[i*width:(i+1)*width]
		n := copy(to, from)
		sign := byte(int8(to[n-1]) >> 7)
		for k := n; k < width; k++ {
			to[k] = sign
		}
		for _, b := range from[n:] {
			if b != sign && c.IsValid(i) {
				d.corrupt("row %d has more digits than the type", i)
				return nil
			}
		}
	}
	return out
}

// unpack returns a byte for each bit.
func (d *decoder) unpack(raw []byte, n int64) []byte {
	if !d.spend(n) {
		return nil
	}
	out := make([]byte, n)
	for i := range out {
		out[i] = raw[i>>3] >> (i & 7) & 1
	}
	return out
}

// offsets reads the bounds of n elements, numbers of some bytes.
func (d *decoder) offsets(n int64, bytes int) []int64 {
	if n > d.r.limit/8 {
		d.err = d.r.exceeds()
	}
	if !d.spend(8 * (n + 1)) {
		return nil
	}
	raw := d.next(0)
	if d.err != nil {
		return nil
	}
	if n == 0 && len(raw) < bytes { // older writers write nothing for no elements
		return []int64{0}
	}
	if int64(len(raw)) < (n+1)*int64(bytes) {
		d.corrupt("a buffer has fewer bytes than the rows need")
		return nil
	}
	out, last := make([]int64, n+1), int64(0)
	for i := range out {
		if bytes == 4 {
			out[i] = int64(int32(binary.LittleEndian.Uint32(raw[4*i:])))
		} else {
			out[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
		}
		if out[i] < last {
			d.corrupt("the bounds of row %d are out of order", i)
			return nil
		}
		last = out[i]
	}
	return out
}

// even returns the bounds of lists of one length.
func (d *decoder) even(n, repeat int64) []int64 {
	if n > d.r.limit/8 || !d.spend(8*(n+1)) {
		d.err = d.r.exceeds()
		return nil
	}
	out := make([]int64, n+1)
	for i := range out {
		out[i] = int64(i) * repeat // at most 2^27 × 2^31
	}
	return out
}

// views gathers what views show: 16 bytes with a length, and either the bytes, if they
// are at most 12, or a buffer and a place in it.
func (d *decoder) views(c *columnar.Column) {
	n := int64(c.Rows)
	if n > d.r.limit/16 {
		d.corrupt("a buffer has fewer bytes than the rows need")
	}
	raw, buffers := d.next(16*n), make([][]byte, d.count())
	for i := range buffers {
		buffers[i] = d.next(0)
	}
	if !d.spend(8 * (n + 1)) {
		return
	}
	// The views of null rows have any bytes.
	part := func(i int) []byte {
		view := raw[16*i : 16*i+16]
		length, buffer, at := integer(view, 4), integer(view[8:], 4), integer(view[12:], 4)
		switch {
		case !c.IsValid(i) || length == 0:
			return nil
		case length > 0 && length <= 12:
			return view[4 : 4+length]
		case length < 0 || buffer < 0 || buffer >= int64(len(buffers)) || at < 0 || at > int64(len(buffers[buffer]))-length:
			d.corrupt("row %d: its view leads out of its buffer", i)
			return nil
		}
		return buffers[buffer][at : at+length]
	}
	c.Offsets = make([]int64, n+1)
	for i := range c.Rows {
		c.Offsets[i+1] = c.Offsets[i] + int64(len(part(i)))
	}
	if !d.spend(c.Offsets[n]) {
		return
	}
	c.Data = make([]byte, 0, c.Offsets[n])
	for i := range c.Rows {
		c.Data = append(c.Data, part(i)...)
	}
}

// checkText makes sure that all texts are UTF-8.
func (d *decoder) checkText(c *columnar.Column) {
	for i := range c.Rows {
		if !utf8.Valid(c.Data[c.Offsets[i]:c.Offsets[i+1]]) && c.IsValid(i) {
			d.corrupt("row %d is not UTF-8", i)
			return
		}
	}
}

// index resolves indices into a dictionary. A row whose value is a null of the
// dictionary becomes null.
func (d *decoder) index(l *layout, c *columnar.Column, raw []byte) {
	values := d.r.dictionaries[l.id].column
	if values == nil || values.Rows == 0 {
		d.nulls(l, c)
		return
	}
	if !d.spend(4*int64(c.Rows) + int64(c.Rows)/8) {
		return
	}
	c.Index = make([]uint32, c.Rows)
	for i := range c.Index {
		if !c.IsValid(i) {
			continue
		}
		k := integer(raw[i*l.width:], l.width)
		if !l.signed && l.width < 8 {
			k &= 1<<(8*l.width) - 1
		}
		if k < 0 || k >= int64(values.Rows) || k > 1<<32-1 {
			d.corrupt("row %d has an index beyond the dictionary", i)
			return
		}
		c.Index[i] = uint32(k)
	}
	unique := *values
	unique.Valid = nil
	c.Dictionary = &unique
	if values.Valid == nil {
		return
	}
	valid := make([]byte, (c.Rows+7)/8)
	for i, k := range c.Index {
		if c.IsValid(i) && values.IsValid(int(k)) {
			valid[i>>3] |= 1 << (i & 7)
		}
	}
	c.Valid = valid
}

// nulls makes a column of nulls, whose dictionary has no values or came too late.
func (d *decoder) nulls(l *layout, c *columnar.Column) {
	width := int64(l.field.Type.Bytes())
	switch {
	case c.Rows > 0 && (c.Valid == nil || ones(c.Valid, int64(c.Rows)) > 0):
		d.corrupt("the dictionary is missing")
	case d.spend((width + 8) * (int64(c.Rows) + 1)):
		switch l.field.Type.Kind {
		case columnar.String, columnar.Binary:
			c.Offsets = make([]int64, c.Rows+1)
		default:
			c.Data = make([]byte, width*int64(c.Rows))
		}
	}
}
