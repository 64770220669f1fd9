// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/store"
)

// Pending is an unfinished change of several arrays, as programs read it.
type Pending struct {
	Decided bool     `json:"decided"` // the next writer finishes it, else the next one undoes it
	Arrays  []string `json:"arrays"`  // that change, by their paths in the store
	Shape   []int64  `json:"shape"`   // of this array, once it is finished
	Error   *string  `json:"error,omitempty"`
}

// PendingAt returns the unfinished change of several arrays that an array is part of, nil
// where there is none.
func PendingAt(ctx context.Context, a *zarr.Array) *Pending {
	p, err := a.PendingChange(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return &Pending{Arrays: []string{}, Error: output.Present(failure.OneLine(err))}
	}
	f := &Pending{Decided: p.Decided, Arrays: p.Arrays, Shape: p.Shape}
	if f.Arrays == nil {
		f.Arrays = []string{}
	}
	return f
}

// IsFinding reports whether something is to be done about it.
func (p *Pending) IsFinding() bool { return p != nil && (p.Decided || p.Error != nil) }

// Text says what is pending, and what finishes it.
func (p *Pending) Text() string {
	switch {
	case p.Error != nil:
		return "what is pending cannot be read: " + *p.Error
	case !p.Decided:
		return "a change of several arrays together was begun and is not decided: nothing of it is visible, and the next writer undoes it"
	}
	return fmt.Sprintf("a change of %s together is decided and not finished: the shape will be %v, and some of them may have "+
		"theirs already; varve check --finish finishes it, as the next writer does, so do not repeat it",
		phrase.Plural(int64(len(p.Arrays)), "array"), p.Shape)
}

// PendingBelow returns a note about the first unfinished change of several arrays below a
// group, nil where there is none. In a store that cannot be listed nobody looks.
func PendingBelow(ctx context.Context, location string, g *zarr.Group) []string {
	if _, lists := store.As[store.Lister](g.Location().Store()); !lists {
		return nil
	}
	n := 0
	for m, err := range g.Members(ctx, true) {
		a, isArray := m.Node.(*zarr.Array)
		if err != nil || !isArray {
			continue
		}
		if p := PendingAt(ctx, a); p != nil {
			return []string{node.Clean(location) + "/" + m.Path + ": " + p.Text()}
		}
		if n++; n == MostCompared {
			break
		}
	}
	return nil
}

// Interruption is a change of several arrays that was not finished when a command came,
// which opens one of them for writing and so finishes it.
type Interruption struct {
	shape  []int64 // of the array before
	change *Pending
}

// Interrupted returns the interruption of an array, nil where there is none. What cannot
// be read the command tells itself, once it opens the array.
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

// Finished says what became of the array since, "" where there was no interruption.
func (i *Interruption) Finished(a *zarr.Array) string {
	if i == nil {
		return ""
	}
	what := fmt.Sprintf("shape %v → %v", i.shape, a.Shape())
	if slices.Equal(i.shape, a.Shape()) {
		what = fmt.Sprintf("this one had its shape %v already", i.shape)
	}
	return fmt.Sprintf("an append to %s together that was decided before was finished first: %s; what is appended now comes after it "+
		"(--expect keeps a batch from being appended twice)", phrase.Plural(int64(len(i.change.Arrays)), "array"), what)
}

// MostCompared is how many nodes info compares with the group's consolidated metadata.
const MostCompared = 1000
