// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
)

// NewExport returns the command export.
func NewExport() *cobra.Command {
	c := &cobra.Command{
		Use:   "export NODE [--select ELEMENTS] [-o FILE], export GROUP -o FILE.nc, export GROUP --format csv [-o FILE]",
		Short: "Write the values of an array to a file or to standard output, or a group to a file",
		Long: `Write the values of an array to a file or to standard output, as one of these formats:
  raw     C order, little endian, without a header
  npy     NumPy's format
  json    nested lists of values, spelled like fill values in metadata
  csv     lines of values; --header adds coordinates, for pandas or spreadsheets

or a group, or an array with its coordinates, to a file:
  netcdf4                      NetCDF-4 (.nc), with groups, compressed; HDF5 programs read it, too
  netcdf3, netcdf3-64, cdf5    the classic formats, which have fewer types and no groups
  cog, geotiff                 an array as GeoTIFF (.tif), north up, with overviews or without them

In such files, values stay as they are stored (packed numbers, times as numbers with units) unless
--decode unpacks them. Dimensions along which arrays grow by a policy are unlimited. For a
group, each item of --select has the name of a dimension, and applies to the arrays that have it.

A group whose arrays have one axis, and share its dimension, is a table, which csv can show. Values
are read and written slab by slab, in bounded memory. A file appears only after it is complete.`,
		Example: `  varve export era5.zarr/t2m -o t2m.npy
  varve export era5.zarr/t2m --select time=2020-02,lat=0 --header -o february.csv
  varve export era5.zarr --select time=2020-02 -o february.nc
  varve export era5.zarr/t2m --select time=2020-02-01 -o first.tif`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	sel, decoded := source.SelectionFlag(c), source.DecodeFlag(c)
	name := format.Flag(c, export.Raw, export.NPY, export.CSV, export.JSON, export.NetCDF4, export.NetCDF3, export.Offset64, export.CDF5, export.COG, export.GeoTIFF)
	file := new(string)
	flagtext.VarP(c.Flags(), file, "output", "o", "the `FILE` to write; standard output by default", argument.FileName)
	header := c.Flags().Bool("header", false, "for csv: add a line of names, and the values of coordinates")
	made := newFileFlags(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := format.Of(*name, *file, false)
		if err != nil {
			return err
		}
		if err := made.check(cmd, f); err != nil {
			return err
		}
		if made.isFile(f) {
			if *header {
				return failure.BadUsage("--header is for csv: name the file .csv, or give --format csv")
			}
			return exportFile(cmd, args[0], *sel, *file, *decoded, f, made)
		}
		return exportArray(cmd, args[0], *sel, f, *file, *decoded, *header)
	}
	return c
}

// exportArray writes the values of an array. A group may be a table.
func exportArray(cmd *cobra.Command, location, sel string, f export.Format, file string, decoded, header bool) error {
	if header && f != export.CSV {
		return failure.BadUsage("--header is for csv: name the file .csv, or give --format csv")
	}
	toStdout := file == "" || file == "-"
	// Binary data can leave a terminal unusable.
	if toStdout && (f == export.Raw || f == export.NPY) && console.IsTerminal(cmd.OutOrStdout()) {
		return failure.BadUsage("%s is not for terminals: give -o FILE, or --format csv", f)
	}
	a, src, err := openSource(cmd, location, sel, decoded)
	if err != nil {
		if many, _ := node.IsGroup(cmd, location); many && f == export.CSV {
			return exportTable(cmd, location, sel, file, decoded)
		}
		return err
	}
	defer a.Close()
	// All values of a file have one type. Settle it before the first value is written.
	if err := src.Settle(cmd.Context()); err != nil {
		return err
	}
	// Refuse what cannot fit before anything is written.
	err = format.CheckLimit(src, session.LimitOf(cmd), f)
	if err == nil && !toStdout {
		err = format.CheckRoom(src, file, f, localfile.FreeBytes)
	}
	if err != nil {
		return err
	}
	if header {
		every := func(*zarr.Array) bool { return true }
		if err := export.AddHeadings(cmd.Context(), src, every, func(text string) { session.Remark(cmd, location, text) }); err != nil {
			return err
		}
		notePacked(cmd, location, a, decoded)
	}
	print := func(w *bufio.Writer) error {
		return format.Within(session.LimitOf(cmd), w, func(w *bufio.Writer) error { return format.Write(cmd, src, f, w) })
	}
	switch {
	case !toStdout:
		err = localfile.Replace(file, print)
	case f == export.JSON: // half a document would be useless
		err = output.Withheld(cmd.OutOrStdout(), print)
	default:
		err = session.PrintData(cmd, print)
	}
	if err != nil {
		return err
	}
	if !session.WantsJSON(cmd) {
		if !toStdout {
			session.Confirm(cmd, "%s  %s as %s", file, phrase.Plural(src.Selection.Len(), "value"), f)
		}
		return nil
	}
	return session.PrintDocument(cmd, messages(cmd, toStdout), map[string]any{
		"path": location, "shape": src.Shape, "data_type": src.Type.String(), "format": f, "output": output.Present(file),
	})
}

// exportTable writes the arrays directly below a group, which share their only dimension,
// as one table in CSV. The coordinate of the dimension comes first.
func exportTable(cmd *cobra.Command, location, sel, file string, decoded bool) error {
	g, err := zarr.OpenGroup(cmd.Context(), location, session.Reading(cmd))
	if err != nil {
		return err
	}
	defer g.Close()
	var columns []export.Column
	for m, err := range node.Listed(cmd.Context(), location, g) {
		if err != nil {
			return err
		}
		a, at := m.Array, m.Location
		switch {
		case a.Rank() == 0:
			session.Note(cmd, at, "is left out: it is a single value")
			continue
		case a.Rank() > 1 || a.Type().Kind() == dtype.KindStruct:
			return failure.On(cmd.Name(), location, failure.BadArgument("a group is a table if its arrays have one axis and no fields; %s has shape %v and type %s: export it by itself", m.Name, a.Shape(), a.Type()))
		}
		src, err := source.New(cmd.Context(), a, sel, decoded)
		if err == nil {
			err = src.Settle(cmd.Context())
		}
		if err != nil {
			return failure.On(cmd.Name(), at, err)
		}
		if decoded {
			source.TellUndecoded(cmd, at, src)
			source.TellUnmet(cmd, at, src)
		}
		columns = append(columns, export.Column{Name: m.Name, Source: src})
	}
	if err := isTable(columns); err != nil {
		return failure.On(cmd.Name(), location, err)
	}
	sort.SliceStable(columns, func(i, j int) bool {
		return cf.IsCoordinate(columns[i].Array) && !cf.IsCoordinate(columns[j].Array)
	})
	print := func(w *bufio.Writer) error {
		return format.Within(session.LimitOf(cmd), w, func(w *bufio.Writer) error { return format.WriteTable(cmd, columns, w) })
	}
	toStdout := file == "" || file == "-"
	if toStdout {
		err = session.PrintData(cmd, print)
	} else {
		err = localfile.Replace(file, print)
	}
	if err != nil {
		return err
	}
	if !session.WantsJSON(cmd) {
		if !toStdout {
			session.Confirm(cmd, "%s  %s of %s as %s", file, phrase.Plural(columns[0].Shape[0], "row"), phrase.Plural(int64(len(columns)), "column"), export.CSV)
		}
		return nil
	}
	names := []string{}
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return session.PrintDocument(cmd, messages(cmd, toStdout), map[string]any{
		"path": location, "shape": columns[0].Shape, "columns": names, "format": export.CSV, "output": output.Present(file),
	})
}

// isTable returns an error if columns differ in their dimension or in their length.
func isTable(columns []export.Column) error {
	if len(columns) == 0 {
		return failure.BadArgument("the group has no arrays with one axis, which would be the columns of a table")
	}
	dimension := func(c export.Column) string {
		if names := c.Array.DimensionNames(); names != nil {
			return names[0]
		}
		return ""
	}
	first := columns[0]
	if len(first.Shape) != 1 {
		return failure.BadArgument("--select must leave the rows of a table: give a range, such as 3:4")
	}
	for _, c := range columns[1:] {
		if dimension(c) != dimension(first) {
			return failure.BadArgument("a group is a table if its arrays share their dimension; that of %s is %q, and that of %s is %q: export them one by one", first.Name, dimension(first), c.Name, dimension(c))
		}
		if !slices.Equal(c.Shape, first.Shape) {
			return failure.BadArgument("the columns of a table have one length; %s has shape %v, and %s has %v", first.Name, first.Shape, c.Name, c.Shape)
		}
	}
	return nil
}

// openSource opens an array and binds a selection to it. With --decode it prints notes
// about values that cannot be decoded. The caller must close the array.
func openSource(cmd *cobra.Command, location, sel string, decoded bool) (*zarr.Array, *export.Source, error) {
	a, err := node.OpenArray(cmd, location)
	if err != nil {
		return nil, nil, err
	}
	src, err := source.New(cmd.Context(), a, sel, decoded)
	if err != nil {
		_ = a.Close() // it was only read
		return nil, nil, err
	}
	if decoded {
		source.TellUndecoded(cmd, location, src)
		source.TellUnmet(cmd, location, src)
	}
	return a, src, nil
}

// notePacked prints a note if a table has packed numbers beside decoded coordinates.
func notePacked(cmd *cobra.Command, location string, a *zarr.Array, decoded bool) {
	if p, err := cf.PackingOf(cmd.Context(), a); !decoded && err == nil && cf.IsNumeric(a.Type()) && p.IsScaled() {
		scale, offset := p.Scale()
		session.Remark(cmd, location, fmt.Sprintf("the values are packed; --decode applies scale_factor %v and add_offset %v", scale, offset))
	}
}

// messages returns the stream for JSON about the data: standard error if the data goes to
// standard output.
func messages(cmd *cobra.Command, dataToStdout bool) io.Writer {
	if dataToStdout {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}
