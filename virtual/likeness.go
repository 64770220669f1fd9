// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
)

// alike checks that an array fits the one that is there already, except along an axis.
// It returns a function that leaves out attributes which do not hold for both.
func (j *Joined) alike(p *Part, old *joined, a *Array, along int) (leave func(), err error) {
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
			return nil, mismatch(p.Name, a.Path, "its %s: %v, and in %s it is %v", x.what, x.fresh, old.last, x.old)
		}
	}
	for i := range is.Shape {
		if i == along {
			continue
		}
		was, is := old.Grid.Axis(i), a.Grid.Axis(i)
		if was.Extent() != is.Extent() {
			return nil, mismatch(p.Name, a.Path, "axis %s has %s, and in %s it has %d", axisText(a, i), quantity.Count(is.Extent(), "elements"), old.last, was.Extent())
		}
		if !kept && !sameEdges(was, is) {
			return nil, mismatch(p.Name, a.Path, "axis %s has chunks of %s, and in %s of %s", axisText(a, i), is, old.last, was)
		}
	}
	return j.meaning(p, old, a)
}

// meaning checks that elements of the part mean what those of the array mean, by
// their attributes ([cf.Statements]). It returns a function that leaves out those which
// do not hold for both.
func (j *Joined) meaning(p *Part, old *joined, a *Array) (leave func(), err error) {
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
	for _, name := range old.converts(a, p.Manifest) {
		delete(is, name)
		if v := was[name]; !v.IsZero() {
			is[name] = v
		}
	}
	if old.along >= 0 && continues(was, is, j.join.Concat, old.extent()) {
		is[tiepoint] = was[tiepoint]
	}
	faults, others := was.Compare(is)
	if len(faults) > 0 {
		return nil, mismatch(p.Name, a.Path, "%s%s", was.Differ(is, faults, old.last), a.wayOut(faults))
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
			j.note("%s: attributes differ between %s and %s, and are left out: %s", a.Path, old.last, p.Name, someOf(others))
		}
	}, err
}

// extent returns the length of the axis along which the array grows, so far.
func (n *joined) extent() (length int64) {
	for _, axis := range n.axes {
		length += axis.Extent()
	}
	return length
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

func sameName(a, b *string) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

func namesOf(doc *metadata.Array) []string {
	names := make([]string, len(doc.DimensionNames))
	for i, n := range doc.DimensionNames {
		if n != nil {
			names[i] = *n
		}
	}
	return names
}

func codecNames(doc *metadata.Array) (names []string) {
	for _, c := range doc.Codecs {
		names = append(names, fmt.Sprintf("%s%s", c.Name, c.Configuration))
	}
	return names
}

func axisText(a *Array, i int) string {
	if names := namesOf(a.Document); i < len(names) && names[i] != "" {
		return fmt.Sprintf("%d (%s)", i, names[i])
	}
	return fmt.Sprint(i)
}

// digestBytes is how many bytes of elements are read at once for a digest, unless a chunk
// has more.
const digestBytes = 64 << 20

// digest returns a hash of all elements of an array of a part, which it reads piece by
// piece. Arrays with the same chunks have the same digest if and only if their elements
// are equal.
func (p *Part) digest(ctx context.Context, path string) ([]byte, error) {
	if p.array == nil {
		return nil, errors.New("its elements cannot be read")
	}
	a, err := p.array(ctx, path)
	if err != nil {
		return nil, err
	}
	sum, buffer := sha256.New(), []byte(nil)
	for box := range boxesOf(a.Grid(), widthOf(a.Type()), digestBytes) {
		if buffer, err = elementsIn(ctx, a, box, buffer[:0]); err != nil {
			return nil, err
		}
		sum.Write(buffer)
	}
	return sum.Sum(nil), nil
}

// boxesOf yields boxes that cover an array, in the order of their first elements. Each
// consists of whole chunks, and has at most so many bytes unless it is one chunk.
func boxesOf(g *grid.Grid, width, most int64) iter.Seq[selection.Box] {
	shape, count := g.Shape(), g.Chunks()
	split := 0 // the boxes have one chunk along the axes before this one, and all of the others
	// Boxes of whole rows are read by fewer requests than single chunks.
	for split < len(shape) && !fitsIn(g, width, split, most) {
		split++
	}
	return func(yield func(selection.Box) bool) {
		if slices.Contains(shape, 0) {
			return
		}
		boxes, _ := checked.Product(count[:split]...)
		index := make([]int64, len(count))
		for k := range boxes {
			indexOf(k, count[:split], 0, index[:split])
			cell, _ := g.Chunk(index) // it is in the grid
			length := slices.Clone(shape)
			copy(length, cell.Logical[:split])
			if !yield(boxOf(cell.Start, length)) {
				return
			}
		}
	}
}

// fitsIn reports whether boxes with one chunk along the first axes, and with all elements
// along the others, have at most so many bytes.
func fitsIn(g *grid.Grid, width int64, first int, most int64) bool {
	n := width
	for i, extent := range g.Shape() {
		if axis := g.Axis(i); i < first {
			extent = axis.Longest(grid.Interval{Stop: axis.Chunks()})
		}
		var ok bool
		if n, ok = checked.Mul(n, extent); !ok || n > most {
			return false
		}
	}
	return true
}

// repeats checks that a large array of a part is the one that is there already, if the
// files are to be compared as a whole.
func (j *Joined) repeats(ctx context.Context, p *Part, old *joined, a *Array) error {
	switch {
	case old.unread != nil:
		return j.uncompared(p, old, a, old.unread)
	case !j.join.Compare && j.join.merges():
		return mismatch(p.Name, a.Path, "%s has it, too, and it is too large to compare by itself: compare all values (--compare), or give --concat or --stack a dimension", old.last)
	case !j.join.Compare:
		j.note("%s: its values were not compared with those in %s, which count; --compare reads and compares them", a.Path, old.last)
		return nil
	}
	sum, err := p.digest(ctx, a.Path)
	if undecodable(err) {
		return j.uncompared(p, old, a, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", p.Name, a.Path, err)
	}
	if !bytes.Equal(sum, old.digest) {
		return mismatch(p.Name, a.Path, "its values differ from those in %s, and it does not have the dimension of the files: leave it out ("+remedy.Without+"), or join files that agree", old.last)
	}
	return nil
}

// uncompared notes that an array of a part, which is there already, cannot be compared.
// In a merge it may be another one.
func (j *Joined) uncompared(p *Part, old *joined, a *Array, why error) error {
	if j.join.merges() {
		return mismatch(p.Name, a.Path, "%s has it, too, and they cannot be compared: %v", old.last, why)
	}
	j.note("%s: its values in %s were not compared with those in %s, which count: %v", a.Path, p.Name, old.last, why)
	return nil
}

// elementsIn appends the elements of a part of an array, in host byte order. Texts have
// their lengths before them.
func elementsIn(ctx context.Context, a *zarr.Array, sel selection.Box, dst []byte) ([]byte, error) {
	if a.Type().Variable() {
		b, err := zarr.Read[string](ctx, a, sel)
		return appendTexts(dst, b.Data), err
	}
	n := int64(a.Type().Size())
	for _, x := range sel {
		n *= x[1] - x[0]
	}
	dst = slices.Grow(dst, int(n))[:len(dst)+int(n)]
	return dst, a.ReadBytes(ctx, sel, dst[len(dst)-int(n):])
}
