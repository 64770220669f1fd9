package main

import (
	"bufio"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
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
var writers = map[format]func(*cobra.Command, *source, *bufio.Writer) error{
	rawFormat: writeRaw, npyFormat: writeNPY, csvFormat: writeCSV, jsonFormat: writeNested,
}

func newExportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export NODE",
		Short: "Write the values of an array to a file or to standard output",
		Long: `Write the values of an array to a file or to standard output.

raw is C order, little endian, without a header. npy is NumPy's format. json is nested lists of values as metadata spells
fill values. csv has one value a line for one axis and a row a line for two; with more axes a line begins with the index
along all axes but the last, counted in the selection, and goes on with the values along the last. Structs have a line each, with a
column for every field, below a line of their names. Dates are written as ISO 8601 there.

--select takes JSON, too: {"orthogonal": [[0,2,5], "1:5", 7]}, {"points": [[0,1],[3,4]]}, {"blocks": ["0", "1:3"]}, {"mask": "mask.npy"} and
{"fields": ["a"], "basic": "0:5"}.

--decode makes of stored numbers what CF attributes say: float64 of packed ones, and moments (datetime64) of times. As xarray does, it
takes the fill value of format 2 for a missing value; in format 3 only _FillValue and missing_value are.`,
		Example: `  varve export era5.zarr/t2m -o t2m.npy
  varve export era5.zarr/t2m --select time=0:24,0,0 --format csv`,
		Args:              arguments("NODE"),
		ValidArgsFunction: completeNode,
	}
	sel, decoded := selectionFlag(c), decodeFlag(c)
	name := formatFlag(c, rawFormat, npyFormat, csvFormat, jsonFormat)
	output := c.Flags().StringP("output", "o", "", "the `FILE` to write; standard output by default")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return export(cmd, args[0], *sel, *name, *output, *decoded)
	}
	return c
}

func export(cmd *cobra.Command, location, sel, name, output string, decoded bool) error {
	f := formatOf(name, output)
	write := writers[f]
	toStdout := output == "" || output == "-"
	if toStdout && (f == rawFormat || f == npyFormat) && isTerminal(cmd.OutOrStdout()) {
		return badUsage("%s is not for terminals: give -o FILE, or --format csv", f)
	}
	a, err := openArray(cmd, location)
	if err != nil {
		return err
	}
	defer a.Close()
	src, err := newSource(a, sel, decoded)
	if err != nil {
		return err
	}
	print := func(w *bufio.Writer) error { return write(cmd, src, w) }
	switch {
	case !toStdout:
		err = replaceFile(output, print)
	case f == jsonFormat: // half a document is of use to nobody
		err = withheld(cmd, print)
	default:
		err = buffered(cmd, print)
	}
	if err != nil || !wantsJSON(cmd) {
		return err
	}
	return printDocument(cmd, messages(cmd, toStdout), map[string]any{
		"path": location, "shape": src.shape, "data_type": src.typ.String(), "format": f, "output": present(output),
	})
}

// messages returns the stream for JSON about data: standard error where the data goes to standard output.
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
	usage := "`" + strings.Join(words, "|") + "`; by default what the name of the file says, or raw"
	checkedVar(c.Flags(), name, "format", "", usage, oneOf(words...))
	return name
}

// formatOf returns the format that is named, or the one of the file's name, or raw.
func formatOf(name, file string) format {
	if name != "" {
		return format(name)
	}
	switch f := format(strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")); f {
	case npyFormat, csvFormat, jsonFormat:
		return f
	}
	return rawFormat
}
