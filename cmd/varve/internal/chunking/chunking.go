// SPDX-License-Identifier: Apache-2.0

// Package chunking chooses the chunks and shards of arrays as flags describe them.
package chunking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"varve.dev/zarr/calendar"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/checked"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/strictjson"
)

// Help explains the values of --chunks in the help of commands.
const Help = `CHUNKS say how the axes are cut:
  auto                chunks of at most about 1 MiB, larger ones for large arrays (the default). An array that is still
                      empty gets chunks of about 128 KiB, as long as that takes along its first axis of length 0
  8MiB                chunks of this size, or a little less; also 500kB, 1.5GiB
  10                  chunks of 10 elements along every axis; -1 is the whole axis
  10,20               an entry an axis: chunks of 10 and 20; also [10,20]
  [[10,20,30],25]     lists of lengths and of runs [length, count], for axes that are cut unevenly
  calendar:month      a chunk a month along axis 0, or calendar:year; the other axes are whole. The times come from
                      a coordinate in CF units (--time COORD), or from --start, the DATE of element 0, --step and
                      --calendar. COORD is the name of an array beside the new one; with a slash in it, it is a NODE.
                      The last month is declared in full, and growth fills it.
  groups:FILE         a chunk a group along axis 0; the other axes are whole. FILE is a .npy file, a JSON list, or text with
                      one entry a line. The entries are sorted labels, one an element, if there are as many as the axis
                      has elements; or counts, one a group, if their sum is its length.
  calendar:month,36,-1        words and lengths together, an entry an axis
  {"name": …}         a whole chunk_grid object, as it stands in metadata
  bounded:[10,20]     "zarrs.regular_bounded": the last chunks are stored only as far as the array reaches. Few programs read it.`

// Chunking is what --chunks says before there is a shape.
type Chunking struct {
	Flag    string // that says it
	Text    string
	Size    int64  // bytes of a chunk; 0 for anything else
	Trimmed bool   // the last chunks are, see grid.EveryTrimmed
	Lengths string // JSON as grid.ParseCuts reads it; "" for anything else
	Object  *metadata.Extension
	Axes    []axisText // an entry an axis; the axes that have none are whole
	whole   bool       // there are such axes
}

// axisText is how one axis is to be cut: by months or years, by groups of a file, or as
// JSON.
type axisText struct {
	unit           calendar.Unit
	groups, length string
}

// Parse reads the text of --chunks.
func Parse(text string) (Chunking, error) {
	text = strings.TrimSpace(text)
	c := Chunking{Flag: "--chunks", Text: text}
	if text == "auto" {
		return c, nil
	}
	if strings.HasPrefix(text, "{") {
		e, err := argument.ChunkGrid(text)
		c.Object = &e
		if err != nil && !strings.Contains(text, `"name"`) {
			err = fmt.Errorf("%w; lengths stand in the order of the axes and have no names, as 10,20", err)
		}
		return c, err
	}
	if rest, ok := strings.CutPrefix(text, "bounded:"); ok {
		rest = asList(rest)
		c.Trimmed, c.Lengths = true, rest
		_, err := chunksJSON(rest)
		return c, err
	}
	text = asList(text)
	if axis, ok, err := axisWord(text); ok {
		c.Axes, c.whole = []axisText{axis}, true
		return c, err
	}
	if size, err := phrase.ParseSize(text); err == nil {
		c.Size = size
		return c, nil
	} else if !errors.Is(err, phrase.ErrNoSize) {
		return c, err
	}
	v, err := chunksJSON(text)
	if err != nil && !strings.HasPrefix(c.Text, "[") {
		return c, fmt.Errorf("it is none of auto, a size as 8MiB, calendar:month, calendar:year, groups:FILE, bounded:[…], and no number, list or object either%s",
			cmp.Or(argument.ListMeant(text), unnamedMeant(text), phrase.SizeMeant(text), wordMeant(text)))
	}
	if err == nil && v.Kind() == strictjson.Array && hasWords(v) {
		c.Axes, err = axisTexts(v)
		return c, err
	}
	c.Lengths = text
	return c, err
}

// namedLengths finds lengths with the names of dimensions.
var namedLengths = regexp.MustCompile(`^\s*\w+\s*=\s*\d+(\s*,\s*\w+\s*=\s*\d+)*\s*$`)

// unnamedMeant returns the lengths of a text in which they have names.
func unnamedMeant(text string) string {
	if !namedLengths.MatchString(text) {
		return ""
	}
	var lengths []string
	for part := range strings.SplitSeq(text, ",") {
		_, length, _ := strings.Cut(part, "=")
		lengths = append(lengths, strings.TrimSpace(length))
	}
	return fmt.Sprintf(" (lengths stand in the order of the axes and have no names: did you mean %s?)", strings.Join(lengths, ","))
}

