// SPDX-License-Identifier: Apache-2.0

// Package tabular stores tables of other programs, such as files of Arrow and Parquet, as
// Zarr arrays: one array of one axis for each column.
package tabular

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/columnar/arrow"
	"varve.dev/zarr/columnar/parquet"
	"varve.dev/zarr/internal/export"
)

// Formats are the names of the formats in --format. The beginning of a file tells them
// apart.
var Formats = []export.Format{export.Parquet, export.Arrow, export.Arrows}

// IsTable reports whether a file is a table, by --format or by its extension. Standard
// input is one if it begins like one; what is read of it is put back.
func IsTable(cmd *cobra.Command, file, format string) (bool, error) {
	if format == "" && file == "-" && !console.IsTerminal(cmd.InOrStdin()) {
		head, in := make([]byte, 6), localfile.Patient(cmd.Context(), cmd.InOrStdin())
		n, err := io.ReadFull(in, head)
		cmd.SetIn(io.MultiReader(bytes.NewReader(head[:n]), in))
		if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, fmt.Errorf("read standard input: %w", err)
		}
		begins := func(magic string) bool { return strings.HasPrefix(string(head[:n]), magic) }
		return begins("PAR1") || begins("ARROW1") || begins("\xff\xff\xff\xff"), nil
	}
	return isNamed(file, format), nil
}

func isNamed(file, format string) bool {
	if format == "" && !strings.Contains(file, "://") {
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	}
	return slices.Contains(Formats, export.Format(format)) || format == "feather"
}

// source is a file or a stream that can be read several times.
type source struct {
	name  string
	at    io.ReaderAt
	size  int64
	close func() error
}

// open opens a file, or standard input for "-", which is spooled.
func open(cmd *cobra.Command, file string) (*source, error) {
	if file == "-" || file == "" {
		if console.IsTerminal(cmd.InOrStdin()) {
			return nil, failure.BadUsage("a table cannot be typed at a terminal: name a file, or send it through a pipe")
		}
		return spooled("standard input", localfile.Patient(cmd.Context(), cmd.InOrStdin()))
	}
	f, err := localfile.Open(cmd.Context(), file)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		return &source{file, f, info.Size(), f.Close}, nil
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s, err := spooled(file, localfile.Patient(cmd.Context(), f))
	return s, errors.Join(err, f.Close())
}

func spooled(name string, r io.Reader) (*source, error) {
	spool := new(localfile.Spool)
	if _, err := io.Copy(spool, r); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", name, err), spool.Close())
	}
	return &source{name, spool, spool.Reader().Size(), spool.Close}, nil
}

// reader reads the table from its beginning.
func (s *source) reader() (columnar.Reader, error) {
	var magic [4]byte
	n, err := s.at.ReadAt(magic[:min(4, s.size)], 0)
	if err != nil && err != io.EOF {
		return nil, s.fail(err)
	}
	switch string(magic[:n]) {
	case "PAR1":
		r, err := parquet.NewReader(s.at, s.size, parquet.Limits{})
		return r, s.fail(err)
	case "ARRO", "FEA1":
		r, err := arrow.NewFileReader(s.at, s.size, 0)
		return r, s.fail(err)
	}
	r, err := arrow.NewStreamReader(io.NewSectionReader(s.at, 0, s.size), 0)
	return r, s.fail(err)
}

// fail returns an error of the file as one of the kinds that the command knows.
func (s *source) fail(err error) error {
	switch {
	case errors.Is(err, columnar.ErrCorrupt):
		return failure.OfKind(zarr.ErrCorrupt, "%s: %w; fetch or write the file again", s.name, err)
	case errors.Is(err, columnar.ErrUnsupported):
		return failure.OfKind(zarr.ErrUnsupported, "%s: %w (DuckDB or pandas can write the table without it)", s.name, err)
	case err != nil:
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}
