// SPDX-License-Identifier: Apache-2.0

package geotiff

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/internal/subset"
)

// affine leads from columns and rows to positions, in the order of GDAL:
//
//	x = a[0] + column*a[1] + row*a[2]
//	y = a[3] + column*a[4] + row*a[5]
//
// Column 0 and row 0 are the outer edges of the first pixel.
type affine [6]float64

// flipRows returns the transform of an image whose rows come in the opposite order.
func (a affine) flipRows(height int64) affine {
	return affine{a[0] + a[2]*float64(height), a[1], -a[2], a[3] + a[5]*float64(height), a[4], -a[5]}
}

// flipColumns is flipRows for columns.
func (a affine) flipColumns(width int64) affine {
	return affine{a[0] + a[1]*float64(width), -a[1], a[2], a[3] + a[4]*float64(width), -a[4], a[5]}
}

// noCRS leaves out the place of an image.
const noCRS = "none"

// setPlace finds where the image is, and turns it north up: y falls and x rises.
func (p *planner) setPlace(ctx context.Context) error {
	if p.CRS == noCRS {
		return nil
	}
	a, err := p.transform(ctx)
	if err != nil {
		return err
	}
	if a == nil {
		if p.CRS != "" {
			return unfit("--crs %s has no meaning without coordinates, and the dimensions %s have none", p.CRS, quantity.List(p.from.Dimensions[p.y], p.from.Dimensions[p.x]))
		}
		return p.checkCurvilinear()
	}
	if a[5] > 0 {
		p.turned, *a = append(p.turned, p.y), a.flipRows(p.height)
	}
	if a[1] < 0 {
		p.turned, *a = append(p.turned, p.x), a.flipColumns(p.width)
	}
	p.place = a
	if p.source, err = flipped(p.source, p.turned); err != nil {
		return err
	}
	p.keys, err = p.crs()
	return err
}

// checkCurvilinear returns an error if coordinates with two axes say where pixels are.
func (p *planner) checkCurvilinear() error {
	for _, name := range strings.Fields(textOf(p.from.Attributes, "coordinates")) {
		for _, v := range p.set.Variables {
			if v.Name == name && len(v.Dimensions) == 2 {
				return unfit("the coordinate %s has two axes, and the pixels of a GeoTIFF lie on an even grid: export to NetCDF (.nc), or without a place (--crs none)", name)
			}
		}
	}
	return nil
}

// transform returns the transform of the selected elements: by coordinates, which are the
// centres of pixels (CF conventions, 4), and else by an attribute. nil is none.
func (p *planner) transform(ctx context.Context) (*affine, error) {
	y, x := p.coordinate(p.from.Dimensions[p.y]), p.coordinate(p.from.Dimensions[p.x])
	if y == nil || x == nil {
		a, err := p.attributeTransform()
		if a == nil && err == nil && y != x {
			return nil, unfit("only one of the dimensions %s has a coordinate: add the other one, or export without a place (--crs none)", quantity.List(p.from.Dimensions[p.y], p.from.Dimensions[p.x]))
		}
		return a, err
	}
	firstX, stepX, err := pixels(ctx, x)
	if err != nil {
		return nil, err
	}
	firstY, stepY, err := pixels(ctx, y)
	if err != nil {
		return nil, err
	}
	switch {
	case stepX == 0 && stepY == 0:
		return nil, unfit("one element of %s and one of %s do not tell the size of a pixel: select more, or export without a place (--crs none)", x.Name, y.Name)
	case stepX == 0:
		stepX = math.Abs(stepY)
	case stepY == 0:
		stepY = -math.Abs(stepX)
	}
	// A coordinate is the centre of a pixel, and GeoTIFF counts from the outer edge
	// (GTRasterTypeGeoKey: PixelIsArea).
	return &affine{firstX - stepX/2, stepX, 0, firstY - stepY/2, 0, stepY}, nil
}

// most is how far a coordinate may be from an even grid, in pixels.
const most = 0.01

// pixels returns the first coordinate and the distance of two, or 0 for a single one. It
// is an error if the distances differ.
func pixels(ctx context.Context, c *export.Variable) (first, step float64, err error) {
	packing, err := cf.PackingOf(ctx, c.Array)
	if err != nil {
		return 0, 0, err
	}
	if !cf.IsNumeric(c.Array.Type()) || len(c.Shape) != 1 || c.Shape[0] > cf.MaxCoordinate {
		return 0, 0, unfit("the coordinate %s has the shape %v and the type %s, which are no even numbers: export without a place (--crs none)", c.Name, c.Shape, c.Array.Type())
	}
	packing = packing.OfCoordinate()
	values := make([]float64, 0, c.Shape[0])
	err = c.Undecoded().Elements(ctx, func(elem []byte) error {
		v, err := strconv.ParseFloat(packing.Text(elem), 64)
		if !packing.HasValue(elem) || err != nil || math.IsInf(v, 0) {
			return unfit("the coordinate %s has no value at %d: fill it in, select others, or export without a place (--crs none)", c.Name, len(values))
		}
		values = append(values, v)
		return nil
	})
	if err != nil || len(values) < 2 {
		return append(values, 0)[0], 0, err
	}
	first = values[0]
	if step = (values[len(values)-1] - first) / float64(len(values)-1); step == 0 {
		return 0, 0, unfit("the coordinate %s begins and ends at %v: pixels have no size; export without a place (--crs none)", c.Name, first)
	}
	// The division leaves an error in the last digits, as 0.09999999999999999.
	step = short(step, float64(len(values)))
	for i, v := range values {
		if off := math.Abs(v - (first + float64(i)*step)); off > most*math.Abs(step) {
			return 0, 0, unfit("the coordinate %s is not even: element %d is %v, and steps of %v from %v lead to %v. The pixels of a GeoTIFF have one size: select an even part, export to NetCDF (.nc), or without a place (--crs none)", c.Name, i, v, step, first, first+float64(i)*step)
		}
	}
	return first, step, nil
}

