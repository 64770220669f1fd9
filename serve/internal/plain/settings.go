// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/metadata"
)

// Settings say how a view shows its arrays. The zero value is the view "regular".
type Settings struct {
	// Format is the version of the Zarr format, 2 or 3. 0 is 3.
	Format int
	// Chunks is the chunk shape of the arrays of this rank, in elements. Other arrays
	// have a shape that is proposed from their own chunks. So do all if it is nil.
	Chunks []int64
	// Codec is "zstd", "gzip" or "none". "" is "zstd".
	Codec string
	// Coarsen has factors, at least 2, by the names of dimensions, or by the numbers of
	// axes for arrays whose dimensions have no names. An element of the view stands for
	// a block of so many along the axes that an array has. Nil is no factor.
	Coarsen map[string]int64
	// Method is how elements are made of blocks: [reduction.Nearest] everywhere, or
	// [reduction.Mean] where the type has means. "" is Mean, too, but not for names.
	Method reduction.Method
}

// names are the names of views, by format.
var names = map[int]string{2: "v2", 3: "regular"}

// ParseSettings parses the name of a view and its options, such as
// "regular,chunks=64x64,codec=gzip". It returns the options that it does not know.
func ParseSettings(text string) (s Settings, others map[string]string, err error) {
	name, options, _ := strings.Cut(text, ",")
	for format, is := range names {
		if is == name {
			s.Format = format
		}
	}
	if s.Format == 0 {
		return s, nil, fmt.Errorf("there is no view %q: the views are regular and v2", name)
	}
	seen := map[string]bool{}
	for option := range strings.SplitSeq(options, ",") {
		if options == "" {
			break
		}
		key, value, _ := strings.Cut(option, "=")
		if seen[key] {
			return s, nil, fmt.Errorf("the view has the option %q twice", key)
		}
		seen[key] = true
		switch key {
		case "chunks":
			s.Chunks, err = parseShape(value)
		case "codec":
			if s.Codec = value; !slices.Contains(codecNames, value) {
				err = fmt.Errorf("there is no codec %q for views: the codecs are %s", value, strings.Join(codecNames, ", "))
			}
		case "coarsen":
			s.Coarsen, err = parseCoarsen(value)
		case "method":
			if s.Method = reduction.Method(value); s.Method != reduction.Mean && s.Method != reduction.Nearest {
				err = fmt.Errorf("there is no method %q for views: the methods are mean and nearest", value)
			}
		default:
			if others == nil {
				others = map[string]string{}
			}
			others[key] = value
		}
		if err != nil {
			return s, nil, err
		}
	}
	if s.Method != "" && !seen["coarsen"] {
		return s, nil, fmt.Errorf("method= says how arrays are coarsened: give the factors, too, such as coarsen=lat:8+lon:8")
	}
	if len(s.Coarsen) == 0 {
		s.Coarsen, s.Method = nil, ""
	}
	if s.Codec == codecNames[0] {
		s.Codec = ""
	}
	return s, others, nil
}

// codecNames are the codecs of views. The first one is the default.
var codecNames = []string{"zstd", "gzip", "none"}

// parseShape parses a shape such as "64x64".
func parseShape(text string) ([]int64, error) {
	var shape []int64
	for edge := range strings.SplitSeq(text, "x") {
		n, err := strconv.ParseInt(edge, 10, 64)
		if err != nil || n < 1 || strconv.FormatInt(n, 10) != edge {
			return nil, fmt.Errorf("%q is no chunk shape: give the length of each axis, such as chunks=64x64", text)
		}
		if shape = append(shape, n); len(shape) > grid.MaxRank {
			return nil, fmt.Errorf("the chunk shape has more than %s", quantity.Count(grid.MaxRank, "axes"))
		}
	}
	return shape, nil
}

// String returns the name of the view and its options, which [ParseSettings] parses.
// Equal settings have equal strings.
func (s Settings) String() string {
	text := names[s.format()]
	if s.Chunks != nil {
		edges := make([]string, len(s.Chunks))
		for i, n := range s.Chunks {
			edges[i] = strconv.FormatInt(n, 10)
		}
		text += ",chunks=" + strings.Join(edges, "x")
	}
	if s.Codec != "" && s.Codec != codecNames[0] {
		text += ",codec=" + s.Codec
	}
	if s.Coarsen != nil {
		text += ",coarsen=" + coarsening(s.Coarsen)
	}
	if s.Method != "" {
		text += ",method=" + string(s.Method)
	}
	return text
}

// IsPinned reports whether the settings have more than a choice of few: there may be any
// number of such views.
func (s Settings) IsPinned() bool { return s.Chunks != nil || len(s.Coarsen) > 0 }

func (s Settings) format() int {
	if s.Format == 0 {
		return 3
	}
	return s.Format
}

// keys returns the key encoding. Every reader of format 2 knows keys with periods.
func (s Settings) keys() metadata.KeyEncoding {
	if s.format() == 2 {
		return metadata.V2Dot
	}
	return metadata.DefaultSlash
}

// zstdLevel is quick. A view is encoded for one request, so speed counts more than size.
const zstdLevel = 1

