// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/tables"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/arrow"
	"varve.dev/zarr/columnar/parquet"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/export/geotiff"
	"varve.dev/zarr/internal/export/netcdf"
)

// fileFlags are the flags of formats that hold data sets.
type fileFlags struct {
	unlimited     []string
	deflate, zstd int
	crs           string
	rows          int64
	hasZstd       bool
}

// newFileFlags adds the flags to a command.
func newFileFlags(c *cobra.Command) *fileFlags {
	f := &fileFlags{}
	c.Flags().StringSliceVar(&f.unlimited, "unlimited", nil, "for NetCDF: the `DIMENSIONS` that can grow in the file, or none")
	c.Flags().IntVar(&f.deflate, "deflate", 4, "for netcdf4 and GeoTIFF: the `LEVEL` from 1 to 9; 0 is none")
	c.Flags().IntVar(&f.zstd, "zstd", 0, "for tables and GeoTIFF: the `LEVEL` of zstd from 1 to 22; 0 is none")
	c.Flags().Int64Var(&f.rows, "row-group-rows", tables.JoinedRows, "for tables: join short chunks to row groups of up to `N` rows")
	c.Flags().StringVar(&f.crs, "crs", "", "for GeoTIFF: the `SYSTEM` of coordinates, as EPSG:32633, or none")
	return f
}

// isFile reports whether files of a format hold data sets.
func (f *fileFlags) isFile(as export.Format) bool { return f.format(as, "") != nil }

// isTable reports whether a format has tables, which are written in order.
func isTable(as export.Format) bool {
	return as == export.Parquet || as == export.Arrow || as == export.Arrows
}

// format returns the writer of a format to a file, or nil.
func (f *fileFlags) format(as export.Format, file string) export.FileFormat {
	switch as {
	case export.NetCDF4, export.NetCDF3, export.Offset64, export.CDF5:
		unlimited := f.unlimited
		if len(unlimited) == 1 && unlimited[0] == "none" {
			unlimited = []string{}
		}
		return netcdf.Format{Variant: as, Unlimited: unlimited, Deflate: f.deflate}
	case export.GeoTIFF, export.COG:
		return geotiff.Format{Overviews: as == export.COG, CRS: f.crs, Deflate: f.deflate, Zstd: f.zstd, Folder: filepath.Dir(file)}
	case export.Parquet, export.Arrow, export.Arrows:
		return &tables.Format{Name: as, JoinedRows: f.rows, Writer: f.tableWriter(as, file)}
	}
	return nil
}

// tableWriter returns what begins a table. Standard output is a stream, because programs
// that read a file of Arrow look for its end first.
func (f *fileFlags) tableWriter(as export.Format, file string) func(io.Writer, *columnar.Schema) (columnar.Writer, error) {
	return func(w io.Writer, s *columnar.Schema) (columnar.Writer, error) {
		compression := arrow.Uncompressed
		if f.zstd > 0 {
			compression = arrow.Zstd
		}
		switch {
		case as == export.Parquet && f.hasZstd && f.zstd == 0:
			return parquet.NewWriter(w, tables.WithColumns(s), parquet.Options{Compression: parquet.None})
		case as == export.Parquet:
			return parquet.NewWriter(w, tables.WithColumns(s), parquet.Options{Level: f.zstd})
		case as == export.Arrow && !isOutput(file):
			return arrow.NewFileWriter(w, s, compression)
		}
		return arrow.NewStreamWriter(w, s, compression)
	}
}

// uses are the flags of formats: those that have them, and how to get one.
var uses = map[string]struct {
	of     string
	format []export.Format
	remedy string
}{
	"unlimited":      {"NetCDF", []export.Format{export.NetCDF4, export.NetCDF3, export.Offset64, export.CDF5}, "name the file .nc, or give --format netcdf4"},
	"deflate":        {"netcdf4 and GeoTIFF", []export.Format{export.NetCDF4, export.GeoTIFF, export.COG}, "name the file .nc or .tif, or give --format"},
	"zstd":           {"Parquet, Arrow and GeoTIFF", []export.Format{export.GeoTIFF, export.COG, export.Parquet, export.Arrow, export.Arrows}, "name the file .parquet, .arrow or .tif, or give --format"},
	"row-group-rows": {"Parquet and Arrow", []export.Format{export.Parquet, export.Arrow, export.Arrows}, "name the file .parquet or .arrow, or give --format"},
	"crs":            {"GeoTIFF", []export.Format{export.GeoTIFF, export.COG}, "name the file .tif, or give --format cog"},
}

// check returns an error for a flag that a format does not have, and for a level that
// does not exist.
func (f *fileFlags) check(cmd *cobra.Command, as export.Format) error {
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		if u := uses[name]; cmd.Flags().Changed(name) && !slices.Contains(u.format, as) {
			return failure.BadUsage("--%s is for %s, and the format is %s: %s", name, u.of, as, u.remedy)
		}
	}
	f.hasZstd = cmd.Flags().Changed("zstd")
	switch {
	case f.rows < 1:
		return failure.BadUsage("--row-group-rows %d: a row group has at least 1 row", f.rows)
	case f.deflate < 0 || f.deflate > 9:
		return failure.BadUsage("--deflate %d: a level is from 0 to 9", f.deflate)
	case f.zstd < 0 || f.zstd > 22:
		return failure.BadUsage("--zstd %d: a level is from 1 to 22, and 0 is none", f.zstd)
	}
	return nil
}

// dataset is a group, or an array with its coordinates.
type dataset struct {
	*exporting
	data *export.Dataset
	dir  string // before the names of its arrays: "" if they are not below the node
}

