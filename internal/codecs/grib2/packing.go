// SPDX-License-Identifier: Apache-2.0

package grib2

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/png"
	"math"
	"math/bits"

	"varve.dev/zarr/internal/quantity"
)

// packing is section 5: how the values of a field are packed.
type packing struct {
	section  []byte
	template int
	values   int64 // number of values in section 7

	// Values are (reference + x * 2^E) * 10^-D (regulation 92.9.4).
	reference, binary, decimal float64
	bits                       int // of x; of a group reference in complex packing
}

// packings name the data representation templates (code table 5.0).
var packings = map[int]string{
	0: "simple packing", 1: "matrix values", 2: "complex packing", 3: "complex packing with spatial differencing",
	4: "IEEE floats", 40: "JPEG 2000", 41: "PNG", 42: "CCSDS", 50: "spectral simple packing", 51: "spectral complex packing",
	53: "spectral limited-area packing", 61: "simple packing with logarithms", 200: "run lengths",
	40000: "JPEG 2000", 40010: "PNG",
}

// shortest are the bytes of section 5 in the templates that this package decodes.
var shortest = map[int]int{0: 21, 2: 47, 3: 49, 4: 12, 41: 21, 42: 25, 40010: 21}

// CheckPacking returns an error unless this package decodes a data representation
// template. It names the packing and wraps [codec.ErrUnsupported].
func CheckPacking(template int) error {
	if _, ok := shortest[template]; ok {
		return nil
	}
	name, ok := packings[template]
	if !ok {
		name = "an unknown packing"
	}
	return unsupported("%s (template 5.%d)", name, template)
}

// parsePacking reads section 5.
func parsePacking(s []byte) (p packing, err error) {
	if len(s) < 11 {
		return p, corrupt("section 5 has %s", quantity.Count(len(s), "bytes"))
	}
	p.section, p.values = s, int64(binary.BigEndian.Uint32(s[5:]))
	p.template = int(binary.BigEndian.Uint16(s[9:]))
	if err := CheckPacking(p.template); err != nil {
		return p, err
	}
	if n := shortest[p.template]; len(s) < n {
		return p, corrupt("section 5 has %s, template 5.%d needs %d", quantity.Count(len(s), "bytes"), p.template, n)
	}
	if p.template == 4 {
		return p, nil
	}
	p.reference = float64(math.Float32frombits(binary.BigEndian.Uint32(s[11:])))
	p.binary = math.Ldexp(1, int(signed(s[15:17])))
	p.decimal = powerOfTen(-int(signed(s[17:19])))
	if p.bits = int(s[19]); p.bits > maxBits {
		return p, unsupported("values of %s", quantity.Count(p.bits, "bits"))
	}
	return p, nil
}

// powerOfTen returns 10^n as ecCodes computes it, and so the same values: the product is
// rounded at every step.
func powerOfTen(n int) float64 {
	x := 1.0
	for ; n > 0 && x < math.Inf(1); n-- {
		x *= 10
	}
	for ; n < 0 && x > 0; n++ {
		x /= 10
	}
	return x
}

// value returns the value that x stands for.
func (p *packing) value(x float64) float64 { return (p.reference + x*p.binary) * p.decimal }

// fill sets all values to the reference. The libraries of ECMWF and NCEP do not scale it
// if there are no bits, whatever the formula says.
func (p *packing) fill(v values) {
	for i := range v.len() {
		v.set(i, p.reference)
	}
}

// unpack decodes the values of section 7.
func (p *packing) unpack(v values, data []byte) error {
	switch p.template {
	case 2, 3:
		return p.unpackComplex(v, data)
	case 4:
		return p.unpackFloats(v, data)
	}
	switch {
	case p.bits == 0:
		p.fill(v)
		return nil
	case p.template == 0:
		return p.unpackSimple(v, data)
	case p.template == 42:
		return p.unpackCCSDS(v, data)
	}
	return p.unpackPNG(v, data)
}

