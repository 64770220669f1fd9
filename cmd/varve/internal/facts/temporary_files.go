// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bufio"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/leftover"
)

// TemporaryFile is a temporary file below a node. It belongs to a write in progress or to
// a crashed writer.
type TemporaryFile struct {
	Name     string    `json:"name"` // in the store
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`

	Left bool `json:"-"` // its writer has ended
}

// Temporary lists the temporary files at and below a node. Only local stores have
// any.
func Temporary(cmd *cobra.Command, n zarr.Node) ([]TemporaryFile, error) {
	files, err := leftover.Below(cmd.Context(), n.Location().Store(), n.Path())
	if err != nil {
		return nil, err
	}
	return TemporaryFiles(files), nil
}

// TemporaryFiles describes temporary files.
func TemporaryFiles[F leftover.File | check.Temporary](files []F) []TemporaryFile {
	found := make([]TemporaryFile, len(files)) // programs read a list, never null
	for i, f := range files {
		t := leftover.File(f)
		found[i] = TemporaryFile{t.Name, t.Size, t.Modified, t.Left}
	}
	return found
}

// shownTemporary is the number of temporary files that have a line of their own.
const shownTemporary = 3

// WriteTemporary writes one line for each of the first temporary files, and one for all
// of them.
func WriteTemporary(w *bufio.Writer, files []TemporaryFile) {
	var sum int64
	for i, f := range files {
		if sum += f.Bytes; i >= shownTemporary {
			continue
		}
		fmt.Fprintf(w, "%s  temporary file, %s, of %s\n", phrase.Printable(f.Name), phrase.Bytes(f.Bytes), f.Modified.Format(time.DateTime))
	}
	if more := len(files) - shownTemporary; more > 0 {
		fmt.Fprintf(w, "… %s more\n", phrase.Count(int64(more)))
	}
	if len(files) > 0 {
		fmt.Fprintf(w, "%s with %s: the next command that writes here removes those of crashed writers\n",
			phrase.Plural(int64(len(files)), "temporary file"), phrase.Bytes(sum))
	}
}
