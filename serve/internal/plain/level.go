// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
)

// mostCoarse is the largest number by which an axis is divided.
const mostCoarse = 1 << 16

// parseCoarsen parses the factors of dimensions, such as "lat:8+lon:8". It leaves out
// those that change nothing.
func parseCoarsen(text string) (map[string]int64, error) {
	factors, seen := map[string]int64{}, map[string]bool{}
	for part := range strings.SplitSeq(text, "+") {
		at := strings.LastIndex(part, ":")
		if at < 1 {
			return nil, fmt.Errorf("%q is no dimension with a factor: give each, such as coarsen=lat:8+lon:8", part)
		}
		name, digits := part[:at], part[at+1:]
		f, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || f < 1 || f > mostCoarse || strconv.FormatInt(f, 10) != digits {
			return nil, fmt.Errorf("%q is no factor: give one from 1 to %d for the dimension %q", digits, mostCoarse, name)
		}
		if seen[name] {
			return nil, fmt.Errorf("coarsen= has the dimension %q twice", name)
		}
		if seen[name] = true; len(seen) > grid.MaxRank {
			return nil, fmt.Errorf("coarsen= has more than %s", quantity.Count(grid.MaxRank, "dimensions"))
		}
		if f > 1 {
			factors[name] = f
		}
	}
	return factors, nil
}

// coarsening spells factors, in the order of their dimensions.
func coarsening(factors map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(factors)) {
		parts = append(parts, name+":"+strconv.FormatInt(factors[name], 10))
	}
	return strings.Join(parts, "+")
}

// axes returns the names of axes for [Settings.Coarsen]: those of the dimensions, or the
// numbers of the axes of an array whose dimensions have no names.
func axes(s *snapshot.Array) []string {
	if names := s.DimensionNames(); names != nil {
		return names
	}
	return numbered(s.Grid.Rank())
}