// unpackSimple decodes simple packing (template 7.0).
func (p *packing) unpackSimple(v values, data []byte) error {
	if need := (int64(v.len())*int64(p.bits) + 7) / 8; int64(len(data)) < need {
		return corrupt("section 7 has %s of values, %d of %s need %d", quantity.Count(len(data), "bytes"), v.len(), quantity.Count(p.bits, "bits"), need)
	}
	off := int64(0)
	for i := range v.len() {
		v.set(i, p.value(float64(bitsAt(data, off, p.bits))))
		off += int64(p.bits)
	}
	return nil
}

// unpackFloats decodes IEEE floats (template 7.4).
func (p *packing) unpackFloats(v values, data []byte) error {
	size := map[byte]int{1: 4, 2: 8}[p.section[11]]
	if size == 0 {
		return unsupported("IEEE floats of precision %d (code table 5.7)", p.section[11])
	}
	if len(data) < size*v.len() {
		return corrupt("section 7 has %s of values, %d of %s need more", quantity.Count(len(data), "bytes"), v.len(), quantity.Count(size, "bytes"))
	}
	for i := range v.len() {
		if size == 4 {
			v.set(i, float64(math.Float32frombits(binary.BigEndian.Uint32(data[4*i:]))))
		} else {
			v.set(i, math.Float64frombits(binary.BigEndian.Uint64(data[8*i:])))
		}
	}
	return nil
}

// groups are the groups of complex packing (templates 5.2 and 7.2). Section 7 has the
// reference of every group, then their widths, then their lengths, and then the values.
// Each of these lists begins at a byte.
type groups struct {
	data                              []byte
	n                                 int64
	references, widths, lengths       int64 // where the lists begin, in bits
	values                            int64
	referenceBits, widthBits, lenBits int
	width, length, step, last         int64 // references of widths and lengths, and so on
	missing                           int   // kinds of missing values: 0 to 2
}

// unpackComplex decodes complex packing, with or without spatial differencing.
func (p *packing) unpackComplex(v values, data []byte) error {
	// Without groups section 7 may be empty, also of what spatial differencing has before
	// them. ecCodes takes the reference then.
	if binary.BigEndian.Uint32(p.section[31:]) == 0 {
		p.fill(v)
		return nil
	}
	var d differences
	if p.template == 3 {
		var err error
		if d, data, err = p.differences(data); err != nil {
			return err
		}
	}
	g, err := p.groups(data)
	if err != nil {
		return err
	}
	done := int64(0)
	for i := range g.n {
		reference, width, length := g.group(i)
		if width > maxBits {
			return corrupt("group %d has values of %s", i, quantity.Count(width, "bits"))
		}
		if length > int64(v.len())-done {
			return corrupt("group %d has %s, %d are left", i, quantity.Count(length, "values"), int64(v.len())-done)
		}
		if g.values+length*width > 8*int64(len(data)) {
			return corrupt("section 7 has %s of groups, group %d of %d needs more", quantity.Count(len(data), "bytes"), i, g.n)
		}
		g.unpack(v[8*done:8*(done+length)], p, &d, reference, int(width))
		g.values += length * width
		done += length
	}
	if done != int64(v.len()) {
		return corrupt("the groups have %s, section 5 has %d", quantity.Count(done, "values"), v.len())
	}
	return nil
}

