// SPDX-License-Identifier: Apache-2.0

package tiff

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/gdal"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// role is what an image is within the file (section 8, "NewSubfileType").
type role int

const (
	page     role = iota // an image at its full resolution
	overview             // a smaller version of the page before it
	mask                 // says which pixels of the page before it count
	part                 // another image below a page
)

// image is an IFD and what it is.
type image struct {
	*ifd
	role role
}

// images returns all images in the order of the file, each with its SubIFDs behind it.
func (r *reader) images(first int64) (list []image, err error) {
	if first == 0 {
		return nil, scan.Corruptf("tiff: the file has no IFD")
	}
	for at := first; at != 0; {
		d, next, err := r.ifd(at)
		if err != nil {
			return nil, err
		}
		if list, err = r.withParts(list, d, page); err != nil {
			return nil, err
		}
		at = next
	}
	return list, nil
}

// withParts appends an image and those that it names as SubIFDs (TIFF Technical Note 1).
// Each of these may be followed by others, and has no SubIFDs of its own.
func (r *reader) withParts(list []image, d *ifd, otherwise role) ([]image, error) {
	is, err := r.role(d, otherwise)
	if err != nil {
		return nil, err
	}
	list = append(list, image{d, is})
	if otherwise == part {
		return list, nil
	}
	below, err := r.numbers(d, subIFDs)
	if err != nil {
		return nil, err
	}
	for _, x := range below {
		if list, err = r.withChain(list, x); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// withChain appends the images of a chain of SubIFDs. Some writers list all images of a
// chain, so it ends at one that was read.
func (r *reader) withChain(list []image, first uint64) ([]image, error) {
	at, err := offset(first)
	for err == nil && at != 0 && !r.seen[at] {
		var d *ifd
		if d, at, err = r.ifd(at); err == nil {
			list, err = r.withParts(list, d, part)
		}
	}
	return list, err
}

// role returns what an image is.
func (r *reader) role(d *ifd, otherwise role) (role, error) {
	flags, err := r.number(d, newSubfileType, 0)
	if err != nil {
		return 0, err
	}
	old, err := r.number(d, oldSubfileType, 0)
	// Bit 2 of NewSubfileType is a transparency mask, and bit 0 a smaller version, which
	// an old SubfileType of 2 is as well.
	switch {
	case err != nil:
		return 0, err
	case flags&4 != 0:
		return mask, nil
	case flags&1 != 0 || old == 2:
		return overview, nil
	}
	return otherwise, nil
}

// pages returns the number of images at full resolution.
func pages(images []image) (n int) {
	for _, d := range images {
		if d.role == page {
			n++
		}
	}
	return n
}

// paths names images.
func paths(images []image) []string {
	several := pages(images) > 1
	names := make([]string, len(images))
	prefix, at := "", 0
	var counts [part + 1]int
	for i, d := range images {
		if d.role == page {
			// A smaller version may come before the first page.
			if at++; at > 1 {
				counts = [part + 1]int{}
			}
		}
		if several {
			prefix = fmt.Sprintf("page_%d", max(at, 1))
		}
		counts[d.role]++
		names[i] = name(prefix, d.role, counts[d.role])
	}
	return names
}

// name returns the path of image n of its role.
func name(prefix string, is role, n int) string {
	switch {
	case is == page && prefix == "":
		return "full"
	case is == page:
		return prefix
	case prefix != "":
		prefix += "_"
	}
	return fmt.Sprintf("%s%s_%d", prefix, [...]string{"", "overview", "mask", "part"}[is], n)
}

// stack says that an IFD stands for several images, which follow each other in the file.
// Programs write such files if offsets of 32 bits do not reach all of them, or to save
// the IFDs.
type stack struct {
	program string // which has its own way to say it
	shape   []int64
	names   []string // of the axes of shape, which come before those of an image
	// whole says that the last axes of shape are those of an image.
	whole bool
	only  bool // if the file has no other images of full resolution
	// apart is why the planes cannot be found behind the first one, "" if they can.
	apart string
}

// stackOf returns what the tags of an image say about others behind it, nil if nothing.
// pages is the number of images at full resolution that have an IFD.
func stackOf(d *ifd, a *scan.Array, pages int) *stack {
	const uic2 = 33629 // has a value for each plane
	// A MetaMorph STK has one IFD for all planes, which follow each other.
	if e, ok := d.entries[uic2]; ok && e.count > 1 {
		return &stack{program: "MetaMorph", shape: []int64{e.count}, names: []string{"plane"}}
	}
	text := firstText(a.Attributes.Get(imageDescription.String()))
	switch {
	case strings.HasPrefix(text, "ImageJ="):
		return imageJ(text)
	case strings.HasPrefix(text, "{"):
		return shaped(text)
	case strings.Contains(text, "<OME"):
		return ome(strings.TrimPrefix(text, "\uFEFF"), a, pages)
	}
	return nil
}

// imageJ parses the description of ImageJ, which has lines such as images=12.
func imageJ(text string) *stack {
	numbers, order := map[string]int64{}, ""
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 1 {
			numbers[key] = n
		}
		if key == "order" {
			order = value
		}
	}
	// A single image has no such line.
	if numbers["images"] == 0 {
		return nil
	}
	s := &stack{program: "ImageJ", only: true}
	for _, axis := range [][2]string{{"frames", "t"}, {"slices", "z"}, {"channels", "c"}} {
		if n := numbers[axis[0]]; n > 0 {
			s.shape, s.names = append(s.shape, n), append(s.names, axis[1])
		}
	}
	// In any other order, and if the numbers do not agree, the axes are not known.
	if n, ok := checked.Product(s.shape...); !ok || n != numbers["images"] || order != "" && order != "xyczt" {
		s.shape, s.names = []int64{numbers["images"]}, []string{"plane"}
	}
	return s
}

// shaped parses the description of tifffile, such as {"shape": [4, 16, 20], "truncated":
// true}.
func shaped(text string) *stack {
	var m struct {
		Shape     []int64
		Axes      string
		Truncated bool
	}
	// tifffile writes an IFD for each page unless it is called with truncate=True.
	if json.Unmarshal([]byte(text), &m) != nil || !m.Truncated || len(m.Shape) == 0 {
		return nil
	}
	s := &stack{program: "tifffile", shape: m.Shape, whole: true}
	for i := range m.Shape {
		name := ""
		if len(m.Axes) == len(m.Shape) {
			name = strings.ToLower(m.Axes[i : i+1])
		}
		s.names = append(s.names, name)
	}
	return s
}

// mostPlanes bounds the chunks of all planes of a stack.
const mostPlanes = 1 << 22

// addPlanes makes an image the first plane of its stack. The error wraps
// [scan.ErrUnsupported] if the other ones cannot be found.
func (r *reader) addPlanes(a *scan.Array, s *stack) error {
	elements, fits := checked.Product(a.Shape...)
	bytes, also := checked.Mul(elements, int64(a.Type.Size()))
	shape, names, ok := s.before(elements)
	planes, countable := checked.Product(shape...)
	if !fits || !also || !ok || !countable || planes < 1 {
		return scan.Unsupportedf("the shape %d does not fit an image of the shape %d", s.shape, a.Shape)
	}
	switch {
	case planes == 1:
		return nil
	case len(a.Codecs) != 1:
		// Nothing says where the other planes of a compressed image begin.
		return scan.Unsupportedf("the image is compressed")
	case !isContiguous(a, bytes):
		return scan.Unsupportedf("the image does not lie in one piece")
	case planes > mostPlanes/int64(len(a.Chunks)):
		return scan.Unsupportedf("more than %s", quantity.Count(mostPlanes, "chunks"))
	}
	if at := a.Chunks[0].Offset; planes > (r.file.Size()-at)/bytes {
		return scan.Unsupportedf("the file ends before: %s of %s at %d, in a file of %d", quantity.Count(planes, "planes"), quantity.Count(bytes, "bytes"), at, r.file.Size())
	}
	list := make([]scan.Chunk, 0, planes*int64(len(a.Chunks)))
	for k := range planes {
		for _, c := range a.Chunks {
			list = append(list, scan.Chunk{Number: k*int64(len(a.Chunks)) + c.Number, Offset: c.Offset + k*bytes, Length: c.Length})
		}
	}
	ones := slices.Repeat([]int64{1}, len(shape))
	a.Shape, a.Chunk, a.Names = slices.Concat(shape, a.Shape), slices.Concat(ones, a.Chunk), slices.Concat(names, a.Names)
	a.Chunks = list
	return nil
}

// before returns the axes that come before those of an image with so many samples, and
// their names. ok is false if the shape does not end with that of an image.
func (s *stack) before(samples int64) (shape []int64, names []string, ok bool) {
	if !s.whole {
		return s.shape, s.names, true
	}
	// Cut axes from the end until they have the samples of one image.
	i, n := len(s.shape), int64(1)
	for ok = true; ok && n != samples && i > 0; {
		i--
		n, ok = checked.Mul(n, s.shape[i])
	}
	return s.shape[:i], s.names[:i], ok && n == samples
}

// isContiguous reports whether the strips of an image follow each other and have so many
// bytes.
func isContiguous(a *scan.Array, bytes int64) bool {
	if !a.Short || len(a.Chunks) == 0 { // tiles have another order
		return false
	}
	at := a.Chunks[0].Offset
	for i, c := range a.Chunks {
		if c.Offset != at || c.Number != int64(i) {
			return false
		}
		at += c.Length
	}
	return at-a.Chunks[0].Offset == bytes
}

// omeDocument is what the description of an OME-TIFF says of planes (OME Data Model,
// "OME-TIFF specification").
type omeDocument struct {
	XMLName xml.Name `xml:"OME"`
	UUID    string   `xml:"UUID,attr"`
	Only    struct {
		File string `xml:"MetadataFile,attr"` // which describes the planes of this file, too
	} `xml:"BinaryOnly"`
	Pixels []omePixels `xml:"Image>Pixels"`
}

type omePixels struct {
	Order    string `xml:"DimensionOrder,attr"` // the fastest first
	X        int64  `xml:"SizeX,attr"`
	Y        int64  `xml:"SizeY,attr"`
	Z        int64  `xml:"SizeZ,attr"`
	C        int64  `xml:"SizeC,attr"`
	T        int64  `xml:"SizeT,attr"`
	Channels []struct {
		Samples int64 `xml:"SamplesPerPixel,attr"`
	} `xml:"Channel"`
	Data []struct {
		IFD    *int64 `xml:"IFD,attr"`
		Planes *int64 `xml:"PlaneCount,attr"`
		UUID   struct {
			File string `xml:"FileName,attr"`
			Text string `xml:",chardata"`
		} `xml:"UUID"`
	} `xml:"TiffData"`
}

// ome parses OME-XML. It returns nil if there are as many IFDs as planes, and a stack
// that is apart if the planes do not follow each other in the file.
func ome(text string, a *scan.Array, pages int) *stack {
	var m omeDocument
	if err := xml.Unmarshal([]byte(text), &m); err != nil {
		return &stack{apart: fmt.Sprintf("OME-XML cannot be parsed, so that planes without an IFD are not known: %v", err)}
	}
	if file := m.otherFiles(); file != "" {
		return &stack{apart: fmt.Sprintf("OME-XML says that planes of its images lie in other files, such as %.200q", file)}
	}
	s, planes := &stack{program: "OME"}, int64(0)
	for _, p := range m.Pixels {
		s.shape, s.names = p.axes(samplesOf(a))
		n, ok := checked.Product(s.shape...)
		if planes += n; !ok || planes < 0 || n < 0 {
			return &stack{apart: fmt.Sprintf("OME-XML says that there are planes of the shape %d", s.shape)}
		}
	}
	// Most OME-TIFF files have an IFD for each plane.
	if planes <= int64(pages) {
		return nil
	}
	p := &m.Pixels[0]
	y, x := slices.Index(a.Names, "y"), slices.Index(a.Names, "x")
	if here := p.planesHeld(planes); pages > 1 || len(m.Pixels) > 1 || here < planes || p.Y != a.Shape[y] || p.X != a.Shape[x] {
		s.apart = fmt.Sprintf("OME-XML says that there are %s in %s, of %d × %s, and there are %d IFDs", quantity.Count(planes, "planes"), quantity.Count(len(m.Pixels), "images"), p.Y, quantity.Count(p.X, "elements"), pages)
	}
	return s
}

// otherFiles returns a file that has other planes, or describes all of them; "" if none.
func (m *omeDocument) otherFiles() string {
	own := m.UUID
	for _, p := range m.Pixels {
		for _, d := range p.Data {
			is := strings.TrimSpace(d.UUID.Text)
			// A document without a UUID is that of the file with the first one.
			if own == "" {
				own = is
			}
			if is != "" && is != own {
				return d.UUID.File
			}
		}
	}
	return m.Only.File
}

// axes returns the axes of planes, without those of one. The channels that are samples of
// one plane are no axis.
func (p *omePixels) axes(samples int64) (shape []int64, names []string) {
	channels, joined := p.C, false
	// SizeC counts samples: a channel of RGB counts as three.
	for _, c := range p.Channels {
		if c.Samples > 1 {
			channels, joined = channels-(c.Samples-1), true
		}
	}
	if !joined {
		channels = checked.CeilDiv(p.C, samples)
	}
	// The usual order, XYZCT, from the slowest axis on.
	lengths, order := map[rune]int64{'Z': p.Z, 'C': channels, 'T': p.T}, []rune("TCZ")
	if rest, ok := strings.CutPrefix(p.Order, "XY"); ok && len(rest) == 3 && strings.Trim(rest, "ZCT") == "" {
		order = []rune(rest)
		slices.Reverse(order)
	}
	for _, axis := range order {
		if n := lengths[axis]; n != 1 && n != 0 {
			shape, names = append(shape, n), append(names, strings.ToLower(string(axis)))
		}
	}
	return shape, names
}

// planesHeld returns how many of all planes are in the file.
func (p *omePixels) planesHeld(planes int64) (n int64) {
	for _, d := range p.Data {
		switch {
		case d.Planes != nil:
			n += *d.Planes
		case d.IFD != nil:
			n++
		default:
			// TiffData without attributes stands for all planes, in their order.
			return planes
		}
	}
	if p.Data == nil {
		return planes
	}
	return n
}

// samplesOf returns the number of samples of a pixel.
func samplesOf(a *scan.Array) int64 {
	if i := slices.Index(a.Names, "band"); i >= 0 {
		return a.Shape[i]
	}
	return 1
}

// setMeaning says in the words of CF, which readers of Zarr know, what the tags of GDAL
// say about samples: which value stands for no data, and the scale and offset. It returns
// an error if CF has no words for it.
func setMeaning(a *scan.Array) error {
	switch a.Type.Kind() {
	case dtype.KindInt, dtype.KindUint, dtype.KindFloat:
	default:
		return nil
	}
	if a.Fill != nil {
		a.Attributes.Set("_FillValue", number(a.Type, a.Fill))
	}
	scale, offset, err := scalesOf(a)
	if err != nil {
		return err
	}
	if scale != 1 || offset != 0 {
		a.Attributes.Set("scale_factor", scale)
		a.Attributes.Set("add_offset", offset)
	}
	return nil
}

// number returns an element as the value of an attribute.
func number(t dtype.Type, element []byte) any {
	text := string(t.AppendText(nil, element))
	switch t.Kind() {
	case dtype.KindInt:
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	case dtype.KindUint:
		n, _ := strconv.ParseUint(text, 10, 64)
		return n
	}
	x, _ := strconv.ParseFloat(text, 64)
	if t.Size() < 8 {
		return float32(x)
	}
	return x
}

// scalesOf returns the scale and the offset of samples. It is an error if they differ
// between bands, or cannot be parsed.
func scalesOf(a *scan.Array) (scale, offset float64, err error) {
	items, err := gdal.Parse(firstText(a.Attributes.Get(gdal.Metadata)))
	if err != nil {
		return 0, 0, scan.Unsupportedf("an attribute: %s, which may have a scale and an offset, cannot be parsed: %v", gdal.Metadata, err)
	}
	values := map[string]map[int]float64{"scale": {}, "offset": {}}
	for _, i := range items {
		is, _ := i.Meaning()
		if values[is.Role] == nil {
			continue
		}
		x, err := strconv.ParseFloat(is.Text, 64)
		sample, unknown := strconv.Atoi(is.Sample)
		// x - x is NaN for an infinity, too.
		if err != nil || unknown != nil || math.IsNaN(x-x) {
			return 0, 0, scan.Unsupportedf("an attribute: the %s %.40q for the sample %.40q in %s, which are no numbers", is.Role, is.Text, is.Sample, gdal.Metadata)
		}
		values[is.Role][sample] = x
	}
	bands := int(samplesOf(a))
	scale, same := shared(values["scale"], bands, 1)
	offset, also := shared(values["offset"], bands, 0)
	if !same || !also {
		return 0, 0, scan.Unsupportedf("an attribute: the scale or the offset of %s differs between bands", gdal.Metadata)
	}
	return scale, offset, nil
}

// shared returns the value that all bands have. One that is not listed has a default.
func shared(values map[int]float64, bands int, otherwise float64) (float64, bool) {
	first, listed := values[0]
	if !listed {
		first = otherwise
	}
	for _, x := range values {
		if x != first {
			return 0, false
		}
	}
	return first, first == otherwise || len(values) >= bands
}

// calibration is what ImageJ says about the values of samples, in lines of the
// description of the first image such as cf=0. It holds for all images of the file.
type calibration struct {
	function string // the number of a curve (ij.measure.Calibration), "" for none
	c        map[string]string
	unit     string
	noted    bool // that it could not be said; once is enough
}

// The functions of ImageJ: a straight line is c0 + c1 x, and none means that values are
// the samples.
const (
	straightLine = "0"
	noFunction   = "20"
)

// calibrationOf parses the description of the first image.
func calibrationOf(first *scan.Array) (c calibration) {
	text := firstText(first.Attributes.Get(imageDescription.String()))
	if !strings.HasPrefix(text, "ImageJ=") {
		return c
	}
	c.c = map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch key {
		case "cf":
			c.function = strings.TrimSpace(value)
		case "c0", "c1":
			c.c[key] = strings.TrimSpace(value)
		case "vunit":
			c.unit = unescaped(value)
		}
	}
	return c
}