// wordMeant returns which word for chunks may be meant.
func wordMeant(text string) string {
	if word, rest, colon := strings.Cut(text, ":"); colon && rest != "" {
		if near := spelling.Nearest(word, []string{"groups", "bounded", "calendar"}); len(near) == 1 {
			return fmt.Sprintf(" (did you mean %s:%s?)", near[0], rest)
		}
	}
	return spelling.Meant(text, []string{"auto", "calendar:month", "calendar:year"})
}

// asList returns an entry an axis with commas between them, as 100,100 or
// calendar:month,36,-1, as the list that it stands for; any other text as it is. Names of
// files may have commas.
func asList(text string) string {
	if strings.HasPrefix(text, "groups:") || !strings.Contains(text, ",") {
		return text
	}
	if _, err := chunksJSON(text); err == nil && strings.HasPrefix(text, "[") {
		return text
	}
	entries := strings.Split(text, ",")
	for i, e := range entries {
		e = strings.TrimSpace(e)
		if strings.HasPrefix(e, "calendar:") {
			e = string(output.Text(e))
		}
		entries[i] = e
	}
	list := "[" + strings.Join(entries, ",") + "]"
	if _, err := chunksJSON(list); err != nil {
		return text
	}
	return list
}

// chunksJSON reads a number or a list.
func chunksJSON(text string) (strictjson.Value, error) {
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err == nil && v.Kind() != strictjson.Number && v.Kind() != strictjson.Array {
		err = v.Errorf("a number or a list is needed")
	}
	return v, err
}

// axisWord reads a word for one axis; it is false where there is none of these words.
func axisWord(text string) (axis axisText, ok bool, err error) {
	switch word, rest, _ := strings.Cut(text, ":"); {
	case word == "calendar":
		axis.unit, err = calendar.ParseUnit(rest)
	case word == "groups" && rest == "":
		err = errors.New("groups: is to be followed by the name of a file")
	case word == "groups":
		axis.groups = rest
	default:
		return axis, false, nil
	}
	return axis, true, err
}

func hasWords(list strictjson.Value) bool {
	for _, e := range list.Elements() {
		if e.Kind() == strictjson.String {
			return true
		}
	}
	return false
}

// axisTexts reads a list of words and lengths.
func axisTexts(list strictjson.Value) ([]axisText, error) {
	if list.Len() > grid.MaxRank {
		return nil, list.Errorf("%d axes, at most %d are possible", list.Len(), grid.MaxRank)
	}
	axes := make([]axisText, 0, list.Len())
	for _, e := range list.Elements() {
		if e.Kind() != strictjson.String {
			axes = append(axes, axisText{length: string(e.Raw())})
			continue
		}
		text, err := e.Str()
		if err != nil {
			return nil, err
		}
		axis, ok, err := axisWord(text)
		if !ok {
			err = fmt.Errorf("%q: there are calendar:month, calendar:year and groups:FILE", phrase.Shorten(text, 40))
		}
		if err != nil {
			return nil, e.Errorf("%w", err)
		}
		axes = append(axes, axis)
	}
	return axes, nil
}

// isChosen reports whether the lengths of chunks are left to the program: auto, or a
// size.
func (c Chunking) isChosen() bool { return c.Object == nil && c.Axes == nil && c.Lengths == "" }

// Unit returns the calendar unit of the first axis that has one, 0 where none has.
func (c Chunking) Unit() calendar.Unit {
	for _, a := range c.Axes {
		if a.unit != 0 {
			return a.unit
		}
	}
	return 0
}

// fileReader reads a file by its name.
type fileReader func(name string) ([]byte, error)

// Site is where an array is to be, and what its chunks may be taken from.
type Site struct {
	Location string
	Times    *growth.Times
	ReadFile fileReader
	Options  grid.ParseOptions
}

// Grid returns the chunk grid of an array that is to be at a site.
func (c Chunking) Grid(ctx context.Context, shape []int64, t dtype.Type, at Site) (*grid.Grid, error) {
	g, err := c.cut(ctx, shape, t, at)
	return g, c.Refused(err)
}

// Refused returns an error as one of the flag, unless it is wrong usage or none.
func (c Chunking) Refused(err error) error {
	if err == nil || failure.IsUsage(err) {
		return err
	}
	return failure.BadArgument("%s %s: %w", c.Flag, phrase.Shorten(c.Text, 200), err)
}

// beginningChunk is how many bytes the chunks of an array have that is still empty, where
// planes are small: those that auto makes of small arrays. What is appended writes the
// last one again until it is full.
const beginningChunk = 128 << 10

