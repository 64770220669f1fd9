// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/planfile"
	"varve.dev/zarr/rechunk"
)

// inserted is the values of an insertion, which are open.
type inserted struct {
	gains []*growth.Gain
	all   *growth.Gain // of all files
}

// openInserted opens the files of an insertion into an array. Close it also after an
// error.
func openInserted(cmd *cobra.Command, files []string, format string, a *zarr.Array, axis int) (*inserted, error) {
	in := new(inserted)
	for _, file := range files {
		g, err := growth.Open(cmd, file, format, a, axis, true)
		if err != nil {
			return in, err
		}
		in.gains = append(in.gains, g)
	}
	in.all = growth.Joined(in.gains, a.Shape(), axis)
	return in, nil
}

// give sets the elements of an insertion.
func (i *inserted) give(r *rechunk.Insertion) { r.From, r.Words = i.all.Source(), i.all.Words() }

// Close closes the files.
func (i *inserted) Close() (err error) {
	for _, g := range i.gains {
		err = errors.Join(err, g.Close())
	}
	return err
}

// inputs are the values of an insertion as a plan has them: by name, because the plan is
// executed later.
type inputs struct {
	Format string      `json:"format,omitempty"`
	Files  []inputFile `json:"files"`
}

// inputFile is a file, or an array, which has neither size nor time: its elements are
// compared by their hash.
type inputFile struct {
	Name     string    `json:"name"`
	Array    bool      `json:"array,omitempty"`
	Size     int64     `json:"size,omitzero"`
	Modified time.Time `json:"modified,omitzero"`
}

// newInputs records files for a plan.
func newInputs(files []string, format string) (*inputs, error) {
	in := &inputs{Format: format}
	for _, file := range files {
		f := inputFile{Name: planfile.Absolute(file), Array: format == "" && node.IsLocation(file)}
		if file == "" || file == "-" {
			return nil, failure.BadUsage("--plan: standard input cannot be read when the plan is executed: put the values into a file")
		}
		if !f.Array {
			info, err := os.Stat(file)
			if err != nil {
				return nil, err
			}
			if !info.Mode().IsRegular() {
				return nil, failure.BadUsage("--plan: %s cannot be read again when the plan is executed: put the values into a file", phrase.Printable(file))
			}
			f.Size, f.Modified = info.Size(), info.ModTime().UTC()
		}
		in.Files = append(in.Files, f)
	}
	return in, nil
}

// names returns the names of the files, which must be as they were.
func (i *inputs) names() ([]string, error) {
	var names []string
	for _, f := range i.Files {
		names = append(names, f.Name)
		if f.Array {
			continue
		}
		info, err := os.Stat(f.Name)
		if err != nil {
			return nil, fmt.Errorf("the plan inserts a file: %w", err)
		}
		if info.Size() != f.Size || !info.ModTime().Equal(f.Modified) {
			return nil, failure.OfKind(zarr.ErrConflict, "%s has %s of %s, and the plan was made with %s of %s: make the plan again",
				f.Name, phrase.Plural(info.Size(), "byte"), info.ModTime().UTC().Format(time.RFC3339Nano), phrase.Plural(f.Size, "byte"), f.Modified.Format(time.RFC3339Nano))
		}
	}
	return names, nil
}

// hashed reports whether elements are compared by their hash.
func (i *inputs) hashed() bool {
	for _, f := range i.Files {
		if f.Array {
			return true
		}
	}
	return false
}