// unescaped returns a text in which ImageJ has written characters beyond ASCII as \u00b0.
func unescaped(text string) string {
	if plain, err := strconv.Unquote(`"` + text + `"`); err == nil {
		return plain
	}
	return text
}

// set says in the words of CF what the values of an image are. It returns an error if
// that is not possible: samples are not the values then.
func (c calibration) set(a *scan.Array) error {
	if c.function == "" || c.function == noFunction {
		return nil
	}
	unsupported := func(why string) error {
		return scan.Unsupportedf("an attribute: the calibration of ImageJ (cf=%.10s, c0=%.40s, c1=%.40s): %s", c.function, c.c["c0"], c.c["c1"], why)
	}
	offset, err := strconv.ParseFloat(c.c["c0"], 64)
	scale, also := strconv.ParseFloat(c.c["c1"], 64)
	switch kind := a.Type.Kind(); {
	case c.function != straightLine:
		return unsupported("it is no straight line, and values are those before it")
	case err != nil || also != nil || math.IsNaN(scale-scale) || math.IsNaN(offset-offset):
		return unsupported("the line has no two numbers")
	case samplesOf(a) > 1 || kind != dtype.KindInt && kind != dtype.KindUint && kind != dtype.KindFloat:
		return unsupported("the samples are no single numbers")
	case a.Attributes.Get("scale_factor") != nil || a.Attributes.Get("add_offset") != nil:
		return unsupported("GDAL gives another scale")
	}
	if scale != 1 || offset != 0 {
		a.Attributes.Set("scale_factor", scale)
		a.Attributes.Set("add_offset", offset)
	}
	if c.unit != "" && a.Attributes.Get("units") == nil {
		a.Attributes.Set("units", c.unit)
	}
	return nil
}
