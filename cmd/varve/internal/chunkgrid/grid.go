// SPDX-License-Identifier: Apache-2.0

// Package chunkgrid has the commands about chunk grids: grid shows one, plan chooses one,
// unlock permits chunks of any length, and revert goes back to the grid before.
package chunkgrid

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/picture"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/draw"
	"varve.dev/zarr/internal/engine"
)

// gridFlags has the flags of varve grid.
type gridFlags struct {
	shape, chunkGrid, locate, chunk, axes, svg string
	ascii                                      bool
}

// NewGrid returns the command grid.
func NewGrid() *cobra.Command {
	var f gridFlags
	c := &cobra.Command{
		Use:   "grid NODE, grid --shape SHAPE --chunk-grid JSON",
		Short: "Draw the chunk grid of an array, and find elements and chunks in it",
		Example: `  varve grid era5.zarr/t2m --locate 400,18,36
  varve grid era5.zarr/t2m --svg grid.svg
  varve grid --shape 60,100 --chunk-grid '{"name":"regular","configuration":{"chunk_shape":[25,30]}}'`,
		Args:              usage.Arguments("[NODE]"),
		ValidArgsFunction: node.Complete,
	}
	flags := c.Flags()
	argument.ShapeFlag(c, &f.shape, "the `LENGTHS` of an array that is not stored, with --chunk-grid")
	flagtext.Var(flags, &f.chunkGrid, "chunk-grid", "", "the `JSON` of the whole chunk_grid object, with --shape", flagtext.Syntax(argument.ChunkGrid))
	flagtext.Var(flags, &f.locate, "locate", "", "print which chunk holds an `ELEMENT`, such as 15,40 or time=15,lat=40", flagtext.Syntax(argument.ParseElement))
	flagtext.Var(flags, &f.chunk, "chunk", "", "print which elements a `CHUNK` holds, given by its index, such as 0,1", flagtext.Syntax(argument.ParseIntegers))
	flagtext.Var(flags, &f.axes, "axes", "", "draw one or two `AXES`, rows first, such as 1,0 or lat,lon; by default those with the most chunks", flagtext.Syntax(picture.ParseAxes))
	flagtext.Var(flags, &f.svg, "svg", "", "write a picture to this `FILE` instead, - for standard output", argument.FileName)
	flags.BoolVar(&f.ascii, "ascii", false, "draw with ASCII characters only")
	c.RunE = f.run
	return c
}

func (f *gridFlags) run(cmd *cobra.Command, args []string) error {
	if f.svg == "-" && session.WantsJSON(cmd) {
		return failure.BadUsage("--svg - and --json both write to standard output: give --svg FILE")
	}
	if ext := filepath.Ext(strings.TrimLeft(filepath.Base(f.svg), ".")); ext != "" && !strings.EqualFold(ext, ".svg") {
		return failure.BadUsage("--svg %s: the picture is in SVG format; name the file .svg, not %s", f.svg, ext)
	}
	d, err := f.drawn(cmd, args)
	if err != nil {
		return err
	}
	if d.Array != nil {
		defer d.Array.Close()
	}
	if d.Axes, err = f.chosenAxes(d); err != nil {
		return err
	}
	if f.svg != "" {
		err = f.printPicture(cmd, d)
	} else if !session.WantsJSON(cmd) {
		return f.print(cmd, d)
	}
	if err != nil || !session.WantsJSON(cmd) {
		return err
	}
	return f.printFacts(cmd, d)
}

// gridFacts describes a grid, in the form of --json.
type gridFacts struct {
	IsRegular  bool         `json:"is_regular"`
	GridShape  []int64      `json:"grid_shape"`
	GridCells  []int64      `json:"grid_cells"`
	ChunkSizes output.Sizes `json:"chunk_sizes"`
	ChunkGrid  output.Late  `json:"chunk_grid"`
}

// located is the place of an element: its chunk, and its index within the chunk.
type located struct {
	Index  []int64 `json:"index"`
	Chunk  []int64 `json:"chunk"`
	Within []int64 `json:"within"`
}

// chunkFacts describes a chunk: its elements and its shapes.
type chunkFacts struct {
	Index      []int64 `json:"index"`
	Start      []int64 `json:"start"`
	Stop       []int64 `json:"stop"`
	Shape      []int64 `json:"shape"`
	Encoded    []int64 `json:"encoded_shape"`
	IsBoundary bool    `json:"is_boundary"`
}

