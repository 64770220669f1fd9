// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// aboutSource returns the message of an error with a shorter path of the file that
// references lead to, and with the command that scans it again. node is the location of
// the references, unless the error names it.
func aboutSource(node string, err error, text string) string {
	var s *virtual.SourceError
	if !errors.As(err, &s) {
		return text
	}
	file := shortPath(s.Location)
	text = strings.ReplaceAll(text, s.Location, file)
	text = strings.ReplaceAll(text, "; open it again", "; repeat the command")
	for e := (*zarr.Error)(nil); errors.As(err, &e); err = e.Err {
		node = e.Path
	}
	again := "scan it again (varve virtualize)"
	if manifest, _, found := store.CutPath(node, virtual.Suffix); found {
		again = fmt.Sprintf("varve virtualize %s --append -o %s scans it again", phrase.Word(file), phrase.Word(manifest))
	}
	return strings.ReplaceAll(text, "; scan it again", "; "+again)
}

// shortPath returns a path relative to the working directory, if it lies below that.
func shortPath(path string) string {
	dir, err := os.Getwd()
	if err != nil || strings.Contains(path, "://") {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
