// SPDX-License-Identifier: Apache-2.0

// Package format writes elements in the formats of varve export and varve cat.
package format

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/virtual"
)

// Flag adds the flag --format to a command.
func Flag(c *cobra.Command, formats ...export.Format) *string {
	words := make([]string, len(formats))
	for i, f := range formats {
		words[i] = string(f)
	}
	name := new(string)
	usage := "the `FORMAT`: " + strings.Join(words, ", ") + "; default: the format of the file extension, or raw without one"
	flagtext.Var(c.Flags(), name, "format", "", usage, func(s string) error {
		err := flagtext.OneOf(words...)(s)
		if s == string(export.CSV) && err != nil {
			err = fmt.Errorf("%w; csv cannot be read: in Python, convert it with numpy.loadtxt (skiprows=1 and usecols for a table with a header) and numpy.save", err)
		}
		return err
	})
	return name
}

// Of returns the named format, or else the format for the extension of a file. No name
// and no extension mean raw. An unknown extension is wrong usage: raw data has no header,
// so a guess would write files that no other program reads, and would read any file of
// the right size as values.
func Of(name, file string, read bool) (export.Format, error) {
	if name != "" {
		return export.Format(name), nil
	}
	base := strings.TrimLeft(filepath.Base(file), ".") // a hidden file has a name, not an extension
	switch f := export.Format(strings.TrimPrefix(strings.ToLower(filepath.Ext(base)), ".")); f {
	case export.NPY, export.CSV, export.JSON:
		return f, nil
	case "", "bin", export.Raw:
		return export.Raw, nil
	case "nc", "nc4":
		if !read {
			return export.NetCDF4, nil
		}
	case "tif", "tiff":
		if !read {
			return export.COG, nil
		}
	case "parquet", "arrow", "feather", "arrows":
		if f == "feather" { // its version 2 is a file of Arrow
			f = export.Arrow
		}
		if !read {
			return f, nil
		}
	}
	if read && virtual.IsForeign(file) && !node.Exists(file) { // else its format would be known
		return "", failure.NotFound("%s: there is no such file", file)
	}
	known := ".npy, .csv, .json, .nc, .tif, .parquet, .arrow, .raw or .bin"
	if read {
		known = ".npy, .json, .raw or .bin"
	}
	return "", failure.BadUsage("%s: the extension %s is unknown; name the file %s, or give --format%s",
		file, filepath.Ext(base), known, otherFormat(file, read))
}

// otherFormat returns a hint on how to read or write a file of another format.
func otherFormat(file string, read bool) string {
	switch ext := strings.ToLower(filepath.Ext(file)); {
	case slices.Contains(node.NetCDF, ext) && !read:
		return " netcdf4, netcdf3, netcdf3-64 or cdf5"
	case ext == ".zarr" && !read:
		return fmt.Sprintf("; varve copy NODE %s makes a Zarr node", phrase.Word(file))
	case ext == ".npz":
		return "; .npz is an archive of .npy files; extract them with unzip"
	case ext == ".gz" || ext == ".zst" || ext == ".bz2" || ext == ".xz":
		return "; use a pipe for compressed files, as in gunzip -c x.npy.gz | varve write NODE --format npy, or varve export NODE --format npy | gzip > x.npy.gz"
	}
	return ""
}

// CheckLimit returns an error if the output is known to be longer than the limit before
// it is made. 0 is no limit.
func CheckLimit(s *export.Source, limit int64, f export.Format) error {
	if s.Bytes == export.TooMany {
		return fmt.Errorf("%w: the bytes of %s; select a part (--select)", zarr.ErrOverflow, phrase.Plural(s.Selection.Len(), "value"))
	}
	if least := export.LeastBytes(s, f); limit > 0 && least > limit {
		return fmt.Errorf("%w: %s as %s has %s or more, but --limit is %s; select a part (--select), or raise it",
			zarr.ErrLimit, phrase.Plural(s.Selection.Len(), "value"), f, phrase.Bytes(least), phrase.Bytes(limit))
	}
	return nil
}

// CheckRoom returns an error if the file system has no room for a file, so that a command
// does not fill the disk first. On a file system that compresses, the file may fit after
// all; writing to a pipe avoids the check.
func CheckRoom(s *export.Source, file string, f export.Format, free func(dir string) (int64, bool)) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil // a device or a pipe
	}
	least := export.LeastBytes(s, f)
	if room, known := free(filepath.Dir(file)); known && least > room {
		return failure.OfKind(syscall.ENOSPC, "write %s: %s as %s has %s or more, but there is room for %s; select a part (--select), or write to standard output",
			file, phrase.Plural(s.Selection.Len(), "value"), f, phrase.Bytes(least), phrase.Bytes(room))
	}
	return nil
}

// Within calls print with a writer to w that accepts at most limit bytes. 0 is no limit.
func Within(limit int64, w *bufio.Writer, print func(w *bufio.Writer) error) error {
	if limit <= 0 {
		return print(w)
	}
	l := bufio.NewWriter(&limited{w, limit, limit})
	return cmp.Or(print(l), l.Flush())
}

// limited is a writer with a limit.
type limited struct {
	out              *bufio.Writer
	remaining, limit int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.remaining -= int64(len(p)); l.remaining < 0 {
		return 0, fmt.Errorf("%w: the output exceeds --limit %s; select a part (--select), or raise it", zarr.ErrLimit, phrase.Bytes(l.limit))
	}
	return l.out.Write(p)
}
