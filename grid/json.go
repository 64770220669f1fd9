// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strictjson"
)

// ParseOptions permits experimental forms. A nil *ParseOptions permits none.
type ParseOptions struct {
	// EncodedShapes permits encoded_chunk_shapes. This is an experiment that
	// zarr-extensions pull request 75 proposes; it may change before it is accepted.
	EncodedShapes bool
}

// Parse returns the grid of an array of the given shape. name and configuration, a JSON
// object, come from metadata. The kind of grid is kept: a rectilinear grid of equal edges
// stays rectilinear. Forms that programs wrote before are read as the specified grid that
// they stand for ([Grid.Notes]).
//
// Parse returns an error that wraps [ErrUnsupported] if it does not know the name or the
// form of the grid. Other faults wrap [ErrInvalid] or [ErrOverflow]. If a value is at
// fault, the error has its JSON pointer.
//
// Sources: zarr-specs v3 core, "Regular grids"; zarr-extensions, chunk-grids/rectilinear.
func Parse(shape []int64, name string, configuration []byte, o *ParseOptions) (*Grid, error) {
	if o == nil {
		o = new(ParseOptions)
	}
	cuts := o.reader(name)
	// The old name "rectangular" has no reader here: the table of older forms reads it.
	if cuts == nil && name != rectangularName {
		return nil, fmt.Errorf("%w: chunk grid %q", ErrUnsupported, strictjson.Abbreviate(name))
	}
	// zarr-specs requires the member for every specified grid.
	if configuration == nil {
		return nil, invalid("chunk grid %q needs a configuration", name)
	}
	v, err := strictjson.Parse(configuration, strictjson.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	// Older forms come first, because two of them are named "regular".
	if f := olderOf(name, v); f != nil {
		return f.read(shape, v)
	}
	c, err := cuts(v)
	if err != nil {
		return nil, err
	}
	return newGrid(name, shape, c)
}

// reader returns the function that reads the configuration of a grid, or nil if the name
// is unknown.
func (o *ParseOptions) reader(name string) func(strictjson.Value) ([]Cut, error) {
	switch name {
	case regularName:
		return regularCuts
	case boundedName:
		return boundedCuts
	case rectilinearName:
		return o.rectilinearCuts
	}
	return nil
}

func regularCuts(v strictjson.Value) ([]Cut, error) {
	m, err := members(v, 1, "chunk_shape")
	if err != nil {
		return nil, err
	}
	return axisCuts(m[0], everyCut)
}

func boundedCuts(v strictjson.Value) ([]Cut, error) {
	cuts, err := regularCuts(v)
	for i := range cuts {
		cuts[i].trimmed = true
	}
	return cuts, err
}

func (o *ParseOptions) rectilinearCuts(v strictjson.Value) ([]Cut, error) {
	m, err := members(v, 2, "kind", "chunk_shapes", "encoded_chunk_shapes")
	if err != nil {
		return nil, err
	}
	kind, shapes, encoded := m[0], m[1], m[2]
	if name, err := kind.Str(); err != nil || name != "inline" {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, kind.Errorf("kind %s of a rectilinear grid; only \"inline\" is defined", kind.Brief()))
	}
	cuts, err := axisCuts(shapes, shapeCut)
	if err != nil || encoded.IsZero() {
		return cuts, err
	}
	// An experiment whose form may still change must not be read by accident.
	if !o.EncodedShapes {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, encoded.Errorf("encoded_chunk_shapes are an experiment "+
			"(zarr-extensions pull request 75, not yet accepted): permit them by "+remedy.EncodedShapes))
	}
	lengths, err := axisCuts(encoded, shapeCut)
	if err != nil {
		return nil, err
	}
	if len(lengths) != len(cuts) {
		return nil, located(encoded, "%s, chunk_shapes has %d", quantity.Count(len(lengths), "axes"), len(cuts))
	}
	for i := range cuts {
		cuts[i] = cuts[i].EncodedAs(lengths[i])
	}
	return cuts, nil
}

// members returns the named members of an object. The first ones are required, the others
// are optional, and no other members are permitted.
func members(v strictjson.Value, required int, names ...string) ([]strictjson.Value, error) {
	if v.Kind() != strictjson.Object {
		return nil, located(v, "configuration must be an object")
	}
	found := make([]strictjson.Value, len(names))
	for name, value := range v.Named() {
		i := slices.IndexFunc(names, func(n string) bool { return n == string(name) })
		if i < 0 {
			return nil, located(value, "unknown member %q of the configuration, which has %q", strictjson.Abbreviate(name), names)
		}
		found[i] = value
	}
	if slices.ContainsFunc(found[:required], strictjson.Value.IsZero) {
		return nil, located(v, "configuration must have the members %q", names[:required])
	}
	return found, nil
}