func describeGrid(g *grid.Grid) gridFacts {
	return gridFacts{g.IsRegular(), g.Chunks(), g.Cells(), output.SizesOf(g), func() []byte { return facts.GridJSON(g) }}
}

// printFacts prints the grid as JSON, with members for --locate and --chunk.
func (f *gridFlags) printFacts(cmd *cobra.Command, d *picture.Grid) error {
	facts := gridDocument{gridFacts: describeGrid(d.Chunks)}
	if cmd.Flags().Changed("locate") {
		l, err := f.located(d)
		if err != nil {
			return err
		}
		facts.Locate = l
	}
	if cmd.Flags().Changed("chunk") {
		c, err := f.found(d)
		if err != nil {
			return err
		}
		facts.Chunk = &c
	}
	return session.PrintJSON(cmd, facts)
}

// gridDocument is what grid --json prints. Chunk is null if there is no such chunk, and
// left out without --chunk.
type gridDocument struct {
	gridFacts
	Locate *located     `json:"locate,omitempty"`
	Chunk  **chunkFacts `json:"chunk,omitempty"`
}

// located returns the place of the element of --locate.
func (f *gridFlags) located(d *picture.Grid) (*located, error) {
	element, err := argument.ParseElement(f.locate)
	if err != nil {
		return nil, err
	}
	index, err := element.Index(d.Names, d.Chunks.Rank())
	if err != nil {
		return nil, failure.BadArgument("--locate %s: %w", f.locate, err)
	}
	chunk, within, err := d.Chunks.Locate(index)
	if err != nil {
		return nil, failure.On("locate", d.Title, err)
	}
	return &located{index, chunk, within}, nil
}

// found returns the chunk of --chunk, nil if there is no such chunk.
func (f *gridFlags) found(d *picture.Grid) (*chunkFacts, error) {
	index, err := argument.ParseIntegers(f.chunk)
	if err != nil {
		return nil, err
	}
	c, ok := d.Chunks.Chunk(index)
	if !ok {
		return nil, nil
	}
	stop := make([]int64, len(index))
	for i := range stop {
		stop[i] = c.Start[i] + c.Logical[i]
	}
	return &chunkFacts{index, c.Start, stop, c.Logical, c.Encoded, c.IsBoundary()}, nil
}

// print draws the grid, followed by the answers to --locate and --chunk.
func (f *gridFlags) print(cmd *cobra.Command, d *picture.Grid) error {
	a, err := f.answer(cmd, d)
	if err != nil {
		return err
	}
	stored, err := d.Stored(cmd)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	text := fmt.Sprintf("%s: %s\n\n", phrase.Printable(d.Title), summary(d)) +
		draw.Grid(d.Chunks, &draw.GridOptions{Width: console.Columns(w), ASCII: f.ascii, Axes: d.Axes, Names: d.Names, Stored: stored})
	if a.text != nil {
		text += "\n" + strings.Join(a.text, "\n") + "\n"
	}
	_, err = io.WriteString(w, text)
	return err
}

// summary describes the grid in one line.
func summary(d *picture.Grid) string {
	text := fmt.Sprintf("%s in %s, %s", phrase.Shape(d.Chunks.Shape()), facts.ChunkCount(d.Chunks), d.Chunks.Name())
	if d.Inner != nil && d.Chunks.Rank() > 0 {
		text += "; each is a shard of inner chunks " + facts.InnerText(d.Inner)
	}
	return text
}

// sentence describes a chunk.
func (c *chunkFacts) sentence() string {
	ranges := make([]string, len(c.Start))
	for i := range ranges {
		ranges[i] = fmt.Sprintf("%d:%d", c.Start[i], c.Stop[i])
	}
	text := fmt.Sprintf("chunk %s holds the elements [%s], shape %s", phrase.Index(c.Index), strings.Join(ranges, ", "), phrase.Shape(c.Shape))
	if c.IsBoundary {
		text += ", stored with shape " + phrase.Shape(c.Encoded)
	}
	return text
}

// drawn returns the grid to draw: that of a node, or the one described by flags.
func (f *gridFlags) drawn(cmd *cobra.Command, args []string) (*picture.Grid, error) {
	shaped, described := cmd.Flags().Changed("shape"), cmd.Flags().Changed("chunk-grid")
	switch {
	case len(args) == 1 && (shaped || described):
		return nil, failure.BadUsage("NODE already has a grid: leave out --shape and --chunk-grid")
	case len(args) == 0 && !(shaped && described):
		return nil, failure.BadUsage("NODE is missing, or both --shape and --chunk-grid")
	case len(args) == 0:
		return f.described(session.GridOptions(cmd))
	}
	a, err := node.OpenArray(cmd, args[0])
	if err != nil {
		return picture.OfDocument(cmd, args[0], err)
	}
	return picture.OfArray(args[0], a), nil
}

