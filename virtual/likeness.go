// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// fit is an array of a part and the one that is there already, which it has to fit.
type fit struct {
	how   Join
	notes *notes
	part  *Part
	old   *joined // the one that is there
	a     *Array  // that of the part
}

// mismatch returns an [ErrMismatch] about the array.
func (f *fit) mismatch(format string, args ...any) error {
	return mismatch(f.part.Name, f.a.Path, format, args...)
}

// failed returns an error of reading the array.
func (f *fit) failed(err error) error {
	return fmt.Errorf("%s: %s: %w", f.part.Name, f.a.Path, err)
}

// alike checks that the array fits, except along an axis. It returns a function that
// leaves out attributes which do not hold for both arrays.
func (f *fit) alike(along int) (leave func(), err error) {
	old, a := f.old, f.a
	was, is := old.Document, a.Document
	kept := old.coord != nil // as values, which are compared or encoded anew
	retyped := old.retypes(a)
	for _, x := range []struct {
		what       string
		differ     bool
		old, fresh any
	}{
		{"type", !retyped && !sameType(was, is), was.DataType.Name, is.DataType.Name},
		{"number of axes", len(was.Shape) != len(is.Shape), len(was.Shape), len(is.Shape)},
		{"fill value", !retyped && !sameFill(was, is), string(was.FillValue), string(is.FillValue)},
		{"dimensions", !slices.EqualFunc(was.DimensionNames, is.DimensionNames, sameName), namesOf(was), namesOf(is)},
		{"codecs", !kept && !retyped && !sameDecoding(was, is), codecNames(was), codecNames(is)},
	} {
		if x.differ {
			return nil, f.mismatch("its %s: %v, and in %s it is %v", x.what, x.fresh, old.last, x.old)
		}
	}
	for i := range is.Shape {
		if i == along {
			continue
		}
		was, is := old.Grid.Axis(i), a.Grid.Axis(i)
		if was.Extent() != is.Extent() {
			return nil, f.mismatch("axis %s has %s, and in %s it has %d", axisText(a, i), quantity.Count(is.Extent(), "elements"), old.last, was.Extent())
		}
		// Values are cut into chunks anew. Bytes of files stay in theirs.
		if !kept && !sameEdges(was, is) {
			return nil, f.mismatch("axis %s has chunks of %s, and in %s of %s", axisText(a, i), is, old.last, was)
		}
	}
	return f.meaning()
}

// meaning checks that elements of the part mean what those of the array mean, by
// their attributes ([cf.Statements]). It returns a function that leaves out those which
// do not hold for both.
func (f *fit) meaning() (leave func(), err error) {
	old, a := f.old, f.a
	if bytes.Equal(old.Document.Attributes, a.Document.Attributes) { // as in most files
		return func() {}, nil
	}
	was, err := cf.StatementsOf(old.Document.Attributes)
	if err != nil {
		return nil, err
	}
	is, err := cf.StatementsOf(a.Document.Attributes)
	if err != nil {
		return nil, err
	}
	// Values are converted to the attributes of the array that is there, so these
	// attributes may differ.
	for _, name := range old.converts(a, f.part.Manifest) {
		delete(is, name)
		if v := was[name]; !v.IsZero() {
			is[name] = v
		}
	}
	// Tiles of a mosaic have tie points of their own, which differ as they should.
	if old.along >= 0 && continues(was, is, f.how.Concat, old.extent()) {
		is[tiepoint] = was[tiepoint]
	}
	faults, others := was.Compare(is)
	if len(faults) > 0 {
		return nil, f.mismatch("%s%s", was.Differ(is, faults, old.last), a.wayOut(faults))
	}
	raw, err := was.Without(old.Document.Attributes, others, is)
	if err != nil || len(others) == 0 {
		return func() {}, err
	}
	doc, err := old.Document.WithAttributes(raw)
	return func() {
		old.Document = doc
		// What only later files have was never there, and differs in each of them.
		others = slices.DeleteFunc(others, func(name string) bool { return slices.Contains(old.left, name) })
		if old.left = append(old.left, others...); len(others) > 0 {
			f.notes.add("%s: attributes differ between %s and %s, and are left out: %s", a.Path, old.last, f.part.Name, someOf(others))
		}
	}, err
}

