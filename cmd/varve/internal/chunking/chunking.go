// SPDX-License-Identifier: Apache-2.0

// Package chunking chooses the chunks and shards of arrays from flags.
package chunking

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// Chunking is the value of --chunks, before the shape is known.
type Chunking struct {
	Flag      string // name of the flag
	Text      string
	Size      int64  // bytes of a chunk; 0 for anything else
	Trimmed   bool   // cut the last chunks at the extent; see grid.EveryTrimmed
	Lengths   string // JSON for grid.ParseCuts; "" for anything else
	Object    *metadata.Extension
	Axes      []axisText // one entry per axis; axes without an entry are not cut
	isPartial bool       // some axes have no entry
}

// axisText is the value for one axis: months or years, the groups of a file, or JSON.
type axisText struct {
	unit           calendar.Unit
	groups, length string
}

// Parse parses the value of --chunks.
func Parse(text string) (Chunking, error) {
	text = strings.TrimSpace(text)
	c := Chunking{Flag: "--chunks", Text: text}
	if text == "auto" {
		return c, nil
	}
	if strings.HasPrefix(text, "{") {
		e, err := argument.ChunkGrid(text)
		c.Object = &e
		// {"time": 10} gives lengths by name, as in xarray, which a chunk_grid object
		// does not have.
		if err != nil && !strings.Contains(text, `"name"`) {
			err = fmt.Errorf("%w; give lengths in the order of the axes and without names, such as 10,20", err)
		}
		return c, err
	}
	if rest, ok := strings.CutPrefix(text, "bounded:"); ok {
		rest = asList(rest)
		c.Trimmed, c.Lengths = true, rest
		_, err := chunksJSON(rest)
		return c, err
	}
	// From here on, several entries are a JSON list.
	text = asList(text)
	if axis, ok, err := axisWord(text); ok {
		c.Axes, c.isPartial = []axisText{axis}, true
		return c, err
	}
	// A size has a unit. A number alone is a length.
	if size, err := phrase.ParseSize(text); err == nil {
		c.Size = size
		return c, nil
	} else if !errors.Is(err, phrase.ErrNoSize) {
		return c, err
	}
	v, err := chunksJSON(text)
	if err != nil && !strings.HasPrefix(c.Text, "[") {
		return c, fmt.Errorf("it must be auto, a size such as 8MiB, calendar:month, calendar:year, groups:FILE, bounded:[…], a number, a list or an object%s",
			cmp.Or(argument.ListMeant(text), unnamedMeant(text), phrase.SizeMeant(text), wordMeant(text)))
	}
	if err == nil && v.Kind() == strictjson.Array && hasWords(v) {
		c.Axes, err = axisTexts(v)
		return c, err
	}
	c.Lengths = text
	return c, err
}

