// SPDX-License-Identifier: Apache-2.0

package inspecting

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/stac"
	"varve.dev/zarr/store"
)

// groupFacts describes a group, in the form of --json.
type groupFacts struct {
	Path       string          `json:"path"`
	Kind       string          `json:"kind"`
	Format     int             `json:"zarr_format"`
	Attributes json.RawMessage `json:"attributes"`
	Members    output.Names    `json:"members"`
	Notes      []string        `json:"notes,omitempty"`
}

// staleNotes returns a note if consolidated metadata is stale or cannot be compared.
func staleNotes(ctx context.Context, g *zarr.Group, early *consolidation.Early) []string {
	d, err := consolidation.Compare(ctx, g.Location(), g.Metadata(), &consolidation.Options{Most: facts.MostCompared, Early: early})
	switch {
	case errors.Is(err, store.ErrUnsupported), errors.Is(err, fs.ErrNotExist):
		// The store cannot be listed, or the group is new and this is a dry run.
	case err != nil:
		return []string{"consolidated metadata could not be compared with the nodes: " + failure.OneLine(err)}
	case !d.IsNone():
		return []string{consolidated.StaleText(d)}
	}
	return nil
}

// overview is what info looks at before it prints a group.
type overview struct {
	shadowed, drift, pending, disagreements []string
	members                                 iter.Seq2[zarr.Member, error]
	end                                     func()
}

// look looks at a group. What does not need the result of another request runs together:
// in a far store each takes a round trip.
func look(cmd *cobra.Command, location string, g *zarr.Group) (o overview) {
	ctx := cmd.Context()
	var stale *consolidation.Drift
	disagree := func() { o.disagreements = dimensions.Disagreements(cmd, consolidation.AsStored(g, stale)) }
	both := func() { o.shadowed = shadowed(ctx, g) }
	pending := func() { o.pending = facts.PendingBelow(ctx, location, g) }
	if g.Metadata().Consolidated == nil {
		var begin func()
		begin, o.members, o.end = begun(g.Members(ctx, false))
		together(both, pending, disagree, begin)
		return o
	}
	early := consolidation.ReadEarly(ctx, g.Location(), g.Metadata().Consolidated, true)
	defer early.End()
	together(both, pending,
		func() {
			stale, _ = consolidation.Stale(ctx, g.Location(), g.Metadata(), &consolidation.Options{Shallow: true, Early: early})
		}, // staleNotes reports the error
		func() { o.drift = staleNotes(ctx, g, early) })
	disagree()
	o.members, o.end = consolidation.Members(ctx, g, stale, false), func() {}
	return o
}

// begun returns a function that asks for the first member, the members with that one, and
// a function to call in the end. The members can be ranged over once.
func begun(members iter.Seq2[zarr.Member, error]) (begin func(), all iter.Seq2[zarr.Member, error], end func()) {
	next, end := iter.Pull2(members)
	var m zarr.Member
	var err error
	var ok bool
	begin = func() { m, err, ok = next() }
	return begin, func(yield func(zarr.Member, error) bool) {
		for ; ok && yield(m, err); m, err, ok = next() {
		}
	}, end
}

// PrintGroup prints a group. It passes the members on one by one, because there may be
// very many.
func PrintGroup(cmd *cobra.Command, location string, g *zarr.Group) error {
	f := groupFacts{Path: location, Kind: "group", Format: g.Format(), Attributes: g.Attributes()}
	o := look(cmd, location, g)
	defer o.end()
	f.Notes = slices.Concat(g.Notes(), o.shadowed, o.drift, o.pending)
	if node.IsInManifest(cmd.Context(), location) {
		f.Notes = append(f.Notes, "only Varve reads it, and not any other program ("+facts.OnlyVarveText+")")
	}
	for _, text := range o.disagreements {
		f.Notes = append(f.Notes, dimensions.Unopened(text, ""))
	}
	var bad error
	members := func(yield func(zarr.Member) bool) {
		// Print the other members even if one cannot be read.
		for m, err := range o.members {
			switch {
			case errors.Is(err, store.ErrUnusable): // all members are there
				session.Note(cmd, location, failure.OneLine(err))
			case err != nil:
				bad = errors.Join(bad, err)
			case !yield(m):
				return
			}
		}
	}
	if session.WantsJSON(cmd) {
		f.Members = func(yield func(string) bool) {
			for m := range members {
				if !yield(m.Name()) {
					return
				}
			}
		}
		f.Attributes = nonfinite.Text(f.Attributes)
		return errors.Join(session.PrintJSON(cmd, f), bad)
	}
	err := session.Print(cmd, func(w *bufio.Writer) error { return f.print(w, members) })
	return errors.Join(err, bad)
}

// print prints the group in words.
func (f *groupFacts) print(w *bufio.Writer, members iter.Seq[zarr.Member]) error {
	s := facts.Sheet{Title: "group " + f.Path}
	s.Add("format", facts.FormatText(f.Format))
	s.Attributes(f.Attributes)
	n := 0
	for m := range members {
		s.Add(facts.Label("members", n), facts.MemberText(m))
		if n++; n%membersAtATime == 0 {
			if err := s.Pass(w); err != nil {
				return err
			}
		}
	}
	for i, n := range f.Notes {
		s.Add(facts.Label("notes", i), n)
	}
	return s.Pass(w)
}

// membersAtATime is the number of members that are printed at once.
const membersAtATime = 1 << 10

// printItem prints the item of STAC of a group. Its identifier is the name of the group,
// and its asset the location as it is given.
func printItem(cmd *cobra.Command, location, at string) error {
	opt := stac.Options{ID: strings.TrimSuffix(path.Base(place.WithoutOptions(node.Clean(location))), ".zarr"), Href: place.WithoutOptions(location)}
	if at != "" {
		var err error
		if opt.Time, err = stac.ParseTime(at); err != nil {
			return failure.BadUsage("--datetime: %w, such as 2024-05-31 or 2024-05-31T12:00:00Z", err)
		}
	}
	n, err := node.Open(cmd, location)
	if err != nil {
		return err
	}
	defer n.Close()
	g, isGroup := n.(*zarr.Group)
	if !isGroup {
		return failure.On(cmd.Name(), location, failure.BadArgument("an item of STAC describes a group, and this is an array; name its group"))
	}
	item, err := stac.Of(cmd.Context(), g, opt)
	if errors.Is(err, stac.ErrNoTime) {
		err = fmt.Errorf("%w (give its time with --datetime)", err)
	}
	if err != nil {
		return failure.On(cmd.Name(), location, err)
	}
	return session.PrintJSON(cmd, item)
}