// groups reads the description of groups in section 5, and finds the lists in section 7.
func (p *packing) groups(data []byte) (g groups, err error) {
	s := p.section
	g = groups{
		data: data, n: int64(binary.BigEndian.Uint32(s[31:])), missing: int(s[22]),
		referenceBits: p.bits, width: int64(s[35]), widthBits: int(s[36]),
		length: int64(binary.BigEndian.Uint32(s[37:])), step: int64(s[41]),
		last: int64(binary.BigEndian.Uint32(s[42:])), lenBits: int(s[46]),
	}
	if g.missing > 2 {
		return g, corrupt("section 5 has %s of missing values (code table 5.5)", quantity.Count(g.missing, "kinds"))
	}
	if g.n > p.values || g.widthBits > 32 || g.lenBits > 32 {
		return g, corrupt("section 5 has %s for %s, widths of %s and lengths of %d", quantity.Count(g.n, "groups"), quantity.Count(p.values, "values"), quantity.Count(g.widthBits, "bits"), g.lenBits)
	}
	list := func(bits int) (begin int64) {
		begin = g.values
		g.values += (g.n*int64(bits) + 7) / 8 * 8
		return begin
	}
	g.references, g.widths, g.lengths = list(g.referenceBits), list(g.widthBits), list(g.lenBits)
	if g.values > 8*int64(len(data)) {
		return g, corrupt("section 7 has %s, %s more", quantity.Count(len(data), "bytes"), quantity.Count(g.n, "groups need"))
	}
	return g, nil
}

// group returns the reference of a group, the bits of its values, and their number.
func (g *groups) group(i int64) (reference uint64, width, length int64) {
	at := func(list int64, bits int) uint64 {
		if bits == 0 {
			return 0
		}
		return bitsAt(g.data, list+i*int64(bits), bits)
	}
	length = g.last
	if i < g.n-1 {
		length = g.length + g.step*int64(at(g.lengths, g.lenBits))
	}
	return at(g.references, g.referenceBits), g.width + int64(at(g.widths, g.widthBits)), length
}

// unpack decodes the values of a group. If values may be missing, the largest number of
// their bits means that one is, and with two kinds of missing values also the number
// before it (code table 5.5). A group without bits has its reference in their place.
func (g *groups) unpack(v values, p *packing, d *differences, reference uint64, width int) {
	bits := width
	if width == 0 {
		bits = g.referenceBits
	}
	first := uint64(math.MaxUint64) // the first number that means a missing value
	if g.missing > 0 && bits > 0 {
		first = 1<<bits - uint64(g.missing)
	}
	for i, off := 0, g.values; i < v.len(); i, off = i+1, off+int64(width) {
		x, mark := reference, reference
		if width > 0 {
			mark = bitsAt(g.data, off, width)
			x += mark
		}
		if mark >= first {
			v.set(i, math.NaN())
			continue
		}
		v.set(i, p.value(float64(d.next(int64(x)))))
	}
}

// differences undoes spatial differencing (template 5.3): values are differences of order
// 1 or 2, less the smallest of them. Missing values do not count.
type differences struct {
	order    int // 0 without differencing
	least    int64
	first    [2]int64 // the values before the differences
	seen     int
	last, by int64 // the last value, and what it added to the one before
}

// differences reads what section 7 has before the groups.
func (p *packing) differences(data []byte) (d differences, rest []byte, err error) {
	d.order = int(p.section[47])
	n := int(p.section[48])
	if d.order != 1 && d.order != 2 {
		return d, nil, unsupported("spatial differencing of order %d", d.order)
	}
	if n > 7 || len(data) < (d.order+1)*n {
		return d, nil, corrupt("section 7 has %s, and before the groups %s of %s", quantity.Count(len(data), "bytes"), quantity.Count(d.order+1, "numbers"), quantity.Count(n, "bytes"))
	}
	for i := range d.order {
		d.first[i], data = int64(unsigned(data[:n])), data[n:]
	}
	if n > 0 {
		d.least = signed(data[:n])
	}
	return d, data[n:], nil
}

// next returns the value of which x is the difference.
func (d *differences) next(x int64) int64 {
	switch {
	case d.order == 0:
		return x
	case d.seen < d.order:
		x = d.first[d.seen]
		d.by = x - d.last
	case d.order == 1:
		d.by = x + d.least
		x = d.last + d.by
	default:
		d.by += x + d.least
		x = d.last + d.by
	}
	d.seen, d.last = d.seen+1, x
	return x
}

// Section numbers in this file are those of CCSDS 121.0-B, "Lossless Data Compression".

