// SPDX-License-Identifier: Apache-2.0

package geotiff

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/codecs/imagecodecs"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/gdal"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
)

// plan is what a file has. It is made before the file is created.
type plan struct {
	Format
	source   *export.Source // north first, and west first
	y, x     int            // axes of the source
	band     int            // the axis of the bands, or -1
	height   int64
	width    int64
	bands    int64
	sample   dtype.Type // of the file
	wider    bool       // samples are longer floats than the elements
	tile     int64      // the rows and columns of a tile
	pixels   bool       // a tile has all bands, pixel by pixel
	ordered  bool       // the source has tiles in the order of the file
	together int64      // bands that are read at a time, at least
	big      bool       // BigTIFF
	noData   []byte     // a sample, or nil
	absent   [][]byte   // samples that are missing values
	method   reduction.Method
	items    []byte // GDAL_METADATA
	place    *affine
	keys     geoKeys
	chain    *coding.Chain
	sizes    [][2]int64 // of the levels, the array first
	turned   []int      // axes of the source in the opposite order of the array
	// stored are the sources of overviews that lie beside the array, nil if they are
	// made.
	stored []*export.Source
}

// The limits of GeoTIFF as GDAL reads it.
const (
	maxLength = math.MaxInt32
	maxBands  = math.MaxUint16
)

// planner makes a plan.
type planner struct {
	*plan
	from *export.Variable
	set  *export.Dataset
}

// plan returns what a file has. Of elements, it reads only coordinates.
func (f Format) plan(ctx context.Context, d *export.Dataset) (*plan, error) {
	v, err := imageOf(d)
	if err != nil {
		return nil, err
	}
	p := &planner{&plan{Format: f, source: v.Source, band: -1, bands: 1}, v, d}
	if err := p.findAxes(); err != nil {
		return nil, err
	}
	if err := p.setSample(ctx); err != nil {
		return nil, err
	}
	if err := p.setPlace(ctx); err != nil {
		return nil, err
	}
	if err := p.setItems(ctx); err != nil {
		return nil, err
	}
	p.setTiles()
	if err := p.setLevels(ctx); err != nil {
		return nil, err
	}
	return p.plan, p.setChain()
}

// Image returns the name of the array that a file has of a data set, or "".
func Image(d *export.Dataset) string {
	v, err := imageOf(d)
	if err != nil {
		return ""
	}
	return v.Name
}

// imageOf returns the array of a data set that describes no other one.
func imageOf(d *export.Dataset) (*export.Variable, error) {
	described := map[string]bool{}
	for _, v := range d.Variables {
		for _, name := range v.References() {
			described[name] = described[name] || name != v.Name || len(v.Dimensions) == 1
		}
	}
	var images, others []*export.Variable
	var names []string
	for _, v := range d.Variables {
		switch {
		case described[v.Name]:
		case len(v.Shape) > 1:
			images, names = append(images, v), append(names, v.Name)
		default:
			others = append(others, v)
		}
	}
	if len(images) == 0 && len(others) == 1 {
		return others[0], nil // which is refused for its axes
	}
	if len(images) == 1 && len(d.Groups) == 0 {
		return images[0], nil
	}
	if len(names) == 0 {
		return nil, unfit("a GeoTIFF has one array with the axes y and x, and there is none: export an array by its path")
	}
	return nil, unfit("a GeoTIFF has one array, and the group has more (%s): export one by its path", quantity.List(names...))
}

// The words that tell axes, in attributes and names of dimensions.
var (
	eastward = map[string]bool{
		"X": true, "longitude": true, "projection_x_coordinate": true, "grid_longitude": true, "x": true, "lon": true, "easting": true, "col": true,
		"column": true, "width": true,
	}
	northward = map[string]bool{
		"Y": true, "latitude": true, "projection_y_coordinate": true, "grid_latitude": true, "y": true, "lat": true, "northing": true, "row": true,
		"height": true,
	}
	samples = map[string]bool{"band": true, "bands": true, "channel": true, "channels": true, "c": true, "sample": true, "rgb": true, "rgba": true}
)

