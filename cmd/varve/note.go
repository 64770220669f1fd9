// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
)

// year matches a number that looks like a year.
var year = regexp.MustCompile(`^[12][0-9]{3}$`)

// noteYear tells people which time a number is that a flag gives and that looks like a
// year. Numbers count the units of the type, as in documents, and years have a month.
func noteYear(cmd *cobra.Command, location string, t dtype.Type, flag, text string) {
	if t.Kind() != dtype.Datetime || !year.MatchString(text) {
		return
	}
	if elem, err := input.ParseGiven(t, text); err == nil {
		session.Remark(cmd, location, fmt.Sprintf("%s %s counts units of the type, so it is %s; the year begins at %s %s-01-01",
			flag, text, t.AppendText(nil, elem), flag, text))
	}
}

// fileExtensions are those of files that a folder may be taken for. A .zip is one indeed.
var fileExtensions = append([]string{".npy", ".npz", ".csv", ".json", ".tar", ".gz", ".tgz", ".zst", ".tif", ".tiff", ".grib", ".grib2"}, node.NetCDF...)

// noteFolder tells people of a new node whose name is that of a file of another format.
func noteFolder(cmd *cobra.Command, location string) {
	if ext := strings.ToLower(path.Ext(node.Clean(location))); slices.Contains(fileExtensions, ext) {
		session.Remark(cmd, location, "it is a folder with a Zarr node, in spite of its name; varve export writes files, and varve copy archives that end in .zip")
	}
}