// The flags of template 5.42. Others tell how decoded samples lie in memory.
const (
	signedSamples = 0x01
	preprocessed  = 0x08 // samples are differences from those before them
	restricted    = 0x10 // the short options of samples of up to four bits
	padded        = 0x20 // intervals begin at a byte
)

// samples reads the samples of a field in blocks (section 3).
type samples struct {
	bitReader
	flags    byte
	width    int    // bits of a sample
	largest  uint64 // sample
	block    int    // samples in a block
	interval int    // blocks from one reference sample to the next
	idBits   int    // of the option that codes a block

	at    int    // number of the block in its interval
	zeros int    // blocks of zeros that follow
	last  uint64 // sample
	data  [math.MaxUint8]uint64
}

// unpackCCSDS decodes values that the adaptive entropy coder of CCSDS packs (template
// 7.42).
func (p *packing) unpackCCSDS(v values, data []byte) error {
	s, err := p.samples(data)
	if err != nil {
		return err
	}
	for done := 0; done < v.len(); {
		if err := s.next(); err != nil {
			return err
		}
		// The last block is whole, and may have more samples than there are values.
		for _, x := range s.data[:min(s.block, v.len()-done)] {
			v.set(done, p.value(float64(x)))
			done++
		}
	}
	return nil
}

// samples reads the parameters of the coder (octets 22 to 25).
func (p *packing) samples(data []byte) (*samples, error) {
	o := p.section
	s := &samples{
		bitReader: bitReader{b: data, end: 8 * int64(len(data))}, flags: o[21], width: p.bits,
		block: int(o[22]), interval: int(binary.BigEndian.Uint16(o[23:])),
	}
	switch {
	case s.flags&signedSamples != 0:
		return nil, unsupported("CCSDS with signed samples")
	case s.width > 32 || s.block == 0 || s.interval == 0:
		return nil, corrupt("section 5 has CCSDS samples of %s in blocks of %d and intervals of %d", quantity.Count(s.width, "bits"), s.block, s.interval)
	case s.flags&restricted != 0 && s.width > 4:
		return nil, corrupt("section 5 has restricted CCSDS options for samples of %s", quantity.Count(s.width, "bits"))
	case s.flags&restricted != 0:
		s.idBits = 1 + (s.width-1)/2
	case s.width <= 8:
		s.idBits = 3
	case s.width <= 16:
		s.idBits = 4
	default:
		s.idBits = 5
	}
	s.largest = 1<<s.width - 1
	return s, nil
}

// next decodes a block of samples.
func (s *samples) next() error {
	data := s.data[:s.block]
	first := 0 // that is coded as a difference
	if s.flags&preprocessed == 0 {
		first = s.block
	} else if s.at == 0 {
		first = 1
	}
	if s.at == 0 && s.flags&padded != 0 {
		s.bitReader.at = (s.bitReader.at + 7) / 8 * 8
	}
	if s.zeros > 0 {
		s.zeros--
		clear(data)
	} else if err := s.decode(data, first == 1); err != nil {
		return err
	}
	for _, x := range data {
		if x > s.largest {
			return corrupt("a CCSDS sample of %d, more than %s", x, quantity.Count(s.width, "bits"))
		}
	}
	if first == 1 {
		s.last = data[0]
	}
	for i := first; i < len(data); i++ {
		s.last = s.restore(data[i])
		data[i] = s.last
	}
	s.at = (s.at + 1) % s.interval
	return nil
}

// restore returns the sample that a difference means (section 4.4, "Prediction error
// mapper"). Differences of both signs alternate as long as both are possible.
func (s *samples) restore(d uint64) uint64 {
	room := min(s.last, s.largest-s.last)
	switch {
	case d <= 2*room && d%2 == 0:
		return s.last + d/2
	case d <= 2*room:
		return s.last - (d+1)/2
	case s.last == room:
		return d
	}
	return s.largest - d
}