// short returns a step with fewer digits if n of them lead to the same place, within a
// millionth of a step.
func short(step, n float64) float64 {
	for digits := 1; digits < 15; digits++ {
		s, err := strconv.ParseFloat(strconv.FormatFloat(step, 'g', digits, 64), 64)
		if err == nil && math.Abs(s-step)*n < 1e-6*math.Abs(step) {
			return s
		}
	}
	return step
}

// attributeTransform returns the transform of the attribute GeoTransform of the grid
// mapping (GDAL, rioxarray), or of spatial:transform, for the selected elements.
func (p *planner) attributeTransform() (*affine, error) {
	a := affine{}
	list := numbersOf(p.from.Attributes, "spatial:transform")
	switch {
	case len(list) >= len(a):
		// The order of the package affine: steps and rotations first.
		a = affine{list[2], list[0], list[1], list[5], list[3], list[4]}
	default:
		g := p.mapping()
		if g == nil {
			return nil, nil
		}
		fields := strings.Fields(textOf(g.Attributes, "GeoTransform"))
		if len(fields) != len(a) {
			return nil, nil
		}
		for i, field := range fields {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return nil, unfit("the attribute GeoTransform of %s is %q, which are no six numbers", g.Name, fields)
			}
			a[i] = v
		}
	}
	if a[1]*a[5] == a[2]*a[4] {
		return nil, unfit("the transform %v gives pixels no size: correct the attribute, or export without a place (--crs none)", a)
	}
	return p.selected(a)
}

// selected returns a transform of the whole array for the selected elements.
func (p *planner) selected(a affine) (*affine, error) {
	for i, axis := range []int{p.x, p.y} {
		of := (*subset.Elements)(p.source.Selection)
		along, _ := of.Along(of.Axes()[axis])
		if along.Given() != nil {
			return nil, unfit("a list of indices leaves no even grid: select a range, or export without a place (--crs none)")
		}
		start, step := float64(along.Start), float64(along.Step)
		if along.Flip {
			// The first pixel ends where the last selected one does.
			start, step = float64(along.Start)+float64(along.Count-1)*step, -step
		}
		// Pixels grow with a step, around the centres of those that stay.
		edge := start + 0.5 - step/2
		for k := range 2 {
			a[3*k] += edge * a[3*k+1+i]
			a[3*k+1+i] *= step
		}
	}
	return &a, nil
}

// mapping returns the variable that the attribute grid_mapping names, or nil.
func (p *planner) mapping() *export.Variable {
	// The extended form has colons (CF conventions, 5.6).
	name, _, _ := strings.Cut(strings.TrimSpace(textOf(p.from.Attributes, "grid_mapping")), ":")
	for _, v := range p.set.Variables {
		if name != "" && v.Name == path.Base(name) {
			return v
		}
	}
	return nil
}

// georeference returns the fields that say where the image is (GeoTIFF 7.1 and B.6).
func (p *plan) georeference() (list []entry) {
	if p.place == nil {
		return nil
	}
	if a := p.place; a[2] == 0 && a[4] == 0 {
		list = append(list, doubles(tagPixelScale, a[1], -a[5], 0), doubles(tagTiepoint, 0, 0, 0, a[0], a[3], 0))
	} else {
		list = append(list, doubles(tagMatrix, a[1], a[2], 0, a[0], a[4], a[5], 0, a[3], 0, 0, 0, 0, 0, 0, 0, 1))
	}
	return append(list, p.keys.entries()...)
}

// textOf returns an attribute that is a text, else "".
func textOf(list []export.Attribute, name string) string {
	for _, a := range list {
		if a.Name == name {
			text, err := a.Value.Str()
			if err == nil {
				return text
			}
		}
	}
	return ""
}

// numbersOf returns the numbers of an attribute: one, a list, or nil.
func numbersOf(list []export.Attribute, name string) (numbers []float64) {
	for _, a := range list {
		if a.Name != name {
			continue
		}
		values := []strictjson.Value{a.Value}
		if a.Value.Kind() == strictjson.Array {
			values = values[:0]
			for _, v := range a.Value.Elements() {
				values = append(values, v)
			}
		}
		for _, v := range values {
			n, err := v.Float64()
			if err != nil {
				return nil
			}
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// String is for messages.
func (a affine) String() string { return fmt.Sprint(a[:]) }
