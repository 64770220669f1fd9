package main

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/dtype"
)

// note tells on standard error what a person should know of a node though the command
// succeeds. With --json nothing is told there: what programs read from standard error is
// the error alone.
func note(cmd *cobra.Command, location, text string) {
	if !wantsJSON(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: %s\n", phrase.Printable(location), phrase.Printable(text))
	}
}

// remark is [note] of what the document of the command has no member of its own for: with
// --json it is in the list "notes".
func remark(cmd *cobra.Command, location, text string) {
	note(cmd, location, text)
	if r, ok := cmd.Context().Value(remarksKey{}).(*remarks); ok {
		*r = append(*r, location+": "+text)
	}
}

// remarks are the notes that a command has for programs.
type remarks []string

// remarksKey is the key of the remarks in the context of a command.
type remarksKey struct{}

// withRemarks lets a command collect its remarks.
func withRemarks(cmd *cobra.Command) {
	cmd.SetContext(context.WithValue(cmd.Context(), remarksKey{}, new(remarks)))
}

// takeRemarks returns the remarks that are in no document yet.
func takeRemarks(cmd *cobra.Command) []string {
	r, ok := cmd.Context().Value(remarksKey{}).(*remarks)
	if !ok {
		return nil
	}
	list := *r
	*r = nil
	return list
}

// year matches a number that looks like a year.
var year = regexp.MustCompile(`^[12][0-9]{3}$`)

// noteYear tells people which time a number is that a flag gives and that looks like a
// year. Numbers count the units of the type, as in documents, and years have a month.
func noteYear(cmd *cobra.Command, location string, t dtype.Type, flag, text string) {
	if t.Kind() != dtype.Datetime || !year.MatchString(text) {
		return
	}
	if elem, err := parseGiven(t, text); err == nil {
		remark(cmd, location, fmt.Sprintf("%s %s counts units of the type, so it is %s; the year begins at %s %s-01-01",
			flag, text, t.AppendText(nil, elem), flag, text))
	}
}

// fileExtensions are those of files that a folder may be taken for. A .zip is one indeed.
var fileExtensions = append([]string{".npy", ".npz", ".csv", ".json", ".tar", ".gz", ".tgz", ".zst", ".tif", ".tiff", ".grib", ".grib2"}, netCDF...)

// noteFolder tells people of a new node whose name is that of a file of another format.
func noteFolder(cmd *cobra.Command, location string) {
	if ext := strings.ToLower(path.Ext(sameNode(location))); slices.Contains(fileExtensions, ext) {
		remark(cmd, location, "it is a folder with a Zarr node, in spite of its name; varve export writes files, and varve copy archives that end in .zip")
	}
}
