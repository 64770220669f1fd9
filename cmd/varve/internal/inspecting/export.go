// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/internal/export"
)

// NewExport returns the command export.
func NewExport() *cobra.Command {
	c := &cobra.Command{
		Use:   "export NODE|GROUP [--select ELEMENTS] [-o FILE]",
		Short: "Write the values of an array to a file or to standard output, or a group to a file",
		Long: `Write the values of an array to a file or to standard output, as one of these formats:
  raw, npy, json    C order without a header, NumPy's format, nested lists
  csv               lines of values; --header adds coordinates; of a group, one axis that all share

or a group, or an array with its coordinates, to a file:
  netcdf4                      NetCDF-4 (.nc), with groups; programs for HDF5 read it, too
  netcdf3, netcdf3-64, cdf5    the classic formats, which have fewer types and no groups
  cog, geotiff                 an array as GeoTIFF (.tif), with overviews or without them
  parquet, arrow, arrows       a table with a row for each element and its coordinates, or for each
                               row of a ragged set; missing values are null; also to a pipe

In such files, values stay as they are stored (packed numbers, times as numbers with units) unless
--decode unpacks them. For a group, each item of --select has the name of a dimension, and applies
to the arrays that have it. Memory is bounded. A file appears only after it is complete.`,
		Example: `  varve export era5.zarr/t2m --select time=2020-02,lat=0 --header -o february.csv
  varve export era5.zarr --split time:month -o 'era5-%Y-%m.nc'
  varve export era5.zarr/t2m --select time=2020-02-01 -o first.tif
  varve export buoys.zarr --where 'sst > 20' -o warm.parquet`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	sel, decoded := source.SelectionFlag(c), source.DecodeFlag(c)
	name := format.Flag(c, export.Raw, export.NPY, export.CSV, export.JSON, export.NetCDF4, export.NetCDF3, export.Offset64, export.CDF5, export.COG, export.GeoTIFF, export.Parquet, export.Arrow, export.Arrows)
	file := new(string)
	flagtext.VarP(c.Flags(), file, "output", "o", "the `FILE` to write; standard output by default", argument.FileName)
	header := c.Flags().Bool("header", false, "for csv: add a line of names, and the values of coordinates")
	split := new(string)
	flagtext.Var(c.Flags(), split, "split", "", "a file for each `PART`: time:year, month or day, DIM:N elements, DIM:chunk; -o has %Y %m %d %H %j of its first time, or its number %N", checkSplit)
	where := new(string)
	flagtext.Var(c.Flags(), where, "where", "", "only the rows that fulfil `EXPR`, as for varve filter", flagtext.Syntax(filter.Parse))
	made := newFileFlags(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := format.Of(*name, *file, false)
		if err != nil {
			return err
		}
		e := &exporting{Command: cmd, location: args[0], sel: *sel, file: *file, as: f, decoded: *decoded, header: *header, split: *split, where: *where, flags: made}
		if err := e.check(); err != nil {
			return err
		}
		return e.run()
	}
	return c
}

// exporting is a run of the command export.
type exporting struct {
	*cobra.Command
	location, sel, file, split, where string
	as                                export.Format
	decoded, header                   bool
	flags                             *fileFlags
	noted                             bool // what a table leaves out
}

// cargo is what goes into a file: an array, the columns of a table, or a data set.
type cargo interface {
	sources() []*export.Source
	// with returns a cargo of other elements.
	with(elements func(*export.Source) (*export.Source, error)) (cargo, error)
	// check returns an error if the elements do not fit the format or the disk. It is
	// called before any file is written.
	check(file string) error
	write(file string) error
	// facts returns what was written in words, and as members of a document.
	facts() (text string, members map[string]any)
}

// piece is a file, and what goes into it.
type piece struct {
	file string
	cargo
}

// isOutput reports whether a file is standard output.
func isOutput(file string) bool { return file == "" || file == "-" }

// check returns an error for flags that do not fit the format.
func (e *exporting) check() error {
	if err := e.flags.check(e.Command, e.as); err != nil {
		return err
	}
	if e.header && e.as != export.CSV {
		return failure.BadUsage("--header is for csv: name the file .csv, or give --format csv")
	}
	if e.split != "" && isOutput(e.file) {
		return failure.BadUsage("--split makes several files: give -o with %%Y-%%m or %%N in the name, as -o 'part-%%N.nc'")
	}
	isBinary := e.as == export.Raw || e.as == export.NPY || isTable(e.as)
	// Binary data can leave a terminal unusable.
	if isOutput(e.file) && isBinary && console.IsTerminal(e.OutOrStdout()) {
		return failure.BadUsage("%s is not for terminals: give -o FILE, or --format csv", e.as)
	}
	return nil
}

// open returns what is exported.
func (e *exporting) open() (c cargo, end func() error, err error) {
	if e.flags.isFile(e.as) {
		return e.openDataset()
	}
	c, end, err = e.openArray()
	if err != nil && e.as == export.CSV {
		if many, _ := node.IsGroup(e.Command, e.location); many {
			return e.openTable()
		}
	}
	return c, end, err
}

// run writes one file, or several.
func (e *exporting) run() error {
	whole, end, err := e.open()
	if err != nil {
		return err
	}
	defer end() // it was only read
	if e.where != "" {
		if whole, err = e.matching(whole); err != nil {
			return failure.On(e.Name(), e.location, err)
		}
	}
	pieces := []piece{{e.file, whole}}
	if e.split != "" {
		if pieces, err = e.parts(whole); err != nil {
			return failure.On(e.Name(), e.location, err)
		}
	}
	total := int64(0)
	for _, p := range pieces {
		if err := p.check(p.file); err != nil {
			return err
		}
		for _, s := range p.sources() {
			total += min(s.Bytes, export.TooMany-total)
		}
	}
	task := "exporting"
	if e.as == export.CSV || e.as == export.JSON {
		task = "reading"
	}
	line := progress.New(e.Command, task, total)
	defer line.End()
	for i, p := range pieces {
		for _, s := range p.sources() {
			s.Written = line.Add
		}
		if err := p.write(p.file); err != nil {
			if i > 0 {
				err = fmt.Errorf("%s: %w (complete: %d of %s, %s to %s)", p.file, err, i, phrase.Plural(int64(len(pieces)), "file"), pieces[0].file, pieces[i-1].file)
			}
			return err
		}
	}
	line.End()
	return e.report(whole, pieces)
}

// report prints what was written.
func (e *exporting) report(whole cargo, pieces []piece) error {
	text, members := whole.facts()
	if !session.WantsJSON(e.Command) {
		switch {
		case e.split != "" && len(pieces) > 0:
			session.Confirm(e.Command, "%s, %s to %s  %s as %s", phrase.Plural(int64(len(pieces)), "file"), pieces[0].file, pieces[len(pieces)-1].file, text, e.as)
		case e.split == "" && !isOutput(e.file):
			session.Confirm(e.Command, "%s  %s as %s", e.file, text, e.as)
		}
		return nil
	}
	members["path"], members["format"] = e.location, e.as
	if e.split == "" {
		members["output"] = output.Present(e.file)
	} else {
		files := []string{}
		for _, p := range pieces {
			files = append(files, p.file)
		}
		members["outputs"] = files
	}
	return session.PrintDocument(e.Command, messages(e.Command, isOutput(e.file)), members)
}

// messages returns the stream for JSON about the data: standard error if the data goes to
// standard output.
func messages(cmd *cobra.Command, dataToStdout bool) io.Writer {
	if dataToStdout {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}