// described returns the grid that --shape and --chunk-grid describe.
func (f *gridFlags) described(how grid.ParseOptions) (*picture.Grid, error) {
	shape, err := argument.ParseShape(f.shape)
	if err != nil {
		return nil, err
	}
	e, err := argument.ChunkGrid(f.chunkGrid)
	if err != nil {
		return nil, failure.On("parse", "--chunk-grid", err)
	}
	g, err := chunking.Named(shape, e, how)
	if err != nil {
		return nil, failure.On("parse", "--chunk-grid", err)
	}
	return &picture.Grid{Title: "array", Chunks: g}, nil
}

// chosenAxes returns the axes of --axes, nil if the drawing may choose.
func (f *gridFlags) chosenAxes(d *picture.Grid) (axes []int, err error) {
	texts, err := picture.ParseAxes(f.axes)
	if err != nil {
		return nil, err
	}
	rank := d.Chunks.Rank()
	for _, text := range texts {
		i, err := argument.AxisOf(text, d.Names, rank)
		if err != nil {
			return nil, err
		}
		if i < 0 || i >= rank {
			return nil, failure.BadArgument("--axes %s: there is no axis %s, the array has %s", f.axes, text, phrase.Plural(int64(rank), "axis"))
		}
		if slices.Contains(axes, i) {
			return nil, failure.BadArgument("--axes %s: both are axis %d", f.axes, i)
		}
		axes = append(axes, i)
	}
	return axes, nil
}

// answer finds the element of --locate and the chunk of --chunk.
func (f *gridFlags) answer(cmd *cobra.Command, d *picture.Grid) (a answers, err error) {
	if cmd.Flags().Changed("locate") {
		l, err := f.located(d)
		if err != nil {
			return a, err
		}
		a.text = append(a.text, fmt.Sprintf("element %s is in chunk %s, at %s within it", phrase.Index(l.Index), phrase.Index(l.Chunk), phrase.Index(l.Within)))
		a.chunks = append(a.chunks, engine.BoxAt(l.Chunk))
	}
	if cmd.Flags().Changed("chunk") {
		c, err := f.found(d)
		if err != nil {
			return a, err
		}
		if c == nil {
			return a, failure.On("find", d.Title, failure.BadArgument("there is no chunk (%s): the grid has %s", f.chunk, phrase.Shape(d.Chunks.Chunks())))
		}
		a.text = append(a.text, c.sentence())
		a.chunks = append(a.chunks, engine.BoxAt(c.Index))
	}
	return a, nil
}

// printPicture writes the grid as a picture. The chunks of --locate and --chunk are
// marked, and described below it.
func (f *gridFlags) printPicture(cmd *cobra.Command, d *picture.Grid) error {
	a, err := f.answer(cmd, d)
	if err != nil {
		return err
	}
	stored, err := d.Stored(cmd)
	if err != nil {
		return err
	}
	opt := &draw.SVGOptions{
		Axes: d.Axes, Names: d.Names, Stored: stored, Inner: d.Inner, Labels: d.TimeNames(cmd.Context()),
		Caption: strings.Join(append([]string{summary(d)}, a.text...), "\n"),
	}
	if d.Array != nil {
		opt.Title = phrase.Printable(titleOf(d.Title))
	}
	for _, chunks := range a.chunks {
		opt.Marks = append(opt.Marks, draw.Mark{Chunks: chunks, Meaning: "asked for"})
	}
	picture := draw.SVG(d.Chunks, opt)
	if f.svg == "-" {
		_, err := cmd.OutOrStdout().Write(picture)
		return err
	}
	return localfile.Replace(f.svg, func(w *bufio.Writer) error {
		_, err := w.Write(picture)
		return err
	})
}

// titleOf returns the last name of a location. Names of digits, as levels of images have,
// say little, so those before them belong to it: image.zarr/0.
func titleOf(location string) string {
	title := filepath.Base(location)
	for last := title; strings.Trim(last, "0123456789") == ""; title = last + "/" + title {
		location = filepath.Dir(location)
		if last = filepath.Base(location); last == "." || last == string(filepath.Separator) {
			break
		}
	}
	return title
}

// answers are the answers to --locate and --chunk: in words, and the chunks to mark.
type answers struct {
	text   []string
	chunks []grid.Box
}
