// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/leftover"
	"varve.dev/zarr/store"
)

// Pending is an unfinished change of several arrays, in JSON.
type Pending struct {
	Decided bool     `json:"decided"` // the next writer completes it; otherwise it undoes it
	Arrays  []string `json:"arrays"`  // paths of the changed arrays in the store
	Shape   []int64  `json:"shape"`   // of this array after the change
	Error   *string  `json:"error,omitempty"`
}

// PendingAt returns the unfinished change of several arrays that an array is part of, or
// nil.
func PendingAt(ctx context.Context, a *zarr.Array) *Pending {
	p, err := a.PendingChange(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return PendingOf(p, err)
}

// PendingOf describes an unfinished change, or why it cannot be read.
func PendingOf(p *zarr.PendingChange, err error) *Pending {
	if err != nil {
		return &Pending{Arrays: []string{}, Error: output.Present(failure.OneLine(err))}
	}
	f := &Pending{Decided: p.Decided, Arrays: p.Arrays, Shape: p.Shape}
	if f.Arrays == nil {
		f.Arrays = []string{}
	}
	return f
}

// Text describes the pending change, and how to finish it.
func (p *Pending) Text() string {
	if p.Error != nil {
		return "an unfinished change cannot be read: " + *p.Error
	}
	change := zarr.PendingChange{Decided: p.Decided, Arrays: p.Arrays, Shape: p.Shape}
	return failure.Remedied(change.String())
}

// PendingBelow returns a note about the first unfinished change of several arrays below a
// group, or nil. It returns nil if the store cannot list.
func PendingBelow(ctx context.Context, location string, g *zarr.Group) []string {
	if _, lists := store.As[store.Lister](g.Location().Store()); !lists {
		return nil
	}
	var arrays []zarr.Member
	ask := func() string {
		changes := make([]*Pending, len(arrays))
		var all sync.WaitGroup
		for i, m := range arrays {
			all.Go(func() { changes[i] = PendingAt(ctx, m.Node.(*zarr.Array)) })
		}
		all.Wait()
		for i, p := range changes {
			// All arrays of the change have the same one. One note is enough.
			if p != nil {
				return node.Clean(location) + "/" + arrays[i].Path + ": " + p.Text()
			}
		}
		arrays = arrays[:0]
		return ""
	}
	n := 0
	for m, err := range g.Members(ctx, true) {
		if _, isArray := m.Node.(*zarr.Array); err != nil || !isArray {
			continue
		}
		if arrays = append(arrays, m); len(arrays) == askedAtOnce {
			if text := ask(); text != "" {
				return []string{text}
			}
		}
		if n++; n == MostCompared {
			break
		}
	}
	if text := ask(); text != "" {
		return []string{text}
	}
	return nil
}

// askedAtOnce is the number of arrays that are asked for a pending change at once.
const askedAtOnce = 32

// Interruption is an unfinished change of several arrays that a command has found. The
// command finishes the change when it opens one of the arrays for writing.
type Interruption struct {
	shape  []int64 // of the array before the change
	change *Pending
}

// Interrupted returns the interruption of an array, or nil. It ignores errors: the
// command reports them when it opens the array.
func Interrupted(cmd *cobra.Command, location string) *Interruption {
	a, err := node.OpenSeen(cmd.Context(), location, session.Reading(cmd))
	if err != nil {
		return nil
	}
	defer a.Close()
	if p := PendingAt(cmd.Context(), a); p != nil && p.Decided {
		return &Interruption{a.Shape(), p}
	}
	return nil
}

// Finished describes how the array changed since, or returns "" if there was no
// interruption.
func (i *Interruption) Finished(a *zarr.Array) string {
	if i == nil {
		return ""
	}
	what := fmt.Sprintf("shape %v → %v", i.shape, a.Shape())
	if slices.Equal(i.shape, a.Shape()) {
		what = fmt.Sprintf("this array already had the shape %v", i.shape)
	}
	return fmt.Sprintf("an earlier append to %s together was decided but not finished, and was finished first: %s; the new elements come after it "+
		"(--expect keeps a batch from being appended twice)", phrase.Plural(int64(len(i.change.Arrays)), "array"), what)
}

// MostCompared bounds the nodes that info compares with the group's consolidated
// metadata.
const MostCompared = 1000

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