// decode decodes a block (section 3.5, "Code option selection"). With a reference, the
// first sample is stored as it is.
func (s *samples) decode(data []uint64, reference bool) error {
	id, err := s.read(s.idBits)
	if err != nil {
		return err
	}
	if id == 1<<s.idBits-1 { // no compression
		return s.readAll(data, s.width)
	}
	second := uint64(0)
	if id == 0 {
		if second, err = s.read(1); err != nil {
			return err
		}
	}
	coded := data
	if reference {
		if data[0], err = s.read(s.width); err != nil {
			return err
		}
		coded = data[1:]
	}
	switch {
	case id > 0:
		return s.split(coded, int(id-1))
	case second == 1:
		return s.secondExtension(data, len(data)-len(coded))
	}
	clear(coded)
	return s.zeroBlocks()
}

// split decodes samples whose low bits are stored apart (section 3.3).
func (s *samples) split(data []uint64, low int) (err error) {
	for i := range data {
		if data[i], err = s.count(); err != nil {
			return err
		}
	}
	if low == 0 {
		return nil
	}
	for i, high := range data {
		x, err := s.read(low)
		if err != nil {
			return err
		}
		data[i] = high<<low | x
	}
	return nil
}

// secondExtension decodes pairs of samples from one number each (section 3.4.2). A
// reference takes the place of the first sample of the first pair.
func (s *samples) secondExtension(data []uint64, first int) error {
	for i := first &^ 1; i < len(data); i += 2 {
		n, err := s.count()
		if err != nil {
			return err
		}
		const most = 90 // of pairs that are better coded in this way
		if n > most {
			return corrupt("a pair of CCSDS samples has the number %d", n)
		}
		sum := uint64(0)
		for (sum+1)*(sum+2)/2 <= n {
			sum++
		}
		b := n - sum*(sum+1)/2
		if i >= first {
			data[i] = sum - b
		}
		if i+1 < len(data) {
			data[i+1] = b
		}
	}
	return nil
}

// zeroBlocks reads how many blocks of zeros there are, of which this is the first
// (section 3.4.3). They do not go beyond the interval, or beyond a segment of 64 blocks.
func (s *samples) zeroBlocks() error {
	const rest, segment = 4, 64
	n, err := s.count()
	if err != nil {
		return err
	}
	left := s.interval - s.at
	switch {
	case n == rest:
		n = uint64(min(left, segment-s.at%segment))
	case n < rest:
		n++
	}
	if n > uint64(left) {
		return corrupt("%s of zeros, of %d in the interval", quantity.Count(n, "blocks"), left)
	}
	s.zeros = int(n) - 1
	return nil
}

// bitReader reads bits.
type bitReader struct {
	b       []byte
	at, end int64 // in bits
}

// read reads a number of 1 to 32 bits.
func (r *bitReader) read(n int) (uint64, error) {
	if int64(n) > r.end-r.at {
		return 0, corrupt("section 7 has %s, and needs more", quantity.Count(len(r.b), "bytes"))
	}
	x := bitsAt(r.b, r.at, n)
	r.at += int64(n)
	return x, nil
}

// readAll reads numbers of some bits.
func (r *bitReader) readAll(data []uint64, n int) (err error) {
	for i := range data {
		if data[i], err = r.read(n); err != nil {
			return err
		}
	}
	return nil
}

// count reads a number that is coded as so many zeros before a one (section 3.2).
func (r *bitReader) count() (n uint64, err error) {
	for r.at < r.end {
		have := int(min(maxBits, r.end-r.at))
		word := bitsAt(r.b, r.at, have)
		if zeros := have - bits.Len64(word); zeros < have {
			r.at += int64(zeros) + 1
			return n + uint64(zeros), nil
		}
		n += uint64(have)
		r.at += int64(have)
	}
	return 0, corrupt("section 7 has %s, and needs more", quantity.Count(len(r.b), "bytes"))
}

