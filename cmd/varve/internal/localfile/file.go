// SPDX-License-Identifier: Apache-2.0

package localfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/metadata"
)

// Replace writes a file through a temporary file beside it, so that other programs never
// read a part of it. A device or a pipe is written directly.
func Replace(name string, write func(w *bufio.Writer) error) (err error) {
	if err := notInNode(name); err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeThrough(name, write) // a rename would replace the device or pipe
	}
	// The error of CreateTemp would name a file that the user does not know.
	if folder := filepath.Dir(name); !node.Exists(folder) {
		return failure.NotFound("write %s: there is no folder %s", name, folder)
	}
	// Beside the target: a rename is atomic only within one file system. A crash before
	// the rename leaves this hidden file and the old content.
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if errors.Is(err, fs.ErrPermission) {
		return failure.OfKind(fs.ErrPermission, "write %s: no permission to write to its folder", name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	// CreateTemp permits only the owner to read. All calls are made, also after an error,
	// so the file is always closed.
	err = cmp.Or(write(w), w.Flush(), f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// notInNode returns an error for a file in the directory of a node or below. It could
// replace a document or a chunk, or be mistaken for one.
func notInNode(name string) error {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil // the missing folder is reported elsewhere
	}
	for ; ; dir = filepath.Dir(dir) {
		if hasDocument(dir) {
			return failure.BadArgument("write %s: %s is a Zarr node, and the file would be in it; write it elsewhere", name, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func writeThrough(name string, write func(w *bufio.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	return cmp.Or(write(w), w.Flush(), f.Close())
}

// MaxText bounds the bytes of text that are read.
const MaxText = 1 << 30

// ReadAll returns the content of a file, or of standard input for "-".
func ReadAll(cmd *cobra.Command, name string) ([]byte, error) {
	var r io.Reader = Patient(cmd.Context(), cmd.InOrStdin())
	if name != "-" {
		f, err := Open(cmd.Context(), name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = Patient(cmd.Context(), f)
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxText+1))
	if err == nil && len(data) > MaxText {
		err = fmt.Errorf("%w: %s has more than %s", zarr.ErrLimit, name, phrase.Bytes(MaxText))
	}
	return data, err
}

// hasDocument reports whether a folder has a metadata document.
func hasDocument(dir string) bool {
	return slices.ContainsFunc([]string{metadata.V3Node, metadata.V2Array, metadata.V2Group}, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}