// sameGroups checks that groups of the part do not say otherwise what elements mean, as
// the primary header of a FITS file may.
func (j *Joined) sameGroups(p *Part) error {
	for _, g := range p.Manifest.Groups {
		i := slices.IndexFunc(j.m.Groups, func(o Group) bool { return o.Path == g.Path })
		if i < 0 || j.join.merges() || bytes.Equal(j.m.Groups[i].Document.Attributes, g.Document.Attributes) {
			continue
		}
		was, err := cf.StatementsOf(j.m.Groups[i].Document.Attributes)
		if err != nil {
			return err
		}
		is, err := cf.StatementsOf(g.Document.Attributes)
		if err != nil {
			return err
		}
		if faults, _ := was.Inherited().Compare(is.Inherited()); len(faults) > 0 {
			return mismatch(p.Name, "/"+g.Path, "%s", was.Differ(is, faults, j.first))
		}
	}
	return nil
}

// wayOut says how files can be joined whose attributes differ, if a coordinate can have
// their values.
func (a *Array) wayOut(names []string) string {
	for _, p := range a.points {
		if slices.Contains(p.Attributes, names[0]) {
			return fmt.Sprintf("; concatenate the files along %s (--concat %s)", p.Name, p.Name)
		}
	}
	return ""
}

// someOf lists the first names.
func someOf(names []string) string {
	const most = 6
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func sameType(a, b *metadata.Array) bool {
	return a.DataType.Name == b.DataType.Name && bytes.Equal(a.DataType.Configuration, b.DataType.Configuration)
}

// retypes reports whether the values of an array of another type are converted to that
// of the one that is there: of coordinates and small arrays, which are compared, and of
// arrays of one axis that grow.
func (n *joined) retypes(a *Array) bool {
	// Text and structures have no conversion.
	if sameType(n.Document, a.Document) || !hasNumbers(n.Document) || !hasNumbers(a.Document) {
		return false
	}
	_, small := sizeOf(a, mostCoordinate)
	return n.coord != nil || small && n.along == 0 && len(a.Document.Shape) == 1
}

// converts returns the attributes of an array that say how its values are stored, which
// are converted to what those of the one that is there say.
func (n *joined) converts(a *Array, m *Manifest) (names []string) {
	if n.coord != nil && n.along >= 0 {
		names = append(names, "units")
	}
	if n.retypes(a) {
		names = append(names, missing.FillValue, missing.Value)
	}
	// Times that files repeat are converted to be compared.
	if n.coord != nil && n.coord.isTime {
		if t := timesOf(a, boundsOf(a, m)); t.isTime && t.units.CanBe(n.coord.units) {
			names = append(names, "units", "calendar")
		}
	}
	return names
}

// sameFill reports whether two arrays of one type have the same fill value, in whatever
// spelling.
func sameFill(a, b *metadata.Array) bool {
	if bytes.Equal(a.FillValue, b.FillValue) {
		return true
	}
	t, err := dtype.Parse(a.DataType.Name, a.DataType.Configuration)
	if err != nil {
		return false
	}
	x, err := t.ParseFill(a.FillValue)
	y, otherErr := t.ParseFill(b.FillValue)
	return err == nil && otherErr == nil && bytes.Equal(x, y)
}

// sameDecoding reports whether chunks of two arrays have the same codecs, with or without
// the checksum of zstd: it is in the chunks, and every decoder reads both. How hard a
// codec has compressed does not matter either.
func sameDecoding(a, b *metadata.Array) bool {
	return slices.EqualFunc(coding.WithoutChecksums(withoutEfforts(a.Codecs)), coding.WithoutChecksums(withoutEfforts(b.Codecs)), metadata.Extension.Equal)
}

// admit keeps the codecs true after an array was added: they promise no checksums that
// its chunks lack. The levels of compression stay those of the first array.
func (n *joined) admit(a *Array) {
	// Every decoder of zstd reads chunks with and without a checksum. The document must
	// not promise one that some chunks lack.
	if !slices.EqualFunc(withoutEfforts(n.Document.Codecs), withoutEfforts(a.Document.Codecs), metadata.Extension.Equal) {
		doc := *n.Document
		doc.Codecs = coding.WithoutChecksums(doc.Codecs)
		n.Document = &doc
	}
}

// efforts are the members of codecs that say how hard they compress. Chunks of all values
// decode alike.
var efforts = map[string]string{
	"gzip": "level", "zstd": "level", "numcodecs.zlib": "level", "numcodecs.gzip": "level", "numcodecs.zstd": "level", "numcodecs.bz2": "level",
	"blosc": "clevel", "numcodecs.blosc": "clevel", "numcodecs.lz4": "acceleration",
	"imagecodecs_zlib": "level", "imagecodecs_deflate": "level", "imagecodecs_zstd": "level",
}

// withoutEfforts returns codecs that do not say how hard they compress.
func withoutEfforts(codecs []metadata.Extension) []metadata.Extension {
	list := slices.Clone(codecs)
	for i, e := range list {
		member := efforts[e.Name]
		if member == "" {
			continue
		}
		configuration := e.Configuration
		if configuration == nil {
			configuration = []byte("{}")
		}
		// The codec reports a configuration that cannot be read.
		if c, err := metadata.SetAttribute(configuration, member, []byte("1")); err == nil {
			list[i].Configuration = c
		}
	}
	return list
}

// sameEdges reports whether two axes of one extent have the same chunks.
func sameEdges(a, b grid.Axis) bool {
	x, regular := oneEdge(a)
	y, also := oneEdge(b)
	return a.Equal(b) || regular && also && x == y
}

func codecNames(doc *metadata.Array) (names []string) {
	for _, c := range doc.Codecs {
		names = append(names, fmt.Sprintf("%s%s", c.Name, c.Configuration))
	}
	return names
}

// repeats checks that a large array is the one that is there already, if the files are to
// be compared as a whole.
func (f *fit) repeats(ctx context.Context) error {
	old, a := f.old, f.a
	switch {
	case old.unread != nil:
		return f.uncompared(old.unread)
	case !f.how.Compare && f.how.merges():
		return f.mismatch("%s has it, too, and it is too large to compare by itself: compare all values (--compare), or give --concat or --stack a dimension", old.last)
	case !f.how.Compare:
		f.notes.add("%s: its values were not compared with those in %s, which count; --compare reads and compares them", a.Path, old.last)
		return nil
	}
	sum, err := f.part.digest(ctx, a.Path)
	if undecodable(err) {
		return f.uncompared(err)
	}
	if err != nil {
		return f.failed(err)
	}
	if !bytes.Equal(sum, old.digest) {
		return f.mismatch("its values differ from those in %s, and it does not have the dimension of the files: leave it out ("+remedy.Without+"), or join files that agree", old.last)
	}
	return nil
}

// uncompared notes that the arrays cannot be compared. In a merge it may be another one.
func (f *fit) uncompared(why error) error {
	if f.how.merges() {
		return f.mismatch("%s has it, too, and they cannot be compared: %v", f.old.last, why)
	}
	f.notes.add("%s: its values in %s were not compared with those in %s, which count: %v", f.a.Path, f.part.Name, f.old.last, why)
	return nil
}

// The attributes that say where a GeoTIFF image lies (OGC 19-008r4, 7.4): the point of
// the raster i, j, k is at x, y, z of the model, and pixels have a size.
const (
	tiepoint   = "ModelTiepoint"
	pixelScale = "ModelPixelScale"
)

// continues reports whether an image begins where another one ends, which has n pixels
// along an axis named y or x. Then the tie point of the other one holds for both.
func continues(s, o cf.Statements, axis string, n int64) bool {
	was, is := numbersIn(s[tiepoint]), numbersIn(o[tiepoint])
	scale := numbersIn(s[pixelScale])
	// One tie point and a scale place an image without rotation.
	if len(was) != 6 || len(is) != 6 || len(scale) != 3 || !slices.Equal(scale, numbersIn(o[pixelScale])) {
		return false
	}
	x, y := origin(was, scale)
	switch axis {
	case "x":
		x += float64(n) * scale[0]
	case "y": // rows go down, against the axis of the model
		y -= float64(n) * scale[1]
	default:
		return false
	}
	atX, atY := origin(is, scale)
	const part = 1e-3 // of a pixel: positions are rounded
	return math.Abs(atX-x) <= part*math.Abs(scale[0]) && math.Abs(atY-y) <= part*math.Abs(scale[1])
}

// origin returns where the first corner of an image is.
func origin(tie, scale []float64) (x, y float64) {
	return tie[3] - tie[0]*scale[0], tie[4] + tie[1]*scale[1]
}

// numbersIn returns a list of numbers, nil if it is none.
func numbersIn(v strictjson.Value) (list []float64) {
	if v.Kind() != strictjson.Array {
		return nil
	}
	for _, e := range v.Elements() {
		x, err := e.Float64()
		if err != nil {
			return nil
		}
		list = append(list, x)
	}
	return list
}