// coordinate returns the coordinate of a dimension, or nil.
func (p *planner) coordinate(name string) *export.Variable {
	for _, v := range p.set.Variables {
		if v.Name == name && name != "" && len(v.Dimensions) == 1 && v.Dimensions[0] == name {
			return v
		}
	}
	return nil
}

// findAxes finds the axes of an image: by the attributes of coordinates, by names, and
// else the last two.
func (p *planner) findAxes() error {
	shape, names := p.source.Shape, p.from.Dimensions
	if len(shape) < 2 {
		return unfit("a GeoTIFF has the axes y and x, and the selection leaves %s: select more, or export it as csv", quantity.Count(len(shape), "axes"))
	}
	p.y, p.x = -1, -1
	for i, name := range names {
		words := []string{strings.ToLower(name)}
		if c := p.coordinate(name); c != nil {
			words = append(words, strings.ToUpper(textOf(c.Attributes, "axis")), textOf(c.Attributes, "standard_name"))
			switch unit := textOf(c.Attributes, "units"); {
			case strings.HasPrefix(unit, "degrees_e") || strings.HasPrefix(unit, "degree_e"):
				words = append(words, "X")
			case strings.HasPrefix(unit, "degrees_n") || strings.HasPrefix(unit, "degree_n"):
				words = append(words, "Y")
			}
		}
		among := func(set map[string]bool) bool {
			return slices.ContainsFunc(words, func(w string) bool { return set[w] })
		}
		switch {
		case among(eastward) && p.x < 0:
			p.x = i
		case among(northward) && p.y < 0:
			p.y = i
		}
	}
	last := len(shape) - 1
	if last > 1 && samples[strings.ToLower(names[last])] {
		last--
	}
	switch {
	case p.x < 0 && p.y < 0:
		p.y, p.x = last-1, last
	case p.x < 0 || p.y < 0:
		return unfit("of the dimensions %s, only one is an axis of a map: give coordinates the attribute axis (X, Y), or name the dimensions y and x", quantity.List(names...))
	}
	p.height, p.width = shape[p.y], shape[p.x]
	for i, n := range shape {
		if i == p.y || i == p.x || n == 1 && len(shape) > 3 {
			continue
		}
		if p.band >= 0 {
			return unfit("a GeoTIFF has two axes and one of bands, and the selection has the shape %v: select one element along some (--select time=0)", shape)
		}
		p.band, p.bands = i, n
	}
	if p.height == 0 || p.width == 0 || p.bands == 0 {
		return unfit("there are no elements, and a GeoTIFF has at least one: select more")
	}
	if p.height > maxLength || p.width > maxLength || p.bands > maxBands {
		return unfit("a GeoTIFF has at most %s and %s, and the selection has the shape %v: "+remedy.SelectPart, quantity.Count(maxLength, "rows and columns"), quantity.Count(maxBands, "bands"), shape)
	}
	return nil
}

// setSample finds the type of samples and which of them are missing values.
func (p *planner) setSample(ctx context.Context) error {
	t := p.source.Type
	packing, err := cf.PackingOf(ctx, p.source.Array)
	if err != nil {
		return err
	}
	decoded := p.source.Decoding != nil
	p.sample = t
	switch k := t.Kind(); {
	case k == dtype.KindBool:
		p.sample = dtype.Uint8
	case !decoded && (k == dtype.KindInt || k == dtype.KindUint):
		p.sample = packing.Type() // _Unsigned changes the sign
	case k == dtype.KindInt || k == dtype.KindUint || t == dtype.Float32 || t == dtype.Float64 || k == dtype.KindComplex:
	case k == dtype.KindFloat && t.Float32s(make([]float32, 1), make([]byte, t.Size())) == 1:
		p.sample, p.wider = dtype.Float32, true
	default:
		return unfit("samples of a GeoTIFF are numbers, and elements have the type %s: omit "+remedy.Decode+" for the numbers of times, or export the array as npy or json", t)
	}
	if n := p.sample.Size(); p.sample.Kind() == dtype.KindInt && n&(n-1) != 0 || n > 16 {
		return unfit("a GeoTIFF has no samples of type %s: export the array as npy or raw", t)
	}
	if err := p.setAbsent(packing, decoded); err != nil {
		return err
	}
	var outer []byte // the attributes of its group
	if at := p.source.Array.Path(); at != "" {
		if outer, err = cf.GroupAttributes(ctx, p.source.Array, above(at)); err != nil {
			return err
		}
	}
	p.method = reduction.Nearest
	if reduction.Supports(p.sample, reduction.Mean) && !reduction.AreNames(t, p.source.Array.Attributes(), outer) {
		p.method = reduction.Mean
	}
	return nil
}

