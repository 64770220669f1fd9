// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

func newInfoCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "info NODE",
		Short: "Print what a node is: shape, type, chunks, codecs and attributes",
		Long: `Print what a node is: shape, type, chunks, codecs and attributes.

An array that cannot be decoded is described as far as its document is known; then the status is 1, and the message
names the unknown part. Notes at the end report problems, such as stale consolidated metadata.`,
		Example: `  varve info era5.zarr/t2m
  varve info --stats --json era5.zarr/t2m`,
		Args:              arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	stats := c.Flags().Bool("stats", false, "also count the stored chunks and their bytes")
	c.RunE = func(cmd *cobra.Command, args []string) error { return info(cmd, args[0], *stats) }
	return c
}

func info(cmd *cobra.Command, location string, stats bool) error {
	n, err := node.Open(cmd, location)
	if err != nil {
		return infoUndecodable(cmd, location, err, stats)
	}
	defer n.Close()
	switch n := n.(type) {
	case *zarr.Array:
		return infoArray(cmd, location, n, stats)
	case *zarr.Group:
		return infoGroup(cmd, location, n)
	}
	return nil
}

func infoArray(cmd *cobra.Command, location string, a *zarr.Array, stats bool) error {
	f := facts.Describe(location, a.Metadata())
	f.Notes = append(f.Notes, a.Notes()...)
	f.Notes = append(f.Notes, shadowed(cmd.Context(), a)...)
	if f.Pending = facts.PendingAt(cmd.Context(), a); f.Pending != nil {
		f.Notes = append(f.Notes, f.Pending.Text())
	}
	f.Times = source.EndsOfTime(cmd.Context(), a)
	if err := source.UndecodedTimes(a, cf.UnitsOf(a)); err != nil {
		f.Notes = append(f.Notes, "its times are left as numbers: "+failure.OneLine(err))
	}
	f.Readers = facts.ReadersOf(cmd.Context(), a)
	f.AddGrid(a.Grid())
	f.AddInner(a)
	f.Notes = append(f.Notes, consolidated.OlderCopies(cmd.Context(), location, a)...)
	f.Notes = append(f.Notes, session.TakeRemarks(cmd)...)
	f.AddSize(a.Type())
	if stats {
		if err := f.AddStored(cmd, a); err != nil {
			return err
		}
	}
	return f.Print(cmd)
}

// infoUndecodable describes an array that cannot be opened, as far as its document can be
// read, and returns reason.
func infoUndecodable(cmd *cobra.Command, location string, reason error, stats bool) error {
	if !consolidated.Undecodable(reason) {
		return reason
	}
	doc := facts.ReadDocument(cmd.Context(), location, session.Permitted(cmd))
	if doc == nil {
		return reason
	}
	f := facts.Describe(location, doc.Array)
	f.AddDocument(doc)
	var err error
	if stats {
		err = f.CountDocument(cmd, doc)
	}
	return errors.Join(err, f.Print(cmd), reason)
}

// groupFacts describes a group, in the form of --json.
type groupFacts struct {
	Path       string          `json:"path"`
	Kind       string          `json:"kind"`
	Format     int             `json:"zarr_format"`
	Attributes json.RawMessage `json:"attributes"`
	Members    output.Names    `json:"members"`
	Notes      []string        `json:"notes,omitempty"`
}

// shadowed returns a note if a node has documents of both formats. Those of format 2 are
// then not read.
func shadowed(ctx context.Context, n zarr.Node) []string {
	names, err := n.Shadowed(ctx)
	if err != nil || len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("documents of both formats exist: zarr.json was read, and %s was not", strings.Join(names, " and "))}
}

// addNotes adds a note if consolidated metadata is stale or cannot be compared.
func (f *groupFacts) addNotes(ctx context.Context, g *zarr.Group) {
	group := g.Metadata()
	if group.Consolidated == nil {
		return
	}
	d, err := consolidated.DriftOf(ctx, g.Path(), group, &consolidated.NodeWalk{Hierarchy: g.Location().Root(), Most: facts.MostCompared, Deep: true})
	switch {
	case errors.Is(err, store.ErrUnsupported), errors.Is(err, fs.ErrNotExist):
		// The store cannot be listed, or the group is new and this is a dry run.
	case err != nil:
		f.Notes = append(f.Notes, "consolidated metadata could not be compared with the nodes: "+failure.OneLine(err))
	case !d.IsNone():
		f.Notes = append(f.Notes, d.StaleText())
	}
}

// infoGroup prints a group. It passes the members on one by one, because there may be
// very many.
func infoGroup(cmd *cobra.Command, location string, g *zarr.Group) error {
	f := groupFacts{Path: location, Kind: "group", Format: g.Format(), Attributes: g.Attributes()}
	stale, _ := consolidated.StalenessOf(cmd.Context(), g, g.Metadata(), false) // addNotes reports the error
	f.Notes = append(g.Notes(), shadowed(cmd.Context(), g)...)
	f.addNotes(cmd.Context(), g)
	f.Notes = append(f.Notes, facts.PendingBelow(cmd.Context(), location, g)...)
	for _, text := range dimensions.Disagreements(cmd, consolidated.AsStored(g, stale)) {
		f.Notes = append(f.Notes, dimensions.Unopened(text, ""))
	}
	var bad error
	members := func(yield func(zarr.Member) bool) {
		for m, err := range consolidated.MembersThere(cmd.Context(), g, stale, false) {
			if err != nil {
				bad = errors.Join(bad, err)
			} else if !yield(m) {
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
		f.Attributes = metadata.PlainText(f.Attributes)
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