// unpackPNG decodes values that are the pixels of an image (template 7.41). The bits of a
// value are those of a pixel: gray, or the samples of a colour one after the other.
func (p *packing) unpackPNG(v values, data []byte) error {
	head, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return corrupt("section 7: %v", err)
	}
	// Compare before decoding: the size of the image bounds the memory that it takes.
	if n := int64(head.Width) * int64(head.Height); n != int64(v.len()) {
		return corrupt("section 7 has an image of %d x %d for %s", head.Width, head.Height, quantity.Count(v.len(), "values"))
	}
	decoded, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return corrupt("section 7: %v", err)
	}
	pixels, bits, stride, bytes := pixelsOf(decoded, int(data[depthAt]))
	if (bits+7)/8 != (p.bits+7)/8 || bits < p.bits {
		return corrupt("section 7 has an image of %s a pixel, section 5 has %d", quantity.Count(bits, "bits"), p.bits)
	}
	width := head.Width
	for i := range v.len() {
		at := i/width*stride + i%width*bytes
		x := unsigned(pixels[at:][:(bits+7)/8])
		// The decoder scales pixels of few bits to the range of a byte.
		if bits < 8 {
			x >>= 8 - bits
		}
		v.set(i, p.value(float64(x)))
	}
	return nil
}

// depthAt is where a PNG file has the bits of a sample (RFC 2083, "IHDR").
const depthAt = 24

// pixelsOf returns the memory of an image with samples of some depth, the bits of a pixel
// that it stores, and the bytes of a row and of a pixel in memory. bits is 0 if values
// are not stored in such an image.
func pixelsOf(decoded image.Image, depth int) (pixels []byte, bits, stride, bytes int) {
	switch m := decoded.(type) {
	case *image.Gray:
		return m.Pix, depth, m.Stride, 1
	case *image.Gray16:
		return m.Pix, 16, m.Stride, 2
	case *image.RGBA: // of three samples; the fourth is not stored
		return m.Pix, 24, m.Stride, 4
	case *image.NRGBA:
		return m.Pix, 32, m.Stride, 4
	}
	return nil, 0, 0, 0
}

// values are float64 elements in memory.
type values []byte

func (v values) len() int { return len(v) / 8 }

func (v values) set(i int, x float64) { binary.NativeEndian.PutUint64(v[8*i:], math.Float64bits(x)) }

func (v values) get(i int) float64 { return math.Float64frombits(binary.NativeEndian.Uint64(v[8*i:])) }

// spread moves the first n values to the points whose bits are set. Other points become
// NaN.
func (v values) spread(bitmap []byte, n int) {
	for i := v.len() - 1; i >= 0; i-- {
		// There are at most i+1 values left, so none is overwritten before it has moved.
		if bitmap[i/8]<<(i%8)&0x80 == 0 {
			v.set(i, math.NaN())
			continue
		}
		n--
		copy(v[8*i:8*i+8], v[8*n:])
	}
}

// reverse reverses the order of values.
func (v values) reverse() {
	for i, j := 0, v.len()-1; i < j; i, j = i+1, j-1 {
		x, y := v.get(i), v.get(j)
		v.set(i, y)
		v.set(j, x)
	}
}

// maxBits is the largest number of bits that bitsAt reads.
const maxBits = 57

// bitsAt returns n bits as an integer. off counts bits. The bits lie within b.
func bitsAt(b []byte, off int64, n int) uint64 {
	at := off >> 3
	var word uint64
	if b = b[at:]; len(b) >= 8 {
		word = binary.BigEndian.Uint64(b)
	} else {
		var last [8]byte
		copy(last[:], b)
		word = binary.BigEndian.Uint64(last[:])
	}
	return word << (off & 7) >> (64 - n)
}

// signed returns the integer that bytes are, whose first bit is its sign (regulation
// 92.1.5).
func signed(b []byte) int64 {
	x := unsigned(b)
	sign := uint64(1) << (8*len(b) - 1)
	if x&sign != 0 {
		return -int64(x &^ sign)
	}
	return int64(x)
}

// unsigned returns the integer that up to eight bytes are.
func unsigned(b []byte) (x uint64) {
	for _, c := range b {
		x = x<<8 | uint64(c)
	}
	return x
}