// axisCuts reads a list with one entry per axis.
func axisCuts(list strictjson.Value, cut func(strictjson.Value) (Cut, error)) ([]Cut, error) {
	if list.Kind() != strictjson.Array {
		return nil, located(list, "must be a list with one entry per axis")
	}
	var cuts []Cut
	for i, v := range list.Elements() {
		// Check this first, because a hostile document may have a very long list.
		if i == MaxRank {
			return nil, located(v, "at most %s possible", quantity.Count(MaxRank, "axes are"))
		}
		c, err := cut(v)
		if err != nil {
			return nil, onAxis(i, err)
		}
		cuts = append(cuts, c)
	}
	return cuts, nil
}

// everyCut reads a bare integer.
func everyCut(v strictjson.Value) (Cut, error) {
	n, err := integer(v)
	return Every(n), err
}

// shapeCut reads a bare integer, or a list of edges and runs.
func shapeCut(v strictjson.Value) (Cut, error) {
	if v.Kind() != strictjson.Array {
		return everyCut(v)
	}
	c := listed(listSource(v))
	// [[1, 1]] stands for no edges if the extent is 0, and is an ordinary run otherwise.
	c.vacant = isPlaceholder(v)
	return c, c.err
}

// listSource returns a source of the edges of one axis: integers and pairs
// [length, count].
func listSource(list strictjson.Value) runSource {
	if packed := pack(list); packed != nil {
		return packedSource(packed, list)
	}
	return spelledSource(list)
}

// spelledSource returns a source that reads a list from its text each time.
func spelledSource(list strictjson.Value) runSource {
	return func(add func(length, count int64) error) error {
		for _, v := range list.Elements() {
			length, count, err := edge(v)
			if err != nil {
				return err
			}
			if err := add(length, count); err != nil {
				return notAdded(err, v)
			}
		}
		return nil
	}
}

// notAdded adds the position of v in the document to err.
func notAdded(err error, v strictjson.Value) error {
	return fmt.Errorf("%w at %w", err, v.Errorf("%s", v.Brief()))
}

// mostPacked is the number of integers up to which a list is read once, into at most
// 8 MiB. A longer list is read from its text twice.
const mostPacked = 1 << 21

// pack reads a list into integers. An edge is its length; a pair is its count, negated,
// and its length. They have 32 bits, because an edge in a document may take two bytes.
// pack returns nil if the list is too long or has longer integers, or if it has a fault,
// which [spelledSource] then reports.
func pack(list strictjson.Value) []int32 {
	// A pair has one comma more than an edge, and one integer more.
	n := bytes.Count(list.Raw(), []byte(",")) + 1
	if n > mostPacked {
		return nil
	}
	packed := make([]int32, 0, n)
	for _, v := range list.Elements() {
		length, count, err := edge(v)
		// Negative numbers would be taken for counts. spelledSource reports the fault.
		if err != nil || length < 1 || count < 1 || max(length, count) > math.MaxInt32 {
			return nil
		}
		if v.Kind() == strictjson.Array {
			packed = append(packed, int32(-count))
		}
		packed = append(packed, int32(length))
	}
	return packed
}

// packedSource returns a source of a packed list. It reports faults as spelledSource
// does.
func packedSource(packed []int32, list strictjson.Value) runSource {
	return func(add func(length, count int64) error) error {
		count, entry := int64(1), 0
		for _, n := range packed {
			if n < 0 {
				count = -int64(n)
				continue
			}
			if err := add(int64(n), count); err != nil {
				return notAdded(err, list.Element(entry))
			}
			count, entry = 1, entry+1
		}
		return nil
	}
}

// edge reads an entry of a list: a length, or a pair [length, count].
func edge(v strictjson.Value) (length, count int64, err error) {
	if v.Kind() != strictjson.Array {
		length, err = integer(v)
		return length, 1, err
	}
	// The fast path for the usual spelling. Everything else, and every fault, takes the
	// long way.
	if length, count, ok := v.ShortPair(); ok {
		return length, count, nil
	}
	if v.Len() != 2 {
		return 0, 0, located(v, "a run must be a pair [length, count]")
	}
	var pair [2]int64
	for i, n := range v.Elements() {
		if pair[i], err = integer(n); err != nil {
			return 0, 0, err
		}
	}
	return pair[0], pair[1], nil
}

func integer(v strictjson.Value) (int64, error) {
	n, err := v.Int64()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return n, nil
}

func located(v strictjson.Value, format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, v.Errorf(format, args...))
}

