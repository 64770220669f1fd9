// SPDX-License-Identifier: Apache-2.0

package input

import (
	"fmt"
	"regexp"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/packed"
)

// year matches a number that looks like a year.
var year = regexp.MustCompile(`^[12][0-9]{3}$`)

// NoteReading prints a note if the value of a flag may have been meant otherwise than it
// is read: a number for times that looks like a year, or a word that is base64. A number
// counts units of the type, as in metadata; a year needs a month.
func NoteReading(cmd *cobra.Command, location string, t dtype.Type, flag, text string) {
	elem, err := ParseGiven(t, text)
	switch {
	case err != nil:
	case t.Kind() == dtype.KindDatetime && year.MatchString(text):
		session.Remark(cmd, location, fmt.Sprintf("%s %s counts units of the type, so it means %s; for the beginning of the year give %s %s-01-01",
			flag, text, t.AppendText(nil, elem), flag, text))
	case IsBareBase64(t, text):
		session.Remark(cmd, location, fmt.Sprintf("%s %s is read as base64, of the bytes 0x%x", flag, text, packed.TrimPadding(t, elem)))
	}
}
