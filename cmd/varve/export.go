// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
)

func newExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export NODE [--select ELEMENTS] [-o FILE]",
		Short: "Write the values of an array to a file or to standard output",
		Long: `Write the values of an array to a file or to standard output.

raw is C order, little endian, without a header. npy is NumPy's format. json is nested lists of values as metadata spells
fill values. csv has one value a line for one axis and a row a line for two; with more axes a line begins with the index
along all axes but the last, counted in the selection, and goes on with the values along the last. Structs have a line each, with a
column for every field, below a line of their names. Dates are written as ISO 8601 there.

--header makes a table of csv, as pandas and spreadsheets read it. Lines begin with the values of the coordinates, decoded, along
all axes but the last, or along the only one; an axis without a coordinate has the index in the array. The first line has
the names of these dimensions, and then the name of the array, or the coordinates along the last of several axes.

--select takes indices, coordinate values and JSON, which varve help select explains.

Values are read and written slab by slab, in bounded memory. A file appears once it is complete, and
so does json of up to 16 MiB on standard output. Where reading fails later, standard output has the
beginning, and the status says so. With --limit, longer output is refused: at once where its size is
known before, else where it is reached. A file for which the file system has no room is refused at once, too.

--decode makes of stored numbers what CF attributes say: float64 of packed ones, numbers with or without a sign as _Unsigned says,
moments (datetime64) of times, and lengths of time (timedelta64) where the units are days or hours. Times become text where one of
them is a day that datetime64 has not: of another calendar, before 1582-10-15 in the standard one, or beyond the years 1 to 9999. As xarray
does, it takes the fill value of format 2 for a missing value of numbers; in format 3 only _FillValue and missing_value are. Where
there is one, numbers become NaN: float16, float32 and float64 keep their type, integers of 8 and 16 bits become float32, longer ones
float64. Booleans and text stay as they are stored.`,
		Example: `  varve export era5.zarr/t2m -o t2m.npy
  varve export era5.zarr/t2m --select time=0:24,lat=0,lon=0 --format csv
  varve export era5.zarr/t2m --select time=2020-02,lat=0 --header -o february.csv`,
		Args:              arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	sel, decoded := source.SelectionFlag(c), source.DecodeFlag(c)
	name := format.Flag(c, format.Raw, format.NPY, format.CSV, format.JSON)
	file := new(string)
	flagtext.VarP(c.Flags(), file, "output", "o", "the `FILE` to write; standard output by default", argument.FileName)
	header := c.Flags().Bool("header", false, "of csv: begin with a line of names, and lines with the values of coordinates")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return export(cmd, args[0], *sel, *name, *file, *decoded, *header)
	}
	return c
}

func export(cmd *cobra.Command, location, sel, name, file string, decoded, header bool) error {
	f, err := format.Of(name, file, false)
	switch {
	case err != nil:
		return err
	case header && f != format.CSV:
		return failure.BadUsage("--header is of csv: name the file .csv, or give --format csv")
	}
	write := format.Writers[f]
	toStdout := file == "" || file == "-"
	if toStdout && (f == format.Raw || f == format.NPY) && console.IsTerminal(cmd.OutOrStdout()) {
		return failure.BadUsage("%s is not for terminals: give -o FILE, or --format csv", f)
	}
	a, err := node.OpenArray(cmd, location)
	if err != nil {
		return err
	}
	defer a.Close()
	src, err := source.New(cmd.Context(), a, sel, decoded)
	if err != nil {
		return err
	}
	if decoded {
		source.TellUndecoded(cmd, location, src)
		source.TellUnmet(cmd, location, src)
	}
	if err := src.Settle(cmd.Context()); err != nil {
		return err
	}
	if err := format.CheckLimit(src, session.LimitOf(cmd), f); err != nil {
		return err
	}
	if !toStdout {
		if err := format.CheckRoom(src, file, f, localfile.FreeBytes); err != nil {
			return err
		}
	}
	if header {
		if err := format.AddHeadings(cmd.Context(), src); err != nil {
			return err
		}
		notePacked(cmd, location, a, decoded)
	}
	print := func(w *bufio.Writer) error {
		return format.Within(session.LimitOf(cmd), w, func(w *bufio.Writer) error { return write(cmd, src, w) })
	}
	switch {
	case !toStdout:
		err = localfile.Replace(file, print)
	case f == format.JSON: // half a document is of use to nobody, as long as that can be helped
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

// notePacked tells people that a table has numbers as they are stored beside coordinates,
// which are decoded.
func notePacked(cmd *cobra.Command, location string, a *zarr.Array, decoded bool) {
	if p, err := cf.PackingOf(a); !decoded && err == nil && element.IsNumeric(a.Type()) && p.IsScaled() {
		scale, offset := p.Scale()
		session.Remark(cmd, location, fmt.Sprintf("the values are as they are stored; --decode applies scale_factor %v and add_offset %v", scale, offset))
	}
}

// messages returns the stream for JSON about data: standard error where the data goes to
// standard output.
func messages(cmd *cobra.Command, dataToStdout bool) io.Writer {
	if dataToStdout {
		return cmd.ErrOrStderr()
	}
	return cmd.OutOrStdout()
}