// chain returns the codecs for elements of a type.
func (s Settings) chain(t dtype.Type) []metadata.Extension {
	chain := []metadata.Extension{codec.Bytes("little")}
	switch {
	case t.Variable():
		chain[0] = codec.VariableLength(t)
	case t.Size() == 1:
		chain[0] = codec.Bytes("")
	}
	switch s.Codec {
	case "gzip":
		chain = append(chain, codec.Gzip(zstdLevel))
	case "", "zstd":
		chain = append(chain, codec.ZstdChecksum(zstdLevel, false))
	}
	return chain
}

// A chunk shape is proposed so that a chunk has between leastProposed and mostProposed
// bytes: a browser fetches few of them for a picture, and a table is not cut into many.
const (
	leastProposed = 256 << 10
	mostProposed  = 4 << 20
	mostJoined    = 1024 // units of the source in one proposed chunk, about
)

// edges returns the chunk shape of an array whose source is decoded in cells of units. A
// proposed one has at most most bytes.
func (s Settings) edges(units *grid.Grid, size int, most int64, l Limits) ([]int64, error) {
	if s.Chunks != nil && len(s.Chunks) == units.Rank() {
		return slices.Clone(s.Chunks), checkEdges(s.Chunks, units, size, l)
	}
	each := slices.Repeat([]int64{1}, units.Rank())
	return propose(units, each, size, func(edges []int64) bool { return product(edges, size) <= most }), nil
}

// mostFactor is the most bytes that are decoded for one byte of a chunk.
const mostFactor = 1024

// checkEdges returns an error for a chunk shape that costs too much.
func checkEdges(edges []int64, units *grid.Grid, size int, l Limits) error {
	n, ok := checked.Product(append(slices.Clone(edges), int64(size))...)
	if !ok || n > l.Chunk {
		return refuse(fault.ErrInvalidArgument, "a chunk of a view has at most %s, and one of shape %v has more: give a smaller one with chunks=", quantity.Count(l.Chunk, "bytes"), edges)
	}
	d := &demand{units: units, block: slices.Repeat([]int64{1}, len(edges))}
	unit, all, covers := int64(size), int64(size), true
	for i, edge := range edges {
		a := units.Axis(i)
		longest := a.Longest(grid.Interval{Stop: a.Cells()})
		covers = covers && edge >= a.Extent()
		_, within, _ := d.along(i, edge)
		var fine bool
		unit, ok = checked.Mul(unit, max(1, min(longest, a.Extent())))
		if all, fine = checked.Mul(all, within); !ok || !fine {
			ok = false
			break
		}
	}
	// What fits into a part of the memory stays there for the chunks beside this one.
	if !covers && (!ok || unit/mostFactor > n || all > max(n*mostFactor, l.Source)) {
		return refuse(fault.ErrInvalidArgument, "a chunk of shape %v is less than a %dth of what has to be decoded for it: give a larger one with chunks=", edges, mostFactor)
	}
	return nil
}

// refuse returns a refusal of a kind.
func refuse(kind error, format string, args ...any) error {
	return &Refusal{fmt.Errorf("%w: "+format, append([]any{kind}, args...)...)}
}

// propose returns a chunk shape that follows the cells of units, where one element stands
// for a block of them, if there is one that fits.
func propose(units *grid.Grid, block []int64, size int, fits func([]int64) bool) []int64 {
	edges, joined := make([]int64, units.Rank()), int64(1)
	for i := range edges {
		usual := typical(units.Axis(i))
		edges[i] = checked.CeilDiv(usual, block[i])
		joined = min(mostJoined, joined*max(1, block[i]/usual))
	}
	for !fits(edges) {
		i := slices.Index(edges, slices.Max(append(slices.Clone(edges), 1)))
		if i < 0 || edges[i] == 1 {
			break // one element is larger
		}
		edges[i] = (edges[i] + 1) / 2
	}
	for ; product(edges, size) < leastProposed && joined < mostJoined; joined *= 2 {
		i := longestAxis(units, block, edges)
		if i < 0 {
			break
		}
		if edges[i] *= 2; !fits(edges) {
			edges[i] /= 2
			break
		}
	}
	return edges
}

// typical returns the length of the cells that have the most elements of an axis.
func typical(a grid.Axis) int64 {
	elements := map[int64]int64{}
	best := int64(0)
	for run := range a.Encoded() {
		elements[run.Length] += run.Length * min(run.Count, a.Extent()/max(1, run.Length)+1)
		if best == 0 || elements[run.Length] > elements[best] {
			best = run.Length
		}
		if len(elements) > mostJoined {
			break // no length is typical
		}
	}
	return max(1, best)
}

// longestAxis returns the axis that has the most chunks, or -1 if each has one.
func longestAxis(units *grid.Grid, block, edges []int64) int {
	best, most := -1, int64(1)
	for i, edge := range edges {
		if n := checked.CeilDiv(checked.CeilDiv(units.Axis(i).Extent(), block[i]), edge); n > most {
			best, most = i, n
		}
	}
	return best
}

// spec returns the array of the view for an array of format 3 that is its source by
// meaning.
func (s Settings) spec(of zarr.Spec, edges []int64) zarr.Spec {
	of.Format, of.Grid, of.Chunks, of.InnerChunks = s.format(), nil, grid.Chunks(edges...), nil
	of.Codecs, of.KeyEncoding = s.chain(of.Type), s.keys()
	return of
}
