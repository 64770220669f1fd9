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
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/virtual"
)

// year matches a number that looks like a year.
var year = regexp.MustCompile(`^[12][0-9]{3}$`)

// noteReading prints a note if the value of a flag may have been meant otherwise than it
// is read: a number for times that looks like a year, or a word that is base64. A number
// counts units of the type, as in metadata; a year needs a month.
func noteReading(cmd *cobra.Command, location string, t dtype.Type, flag, text string) {
	elem, err := input.ParseGiven(t, text)
	switch {
	case err != nil:
	case t.Kind() == dtype.KindDatetime && year.MatchString(text):
		session.Remark(cmd, location, fmt.Sprintf("%s %s counts units of the type, so it means %s; for the beginning of the year give %s %s-01-01",
			flag, text, t.AppendText(nil, elem), flag, text))
	case input.IsBareBase64(t, text):
		session.Remark(cmd, location, fmt.Sprintf("%s %s is read as base64, of the bytes 0x%x", flag, text, packed.TrimPadding(t, elem)))
	}
}

// fileExtensions are the extensions of files of other formats. A name that ends in .zip
// really makes an archive.
var fileExtensions = []string{".npy", ".npz", ".csv", ".json", ".parq", ".parquet", ".tar", ".gz", ".tgz", ".zst"}

// noteFolder prints a note if the name of a new node looks like a file of another format.
func noteFolder(cmd *cobra.Command, location string) {
	name := node.Clean(location)
	switch ext := strings.ToLower(path.Ext(name)); {
	case ext == virtual.Suffix:
		session.Remark(cmd, location, "it is a folder with a Zarr node, and no manifest, in spite of its name; varve virtualize makes manifests")
	case slices.Contains(fileExtensions, ext), virtual.IsForeign(name):
		session.Remark(cmd, location, "it is a folder with a Zarr node, in spite of its name; varve export writes files, and varve copy to a name with .zip writes an archive")
	}
}