// namedLengths matches lengths with names of dimensions.
var namedLengths = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*\w+\s*=\s*\d+(\s*,\s*\w+\s*=\s*\d+)*\s*$`) })

// unnamedMeant returns a hint with the lengths of a text, without their names.
func unnamedMeant(text string) string {
	if !namedLengths().MatchString(text) {
		return ""
	}
	var lengths []string
	for part := range strings.SplitSeq(text, ",") {
		_, length, _ := strings.Cut(part, "=")
		lengths = append(lengths, strings.TrimSpace(length))
	}
	return fmt.Sprintf(" (give lengths in the order of the axes and without names: did you mean %s?)", strings.Join(lengths, ","))
}

// wordMeant returns a hint with the most similar word for chunks.
func wordMeant(text string) string {
	if word, rest, colon := strings.Cut(text, ":"); colon && rest != "" {
		if near := spelling.Nearest(word, []string{"groups", "bounded", "calendar"}); len(near) == 1 {
			return fmt.Sprintf(" (did you mean %s:%s?)", near[0], rest)
		}
	}
	return spelling.Meant(text, []string{"auto", "calendar:month", "calendar:year"})
}

// asList turns entries separated by commas, such as 100,100 or calendar:month,36,-1, into
// a JSON list. It returns any other text unchanged, because names of files may have
// commas.
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

// chunksJSON parses a number or a list.
func chunksJSON(text string) (strictjson.Value, error) {
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err == nil && v.Kind() != strictjson.Number && v.Kind() != strictjson.Array {
		err = v.Errorf("expected a number or a list")
	}
	return v, err
}

// axisWord parses a word for one axis. ok is false if the text is no such word.
func axisWord(text string) (axis axisText, ok bool, err error) {
	switch word, rest, _ := strings.Cut(text, ":"); {
	case word == "calendar":
		axis.unit, err = calendar.ParseUnit(rest)
	case word == "groups" && rest == "":
		err = errors.New("groups: must be followed by the name of a file")
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

// axisTexts parses a list of words and lengths.
func axisTexts(list strictjson.Value) ([]axisText, error) {
	if list.Len() > grid.MaxRank {
		return nil, list.Errorf("%s, but at most %d are possible", quantity.Count(list.Len(), "axes"), grid.MaxRank)
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
			err = fmt.Errorf("%q is not one of calendar:month, calendar:year and groups:FILE", phrase.Shorten(text, 40))
		}
		if err != nil {
			return nil, e.Errorf("%w", err)
		}
		axes = append(axes, axis)
	}
	return axes, nil
}

// isChosen reports whether the program chooses the lengths: for auto, or a size.
func (c Chunking) isChosen() bool { return c.Object == nil && c.Axes == nil && c.Lengths == "" }

// CalendarAxis returns the first axis that is cut by a calendar, or 0.
func (c Chunking) CalendarAxis() int {
	return max(0, slices.IndexFunc(c.Axes, func(a axisText) bool { return a.unit != 0 }))
}

// FollowsTimes reports whether the axis of the times is cut by a calendar, whichever that
// is.
func (c Chunking) FollowsTimes() bool { return c.isPartial && c.Unit() != 0 }

// Unit returns the calendar unit of the first axis that has one, or 0.
func (c Chunking) Unit() calendar.Unit {
	for _, a := range c.Axes {
		if a.unit != 0 {
			return a.unit
		}
	}
	return 0
}

// fileReader reads the file with the given name.
type fileReader func(name string) ([]byte, error)

// Site is the place of a new array, and the sources of its chunks.
type Site struct {
	Location string
	Names    []string // of the dimensions; nil if they have none
	Times    *growth.Times
	ReadFile fileReader
	Options  grid.ParseOptions
}

// Grid returns the chunk grid of a new array.
func (c Chunking) Grid(ctx context.Context, shape []int64, t dtype.Type, at Site) (*grid.Grid, error) {
	g, err := c.cut(ctx, shape, t, at)
	return g, c.Refused(err)
}

// Refused returns err as an error of the flag, unless err is nil or wrong usage.
func (c Chunking) Refused(err error) error {
	if err == nil || failure.IsUsage(err) {
		return err
	}
	return failure.BadArgument("%s %s: %w", c.Flag, phrase.Shorten(c.Text, 200), err)
}

// beginningChunk is the size in bytes of the chunks that auto chooses for an empty array
// with small planes. It is the size that auto chooses for small arrays. Every append
// writes the last chunk again until it is full.
const beginningChunk = 128 << 10

// mostChosen bounds the bytes of a chunk of an empty array if --chunks is a size. It is
// the default of --limit.
const mostChosen = 1 << 30

// Auto returns the chunks for an array whose chunks are not given.
func Auto(shape []int64, size int64) []int64 {
	return grid.Auto(GrownTo(shape, size, beginningChunk), size)
}

// GrownTo returns the shape of an array that has grown to the given bytes along its first
// axis without elements. Chunks for the present shape would be a mistake: one chunk for
// each of thousands of elements.
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
		// A plane is larger than any chunk. One element along the axis is enough.
		if plane, ok = checked.Mul(plane, max(1, n)); !ok {
			return shape
		}
	}
	shape[i] = max(1, min(bytes, mostChosen)/plane)
	return shape
}

// Named returns the grid of a chunk_grid object. Its errors suggest a similar name.
func Named(shape []int64, e metadata.Extension, how grid.ParseOptions) (*grid.Grid, error) {
	g, err := grid.Parse(shape, e.Name, e.Configuration, &how)
	if errors.Is(err, grid.ErrUnsupported) {
		err = fmt.Errorf("%w%s", err, spelling.Meant(e.Name, []string{"regular", "rectilinear", "zarrs.regular_bounded"}))
	}
	return g, err
}

func (c Chunking) cut(ctx context.Context, shape []int64, t dtype.Type, at Site) (*grid.Grid, error) {
	size := export.Width(t)
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
		return grid.New(shape, grid.Chunks(chunk...)...)
	case c.Lengths == "":
		return grid.New(shape, grid.Chunks(Auto(shape, size)...)...)
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
		// A listed axis has the step 0.
		if chunk[i] = g.Axis(i).Step(); chunk[i] == 0 {
			return nil, &grid.AxisError{Axis: i, Err: errors.New("bounded chunks have one length per axis, not a list")}
		}
	}
	text, err := json.Marshal(map[string][]int64{"chunk_shape": chunk})
	if err != nil {
		return nil, err
	}
	return grid.Parse(shape, "zarrs.regular_bounded", text, nil)
}

// cutAxes cuts every axis by its entry.
func (c Chunking) cutAxes(ctx context.Context, shape []int64, at Site) (*grid.Grid, error) {
	if n := len(c.Axes); n > len(shape) || n < len(shape) && !c.isPartial {
		return nil, fmt.Errorf("%s for %s", phrase.Plural(int64(n), "entry"), phrase.Plural(int64(len(shape)), "axis"))
	}
	first := 0
	if c.FollowsTimes() {
		var err error
		if first, err = at.Times.Axis(ctx, at.Location, at.Names); err != nil {
			return nil, err
		}
		if first < 0 {
			return nil, at.Times.NoDimension(at.Names)
		}
	}
	cuts := make([]grid.Cut, len(shape))
	for i, n := range shape {
		cuts[i] = grid.Every(max(1, n))
		// A single word is about the axis of the times, or axis 0. The other axes stay
		// whole.
		if i < first || i-first >= len(c.Axes) {
			continue
		}
		var err error
		if cuts[i], err = c.Axes[i-first].cut(ctx, i, n, at); err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
	}
	return grid.New(shape, cuts...)
}

// cut cuts an axis of the given extent.
func (a axisText) cut(ctx context.Context, axis int, extent int64, at Site) (grid.Cut, error) {
	switch {
	case a.unit != 0:
		l, err := at.Times.Timeline(ctx, a.unit, at.Location, nil)
		if err == nil {
			err = l.Describes(at.Names, axis)
		}
		if err != nil {
			return grid.Cut{}, withoutAxis(err)
		}
		b, err := l.Buckets(extent)
		if err != nil {
			return grid.Cut{}, err
		}
		if n, ends := b.Len(); ends && n == 0 && extent == 0 {
			// The times of the elements are not known yet. An axis needs an edge, and the
			// policy of the calendar replaces this one.
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
		// This list has one axis, so the error says axis 0.
		return grid.Cut{}, withoutAxis(err)
	}
	return cuts[0], nil
}

// withoutAxis returns an error without its axis. The caller adds the right one.
func withoutAxis(err error) error {
	var on *grid.AxisError
	if errors.As(err, &on) {
		return on.Err
	}
	return err
}
