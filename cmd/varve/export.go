package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
)

// format is how the elements of an array are spelled in a file.
type format string

const (
	rawFormat  format = "raw" // C order, little endian, no header
	npyFormat  format = "npy"
	csvFormat  format = "csv"
	jsonFormat format = "json"
)

// writers are the formats that arrays can be exported in.
var writers = map[format]func(*cobra.Command, *source.Source, *bufio.Writer) error{
	rawFormat: writeRaw, npyFormat: writeNPY, csvFormat: writeCSV, jsonFormat: writeNested,
}

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
	name := formatFlag(c, rawFormat, npyFormat, csvFormat, jsonFormat)
	file := new(string)
	flagtext.VarP(c.Flags(), file, "output", "o", "the `FILE` to write; standard output by default", argument.FileName)
	header := c.Flags().Bool("header", false, "of csv: begin with a line of names, and lines with the values of coordinates")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return export(cmd, args[0], *sel, *name, *file, *decoded, *header)
	}
	return c
}

func export(cmd *cobra.Command, location, sel, name, file string, decoded, header bool) error {
	f, err := formatOf(name, file, false)
	switch {
	case err != nil:
		return err
	case header && f != csvFormat:
		return failure.BadUsage("--header is of csv: name the file .csv, or give --format csv")
	}
	write := writers[f]
	toStdout := file == "" || file == "-"
	if toStdout && (f == rawFormat || f == npyFormat) && console.IsTerminal(cmd.OutOrStdout()) {
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
	if err := affords(src, session.LimitOf(cmd), f); err != nil {
		return err
	}
	if !toStdout {
		if err := hasRoom(src, file, f, localfile.FreeBytes); err != nil {
			return err
		}
	}
	if header {
		if err := entitle(cmd.Context(), src); err != nil {
			return err
		}
		notePacked(cmd, location, a, decoded)
	}
	print := func(w *bufio.Writer) error {
		return within(session.LimitOf(cmd), w, func(w *bufio.Writer) error { return write(cmd, src, w) })
	}
	switch {
	case !toStdout:
		err = localfile.Replace(file, print)
	case f == jsonFormat: // half a document is of use to nobody, as long as that can be helped
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

// formatFlag gives a command the flag --format.
func formatFlag(c *cobra.Command, formats ...format) *string {
	words := make([]string, len(formats))
	for i, f := range formats {
		words[i] = string(f)
	}
	name := new(string)
	usage := "the `FORMAT`: " + strings.Join(words, ", ") + "; by default as the extension of the file says, raw where it has none"
	flagtext.Var(c.Flags(), name, "format", "", usage, func(s string) error {
		err := flagtext.OneOf(words...)(s)
		if s == string(csvFormat) && err != nil {
			err = fmt.Errorf("%w; csv is not read: in Python, numpy.loadtxt reads it and numpy.save makes npy of that (skiprows=1 and usecols of a table with a header)", err)
		}
		return err
	})
	return name
}

// formatOf returns the format that is named, or else the one that the name of a file
// says: no name and no extension are raw. An extension that says nothing is wrong usage.
// Raw data has no header, so a guess would write files that no other program reads, and
// would take any file of the right size for values.
func formatOf(name, file string, read bool) (format, error) {
	if name != "" {
		return format(name), nil
	}
	base := strings.TrimLeft(filepath.Base(file), ".") // a hidden file has a name, not an extension
	switch f := format(strings.TrimPrefix(strings.ToLower(filepath.Ext(base)), ".")); f {
	case npyFormat, csvFormat, jsonFormat:
		return f, nil
	case "", "bin", rawFormat:
		return rawFormat, nil
	}
	known := ".npy, .csv, .json, .raw or .bin"
	if read {
		known = ".npy, .json, .raw or .bin"
	}
	return "", failure.BadUsage("%s: the extension %s is not known; name the file %s, or give --format%s",
		file, filepath.Ext(base), known, otherFormat(file, read))
}

// otherFormat returns how a file of another format is read or written.
func otherFormat(file string, read bool) string {
	base := filepath.Base(file)
	switch ext := strings.ToLower(filepath.Ext(file)); {
	case slices.Contains(node.NetCDF, ext) && read:
		return fmt.Sprintf("; NetCDF is not read here: in Python, xarray.open_dataset(%q).to_zarr(%q)", base, node.WithoutExtension(file)+".zarr")
	case slices.Contains(node.NetCDF, ext):
		return fmt.Sprintf("; NetCDF is not written here: in Python, xarray.open_zarr(GROUP).to_netcdf(%q)", base)
	case ext == ".zarr" && !read:
		return fmt.Sprintf("; varve copy NODE %s makes a Zarr node", phrase.Word(file))
	case ext == ".npz":
		return "; .npz is an archive of .npy files, which unzip takes out"
	case ext == ".gz" || ext == ".zst" || ext == ".bz2" || ext == ".xz":
		return "; compressed files go through a pipe, as in gunzip -c x.npy.gz | varve write NODE --format npy, or varve export NODE --format npy | gzip > x.npy.gz"
	}
	return ""
}