func numbered(rank int) []string {
	names := make([]string, rank)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// block returns the shape of the blocks of an array, or nil if it is not coarsened.
func (s Settings) block(names []string) []int64 {
	block, coarsened := make([]int64, len(names)), false
	for i, name := range names {
		block[i] = max(1, s.Coarsen[name])
		coarsened = coarsened || block[i] > 1
	}
	if !coarsened {
		return nil
	}
	return block
}

// unmatched returns an error if a dimension to be coarsened is not among names, or if no
// array has as many axes as the chunk shape. ranks are the numbers of axes of the arrays.
func (s Settings) unmatched(names map[string]bool, ranks map[int]bool) error {
	if s.Chunks != nil && len(ranks) > 0 && !ranks[len(s.Chunks)] {
		return refuse(fault.ErrInvalidArgument, "chunks= has %s, and no array has: their numbers of axes are %s", quantity.Count(len(s.Chunks), "axes"), listed(ranks))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Coarsen)) {
		if !names[name] {
			return refuse(fault.ErrInvalidArgument, "no array has the dimension %q of coarsen=: the dimensions are %s", name, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
		}
	}
	return nil
}

// listed returns numbers in order, such as "1, 2 and 3".
func listed(numbers map[int]bool) string {
	var text []string
	for _, n := range slices.Sorted(maps.Keys(numbers)) {
		text = append(text, strconv.Itoa(n))
	}
	return quantity.List(text...)
}

// setOf returns names as a set.
func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// level makes elements of a coarsened array from blocks of elements of its source.
type level struct {
	*reduction.Reducer
	method reduction.Method
	note   string
	// key changes with all that elements are made by, so that no chunk is taken for one
	// of other attributes.
	key string
}

// newLevel returns how elements of a state of the source are made, or nil if the array is
// not coarsened.
func (a *array) newLevel(ctx context.Context, s *snapshot.Array) (*level, error) {
	if a.block == nil {
		return nil, nil
	}
	// The numbers that readers see count: _Unsigned changes the sign of the stored ones.
	p, err := cf.PackingOf(ctx, a.source)
	if err != nil {
		return nil, err
	}
	filled, err := cf.MasksFill(ctx, a.source)
	if err != nil {
		return nil, err
	}
	l := &level{method: reduction.Nearest}
	note := "elements are the first ones of blocks of "
	if reduction.Supports(p.Type(), reduction.Mean) && a.view.settings.Method != reduction.Nearest {
		above, err := a.above(ctx)
		if err != nil {
			return nil, err
		}
		if a.view.settings.Method != "" || !reduction.AreNames(s.Type, s.Doc.Attributes, above) {
			l.method, note = reduction.Mean, "elements are means of blocks of "
		}
	}
	var along []string
	for i, name := range axes(s) {
		if a.block[i] > 1 {
			along = append(along, fmt.Sprintf("%d along %s", a.block[i], name))
		}
	}
	l.note = note + strings.Join(along, " and ")
	if l.method == reduction.Nearest {
		l.Reducer, l.key = &reduction.Reducer{Block: a.block}, string(l.method)
		return l, nil
	}
	absent := slices.Collect(cf.Missing(s.Doc, filled))
	l.key = fmt.Sprintf("%s %s %x", l.method, p.Type(), absent)
	l.Reducer, err = reduction.New(p.Type(), l.method, a.block, absent)
	return l, err
}

// above returns the attributes of the group that holds the source, or nil.
func (a *array) above(ctx context.Context) ([]byte, error) {
	path := a.source.Core().Node.Path
	if path.IsRoot() {
		return nil, nil
	}
	return cf.GroupAttributes(ctx, a.source, path.Parent().String())
}

// demand tells what a chunk of a coarsened array takes.
type demand struct {
	units *grid.Grid
	block []int64
	picks bool // one element of each block is read
	read  int  // the bytes of an element of the source
	held  int  // the bytes of memory for an element of a block
	made  int  // the bytes of memory for an element of the view
	shown int  // the bytes of an element of the view
	Limits
}

// newDemand returns what chunks of a level take.
func (a *array) newDemand(s *snapshot.Array, l *level, shown int) *demand {
	of := s.Type.Size()
	if s.Type.Variable() {
		of = shown
	}
	return &demand{
		units: s.Finest(), block: a.block, picks: l.method == reduction.Nearest, Limits: a.view.cache.Limits,
		read: of, held: reduction.Bytes(s.Type), made: of + 2*shown, shown: shown,
	}
}

// fits reports whether chunks of a shape are within the limits.
func (d *demand) fits(edges []int64) bool {
	bytes, ok := checked.Product(append(slices.Clone(edges), int64(d.shown))...)
	if !ok || bytes > d.Chunk {
		return false
	}
	decoded, memory, chunks := int64(d.read), int64(d.held), int64(1)
	for i, edge := range edges {
		span, within, count := d.along(i, edge)
		var fine [3]bool
		decoded, fine[0] = checked.Mul(decoded, within)
		memory, fine[1] = checked.Mul(memory, span)
		chunks, fine[2] = checked.Mul(chunks, count)
		if fine != [3]bool{true, true, true} {
			return false
		}
	}
	if d.picks {
		memory = 0 // picked elements go to their places
	} else if n, ok := checked.Product(d.block...); !ok || n > reduction.MostBlock {
		return false
	}
	return memory+bytes/int64(d.shown)*int64(d.made) <= d.Source && chunks <= mostChunks && decoded <= max(d.Source, bytes*mostFactor)
}

// along returns the elements of an axis that a chunk is made from, those of the units
// that are decoded for it at most, and the number of these units, about.
func (d *demand) along(i int, edge int64) (span, within, count int64) {
	a := d.units.Axis(i)
	extent, f := max(1, a.Extent()), d.block[i]
	if span = extent; edge <= extent/f {
		span = edge * f
	}
	longest := max(1, min(extent, a.Longest(grid.Interval{Stop: a.Cells()})))
	step := min(extent, typical(a))
	switch count = (span+step-2)/step + 1; {
	case a.IsRegular() && step%span == 0:
		count = 1
	case a.IsRegular() && span%step == 0:
		count = span / step
	}
	within = count * longest
	if !a.IsRegular() {
		within = span + 2*(longest-1)
	}
	if d.picks {
		within, count = min(within, edge*longest), min(count, edge)
	}
	return span, min(extent, within), min(a.Cells(), count)
}

// coarseEdges returns the chunk shape of a coarsened array. A proposed one has at most
// most bytes.
func (s Settings) coarseEdges(d *demand, most int64, names []string) ([]int64, error) {
	find := func() ([]int64, bool) {
		edges := s.Chunks
		if len(edges) != len(d.block) {
			edges = propose(d.units, d.block, d.shown, func(edges []int64) bool {
				return d.fits(edges) && product(edges, d.shown) <= most
			})
		}
		return slices.Clone(edges), d.fits(edges)
	}
	edges, ok := find()
	if ok {
		return edges, nil
	}
	// The largest factors cost the most.
	less := maps.Clone(s.Coarsen)
	d.block = slices.Clone(d.block)
	for !ok && slices.Max(d.block) > 2 {
		i := slices.Index(d.block, slices.Max(d.block))
		d.block[i] /= 2
		less[names[i]] = d.block[i]
		_, ok = find()
	}
	advice := "ask for less"
	switch {
	case ok && s.Chunks != nil:
		advice = "give smaller chunks, or smaller factors such as coarsen=" + coarsening(less)
	case ok:
		advice = "give smaller factors, such as coarsen=" + coarsening(less)
	case s.Chunks != nil:
		advice = "give smaller chunks= and factors"
	}
	return nil, refuse(fault.ErrInvalidArgument, "a chunk of the view would be made from more than %s or %s, or from blocks of more than %s: %s",
		quantity.Count(d.Source, "bytes"), quantity.Count(mostChunks, "chunks"), quantity.Count(reduction.MostBlock, "elements"), advice)
}

// product returns the bytes of a chunk, or the largest number if they are more.
func product(edges []int64, size int) int64 {
	return checked.Capped(append(slices.Clone(edges), int64(size))...)
}

// placing are attributes that tell where the elements of an array lie by their indices:
// the scales of images, and the affine transformations of GDAL and GeoZarr.
var placing = []string{"multiscales", "GeoTransform", "spatial:transform", "spatial:shape"}

// unplaced returns attributes without those that are wrong for other indices than those
// of the source, and the names of these.
func unplaced(attributes []byte) (rest []byte, gone []string, err error) {
	for _, name := range placing {
		if hasAttribute(attributes, name) {
			gone = append(gone, name)
			if attributes, err = metadata.UnsetAttribute(attributes, name); err != nil {
				return nil, nil, err
			}
		}
	}
	// OME-Zarr 0.5 has its own object.
	if ome, _, _ := metadata.Attribute(attributes, "ome"); hasAttribute(ome, "multiscales") {
		gone = append(gone, "ome.multiscales")
		if ome, err = metadata.UnsetAttribute(ome, "multiscales"); err == nil {
			attributes, err = metadata.SetAttribute(attributes, "ome", ome)
		}
	}
	return attributes, gone, err
}

// unplacedNote says which attributes are left out.
func unplacedNote(names []string) string {
	return strings.Join(names, ", ") + " left out: positions and scales of elements are those of the source"
}

func hasAttribute(object []byte, name string) bool {
	_, found, err := metadata.Attribute(object, name)
	return found && err == nil
}
