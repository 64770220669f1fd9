// SPDX-License-Identifier: Apache-2.0

package rechunking

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

// Inserted is the values of an insertion, which are open.
type Inserted struct {
	Gains []*growth.Gain
	All   *growth.Gain // of all files
}

// OpenInserted opens the files of an insertion into an array. Close it also after an
// error.
func OpenInserted(cmd *cobra.Command, files []string, format string, a *zarr.Array, axis int) (*Inserted, error) {
	in := new(Inserted)
	for _, file := range files {
		g, err := growth.Open(cmd, file, format, a, axis, true)
		if err != nil {
			return in, err
		}
		in.Gains = append(in.Gains, g)
	}
	in.All = growth.Joined(in.Gains, a.Shape(), axis)
	return in, nil
}

// Give sets the elements of an insertion.
func (i *Inserted) Give(r *rechunk.Insertion) { r.From, r.Words = i.All.Source(), i.All.Words() }

// Close closes the files.
func (i *Inserted) Close() (err error) {
	for _, g := range i.Gains {
		err = errors.Join(err, g.Close())
	}
	return err
}

// Inputs are the values of an insertion as a plan has them: by name, because the plan is
// executed later.
type Inputs struct {
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

// NewInputs records files for a plan.
func NewInputs(files []string, format string) (*Inputs, error) {
	in := &Inputs{Format: format}
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

// Names returns the names of the files, which must be as they were.
func (i *Inputs) Names() ([]string, error) {
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

// Hashed reports whether elements are compared by their hash.
func (i *Inputs) Hashed() bool {
	for _, f := range i.Files {
		if f.Array {
			return true
		}
	}
	return false
}