// isPlaceholder reports whether a list of edges stands for none. It reads at most two
// entries.
func isPlaceholder(list strictjson.Value) bool {
	found := false
	for i, v := range list.Elements() {
		length, count, err := edge(v)
		if found = i == 0 && v.Kind() == strictjson.Array && err == nil && length == 1 && count == 1; !found {
			break
		}
	}
	return found
}

// AppendConfiguration appends the configuration of the grid as JSON, in the form that
// metadata has. A regular axis is a bare integer. A list of edges has runs
// [length, count] where a length repeats, as zarr-python writes it. An axis without edges
// ([Edges]) is the run [1, 1]. Encoded lengths are written if an axis has them.
//
// A grid of inner chunks ([Grid.Divided]) is not meant for metadata. Its lists may be too
// long to write ([Axis.NumRuns]).
func (g *Grid) AppendConfiguration(dst []byte) []byte {
	// The other grids have one shape for all chunks, in the member chunk_shape.
	if g.name != rectilinearName {
		return append(appendShapes(append(dst, `{"chunk_shape": `...), g.axes, Axis.appendShape), '}')
	}
	dst = appendShapes(append(dst, `{"kind": "inline", "chunk_shapes": `...), g.axes, Axis.appendShape)
	if slices.ContainsFunc(g.axes, Axis.IsEncoded) {
		dst = appendShapes(append(dst, `, "encoded_chunk_shapes": `...), g.axes, Axis.appendEncoded)
	}
	return append(dst, '}')
}

// AppendListed is like [Grid.AppendConfiguration] but writes every axis of a rectilinear
// grid as a list. Some programs, such as Icechunk 2.2, refuse bare integers there. A list
// has as many edges as the axis has chunks, and at least one, so the axis no longer
// follows the extent ([Grid.Unlocked]). An axis whose edges would overflow int64 stays a
// bare integer.
func (g *Grid) AppendListed(dst []byte) []byte {
	if g.name != rectilinearName {
		return g.AppendConfiguration(dst)
	}
	listed := *g
	listed.axes = slices.Clone(g.axes)
	for i, a := range g.axes {
		// Edges whose sum overflows cannot be listed: keep the integer.
		if u, err := a.Unlocked(); err == nil {
			listed.axes[i] = u
		}
	}
	return listed.AppendConfiguration(dst)
}

// appendShapes appends a list with one entry per axis.
func appendShapes(dst []byte, axes []Axis, entry func(Axis, []byte) []byte) []byte {
	dst = append(dst, '[')
	for i, a := range axes {
		dst = entry(a, separate(dst, i))
	}
	return append(dst, ']')
}

// appendShape appends the edges of an axis, or its step if it is regular.
func (a Axis) appendShape(dst []byte) []byte {
	if a.IsRegular() {
		// The specification has a bare integer for a length that repeats without end.
		return strconv.AppendInt(dst, a.step, 10)
	}
	if a.edges.cells == 0 {
		// zarr-python refuses an empty list.
		return append(dst, placeholder...)
	}
	return a.appendRuns(dst, a.Edges())
}

// appendEncoded appends the encoded lengths of an axis. One integer stands for all cells.
func (a Axis) appendEncoded(dst []byte) []byte {
	switch {
	case a.stored == nil:
		return a.appendShape(dst)
	case a.stored.edges == nil:
		return strconv.AppendInt(dst, a.stored.step, 10)
	}
	return a.appendRuns(dst, a.Encoded())
}

// growingRuns is the most runs whose text is appended without knowing its length. For
// more, the length is computed first: text that grows as it is appended takes up to twice
// its memory.
const growingRuns = 1 << 12

// appendRuns appends a list of edges and of pairs [length, count].
func (a Axis) appendRuns(dst []byte, runs iter.Seq[Run]) []byte {
	if a.NumRuns() > growingRuns {
		dst = slices.Grow(dst, textLength(runs))
	}
	dst = append(dst, '[')
	first := len(dst)
	for r := range runs {
		dst = appendEdges(separate(dst, len(dst)-first), r)
	}
	return append(dst, ']')
}

// textLength returns the number of bytes that appendRuns appends.
func textLength(runs iter.Seq[Run]) int {
	n, between := len("[]"), 0
	var text []byte
	for r := range runs {
		text = appendEdges(text[:0], r)
		n, between = n+len(text)+between, len(", ")
	}
	return n
}

func appendEdges(dst []byte, r Run) []byte {
	if r.Count == 1 {
		return strconv.AppendInt(dst, r.Length, 10)
	}
	dst = strconv.AppendInt(append(dst, '['), r.Length, 10)
	dst = strconv.AppendInt(append(dst, ", "...), r.Count, 10)
	return append(dst, ']')
}

func separate(dst []byte, before int) []byte {
	if before > 0 {
		dst = append(dst, ", "...)
	}
	return dst
}
