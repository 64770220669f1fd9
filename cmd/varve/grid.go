package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/draw"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
)

// gridFlags are the flags of varve grid as they were given.
type gridFlags struct {
	shape, chunkGrid, locate, chunk, axes, svg string
	ascii                                      bool
}

func newGridCommand() *cobra.Command {
	var f gridFlags
	c := &cobra.Command{
		Use:   "grid NODE, grid --shape SHAPE --chunk-grid JSON",
		Short: "Draw the chunk grid of an array, and find elements and chunks in it",
		Example: `  varve grid era5.zarr/t2m --locate 400,18,36
  varve grid era5.zarr/t2m --svg grid.svg
  varve grid --shape 60,100 --chunk-grid '{"name":"regular","configuration":{"chunk_shape":[25,30]}}'`,
		Args:              arguments("[NODE]"),
		ValidArgsFunction: node.Complete,
	}
	flags := c.Flags()
	argument.ShapeFlag(c, &f.shape, "the `LENGTHS` of an array that is not stored, with --chunk-grid")
	flagtext.Var(flags, &f.chunkGrid, "chunk-grid", "", "the `JSON` of the whole chunk_grid object, with --shape", flagtext.Syntax(argument.ChunkGrid))
	flagtext.Var(flags, &f.locate, "locate", "", "an `ELEMENT`, as 15,40 or time=15,lat=40: which chunk holds it", flagtext.Syntax(argument.ParseElement))
	flagtext.Var(flags, &f.chunk, "chunk", "", "the index of a `CHUNK`, as 0,1: which elements it holds", flagtext.Syntax(argument.ParseIntegers))
	flagtext.Var(flags, &f.axes, "axes", "", "the one or two `AXES` that are drawn, rows first, as 1,0 or lat,lon; by default those with the most chunks", flagtext.Syntax(parseTwoAxes))
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
		return failure.BadUsage("--svg %s: the picture is SVG, and %s is another kind of file; name it .svg", f.svg, ext)
	}
	d, err := f.drawn(cmd, args)
	if err != nil {
		return err
	}
	if d.array != nil {
		defer d.array.Close()
	}
	if d.axes, err = f.chosenAxes(d); err != nil {
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

// gridFacts is a grid as programs read it.
type gridFacts struct {
	IsRegular  bool         `json:"is_regular"`
	GridShape  []int64      `json:"grid_shape"`
	GridCells  []int64      `json:"grid_cells"`
	ChunkSizes output.Sizes `json:"chunk_sizes"`
	ChunkGrid  output.Late  `json:"chunk_grid"`
}

// located is where an element is.
type located struct {
	Index  []int64 `json:"index"`
	Chunk  []int64 `json:"chunk"`
	Within []int64 `json:"within"`
}

// chunkFacts is what a chunk holds.
type chunkFacts struct {
	Index      []int64 `json:"index"`
	Start      []int64 `json:"start"`
	Stop       []int64 `json:"stop"`
	Shape      []int64 `json:"shape"`
	Encoded    []int64 `json:"encoded_shape"`
	IsBoundary bool    `json:"is_boundary"`
}

func describeGrid(g *grid.Grid) gridFacts {
	return gridFacts{g.IsRegular(), g.Chunks(), g.Cells(), output.SizesOf(g), func() []byte { return gridJSON(g) }}
}

// gridJSON returns a grid as metadata has it.
func gridJSON(g *grid.Grid) []byte {
	text := strictjson.AppendQuote([]byte(`{"name":`), g.Name())
	return append(g.AppendConfiguration(append(text, `,"configuration":`...)), '}')
}

// printFacts prints the grid for programs, with the members that were asked for.
func (f *gridFlags) printFacts(cmd *cobra.Command, d *drawn) error {
	facts := gridDocument{gridFacts: describeGrid(d.grid)}
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

// gridDocument is what grid --json prints. A chunk that there is not is null; one that
// was not asked for is left out.
type gridDocument struct {
	gridFacts
	Locate *located     `json:"locate,omitempty"`
	Chunk  **chunkFacts `json:"chunk,omitempty"`
}

// located returns where the element of --locate is.
func (f *gridFlags) located(d *drawn) (*located, error) {
	element, err := argument.ParseElement(f.locate)
	if err != nil {
		return nil, err
	}
	index, err := element.Index(d.names, d.grid.Rank())
	if err != nil {
		return nil, failure.BadArgument("--locate %s: %w", f.locate, err)
	}
	chunk, within, err := d.grid.Locate(index)
	if err != nil {
		return nil, failure.On("locate", d.title, err)
	}
	return &located{index, chunk, within}, nil
}

// found returns the chunk of --chunk, nil where there is none.
func (f *gridFlags) found(d *drawn) (*chunkFacts, error) {
	index, err := argument.ParseIntegers(f.chunk)
	if err != nil {
		return nil, err
	}
	c, ok := d.grid.Chunk(index)
	if !ok {
		return nil, nil
	}
	stop := make([]int64, len(index))
	for i := range stop {
		stop[i] = c.Start[i] + c.Logical[i]
	}
	return &chunkFacts{index, c.Start, stop, c.Logical, c.Encoded, c.IsBoundary()}, nil
}

// print draws the grid for people, and says where what they asked for is.
func (f *gridFlags) print(cmd *cobra.Command, d *drawn) error {
	a, err := f.answer(cmd, d)
	if err != nil {
		return err
	}
	stored, err := d.stored(cmd)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	text := fmt.Sprintf("%s: %s\n\n", phrase.Printable(d.title), d.summary()) +
		draw.Grid(d.grid, &draw.GridOptions{Width: console.Columns(w), ASCII: f.ascii, Axes: d.axes, Names: d.names, Stored: stored})
	if a.text != nil {
		text += "\n" + strings.Join(a.text, "\n") + "\n"
	}
	_, err = io.WriteString(w, text)
	return err
}

// summary says in a line what the grid is.
func (d *drawn) summary() string {
	text := fmt.Sprintf("%s in %s, %s", phrase.Shape(d.grid.Shape()), chunkCount(d.grid), d.grid.Name())
	if d.inner != nil && d.grid.Rank() > 0 {
		text += "; each is a shard of inner chunks " + facts.InnerText(d.inner)
	}
	return text
}

// sentence says what a chunk holds, or that there is no such chunk.
func (c *chunkFacts) sentence(asked string, g *grid.Grid) string {
	if c == nil {
		return fmt.Sprintf("(%s) is no chunk: the grid has %s", asked, phrase.Shape(g.Chunks()))
	}
	ranges := make([]string, len(c.Start))
	for i := range ranges {
		ranges[i] = fmt.Sprintf("%d:%d", c.Start[i], c.Stop[i])
	}
	text := fmt.Sprintf("chunk %s holds the elements [%s], shape %s", phrase.Index(c.Index), strings.Join(ranges, ", "), phrase.Shape(c.Shape))
	if c.IsBoundary {
		text += ", and is stored as " + phrase.Shape(c.Encoded)
	}
	return text
}

// chunkCount returns how many chunks a grid has along its axes: 1 chunk, 3 × 4 chunks.
func chunkCount(g *grid.Grid) string {
	if n, ok := g.NumChunks(); ok && g.Rank() < 2 {
		return phrase.Plural(n, "chunk")
	}
	return phrase.Shape(g.Chunks()) + " chunks"
}