// openDataset opens the group or the array.
func (e *exporting) openDataset() (cargo, func() error, error) {
	if isOutput(e.file) && !isTable(e.as) {
		return nil, nil, failure.BadUsage("%s is not written in order, so it cannot go to standard output: give -o FILE", e.as)
	}
	n, err := node.Open(e.Command, e.location)
	if err != nil {
		return nil, nil, err
	}
	d, err := gather(e.Command, n, e.location, e.sel, e.decoded)
	if err == nil && isTable(e.as) { // all parts have one type
		for _, s := range d.Sources() {
			err = cmp.Or(err, s.Settle(e.Context()))
		}
	}
	if err != nil {
		_ = n.Close() // it was only read
		return nil, nil, failure.On(e.Name(), e.location, err)
	}
	dir := ""
	if _, many := n.(*zarr.Group); many {
		dir = node.Clean(e.location) + "/"
	}
	return &dataset{e, d, dir}, n.Close, nil
}

func (d *dataset) sources() []*export.Source { return d.data.Sources() }

func (d *dataset) with(elements func(*export.Source) (*export.Source, error)) (cargo, error) {
	other, err := d.data.With(elements)
	return &dataset{d.exporting, other, d.dir}, err
}

func (d *dataset) check(file string) error {
	f := d.format(file)
	if t, is := f.(*tables.Format); is && !d.noted {
		d.noted = true // for all parts
		t.Note = func(name, text string) { session.Note(d.Command, d.dir+name, text) }
	}
	return failure.On(d.Name(), d.location, f.Check(d.Context(), d.data))
}

// format returns the format of a file.
func (d *dataset) format(file string) export.FileFormat { return d.flags.format(d.as, file) }

func (d *dataset) write(file string) error {
	to := d.format(file)
	var err error
	if isOutput(file) {
		err = session.PrintData(d.Command, func(w *bufio.Writer) error {
			return format.Within(session.LimitOf(d.Command), w, func(w *bufio.Writer) error {
				return to.Write(d.Context(), d.data, inOrder{w})
			})
		})
	} else {
		err = localfile.ReplaceFile(file, func(f *os.File) error {
			return to.Write(d.Context(), d.data, &limitedFile{File: f, limit: session.LimitOf(d.Command)})
		})
	}
	return failure.On(d.Name(), d.location, err)
}

func (d *dataset) facts() (string, map[string]any) {
	if t, is := d.format(d.file).(*tables.Format); is {
		columns, rows, err := t.Columns(d.Context(), d.data)
		if err == nil { // as when it was written
			return phrase.Plural(rows, "row") + " of " + phrase.Plural(int64(len(columns)), "column"), map[string]any{"rows": rows, "columns": columns}
		}
	}
	_, isImage := d.format(d.file).(geotiff.Format)
	arrays := []string{}
	_ = d.data.All(func(at string, g *export.Dataset) error { // it returns no errors
		for _, v := range g.Variables {
			// Of coordinates, a GeoTIFF has only what they say about the place.
			if !isImage || v.Name == geotiff.Image(g) {
				arrays = append(arrays, path.Join(at, v.Name))
			}
		}
		return nil
	})
	return phrase.Plural(int64(len(arrays)), "array"), map[string]any{"arrays": arrays}
}

// gather returns what goes into a file.
func gather(cmd *cobra.Command, n zarr.Node, location, sel string, decoded bool) (*export.Dataset, error) {
	tell := func(at string, s *export.Source) {
		if decoded {
			source.TellUnmet(cmd, at, s)
		}
	}
	if a, is := n.(*zarr.Array); is {
		s, err := source.New(cmd.Context(), a, sel, decoded)
		if err != nil {
			return nil, err
		}
		tell(location, s)
		name := path.Base(a.Path())
		if a.Path() == "" {
			name = strings.TrimSuffix(path.Base(node.Clean(location)), ".zarr")
		}
		return export.DatasetWith(cmd.Context(), name, s)
	}
	g, is := n.(*zarr.Group)
	if !is {
		return nil, errors.New("neither an array nor a group")
	}
	among, err := source.Among(sel)
	if err != nil {
		return nil, err
	}
	d, err := export.DatasetOf(cmd.Context(), g, func(ctx context.Context, a *zarr.Array) (*export.Source, error) {
		s, err := source.New(ctx, a, among.Of(a.DimensionNames()), decoded)
		if err == nil {
			tell(node.Clean(location)+"/"+a.Path(), s)
		}
		return s, err
	})
	if err != nil {
		return nil, err
	}
	return d, among.Check()
}

// inOrder is an output of which only the end can be written.
type inOrder struct{ io.Writer }

// WriteAt implements [export.File].
func (inOrder) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

// limitedFile is a file that may have so many bytes; 0 is no limit.
type limitedFile struct {
	*os.File
	limit, end int64
}

// Write implements [export.File].
func (f *limitedFile) Write(p []byte) (int, error) {
	if f.end += int64(len(p)); f.limit > 0 && f.end > f.limit {
		return 0, f.tooLong()
	}
	return f.File.Write(p)
}

// WriteAt implements [export.File].
func (f *limitedFile) WriteAt(p []byte, at int64) (int, error) {
	if f.limit > 0 && at+int64(len(p)) > f.limit {
		return 0, f.tooLong()
	}
	return f.File.WriteAt(p, at)
}

func (f *limitedFile) tooLong() error {
	return fmt.Errorf("%w: the file would have more than --limit, %s; select a part (--select), or raise it", zarr.ErrLimit, phrase.Bytes(f.limit))
}