// mostChosen is how many bytes the chunks of an empty array have at most that are given
// by a size: what is held by default.
const mostChosen = 1 << 30

// Auto returns the chunks that are chosen where none are asked for.
func Auto(shape []int64, size int64) []int64 {
	return grid.Auto(GrownTo(shape, size, beginningChunk), size)
}

// GrownTo returns the shape that an array will have, when the first axis without elements
// is as long as makes so many bytes: it is going to grow, and a chunk for each of
// thousands of elements would be a trap.
func GrownTo(shape []int64, size, bytes int64) []int64 {
	i := slices.Index(shape, 0)
	if i < 0 {
		return shape
	}
	shape = slices.Clone(shape)
	shape[i] = 1
	plane := max(1, size)
	for _, n := range shape {
		var ok bool
		if plane, ok = checked.Mul(plane, max(1, n)); !ok {
			return shape
		}
	}
	shape[i] = max(1, min(bytes, mostChosen)/plane)
	return shape
}

// Named returns the grid of a chunk_grid object. An error proposes the name that may
// be meant.
func Named(shape []int64, e metadata.Extension, how grid.ParseOptions) (*grid.Grid, error) {
	g, err := how.Parse(shape, e.Name, e.Configuration)
	if errors.Is(err, grid.ErrUnsupported) {
		err = fmt.Errorf("%w%s", err, spelling.Meant(e.Name, []string{grid.RegularName, grid.RectilinearName, grid.BoundedName}))
	}
	return g, err
}

func (c Chunking) cut(ctx context.Context, shape []int64, t dtype.Type, at Site) (*grid.Grid, error) {
	size := element.Width(t)
	switch {
	case c.Object != nil:
		return Named(shape, *c.Object, at.Options)
	case c.Axes != nil:
		return c.cutAxes(ctx, shape, at)
	case c.Size > 0:
		chunk, err := grid.Target(GrownTo(shape, size, c.Size), size, c.Size)
		if err != nil {
			return nil, err
		}
		return grid.Regular(shape, chunk)
	case c.Lengths == "":
		return grid.Regular(shape, Auto(shape, size))
	}
	cuts, err := grid.ParseCuts(shape, c.Lengths)
	if err != nil {
		return nil, err
	}
	g, err := grid.New(shape, cuts...)
	if err != nil || !c.Trimmed {
		return g, err
	}
	chunk := make([]int64, g.Rank())
	for i := range chunk {
		if chunk[i] = g.Axis(i).Step(); chunk[i] == 0 {
			return nil, &grid.AxisError{Axis: i, Err: errors.New("bounded chunks have one length an axis, not a list")}
		}
	}
	return grid.Bounded(shape, chunk)
}

// cutAxes cuts every axis as its entry says.
func (c Chunking) cutAxes(ctx context.Context, shape []int64, at Site) (*grid.Grid, error) {
	if n := len(c.Axes); n > len(shape) || n < len(shape) && !c.whole {
		return nil, fmt.Errorf("%s for %s", phrase.Plural(int64(n), "entry"), phrase.Plural(int64(len(shape)), "axis"))
	}
	cuts := make([]grid.Cut, len(shape))
	for i, n := range shape {
		cuts[i] = grid.Every(max(1, n))
		if i >= len(c.Axes) {
			continue
		}
		var err error
		if cuts[i], err = c.Axes[i].cut(ctx, n, at); err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
	}
	return grid.New(shape, cuts...)
}

// cut cuts an axis of the given extent.
func (a axisText) cut(ctx context.Context, extent int64, at Site) (grid.Cut, error) {
	switch {
	case a.unit != 0:
		l, err := at.Times.Timeline(ctx, a.unit, at.Location, nil)
		if err != nil {
			return grid.Cut{}, err
		}
		b, err := l.Buckets(extent)
		if err != nil {
			return grid.Cut{}, err
		}
		if n, ends := b.Len(); ends && n == 0 && extent == 0 {
			// Nobody knows yet when elements will be. An axis needs an edge: a calendar's
			// policy replaces this one.
			return grid.Edges(1), nil
		}
		edges, err := b.Covering(max(1, extent)) // an axis needs an edge
		return grid.Edges(edges...), err
	case a.groups != "":
		data, err := at.ReadFile(a.groups)
		if err != nil {
			return grid.Cut{}, err
		}
		return groupCut(a.groups, data, extent)
	}
	cuts, err := grid.ParseCuts([]int64{extent}, "["+a.length+"]")
	if err != nil {
		var on *grid.AxisError
		if errors.As(err, &on) {
			err = on.Err
		}
		return grid.Cut{}, err
	}
	return cuts[0], nil
}
