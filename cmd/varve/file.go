package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/vfs"
)

// replaceFile makes a file of what write writes: beside its place at first, so that no
// half of it is ever seen there.
func replaceFile(name string, write func(w *bufio.Writer) error) (err error) {
	if err := notInNode(name); err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeThrough(name, write) // a device or a pipe cannot be replaced
	}
	if folder := filepath.Dir(name); !node.Exists(folder) {
		return failure.NotFound("write %s: there is no folder %s", name, folder)
	}
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
	err = cmp.Or(write(w), w.Flush(), f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// notInNode refuses a file in the directory of a node, or below it: it could replace a
// document or a chunk, or become one.
func notInNode(name string) error {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return nil // the folder is not there, which is told otherwise
	}
	for ; ; dir = filepath.Dir(dir) {
		if vfs.HasFile(dir, "zarr.json", ".zarray", ".zgroup") {
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

// readWhole returns what a file holds, or standard input for "-".
func readWhole(cmd *cobra.Command, name string) ([]byte, error) {
	var r io.Reader = patiently(cmd.Context(), cmd.InOrStdin())
	if name != "-" {
		f, err := openPatiently(cmd.Context(), name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = patiently(cmd.Context(), f)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxNested+1))
	if err == nil && len(data) > maxNested {
		err = fmt.Errorf("%w: %s has more than %s", zarr.ErrLimit, name, phrase.Bytes(maxNested))
	}
	return data, err
}