// setAbsent finds the missing values, of which a file names one.
func (p *planner) setAbsent(packing *cf.Packing, decoded bool) error {
	if p.sample.Kind() == dtype.KindComplex {
		return nil
	}
	if decoded {
		if packing.IsMasked() && p.sample.Kind() == dtype.KindFloat {
			nan, err := p.sample.ParseFill([]byte(`"NaN"`))
			p.noData = nan
			return err
		}
		return nil
	}
	for _, elem := range packing.Missing() {
		p.absent = append(p.absent, p.widened(elem))
	}
	isNaN := func(elem []byte) bool { return string(p.sample.AppendText(nil, elem)) == "nan" }
	for _, elem := range p.absent {
		// NaN is no value for any program, whatever else is missing.
		if p.noData == nil || isNaN(p.noData) {
			p.noData = elem
		} else if !isNaN(elem) && string(elem) != string(p.noData) {
			return unfit("%s and %s are both missing values, and a GeoTIFF has one: "+remedy.Decode+" makes both NaN", p.sample.AppendText(nil, p.noData), p.sample.AppendText(nil, elem))
		}
	}
	return nil
}

// widened returns elements as samples, in host byte order.
func (p *plan) widened(elems []byte) []byte {
	if !p.wider {
		return elems
	}
	list := make([]float32, len(elems)/p.source.Type.Size())
	p.source.Type.Float32s(list, elems)
	data := make([]byte, 0, 4*len(list))
	for _, v := range list {
		data = nativeEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// setItems makes the XML that says what samples mean: for every band a description, the
// unit, and the scale and the offset of packed numbers.
func (p *planner) setItems(ctx context.Context) error {
	labels, err := p.labels(ctx)
	if err != nil {
		return err
	}
	var list []gdal.Item
	packing, err := cf.PackingOf(ctx, p.source.Array)
	if err != nil {
		return err
	}
	for i := range p.bands {
		add := func(name, role, text string) {
			if text != "" {
				list = append(list, gdal.Item{Name: name, Sample: strconv.FormatInt(i, 10), Role: role, Text: text})
			}
		}
		add("DESCRIPTION", "description", labels[i])
		add("UNITTYPE", "unittype", textOf(p.from.Attributes, "units"))
		if scale, offset := packing.Scale(); p.source.Decoding == nil && packing.IsScaled() {
			add("OFFSET", "offset", strconv.FormatFloat(offset, 'g', -1, 64))
			add("SCALE", "scale", strconv.FormatFloat(scale, 'g', -1, 64))
		}
	}
	if len(list) > 0 {
		p.items, err = gdal.Format(list)
	}
	return err
}

// labels returns a description of each band: the value of its coordinate, or the name of
// the array.
func (p *planner) labels(ctx context.Context) ([]string, error) {
	labels := make([]string, p.bands)
	if p.band < 0 {
		labels[0] = textOf(p.from.Attributes, "long_name")
		if labels[0] == "" {
			labels[0] = p.from.Name
		}
		return labels, nil
	}
	c := p.coordinate(p.from.Dimensions[p.band])
	if c == nil {
		return labels, nil
	}
	v, err := c.Array.View(c.Selection)
	if err != nil {
		return nil, err
	}
	s, err := export.Of(ctx, v, true)
	if err == nil {
		err = s.Settle(ctx)
	}
	if err != nil {
		return nil, err
	}
	n := 0
	return labels, s.Elements(ctx, func(elem []byte) error {
		labels[n] = string(s.Type.AppendText(nil, elem))
		n++
		return nil
	})
}

// The sizes of tiles.
const (
	usualTile = 512
	smallTile = 256
	// mostTile bounds the bytes of a tile with all bands.
	mostTile = 16 << 20
)

// setTiles decides how the image is cut.
func (p *planner) setTiles() {
	p.tile = usualTile
	if p.height <= smallTile && p.width <= smallTile {
		p.tile = smallTile
	}
	if p.edge > 0 {
		p.tile = p.edge
	}
	size := int64(p.sample.Size())
	p.pixels = p.bands == 1 || p.band > p.y && p.band > p.x && checked.Capped(p.bands, size, p.tile, p.tile) <= mostTile
	p.ordered = p.y < p.x && (p.pixels || p.band < p.y)
	p.together = 1
	// Chunks that have several bands would be decoded for each of them, unless memory
	// holds whole planes: then tiles come in the order of chunks.
	if p.band >= 0 && !p.pixels {
		n := min(export.ChunkAlong(p.source, p.band), p.bands)
		if n > 1 && checked.Capped(n, p.height, p.width, size) > export.SlabBytes/2 {
			p.together = max(1, min(n, export.SlabBytes/2/(size*p.tile*p.tile)))
			p.ordered = p.ordered && p.together == 1
		}
	}
}

// planes returns the number of planes that have tiles of their own.
func (p *plan) planes() int64 {
	if p.pixels {
		return 1
	}
	return p.bands
}

// quickDeflate is the highest level that looks for near matches only.
const quickDeflate = 4

// setChain makes the codecs of tiles, and chooses BigTIFF if a file may exceed 4 GiB.
func (p *planner) setChain() error {
	list, axis := []metadata.Extension{}, -1
	if p.pixels && p.bands > 1 {
		list, axis = append(list, codec.Transpose(1, 2, 0)), -2
	}
	switch p.predictor() {
	case 2:
		list = append(list, imagecodecs.Delta(axis))
	case 3:
		list = append(list, imagecodecs.FloatPredictor(p.sample, axis, nil))
	}
	list = append(list, codec.Bytes("little"))
	switch p.compression() {
	case compressionZstd:
		list = append(list, codec.ZstdChecksum(p.Zstd, false))
	case compressionDeflate:
		level := p.Deflate
		// Differences have few long matches: to search for them costs three times the
		// time, for 1 % of the bytes of measured fields, 6 % of packed ones and 8 % of
		// those of classes.
		if level <= quickDeflate {
			level = 1
		}
		list = append(list, numcodecs.Zlib(level))
	}
	var err error
	p.chain, err = coding.NewChain(&codec.Environment{}, list, codec.Spec{Type: p.sample, Rank: 3, Fill: make([]byte, p.sample.Size())})
	if err != nil {
		return err
	}
	shape := p.tileShape()
	most := p.chain.MaxEncoded(shape, checked.Capped(append(shape, int64(p.sample.Size()))...)) + leaderBytes + trailerBytes
	total := int64(0)
	for _, n := range p.sizes {
		tiles := checked.Capped(p.planes(), checked.CeilDiv(n[0], p.tile), checked.CeilDiv(n[1], p.tile))
		// A place and a length for each tile, and room for all else in the head.
		total += checked.Capped(tiles, most+12) + 1<<20 + int64(len(p.items)) + 32*p.bands
	}
	p.big = total > math.MaxUint32 || total < 0
	return nil
}

// tileShape returns the shape of a tile in memory: bands, rows and columns.
func (p *plan) tileShape() []int64 { return []int64{p.bands / p.planes(), p.tile, p.tile} }

// flipped returns a source with some axes in the opposite order.
func flipped(s *export.Source, axes []int) (*export.Source, error) {
	if len(axes) == 0 {
		return s, nil
	}
	items := make(selection.Basic, len(s.Shape))
	for i := range items {
		items[i] = selection.All()
	}
	for _, axis := range axes {
		items[axis] = selection.Stepped(selection.Open, selection.Open, -1)
	}
	v, err := s.Array.View(s.Selection)
	if err == nil {
		v, err = v.View(items)
	}
	if err != nil {
		return nil, err
	}
	f := *s
	f.Selection = v.Selection()
	return &f, nil
}

// axesOf returns the bands, rows and columns of a box of the source.
func (p *plan) axesOf(box grid.Box) [3]grid.Interval {
	b := [3]grid.Interval{{Stop: 1}, box[p.y], box[p.x]}
	if p.band >= 0 {
		b[0] = box[p.band]
	}
	return b
}
